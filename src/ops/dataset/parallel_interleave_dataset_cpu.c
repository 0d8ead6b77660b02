// Kernels of the datasets that interleave the elements of several datasets which are read at once
// (interleave_dataset_cpu.c says what the places of a cycle are). Each place has a channel of its
// own (ops/dataset/ahead_cpu.h), and so has the input:
//
//     input ──▶ [ e3 e4 ]            channel 0
//     dataset of e0 ──▶ [ . . ]      channels 1 to cycle_length, one for each place
//     dataset of e1 ──▶ [ . . ]
//
// A place is opened with an element of the input. Its channel reads a dataset which calls the
// function with that element and gives the elements of what the function returns, so that the call
// too is made ahead. Places are opened from the current one on, in the order in which they will be
// read, for num_parallel_calls places: the elements and their order are those of InterleaveDataset,
// where the order is kept. Otherwise an element that is ready at another open place comes instead
// of one that is not.
#include "base/checked.h"
#include "base/cpu.h"
#include "ops/dataset/ahead_cpu.h"
#include "ops/kernel_rows.h"

// ---- The dataset that a function returns --------------------------------------------------------

// The dataset's tensors are the element and what the function captured.
typedef struct returned_iterator_s {
  leat_iterator_t base;
  leat_application_t application;
} returned_iterator_t;

static leat_status_t returned_start(leat_iterator_t* self) {
  return leat_iterator_prepare_calls(self, 0, 1, &((returned_iterator_t*)self)->application);
}

static void returned_stop(leat_iterator_t* self) {
  leat_application_deinitialize(&((returned_iterator_t*)self)->application);
}

static leat_status_t returned_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                   leat_poll_t* out_poll) {
  leat_application_t* application = &((returned_iterator_t*)self)->application;
  if (self->input) return leat_iterator_next(self->input, pull, out, out_poll);
  if (!application->pending) {
    *out_poll = LEAT_POLL_PENDING;
    leat_application_start(application, pull, self->dataset->function);
    return leat_ok_status();
  }
  leat_status_t status = leat_iterator_open_returned(self, application, pull, &self->input);
  if (status) {
    self->at_end = true;  // the function is not called again
    return status;
  }
  return leat_iterator_next(self->input, pull, out, out_poll);
}

static const leat_dataset_kind_t kReturned = {.name = "ParallelInterleave",
                                              .dataset_bytes = sizeof(leat_dataset_t),
                                              .iterator_bytes = sizeof(returned_iterator_t),
                                              .start = returned_start,
                                              .next = returned_next,
                                              .stop = returned_stop,
                                              .cardinality = leat_dataset_unknown_cardinality};

// ---- Iterators ----------------------------------------------------------------------------------

typedef struct interleave_s {
  leat_dataset_t base;
  int64_t cycle_length, block_length;
  int64_t calls;            // places that are opened ahead, at most cycle_length
  int64_t output_capacity;  // of the channel of a place
  int64_t input_capacity;
  leat_dataset_order_t order;
  bool replaces_at_once;  // see interleave_iterator_t
} interleave_t;

typedef struct interleave_iterator_s {
  leat_iterator_t base;
  leat_ahead_t* ahead;  // channel 0 is the input's, channel 1 + i that of place i
  bool* is_open;        // [cycle_length]
  int64_t place;
  int64_t in_block;  // elements given from this place since the iterator came to it
  int64_t open;      // places that are open
  bool any_order;
  bool input_ended;
  // The dataset of the current place has ended, and the place waits for the next one before the
  // iterator goes on, because the block of the next place depends on whether there is one.
  bool replaces;
  bool has_begun;  // all places were open once, or the input has ended
  leat_status_t failure;  // of the input, for the place at which it is to be given
  int64_t failed_place;
} interleave_iterator_t;

static const interleave_t* dataset_of(const interleave_iterator_t* it) {
  return (const interleave_t*)it->base.dataset;
}

static leat_channel_t* channel_of(const interleave_iterator_t* it, int64_t place) {
  return &it->ahead->channels[1 + place];
}

