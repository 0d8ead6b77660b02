// Definitions of products and transposition of CSR sparse matrices: their rows, shapes and
// gradients. csr_product_cpu.c has the kernels.
//
//   SparseMatrixMatMul        CSR a, dense b -> dense
//   SparseMatrixSparseMatMul  CSR a, CSR b -> CSR
//   SparseMatrixTranspose     CSR -> CSR
//
// An operand of a product may be taken transposed or adjoint, but not both. A sparse result is a
// scalar variant, whatever the matrix in it, so its shape and type are told by value functions as
// what the variant stands for (csr_shape.h); a chain of these ops thus has known shapes. The
// gradient of a sparse operand has the entries of that operand and no others, since it stores no
// other numbers that training could change. For a dense b each entry of the gradient is the product
// of a row of dy and a row of b, which are gathered, so the dense product with all entries is never
// made. For two sparse operands the product is computed whole and then pruned. Gradients are built
// of ordinary nodes (graph/gradient.h), so they need no kernels of their own. ops/families.c names
// the table for the registry of ops.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/csr/csr_shape.h"
#include "ops/op_rows.h"

// How an operand of a product is taken.
static bool is_transposed(const leat_node_t* node, bool second) {
  return leat_node_attr_bool(node, second ? "transpose_b" : "transpose_a", false);
}
static bool is_adjoint(const leat_node_t* node, bool second) {
  return leat_node_attr_bool(node, second ? "adjoint_b" : "adjoint_a", false);
}

static leat_status_t check_operands(const leat_node_t* node) {
  if ((is_transposed(node, false) && is_adjoint(node, false)) ||
      (is_transposed(node, true) && is_adjoint(node, true))) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Only one of adjoint and transpose may be true for an operand.");
  }
  return leat_ok_status();
}

// ---- A dense second operand ---------------------------------------------------------------------

// The shapes of the operands as they are taken must fit together; each may be unknown.
static leat_status_t check_product(leat_partial_shape_t a, leat_partial_shape_t b) {
  if (a.rank < 0 || b.rank < 0) return leat_ok_status();
  if (a.rank != b.rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Ranks of a and b must match, saw: %d vs. %d.", a.rank, b.rank);
  }
  int64_t depth;
  return leat_inference_merge_dim(a.dims[a.rank - 1], b.dims[b.rank - 2], &depth);
}

static leat_status_t dense_product_shape(leat_inference_t* c) {
  const leat_node_t* node = c->node;
  leat_partial_shape_t a, b = leat_inference_input(c, 1), shape;
  LEAT_RETURN_IF_ERROR(check_operands(node));
  LEAT_RETURN_IF_ERROR(leat_csr_shape_of_operand(
      c, 0, is_transposed(node, false) || is_adjoint(node, false), &a));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, b, 2));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, b, 3));
  if (b.rank < 0) return leat_ok_status();
  if (is_transposed(node, true) || is_adjoint(node, true)) {
    int64_t swapped[] = {b.dims[0], b.dims[b.rank - 1], b.dims[b.rank - 2]};
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, b.rank, swapped + 3 - b.rank, &b));
  }
  LEAT_RETURN_IF_ERROR(check_product(a, b));
  bool swaps = leat_node_attr_bool(node, "transpose_output", false);
  int64_t rows = a.rank < 0 ? LEAT_DIM_UNKNOWN : a.dims[a.rank - 2];
  int64_t columns = b.dims[b.rank - 1];
  int64_t dims[] = {b.dims[0], swaps ? columns : rows, swaps ? rows : columns};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, b.rank, dims + 3 - b.rank, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_output_t conjugate(leat_builder_t* b, leat_output_t x) {
  int dtype = leat_build_type_of(b, x);
  return leat_dtype_in(dtype, LEAT_DTYPES_COMPLEX) ? leat_build_unary(b, "Conj", x) : x;
}

// |x|, whose last two dimensions change places. |rank| is 2 or 3.
static leat_output_t swap_last(leat_builder_t* b, leat_output_t x, int rank) {
  static const int32_t kMatrix[] = {1, 0}, kBatch[] = {0, 2, 1};
  return leat_build_binary(b, "Transpose", x,
                           leat_build_int32_vector(b, rank == 2 ? kMatrix : kBatch, rank));
}

// Rows of |x| [batch, rows, ...] or [rows, ...] for the entries |indices| [n, rank], by their row,
// or by their column.
static leat_output_t rows_of_entries(leat_builder_t* b, leat_output_t x, leat_output_t indices,
                                     int rank, bool by_column) {
  const int32_t places[] = {0, rank - (by_column ? 1 : 2)};
  leat_output_t axis = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  leat_output_t numbers =
      leat_build_int32_vector(b, places + (rank == 2), rank - 1);
  return leat_build_binary(
      b, "GatherNd", x,
      leat_build(b, "GatherV2", LEAT_INPUTS(indices, numbers, axis), LEAT_NO_ATTRS));
}

