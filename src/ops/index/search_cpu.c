// The CPU kernels of LowerBound, UpperBound and UnravelIndex.
//
//   LowerBound, UpperBound  sorted [rows, items], values [rows, n] -> places [rows, n]
//   UnravelIndex            indices [] or [n], dims [k] -> coordinates [k] or [k, n]
//
// The bounds are a binary search in the row of each value, and shards are ranges of values. That a
// row is sorted is not checked: the answer is some place in [0, items] then. UnravelIndex divides
// by the strides of |dims|; it checks only that an index is below the number of elements, as
// TensorFlow does.
#include "base/checked.h"
#include "device/cpu/half.h"
#include "ops/array/index_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// ---- Bounds -------------------------------------------------------------------------------------

#define TYPE float
#define SUFFIX(name) name##_f32
#include "ops/index/search_bound.inc"

#define TYPE double
#define SUFFIX(name) name##_f64
#include "ops/index/search_bound.inc"

#define TYPE int8_t
#define SUFFIX(name) name##_i8
#include "ops/index/search_bound.inc"

#define TYPE int16_t
#define SUFFIX(name) name##_i16
#include "ops/index/search_bound.inc"

#define TYPE int32_t
#define SUFFIX(name) name##_i32
#include "ops/index/search_bound.inc"

#define TYPE int64_t
#define SUFFIX(name) name##_i64
#include "ops/index/search_bound.inc"

#define TYPE uint8_t
#define SUFFIX(name) name##_u8
#include "ops/index/search_bound.inc"

#define TYPE uint16_t
#define SUFFIX(name) name##_u16
#include "ops/index/search_bound.inc"

#define TYPE uint32_t
#define SUFFIX(name) name##_u32
#include "ops/index/search_bound.inc"

#define TYPE uint64_t
#define SUFFIX(name) name##_u64
#include "ops/index/search_bound.inc"

#define TYPE uint16_t
#define SUFFIX(name) name##_half
#define NUMBER leat_half_to_float
#include "ops/index/search_bound.inc"

#define TYPE uint16_t
#define SUFFIX(name) name##_bfloat16
#define NUMBER leat_bfloat16_to_float
#include "ops/index/search_bound.inc"

typedef int64_t (*bound_fn_t)(const void* items, int64_t count, const void* values, int64_t at,
                              bool is_upper);

typedef struct bounds_s {
  const leat_tensor_t* sorted;
  const leat_tensor_t* values;
  leat_tensor_t* output;
  int64_t items, per_row;
  bound_fn_t fn;
  bool is_upper;
} bounds_t;

static void find_bounds(void* data, int64_t begin, int64_t end) {
  const bounds_t* b = data;
  size_t width = leat_dtype_size(b->sorted->dtype);
  for (int64_t i = begin; i < end; ++i) {
    const char* row = (const char*)b->sorted->data + (size_t)(i / b->per_row * b->items) * width;
    leat_index_write(b->output, i, b->fn(row, b->items, b->values->data, i, b->is_upper));
  }
}

static leat_status_t bound__cpu(leat_kernel_context_t* c) {
  static const bound_fn_t functions[LEAT_DTYPE_COUNT] = {
      [LEAT_DTYPE_FLOAT] = bound_f32,   [LEAT_DTYPE_DOUBLE] = bound_f64,
      [LEAT_DTYPE_INT8] = bound_i8,     [LEAT_DTYPE_INT16] = bound_i16,
      [LEAT_DTYPE_INT32] = bound_i32,   [LEAT_DTYPE_INT64] = bound_i64,
      [LEAT_DTYPE_UINT8] = bound_u8,    [LEAT_DTYPE_UINT16] = bound_u16,
      [LEAT_DTYPE_UINT32] = bound_u32,  [LEAT_DTYPE_UINT64] = bound_u64,
      [LEAT_DTYPE_HALF] = bound_half,   [LEAT_DTYPE_BFLOAT16] = bound_bfloat16,
  };
  bounds_t b = {.sorted = leat_kernel_input(c, 0), .values = leat_kernel_input(c, 1)};
  const leat_shape_t *sorted = &b.sorted->shape, *values = &b.values->shape;
  if (sorted->rank != 2 || values->rank != 2 ||
      leat_shape_dim(sorted, 0) != leat_shape_dim(values, 0)) {
    return leat_kernel_invalid(c, "sorted_inputs and values have shapes %s and %s, must be "
                               "matrices of as many rows",
                               LEAT_SHAPE_TEXT(sorted), LEAT_SHAPE_TEXT(values));
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, values, &b.output));
  b.items = leat_shape_dim(sorted, 1);
  b.per_row = leat_shape_dim(values, 1);
  if (values->element_count >= INT32_MAX ||
      (b.output->dtype == LEAT_DTYPE_INT32 && b.items >= INT32_MAX)) {
    return leat_kernel_invalid(c, "sorted_inputs and values have shapes %s and %s, must have less "
                               "than 2^31 - 1 elements",
                               LEAT_SHAPE_TEXT(sorted), LEAT_SHAPE_TEXT(values));
  }
  b.fn = functions[b.sorted->dtype];
  b.is_upper = leat_string_view_equals(c->kernel->op->name, "UpperBound");
  leat_kernel_parallel_for(c, values->element_count, 30, find_bounds, &b);
  return leat_ok_status();
}

