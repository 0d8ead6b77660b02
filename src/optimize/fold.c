// Constant folding: pure nodes whose inputs are all constant are computed now, under the same
// contracts as in a step; so are nodes whose value follows from shapes alone (Shape of a tensor
// whose sizes are known). A node that cannot be computed, or whose result is too large, stays, and
// so do all that are left when the time for it is up.
//
// Gradients hand constants on when all of their group are there: what is computed of such a one
// waits for it as a constant. What hands it on stays, as it would be no less of a node.
#include <string.h>

#include "base/clock.h"
#include "graph/inference/inference.h"
#include "optimize/pass.h"

#define DEFAULT_LIMIT_BYTES (INT64_C(10) << 20)
#define DEFAULT_LIMIT_NS INT64_C(2000000000)

typedef struct fold_s {
  const leat_pass_options_t* options;
  leat_rewrite_t* rewrite;
  leat_graph_t* graph;
  leat_arena_t* arena;
  int32_t* order;
  leat_tensor_t** values;  // node -> its outputs' values, or NULL
  bool* needed;            // by readers that stay
  bool* harmless;          // nothing on the way to the node can fail or be seen from outside
  bool* controlled;        // behind a Switch or Enter: may be dead, or of many iterations
  bool* waits;             // the value comes when something else is done, though it may be known
  size_t folded;
  int64_t deadline_ns;     // of the first computation on
} fold_t;

static bool fits(const fold_t* f, const leat_node_t* node, const leat_tensor_t* outputs) {
  int64_t limit = f->options->fold_limit_bytes;
  if (limit <= 0) limit = DEFAULT_LIMIT_BYTES;
  int64_t total = 0;
  for (int i = 0; i < node->output_count; ++i) {
    if (outputs[i].dtype == LEAT_DTYPE_RESOURCE || outputs[i].dtype == LEAT_DTYPE_VARIANT) {
      return false;
    }
    total += (int64_t)leat_tensor_size_bytes(&outputs[i]);
  }
  return total <= limit;
}

// The inferred sizes say beforehand that a result would be too large (Fill of 2^40).
static bool may_be_huge(const fold_t* f, const leat_node_t* node) {
  int64_t limit = f->options->fold_limit_bytes > 0 ? f->options->fold_limit_bytes
                                                   : DEFAULT_LIMIT_BYTES;
  for (int i = 0; i < node->output_count; ++i) {
    leat_shape_t shape;
    if (!leat_partial_shape_is_full(node->output_shapes[i])) return true;
    leat_status_t status = leat_partial_shape_to_full(node->output_shapes[i], &shape);
    if (status) {
      leat_status_free(status);
      return true;
    }
    bool huge = shape.element_count > limit;
    leat_shape_release(&shape);
    if (huge) return true;
  }
  return false;
}

static bool inputs_are_constant(const fold_t* f, const leat_node_t* node) {
  for (int i = 0; i < node->input_count; ++i) {
    if (!f->values[node->inputs[i].node]) return false;
  }
  return true;
}

static void release_all(leat_tensor_t* tensors, int count) {
  for (int i = 0; i < count; ++i) leat_tensor_release(&tensors[i]);
}

static leat_status_t allocate_values(const fold_t* f, int count, leat_tensor_t** out_values) {
  return leat_arena_allocate_array(f->arena, (size_t)count + 1, sizeof **out_values,
                                   (void**)out_values);
}

static bool is_late(fold_t* f) {
  int64_t now = leat_clock_now_ns(), limit = f->options->fold_limit_ns;
  if (!f->deadline_ns) f->deadline_ns = now + (limit > 0 ? limit : DEFAULT_LIMIT_NS);
  return now > f->deadline_ns;
}