// The place |steps| after the current one.
static int64_t place_after(const interleave_iterator_t* it, int64_t steps) {
  return (it->place + steps) % dataset_of(it)->cycle_length;
}

static leat_status_t interleave_start(leat_iterator_t* self) {
  interleave_iterator_t* it = (interleave_iterator_t*)self;
  const interleave_t* interleave = dataset_of(it);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)interleave->cycle_length,
                                     &it->is_open));
  LEAT_RETURN_IF_ERROR(
      leat_ahead_create(self->dataset, (int)interleave->cycle_length + 1, &it->ahead));
  it->any_order = leat_dataset_order_is_any(interleave->order, self);
  leat_channel_kind_t kind = {.capacity = interleave->input_capacity};
  leat_channel_open(&it->ahead->channels[0], self->input, &kind);
  self->input = NULL;
  return leat_ok_status();
}

static void interleave_stop(leat_iterator_t* self) {
  interleave_iterator_t* it = (interleave_iterator_t*)self;
  leat_ahead_stop(it->ahead);
  leat_allocator_free(leat_allocator_system(), it->is_open);
  leat_status_free(it->failure);
}

static void go_to_next_place(interleave_iterator_t* it) {
  it->in_block = 0;
  it->place = place_after(it, 1);
}

// Leaves the current place, whose dataset has ended. The ops before ParallelInterleaveDatasetV2
// give the rest of a block from the next place when no dataset follows at this one.
static void leave_ended_place(interleave_iterator_t* it) {
  const int64_t in_block = it->in_block;
  const bool goes_on = dataset_of(it)->replaces_at_once && !it->is_open[it->place];
  it->replaces = false;
  go_to_next_place(it);
  if (goes_on) it->in_block = in_block;
}

// Opens a place with an element of the input, and begins to read its dataset.
static leat_status_t open_place(interleave_iterator_t* it, int64_t place,
                                const leat_tensor_t* element, int components) {
  const leat_dataset_t* owner = it->base.dataset;
  leat_channel_t* channel = channel_of(it, place);
  leat_dataset_t* dataset;
  leat_iterator_t* iterator;
  LEAT_RETURN_IF_ERROR(leat_dataset_create(&kReturned, leat_element_spec_retain(owner->spec), 0,
                                           components + owner->tensor_count, &dataset));
  dataset->function = owner->function;
  leat_element_share(element, dataset->tensors, components);
  leat_element_share(owner->tensors, dataset->tensors + components, owner->tensor_count);
  leat_status_t status = leat_iterator_create(dataset, &it->base, &iterator);
  leat_dataset_release(dataset);
  if (status) return status;
  leat_channel_kind_t kind = {.capacity = dataset_of(it)->output_capacity};
  leat_channel_open(channel, iterator, &kind);
  it->is_open[place] = true;
  ++it->open;
  return leat_channel_fill(channel);
}

// Opens |place| with the next element of the input, if there is one yet. PENDING: there is none.
static leat_status_t try_open(interleave_iterator_t* it, int64_t place, leat_poll_t* out_poll) {
  leat_channel_t* input = &it->ahead->channels[0];
  leat_item_t* item;
  LEAT_RETURN_IF_ERROR(leat_channel_take(input, &item, out_poll));
  it->input_ended = *out_poll == LEAT_POLL_END;
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  leat_status_t status = leat_item_take_status(item);
  if (!status) {
    status = open_place(it, place, item->element, input->input->dataset->spec->count);
  }
  leat_channel_give_back(item);
  return status;
}

// Opens places, from the current one on, as far as the input has elements. A failure waits for its
// place, and so do the places behind it, since the element behind the failure belongs there.
static void open_ahead(interleave_iterator_t* it) {
  for (int64_t i = 0; i < dataset_of(it)->calls && !it->failure && !it->input_ended; ++i) {
    const int64_t place = place_after(it, i);
    leat_poll_t poll;
    if (it->is_open[place]) continue;
    it->failure = try_open(it, place, &poll);
    it->failed_place = place;
    if (!it->failure && poll == LEAT_POLL_PENDING) return;
  }
}

