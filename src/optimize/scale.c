// Products with few numbers that are made where the many are made or read, so that a large array is
// not passed over once more. What op does both is what the other node's op says of itself.
//
//   x, y ─▶ CrossEntropy ─▶ loss           x, y, s ─▶ _ScaledCrossEntropy ─▶ loss
//                └─▶ Mul ─▶ dx                               └─▶ dx              (s: a column)
//                s ───┘
//   g, s ─▶ Mul ─▶ ApplyGradientDescent    g, s ─▶ _ScaledApplyGradientDescent   (s: a scalar)
//
// Nobody else reads the array that goes. The other outputs of what makes it then wait for the
// factor: it does not follow from them, and comes under the same conditions.
//
// This comes after placement, as only then it is known which kernels there are.
#include <string.h>

#include "optimize/placed.h"

// A node and the product of what it gives or reads.
typedef struct pair_s {
  int32_t node, product;
  int factor;           // input of the product: the few numbers
  const leat_op_t* op;  // does both
} pair_t;

static const leat_node_t* node_at(const leat_placed_t* s, int32_t index) {
  return &s->graph->nodes[index];
}

static bool is_product(const leat_placed_t* s, int32_t index, const leat_node_t* beside) {
  const leat_node_t* node = node_at(s, index);
  return (size_t)index < s->count && leat_string_view_equal(node->op->name, LEAT_OP_NAME_MUL) &&
         node->assigned_device == beside->assigned_device && leat_node_is_pure(s->graph, node);
}

static leat_partial_shape_t input_shape(const leat_placed_t* s, int32_t node, int index) {
  return leat_graph_output_shape(s->graph, node_at(s, node)->inputs[index]);
}

// ---- Products of what a node gives --------------------------------------------------------------

// The one place where |output| is read; false: there are more or none, or it is fetched.
static bool find_reader(const leat_placed_t* s, leat_output_t output, leat_reader_t* out_reader) {
  int count = 0;
  for (int i = 0; i < s->rewrite->fetch_count; ++i) {
    if (leat_output_equal(s->rewrite->fetches[i], output)) return false;
  }
  for (uint32_t r = s->readers.begin[output.node]; r < s->readers.begin[output.node + 1]; ++r) {
    const leat_reader_t reader = s->readers.readers[r];
    const leat_node_t* node = node_at(s, reader.node);
    if (reader.position >= node->input_count ||
        node->inputs[reader.position].index != output.index) {
      continue;
    }
    *out_reader = reader;
    ++count;
  }
  return count == 1;
}

// Is there a number for each row of the last dimension, known to leave the product's shape alone?
static bool is_column(leat_partial_shape_t factor, leat_partial_shape_t shape) {
  const int last = shape.rank - 1;
  if (last < 0 || factor.rank != shape.rank || factor.dims[last] != 1) return false;
  for (int d = 0; d < last; ++d) {
    if (factor.dims[d] < 0 || factor.dims[d] != shape.dims[d]) return false;
  }
  return true;
}

// Does what the product reads and waits for besides come from |pair|'s node?
static leat_status_t find_cycle(const leat_placed_t* s, const pair_t* pair, bool* out_found) {
  const leat_node_t* product = node_at(s, pair->product);
  const int total = product->input_count + product->control_count, other = 1 - pair->factor;
  leat_output_t* roots;
  bool* needed;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(s->arena, (size_t)total, sizeof *roots, (void**)&roots));
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(s->arena, s->graph->node_count, 1, (void**)&needed));
  memcpy(roots, product->inputs, (size_t)total * sizeof *roots);
  roots[other] = roots[pair->factor];
  const leat_rewrite_t wanted = {.graph = s->graph, .fetches = roots, .fetch_count = total};
  LEAT_RETURN_IF_ERROR(leat_rewrite_mark_needed(&wanted, needed));
  *out_found = needed[pair->node];
  return leat_ok_status();
}

// |out_found| stays false where the node gives nothing that is to be multiplied.
static leat_status_t find_product_of_output(const leat_placed_t* s, pair_t* pair, bool* out_found) {
  const leat_node_t* node = node_at(s, pair->node);
  const leat_output_t output = {pair->node, LEAT_SCALES_OUTPUT(node->op->row->scales)};
  leat_reader_t reader;
  bool is_cycle;
  if (!leat_node_is_pure(s->graph, node) || !find_reader(s, output, &reader) ||
      !is_product(s, reader.node, node) ||
      !leat_condition_set_equal(s->conditions[pair->node], s->conditions[reader.node])) {
    return leat_ok_status();
  }
  pair->product = reader.node;
  pair->factor = reader.position == 0;
  if (!is_column(input_shape(s, reader.node, pair->factor), node->output_shapes[output.index])) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(find_cycle(s, pair, &is_cycle));
  *out_found = !is_cycle;
  return leat_ok_status();
}

