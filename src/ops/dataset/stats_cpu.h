// Statistics of datasets: numbers that iterators tell an aggregator under a tag. The aggregator, a
// resource, keeps a histogram, or a number, for each tag. SetStatsAggregatorDataset gives its
// iterators, and all below them, a leat_stats_t: the aggregator, and what stands before each tag.
//
//   iterator ──▶ leat_stats_add(it->stats, "tag", value, ..) ──▶ aggregator: "prefix::tag"
//
// Any number of iterators, on any threads, may tell one aggregator.
#ifndef LEAT_OPS_DATASET_STATS_CPU_H_
#define LEAT_OPS_DATASET_STATS_CPU_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"

typedef struct leat_stats_s leat_stats_t;

// Makes what iterators tell their statistics to, with one reference: the aggregator that input
// |index| of the kernel names, and |prefix|, which may be empty. INVALID_ARGUMENT where the input
// is no such handle, NOT_FOUND where there is no such aggregator.
LEAT_MUST_USE leat_status_t leat_stats_create(const leat_kernel_context_t* c, int index,
                                              leat_string_view_t prefix, leat_stats_t** out_stats);
// Take and give up a reference, on any thread; NULL is allowed.
void leat_stats_retain(leat_stats_t* stats);
void leat_stats_release(leat_stats_t* stats);
// Adds |value|, which must be finite, to the histogram of |tag|. |step| is that of the event that
// may be written: the number of elements that the iterator has given before. NULL for |stats|:
// nothing happens. Fails for want of memory, and where the event cannot be written.
LEAT_MUST_USE leat_status_t leat_stats_add(leat_stats_t* stats, leat_string_view_t tag,
                                           double value, int64_t step);
// The same of a number, of which the aggregator keeps the last one.
LEAT_MUST_USE leat_status_t leat_stats_set(leat_stats_t* stats, leat_string_view_t tag,
                                           double value, int64_t step);

#endif  // LEAT_OPS_DATASET_STATS_CPU_H_
