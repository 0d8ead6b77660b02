// The reductions Sum, Mean, Prod, Max, Min, EuclideanNorm, All and Any: their shapes, gradients and
// registration. Input 0 is the tensor, input 1 the axes [k] or a scalar, which may be negative.
//
//   x [d0, ..., dn], axes {i, ...} -> y: the other dims (with keep_dims: 1 for these)
//
// A gradient needs dC/dy in the shape of x. Where shapes and axes are constants, the shape with 1
// for the reduced axes is a constant of the gradient graph; otherwise nodes compute it when the
// graph runs. The values of Prod and Sum over a small known vector are inferred too, because
// programs compute sizes as Prod(Shape(x)) and shape inference must see through that.
#include "graph/inference/inference.h"
#include "graph/rewrite_rule.h"
#include "ops/math/arithmetic.h"
#include "ops/math/reduction.h"
#include "ops/op_rows.h"

#define MUL leat_arithmetic_mul
#define DIV leat_arithmetic_div

// ---- Shapes -------------------------------------------------------------------------------------

// Marks the axes of constant |axes| in |out_reduced|.
static leat_status_t mark_axes(const leat_tensor_t* axes, int rank, bool* out_reduced) {
  for (int64_t i = 0; i < axes->shape.element_count; ++i) {
    int64_t axis = leat_tensor_index_at(axes, i);
    if (axis < -rank || axis >= rank) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Invalid reduction dimension %lld for input with %d dimensions.",
                              (long long)axis, rank);
    }
    out_reduced[axis < 0 ? axis + rank : axis] = true;
  }
  return leat_ok_status();
}

// Before producer version 21 TensorFlow allowed axes of any rank, so that the rank is not checked
// for graphs that old.
leat_status_t leat_reduction_infer(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), output = leat_partial_shape_unknown();
  if (c->graph->producer_version >= 21) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, 1), 1));
  }
  bool keep_dims = leat_node_attr_bool(c->node, "keep_dims", false);
  const leat_tensor_t* axes = leat_inference_input_tensor(c, 1);
  if (input.rank < 0) return leat_ok_status();
  if (!axes) {
    if (!keep_dims) return leat_ok_status();
    LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, input.rank, &output));
    leat_inference_set_output(c, 0, output);
    return leat_ok_status();
  }
  bool reduced[LEAT_SHAPE_MAX_RANK] = {false};
  LEAT_RETURN_IF_ERROR(mark_axes(axes, input.rank, reduced));
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < input.rank; ++d) {
    if (!reduced[d]) dims[rank++] = input.dims[d];
    if (reduced[d] && keep_dims) dims[rank++] = 1;
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

// Infers the product or sum of a vector whose items are known, as in Prod(Shape(x)).
static leat_status_t fold_value(leat_inference_t* c, int64_t start,
                                bool (*fold)(int64_t, int64_t, int64_t*)) {
  leat_partial_value_t x;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &x));
  const leat_tensor_t* axes = leat_inference_input_tensor(c, 1);
  if (x.rank != 1 || !axes || axes->shape.element_count != 1) return leat_ok_status();
  int64_t total = start;
  for (int i = 0; i < x.count; ++i) {
    if (x.items[i] == LEAT_VALUE_UNKNOWN || !fold(total, x.items[i], &total)) {
      return leat_ok_status();
    }
  }
  bool keep_dims = leat_node_attr_bool(c->node, "keep_dims", false);
  return leat_inference_set_output_value(c, 0, keep_dims, 1, &total);
}
static bool multiply(int64_t x, int64_t y, int64_t* z) { return !__builtin_mul_overflow(x, y, z); }
static bool add(int64_t x, int64_t y, int64_t* z) { return !__builtin_add_overflow(x, y, z); }
static leat_status_t prod_value(leat_inference_t* c) { return fold_value(c, 1, multiply); }
static leat_status_t sum_value(leat_inference_t* c) { return fold_value(c, 0, add); }

// ---- Gradients ----------------------------------------------------------------------------------

// Computes the shape of the input with 1 for the reduced dimensions, and how often each dimension
// is repeated, from constants. false when the shape or the axes are not constant, or a size exceeds
// int32.
static bool known_kept_shape(const leat_gradient_t* g, int32_t* out_kept, int32_t* out_repeats,
                             int* out_rank) {
  const leat_node_t* node = leat_gradient_node(g);
  leat_partial_shape_t input = leat_graph_output_shape(g->builder.graph, node->inputs[0]);
  const leat_tensor_t* axes =
      leat_node_constant(&g->builder.graph->nodes[node->inputs[1].node]);
  if (!axes || !leat_partial_shape_is_full(input)) return false;
  bool reduced[LEAT_SHAPE_MAX_RANK] = {false};
  leat_status_t status = mark_axes(axes, input.rank, reduced);
  if (status) {
    leat_status_free(status);
    return false;
  }
  for (int d = 0; d < input.rank; ++d) {
    if (input.dims[d] > INT32_MAX) return false;
    out_kept[d] = reduced[d] ? 1 : (int32_t)input.dims[d];
    out_repeats[d] = reduced[d] ? (int32_t)input.dims[d] : 1;
  }
  *out_rank = input.rank;
  return true;
}