// Takes an element from a place. END says that its dataset has ended; the place is closed then.
static leat_status_t read_place(interleave_iterator_t* it, int64_t place, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  leat_item_t* item;
  LEAT_RETURN_IF_ERROR(leat_channel_take(channel_of(it, place), &item, out_poll));
  if (*out_poll == LEAT_POLL_END) {
    it->is_open[place] = false;
    --it->open;
  }
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  leat_status_t status = leat_item_take_status(item);
  if (!status) leat_element_move(item->element, out, it->base.dataset->spec->count);
  leat_channel_give_back(item);
  return status;
}

// Whether an element of the input can open a place. The wait queue's lock is held.
static bool can_open(const void* data) {
  const interleave_iterator_t* it = data;
  bool wants_input = false;
  for (int64_t i = 0; i < dataset_of(it)->calls && !wants_input; ++i) {
    wants_input = !it->is_open[place_after(it, i)];
  }
  return wants_input && !it->input_ended && !it->failure &&
         leat_channel_is_ready(&it->ahead->channels[0]);
}

// Whether the iterator can go on: at the current place or, where the order is free, at any other,
// or by opening one. The wait queue's lock is held.
static bool is_ready(const void* data) {
  const interleave_iterator_t* it = data;
  const int64_t looked_at = it->any_order ? dataset_of(it)->cycle_length : 1;
  for (int64_t i = 0; i < looked_at; ++i) {
    const int64_t place = place_after(it, i);
    if (it->is_open[place] && leat_channel_is_ready(channel_of(it, place))) return true;
  }
  return can_open(it);
}

// Whether places may be read. Where a place is opened anew as soon as its dataset has ended, all
// others must have been opened before, or it would depend on time which of them comes first.
static bool may_read(interleave_iterator_t* it) {
  it->has_begun = it->has_begun || it->any_order || !dataset_of(it)->replaces_at_once ||
                  it->input_ended || it->failure || it->open == dataset_of(it)->cycle_length;
  return it->has_begun;
}

// Takes an element that is ready at another open place, and makes that place the current one.
static leat_status_t read_any_other(interleave_iterator_t* it, leat_tensor_t* out,
                                    leat_poll_t* out_poll) {
  for (int64_t i = 1; i < dataset_of(it)->cycle_length; ++i) {
    const int64_t place = place_after(it, i);
    if (!it->is_open[place]) continue;
    leat_status_t status = read_place(it, place, out, out_poll);
    if (!status && *out_poll != LEAT_POLL_ELEMENT) continue;
    it->place = place;
    it->in_block = 0;
    return status;
  }
  *out_poll = LEAT_POLL_PENDING;
  return leat_ok_status();
}

static leat_status_t interleave_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                     leat_poll_t* out_poll) {
  interleave_iterator_t* it = (interleave_iterator_t*)self;
  LEAT_RETURN_IF_ERROR(leat_ahead_begin(it->ahead, pull));
  for (;;) {
    open_ahead(it);
    *out_poll = LEAT_POLL_PENDING;
    if (it->failure && (it->any_order || it->failed_place == it->place)) {
      leat_status_t failure = it->failure;
      it->failure = leat_ok_status();
      return failure;
    }
    if (it->replaces && (it->is_open[it->place] || it->input_ended)) {
      leave_ended_place(it);
      continue;
    }
    if (!may_read(it)) {
      leat_ahead_wait(it->ahead, pull, can_open, it);
      return leat_ok_status();
    }
    if (it->is_open[it->place]) {
      LEAT_RETURN_IF_ERROR(read_place(it, it->place, out, out_poll));
      it->replaces = *out_poll == LEAT_POLL_END && dataset_of(it)->replaces_at_once;
      if (it->replaces) continue;
    } else if (it->input_ended) {
      *out_poll = LEAT_POLL_END;
      if (!it->open && !it->failure) return leat_ok_status();
    }
    if (*out_poll == LEAT_POLL_PENDING && it->any_order) {
      LEAT_RETURN_IF_ERROR(read_any_other(it, out, out_poll));
    }
    if (*out_poll == LEAT_POLL_PENDING) {
      leat_ahead_wait(it->ahead, pull, is_ready, it);
      return leat_ok_status();
    }
    if (*out_poll == LEAT_POLL_END) {
      leave_ended_place(it);
    } else {
      if (++it->in_block == dataset_of(it)->block_length) go_to_next_place(it);
      return leat_ok_status();
    }
  }
}

