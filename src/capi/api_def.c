// TF_ApiDefMap: the descriptions of ops from which generators of bindings for other languages work.
// A map holds one ApiDef message for each op, in three stages:
//
//     TF_NewApiDefMap    an ApiDef is made from each OpDef of a serialized OpList
//     TF_ApiDefMapPut    a text with ApiDefs overrides names, orders and documentation
//     TF_ApiDefMapGet    gives an op's ApiDef
//
// The first Get ends the second stage: it replaces the old names of arguments in all documentation
// by the names that the texts gave them, which can only be done once. All messages lie in the map's
// arena and live as long as the map. A mutex makes Put and Get thread-safe, as in TensorFlow.
#include <string.h>

#include "capi/plugin/plugin.h"
#include "formats/generated/api_def.h"
#include "formats/generated/op_def.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"

struct TF_ApiDefMap {
  leat_mutex_t mutex;
  leat_arena_t arena;
  leat_string_map_t ops;  // from an op's name to its leat_pb_api_def_t*
  bool is_asked;          // Get was called: Put fails from now on
};

// ---- From an OpDef ------------------------------------------------------------------------------

// Describes each argument, under its own name until a text renames it.
static leat_status_t make_args(leat_arena_t* arena, const leat_pb_op_def_arg_def_list_t* args,
                               leat_pb_api_def_arg_list_t* out_args) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, args->count, sizeof(*out_args->items), &memory));
  *out_args = (leat_pb_api_def_arg_list_t){memory, args->count};
  for (size_t i = 0; i < args->count; ++i) {
    const leat_pb_op_def_arg_def_t* arg = &args->items[i];
    out_args->items[i] = (leat_pb_api_def_arg_t){arg->name, arg->name, arg->description};
  }
  return leat_ok_status();
}

// Puts the arguments in the order in which the op declares them.
static leat_status_t make_order(leat_arena_t* arena, leat_pb_api_def_t* def) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, def->in_arg.count,
                                                 sizeof(leat_string_view_t), &memory));
  def->arg_order = (leat_pb_string_list_t){memory, def->in_arg.count};
  for (size_t i = 0; i < def->in_arg.count; ++i) {
    def->arg_order.items[i] = def->in_arg.items[i].name;
  }
  return leat_ok_status();
}

// Makes the ApiDef that says no more than the OpDef: visible, with one endpoint of the op's name.
static leat_status_t make_def(leat_arena_t* arena, const leat_pb_op_def_t* op,
                              leat_pb_api_def_t* def) {
  void* memory = NULL;
  *def = (leat_pb_api_def_t){.graph_op_name = op->name,
                             .visibility = LEAT_PB_API_DEF_VISIBILITY_VISIBLE,
                             .summary = op->summary,
                             .description = op->description};
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, sizeof(*def->endpoint.items), &memory));
  def->endpoint = (leat_pb_api_def_endpoint_list_t){memory, 1};
  def->endpoint.items[0].name = op->name;
  LEAT_RETURN_IF_ERROR(make_args(arena, &op->input_arg, &def->in_arg));
  LEAT_RETURN_IF_ERROR(make_args(arena, &op->output_arg, &def->out_arg));
  LEAT_RETURN_IF_ERROR(make_order(arena, def));
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, op->attr.count, sizeof(*def->attr.items), &memory));
  def->attr = (leat_pb_api_def_attr_list_t){memory, op->attr.count};
  for (size_t i = 0; i < op->attr.count; ++i) {
    const leat_pb_op_def_attr_def_t* attr = &op->attr.items[i];
    def->attr.items[i] = (leat_pb_api_def_attr_t){attr->name, attr->name, attr->default_value,
                                                  attr->description};
  }
  return leat_ok_status();
}

static leat_status_t fill_map(TF_ApiDefMap* map, const TF_Buffer* op_list) {
  leat_string_view_t bytes;
  leat_pb_op_list_t list;
  void* memory = NULL;
  // The messages are views of the bytes, which the caller may free.
  LEAT_RETURN_IF_ERROR(
      leat_arena_copy_string(&map->arena, leat_capi_buffer_bytes(op_list), &bytes));
  LEAT_RETURN_IF_ERROR(
      leat_message_decode(&leat_pb_op_list_descriptor, bytes, &map->arena, NULL, &list));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&map->arena, list.op.count,
                                                 sizeof(leat_pb_api_def_t), &memory));
  leat_pb_api_def_t* defs = memory;
  for (size_t i = 0; i < list.op.count; ++i) {
    LEAT_RETURN_IF_ERROR(make_def(&map->arena, &list.op.items[i], &defs[i]));
    LEAT_RETURN_IF_ERROR(leat_string_map_set(&map->ops, list.op.items[i].name,
                                             (uint64_t)(uintptr_t)&defs[i]));
  }
  return leat_ok_status();
}

