// CPU kernels that combine a sparse tensor with a dense one, entry by entry.
//
//   SparseDenseCwise*       values[i] op dense[indices[i]], where the dense tensor is broadcast
//   SparseTensorDenseAdd    dense + sparse
//   SparseTensorDenseMatMul A B with a sparse matrix A: entry (r, k) adds A[r, k] B[k, :] to row r
//
// Each kernel checks every index before it uses it as an address. The loops of multiplication and
// division are generated for each type from a list; half and bfloat16 are computed in float, and
// products of them are summed in float and rounded once. Integers wrap on overflow: they are
// multiplied as unsigned, and -1 as a divisor is a negation, because the least integer divided by
// -1 overflows.
//
// Sums into one row depend on the order of entries, so the kernels run on one thread.
#include <complex.h>
#include <math.h>

#include "device/cpu/combine.h"
#include "device/cpu/half.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

// ---- Numbers ------------------------------------------------------------------------------------

typedef void (*combine_fn_t)(const void* a, const void* b, void* y, int64_t count);
// y[i] += a x[i * stride]. |conjugate_a| and |conjugate_x| ask for the conjugates of a and x.
typedef void (*add_scaled_fn_t)(const void* a, bool conjugate_a, const void* x, int64_t stride,
                                bool conjugate_x, void* y, int64_t count);

#define SAME(x) (x)
// Defines multiply_NAME and divide_NAME over |count| elements. |widen| makes the type that computes
// of an element, and |narrow| an element of a result.
#define COMBINE(NAME, type, wide, widen, narrow, divide)                                     \
  static void multiply_##NAME(const void* a, const void* b, void* y, int64_t count) {        \
    for (int64_t i = 0; i < count; ++i) {                                                    \
      ((type*)y)[i] =                                                                        \
          (type)narrow((wide)widen(((const type*)a)[i]) * (wide)widen(((const type*)b)[i])); \
    }                                                                                        \
  }                                                                                          \
  static void divide_##NAME(const void* a, const void* b, void* y, int64_t count) {          \
    for (int64_t i = 0; i < count; ++i) {                                                    \
      ((type*)y)[i] =                                                                        \
          (type)narrow(divide(widen(((const type*)a)[i]), widen(((const type*)b)[i])));      \
    }                                                                                        \
  }
#define QUOTIENT(a, b) ((a) / (b))
#define SIGNED_QUOTIENT(a, b) ((b) == -1 ? (int64_t)(0 - (uint64_t)(a)) : (int64_t)(a) / (b))
#define COMBINED_TYPES(X)                                                                     \
  X(FLOAT, float, float, SAME, SAME, QUOTIENT)                                                \
  X(DOUBLE, double, double, SAME, SAME, QUOTIENT)                                             \
  X(HALF, leat_half_t, float, leat_half_to_float, leat_half_from_float, QUOTIENT)             \
  X(BFLOAT16, leat_bfloat16_t, float, leat_bfloat16_to_float, leat_bfloat16_from_float, QUOTIENT) \
  X(INT8, int8_t, uint64_t, SAME, SAME, SIGNED_QUOTIENT)                                      \
  X(INT16, int16_t, uint64_t, SAME, SAME, SIGNED_QUOTIENT)                                    \
  X(INT32, int32_t, uint64_t, SAME, SAME, SIGNED_QUOTIENT)                                    \
  X(INT64, int64_t, uint64_t, SAME, SAME, SIGNED_QUOTIENT)                                    \
  X(UINT8, uint8_t, uint64_t, SAME, SAME, QUOTIENT)                                           \
  X(UINT16, uint16_t, uint64_t, SAME, SAME, QUOTIENT)                                         \
  X(UINT32, uint32_t, uint64_t, SAME, SAME, QUOTIENT)                                         \
  X(UINT64, uint64_t, uint64_t, SAME, SAME, QUOTIENT)
COMBINED_TYPES(COMBINE)

#define MULTIPLY_ENTRY(NAME, ...) [LEAT_DTYPE_##NAME] = multiply_##NAME,
#define DIVIDE_ENTRY(NAME, ...) [LEAT_DTYPE_##NAME] = divide_##NAME,
static const combine_fn_t kMultiply[LEAT_DTYPE_COUNT] = {COMBINED_TYPES(MULTIPLY_ENTRY)};
static const combine_fn_t kDivide[LEAT_DTYPE_COUNT] = {COMBINED_TYPES(DIVIDE_ENTRY)};

