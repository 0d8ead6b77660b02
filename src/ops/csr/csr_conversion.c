// Definitions of the ops that turn dense and sparse tensors into CSR sparse matrices, and back.
// csr_conversion_cpu.c has the kernels. A matrix is a variant [], whatever its own shape, which is
// that of a matrix or of a batch of matrices.
//
//   SparseTensorToCSRSparseMatrix  indices [n, rank], values [n], shape [rank] -> CSR
//   DenseToCSRSparseMatrix         dense, indices [n, rank] -> CSR
//   CSRSparseMatrixToSparseTensor  CSR -> indices [n, rank], values [n], shape [rank]
//   CSRSparseMatrixToDense         CSR -> dense
//   CSRSparseMatrixComponents      CSR, index [] -> row pointers, columns, values of one matrix
//   SparseMatrixNNZ                CSR -> number of entries, [] or [batch]
//
// The shape of a matrix is not that of the tensor which holds it. Value functions of the first two
// ops therefore tell inference what the variant stands for, and the shape functions of the others
// read that (csr_shape.h); where a variant comes from elsewhere, their outputs have unknown sizes.
// Gradients of conversions are the conversions in the other direction. That of a dense input is 0
// wherever the matrix took no element, and that of a matrix has its entries and no others, for
// which elements of a dense gradient are gathered. ops/families.c names the table for the registry
// of ops.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/csr/csr_shape.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t dense_to_csr_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_by_pattern(c));
  return leat_inference_with_rank_at_most(c, leat_inference_input(c, 0), 3);
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

static leat_status_t dense_to_csr_value(leat_inference_t* c) {
  return leat_csr_set_shape(c, "T", leat_inference_input(c, 0));
}

static leat_status_t sparse_to_csr_value(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 2, &shape));
  return leat_csr_set_shape(c, "T", shape);
}

// Sets output |index| to [size], or to [LEAT_DIM_UNKNOWN, size] for |is_matrix|.
static leat_status_t set_size(leat_inference_t* c, int index, bool is_matrix, int64_t size) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_make(
      c, is_matrix ? 2 : 1, (int64_t[]){is_matrix ? LEAT_DIM_UNKNOWN : size, size}, &shape));
  leat_inference_set_output(c, index, shape);
  return leat_ok_status();
}

static leat_status_t csr_to_sparse_shape(leat_inference_t* c) {
  leat_partial_shape_t matrix;
  LEAT_RETURN_IF_ERROR(leat_csr_shape_of_input(c, 0, &matrix));
  LEAT_RETURN_IF_ERROR(set_size(c, 0, true, matrix.rank));
  LEAT_RETURN_IF_ERROR(set_size(c, 1, false, LEAT_DIM_UNKNOWN));
  return set_size(c, 2, false, matrix.rank);
}

static leat_status_t csr_to_dense_shape(leat_inference_t* c) {
  leat_partial_shape_t matrix;
  LEAT_RETURN_IF_ERROR(leat_csr_shape_of_input(c, 0, &matrix));
  leat_inference_set_output(c, 0, matrix);
  return leat_ok_status();
}

static leat_status_t components_shape(leat_inference_t* c) {
  leat_partial_shape_t matrix;
  int64_t pointers = LEAT_DIM_UNKNOWN;
  LEAT_RETURN_IF_ERROR(leat_csr_shape_of_input(c, 0, &matrix));
  LEAT_RETURN_IF_ERROR(leat_shape_by_pattern(c));
  if (matrix.rank > 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_add(matrix.dims[matrix.rank - 2], 1, &pointers));
  }
  return set_size(c, 0, false, pointers);
}

static leat_status_t count_shape(leat_inference_t* c) {
  leat_partial_shape_t matrix;
  LEAT_RETURN_IF_ERROR(leat_csr_shape_of_input(c, 0, &matrix));
  if (matrix.rank == 2) leat_inference_set_output(c, 0, leat_partial_shape_scalar());
  return matrix.rank == 3 ? set_size(c, 0, false, matrix.dims[0]) : leat_ok_status();
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
     .shapes = "indices[n, r] values[n] dense_shape[r]",
     .misfits = LEAT_SPARSE_MISFITS("indices", "values", "dense_shape"),
     .shape = sparse_to_csr_shape,
     .value = sparse_to_csr_value,
     .gradient = sparse_to_csr_gradient,
     .doc = "A sparse tensor as a CSR sparse matrix."},
    {.name = "DenseToCSRSparseMatrix",
     .inputs = "dense_input: T; indices: int64",
     .outputs = "sparse_output: variant",
     .attrs = "T: " NUMBERS,
     .shapes = "dense_input[..., _, _] indices[_, _] -> sparse_output[]",
     .misfits = "dense_input: params must have rank == 2 or 3; "
                "indices: indices must be a matrix, but saw shape: %",
     .shape = dense_to_csr_shape,
     .value = dense_to_csr_value,
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
     .shapes = "index[] -> col_inds[_] values[_]",
     .misfits = "index: index should be a scalar, but saw: %",
     .shape = components_shape,
     .doc = "Row pointers, columns and values of one matrix."},
    {.name = "SparseMatrixNNZ",
     .inputs = "sparse_matrix: variant",
     .outputs = "nnz: int32",
     .shape = count_shape,
     .gradient = leat_gradient_none,
     .doc = "How many entries each matrix has."},
    LEAT_OP_ROWS_END,
};
