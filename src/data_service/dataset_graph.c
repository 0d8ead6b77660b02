// Graphs of datasets as messages. A dispatcher prepares one when it is registered, and a worker
// divides its source when the elements are sharded. Both keep all that they do not know of the
// graph, so that a client of a newer version loses nothing on its way through a dispatcher.
// Everything lies in the graph's arena; texts are views of the encoded bytes.
#include "data_service/dataset_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "tensor/dtype.h"

// The name of the node that an input, "node" or "node:1", reads.
static leat_string_view_t node_of(leat_string_view_t input) {
  const size_t colon = leat_string_view_find(input, ':');
  return colon < input.size ? leat_string_view_make(input.data, colon) : input;
}

static leat_pb_node_def_t* find_node(const leat_dataset_graph_t* graph, leat_string_view_t name) {
  uint64_t index;
  return leat_string_map_get(&graph->nodes, name, &index) ? &graph->def.node.items[index] : NULL;
}

// Takes the first _Retval out of the nodes, whose order means nothing.
static leat_status_t take_retval(leat_dataset_graph_t* graph) {
  leat_pb_node_def_list_t* nodes = &graph->def.node;
  size_t i = 0;
  while (i < nodes->count && !leat_string_view_equals(nodes->items[i].op, "_Retval")) ++i;
  if (i == nodes->count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Reading a dataset's graph failed: it has no _Retval, must have one "
                            "that reads the dataset");
  }
  graph->retval = nodes->items[i];
  nodes->items[i] = nodes->items[--nodes->count];
  return leat_ok_status();
}

static leat_status_t name_nodes(leat_dataset_graph_t* graph) {
  const leat_pb_node_def_list_t* nodes = &graph->def.node;
  graph->capacity = nodes->count;
  for (size_t i = 0; i < nodes->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_string_map_set(&graph->nodes, nodes->items[i].name, i));
  }
  if (leat_dataset_graph_input(graph, &graph->retval, 0)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Reading a dataset's graph failed: its node '%.*s' (_Retval) reads no "
                          "node, must read the dataset",
                          LEAT_SV_ARG(graph->retval.name));
}

leat_status_t leat_dataset_graph_initialize(leat_string_view_t bytes,
                                            leat_dataset_graph_t* out_graph) {
  *out_graph = (leat_dataset_graph_t){0};
  leat_arena_initialize(leat_allocator_system(), 0, &out_graph->arena);
  leat_string_map_initialize(leat_allocator_system(), &out_graph->nodes);
  leat_status_t status = leat_message_decode(&leat_pb_graph_def_descriptor, bytes,
                                             &out_graph->arena, NULL, &out_graph->def);
  if (!status) status = take_retval(out_graph);
  if (!status) status = name_nodes(out_graph);
  if (status) leat_dataset_graph_deinitialize(out_graph);
  return status;
}

void leat_dataset_graph_deinitialize(leat_dataset_graph_t* graph) {
  leat_string_map_deinitialize(&graph->nodes);
  leat_arena_deinitialize(&graph->arena);
}

leat_status_t leat_dataset_graph_write(const leat_dataset_graph_t* graph, bool has_retval,
                                       leat_string_builder_t* out) {
  LEAT_RETURN_IF_ERROR(leat_message_encode(&leat_pb_graph_def_descriptor, &graph->def, out));
  if (has_retval) {
    // Messages that follow one another are merged: this is one more node.
    const leat_pb_graph_def_t rest = {.node = {(leat_pb_node_def_t*)&graph->retval, 1}};
    LEAT_RETURN_IF_ERROR(leat_message_encode(&leat_pb_graph_def_descriptor, &rest, out));
  }
  return leat_status_clone(out->status);
}

leat_string_view_t leat_dataset_graph_root(const leat_dataset_graph_t* graph) {
  return leat_dataset_graph_input(graph, &graph->retval, 0)->name;
}

leat_pb_node_def_t* leat_dataset_graph_input(const leat_dataset_graph_t* graph,
                                             const leat_pb_node_def_t* node, size_t index) {
  return index < node->input.count ? find_node(graph, node_of(node->input.items[index])) : NULL;
}

// ---- Changes ------------------------------------------------------------------------------------

leat_pb_attr_value_t* leat_node_def_attr(const leat_pb_node_def_t* node, const char* name) {
  for (size_t i = 0; i < node->attr.count; ++i) {
    if (leat_string_view_equals(node->attr.items[i].key, name)) return node->attr.items[i].value;
  }
  return NULL;
}

leat_status_t leat_dataset_graph_set_attr(leat_dataset_graph_t* graph, leat_pb_node_def_t* node,
                                          const char* name, leat_pb_attr_value_t* value) {
  leat_pb_node_def_attr_entry_list_t* list = &node->attr;
  leat_pb_node_def_attr_entry_t* entries;
  size_t i = 0;
  while (i < list->count && !leat_string_view_equals(list->items[i].key, name)) ++i;
  if (i == list->count) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, i + 1, &entries));
    if (i) memcpy(entries, list->items, i * sizeof *entries);
    *list = (leat_pb_node_def_attr_entry_list_t){entries, i + 1};
  }
  list->items[i] = (leat_pb_node_def_attr_entry_t){leat_string_view_from(name), value};
  return leat_ok_status();
}

static leat_status_t find_free_name(leat_dataset_graph_t* graph, const char* name,
                                    leat_string_view_t* out_name) {
  LEAT_RETURN_IF_ERROR(leat_arena_print(&graph->arena, out_name, "%s", name));
  for (size_t i = graph->def.node.count; find_node(graph, *out_name); ++i) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(&graph->arena, out_name, "%s_%zu", name, i));
  }
  return leat_ok_status();
}