// Defines add_scaled_NAME; |sum| is the type of sums.
#define ADD_SCALED(NAME, type, sum, widen, conjugate)                                           \
  static void add_scaled_##NAME(const void* a, bool conjugate_a, const void* x, int64_t stride, \
                                bool conjugate_x, void* y, int64_t count) {                     \
    sum scale = (sum)widen(*(const type*)a);                                                    \
    if (conjugate_a) scale = conjugate(scale);                                                  \
    for (int64_t i = 0; i < count; ++i) {                                                       \
      sum value = (sum)widen(((const type*)x)[i * stride]);                                     \
      ((sum*)y)[i] += scale * (conjugate_x ? conjugate(value) : value);                         \
    }                                                                                           \
  }
#define PRODUCT_TYPES(X)                                          \
  X(FLOAT, float, float, SAME, SAME)                              \
  X(DOUBLE, double, double, SAME, SAME)                           \
  X(INT32, int32_t, uint32_t, SAME, SAME)                         \
  X(HALF, leat_half_t, float, leat_half_to_float, SAME)           \
  X(BFLOAT16, leat_bfloat16_t, float, leat_bfloat16_to_float, SAME) \
  X(COMPLEX64, leat_complex64_t, leat_complex64_t, SAME, conjf)   \
  X(COMPLEX128, leat_complex128_t, leat_complex128_t, SAME, conj)
PRODUCT_TYPES(ADD_SCALED)
#define ADD_SCALED_ENTRY(NAME, ...) [LEAT_DTYPE_##NAME] = add_scaled_##NAME,
static const add_scaled_fn_t kAddScaled[LEAT_DTYPE_COUNT] = {PRODUCT_TYPES(ADD_SCALED_ENTRY)};

// ---- With a dense tensor that is broadcast ------------------------------------------------------

// The dimensions of |dense| must fit the last ones of |dims|: each is equal or 1.
static leat_status_t check_broadcast(const leat_kernel_context_t* c, const int64_t* dims, int rank,
                                     const leat_shape_t* dense) {
  leat_shape_t whole;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &whole));
  bool fits = dense->rank <= rank;
  for (int i = 1; fits && i <= dense->rank; ++i) {
    int64_t size = leat_shape_dim(dense, dense->rank - i);
    fits = size == dims[rank - i] || (size == 1 && dims[rank - i] > 0);
  }
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "SparseDenseBinaryOpShared broadcasts dense to sparse only; got "
                             "incompatible shapes: %s vs. %s",
                             LEAT_SHAPE_TEXT(&whole), LEAT_SHAPE_TEXT(dense));
}

// Writes the element of the dense tensor that belongs to each entry to |out_values|. If |divides|,
// a 0 among them (of either sign) is INVALID_ARGUMENT, as in TensorFlow.
static leat_status_t gather(const leat_kernel_context_t* c, const leat_entries_t* entries,
                            bool divides, leat_tensor_t* out_values) {
  const leat_tensor_t* dense = leat_kernel_input(c, 3);
  int rank = (int)entries->shape.shape.element_count, skipped = rank - dense->shape.rank;
  const int64_t *index = entries->indices.data, *dims = entries->shape.data;
  size_t bytes = leat_dtype_size(dense->dtype);
  static const char kZeros[16];
  for (int64_t i = 0; i < entries->values.shape.element_count; ++i, index += rank) {
    int64_t place = 0;
    for (int d = 0; d < rank; ++d) {
      if (index[d] < 0 || index[d] >= dims[d]) {
        return leat_kernel_invalid(c, "Provided indices are out-of-bounds w.r.t. dense side with "
                                   "broadcasted shape");
      }
      if (d < skipped) continue;
      int64_t size = leat_shape_dim(&dense->shape, d - skipped);
      place = place * size + (size == 1 ? 0 : index[d]);
    }
    const char* from = (const char*)dense->data + (size_t)place * bytes;
    memcpy((char*)out_values->data + (size_t)i * bytes, from, bytes);
    bool is_zero = memcmp(from, kZeros, bytes) == 0;
    if (leat_dtype_in(dense->dtype, LEAT_DTYPES_FLOATING) && bytes > 1 && !is_zero) {
      char sign[16] = {0};  // -0
      sign[bytes - 1] = (char)0x80;
      is_zero = memcmp(from, sign, bytes) == 0;
    }
    if (divides && is_zero) {
      return leat_kernel_invalid(c, "SparseDenseCwiseDiv cannot divide by zero, but input dense "
                                 "tensor contains zero");
    }
  }
  return leat_ok_status();
}

