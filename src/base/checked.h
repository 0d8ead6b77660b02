// Arithmetic that says when it overflows, and alignment.
#ifndef LEAT_BASE_CHECKED_H_
#define LEAT_BASE_CHECKED_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// true when the result fits.
#define leat_checked_add(a, b, out_sum) (!__builtin_add_overflow((a), (b), (out_sum)))
#define leat_checked_multiply(a, b, out_product) (!__builtin_mul_overflow((a), (b), (out_product)))

static inline size_t leat_align_up(size_t value, size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}
#define LEAT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LEAT_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif  // LEAT_BASE_CHECKED_H_
