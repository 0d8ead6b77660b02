// The CPU kernels of Cumsum, Cumprod and CumulativeLogsumexp. The input is seen as [outer, axis,
// inner]; a column is one (outer, inner) pair, whose elements lie |inner| elements apart.
//
//   total = identity
//   for each element x along the axis:  out = exclusive ? total : total op x;  total = total op x
//
// Up to MAX_WIDTH neighbouring columns are scanned side by side, because their elements are
// neighbours in memory. A column is never cut, so that it runs on one thread in order and the
// result has the same bits on any number of threads. Totals of floats are doubles: a long running
// sum in float would lose small terms. The output may take the input's bytes, since each element is
// read before it is written.
#include <complex.h>
#include <math.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "ops/kernel_rows.h"
#include "ops/math/loops_cpu.h"

#define MAX_WIDTH 64

// Scans |width| columns of |n| elements; neighbours along the axis are |stride| elements apart,
// with a negative stride from the last element to the first.
typedef void (*leat_scan_fn_t)(const void* x, void* y, int64_t stride, int64_t n, int64_t width,
                               bool exclusive);

// log(exp(a) + exp(b)) without overflow; NaN if either is NaN.
static double log_sum_exp(double a, double b) {
  double large = fmax(a, b), small = fmin(a, b);
  if (a != a || b != b) return a + b;
  return isinf(large) ? large : large + log1p(exp(small - large));
}

#define TO_HALF(x) leat_half_from_float((float)(x))
#define TO_BFLOAT16(x) leat_bfloat16_from_float((float)(x))

#define TYPE float
#define TOTAL double
#define SUFFIX(name) name##_f32
#define IS_REAL
#include "ops/math/scan_ops.inc"

#define TYPE double
#define TOTAL double
#define SUFFIX(name) name##_f64
#define IS_REAL
#include "ops/math/scan_ops.inc"

#define TYPE uint16_t
#define TOTAL double
#define SUFFIX(name) name##_half
#define LOAD leat_half_to_float
#define SAVE TO_HALF
#define IS_REAL
#include "ops/math/scan_ops.inc"

#define TYPE uint16_t
#define TOTAL double
#define SUFFIX(name) name##_bfloat16
#define LOAD leat_bfloat16_to_float
#define SAVE TO_BFLOAT16
#define IS_REAL
#include "ops/math/scan_ops.inc"

#define TYPE int8_t
#define TOTAL uint64_t
#define SUFFIX(name) name##_i8
#include "ops/math/scan_ops.inc"

#define TYPE int16_t
#define TOTAL uint64_t
#define SUFFIX(name) name##_i16
#include "ops/math/scan_ops.inc"

#define TYPE int32_t
#define TOTAL uint64_t
#define SUFFIX(name) name##_i32
#include "ops/math/scan_ops.inc"

#define TYPE int64_t
#define TOTAL uint64_t
#define SUFFIX(name) name##_i64
#include "ops/math/scan_ops.inc"

#define TYPE uint8_t
#define TOTAL uint64_t
#define SUFFIX(name) name##_u8
#include "ops/math/scan_ops.inc"

#define TYPE uint16_t
#define TOTAL uint64_t
#define SUFFIX(name) name##_u16
#include "ops/math/scan_ops.inc"

#define TYPE uint32_t
#define TOTAL uint64_t
#define SUFFIX(name) name##_u32
#include "ops/math/scan_ops.inc"

#define TYPE uint64_t
#define TOTAL uint64_t
#define SUFFIX(name) name##_u64
#include "ops/math/scan_ops.inc"

#define TYPE leat_complex64_t
#define TOTAL leat_complex128_t
#define SUFFIX(name) name##_c64
#include "ops/math/scan_ops.inc"

#define TYPE leat_complex128_t
#define TOTAL leat_complex128_t
#define SUFFIX(name) name##_c128
#include "ops/math/scan_ops.inc"

#define REAL_ENTRIES(op)                                                               \
  LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, op)                                                \
  [LEAT_LOOP_TYPE_HALF] = op##_half, [LEAT_LOOP_TYPE_BFLOAT16] = op##_bfloat16,
