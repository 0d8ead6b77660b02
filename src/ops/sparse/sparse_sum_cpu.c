// CPU kernels of sums of sparse tensors.
//
// SparseAdd merges the entries of two tensors, which are in the order of their indices; entries
// with equal indices are added, and a sum whose size is below a threshold is dropped. The number of
// entries is not known beforehand, so the merge runs twice, first only counting. Its gradient walks
// in the same way over an operand and the sum. SparseReduceSum adds each entry to the dense element
// that its index without the reduced axes names.
#include <complex.h>
#include <math.h>

#include "device/cpu/combine.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

// Compares the indices of entry |i| of |a| and entry |j| of |b|.
static int compare(const leat_tensor_t* a, int64_t i, const leat_tensor_t* b, int64_t j) {
  int64_t rank = leat_shape_dim(&a->shape, 1);
  const int64_t *x = leat_tensor_data(a, const int64_t) + i * rank,
                *y = leat_tensor_data(b, const int64_t) + j * rank;
  for (int64_t d = 0; d < rank; ++d) {
    if (x[d] != y[d]) return x[d] < y[d] ? -1 : 1;
  }
  return 0;
}

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
  if (leat_kernel_input(c, 6)->shape.rank != 0 || threshold != real) {
    return leat_kernel_invalid(c, "The magnitude threshold must be a scalar of type %s: got %s "
                               "of shape %s",
                               leat_dtype_name(real), leat_dtype_name(threshold),
                               LEAT_SHAPE_TEXT(&leat_kernel_input(c, 6)->shape));
  }
  int64_t rank = a->shape.shape.element_count;
  if (rank == 0) return leat_kernel_invalid(c, "Tensors must not be empty");
  if (rank == b->shape.shape.element_count &&
      memcmp(a->shape.data, b->shape.data, (size_t)rank * sizeof(int64_t)) == 0) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "Operands' shapes do not match");
}

// Gives the number of entries of the sum; writes them unless |indices| is NULL.
static int64_t merge(const leat_kernel_context_t* c, const leat_entries_t* a,
                     const leat_entries_t* b, leat_tensor_t* indices, leat_tensor_t* values) {
  int64_t i = 0, j = 0, place = 0;
  int64_t count_a = a->values.shape.element_count, count_b = b->values.shape.element_count;
  size_t bytes = leat_dtype_size(a->values.dtype);
  size_t index_bytes = (size_t)a->shape.shape.element_count * sizeof(int64_t);
  while (i < count_a || j < count_b) {
    int order = i == count_a   ? 1
                : j == count_b ? -1
                               : compare(&a->indices, i, &b->indices, j);
    const char* x = (const char*)a->values.data + (size_t)i * bytes;
    const char* y = (const char*)b->values.data + (size_t)j * bytes;
    const leat_tensor_t* from = order <= 0 ? &a->indices : &b->indices;
    int64_t row = order <= 0 ? i : j;
    double sum[2];  // room for an element of any type
    if (order == 0) {
      leat_numbers_add(a->values.dtype, x, y, sum, 1);
    } else {
      memcpy(sum, order < 0 ? x : y, bytes);
    }
    i += order <= 0;
    j += order >= 0;
    if (order == 0 && !is_kept(a->values.dtype, sum, leat_kernel_input(c, 6)->data)) continue;
    if (indices) {
      memcpy((char*)indices->data + (size_t)place * index_bytes,
             (const char*)from->data + (size_t)row * index_bytes, index_bytes);
      memcpy((char*)values->data + (size_t)place * bytes, sum, bytes);
    }
    ++place;
  }
  return place;
}

static leat_status_t add__cpu(leat_kernel_context_t* c) {
  leat_entries_t a, b;
  leat_tensor_t *indices, *values;
  LEAT_RETURN_IF_ERROR(leat_entries_of_inputs(c, 0, &a));
  LEAT_RETURN_IF_ERROR(leat_entries_of_inputs(c, 3, &b));
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
  int64_t count = leat_shape_dim(&from->shape, 0), total = leat_shape_dim(&sum->shape, 0);
  size_t bytes = leat_dtype_size(dy->dtype);
  leat_shape_t vector = leat_shape_vector(count);
  leat_tensor_t* picked;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, output, &vector, &picked));
  leat_tensor_fill_zero(picked);
  for (int64_t i = 0, k = 0; i < count && k < total;) {
    int order = compare(from, i, sum, k);
    if (order == 0) {
      memcpy((char*)picked->data + (size_t)i * bytes, (const char*)dy->data + (size_t)k * bytes,
             bytes);
    }
    i += order <= 0;
    k += order >= 0;
  }
  return leat_ok_status();
}

