// Fast Fourier transforms.
//
// A length that has small prime factors is transformed factor by factor, in Stockham's order: each
// pass reads one array and writes the other, and the result is in order without a permutation. A
// pass for the factor r takes n points at a stride to r transforms of n / r points. Any other
// length n is a convolution (Bluestein): since kn = (k^2 + n^2 - (k - n)^2) / 2, the transform is a
// product with a chirp, a convolution with its conjugate, and a product again. The convolution is
// done by transforms of the next power of two from 2n - 1.
//
// All is computed in double, so that single precision is exact to its last bits.
#include "ops/signal/transform_cpu.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"

enum {
  MAX_FACTOR = 31,  // a larger prime factor costs more than the detour of Bluestein
  MAX_FACTORS = 64,
};

struct leat_transform_s {
  int64_t length;
  int factor_count;
  int factors[MAX_FACTORS];
  leat_complex_t* roots;  // [length] exp(-2 pi i k / length)
  // Where the length has a large prime factor:
  leat_transform_t* other;  // of a power of two
  leat_complex_t* chirp;    // [length] exp(-pi i k^2 / length)
  leat_complex_t* kernel;   // [other's length] the transform of the chirp's conjugate
};

static leat_complex_t times(leat_complex_t a, leat_complex_t b) {
  return (leat_complex_t){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static leat_complex_t conjugate(leat_complex_t a) { return (leat_complex_t){a.re, -a.im}; }

// exp(-2 pi i |part| / |whole|)
static leat_complex_t root(int64_t part, int64_t whole) {
  double angle = -2 * 3.14159265358979323846 * (double)part / (double)whole;
  return (leat_complex_t){cos(angle), sin(angle)};
}

// ---- Passes -------------------------------------------------------------------------------------

// The sums of two points.
static void pass_2(const leat_transform_t* t, int64_t n, int64_t stride, const leat_complex_t* x,
                   leat_complex_t* y) {
  int64_t m = n / 2;
  for (int64_t p = 0; p < m; ++p) {
    leat_complex_t w = t->roots[p * stride];
    for (int64_t q = 0; q < stride; ++q) {
      leat_complex_t a = x[q + stride * p], b = x[q + stride * (p + m)];
      y[q + stride * 2 * p] = (leat_complex_t){a.re + b.re, a.im + b.im};
      y[q + stride * (2 * p + 1)] = times((leat_complex_t){a.re - b.re, a.im - b.im}, w);
    }
  }
}

// The sums of |r| points, each by the definition.
static void pass(const leat_transform_t* t, int r, int64_t n, int64_t stride,
                 const leat_complex_t* x, leat_complex_t* y) {
  int64_t m = n / r, turn = t->length / r;
  for (int64_t p = 0; p < m; ++p) {
    for (int64_t q = 0; q < stride; ++q) {
      for (int j = 0; j < r; ++j) {
        leat_complex_t sum = x[q + stride * p];
        for (int i = 1; i < r; ++i) {
          leat_complex_t term =
              times(x[q + stride * (p + m * i)], t->roots[(int64_t)(i * j % r) * turn]);
          sum = (leat_complex_t){sum.re + term.re, sum.im + term.im};
        }
        y[q + stride * (r * p + j)] = times(sum, t->roots[p * j * stride]);
      }
    }
  }
}

static void run_factors(const leat_transform_t* t, leat_complex_t* data, leat_complex_t* scratch) {
  leat_complex_t *from = data, *to = scratch;
  int64_t n = t->length, stride = 1;
  for (int f = 0; f < t->factor_count; ++f) {
    int r = t->factors[f];
    if (r == 2) {
      pass_2(t, n, stride, from, to);
    } else {
      pass(t, r, n, stride, from, to);
    }
    n /= r;
    stride *= r;
    leat_complex_t* swap = from;
    from = to;
    to = swap;
  }
  if (from != data) memcpy(data, from, (size_t)t->length * sizeof *data);
}

// ---- Lengths with a large prime factor ----------------------------------------------------------

static void run_chirp(const leat_transform_t* t, leat_complex_t* data, leat_complex_t* scratch) {
  int64_t wide = t->other->length;
  leat_complex_t* padded = scratch;
  memset(padded, 0, (size_t)wide * sizeof *padded);
  for (int64_t k = 0; k < t->length; ++k) padded[k] = times(data[k], t->chirp[k]);
  run_factors(t->other, padded, scratch + wide);
  // The inverse transform of a product is the conjugate of the transform of its conjugate.
  for (int64_t k = 0; k < wide; ++k) padded[k] = conjugate(times(padded[k], t->kernel[k]));
  run_factors(t->other, padded, scratch + wide);
  for (int64_t k = 0; k < t->length; ++k) {
    leat_complex_t sum = conjugate(padded[k]);
    sum.re /= (double)wide;
    sum.im /= (double)wide;
    data[k] = times(sum, t->chirp[k]);
  }
}

static leat_status_t create_chirp(leat_transform_t* t) {
  leat_allocator_t* allocator = leat_allocator_system();
  int64_t wide = 1;
  while (wide < 2 * t->length - 1) wide *= 2;
  LEAT_RETURN_IF_ERROR(leat_transform_create(wide, &t->other));
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      allocator, (size_t)t->length, sizeof *t->chirp, (void**)&t->chirp));
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(allocator, (size_t)wide, sizeof *t->kernel,
                                                     (void**)&t->kernel));
  for (int64_t k = 0, square = 0; k < t->length; ++k) {
    t->chirp[k] = root(square, 2 * t->length);
    t->kernel[k] = t->kernel[k ? wide - k : 0] = conjugate(t->chirp[k]);
    square = (square + 2 * k + 1) % (2 * t->length);  // (k + 1)^2, which would overflow
  }
  leat_complex_t* scratch;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(allocator, (size_t)wide, sizeof *scratch,
                                                     (void**)&scratch));
  run_factors(t->other, t->kernel, scratch);
  leat_allocator_free(allocator, scratch);
  return leat_ok_status();
}

