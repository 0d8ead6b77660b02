// The CPU kernels of MatrixExponential, MatrixLogarithm, MatrixSquareRoot and Eig. A function of a
// matrix with the Schur form A = Q T Q^H (schur_cpu.c) is Q f(T) Q^H, and a function of the upper
// triangle T is far easier to compute:
//
//   sqrt:  R R = T, element by element from the diagonal up (Bjorck and Hammarling)
//   log:   log(T) = 2^k log(T^(1/2^k)): roots until T is near 1, then a Pade approximation
//   exp:   exp(A) = (exp(A / 2^k))^(2^k): scaling, Pade of degree 13, squarings (Higham), no Schur
//   Eig:   the eigenvalues are T's diagonal; vectors by substitution in T, then multiplied by Q
//
// Everything is computed in complex double, whatever the type, because a real matrix may have
// complex eigenvalues. Each function works on one matrix of the batch (linear_cpu.h runs the batch
// on the pool) and returns the text of an error or NULL. "Scratch" is in elements of complex
// double.
#include <complex.h>
#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/matrix/linear_cpu.h"

typedef leat_complex128_t scalar_t;

#define NO_CONVERGENCE "Schur decomposition was not successful. The input might not be valid."

// out = Q F Q^H; |scratch| has n * n elements.
static void turn_back(const scalar_t* q, const scalar_t* f, int64_t n, scalar_t* out,
                      scalar_t* scratch) {
  leat_product_c(q, false, f, false, scratch, n, n, n);
  leat_product_c(scratch, false, q, true, out, n, n, n);
}

// Replaces the upper triangle T by its root R: r(i, i) = sqrt(t(i, i)), and from R R = T follows
// r(i, j) = (t(i, j) - the sum of r(i, k) r(k, j)) / (r(i, i) + r(j, j)).
static void take_root(scalar_t* t, int64_t n) {
  for (int64_t j = 0; j < n && !LEAT_LINEAR_IS_OVER(n); ++j) {
    t[j * n + j] = csqrt(t[j * n + j]);
    for (int64_t i = j - 1; i >= 0; --i) {
      scalar_t sum = t[i * n + j];
      for (int64_t k = i + 1; k < j; ++k) sum -= t[i * n + k] * t[k * n + j];
      const scalar_t whole = t[i * n + i] + t[j * n + j];
      t[i * n + j] = whole == 0 ? 0 : sum / whole;
    }
  }
}

// Writes what a matrix without a Schur form gives: an element of it is infinite or NaN.
static const char* no_numbers(int64_t count, scalar_t* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = NAN + NAN * I;
  return NULL;
}

// The square root. Scratch: 3 n n.
static const char* root(const leat_linear_t* l, const void* const in[], void* const out[],
                        void* scratch) {
  const int64_t n = l->n;
  scalar_t *t = scratch, *q = t + n * n;
  for (int64_t i = 0; i < n * n; ++i) t[i] = ((const scalar_t*)in[0])[i];
  if (!leat_schur_factor(t, n, DBL_EPSILON, q)) return no_numbers(n * n, out[0]);
  take_root(t, n);
  turn_back(q, t, n, out[0], q + n * n);
  return NULL;
}

// ---- Logarithm: roots until T is near 1, then a Pade approximation ------------------------------

// Nodes t and weights w of Gauss-Legendre quadrature on [0, 1]: log(1 + x) = the sum of w x / (1 +
// t x), which equals the diagonal Pade approximation and needs only triangular solves.
static const double kNodes[] = {0.0198550717512319, 0.1016667612931866, 0.2372337950418355,
                                0.4082826787521751, 0.5917173212478249, 0.7627662049581645,
                                0.8983332387068134, 0.9801449282487681};
static const double kWeights[] = {0.0506142681451881, 0.1111905172266872, 0.1568533229389436,
                                  0.1813418916891810, 0.1813418916891810, 0.1568533229389436,
                                  0.1111905172266872, 0.0506142681451881};

