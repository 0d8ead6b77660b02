// The iterators of the batching datasets (batch_cpu.h): they collect elements of the input, and put
// them together or pad them.
//
// The input may answer PENDING in the middle of a batch (ops/dataset/pull_cpu.h). Therefore the
// elements collected so far belong to the iterator and not to the stack, and batch_next carries on
// with them when it is called again.
//
// An element of a plain batch is copied to its place when it comes, while it still lies in the
// cache, and its memory is free for the next element:
//
//     elements   -   -   -   e3           copied is 3: the next to be copied is e3
//     places   [ e0, e1, e2,  ,  ,  ,  ]  room for a full batch
//
// The first batch of a dataset may turn out to be far smaller than its size. So memory for a full
// one is taken beforehand only once there has been a full one.
#include <string.h>

#include "ops/dataset/batch_cpu.h"

typedef struct batch_iterator_s {
  leat_iterator_t base;
  // element by element; each element has as many tensors as the spec has components
  leat_tensor_t* elements;
  size_t capacity;          // tensors for which |elements| has room
  int64_t count;            // elements collected for the batch in progress
  int64_t to_skip;          // elements to drop before the next batch begins
  int64_t turn;             // of the size of the batch in progress
  // The first |copied| elements are in |places|, a tensor for each component with room for a full
  // batch, and no longer in |elements|. NULL or no tensors where nothing is copied.
  leat_tensor_t* places;
  int64_t copied;
} batch_iterator_t;

static int component_count(const batch_iterator_t* it) { return it->base.dataset->spec->count; }

// Releases the first |count| elements, and moves the others to the front. Copied elements go all at
// once, since batches do not overlap then.
static void release_elements(batch_iterator_t* it, int64_t count) {
  const int64_t components = component_count(it);
  LEAT_DCHECK(!it->copied || count == it->count);
  if (it->copied) leat_element_release(it->places, (int)components);
  it->copied = 0;
  for (int64_t i = 0; i < count * components; ++i) leat_tensor_release(&it->elements[i]);
  it->count -= count;
  if (it->count == 0) return;
  memmove(it->elements, it->elements + count * components,
          (size_t)(it->count * components) * sizeof *it->elements);
}

static void batch_stop(leat_iterator_t* self) {
  batch_iterator_t* it = (batch_iterator_t*)self;
  release_elements(it, it->count);
  leat_allocator_free(leat_allocator_system(), it->elements);
  leat_allocator_free(leat_allocator_system(), it->places);
}

static void batch_destroy(leat_dataset_t* self) {
  leat_element_spec_release(((leat_batch_dataset_t*)self)->padded_shapes);
}

// ---- Putting together ---------------------------------------------------------------------------

// Element |index| of the batch.
static const leat_tensor_t* element_at(const batch_iterator_t* it, int64_t index, int component) {
  const int64_t stride = ((const leat_batch_dataset_t*)it->base.dataset)->stride;
  return &it->elements[index * stride * component_count(it) + component];
}

// The number of elements in the batch.
static int64_t batch_size(const batch_iterator_t* it) {
  const int64_t stride = ((const leat_batch_dataset_t*)it->base.dataset)->stride;
  return it->count / stride + (it->count % stride != 0);
}

// Allocates component |component| of a batch of |size| elements: its shape is [size, dims[0], ...,
// dims[rank - 1]].
static leat_status_t allocate_batch(const batch_iterator_t* it, int component, int64_t size,
                                    int rank, const int64_t* dims, leat_tensor_t* out_tensor) {
  int64_t all[LEAT_SHAPE_MAX_RANK + 1] = {size};
  leat_shape_t shape;
  if (rank) memcpy(all + 1, dims, (size_t)rank * sizeof *dims);
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank + 1, all, &shape));
  leat_status_t status = leat_tensor_allocate(
      leat_buffer_source_host(), it->base.dataset->spec->types[component], &shape, out_tensor);
  leat_shape_release(&shape);
  return status;
}

