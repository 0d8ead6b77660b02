// CPU kernels of sums of sparse tensors.
//
// SparseAdd merges the entries of two tensors, which are in the order of their indices; entries
// with equal indices are added, and a sum whose size is below a threshold is dropped. The number of
// entries is not known beforehand, so the merge runs twice, first only counting. Its gradient walks
// in the same way over an operand and the sum.
#include <complex.h>
#include <math.h>

#include "device/cpu/combine.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

// Says whether the absolute value of a sum is at least the threshold.
static bool is_kept(int dtype, const void* sum, const void* threshold) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: return *(const float*)threshold <= fabsf(*(const float*)sum);
    case LEAT_DTYPE_DOUBLE: return *(const double*)threshold <= fabs(*(const double*)sum);
    case LEAT_DTYPE_COMPLEX64:
      return *(const float*)threshold <= cabsf(*(const leat_complex64_t*)sum);
    case LEAT_DTYPE_COMPLEX128:
      return *(const double*)threshold <= cabs(*(const leat_complex128_t*)sum);
#define INTEGER(NAME, type)                                                     \
  case LEAT_DTYPE_##NAME: {                                                     \
    int64_t size = *(const type*)sum;                                           \
    return *(const type*)threshold <= (size < 0 ? (int64_t)(0 - (uint64_t)size) : size); \
  }
      INTEGER(INT8, int8_t)
      INTEGER(INT16, int16_t)
      INTEGER(INT32, int32_t)
      INTEGER(INT64, int64_t)
#undef INTEGER
    default: return true;
  }
}

// The threshold has the real type that belongs to the values, and both operands one dense shape.
static leat_status_t check_pair(const leat_kernel_context_t* c, const leat_entries_t* a,
                                const leat_entries_t* b) {
  int dtype = a->values.dtype, threshold = leat_kernel_input(c, 6)->dtype;
  int real = dtype == LEAT_DTYPE_COMPLEX64    ? LEAT_DTYPE_FLOAT
             : dtype == LEAT_DTYPE_COMPLEX128 ? LEAT_DTYPE_DOUBLE
                                              : dtype;
  if (threshold != real) {
    return leat_kernel_invalid(c, "The magnitude threshold must be of type %s: got %s",
                               leat_dtype_name(real), leat_dtype_name(threshold));
  }
  int64_t rank = a->shape.shape.element_count;
  if (rank == 0) return leat_kernel_invalid(c, "Tensors must not be empty");
  if (memcmp(a->shape.data, b->shape.data, (size_t)rank * sizeof(int64_t)) == 0) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "Operands' shapes do not match");
}

// Gives the number of entries of the sum; writes them unless |indices| is NULL.
static int64_t merge(const leat_kernel_context_t* c, const leat_entries_t* a,
                     const leat_entries_t* b, leat_tensor_t* indices, leat_tensor_t* values) {
  leat_entry_pairs_t pairs = {a, b, 0, 0};
  int64_t i, j, place = 0, rank = a->shape.shape.element_count;
  int dtype = a->values.dtype;
  size_t bytes = leat_dtype_size(dtype);
  while (leat_entry_pairs_next(&pairs, &i, &j)) {
    const char* x = i < 0 ? NULL : (const char*)a->values.data + (size_t)i * bytes;
    const char* y = j < 0 ? NULL : (const char*)b->values.data + (size_t)j * bytes;
    double sum[2];  // room for an element of any type
    if (x && y) {
      leat_numbers_add(dtype, x, y, sum, 1);
      if (!is_kept(dtype, sum, leat_kernel_input(c, 6)->data)) continue;
    } else {
      memcpy(sum, x ? x : y, bytes);
    }
    if (indices) {
      const int64_t* index = x ? leat_tensor_data(&a->indices, const int64_t) + i * rank
                               : leat_tensor_data(&b->indices, const int64_t) + j * rank;
      memcpy(leat_tensor_data(indices, int64_t) + place * rank, index,
             (size_t)rank * sizeof *index);
      memcpy((char*)values->data + (size_t)place * bytes, sum, bytes);
    }
    ++place;
  }
  return place;
}

static leat_status_t add__cpu(leat_kernel_context_t* c) {
  const leat_entries_t a = leat_entries_of_inputs(c, 0), b = leat_entries_of_inputs(c, 3);
  leat_tensor_t *indices, *values;
  LEAT_RETURN_IF_ERROR(check_pair(c, &a, &b));
  LEAT_RETURN_IF_ERROR(leat_entries_allocate(c, 0, 1, merge(c, &a, &b, NULL, NULL),
                                             a.shape.shape.element_count, &indices, &values));
  merge(c, &a, &b, indices, values);
  leat_kernel_pass_input(c, 2, 2);
  return leat_ok_status();
}

// ---- Gradient of a sum --------------------------------------------------------------------------

// Sets gradient |output|: entries of the operand that are in the sum get the gradient of the sum,
// others were dropped and get 0.
static leat_status_t pick(leat_kernel_context_t* c, int output) {
  const leat_tensor_t *dy = leat_kernel_input(c, 0), *from = leat_kernel_input(c, 1 + output),
                      *sum = leat_kernel_input(c, 3);
  const leat_entries_t operand = {.indices = *from}, whole = {.indices = *sum};
  leat_entry_pairs_t pairs = {&operand, &whole, 0, 0};
  int64_t i, k;
  size_t bytes = leat_dtype_size(dy->dtype);
  leat_shape_t vector = leat_shape_vector(leat_shape_dim(&from->shape, 0));
  leat_tensor_t* picked;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, output, &vector, &picked));
  leat_tensor_fill_zero(picked);
  while (leat_entry_pairs_next(&pairs, &i, &k)) {
    if (i < 0 || k < 0) continue;
    memcpy((char*)picked->data + (size_t)i * bytes, (const char*)dy->data + (size_t)k * bytes,
           bytes);
  }
  return leat_ok_status();
}

static leat_status_t add_gradient__cpu(leat_kernel_context_t* c) {
  LEAT_RETURN_IF_ERROR(pick(c, 0));
  return pick(c, 1);
}

#define KERNEL(op_name, types, fn) \
  {.op = op_name, .device_type = "CPU", .constraints = "T: " types, .compute = fn##__cpu}
#define SUMMED "complex128, complex64, double, float, int16, int32, int64, int8"

const leat_kernel_row_t leat_sparse_sum_kernels_cpu[] = {
    KERNEL("SparseAdd", SUMMED, add),
    KERNEL("SparseAddGrad", SUMMED, add_gradient),
    LEAT_KERNEL_ROWS_END,
};