// The largest column sum of |T - 1|.
static double distance_from_one(const scalar_t* t, int64_t n) {
  double most = 0;
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t i = 0; i <= j; ++i) sum += cabs(t[i * n + j] - (i == j));
    most = sum > most ? sum : most;
  }
  return most;
}

// |sum| becomes log(T) for |t| near 1. Scratch: 2 n n.
static void add_quotients(scalar_t* t, int64_t n, scalar_t* sum, scalar_t* scratch) {
  scalar_t *divisor = scratch, *term = scratch + n * n;
  for (int64_t i = 0; i < n; ++i) t[i * n + i] -= 1;
  for (int64_t i = 0; i < n * n; ++i) sum[i] = 0;
  for (size_t p = 0; p < sizeof kNodes / sizeof kNodes[0]; ++p) {
    for (int64_t i = 0; i < n * n; ++i) {
      divisor[i] = kNodes[p] * t[i] + (i % (n + 1) == 0);
      term[i] = t[i];
    }
    leat_triangular_solve_c(divisor, n, false, false, term, n);
    for (int64_t i = 0; i < n * n; ++i) sum[i] += kWeights[p] * term[i];
  }
}

// The logarithm. The diagonal is taken from the logarithms of the eigenvalues, which the scaling by
// |scale| would make less accurate. Scratch: 5 n n + n.
static const char* logarithm(const leat_linear_t* l, const void* const in[], void* const out[],
                             void* scratch) {
  const int64_t n = l->n;
  scalar_t *t = scratch, *q = t + n * n, *sum = q + n * n, *rest = sum + n * n;
  scalar_t* diagonal = rest + 2 * n * n;
  for (int64_t i = 0; i < n * n; ++i) t[i] = ((const scalar_t*)in[0])[i];
  if (!leat_schur_factor(t, n, DBL_EPSILON, q)) return no_numbers(n * n, out[0]);
  for (int64_t i = 0; i < n; ++i) {
    diagonal[i] = clog(t[i * n + i]);
    for (int64_t j = 0; j < i; ++j) t[i * n + j] = 0;
  }
  double scale = 1;
  for (int count = 0; count < 60 && distance_from_one(t, n) > 0.25; ++count) {
    take_root(t, n);
    scale *= 2;
  }
  add_quotients(t, n, sum, rest);
  for (int64_t i = 0; i < n * n; ++i) sum[i] *= scale;
  for (int64_t i = 0; i < n; ++i) sum[i * n + i] = diagonal[i];
  turn_back(q, sum, n, out[0], rest);
  return NULL;
}

// ---- Exponential: Pade of degree 13 after scaling, then squarings -------------------------------

// The coefficients of the numerator; the denominator has those of the odd powers negated.
static const double kPade[] = {64764752532480000, 32382376266240000, 7771770303897600,
                               1187353796428800,  129060195264000,   10559470521600,
                               670442572800,      33522128640,       1323241920,
                               40840800,          960960,            16380,
                               182,               1};

static double column_norm(const scalar_t* a, int64_t n) {
  double most = 0;
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += cabs(a[i * n + j]);
    most = sum > most ? sum : most;
  }
  return most;
}

// The exponential. The powers of A / 2^k are summed into odd and even parts; the result solves
// (even - odd) X = even + odd. Scratch: 6 n n + n.
static const char* exponential(const leat_linear_t* l, const void* const in[], void* const out[],
                               void* scratch) {
  const int64_t n = l->n, size = n * n;
  scalar_t *a = scratch, *power = a + size, *next = power + size, *odd = next + size;
  scalar_t *even = odd + size, *result = out[0];
  int64_t* rows = (int64_t*)(even + 2 * size);
  const double norm = column_norm(in[0], n);
  if (!isfinite(norm)) return NO_CONVERGENCE;
  int squarings = 0;
  for (double left = norm; left > 5.37; left /= 2) ++squarings;
  for (int64_t i = 0; i < size; ++i) {
    a[i] = ((const scalar_t*)in[0])[i] * ldexp(1, -squarings);
    power[i] = i % (n + 1) == 0;
    even[i] = kPade[0] * power[i];
    odd[i] = 0;
  }
  for (int k = 1; k <= 13; ++k) {
    leat_product_c(power, false, a, false, next, n, n, n);
    scalar_t* swap = power;
    power = next;
    next = swap;
    scalar_t* sum = k % 2 ? odd : even;
    for (int64_t i = 0; i < size; ++i) sum[i] += kPade[k] * power[i];
  }
  for (int64_t i = 0; i < size; ++i) {
    next[i] = even[i] + odd[i];
    power[i] = even[i] - odd[i];
  }
  leat_lu_factor_c(power, n, rows);
  leat_lu_solve_c(power, rows, n, next, result, n);
  for (int k = 0; k < squarings; ++k) {
    leat_product_c(result, false, result, false, next, n, n, n);
    for (int64_t i = 0; i < size; ++i) result[i] = next[i];
  }
  return NULL;
}

