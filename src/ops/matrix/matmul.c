// The matrix products as ops: MatMul, BatchMatMul for batches of equal dimensions, V2 and V3 for
// batches that broadcast, and the ops that the optimizer makes of products: the fused sum
// _MatMulAdd; _FusedMatMul and _FusedBatchMatMulV2, products and the ops that
// follow them; and the sums of products that a loop carries from iteration to iteration. Here are
// their shapes, gradients and registration; the kernels are in matmul_cpu.c, fused_matmul_cpu.c and
// product_sum_cpu.c.
//
//   MatMul: a [m, k], b [k, n] -> [m, n]          BatchMatMulV2: x [..., m, k], y [..., k, n]
//
// The gradient of a product is two products, dA = dC B^T and dB = A^T dC. With flags for transposed
// factors, the tables kGradientOfA and kGradientOfB say which of the two factors stands first and
// which is transposed, so that no transposition is ever computed by itself. Where batches were
// broadcast, a gradient is summed down to its input's shape. What the optimizer makes needs no
// gradient, because it is made after gradients were built.
#include "graph/inference/inference.h"
#include "ops/array/row_scale.h"
#include "ops/matrix/matrix_shape.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

leat_status_t leat_shape_matmul(leat_inference_t* c) {
  leat_partial_shape_t a, b, output;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &a));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 2, &b));
  const int transposed_a = leat_node_attr_bool(c->node, "transpose_a", false);
  const int transposed_b = leat_node_attr_bool(c->node, "transpose_b", false);
  int64_t depth;
  LEAT_RETURN_IF_ERROR(
      leat_inference_merge_dim(a.dims[!transposed_a], b.dims[transposed_b], &depth));
  const int64_t dims[] = {a.dims[transposed_a], b.dims[!transposed_b]};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t matmul_add_shape(leat_inference_t* c) {
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_shape_matmul(c));
  LEAT_RETURN_IF_ERROR(leat_inference_broadcast(c, c->outputs[0], leat_inference_input(c, 2),
                                                &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t batch_shape(leat_inference_t* c, bool broadcasts) {
  const leat_partial_shape_t x = leat_inference_input(c, 0), y = leat_inference_input(c, 1);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, x, 2));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, y, 2));
  const bool transposed_x = leat_node_attr_bool(c->node, "adj_x", false);
  const bool transposed_y = leat_node_attr_bool(c->node, "adj_y", false);
  int64_t depth;
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(x, transposed_x ? -2 : -1),
                                                leat_partial_shape_dim(y, transposed_y ? -1 : -2),
                                                &depth));
  const int64_t dims[] = {leat_partial_shape_dim(x, transposed_x ? -1 : -2),
                          leat_partial_shape_dim(y, transposed_y ? -2 : -1)};
  leat_partial_shape_t x_batch, y_batch, batch, matrix, output;
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, x, 0, -2, &x_batch));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, y, 0, -2, &y_batch));
  LEAT_RETURN_IF_ERROR(broadcasts ? leat_inference_broadcast(c, x_batch, y_batch, &batch)
                                  : leat_inference_merge(c, x_batch, y_batch, &batch));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &matrix));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, batch, matrix, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t batch_matmul_shape(leat_inference_t* c) { return batch_shape(c, false); }
static leat_status_t batch_matmul_v2_shape(leat_inference_t* c) { return batch_shape(c, true); }

// ---- Gradients ----------------------------------------------------------------------------------

static leat_output_t conjugate(leat_builder_t* b, leat_output_t x) {
  const bool is_complex = leat_dtype_in(leat_build_type_of(b, x), LEAT_DTYPES_COMPLEX);
  return is_complex ? leat_build_unary(b, "Conj", x) : x;
}

// How a gradient of op(a) op(b) is a product: whether the output's gradient is the first factor and
// the other operand the second (or the reverse), and which of the two are transposed.
typedef struct product_s {
  bool gradient_first, turns_first, turns_second;
} product_t;
// The tables are indexed by [a is transposed][b is transposed].
static const product_t kGradientOfA[2][2] = {{{1, 0, 1}, {1, 0, 0}}, {{0, 0, 1}, {0, 1, 1}}};
static const product_t kGradientOfB[2][2] = {{{0, 1, 0}, {1, 1, 0}}, {{0, 0, 0}, {1, 1, 1}}};

