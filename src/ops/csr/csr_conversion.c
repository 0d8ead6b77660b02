// Definitions of the ops that turn dense and sparse tensors into CSR sparse matrices, and back.
// csr_conversion_cpu.c has the kernels. A matrix is a variant [], whatever its own shape.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

// Input 0, or, for dense shapes, the size of vector |input|, must be that of a matrix or a batch.
static leat_status_t check_rank(leat_inference_t* c, leat_partial_shape_t shape) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, shape, 2));
  return leat_inference_with_rank_at_most(c, shape, 3);
}

static leat_status_t dense_to_csr_shape(leat_inference_t* c) {
  leat_partial_shape_t indices;
  LEAT_RETURN_IF_ERROR(check_rank(c, leat_inference_input(c, 0)));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 2, &indices));
  return leat_shape_scalar_output(c);
}

static leat_status_t sparse_to_csr_shape(leat_inference_t* c) {
  static const int kRanks[] = {2, 1, 1};
  leat_partial_shape_t shape;
  for (int i = 0; i < 3; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_inference_with_rank(c, leat_inference_input(c, i), kRanks[i], &shape));
  }
  return leat_shape_scalar_output(c);
}

static leat_status_t csr_to_sparse_shape(leat_inference_t* c) {
  for (int i = 0; i < 3; ++i) {
    leat_partial_shape_t shape;
    LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, i == 0 ? 2 : 1, &shape));
    leat_inference_set_output(c, i, shape);
  }
  return leat_shape_check_scalar(c, 0);
}

static leat_status_t csr_to_dense_shape(leat_inference_t* c) {
  return leat_shape_check_scalar(c, 0);
}

static leat_status_t components_shape(leat_inference_t* c) {
  for (int i = 0; i < 3; ++i) {
    leat_partial_shape_t shape;
    LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &shape));
    leat_inference_set_output(c, i, shape);
  }
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  return leat_shape_check_scalar(c, 1);
}

// ---- Gradients ----------------------------------------------------------------------------------

static leat_output_t to_sparse(leat_builder_t* b, leat_output_t matrix, int dtype, int output) {
  return leat_node_output(leat_build_node(b, "CSRSparseMatrixToSparseTensor", LEAT_INPUTS(matrix),
                                          LEAT_ATTRS(LEAT_TYPE("type", dtype))),
                          output);
}

static leat_status_t dense_to_csr_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  int dtype = leat_build_type_of(b, leat_gradient_input(g, 0));
  leat_gradient_set_input(
      g, 0,
      leat_build(b, "CSRSparseMatrixToDense", LEAT_INPUTS(leat_gradient_of_output(g, 0)),
                 LEAT_ATTRS(LEAT_TYPE("type", dtype))));
  return leat_ok_status();
}

static leat_status_t sparse_to_csr_gradient(leat_gradient_t* g) {
  int dtype = leat_build_type_of(&g->builder, leat_gradient_input(g, 1));
  leat_gradient_set_input(g, 1, to_sparse(&g->builder, leat_gradient_of_output(g, 0), dtype, 1));
  return leat_ok_status();
}

static leat_status_t csr_to_sparse_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(
      g, 0,
      leat_build(&g->builder, "SparseTensorToCSRSparseMatrix",
                 LEAT_INPUTS(leat_gradient_output(g, 0), leat_gradient_of_output(g, 1),
                             leat_gradient_output(g, 2)),
                 LEAT_NO_ATTRS));
  return leat_ok_status();
}

// The gradient has the entries of the matrix and no others.
static leat_status_t csr_to_dense_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dy = leat_gradient_of_output(g, 0);
  int32_t entries = leat_build_node(b, "CSRSparseMatrixToSparseTensor",
                                    LEAT_INPUTS(leat_gradient_input(g, 0)),
                                    LEAT_ATTRS(LEAT_TYPE("type", leat_build_type_of(b, dy))));
  leat_output_t indices = leat_node_output(entries, 0), shape = leat_node_output(entries, 2);
  leat_output_t values = leat_build_binary(b, "GatherNd", dy, indices);
  leat_gradient_set_input(g, 0,
                          leat_build(b, "SparseTensorToCSRSparseMatrix",
                                     LEAT_INPUTS(indices, values, shape), LEAT_NO_ATTRS));
  return leat_ok_status();
}

#define NUMBERS "{float, double, complex64, complex128}"

const leat_op_row_t leat_csr_conversion_ops[] = {
    {.name = "SparseTensorToCSRSparseMatrix",
     .inputs = "indices: int64; values: T; dense_shape: int64",
     .outputs = "sparse_matrix: variant",
     .attrs = "T: " NUMBERS,
     .shape = sparse_to_csr_shape,
     .gradient = sparse_to_csr_gradient,
     .doc = "A sparse tensor as a CSR sparse matrix."},
    {.name = "DenseToCSRSparseMatrix",
     .inputs = "dense_input: T; indices: int64",
     .outputs = "sparse_output: variant",
     .attrs = "T: " NUMBERS,
     .shape = dense_to_csr_shape,
     .gradient = dense_to_csr_gradient,
     .doc = "Elements of a dense tensor as a CSR sparse matrix."},
    {.name = "CSRSparseMatrixToSparseTensor",
     .inputs = "sparse_matrix: variant",
     .outputs = "indices: int64; values: type; dense_shape: int64",
     .attrs = "type: " NUMBERS,
     .shape = csr_to_sparse_shape,
     .gradient = csr_to_sparse_gradient,
     .doc = "A CSR sparse matrix as a sparse tensor."},
    {.name = "CSRSparseMatrixToDense",
     .inputs = "sparse_input: variant",
     .outputs = "dense_output: type",
     .attrs = "type: " NUMBERS,
     .shape = csr_to_dense_shape,
     .gradient = csr_to_dense_gradient,
     .doc = "A CSR sparse matrix as a dense tensor."},
    {.name = "CSRSparseMatrixComponents",
     .inputs = "csr_sparse_matrix: variant; index: int32",
     .outputs = "row_ptrs: int32; col_inds: int32; values: type",
     .attrs = "type: " NUMBERS,
     .shape = components_shape,
     .doc = "Row pointers, columns and values of one matrix."},
    {.name = "SparseMatrixNNZ",
     .inputs = "sparse_matrix: variant",
     .outputs = "nnz: int32",
     .shape = csr_to_dense_shape,
     .gradient = leat_gradient_none,
     .doc = "How many entries each matrix has."},
    LEAT_OP_ROWS_END,
};
