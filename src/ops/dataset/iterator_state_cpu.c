// Kernels that save and restore an iterator. What is saved is its position, the number of elements
// of its dataset that it has given. To restore it, the dataset is made anew and read from its
// start, and as many elements are dropped. So no kind of dataset has a state that must be written
// down, and a position costs the computation of the elements before it. The elements behind it are
// the same ones if the dataset gives the same elements in each pass: a shuffle must have a seed.
//
// SerializeIterator gives the position as a vector of one variant, which a checkpoint may hold, and
// DeserializeIterator takes it: the iterator must have its dataset already, as in TensorFlow. What
// TensorFlow itself writes there, the state of each of its iterators, means nothing here.
// IteratorGetModelProto, which asks for more of that state, finds none.
#include <string.h>

#include "ops/dataset/iterator_cpu.h"
#include "ops/dataset/values.h"
#include "ops/kernel_rows.h"

// ---- Positions as values ------------------------------------------------------------------------

typedef struct saved_position_s {
  leat_reference_count_t references;
  int64_t position;
} saved_position_t;

static void position_retain(void* self) {
  leat_reference_count_retain(&((saved_position_t*)self)->references);
}

static void position_release(void* self) {
  if (!leat_reference_count_release(&((saved_position_t*)self)->references)) return;
  leat_allocator_free(leat_allocator_system(), self);
}

static leat_status_t position_create(int64_t position, leat_variant_t* out_variant) {
  saved_position_t* saved;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &saved));
  *saved = (saved_position_t){.references = 1, .position = position};
  *out_variant = (leat_variant_t){&leat_iterator_position_vtable, saved};
  return leat_ok_status();
}

static leat_status_t position_encode(void* self, char** out_metadata, size_t* out_metadata_size,
                                     struct leat_tensor_s** out_tensors,
                                     size_t* out_tensor_count) {
  const saved_position_t* saved = self;
  *out_tensors = NULL;
  *out_tensor_count = 0;
  *out_metadata_size = sizeof saved->position;
  return leat_allocator_clone_string(leat_allocator_system(), (const char*)&saved->position,
                                     sizeof saved->position, out_metadata);
}

static leat_status_t position_decode(leat_string_view_t metadata, struct leat_tensor_s* tensors,
                                     size_t count, leat_variant_t* out_variant) {
  int64_t position = -1;
  if (metadata.size == sizeof position) memcpy(&position, metadata.data, sizeof position);
  if (position >= 0 && count == 0) return position_create(position, out_variant);
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Tensor decode failed: the position of an iterator has %zu bytes and %zu "
                          "tensors, must be a number >= 0 of 8 bytes",
                          metadata.size, count);
}

const leat_variant_vtable_t leat_iterator_position_vtable = {.type_name = "leat::IteratorPosition",
                                                             .retain = position_retain,
                                                             .release = position_release,
                                                             .encode = position_encode,
                                                             .decode = position_decode};

// Reads what SerializeIterator gave, input |index| of the kernel.
static leat_status_t read_position(const leat_kernel_context_t* c, int index,
                                   int64_t* out_position) {
  const leat_tensor_t* input = leat_kernel_input(c, index);
  const leat_variant_t* variant = input->data;
  if (input->shape.element_count == 1 && variant->vtable == &leat_iterator_position_vtable) {
    *out_position = ((const saved_position_t*)variant->self)->position;
    return leat_ok_status();
  }
  return leat_kernel_invalid(c,
                             "serialized has shape %s, must be one variant that SerializeIterator "
                             "of this library has made",
                             LEAT_SHAPE_TEXT(&input->shape));
}

// ---- Saving -------------------------------------------------------------------------------------

static leat_status_t check_initialized(const leat_pull_t* pull, const char* verb) {
  if (((const leat_turn_t*)pull)->resource->iterator) return leat_ok_status();
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "%s() failed because the iterator has not been initialized. Ensure that "
                          "you have run the initializer operation for this iterator before.",
                          verb);
}

static leat_status_t position_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  const leat_iterator_resource_t* resource = ((leat_turn_t*)pull)->resource;
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(check_initialized(pull, "Position"));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(pull->context, 0, &scalar, &output));
  *leat_tensor_data(output, int64_t) = resource->position;
  return leat_ok_status();
}