// ---- Plans --------------------------------------------------------------------------------------

// Finds the factors; false where one of them is large.
static bool find_factors(leat_transform_t* t) {
  int64_t rest = t->length;
  for (int r = 2; r <= MAX_FACTOR; ++r) {
    for (; rest % r == 0; rest /= r) t->factors[t->factor_count++] = r;
  }
  return rest == 1;
}

static leat_status_t create_factors(leat_transform_t* t) {
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      leat_allocator_system(), (size_t)t->length, sizeof *t->roots, (void**)&t->roots));
  for (int64_t k = 0; k < t->length; ++k) t->roots[k] = root(k, t->length);
  return leat_ok_status();
}

leat_status_t leat_transform_create(int64_t length, leat_transform_t** out_transform) {
  *out_transform = NULL;
  leat_transform_t* t;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(leat_allocator_system(), sizeof *t, (void**)&t));
  t->length = length;
  leat_status_t status = find_factors(t) ? create_factors(t) : create_chirp(t);
  if (status) {
    leat_transform_free(t);
    return status;
  }
  *out_transform = t;
  return leat_ok_status();
}

void leat_transform_free(leat_transform_t* transform) {
  if (!transform) return;
  leat_allocator_t* allocator = leat_allocator_system();
  leat_transform_free(transform->other);
  leat_allocator_free(allocator, transform->roots);
  leat_allocator_free(allocator, transform->chirp);
  leat_allocator_free(allocator, transform->kernel);
  leat_allocator_free(allocator, transform);
}

int64_t leat_transform_scratch(const leat_transform_t* transform) {
  return transform->other ? 2 * transform->other->length : transform->length;
}

void leat_transform_run(const leat_transform_t* transform, bool inverse, leat_complex_t* data,
                        leat_complex_t* scratch) {
  for (int64_t k = 0; inverse && k < transform->length; ++k) data[k] = conjugate(data[k]);
  if (transform->other) {
    run_chirp(transform, data, scratch);
  } else {
    run_factors(transform, data, scratch);
  }
  double scale = 1 / (double)transform->length;
  for (int64_t k = 0; inverse && k < transform->length; ++k) {
    data[k] = (leat_complex_t){data[k].re * scale, -data[k].im * scale};
  }
}
