// Kernels of the datasets that tell statistics of themselves, and of the one that says to whom. All
// of them give the elements of their input. LatencyStatsDataset tells how many microseconds each
// element takes, from its being asked for until it is there, however often its input answers
// PENDING in between (ops/dataset/pull_cpu.h). BytesProducedStatsDataset tells how many bytes its
// tensors have. Without a SetStatsAggregatorDataset above, they tell nobody. An element whose
// statistics cannot be told, because there is no memory or the event is not written, fails.
#include "base/clock.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/dataset/stats_cpu.h"
#include "ops/kernel_rows.h"

// ---- To whom ------------------------------------------------------------------------------------

typedef struct aggregated_s {
  leat_dataset_t base;
  leat_stats_t* stats;
} aggregated_t;

static void aggregated_destroy(leat_dataset_t* self) {
  leat_stats_release(((aggregated_t*)self)->stats);
}

// The iterators below inherit |stats|; those above keep what they have.
static leat_status_t aggregated_start(leat_iterator_t* self) {
  leat_stats_t* stats = ((const aggregated_t*)self->dataset)->stats;
  leat_stats_retain(stats);
  leat_stats_release(self->stats);
  self->stats = stats;
  return leat_iterator_open_input(self, self->dataset->inputs[0]);
}

static leat_status_t aggregated_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                     leat_poll_t* out_poll) {
  return leat_iterator_next(self->input, pull, out, out_poll);
}

static const leat_dataset_kind_t kAggregated = {.name = "SetStatsAggregator",
                                                .dataset_bytes = sizeof(aggregated_t),
                                                .iterator_bytes = sizeof(leat_iterator_t),
                                                .destroy = aggregated_destroy,
                                                .start = aggregated_start,
                                                .next = aggregated_next};

// The prefix of counters must be a string, and has no use: there are no counters of a process.
static leat_status_t aggregated__cpu(leat_kernel_context_t* c) {
  leat_string_view_t tag, counter_prefix;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 2, "tag", &tag));
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 3, "counter_prefix", &counter_prefix));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, &kAggregated, &dataset));
  leat_status_t status = leat_stats_create(c, 1, tag, &((aggregated_t*)dataset)->stats);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

// ---- Who tells ----------------------------------------------------------------------------------

// The dataset has one tensor: the tag.
typedef struct telling_iterator_s {
  leat_iterator_t base;
  int64_t given;     // elements, and those that failed
  int64_t begun_ns;  // when the element was asked for; 0: it was not yet
} telling_iterator_t;

// Tells |value|. Where that fails, the element, if there is one, is released.
static leat_status_t tell(telling_iterator_t* it, double value, leat_tensor_t* element) {
  const leat_dataset_t* dataset = it->base.dataset;
  const leat_string_view_t tag = leat_tensor_string_at(&dataset->tensors[0], 0);
  leat_status_t status = leat_stats_add(it->base.stats, tag, value, it->given);
  if (status && element) leat_element_release(element, dataset->spec->count);
  return status;
}

static leat_status_t latency_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                  leat_poll_t* out_poll) {
  telling_iterator_t* it = (telling_iterator_t*)self;
  if (!it->begun_ns) it->begun_ns = leat_clock_now_ns();
  leat_status_t status = leat_iterator_next(self->input, pull, out, out_poll);
  if (status && leat_pull_was_stopped(status)) return status;
  if (!status && *out_poll == LEAT_POLL_PENDING) return leat_ok_status();
  const int64_t microseconds = (leat_clock_now_ns() - it->begun_ns) / 1000;
  it->begun_ns = 0;
  if (!status && *out_poll == LEAT_POLL_END) return leat_ok_status();
  status = leat_status_join(status, tell(it, (double)microseconds, status ? NULL : out));
  ++it->given;
  return status;
}

// What TensorFlow counts: a string is the struct and its bytes, a variant is its struct there.
static double bytes_of(const leat_tensor_t* tensor) {
  enum { STRING_BYTES = 24, VARIANT_BYTES = 64 };
  const double count = (double)tensor->shape.element_count;
  if (tensor->dtype == LEAT_DTYPE_VARIANT) return count * VARIANT_BYTES;
  if (tensor->dtype != LEAT_DTYPE_STRING) return count * (double)leat_dtype_size(tensor->dtype);
  double bytes = count * STRING_BYTES;
  for (int64_t i = 0; i < tensor->shape.element_count; ++i) {
    bytes += (double)leat_tensor_string_at(tensor, i).size;
  }
  return bytes;
}

static leat_status_t bytes_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  telling_iterator_t* it = (telling_iterator_t*)self;
  LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, out, out_poll));
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  double bytes = 0;
  for (int i = 0; i < self->dataset->spec->count; ++i) bytes += bytes_of(&out[i]);
  leat_status_t status = tell(it, bytes, out);
  ++it->given;
  return status;
}

#define TELLING(kind_name, how)                       \
  {.name = kind_name,                                 \
   .dataset_bytes = sizeof(leat_dataset_t),           \
   .iterator_bytes = sizeof(telling_iterator_t),      \
   .opens_input = true,                               \
   .next = how##_next}
static const leat_dataset_kind_t kLatency = TELLING("LatencyStats", latency);
static const leat_dataset_kind_t kBytes = TELLING("BytesProducedStats", bytes);

static leat_status_t make_telling(leat_kernel_context_t* c, const leat_dataset_kind_t* kind) {
  leat_string_view_t tag;
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 1, "tag", &tag));
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(kind, leat_element_spec_retain(input->spec), input,
                                                1, &dataset));
  leat_status_t status = leat_dataset_keep_inputs(c, 1, 0, 1, dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

static leat_status_t latency__cpu(leat_kernel_context_t* c) { return make_telling(c, &kLatency); }
static leat_status_t bytes__cpu(leat_kernel_context_t* c) { return make_telling(c, &kBytes); }

#define KERNEL(name, how) LEAT_DATASET_KERNEL(name, how##__cpu)

const leat_kernel_row_t leat_stats_dataset_kernels_cpu[] = {
    KERNEL("SetStatsAggregatorDataset", aggregated),
    KERNEL("ExperimentalSetStatsAggregatorDataset", aggregated),
    KERNEL("LatencyStatsDataset", latency),
    KERNEL("ExperimentalLatencyStatsDataset", latency),
    KERNEL("BytesProducedStatsDataset", bytes),
    KERNEL("ExperimentalBytesProducedStatsDataset", bytes),
    LEAT_KERNEL_ROWS_END,
};