// The address at which element |index| begins in |batch|; an element has |element_size| entries.
static void* slice_address(const leat_tensor_t* batch, int64_t index, int64_t element_size) {
  return (char*)batch->data + (size_t)(index * element_size) * leat_dtype_size(batch->dtype);
}

// Makes component |component| of a batch without elements. Sizes that are not known become 0.
static leat_status_t stack_nothing(const batch_iterator_t* it, int component,
                                   leat_tensor_t* out_tensor) {
  const leat_partial_shape_t shape = it->base.input->dataset->spec->shapes[component];
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < shape.rank; ++d) dims[d] = shape.dims[d] < 0 ? 0 : shape.dims[d];
  return allocate_batch(it, component, 0, shape.rank < 0 ? 0 : shape.rank, dims, out_tensor);
}

// Whether |element| has the shape of the elements of |batch|.
static bool is_slice(const leat_tensor_t* batch, const leat_tensor_t* element) {
  const int rank = element->shape.rank;
  return batch->shape.rank == rank + 1 &&
         (rank == 0 || !memcmp(leat_shape_dims(&batch->shape) + 1, leat_shape_dims(&element->shape),
                               (size_t)rank * sizeof(int64_t)));
}

// Gives |out_tensor| the elements that are copied, as the first ones of a batch of batch_size(it).
static leat_status_t take_place(const batch_iterator_t* it, int component,
                                leat_tensor_t* out_tensor) {
  leat_tensor_t* place = &it->places[component];
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1];
  leat_shape_t shape;
  memcpy(dims, leat_shape_dims(&place->shape), (size_t)place->shape.rank * sizeof *dims);
  dims[0] = batch_size(it);
  LEAT_RETURN_IF_ERROR(leat_shape_create(place->shape.rank, dims, &shape));
  *out_tensor = leat_tensor_move(place);
  leat_shape_release(&out_tensor->shape);
  out_tensor->shape = shape;
  return leat_ok_status();
}

// Begins a batch: with the elements that are copied, or with none.
static leat_status_t begin_batch(const batch_iterator_t* it, int component,
                                 leat_tensor_t* out_tensor) {
  if (it->copied) return take_place(it, component, out_tensor);
  const leat_shape_t* first = &element_at(it, 0, component)->shape;
  return allocate_batch(it, component, batch_size(it), first->rank, leat_shape_dims(first),
                        out_tensor);
}

static leat_status_t shape_error(const leat_tensor_t* batch, int component, int64_t index,
                                 const leat_tensor_t* element) {
  leat_shape_t first;
  LEAT_RETURN_IF_ERROR(leat_shape_create(batch->shape.rank - 1, leat_shape_dims(&batch->shape) + 1,
                                         &first));
  const leat_status_t status = leat_make_status(
      LEAT_INVALID_ARGUMENT,
      "Cannot batch tensors with different shapes in component %d. First element had shape %s "
      "and element %lld had shape %s.",
      component, LEAT_SHAPE_TEXT(&first), (long long)index, LEAT_SHAPE_TEXT(&element->shape));
  leat_shape_release(&first);
  return status;
}

// Copies |element| to place |index| of |batch|.
static leat_status_t copy_to_place(const leat_tensor_t* element, int64_t index,
                                   const leat_tensor_t* batch) {
  const int64_t size = element->shape.element_count;
  if (!size) return leat_ok_status();
  return leat_tensor_copy_elements(batch->dtype, element->data, slice_address(batch, index, size),
                                   size);
}

