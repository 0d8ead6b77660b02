// Kernels of the datasets that call a function for several elements of their input at once:
//
//     parallel map      gives what the function returns
//     parallel filter   gives the elements for which the function returns true
//
// An iterator makes its elements ahead (ops/dataset/ahead_cpu.h), by one channel whose capacity is
// num_parallel_calls: so many elements are in their call, or wait to be taken. They come in the
// order of the input, and failures in their place, unless another order is allowed: then the one
// that is ready first comes first. Whether an element matches is seen when its turn has come.
// MapAndBatchDataset is a batch dataset over a parallel map.
#include "base/cpu.h"
#include "ops/dataset/ahead_cpu.h"
#include "ops/kernel_rows.h"

typedef struct parallel_map_s {
  leat_dataset_t base;
  int64_t calls;
  bool preserves_cardinality;
  leat_dataset_order_t order;
} parallel_map_t;

typedef struct parallel_map_iterator_s {
  leat_iterator_t base;
  leat_ahead_t* ahead;
} parallel_map_iterator_t;

static leat_status_t start(leat_iterator_t* self, int return_count, bool keeps_element) {
  const parallel_map_t* map = (const parallel_map_t*)self->dataset;
  parallel_map_iterator_t* it = (parallel_map_iterator_t*)self;
  LEAT_RETURN_IF_ERROR(leat_ahead_create(self->dataset, 1, &it->ahead));
  leat_channel_kind_t kind = {.capacity = map->calls,
                              .calls = true,
                              .return_count = return_count,
                              .keeps_element = keeps_element,
                              .any_order = leat_dataset_order_is_any(map->order, self)};
  leat_channel_open(&it->ahead->channels[0], self->input, &kind);
  self->input = NULL;
  return leat_ok_status();
}

static void parallel_stop(leat_iterator_t* self) {
  leat_ahead_stop(((parallel_map_iterator_t*)self)->ahead);
}

// Takes the next element whose call has ended. PENDING: |pull| waits for one.
static leat_status_t take(leat_iterator_t* self, leat_pull_t* pull, leat_item_t** out_item,
                          leat_poll_t* out_poll) {
  leat_ahead_t* ahead = ((parallel_map_iterator_t*)self)->ahead;
  leat_channel_t* channel = &ahead->channels[0];
  LEAT_RETURN_IF_ERROR(leat_ahead_begin(ahead, pull));
  LEAT_RETURN_IF_ERROR(leat_channel_take(channel, out_item, out_poll));
  if (*out_poll == LEAT_POLL_PENDING) {
    leat_ahead_wait(ahead, pull, leat_channel_is_ready, channel);
  }
  return leat_ok_status();
}

// ---- Map ----------------------------------------------------------------------------------------

static leat_status_t parallel_map_start(leat_iterator_t* self) {
  return start(self, self->dataset->spec->count, false);
}

// Tells how many of the calls that may go on at once go on.
static leat_status_t tell(leat_iterator_t* self, const leat_item_t* item) {
  const int64_t calls = ((const parallel_map_t*)self->dataset)->calls;
  return leat_iterator_tell_last(self, "thread_utilization",
                                 (double)item->line_calling / (double)calls);
}

static leat_status_t parallel_map_next(leat_iterator_t* self, leat_pull_t* pull,
                                       leat_tensor_t* out, leat_poll_t* out_poll) {
  leat_item_t* item;
  LEAT_RETURN_IF_ERROR(take(self, pull, &item, out_poll));
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  leat_status_t status = leat_status_join(leat_item_take_status(item), tell(self, item));
  if (!status) leat_element_move(item->application.returns, out, self->dataset->spec->count);
  leat_channel_give_back(item);
  if (!status) return leat_ok_status();
  bool preserves = ((const parallel_map_t*)self->dataset)->preserves_cardinality;
  return leat_function_failure(status, preserves, out_poll);
}

static int64_t parallel_map_cardinality(const leat_dataset_t* self) {
  return ((const parallel_map_t*)self)->preserves_cardinality
             ? leat_dataset_cardinality(self->inputs[0])
             : LEAT_CARDINALITY_UNKNOWN;
}

static const leat_dataset_kind_t kParallelMap = {.name = "ParallelMap",
                                                 .dataset_bytes = sizeof(parallel_map_t),
                                                 .iterator_bytes = sizeof(parallel_map_iterator_t),
                                                 .opens_input = true,
                                                 .start = parallel_map_start,
                                                 .next = parallel_map_next,
                                                 .stop = parallel_stop,
                                                 .cardinality = parallel_map_cardinality};

