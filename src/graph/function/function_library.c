// A library copies a function by encoding the message and decoding the bytes into its own arena.
// That is slower than a deep copy, but the decoder exists and the bytes have a second use: two
// functions are equal if their encodings are, which decides whether a function may be added under a
// name that is taken. Fields that this runtime does not know are not part of that comparison,
// because the encoder does not write them.
//
// One mutex guards the two maps and the arena. What the maps point to is complete before it is
// inserted and does not change, except for the op of a function, which is made under the mutex when
// it is first asked for; readers need the lock only for the look-up. Maps keep the order of
// insertion, which numbers the functions and makes undoing an import a truncation.
#include "graph/function/function_library.h"

#include <string.h>

#include "base/fingerprint.h"
#include "base/string_builder.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "graph/function/lowering.h"
#include "graph/inference/inference.h"

// ---- Ops of functions ---------------------------------------------------------------------------

// A function's op is made of its signature, which is printed as an op row, "x: T; xs: N * T; rest:
// Tlist", and parsed as the row of any op is, so that nodes, shape inference and checks treat a
// call by name as they treat other nodes. The attributes of such a node are those for which the
// function is instantiated. Defaults and allowed values of attributes are not printed, so a node
// must give every attribute that its inputs do not tell. The op CALLS, is never folded, and is
// stateful if the signature says so.

// A node of the function's op stands for the function's body.
static leat_status_t lower(leat_lowering_t* l) {
  leat_function_name_t function = {l->node->op->name, l->node->attrs, l->node->attr_count};
  return leat_lower_call(l, &function);
}

static void print_arguments(leat_string_builder_t* out,
                            const leat_pb_op_def_arg_def_list_t* arguments) {
  for (size_t i = 0; i < arguments->count; ++i) {
    const leat_pb_op_def_arg_def_t* a = &arguments->items[i];
    leat_string_builder_print(out, "%s%.*s: ", i ? "; " : "", LEAT_SV_ARG(a->name));
    if (a->is_ref) leat_string_builder_print(out, "Ref(");
    if (a->number_attr.size) leat_string_builder_print(out, "%.*s * ", LEAT_SV_ARG(a->number_attr));
    if (a->type_list_attr.size || a->type_attr.size) {
      leat_string_view_t attr = a->type_list_attr.size ? a->type_list_attr : a->type_attr;
      leat_string_builder_print(out, "%.*s", LEAT_SV_ARG(attr));
    } else {
      leat_string_builder_print(out, "%s", leat_dtype_name(leat_dtype_base(a->type)));
    }
    if (a->is_ref) leat_string_builder_print(out, ")");
  }
}

// Copies what was printed into |arena| and empties the builder for the next text.
static leat_status_t take_text(leat_arena_t* arena, leat_string_builder_t* text,
                               const char** out_text) {
  leat_string_view_t copy;
  LEAT_RETURN_IF_ERROR(leat_status_clone(text->status));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, leat_string_builder_view(text), &copy));
  *out_text = copy.data;
  text->size = 0;
  return leat_ok_status();
}

static leat_status_t fill_row(const leat_pb_op_def_t* signature, leat_arena_t* arena,
                              leat_string_builder_t* text, leat_op_row_t* row) {
  leat_string_builder_print(text, "%.*s", LEAT_SV_ARG(signature->name));
  LEAT_RETURN_IF_ERROR(take_text(arena, text, &row->name));
  print_arguments(text, &signature->input_arg);
  LEAT_RETURN_IF_ERROR(take_text(arena, text, &row->inputs));
  print_arguments(text, &signature->output_arg);
  LEAT_RETURN_IF_ERROR(take_text(arena, text, &row->outputs));
  for (size_t i = 0; i < signature->attr.count; ++i) {
    const leat_pb_op_def_attr_def_t* attr = &signature->attr.items[i];
    leat_string_builder_print(text, "%s%.*s: %.*s", i ? "; " : "", LEAT_SV_ARG(attr->name),
                              LEAT_SV_ARG(attr->type));
    if (attr->has_minimum) leat_string_builder_print(text, " >= %lld", (long long)attr->minimum);
  }
  return take_text(arena, text, &row->attrs);
}

