// CPU kernels that read or write many slots of a TensorArray at once:
//
//   Gather(indices), Pack    slots [shape] each    ─▶ value [count, shape]     copied together
//   Scatter(indices), Unpack value [count, shape]  ─▶ slots                    rows are shared
//   Concat                   slots [rows_i, rest]  ─▶ value [sum rows_i, rest], lengths [count]
//
// A write copies nothing: each slot gets a slice that shares the value's memory, which is therefore
// freed only when the last of the slots is. A read copies each element once into the output. All
// slots of one call are read or written under one locking of the array. Ops that write the whole
// array mark its size, by which the gradient array knows how many slots its own whole read takes.
#include <string.h>

#include "base/checked.h"
#include "kernel/tuple.h"
#include "ops/kernel_rows.h"
#include "ops/list/tensor_slots_cpu.h"

// ---- Reading ------------------------------------------------------------------------------------

// The state of ops that read: the shape that the node states for the elements, copied into |arena|.
typedef struct element_shape_s {
  leat_arena_t arena;
  leat_partial_shape_t shape;
} element_shape_t;

static leat_status_t keep_shape(leat_kernel_creation_t* c, const char* attr,
                                element_shape_t* state) {
  leat_partial_shape_t shape;
  leat_arena_initialize(c->allocator, 256, &state->arena);
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(c, attr, &shape));
  return leat_partial_shape_create(shape.rank, shape.dims, &state->arena, &state->shape);
}

static leat_status_t gather_create(leat_kernel_creation_t* c, void* state) {
  return keep_shape(c, "element_shape", state);
}

static leat_status_t concat_create(leat_kernel_creation_t* c, void* state) {
  return keep_shape(c, "element_shape_except0", state);
}

static void element_shape_destroy(void* state) {
  element_shape_t* shape = state;
  if (shape->arena.allocator) leat_arena_deinitialize(&shape->arena);
}

// The slots of one call: their indices, and the tensors read from them or written to them. |memory|
// is one temporary block for both.
typedef struct span_s {
  int64_t count;
  const int32_t* indices;
  leat_tensor_t* values;
  void* memory;
} span_t;

// Where |indices| is NULL, the span is of the slots 0, 1, 2, ...
static leat_status_t span_initialize(int64_t count, const int32_t* indices, span_t* out_span) {
  *out_span = (span_t){.count = count, .indices = indices};
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      leat_allocator_system(), (size_t)count + 1, sizeof(leat_tensor_t) + sizeof(int32_t),
      &out_span->memory));
  out_span->values = out_span->memory;
  if (!indices) {
    int32_t* all = (int32_t*)(out_span->values + count + 1);
    for (int64_t i = 0; i < count; ++i) all[i] = (int32_t)i;
    out_span->indices = all;
  }
  return leat_ok_status();
}

static void span_deinitialize(span_t* span) {
  leat_tensors_release(span->values, span->values ? span->count : 0);
  leat_allocator_free(leat_allocator_system(), span->memory);
}

// Outputs a batch of 0 elements, which is possible only where the elements' shape is known.
static leat_status_t set_empty(leat_kernel_context_t* c, leat_partial_shape_t element_shape) {
  leat_shape_t element, batch;
  leat_tensor_t* output;
  if (!leat_partial_shape_is_full(element_shape)) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED,
                             "TensorArray has size zero, but element shape %s is not fully "
                             "defined. Currently only static shapes are supported when packing "
                             "zero-size TensorArrays.",
                             LEAT_PARTIAL_SHAPE_TEXT(element_shape));
  }
  LEAT_RETURN_IF_ERROR(leat_partial_shape_to_full(element_shape, &element));
  leat_status_t status = leat_batch_shape(0, &element, &batch);
  leat_shape_release(&element);
  if (status) return status;
  status = leat_kernel_allocate_output(c, 0, &batch, &output);
  leat_shape_release(&batch);
  return status;
}