TF_ApiDefMap* TF_NewApiDefMap(TF_Buffer* op_list_buffer, TF_Status* status) {
  TF_ApiDefMap* map = leat_capi_allocate(sizeof *map);
  leat_status_t result = map ? leat_ok_status()
                             : leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory ran out");
  if (map) {
    leat_mutex_initialize(&map->mutex);
    leat_arena_initialize(leat_allocator_system(), 0, &map->arena);
    leat_string_map_initialize(leat_allocator_system(), &map->ops);
    result = leat_status_annotate(fill_map(map, op_list_buffer), "Unparseable OpList");
  }
  if (map && result) {
    TF_DeleteApiDefMap(map);
    map = NULL;
  }
  leat_capi_status_set(status, result);
  return map;
}

void TF_DeleteApiDefMap(TF_ApiDefMap* apimap) {
  if (!apimap) return;
  leat_string_map_deinitialize(&apimap->ops);
  leat_arena_deinitialize(&apimap->arena);
  leat_mutex_deinitialize(&apimap->mutex);
  leat_allocator_free(leat_allocator_system(), apimap);
}

static leat_pb_api_def_t* find(const TF_ApiDefMap* map, leat_string_view_t op) {
  uint64_t value = 0;
  bool found = leat_string_map_get(&map->ops, op, &value);
  return found ? (leat_pb_api_def_t*)(uintptr_t)value : NULL;
}

// ---- Merging ------------------------------------------------------------------------------------

// A text that is empty was not set, and overrides nothing.
static void replace_text(leat_string_view_t* text, leat_string_view_t by) {
  if (by.size > 0) *text = by;
}

static leat_status_t undefined(const char* what, leat_string_view_t name,
                               const leat_pb_api_def_t* def) {
  return leat_make_status(LEAT_FAILED_PRECONDITION, "%s %.*s not defined in base api for %.*s",
                          what, LEAT_SV_ARG(name), LEAT_SV_ARG(def->graph_op_name));
}

// Overrides arguments of |base| by those of |args| with the same names. FAILED_PRECONDITION where
// the op has no such argument.
static leat_status_t merge_args(const leat_pb_api_def_t* def, leat_pb_api_def_arg_list_t* base,
                                const leat_pb_api_def_arg_list_t* args) {
  for (size_t i = 0; i < args->count; ++i) {
    size_t j = 0;
    while (j < base->count && !leat_string_view_equal(base->items[j].name, args->items[i].name)) {
      ++j;
    }
    if (j == base->count) return undefined("Argument", args->items[i].name, def);
    replace_text(&base->items[j].rename_to, args->items[i].rename_to);
    replace_text(&base->items[j].description, args->items[i].description);
  }
  return leat_ok_status();
}

static leat_status_t merge_attrs(leat_pb_api_def_t* base, const leat_pb_api_def_t* def) {
  for (size_t i = 0; i < def->attr.count; ++i) {
    const leat_pb_api_def_attr_t* attr = &def->attr.items[i];
    size_t j = 0;
    while (j < base->attr.count &&
           !leat_string_view_equal(base->attr.items[j].name, attr->name)) {
      ++j;
    }
    if (j == base->attr.count) return undefined("Attribute", attr->name, base);
    replace_text(&base->attr.items[j].rename_to, attr->rename_to);
    replace_text(&base->attr.items[j].description, attr->description);
    if (attr->default_value) base->attr.items[j].default_value = attr->default_value;
  }
  return leat_ok_status();
}

static bool holds_once(const leat_pb_string_list_t* list, leat_string_view_t name) {
  int count = 0;
  for (size_t i = 0; i < list->count; ++i) count += leat_string_view_equal(list->items[i], name);
  return count == 1;
}

// Overrides the order of the arguments, which must name each of them exactly once.
static leat_status_t merge_order(leat_pb_api_def_t* base, const leat_pb_api_def_t* def) {
  if (def->arg_order.count == 0) return leat_ok_status();
  bool is_permutation = def->arg_order.count == base->arg_order.count;
  for (size_t i = 0; i < base->arg_order.count && is_permutation; ++i) {
    is_permutation = holds_once(&def->arg_order, base->arg_order.items[i]);
  }
  if (!is_permutation) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Invalid arg_order for %.*s: it must name each argument once",
                            LEAT_SV_ARG(base->graph_op_name));
  }
  base->arg_order = def->arg_order;
  return leat_ok_status();
}

