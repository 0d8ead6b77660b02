// Sums and zeros of tensors in host memory, tensors of variants included: a variant may hold
// tensors, which may be tensors of variants again. Gradients that meet at a list are added with it,
// and where no gradient comes its place is taken by zeros. The values of lists, maps and optionals
// use it, and ZerosLike. Ops that add many numbers have loops of their own.
#ifndef LEAT_KERNEL_TENSOR_SUM_H_
#define LEAT_KERNEL_TENSOR_SUM_H_

#include "tensor/tensor.h"

// |a| + |b|. INVALID_ARGUMENT when types or shapes differ or the type cannot be added.
LEAT_MUST_USE leat_status_t leat_tensor_sum(const leat_tensor_t* a, const leat_tensor_t* b,
                                            leat_tensor_t* out_sum);
// Zeros of the type and shape of |like|. Strings and handles are empty. INVALID_ARGUMENT for
// variants that have no zeros.
LEAT_MUST_USE leat_status_t leat_tensor_zeros_like(const leat_tensor_t* like,
                                                   leat_tensor_t* out_zeros);
// Writes the zeros into |zeros|, which was just allocated with the type and the shape of |like|.
LEAT_MUST_USE leat_status_t leat_tensor_fill_zeros_like(const leat_tensor_t* like,
                                                        leat_tensor_t* zeros);

#endif  // LEAT_KERNEL_TENSOR_SUM_H_