// Outputs the values stacked along a new first dimension; all must have the same shape.
static leat_status_t stack_values(leat_kernel_context_t* c, leat_partial_shape_t element_shape,
                                  const span_t* span) {
  const leat_shape_t* first = &span->values[0].shape;
  if (!leat_partial_shape_admits(element_shape, first)) {
    return leat_kernel_invalid(c,
                               "TensorArray was passed element_shape %s which does not match the "
                               "Tensor at index 0: %s",
                               LEAT_PARTIAL_SHAPE_TEXT(element_shape), LEAT_SHAPE_TEXT(first));
  }
  for (int64_t i = 1; i < span->count; ++i) {
    if (leat_shape_equal(first, &span->values[i].shape)) continue;
    return leat_kernel_invalid(c,
                               "TensorArray has inconsistent shapes.  Index 0 has shape: %s but "
                               "index %lld has shape: %s",
                               LEAT_SHAPE_TEXT(first), (long long)i,
                               LEAT_SHAPE_TEXT(&span->values[i].shape));
  }
  leat_tensor_t batch;
  LEAT_RETURN_IF_ERROR(leat_tuple_batch(c->services->memory, span->values[0].dtype, first,
                                        span->values, span->count, 1, &batch));
  leat_kernel_set_output(c, 0, batch);
  return leat_ok_status();
}

// Reads |count| slots at |indices| and stacks them; a |count| of -1 means the whole array.
static leat_status_t gather_from(leat_kernel_context_t* c, leat_slots_t* slots,
                                 const int32_t* indices, int64_t count) {
  leat_partial_shape_t shape = ((const element_shape_t*)leat_kernel_state(c))->shape;
  LEAT_RETURN_IF_ERROR(
      leat_slots_check_dtype(c, slots, c->kernel->output_types[0], "requested"));
  LEAT_RETURN_IF_ERROR(leat_slots_merge_shape(slots, shape));
  if (count < 0) LEAT_RETURN_IF_ERROR(leat_slots_whole_size(slots, &count));
  if (count == 0) return set_empty(c, shape);
  span_t span;
  LEAT_RETURN_IF_ERROR(span_initialize(count, indices, &span));
  leat_status_t status = leat_slots_read(slots, c, span.indices, count, span.values);
  if (!status) {
    status = stack_values(c, shape, &span);
    span_deinitialize(&span);
  } else {
    // A read that fails gives no values to release.
    leat_allocator_free(leat_allocator_system(), span.memory);
  }
  return status;
}

static leat_status_t gather__cpu(leat_kernel_context_t* c) {
  leat_slots_t* slots;
  const leat_tensor_t* indices = leat_kernel_input(c, 1);
  if (indices->shape.rank != 1) {
    return leat_kernel_invalid(c, "Expected indices to be a vector, but received shape: %s",
                               LEAT_SHAPE_TEXT(&indices->shape));
  }
  LEAT_RETURN_IF_ERROR(leat_slots_find(c, &slots));
  leat_status_t status = gather_from(c, slots, leat_tensor_data(indices, const int32_t),
                                     indices->shape.element_count);
  leat_resource_release((leat_resource_t*)slots);
  return status;
}

static leat_status_t pack__cpu(leat_kernel_context_t* c) {
  leat_slots_t* slots;
  LEAT_RETURN_IF_ERROR(leat_slots_find(c, &slots));
  leat_status_t status = gather_from(c, slots, NULL, -1);
  leat_resource_release((leat_resource_t*)slots);
  return status;
}

// Sets output 1 to the values' first sizes, whose sum is |*out_rows|, and checks that the other
// sizes are the same for all.
static leat_status_t set_lengths(leat_kernel_context_t* c, const span_t* span,
                                 leat_partial_shape_t except0, int64_t* out_rows) {
  leat_shape_t vector = leat_shape_vector(span->count), first = {0};
  leat_tensor_t* lengths;
  *out_rows = 0;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &vector, &lengths));
  leat_status_t status = leat_ok_status();
  for (int64_t i = 0; i < span->count && !status; ++i) {
    const leat_shape_t* shape = &span->values[i].shape;
    leat_shape_t rest;
    if (shape->rank == 0) {
      status = leat_kernel_invalid(c, "Concat saw a scalar shape at index %lld but requires at "
                                      "least vectors.  Did you mean to call pack?",
                                   (long long)i);
      break;
    }
    status = leat_row_shape(shape, &rest);
    if (status) break;
    bool fits =
        i == 0 ? leat_partial_shape_admits(except0, &rest) : leat_shape_equal(&first, &rest);
    if (!fits) {
      status = leat_kernel_invalid(c,
                                   "TensorArray has inconsistent shapes.  Index 0 has (excepting "
                                   "dimension 0) shape: %s but index %lld has (excepting "
                                   "dimension 0) shape: %s",
                                   i ? LEAT_SHAPE_TEXT(&first) : LEAT_PARTIAL_SHAPE_TEXT(except0),
                                   (long long)i, LEAT_SHAPE_TEXT(&rest));
    }
    leat_tensor_data(lengths, int64_t)[i] = leat_shape_dim(shape, 0);
    *out_rows += leat_shape_dim(shape, 0);
    if (i == 0) {
      first = rest;
    } else {
      leat_shape_release(&rest);
    }
  }
  leat_shape_release(&first);
  return status;
}

