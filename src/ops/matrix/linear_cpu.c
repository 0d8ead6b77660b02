// Runs linear algebra over batches of matrices: it checks shapes, converts each matrix to double or
// complex double, calls the op's function on it, and converts the results back. Every kernel of
// this folder but the products is a leat_linear_t plus a function.
//
//   input tensors ─widen─▶ [in | out | scratch] of matrix i ─fn─▶ [out] ─narrow─▶ output tensors
//
// Each matrix of the batch has a block of working memory of its own, so that matrices are computed
// on several threads without locks. An error of one matrix is reported for the whole node; if
// several fail, any of their messages is the node's. Computing in double makes float results
// accurate to the last digit and halves the code. The dense factorizations of one matrix are
// compiled here too, from linear_algebra.inc, since all functions of the kernels are made of them.
#include "ops/matrix/linear_cpu.h"

#include <complex.h>
#include <float.h>
#include <math.h>

#include "base/sync.h"
#include "device/cpu/half.h"

// ---- Shapes -------------------------------------------------------------------------------------

void leat_linear_matrix(const leat_kernel_context_t* c, int input, int64_t* out_rows,
                        int64_t* out_columns) {
  const leat_shape_t* shape = &leat_kernel_input(c, input)->shape;
  LEAT_DCHECK(shape->rank >= 2);
  *out_rows = leat_shape_dim(shape, shape->rank - 2);
  *out_columns = leat_shape_dim(shape, shape->rank - 1);
}

int64_t leat_linear_size(const leat_kernel_context_t* c) {
  int64_t rows, columns;
  leat_linear_matrix(c, 0, &rows, &columns);
  LEAT_DCHECK(rows == columns);
  return rows;
}

int64_t leat_linear_batch(const leat_shape_t* shape) {
  return leat_shape_product(shape, 0, shape->rank - 2);
}

// Allocates the batch dimensions of |like| and then |rows| and |columns|, of which |rank| are used.
leat_status_t leat_linear_allocate(leat_kernel_context_t* c, int index, const leat_shape_t* like,
                                   int rank, int64_t rows, int64_t columns,
                                   leat_tensor_t** out_tensor) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  const int outer = like->rank - 2;
  for (int d = 0; d < outer; ++d) dims[d] = leat_shape_dim(like, d);
  dims[outer] = rows;
  dims[outer + 1] = columns;
  return leat_kernel_allocate_sized(c, index, outer + rank, dims, out_tensor);
}

leat_status_t leat_linear_allocate_unused(leat_kernel_context_t* c, int index) {
  const leat_shape_t shape = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, index, &shape, &output));
  leat_tensor_fill_zero(output);
  return leat_ok_status();
}

// ---- Conversions --------------------------------------------------------------------------------

static bool is_complex(int dtype) { return leat_dtype_in(dtype, LEAT_DTYPES_COMPLEX); }

static double read_real(int dtype, const void* from, int64_t i) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: return (double)((const float*)from)[i];
    case LEAT_DTYPE_HALF: return (double)leat_half_to_float(((const uint16_t*)from)[i]);
    case LEAT_DTYPE_BFLOAT16: return (double)leat_bfloat16_to_float(((const uint16_t*)from)[i]);
    default: return ((const double*)from)[i];
  }
}

// Widens |count| elements of |from|, an array of |dtype|, to double or complex double.
static void widen(int dtype, const void* from, bool to_complex, void* to, int64_t count) {
  leat_complex128_t* wide = to;
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == LEAT_DTYPE_COMPLEX64) {
      wide[i] = ((const leat_complex64_t*)from)[i];
    } else if (dtype == LEAT_DTYPE_COMPLEX128) {
      wide[i] = ((const leat_complex128_t*)from)[i];
    } else if (to_complex) {
      wide[i] = read_real(dtype, from, i);
    } else {
      ((double*)to)[i] = read_real(dtype, from, i);
    }
  }
}

