// The CPU kernels of Where and OneHot.
//
// Where lists the positions of the elements that are not zero, a row for each, in the order of the
// input. It counts them in a first pass, because the output must be allocated before it is written,
// and writes the positions in a second one. An element is not zero when its bits are not; of
// floating-point numbers the sign bit does not count, since -0 is zero. So the loops are defined by
// the width of the elements, not by their type.
//
// OneHot fills its output with off_value and then writes on_value at one place for each index; an
// index out of range writes nothing. For an output seen as [prefix, depth, suffix]:
//
//   output[p, indices[p, s], s] = on_value
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// ---- Where --------------------------------------------------------------------------------------

typedef struct where_s {
  const leat_tensor_t* input;
  int rank;
  int64_t row;      // size of the last dimension
  int64_t* next;    // where in the output the next position is written
  int64_t position[LEAT_SHAPE_MAX_RANK];  // of the row that is being looked at
} where_t;

static inline void write_position(where_t* w, int64_t column) {
  int rank = w->rank;
  if (rank == 2) {
    w->next[0] = w->position[0];
    w->next[1] = column;
  } else {
    for (int d = 0; d < rank - 1; ++d) w->next[d] = w->position[d];
    if (rank > 0) w->next[rank - 1] = column;
  }
  w->next += rank;
}

typedef struct { uint64_t real, imaginary; } bits128_t;

// Each include defines the two passes for elements of a type, of which an |item| is not zero where
// IS_SET holds.
#define FN(name) name##_8
#define TYPE uint8_t
#define IS_SET(item) (item != 0)
#include "ops/index/where_passes.inc"
#define FN(name) name##_16
#define TYPE uint16_t
#define IS_SET(item) (item != 0)
#include "ops/index/where_passes.inc"
#define FN(name) name##_32
#define TYPE uint32_t
#define IS_SET(item) (item != 0)
#include "ops/index/where_passes.inc"
#define FN(name) name##_64
#define TYPE uint64_t
#define IS_SET(item) (item != 0)
#include "ops/index/where_passes.inc"
#define FN(name) name##_float16
#define TYPE uint16_t
#define IS_SET(item) ((item & 0x7fff) != 0)
#include "ops/index/where_passes.inc"
#define FN(name) name##_float32
#define TYPE uint32_t
#define IS_SET(item) ((item & 0x7fffffff) != 0)
#include "ops/index/where_passes.inc"
#define FN(name) name##_float64
#define TYPE uint64_t
#define IS_SET(item) ((item & INT64_MAX) != 0)
#include "ops/index/where_passes.inc"
#define FN(name) name##_complex64
#define TYPE uint64_t
#define IS_SET(item) ((item & UINT64_C(0x7fffffff7fffffff)) != 0)
#include "ops/index/where_passes.inc"
#define FN(name) name##_complex128
#define TYPE bits128_t
#define IS_SET(item) (((item.real | item.imaginary) & INT64_MAX) != 0)
#include "ops/index/where_passes.inc"

typedef struct where_fns_s {
  int64_t (*count)(const void* items, int64_t count);
  void (*list)(where_t* w, const void* row);
} where_fns_t;
#define WHERE_FNS(name) ((where_fns_t){count_##name, list_##name})

// The two passes for a type: those for floating-point numbers ignore the sign bit, all others need
// the width only.
static where_fns_t where_fns(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: return WHERE_FNS(float32);
    case LEAT_DTYPE_DOUBLE: return WHERE_FNS(float64);
    case LEAT_DTYPE_HALF:
    case LEAT_DTYPE_BFLOAT16: return WHERE_FNS(float16);
    case LEAT_DTYPE_COMPLEX64: return WHERE_FNS(complex64);
    case LEAT_DTYPE_COMPLEX128: return WHERE_FNS(complex128);
    default: break;
  }
  switch (leat_dtype_size(dtype)) {
    case 1: return WHERE_FNS(8);
    case 2: return WHERE_FNS(16);
    case 4: return WHERE_FNS(32);
    default: return WHERE_FNS(64);
  }
}

// Writes the positions in all rows. The input has at least one element.
static void list_all(where_t* w, where_fns_t fns) {
  const leat_shape_t* shape = &w->input->shape;
  int outer = shape->rank - 1;
  const char* row = w->input->data;
  int64_t row_bytes = w->row * (int64_t)leat_dtype_size(w->input->dtype);
  for (int d = 0; d < outer; ++d) w->position[d] = 0;
  while (true) {
    fns.list(w, row);
    row += row_bytes;
    int d = outer - 1;
    for (; d >= 0; --d) {
      if (++w->position[d] < leat_shape_dim(shape, d)) break;
      w->position[d] = 0;
    }
    if (d < 0) return;
  }
}