// Copies component |component| of the batch's elements into one new tensor, unless they are copied.
// INVALID_ARGUMENT where an element's shape is not that of the first element.
static leat_status_t stack(const batch_iterator_t* it, int component, leat_tensor_t* out_tensor) {
  if (it->count == 0) return stack_nothing(it, component, out_tensor);
  LEAT_RETURN_IF_ERROR(begin_batch(it, component, out_tensor));
  for (int64_t i = it->copied; i < batch_size(it); ++i) {
    const leat_tensor_t* element = element_at(it, i, component);
    leat_status_t status = is_slice(out_tensor, element)
                               ? copy_to_place(element, i, out_tensor)
                               : shape_error(out_tensor, component, i, element);
    if (!status) continue;
    leat_tensor_release(out_tensor);
    return status;
  }
  return leat_ok_status();
}

// ---- Elements that are copied when they come ----------------------------------------------------

// Whether the batch in progress is one of consecutive elements that no other batch has.
static bool copies_early(const batch_iterator_t* it) {
  const leat_batch_dataset_t* batch = (const leat_batch_dataset_t*)it->base.dataset;
  return !batch->padded && !batch->takes_turns && !batch->keeps_elements && batch->stride == 1 &&
         batch->shift == batch->span && !it->to_skip &&
         atomic_load_explicit(&batch->has_been_full, memory_order_relaxed);
}

// Takes memory for a full batch of elements like |element|. Where there is none, the elements stay
// where they are, and the batch may yet become a smaller one.
static bool begin_places(batch_iterator_t* it, const leat_tensor_t* element) {
  const leat_batch_dataset_t* batch = (const leat_batch_dataset_t*)it->base.dataset;
  const int components = component_count(it);
  size_t room = it->places ? (size_t)components : 0;
  leat_status_t status = LEAT_GROW(leat_allocator_system(), (size_t)components, &it->places, &room);
  int i = 0;
  for (; !status && i < components; ++i) {
    const leat_shape_t* shape = &element[i].shape;
    status = allocate_batch(it, i, batch->span, shape->rank, leat_shape_dims(shape),
                            &it->places[i]);
  }
  if (!status) return true;
  if (i > 0) leat_element_release(it->places, i);
  leat_status_free(status);
  return false;
}

// Copies the last element to its place, if those before it are in theirs. An element of another
// shape stays, and those after it, so that |stack| finds it when the batch is complete.
static leat_status_t copy_last(batch_iterator_t* it) {
  const int components = component_count(it);
  const int64_t index = it->count - 1;
  leat_tensor_t* element = it->elements + index * components;
  if (it->copied != index || !copies_early(it)) return leat_ok_status();
  if (index == 0 && !begin_places(it, element)) return leat_ok_status();
  for (int i = 0; i < components; ++i) {
    if (!is_slice(&it->places[i], &element[i])) return leat_ok_status();
  }
  ++it->copied;
  for (int i = 0; i < components; ++i) {
    LEAT_RETURN_IF_ERROR(copy_to_place(&element[i], index, &it->places[i]));
    leat_tensor_release(&element[i]);
  }
  return leat_ok_status();
}

// ---- Padding ------------------------------------------------------------------------------------

// Sets |dims| to the shape to which each element of the batch is padded: the fixed sizes of
// |padded|, and for its unknown sizes the largest size among the elements. DATA_LOSS, which is
// TensorFlow's code, where an element is larger than a fixed size.
static leat_status_t measure(const batch_iterator_t* it, int component, leat_partial_shape_t padded,
                             int64_t* dims) {
  for (int d = 0; d < padded.rank; ++d) dims[d] = padded.dims[d] < 0 ? 0 : padded.dims[d];
  for (int64_t i = 0; i < batch_size(it); ++i) {
    const leat_shape_t* shape = &element_at(it, i, component)->shape;
    if (shape->rank != padded.rank) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "All elements in a batch must have the same rank as the padded shape "
                              "for component%d: expected rank %d but got element with rank %d",
                              component, padded.rank, shape->rank);
    }
    for (int d = 0; d < padded.rank; ++d) {
      int64_t size = leat_shape_dim(shape, d);
      if (size <= dims[d]) continue;
      if (padded.dims[d] >= 0) {
        return leat_make_status(LEAT_DATA_LOSS,
                                "Attempted to pad to a smaller size than the input element.");
      }
      dims[d] = size;
    }
  }
  return leat_ok_status();
}