// Makes the op of |signature| in |arena|. INVALID_ARGUMENT when the signature cannot be an op's.
static leat_status_t make_op(const leat_pb_op_def_t* signature, leat_arena_t* arena,
                             leat_op_t** out_op) {
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, sizeof(leat_op_row_t), &memory));
  leat_op_row_t* row = memory;
  *row = (leat_op_row_t){
      .flags = LEAT_OP_CALLS | LEAT_OP_NEVER_FOLD | (signature->is_stateful ? LEAT_OP_STATEFUL : 0),
      .shape = leat_shape_unknown,
      .gradient = leat_gradient_of_call,
      .lower = lower};
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = fill_row(signature, arena, &text, row);
  leat_string_builder_deinitialize(&text);
  if (!status) status = leat_op_parse(row, arena, out_op);
  return leat_status_annotate(status, "function '%.*s'", LEAT_SV_ARG(signature->name));
}

// ---- The library --------------------------------------------------------------------------------

// A function of the library, in its arena.
typedef struct held_function_s {
  leat_pb_function_def_t message;
  leat_string_view_t bytes;  // the encoding, from which |message| borrows
  leat_op_t* op;             // NULL until somebody asks; guarded by the mutex
} held_function_t;

struct leat_function_library_s {
  leat_allocator_t* allocator;
  leat_mutex_t mutex;  // guards what follows, not what it points to
  leat_arena_t arena;
  leat_string_map_t names;      // -> held_function_t*
  leat_string_map_t gradients;  // -> leat_pb_gradient_def_t*
};

leat_status_t leat_function_library_create(leat_allocator_t* allocator,
                                           leat_function_library_t** out_library) {
  *out_library = NULL;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(allocator, sizeof(leat_function_library_t), &memory));
  leat_function_library_t* library = memory;
  library->allocator = allocator;
  leat_mutex_initialize(&library->mutex);
  leat_arena_initialize(allocator, 0, &library->arena);
  leat_string_map_initialize(allocator, &library->names);
  leat_string_map_initialize(allocator, &library->gradients);
  *out_library = library;
  return leat_ok_status();
}

void leat_function_library_free(leat_function_library_t* library) {
  if (!library) return;
  leat_string_map_deinitialize(&library->names);
  leat_string_map_deinitialize(&library->gradients);
  leat_arena_deinitialize(&library->arena);
  leat_mutex_deinitialize(&library->mutex);
  leat_allocator_free(library->allocator, library);
}

// Look-ups take a const library, because they do not change it for the caller; its mutex they do
// change.
static void lock(const leat_function_library_t* library) {
  leat_mutex_lock((leat_mutex_t*)&library->mutex);
}

static void unlock(const leat_function_library_t* library) {
  leat_mutex_unlock((leat_mutex_t*)&library->mutex);
}

static bool find_in(const leat_function_library_t* library, const leat_string_map_t* map,
                    leat_string_view_t name, uint64_t* out_found) {
  lock(library);
  bool is_found = leat_string_map_get(map, name, out_found);
  unlock(library);
  return is_found;
}

static held_function_t* held_at(const leat_function_library_t* library, size_t index) {
  return (held_function_t*)(uintptr_t)library->names.entries[index].value;
}

// Copies an encoded function into the library. Called with the mutex held.
static leat_status_t hold(leat_function_library_t* library, leat_string_view_t bytes) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&library->arena, sizeof(held_function_t), &memory));
  held_function_t* held = memory;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&library->arena, bytes, &held->bytes));
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_function_def_descriptor, held->bytes,
                                           &library->arena, NULL, &held->message));
  return leat_string_map_set(&library->names, held->message.signature->name,
                             (uint64_t)(uintptr_t)held);
}

