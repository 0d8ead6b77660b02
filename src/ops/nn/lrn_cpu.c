// CPU kernels of LRN, local response normalisation across channels (the AlexNet paper), and its
// gradient. For one pixel, with w(j) the channels at most |radius| away from j:
//
//   norm(j) = bias + alpha sum over k in w(j) of x(k)^2        y(j) = x(j) norm(j)^-beta
//   dx(k) = dy(k) norm(k)^-beta - 2 alpha beta x(k) sum over j in w(k) of dy(j) y(j) / norm(j)
//
// Both sums are over windows of channels. Narrow windows are summed anew for each channel. Wide
// ones slide: the element that comes in is added and the one that leaves subtracted, in double,
// because errors of float would add up along the channels.
//
// The power goes through the vector functions for exp and log, unless beta is 1/2 or 1. Half is
// computed in float; pixels are shared among threads.
#include <string.h>

#include "base/checked.h"
#include "device/cpu/vector_math.h"
#include "ops/kernel_rows.h"
#include "ops/nn/widen_cpu.h"

typedef struct leat_lrn_s {
  int64_t radius;
  float bias, alpha, beta;
} leat_lrn_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  leat_lrn_t* lrn = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "depth_radius", &lrn->radius));
  if (lrn->radius < 0 || lrn->radius >= INT32_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "depth_radius = %lld larger than int max",
                            (long long)lrn->radius);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "bias", &lrn->bias));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "alpha", &lrn->alpha));
  return leat_kernel_attr_float(c, "beta", &lrn->beta);
}

// Sets sums(j) to the sum of values(k) over the window of j.
static void sum_windows(const float* values, int64_t n, int64_t radius, float* sums) {
  if (radius <= 8) {
    for (int64_t j = 0; j < n; ++j) {
      const int64_t begin = LEAT_MAX(j - radius, 0), end = LEAT_MIN(j + radius + 1, n);
      float sum = 0;
      for (int64_t k = begin; k < end; ++k) sum += values[k];
      sums[j] = sum;
    }
    return;
  }
  double sum = 0;
  for (int64_t k = 0; k < LEAT_MIN(radius, n); ++k) sum += (double)values[k];
  for (int64_t j = 0; j < n; ++j) {
    if (j + radius < n) sum += (double)values[j + radius];
    sums[j] = (float)sum;
    if (j - radius >= 0) sum -= (double)values[j - radius];
  }
}

// Sets powers to norms^-beta; they may be the same array.
static void raise(const float* norms, int64_t n, float beta, float* powers) {
  const leat_vector_math_t* math = leat_vector_math();
  if (beta == 0.5f) {
    math->rsqrt_f32(norms, powers, n);
  } else if (beta == 1) {
    for (int64_t i = 0; i < n; ++i) powers[i] = 1 / norms[i];
  } else {
    math->log_f32(norms, powers, n);
    for (int64_t i = 0; i < n; ++i) powers[i] *= -beta;
    math->exp_f32(powers, powers, n);
  }
}

typedef struct rows_s {
  const leat_lrn_t* lrn;
  const float* dy;
  const float* x;
  const float* y;
  float* result;
  float* scratch;  // one row of |depth| for each pixel, for the gradient three
  int64_t depth;
} rows_t;

// Writes norm(j) of the pixel |x| to |norms|; |squares| is scratch.
static void find_norms(const rows_t* rows, const float* x, float* squares, float* norms) {
  const leat_lrn_t* lrn = rows->lrn;
  for (int64_t i = 0; i < rows->depth; ++i) squares[i] = x[i] * x[i];
  sum_windows(squares, rows->depth, lrn->radius, norms);
  for (int64_t i = 0; i < rows->depth; ++i) norms[i] = lrn->bias + lrn->alpha * norms[i];
}

// A shard uses the scratch of its first pixel for all of them; the result's row serves as the rest.
static void run_forward(void* data, int64_t begin, int64_t end) {
  const rows_t* rows = data;
  const int64_t n = rows->depth;
  float* squares = rows->scratch + begin * n;
  for (int64_t r = begin; r < end; ++r) {
    const float* x = rows->x + r * n;
    float* y = rows->result + r * n;
    find_norms(rows, x, squares, y);
    raise(y, n, rows->lrn->beta, y);
    for (int64_t i = 0; i < n; ++i) y[i] *= x[i];
  }
}

static void run_gradient(void* data, int64_t begin, int64_t end) {
  const rows_t* rows = data;
  const int64_t n = rows->depth;
  const float factor = -2 * rows->lrn->alpha * rows->lrn->beta;
  float* norms = rows->scratch + begin * 3 * n;
  float *work = norms + n, *sums = work + n;
  for (int64_t r = begin; r < end; ++r) {
    const float *x = rows->x + r * n, *y = rows->y + r * n, *dy = rows->dy + r * n;
    float* dx = rows->result + r * n;
    find_norms(rows, x, work, norms);
    for (int64_t i = 0; i < n; ++i) work[i] = dy[i] * y[i] / norms[i];
    sum_windows(work, n, rows->lrn->radius, sums);
    raise(norms, n, rows->lrn->beta, work);
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * work[i] + factor * x[i] * sums[i];
  }
}

static leat_status_t compute(leat_kernel_context_t* c, bool is_gradient) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  const int64_t depth = leat_shape_dim(shape, 3);
  leat_tensor_t *output, wide_output, scratch;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  if (shape->element_count == 0) return leat_ok_status();
  leat_wide_t wide;
  LEAT_RETURN_IF_ERROR(leat_wide_begin(c, &wide));
  const leat_shape_t flat = leat_shape_vector(shape->element_count * (is_gradient ? 3 : 1));
  leat_status_t status = leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &flat, &scratch);
  if (!status) {
    status = leat_widen_output(c, output, &wide_output);
    if (!status) {
      rows_t rows = {.lrn = leat_kernel_state(c),
                     .dy = is_gradient ? wide.inputs[0].data : NULL,
                     .x = wide.inputs[is_gradient ? 1 : 0].data,
                     .y = is_gradient ? wide.inputs[2].data : NULL,
                     .result = wide_output.data,
                     .scratch = scratch.data,
                     .depth = depth};
      leat_kernel_parallel_for(c, shape->element_count / depth, 8 * (double)depth,
                               is_gradient ? run_gradient : run_forward, &rows);
      leat_narrow(c, &wide_output, output);
      leat_tensor_release(&wide_output);
    }
    leat_tensor_release(&scratch);
  }
  leat_wide_end(&wide);
  return status;
}

static leat_status_t lrn__cpu(leat_kernel_context_t* c) { return compute(c, false); }
static leat_status_t lrn_grad__cpu(leat_kernel_context_t* c) { return compute(c, true); }

#define ROW(name, compute_fn)                                             \
  LEAT_CPU_KERNEL(name, "T: half, float", leat_lrn_t, create, compute_fn)

const leat_kernel_row_t leat_lrn_kernels_cpu[] = {
    ROW("LRN", lrn__cpu),
    ROW("LRNGrad", lrn_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
