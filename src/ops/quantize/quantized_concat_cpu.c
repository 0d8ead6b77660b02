// The CPU kernels of QuantizedConcat and QuantizedConcatV2: values over different ranges joined
// along a dimension, over a range that contains all of them.
//
//   concat_dim, N values [..., d_i, ...], N mins, N maxes -> output [..., sum of d_i, ...]
//   V2: N values, axis, N mins, N maxes -> likewise; the axis may count from the end
//
// The range of V2 begins at 0 for unsigned types, as TensorFlow's kernel for Intel graphs has it:
// what lies below becomes 0 there, also where all values have one range.
//
// A value that is over the range of the output already is copied; the others are converted to it,
// those of 8 bits by a table. As in Concat the whole is a matrix whose rows, the products of the
// dimensions before concat_dim, hold a run of each value.
#include <string.h>

#include "ops/array/concat_cpu.h"
#include "ops/array/index_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/quantize/quantized_range_cpu.h"

static bool is_v2(const leat_kernel_context_t* c) {
  return leat_string_view_equals(c->kernel->op->name, "QuantizedConcatV2");
}

// The range of value |index| of |count|.
static leat_range_t range_of_value(const leat_kernel_context_t* c, int count, int index) {
  const leat_tensor_t* min = leat_kernel_input(c, 1 + count + index);
  const leat_tensor_t* max = leat_kernel_input(c, 1 + 2 * count + index);
  return (leat_range_t){*leat_tensor_data(min, const float), *leat_tensor_data(max, const float)};
}

// The range of the output: it contains the ranges of all values and 0, or begins there (V2). For
// signed types it is symmetric.
static leat_range_t whole_range(const leat_kernel_context_t* c, int count, leat_integers_t n) {
  leat_range_t range = {0, -INFINITY};
  for (int i = 0; i < count; ++i) {
    const leat_range_t of_value = range_of_value(c, count, i);
    range.min = LEAT_MIN(range.min, of_value.min);
    range.max = LEAT_MAX(range.max, of_value.max);
  }
  if (n.min == 0 && is_v2(c)) range.min = 0;
  if (n.min == 0) return range;
  const float end = LEAT_MAX(fabsf(range.min), fabsf(range.max));
  return (leat_range_t){-end, end};
}

// One value on its way to the output.
typedef struct piece_s {
  const leat_tensor_t* value;
  bool is_same;  // the range is that of the output
  leat_number_line_t numbers;
  leat_integer_line_t integers;
  int64_t run;     // elements in a row
  char* target;    // the first run
  int64_t stride;  // elements from run to run of the output
  uint8_t table[256];
} piece_t;

static int32_t convert(const piece_t* p, int32_t integer) {
  return leat_integer_at(&p->integers, leat_number_at(&p->numbers, (float)integer));
}

static void convert_run(const piece_t* p, const void* from, void* to) {
  const bool has_table = p->value->dtype != LEAT_DTYPE_QINT32;
  for (int64_t i = 0; i < p->run && has_table; ++i) {
    ((uint8_t*)to)[i] = p->table[((const uint8_t*)from)[i]];
  }
  for (int64_t i = 0; i < p->run && !has_table; ++i) {
    ((int32_t*)to)[i] = convert(p, ((const int32_t*)from)[i]);
  }
}

static void piece_shard(void* data, int64_t begin, int64_t end) {
  const piece_t* p = data;
  const size_t size = leat_dtype_size(p->value->dtype), run_bytes = (size_t)p->run * size;
  for (int64_t row = begin; row < end; ++row) {
    const char* from = (const char*)p->value->data + (size_t)row * run_bytes;
    char* to = p->target + (size_t)(row * p->stride) * size;
    if (p->is_same) {
      memcpy(to, from, run_bytes);
    } else {
      convert_run(p, from, to);
    }
  }
}

// Writes value |index| of |count| behind |*inout_at| elements of each row of the output, which is
// over |range|.
static void join_piece(leat_kernel_context_t* c, int index, int count, int64_t outer,
                       const leat_tensor_t* output, leat_range_t range, int64_t* inout_at) {
  const leat_integers_t n = leat_integers_of(output->dtype);
  const leat_range_t from = range_of_value(c, count, index);
  piece_t p = {.value = leat_kernel_input(c, index + !is_v2(c)),
               .is_same = from.min == range.min && from.max == range.max,
               .numbers = leat_number_line(n, from),
               .integers = leat_integer_line(n, range),
               .stride = output->shape.element_count / outer};
  p.run = p.value->shape.element_count / outer;
  p.target = (char*)output->data + (size_t)*inout_at * leat_dtype_size(output->dtype);
  for (int32_t i = n.min; i < n.min + 256; ++i) p.table[(uint8_t)i] = (uint8_t)convert(&p, i);
  leat_kernel_parallel_for(c, outer, 2 * (double)p.run, piece_shard, &p);
  *inout_at += p.run;
}

static leat_status_t concat__cpu(leat_kernel_context_t* c) {
  const int count = (leat_kernel_input_count(c) - 1) / 3;
  const int first_value = !is_v2(c), axis_input = is_v2(c) ? count : 0;
  const leat_shape_t* first = &leat_kernel_input(c, first_value)->shape;
  leat_shape_t shape;
  leat_tensor_t* output;
  for (int i = 1 + count; i < leat_kernel_input_count(c); ++i) {
    const leat_shape_t* end = &leat_kernel_input(c, i)->shape;
    if (end->rank == 0) continue;
    return leat_kernel_invalid(c, "the end of a range has shape %s, must be a scalar",
                               LEAT_SHAPE_TEXT(end));
  }
  int axis;
  if (!is_v2(c) && leat_tensor_index_at(leat_kernel_input(c, 0), 0) < 0) {
    return leat_kernel_invalid(c, "concat_dim is negative, must be in [0, %d)", first->rank);
  }
  LEAT_RETURN_IF_ERROR(leat_concat_shape(c, first_value, count, axis_input, &axis, &shape));
  const leat_range_t range =
      whole_range(c, count, leat_integers_of(leat_kernel_input(c, first_value)->dtype));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  if (!status) status = leat_range_output(c, 1, range);
  const int64_t outer = leat_shape_product(first, 0, axis);
  int64_t at = 0;
  for (int i = 0; i < count && !status && shape.element_count > 0; ++i) {
    join_piece(c, i, count, outer, output, range, &at);
  }
  leat_shape_release(&shape);
  return status;
}

const leat_kernel_row_t leat_quantized_concat_kernels_cpu[] = {
    {.op = "QuantizedConcat",
     .device_type = "CPU",
     .constraints = "T: quint8, qint32",
     .compute = concat__cpu},
    {.op = "QuantizedConcatV2",
     .device_type = "CPU",
     .constraints = "T: quint8, qint8",
     .compute = concat__cpu},
    LEAT_KERNEL_ROWS_END,
};
