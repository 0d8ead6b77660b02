// The CPU kernels of TridiagonalSolve and TridiagonalMatMul. Each checks shapes and describes a run
// over the batch to linear_cpu.h. tridiagonal_steps.inc, included twice for double and complex
// double, has the algorithms for one matrix.
//
// The attribute partial_pivoting chooses between elimination with and without exchanges of rows.
// The first is stable, the second faster on matrices that need none. perturb_singular needs
// pivoting: it moves pivots away from zero instead of giving NaN. The step by which it moves them
// depends on the epsilon of the node's type, not on that of the double in which the kernel
// computes.
#include <complex.h>
#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/matrix/linear_cpu.h"

#define SCALAR double
#define NAME(x) x##_r
#define MAGNITUDE(x) fabs(x)
#define REAL(x) (x)
#include "ops/matrix/tridiagonal_steps.inc"
#define SCALAR leat_complex128_t
#define NAME(x) x##_c
#define MAGNITUDE(x) cabs(x)
#define REAL(x) creal(x)
#include "ops/matrix/tridiagonal_steps.inc"

typedef struct leat_tridiagonal_s {
  bool pivots, perturbs;
} leat_tridiagonal_t;

static leat_status_t create_solve(leat_kernel_creation_t* c, void* state) {
  leat_tridiagonal_t* kernel = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "partial_pivoting", &kernel->pivots));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "perturb_singular", &kernel->perturbs));
  if (kernel->pivots || !kernel->perturbs) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Setting perturb_singular requires also setting partial_pivoting.");
}

// Whether numbers of the type have the precision of a float, although the kernel computes in
// double.
static bool is_single(int dtype) {
  return dtype == LEAT_DTYPE_FLOAT || dtype == LEAT_DTYPE_COMPLEX64;
}

// Input 0 has the three diagonals as the rows of a [3, n] matrix; input 1 has k right sides as the
// columns of an [n, k] matrix.
static leat_status_t solve__cpu(leat_kernel_context_t* c) {
  const leat_tridiagonal_t* kernel = leat_kernel_state(c);
  int64_t n, k;
  leat_tensor_t* output;
  leat_linear_matrix(c, 1, &n, &k);
  const leat_shape_t* shape = &leat_kernel_input(c, 1)->shape;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  leat_linear_t l = {
      .on_real = kernel->pivots ? solve_pivoting_r : solve_plainly_r,
      .on_complex = kernel->pivots ? solve_pivoting_c : solve_plainly_c,
      .batch = leat_linear_batch(shape),
      .n = n,
      .k = k,
      .flags = {kernel->perturbs},
      .parameter = is_single(output->dtype) ? (double)FLT_EPSILON : DBL_EPSILON,
      .input_count = 2,
      .output_count = 1,
      .input_sizes = {3 * n, n * k},
      .output_sizes = {n * k},
      .scratch_size = 3 * n,
      .cost_ns = 5 * (double)n * (double)(k + 1)};
  return leat_linear_run(c, &l);
}

// Inputs 0 to 2 are the diagonals, each a [1, m] matrix; input 3 is the [m, k] matrix that they are
// multiplied by.
static leat_status_t multiply__cpu(leat_kernel_context_t* c) {
  int64_t m, k;
  leat_tensor_t* output;
  leat_linear_matrix(c, 3, &m, &k);
  const leat_shape_t* shape = &leat_kernel_input(c, 3)->shape;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  leat_linear_t l = {.on_real = multiply_r,
                     .on_complex = multiply_c,
                     .batch = leat_linear_batch(shape),
                     .n = m,
                     .k = k,
                     .input_count = 4,
                     .output_count = 1,
                     .input_sizes = {m, m, m, m * k},
                     .output_sizes = {m * k},
                     .cost_ns = 3 * (double)m * (double)k};
  return leat_linear_run(c, &l);
}

const leat_kernel_row_t leat_tridiagonal_kernels_cpu[] = {
    {.op = "TridiagonalSolve",
     .device_type = "CPU",
     .constraints = LEAT_LINEAR_TYPES,
     .create = create_solve,
     .state_bytes = sizeof(leat_tridiagonal_t),
     .compute = solve__cpu,
     .expensive = true},
    {.op = "TridiagonalMatMul",
     .device_type = "CPU",
     .constraints = LEAT_LINEAR_TYPES,
     .compute = multiply__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