// The marks say of which operand the product is the gradient; TensorFlow's C++ gradients set none.
static leat_output_t build_product(leat_gradient_t* g, bool is_batch, const product_t* how,
                                   leat_output_t other, leat_output_t dy, bool is_first) {
  leat_builder_t* b = &g->builder;
  const bool of_a = is_first && !g->as_cpp, of_b = !is_first && !g->as_cpp;
  const leat_output_t first = how->gradient_first ? dy : other;
  const leat_output_t second = how->gradient_first ? other : dy;
  if (!is_batch) {
    return leat_build(b, "MatMul", LEAT_INPUTS(first, second),
                      LEAT_ATTRS(LEAT_BOOL("transpose_a", how->turns_first),
                                 LEAT_BOOL("transpose_b", how->turns_second),
                                 LEAT_BOOL("grad_a", of_a), LEAT_BOOL("grad_b", of_b)));
  }
  return leat_build_named(
      b, "MatMul", "BatchMatMulV2", LEAT_INPUTS(first, second),
      LEAT_ATTRS(LEAT_BOOL("adj_x", how->turns_first), LEAT_BOOL("adj_y", how->turns_second),
                 LEAT_BOOL("grad_x", of_a), LEAT_BOOL("grad_y", of_b)));
}

static leat_status_t matmul_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  const bool transposed_a = leat_node_attr_bool(node, "transpose_a", false);
  const bool transposed_b = leat_node_attr_bool(node, "transpose_b", false);
  const leat_output_t x = leat_gradient_input(g, 0), y = leat_gradient_input(g, 1);
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 0, build_product(g, false, &kGradientOfA[transposed_a][transposed_b],
                                              conjugate(b, y), dy, true));
  leat_gradient_set_input(g, 1, build_product(g, false, &kGradientOfB[transposed_a][transposed_b],
                                              conjugate(b, x), dy, false));
  return leat_ok_status();
}

static void set_batch_products(leat_gradient_t* g) {
  const leat_node_t* node = leat_gradient_node(g);
  const bool transposed_x = leat_node_attr_bool(node, "adj_x", false);
  const bool transposed_y = leat_node_attr_bool(node, "adj_y", false);
  const leat_output_t x = leat_gradient_input(g, 0), y = leat_gradient_input(g, 1);
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(
      g, 0, build_product(g, true, &kGradientOfA[transposed_x][transposed_y], y, dy, true));
  leat_gradient_set_input(
      g, 1, build_product(g, true, &kGradientOfB[transposed_x][transposed_y], x, dy, false));
}

static leat_status_t batch_matmul_gradient(leat_gradient_t* g) {
  set_batch_products(g);
  return leat_ok_status();
}

static leat_status_t batch_matmul_v2_gradient(leat_gradient_t* g) {
  set_batch_products(g);
  leat_matrix_set_broadcast_inputs(g, g->input_gradients[0].dense, g->input_gradients[1].dense);
  return leat_ok_status();
}

#define BATCH_ATTRS                                                                       \
  "adj_x: bool = false; adj_y: bool = false; grad_x: bool = false; grad_y: bool = false"

#define MATMUL_ATTRS                                                                        \
  "transpose_a: bool = false; transpose_b: bool = false; T: {bfloat16, half, float, double, " \
  "int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}; "                     \
  "grad_a: bool = false; grad_b: bool = false"

// ---- Sums of products in loops ------------------------------------------------------------------
// The gradient of a weight that every iteration uses is such a sum. The optimizer's pass "defer"
// rewrites it to these ops, as the rule "deferred_sum" says. They delay the products so that many
// small ones become one deep one; product_sum_cpu.c says how.

static leat_status_t product_sum_shape(leat_inference_t* c) {
  const bool begins = leat_node_attr_type(c->node, "To") == LEAT_DTYPE_VARIANT;
  return begins ? leat_shape_scalar_output(c) : leat_shape_unknown(c);
}