// Builds nodes that compute the input's shape with 1 at the reduced axes: DynamicStitch writes the
// input's sizes first and then ones at the axes.
leat_output_t leat_reduction_kept_shape(leat_gradient_t* g, leat_output_t input_shape) {
  leat_builder_t* b = &g->builder;
  leat_output_t axes = leat_arithmetic_cast(b, leat_gradient_input(g, 1), LEAT_DTYPE_INT32);
  leat_output_t minus_one = leat_build_int32_vector(b, (const int32_t[]){-1}, 1);
  axes = leat_build_binary(b, "Reshape", axes, minus_one);
  leat_output_t rank = leat_build_unary(b, "Size", input_shape);
  axes = leat_arithmetic_add(b, axes, rank);
  leat_output_t wrapped = leat_build_binary(b, "FloorMod", axes, rank);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  leat_output_t all = leat_build(b, "Range", LEAT_INPUTS(zero, rank, one), LEAT_NO_ATTRS);
  leat_output_t count = leat_build_shape_of(b, wrapped);
  leat_output_t ones = leat_build_binary(b, "Fill", count, one);
  leat_attr_t two = LEAT_INT("N", 2);
  return leat_build(b, "DynamicStitch", LEAT_INPUTS(all, wrapped, input_shape, ones),
                    (leat_attrs_t){&two, 1});
}

// Gives |y| the input's rank, with 1 for the reduced dimensions; with keep_dims it has that
// already.
static leat_output_t unsqueeze(leat_gradient_t* g, leat_output_t y, leat_output_t kept_shape) {
  if (leat_node_attr_bool(leat_gradient_node(g), "keep_dims", false)) return y;
  return leat_build_binary(&g->builder, "Reshape", y, kept_shape);
}

// Whether the axes are known to be all of the input's, one after the other.
static bool reduces_all_axes(const leat_gradient_t* g) {
  const leat_node_t* node = leat_gradient_node(g);
  const leat_tensor_t* axes = leat_node_constant(&g->builder.graph->nodes[node->inputs[1].node]);
  const int rank = leat_graph_output_shape(g->builder.graph, node->inputs[0]).rank;
  if (!axes || rank < 0 || axes->shape.element_count != rank) return false;
  for (int i = 0; i < rank; ++i) {
    if (leat_tensor_index_at(axes, i) != i) return false;
  }
  return true;
}

// Builds dC/dy repeated along the reduced axes, in the input's shape.
static leat_output_t spread(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dy = leat_gradient_of_output(g, 0);
  int32_t kept[LEAT_SHAPE_MAX_RANK], repeats[LEAT_SHAPE_MAX_RANK];
  int rank;
  if (known_kept_shape(g, kept, repeats, &rank)) {
    leat_output_t shape = leat_build_int32_vector(b, kept, rank);
    leat_output_t tiles = leat_build_int32_vector(b, repeats, rank);
    return leat_build_binary(b, "Tile", leat_build_binary(b, "Reshape", dy, shape), tiles);
  }
  leat_output_t input_shape = leat_build_shape_of(b, leat_gradient_input(g, 0));
  bool keep_dims = leat_node_attr_bool(leat_gradient_node(g), "keep_dims", false);
  if (!keep_dims) {
    dy = leat_build_binary(b, "Reshape", dy, leat_reduction_kept_shape(g, input_shape));
  }
  return leat_build_named(b, reduces_all_axes(g) ? "Tile" : "BroadcastTo", "BroadcastTo",
                          LEAT_INPUTS(dy, input_shape), LEAT_NO_ATTRS);
}

static leat_status_t sum_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(g, 0, spread(g));
  return leat_ok_status();
}

