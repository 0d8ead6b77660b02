// Discrete Fourier transforms of one dimension, of any length.
#ifndef LEAT_OPS_SIGNAL_TRANSFORM_CPU_H_
#define LEAT_OPS_SIGNAL_TRANSFORM_CPU_H_

#include "base/allocator.h"

typedef struct leat_complex_s {
  double re, im;
} leat_complex_t;

// What a length needs: roots of unity, and for lengths with a large prime factor the transform of
// another length. Any number of threads may use one plan.
typedef struct leat_transform_s leat_transform_t;

// |length| must be positive. The caller frees the plan.
LEAT_MUST_USE leat_status_t leat_transform_create(int64_t length, leat_transform_t** out_transform);
void leat_transform_free(leat_transform_t* transform);  // NULL is allowed
// How many numbers of scratch leat_transform_run needs.
int64_t leat_transform_scratch(const leat_transform_t* transform);
// data[k] becomes the sum of data[n] exp(-2 pi i k n / length), or where |inverse| of data[n]
// exp(2 pi i k n / length) / length.
void leat_transform_run(const leat_transform_t* transform, bool inverse, leat_complex_t* data,
                        leat_complex_t* scratch);

#endif  // LEAT_OPS_SIGNAL_TRANSFORM_CPU_H_
