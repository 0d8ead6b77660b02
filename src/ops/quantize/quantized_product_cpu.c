// CPU kernels of QuantizedMatMul and QuantizedConv2D, and the products of 8-bit matrices that they
// and others are made of (quantized_product_cpu.h).
//
// A convolution is a product of the matrix of its windows (quantized_windows_cpu.h), [batch * rows
// * columns, window], and the filter, [window, out]. Rows are divided into bands, which threads
// share; each band has memory for four rows of the first factor, which are made where they are
// needed.
#include "ops/quantize/quantized_product_cpu.h"

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/nn/window.h"
#include "ops/quantize/quantized_range_cpu.h"
#include "ops/quantize/quantized_windows_cpu.h"

// ---- Products -----------------------------------------------------------------------------------

// The largest zero with which differences of 8-bit integers fit in 16 bits.
#define MAX_NARROW_ZERO 32000
#define MAX_BANDS 64

static bool is_narrow(int32_t zero) {
  return zero >= -MAX_NARROW_ZERO && zero <= MAX_NARROW_ZERO;
}

static bool is_narrow_factor(const leat_quantized_factor_t* factor, int64_t count) {
  if (!factor->zeros) return is_narrow(factor->zero);
  bool all = true;
  for (int64_t i = 0; i < count; ++i) all = all && is_narrow(factor->zeros[i]);
  return all;
}

static leat_status_t allocate(leat_kernel_context_t* c, int dtype, int64_t rows, int64_t columns,
                              leat_tensor_t* out_tensor) {
  const int64_t dims[] = {rows, columns};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
  leat_status_t status = leat_kernel_allocate_temporary(c, dtype, &shape, out_tensor);
  leat_shape_release(&shape);
  return status;
}

// Allocates |count| lines of p->depth differences.
static leat_status_t allocate_lines(leat_kernel_context_t* c, const leat_quantized_product_t* p,
                                    int64_t count, leat_tensor_t* out_lines) {
  const int dtype = p->loops->size == sizeof(int16_t) ? LEAT_DTYPE_INT16 : LEAT_DTYPE_INT32;
  return allocate(c, dtype, count, p->depth, out_lines);
}

typedef struct packing_s {
  const leat_quantized_product_t* p;
  int64_t column_stride, stride;
} packing_t;

static void pack_shard(void* data, int64_t begin, int64_t end) {
  const packing_t* job = data;
  const leat_quantized_product_t* p = job->p;
  const leat_quantized_factor_t* b = &p->b;
  for (int64_t j = begin; j < end; ++j) {
    char* to = (char*)p->packed.data + (size_t)(j * p->depth) * p->loops->size;
    p->loops->centre((const char*)b->tensor->data + j * job->column_stride, job->stride,
                     leat_quantized_factor_is_signed(b), b->zeros ? b->zeros[j] : b->zero, p->depth,
                     to);
  }
}

leat_status_t leat_quantized_product_pack(leat_kernel_context_t* c, leat_quantized_product_t* p,
                                          int64_t column_stride, int64_t stride) {
  const leat_quantized_widths_t* widths = LEAT_ISA_SELECT(leat_quantized_widths);
  const bool narrow = is_narrow_factor(&p->a, 1) && is_narrow_factor(&p->b, p->columns);
  p->loops = narrow ? &widths->narrow : &widths->wide;
  LEAT_RETURN_IF_ERROR(allocate_lines(c, p, p->columns, &p->packed));
  packing_t job = {p, column_stride, stride};
  leat_kernel_parallel_for(c, p->columns, 10 + (double)p->depth, pack_shard, &job);
  p->bands = LEAT_MIN((p->rows + LEAT_QUANTIZED_ROWS - 1) / LEAT_QUANTIZED_ROWS, MAX_BANDS);
  const int64_t lines = p->bands * LEAT_QUANTIZED_ROWS;
  if (p->emit) {
    LEAT_RETURN_IF_ERROR(allocate(c, LEAT_DTYPE_INT32, lines, p->columns, &p->sums));
  }
  return allocate_lines(c, p, lines, &p->lines);
}

