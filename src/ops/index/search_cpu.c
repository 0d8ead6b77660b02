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

// Defines the search in |count| sorted items. It goes right of the middle item where that is less
// than the value (lower bound), or where the value is not less than it (upper bound).
#define DEFINE_BOUND(NAME, type, number)                                                 \
  static int64_t bound_##NAME(const void* items_, int64_t count, const void* values,     \
                              int64_t at, bool is_upper) {                               \
    const type* items = items_;                                                          \
    const type raw = ((const type*)values)[at];                                          \
    int64_t first = 0;                                                                   \
    while (count > 0) {                                                                  \
      int64_t half = count / 2;                                                          \
      type item = items[first + half];                                                   \
      bool right = is_upper ? !(number(raw) < number(item)) : number(item) < number(raw); \
      if (right) first += half + 1;                                                      \
      count = right ? count - half - 1 : half;                                           \
    }                                                                                    \
    return first;                                                                        \
  }
#define ITSELF(x) (x)
#define BOUND_TYPES(X)                            \
  X(FLOAT, float, ITSELF)                         \
  X(DOUBLE, double, ITSELF)                       \
  X(INT8, int8_t, ITSELF)                         \
  X(INT16, int16_t, ITSELF)                       \
  X(INT32, int32_t, ITSELF)                       \
  X(INT64, int64_t, ITSELF)                       \
  X(UINT8, uint8_t, ITSELF)                       \
  X(UINT16, uint16_t, ITSELF)                     \
  X(UINT32, uint32_t, ITSELF)                     \
  X(UINT64, uint64_t, ITSELF)                     \
  X(HALF, uint16_t, leat_half_to_float)           \
  X(BFLOAT16, uint16_t, leat_bfloat16_to_float)
BOUND_TYPES(DEFINE_BOUND)

typedef int64_t (*bound_fn_t)(const void* items, int64_t count, const void* values, int64_t at,
                              bool is_upper);
#define BOUND_ENTRY(NAME, type, number) [LEAT_DTYPE_##NAME] = bound_##NAME,

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
  static const bound_fn_t functions[LEAT_DTYPE_COUNT] = {BOUND_TYPES(BOUND_ENTRY)};
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