// Replaces the description, then puts the prefix before it and the suffix behind it.
static leat_status_t merge_description(leat_arena_t* arena, leat_pb_api_def_t* base,
                                       const leat_pb_api_def_t* def) {
  replace_text(&base->summary, def->summary);
  replace_text(&base->description, def->description);
  leat_string_view_t* text = &base->description;
  if (def->description_prefix.size > 0) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(arena, text, "%.*s\n%.*s",
                                          LEAT_SV_ARG(def->description_prefix),
                                          LEAT_SV_ARG(*text)));
  }
  if (def->description_suffix.size > 0) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(arena, text, "%.*s\n%.*s", LEAT_SV_ARG(*text),
                                          LEAT_SV_ARG(def->description_suffix)));
  }
  return leat_ok_status();
}

// Overrides everything in |base| that |def| sets.
static leat_status_t merge(leat_arena_t* arena, leat_pb_api_def_t* base,
                           const leat_pb_api_def_t* def) {
  if (def->visibility) base->visibility = def->visibility;
  if (def->endpoint.count > 0) base->endpoint = def->endpoint;
  LEAT_RETURN_IF_ERROR(merge_args(base, &base->in_arg, &def->in_arg));
  LEAT_RETURN_IF_ERROR(merge_args(base, &base->out_arg, &def->out_arg));
  LEAT_RETURN_IF_ERROR(merge_order(base, def));
  LEAT_RETURN_IF_ERROR(merge_attrs(base, def));
  replace_text(&base->deprecation_message, def->deprecation_message);
  if (def->deprecation_version) base->deprecation_version = def->deprecation_version;
  return merge_description(arena, base, def);
}

// ---- Texts --------------------------------------------------------------------------------------

// Takes the first line off |*inout_text| and returns it without its line's end.
static leat_string_view_t next_line(leat_string_view_t* inout_text) {
  size_t end = leat_string_view_find(*inout_text, '\n');
  leat_string_view_t line = *inout_text;
  if (end != SIZE_MAX) line.size = end;
  *inout_text = leat_string_view_from_index(*inout_text, end == SIZE_MAX ? end : end + 1);
  return line;
}

static void append_escaped(leat_string_builder_t* out, leat_string_view_t text) {
  for (size_t i = 0; i < text.size; ++i) {
    if (text.data[i] == '"' || text.data[i] == '\\') leat_string_builder_append_char(out, '\\');
    leat_string_builder_append_char(out, text.data[i]);
  }
}

// Turns TensorFlow's multi-line strings into strings of protobuf's text format. Such a string is
// written as `field: <<END`, the lines as they are, and a line that begins with END.
static void append_quoted(leat_string_builder_t* out, leat_string_view_t text) {
  while (text.size > 0) {
    leat_string_view_t line = next_line(&text);
    size_t mark = 0;
    while (mark + 4 < line.size && memcmp(line.data + mark, ": <<", 4) != 0) ++mark;
    if (mark + 4 >= line.size) {
      leat_string_builder_append(out, line);
      leat_string_builder_append_char(out, '\n');
      continue;
    }
    leat_string_view_t end = leat_string_view_trim(leat_string_view_from_index(line, mark + 4));
    leat_string_builder_append(out, leat_string_view_make(line.data, mark + 2));
    leat_string_builder_append_char(out, '"');
    for (bool first = true; text.size > 0; first = false) {
      line = next_line(&text);
      if (line.size >= end.size && memcmp(line.data, end.data, end.size) == 0) break;
      if (!first) leat_string_builder_append(out, LEAT_SV("\\n"));
      append_escaped(out, line);
    }
    leat_string_builder_append(out, LEAT_SV("\""));
    leat_string_builder_append(out, leat_string_view_from_index(line, end.size));
    leat_string_builder_append_char(out, '\n');
  }
}

// Merges the ApiDefs of |text| into the map; ops that the map does not have are passed over. Called
// with the map's mutex held.
static leat_status_t put(TF_ApiDefMap* map, leat_string_view_t text) {
  leat_string_builder_t quoted;
  leat_string_view_t copy = LEAT_SV("");
  leat_pb_api_defs_t defs = {{NULL, 0}};
  if (map->is_asked) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "TF_ApiDefMapPut cannot be called after TF_ApiDefMapGet has been "
                            "called.");
  }
  leat_string_builder_initialize(leat_allocator_system(), &quoted);
  append_quoted(&quoted, text);
  leat_status_t status = leat_status_clone(quoted.status);
  if (!status) {
    status = leat_arena_copy_string(&map->arena, leat_string_builder_view(&quoted), &copy);
  }
  leat_string_builder_deinitialize(&quoted);
  if (!status) status = leat_text_parse(&leat_pb_api_defs_descriptor, copy, &map->arena, &defs);
  for (size_t i = 0; i < defs.op.count && !status; ++i) {
    leat_pb_api_def_t* base = find(map, defs.op.items[i].graph_op_name);
    if (base) status = merge(&map->arena, base, &defs.op.items[i]);
  }
  return status;
}

