// Sums of products: a product that only a sum reads is added where it is made, so that it never
// lies in memory by itself. What op does both is what the product's op says of itself (`sum`).
//
//   a, b ─▶ MatMul ─▶ AddV2 ─▶ z      a, b, y ─▶ _MatMulAdd ─▶ z
//                 y ──┘
//
// A sum of many, all products but for one at most, becomes a chain. Where the shapes are known to
// differ and what is added is no row, one is repeated along the other, which is the sum's trade.
// This comes after placement, as only then it is known which kernels there are.
#include <string.h>

#include "optimize/pass.h"

typedef struct fuse_s {
  const leat_pass_options_t* options;
  leat_rewrite_t* rewrite;
  leat_graph_t* graph;
  size_t count;  // of nodes that were there at first
  bool* kept;    // fetched, or a target
  leat_readers_t readers;
  size_t changed;
} fuse_t;

static bool may_agree(int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; }

// May |y| be of the shape of |product|, or a row of it?
static bool may_be_added(leat_partial_shape_t product, leat_partial_shape_t y) {
  if (product.rank < 0 || y.rank < 0) return true;
  if (product.rank < y.rank || y.rank == 0) return false;
  const int last = y.rank - 1;
  bool equal = product.rank == y.rank, row = true;
  for (int d = 0; d < y.rank; ++d) {
    if (!may_agree(product.dims[d + product.rank - y.rank], y.dims[d])) equal = false;
    if (d < last && y.dims[d] != 1) row = false;
  }
  return equal || (row && may_agree(product.dims[product.rank - 1], y.dims[last]));
}

static bool has_one_reader(const fuse_t* f, int32_t node) {
  return (size_t)node < f->count && !f->kept[node] &&
         f->readers.begin[node + 1] - f->readers.begin[node] == 1;
}

// The op that adds to the product that input |side| of |sum| is; NULL: there is none.
static const leat_op_t* find_fused(const fuse_t* f, const leat_node_t* sum, int side) {
  const leat_output_t input = sum->inputs[side];
  const leat_node_t* product = &f->graph->nodes[input.node];
  const leat_output_t other = sum->inputs[side == 0];
  const leat_op_t* op;
  if (!product->op->row->sum || input.index != 0 || product->control_count ||
      product->assigned_device != sum->assigned_device || !has_one_reader(f, input.node) ||
      !leat_node_is_pure(f->graph, product) ||
      !may_be_added(product->output_shapes[0], leat_graph_output_shape(f->graph, other))) {
    return NULL;
  }
  leat_status_t status = leat_op_registry_find(
      f->graph->ops, leat_string_view_from(product->op->row->sum), &op);
  const leat_kernel_row_t* kernel =
      status ? NULL
             : f->options->find_kernel(f->options->find_kernel_data, op, product->attrs,
                                       product->attr_count, sum->assigned_device);
  leat_status_free(status);
  return kernel ? op : NULL;
}

// Adds |inout_sum| to the product at input |side| of node |index|.
static leat_status_t add_fused(fuse_t* f, int32_t index, int side, const leat_op_t* op,
                               leat_arena_t* arena, leat_output_t* inout_sum) {
  const leat_node_t* sum = &f->graph->nodes[index];
  const leat_node_t* product = &f->graph->nodes[sum->inputs[side].node];
  leat_node_spec_t spec = {.op = op,
                           .attrs = product->attrs,
                           .attr_count = product->attr_count,
                           .input_count = product->input_count + 1,
                           .control_count = sum->control_count};
  leat_output_t* inputs;
  int32_t* controls;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)spec.input_count, sizeof *inputs,
                                                 (void**)&inputs));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)spec.control_count + 1,
                                                 sizeof *controls, (void**)&controls));
  memcpy(inputs, product->inputs, (size_t)product->input_count * sizeof *inputs);
  inputs[product->input_count] = *inout_sum;
  for (int i = 0; i < sum->control_count; ++i) {
    controls[i] = sum->inputs[sum->input_count + i].node;
  }
  spec.inputs = inputs;
  spec.control_inputs = controls;
  inout_sum->index = 0;
  return leat_rewrite_add_beside(f->rewrite, index, "/_fused", &spec, &inout_sum->node);
}

// Does the node add its inputs as AddV2 does? What refuses inputs that differ (AddN) would not see
// them any more.
static bool is_sum(const fuse_t* f, const leat_node_t* node) {
  if (!leat_node_is_pure(f->graph, node)) return false;
  if (node->op->flags & LEAT_OP_AGGREGATE) {
    return leat_op_find_attr(node->op, LEAT_SV("N")) < 0 ||
           leat_node_has_one_shape(f->graph, node);
  }
  return leat_node_elementwise(f->graph, node, f->options) == LEAT_ELEMENTWISE_BIAS;
}

static leat_status_t try_node(fuse_t* f, int32_t index, leat_arena_t* arena) {
  const leat_node_t* node = &f->graph->nodes[index];
  const int count = node->input_count;
  int first = -1;  // the input that the others are added to
  if (count < 2 || !is_sum(f, node)) return leat_ok_status();
  for (int i = 0; i < count; ++i) {
    if (find_fused(f, node, i)) continue;
    if (first >= 0) return leat_ok_status();
    first = i;
  }
  if (first < 0) first = 0;
  leat_output_t sum = node->inputs[first];
  for (int i = 0; i < count; ++i) {
    if (i == first) continue;
    const leat_op_t* op = find_fused(f, &f->graph->nodes[index], i);
    LEAT_RETURN_IF_ERROR(add_fused(f, index, i, op, arena, &sum));
  }
  leat_rewrite_redirect(f->rewrite, &f->readers, index, sum);
  ++f->changed;
  return leat_ok_status();
}

static leat_status_t run(fuse_t* f, leat_arena_t* arena) {
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, f->count + 1, 1, (void**)&f->kept));
  leat_rewrite_mark_kept(f->rewrite, f->kept);
  LEAT_RETURN_IF_ERROR(leat_readers_initialize(f->graph, &f->readers));
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < f->count && !status; ++i) status = try_node(f, (int32_t)i, arena);
  leat_readers_deinitialize(&f->readers);
  if (status || !f->changed) return status;
  return leat_rewrite_sweep(f->rewrite);
}

static bool has_products(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].op->row->sum) return true;
  }
  return false;
}

static leat_status_t fuse(leat_rewrite_t* rewrite, const leat_pass_options_t* options) {
  fuse_t f = {.options = options, .rewrite = rewrite, .graph = rewrite->graph,
              .count = rewrite->graph->node_count};
  if (!options->find_kernel || !has_products(f.graph)) return leat_ok_status();
  leat_arena_t arena;
  leat_arena_initialize(f.graph->allocator, 0, &arena);
  leat_status_t status = run(&f, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

const leat_pass_t leat_pass_fuse = {
    .name = "fuse",
    .doc = "a product that only a sum reads is added where it is made",
    .bit = LEAT_PASS_BIT_FUSE,
    .run_placed = fuse};