leat_status_t leat_dataset_graph_add(leat_dataset_graph_t* graph, const char* name,
                                     const char* op, size_t input_count,
                                     leat_pb_node_def_t** out_node) {
  leat_pb_node_def_list_t* nodes = &graph->def.node;
  leat_pb_node_def_t node = {.op = leat_string_view_from(op), .input.count = input_count};
  LEAT_RETURN_IF_ERROR(find_free_name(graph, name, &node.name));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, input_count, &node.input.items));
  if (nodes->count == graph->capacity) {
    leat_pb_node_def_t* items;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, 2 * nodes->count + 8, &items));
    memcpy(items, nodes->items, nodes->count * sizeof *items);
    nodes->items = items;
    graph->capacity = 2 * nodes->count + 8;
  }
  LEAT_RETURN_IF_ERROR(leat_string_map_set(&graph->nodes, node.name, nodes->count));
  *out_node = &nodes->items[nodes->count++];
  **out_node = node;
  return leat_ok_status();
}

leat_status_t leat_dataset_graph_add_number(leat_dataset_graph_t* graph, int64_t value,
                                            leat_string_view_t* out_name) {
  // What a constant's two attributes need.
  struct {
    leat_pb_attr_value_t type, value;
    leat_pb_tensor_proto_t tensor;
    leat_pb_tensor_shape_proto_t shape;
    int64_t number;
  }* parts;
  leat_pb_node_def_t* node;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, 1, &parts));
  parts->number = value;
  parts->tensor = (leat_pb_tensor_proto_t){
      .dtype = LEAT_DTYPE_INT64, .tensor_shape = &parts->shape, .int64_val = {&parts->number, 1}};
  parts->type = (leat_pb_attr_value_t){.value_case = 6, .type = LEAT_DTYPE_INT64};
  parts->value = (leat_pb_attr_value_t){.value_case = 8, .tensor = &parts->tensor};
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_add(graph, "data_service/number", "Const", 0, &node));
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_set_attr(graph, node, "dtype", &parts->type));
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_set_attr(graph, node, "value", &parts->value));
  *out_name = node->name;
  return leat_ok_status();
}

// ---- Preparation --------------------------------------------------------------------------------

static bool is_table(leat_string_view_t op) {
  static const char* const kOps[] = {
      "HashTable",
      "HashTableV2",
      "MutableHashTable",
      "MutableHashTableV2",
      "MutableDenseHashTable",
      "MutableDenseHashTableV2",
      "MutableHashTableOfTensors",
      "MutableHashTableOfTensorsV2",
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kOps); ++i) {
    if (leat_string_view_equals(op, kOps[i])) return true;
  }
  return false;
}

leat_status_t leat_dataset_graph_prepare(leat_dataset_graph_t* graph) {
  leat_pb_attr_value_t* yes;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, 1, &yes));
  *yes = (leat_pb_attr_value_t){.value_case = 5, .b = true};
  for (size_t i = 0; i < graph->def.node.count; ++i) {
    leat_pb_node_def_t* node = &graph->def.node.items[i];
    node->device = LEAT_SV("");
    if (!is_table(node->op)) continue;
    LEAT_RETURN_IF_ERROR(leat_dataset_graph_set_attr(graph, node, "use_node_name_sharing", yes));
  }
  const leat_pb_function_def_library_t* library = graph->def.library;
  for (size_t i = 0; library && i < library->function.count; ++i) {
    const leat_pb_node_def_list_t* body = &library->function.items[i].node_def;
    for (size_t k = 0; k < body->count; ++k) body->items[k].device = LEAT_SV("");
  }
  return leat_ok_status();
}

// ---- Resources ----------------------------------------------------------------------------------

// The op that makes a handle which stands for nothing, with which |op| makes a resource of its own;
// NULL for ops that keep none.
static const char* dummy_for(leat_string_view_t op) {
  static const struct {
    const char *op, *dummy;
  } kDatasets[] = {
      {"ShuffleDatasetV2", "DummySeedGenerator"},
      {"ShuffleDatasetV3", "DummySeedGenerator"},
      {"ShuffleAndRepeatDatasetV2", "DummySeedGenerator"},
      {"RandomDatasetV2", "DummySeedGenerator"},
      {"CacheDatasetV2", "DummyMemoryCache"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kDatasets); ++i) {
    if (leat_string_view_equals(op, kDatasets[i].op)) return kDatasets[i].dummy;
  }
  return NULL;
}

static bool is_handle(const leat_pb_node_def_t* node) {
  const leat_pb_attr_value_t* type =
      node && leat_string_view_equals(node->op, "Const") ? leat_node_def_attr(node, "dtype") : NULL;
  return type && type->type == LEAT_DTYPE_RESOURCE;
}

leat_status_t leat_dataset_graph_localize(leat_dataset_graph_t* graph) {
  const size_t count = graph->def.node.count;
  leat_pb_node_def_t* dummy;
  for (size_t i = 0; i < count; ++i) {
    const leat_pb_node_def_t node = graph->def.node.items[i];
    const char* op = dummy_for(node.op);
    for (size_t k = 0; op && k < node.input.count; ++k) {
      if (!is_handle(leat_dataset_graph_input(graph, &node, k))) continue;
      LEAT_RETURN_IF_ERROR(leat_dataset_graph_add(graph, "data_service/handle", op, 0, &dummy));
      node.input.items[k] = dummy->name;
    }
  }
  return leat_ok_status();
}