void TF_ApiDefMapPut(TF_ApiDefMap* api_def_map, const char* text, size_t text_len,
                     TF_Status* status) {
  leat_mutex_lock(&api_def_map->mutex);
  leat_status_t result = put(api_def_map, leat_string_view_make(text, text ? text_len : 0));
  leat_mutex_unlock(&api_def_map->mutex);
  leat_capi_status_set(status, result);
}

// ---- Reading ------------------------------------------------------------------------------------

// Replaces each `from`, in backquotes, by `to` in |text|.
static leat_status_t rename_in(leat_arena_t* arena, leat_string_view_t* text,
                               leat_string_view_t from, leat_string_view_t to) {
  leat_string_view_t quoted;
  leat_string_builder_t out;
  bool changed = false;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &quoted, "`%.*s`", LEAT_SV_ARG(from)));
  leat_string_builder_initialize(leat_allocator_system(), &out);
  for (size_t i = 0; i < text->size;) {
    bool here = i + quoted.size <= text->size &&
                memcmp(text->data + i, quoted.data, quoted.size) == 0;
    if (here) {
      leat_string_builder_print(&out, "`%.*s`", LEAT_SV_ARG(to));
    } else {
      leat_string_builder_append_char(&out, text->data[i]);
    }
    changed = changed || here;
    i += here ? quoted.size : 1;
  }
  leat_status_t status = leat_status_clone(out.status);
  if (!status && changed) {
    status = leat_arena_copy_string(arena, leat_string_builder_view(&out), text);
  }
  leat_string_builder_deinitialize(&out);
  return status;
}

static leat_status_t rename_in_docs(leat_arena_t* arena, leat_pb_api_def_t* def,
                                    leat_string_view_t from, leat_string_view_t to) {
  if (leat_string_view_equal(from, to)) return leat_ok_status();
  leat_status_t status = rename_in(arena, &def->summary, from, to);
  if (!status) status = rename_in(arena, &def->description, from, to);
  for (size_t i = 0; i < def->in_arg.count && !status; ++i) {
    status = rename_in(arena, &def->in_arg.items[i].description, from, to);
  }
  for (size_t i = 0; i < def->out_arg.count && !status; ++i) {
    status = rename_in(arena, &def->out_arg.items[i].description, from, to);
  }
  for (size_t i = 0; i < def->attr.count && !status; ++i) {
    status = rename_in(arena, &def->attr.items[i].description, from, to);
  }
  return status;
}

// Renames arguments in all documentation, once. Called with the map's mutex held.
static leat_status_t update_docs(TF_ApiDefMap* map) {
  leat_status_t status = leat_ok_status();
  for (size_t op = 0; op < map->ops.count && !map->is_asked; ++op) {
    leat_pb_api_def_t* def = (leat_pb_api_def_t*)(uintptr_t)map->ops.entries[op].value;
    for (size_t i = 0; i < def->in_arg.count && !status; ++i) {
      const leat_pb_api_def_arg_t* arg = &def->in_arg.items[i];
      status = rename_in_docs(&map->arena, def, arg->name, arg->rename_to);
    }
    for (size_t i = 0; i < def->out_arg.count && !status; ++i) {
      const leat_pb_api_def_arg_t* arg = &def->out_arg.items[i];
      status = rename_in_docs(&map->arena, def, arg->name, arg->rename_to);
    }
    for (size_t i = 0; i < def->attr.count && !status; ++i) {
      const leat_pb_api_def_attr_t* attr = &def->attr.items[i];
      status = rename_in_docs(&map->arena, def, attr->name, attr->rename_to);
    }
  }
  map->is_asked = true;
  return status;
}

TF_Buffer* TF_ApiDefMapGet(TF_ApiDefMap* api_def_map, const char* name, size_t name_len,
                           TF_Status* status) {
  TF_Buffer* buffer = NULL;
  leat_mutex_lock(&api_def_map->mutex);
  leat_status_t result = update_docs(api_def_map);
  const leat_pb_api_def_t* def =
      result ? NULL : find(api_def_map, leat_string_view_make(name, name ? name_len : 0));
  if (def) {
    leat_string_builder_t bytes;
    leat_string_builder_initialize(leat_allocator_system(), &bytes);
    result = leat_message_encode(&leat_pb_api_def_descriptor, def, &bytes);
    buffer = leat_capi_buffer_return(result, &bytes, status);
  } else {
    leat_capi_status_set(status, result);
  }
  leat_mutex_unlock(&api_def_map->mutex);
  return buffer;
}
