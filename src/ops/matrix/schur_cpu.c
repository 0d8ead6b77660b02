// The Schur form A = Q T Q^H of a complex matrix: Q is unitary, T an upper triangle whose diagonal
// has the eigenvalues. The kernels of matrix functions and of Eig (matrix_function_cpu.c) are built
// on it.
//
//   A ─reflections─▶ H (Hessenberg: one diagonal below the main one) ─QR steps─▶ T
//
// The method is the single-shift QR algorithm of the textbooks (Golub and Van Loan, 7.5). Each QR
// step chases a bulge down the diagonal by rotations and makes the last element below the diagonal
// smaller; with the shift it converges fast, and a row that has converged is split off. Reducing to
// Hessenberg form first makes a step cost O(n^2) instead of O(n^3). Complex arithmetic needs no
// double shifts; real matrices are converted by the caller.
//
// The order of the eigenvalues and the phases of the columns of Q are not unique. They follow from
// the signs of reflections and rotations, the shifts, and when an element is taken for zero, which
// are as in the library that TensorFlow uses, so that Eig gives TensorFlow's eigenvectors.
#include <complex.h>
#include <math.h>

#include "ops/matrix/linear_cpu.h"

typedef leat_complex128_t scalar_t;

// A size of a complex number that needs no root.
static double size_of(scalar_t x) { return fabs(creal(x)) + fabs(cimag(x)); }
static double square_of(scalar_t x) { return creal(x) * creal(x) + cimag(x) * cimag(x); }

// ---- Hessenberg form ----------------------------------------------------------------------------

// Finds the reflection I - tau v v^H with v = (1, tail) that takes |x|, whose |count| elements are
// |n| apart, to (beta, 0) with beta real. |x| becomes v.
static scalar_t find_reflection(scalar_t* x, int64_t n, int64_t count, double* out_beta) {
  const scalar_t first = x[0];
  double tail = 0;
  for (int64_t i = 1; i < count; ++i) tail += square_of(x[i * n]);
  x[0] = 1;
  *out_beta = creal(first);
  if (tail == 0 && cimag(first) == 0) return 0;
  const double size = sqrt(square_of(first) + tail), beta = creal(first) >= 0 ? -size : size;
  for (int64_t i = 1; i < count; ++i) x[i * n] /= first - beta;
  *out_beta = beta;
  return conj((beta - first) / beta);
}

// Applies the adjoint of a reflection from the right: to the last |count| elements of each row.
static void reflect_rows(scalar_t* a, int64_t n, int64_t count, const scalar_t* v, scalar_t tau) {
  for (int64_t j = 0; j < n; ++j) {
    scalar_t *row = a + (j + 1) * n - count, sum = 0;
    for (int64_t r = 0; r < count; ++r) sum += row[r] * v[r * n];
    sum *= conj(tau);
    for (int64_t r = 0; r < count; ++r) row[r] -= sum * conj(v[r * n]);
  }
}

// Makes |a| zero below the first subdiagonal, and accumulates the reflections in |q|.
static void make_hessenberg(scalar_t* a, int64_t n, scalar_t* q) {
  for (int64_t i = 0; i + 1 < n && !LEAT_LINEAR_IS_OVER(n); ++i) {
    const int64_t count = n - i - 1;
    scalar_t* v = a + (i + 1) * n + i;
    double beta;
    const scalar_t tau = find_reflection(v, n, count, &beta);
    for (int64_t j = 1; j <= count; ++j) {  // from the left, on the columns behind i
      scalar_t sum = 0;
      for (int64_t r = 0; r < count; ++r) sum += conj(v[r * n]) * v[r * n + j];
      sum *= tau;
      for (int64_t r = 0; r < count; ++r) v[r * n + j] -= v[r * n] * sum;
    }
    reflect_rows(a, n, count, v, tau);
    reflect_rows(q, n, count, v, tau);
    v[0] = beta;
    for (int64_t r = 1; r < count; ++r) v[r * n] = 0;
  }
}

// ---- QR steps -----------------------------------------------------------------------------------

// A rotation takes rows (x, y) to (c x - conj(s) y, s x + c y), columns to (c x - s y,
// conj(s) x + c y).
typedef struct rotation_s {
  double c;
  scalar_t s;
} rotation_t;

static void rotate_rows(scalar_t* a, int64_t n, int64_t i, int64_t begin, rotation_t r) {
  for (int64_t k = begin; k < n; ++k) {
    const scalar_t x = a[i * n + k], y = a[(i + 1) * n + k];
    a[i * n + k] = r.c * x - conj(r.s) * y;
    a[(i + 1) * n + k] = r.s * x + r.c * y;
  }
}
static void rotate_columns(scalar_t* a, int64_t n, int64_t i, int64_t end, rotation_t r) {
  for (int64_t k = 0; k < end; ++k) {
    const scalar_t x = a[k * n + i], y = a[k * n + i + 1];
    a[k * n + i] = r.c * x - r.s * y;
    a[k * n + i + 1] = conj(r.s) * x + r.c * y;
  }
}