static leat_status_t evaluate(fold_t* f, int32_t index) {
  const leat_node_t* node = &f->graph->nodes[index];
  leat_tensor_t *inputs, *outputs;
  LEAT_RETURN_IF_ERROR(allocate_values(f, node->input_count, &inputs));
  LEAT_RETURN_IF_ERROR(allocate_values(f, node->output_count, &outputs));
  for (int i = 0; i < node->input_count; ++i) {
    LEAT_DCHECK(f->values[node->inputs[i].node]);
    inputs[i] = f->values[node->inputs[i].node][node->inputs[i].index];  // borrowed
  }
  leat_status_t status =
      f->options->evaluate(f->options->evaluate_data, f->graph, index, inputs, outputs);
  if (status) {  // it will fail in the step, where it is reported
    leat_status_free(status);
    return leat_ok_status();
  }
  if (!fits(f, node, outputs)) {
    release_all(outputs, node->output_count);
    return leat_ok_status();
  }
  LEAT_DCHECK(!f->values[index]);
  f->values[index] = outputs;
  ++f->folded;
  return leat_ok_status();
}

// A scalar or vector of integers from what inference knows.
static leat_status_t value_to_tensor(leat_partial_value_t value, int dtype, leat_tensor_t* out) {
  LEAT_DCHECK(value.rank == 1 || (value.rank == 0 && value.count == 1));
  leat_shape_t shape = value.rank == 0 ? leat_shape_scalar() : leat_shape_vector(value.count);
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, out));
  for (int i = 0; i < value.count; ++i) {
    if (dtype == LEAT_DTYPE_INT32) {
      leat_tensor_data(out, int32_t)[i] = (int32_t)value.items[i];
    } else {
      leat_tensor_data(out, int64_t)[i] = value.items[i];
    }
  }
  return leat_ok_status();
}

static bool value_is_full(leat_partial_value_t value, int dtype) {
  if (value.rank < 0 || (dtype != LEAT_DTYPE_INT32 && dtype != LEAT_DTYPE_INT64)) return false;
  for (int i = 0; i < value.count; ++i) {
    if (value.items[i] == LEAT_VALUE_UNKNOWN) return false;
    if (dtype == LEAT_DTYPE_INT32 && (value.items[i] > INT32_MAX || value.items[i] < INT32_MIN)) {
      return false;
    }
  }
  return true;
}

static leat_status_t fold_shape(fold_t* f, int32_t index) {
  const leat_node_t* node = &f->graph->nodes[index];
  leat_tensor_t* outputs;
  LEAT_RETURN_IF_ERROR(allocate_values(f, node->output_count, &outputs));
  for (int i = 0; i < node->output_count; ++i) {
    leat_partial_value_t value;
    LEAT_RETURN_IF_ERROR(
        leat_inference_value_of(f->graph, (leat_output_t){index, i}, 0, &value));
    if (!value_is_full(value, node->output_types[i])) {
      release_all(outputs, i);
      return leat_ok_status();
    }
    leat_status_t status = value_to_tensor(value, node->output_types[i], &outputs[i]);
    if (status) {
      release_all(outputs, i);
      return status;
    }
  }
  f->values[index] = outputs;
  ++f->folded;
  return leat_ok_status();
}

static leat_status_t take_constant(fold_t* f, int32_t index) {
  const leat_tensor_t* constant = leat_node_constant(&f->graph->nodes[index]);
  if (!constant) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(allocate_values(f, 1, &f->values[index]));
  f->values[index][0] = leat_tensor_share(constant);
  return leat_ok_status();
}

static bool is_harmless(const fold_t* f, const leat_node_t* node) {
  bool harmless = leat_node_is_pure(f->graph, node) || (node->op->flags & LEAT_OP_ARGUMENT);
  for (int i = 0; harmless && i < node->input_count + node->control_count; ++i) {
    harmless = f->harmless[node->inputs[i].node];
  }
  return harmless;
}

static bool is_controlled(const fold_t* f, const leat_node_t* node) {
  bool controlled = node->op->flags & (LEAT_OP_SWITCH | LEAT_OP_ENTER);
  for (int i = 0; !controlled && i < node->input_count + node->control_count; ++i) {
    controlled = f->controlled[node->inputs[i].node];
  }
  return controlled;
}

static bool find_waits(const fold_t* f, const leat_node_t* node) {
  bool waits = node->control_count > 0;
  for (int i = 0; i < node->input_count; ++i) waits |= f->waits[node->inputs[i].node];
  return waits;
}

