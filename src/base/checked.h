// Arithmetic that says when it overflows, and alignment. Sizes that come from a graph, a file or a
// peer are added and multiplied with these, since a size that wraps around would give a small block
// for a large write:
//
//   size_t size_bytes;
//   if (!leat_checked_multiply(count, item_bytes, &size_bytes)) return too_large(count);
#ifndef LEAT_BASE_CHECKED_H_
#define LEAT_BASE_CHECKED_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// true when the result fits the type of |*out_sum|, which may be any integer type and may differ
// from those of |a| and |b|. |*out_sum| holds the wrapped result when it does not fit.
#define leat_checked_add(a, b, out_sum) (!__builtin_add_overflow((a), (b), (out_sum)))
#define leat_checked_multiply(a, b, out_product) (!__builtin_mul_overflow((a), (b), (out_product)))

// |value| rounded up to a multiple of |alignment|, a power of two. It wraps near SIZE_MAX, which
// the caller excludes.
static inline size_t leat_align_up(size_t value, size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}
// Both arguments should have one type, and none may have an effect: one of them is evaluated twice.
#define LEAT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LEAT_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif  // LEAT_BASE_CHECKED_H_