static leat_status_t where__cpu(leat_kernel_context_t* c) {
  where_t w = {.input = leat_kernel_input(c, 0)};
  const leat_shape_t* input = &w.input->shape;
  if (input->rank == 0 || input->rank > 8) {  // as in TensorFlow
    return leat_kernel_invalid(c, "rank of input is %d, must be in [1, 8]", input->rank);
  }
  w.rank = input->rank;
  where_fns_t fns = where_fns(w.input->dtype);
  int64_t dims[2] = {fns.count(w.input->data, input->element_count), input->rank};
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 2, dims, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  w.next = output->data;
  w.row = input->rank > 0 ? leat_shape_dim(input, input->rank - 1) : 1;
  list_all(&w, fns);
  return leat_ok_status();
}

// ---- OneHot -------------------------------------------------------------------------------------

typedef struct one_hot_state_s {
  int64_t axis;
} one_hot_state_t;

static leat_status_t create_one_hot(leat_kernel_creation_t* creation, void* memory) {
  one_hot_state_t* state = memory;
  return leat_kernel_attr_int(creation, "axis", &state->axis);
}

// Writes on_value for each index. The output is [prefix, depth, suffix], the indices [prefix,
// suffix].
static leat_status_t set_on(leat_kernel_context_t* c, int64_t depth, int64_t suffix) {
  const leat_tensor_t* indices = leat_kernel_input(c, 0);
  const leat_tensor_t* on = leat_kernel_input(c, 2);
  leat_tensor_t* output = leat_kernel_output(c, 0);
  size_t width = leat_dtype_size(on->dtype);
  bool is_object = leat_dtype_is_object(on->dtype);
  for (int64_t i = 0; i < indices->shape.element_count; ++i) {
    int64_t index = leat_index_read(indices, i);
    if (index < 0 || index >= depth) continue;
    int64_t at = (i / suffix * depth + index) * suffix + i % suffix;
    void* to = leat_element_at(output->data, on->dtype, at);
    if (is_object) {
      LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(on->dtype, on->data, to, 1));
    } else {
      memcpy(to, on->data, width);
    }
  }
  return leat_ok_status();
}

// Copies the one off_value to each element of the output, as a run with a stride of 0 in the
// source.
static leat_status_t fill_off(leat_kernel_context_t* c) {
  const leat_tensor_t* off = leat_kernel_input(c, 3);
  leat_tensor_t* output = leat_kernel_output(c, 0);
  leat_strided_t block;
  leat_strided_begin(&block, off->dtype);
  leat_strided_add(&block, output->shape.element_count, 1, 0);
  return leat_strided_copy(c, &block, off->data, output->data);
}

static leat_status_t check_one_hot(const leat_kernel_context_t* c, int64_t axis) {
  const leat_shape_t* indices = &leat_kernel_input(c, 0)->shape;
  if (axis < -1 || axis > indices->rank) {
    return leat_kernel_invalid(c, "Expected axis to be -1 or between [0, %d).  But received: %lld",
                               indices->rank + 1, (long long)axis);
  }
  for (int i = 1; i < 4; ++i) {
    static const char* const kNames[] = {"indices", "depth", "on_value", "off_value"};
    const leat_shape_t* shape = &leat_kernel_input(c, i)->shape;
    if (shape->rank == 0) continue;
    return leat_kernel_invalid(c, "%s must be a scalar, but got: %s", kNames[i],
                               LEAT_SHAPE_TEXT(shape));
  }
  int64_t depth = leat_index_read(leat_kernel_input(c, 1), 0);
  if (depth >= 0) return leat_ok_status();
  return leat_kernel_invalid(c, "depth is %lld, must be non-negative", (long long)depth);
}

static leat_status_t one_hot__cpu(leat_kernel_context_t* c) {
  const one_hot_state_t* state = leat_kernel_state(c);
  const leat_shape_t* indices = &leat_kernel_input(c, 0)->shape;
  LEAT_RETURN_IF_ERROR(check_one_hot(c, state->axis));
  int64_t depth = leat_index_read(leat_kernel_input(c, 1), 0);
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1];
  int axis = state->axis < 0 ? indices->rank : (int)state->axis;
  const int64_t* from = leat_shape_dims(indices);
  for (int d = 0; d <= indices->rank; ++d) {
    dims[d] = d == axis ? depth : from[d < axis ? d : d - 1];
  }
  leat_tensor_t* output;
  leat_status_t status = leat_kernel_allocate_sized(c, 0, indices->rank + 1, dims, &output);
  if (status || output->shape.element_count == 0) return status;
  LEAT_RETURN_IF_ERROR(fill_off(c));
  return set_on(c, depth, leat_shape_product(indices, axis, indices->rank));
}

const leat_kernel_row_t leat_where_kernels_cpu[] = {
    {.op = "Where",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_PLAIN,
     .compute = where__cpu},
    {.op = "OneHot",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_ALL "; TI: uint8, int8, int32, int64",
     .create = create_one_hot,
     .state_bytes = sizeof(one_hot_state_t),
     .compute = one_hot__cpu},
    LEAT_KERNEL_ROWS_END,
};