static void bands_shard(void* data, int64_t begin, int64_t end) {
  const leat_quantized_product_t* p = data;
  const size_t line_bytes = (size_t)p->depth * p->loops->size;
  const int64_t blocks = (p->rows + LEAT_QUANTIZED_ROWS - 1) / LEAT_QUANTIZED_ROWS;
  for (int64_t band = begin; band < end; ++band) {
    char* lines = (char*)p->lines.data + (size_t)band * LEAT_QUANTIZED_ROWS * line_bytes;
    int32_t* sums = p->emit ? leat_tensor_data(&p->sums, int32_t) +
                                  band * LEAT_QUANTIZED_ROWS * p->columns
                            : NULL;
    for (int64_t block = band; block < blocks; block += p->bands) {
      if (leat_step_loop_is_over()) return;
      const int64_t first = block * LEAT_QUANTIZED_ROWS;
      const int64_t rows = LEAT_MIN(p->rows - first, LEAT_QUANTIZED_ROWS);
      for (int64_t r = 0; r < rows; ++r) p->row(p, first + r, lines + (size_t)r * line_bytes);
      p->loops->multiply(lines, p->packed.data, rows, p->columns, p->depth,
                         p->emit ? sums : p->out + first * p->columns);
      if (p->emit) p->emit(p, first, rows, sums);
    }
  }
}

leat_status_t leat_quantized_product_run(leat_kernel_context_t* c, leat_quantized_product_t* p) {
  if (p->rows == 0 || p->columns == 0) return leat_ok_status();
  const double row_ns = (double)p->depth * (1 + 0.05 * (double)p->columns);
  leat_kernel_parallel_for(c, p->bands, row_ns * (double)p->rows / (double)p->bands, bands_shard,
                           p);
  return leat_ok_status();
}

void leat_quantized_product_end(leat_quantized_product_t* p) {
  leat_tensor_release(&p->packed);
  leat_tensor_release(&p->lines);
  leat_tensor_release(&p->sums);
}

void leat_quantized_matrix_row(const leat_quantized_product_t* p, int64_t index, void* to) {
  const leat_quantized_factor_t* a = &p->a;
  p->loops->centre((const char*)a->tensor->data + index * p->depth, 1,
                   leat_quantized_factor_is_signed(a), a->zero, p->depth, to);
}
void leat_quantized_transposed_row(const leat_quantized_product_t* p, int64_t index, void* to) {
  const leat_quantized_factor_t* a = &p->a;
  p->loops->centre((const char*)a->tensor->data + index, p->rows,
                   leat_quantized_factor_is_signed(a), a->zero, p->depth, to);
}

// Sets the factors of |p| from inputs 0 and 1, whose ranges are inputs 2 to 5, packs, runs and sets
// the outputs. The rows of the product are rows of the output, whose shape is |shape|.
static leat_status_t finish(leat_kernel_context_t* c, leat_quantized_product_t* p,
                            const leat_shape_t* shape, int64_t column_stride, int64_t stride) {
  const leat_range_t a_range = leat_range_input(c, 2), b_range = leat_range_input(c, 4);
  const leat_integers_t a = leat_integers_of(leat_kernel_input(c, 0)->dtype);
  const leat_integers_t b = leat_integers_of(leat_kernel_input(c, 1)->dtype);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  LEAT_RETURN_IF_ERROR(leat_range_output(c, 1, leat_range_of_products(a, a_range, b, b_range)));
  p->a = (leat_quantized_factor_t){.tensor = leat_kernel_input(c, 0),
                                   .zero = leat_quantized_zero(a, a_range)};
  p->b = (leat_quantized_factor_t){.tensor = leat_kernel_input(c, 1),
                                   .zero = leat_quantized_zero(b, b_range)};
  p->out = output->data;
  leat_status_t status = leat_quantized_product_pack(c, p, column_stride, stride);
  if (!status) status = leat_quantized_product_run(c, p);
  leat_quantized_product_end(p);
  return status;
}

// ---- QuantizedMatMul ----------------------------------------------------------------------------

typedef struct matmul_state_s {
  bool flips_a, flips_b;
} matmul_state_t;

static leat_status_t matmul_create(leat_kernel_creation_t* c, void* memory) {
  matmul_state_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "transpose_a", &state->flips_a));
  return leat_kernel_attr_bool(c, "transpose_b", &state->flips_b);
}

// INVALID_ARGUMENT unless the range at inputs |index| and |index| + 1 is one.
static leat_status_t check_range(const leat_kernel_context_t* c, int index, const char* name) {
  const leat_range_t range = leat_range_input(c, index);
  if (range.max > range.min) return leat_ok_status();
  return leat_kernel_invalid(c, "max_%s is %g, must be larger than min_%s, %g", name,
                             (double)range.max, name, (double)range.min);
}

