// Definitions of the ops that combine a sparse tensor with a dense one, and their gradients. A
// sparse tensor comes as three inputs: indices [entries, rank], values [entries] and the dense
// shape [rank].
//
//   SparseTensorDenseAdd     sparse + dense -> dense
//   SparseTensorDenseMatMul  sparse [n, k] x dense [k, m] -> dense [n, m]; either may be transposed
//   SparseDenseCwise*        the values of the entries, each combined with its dense element
//
// A gradient with respect to the values of a sparse tensor has one number for each entry. It is
// therefore gathered at the entries' indices, and never made dense. Indices and shapes get no
// gradient. sparse_dense_cpu.c has the kernels.
#include "graph/gradient.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t dense_add_shape(leat_inference_t* c) {
  leat_inference_set_output(c, 0, leat_inference_input(c, 3));
  return leat_ok_status();
}

static leat_status_t cwise_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &shape));
  return leat_shape_set_matrix(c, 0, leat_partial_shape_dim(shape, 0), LEAT_SPARSE_VECTOR);
}

static leat_status_t product_shape(leat_inference_t* c) {
  leat_partial_shape_t shape, a, b;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &shape));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &shape));
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 2, &a));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, a, 2, &a));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 3), 2, &b));
  int left = leat_node_attr_bool(c->node, "adjoint_a", false);
  int right = !leat_node_attr_bool(c->node, "adjoint_b", false);
  int64_t inner;
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(a, !left),
                                                leat_partial_shape_dim(b, !right), &inner));
  return leat_shape_set_matrix(c, 0, leat_partial_shape_dim(a, left),
                               leat_partial_shape_dim(b, right));
}

// ---- Gradients ----------------------------------------------------------------------------------

static leat_output_t conjugate(leat_builder_t* b, leat_output_t x) {
  bool is_complex = leat_dtype_in(leat_build_type_of(b, x), LEAT_DTYPES_COMPLEX);
  return is_complex ? leat_build_unary(b, "Conj", x) : x;
}

static leat_output_t transpose(leat_builder_t* b, leat_output_t x) {
  return leat_build_binary(b, "Transpose", x,
                           leat_build_int32_vector(b, (const int32_t[]){1, 0}, 2));
}

// Gathers slices of |x| along |axis|.
static leat_output_t rows_of(leat_builder_t* b, leat_output_t x, leat_output_t indices, int axis) {
  return leat_build(b, "GatherV2",
                    LEAT_INPUTS(x, indices, leat_build_scalar(b, LEAT_DTYPE_INT32, axis)),
                    LEAT_NO_ATTRS);
}

static leat_status_t dense_add_gradient(leat_gradient_t* g) {
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(
      g, 1, leat_build_binary(&g->builder, "GatherNd", dy, leat_gradient_input(g, 0)));
  leat_gradient_set_input(g, 3, dy);
  return leat_ok_status();
}

// Entry (r, c) of A has the gradient sum over columns of dy[r] * b[c], a product of two rows; the
// gradient of B is the product of A transposed with dy. Transposed operands change which rows those
// are.
static leat_status_t product_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  bool adjoint_a = leat_node_attr_bool(node, "adjoint_a", false);
  bool adjoint_b = leat_node_attr_bool(node, "adjoint_b", false);
  leat_output_t dy = leat_gradient_of_output(g, 0), dense = leat_gradient_input(g, 3);
  leat_output_t indices = leat_gradient_input(g, 0);
  leat_output_t places[2];
  for (int i = 0; i < 2; ++i) {
    places[i] = rows_of(b, indices, leat_build_scalar(b, LEAT_DTYPE_INT32, i), 1);
  }
  leat_output_t db = leat_build(
      b, "SparseTensorDenseMatMul",
      LEAT_INPUTS(indices, leat_gradient_input(g, 1), leat_gradient_input(g, 2), dy),
      LEAT_ATTRS(LEAT_BOOL("adjoint_a", !adjoint_a)));
  if (adjoint_b) db = conjugate(b, transpose(b, db));
  leat_output_t left = rows_of(b, dy, places[adjoint_a], 0);
  leat_output_t right =
      rows_of(b, adjoint_b ? transpose(b, dense) : dense, places[!adjoint_a], 0);
  if (adjoint_a) left = conjugate(b, left);
  if (adjoint_a == adjoint_b) right = conjugate(b, right);
  leat_output_t product = leat_build_binary(b, "Mul", left, right);
  leat_gradient_set_input(
      g, 1,
      leat_build_binary(b, "Sum", product, leat_build_scalar(b, LEAT_DTYPE_INT32, 1)));
  leat_gradient_set_input(g, 3, db);
  return leat_ok_status();
}

// The dense input of a Cwise op, gathered at the entries.
typedef struct gathered_s {
  leat_output_t shape;    // the shape of the dense input, int64
  leat_output_t indices;  // the index into it for each entry
  leat_output_t values;
} gathered_t;

