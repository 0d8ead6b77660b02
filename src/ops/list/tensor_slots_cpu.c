// The slots of a TensorArray, under one mutex. Each slot goes through these states:
//
//   empty ─▶ written ─▶ read ─▶ cleared      cleared: the tensor was moved out (clear_after_read)
//
// A slot can be written only before it is read, and only once, so that the result of a loop does
// not depend on the order in which its iterations run. In the gradient array a second write adds to
// the first, because several reads of a slot each send a gradient back. When a gradient array is
// made, its slots get the shapes of the slots that were written; a gradient slot that then gets no
// gradient reads as zeros of that shape. This is why a slot keeps its shape apart from its tensor.
//
// Sums are made in place only where the slot owns its tensor: the first value of a slot is shared
// with the kernel that wrote it, so the first sum goes into a new tensor. An array whose slots were
// summed cannot have a gradient, since the single values are lost.
#include "ops/list/tensor_slots_cpu.h"

#include <string.h>

#include "base/checked.h"
#include "device/cpu/combine.h"

typedef struct entry_s {
  leat_tensor_t tensor;
  leat_shape_t shape;
  bool written, read, cleared;
  bool own;  // no other holder of |tensor|'s memory: sums may be made in place
} entry_t;

typedef struct gradient_s {
  struct gradient_s* next;
  leat_slots_t* slots;
  leat_string_view_t source;
} gradient_t;

struct leat_slots_s {
  leat_resource_t resource;
  leat_string_view_t name, source;  // in |arena|; |source| is empty but for a gradient
  uint64_t number;
  int dtype;
  bool clear_after_read;
  bool identical_element_shapes;
  bool is_gradient;
  leat_mutex_t mutex;
  // Under the mutex.
  leat_arena_t arena;  // element shapes, gradients
  leat_partial_shape_t element_shape;
  entry_t* entries;
  size_t count, room;
  int64_t marked_size;  // see leat_slots_mark_size; -1: nothing was marked
  bool dynamic_size;
  bool gradients_disallowed;  // a slot holds a sum
  bool closed;
  gradient_t* gradients;  // one for each source, in |arena|
};

static void clear_entries(leat_slots_t* slots) {
  for (size_t i = 0; i < slots->count; ++i) {
    leat_tensor_release(&slots->entries[i].tensor);
    leat_shape_release(&slots->entries[i].shape);
  }
  leat_allocator_free(leat_allocator_system(), slots->entries);
  slots->entries = NULL;
  slots->count = slots->room = 0;
}

static void slots_destroy(leat_resource_t* resource) {
  leat_slots_t* slots = (leat_slots_t*)resource;
  for (gradient_t* g = slots->gradients; g; g = g->next) leat_resource_release(&g->slots->resource);
  clear_entries(slots);
  leat_arena_deinitialize(&slots->arena);
  leat_mutex_deinitialize(&slots->mutex);
  leat_allocator_free(leat_allocator_system(), slots);
}

const leat_resource_kind_t leat_slots_kind = {.name = "TensorArray", .destroy = slots_destroy};

int leat_slots_dtype(const leat_slots_t* slots) { return slots->dtype; }

// Grows the array to |count| slots; the new ones are empty.
static leat_status_t resize(leat_slots_t* slots, size_t count) {
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), count, &slots->entries, &slots->room));
  slots->count = count;
  return leat_ok_status();
}

leat_status_t leat_slots_create(const leat_slots_options_t* options, int64_t size,
                                leat_slots_t** out_slots) {
  leat_slots_t* slots;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &slots));
  slots->resource.kind = &leat_slots_kind;
  slots->resource.references = 1;
  slots->number = options->number;
  slots->dtype = options->dtype;
  slots->dynamic_size = options->dynamic_size;
  slots->clear_after_read = options->clear_after_read;
  slots->identical_element_shapes = options->identical_element_shapes;
  slots->marked_size = -1;
  leat_mutex_initialize(&slots->mutex);
  leat_arena_initialize(leat_allocator_system(), 256, &slots->arena);
  leat_status_t status = leat_partial_shape_create(
      options->element_shape.rank, options->element_shape.dims, &slots->arena,
      &slots->element_shape);
  if (!status) status = leat_arena_copy_string(&slots->arena, options->name, &slots->name);
  if (!status) status = leat_arena_copy_string(&slots->arena, options->source, &slots->source);
  if (!status && size > 0) status = resize(slots, (size_t)size);
  if (status) {
    leat_resource_release(&slots->resource);
    return status;
  }
  *out_slots = slots;
  return leat_ok_status();
}

