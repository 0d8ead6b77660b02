// What is known of values while the graph is built. Shape functions need two sorts: small integers
// that say shapes, axes and sizes, and what the handle of a resource stands for. Both are found by
// walking back from the output:
//
//   Const                    its tensor, if it is a scalar or a short vector of int32 or int64
//   Identity                 the value of its input
//   a variable               what its attributes say
//   Switch, Enter, Exit      of handles only: an integer may differ between iterations
//   else                     the op's value function (Shape, Pack, ...), which asks for its inputs
//
// Results are remembered for each output, and forgotten when an edge or a shape changes. A file may
// hold a graph whose values would take exponential time or deep recursion to find, so a walk has a
// bounded depth and a bounded number of steps; a walk that runs out knows nothing, and what it
// found on the way is not remembered, because another walk could find more.
#include "graph/inference/inference.h"
#include "graph/storage.h"

#define MAX_DEPTH 64    // of recursion
#define MAX_STEPS 1024  // outputs that one walk may look at
#define MAX_ITEMS 4096  // items of a value that is followed

static const leat_partial_value_t nothing = {.rank = -1};

static uint64_t key_of(leat_output_t output) {
  return (uint64_t)(uint32_t)output.node << 32 | (uint32_t)output.index;
}

static leat_status_t remember(leat_graph_t* graph, leat_word_map_t* map, leat_output_t output,
                              leat_partial_value_t value) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&graph->storage->arena, sizeof(value), &memory));
  *(leat_partial_value_t*)memory = value;
  return leat_word_map_set(map, key_of(output), (uint64_t)(uintptr_t)memory);
}

static bool recall(const leat_word_map_t* map, leat_output_t output,
                   leat_partial_value_t* out_value) {
  uint64_t found = 0;
  if (!leat_word_map_get(map, key_of(output), &found)) return false;
  *out_value = *(const leat_partial_value_t*)(uintptr_t)found;
  return true;
}

static leat_status_t value_of_tensor(leat_graph_t* graph, const leat_tensor_t* tensor,
                                     leat_partial_value_t* out_value) {
  bool is_integer = tensor->dtype == LEAT_DTYPE_INT32 || tensor->dtype == LEAT_DTYPE_INT64;
  int64_t count = tensor->shape.element_count;
  if (!is_integer || tensor->shape.rank > 1 || count > MAX_ITEMS) return leat_ok_status();
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&graph->storage->arena, (size_t)count,
                                                 sizeof(int64_t), &memory));
  int64_t* items = memory;
  for (int64_t i = 0; i < count; ++i) items[i] = leat_tensor_index_at(tensor, i);
  *out_value = (leat_partial_value_t){.rank = tensor->shape.rank,
                                      .count = (int32_t)count,
                                      .items = items};
  return leat_ok_status();
}

// Runs the op's value function. |*out_value| becomes what it set for |output|, and nothing if it
// set nothing.
static leat_status_t run_value_function(leat_graph_t* graph, leat_output_t output, int depth,
                                        leat_partial_value_t* out_value) {
  const leat_node_t* node = &graph->nodes[output.node];
  LEAT_DCHECK(node->op->row->value && output.index >= 0 && output.index < node->output_count);
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&graph->storage->arena,
                                                 (size_t)node->output_count,
                                                 sizeof(leat_partial_value_t), &memory));
  leat_partial_value_t* values = memory;
  for (int i = 0; i < node->output_count; ++i) values[i] = nothing;
  leat_inference_t inference = {.graph = graph,
                                .arena = &graph->storage->arena,
                                .node = node,
                                .outputs = node->output_shapes,
                                .output_values = values,
                                .depth = depth};
  leat_status_t status = node->op->row->value(&inference);
  LEAT_RETURN_IF_ERROR(leat_status_join(status, inference.status));
  *out_value = values[output.index];
  return leat_ok_status();
}

// A value of |items| [count], copied into |arena|. The pointer is never NULL, so that "no
// referents" differs from "not known".
static leat_status_t copy_referents(leat_arena_t* arena, const leat_referent_t* items, int count,
                                    leat_partial_value_t* out_value) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, (size_t)count + 1, sizeof *items, &memory));
  if (count > 0) memcpy(memory, items, (size_t)count * sizeof *items);
  *out_value = nothing;
  out_value->referents = memory;
  out_value->referent_count = count;
  return leat_ok_status();
}

// The value of the op's declared attribute |index| (-1: none) when it is a single value of |kind|,
// else NULL.
static const leat_attr_value_t* declared(const leat_node_t* node, int index,
                                         leat_attr_kind_t kind) {
  if (index < 0) return NULL;
  const leat_attr_value_t* value = &node->attrs[index].value;
  return value->kind == kind && !value->is_list ? value : NULL;
}

bool leat_variable_referent(const leat_node_t* node, leat_referent_t* out_referent) {
  const leat_attr_value_t* type = declared(node, node->op->dtype_attr, LEAT_ATTR_TYPE);
  const leat_attr_value_t* shape = declared(node, node->op->shape_attr, LEAT_ATTR_SHAPE);
  *out_referent = (leat_referent_t){type ? type->type : LEAT_DTYPE_INVALID,
                                    shape ? shape->shape : leat_partial_shape_unknown(), NULL};
  return out_referent->dtype != LEAT_DTYPE_INVALID;
}

static leat_status_t value_of_variable(leat_graph_t* graph, const leat_node_t* node,
                                       leat_partial_value_t* out_value) {
  leat_referent_t referent;
  if (!leat_variable_referent(node, &referent)) return leat_ok_status();
  return copy_referents(&graph->storage->arena, &referent, 1, out_value);
}

