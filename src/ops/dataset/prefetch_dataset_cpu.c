// The kernel of PrefetchDataset, whose iterators make elements of their input ahead: one channel
// (ops/dataset/ahead_cpu.h) of |capacity| elements, without a function. The first element is made
// when it is asked for, and from then on the channel fills itself whenever there is room. With a
// buffer of no elements, and outside of a session, where no threads are, each element is made when
// it is asked for.
#include "base/checked.h"
#include "base/cpu.h"
#include "ops/dataset/ahead_cpu.h"
#include "ops/kernel_rows.h"

typedef struct prefetch_s {
  leat_dataset_t base;
  int64_t capacity;
} prefetch_t;

typedef struct prefetch_iterator_s {
  leat_iterator_t base;
  leat_ahead_t* ahead;
} prefetch_iterator_t;

static leat_status_t prefetch_start(leat_iterator_t* self) {
  prefetch_iterator_t* it = (prefetch_iterator_t*)self;
  LEAT_RETURN_IF_ERROR(leat_ahead_create(self->dataset, 1, &it->ahead));
  leat_channel_kind_t kind = {.capacity = ((const prefetch_t*)self->dataset)->capacity};
  leat_channel_open(&it->ahead->channels[0], self->input, &kind);
  self->input = NULL;
  return leat_ok_status();
}

static void prefetch_stop(leat_iterator_t* self) {
  leat_ahead_stop(((prefetch_iterator_t*)self)->ahead);
}

// Tells how many elements had been made when the item was taken.
static leat_status_t tell(leat_iterator_t* self, const leat_item_t* item) {
  const double size = (double)item->line_made;
  const double capacity = (double)((const prefetch_t*)self->dataset)->capacity;
  LEAT_RETURN_IF_ERROR(leat_iterator_tell_each(self, "buffer_utilization", size / capacity));
  LEAT_RETURN_IF_ERROR(leat_iterator_tell_last(self, "buffer_size", size));
  return leat_iterator_tell_last(self, "buffer_capacity", capacity);
}

static leat_status_t prefetch_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                   leat_poll_t* out_poll) {
  leat_ahead_t* ahead = ((prefetch_iterator_t*)self)->ahead;
  leat_channel_t* channel = &ahead->channels[0];
  leat_item_t* item;
  if (!ahead->background && !leat_ahead_is_possible(pull)) {
    return leat_iterator_next(channel->input, pull, out, out_poll);
  }
  LEAT_RETURN_IF_ERROR(leat_ahead_begin(ahead, pull));
  LEAT_RETURN_IF_ERROR(leat_channel_take(channel, &item, out_poll));
  if (*out_poll == LEAT_POLL_PENDING) {
    leat_ahead_wait(ahead, pull, leat_channel_is_ready, channel);
    return leat_ok_status();
  }
  if (*out_poll == LEAT_POLL_END) return leat_ok_status();
  leat_status_t status = leat_status_join(leat_item_take_status(item), tell(self, item));
  if (!status) leat_element_move(item->element, out, self->dataset->spec->count);
  leat_channel_give_back(item);
  return status;
}

static const leat_dataset_kind_t kPrefetch = {.name = "Prefetch",
                                              .dataset_bytes = sizeof(prefetch_t),
                                              .iterator_bytes = sizeof(prefetch_iterator_t),
                                              .opens_input = true,
                                              .start = prefetch_start,
                                              .next = prefetch_next,
                                              .stop = prefetch_stop};

leat_status_t leat_prefetch_create(leat_dataset_t* input, int64_t capacity,
                                   leat_dataset_t** out_dataset) {
  if (capacity == LEAT_DATASET_AUTOTUNE) capacity = LEAT_MAX(leat_cpu_count(), 2);
  LEAT_DCHECK(capacity > 0);
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(
      &kPrefetch, leat_element_spec_retain(input->spec), input, 0, out_dataset));
  ((prefetch_t*)*out_dataset)->capacity = capacity;
  return leat_ok_status();
}

static leat_status_t prefetch__cpu(leat_kernel_context_t* c) {
  int64_t buffer_size;
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "buffer_size", &buffer_size));
  if (buffer_size < 0 && buffer_size != LEAT_DATASET_AUTOTUNE) {
    return leat_kernel_invalid(c, "buffer_size is %lld, must be >= 0, or -1 for auto-tuning",
                               (long long)buffer_size);
  }
  if (buffer_size == 0) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_prefetch_create(input, buffer_size, &dataset));
  return leat_dataset_set_output(c, dataset);
}

const leat_kernel_row_t leat_prefetch_dataset_kernels_cpu[] = {
    LEAT_DATASET_KERNEL("PrefetchDataset", prefetch__cpu),
    LEAT_KERNEL_ROWS_END,
};
