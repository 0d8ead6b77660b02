// What the definitions of the ops on matrices share: shapes of batches of matrices [batch..., rows,
// columns] for shape functions, and matrix algebra for gradients. Functions on a builder build
// nodes and do nothing after a failure (b->status).
#ifndef LEAT_OPS_MATRIX_MATRIX_SHAPE_H_
#define LEAT_OPS_MATRIX_MATRIX_SHAPE_H_

#include "graph/gradient.h"
#include "graph/inference/inference.h"

// Sets output |index| to |batch| followed by the first |rank| (0 to 2) of |rows| and |columns|.
LEAT_MUST_USE leat_status_t leat_matrix_set_output(leat_inference_t* c, int index,
                                                   leat_partial_shape_t batch, int rank,
                                                   int64_t rows, int64_t columns);
// Reads input |index| as a batch of matrices: outer dimensions, rows and columns, each perhaps
// unknown. INVALID_ARGUMENT below rank 2.
LEAT_MUST_USE leat_status_t leat_matrix_input(leat_inference_t* c, int index,
                                              leat_partial_shape_t* out_batch, int64_t* out_rows,
                                              int64_t* out_columns);
// Takes an input that must be square matrices; INVALID_ARGUMENT for others.
LEAT_MUST_USE leat_status_t leat_matrix_square_input(leat_inference_t* c, int index,
                                                     leat_partial_shape_t* out_batch,
                                                     int64_t* out_size);
// The shape function of MatMul: the product of inputs 0 and 1, which are matrices.
LEAT_MUST_USE leat_status_t leat_shape_matmul(leat_inference_t* c);

// Builds op(x) op(y), where op is the adjoint or nothing.
leat_output_t leat_matrix_product(leat_builder_t* b, leat_output_t x, bool adjoint_x,
                                  leat_output_t y, bool adjoint_y);
// Build the adjoint (the transpose, conjugated) and -x.
leat_output_t leat_matrix_adjoint(leat_builder_t* b, leat_output_t x);
leat_output_t leat_matrix_negate(leat_builder_t* b, leat_output_t x);
// Build: the bands from |lower| below to |upper| above the diagonal (-1: all of them); the diagonal
// as a vector; a diagonal matrix of a vector; a matrix with another diagonal.
leat_output_t leat_matrix_band(leat_builder_t* b, leat_output_t x, int lower, int upper);
leat_output_t leat_matrix_diagonal_of(leat_builder_t* b, leat_output_t x);
leat_output_t leat_matrix_of_diagonal(leat_builder_t* b, leat_output_t vector);
leat_output_t leat_matrix_with_diagonal(leat_builder_t* b, leat_output_t x, leat_output_t vector);
// A scalar constant of the type of |like|.
leat_output_t leat_matrix_scalar(leat_builder_t* b, leat_output_t like, double value);
// Sets input gradients 0 and 1 to |gx| and |gy|, summed down to the batches of the inputs unless
// these are known to be equal.
void leat_matrix_set_broadcast_inputs(leat_gradient_t* g, leat_output_t gx, leat_output_t gy);

#endif  // LEAT_OPS_MATRIX_MATRIX_SHAPE_H_