// With A' and B' the operands as they are taken, C = A' B' and G the gradient of C, the gradient of
// A' is G B'^H, of which only the entries that A has are computed, and that of B' is A'^H G.
static leat_status_t dense_product_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  bool transpose_a = is_transposed(node, false), adjoint_a = is_adjoint(node, false);
  bool transpose_b = is_transposed(node, true), adjoint_b = is_adjoint(node, true);
  bool swaps = leat_node_attr_bool(node, "transpose_output", false);
  bool conjugates = leat_node_attr_bool(node, "conjugate_output", false);
  leat_output_t a = leat_gradient_input(g, 0), second = leat_gradient_input(g, 1);
  int dtype = leat_build_type_of(b, second), rank = leat_graph_output_shape(b->graph, second).rank;
  if (rank != 2 && rank != 3) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "The gradient of SparseMatrixMatMul for b of unknown rank is not "
                            "implemented");
  }
  leat_output_t dy = leat_gradient_of_output(g, 0);
  if (swaps) dy = swap_last(b, dy, rank);
  if (conjugates) dy = conjugate(b, dy);
  leat_output_t taken_b = transpose_b || adjoint_b ? swap_last(b, second, rank) : second;
  if (adjoint_b) taken_b = conjugate(b, taken_b);

  bool flips = transpose_a || adjoint_a;
  int32_t entries = leat_build_node(b, "CSRSparseMatrixToSparseTensor", LEAT_INPUTS(a),
                                    LEAT_ATTRS(LEAT_TYPE("type", dtype)));
  leat_output_t indices = leat_node_output(entries, 0), shape = leat_node_output(entries, 2);
  leat_output_t left = rows_of_entries(b, dy, indices, rank, flips);
  leat_output_t right = conjugate(b, rows_of_entries(b, taken_b, indices, rank, !flips));
  leat_output_t da = leat_build_binary(b, "Sum", leat_build_binary(b, "Mul", left, right),
                                       leat_build_scalar(b, LEAT_DTYPE_INT32, 1));
  if (adjoint_a) da = conjugate(b, da);
  leat_gradient_set_input(g, 0,
                          leat_build(b, "SparseTensorToCSRSparseMatrix",
                                     LEAT_INPUTS(indices, da, shape), LEAT_NO_ATTRS));

  // A transposed operand needs conj(A) G, which is conj(A conj(G)).
  if (transpose_a) dy = conjugate(b, dy);
  leat_output_t db = leat_build(
      b, "SparseMatrixMatMul", LEAT_INPUTS(a, dy),
      LEAT_ATTRS(LEAT_BOOL("adjoint_a", !flips), LEAT_BOOL("conjugate_output", transpose_a)));
  if (transpose_b || adjoint_b) db = swap_last(b, db, rank);
  if (adjoint_b) db = conjugate(b, db);
  leat_gradient_set_input(g, 1, db);
  return leat_ok_status();
}

// ---- Sparse results -----------------------------------------------------------------------------

// Gives the shapes of both operands as they are taken.
static leat_status_t read_operands(leat_inference_t* c, leat_partial_shape_t* shapes) {
  for (int i = 0; i < 2; ++i) {
    LEAT_RETURN_IF_ERROR(leat_csr_shape_of_operand(
        c, i, is_transposed(c->node, i) || is_adjoint(c->node, i), &shapes[i]));
  }
  return check_product(shapes[0], shapes[1]);
}

static leat_status_t sparse_product_shape(leat_inference_t* c) {
  leat_partial_shape_t shapes[2];
  LEAT_RETURN_IF_ERROR(check_operands(c->node));
  LEAT_RETURN_IF_ERROR(read_operands(c, shapes));
  return leat_shape_scalar_output(c);
}

static leat_status_t sparse_product_value(leat_inference_t* c) {
  leat_partial_shape_t shapes[2], shape;
  LEAT_RETURN_IF_ERROR(read_operands(c, shapes));
  int rank = shapes[0].rank;
  if (rank < 0 || shapes[1].rank < 0) {
    return leat_csr_set_shape(c, "type", leat_partial_shape_unknown());
  }
  int64_t dims[] = {shapes[0].dims[0], shapes[0].dims[rank - 2], shapes[1].dims[rank - 1]};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims + 3 - rank, &shape));
  return leat_csr_set_shape(c, "type", shape);
}

static leat_output_t product(leat_gradient_t* g, leat_output_t a, bool adjoint_a, leat_output_t b,
                             bool adjoint_b) {
  const leat_attr_value_t* type = leat_node_attr(leat_gradient_node(g), LEAT_SV("type"));
  return leat_build(&g->builder, "SparseMatrixSparseMatMul", LEAT_INPUTS(a, b),
                    LEAT_ATTRS(LEAT_COPY("type", type), LEAT_BOOL("adjoint_a", adjoint_a),
                               LEAT_BOOL("adjoint_b", adjoint_b)));
}