// |combine| is the table of the operation; NULL stands for addition.
static leat_status_t cwise(leat_kernel_context_t* c, const combine_fn_t* combine) {
  const leat_entries_t entries = leat_entries_of_inputs(c, 0);
  leat_tensor_t *output, dense;
  int64_t rank = entries.shape.shape.element_count;
  if (rank < 1 || rank > 5) {
    return leat_kernel_invalid(c, "Only tensors with ranks between 1 and 5 are currently "
                               "supported.  Tensor rank: %lld",
                               (long long)rank);
  }
  LEAT_RETURN_IF_ERROR(check_broadcast(c, entries.shape.data, (int)rank,
                                       &leat_kernel_input(c, 3)->shape));
  const leat_shape_t* shape = &entries.values.shape;
  int dtype = entries.values.dtype;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, dtype, shape, &dense));
  leat_status_t status = gather(c, &entries, combine == kDivide, &dense);
  if (status) {
  } else if (combine) {
    combine[dtype](entries.values.data, dense.data, output->data, shape->element_count);
  } else {
    leat_numbers_add(dtype, entries.values.data, dense.data, output->data, shape->element_count);
  }
  leat_tensor_release(&dense);
  return status;
}

static leat_status_t cwise_add__cpu(leat_kernel_context_t* c) { return cwise(c, NULL); }
static leat_status_t cwise_multiply__cpu(leat_kernel_context_t* c) { return cwise(c, kMultiply); }
static leat_status_t cwise_divide__cpu(leat_kernel_context_t* c) { return cwise(c, kDivide); }

// ---- Added to a dense tensor --------------------------------------------------------------------

// The dense tensor must have the dense shape of the sparse one.
static leat_status_t check_same(const leat_kernel_context_t* c, const leat_entries_t* entries) {
  const leat_shape_t* dense = &leat_kernel_input(c, 3)->shape;
  int64_t rank = entries->shape.shape.element_count;
  bool is_same = rank == dense->rank && rank >= 1 && rank <= 5;
  for (int d = 0; is_same && d < rank; ++d) {
    is_same = leat_tensor_index_at(&entries->shape, d) == leat_shape_dim(dense, d);
  }
  if (is_same) return leat_ok_status();
  return leat_kernel_invalid(c, "the dense side has shape %s, must be that of the sparse side, of "
                             "rank 1 to 5",
                             LEAT_SHAPE_TEXT(dense));
}

// The output takes the dense tensor's bytes where nobody else needs them.
static leat_status_t dense_add__cpu(leat_kernel_context_t* c) {
  const leat_entries_t entries = leat_entries_of_inputs(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(check_same(c, &entries));
  const leat_tensor_t* dense = leat_kernel_input(c, 3);
  const leat_shape_t* shape = &dense->shape;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 3, 0, shape, &output));
  if (output->data != dense->data && shape->element_count) {
    memcpy(output->data, dense->data, leat_tensor_size_bytes(dense));
  }
  size_t bytes = leat_dtype_size(output->dtype);
  for (int64_t i = 0; i < entries.values.shape.element_count; ++i) {
    int64_t place = 0;
    for (int d = 0; d < shape->rank; ++d) {
      int64_t index = leat_tensor_index_at(&entries.indices, i * shape->rank + d);
      if (index < 0 || index >= leat_shape_dim(shape, d)) {
        return leat_kernel_invalid(c, "Sparse tensor has an invalid index on dimension %d: "
                                   "a_indices(%lld,%d) = %lld, dense tensor shape: %s",
                                   d, (long long)i, d, (long long)index, LEAT_SHAPE_TEXT(shape));
      }
      place = place * leat_shape_dim(shape, d) + index;
    }
    char* sum = (char*)output->data + (size_t)place * bytes;
    leat_numbers_add(output->dtype, sum, (const char*)entries.values.data + (size_t)i * bytes, sum,
                     1);
  }
  return leat_ok_status();
}

// ---- Product ------------------------------------------------------------------------------------

typedef struct adjoints_s {
  bool a, b;
} adjoints_t;

static leat_status_t product_create(leat_kernel_creation_t* c, void* state) {
  adjoints_t* adjoints = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "adjoint_a", &adjoints->a));
  return leat_kernel_attr_bool(c, "adjoint_b", &adjoints->b);
}