// ---- UnravelIndex -------------------------------------------------------------------------------

// Checks both inputs; |*out_count| becomes the product of the sizes.
static leat_status_t check_unravel(const leat_kernel_context_t* c, int64_t* out_count) {
  const leat_tensor_t* indices = leat_kernel_input(c, 0);
  const leat_tensor_t* dims = leat_kernel_input(c, 1);
  if (indices->shape.rank > 1 || indices->shape.element_count == 0 || dims->shape.rank != 1) {
    return leat_kernel_invalid(c, "indices have shape %s and dims %s, must be a scalar or a vector "
                               "that is not empty, and a vector",
                               LEAT_SHAPE_TEXT(&indices->shape), LEAT_SHAPE_TEXT(&dims->shape));
  }
  int64_t limit = dims->dtype == LEAT_DTYPE_INT32 ? INT32_MAX : INT64_MAX;
  *out_count = 1;
  for (int64_t d = 0; d < dims->shape.element_count; ++d) {
    int64_t size = leat_tensor_index_at(dims, d);
    if (size <= 0 || !leat_checked_multiply(*out_count, size, out_count) || *out_count > limit) {
      return leat_kernel_invalid(c, "dims[%lld] is %lld, must be positive and the product must fit",
                                 (long long)d, (long long)size);
    }
  }
  for (int64_t i = 0; i < indices->shape.element_count; ++i) {
    if (leat_tensor_index_at(indices, i) >= *out_count) {
      return leat_kernel_invalid(c, "indices[%lld] is %lld, must be below %lld", (long long)i,
                                 (long long)leat_tensor_index_at(indices, i),
                                 (long long)*out_count);
    }
  }
  return leat_ok_status();
}

// Divides every index by the strides of the dimensions, the outermost first. |stride| begins as the
// number of all elements, which is the stride of a dimension in front of the first.
static leat_status_t unravel_index__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* indices = leat_kernel_input(c, 0);
  const leat_tensor_t* dims = leat_kernel_input(c, 1);
  int64_t stride = 1, count = indices->shape.element_count;
  LEAT_RETURN_IF_ERROR(check_unravel(c, &stride));
  int64_t sizes[2] = {dims->shape.element_count, count};
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, indices->shape.rank + 1, sizes, &output));
  for (int64_t d = 0; d < sizes[0]; ++d) {
    int64_t inner = stride / leat_tensor_index_at(dims, d);
    for (int64_t i = 0; i < count; ++i) {
      leat_index_write(output, d * count + i, leat_tensor_index_at(indices, i) % stride / inner);
    }
    stride = inner;
  }
  return leat_ok_status();
}

#define BOUND_ROW(name)                                                                \
  {.op = name, .device_type = "CPU", .compute = bound__cpu,                            \
   .constraints = "T: " LEAT_TYPES_REAL "; out_type: " LEAT_TYPES_INDEX}

const leat_kernel_row_t leat_search_kernels_cpu[] = {
    BOUND_ROW("LowerBound"),
    BOUND_ROW("UpperBound"),
    {.op = "UnravelIndex",
     .device_type = "CPU",
     .constraints = "Tidx: " LEAT_TYPES_INDEX,
     .compute = unravel_index__cpu},
    LEAT_KERNEL_ROWS_END,
};
