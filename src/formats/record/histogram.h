// Counts of values in buckets, as summaries of distributions have them: limits from 1e-12 to 1e20,
// each 10 % above the last, the same below zero, zero, and the largest double.
#ifndef LEAT_FORMATS_RECORD_HISTOGRAM_H_
#define LEAT_FORMATS_RECORD_HISTOGRAM_H_

#include "base/arena.h"
#include "formats/generated/summary.h"

typedef struct leat_histogram_s {
  double min;
  double max;
  double count;
  double sum;
  double sum_squares;
  size_t bucket_count;
  const double* limits;  // the last is DBL_MAX
  double* buckets;       // buckets[i]: values in [limits[i-1], limits[i])
} leat_histogram_t;

// Everything lies in |arena|.
LEAT_MUST_USE leat_status_t leat_histogram_create(leat_arena_t* arena,
                                                  leat_histogram_t* out_histogram);
// |value| must be finite.
void leat_histogram_add(leat_histogram_t* histogram, double value);
// Runs of empty buckets become one.
LEAT_MUST_USE leat_status_t leat_histogram_to_proto(const leat_histogram_t* histogram,
                                                    leat_arena_t* arena,
                                                    leat_pb_histogram_proto_t* out_proto);

#endif  // LEAT_FORMATS_RECORD_HISTOGRAM_H_
