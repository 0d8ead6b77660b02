// Writes graphs as GraphDefs. Building the whole GraphDef as messages first would need a second
// copy of a graph that may have a million nodes, so nodes are converted and encoded one at a time,
// each appended to the output as a field of GraphDef, and the arena that holds the messages is
// emptied every NODES_PER_ARENA nodes. Library and versions follow as a GraphDef without nodes: in
// protobuf's wire format the concatenation of two encoded messages is the encoding of the merged
// message.
//
// Control inputs are written behind data inputs and sorted by name, as TensorFlow writes them, so
// that equal graphs give equal bytes. A missing input (a Merge whose loop is not closed) is written
// as "".
#include "graph/import/export.h"

#include <stdlib.h>

#include "formats/wire/encode.h"
#include "graph/function/function_library.h"
#include "graph/op/attr_proto.h"

#define NODES_PER_ARENA 256  // nodes whose messages are in memory at a time, at most
#define NODE_FIELD 1         // the number of GraphDef.node

// ---- nodes --------------------------------------------------------------------------------------

// An edge as text: "x" for output 0, "x:1", or "^x" for a control edge.
static leat_status_t input_text(const leat_graph_t* graph, leat_output_t input,
                                leat_arena_t* arena, leat_string_view_t* out_text) {
  *out_text = LEAT_SV("");
  if (!leat_output_exists(input)) return leat_ok_status();
  leat_string_view_t name = graph->nodes[input.node].name;
  *out_text = name;
  if (input.index == 0) return leat_ok_status();
  if (input.index > 0) {
    return leat_arena_print(arena, out_text, "%.*s:%d", LEAT_SV_ARG(name), input.index);
  }
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, name.size + 1, &memory));
  char* text = memory;
  text[0] = '^';
  memcpy(text + 1, name.data, name.size);
  *out_text = leat_string_view_make(text, name.size + 1);
  return leat_ok_status();
}

static int compare_texts(const void* a, const void* b) {
  return leat_string_view_compare(*(const leat_string_view_t*)a, *(const leat_string_view_t*)b);
}

// The inputs as texts, the control inputs behind the others and sorted.
static leat_status_t inputs_to_def(const leat_graph_t* graph, const leat_node_t* node,
                                   leat_arena_t* arena, leat_pb_string_list_t* out_list) {
  size_t count = (size_t)node->input_count + (size_t)node->control_count;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, count, sizeof(leat_string_view_t), &memory));
  out_list->items = memory;
  out_list->count = count;
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(input_text(graph, node->inputs[i], arena, &out_list->items[i]));
  }
  if (node->control_count > 1) {
    qsort(out_list->items + node->input_count, (size_t)node->control_count,
          sizeof(leat_string_view_t), compare_texts);
  }
  return leat_ok_status();
}

leat_status_t leat_attrs_to_def(const leat_attr_t* attrs, int attr_count, leat_arena_t* arena,
                                leat_pb_node_def_attr_entry_list_t* out_list) {
  size_t count = (size_t)attr_count;
  void *entries = NULL, *values = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, count, sizeof(leat_pb_node_def_attr_entry_t), &entries));
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, count, sizeof(leat_pb_attr_value_t), &values));
  out_list->items = entries;
  out_list->count = count;
  for (size_t i = 0; i < count; ++i) {
    leat_pb_attr_value_t* value = (leat_pb_attr_value_t*)values + i;
    out_list->items[i].key = attrs[i].name;
    out_list->items[i].value = value;
    LEAT_RETURN_IF_ERROR(leat_attr_value_to_proto(&attrs[i].value, arena, value));
  }
  return leat_ok_status();
}

leat_status_t leat_node_to_def(const leat_graph_t* graph, int32_t index, leat_arena_t* arena,
                               leat_pb_node_def_t* out_def) {
  const leat_node_t* node = &graph->nodes[index];
  *out_def = (leat_pb_node_def_t){.name = node->name, .op = node->op->name, .device = node->device};
  LEAT_RETURN_IF_ERROR(inputs_to_def(graph, node, arena, &out_def->input));
  return leat_attrs_to_def(node->attrs, node->attr_count, arena, &out_def->attr);
}

