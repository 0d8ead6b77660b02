// The CPU kernels of Cholesky, CholeskyGrad, Qr, Svd and SelfAdjointEig (V2), and of their
// deprecated Batch forms. Each kernel checks shapes, allocates outputs and describes a run;
// linear_cpu.h runs it over the batch, and decomposition_steps.inc, included twice for double and
// complex double, has the function for one matrix.
//
//   Qr:  a [..., m, n] -> q [..., m, p], r [..., p, n]     p = min(m, n); m when full
//   Svd: a [..., m, n] -> s [..., p], u [..., m, p], v [..., n, p]     (u, v square when full)
//   SelfAdjointEigV2: a [..., n, n] -> e [..., n], v [..., n, n]
//
// Outputs that were not asked for (compute_uv or compute_v false) are scalars of 0, as in
// TensorFlow. Scratch sizes here must agree with the comments in decomposition_steps.inc.
#include <complex.h>
#include <math.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/matrix/linear_cpu.h"

#define NOT_FOUND                                                       \
  "Self-adjoint eigen decomposition was not successful. The input might " \
  "not be valid."

#define SCALAR double
#define NAME(x) x##_r
#define CONJ(x) (x)
#include "ops/matrix/decomposition_steps.inc"
#define SCALAR leat_complex128_t
#define NAME(x) x##_c
#define CONJ(x) conj(x)
#include "ops/matrix/decomposition_steps.inc"

typedef struct leat_decomposition_s {
  bool vectors, full;
} leat_decomposition_t;

static leat_status_t create_qr(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "full_matrices", &((leat_decomposition_t*)state)->full);
}
static leat_status_t create_svd(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(create_qr(c, state));
  return leat_kernel_attr_bool(c, "compute_uv", &((leat_decomposition_t*)state)->vectors);
}
static leat_status_t create_eig(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "compute_v", &((leat_decomposition_t*)state)->vectors);
}

static leat_status_t cholesky__cpu(leat_kernel_context_t* c) {
  return leat_linear_map_squares(
      c, (leat_linear_t){.on_real = cholesky_r, .on_complex = cholesky_c}, 0, 1.0 / 3);
}

// Input 0 is the factor, and input 1 its gradient.
static leat_status_t cholesky_grad__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  const int64_t n = leat_linear_size(c);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  leat_linear_t l = {.on_real = cholesky_grad_r,
                     .on_complex = cholesky_grad_c,
                     .batch = leat_linear_batch(shape),
                     .n = n,
                     .input_count = 2,
                     .output_count = 1,
                     .input_sizes = {n * n, n * n},
                     .output_sizes = {n * n},
                     .scratch_size = 2 * n * n,
                     .cost_ns = 3 * leat_linear_cube(n)};
  return leat_linear_run(c, &l);
}

static leat_status_t qr__cpu(leat_kernel_context_t* c) {
  const leat_decomposition_t* kernel = leat_kernel_state(c);
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  int64_t m, n;
  leat_tensor_t *q, *r;
  leat_linear_matrix(c, 0, &m, &n);
  const int64_t k = kernel->full ? m : LEAT_MIN(m, n);
  LEAT_RETURN_IF_ERROR(leat_linear_allocate(c, 0, shape, 2, m, k, &q));
  LEAT_RETURN_IF_ERROR(leat_linear_allocate(c, 1, shape, 2, k, n, &r));
  leat_linear_t l = {.on_real = qr_r,
                     .on_complex = qr_c,
                     .batch = leat_linear_batch(shape),
                     .m = m,
                     .n = n,
                     .k = k,
                     .input_count = 1,
                     .output_count = 2,
                     .input_sizes = {m * n},
                     .output_sizes = {m * k, k * n},
                     .scratch_size = m * n + LEAT_MAX(m, n),
                     .cost_ns = 4 * (double)(m * n) * (double)LEAT_MIN(m, n)};
  return leat_linear_run(c, &l);
}

static leat_status_t svd__cpu(leat_kernel_context_t* c) {
  const leat_decomposition_t* kernel = leat_kernel_state(c);
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  int64_t m, n;
  leat_tensor_t* output;
  leat_linear_matrix(c, 0, &m, &n);
  const int64_t p = LEAT_MIN(m, n), most = LEAT_MAX(m, n);
  const int64_t u_columns = kernel->full ? m : p, v_columns = kernel->full ? n : p;
  LEAT_RETURN_IF_ERROR(leat_linear_allocate(c, 0, shape, 1, p, 0, &output));
  if (kernel->vectors) {
    LEAT_RETURN_IF_ERROR(leat_linear_allocate(c, 1, shape, 2, m, u_columns, &output));
    LEAT_RETURN_IF_ERROR(leat_linear_allocate(c, 2, shape, 2, n, v_columns, &output));
  } else {
    LEAT_RETURN_IF_ERROR(leat_linear_allocate_unused(c, 1));
    LEAT_RETURN_IF_ERROR(leat_linear_allocate_unused(c, 2));
  }
  // Full factors of an empty matrix still need a basis.
  if (p == 0 && !(kernel->vectors && kernel->full)) return leat_ok_status();
  leat_linear_t l = {.on_real = svd_r,
                     .on_complex = svd_c,
                     .batch = leat_linear_batch(shape),
                     .m = m,
                     .n = n,
                     .flags = {kernel->vectors, kernel->full},
                     .input_count = 1,
                     .output_count = kernel->vectors ? 3 : 1,
                     .input_sizes = {m * n},
                     .output_sizes = {p, m * u_columns, n * v_columns},
                     .scratch_size = m * n + p * p + 2 * most * most + most + p,
                     .cost_ns = 20 * (double)(m * n) * (double)p};
  return leat_linear_run(c, &l);
}

