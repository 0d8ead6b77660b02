// CPU kernel of RaggedGather: rows of a ragged tensor by their numbers.
//
//   params_nested_splits [P], params_dense_values, indices [...] -> output_nested_splits [O],
//   output_dense_values
//
// The result has the dimensions of the indices, as splits of equal rows, and then those of a row of
// the params: O = P + rank of the indices - 1. A row is a range at each level of the splits; the
// range at one level leads to the one at the next. A first walk over the indices adds up how long
// the outputs are, and a second one writes them.
#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/ragged/splits_cpu.h"

typedef struct gather_s {
  int levels;  // of the params' splits
  const leat_tensor_t* values;
  const leat_tensor_t* indices;
  int outer;  // output splits that the indices give: their rank - 1, -1 for a scalar
} gather_t;

// A range of rows at one level of the params, or of their values behind the last level.
typedef struct range_s {
  int64_t begin, end;
} range_t;

static range_t inside(const leat_tensor_t* splits, range_t rows) {
  return (range_t){leat_tensor_index_at(splits, rows.begin),
                   leat_tensor_index_at(splits, rows.end)};
}

static leat_status_t check(const leat_kernel_context_t* c, const gather_t* g) {
  int64_t rows = leat_splits_rows(leat_kernel_input(c, 0));
  if (c->kernel->output_count - 1 != g->levels + g->outer) {
    return leat_kernel_invalid(c, "OUTPUT_RAGGED_RANK is %d, must be PARAMS_RAGGED_RANK + the rank "
                               "of indices - 1, which is %d",
                               c->kernel->output_count - 1, g->levels + g->outer);
  }
  for (int64_t i = 0; i < g->indices->shape.element_count; ++i) {
    int64_t row = leat_tensor_index_at(g->indices, i);
    if (row >= 0 && row < rows) continue;
    return leat_kernel_invalid(c, "indices[%lld] = %lld is not in [0, %lld)", (long long)i,
                               (long long)row, (long long)rows);
  }
  return leat_ok_status();
}

// Adds up the length of the output at each level, and allocates the outputs. |lengths| [levels + 1]
// count rows, and behind them values.
static leat_status_t allocate(leat_kernel_context_t* c, const gather_t* g, leat_tensor_t* lengths) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int64_t* length = lengths->data;
  leat_tensor_t* output;
  leat_tensor_fill_zero(lengths);
  for (int64_t i = 0; i < g->indices->shape.element_count; ++i) {
    int64_t row = leat_tensor_index_at(g->indices, i);
    range_t range = {row, row + 1};
    for (int level = 0; level <= g->levels; ++level) {
      if (!leat_checked_add(length[level], range.end - range.begin, &length[level])) {
        return leat_kernel_invalid(c, "the result has too many values");
      }
      if (level < g->levels) range = inside(leat_kernel_input(c, level), range);
    }
  }
  for (int level = 0; level < g->levels; ++level) {
    if (level + g->outer < 0) continue;
    int64_t size;
    if (!leat_checked_add(length[level], 1, &size)) {
      return leat_kernel_invalid(c, "the result has too many rows");
    }
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, level + g->outer, 1, &size, &output));
    LEAT_RETURN_IF_ERROR(leat_splits_set(c, output, 0, 0));
  }
  for (int d = 0; d < g->values->shape.rank; ++d) dims[d] = leat_shape_dim(&g->values->shape, d);
  dims[0] = length[g->levels];
  return leat_kernel_allocate_sized(c, g->levels + g->outer, g->values->shape.rank, dims, &output);
}

// Writes the splits and values of one row. |lengths| say how far each output is written.
static leat_status_t write_row(leat_kernel_context_t* c, const gather_t* g, int64_t row,
                               int64_t* lengths) {
  range_t range = {row, row + 1};
  for (int level = 0; level < g->levels; ++level) {
    const leat_tensor_t* splits = leat_kernel_input(c, level);
    range_t next = inside(splits, range);
    if (level + g->outer >= 0) {
      leat_tensor_t* output = leat_kernel_output(c, level + g->outer);
      int64_t base = lengths[level + 1] - next.begin;
      for (int64_t i = range.begin; i < range.end; ++i) {
        LEAT_RETURN_IF_ERROR(leat_splits_set(c, output, ++lengths[level],
                                             base + leat_tensor_index_at(splits, i + 1)));
      }
    }
    range = next;
  }
  leat_tensor_t* output = leat_kernel_output(c, g->levels + g->outer);
  int64_t width = leat_shape_product(&g->values->shape, 1, g->values->shape.rank);
  size_t bytes = (size_t)width * leat_dtype_size(output->dtype);
  int64_t place = lengths[g->levels];
  lengths[g->levels] += range.end - range.begin;
  return leat_tensor_copy_elements(
      output->dtype, (const char*)g->values->data + (size_t)range.begin * bytes,
      (char*)output->data + (size_t)place * bytes, (range.end - range.begin) * width);
}

static leat_status_t write_rows(leat_kernel_context_t* c, const gather_t* g,
                                leat_tensor_t* lengths) {
  leat_step_pace_t pace = leat_step_pace_of(c);
  leat_tensor_fill_zero(lengths);
  int64_t* written = lengths->data;
  for (int64_t i = 0; i < g->indices->shape.element_count; ++i) {
    int64_t former = written[g->levels];
    LEAT_RETURN_IF_ERROR(write_row(c, g, leat_tensor_index_at(g->indices, i), written));
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 50 + (double)(written[g->levels] - former)));
  }
  return leat_ok_status();
}

static leat_status_t gather__cpu(leat_kernel_context_t* c) {
  int levels = leat_kernel_input_count(c) - 2;
  leat_tensor_t lengths;
  gather_t g = {levels, leat_kernel_input(c, levels), leat_kernel_input(c, levels + 1), 0};
  g.outer = g.indices->shape.rank - 1;
  LEAT_RETURN_IF_ERROR(leat_splits_check(c, 0, levels, false));
  LEAT_RETURN_IF_ERROR(check(c, &g));
  LEAT_RETURN_IF_ERROR(leat_splits_write_uniform(c, &g.indices->shape));
  leat_shape_t vector = leat_shape_vector(levels + 1);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &vector, &lengths));
  leat_status_t status = allocate(c, &g, &lengths);
  if (!status) status = write_rows(c, &g, &lengths);
  leat_tensor_release(&lengths);
  return status;
}

const leat_kernel_row_t leat_ragged_gather_kernels_cpu[] = {
    {.op = "RaggedGather",
     .device_type = "CPU",
     .constraints = "Tvalues: bfloat16, bool, complex128, complex64, double, float, half, int16, "
                    "int32, int64, int8, qint16, qint32, qint8, quint16, quint8, string, uint16, "
                    "uint32, uint64, uint8",
     .compute = gather__cpu},
    LEAT_KERNEL_ROWS_END,
};
