// The walk from the end of a dataset to its sources. A dataset with one input is divided as its
// input is, and one that joins several as all of these are, one after the other. Any other has an
// order or a choice of its own that splits would not keep.
//
// A node that is reached twice stands for two iterators, and so for two sources. Therefore a
// rewriting walk copies each node on its way, and the graph keeps the old ones for whoever captures
// them; what nobody reads any more is never run.
#include "data_service/dataset_sources.h"

#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 1000

typedef struct walk_s {
  leat_dataset_graph_t* graph;
  leat_op_registry_t* ops;
  bool rewrites;
  size_t visits;
  leat_dataset_sources_t* sources;
} walk_t;

static const struct {
  const char *op, *kind;
  const char* types;  // the attribute with the types of the elements
} kSources[] = {
    [LEAT_SOURCE_NUMBERS] = {"RangeDataset", "numbers", "output_types"},
    [LEAT_SOURCE_ROWS] = {"TensorSliceDataset", "rows", "Toutput_types"},
    [LEAT_SOURCE_TENSORS] = {"TensorDataset", "tensors", "Toutput_types"},
};

void leat_split_source_print_name(size_t index, char out_name[LEAT_SPLIT_SOURCE_NAME_BYTES]) {
  snprintf(out_name, LEAT_SPLIT_SOURCE_NAME_BYTES, "splits_%zu", index);
}

static bool joins(leat_string_view_t op) {
  return leat_string_view_equals(op, "ZipDataset") ||
         leat_string_view_equals(op, "ConcatenateDataset") ||
         leat_string_view_equals(op, "DirectedInterleaveDataset");
}

static leat_status_t set_text(leat_dataset_graph_t* graph, leat_pb_node_def_t* node,
                              const char* name, leat_string_view_t text) {
  leat_pb_attr_value_t* value;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, 1, &value));
  *value = (leat_pb_attr_value_t){.value_case = 2, .s = text};
  return leat_dataset_graph_set_attr(graph, node, name, value);
}

static leat_status_t copy_attr(leat_dataset_graph_t* graph, const leat_pb_node_def_t* from,
                               const char* from_name, leat_pb_node_def_t* to, const char* to_name) {
  leat_pb_attr_value_t* value = leat_node_def_attr(from, from_name);
  if (value) return leat_dataset_graph_set_attr(graph, to, to_name, value);
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Sharding a dataset failed for node '%.*s' (%.*s): it has no attribute "
                          "%s, must have it",
                          LEAT_SV_ARG(from->name), LEAT_SV_ARG(from->op), from_name);
}

// Puts a _SplitDataset in the place of the source |node|. |*input| is to read it.
static leat_status_t replace_source(const walk_t* walk, leat_pb_node_def_t node,
                                    leat_dataset_source_kind_t kind, leat_string_view_t* input) {
  leat_dataset_graph_t* graph = walk->graph;
  const bool has_components = kind != LEAT_SOURCE_NUMBERS;
  const size_t count = has_components ? node.input.count : 0;
  leat_pb_attr_value_t* none;
  leat_pb_node_def_t* split;
  leat_string_view_t name;
  char text[LEAT_SPLIT_SOURCE_NAME_BYTES];
  leat_split_source_print_name(walk->sources->count - 1, text);
  LEAT_RETURN_IF_ERROR(leat_arena_print(&graph->arena, &name, "%s", text));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, 1, &none));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, 1, &none->list));
  none->value_case = 1;
  LEAT_RETURN_IF_ERROR(
      leat_dataset_graph_add(graph, "data_service/split", "_SplitDataset", count, &split));
  if (count) memcpy(split->input.items, node.input.items, count * sizeof *input);
  LEAT_RETURN_IF_ERROR(set_text(graph, split, "kind", leat_string_view_from(kSources[kind].kind)));
  LEAT_RETURN_IF_ERROR(set_text(graph, split, "split_source", name));
  LEAT_RETURN_IF_ERROR(copy_attr(graph, &node, kSources[kind].types, split, "output_types"));
  LEAT_RETURN_IF_ERROR(copy_attr(graph, &node, "output_shapes", split, "output_shapes"));
  if (has_components) {
    LEAT_RETURN_IF_ERROR(copy_attr(graph, &node, kSources[kind].types, split, "Tcomponents"));
  } else {
    LEAT_RETURN_IF_ERROR(leat_dataset_graph_set_attr(graph, split, "Tcomponents", none));
  }
  *input = split->name;
  return leat_ok_status();
}

