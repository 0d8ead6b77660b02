// The Schur form A = Q T Q^H of a complex matrix: Q is unitary, T an upper triangle whose diagonal
// has the eigenvalues. The kernels of matrix functions and of Eig (matrix_function_cpu.c) are built
// on it.
//
//   A ─rotations─▶ H (Hessenberg: one diagonal below the main one) ─QR steps─▶ T
//
// The method is the single-shift QR algorithm of the textbooks (Golub and Van Loan, 7.5). Each QR
// step chases a bulge down the diagonal by rotations and makes the last element below the diagonal
// smaller; with Wilkinson's shift it converges fast, and a row that has converged is split off.
// Reducing to Hessenberg form first makes a step cost O(n^2) instead of O(n^3). Complex arithmetic
// needs no double shifts; real matrices are converted by the caller.
#include <complex.h>
#include <math.h>

#include "ops/matrix/linear_cpu.h"

typedef leat_complex128_t scalar_t;

// Rotates rows (or columns) |i| and |j|: rows (x, y) become (c x + s y, -conj(s) x + c y), columns
// the adjoint of that.
static void rotate_rows(scalar_t* a, int64_t n, int64_t i, int64_t j, int64_t begin, double c,
                        scalar_t s) {
  for (int64_t k = begin; k < n; ++k) {
    const scalar_t x = a[i * n + k], y = a[j * n + k];
    a[i * n + k] = c * x + s * y;
    a[j * n + k] = -conj(s) * x + c * y;
  }
}
static void rotate_columns(scalar_t* a, int64_t n, int64_t i, int64_t j, int64_t end, double c,
                           scalar_t s) {
  for (int64_t k = 0; k < end; ++k) {
    const scalar_t x = a[k * n + i], y = a[k * n + j];
    a[k * n + i] = c * x + conj(s) * y;
    a[k * n + j] = -s * x + c * y;
  }
}

// The rotation that takes (x, y) to (r, 0).
static void find_rotation(scalar_t x, scalar_t y, double* c, scalar_t* s) {
  const double size = hypot(cabs(x), cabs(y));
  if (cabs(y) == 0 || size == 0) {
    *c = 1;
    *s = 0;
  } else if (cabs(x) == 0) {
    *c = 0;
    *s = conj(y) / cabs(y);
  } else {
    *c = cabs(x) / size;
    *s = x / cabs(x) * conj(y) / size;
  }
}

// Makes |a| zero below the first subdiagonal, and accumulates the rotations in |q|.
static void make_hessenberg(scalar_t* a, int64_t n, scalar_t* q) {
  for (int64_t k = 0; k + 2 < n && !LEAT_LINEAR_IS_OVER(n); ++k) {
    for (int64_t i = n - 1; i > k + 1; --i) {
      double c;
      scalar_t s;
      if (a[i * n + k] == 0) continue;
      find_rotation(a[(i - 1) * n + k], a[i * n + k], &c, &s);
      rotate_rows(a, n, i - 1, i, k, c, s);
      a[i * n + k] = 0;
      rotate_columns(a, n, i - 1, i, n, c, s);
      rotate_columns(q, n, i - 1, i, n, c, s);
    }
  }
}

// The eigenvalue of the 2 x 2 block that ends at |last| which is nearer to the block's last
// element.
static scalar_t wilkinson_shift(const scalar_t* a, int64_t n, int64_t last) {
  const scalar_t p = a[(last - 1) * n + last - 1], q = a[(last - 1) * n + last];
  const scalar_t r = a[last * n + last - 1], t = a[last * n + last];
  const scalar_t half = (p - t) / 2, root = csqrt(half * half + q * r);
  const scalar_t one = t + half + root, other = t + half - root;
  return cabs(one - t) < cabs(other - t) ? one : other;
}

// Makes one QR step over rows [first, last] of the Hessenberg matrix |a|.
static void step(scalar_t* a, int64_t n, int64_t first, int64_t last, scalar_t shift, scalar_t* q) {
  scalar_t x = a[first * n + first] - shift, y = a[(first + 1) * n + first];
  for (int64_t k = first; k < last; ++k) {
    double c;
    scalar_t s;
    find_rotation(x, y, &c, &s);
    rotate_rows(a, n, k, k + 1, k > first ? k - 1 : k, c, s);
    if (k > first) a[(k + 1) * n + k - 1] = 0;
    rotate_columns(a, n, k, k + 1, k + 2 < last ? k + 3 : last + 1, c, s);
    rotate_columns(q, n, k, k + 1, n, c, s);
    if (k + 1 < last) {
      x = a[(k + 1) * n + k];
      y = a[(k + 2) * n + k];
    }
  }
}

bool leat_schur_factor(scalar_t* a, int64_t n, scalar_t* q) {
  for (int64_t i = 0; i < n * n; ++i) q[i] = i % (n + 1) == 0;
  make_hessenberg(a, n, q);
  int64_t last = n - 1;
  for (int count = 0; last > 0;) {
    int64_t first = last;
    for (; first > 0; --first) {
      const double around = cabs(a[first * n + first]) + cabs(a[(first - 1) * n + first - 1]);
      const double below = cabs(a[first * n + first - 1]);
      if (!isfinite(below)) return false;
      if (below <= 1e-16 * around || below < 1e-300) break;
    }
    if (first > 0) a[first * n + first - 1] = 0;
    if (first == last) {
      --last;
      count = 0;
      continue;
    }
    if (++count > 100 + 10 * n || LEAT_LINEAR_IS_OVER(n)) return false;
    // Now and then another shift is used, in case the usual one goes in circles.
    const bool is_odd = count % 12 == 11;
    const scalar_t shift = is_odd ? a[last * n + last] + cabs(a[last * n + last - 1])
                                  : wilkinson_shift(a, n, last);
    step(a, n, first, last, shift, q);
  }
  return true;
}
