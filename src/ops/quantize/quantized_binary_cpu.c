// CPU kernels of sums and products of quantised numbers, element by element.
//
//   QuantizedAdd, QuantizedMul  x, y of quint8, of one shape, or one of them a scalar or a vector
//   QuantizedBiasAdd            input [..., channels], bias [channels]
//
// A sum needs both terms over one range. That range is 2^14 or 2^17 times as wide as the larger of
// the terms' ranges and has 0 in its middle, so that sums of many terms fit and the integer 0
// stands for 0. A product needs no common range: the integers less the integers that stand for 0
// are multiplied. In both cases what becomes of one factor depends on its 8 bits only, so that it
// is looked up in a table of 256 terms, and an element of the output is the sum or product of two.
#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/quantize/quantized_range_cpu.h"

// What each 8-bit integer contributes; the integers of signed types come as their bits.
typedef struct terms_s {
  int32_t of[256];
} terms_t;

// Reads the 8 bits |bits| as an integer of type |dtype|.
static int32_t integer_of_bits(int dtype, int bits) {
  return dtype == LEAT_DTYPE_QINT8 ? (int8_t)bits : bits;
}

typedef struct binary_s {
  const uint8_t* x;  // has the shape of the output
  const uint8_t* y;  // is repeated
  int32_t* z;
  int64_t y_count;  // at least 1
  bool multiplies;
  terms_t x_terms, y_terms;
} binary_t;

static void binary_shard(void* data, int64_t begin, int64_t end) {
  const binary_t* job = data;
  int64_t k = begin % job->y_count;
  for (int64_t i = begin; i < end; ++i) {
    const uint32_t x = (uint32_t)job->x_terms.of[job->x[i]];
    const uint32_t y = (uint32_t)job->y_terms.of[job->y[k]];
    job->z[i] = (int32_t)(job->multiplies ? x * y : x + y);
    if (++k == job->y_count) k = 0;
  }
}

// Fills the rest of |job|, whose terms are set, and runs it. |x| has the shape of the output.
static leat_status_t run(leat_kernel_context_t* c, binary_t* job, const leat_tensor_t* x,
                         const leat_tensor_t* y, const leat_shape_t* shape) {
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  job->x = x->data;
  job->y = y->data;
  job->z = output->data;
  job->y_count = LEAT_MAX(y->shape.element_count, 1);
  leat_kernel_parallel_for(c, shape->element_count, 1, binary_shard, job);
  return leat_ok_status();
}

// ---- Sums ---------------------------------------------------------------------------------------

static const leat_integers_t kWide = {INT32_MIN, INT32_MAX};

// The range of sums, |factor| times as wide as that of the terms.
static leat_range_t range_of_sums(leat_range_t a, leat_range_t b, int factor) {
  const float end = LEAT_MAX(LEAT_MAX(a.max, -a.min), LEAT_MAX(b.max, -b.min)) * (float)factor;
  return (leat_range_t){-end, end};
}

// QuantizedAdd rounds what an integer more is in the range of the sums, and multiplies. Where |x|
// is a single element it rounds the term itself.
static void term_of_add(const leat_tensor_t* x, bool is_single, leat_range_t range,
                        leat_range_t total, terms_t* terms) {
  const leat_integers_t n = leat_integers_of(x->dtype);
  const int64_t at_0 = leat_quantized_unlimited(kWide, leat_quantized_number(n, 0, range), total);
  const int64_t at_1 = leat_quantized_unlimited(kWide, leat_quantized_number(n, 1, range), total);
  const uint32_t step = (uint32_t)at_1 - (uint32_t)at_0;
  for (uint32_t bits = 0; bits < 256; ++bits) {
    terms->of[bits] = (int32_t)((uint32_t)at_0 + bits * step);
    if (is_single) {
      terms->of[bits] = leat_quantized_of(kWide, leat_quantized_number(n, bits, range), total);
    }
  }
}

