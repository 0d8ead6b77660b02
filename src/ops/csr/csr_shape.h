// What shape inference knows of the matrices that variants hold. Their shapes and types travel as
// what a handle stands for (leat_referent_t): a kernel's output is a scalar, whatever the matrix.
#ifndef LEAT_OPS_CSR_CSR_SHAPE_H_
#define LEAT_OPS_CSR_CSR_SHAPE_H_

#include "graph/inference/inference.h"

// The shape of the matrix, or of the batch, in input |index|: its rank is 2, 3 or unknown.
// INVALID_ARGUMENT unless the input is a scalar.
LEAT_MUST_USE leat_status_t leat_csr_shape_of_input(leat_inference_t* c, int index,
                                                    leat_partial_shape_t* out_shape);
// The same with the last two dimensions in the other order, if |swaps|.
LEAT_MUST_USE leat_status_t leat_csr_shape_of_operand(leat_inference_t* c, int index, bool swaps,
                                                      leat_partial_shape_t* out_shape);
// For value functions: output 0 is a matrix of |shape|, and of the type in attribute |type|.
LEAT_MUST_USE leat_status_t leat_csr_set_shape(leat_inference_t* c, const char* type,
                                               leat_partial_shape_t shape);

#endif  // LEAT_OPS_CSR_CSR_SHAPE_H_