static leat_status_t try_node(fold_t* f, int32_t index) {
  const leat_node_t* node = &f->graph->nodes[index];
  f->waits[index] = find_waits(f, node);
  f->harmless[index] = is_harmless(f, node);
  f->controlled[index] = is_controlled(f, node);
  if (f->controlled[index]) return leat_ok_status();
  if (node->op->flags & LEAT_OP_CONSTANT) return take_constant(f, index);
  bool foldable = leat_node_is_pure(f->graph, node) && !(node->op->flags & LEAT_OP_NEVER_FOLD);
  if (!foldable) return leat_ok_status();
  if (node->op->flags & LEAT_OP_ONLY_SHAPE) {
    return node->control_count ? leat_ok_status() : fold_shape(f, index);
  }
  if (node->input_count == 0) return leat_ok_status();
  if (!inputs_are_constant(f, node) || may_be_huge(f, node) || is_late(f)) return leat_ok_status();
  return evaluate(f, index);
}

static leat_status_t add_constant(leat_graph_t* child, const leat_node_t* node, int output,
                                  const leat_tensor_t* value) {
  LEAT_DCHECK(output >= 0 && output < node->output_count &&
              value->dtype == node->output_types[output]);
  const leat_op_t* op;
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(child->ops, LEAT_OP_NAME_CONSTANT, &op));
  leat_string_view_t name = node->name;
  if (output > 0) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(child), &name, "%.*s/_folded_%d",
                                          LEAT_SV_ARG(node->name), output));
  }
  leat_attr_t attrs[] = {LEAT_TENSOR("value", value), LEAT_TYPE("dtype", value->dtype)};
  leat_node_spec_t spec = {.name = name, .op = op, .device = node->device, .attrs = attrs,
                           .attr_count = 2};
  int32_t added;
  return leat_graph_add_node(child, &spec, &added);
}

static bool is_folded(const fold_t* f, int32_t index) {
  LEAT_DCHECK(index >= 0 && (size_t)index < f->graph->node_count);
  const uint32_t flags = f->graph->nodes[index].op->flags;
  return f->values[index] && !(flags & LEAT_OP_CONSTANT) &&
         !(f->waits[index] && flags & LEAT_OP_PASS_THROUGH);
}

// Kept nodes keep their order; a folded one becomes a constant for each output, side by side.
static leat_status_t number_nodes(fold_t* f, leat_node_map_t* map) {
  int32_t next = 0;
  for (size_t i = 0; i < f->graph->node_count; ++i) {
    map->nodes[i] = f->needed[i] ? next : -1;
    if (!f->needed[i]) continue;
    if (!is_folded(f, (int32_t)i)) {
      ++next;
      continue;
    }
    int outputs = f->graph->nodes[i].output_count;
    LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(f->arena, (size_t)outputs,
                                                   sizeof(leat_output_t),
                                                   (void**)&map->outputs[i]));
    // A folded node is pure, and what is pure has outputs.
    LEAT_DCHECK(outputs > 0);
    for (int k = 0; k < outputs; ++k) map->outputs[i][k] = (leat_output_t){next++, 0};
  }
  return leat_ok_status();
}

static leat_status_t copy_nodes(fold_t* f, leat_graph_t* child, const leat_node_map_t* map) {
  for (size_t i = 0; i < f->graph->node_count; ++i) {
    const leat_node_t* node = &f->graph->nodes[i];
    if (!f->needed[i]) continue;
    int32_t copy;
    if (!is_folded(f, (int32_t)i)) {
      LEAT_RETURN_IF_ERROR(leat_node_map_copy_node(child, node, map, &copy));
      continue;
    }
    for (int k = 0; k < node->output_count; ++k) {
      LEAT_RETURN_IF_ERROR(add_constant(child, node, k, &f->values[i][k]));
    }
  }
  return leat_ok_status();
}

// Of a folded node's edges those are left that it waits along.
static void drop_inputs(const fold_t* f, leat_node_t* node) {
  const int total = node->input_count + node->control_count;
  int count = 0;
  for (int i = 0; i < total; ++i) {
    const int32_t source = node->inputs[i].node;
    if (i < node->input_count && !f->waits[source]) continue;
    node->inputs[count++] = (leat_output_t){source, LEAT_CONTROL_INDEX};
  }
  node->input_count = 0;
  node->control_count = count;
}