#define NUMBER_ENTRIES(op)                                                             \
  REAL_ENTRIES(op) LEAT_LOOP_INTEGERS(LEAT_LOOP_ENTRY, op)                             \
  LEAT_LOOP_COMPLEXES(LEAT_LOOP_ENTRY, op)

static const leat_scan_fn_t kSum[LEAT_LOOP_TYPE_COUNT] = {NUMBER_ENTRIES(sum)};
static const leat_scan_fn_t kProd[LEAT_LOOP_TYPE_COUNT] = {NUMBER_ENTRIES(prod)};
static const leat_scan_fn_t kLogSumExp[LEAT_LOOP_TYPE_COUNT] = {REAL_ENTRIES(log_sum_exp)};

typedef struct leat_scan_s {
  leat_scan_fn_t scan;
  bool exclusive, reverse;
} leat_scan_t;

static leat_status_t create_scan(leat_kernel_creation_t* c, void* state,
                                 const leat_scan_fn_t* scans) {
  leat_scan_t* s = state;
  s->scan = scans[leat_loop_type(leat_dtype_base(c->kernel->input_types[0]))];
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "exclusive", &s->exclusive));
  return leat_kernel_attr_bool(c, "reverse", &s->reverse);
}
static leat_status_t create_sum(leat_kernel_creation_t* c, void* state) {
  return create_scan(c, state, kSum);
}
static leat_status_t create_prod(leat_kernel_creation_t* c, void* state) {
  return create_scan(c, state, kProd);
}
static leat_status_t create_log_sum_exp(leat_kernel_creation_t* c, void* state) {
  return create_scan(c, state, kLogSumExp);
}

typedef struct leat_scan_job_s {
  const leat_scan_t* scan;
  const char* input;
  char* output;
  int64_t element_bytes, axis_size, inner;
} leat_scan_job_t;

// Scans columns [begin, end).
static void scan_shard(void* data, int64_t begin, int64_t end) {
  const leat_scan_job_t* job = data;
  while (begin < end) {
    int64_t outer = begin / job->inner, column = begin % job->inner;
    int64_t width = LEAT_MIN(LEAT_MIN(job->inner - column, end - begin), MAX_WIDTH);
    int64_t offset = outer * job->axis_size * job->inner + column;
    if (job->scan->reverse) offset += (job->axis_size - 1) * job->inner;
    job->scan->scan(job->input + offset * job->element_bytes,
                    job->output + offset * job->element_bytes,
                    job->scan->reverse ? -job->inner : job->inner, job->axis_size, width,
                    job->scan->exclusive);
    begin += width;
  }
}

// A shard is a range of columns.
static leat_status_t scan__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  int rank = input->shape.rank;
  int64_t axis = leat_tensor_index_at(leat_kernel_input(c, 1), 0);
  if (axis < -rank || axis >= rank) {
    return leat_kernel_invalid(c, "Expected scan axis in the range [%d, %d), but got %lld", -rank,
                               rank, (long long)axis);
  }
  if (axis < 0) axis += rank;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &input->shape, &output));
  if (input->shape.element_count == 0) return leat_ok_status();
  leat_scan_job_t job = {
      .scan = leat_kernel_state(c),
      .input = input->data,
      .output = output->data,
      .element_bytes = (int64_t)leat_dtype_size(input->dtype),
      .axis_size = leat_shape_dim(&input->shape, (int)axis),
      .inner = leat_shape_product(&input->shape, (int)axis + 1, rank),
  };
  leat_kernel_parallel_for(c, input->shape.element_count / job.axis_size,
                           1.5 * (double)job.axis_size, scan_shard, &job);
  return leat_ok_status();
}

#define FLOATS "T: half, bfloat16, float, double"
#define NUMBERS                                                                          \
  FLOATS ", int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128"
#define ROW(name, types, create_fn)      \
  {.op = name,                           \
   .device_type = "CPU",                 \
   .constraints = types,                 \
   .create = create_fn,                  \
   .state_bytes = sizeof(leat_scan_t),   \
   .compute = scan__cpu}

const leat_kernel_row_t leat_scan_kernels_cpu[] = {
    ROW("Cumsum", NUMBERS, create_sum),
    ROW("Cumprod", NUMBERS, create_prod),
    ROW("CumulativeLogsumexp", FLOATS, create_log_sum_exp),
    LEAT_KERNEL_ROWS_END,
};
