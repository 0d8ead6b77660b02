// The CPU kernels of linear equations and determinants: MatrixInverse, MatrixSolve, the triangular
// and banded solvers, determinants and Lu. The algorithms for one matrix are in solve_steps.inc,
// which is included twice, for double and complex double; this file checks shapes and describes the
// runs to linear_cpu.h.
//
//   MatrixSolve:            a [..., n, n], b [..., n, k] -> x [..., n, k], equal batches
//   MatrixTriangularSolve:  the same, batches broadcast
//   BandedTriangularSolve:  bands [..., m, n], b [..., n, k] -> x [..., n, k]
//   determinants:           a [..., n, n] -> [...], one output, or sign and logarithm
//
// A singular matrix is INVALID_ARGUMENT with TensorFlow's message. Scratch sizes here must agree
// with the comments in solve_steps.inc.
#include <complex.h>
#include <math.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/matrix/linear_cpu.h"

#define NOT_INVERTIBLE "Input is not invertible."
#define MATRIX_NOT_INVERTIBLE "Input matrix is not invertible."

#define SCALAR double
#define NAME(x) x##_r
#define CONJ(x) (x)
#define MAGNITUDE(x) fabs(x)
#define SIGN(x) ((x) > 0 ? 1 : (x) < 0 ? -1 : (x) == 0 ? 0 : (x))
#include "ops/matrix/solve_steps.inc"
#define SCALAR leat_complex128_t
#define NAME(x) x##_c
#define CONJ(x) conj(x)
#define MAGNITUDE(x) cabs(x)
#define SIGN(x) ((x) == 0 ? 0 : (x) / cabs(x))
#include "ops/matrix/solve_steps.inc"

typedef struct leat_solve_s {
  bool is_lower, is_adjoint;
} leat_solve_t;

static leat_status_t create_adjoint(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "adjoint", &((leat_solve_t*)state)->is_adjoint);
}
static leat_status_t create_triangular(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "lower", &((leat_solve_t*)state)->is_lower));
  return create_adjoint(c, state);
}

static leat_status_t inverse__cpu(leat_kernel_context_t* c) {
  const leat_solve_t* kernel = leat_kernel_state(c);
  const leat_linear_t inverse = {
      .on_real = invert_r, .on_complex = invert_c, .flags = {kernel->is_adjoint}};
  return leat_linear_map_squares(c, inverse, 2, 1);
}

static leat_status_t solve__cpu(leat_kernel_context_t* c) {
  const leat_solve_t* kernel = leat_kernel_state(c);
  int64_t n, k;
  leat_tensor_t* output;
  leat_linear_matrix(c, 1, &n, &k);
  const leat_shape_t* shape = &leat_kernel_input(c, 1)->shape;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  leat_linear_t l = {.on_real = solve_r,
                     .on_complex = solve_c,
                     .batch = leat_linear_batch(shape),
                     .n = n,
                     .k = k,
                     .flags = {kernel->is_adjoint},
                     .input_count = 2,
                     .output_count = 1,
                     .input_sizes = {n * n, n * k},
                     .output_sizes = {n * k},
                     .scratch_size = n * n + n,
                     .cost_ns = leat_linear_cube(n) + (double)(n * n) * (double)k};
  return leat_linear_run(c, &l);
}

// Runs a determinant op: one output is the determinant, two are its sign and logarithm.
static leat_status_t determinant__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  const int outputs = c->kernel->output_count;
  const int64_t n = leat_linear_size(c);
  for (int i = 0; i < outputs; ++i) {
    leat_tensor_t* output;
    LEAT_RETURN_IF_ERROR(leat_linear_allocate(c, i, shape, 0, 0, 0, &output));
  }
  leat_linear_t l = {.on_real = determine_r,
                     .on_complex = determine_c,
                     .batch = leat_linear_batch(shape),
                     .n = n,
                     .input_count = 1,
                     .output_count = outputs,
                     .input_sizes = {n * n},
                     .output_sizes = {1, 1},
                     .scratch_size = n * n + n,
                     .cost_ns = leat_linear_cube(n)};
  return leat_linear_run(c, &l);
}

static leat_status_t lu__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  const int64_t n = leat_linear_size(c);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  LEAT_RETURN_IF_ERROR(leat_linear_allocate(c, 1, shape, 1, n, 0, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  leat_linear_t l = {.on_real = factor_r,
                     .on_complex = factor_c,
                     .batch = leat_linear_batch(shape),
                     .n = n,
                     .input_count = 1,
                     .output_count = 2,
                     .input_sizes = {n * n},
                     .output_sizes = {n * n, n},
                     .scratch_size = n,
                     .cost_ns = leat_linear_cube(n)};
  return leat_linear_run(c, &l);
}

// ---- Triangular matrices, whose batches broadcast -----------------------------------------------

// Allocates output 0: the batch dimensions of both inputs broadcast, followed by the matrix's
// sizes.
static leat_status_t allocate_broadcast(leat_kernel_context_t* c, int64_t rows, int64_t columns,
                                        leat_tensor_t** out_tensor) {
  const leat_shape_t* a = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* b = &leat_kernel_input(c, 1)->shape;
  const int rank = LEAT_MAX(a->rank, b->rank);
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 3; d <= rank; ++d) {
    const int64_t x = d <= a->rank ? leat_shape_dim(a, a->rank - d) : 1;
    const int64_t y = d <= b->rank ? leat_shape_dim(b, b->rank - d) : 1;
    if (x != y && x != 1 && y != 1) {
      return leat_kernel_invalid(c, "In[0] and In[1] must have compatible batch dimensions: they "
                                 "are %s and %s", LEAT_SHAPE_TEXT(a), LEAT_SHAPE_TEXT(b));
    }
    dims[rank - d] = x == 1 ? y : x;
  }
  dims[rank - 2] = rows;
  dims[rank - 1] = columns;
  return leat_kernel_allocate_sized(c, 0, rank, dims, out_tensor);
}