// Outputs the values one after the other along their first dimension, and in output 1 how many rows
// each has.
static leat_status_t concat_values(leat_kernel_context_t* c, leat_partial_shape_t except0,
                                   const span_t* span) {
  int64_t dims[LEAT_SHAPE_MAX_RANK], rows;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(set_lengths(c, span, except0, &rows));
  const leat_shape_t* first = &span->values[0].shape;
  memcpy(dims, leat_shape_dims(first), (size_t)first->rank * sizeof(int64_t));
  dims[0] = rows;
  leat_status_t status = leat_kernel_allocate_sized(c, 0, first->rank, dims, &output);
  size_t item = leat_dtype_size(span->values[0].dtype), offset = 0;
  for (int64_t i = 0; i < span->count && !status; ++i) {
    const leat_tensor_t* value = &span->values[i];
    status = leat_tensor_copy_elements(value->dtype, value->data, (char*)output->data + offset,
                                       value->shape.element_count);
    offset += (size_t)value->shape.element_count * item;
  }
  return status;
}

static leat_status_t concat_from(leat_kernel_context_t* c, leat_slots_t* slots) {
  leat_partial_shape_t except0 = ((const element_shape_t*)leat_kernel_state(c))->shape;
  int64_t count;
  LEAT_RETURN_IF_ERROR(
      leat_slots_check_dtype(c, slots, c->kernel->output_types[0], "requested"));
  LEAT_RETURN_IF_ERROR(leat_slots_whole_size(slots, &count));
  if (count == 0) {
    leat_shape_t none = leat_shape_vector(0);
    leat_tensor_t* lengths;
    LEAT_RETURN_IF_ERROR(set_empty(c, except0));
    return leat_kernel_allocate_output(c, 1, &none, &lengths);
  }
  span_t span;
  LEAT_RETURN_IF_ERROR(span_initialize(count, NULL, &span));
  leat_status_t status = leat_slots_read(slots, c, span.indices, count, span.values);
  if (!status) {
    status = concat_values(c, except0, &span);
    span_deinitialize(&span);
  } else {
    // A read that fails gives no values to release.
    leat_allocator_free(leat_allocator_system(), span.memory);
  }
  return status;
}

static leat_status_t concat__cpu(leat_kernel_context_t* c) {
  leat_slots_t* slots;
  LEAT_RETURN_IF_ERROR(leat_slots_find(c, &slots));
  leat_status_t status = concat_from(c, slots);
  leat_resource_release((leat_resource_t*)slots);
  return status;
}

// ---- Writing ------------------------------------------------------------------------------------

// Cuts the value at |input| along its first dimension into pieces that share its memory:
// |lengths[i]| rows for piece i, or, where |lengths| is NULL, one row each without that dimension.
static leat_status_t split_value(leat_kernel_context_t* c, int input, const int64_t* lengths,
                                 span_t* span) {
  leat_tensor_t value;
  leat_shape_t row_shape = {0};
  LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(c, input, &value));
  leat_status_t status = leat_row_shape(&value.shape, &row_shape);
  int64_t begin = 0;
  for (int64_t i = 0; i < span->count && !status; ++i) {
    int64_t length = lengths ? lengths[i] : 1;
    leat_tensor_t part;
    status = leat_tensor_slice(&value, begin, begin + length, &part);
    begin += length;
    if (status) break;
    if (lengths) {
      span->values[i] = part;
    } else {
      status = leat_tensor_reshape(&part, &row_shape, &span->values[i]);
      leat_tensor_release(&part);
    }
  }
  leat_shape_release(&row_shape);
  leat_tensor_release(&value);
  return status;
}