// The rotation whose rows take (x, y) to (r, 0), where r has the phase of x, or the opposite one if
// the real part of x is negative: r's is never.
static rotation_t find_rotation(scalar_t x, scalar_t y) {
  if (y == 0) return (rotation_t){creal(x) < 0 ? -1 : 1, 0};
  if (x == 0) return (rotation_t){0, -y / cabs(y)};
  const double scale = size_of(x) > size_of(y) ? size_of(x) : size_of(y);
  const scalar_t p = x / scale, q = y / scale;
  const double p_size = cabs(p), whole = hypot(p_size, cabs(q));
  const double c = copysign(p_size / whole, creal(x) < 0 ? -1 : 1);
  return (rotation_t){c, -q * conj(p) * (c / (p_size * p_size))};
}

// The eigenvalue of the 2 x 2 block that ends at |last| which is nearer to the block's last
// element. Of the two the larger one is computed first, and the other from their product.
static scalar_t nearer_eigenvalue(const scalar_t* a, int64_t n, int64_t last) {
  scalar_t t[4] = {a[(last - 1) * n + last - 1], a[(last - 1) * n + last],
                   a[last * n + last - 1], a[last * n + last]};
  const double scale = cabs(t[0]) + cabs(t[1]) + cabs(t[2]) + cabs(t[3]);
  for (int i = 0; i < 4; ++i) t[i] /= scale;
  const scalar_t product = t[1] * t[2], gap = t[0] - t[3], trace = t[0] + t[3];
  const scalar_t determinant = t[0] * t[3] - product, root = csqrt(gap * gap + 4 * product);
  scalar_t one = (trace + root) / 2, other = (trace - root) / 2;
  if (size_of(one) > size_of(other)) {
    other = determinant / one;
  } else if (size_of(other) != 0) {
    one = determinant / other;
  }
  return scale * (size_of(one - t[3]) < size_of(other - t[3]) ? one : other);
}

// The shift of a step. Now and then another one is used, in case the usual one goes in circles.
static scalar_t choose_shift(const scalar_t* a, int64_t n, int64_t last, int count) {
  if ((count == 10 || count == 20) && last > 1) {
    return fabs(creal(a[last * n + last - 1])) + fabs(creal(a[(last - 1) * n + last - 2]));
  }
  return nearer_eigenvalue(a, n, last);
}

// Makes one QR step over rows [first, last] of the Hessenberg matrix |a|.
static void step(scalar_t* a, int64_t n, int64_t first, int64_t last, scalar_t shift, scalar_t* q) {
  scalar_t x = a[first * n + first] - shift, y = a[(first + 1) * n + first];
  for (int64_t k = first; k < last; ++k) {
    const rotation_t r = find_rotation(x, y);
    rotate_rows(a, n, k, k > first ? k - 1 : k, r);
    if (k > first) a[(k + 1) * n + k - 1] = 0;
    rotate_columns(a, n, k, k + 2 < last ? k + 3 : last + 1, r);
    rotate_columns(q, n, k, n, r);
    if (k + 1 < last) {
      x = a[(k + 1) * n + k];
      y = a[(k + 2) * n + k];
    }
  }
}

// Whether the element below the diagonal in column |i| may be taken for zero, which it then is.
static bool is_negligible(scalar_t* a, int64_t n, int64_t i, double epsilon) {
  scalar_t* below = &a[(i + 1) * n + i];
  const double around = size_of(a[i * n + i]) + size_of(a[(i + 1) * n + i + 1]);
  if (!(size_of(*below) <= around * epsilon)) return false;
  *below = 0;
  return true;
}

bool leat_schur_factor(scalar_t* a, int64_t n, double epsilon, scalar_t* q) {
  for (int64_t i = 0; i < n * n; ++i) {
    q[i] = i % (n + 1) == 0;
    if (!isfinite(size_of(a[i])) && n > 1) return false;
  }
  make_hessenberg(a, n, q);
  int64_t last = n - 1;
  int count = 0;  // of the steps since a row was split off
  for (int64_t total = 0;; ++total) {
    while (last > 0 && is_negligible(a, n, last - 1, epsilon)) {
      --last;
      count = 0;
    }
    if (last <= 0) return true;
    if (total >= 30 * n || LEAT_LINEAR_IS_OVER(n)) return false;
    int64_t first = last - 1;
    while (first > 0 && !is_negligible(a, n, first - 1, epsilon)) --first;
    step(a, n, first, last, choose_shift(a, n, last, ++count), q);
  }
}
