// Kernels that save and restore an iterator. What is saved is its position, the number of elements
// of its dataset that it has given. To restore it, the dataset is made anew and read from its
// start, and as many elements are dropped. So no kind of dataset has a state that must be written
// down, and a position costs the computation of the elements before it. The elements behind it are
// the same ones if the dataset gives the same elements in each pass: a shuffle must have a seed.
#include "ops/dataset/iterator_cpu.h"
#include "ops/kernel_rows.h"

static leat_status_t position_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  const leat_iterator_resource_t* resource = ((leat_turn_t*)pull)->resource;
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  if (!resource->iterator) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "The iterator has no position because it has not been initialized.");
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(pull->context, 0, &scalar, &output));
  *leat_tensor_data(output, int64_t) = resource->position;
  return leat_ok_status();
}

static void position_finish(leat_pull_t* pull, leat_status_t status) {
  leat_turn_finish((leat_turn_t*)pull, status);
}

static void position__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_turn_begin(c, done, &leat_iterator_kind, 0, sizeof(leat_turn_t), position_step,
                  position_finish);
}

typedef struct restoring_s {
  leat_turn_t turn;
  bool is_set;  // the iterator is at the start of the dataset, or behind it
  leat_tensor_t* element;  // room for an element that is dropped
} restoring_t;

// Sets the iterator to the start of the dataset at input 0.
static leat_status_t set(restoring_t* restoring) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(
      leat_dataset_of(leat_kernel_input(restoring->turn.pull.context, 0), &dataset));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)dataset->spec->count,
                                     &restoring->element));
  LEAT_RETURN_IF_ERROR(leat_iterator_resource_set(restoring->turn.resource, dataset));
  restoring->is_set = true;
  return leat_ok_status();
}

// Drops elements until the iterator is at the position that was saved. An element that fails counts
// too, as it did when the position was counted.
static leat_status_t restore_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  restoring_t* restoring = (restoring_t*)pull;
  leat_iterator_resource_t* resource = restoring->turn.resource;
  int64_t position;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(pull->context, 2, "position", &position));
  if (!restoring->is_set) LEAT_RETURN_IF_ERROR(set(restoring));
  while (resource->position < position) {
    leat_status_t status =
        leat_iterator_next(resource->iterator, pull, restoring->element, out_poll);
    if (status && leat_pull_was_stopped(status)) return status;
    if (!status && *out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
    if (!status) leat_element_release(restoring->element, resource->iterator->dataset->spec->count);
    leat_status_free(status);
    ++resource->position;
  }
  return leat_ok_status();
}

static void restore_finish(leat_pull_t* pull, leat_status_t status) {
  restoring_t* restoring = (restoring_t*)pull;
  leat_allocator_free(leat_allocator_system(), restoring->element);
  leat_turn_finish(&restoring->turn, status);
}

static void restore__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_turn_begin(c, done, &leat_iterator_kind, 1, sizeof(restoring_t), restore_step,
                  restore_finish);
}

const leat_kernel_row_t leat_iterator_state_kernels_cpu[] = {
    {.op = "_IteratorPosition", .device_type = "CPU", .compute_async = position__cpu},
    {.op = "_RestoreIterator", .device_type = "CPU", .compute_async = restore__cpu},
    LEAT_KERNEL_ROWS_END,
};