static const leat_dataset_kind_t kInterleave = {.name = "ParallelInterleave",
                                                .dataset_bytes = sizeof(interleave_t),
                                                .iterator_bytes = sizeof(interleave_iterator_t),
                                                .opens_input = true,
                                                .start = interleave_start,
                                                .next = interleave_next,
                                                .stop = interleave_stop,
                                                .cardinality = leat_dataset_unknown_cardinality};

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t interleave_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(
      leat_dataset_order_create(c, &((leat_dataset_function_t*)state)->order));
  return leat_dataset_function_create(c, "f", state);
}

// Checks the scalars, and replaces -1 by a number.
static leat_status_t complete(const leat_kernel_context_t* c, interleave_t* sizes) {
  if (sizes->calls <= 0 && sizes->calls != LEAT_DATASET_AUTOTUNE) {
    return leat_kernel_invalid(c, "num_parallel_calls must be greater than zero.");
  }
  if (sizes->calls > sizes->cycle_length && sizes->cycle_length != LEAT_DATASET_AUTOTUNE) {
    return leat_kernel_invalid(c, "num_parallel_calls is %lld, must be at most cycle_length, %lld",
                               (long long)sizes->calls, (long long)sizes->cycle_length);
  }
  if (sizes->output_capacity == 0 || sizes->output_capacity < LEAT_DATASET_AUTOTUNE ||
      sizes->input_capacity < LEAT_DATASET_AUTOTUNE) {
    return leat_kernel_invalid(c,
                               "buffer_output_elements is %lld and prefetch_input_elements %lld, "
                               "must be > 0 and >= 0, or -1 for auto-tuning",
                               (long long)sizes->output_capacity,
                               (long long)sizes->input_capacity);
  }
  if (sizes->cycle_length == LEAT_DATASET_AUTOTUNE) {
    sizes->cycle_length = LEAT_MAX(leat_cpu_count(), sizes->calls);
  }
  if (sizes->cycle_length <= 0 || sizes->cycle_length >= INT32_MAX || sizes->block_length <= 0) {
    return leat_kernel_invalid(c,
                               "cycle_length is %lld and block_length %lld, must be greater than "
                               "zero",
                               (long long)sizes->cycle_length, (long long)sizes->block_length);
  }
  if (sizes->calls == LEAT_DATASET_AUTOTUNE) {
    sizes->calls = LEAT_MIN(leat_cpu_count(), sizes->cycle_length);
  }
  if (sizes->output_capacity == LEAT_DATASET_AUTOTUNE) {
    sizes->output_capacity = LEAT_MIN(sizes->block_length, 16);
  }
  if (sizes->input_capacity <= 0) sizes->input_capacity = sizes->calls;
  return leat_ok_status();
}

// Sets the output to a dataset with |sizes|, which may be -1, behind |captured_count| captured
// tensors.
static leat_status_t set_interleave(leat_kernel_context_t* c, int captured_count,
                                    interleave_t* sizes) {
  const leat_dataset_function_t* function = leat_kernel_state(c);
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(complete(c, sizes));
  LEAT_RETURN_IF_ERROR(
      leat_dataset_create_calling(c, &kInterleave, function->spec, captured_count, &dataset));
  sizes->base = *dataset;
  *(interleave_t*)dataset = *sizes;
  return leat_dataset_set_output(c, dataset);
}