// ---- Eigenvalues --------------------------------------------------------------------------------

// Column |k| of |v| becomes the eigenvector of the triangle T for its element (k, k), by back
// substitution. A gap of 0 between equal eigenvalues is replaced by |least|, which gives a vector
// that is nearly parallel to another one, as LAPACK does.
static void find_vector(const scalar_t* t, int64_t n, int64_t k, double least, scalar_t* v) {
  for (int64_t i = 0; i < n; ++i) v[i * n + k] = i == k;
  for (int64_t i = k - 1; i >= 0; --i) {
    scalar_t sum = 0;
    for (int64_t j = i + 1; j <= k; ++j) sum += t[i * n + j] * v[j * n + k];
    scalar_t gap = t[i * n + i] - t[k * n + k];
    if (gap == 0) gap = least;
    v[i * n + k] = -sum / gap;
  }
}

// Sorts the eigenvalues by size, and the columns of |vectors| with them, which may be NULL.
static void sort_by_size(scalar_t* values, int64_t n, scalar_t* vectors) {
  for (int64_t i = 0; i < n; ++i) {
    int64_t least = i;
    for (int64_t j = i + 1; j < n; ++j) least = cabs(values[j]) < cabs(values[least]) ? j : least;
    if (least == i) continue;
    const scalar_t value = values[i];
    values[i] = values[least];
    values[least] = value;
    for (int64_t k = 0; vectors && k < n; ++k) {
      const scalar_t element = vectors[k * n + i];
      vectors[k * n + i] = vectors[k * n + least];
      vectors[k * n + least] = element;
    }
  }
}

// Makes the columns unit vectors.
static void normalize(scalar_t* vectors, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    double square = 0;
    for (int64_t i = 0; i < n; ++i) square += creal(vectors[i * n + k] * conj(vectors[i * n + k]));
    for (int64_t i = 0; i < n; ++i) vectors[i * n + k] /= sqrt(square);
  }
}

// Eigenvalues and, with flags[0], eigenvectors of unit length. |parameter| is the epsilon of the
// op's type. Scratch: 3 n n.
static const char* complex_eig(const leat_linear_t* l, const void* const in[], void* const out[],
                               void* scratch) {
  const int64_t n = l->n;
  scalar_t *t = scratch, *q = t + n * n, *v = q + n * n, *values = out[0];
  scalar_t* vectors = l->flags[0] ? out[1] : NULL;
  double square = 0;
  for (int64_t i = 0; i < n * n; ++i) t[i] = ((const scalar_t*)in[0])[i];
  if (!leat_schur_factor(t, n, l->parameter, q)) return NO_CONVERGENCE;
  for (int64_t i = 0; i < n; ++i) {
    values[i] = t[i * n + i];
    for (int64_t j = i; j < n; ++j) square += creal(t[i * n + j] * conj(t[i * n + j]));
  }
  if (vectors) {
    const double least = l->parameter * sqrt(square);
    for (int64_t k = 0; k < n && !LEAT_LINEAR_IS_OVER(n); ++k) {
      find_vector(t, n, k, least > 0 ? least : DBL_MIN, v);
    }
    leat_product_c(q, false, v, false, vectors, n, n, n);
    normalize(vectors, n);
  }
  sort_by_size(values, n, vectors);
  return NULL;
}