// A matrix with an infinite or NaN element has no eigenvalues: TensorFlow's iteration does not
// converge and the op fails, so that it fails here too. Only the lower triangle is looked at, as
// only that is read, and a matrix of one element is its own eigenvalue whatever it is.
static leat_status_t check_finite(const leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const int64_t n = leat_linear_size(c);
  if (n < 2) return leat_ok_status();
  const bool is_complex = leat_dtype_in(input->dtype, LEAT_DTYPES_COMPLEX);
  const bool is_double =
      input->dtype == LEAT_DTYPE_DOUBLE || input->dtype == LEAT_DTYPE_COMPLEX128;
  const int parts = is_complex ? 2 : 1;
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    if (i % n > i / n % n) continue;  // above the diagonal
    for (int k = 0; k < parts; ++k) {
      const int64_t at = i * parts + k;
      const double part = is_double ? leat_tensor_data(input, const double)[at]
                                    : leat_tensor_data(input, const float)[at];
      if (isfinite(part)) continue;
      return leat_kernel_invalid(c, "Self-adjoint eigen decomposition was not successful: an "
                                 "element of the input is not finite");
    }
  }
  return leat_ok_status();
}

static leat_status_t self_adjoint_eig_v2__cpu(leat_kernel_context_t* c) {
  LEAT_RETURN_IF_ERROR(check_finite(c));
  const leat_decomposition_t* kernel = leat_kernel_state(c);
  const leat_linear_t l = {
      .on_real = hermitian_r,
      .on_complex = hermitian_c,
      .flags = {kernel->vectors},
      .parameter = leat_linear_epsilon(c, 0)};
  return leat_linear_eigen(c, l, 3, 10);
}

// The deprecated form: eigenvalues and eigenvectors in one output [..., n + 1, n].
static leat_status_t self_adjoint_eig__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  const int64_t n = leat_linear_size(c);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(check_finite(c));
  LEAT_RETURN_IF_ERROR(leat_linear_allocate(c, 0, shape, 2, n + 1, n, &output));
  leat_linear_t l = {.on_real = stacked_r,
                     .on_complex = stacked_c,
                     .batch = leat_linear_batch(shape),
                     .n = n,
                     .flags = {true},
                     .parameter = leat_linear_epsilon(c, 0),
                     .input_count = 1,
                     .output_count = 1,
                     .input_sizes = {n * n},
                     .output_sizes = {(n + 1) * n},
                     .scratch_size = 3 * n * n + n,
                     .cost_ns = 10 * leat_linear_cube(n)};
  return leat_linear_run(c, &l);
}

#define REAL "T: float, double"
#define ROW(name, types, create_fn, compute_fn)                                                \
  LEAT_CPU_KERNEL(name, types, leat_decomposition_t, create_fn, compute_fn, .expensive = true)

const leat_kernel_row_t leat_decomposition_kernels_cpu[] = {
    ROW("Cholesky", LEAT_LINEAR_TYPES, NULL, cholesky__cpu),
    ROW("CholeskyGrad", REAL, NULL, cholesky_grad__cpu),
    ROW("Qr", "T: half, float, double, complex64, complex128", create_qr, qr__cpu),
    ROW("Svd", LEAT_LINEAR_TYPES, create_svd, svd__cpu),
    ROW("SelfAdjointEigV2", LEAT_LINEAR_TYPES, create_eig, self_adjoint_eig_v2__cpu),
    ROW("SelfAdjointEig", REAL, NULL, self_adjoint_eig__cpu),
    ROW("BatchCholesky", REAL, NULL, cholesky__cpu),
    ROW("BatchCholeskyGrad", REAL, NULL, cholesky_grad__cpu),
    ROW("BatchSelfAdjointEig", REAL, NULL, self_adjoint_eig__cpu),
    ROW("BatchSelfAdjointEigV2", LEAT_LINEAR_TYPES, create_eig, self_adjoint_eig_v2__cpu),
    ROW("BatchSvd", LEAT_LINEAR_TYPES, create_svd, svd__cpu),
    LEAT_KERNEL_ROWS_END,
};