// Writes results in |dtype|: a complex value loses its imaginary part in a real type, a real one
// gets 0 in a complex type.
static void narrow(int dtype, bool from_complex, const void* from, void* to, int64_t count) {
  const double* parts = from;
  for (int64_t i = 0; i < count; ++i) {
    const double re = from_complex ? parts[2 * i] : parts[i];
    const double im = from_complex ? parts[2 * i + 1] : 0;
    switch (dtype) {
      case LEAT_DTYPE_FLOAT: ((float*)to)[i] = (float)re; break;
      case LEAT_DTYPE_HALF: ((uint16_t*)to)[i] = leat_half_from_float((float)re); break;
      case LEAT_DTYPE_BFLOAT16: ((uint16_t*)to)[i] = leat_bfloat16_from_float((float)re); break;
      case LEAT_DTYPE_COMPLEX64:
        ((float*)to)[2 * i] = (float)re;
        ((float*)to)[2 * i + 1] = (float)im;
        break;
      case LEAT_DTYPE_COMPLEX128:
        ((double*)to)[2 * i] = re;
        ((double*)to)[2 * i + 1] = im;
        break;
      case LEAT_DTYPE_INT32: ((int32_t*)to)[i] = (int32_t)re; break;
      case LEAT_DTYPE_INT64: ((int64_t*)to)[i] = (int64_t)re; break;
      default: ((double*)to)[i] = re;
    }
  }
}

// ---- The loop -----------------------------------------------------------------------------------

typedef struct run_s {
  const leat_kernel_context_t* c;
  const leat_linear_t* l;
  leat_linear_fn_t fn;
  bool is_complex;
  size_t item_bytes;
  size_t input_bytes[LEAT_LINEAR_MAX_TENSORS];  // bytes of one matrix in the input tensor
  size_t output_bytes[LEAT_LINEAR_MAX_TENSORS];
  char* scratch;       // the blocks of all matrices
  int64_t room;        // elements of one block
  _Atomic(const char*) problem;
} run_t;

// Converts matrix |index| of every input, calls the function, and converts the results.
static void run_matrix(run_t* run, int64_t index) {
  const leat_linear_t* l = run->l;
  char* at = run->scratch + (size_t)(index * run->room) * run->item_bytes;
  const void* in[LEAT_LINEAR_MAX_TENSORS];
  void* out[LEAT_LINEAR_MAX_TENSORS];
  for (int i = 0; i < l->input_count; ++i) {
    const leat_tensor_t* tensor = leat_kernel_input(run->c, i);
    const int64_t place = l->places[i] ? l->places[i][index] : index;
    widen(tensor->dtype, (const char*)tensor->data + (size_t)place * run->input_bytes[i],
          run->is_complex, at, l->input_sizes[i]);
    in[i] = at;
    at += (size_t)l->input_sizes[i] * run->item_bytes;
  }
  for (int i = 0; i < l->output_count; ++i) {
    out[i] = at;
    at += (size_t)l->output_sizes[i] * run->item_bytes;
  }
  const char* problem = run->fn(l, in, out, at);
  if (problem) {
    atomic_store_explicit(&run->problem, problem, memory_order_relaxed);
    return;
  }
  for (int i = 0; i < l->output_count; ++i) {
    const leat_tensor_t* tensor = &run->c->outputs[i].tensor;
    narrow(tensor->dtype, run->is_complex, out[i],
           (char*)tensor->data + (size_t)index * run->output_bytes[i], l->output_sizes[i]);
  }
}

static void run_matrices(void* data, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) run_matrix(data, i);
}

leat_status_t leat_linear_run(leat_kernel_context_t* c, leat_linear_t* l) {
  if (l->batch == 0) return leat_ok_status();
  run_t run = {.c = c, .l = l};
  run.is_complex = !l->on_real || is_complex(leat_kernel_input(c, 0)->dtype);
  run.fn = run.is_complex ? l->on_complex : l->on_real;
  run.item_bytes = run.is_complex ? sizeof(leat_complex128_t) : sizeof(double);
  run.room = l->scratch_size;
  for (int i = 0; i < l->input_count; ++i) {
    run.input_bytes[i] =
        (size_t)l->input_sizes[i] * leat_dtype_size(leat_kernel_input(c, i)->dtype);
    run.room += l->input_sizes[i];
  }
  for (int i = 0; i < l->output_count; ++i) {
    run.output_bytes[i] = (size_t)l->output_sizes[i] * leat_dtype_size(c->outputs[i].tensor.dtype);
    run.room += l->output_sizes[i];
  }
  leat_tensor_t scratch;
  const int64_t dims[] = {l->batch, run.room + 1};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(
      c, run.is_complex ? LEAT_DTYPE_COMPLEX128 : LEAT_DTYPE_DOUBLE, &shape, &scratch));
  run.scratch = scratch.data;
  leat_kernel_parallel_for(c, l->batch, l->cost_ns + 50, run_matrices, &run);
  leat_tensor_release(&scratch);
  // A step that is ending may have left half a result, whose "problem" means nothing.
  LEAT_RETURN_IF_ERROR(leat_step_check(c->services, true));
  return run.problem ? leat_kernel_invalid(c, "%s", run.problem) : leat_ok_status();
}