// Called with the mutex held. |bytes| encode the function called |name|.
static leat_status_t add_encoded(leat_function_library_t* library, leat_string_view_t name,
                                 leat_string_view_t bytes) {
  uint64_t found = 0;
  if (!leat_string_map_get(&library->names, name, &found)) return hold(library, bytes);
  const held_function_t* held = (const held_function_t*)(uintptr_t)found;
  if (leat_string_view_equal(held->bytes, bytes)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Cannot add function '%.*s' because a different function with the same "
                          "name already exists.",
                          LEAT_SV_ARG(name));
}

leat_status_t leat_function_library_add(leat_function_library_t* library,
                                        const leat_op_registry_t* ops,
                                        const leat_pb_function_def_t* function) {
  if (!function->signature || function->signature->name.size == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Adding a function failed: name is '', must not be empty");
  }
  leat_string_view_t name = function->signature->name;
  if (ops && leat_op_registry_has(ops, name)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Cannot add function '%.*s' because an op with the same name already "
                            "exists.",
                            LEAT_SV_ARG(name));
  }
  leat_string_builder_t encoded;
  leat_string_builder_initialize(library->allocator, &encoded);
  leat_status_t status =
      leat_message_encode(&leat_pb_function_def_descriptor, function, &encoded);
  lock(library);
  if (!status) status = add_encoded(library, name, leat_string_builder_view(&encoded));
  unlock(library);
  leat_string_builder_deinitialize(&encoded);
  return status;
}

static leat_status_t add_gradient(leat_function_library_t* library, leat_string_view_t function,
                                  leat_string_view_t gradient) {
  uint64_t found = 0;
  if (leat_string_map_get(&library->gradients, function, &found)) {
    const leat_pb_gradient_def_t* held = (const leat_pb_gradient_def_t*)(uintptr_t)found;
    if (leat_string_view_equal(held->gradient_func, gradient)) return leat_ok_status();
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Cannot assign gradient function '%.*s' to '%.*s' because it already "
                            "has gradient function '%.*s'",
                            LEAT_SV_ARG(gradient), LEAT_SV_ARG(function),
                            LEAT_SV_ARG(held->gradient_func));
  }
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate(&library->arena, sizeof(leat_pb_gradient_def_t), &memory));
  leat_pb_gradient_def_t* held = memory;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&library->arena, function, &held->function_name));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&library->arena, gradient, &held->gradient_func));
  return leat_string_map_set(&library->gradients, held->function_name, (uint64_t)(uintptr_t)held);
}

leat_status_t leat_function_library_add_gradient(leat_function_library_t* library,
                                                 leat_string_view_t function,
                                                 leat_string_view_t gradient) {
  lock(library);
  leat_status_t status = add_gradient(library, function, gradient);
  unlock(library);
  return status;
}

leat_status_t leat_function_library_add_all(leat_function_library_t* library,
                                            const leat_op_registry_t* ops,
                                            const leat_pb_function_def_library_t* source) {
  for (size_t i = 0; i < source->function.count; ++i) {
    // TensorFlow imports a function without a name. Nothing can call it, so it is left out.
    const leat_pb_op_def_t* signature = source->function.items[i].signature;
    if (!signature || signature->name.size == 0) continue;
    LEAT_RETURN_IF_ERROR(leat_function_library_add(library, ops, &source->function.items[i]));
  }
  for (size_t i = 0; i < source->gradient.count; ++i) {
    const leat_pb_gradient_def_t* gradient = &source->gradient.items[i];
    LEAT_RETURN_IF_ERROR(leat_function_library_add_gradient(library, gradient->function_name,
                                                            gradient->gradient_func));
  }
  return leat_ok_status();
}

void leat_function_library_truncate(leat_function_library_t* library, int function_count,
                                    int gradient_count) {
  lock(library);
  leat_string_map_truncate(&library->names, (size_t)function_count);
  leat_string_map_truncate(&library->gradients, (size_t)gradient_count);
  unlock(library);
}