// Adds the products into |sums|, which is zero and has the type of sums. |dims| is the shape of A.
static leat_status_t add_products(const leat_kernel_context_t* c, const leat_entries_t* a,
                                  const int64_t* dims, leat_tensor_t* sums) {
  const adjoints_t* adjoints = leat_kernel_state(c);
  const leat_tensor_t* b = leat_kernel_input(c, 3);
  int64_t inner = leat_shape_dim(&b->shape, adjoints->b ? 1 : 0);
  int64_t columns = leat_shape_dim(&sums->shape, 1), width = leat_shape_dim(&b->shape, 1);
  size_t bytes = leat_dtype_size(b->dtype), sum_bytes = leat_dtype_size(sums->dtype);
  leat_step_pace_t pace = leat_step_pace_of(c);
  for (int64_t i = 0; i < a->values.shape.element_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 10 + 0.5 * (double)columns));
    int64_t row = leat_tensor_index_at(&a->indices, 2 * i + adjoints->a);
    int64_t k = leat_tensor_index_at(&a->indices, 2 * i + !adjoints->a);
    if (k < 0 || k >= inner) {
      return leat_kernel_invalid(c, "k (%lld) from index[%lld,%d] out of bounds (>=%lld)",
                                 (long long)k, (long long)i, !adjoints->a, (long long)inner);
    }
    if (row < 0 || row >= dims[adjoints->a]) {
      return leat_kernel_invalid(c, "m (%lld) from index[%lld,%d] out of bounds (>=%lld)",
                                 (long long)row, (long long)i, adjoints->a,
                                 (long long)dims[adjoints->a]);
    }
    kAddScaled[b->dtype]((const char*)a->values.data + (size_t)i * bytes, adjoints->a,
                         (const char*)b->data + (size_t)(adjoints->b ? k : k * width) * bytes,
                         adjoints->b ? width : 1, adjoints->b,
                         (char*)sums->data + (size_t)(row * columns) * sum_bytes, columns);
  }
  return leat_ok_status();
}

static void narrow(const leat_tensor_t* sums, leat_tensor_t* output) {
  const float* from = sums->data;
  leat_half_t* to = output->data;  // bfloat16 is of the same size
  for (int64_t i = 0; i < sums->shape.element_count; ++i) {
    to[i] = output->dtype == LEAT_DTYPE_HALF ? leat_half_from_float(from[i])
                                             : leat_bfloat16_from_float(from[i]);
  }
}

// Sums of half and bfloat16 are kept in a temporary tensor of floats.
static leat_status_t product__cpu(leat_kernel_context_t* c) {
  const adjoints_t* adjoints = leat_kernel_state(c);
  leat_entries_t a;
  leat_tensor_t *output, sums;
  leat_shape_t shape;
  const leat_shape_t* b = &leat_kernel_input(c, 3)->shape;
  a = leat_entries_of_inputs(c, 0);
  const int64_t* dims = a.shape.data;
  if (dims[!adjoints->a] != leat_shape_dim(b, adjoints->b)) {
    return leat_kernel_invalid(c, "Cannot multiply A and B because inner dimension does not match. "
                               "B: %s",
                               LEAT_SHAPE_TEXT(b));
  }
  LEAT_RETURN_IF_ERROR(leat_shape_create(
      2, (int64_t[]){dims[adjoints->a], leat_shape_dim(b, !adjoints->b)}, &shape));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  bool is_narrow = output->dtype == LEAT_DTYPE_HALF || output->dtype == LEAT_DTYPE_BFLOAT16;
  if (is_narrow) {
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &shape, &sums));
  } else {
    sums = leat_tensor_share(output);
  }
  leat_tensor_fill_zero(&sums);
  leat_status_t status =
      shape.element_count ? add_products(c, &a, dims, &sums) : leat_ok_status();
  if (!status && is_narrow) narrow(&sums, output);
  leat_tensor_release(&sums);
  return status;
}

// ---- Rows ---------------------------------------------------------------------------------------

#define REALS \
  "bfloat16, double, float, half, int16, int32, int64, int8, uint16, uint32, uint64, uint8"
#define KERNEL(op_name, types, fn) \
  {.op = op_name, .device_type = "CPU", .constraints = types, .compute = fn##__cpu}

const leat_kernel_row_t leat_sparse_dense_kernels_cpu[] = {
    KERNEL("SparseDenseCwiseAdd", "T: " REALS, cwise_add),
    KERNEL("SparseDenseCwiseMul", "T: " REALS, cwise_multiply),
    KERNEL("SparseDenseCwiseDiv", "T: " REALS, cwise_divide),
    KERNEL("SparseTensorDenseAdd", "T: complex128, complex64, " REALS, dense_add),
    {.op = "SparseTensorDenseMatMul",
     .device_type = "CPU",
     .constraints = "T: bfloat16, complex128, complex64, double, float, half, int32",
     .create = product_create,
     .state_bytes = sizeof(adjoints_t),
     .compute = product__cpu},
    LEAT_KERNEL_ROWS_END,
};