// Fills |places| with the matrix of an input of |shape| that serves each matrix of |output|.
static void find_places(const leat_shape_t* shape, const leat_shape_t* output, int64_t* places) {
  const int64_t batch = leat_linear_batch(output);
  for (int64_t i = 0; i < batch; ++i) {
    int64_t index = i, stride = 1, place = 0;
    for (int d = 3; d <= shape->rank; ++d) {
      const int64_t own = leat_shape_dim(shape, shape->rank - d);
      const int64_t whole = leat_shape_dim(output, output->rank - d);
      if (own != 1) place += index % whole * stride;
      stride *= own;
      index /= whole;
    }
    places[i] = place;
  }
}

// Runs |l| with the places that broadcasting gives.
static leat_status_t run_broadcast(leat_kernel_context_t* c, leat_linear_t* l,
                                   const leat_tensor_t* output) {
  const leat_shape_t flat = leat_shape_vector(2 * l->batch);
  leat_tensor_t places;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &flat, &places));
  for (int i = 0; i < 2; ++i) {
    int64_t* own = leat_tensor_data(&places, int64_t) + i * l->batch;
    find_places(&leat_kernel_input(c, i)->shape, &output->shape, own);
    l->places[i] = own;
  }
  leat_status_t status = leat_linear_run(c, l);
  leat_tensor_release(&places);
  return status;
}

// Runs a triangular solver; with |is_banded| the triangle is given by its bands.
static leat_status_t triangular(leat_kernel_context_t* c, bool is_banded) {
  const leat_solve_t* kernel = leat_kernel_state(c);
  int64_t bands, n, k;
  leat_tensor_t* output;
  leat_linear_matrix(c, 0, &bands, &n);
  leat_linear_matrix(c, 1, &n, &k);
  for (int i = 0; i < 2 && is_banded; ++i) {
    if (leat_kernel_input(c, i)->shape.element_count == 0) {
      return leat_kernel_invalid(c, "In[%d] is empty, must have elements", i);
    }
  }
  if (is_banded && (bands < 1 || bands > n)) {
    return leat_kernel_invalid(c, "matrix has %lld bands, must have 1 to %lld", (long long)bands,
                               (long long)n);
  }
  LEAT_RETURN_IF_ERROR(allocate_broadcast(c, n, k, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  leat_linear_t l = {.on_real = is_banded ? solve_bands_r : solve_triangle_r,
                     .on_complex = is_banded ? solve_bands_c : solve_triangle_c,
                     .batch = leat_linear_batch(&output->shape),
                     .m = bands,
                     .n = n,
                     .k = k,
                     .flags = {kernel->is_lower, kernel->is_adjoint},
                     .input_count = 2,
                     .output_count = 1,
                     .input_sizes = {bands * n, n * k},
                     .output_sizes = {n * k},
                     .scratch_size = is_banded ? n * n : 0,
                     .cost_ns = (double)(n * n) * (double)k};
  return run_broadcast(c, &l, output);
}

static leat_status_t triangular_solve__cpu(leat_kernel_context_t* c) {
  return triangular(c, false);
}
static leat_status_t banded_solve__cpu(leat_kernel_context_t* c) { return triangular(c, true); }

#define ROW(name, types, create_fn, compute_fn)                                        \
  LEAT_CPU_KERNEL(name, types, leat_solve_t, create_fn, compute_fn, .expensive = true)

const leat_kernel_row_t leat_solve_kernels_cpu[] = {
    ROW("MatrixInverse", "T: half, float, double, complex64, complex128", create_adjoint,
        inverse__cpu),
    ROW("MatrixDeterminant", LEAT_LINEAR_TYPES, NULL, determinant__cpu),
    ROW("LogMatrixDeterminant", LEAT_LINEAR_TYPES, NULL, determinant__cpu),
    ROW("MatrixSolve", LEAT_LINEAR_TYPES, create_adjoint, solve__cpu),
    ROW("MatrixTriangularSolve", LEAT_LINEAR_TYPES, create_triangular, triangular_solve__cpu),
    ROW("BandedTriangularSolve", LEAT_LINEAR_TYPES, create_triangular, banded_solve__cpu),
    ROW("Lu", LEAT_LINEAR_TYPES "; output_idx_type: int32, int64", NULL, lu__cpu),
    ROW("BatchMatrixInverse", "T: float, double", create_adjoint, inverse__cpu),
    ROW("BatchMatrixDeterminant", LEAT_LINEAR_TYPES, NULL, determinant__cpu),
    ROW("BatchMatrixSolve", "T: float, double", create_adjoint, solve__cpu),
    ROW("BatchMatrixTriangularSolve", "T: float, double", create_triangular,
        triangular_solve__cpu),
    LEAT_KERNEL_ROWS_END,
};