static leat_status_t matmul__cpu(leat_kernel_context_t* c) {
  const matmul_state_t* state = leat_kernel_state(c);
  const leat_shape_t* a = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* b = &leat_kernel_input(c, 1)->shape;
  leat_quantized_product_t p = {
      .rows = leat_shape_dim(a, state->flips_a),
      .columns = leat_shape_dim(b, !state->flips_b),
      .depth = leat_shape_dim(a, !state->flips_a),
      .row = state->flips_a ? leat_quantized_transposed_row : leat_quantized_matrix_row,
  };
  if (leat_shape_dim(b, state->flips_b) != p.depth) {
    return leat_kernel_invalid(c, "Matrix size-incompatible: In[0]: %s, In[1]: %s",
                               LEAT_SHAPE_TEXT(a), LEAT_SHAPE_TEXT(b));
  }
  LEAT_RETURN_IF_ERROR(check_range(c, 2, "a"));
  LEAT_RETURN_IF_ERROR(check_range(c, 4, "b"));
  const int64_t dims[] = {p.rows, p.columns};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
  leat_status_t status = finish(c, &p, &shape, state->flips_b ? p.depth : 1,
                                state->flips_b ? 1 : p.columns);
  leat_shape_release(&shape);
  return status;
}

// ---- QuantizedConv2D ----------------------------------------------------------------------------

static leat_status_t conv2d_create(leat_kernel_creation_t* c, void* state) {
  leat_window_t* w = state;
  LEAT_RETURN_IF_ERROR(leat_window_read(c->attrs, c->attr_count, 2, w));
  if (w->batch.stride != 1 || w->channels.stride != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "strides of the batch and depth dimensions must be 1");
  }
  if (w->axes[0].stride != w->axes[1].stride) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "strides are %lld and %lld, must be equal in "
                            "the row and column dimensions", (long long)w->axes[0].stride,
                            (long long)w->axes[1].stride);
  }
  if (w->axes[0].dilation == 1 && w->axes[1].dilation == 1 && w->batch.dilation == 1 &&
      w->channels.dilation == 1) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "dilations must all be 1");
}

static leat_status_t conv2d__cpu(leat_kernel_context_t* c) {
  const leat_window_t* w = leat_kernel_state(c);
  const leat_shape_t* input = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* filter = &leat_kernel_input(c, 1)->shape;
  leat_quantized_windows_t g = {.channels = leat_shape_dim(input, 3)};
  g.group_channels = g.channels;
  if (leat_shape_dim(filter, 2) != g.channels) {
    return leat_kernel_invalid(c, "input and filter must have the same depth: %lld vs %lld",
                               (long long)g.channels, (long long)leat_shape_dim(filter, 2));
  }
  if (leat_shape_product(filter, 0, 3) == 0) {
    return leat_kernel_invalid(c, "filter has shape %s, must have elements",
                               LEAT_SHAPE_TEXT(filter));
  }
  for (int i = 0; i < 2; ++i) {
    int64_t unused;
    g.in[i] = leat_shape_dim(input, i + 1);
    g.size[i] = leat_shape_dim(filter, i);
    g.stride[i] = w->axes[i].stride;
    g.dilation[i] = 1;
    LEAT_RETURN_IF_ERROR(leat_window_count(&w->axes[i], w->padding, g.in[i], g.size[i], &g.out[i],
                                           &unused));
    // Where the stride is larger than the filter, the windows may cover less than the input; unlike
    // Conv2D they then lie in the middle of it, as if the padding were negative.
    const int64_t reach = (g.out[i] - 1) * g.stride[i] + g.size[i];
    g.before[i] = (reach - g.in[i] + (w->padding == LEAT_PADDING_VALID)) / 2;
  }
  const int64_t dims[] = {leat_shape_dim(input, 0), g.out[0], g.out[1], leat_shape_dim(filter, 3)};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(4, dims, &shape));
  g.product = (leat_quantized_product_t){.rows = leat_shape_product(&shape, 0, 3),
                                         .columns = dims[3],
                                         .depth = leat_shape_product(filter, 0, 3),
                                         .row = leat_quantized_windows_row};
  leat_status_t status = finish(c, &g.product, &shape, 1, g.product.columns);
  leat_shape_release(&shape);
  return status;
}

const leat_kernel_row_t leat_quantized_product_kernels_cpu[] = {
    LEAT_CPU_KERNEL("QuantizedMatMul", "T1: quint8; T2: quint8; Toutput: qint32", matmul_state_t,
                    matmul_create, matmul__cpu, .expensive = true),
    LEAT_CPU_KERNEL("QuantizedConv2D", "Tinput: quint8; Tfilter: quint8; out_type: qint32",
                    leat_window_t, conv2d_create, conv2d__cpu, .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