// The name of the array, for messages.
#define NAME_FORMAT "TensorArray %.*s_%llu%s%.*s"
#define NAME(slots)                                                  \
  LEAT_SV_ARG((slots)->name), (unsigned long long)(slots)->number, \
      (slots)->source.size ? "@" : "", LEAT_SV_ARG((slots)->source)

static leat_status_t check_open(const leat_slots_t* slots) {
  if (!slots->closed) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, NAME_FORMAT " has already been closed.",
                          NAME(slots));
}

// ---- Gradients ----------------------------------------------------------------------------------

// Writes the sizes of |a| and then those of |b| to |dims|. INVALID_ARGUMENT when they are too many.
static leat_status_t concatenate(const leat_shape_t* a, leat_partial_shape_t b, int64_t* dims,
                                 int* out_rank) {
  int rank = a->rank + b.rank;
  if (rank > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "The rank of the gradient is %d, must be <= %d",
                            rank, LEAT_SHAPE_MAX_RANK);
  }
  for (int i = 0; i < a->rank; ++i) dims[i] = leat_shape_dim(a, i);
  for (int i = 0; i < b.rank; ++i) dims[a->rank + i] = b.dims[i];
  *out_rank = rank;
  return leat_ok_status();
}

// Gives the gradient's slots the shapes of those that were written, after the |prepended| sizes.
// They count as written, so a read gives zeros, and a write adds.
static leat_status_t copy_shapes(const leat_slots_t* from, const leat_shape_t* prepended,
                                 leat_slots_t* to) {
  for (size_t i = 0; i < from->count; ++i) {
    const entry_t* entry = &from->entries[i];
    if (!entry->written) continue;
    int64_t dims[LEAT_SHAPE_MAX_RANK];
    int rank;
    LEAT_RETURN_IF_ERROR(
        concatenate(prepended, leat_partial_shape_of(&entry->shape), dims, &rank));
    LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &to->entries[i].shape));
    to->entries[i].written = true;
  }
  return leat_ok_status();
}

// Makes the gradient array of |slots|, with as many slots. |prepended| stands in front of the shape
// of each element.
static leat_status_t make_gradient(leat_slots_t* slots, leat_string_view_t source,
                                   const leat_shape_t* prepended, leat_slots_t** out_gradient) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  leat_slots_options_t options = {.name = slots->name,
                                  .source = source,
                                  .number = slots->number,
                                  .dtype = slots->dtype,
                                  .element_shape = slots->element_shape,
                                  .clear_after_read = true,
                                  .identical_element_shapes = slots->identical_element_shapes};
  if (options.element_shape.rank >= 0) {
    LEAT_RETURN_IF_ERROR(concatenate(prepended, slots->element_shape, dims,
                                     &options.element_shape.rank));
    options.element_shape.dims = dims;
  }
  leat_slots_t* gradient;
  LEAT_RETURN_IF_ERROR(leat_slots_create(&options, (int64_t)slots->count, &gradient));
  gradient->is_gradient = true;
  gradient->marked_size = slots->marked_size;
  leat_status_t status = copy_shapes(slots, prepended, gradient);
  if (status) {
    leat_resource_release(&gradient->resource);
    return status;
  }
  *out_gradient = gradient;
  return leat_ok_status();
}

