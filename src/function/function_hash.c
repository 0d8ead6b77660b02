// The hash of a FunctionDef. It must have the value that TensorFlow's has, to which names in saved
// graphs refer, so that order and seeds below are facts of the format:
//
//   function    the signature, the attributes, the nodes, the returns, the control returns
//   signature   its attributes by name; then the rest of it as bytes, whose seed is the hash so far
//   nodes       by name, and each by name, op, device, inputs, control inputs, and its
//               attributes but those of the runtime ("_class")
//   attribute   a tensor and the name and the attributes of a function by themselves, all else as
//               bytes
//
// What is said once in two ways has one hash: maps are read in the order of their keys, control
// inputs in that of their texts, and a tensor is brought into the form with raw bytes first. A text
// is hashed with the hash so far as the seed (mix_text); a hash that stands by itself is combined
// with it (combine).
#include "function/function_hash.h"

#include <stdlib.h>

#include "base/fingerprint.h"
#include "base/string_builder.h"
#include "formats/generated/tensor.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_content.h"
#include "formats/wire/tensor_proto.h"
#include "tensor/buffer.h"

#define START UINT64_C(0xDECAFCAFFE)  // the seed where there is no hash so far

typedef struct hasher_s {
  leat_arena_t* arena;
  leat_status_t status;  // the first failure
} hasher_t;

// An attribute by its name.
typedef struct entry_s {
  leat_string_view_t key;
  const leat_pb_attr_value_t* value;
} entry_t;

static uint64_t combine(uint64_t a, uint64_t b) {
  return a ^ (b + UINT64_C(0x9e3779b97f4a7800) + (a << 10) + (a >> 4));
}

static uint64_t mix_text(uint64_t hash, leat_string_view_t text) {
  return leat_fingerprint_murmur_seeded(hash, text);
}

static uint64_t hash_message(hasher_t* h, const leat_message_descriptor_t* descriptor,
                             const void* message, uint64_t seed) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  h->status = leat_status_join(h->status, leat_message_encode(descriptor, message, &bytes));
  const uint64_t hash = mix_text(seed, leat_string_builder_view(&bytes));
  leat_string_builder_deinitialize(&bytes);
  return hash;
}

// ---- Attributes ---------------------------------------------------------------------------------

static uint64_t hash_tensor(hasher_t* h, const leat_pb_tensor_proto_t* proto) {
  leat_tensor_t tensor;
  leat_pb_tensor_proto_t content;
  leat_status_t status =
      leat_tensor_from_content(proto, h->arena, leat_buffer_source_host(), &tensor);
  if (status) {  // a form of its own; it is hashed as it is
    leat_status_free(status);
    return hash_message(h, &leat_pb_tensor_proto_descriptor, proto, START);
  }
  status = leat_tensor_to_content(&tensor, h->arena, &content);
  uint64_t hash = START;
  if (!status) hash = hash_message(h, &leat_pb_tensor_proto_descriptor, &content, START);
  h->status = leat_status_join(h->status, status);
  leat_tensor_release(&tensor);
  return hash;
}

static int compare_entries(const void* a, const void* b) {
  return leat_string_view_compare(((const entry_t*)a)->key, ((const entry_t*)b)->key);
}

static uint64_t hash_value(hasher_t* h, const leat_pb_attr_value_t* value);

// Sorts the entries, and adds them to |hash|.
static uint64_t mix_entries(hasher_t* h, uint64_t hash, entry_t* entries, size_t count) {
  if (count > 1) qsort(entries, count, sizeof *entries, compare_entries);
  for (size_t i = 0; i < count; ++i) {
    hash = combine(hash_value(h, entries[i].value), mix_text(hash, entries[i].key));
  }
  return hash;
}

// A list of attributes of the type that each message has for its own; those whose name begins with
// |skipped| do not count.
#define MIX_ATTRS(h, hash, list, skipped)                                             \
  do {                                                                                \
    size_t count = 0;                                                                 \
    entry_t* entries = allocate_entries((h), (list)->count);                          \
    for (size_t i = 0; entries && i < (list)->count; ++i) {                           \
      const leat_string_view_t key = (list)->items[i].key;                            \
      if (key.size && key.data[0] == (skipped)) continue;                             \
      entries[count++] = (entry_t){key, (list)->items[i].value};                      \
    }                                                                                 \
    if (entries) *(hash) = mix_entries((h), *(hash), entries, count);                 \
  } while (0)
#define NO_NAME '\0'  // with which no name begins

// NULL, and the failure noted, where there is no memory.
static entry_t* allocate_entries(hasher_t* h, size_t count) {
  entry_t* entries = NULL;
  h->status = leat_status_join(h->status, LEAT_NEW(h->arena, count + 1, &entries));
  return entries;
}

static uint64_t hash_value(hasher_t* h, const leat_pb_attr_value_t* value) {
  static const leat_pb_attr_value_t nothing;
  if (!value) value = &nothing;
  if (value->tensor) return hash_tensor(h, value->tensor);
  if (!value->func) return hash_message(h, &leat_pb_attr_value_descriptor, value, START);
  uint64_t hash = mix_text(START, value->func->name);
  MIX_ATTRS(h, &hash, &value->func->attr, NO_NAME);
  return hash;
}

// ---- The signature ------------------------------------------------------------------------------