static leat_status_t serialize_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  const leat_shape_t one = leat_shape_vector(1);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(check_initialized(pull, "Save"));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(pull->context, 0, &one, &output));
  return position_create(((leat_turn_t*)pull)->resource->position,
                         leat_tensor_data(output, leat_variant_t));
}

// What TensorFlow answers where a dataset is not tuned, as no dataset is here.
static leat_status_t model_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  LEAT_RETURN_IF_ERROR(check_initialized(pull, "GetModelProto"));
  return leat_make_status(LEAT_NOT_FOUND,
                          "Cannot find this iterator's analytical model: datasets are not tuned by "
                          "a model");
}

static void position_finish(leat_pull_t* pull, leat_status_t status) {
  leat_turn_finish((leat_turn_t*)pull, status);
}

static void position__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_turn_begin(c, done, &leat_iterator_kind, 0, sizeof(leat_turn_t), position_step,
                  position_finish);
}

static void serialize__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_turn_begin(c, done, &leat_iterator_kind, 0, sizeof(leat_turn_t), serialize_step,
                  position_finish);
}

static void model__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_turn_begin(c, done, &leat_iterator_kind, 0, sizeof(leat_turn_t), model_step,
                  position_finish);
}

// ---- Restoring ----------------------------------------------------------------------------------

typedef struct restoring_s {
  leat_turn_t turn;
  bool is_set;  // the iterator is at the start of the dataset, or behind it
  int64_t position;
  leat_tensor_t* element;  // room for an element that is dropped
} restoring_t;

// Sets the iterator to the start of |dataset|.
static leat_status_t set(restoring_t* restoring, leat_dataset_t* dataset) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)dataset->spec->count,
                                     &restoring->element));
  LEAT_RETURN_IF_ERROR(leat_iterator_resource_set(restoring->turn.resource, dataset));
  restoring->is_set = true;
  return leat_ok_status();
}

// Drops elements until the iterator is at the position that was saved. An element that fails counts
// too, as it did when the position was counted.
static leat_status_t drop_elements(restoring_t* restoring, leat_poll_t* out_poll) {
  leat_pull_t* pull = &restoring->turn.pull;
  leat_iterator_resource_t* resource = restoring->turn.resource;
  while (resource->position < restoring->position) {
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

static leat_status_t restore_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  restoring_t* restoring = (restoring_t*)pull;
  leat_dataset_t* dataset;
  if (!restoring->is_set) {
    LEAT_RETURN_IF_ERROR(
        leat_dataset_int_input(pull->context, 2, "position", &restoring->position));
    LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(pull->context, 0), &dataset));
    LEAT_RETURN_IF_ERROR(set(restoring, dataset));
  }
  return drop_elements(restoring, out_poll);
}

// The iterator's own dataset is read anew. It is retained meanwhile, since the iterator that holds
// it is freed.
static leat_status_t deserialize_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  restoring_t* restoring = (restoring_t*)pull;
  if (!restoring->is_set) {
    LEAT_RETURN_IF_ERROR(check_initialized(pull, "Restore"));
    LEAT_RETURN_IF_ERROR(read_position(pull->context, 1, &restoring->position));
    leat_dataset_t* dataset = restoring->turn.resource->iterator->dataset;
    leat_dataset_retain(dataset);
    leat_status_t status = set(restoring, dataset);
    leat_dataset_release(dataset);
    if (status) return status;
  }
  return drop_elements(restoring, out_poll);
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

static void deserialize__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_turn_begin(c, done, &leat_iterator_kind, 0, sizeof(restoring_t), deserialize_step,
                  restore_finish);
}

const leat_kernel_row_t leat_iterator_state_kernels_cpu[] = {
    {.op = "SerializeIterator", .device_type = "CPU", .compute_async = serialize__cpu},
    {.op = "DeserializeIterator", .device_type = "CPU", .compute_async = deserialize__cpu},
    {.op = "IteratorGetModelProto", .device_type = "CPU", .compute_async = model__cpu},
    {.op = "_IteratorPosition", .device_type = "CPU", .compute_async = position__cpu},
    {.op = "_RestoreIterator", .device_type = "CPU", .compute_async = restore__cpu},
    LEAT_KERNEL_ROWS_END,
};