// QuantizedBiasAdd rounds each term, and adds |offset|.
static void term_of_bias_add(int dtype, leat_range_t range, leat_range_t total, int32_t offset,
                             terms_t* terms) {
  const leat_number_line_t numbers = leat_number_line(leat_integers_of(dtype), range);
  const leat_integer_line_t integers = leat_integer_line(kWide, total);
  for (int bits = 0; bits < 256; ++bits) {
    const float x = leat_number_at(&numbers, (float)integer_of_bits(dtype, bits));
    terms->of[bits] = (int32_t)((uint32_t)leat_integer_at(&integers, x) + (uint32_t)offset);
  }
}

static leat_status_t bias_add__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t *x = leat_kernel_input(c, 0), *bias = leat_kernel_input(c, 1);
  const leat_range_t x_range = leat_range_input(c, 2), bias_range = leat_range_input(c, 4);
  const leat_range_t total = range_of_sums(x_range, bias_range, 1 << 17);
  if (x->shape.rank < 2 || bias->shape.rank != 1 || bias->shape.element_count == 0 ||
      leat_shape_dim(&x->shape, x->shape.rank - 1) != bias->shape.element_count) {
    return leat_kernel_invalid(c, "input and bias have shapes %s and %s, must be at least a matrix "
                               "and a vector as long as its last dimension, not 0",
                               LEAT_SHAPE_TEXT(&x->shape), LEAT_SHAPE_TEXT(&bias->shape));
  }
  binary_t job = {.multiplies = false};
  term_of_bias_add(x->dtype, x_range, total, 0, &job.x_terms);
  // The integer that stands for 0 is 0 or, by rounding, -1.
  term_of_bias_add(bias->dtype, bias_range, total, leat_quantized_of(kWide, 0, total),
                   &job.y_terms);
  LEAT_RETURN_IF_ERROR(run(c, &job, x, bias, &x->shape));
  return leat_range_output(c, 1, total);
}

// ---- x and y ------------------------------------------------------------------------------------

// The number of dimensions of 1 before all others.
static int leading_ones(const leat_shape_t* shape) {
  int count = 0;
  while (count < shape->rank && leat_shape_dim(shape, count) == 1) ++count;
  return count;
}

// Whether |part|, repeated, fills |whole|: but for dimensions of 1 before all others, it has the
// last dimensions of |whole|.
static bool is_repeated(const leat_shape_t* part, const leat_shape_t* whole) {
  const int shift = whole->rank - part->rank;
  for (int d = leading_ones(part); d < part->rank; ++d) {
    if (d + shift < 0 || leat_shape_dim(part, d) != leat_shape_dim(whole, d + shift)) return false;
  }
  return true;
}

// Runs |job| over |whole| and |part|, which is_repeated in it.
static leat_status_t run_repeated(leat_kernel_context_t* c, binary_t* job,
                                  const leat_tensor_t* whole, const leat_tensor_t* part) {
  const int ones = LEAT_MAX(part->shape.rank - whole->shape.rank, 0);
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  leat_shape_t shape;
  if (part->shape.element_count == 0 || whole->shape.element_count == 0) {
    if (!leat_shape_equal(&part->shape, &whole->shape) && part->shape.element_count != 1) {
      return leat_kernel_invalid(c, "inputs have shapes %s and %s, must have elements",
                                 LEAT_SHAPE_TEXT(&whole->shape), LEAT_SHAPE_TEXT(&part->shape));
    }
  }
  for (int d = 0; d < ones; ++d) dims[d] = 1;
  for (int d = 0; d < whole->shape.rank; ++d) dims[ones + d] = leat_shape_dim(&whole->shape, d);
  LEAT_RETURN_IF_ERROR(leat_shape_create(ones + whole->shape.rank, dims, &shape));
  leat_status_t status = run(c, job, whole, part, &shape);
  leat_shape_release(&shape);
  return status;
}