// Builds the number of terms of one mean in type |dtype|: a constant where shapes are known.
static leat_output_t mean_factor(leat_gradient_t* g, int dtype) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  leat_partial_shape_t input = leat_graph_output_shape(b->graph, node->inputs[0]);
  leat_partial_shape_t output = node->output_shapes[0];
  if (leat_partial_shape_is_full(input) && leat_partial_shape_is_full(output)) {
    int64_t elements = 1, results = 1;
    for (int d = 0; d < input.rank; ++d) elements *= input.dims[d];
    for (int d = 0; d < output.rank; ++d) results *= output.dims[d];
    return leat_build_scalar(b, dtype, (double)(elements / (results > 1 ? results : 1)));
  }
  leat_output_t shape = leat_build_shape_of(b, leat_gradient_input(g, 0));
  leat_output_t rank = leat_build_unary(b, "Size", shape);
  leat_output_t axes = leat_arithmetic_cast(b, leat_gradient_input(g, 1), LEAT_DTYPE_INT32);
  axes = leat_build_binary(b, "FloorMod", leat_arithmetic_add(b, axes, rank), rank);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t sizes = leat_build(b, "GatherV2", LEAT_INPUTS(shape, axes, zero), LEAT_NO_ATTRS);
  leat_output_t minus_one = leat_build_int32_vector(b, (const int32_t[]){-1}, 1);
  sizes = leat_build_binary(b, "Reshape", sizes, minus_one);
  return leat_arithmetic_cast(b, leat_build_binary(b, "Prod", sizes, zero), dtype);
}

static leat_status_t mean_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t sum = spread(g);
  int dtype = b->status ? 0 : leat_build_type_of(b, sum);
  leat_gradient_set_input(g, 0, DIV(b, sum, mean_factor(g, dtype)));
  return leat_ok_status();
}

// All elements that equal the extremum share the gradient evenly.
//    dx = [x = y] / (number of equal elements) * dy
static leat_status_t extremum_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t x = leat_gradient_input(g, 0);
  leat_output_t kept = leat_reduction_kept_shape(g, leat_build_shape_of(b, x));
  leat_output_t y = unsqueeze(g, leat_gradient_output(g, 0), kept);
  leat_output_t dy = unsqueeze(g, leat_gradient_of_output(g, 0), kept);
  int dtype = b->status ? 0 : leat_build_type_of(b, dy);
  leat_output_t chosen = leat_arithmetic_cast(b, leat_build_binary(b, "Equal", y, x), dtype);
  leat_output_t count = leat_build(b, "Sum", LEAT_INPUTS(chosen, leat_gradient_input(g, 1)),
                                   LEAT_NO_ATTRS);
  count = leat_build_binary(b, "Reshape", count, kept);
  leat_gradient_set_input(g, 0, MUL(b, DIV(b, chosen, count), dy));
  return leat_ok_status();
}

// dx = x / (y / dy), which is dy * x / |x| with the norm y: TensorFlow's form, NaN where y is 0.
static leat_status_t norm_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t x = leat_gradient_input(g, 0);
  leat_output_t kept = leat_reduction_kept_shape(g, leat_build_shape_of(b, x));
  leat_output_t y = unsqueeze(g, leat_gradient_output(g, 0), kept);
  leat_output_t dy = unsqueeze(g, leat_gradient_of_output(g, 0), kept);
  leat_gradient_set_input(g, 0, DIV(b, x, DIV(b, y, dy)));
  return leat_ok_status();
}

static leat_output_t gather_rows(leat_builder_t* b, leat_output_t x, leat_output_t indices) {
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  return leat_build(b, "GatherV2", LEAT_INPUTS(x, indices, zero), LEAT_NO_ATTRS);
}

static leat_output_t exclusive_cumprod(leat_builder_t* b, leat_output_t x, bool reverse) {
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  return leat_build(b, "Cumprod", LEAT_INPUTS(x, zero),
                    LEAT_ATTRS(LEAT_BOOL("exclusive", true), LEAT_BOOL("reverse", reverse)));
}

// dC/dx_i is dy times the product of all other elements. It is computed as the product of those
// before i times the product of those after i (two exclusive cumulative products), which is exact
// where elements are 0; y / x_i would not be. The reduced axes are transposed to the front first
// and back afterwards.
static leat_status_t prod_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t x = leat_gradient_input(g, 0);
  leat_output_t shape = leat_build_shape_of(b, x);
  leat_output_t minus_one = leat_build_int32_vector(b, (const int32_t[]){-1}, 1);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  leat_output_t dy = leat_gradient_of_output(g, 0);
  dy = leat_build_binary(b, "Reshape", dy, leat_reduction_kept_shape(g, shape));
  dy = leat_build_binary(b, "BroadcastTo", dy, shape);
  leat_output_t rank = leat_build_unary(b, "Rank", x);
  leat_output_t axes = leat_arithmetic_cast(b, leat_gradient_input(g, 1), LEAT_DTYPE_INT32);
  axes = leat_build_named(b, "axes", "Reshape", LEAT_INPUTS(axes, minus_one), LEAT_NO_ATTRS);
  axes = leat_arithmetic_add(b, axes, rank);
  leat_output_t reduced = leat_build_binary(b, "FloorMod", axes, rank);
  leat_output_t all = leat_build(b, "Range", LEAT_INPUTS(zero, rank, one), LEAT_NO_ATTRS);
  leat_output_t others = leat_build_binary(b, "ListDiff", all, reduced);
  leat_output_t order = leat_build(b, "ConcatV2", LEAT_INPUTS(reduced, others, zero),
                                   LEAT_ATTRS(LEAT_INT("N", 2)));
  leat_output_t inside = leat_build_binary(b, "Prod", gather_rows(b, shape, reduced), zero);
  leat_output_t outside = leat_build_binary(b, "Prod", gather_rows(b, shape, others), zero);
  leat_output_t permuted = leat_build_binary(b, "Transpose", x, order);
  leat_output_t flat_shape = leat_build(b, "Pack", LEAT_INPUTS(inside, outside),
                                        LEAT_ATTRS(LEAT_INT("N", 2)));
  leat_output_t flat = leat_build_binary(b, "Reshape", permuted, flat_shape);
  leat_output_t before = leat_arithmetic_conj(b, exclusive_cumprod(b, flat, false));
  leat_output_t after = leat_arithmetic_conj(b, exclusive_cumprod(b, flat, true));
  leat_output_t product = leat_build_binary(b, "Reshape", MUL(b, before, after),
                                            leat_build_shape_of(b, permuted));
  leat_output_t back = leat_build_unary(b, "InvertPermutation", order);
  leat_output_t dx = MUL(b, dy, leat_build_binary(b, "Transpose", product, back));
  leat_gradient_set_input(g, 0, leat_build_binary(b, "Reshape", dx, shape));
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