// ---- the graph ----------------------------------------------------------------------------------

leat_status_t leat_functions_to_def(const leat_function_library_t* library, leat_arena_t* arena,
                                    leat_pb_function_def_library_t* out_library) {
  size_t count = (size_t)leat_function_library_count(library);
  size_t gradient_count = (size_t)leat_function_library_gradient_count(library);
  *out_library = (leat_pb_function_def_library_t){.function = {NULL, count}};
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, count, sizeof(leat_pb_function_def_t), &memory));
  out_library->function.items = memory;
  for (size_t i = 0; i < count; ++i) {
    out_library->function.items[i] = *leat_function_library_at(library, (int)i);
  }
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, gradient_count, sizeof(leat_pb_gradient_def_t), &memory));
  out_library->gradient.items = memory;
  out_library->gradient.count = gradient_count;
  for (size_t i = 0; i < gradient_count; ++i) {
    out_library->gradient.items[i] = *leat_function_library_gradient_at(library, (int)i);
  }
  return leat_ok_status();
}

// Appends one node. |encoded| is a buffer that is used again for every node.
static leat_status_t append_node(const leat_graph_t* graph, int32_t node, leat_arena_t* arena,
                                 leat_string_builder_t* encoded, leat_string_builder_t* out) {
  leat_pb_node_def_t def;
  LEAT_RETURN_IF_ERROR(leat_node_to_def(graph, node, arena, &def));
  encoded->size = 0;
  LEAT_RETURN_IF_ERROR(leat_message_encode(&leat_pb_node_def_descriptor, &def, encoded));
  leat_message_append_field(out, NODE_FIELD, leat_string_builder_view(encoded));
  return leat_ok_status();
}

// Appends the nodes from |first| on, and starts a new arena from time to time, so that the messages
// need little memory.
static leat_status_t append_nodes(const leat_graph_t* graph, size_t first,
                                  leat_string_builder_t* encoded, leat_string_builder_t* out) {
  leat_arena_t arena;
  leat_arena_initialize(graph->allocator, 0, &arena);
  leat_status_t status = leat_ok_status();
  for (size_t i = first; i < graph->node_count && !status; ++i) {
    status = append_node(graph, (int32_t)i, &arena, encoded, out);
    if ((i + 1) % NODES_PER_ARENA != 0) continue;
    leat_arena_deinitialize(&arena);
    leat_arena_initialize(graph->allocator, 0, &arena);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// The library and the versions, as a GraphDef without nodes.
static leat_status_t append_rest(const leat_graph_t* graph, leat_string_builder_t* out) {
  leat_arena_t arena;
  leat_arena_initialize(graph->allocator, 0, &arena);
  leat_pb_function_def_library_t library;
  leat_pb_version_def_t versions = {
      .bad_consumers = {(int32_t*)(uintptr_t)graph->bad_consumers,
                        (size_t)graph->bad_consumer_count},
      .producer = graph->producer_version,
      .min_consumer = graph->min_consumer_version};
  leat_pb_graph_def_t def = {.library = &library, .versions = &versions};
  leat_status_t status = leat_functions_to_def(graph->functions, &arena, &library);
  if (!status) status = leat_message_encode(&leat_pb_graph_def_descriptor, &def, out);
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t leat_graph_export(const leat_graph_t* graph, leat_string_builder_t* out) {
  return leat_graph_export_from(graph, 0, out);
}

leat_status_t leat_graph_export_from(const leat_graph_t* graph, size_t first_node,
                                     leat_string_builder_t* out) {
  leat_string_builder_t encoded;
  leat_string_builder_initialize(graph->allocator, &encoded);
  leat_status_t status = append_nodes(graph, first_node, &encoded, out);
  if (!status) status = append_rest(graph, out);
  leat_string_builder_deinitialize(&encoded);
  return leat_status_join(status, leat_status_clone(out->status));
}