// The eigenvalues of the blocks of a real Schur form, in their order. Of a pair the one with the
// positive imaginary part comes first.
static void read_blocks(const double* t, int64_t n, scalar_t* values) {
  for (int64_t i = 0; i < n; ++i) {
    values[i] = t[i * n + i];
    if (i + 1 == n || t[(i + 1) * n + i] == 0) continue;
    const double half = (t[i * n + i] - t[(i + 1) * n + i + 1]) / 2;
    const double a = t[(i + 1) * n + i], b = t[i * n + i + 1];
    const double scale = fmax(fabs(half), fmax(fabs(a), fabs(b)));
    const double size = scale * sqrt(fabs(half / scale * (half / scale) + a / scale * (b / scale)));
    values[i] = t[(i + 1) * n + i + 1] + half + size * I;
    values[i + 1] = conj(values[i]);
    ++i;
  }
}

// Column |k| of |v| becomes the eigenvector of a real Schur form for its block at rows [k - 1, k]
// or [k, k], where the last element is i or 1, by back substitution.
static void find_block_vector(const double* t, int64_t n, int64_t k, scalar_t value, double least,
                              scalar_t* v) {
  for (int64_t i = 0; i < n; ++i) v[i * n + k] = 0;
  v[k * n + k] = cimag(value) != 0 ? I : 1;
  for (int64_t i = k - 1; i >= 0; --i) {
    const bool is_pair = i > 0 && t[i * n + i - 1] != 0, is_own = t[(i + 1) * n + i] != 0;
    scalar_t sums[2] = {0, 0};  // of rows i and i - 1
    for (int64_t j = i + 1; j <= k; ++j) {
      sums[0] += t[i * n + j] * v[j * n + k];
      if (is_pair) sums[1] += t[(i - 1) * n + j] * v[j * n + k];
    }
    const scalar_t gap = t[i * n + i] - value;
    if (!is_pair || is_own) {
      v[i * n + k] = -sums[0] / (gap == 0 ? least : gap);
      continue;
    }
    const scalar_t above = t[(i - 1) * n + i - 1] - value;
    const double a = t[(i - 1) * n + i], b = t[i * n + i - 1];
    scalar_t determinant = gap * above - a * b;
    if (determinant == 0) determinant = least * (cabs(gap) + fabs(a) + fabs(b));
    v[i * n + k] = (b * sums[1] - above * sums[0]) / determinant;
    v[(i - 1) * n + k] = (a * sums[0] - gap * sums[1]) / determinant;
    --i;
  }
}

// The real Schur form of |t|, computed in floats, through |scratch| of 2 n n floats.
static bool factor_as_floats(double* t, int64_t n, double* q, float* scratch) {
  float *a = scratch, *b = scratch + n * n;
  for (int64_t i = 0; i < n * n; ++i) a[i] = (float)t[i];
  if (!leat_real_schur_factor_float(a, n, b)) return false;
  for (int64_t i = 0; i < n * n; ++i) {
    t[i] = a[i];
    q[i] = b[i];
  }
  return true;
}

// What |complex_eig| computes, of a real matrix, in the order of its real Schur form.
// Scratch: 3 n n.
static const char* real_eig(const leat_linear_t* l, const void* const in[], void* const out[],
                            void* scratch) {
  const int64_t n = l->n;
  scalar_t *v = scratch, *whole = v + n * n, *values = out[0], *vectors = out[1];
  double *t = (double*)(whole + n * n), *q = t + n * n, norm = 0;
  for (int64_t i = 0; i < n * n; ++i) t[i] = creal(((const scalar_t*)in[0])[i]);
  const bool converged = l->parameter > DBL_EPSILON
                             ? factor_as_floats(t, n, q, (float*)whole)
                             : leat_real_schur_factor_double(t, n, q);
  if (!converged) return NO_CONVERGENCE;
  read_blocks(t, n, values);
  if (!l->flags[0]) return NULL;
  for (int64_t i = 0; i < n * n; ++i) {
    norm += fabs(t[i]);
    whole[i] = q[i];
  }
  const double least = norm > 0 ? l->parameter * norm : DBL_MIN;
  for (int64_t k = 0; k < n && !LEAT_LINEAR_IS_OVER(n); ++k) {
    const bool is_pair = cimag(values[k]) > 0;
    find_block_vector(t, n, k + is_pair, values[k], least, v);
    if (!is_pair) continue;
    for (int64_t i = 0; i < n; ++i) {
      v[i * n + k] = v[i * n + k + 1];
      v[i * n + k + 1] = conj(v[i * n + k]);
    }
    ++k;
  }
  leat_product_c(whole, false, v, false, vectors, n, n, n);
  normalize(vectors, n);
  return NULL;
}