#define NUMBER                                                                                \
  "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "      \
  "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}"
#define ORDERED                                                                               \
  "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, " \
  "qint8, quint8, qint32, qint16, quint16}"
#define REDUCTION(op, types)                                                                  \
  .name = op, .inputs = "input: T; reduction_indices: Tidx", .outputs = "output: T",          \
  .attrs = "keep_dims: bool = false; T: " types "; Tidx: {int32, int64} = int32",             \
  .shape = leat_reduction_infer
#define LOGICAL(op, text)                                                                     \
  {.name = op,                                                                                \
   .inputs = "input: bool; reduction_indices: Tidx",                                          \
   .outputs = "output: bool",                                                                 \
   .attrs = "keep_dims: bool = false; Tidx: {int32, int64} = int32",                          \
   .shape = leat_reduction_infer,                                                             \
   .identities = LEAT_IDENTITY_NO_ITEMS,                                                      \
   .doc = text}

const leat_op_row_t leat_reduction_ops[] = {
    {REDUCTION("Sum", NUMBER),
     .value = sum_value,
     .gradient = sum_gradient,
     .identities = LEAT_IDENTITY_NO_ITEMS,
     .doc = "The sum over the axes."},
    {REDUCTION("EuclideanNorm", NUMBER),
     .gradient = norm_gradient,
     .doc = "The root of the sum of squares over the axes."},
    {REDUCTION("Mean", NUMBER),
     .gradient = mean_gradient,
     .identities = LEAT_IDENTITY_NO_ITEMS,
     .doc = "The mean over the axes."},
    {REDUCTION("Prod", NUMBER),
     .value = prod_value,
     .gradient = prod_gradient,
     .identities = LEAT_IDENTITY_NO_ITEMS,
     .doc = "The product over the axes."},
    {REDUCTION("Min", ORDERED),
     .gradient = extremum_gradient,
     .identities = LEAT_IDENTITY_NO_ITEMS,
     .doc = "The smallest element over the axes."},
    {REDUCTION("Max", ORDERED),
     .gradient = extremum_gradient,
     .identities = LEAT_IDENTITY_NO_ITEMS,
     .doc = "The largest element over the axes."},
    LOGICAL("All", "Whether all elements over the axes are true."),
    LOGICAL("Any", "Whether any element over the axes is true."),
    LEAT_OP_ROWS_END,
};

// The reduction of a concatenation along its axis, from the reductions of the pieces. A sum adds in
// another order by it, so that the last bits of floats may differ.
#define PIECES(rule, op, ...)                                            \
  {.name = rule,                                                         \
   .phase = LEAT_REWRITE_PIECES,                                         \
   .root = op,                                                           \
   .combination = &(const leat_combination_t){__VA_ARGS__},              \
   .doc = "a reduction of joined values combines those of the pieces"}

const leat_rewrite_rule_t leat_reduction_rules[] = {
    PIECES("sum_of_pieces", "Sum", .combine = "AddV2"),
    PIECES("mean_of_pieces", "Mean", .each = "Sum", .combine = "AddV2", .divide = "RealDiv"),
    PIECES("product_of_pieces", "Prod", .combine = "Mul"),
    PIECES("minimum_of_pieces", "Min", .combine = "Minimum"),
    PIECES("maximum_of_pieces", "Max", .combine = "Maximum"),
    PIECES("all_of_pieces", "All", .combine = "LogicalAnd"),
    PIECES("any_of_pieces", "Any", .combine = "LogicalOr"),
    LEAT_REWRITE_RULES_END,
};
