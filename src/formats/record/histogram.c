// The limits come from repeated multiplication, so that they are TensorFlow's to the last bit.
#include "formats/record/histogram.h"

#include <float.h>

#define SMALLEST 1.0e-12
#define LARGEST 1.0e20
#define GROWTH 1.1

leat_status_t leat_histogram_create(leat_arena_t* arena, leat_histogram_t* out_histogram) {
  size_t half = 1;  // DBL_MAX
  double *limits, *buckets;
  for (double v = SMALLEST; v < LARGEST; v *= GROWTH) ++half;
  size_t count = 2 * half + 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &limits));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &buckets));
  double v = SMALLEST;
  for (size_t i = 1; i < half; ++i, v *= GROWTH) {
    limits[half + i] = v;
    limits[half - i] = -v;
  }
  limits[count - 1] = DBL_MAX;
  limits[0] = -DBL_MAX;
  *out_histogram = (leat_histogram_t){
      .min = DBL_MAX, .max = -DBL_MAX, .bucket_count = count, .limits = limits, .buckets = buckets};
  return leat_ok_status();
}

void leat_histogram_add(leat_histogram_t* histogram, double value) {
  // The first limit above |value|; the last bucket takes what is not below its limit.
  size_t low = 0, high = histogram->bucket_count - 1;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (histogram->limits[middle] > value) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  histogram->buckets[low] += 1;
  if (value < histogram->min) histogram->min = value;
  if (value > histogram->max) histogram->max = value;
  histogram->count += 1;
  histogram->sum += value;
  histogram->sum_squares += value * value;
}

double leat_histogram_percentile(const leat_histogram_t* histogram, double percent) {
  const double wanted = histogram->count * percent / 100;
  double before = 0;  // values in the buckets below the current one
  for (size_t i = 0; i < histogram->bucket_count; ++i) {
    const double inside = histogram->buckets[i];
    if (inside > 0 && before + inside >= wanted) {
      // No value lies below the smallest or above the largest one, whatever the bucket's limits.
      const double low = before > 0 ? histogram->limits[i - 1] : histogram->min;
      double high = histogram->limits[i];
      if (high > histogram->max) high = histogram->max;
      return low + (wanted - before) / inside * (high - low);
    }
    before += inside;
  }
  return histogram->count > 0 ? histogram->max : 0;
}

leat_status_t leat_histogram_to_proto(const leat_histogram_t* histogram, leat_arena_t* arena,
                                      leat_pb_histogram_proto_t* out_proto) {
  double *limits, *buckets;
  size_t written = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, histogram->bucket_count, &limits));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, histogram->bucket_count, &buckets));
  for (size_t i = 0; i < histogram->bucket_count; ++i) {
    bool is_empty = histogram->buckets[i] <= 0;
    // The next empty bucket stands for this one too.
    if (is_empty && i + 1 < histogram->bucket_count && histogram->buckets[i + 1] <= 0) continue;
    limits[written] = histogram->limits[i];
    buckets[written++] = histogram->buckets[i];
  }
  *out_proto = (leat_pb_histogram_proto_t){.min = histogram->min,
                                           .max = histogram->max,
                                           .num = histogram->count,
                                           .sum = histogram->sum,
                                           .sum_squares = histogram->sum_squares,
                                           .bucket_limit = {limits, written},
                                           .bucket = {buckets, written}};
  return leat_ok_status();
}