// Runs |job|, whose terms are those of inputs 0 and 1. Both operations are commutative, so that the
// input that is repeated may be either. TensorFlow also takes a column and a matrix, but repeats
// the column as if it were a row, so that its results are not those of any broadcast.
static leat_status_t run_broadcast(leat_kernel_context_t* c, binary_t* job) {
  const leat_tensor_t *x = leat_kernel_input(c, 0), *y = leat_kernel_input(c, 1);
  if (is_repeated(&y->shape, &x->shape)) return run_repeated(c, job, x, y);
  if (!is_repeated(&x->shape, &y->shape)) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED,
                             "Broadcast between %s and %s is not supported yet.",
                             LEAT_SHAPE_TEXT(&x->shape), LEAT_SHAPE_TEXT(&y->shape));
  }
  const terms_t x_terms = job->x_terms;
  job->x_terms = job->y_terms;
  job->y_terms = x_terms;
  return run_repeated(c, job, y, x);
}

static leat_status_t check_range(const leat_kernel_context_t* c, const char* name,
                                 leat_range_t range) {
  if (range.min < range.max) return leat_ok_status();
  return leat_kernel_invalid(c, "min_%s is %g, must be less than max_%s, %g", name,
                             (double)range.min, name, (double)range.max);
}

static leat_status_t add__cpu(leat_kernel_context_t* c) {
  const leat_range_t x_range = leat_range_input(c, 2), y_range = leat_range_input(c, 4);
  const leat_range_t total = range_of_sums(x_range, y_range, 1 << 14);
  const leat_tensor_t *x = leat_kernel_input(c, 0), *y = leat_kernel_input(c, 1);
  const bool x_is_single = x->shape.element_count == 1;
  const bool y_is_single = y->shape.element_count == 1 && !x_is_single;
  binary_t job = {.multiplies = false};
  LEAT_RETURN_IF_ERROR(check_range(c, "x", x_range));
  LEAT_RETURN_IF_ERROR(check_range(c, "y", y_range));
  term_of_add(x, x_is_single, x_range, total, &job.x_terms);
  term_of_add(y, y_is_single, y_range, total, &job.y_terms);
  LEAT_RETURN_IF_ERROR(run_broadcast(c, &job));
  return leat_range_output(c, 1, total);
}

static void term_of_mul(leat_integers_t n, leat_range_t range, terms_t* terms) {
  const uint32_t zero = (uint32_t)leat_quantized_zero(n, range);
  for (int bits = 0; bits < 256; ++bits) terms->of[bits] = (int32_t)((uint32_t)bits - zero);
}

static leat_status_t mul__cpu(leat_kernel_context_t* c) {
  const leat_range_t x = leat_range_input(c, 2), y = leat_range_input(c, 4);
  const leat_integers_t n = leat_integers_of(LEAT_DTYPE_QUINT8);
  binary_t job = {.multiplies = true};
  LEAT_RETURN_IF_ERROR(check_range(c, "x", x));
  LEAT_RETURN_IF_ERROR(check_range(c, "y", y));
  term_of_mul(n, x, &job.x_terms);
  term_of_mul(n, y, &job.y_terms);
  LEAT_RETURN_IF_ERROR(run_broadcast(c, &job));
  return leat_range_output(c, 1, leat_range_of_products(n, x, n, y));
}

#define CPU_ROW(name, types, fn) \
  {.op = name, .device_type = "CPU", .constraints = types, .compute = fn}

const leat_kernel_row_t leat_quantized_binary_kernels_cpu[] = {
    CPU_ROW("QuantizedAdd", "T1: quint8; T2: quint8; Toutput: qint32", add__cpu),
    CPU_ROW("QuantizedMul", "T1: quint8; T2: quint8; Toutput: qint32", mul__cpu),
    CPU_ROW("QuantizedBiasAdd", "T1: quint8; T2: quint8; out_type: qint32", bias_add__cpu),
    CPU_ROW("QuantizedBiasAdd", "T1: qint8; T2: qint8; out_type: qint32", bias_add__cpu),
    LEAT_KERNEL_ROWS_END,
};
