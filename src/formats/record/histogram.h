// Counts of values in buckets, as summaries of distributions have them: limits from 1e-12 to 1e20,
// each 10 % above the last, the same below zero, zero, and the largest double. The limits are
// TensorFlow's, since viewers compare histograms of different programs. The op HistogramSummary and
// the API for training loops fill one, and leat_histogram_to_proto() makes the message that an
// event holds. Datasets that measure themselves compare percentiles. A histogram belongs to one
// thread.
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

// An empty histogram of about 1550 buckets, whose arrays lie in |arena|.
LEAT_MUST_USE leat_status_t leat_histogram_create(leat_arena_t* arena,
                                                  leat_histogram_t* out_histogram);
// Counts |value|, which must be finite. It costs a bisection of the limits.
void leat_histogram_add(leat_histogram_t* histogram, double value);
// The value below which |percent| (0 to 100) of the values lie, on the assumption that those of a
// bucket lie at equal distances between its limits; 0 for an empty histogram.
double leat_histogram_percentile(const leat_histogram_t* histogram, double percent);
// The message, in |arena|. Runs of empty buckets become one, which keeps it small.
LEAT_MUST_USE leat_status_t leat_histogram_to_proto(const leat_histogram_t* histogram,
                                                    leat_arena_t* arena,
                                                    leat_pb_histogram_proto_t* out_proto);

#endif  // LEAT_FORMATS_RECORD_HISTOGRAM_H_