static uint64_t hash_attr_def(hasher_t* h, const leat_pb_op_def_attr_def_t* attr) {
  uint64_t hash = mix_text(mix_text(START, attr->name), attr->type);
  hash = combine(hash_value(h, attr->default_value), hash);
  hash = mix_text(hash, attr->description);
  hash = combine(attr->has_minimum, hash);
  hash = combine((uint64_t)attr->minimum, hash);
  return combine(hash_value(h, attr->allowed_values), hash);
}

static int compare_attr_defs(const void* a, const void* b) {
  return leat_string_view_compare((*(const leat_pb_op_def_attr_def_t* const*)a)->name,
                                  (*(const leat_pb_op_def_attr_def_t* const*)b)->name);
}

static int compare_texts(const void* a, const void* b) {
  return leat_string_view_compare(*(const leat_string_view_t*)a, *(const leat_string_view_t*)b);
}

static leat_status_t hash_signature(hasher_t* h, const leat_pb_op_def_t* signature,
                                    uint64_t* out_hash) {
  const leat_pb_op_def_attr_def_t** attrs;
  leat_string_view_t* controls;
  const size_t attr_count = signature->attr.count, count = signature->control_output.count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(h->arena, attr_count + 1, &attrs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(h->arena, count + 1, &controls));
  for (size_t i = 0; i < attr_count; ++i) attrs[i] = &signature->attr.items[i];
  qsort(attrs, attr_count, sizeof *attrs, compare_attr_defs);
  uint64_t hash = START;
  for (size_t i = 0; i < attr_count; ++i) {
    hash = combine(hash_attr_def(h, attrs[i]), mix_text(hash, attrs[i]->name));
  }
  for (size_t i = 0; i < count; ++i) controls[i] = signature->control_output.items[i];
  qsort(controls, count, sizeof *controls, compare_texts);
  for (size_t i = 0; i < count; ++i) hash = combine(hash, mix_text(START, controls[i]));
  leat_pb_op_def_t rest = *signature;
  rest.attr.count = 0;
  rest.control_output.count = 0;
  *out_hash = hash_message(h, &leat_pb_op_def_descriptor, &rest, hash);
  return leat_ok_status();
}

// ---- The body -----------------------------------------------------------------------------------

static leat_status_t hash_node(hasher_t* h, const leat_pb_node_def_t* node, uint64_t* out_hash) {
  uint64_t hash = mix_text(START, node->name);
  hash = mix_text(mix_text(hash, node->op), node->device);
  size_t data_count = 0, control_count = 0;
  leat_string_view_t* controls;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(h->arena, node->input.count + 1, &controls));
  while (data_count < node->input.count &&
         !leat_string_view_starts_with(node->input.items[data_count], LEAT_SV("^"))) {
    hash = mix_text(hash, node->input.items[data_count++]);
  }
  for (size_t i = data_count; i < node->input.count; ++i) {
    controls[control_count++] = node->input.items[i];
  }
  qsort(controls, control_count, sizeof *controls, compare_texts);
  for (size_t i = 0; i < control_count; ++i) {
    if (i && leat_string_view_equal(controls[i], controls[i - 1])) continue;
    hash = mix_text(hash, controls[i]);
  }
  MIX_ATTRS(h, &hash, &node->attr, '_');
  *out_hash = hash;
  return leat_ok_status();
}

static int compare_nodes(const void* a, const void* b) {
  return leat_string_view_compare((*(const leat_pb_node_def_t* const*)a)->name,
                                  (*(const leat_pb_node_def_t* const*)b)->name);
}

static leat_status_t hash_nodes(hasher_t* h, const leat_pb_node_def_list_t* list,
                                uint64_t* out_hash) {
  const leat_pb_node_def_t** nodes;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(h->arena, list->count + 1, &nodes));
  for (size_t i = 0; i < list->count; ++i) nodes[i] = &list->items[i];
  qsort(nodes, list->count, sizeof *nodes, compare_nodes);
  uint64_t hash = START;
  for (size_t i = 0; i < list->count; ++i) {
    uint64_t of_node;
    LEAT_RETURN_IF_ERROR(hash_node(h, nodes[i], &of_node));
    hash = combine(of_node, mix_text(hash, nodes[i]->name));
  }
  *out_hash = hash;
  return leat_ok_status();
}

// |list| is a map of texts, which leat_function_define sorts.
#define MIX_RETURNS(hash, list)                                                     \
  for (size_t i = 0; i < (list)->count; ++i) {                                      \
    *(hash) = mix_text(*(hash), (list)->items[i].key);                              \
    *(hash) = mix_text(*(hash), (list)->items[i].value);                            \
  }

leat_status_t leat_function_def_hash(const leat_pb_function_def_t* def, leat_arena_t* arena,
                                     uint64_t* out_hash) {
  static const leat_pb_op_def_t nothing;
  hasher_t h = {.arena = arena};
  uint64_t hash, of_nodes;
  leat_status_t status =
      hash_signature(&h, def->signature ? def->signature : &nothing, &hash);
  if (!status) MIX_ATTRS(&h, &hash, &def->attr, NO_NAME);
  if (!status) status = hash_nodes(&h, &def->node_def, &of_nodes);
  status = leat_status_join(status, h.status);
  LEAT_RETURN_IF_ERROR(status);
  hash = combine(of_nodes, hash);
  MIX_RETURNS(&hash, &def->ret);
  MIX_RETURNS(&hash, &def->control_ret);
  *out_hash = hash;
  return leat_ok_status();
}