// Finds or makes the gradient for |source|, with the mutex held. The array may not grow from now
// on, because its gradient has the same number of slots.
static leat_status_t find_gradient(leat_slots_t* slots, leat_string_view_t source,
                                   const leat_shape_t* prepended, leat_slots_t** out_gradient) {
  LEAT_RETURN_IF_ERROR(check_open(slots));
  if (slots->is_gradient) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Wrong input container: a gradient TensorArray has no gradient");
  }
  slots->dynamic_size = false;
  if (slots->gradients_disallowed) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Unable to create a gradients TensorArray: a slot was written more "
                            "than once");
  }
  for (gradient_t* g = slots->gradients; g; g = g->next) {
    if (!leat_string_view_equal(g->source, source)) continue;
    *out_gradient = g->slots;
    return leat_ok_status();
  }
  gradient_t* gradient;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&slots->arena, 1, &gradient));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&slots->arena, source, &gradient->source));
  LEAT_RETURN_IF_ERROR(make_gradient(slots, source, prepended, &gradient->slots));
  gradient->next = slots->gradients;
  slots->gradients = gradient;
  *out_gradient = gradient->slots;
  return leat_ok_status();
}

leat_status_t leat_slots_gradient(leat_slots_t* slots, leat_string_view_t source,
                                  const leat_shape_t* prepended, leat_slots_t** out_gradient) {
  leat_shape_t nothing = leat_shape_scalar();
  leat_mutex_lock(&slots->mutex);
  leat_status_t status =
      find_gradient(slots, source, prepended ? prepended : &nothing, out_gradient);
  if (!status) leat_resource_retain(&(*out_gradient)->resource);
  leat_mutex_unlock(&slots->mutex);
  return status;
}

// ---- Writing, with the mutex held ---------------------------------------------------------------

// Checks the index and the value's type and shape; the state of the slot is checked when it is
// written.
static leat_status_t check_write(leat_slots_t* slots, int64_t index, const leat_tensor_t* value) {
  if (value->dtype != slots->dtype) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "TensorArray dtype is %s but Op is trying to write dtype %s.",
                            leat_dtype_name(slots->dtype), leat_dtype_name(value->dtype));
  }
  if (index < 0 || (!slots->dynamic_size && (size_t)index >= slots->count)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tried to write to index %lld but array is not resizeable and size "
                            "is: %zu",
                            (long long)index, slots->count);
  }
  if (leat_partial_shape_admits(slots->element_shape, &value->shape)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Could not write to TensorArray index %lld because the value shape is "
                          "%s which is incompatible with the TensorArray's inferred element "
                          "shape: %s (consider setting infer_shape=False).",
                          (long long)index, LEAT_SHAPE_TEXT(&value->shape),
                          LEAT_PARTIAL_SHAPE_TEXT(slots->element_shape));
}

// Adds |value| to a slot of a gradient. Its first value becomes the slot's tensor; the others are
// added.
static leat_status_t add_to(leat_slots_t* slots, const leat_kernel_context_t* c, entry_t* entry,
                            leat_tensor_t* value) {
  if (!leat_shape_equal(&entry->shape, &value->shape)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Could not aggregate to TensorArray index %lld because the existing "
                            "shape is %s but the new input shape is %s.",
                            (long long)(entry - slots->entries),
                            LEAT_SHAPE_TEXT(&entry->shape), LEAT_SHAPE_TEXT(&value->shape));
  }
  if (!entry->tensor.dtype || entry->tensor.shape.element_count == 0) {
    leat_tensor_release(&entry->tensor);
    entry->tensor = leat_tensor_move(value);
    return leat_ok_status();
  }
  leat_tensor_t sum = {0};
  if (!entry->own) {
    LEAT_RETURN_IF_ERROR(
        leat_tensor_allocate(c->services->memory, slots->dtype, &entry->shape, &sum));
  }
  leat_tensor_t* target = entry->own ? &entry->tensor : &sum;
  if (!leat_numbers_add(slots->dtype, entry->tensor.data, value->data, target->data,
                        entry->shape.element_count)) {
    leat_tensor_release(&sum);
    return leat_make_status(LEAT_INVALID_ARGUMENT, "tensor_array::AddToTensor type not "
                                                   "supported: %s",
                            leat_dtype_name(slots->dtype));
  }
  if (!entry->own) {
    leat_tensor_release(&entry->tensor);
    entry->tensor = sum;
    entry->own = true;
  }
  slots->gradients_disallowed = true;
  return leat_ok_status();
}

