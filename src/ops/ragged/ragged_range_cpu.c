// CPU kernels of RaggedRange: a range of numbers for each row, from a start to a limit by a step.
//
//   starts, limits, deltas [rows] or [] -> rt_nested_splits [rows + 1], rt_dense_values [total]
//
// Row i of the result is values [splits[i], splits[i + 1]). The sizes of all rows are computed
// first, which gives the splits and the size of the values; then the values are written. A value is
// the one before it plus the step, as in TensorFlow, and not start + i * step, which differs in
// floats.
//
// A size is computed without overflow, since limits may be anything.
#include <math.h>

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"

// What the kernels of all types share: the inputs, and the splits as they are written.
typedef struct rows_s {
  const leat_tensor_t* inputs[3];  // starts, limits, deltas
  int64_t count;
  leat_tensor_t* splits;
  int64_t limit;  // the largest number that a split can be
  int64_t total;  // the size of all rows so far
} rows_t;

// A scalar input counts for every row.
static int64_t place_of(const rows_t* rows, int input, int64_t row) {
  return rows->inputs[input]->shape.rank ? row : 0;
}

static void set_split(const rows_t* rows, int64_t row) {
  if (rows->splits->dtype == LEAT_DTYPE_INT32) {
    leat_tensor_data(rows->splits, int32_t)[row] = (int32_t)rows->total;
  } else {
    leat_tensor_data(rows->splits, int64_t)[row] = rows->total;
  }
}

// Reads the inputs and allocates the splits.
static leat_status_t begin(leat_kernel_context_t* c, rows_t* rows) {
  rows->count = -1;
  rows->total = 0;
  for (int i = 0; i < 3; ++i) {
    rows->inputs[i] = leat_kernel_input(c, i);
    const leat_shape_t* shape = &rows->inputs[i]->shape;
    if (shape->rank > 1) {
      return leat_kernel_invalid(c, "%.*s must be a scalar or vector",
                                 LEAT_SV_ARG(c->kernel->op->inputs[i].name));
    }
    if (shape->rank == 0) continue;
    if (rows->count >= 0 && rows->count != shape->element_count) {
      return leat_kernel_invalid(c, "starts, limits, and deltas must have the same shape");
    }
    rows->count = shape->element_count;
  }
  if (rows->count < 0) rows->count = 1;
  leat_shape_t vector = leat_shape_vector(rows->count + 1);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &vector, &rows->splits));
  rows->limit = rows->splits->dtype == LEAT_DTYPE_INT32 ? INT32_MAX : INT64_MAX;
  set_split(rows, 0);
  return leat_ok_status();
}

// Adds a row of |size| values; a negative size is INVALID_ARGUMENT.
static leat_status_t add_row(const leat_kernel_context_t* c, rows_t* rows, int64_t row,
                             int64_t size) {
  if (size < 0 || size > rows->limit - rows->total) {
    return leat_kernel_invalid(c, "Requires delta != 0 and splits <= %lld",
                               (long long)rows->limit);
  }
  rows->total += size;
  set_split(rows, row + 1);
  return leat_ok_status();
}

// The size of a range; -1 where the step is 0 or the size does not fit.
static int64_t size_of_integers(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) return -1;
  if (delta > 0 ? limit < start : limit > start) return 0;
  uint64_t range = limit > start ? (uint64_t)limit - (uint64_t)start
                                 : (uint64_t)start - (uint64_t)limit;
  uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
  uint64_t size = range / step + (range % step != 0);
  return size <= INT64_MAX ? (int64_t)size : -1;
}

static int64_t size_of_floats(float start, float limit, float delta) {
  if (delta == 0) return -1;
  if (delta > 0 ? limit < start : limit > start) return 0;
  float size = ceilf(fabsf((limit - start) / delta));
  return size < 0x1p62f ? (int64_t)size : -1;
}

static int64_t size_of_doubles(double start, double limit, double delta) {
  if (delta == 0) return -1;
  if (delta > 0 ? limit < start : limit > start) return 0;
  double size = ceil(fabs((limit - start) / delta));
  return size < 0x1p62 ? (int64_t)size : -1;
}

#define NUMBERS_A_CHECK INT64_C(100000)

#define TYPE int32_t
#define WIDE uint32_t
#define SUFFIX(name) name##_i32__cpu
#define SIZE_OF size_of_integers
#include "ops/ragged/ragged_range_kernel.inc"

#define TYPE int64_t
#define WIDE uint64_t
#define SUFFIX(name) name##_i64__cpu
#define SIZE_OF size_of_integers
#include "ops/ragged/ragged_range_kernel.inc"

#define TYPE float
#define WIDE float
#define SUFFIX(name) name##_f32__cpu
#define SIZE_OF size_of_floats
#include "ops/ragged/ragged_range_kernel.inc"

#define TYPE double
#define WIDE double
#define SUFFIX(name) name##_f64__cpu
#define SIZE_OF size_of_doubles
#include "ops/ragged/ragged_range_kernel.inc"

#define KERNEL(dtype, fn) \
  {.op = "RaggedRange", .device_type = "CPU", .constraints = "T: " dtype, .compute = fn}

const leat_kernel_row_t leat_ragged_range_kernels_cpu[] = {
    KERNEL("int32", range_i32__cpu),
    KERNEL("int64", range_i64__cpu),
    KERNEL("float", range_f32__cpu),
    KERNEL("double", range_f64__cpu),
    LEAT_KERNEL_ROWS_END,
};
