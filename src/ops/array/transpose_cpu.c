// The CPU kernels of Transpose, ConjugateTranspose and InvertPermutation. A permutation that moves
// only dimensions of size 1 leaves the elements in their order, so that the output shares the bytes
// of the input; any other is a strided copy (strided_cpu.h), which does the transposition in small
// blocks. ConjugateTranspose of complex numbers copies always, because it then changes the signs of
// the imaginary parts in place. InvertPermutation writes y[x[i]] = i and checks on the way that x
// names each place once.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// Reads input 1 as a permutation of |rank| axes, which may be given as negative numbers.
static leat_status_t read_perm(const leat_kernel_context_t* c, int rank, int* out_perm) {
  const leat_tensor_t* perm = leat_kernel_input(c, 1);
  bool seen[LEAT_SHAPE_MAX_RANK];
  if (perm->shape.rank != 1 || perm->shape.element_count != rank) {
    return leat_kernel_invalid(c, "perm has shape %s, must be a vector of %d",
                               LEAT_SHAPE_TEXT(&perm->shape), rank);
  }
  for (int d = 0; d < rank; ++d) seen[d] = false;
  for (int d = 0; d < rank; ++d) {
    int64_t axis = leat_tensor_index_at(perm, d);
    if (!leat_axis_resolve(&axis, rank)) {
      return leat_kernel_invalid(c, "perm[%d] is %lld, which is out of range [0, %d)", d,
                                 (long long)axis, rank);
    }
    seen[axis] = true;
    out_perm[d] = (int)axis;
  }
  for (int d = 0; d < rank; ++d) {
    if (!seen[d]) {
      return leat_kernel_invalid(c, "%d is missing from perm, which must have each of [0, %d) once",
                                 d, rank);
    }
  }
  return leat_ok_status();
}

// Says whether the dimensions other than those of size 1 are still in their order.
static bool keeps_order(const int64_t* dims, const int* perm, int rank) {
  int last = -1;
  for (int d = 0; d < rank; ++d) {
    if (dims[perm[d]] == 1) continue;
    if (perm[d] < last) return false;
    last = perm[d];
  }
  return true;
}

// Writes the output, whose dimension d is dimension |perm|[d] of the input.
static leat_status_t permute(leat_kernel_context_t* c, const leat_shape_t* shape,
                             const int* perm) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  leat_strided_t block;
  int64_t from[LEAT_SHAPE_MAX_RANK], to[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(leat_strided_begin_output(&block, c, shape, &output, from, to));
  for (int d = 0; d < shape->rank; ++d) {
    leat_strided_add(&block, leat_shape_dim(shape, d), to[d], from[perm[d]]);
  }
  return leat_strided_copy(c, &block, input->data, output->data);
}

// |may_share| allows the output to share the bytes of the input where the order stays.
static leat_status_t transpose(leat_kernel_context_t* c, bool may_share) {
  const leat_shape_t* from = &leat_kernel_input(c, 0)->shape;
  int perm[LEAT_SHAPE_MAX_RANK];
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(read_perm(c, from->rank, perm));
  const int64_t* sizes = leat_shape_dims(from);
  for (int d = 0; d < from->rank; ++d) dims[d] = sizes[perm[d]];
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(from->rank, dims, &shape));
  leat_status_t status = may_share && keeps_order(sizes, perm, from->rank)
                             ? leat_kernel_pass_input_reshaped(c, 0, 0, &shape)
                             : permute(c, &shape, perm);
  leat_shape_release(&shape);
  return status;
}

static leat_status_t transpose__cpu(leat_kernel_context_t* c) { return transpose(c, true); }

#define DEFINE_CONJUGATE(name, type)                                                \
  static void conjugate_##name(void* data, int64_t begin, int64_t end) {            \
    type* numbers = data;                                                           \
    for (int64_t i = begin; i < end; ++i) numbers[2 * i + 1] = -numbers[2 * i + 1]; \
  }
DEFINE_CONJUGATE(complex64, float)
DEFINE_CONJUGATE(complex128, double)

static leat_status_t conjugate_transpose__cpu(leat_kernel_context_t* c) {
  int dtype = leat_kernel_input(c, 0)->dtype;
  bool is_complex = leat_dtype_in(dtype, LEAT_DTYPES_COMPLEX);
  LEAT_RETURN_IF_ERROR(transpose(c, !is_complex));
  if (!is_complex) return leat_ok_status();
  leat_tensor_t* output = leat_kernel_output(c, 0);
  leat_kernel_parallel_for(c, output->shape.element_count, 1,
                           dtype == LEAT_DTYPE_COMPLEX64 ? conjugate_complex64
                                                         : conjugate_complex128,
                           output->data);
  return leat_ok_status();
}

// The output is filled with -1 first, which no position is, so that a place that is named twice
// shows.
static leat_status_t invert_permutation__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  int64_t count = input->shape.element_count;
  leat_tensor_t* output;
  if (input->shape.rank != 1 || count > INT32_MAX) {
    return leat_kernel_invalid(c, "x has shape %s, must be a vector of less than 2^31",
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  for (int64_t i = 0; i < count; ++i) leat_index_write(output, i, -1);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = leat_tensor_index_at(input, i);
    if (at < 0 || at >= count || leat_tensor_index_at(output, at) != -1) {
      const bool is_inside = at >= 0 && at < count;
      return leat_kernel_invalid(c, is_inside ? "%lld is duplicated in the input, of size %lld"
                                              : "%lld is not between 0 and %lld",
                                 (long long)at, (long long)count);
    }
    leat_index_write(output, at, i);
  }
  return leat_ok_status();
}

#define TRANSPOSE_TYPES "T: " LEAT_TYPES_ALL ", " LEAT_TYPES_FLOAT8

const leat_kernel_row_t leat_transpose_kernels_cpu[] = {
    {.op = "Transpose",
     .device_type = "CPU",
     .constraints = TRANSPOSE_TYPES,
     .access = LEAT_ACCESS_PERMUTATION,
     .compute = transpose__cpu},
    {.op = "ConjugateTranspose",
     .device_type = "CPU",
     .constraints = TRANSPOSE_TYPES,
     .compute = conjugate_transpose__cpu},
    {.op = "InvertPermutation",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_INDEX,
     .compute = invert_permutation__cpu},
    LEAT_KERNEL_ROWS_END,
};