// ---- Filter -------------------------------------------------------------------------------------

static leat_status_t parallel_filter_start(leat_iterator_t* self) { return start(self, 1, true); }

static leat_status_t parallel_filter_next(leat_iterator_t* self, leat_pull_t* pull,
                                          leat_tensor_t* out, leat_poll_t* out_poll) {
  bool matches = false;
  while (!matches) {
    leat_item_t* item;
    LEAT_RETURN_IF_ERROR(take(self, pull, &item, out_poll));
    if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
    leat_status_t status = leat_item_take_status(item);
    if (!status) status = leat_filter_read_answer(item->application.returns, &matches);
    if (matches) leat_element_move(item->element, out, self->dataset->spec->count);
    leat_channel_give_back(item);
    if (status) return status;
  }
  return leat_ok_status();
}

static const leat_dataset_kind_t kParallelFilter = {
    .name = "ParallelFilter",
    .dataset_bytes = sizeof(parallel_map_t),
    .iterator_bytes = sizeof(parallel_map_iterator_t),
    .opens_input = true,
    .start = parallel_filter_start,
    .next = parallel_filter_next,
    .stop = parallel_stop,
    .cardinality = leat_dataset_unknown_cardinality};

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t create(leat_kernel_context_t* c, const leat_dataset_kind_t* kind,
                            leat_dataset_t* input, leat_element_spec_t* spec, int captured_count,
                            int64_t calls, leat_dataset_t** out_dataset) {
  const leat_dataset_function_t* function = leat_kernel_state(c);
  if (calls == LEAT_DATASET_AUTOTUNE) calls = leat_cpu_count();
  if (calls <= 0) return leat_kernel_invalid(c, "num_parallel_calls must be greater than zero.");
  LEAT_RETURN_IF_ERROR(
      leat_dataset_create_calling_over(c, kind, input, spec, captured_count, out_dataset));
  parallel_map_t* map = (parallel_map_t*)*out_dataset;
  map->calls = calls;
  map->preserves_cardinality = function->preserves_cardinality;
  map->order = function->order;
  return leat_ok_status();
}

leat_status_t leat_parallel_map_create(leat_kernel_context_t* c, leat_dataset_t* input,
                                       leat_element_spec_t* spec, int captured_count, int64_t calls,
                                       leat_dataset_t** out_dataset) {
  return create(c, &kParallelMap, input, spec, captured_count, calls, out_dataset);
}

// The number of calls is the last input.
static leat_status_t make(leat_kernel_context_t* c, const leat_dataset_kind_t* kind,
                          leat_element_spec_t* spec) {
  const int last = leat_kernel_input_count(c) - 1;
  int64_t calls;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, last, "num_parallel_calls", &calls));
  LEAT_RETURN_IF_ERROR(create(c, kind, NULL, spec, last - 1, calls, &dataset));
  return leat_dataset_set_output(c, dataset);
}

static leat_status_t parallel_map__cpu(leat_kernel_context_t* c) {
  return make(c, &kParallelMap, ((const leat_dataset_function_t*)leat_kernel_state(c))->spec);
}

static leat_status_t parallel_filter__cpu(leat_kernel_context_t* c) {
  return make(c, &kParallelFilter, NULL);
}

static leat_status_t parallel_map_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(
      leat_dataset_order_create(c, &((leat_dataset_function_t*)state)->order));
  return leat_map_dataset_kernel_create(c, state);
}

static leat_status_t parallel_filter_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(
      leat_dataset_order_create(c, &((leat_dataset_function_t*)state)->order));
  return leat_dataset_function_create(c, "predicate", state);
}

#define KERNEL(name, how)                                                       \
  LEAT_CPU_KERNEL(name, NULL, leat_dataset_function_t, how##_create, how##__cpu, \
                  .destroy = leat_dataset_function_destroy)

const leat_kernel_row_t leat_parallel_map_dataset_kernels_cpu[] = {
    KERNEL("ParallelMapDataset", parallel_map),
    KERNEL("ParallelMapDatasetV2", parallel_map),
    KERNEL("ParallelFilterDataset", parallel_filter),
    LEAT_KERNEL_ROWS_END,
};