// Cuts the value at |input| as split_value does, and writes the pieces to |indices| (NULL: to the
// slots 0 to count - 1).
static leat_status_t write_parts(leat_kernel_context_t* c, leat_slots_t* slots, int input,
                                 const int32_t* indices, const int64_t* lengths, int64_t count) {
  span_t span;
  LEAT_RETURN_IF_ERROR(span_initialize(count, indices, &span));
  leat_status_t status = split_value(c, input, lengths, &span);
  if (!status) status = leat_slots_write(slots, c, span.indices, count, span.values);
  span_deinitialize(&span);
  return status;
}

// Checks a value that is to be cut into slots. Slots are numbered by int32, hence the limit on its
// rows.
static leat_status_t check_value(const leat_kernel_context_t* c, const leat_slots_t* slots,
                                 const leat_tensor_t* value) {
  if (value->shape.rank < 1) {
    return leat_kernel_invalid(c, "Expected value to be at least a vector, but received shape: %s",
                               LEAT_SHAPE_TEXT(&value->shape));
  }
  if (leat_shape_dim(&value->shape, 0) >= INT32_MAX) {
    return leat_kernel_invalid(c, "tensor dim0 too large to unpack");
  }
  return leat_slots_check_dtype(c, slots, value->dtype, "is trying to write");
}

// Writes row i of the value to slot i. The rows must be as many as the slots; an array of dynamic
// size grows where they are more.
static leat_status_t unpack_into(leat_kernel_context_t* c, leat_slots_t* slots) {
  const leat_tensor_t* value = leat_kernel_input(c, 1);
  int64_t size;
  bool dynamic;
  LEAT_RETURN_IF_ERROR(check_value(c, slots, value));
  LEAT_RETURN_IF_ERROR(leat_slots_size(slots, &size, &dynamic));
  int64_t count = leat_shape_dim(&value->shape, 0);
  if (dynamic) size = LEAT_MAX(size, count);
  if (count != size) {
    return leat_kernel_invalid(c, "Input value must have first dimension equal to the array size "
                                  "(%lld vs. %lld)",
                               (long long)count, (long long)size);
  }
  LEAT_RETURN_IF_ERROR(leat_slots_mark_size(slots, size));
  return write_parts(c, slots, 1, NULL, NULL, count);
}

static leat_status_t unpack__cpu(leat_kernel_context_t* c) {
  leat_slots_t* slots;
  LEAT_RETURN_IF_ERROR(leat_slots_find(c, &slots));
  leat_status_t status = unpack_into(c, slots);
  leat_resource_release((leat_resource_t*)slots);
  if (!status) leat_kernel_pass_input(c, 2, 0);
  return status;
}

// Writes row i of the value to slot indices[i]. The size is not marked, because a scatter may leave
// slots unwritten.
static leat_status_t scatter_into(leat_kernel_context_t* c, leat_slots_t* slots) {
  const leat_tensor_t* indices = leat_kernel_input(c, 1);
  const leat_tensor_t* value = leat_kernel_input(c, 2);
  int64_t size, largest = -1, count = indices->shape.element_count;
  bool dynamic;
  LEAT_RETURN_IF_ERROR(check_value(c, slots, value));
  if (indices->shape.rank != 1 || count != leat_shape_dim(&value->shape, 0)) {
    return leat_kernel_invalid(c, "Expected len(indices) == values.shape[0], but saw: %s vs. %lld",
                               LEAT_SHAPE_TEXT(&indices->shape),
                               (long long)leat_shape_dim(&value->shape, 0));
  }
  LEAT_RETURN_IF_ERROR(leat_slots_size(slots, &size, &dynamic));
  for (int64_t i = 0; i < count; ++i) {
    largest = LEAT_MAX(largest, leat_tensor_data(indices, const int32_t)[i]);
  }
  if (!dynamic && largest >= size) {
    return leat_kernel_invalid(c, "Max scatter index must be < array size (%lld vs. %lld)",
                               (long long)largest, (long long)size);
  }
  return write_parts(c, slots, 2, leat_tensor_data(indices, const int32_t), NULL, count);
}

