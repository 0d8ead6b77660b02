// What the definitions of the ops on matrices share: shapes of batches of matrices, and products
// for their gradients.
#ifndef LEAT_OPS_MATRIX_MATRIX_SHAPE_H_
#define LEAT_OPS_MATRIX_MATRIX_SHAPE_H_

#include "graph/gradient.h"
#include "graph/inference.h"

// |batch| followed by |rank| (0 to 2) sizes, as output |index|.
LEAT_MUST_USE leat_status_t leat_matrix_set_output(leat_inference_t* c, int index,
                                                   leat_partial_shape_t batch, int rank,
                                                   int64_t rows, int64_t columns);
// Input |index| as a batch of matrices: its outer dimensions, rows and columns.
LEAT_MUST_USE leat_status_t leat_matrix_input(leat_inference_t* c, int index,
                                              leat_partial_shape_t* out_batch, int64_t* out_rows,
                                              int64_t* out_columns);
// The same for square ones.
LEAT_MUST_USE leat_status_t leat_matrix_square_input(leat_inference_t* c, int index,
                                                     leat_partial_shape_t* out_batch,
                                                     int64_t* out_size);
// Shape function: the output has the shape of input 0, square matrices.
LEAT_MUST_USE leat_status_t leat_shape_matrix_unchanged(leat_inference_t* c);

// For gradients.
leat_output_t leat_matrix_product(leat_builder_t* b, leat_output_t x, bool adjoint_x,
                                  leat_output_t y, bool adjoint_y);
leat_output_t leat_matrix_adjoint(leat_builder_t* b, leat_output_t x);
leat_output_t leat_matrix_negate(leat_builder_t* b, leat_output_t x);
// Bands [lower, upper] below and above the diagonal (-1: all); the diagonal as a vector, a diagonal
// matrix of a vector; a matrix with another diagonal.
leat_output_t leat_matrix_band(leat_builder_t* b, leat_output_t x, int lower, int upper);
leat_output_t leat_matrix_diagonal_of(leat_builder_t* b, leat_output_t x);
leat_output_t leat_matrix_of_diagonal(leat_builder_t* b, leat_output_t vector);
leat_output_t leat_matrix_with_diagonal(leat_builder_t* b, leat_output_t x, leat_output_t vector);
// A scalar constant of the type of |like|.
leat_output_t leat_matrix_scalar(leat_builder_t* b, leat_output_t like, double value);
// Sums |gx| and |gy| down to the batches of x and y, unless they are surely equal: sets input
// gradients 0 and 1.
void leat_matrix_set_broadcast_inputs(leat_gradient_t* g, leat_output_t gx, leat_output_t gy);

#endif  // LEAT_OPS_MATRIX_MATRIX_SHAPE_H_