static leat_status_t add_waits(const fold_t* f, leat_graph_t* child, const leat_node_map_t* map) {
  for (size_t i = 0; i < f->graph->node_count; ++i) {
    const leat_node_t* node = &f->graph->nodes[i];
    if (!f->needed[i] || !is_folded(f, (int32_t)i) || !f->waits[i]) continue;
    for (int k = 0; k < node->output_count; ++k) {
      for (int w = 0; w < node->control_count; ++w) {
        LEAT_RETURN_IF_ERROR(leat_graph_add_control_input(child, map->outputs[i][k].node,
                                                          map->nodes[node->inputs[w].node]));
      }
    }
  }
  return leat_ok_status();
}

// What stays: fetches, targets and what they read, not looking behind folded nodes. But where a
// shape was asked of something that reads state, that still runs: an uninitialised variable must be
// reported, though its shape is known.
static leat_status_t mark_needed(fold_t* f) {
  for (size_t i = 0; i < f->graph->node_count; ++i) {
    leat_node_t* node = &f->graph->nodes[i];  // the old graph goes away
    bool asks_state = (node->op->flags & LEAT_OP_ONLY_SHAPE) && !f->harmless[i];
    if (is_folded(f, (int32_t)i) && !asks_state) drop_inputs(f, node);
  }
  return leat_rewrite_mark_needed(f->rewrite, f->needed);
}

static leat_status_t rebuild(fold_t* f) {
  size_t count = f->graph->node_count;
  leat_node_map_t map = {0};
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(f->arena, count + 1, sizeof(int32_t), (void**)&map.nodes));
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(f->arena, count + 1, sizeof(void*), (void**)&map.outputs));
  LEAT_RETURN_IF_ERROR(mark_needed(f));
  LEAT_RETURN_IF_ERROR(number_nodes(f, &map));
  leat_graph_t* child;
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(f->graph, &child));
  leat_status_t status = copy_nodes(f, child, &map);
  if (!status) status = add_waits(f, child, &map);
  if (status) {
    leat_graph_free(child);
    return status;
  }
  leat_rewrite_replace(f->rewrite, child, &map);
  return leat_ok_status();
}

static leat_status_t run(fold_t* f) {
  size_t count = f->graph->node_count;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(f->arena, count + 1, 4, (void**)&f->order));
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(f->arena, count + 1, sizeof(void*), (void**)&f->values));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(f->arena, count + 1, 1, (void**)&f->needed));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(f->arena, count + 1, 1, (void**)&f->harmless));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(f->arena, count + 1, 1, (void**)&f->controlled));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(f->arena, count + 1, 1, (void**)&f->waits));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(f->graph, f->order));
  for (size_t i = 0; i < count; ++i) LEAT_RETURN_IF_ERROR(try_node(f, f->order[i]));
  return f->folded ? rebuild(f) : leat_ok_status();
}

static leat_status_t fold(leat_rewrite_t* rewrite, const leat_pass_options_t* options) {
  if (!options->evaluate) return leat_ok_status();
  leat_arena_t arena;
  leat_arena_initialize(rewrite->graph->allocator, 0, &arena);
  fold_t f = {.options = options, .rewrite = rewrite, .graph = rewrite->graph, .arena = &arena};
  size_t count = f.graph->node_count;
  int* output_counts = NULL;
  leat_status_t status = leat_arena_allocate_array(&arena, count + 1, sizeof(int),
                                                   (void**)&output_counts);
  for (size_t i = 0; !status && i < count; ++i) output_counts[i] = f.graph->nodes[i].output_count;
  if (!status) status = run(&f);
  for (size_t i = 0; f.values && i < count; ++i) {
    if (f.values[i]) release_all(f.values[i], output_counts[i]);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

const leat_pass_t leat_pass_fold = {
    .name = "fold",
    .doc = "computes what is constant before the first step",
    .bit = LEAT_PASS_BIT_FOLD,
    .run = fold};
