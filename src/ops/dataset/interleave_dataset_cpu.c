// Kernels of the datasets whose function returns a dataset for each element of the input, and which
// give the elements of those datasets. InterleaveDataset keeps |cycle_length| of them open at once,
// one at each place of a cycle. It gives |block_length| elements from a place and then goes to the
// next one:
//
//     cycle:   [ dataset of e0 | dataset of e1 | dataset of e2 ]
//                 block ──────▶   block ──────▶   block ──────▶ the first place again
//
// A place whose dataset has ended takes the dataset of the next element of the input.
// FlatMapDataset is the case of one place and blocks without end, so that one dataset follows the
// other. Those that read several datasets at once are in parallel_interleave_dataset_cpu.c.
#include "base/cpu.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef struct interleave_s {
  leat_dataset_t base;
  int64_t cycle_length, block_length;
} interleave_t;

typedef struct interleave_iterator_s {
  leat_iterator_t base;
  leat_application_t application;
  leat_iterator_t** cycle;  // [cycle_length]; NULL: no dataset is open at this place
  int64_t place;
  int64_t in_block;  // elements given from this place since the iterator came to it
  int64_t open;  // places with an open dataset
  bool input_ended;
} interleave_iterator_t;

static leat_status_t interleave_start(leat_iterator_t* self) {
  interleave_iterator_t* it = (interleave_iterator_t*)self;
  const interleave_t* interleave = (const interleave_t*)self->dataset;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)interleave->cycle_length, &it->cycle));
  return leat_iterator_prepare_calls(self, self->input->dataset->spec->count, 1, &it->application);
}

static void interleave_stop(leat_iterator_t* self) {
  interleave_iterator_t* it = (interleave_iterator_t*)self;
  const interleave_t* interleave = (const interleave_t*)self->dataset;
  for (int64_t i = 0; it->cycle && i < interleave->cycle_length; ++i) {
    leat_iterator_free(it->cycle[i]);
  }
  leat_allocator_free(leat_allocator_system(), it->cycle);
  leat_application_deinitialize(&it->application);
}

static void go_to_next_place(interleave_iterator_t* it) {
  const interleave_t* interleave = (const interleave_t*)it->base.dataset;
  it->in_block = 0;
  it->place = (it->place + 1) % interleave->cycle_length;
}

// Opens an iterator, at the current place, over the dataset that the function returned.
static leat_status_t open_returned(interleave_iterator_t* it, leat_pull_t* pull) {
  leat_status_t status = leat_iterator_open_returned(&it->base, &it->application, pull,
                                                     &it->cycle[it->place]);
  leat_application_release_element(&it->application);
  it->open += !status;
  return status;
}

// Gives the next element of the current place, or PENDING while its dataset or the function's call
// waits. END says only that this place gives nothing now: its dataset has ended, or the input has
// no more elements for it.
static leat_status_t read_place(interleave_iterator_t* it, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  leat_application_t* application = &it->application;
  if (application->pending) LEAT_RETURN_IF_ERROR(open_returned(it, pull));
  leat_iterator_t** current = &it->cycle[it->place];
  if (*current) {
    LEAT_RETURN_IF_ERROR(leat_iterator_next(*current, pull, out, out_poll));
    if (*out_poll != LEAT_POLL_END) return leat_ok_status();
    leat_iterator_free(*current);
    *current = NULL;
    --it->open;
    return leat_ok_status();
  }
  *out_poll = LEAT_POLL_END;
  if (it->input_ended) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_iterator_next(it->base.input, pull, application->arguments, out_poll));
  it->input_ended = *out_poll == LEAT_POLL_END;
  if (*out_poll == LEAT_POLL_ELEMENT) {
    *out_poll = LEAT_POLL_PENDING;
    leat_application_start(application, pull, it->base.dataset->function);
  }
  return leat_ok_status();
}

static leat_status_t interleave_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                     leat_poll_t* out_poll) {
  interleave_iterator_t* it = (interleave_iterator_t*)self;
  const interleave_t* interleave = (const interleave_t*)self->dataset;
  while (!it->input_ended || it->open) {
    LEAT_RETURN_IF_ERROR(read_place(it, pull, out, out_poll));
    if (*out_poll == LEAT_POLL_PENDING) return leat_ok_status();
    if (*out_poll == LEAT_POLL_END) {
      go_to_next_place(it);
      continue;
    }
    if (++it->in_block == interleave->block_length) go_to_next_place(it);
    return leat_ok_status();
  }
  return leat_ok_status();
}

static const leat_dataset_kind_t kInterleave = {.name = "Interleave",
                                                .dataset_bytes = sizeof(interleave_t),
                                                .iterator_bytes = sizeof(interleave_iterator_t),
                                                .opens_input = true,
                                                .start = interleave_start,
                                                .next = interleave_next,
                                                .stop = interleave_stop,
                                                .cardinality = leat_dataset_unknown_cardinality};

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t interleave_create(leat_kernel_creation_t* c, void* state) {
  return leat_dataset_function_create(c, "f", state);
}

static leat_status_t make(leat_kernel_context_t* c, int captured_count, int64_t cycle_length,
                          int64_t block_length) {
  const leat_dataset_function_t* function = leat_kernel_state(c);
  leat_dataset_t* dataset;
  if (cycle_length == LEAT_DATASET_AUTOTUNE) cycle_length = leat_cpu_count();
  if (cycle_length <= 0 || block_length <= 0) {
    return leat_kernel_invalid(c,
                               "cycle_length is %lld and block_length %lld, must be greater than "
                               "zero",
                               (long long)cycle_length, (long long)block_length);
  }
  LEAT_RETURN_IF_ERROR(
      leat_dataset_create_calling(c, &kInterleave, function->spec, captured_count, &dataset));
  interleave_t* interleave = (interleave_t*)dataset;
  interleave->cycle_length = cycle_length;
  interleave->block_length = block_length;
  return leat_dataset_set_output(c, dataset);
}

static leat_status_t flat_map__cpu(leat_kernel_context_t* c) {
  return make(c, leat_kernel_input_count(c) - 1, 1, INT64_MAX);
}

// The captured tensors lie between the input dataset and the two scalars.
static leat_status_t interleave__cpu(leat_kernel_context_t* c) {
  const int last = leat_kernel_input_count(c) - 1;
  int64_t cycle_length, block_length;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, last - 1, "cycle_length", &cycle_length));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, last, "block_length", &block_length));
  return make(c, last - 2, cycle_length, block_length);
}

#define KERNEL(name, how)                                                             \
  LEAT_CPU_KERNEL(name, NULL, leat_dataset_function_t, interleave_create, how##__cpu, \
                  .destroy = leat_dataset_function_destroy)

const leat_kernel_row_t leat_interleave_dataset_kernels_cpu[] = {
    KERNEL("FlatMapDataset", flat_map),
    KERNEL("InterleaveDataset", interleave),
    LEAT_KERNEL_ROWS_END,
};