// Removes |key| from |map|, whose table can only forget its end: the entries behind |key| are added
// again, in their order.
static leat_status_t remove_key(leat_string_map_t* map, leat_string_view_t key) {
  size_t index = 0;
  while (!leat_string_view_equal(map->entries[index].key, key)) ++index;
  size_t behind = map->count - index - 1;
  leat_string_map_entry_t* entries = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(map->allocator, behind + 1, &entries));
  memcpy(entries, map->entries + index + 1, behind * sizeof *entries);
  leat_string_map_truncate(map, index);
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; !status && i < behind; ++i) {
    status = leat_string_map_set(map, entries[i].key, entries[i].value);
  }
  leat_allocator_free(map->allocator, entries);
  return status;
}

leat_status_t leat_function_library_remove(leat_function_library_t* library,
                                           leat_string_view_t name) {
  leat_status_t status = leat_ok_status();
  lock(library);
  if (!leat_string_map_get(&library->names, name, NULL)) {
    status = leat_make_status(LEAT_NOT_FOUND, "Function '%.*s' is not in the library",
                              LEAT_SV_ARG(name));
  }
  if (!status) status = remove_key(&library->names, name);
  if (!status && leat_string_map_get(&library->gradients, name, NULL)) {
    status = remove_key(&library->gradients, name);
  }
  unlock(library);
  return status;
}

int leat_function_library_count(const leat_function_library_t* library) {
  return library ? (int)library->names.count : 0;
}

const leat_pb_function_def_t* leat_function_library_at(const leat_function_library_t* library,
                                                       int index) {
  return &held_at(library, (size_t)index)->message;
}

const leat_pb_function_def_t* leat_function_library_find(const leat_function_library_t* library,
                                                         leat_string_view_t name) {
  uint64_t found = 0;
  if (!library || !find_in(library, &library->names, name, &found)) return NULL;
  return &((const held_function_t*)(uintptr_t)found)->message;
}

leat_status_t leat_function_library_op(leat_function_library_t* library, leat_string_view_t name,
                                       const leat_op_t** out_op) {
  uint64_t found = 0;
  *out_op = NULL;
  leat_status_t status = leat_ok_status();
  lock(library);
  if (!leat_string_map_get(&library->names, name, &found)) {
    status = leat_make_status(LEAT_NOT_FOUND, "Function '%.*s' is not in the graph's library",
                              LEAT_SV_ARG(name));
  }
  held_function_t* held = (held_function_t*)(uintptr_t)found;
  if (!status && !held->op) {
    status = make_op(held->message.signature, &library->arena, &held->op);
  }
  if (!status) *out_op = held->op;
  unlock(library);
  return status;
}

int leat_function_library_gradient_count(const leat_function_library_t* library) {
  return library ? (int)library->gradients.count : 0;
}

const leat_pb_gradient_def_t* leat_function_library_gradient_at(
    const leat_function_library_t* library, int index) {
  return (const leat_pb_gradient_def_t*)(uintptr_t)library->gradients.entries[index].value;
}

leat_string_view_t leat_function_library_gradient_of(const leat_function_library_t* library,
                                                     leat_string_view_t function) {
  uint64_t found = 0;
  if (!library || !find_in(library, &library->gradients, function, &found)) return LEAT_SV("");
  return ((const leat_pb_gradient_def_t*)(uintptr_t)found)->gradient_func;
}

// The sum of the hashes, since the order in which functions were added says nothing.
leat_status_t leat_function_library_hash(const leat_function_library_t* library,
                                         uint64_t* out_hash) {
  leat_string_builder_t bytes;
  leat_status_t status = leat_ok_status();
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  *out_hash = 0;
  for (int i = 0; i < leat_function_library_count(library) && !status; ++i) {
    bytes.size = 0;
    status = leat_message_encode(&leat_pb_function_def_descriptor,
                                 leat_function_library_at(library, i), &bytes);
    if (!status) *out_hash += leat_fingerprint64(leat_string_builder_view(&bytes));
  }
  leat_string_builder_deinitialize(&bytes);
  return status;
}