// Runs over the square matrices of input 0, with |count| outputs.
double leat_linear_epsilon(const leat_kernel_context_t* c, int index) {
  const int dtype = leat_kernel_input(c, index)->dtype;
  return dtype == LEAT_DTYPE_FLOAT || dtype == LEAT_DTYPE_COMPLEX64 ? FLT_EPSILON : DBL_EPSILON;
}

static leat_status_t run_squares(leat_kernel_context_t* c, leat_linear_t* l, int count,
                                 int scratch_matrices, double cubes) {
  l->batch = leat_linear_batch(&leat_kernel_input(c, 0)->shape);
  l->input_count = 1;
  l->output_count = count;
  l->input_sizes[0] = l->n * l->n;
  l->scratch_size = scratch_matrices * l->n * l->n + l->n;
  l->cost_ns = cubes * leat_linear_cube(l->n);
  return leat_linear_run(c, l);
}

leat_status_t leat_linear_map_squares(leat_kernel_context_t* c, leat_linear_t l,
                                      int scratch_matrices, double cubes) {
  leat_tensor_t* output;
  l.n = leat_linear_size(c);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &leat_kernel_input(c, 0)->shape, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  l.output_sizes[0] = l.n * l.n;
  return run_squares(c, &l, 1, scratch_matrices, cubes);
}

leat_status_t leat_linear_eigen(leat_kernel_context_t* c, leat_linear_t l, int scratch_matrices,
                                double cubes) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  const bool vectors = l.flags[0];
  leat_tensor_t* output;
  l.n = leat_linear_size(c);
  LEAT_RETURN_IF_ERROR(leat_linear_allocate(c, 0, shape, 1, l.n, 0, &output));
  LEAT_RETURN_IF_ERROR(vectors ? leat_linear_allocate(c, 1, shape, 2, l.n, l.n, &output)
                               : leat_linear_allocate_unused(c, 1));
  l.output_sizes[0] = l.n;
  l.output_sizes[1] = l.n * l.n;
  return run_squares(c, &l, vectors ? 2 : 1, scratch_matrices, cubes);
}

// ---- The algorithms, for double (_r) and complex double (_c) ------------------------------------

leat_rotation_t leat_rotation_of(double x, double y) {
  if (y == 0) return (leat_rotation_t){x < 0 ? -1 : 1, 0};
  if (x == 0) return (leat_rotation_t){0, y < 0 ? 1 : -1};
  if (fabs(x) > fabs(y)) {
    const double t = y / x, c = 1 / copysign(sqrt(1 + t * t), x);
    return (leat_rotation_t){c, -t * c};
  }
  const double t = x / y, s = -1 / copysign(sqrt(1 + t * t), y);
  return (leat_rotation_t){-t * s, s};
}

#define SCALAR double
#define NAME(x) x##_r
#define CONJ(x) (x)
#define REAL(x) (x)
#define MAGNITUDE(x) fabs(x)
#include "ops/matrix/linear_algebra.inc"
#include "ops/matrix/hermitian.inc"

#define SCALAR leat_complex128_t
#define NAME(x) x##_c
#define CONJ(x) conj(x)
#define REAL(x) creal(x)
#define MAGNITUDE(x) cabs(x)
#include "ops/matrix/linear_algebra.inc"
#include "ops/matrix/hermitian.inc"