const leat_op_row_t leat_matmul_ops[] = {
    {.name = "MatMul",
     .cost = LEAT_COST_CONTRACTION,
     .inputs = "a: T; b: T",
     .outputs = "product: T",
     .attrs = MATMUL_ATTRS,
     .shape = leat_shape_matmul,
     .gradient = matmul_gradient,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_MATRIX(1)),
     .doc = "The product of two matrices, each perhaps transposed."},
    {.name = "_MatMulAdd",
     .cost = LEAT_COST_CONTRACTION,
     .inputs = "a: T; b: T; y: T; factors: N * T",
     .outputs = "sum: T",
     .attrs = MATMUL_ATTRS "; N: int >= 0 = 0",
     .shape = matmul_add_shape,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_MATRIX(1)),
     .doc = "The product of two matrices, added to y as by AddV2. A factor, a scalar or a number "
            "for each row, multiplies y first."},
    {.name = "BatchMatMul",
     .cost = LEAT_COST_CONTRACTION,
     .inputs = "x: T; y: T",
     .outputs = "output: T",
     .attrs = "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}; "
              BATCH_ATTRS,
     .shape = batch_matmul_shape,
     .gradient = batch_matmul_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 2), LEAT_RULE_RANK_AT_LEAST(1, 2)),
     .doc = "Products of the matrices of two batches of equal shape."},
    {.name = "BatchMatMulV2",
     .cost = LEAT_COST_CONTRACTION,
     .inputs = "x: T; y: T",
     .outputs = "output: T",
     .attrs = "T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, "
              "uint64, complex64, complex128}; " BATCH_ATTRS,
     .shape = batch_matmul_v2_shape,
     .gradient = batch_matmul_v2_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 2), LEAT_RULE_RANK_AT_LEAST(1, 2)),
     .doc = "Products of the matrices of two batches, whose shapes are broadcast."},
    {.name = "BatchMatMulV3",
     .cost = LEAT_COST_CONTRACTION,
     .inputs = "x: Ta; y: Tb",
     .outputs = "output: Tout",
     .attrs = "Ta: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, "
              "complex128}; Tb: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, "
              "complex64, complex128}; Tout: {bfloat16, half, float, double, int16, int32, int64, "
              "complex64, complex128}; " BATCH_ATTRS,
     .shape = batch_matmul_v2_shape,
     .gradient = batch_matmul_v2_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 2), LEAT_RULE_RANK_AT_LEAST(1, 2)),
     .doc = "The same for inputs of other types than the product's, converted first."},
    // _FusedMatMul is what TensorFlow's remapper and this library's optimizer put in the place of
    // MatMul, BiasAdd and the like. Which ops may follow is checked when the kernel is made
    // (ops/nn/epilogue_cpu.h), as in TensorFlow.
    {.name = "_FusedMatMul",
     .cost = LEAT_COST_CONTRACTION,
     .inputs = "a: T; b: T; args: num_args * T",
     .outputs = "product: T",
     .attrs = "transpose_a: bool = false; transpose_b: bool = false; T: {bfloat16, half, float}; "
              "num_args: int >= 0; fused_ops: list(string) = []; epsilon: float = 0.0001; "
              "leakyrelu_alpha: float = 0.2",
     .shape = leat_shape_matmul,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_MATRIX(1)),
     .doc = "The product of two matrices, and the ops in fused_ops on it."},
    // The same for batches. TensorFlow has such an op in its oneDNN build alone, and for a product
    // that is multiplied and added to; here the list is that of _FusedMatMul.
    {.name = "_FusedBatchMatMulV2",
     .cost = LEAT_COST_CONTRACTION,
     .inputs = "x: T; y: T; args: num_args * T",
     .outputs = "output: T",
     .attrs = "adj_x: bool = false; adj_y: bool = false; T: {bfloat16, half, float}; "
              "num_args: int >= 0; fused_ops: list(string) = []; epsilon: float = 0.0001; "
              "leakyrelu_alpha: float = 0.2",
     .shape = batch_matmul_v2_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 2), LEAT_RULE_RANK_AT_LEAST(1, 2)),
     .doc = "The products of the matrices of two batches, and the ops in fused_ops on them."},
    {.name = "_ProductSum",
     .inputs = "value: From",
     .outputs = "converted: To",
     .attrs = "From: {float, double, variant}; To: {float, double, variant}",
     .shape = product_sum_shape,
     .doc = "A sum of products, a variant, that begins with the value; or the value of such a "
            "sum."},
    {.name = "_AddToProductSum",
     .cost = LEAT_COST_CONTRACTION,
     .inputs = "a: T; b: T; sum: variant",
     .outputs = "new_sum: variant",
     .attrs = "transpose_a: bool = false; transpose_b: bool = false; T: {float, double}; "
              "grad_a: bool = false; grad_b: bool = false",
     .shape = leat_shape_scalar_output,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_MATRIX(1)),
     .doc = "Adds the product of two matrices, as _MatMulAdd does."},
    LEAT_OP_ROWS_END,
};

// ---- Rewriting ----------------------------------------------------------------------------------