typedef struct leat_eig_s {
  bool vectors;
} leat_eig_t;

static leat_status_t create_eig(leat_kernel_creation_t* c, void* state) {
  int from, to;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "T", &from));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "Tout", &to));
  const bool is_short = from == LEAT_DTYPE_FLOAT || from == LEAT_DTYPE_COMPLEX64;
  if (is_short != (to == LEAT_DTYPE_COMPLEX64)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid output dtype %s for input dtype %s",
                            leat_dtype_name(to), leat_dtype_name(from));
  }
  return leat_kernel_attr_bool(c, "compute_v", &((leat_eig_t*)state)->vectors);
}

// An iteration over infinite or NaN elements does not converge. TensorFlow refuses even a matrix of
// one such element.
static leat_status_t check_finite(const leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const bool is_complex = leat_dtype_in(input->dtype, LEAT_DTYPES_COMPLEX);
  const bool is_double =
      input->dtype == LEAT_DTYPE_DOUBLE || input->dtype == LEAT_DTYPE_COMPLEX128;
  const int64_t count = (is_complex ? 2 : 1) * input->shape.element_count;
  for (int64_t i = 0; i < count; ++i) {
    const double part = is_double ? leat_tensor_data(input, const double)[i]
                                  : (double)leat_tensor_data(input, const float)[i];
    if (isfinite(part)) continue;
    return leat_kernel_invalid(c, "Eigen decomposition was not successful. The input might not be "
                               "valid: an element is not finite");
  }
  return leat_ok_status();
}

static leat_status_t eig__cpu(leat_kernel_context_t* c) {
  LEAT_RETURN_IF_ERROR(check_finite(c));
  const leat_eig_t* kernel = leat_kernel_state(c);
  const bool is_complex = leat_dtype_in(leat_kernel_input(c, 0)->dtype, LEAT_DTYPES_COMPLEX);
  const leat_linear_t l = {.on_complex = is_complex ? complex_eig : real_eig,
                           .flags = {kernel->vectors},
                           .parameter = leat_linear_epsilon(c, 0)};
  return leat_linear_eigen(c, l, 3, 50);
}

static leat_status_t run_function(leat_kernel_context_t* c, leat_linear_fn_t fn) {
  return leat_linear_map_squares(c, (leat_linear_t){.on_complex = fn}, 6, 60);
}
static leat_status_t exponential__cpu(leat_kernel_context_t* c) {
  return run_function(c, exponential);
}
static leat_status_t logarithm__cpu(leat_kernel_context_t* c) {
  return run_function(c, logarithm);
}
static leat_status_t square_root__cpu(leat_kernel_context_t* c) { return run_function(c, root); }

#define ROW(name, types, compute_fn) \
  {.op = name, .device_type = "CPU", .constraints = types, .compute = compute_fn, .expensive = true}

const leat_kernel_row_t leat_matrix_function_kernels_cpu[] = {
    ROW("MatrixExponential", LEAT_LINEAR_TYPES, exponential__cpu),
    ROW("MatrixLogarithm", "T: complex64, complex128", logarithm__cpu),
    ROW("MatrixSquareRoot", LEAT_LINEAR_TYPES, square_root__cpu),
    LEAT_CPU_KERNEL("Eig", LEAT_LINEAR_TYPES, leat_eig_t, create_eig, eig__cpu, .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
