// The CPU kernel of MatrixSolveLs, linear least squares: the X that minimizes |A X - B|^2 + l2
// |X|^2, for each matrix of a batch.
//
//   matrix [..., m, n], rhs [..., m, k], l2_regularizer (a double) -> [..., n, k]
//
// With the attribute "fast" it solves the normal equations. Otherwise it works by singular values,
// which ignores l2, as TensorFlow's slow path does. solve_ls_steps.inc has both for one matrix, and
// linear_cpu.h runs them over the batch. The cut-off for singular values is epsilon of the node's
// type times min(m, n), although the computation runs in double, so that the rank that is found is
// the one of the type.
#include <complex.h>
#include <float.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/matrix/linear_cpu.h"

#define ILL_CONDITIONED                                                                     \
  "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a " \
  "larger l2_regularizer > 0."

#define SCALAR double
#define NAME(x) x##_r
#define CONJ(x) (x)
#include "ops/matrix/solve_ls_steps.inc"
#define SCALAR leat_complex128_t
#define NAME(x) x##_c
#define CONJ(x) conj(x)
#include "ops/matrix/solve_ls_steps.inc"

typedef struct leat_solve_ls_s {
  bool is_fast;
} leat_solve_ls_t;

static leat_status_t create_solve_ls(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "fast", &((leat_solve_ls_t*)state)->is_fast);
}

static leat_status_t solve_ls__cpu(leat_kernel_context_t* c) {
  const leat_solve_ls_t* kernel = leat_kernel_state(c);
  const double l2 = *leat_tensor_data(leat_kernel_input(c, 2), double);
  int64_t m, n, k;
  leat_tensor_t* output;
  leat_linear_matrix(c, 0, &m, &n);
  leat_linear_matrix(c, 1, &m, &k);
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  LEAT_RETURN_IF_ERROR(leat_linear_allocate(c, 0, shape, 2, n, k, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  if (!(l2 >= 0)) return leat_kernel_invalid(c, "l2_regularizer must be >= 0.");
  if (m == 0) {
    leat_tensor_fill_zero(output);
    return leat_ok_status();
  }
  const bool is_single =
      output->dtype == LEAT_DTYPE_FLOAT || output->dtype == LEAT_DTYPE_COMPLEX64;
  const int64_t p = LEAT_MIN(m, n);
  leat_linear_t l = {
      .on_real = kernel->is_fast ? solve_normal_r : solve_by_values_r,
      .on_complex = kernel->is_fast ? solve_normal_c : solve_by_values_c,
      .batch = leat_linear_batch(shape),
      .m = m,
      .n = n,
      .k = k,
      .parameter = kernel->is_fast ? l2
                                   : (is_single ? (double)FLT_EPSILON : DBL_EPSILON) * (double)p,
      .input_count = 2,
      .output_count = 1,
      .input_sizes = {m * n, m * k},
      .output_sizes = {n * k},
      .scratch_size = m * n + 2 * p * p + p * k + p,
      .cost_ns = (kernel->is_fast ? 1 : 20) * (double)(m * n) * (double)(p + k)};
  return leat_linear_run(c, &l);
}

#define ROW(name, types)                                                        \
  LEAT_CPU_KERNEL(name, types, leat_solve_ls_t, create_solve_ls, solve_ls__cpu, \
                  .expensive = true)

const leat_kernel_row_t leat_solve_ls_kernels_cpu[] = {
    ROW("MatrixSolveLs", LEAT_LINEAR_TYPES),
    ROW("BatchMatrixSolveLs", "T: float, double"),
    LEAT_KERNEL_ROWS_END,
};