// Writes the scalar |value| to every entry of |batch|. The entries that the elements cover are
// overwritten afterwards.
static leat_status_t fill(const leat_tensor_t* value, leat_tensor_t* batch) {
  size_t size = leat_dtype_size(batch->dtype);
  for (int64_t i = 0; i < batch->shape.element_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(batch->dtype, value->data,
                                                   (char*)batch->data + (size_t)i * size, 1));
  }
  return leat_ok_status();
}

// Copies |element|, whose shape is smaller than or equal to |dims| in every dimension, into the
// corner of the tensor of shape |dims| that begins at |target|. The innermost dimension is copied
// as one row; |place| counts the dimensions before it.
static leat_status_t copy_rows(const leat_tensor_t* element, const int64_t* dims, char* target) {
  int last = element->shape.rank - 1;
  int64_t place[LEAT_SHAPE_MAX_RANK] = {0};
  const int64_t* own = leat_shape_dims(&element->shape);
  int64_t row = last < 0 ? 1 : own[last];
  size_t size = leat_dtype_size(element->dtype);
  const char* source = element->data;
  for (int64_t left = element->shape.element_count; left > 0; left -= row) {
    int64_t offset = 0;
    for (int d = 0; d <= last; ++d) offset = offset * dims[d] + place[d];
    LEAT_RETURN_IF_ERROR(
        leat_tensor_copy_elements(element->dtype, source, target + (size_t)offset * size, row));
    source += (size_t)row * size;
    for (int d = last - 1; d >= 0 && ++place[d] == own[d]; --d) place[d] = 0;
  }
  return leat_ok_status();
}

// The padded counterpart of stack().
static leat_status_t pad(const batch_iterator_t* it, int component, leat_tensor_t* out_tensor) {
  const leat_batch_dataset_t* batch = (const leat_batch_dataset_t*)it->base.dataset;
  leat_partial_shape_t padded = batch->padded_shapes->shapes[component];
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(measure(it, component, padded, dims));
  LEAT_RETURN_IF_ERROR(allocate_batch(it, component, batch_size(it), padded.rank, dims,
                                      out_tensor));
  leat_status_t status = fill(&batch->base.tensors[component], out_tensor);
  int64_t size = leat_shape_product(&out_tensor->shape, 1, out_tensor->shape.rank);
  for (int64_t i = 0; i < batch_size(it) && !status; ++i) {
    status = copy_rows(element_at(it, i, component), dims, slice_address(out_tensor, i, size));
  }
  if (status) leat_tensor_release(out_tensor);
  return status;
}

// Makes all components of a batch from the collected elements. When one fails, those already in
// |out| are released.
static leat_status_t put_together(const batch_iterator_t* it, leat_tensor_t* out) {
  const leat_batch_dataset_t* batch = (const leat_batch_dataset_t*)it->base.dataset;
  for (int i = 0; i < component_count(it); ++i) {
    leat_status_t status = batch->padded ? pad(it, i, &out[i]) : stack(it, i, &out[i]);
    if (!status) continue;
    leat_element_release(out, i);
    return status;
  }
  return leat_ok_status();
}

// ---- Collecting ---------------------------------------------------------------------------------

static int64_t span_of(const batch_iterator_t* it) {
  const leat_batch_dataset_t* batch = (const leat_batch_dataset_t*)it->base.dataset;
  if (!batch->takes_turns) return batch->span;
  const leat_tensor_t* sizes = &batch->base.tensors[0];
  return leat_tensor_index_at(sizes, it->turn % sizes->shape.element_count);
}