// With identical_element_shapes, the first value's shape becomes that of all elements.
static leat_status_t write_one(leat_slots_t* slots, const leat_kernel_context_t* c, int64_t index,
                               leat_tensor_t* value) {
  LEAT_RETURN_IF_ERROR(check_write(slots, index, value));
  if ((size_t)index >= slots->count) LEAT_RETURN_IF_ERROR(resize(slots, (size_t)index + 1));
  if (slots->identical_element_shapes && !leat_partial_shape_is_full(slots->element_shape)) {
    leat_partial_shape_t shape = leat_partial_shape_of(&value->shape);
    LEAT_RETURN_IF_ERROR(leat_partial_shape_create(shape.rank, shape.dims, &slots->arena,
                                                   &slots->element_shape));
  }
  entry_t* entry = &slots->entries[index];
  if (entry->read || (entry->written && !slots->is_gradient)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Could not write to TensorArray index %lld because it has already "
                            "been %s.",
                            (long long)index, entry->read ? "read" : "written to");
  }
  if (entry->written) return add_to(slots, c, entry, value);
  entry->shape = leat_shape_retain(&value->shape);
  entry->tensor = leat_tensor_move(value);
  entry->written = true;
  return leat_ok_status();
}

leat_status_t leat_slots_write(leat_slots_t* slots, const leat_kernel_context_t* c,
                               const int32_t* indices, int64_t count, leat_tensor_t* values) {
  leat_mutex_lock(&slots->mutex);
  leat_status_t closed = check_open(slots), status = leat_ok_status();
  for (int64_t i = 0; i < count && !closed && !status; ++i) {
    status = write_one(slots, c, indices[i], &values[i]);
  }
  leat_mutex_unlock(&slots->mutex);
  for (int64_t i = 0; i < count; ++i) leat_tensor_release(&values[i]);
  return closed ? closed : leat_status_annotate(status, NAME_FORMAT, NAME(slots));
}

// ---- Reading, with the mutex held ---------------------------------------------------------------

// Gives the slot at |index|, which was never written, a shape, so that it can be read as zeros: the
// shape the slot has, or that of all elements where it is fully known. A gradient grows when the
// index is behind its last slot.
static leat_status_t assume_zeros(leat_slots_t* slots, int64_t index) {
  size_t place = (size_t)index;
  leat_shape_t shape;
  bool known = slots->is_gradient && place < slots->count && slots->entries[place].shape.rank > 0;
  if (known) {
    shape = leat_shape_retain(&slots->entries[place].shape);
  } else if (leat_partial_shape_is_full(slots->element_shape)) {
    LEAT_RETURN_IF_ERROR(leat_partial_shape_to_full(slots->element_shape, &shape));
  } else {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Could not read from TensorArray index %lld.  Furthermore, the element "
                            "shape is not fully defined: %s.  It is possible you are working with "
                            "a resizeable TensorArray and stop_gradients is not allowing the "
                            "gradients to be written.",
                            (long long)index, LEAT_PARTIAL_SHAPE_TEXT(slots->element_shape));
  }
  size_t first = place;
  leat_status_t status = leat_ok_status();
  if (place >= slots->count) {
    first = slots->count;
    status = resize(slots, place + 1);
  }
  for (size_t i = first; i <= place && !status; ++i) {
    leat_shape_release(&slots->entries[i].shape);
    slots->entries[i].shape = leat_shape_retain(&shape);
    slots->entries[i].written = true;
  }
  leat_shape_release(&shape);
  return status;
}

// Allocates the tensor of a slot that has only a shape, filled with zeros.
static leat_status_t make_zeros(leat_slots_t* slots, const leat_kernel_context_t* c,
                                entry_t* entry) {
  bool can = leat_dtype_in(slots->dtype, LEAT_DTYPES_NUMBER | LEAT_DTYPE_BIT(BOOL));
  if (entry->shape.element_count && !can) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "tensor_array::TensorSetZero type not supported: %s",
                            leat_dtype_name(slots->dtype));
  }
  leat_tensor_release(&entry->tensor);
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(c->services->memory, slots->dtype, &entry->shape, &entry->tensor));
  leat_tensor_fill_zero(&entry->tensor);
  return leat_ok_status();
}

