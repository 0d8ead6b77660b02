// Arithmetic that the kernels of connectionist temporal classification share. They compute in
// double over tensors of float or double; leat_ctc_read and leat_ctc_write convert single elements.
#ifndef LEAT_OPS_NN_CTC_CPU_H_
#define LEAT_OPS_NN_CTC_CPU_H_

#include <math.h>

#include "tensor/tensor.h"

// log(exp(a) + exp(b)), without overflow; -INFINITY is the logarithm of 0.
static inline double leat_ctc_add_logs(double a, double b) {
  if (a == -INFINITY) return b;
  if (b == -INFINITY) return a;
  return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}
static inline double leat_ctc_read(const leat_tensor_t* tensor, int64_t index) {
  return tensor->dtype == LEAT_DTYPE_FLOAT ? (double)leat_tensor_data(tensor, const float)[index]
                                           : leat_tensor_data(tensor, const double)[index];
}
static inline void leat_ctc_write(leat_tensor_t* tensor, int64_t index, double value) {
  if (tensor->dtype == LEAT_DTYPE_FLOAT) {
    leat_tensor_data(tensor, float)[index] = (float)value;
  } else {
    leat_tensor_data(tensor, double)[index] = value;
  }
}

#endif  // LEAT_OPS_NN_CTC_CPU_H_