// Makes the dataset of an op whose last |after| inputs are scalars: cycle_length, block_length, in
// some ops two buffer sizes, and num_parallel_calls. |sizes| has the buffer sizes.
static leat_status_t make(leat_kernel_context_t* c, int after, interleave_t* sizes) {
  const int last = leat_kernel_input_count(c) - 1, first = last + 1 - after;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, last, "num_parallel_calls", &sizes->calls));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, first, "cycle_length", &sizes->cycle_length));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, first + 1, "block_length", &sizes->block_length));
  return set_interleave(c, first - 1, sizes);
}

static leat_status_t parallel_interleave__cpu(leat_kernel_context_t* c) {
  interleave_t sizes = {.output_capacity = LEAT_DATASET_AUTOTUNE,
                        .order = ((const leat_dataset_function_t*)leat_kernel_state(c))->order};
  return make(c, 3, &sizes);
}

static leat_status_t buffered_interleave__cpu(leat_kernel_context_t* c) {
  const int last = leat_kernel_input_count(c) - 1;
  interleave_t sizes = {.order = ((const leat_dataset_function_t*)leat_kernel_state(c))->order};
  LEAT_RETURN_IF_ERROR(
      leat_dataset_int_input(c, last - 2, "buffer_output_elements", &sizes.output_capacity));
  LEAT_RETURN_IF_ERROR(
      leat_dataset_int_input(c, last - 1, "prefetch_input_elements", &sizes.input_capacity));
  return make(c, 5, &sizes);
}

// The ops before ParallelInterleaveDatasetV2 read all datasets of the cycle at once. Their buffer
// sizes are the last inputs, and "sloppy" is an input of the first of them.
static leat_status_t make_legacy(leat_kernel_context_t* c, int first, interleave_t* sizes) {
  const int last = leat_kernel_input_count(c) - 1;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, first, "cycle_length", &sizes->cycle_length));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, first + 1, "block_length", &sizes->block_length));
  LEAT_RETURN_IF_ERROR(
      leat_dataset_int_input(c, last - 1, "buffer_output_elements", &sizes->output_capacity));
  LEAT_RETURN_IF_ERROR(
      leat_dataset_int_input(c, last, "prefetch_input_elements", &sizes->input_capacity));
  sizes->calls = sizes->cycle_length;
  sizes->replaces_at_once = true;
  return set_interleave(c, first - 1, sizes);
}

static leat_status_t legacy_interleave__cpu(leat_kernel_context_t* c) {
  interleave_t sizes = {.order = ((const leat_dataset_function_t*)leat_kernel_state(c))->order};
  return make_legacy(c, leat_kernel_input_count(c) - 4, &sizes);
}

static leat_status_t first_interleave__cpu(leat_kernel_context_t* c) {
  const int first = leat_kernel_input_count(c) - 5;
  bool sloppy;
  LEAT_RETURN_IF_ERROR(leat_dataset_bool_input(c, first + 2, "sloppy", &sloppy));
  interleave_t sizes = {.order = sloppy ? LEAT_ORDER_ANY : LEAT_ORDER_DEFAULT};
  return make_legacy(c, first, &sizes);
}

#define KERNEL(name, how)                                                             \
  LEAT_CPU_KERNEL(name, NULL, leat_dataset_function_t, interleave_create, how##__cpu, \
                  .destroy = leat_dataset_function_destroy)

const leat_kernel_row_t leat_parallel_interleave_dataset_kernels_cpu[] = {
    KERNEL("ParallelInterleaveDataset", first_interleave),
    KERNEL("ExperimentalParallelInterleaveDataset", first_interleave),
    KERNEL("LegacyParallelInterleaveDatasetV2", legacy_interleave),
    KERNEL("ParallelInterleaveDatasetV2", parallel_interleave),
    KERNEL("ParallelInterleaveDatasetV3", parallel_interleave),
    KERNEL("ParallelInterleaveDatasetV4", buffered_interleave),
    LEAT_KERNEL_ROWS_END,
};
