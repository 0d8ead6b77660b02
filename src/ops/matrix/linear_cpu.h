// Linear algebra on batches of matrices, as the kernels of this folder share it. Kernels compute in
// double or complex double whatever the node's type is (docs/decisions/0003): leat_linear_run
// converts the inputs, calls a function for each matrix of the batch, several at once on the pool,
// and converts the outputs. The algorithms for one matrix are declared at the end. A kernel is a
// few lines:
//
//   leat_linear_t l = {.on_real = inverse_r, .on_complex = inverse_c};
//   return leat_linear_map_squares(c, l, 1, 2);    // scratch of n^2 + n, cost of 2 n^3
//
// Matrices are dense and row-major, and sizes count elements, not bytes.
#ifndef LEAT_OPS_MATRIX_LINEAR_CPU_H_
#define LEAT_OPS_MATRIX_LINEAR_CPU_H_

#include "kernel/kernel.h"
#include "kernel/step_check.h"

#define LEAT_LINEAR_MAX_TENSORS 4
#define LEAT_LINEAR_TYPES "T: float, double, complex64, complex128"

typedef struct leat_linear_s leat_linear_t;

// Works on one matrix of the batch, on any thread. |in| and |out| are arrays of double or complex
// double, row-major: |in| has converted copies of the inputs' matrices, |out| is converted to the
// outputs afterwards. |scratch| has the stated number of elements. Returns what is wrong with the
// input ("Input is not invertible."), a string that is never freed, or NULL.
typedef const char* (*leat_linear_fn_t)(const leat_linear_t* l, const void* const in[],
                                        void* const out[], void* scratch);

// What a kernel says about its run; unset fields are 0.
struct leat_linear_s {
  leat_linear_fn_t on_real, on_complex;  // on_real NULL: real inputs are made complex
  int64_t batch;  // the number of matrices
  int64_t m, n, k;  // sizes, with the meaning that the op's function gives them
  bool flags[3];    // likewise
  double parameter;  // likewise
  int input_count, output_count;
  int64_t input_sizes[LEAT_LINEAR_MAX_TENSORS];   // elements of one matrix of each input
  int64_t output_sizes[LEAT_LINEAR_MAX_TENSORS];
  // Per input: the matrix that serves matrix i of the output; NULL: matrix i.
  const int64_t* places[LEAT_LINEAR_MAX_TENSORS];
  int64_t scratch_size;                            // elements, for one matrix
  double cost_ns;                                  // estimated time of one matrix
};

// Reads the sizes of the last two dimensions of an input. That it has them is in the op's row.
void leat_linear_matrix(const leat_kernel_context_t* c, int input, int64_t* out_rows,
                        int64_t* out_columns);
// The rows of the matrices of input 0, of which the op's row says that they are square.
int64_t leat_linear_size(const leat_kernel_context_t* c);
// Allocates output |index|: the batch dimensions of |like| followed by the first |rank| (0 to 2) of
// |rows| and |columns|.
LEAT_MUST_USE leat_status_t leat_linear_allocate(leat_kernel_context_t* c, int index,
                                                 const leat_shape_t* like, int rank, int64_t rows,
                                                 int64_t columns, leat_tensor_t** out_tensor);
// The number of matrices of |shape|, the product of its outer dimensions.
int64_t leat_linear_batch(const leat_shape_t* shape);
// Allocates output |index| as TensorFlow does for one that was not asked for: a scalar 0.
LEAT_MUST_USE leat_status_t leat_linear_allocate_unused(leat_kernel_context_t* c, int index);
// Asks whether the step is to end; algorithms ask once in about n^2 operations. Small matrices are
// done before it would matter.
#define LEAT_LINEAR_IS_OVER(n) ((n) >= 64 && leat_step_loop_is_over())
// n^3, in which most algorithms' cost is expressed.
static inline double leat_linear_cube(int64_t n) { return (double)n * (double)n * (double)n; }

// Runs |l| over the kernel's first inputs; the outputs are allocated by the caller. Working memory
// for all matrices of the batch is allocated at once. INVALID_ARGUMENT with the function's message
// when a matrix has a problem; of several problems any one is reported.
LEAT_MUST_USE leat_status_t leat_linear_run(leat_kernel_context_t* c, leat_linear_t* l);
// A whole kernel that maps square matrices (input 0) to matrices of their size n. |l| states the
// functions and flags; their scratch has |scratch_matrices| n^2 + n elements, and they cost |cubes|
// n^3 nanoseconds.
LEAT_MUST_USE leat_status_t leat_linear_map_squares(leat_kernel_context_t* c, leat_linear_t l,
                                                    int scratch_matrices, double cubes);