static leat_status_t scatter__cpu(leat_kernel_context_t* c) {
  leat_slots_t* slots;
  LEAT_RETURN_IF_ERROR(leat_slots_find(c, &slots));
  leat_status_t status = scatter_into(c, slots);
  leat_resource_release((leat_resource_t*)slots);
  if (!status) leat_kernel_pass_input(c, 3, 0);
  return status;
}

// Checks that no length is negative and that they add up to the rows of the value.
static leat_status_t check_lengths(const leat_kernel_context_t* c, const leat_tensor_t* lengths,
                                   const leat_tensor_t* value) {
  if (lengths->shape.rank != 1) {
    return leat_kernel_invalid(c, "Expected lengths to be a vector, received shape: %s",
                               LEAT_SHAPE_TEXT(&lengths->shape));
  }
  int64_t total = 0;
  for (int64_t i = 0; i < lengths->shape.element_count; ++i) {
    int64_t length = leat_tensor_data(lengths, const int64_t)[i];
    if (length < 0 || !leat_checked_add(total, length, &total)) {
      return leat_kernel_invalid(c, "length %lld is %lld, must be >= 0", (long long)i,
                                 (long long)length);
    }
  }
  if (total == leat_shape_dim(&value->shape, 0)) return leat_ok_status();
  return leat_kernel_invalid(c, "Expected sum of lengths to be equal to values.shape[0], but sum "
                                "of lengths is %lld and value's shape is: %s",
                             (long long)total, LEAT_SHAPE_TEXT(&value->shape));
}

// Writes lengths[i] rows of the value to slot i, the inverse of Concat.
static leat_status_t split_into(leat_kernel_context_t* c, leat_slots_t* slots) {
  const leat_tensor_t* value = leat_kernel_input(c, 1);
  const leat_tensor_t* lengths = leat_kernel_input(c, 2);
  int64_t size, count = lengths->shape.element_count;
  bool dynamic;
  LEAT_RETURN_IF_ERROR(check_value(c, slots, value));
  LEAT_RETURN_IF_ERROR(check_lengths(c, lengths, value));
  LEAT_RETURN_IF_ERROR(leat_slots_size(slots, &size, &dynamic));
  if (dynamic) size = LEAT_MAX(size, count);
  if (size != count) {
    return leat_kernel_invalid(c, "TensorArray's size is not equal to the size of lengths (%lld "
                                  "vs. %lld), and the TensorArray is not marked as dynamically "
                                  "resizeable",
                               (long long)size, (long long)count);
  }
  LEAT_RETURN_IF_ERROR(leat_slots_mark_size(slots, size));
  return write_parts(c, slots, 1, NULL, leat_tensor_data(lengths, const int64_t), count);
}

static leat_status_t split__cpu(leat_kernel_context_t* c) {
  leat_slots_t* slots;
  LEAT_RETURN_IF_ERROR(leat_slots_find(c, &slots));
  leat_status_t status = split_into(c, slots);
  leat_resource_release((leat_resource_t*)slots);
  if (!status) leat_kernel_pass_input(c, 3, 0);
  return status;
}

#define ANY "T: " LEAT_SLOTS_TYPES ", resource, variant"
#define STACKED "dtype: " LEAT_SLOTS_TYPES ", qint32, qint8, quint8, variant"

#define KERNEL(name, fn) {.op = name, .device_type = "CPU", .constraints = ANY, .compute = fn}
#define STACKER(name, types, create_fn, fn)                                                      \
  LEAT_CPU_KERNEL(name, types, element_shape_t, create_fn, fn, .destroy = element_shape_destroy)
#define ARRAYS(v)                                                                       \
  STACKER("TensorArrayGather" v, STACKED, gather_create, gather__cpu),                  \
  KERNEL("TensorArrayScatter" v, scatter__cpu),                                         \
  STACKER("TensorArrayConcat" v, "dtype: " LEAT_SLOTS_TYPES ", qint32, qint8, quint8",  \
          concat_create, concat__cpu),                                                  \
  KERNEL("TensorArraySplit" v, split__cpu)

const leat_kernel_row_t leat_tensor_array_batch_kernels_cpu[] = {
    ARRAYS(""),
    ARRAYS("V2"),
    ARRAYS("V3"),
    STACKER("TensorArrayPack", STACKED, gather_create, pack__cpu),
    KERNEL("TensorArrayUnpack", unpack__cpu),
    LEAT_KERNEL_ROWS_END,
};
