// LRN and its gradient for one pixel, compiled for each instruction set. With w(j) the channels at
// most |radius| away from j:
//
//   norm(j) = bias + alpha sum over k in w(j) of x(k)^2        y(j) = x(j) norm(j)^-beta
//   dx(k) = dy(k) norm(k)^-beta - 2 alpha beta x(k) sum over j in w(k) of dy(j) y(j) / norm(j)
//
// Both sums are over windows of channels. Narrow windows are summed anew for each channel, WIDTH
// channels side by side: what is summed lies between two margins of zeros, so that the windows at
// the ends are as wide as the others.
//
//   values:  0 .. 0 | v(0) v(1) v(2) ...             | 0 .. 0
//             [--- window of channel 0 ---]
//              [--- window of channel 1 ---]
//
// Wide windows slide: the element that comes in is added and the one that leaves subtracted, in
// double, because errors of float would add up along the channels.
//
// The power goes through the vector functions for exp and log, unless beta is 1/2 or 1.
#include "base/checked.h"
#include "device/cpu/vector_math.h"
#include "ops/nn/lrn_cpu.h"

#define WIDTH 32
#define MARGIN LEAT_LRN_MOST_NARROW
#define MATH LEAT_ISA_NAME(leat_vector_math)

// Sets sums(j) to the sum of the |width| values from first(j) on.
static void sum_narrow(const float* first, int64_t n, int64_t width, float* restrict sums) {
  int64_t j = 0;
  for (; j + WIDTH <= n; j += WIDTH) {
    float partial[WIDTH] = {0};
    for (int64_t k = 0; k < width; ++k) {
      LEAT_UNROLL for (int t = 0; t < WIDTH; ++t) partial[t] += first[j + k + t];
    }
    for (int t = 0; t < WIDTH; ++t) sums[j + t] = partial[t];
  }
  for (; j < n; ++j) {
    float sum = 0;
    for (int64_t k = 0; k < width; ++k) sum += first[j + k];
    sums[j] = sum;
  }
}

static void sum_wide(const float* values, int64_t n, int64_t radius, float* sums) {
  double sum = 0;
  for (int64_t k = 0; k < LEAT_MIN(radius, n); ++k) sum += (double)values[k];
  for (int64_t j = 0; j < n; ++j) {
    if (j + radius < n) sum += (double)values[j + radius];
    sums[j] = (float)sum;
    if (j - radius >= 0) sum -= (double)values[j - radius];
  }
}

// Sets sums(j) to the sum of values(k) over the window of j. Margins of zeros lie around |values|.
static void sum_windows(const float* values, int64_t n, int64_t radius, float* sums) {
  if (radius <= MARGIN) {
    sum_narrow(values - radius, n, 2 * radius + 1, sums);
  } else {
    sum_wide(values, n, radius, sums);
  }
}

// Sets powers to norms^-beta; they may be the same array.
static void raise(const float* norms, int64_t n, float beta, float* powers) {
  if (beta == 0.5f) {
    MATH.rsqrt_f32(norms, powers, n);
  } else if (beta == 1) {
    for (int64_t i = 0; i < n; ++i) powers[i] = 1 / norms[i];
  } else {
    MATH.log_f32(norms, powers, n);
    for (int64_t i = 0; i < n; ++i) powers[i] *= -beta;
    MATH.exp_f32(powers, powers, n);
  }
}

// Writes the norms of |x| to |norms|; |squares| has margins of zeros.
static void find_norms(const leat_lrn_t* lrn, int64_t n, const float* restrict x,
                       float* restrict squares, float* restrict norms) {
  const float bias = lrn->bias, alpha = lrn->alpha;
  for (int64_t i = 0; i < n; ++i) squares[i] = x[i] * x[i];
  sum_windows(squares, n, lrn->radius, norms);
  for (int64_t i = 0; i < n; ++i) norms[i] = bias + alpha * norms[i];
}

static void forward(const leat_lrn_t* lrn, int64_t n, const float* x, float* scratch,
                    float* restrict y) {
  find_norms(lrn, n, x, scratch + MARGIN, y);
  raise(y, n, lrn->beta, y);
  for (int64_t i = 0; i < n; ++i) y[i] *= x[i];
}

static void gradient(const leat_lrn_t* lrn, int64_t n, const float* dy, const float* x,
                     const float* y, float* scratch, float* restrict dx) {
  const float factor = -2 * lrn->alpha * lrn->beta;
  float* restrict work = scratch + MARGIN;
  float* restrict norms = work + n + MARGIN;
  float* restrict sums = norms + n;
  find_norms(lrn, n, x, work, norms);
  for (int64_t i = 0; i < n; ++i) work[i] = dy[i] * y[i] / norms[i];
  sum_windows(work, n, lrn->radius, sums);
  raise(norms, n, lrn->beta, norms);
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * norms[i] + factor * x[i] * sums[i];
}

extern const leat_lrn_rows_t LEAT_ISA_NAME(leat_lrn_rows);
const leat_lrn_rows_t LEAT_ISA_NAME(leat_lrn_rows) = {.forward = forward, .gradient = gradient};
