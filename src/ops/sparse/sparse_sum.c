// Definitions of sums of sparse tensors, with gradients. sparse_sum_cpu.c has the kernels.
//
//   SparseAdd  sparse a, sparse b, threshold -> sparse, of the same dense shape
//
// The number of entries of a + b depends on which indices they share, so that it is known only at
// run time. SparseAddGrad therefore finds the entries of each operand among those of the sum. A
// gradient has one number for each entry of an operand; indices and shapes get none.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

static leat_status_t add_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &shape));
  leat_inference_set_output(c, 2, shape);
  LEAT_RETURN_IF_ERROR(
      leat_shape_set_matrix(c, 0, LEAT_DIM_UNKNOWN, leat_partial_shape_dim(shape, 0)));
  return leat_shape_set_matrix(c, 1, LEAT_DIM_UNKNOWN, LEAT_SPARSE_VECTOR);
}

// Each gradient has as many elements as its operand has entries.
static leat_status_t add_gradient_shape(leat_inference_t* c) {
  for (int i = 0; i < 2; ++i) {
    leat_partial_shape_t shape;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1 + i), 2, &shape));
    LEAT_RETURN_IF_ERROR(
        leat_shape_set_matrix(c, i, leat_partial_shape_dim(shape, 0), LEAT_SPARSE_VECTOR));
  }
  return leat_ok_status();
}

// The gradient op finds the entries of each operand among those of the sum.
static leat_status_t add_gradient(leat_gradient_t* g) {
  int32_t node = leat_build_node(&g->builder, "SparseAddGrad",
                                 LEAT_INPUTS(leat_gradient_of_output(g, 1),
                                             leat_gradient_input(g, 0), leat_gradient_input(g, 3),
                                             leat_gradient_output(g, 0)),
                                 LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 1, leat_node_output(node, 0));
  leat_gradient_set_input(g, 4, leat_node_output(node, 1));
  return leat_ok_status();
}

#define NUMBERS                                                                                \
  "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, " \
  "qint16, quint16, uint16, complex128, half, uint32, uint64}"

#define SUM_NO_MATRICES "Input indices should be matrices"
#define SUM_NO_VECTORS "Input values should be vectors"
#define SUM_NO_SHAPES "Input shapes should be a vector"
#define SUM_UNEQUAL_RANKS "The densified operands should have the same ndims"

const leat_op_row_t leat_sparse_sum_ops[] = {
    {.name = "SparseAdd",
     .inputs = "a_indices: int64; a_values: T; a_shape: int64; b_indices: int64; b_values: T; "
               "b_shape: int64; thresh: Treal",
     .outputs = "sum_indices: int64; sum_values: T; sum_shape: int64",
     .attrs = "T: " NUMBERS "; Treal: {float, double, int32, uint8, int16, int8, int64, bfloat16, "
              "uint16, half, uint32, uint64}",
     .shapes = "a_indices[n, r] a_values[n] a_shape[r] b_indices[m, r] b_values[m] b_shape[r] "
               "thresh[]",
     .misfits = "a_indices: " SUM_NO_MATRICES "; a_values: " SUM_NO_VECTORS "; a_shape: "
                SUM_NO_SHAPES " | Second dimension of a_indices and length of a_shape must match; "
                "b_indices: " SUM_NO_MATRICES " | Input indices must have the same dimension; "
                "b_values: " SUM_NO_VECTORS "; b_shape: " SUM_NO_SHAPES " | Operands do not have "
                "the same ranks; thresh: The magnitude threshold must be a scalar: got shape %",
     .shape = add_shape,
     .gradient = add_gradient,
     .doc = "The sum of two sparse tensors, without sums below a threshold."},
    {.name = "SparseAddGrad",
     .inputs = "backprop_val_grad: T; a_indices: int64; b_indices: int64; sum_indices: int64",
     .outputs = "a_val_grad: T; b_val_grad: T",
     .attrs = "T: " NUMBERS,
     .shapes = "backprop_val_grad[s] a_indices[n, r] b_indices[m, r] sum_indices[s, r]",
     .misfits = "backprop_val_grad: Input backprop_val_grad should be a vector but received "
                "shape: %; a_indices: " SUM_NO_MATRICES "; b_indices: " SUM_NO_MATRICES " | "
                SUM_UNEQUAL_RANKS "; sum_indices: " SUM_NO_MATRICES " | # elements of "
                "backprop_val_grad and # rows of sum_indices should match (#nnz of sum), and "
                SUM_UNEQUAL_RANKS,
     .shape = add_gradient_shape,
     .gradient = leat_gradient_none,
     .doc = "The gradient of SparseAdd."},
    LEAT_OP_ROWS_END,
};