static leat_status_t take_source(walk_t* walk, const leat_pb_node_def_t* node,
                                 leat_dataset_source_kind_t kind, leat_string_view_t* input) {
  leat_dataset_sources_t* sources = walk->sources;
  const leat_pb_attr_value_t* whole = leat_node_def_attr(node, "replicate_on_split");
  leat_pb_string_list_t* inputs;
  if (sources->count == LEAT_MAX_DATASET_SOURCES) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "Sharding a dataset failed: it has more than %d sources",
                            LEAT_MAX_DATASET_SOURCES);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&walk->graph->arena, 1, &inputs));
  *inputs = node->input;
  sources->items[sources->count++] = (leat_dataset_source_t){kind, inputs};
  if (!walk->rewrites || (whole && whole->b)) return leat_ok_status();
  return replace_source(walk, *node, kind, input);
}

// How many of the first inputs of |node| are datasets that are divided with it.
static leat_status_t count_inputs(const walk_t* walk, const leat_pb_node_def_t* node,
                                  size_t* out_count) {
  const leat_op_t* op;
  *out_count = 0;
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(walk->ops, node->op, &op));
  while (*out_count < node->input.count && node->input.items[*out_count].size &&
         node->input.items[*out_count].data[0] != '^') {
    ++*out_count;
  }
  if (joins(node->op)) return leat_ok_status();
  if (*out_count && op->input_count &&
      leat_string_view_equals(op->inputs[0].name, "input_dataset")) {
    *out_count = 1;
    return leat_ok_status();
  }
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Cannot create split providers for dataset of type %.*s (node '%.*s'): "
                          "its source must be a range or tensors, and it must read one dataset",
                          LEAT_SV_ARG(node->op), LEAT_SV_ARG(node->name));
}

// Gives |*input|, which reads |node|, a copy of the node to read; |*out_inputs| are its inputs.
static leat_status_t copy_node(const walk_t* walk, leat_pb_node_def_t node,
                               leat_string_view_t* input, leat_string_view_t** out_inputs) {
  leat_pb_node_def_t* copy;
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_add(walk->graph, "data_service/copy", "",
                                              node.input.count, &copy));
  memcpy(copy->input.items, node.input.items, node.input.count * sizeof *input);
  copy->op = node.op;
  copy->attr = node.attr;
  *input = copy->name;
  *out_inputs = copy->input.items;
  return leat_ok_status();
}

// Finds the sources of what |*input| reads.
static leat_status_t walk_from(walk_t* walk, leat_string_view_t* input, int depth) {
  const leat_pb_node_def_t reader = {.input = {input, 1}};
  const leat_pb_node_def_t* node = leat_dataset_graph_input(walk->graph, &reader, 0);
  size_t count;
  if (!node || depth > MAX_DEPTH || ++walk->visits > 16 * LEAT_MAX_DATASET_SOURCES) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Sharding a dataset failed: input '%.*s' is no node, or one of too "
                            "many (%d deep)",
                            LEAT_SV_ARG(*input), depth);
  }
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSources); ++i) {
    if (leat_string_view_equals(node->op, kSources[i].op)) {
      return take_source(walk, node, (leat_dataset_source_kind_t)i, input);
    }
  }
  leat_string_view_t* inputs = node->input.items;
  LEAT_RETURN_IF_ERROR(count_inputs(walk, node, &count));
  if (walk->rewrites) LEAT_RETURN_IF_ERROR(copy_node(walk, *node, input, &inputs));
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(walk_from(walk, &inputs[i], depth + 1));
  }
  return leat_ok_status();
}

leat_status_t leat_dataset_graph_find_sources(leat_dataset_graph_t* graph, leat_op_registry_t* ops,
                                              bool rewrites, leat_dataset_sources_t* out_sources) {
  walk_t walk = {.graph = graph, .ops = ops, .rewrites = rewrites, .sources = out_sources};
  out_sources->count = 0;
  return walk_from(&walk, &graph->retval.input.items[0], 0);
}