// Pulls elements from the input until the batch is full. |*out_poll| is ELEMENT when it is full,
// END when the input has ended, and PENDING when the caller must come again.
static leat_status_t collect(batch_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  const int64_t span = span_of(it);
  size_t components = (size_t)component_count(it);
  *out_poll = LEAT_POLL_ELEMENT;
  while ((it->count < span || it->to_skip) && *out_poll == LEAT_POLL_ELEMENT) {
    LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), ((size_t)it->count + 1) * components,
                                   &it->elements, &it->capacity));
    LEAT_RETURN_IF_ERROR(leat_iterator_next(
        it->base.input, pull, it->elements + (size_t)it->count * components, out_poll));
    if (*out_poll != LEAT_POLL_ELEMENT) continue;
    ++it->count;
    LEAT_RETURN_IF_ERROR(copy_last(it));
    if (!it->to_skip) continue;
    --it->to_skip;
    release_elements(it, 1);
  }
  return leat_ok_status();
}

// Drops the elements before the next batch.
static void go_on(batch_iterator_t* it) {
  const leat_batch_dataset_t* batch = (const leat_batch_dataset_t*)it->base.dataset;
  const int64_t shift = batch->takes_turns ? it->count : batch->shift;
  const int64_t dropped = shift < it->count ? shift : it->count;
  it->to_skip = shift - dropped;
  release_elements(it, dropped);
  ++it->turn;
}

static leat_status_t batch_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  batch_iterator_t* it = (batch_iterator_t*)self;
  const leat_batch_dataset_t* batch = (const leat_batch_dataset_t*)self->dataset;
  // A batch of size 0 is given as long as the input is not known to have ended.
  if (self->input->at_end && it->count == 0) return leat_ok_status();
  leat_status_t status = collect(it, pull, out_poll);
  if (status) {
    if (!batch->keeps_elements) release_elements(it, it->count);
    return status;
  }
  if (*out_poll == LEAT_POLL_PENDING) return leat_ok_status();
  const bool is_given = *out_poll == LEAT_POLL_ELEMENT || (it->count && !batch->drop_remainder);
  *out_poll = is_given ? LEAT_POLL_ELEMENT : LEAT_POLL_END;
  if (*out_poll == LEAT_POLL_ELEMENT && it->count == batch->span) {
    atomic_store_explicit(&((leat_batch_dataset_t*)self->dataset)->has_been_full, true,
                          memory_order_relaxed);
  }
  if (is_given) status = put_together(it, out);
  go_on(it);
  return status;
}

static int64_t batch_cardinality(const leat_dataset_t* self) {
  const leat_batch_dataset_t* batch = (const leat_batch_dataset_t*)self;
  int64_t n = leat_dataset_cardinality(self->inputs[0]);
  if (batch->takes_turns) return LEAT_CARDINALITY_UNKNOWN;
  return n < 0 ? n : n / batch->shift + (!batch->drop_remainder && n % batch->shift);
}

// There is a batch |index|, so that its first element is one of the input.
static leat_status_t batch_seek(leat_iterator_t* self, int64_t index) {
  batch_iterator_t* it = (batch_iterator_t*)self;
  release_elements(it, it->count);
  it->to_skip = 0;
  const uint64_t shift = (uint64_t)((const leat_batch_dataset_t*)self->dataset)->shift;
  return leat_iterator_seek(self->input, (int64_t)((uint64_t)index * shift));
}

const leat_dataset_kind_t leat_batch_kind = {
    .name = "Batch",
    .dataset_bytes = sizeof(leat_batch_dataset_t),
    .iterator_bytes = sizeof(batch_iterator_t),
    .opens_input = true,
    .destroy = batch_destroy,
    .next = batch_next,
    .stop = batch_stop,
    .cardinality = batch_cardinality,
    .seek = batch_seek,
};

int64_t leat_batch_dataset_size(const leat_dataset_t* dataset) {
  return dataset->kind == &leat_batch_kind ? ((const leat_batch_dataset_t*)dataset)->span : -1;
}