// The dense input may be broadcast. A dimension in which it has size 1 gets index 0: the indices
// are divided by (sparse shape / dense shape), which is the size of the dimension there and 1
// elsewhere. Leading dimensions that it lacks are cut off.
static gathered_t gather_dense(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t indices = leat_gradient_input(g, 0), shape = leat_gradient_input(g, 2);
  leat_output_t dense = leat_gradient_input(g, 3);
  leat_output_t zero = leat_build_int32_vector(b, &(int32_t){0}, 1);
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT64, 1);
  leat_output_t axis = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t dense_shape = leat_build(b, "Cast", LEAT_INPUTS(leat_build_shape_of(b, dense)),
                                         LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_INT64)));
  leat_output_t added = leat_build_binary(
      b, "ExpandDims",
      leat_build_binary(b, "Sub", leat_build_unary(b, "Size", shape),
                        leat_build_unary(b, "Size", dense_shape)),
      axis);
  leat_output_t whole = leat_build(
      b, "ConcatV2", LEAT_INPUTS(leat_build_binary(b, "Fill", added, one), dense_shape, axis),
      LEAT_NO_ATTRS);
  leat_output_t scaled = leat_build_binary(
      b, "FloorDiv", indices, leat_build_binary(b, "FloorDiv", shape, whole));
  leat_output_t begin =
      leat_build(b, "ConcatV2", LEAT_INPUTS(zero, added, axis), LEAT_NO_ATTRS);
  leat_output_t size = leat_build_int32_vector(b, (const int32_t[]){-1, -1}, 2);
  scaled = leat_build(b, "Slice", LEAT_INPUTS(scaled, begin, size), LEAT_NO_ATTRS);
  return (gathered_t){dense_shape, scaled, leat_build_binary(b, "GatherNd", dense, scaled)};
}

// Sets the gradient of the dense input: |values| are added up at their indices.
static void set_dense(leat_gradient_t* g, const gathered_t* dense, leat_output_t values) {
  leat_output_t zeros =
      leat_build_unary(&g->builder, "ZerosLike", leat_gradient_input(g, 3));
  leat_gradient_set_input(g, 3,
                          leat_build(&g->builder, "SparseTensorDenseAdd",
                                     LEAT_INPUTS(dense->indices, values, dense->shape, zeros),
                                     LEAT_NO_ATTRS));
}

static leat_status_t multiply_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  gathered_t dense = gather_dense(g);
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 1, leat_build_binary(b, "Mul", dy, dense.values));
  set_dense(g, &dense, leat_build_binary(b, "Mul", dy, leat_gradient_input(g, 1)));
  return leat_ok_status();
}

static leat_status_t divide_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  gathered_t dense = gather_dense(g);
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_output_t quotient =
      leat_build_binary(b, "RealDiv", leat_build_unary(b, "Neg", leat_gradient_input(g, 1)),
                        leat_build_unary(b, "Square", dense.values));
  leat_gradient_set_input(g, 1, leat_build_binary(b, "RealDiv", dy, dense.values));
  set_dense(g, &dense, leat_build_binary(b, "Mul", dy, quotient));
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

#define NUMBERS                                                                                \
  "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, " \
  "qint16, quint16, uint16, complex128, half, uint32, uint64}"
#define NO_VECTORS(name) "Inputs " name "_values and " name "_shape should be vectors"
#define OPERAND_MISFITS(name)                                                             \
  name "_indices: Input " name "_indices should be a matrix but received shape: %; " name \
       "_values: " NO_VECTORS(name)
#define CWISE(op_name, op_gradient, words)                                          \
  {.name = op_name,                                                                 \
   .inputs = "sp_indices: int64; sp_values: T; sp_shape: int64; dense: T",          \
   .outputs = "output: T",                                                          \
   .attrs = "T: " NUMBERS,                                                          \
   .shapes = "sp_indices[n, r] sp_values[n] sp_shape[r]",                           \
   .misfits = OPERAND_MISFITS("sp") " | The first dimension of values and indices " \
              "should match.; sp_shape: " NO_VECTORS("sp") " | Number of "          \
              "dimensions must match second dimension of indices.",                 \
   .shape = cwise_shape,                                                            \
   .gradient = op_gradient,                                                         \
   .doc = words}

const leat_op_row_t leat_sparse_dense_ops[] = {
    {.name = "SparseTensorDenseAdd",
     .inputs = "a_indices: Tindices; a_values: T; a_shape: Tindices; b: T",
     .outputs = "output: T",
     .attrs = "T: " NUMBERS "; Tindices: {int32, int64}",
     .shapes = "a_indices[n, r] a_values[n] a_shape[r]",
     .misfits = OPERAND_MISFITS("a") "; a_shape: " NO_VECTORS("a"),
     .shape = dense_add_shape,
     .gradient = dense_add_gradient,
     .doc = "Adds a sparse tensor to a dense one."},
    {.name = "SparseTensorDenseMatMul",
     .inputs = "a_indices: Tindices; a_values: T; a_shape: int64; b: T",
     .outputs = "product: T",
     .attrs = "T: type; Tindices: {int32, int64} = int64; adjoint_a: bool = false; "
              "adjoint_b: bool = false",
     .shapes = "a_indices[n, 2] a_values[n] a_shape[2] b[_, _]",
     .misfits = "a_indices: Tensor 'a_indices' is not a matrix | Number of columns of a_indices "
                "does not match number of entries in a_shape; "
                "a_values: Tensor 'a_values' is not a vector | Number of rows of a_indices does "
                "not match number of entries in a_values; a_shape: Tensor 'a_shape' is not a "
                "vector | Tensor 'a_shape' must have 2 elements; "
                "b: Tensor 'b' is not a matrix",
     .shape = product_shape,
     .gradient = product_gradient,
     .doc = "The product of a sparse matrix with a dense one."},
    CWISE("SparseDenseCwiseMul", multiply_gradient, "The entries times a dense tensor's."),
    CWISE("SparseDenseCwiseDiv", divide_gradient, "The entries divided by a dense tensor's."),
    CWISE("SparseDenseCwiseAdd", NULL, "The entries plus a dense tensor's."),
    LEAT_OP_ROWS_END,
};