// Runs an algorithm that gives n eigenvalues (output 0) and, if l.flags[0], eigenvectors (output 1)
// of each square matrix.
LEAT_MUST_USE leat_status_t leat_linear_eigen(leat_kernel_context_t* c, leat_linear_t l,
                                              int scratch_matrices, double cubes);

// ---- The algorithms (linear_algebra.inc, hermitian.inc), for double (_r) and complex double (_c)
// -

#define LEAT_LINEAR_DECLARE(suffix, type)                                                         \
  /* P A = L U in place, with partial pivoting; |rows|[i] = the row that came to i. The sign of   \
   * the permutation. A zero pivot is left as it is. */                                           \
  int leat_lu_factor_##suffix(type* a, int64_t n, int64_t* rows);                                 \
  /* Whether the least pivot is 0. A NaN is passed over, unless it is the first pivot. */         \
  bool leat_lu_is_singular_##suffix(const type* lu, int64_t n);                                   \
  /* X [n, k] = A^-1 B */                                                                         \
  void leat_lu_solve_##suffix(const type* lu, const int64_t* rows, int64_t n, const type* b,      \
                              type* x, int64_t k);                                                \
  /* X = op(T)^-1 X in place, with the lower or upper triangle of |t| [n, n]. */                  \
  void leat_triangular_solve_##suffix(const type* t, int64_t n, bool is_lower, bool is_adjoint,   \
                                      type* x, int64_t k);                                        \
  /* The lower triangle of A = L L^H in place, upper zeroed. false: not positive definite; a      \
   * NaN goes on into L. */                                                                       \
  bool leat_cholesky_factor_##suffix(type* a, int64_t n);                                         \
  /* A [m, n] = Q R: |a| becomes R, |q| [m, columns] has |columns| columns of Q. |scratch| m. */  \
  void leat_qr_factor_##suffix(type* a, int64_t m, int64_t n, type* q, int64_t columns,           \
                               type* scratch);                                                    \
  /* A [m, n], m >= n, = U diag(s) V^H: |a| becomes U, |v| [n, n], |s| descending. */             \
  void leat_svd_factor_##suffix(type* a, int64_t m, int64_t n, double* s, type* v);               \
  /* A = V diag(e) V^H of the lower triangle; |a| is destroyed, |e| ascending. |v| is used only if \
   * |vectors|; |epsilon| is that of the type which the result shall have; |scratch| 3 (n - 1).   \
   * false when it does not converge. */                                                          \
  bool leat_hermitian_eig_##suffix(type* a, int64_t n, double epsilon, bool vectors, double* e,   \
                                   type* v, type* scratch);                                       \
  /* C [m, n] = op(A) op(B), inner size k. */                                                     \
  void leat_product_##suffix(const type* a, bool adjoint_a, const type* b, bool adjoint_b,        \
                             type* c, int64_t m, int64_t n, int64_t k);
LEAT_LINEAR_DECLARE(r, double)
LEAT_LINEAR_DECLARE(c, leat_complex128_t)

// The Schur form A = Q T Q^H, in place: |a| [n, n] becomes T, an upper triangle, and |q| [n, n]
// becomes Q, a unitary matrix. |epsilon| is that of the type which the result shall have. false
// when it does not converge, or the step ends.
bool leat_schur_factor(leat_complex128_t* a, int64_t n, double epsilon, leat_complex128_t* q);
// The real Schur form A = Q T Q^T, in place: T is a triangle but for blocks [2, 2] on its diagonal,
// whose eigenvalues are conjugate.
bool leat_real_schur_factor_double(double* a, int64_t n, double* q);
bool leat_real_schur_factor_float(float* a, int64_t n, float* q);

// The rotation for which (c x - s y, s x + c y) is (r, 0) with r > 0.
typedef struct leat_rotation_s {
  double c, s;
} leat_rotation_t;
leat_rotation_t leat_rotation_of(double x, double y);

// The epsilon of input |index|'s type: of a float or a double.
double leat_linear_epsilon(const leat_kernel_context_t* c, int index);

#endif  // LEAT_OPS_MATRIX_LINEAR_CPU_H_