static leat_status_t add_gradient__cpu(leat_kernel_context_t* c) {
  const leat_shape_t *dy = &leat_kernel_input(c, 0)->shape, *sum = &leat_kernel_input(c, 3)->shape;
  bool fits = dy->rank == 1 && sum->rank == 2 && dy->element_count == leat_shape_dim(sum, 0);
  for (int i = 1; fits && i < 3; ++i) {
    const leat_shape_t* shape = &leat_kernel_input(c, i)->shape;
    fits = shape->rank == 2 && leat_shape_dim(shape, 1) == leat_shape_dim(sum, 1);
  }
  if (!fits) {
    return leat_kernel_invalid(c, "Input indices should be matrices of as many columns, and "
                               "backprop_val_grad a vector with a number for each row of "
                               "sum_indices");
  }
  LEAT_RETURN_IF_ERROR(pick(c, 0));
  return pick(c, 1);
}

// ---- Over axes ----------------------------------------------------------------------------------

typedef struct keeping_s {
  bool keeps;
} keeping_t;

static leat_status_t reduce_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "keep_dims", &((keeping_t*)state)->keeps);
}

// Marks the axes that are summed over.
static leat_status_t read_axes(const leat_kernel_context_t* c, int64_t rank, bool* is_reduced) {
  const leat_tensor_t* axes = leat_kernel_input(c, 3);
  if (axes->shape.rank > 1) {
    return leat_kernel_invalid(c, "Expected reduction_axes to be a scalar or a vector; got shape: "
                               "%s",
                               LEAT_SHAPE_TEXT(&axes->shape));
  }
  for (int64_t i = 0; i < axes->shape.element_count; ++i) {
    int64_t axis = leat_tensor_index_at(axes, i);
    if (!leat_axis_resolve(&axis, rank)) {
      return leat_kernel_invalid(c, "Invalid reduction dimension %lld, for input with %lld "
                                 "dimensions.",
                                 (long long)leat_tensor_index_at(axes, i), (long long)rank);
    }
    is_reduced[axis] = true;
  }
  return leat_ok_status();
}

// Adds each entry to its element of |output|.
static leat_status_t add_entries(const leat_kernel_context_t* c, const leat_entries_t* entries,
                                 const bool* is_reduced, leat_tensor_t* output) {
  int64_t rank = entries->shape.shape.element_count;
  const int64_t *index = entries->indices.data, *dims = entries->shape.data;
  size_t bytes = leat_dtype_size(output->dtype);
  for (int64_t i = 0; i < entries->values.shape.element_count; ++i, index += rank) {
    // Unsigned, because it may overflow for indices far outside. Such an index either fails the
    // check below or falls on some element, which does no harm.
    uint64_t place = 0;
    for (int64_t d = 0; d < rank; ++d) {
      if (!is_reduced[d]) place = place * (uint64_t)dims[d] + (uint64_t)index[d];
    }
    if (place >= (uint64_t)output->shape.element_count) {
      return leat_kernel_error(c, LEAT_INTERNAL,
                               "Obtained a write index of %lld which is outside of bounds of [0, "
                               "%lld)",
                               (long long)place, (long long)output->shape.element_count);
    }
    char* sum = (char*)output->data + (size_t)place * bytes;
    const char* value = (const char*)entries->values.data + (size_t)i * bytes;
    leat_numbers_add(output->dtype, sum, value, sum, 1);
  }
  return leat_ok_status();
}

static leat_status_t reduce__cpu(leat_kernel_context_t* c) {
  const keeping_t* state = leat_kernel_state(c);
  leat_entries_t entries;
  leat_tensor_t* output;
  leat_shape_t whole;
  LEAT_RETURN_IF_ERROR(leat_entries_of_inputs(c, 0, &entries));
  int64_t rank = entries.shape.shape.element_count, dims[LEAT_SHAPE_MAX_RANK];
  if (rank > LEAT_SHAPE_MAX_RANK) return leat_kernel_invalid(c, "the rank is too large");
  bool is_reduced[LEAT_SHAPE_MAX_RANK] = {0};
  LEAT_RETURN_IF_ERROR(leat_shape_create((int)rank, entries.shape.data, &whole));
  leat_shape_release(&whole);
  LEAT_RETURN_IF_ERROR(read_axes(c, rank, is_reduced));
  int count = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (is_reduced[d] && !state->keeps) continue;
    dims[count++] = is_reduced[d] ? 1 : leat_tensor_data(&entries.shape, const int64_t)[d];
  }
  leat_status_t status = leat_kernel_allocate_sized(c, 0, count, dims, &output);
  LEAT_RETURN_IF_ERROR(status);
  leat_tensor_fill_zero(output);
  return add_entries(c, &entries, is_reduced, output);
}

#define KERNEL(op_name, types, fn) \
  {.op = op_name, .device_type = "CPU", .constraints = "T: " types, .compute = fn##__cpu}
#define SUMMED "complex128, complex64, double, float, int16, int32, int64, int8"

const leat_kernel_row_t leat_sparse_sum_kernels_cpu[] = {
    KERNEL("SparseAdd", SUMMED, add),
    KERNEL("SparseAddGrad", SUMMED, add_gradient),
    {.op = "SparseReduceSum",
     .device_type = "CPU",
     .constraints = "T: bfloat16, half, uint16, uint32, uint64, uint8, " SUMMED,
     .create = reduce_create,
     .state_bytes = sizeof(keeping_t),
     .compute = reduce__cpu},
    LEAT_KERNEL_ROWS_END,
};
