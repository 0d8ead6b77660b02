// The number of items of a Range. The op's shape function (range.c) and its kernels (range_cpu.c)
// share it, so that they cannot disagree: a shape that was inferred from constant operands is the
// one that the kernel allocates. A range goes from |start| by |delta| and stops before |limit|:
//
//   start 3, limit 10, delta 3   ->  3, 6, 9     size 3
//   start 10, limit 3, delta -3  ->  10, 7, 4    size 3
//   start 5, limit 5, delta 1    ->  nothing     size 0
//
// The functions return INVALID_ARGUMENT for operands that give no range, with TensorFlow's message,
// and leave |*out_size| alone then. They neither allocate (but for an error) nor block.
#ifndef LEAT_OPS_MATH_RANGE_SIZE_H_
#define LEAT_OPS_MATH_RANGE_SIZE_H_

#include <math.h>

#include "base/status.h"
#include "tensor/tensor.h"

// The error that an operand breaks |rule|, in TensorFlow's words; the caller annotates it.
LEAT_MUST_USE static inline leat_status_t leat_range_error(const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Requires %s", rule);
}

// The number of items for int32 or int64 operands, ceil((limit - start) / delta), without overflow:
// the span between the least and the greatest int64 does not fit an int64, so that it is computed
// as unsigned. INVALID_ARGUMENT for a delta of 0, one that leads away from the limit, or a size
// above 2^63 - 1.
LEAT_MUST_USE static inline leat_status_t leat_range_size_integer(int64_t start, int64_t limit,
                                                                  int64_t delta,
                                                                  int64_t* out_size) {
  if (delta == 0) return leat_range_error("delta != 0");
  if (delta > 0 && start > limit) return leat_range_error("start <= limit when delta > 0");
  if (delta < 0 && start < limit) return leat_range_error("start >= limit when delta < 0");
  uint64_t span = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
  uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
  uint64_t size = span / step + (span % step != 0);
  if (size > INT64_MAX) return leat_range_error("((limit - start) / delta) <= 2^63 - 1");
  *out_size = (int64_t)size;
  return leat_ok_status();
}

// Computes the size of a range of real numbers. |is_double| says that the op's type is double;
// otherwise the quotient is computed in float, because the two types may round to different sizes.
// A NaN among the operands is an error, as is an infinite size.
LEAT_MUST_USE static inline leat_status_t leat_range_size_real(double start, double limit,
                                                               double delta, bool is_double,
                                                               int64_t* out_size) {
  if (!(delta < 0) && !(delta > 0)) return leat_range_error("delta != 0");
  if (delta > 0 && !(start <= limit)) return leat_range_error("start <= limit when delta > 0");
  if (delta < 0 && !(start >= limit)) return leat_range_error("start >= limit when delta < 0");
  double steps = is_double ? (limit - start) / delta
                           : (double)(((float)limit - (float)start) / (float)delta);
  double size = ceil(fabs(steps));
  if (!(size < 0x1p63)) return leat_range_error("((limit - start) / delta) <= 2^63 - 1");
  *out_size = (int64_t)size;
  return leat_ok_status();
}

#endif  // LEAT_OPS_MATH_RANGE_SIZE_H_