// Moves the tensor out where the array clears after reading, which frees it as early as possible;
// shares it otherwise.
static leat_status_t read_one(leat_slots_t* slots, const leat_kernel_context_t* c, int64_t index,
                              leat_tensor_t* out_value) {
  bool inside = index >= 0 && (size_t)index < slots->count;
  if (index < 0 || (!slots->is_gradient && !inside)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tried to read from index %lld but array size is: %zu",
                            (long long)index, slots->count);
  }
  if (!inside || !slots->entries[index].written) LEAT_RETURN_IF_ERROR(assume_zeros(slots, index));
  entry_t* entry = &slots->entries[index];
  if (entry->cleared) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Could not read index %lld twice because it was cleared after a "
                            "previous read (perhaps try setting clear_after_read = false?).",
                            (long long)index);
  }
  if (!entry->tensor.dtype || entry->tensor.shape.element_count == 0) {
    LEAT_RETURN_IF_ERROR(make_zeros(slots, c, entry));
  }
  entry->read = true;
  entry->cleared = slots->clear_after_read;
  *out_value = slots->clear_after_read ? leat_tensor_move(&entry->tensor)
                                       : leat_tensor_share(&entry->tensor);
  return leat_ok_status();
}

leat_status_t leat_slots_read(leat_slots_t* slots, const leat_kernel_context_t* c,
                              const int32_t* indices, int64_t count, leat_tensor_t* out_values) {
  int64_t done = 0;
  leat_mutex_lock(&slots->mutex);
  leat_status_t closed = check_open(slots), status = leat_ok_status();
  for (; done < count && !closed && !status; ++done) {
    status = read_one(slots, c, indices[done], &out_values[done]);
  }
  leat_mutex_unlock(&slots->mutex);
  for (int64_t i = 0; status && i < done - 1; ++i) leat_tensor_release(&out_values[i]);
  return closed ? closed : leat_status_annotate(status, NAME_FORMAT, NAME(slots));
}

// ---- The rest -----------------------------------------------------------------------------------

leat_status_t leat_slots_size(leat_slots_t* slots, int64_t* out_size, bool* out_dynamic) {
  leat_mutex_lock(&slots->mutex);
  leat_status_t status = check_open(slots);
  *out_size = (int64_t)slots->count;
  *out_dynamic = slots->dynamic_size;
  leat_mutex_unlock(&slots->mutex);
  return status;
}

leat_status_t leat_slots_whole_size(leat_slots_t* slots, int64_t* out_size) {
  leat_mutex_lock(&slots->mutex);
  leat_status_t status = check_open(slots);
  *out_size = slots->is_gradient ? LEAT_MAX(slots->marked_size, 0) : (int64_t)slots->count;
  leat_mutex_unlock(&slots->mutex);
  return status;
}

leat_status_t leat_slots_mark_size(leat_slots_t* slots, int64_t size) {
  leat_mutex_lock(&slots->mutex);
  leat_status_t status = check_open(slots);
  if (!slots->is_gradient) slots->marked_size = size;
  leat_mutex_unlock(&slots->mutex);
  return status;
}

leat_status_t leat_slots_merge_shape(leat_slots_t* slots, leat_partial_shape_t shape) {
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&slots->mutex);
  if (shape.rank >= 0 && !leat_partial_shape_equal(shape, slots->element_shape)) {
    leat_partial_shape_t merged;
    status = leat_partial_shape_merge(slots->element_shape, shape, &slots->arena, &merged);
    if (!status) slots->element_shape = merged;
  }
  leat_mutex_unlock(&slots->mutex);
  return status;
}

void leat_slots_close(leat_slots_t* slots) {
  leat_mutex_lock(&slots->mutex);
  clear_entries(slots);
  slots->closed = true;
  leat_mutex_unlock(&slots->mutex);
}