// Finds the value of |output| without asking the cache. What callers stated comes before what
// follows.
static leat_status_t compute(leat_graph_t* graph, leat_output_t output, int depth,
                             leat_partial_value_t* out_value) {
  const uint32_t forwards = LEAT_OP_ENTER | LEAT_OP_EXIT | LEAT_OP_SWITCH;
  const leat_node_t* node = &graph->nodes[output.node];
  if (recall(&graph->storage->referents, output, out_value)) return leat_ok_status();
  if ((node->op->flags & LEAT_OP_CONSTANT) && output.index == 0) {
    const leat_tensor_t* constant = leat_node_constant(node);
    return constant ? value_of_tensor(graph, constant, out_value) : leat_ok_status();
  }
  if ((node->op->flags & LEAT_OP_PASS_THROUGH) && output.index == 0 && node->input_count > 0) {
    return leat_inference_value_of(graph, node->inputs[0], depth + 1, out_value);
  }
  if ((node->op->flags & LEAT_OP_VARIABLE) && output.index == 0) {
    return value_of_variable(graph, node, out_value);
  }
  // The node forwards the same handle in every iteration and branch, but perhaps other integers.
  if ((node->op->flags & forwards) && node->input_count > 0) {
    leat_partial_value_t value;
    LEAT_RETURN_IF_ERROR(leat_inference_value_of(graph, node->inputs[0], depth + 1, &value));
    out_value->referents = value.referents;
    out_value->referent_count = value.referent_count;
    return leat_ok_status();
  }
  if (!node->op->row->value) return leat_ok_status();
  return run_value_function(graph, output, depth + 1, out_value);
}

leat_status_t leat_inference_value_of(leat_graph_t* graph, leat_output_t output, int depth,
                                      leat_partial_value_t* out_value) {
  *out_value = nothing;
  leat_graph_storage_t* storage = graph->storage;
  if (depth == 0) storage->value_budget = MAX_STEPS;
  if (!leat_output_exists(output) || depth > MAX_DEPTH || storage->value_budget <= 0) {
    storage->value_budget = 0;  // nothing that follows from this gap is remembered
    return leat_ok_status();
  }
  if (recall(&storage->values, output, out_value)) return leat_ok_status();
  --storage->value_budget;
  LEAT_RETURN_IF_ERROR(compute(graph, output, depth, out_value));
  if (storage->value_budget <= 0) return leat_ok_status();
  return remember(graph, &storage->values, output, *out_value);
}

leat_status_t leat_graph_set_referents(leat_graph_t* graph, leat_output_t output,
                                       const leat_referent_t* items, int count) {
  leat_partial_value_t value;
  leat_graph_storage_t* storage = graph->storage;
  LEAT_RETURN_IF_ERROR(copy_referents(&storage->arena, items, count, &value));
  LEAT_RETURN_IF_ERROR(remember(graph, &storage->referents, output, value));
  leat_word_map_clear(&storage->values);
  return leat_ok_status();
}

leat_status_t leat_inference_input_value(leat_inference_t* c, int index,
                                         leat_partial_value_t* out_value) {
  c->saw_values = true;
  return leat_inference_value_of(c->graph, c->node->inputs[index], c->depth, out_value);
}

leat_status_t leat_inference_set_output_value(leat_inference_t* c, int index, int rank, int count,
                                              const int64_t* items) {
  if (!c->output_values || index >= c->node->output_count || count > MAX_ITEMS) {
    return leat_ok_status();
  }
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(c->arena, (size_t)count, sizeof(int64_t), &memory));
  if (count > 0) memcpy(memory, items, (size_t)count * sizeof(int64_t));
  c->output_values[index] = (leat_partial_value_t){.rank = rank, .count = count, .items = memory};
  return leat_ok_status();
}

leat_status_t leat_inference_set_output_referents(leat_inference_t* c, int index,
                                                  const leat_referent_t* items, int count) {
  if (!c->output_values || index >= c->node->output_count) return leat_ok_status();
  return copy_referents(c->arena, items, count, &c->output_values[index]);
}

leat_status_t leat_value_forwarded(leat_inference_t* c) {
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &value));
  if (!value.referents) return leat_ok_status();
  return leat_inference_set_output_referents(c, 0, value.referents, value.referent_count);
}

// ---- a value read as a shape --------------------------------------------------------------------

static leat_status_t shape_of_items(leat_inference_t* c, const leat_partial_value_t* value,
                                    leat_partial_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < value->count && i < LEAT_SHAPE_MAX_RANK; ++i) {
    dims[i] = value->items[i] == LEAT_VALUE_UNKNOWN ? LEAT_DIM_UNKNOWN : value->items[i];
    if (dims[i] < LEAT_DIM_UNKNOWN) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid value in tensor used for shape: %lld",
                              (long long)dims[i]);
    }
  }
  return leat_partial_shape_create(value->count, dims, c->arena, out_shape);
}

leat_status_t leat_inference_input_as_shape(leat_inference_t* c, int index,
                                            leat_partial_shape_t* out_shape) {
  *out_shape = leat_partial_shape_unknown();
  leat_partial_shape_t input = leat_inference_input(c, index);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, input, 1, &input));
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, index, &value));
  if (value.rank == 1) return shape_of_items(c, &value, out_shape);
  int64_t count = leat_partial_shape_dim(input, 0);
  if (count == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (count > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Shape must be at most rank %d but is rank %lld",
                            LEAT_SHAPE_MAX_RANK, (long long)count);
  }
  return leat_inference_unknown_of_rank(c, (int)count, out_shape);
}