// ---- Products of what a node reads --------------------------------------------------------------

// Does one node read |node|, and nobody need it otherwise?
static bool has_one_reader(const leat_placed_t* s, int32_t node) {
  return !s->kept[node] && s->readers.begin[node + 1] - s->readers.begin[node] == 1;
}

// A product with a scalar has the shape of what the scalar multiplies.
static bool find_product_at_input(const leat_placed_t* s, pair_t* pair) {
  const leat_node_t* node = node_at(s, pair->node);
  pair->product = node->inputs[node->op->row->scales].node;
  if (!is_product(s, pair->product, node) || !has_one_reader(s, pair->product)) return false;
  pair->factor = input_shape(s, pair->product, 1).rank == 0;
  return input_shape(s, pair->product, pair->factor).rank == 0;
}

// ---- The node that stands for both --------------------------------------------------------------

// What the node reads, the factor, and what both wait for.
static leat_status_t describe(const leat_placed_t* s, const pair_t* pair,
                              leat_node_spec_t* out_spec) {
  const leat_node_t *node = node_at(s, pair->node), *product = node_at(s, pair->product);
  const int count = node->input_count, scales = node->op->row->scales;
  const int own = node->control_count, more = product->control_count;
  leat_output_t* inputs;
  int32_t* controls;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(s->arena, (size_t)count + 1, sizeof *inputs, (void**)&inputs));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(s->arena, (size_t)(own + more) + 1,
                                                 sizeof *controls, (void**)&controls));
  memcpy(inputs, node->inputs, (size_t)count * sizeof *inputs);
  if (scales >= 0) inputs[scales] = product->inputs[1 - pair->factor];
  inputs[count] = product->inputs[pair->factor];
  for (int i = 0; i < own; ++i) controls[i] = node->inputs[count + i].node;
  for (int i = 0; i < more; ++i) controls[own + i] = product->inputs[2 + i].node;
  *out_spec = (leat_node_spec_t){.op = pair->op,
                                 .attrs = node->attrs,
                                 .attr_count = node->attr_count,
                                 .inputs = inputs,
                                 .input_count = count + 1,
                                 .control_inputs = controls,
                                 .control_count = own + more};
  return leat_ok_status();
}

static leat_status_t replace(leat_placed_t* s, const pair_t* pair) {
  leat_node_spec_t spec;
  int32_t scaled;
  LEAT_RETURN_IF_ERROR(describe(s, pair, &spec));
  LEAT_RETURN_IF_ERROR(leat_rewrite_add_beside(s->rewrite, pair->node, "/_scaled", &spec, &scaled));
  const leat_node_t* node = node_at(s, pair->node);
  for (int i = 0; i < node->output_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_graph_refine_shape(s->graph, (leat_output_t){scaled, i}, node->output_shapes[i]));
  }
  const int scales = node->op->row->scales;
  if (scales < 0) {
    leat_rewrite_redirect(s->rewrite, &s->readers, pair->product,
                          (leat_output_t){scaled, LEAT_SCALES_OUTPUT(scales)});
  }
  leat_rewrite_replace_node(s->rewrite, &s->readers, pair->node, scaled);
  s->any_changed = true;
  return leat_ok_status();
}

static leat_status_t try_node(leat_placed_t* s, int32_t index) {
  const leat_node_t* node = node_at(s, index);
  const leat_op_row_t* row = node->op->row;
  pair_t pair = {.node = index};
  bool found = false;
  if (!row->scaled) return leat_ok_status();
  if (row->scales < 0) {
    LEAT_RETURN_IF_ERROR(find_product_of_output(s, &pair, &found));
  } else {
    found = find_product_at_input(s, &pair);
  }
  if (!found) return leat_ok_status();
  pair.op = leat_node_served_as(s->graph, node, row->scaled, s->options);
  return pair.op ? replace(s, &pair) : leat_ok_status();
}

// ---- The pass -----------------------------------------------------------------------------------

static bool has_scaled(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].op->row->scaled) return true;
  }
  return false;
}

static leat_status_t scale(leat_rewrite_t* rewrite, const leat_pass_options_t* options) {
  if (!options->find_kernel || !has_scaled(rewrite->graph)) return leat_ok_status();
  return leat_placed_rewrite(rewrite, options, try_node);
}

const leat_pass_t leat_pass_scale = {
    .name = "scale",
    .doc = "a product with few numbers is made where the many are made or read",
    .bit = LEAT_PASS_BIT_SCALE,
    .run_placed = scale};