// |matrix| without the entries that |like| does not have: as SparseAddGrad finds the entries of an
// operand among those of a sum, it finds those of |like| among those of |matrix|.
static leat_output_t pruned(leat_gradient_t* g, leat_output_t matrix, leat_output_t like) {
  leat_builder_t* b = &g->builder;
  const leat_attr_value_t type = *leat_node_attr(leat_gradient_node(g), LEAT_SV("type"));
  int32_t all = leat_build_node(b, "CSRSparseMatrixToSparseTensor", LEAT_INPUTS(matrix),
                                LEAT_ATTRS(LEAT_COPY("type", &type)));
  int32_t kept = leat_build_node(b, "CSRSparseMatrixToSparseTensor", LEAT_INPUTS(like),
                                 LEAT_ATTRS(LEAT_COPY("type", &type)));
  leat_output_t indices = leat_node_output(kept, 0);
  leat_output_t values = leat_build(
      b, "SparseAddGrad",
      LEAT_INPUTS(leat_node_output(all, 1), indices, indices, leat_node_output(all, 0)),
      LEAT_NO_ATTRS);
  return leat_build(b, "SparseTensorToCSRSparseMatrix",
                    LEAT_INPUTS(indices, values, leat_node_output(kept, 2)), LEAT_NO_ATTRS);
}

// The gradient of an operand has the operand's entries and no others. A transposed operand of real
// numbers is an adjoint one.
static leat_status_t sparse_product_gradient(leat_gradient_t* g) {
  const leat_node_t* node = leat_gradient_node(g);
  bool transpose_a = is_transposed(node, false), transpose_b = is_transposed(node, true);
  bool flips_a = transpose_a || is_adjoint(node, false);
  bool flips_b = transpose_b || is_adjoint(node, true);
  int dtype = leat_node_attr(node, LEAT_SV("type"))->type;
  if ((transpose_a || transpose_b) && leat_dtype_in(dtype, LEAT_DTYPES_COMPLEX)) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "The gradient of SparseMatrixSparseMatMul with a transposed operand of "
                            "complex numbers is not implemented; use adjoint_a and adjoint_b");
  }
  leat_output_t a = leat_gradient_input(g, 0), b = leat_gradient_input(g, 1);
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_output_t da =
      flips_a ? product(g, b, flips_b, dy, true) : product(g, dy, false, b, !flips_b);
  leat_output_t db =
      flips_b ? product(g, dy, true, a, flips_a) : product(g, a, !flips_a, dy, false);
  leat_gradient_set_input(g, 0, pruned(g, da, a));
  leat_gradient_set_input(g, 1, pruned(g, db, b));
  return leat_ok_status();
}

static leat_status_t transpose_value(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_csr_shape_of_operand(c, 0, true, &shape));
  return leat_csr_set_shape(c, "type", shape);
}

static leat_status_t transpose_gradient(leat_gradient_t* g) {
  const leat_node_t* node = leat_gradient_node(g);
  const leat_attr_value_t* type = leat_node_attr(node, LEAT_SV("type"));
  const leat_attr_value_t* conjugates = leat_node_attr(node, LEAT_SV("conjugate"));
  leat_gradient_set_input(
      g, 0,
      leat_build(&g->builder, "SparseMatrixTranspose", LEAT_INPUTS(leat_gradient_of_output(g, 0)),
                 LEAT_ATTRS(LEAT_COPY("type", type), LEAT_COPY("conjugate", conjugates))));
  return leat_ok_status();
}

#define OPERANDS                                                                  \
  "transpose_a: bool = false; transpose_b: bool = false; adjoint_a: bool = false; " \
  "adjoint_b: bool = false"
#define NUMBERS "{float, double, complex64, complex128}"

const leat_op_row_t leat_csr_product_ops[] = {
    {.name = "SparseMatrixMatMul",
     .inputs = "a: variant; b: T",
     .outputs = "output: T",
     .attrs = "T: type; " OPERANDS
              "; transpose_output: bool = false; conjugate_output: bool = false",
     .shape = dense_product_shape,
     .gradient = dense_product_gradient,
     .doc = "The product of a CSR sparse matrix and a dense one."},
    {.name = "SparseMatrixSparseMatMul",
     .inputs = "a: variant; b: variant",
     .outputs = "c: variant",
     .attrs = "type: " NUMBERS "; " OPERANDS,
     .shape = sparse_product_shape,
     .value = sparse_product_value,
     .gradient = sparse_product_gradient,
     .doc = "The product of two CSR sparse matrices."},
    {.name = "SparseMatrixTranspose",
     .inputs = "input: variant",
     .outputs = "output: variant",
     .attrs = "conjugate: bool = false; type: " NUMBERS,
     .shapes = "input[] -> output[]",
     .value = transpose_value,
     .gradient = transpose_gradient,
     .doc = "A CSR sparse matrix transposed."},
    LEAT_OP_ROWS_END,
};