static bool may_agree(int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; }

// Whether |y| may have the shape of |product|, or be a vector as long as its last dimension; other
// shapes are left to the addition, whose kernel broadcasts faster. An unknown rank or dimension may
// be anything, since _MatMulAdd broadcasts as the addition does.
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

// Whether the root adds its inputs as AddV2 does. AddN fails for inputs of different shapes, which
// _MatMulAdd would broadcast, so shapes must be known to be equal there. BiasAdd and BiasAddV1 fail
// for a bias of another length than the last dimension.
static bool adds_as_broadcast(const leat_graph_t* graph, const leat_node_t* root) {
  if (leat_op_find_attr(root->op, LEAT_SV("N")) >= 0) return leat_node_has_one_shape(graph, root);
  return !leat_string_view_starts_with(root->op->name, LEAT_SV("BiasAdd")) ||
         (leat_node_has_default_attrs(root) && leat_node_adds_bias(graph, root));
}

// A product with a column of ones stays, since the pass "fusion" can make it the reduction with
// which a fused region ends.
static bool goes_into_sum(const leat_rewrite_match_t* m) {
  const leat_node_t *root = leat_rewrite_root(m), *product = leat_rewrite_producer(m);
  const leat_output_t other = root->inputs[m->side == 0];
  return adds_as_broadcast(m->graph, root) && !leat_node_multiplies_ones(m->graph, product) &&
         may_be_added(product->output_shapes[0], leat_graph_output_shape(m->graph, other));
}

// Adds a node for each product, of which the first adds to the input that stays, and each of the
// others to the one before.
static leat_status_t chain_products(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const int count = leat_rewrite_root(m)->input_count;
  for (int i = 0; i < count; ++i) {
    if (m->producers[i] < 0) *out_by = leat_rewrite_root(m)->inputs[i];
  }
  for (int i = 0; i < count; ++i) {
    if (m->producers[i] < 0) continue;
    const leat_node_t* product = leat_graph_node(m->graph, m->producers[i]);
    const leat_output_t inputs[] = {product->inputs[0], product->inputs[1], *out_by};
    leat_node_spec_t spec = {.inputs = inputs,
                             .input_count = 3,
                             .attrs = product->attrs,
                             .attr_count = product->op->attr_count};
    LEAT_RETURN_IF_ERROR(m->add(m, "_MatMulAdd", &spec, out_by));
  }
  return leat_ok_status();
}

static int addend(const leat_node_t* root) {
  (void)root;
  return 2;
}

static bool may_take_factor(const leat_rewrite_match_t* m) {
  return leat_node_attr_int(leat_rewrite_root(m), "N", 0) == 0 && leat_row_scaling_applies(m);
}

static leat_status_t take_factor(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_attr_t one = LEAT_INT("N", 1);
  return leat_row_scaling_make(m, "_MatMulAdd", &one, 1, out_by);
}

const leat_rewrite_rule_t leat_matmul_rules[] = {
    {.name = "sum_of_products",
     .phase = LEAT_REWRITE_SUM,
     .root = "AddN|AccumulateNV2|AddV2|Add|BiasAdd|BiasAddV1",
     .producer = "MatMul",
     .inputs = LEAT_REWRITE_ALL_INPUTS_BUT_ONE,
     .applies = goes_into_sum,
     .make = chain_products,
     .doc = "products and at most one other tensor are added while the products are computed"},
    {.name = "deferred_sum",
     .phase = LEAT_REWRITE_LOOP,
     .root = "_MatMulAdd",
     .deferral = &(const leat_deferral_t){.convert = "_ProductSum", .append = "_AddToProductSum"},
     .doc = "products that a loop sums are kept and multiplied many iterations at a time"},
    {.name = "row_sum_of_pieces",  // of a product with a column of ones, the only one that asks
     .phase = LEAT_REWRITE_PIECES,
     .root = "MatMul",
     .combination = &(const leat_combination_t){.combine = "AddV2"},
     .doc = "the sum of the rows of joined values adds those of the pieces"},
    {.name = "scaled_addend",
     .phase = LEAT_REWRITE_PROLOGUE,
     .root = "_MatMulAdd",
     .producer = "Mul",
     .input = addend,
     .passes_reshapes = true,
     .applies = may_take_factor,
     .make = take_factor,
     .doc = "a sum of a product and a scaled tensor scales the tensor by itself"},
    LEAT_REWRITE_RULES_END,
};
