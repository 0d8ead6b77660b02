// CPU kernels of SparseSparseMaximum and SparseSparseMinimum. The result has an entry at each index
// where either operand has one; where only one has, the other counts as 0.
//
// The operands are walked over side by side, twice: the first walk counts the entries of the
// result. A NaN in either operand gives a NaN.
#include "device/cpu/combine.h"
#include "device/cpu/half.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

static leat_status_t create(leat_kernel_creation_t* c, void* state, leat_combine_t how) {
  int dtype;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "T", &dtype));
  *(leat_combine_fn_t*)state = leat_combine_find(how, dtype);
  LEAT_DCHECK(*(leat_combine_fn_t*)state);
  return leat_ok_status();
}

static leat_status_t create_max(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_COMBINE_MAX);
}

static leat_status_t create_min(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_COMBINE_MIN);
}

static leat_status_t check_pair(const leat_kernel_context_t* c, const leat_entries_t* a,
                                const leat_entries_t* b) {
  int64_t rank = a->shape.shape.element_count;
  const int64_t *dims = a->shape.data, *other = b->shape.data;
  if (rank == 0) return leat_kernel_invalid(c, "Tensors must not be empty");
  for (int64_t d = 0; d < rank; ++d) {
    if (dims[d] == other[d]) continue;
    return leat_kernel_invalid(c, "Operands' shapes do not match: got %lld and %lld for dimension "
                               "%lld",
                               (long long)dims[d], (long long)other[d], (long long)d);
  }
  LEAT_RETURN_IF_ERROR(leat_entries_check_bounds(c, &a->indices, dims));
  return leat_entries_check_bounds(c, &b->indices, dims);
}

static bool is_nan(int dtype, const void* value) {
  double number = 0;
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: number = *(const float*)value; break;
    case LEAT_DTYPE_DOUBLE: number = *(const double*)value; break;
    case LEAT_DTYPE_HALF: number = leat_half_to_float(*(const leat_half_t*)value); break;
    case LEAT_DTYPE_BFLOAT16:
      number = leat_bfloat16_to_float(*(const leat_bfloat16_t*)value);
      break;
    default: break;
  }
  return number != number;
}

// Writes the entry whose operands are entries |i| and |j|; one of the two may be -1.
static leat_status_t write_entry(const leat_kernel_context_t* c, const leat_entries_t* a, int64_t i,
                                 const leat_entries_t* b, int64_t j, leat_tensor_t* indices,
                                 leat_tensor_t* values, int64_t place) {
  static const double kZero[2] = {0, 0};  // of any type
  const leat_combine_fn_t* combine = leat_kernel_state(c);
  size_t bytes = leat_dtype_size(values->dtype);
  const void* other = kZero;
  if (i >= 0 && j >= 0) other = (const char*)b->values.data + (size_t)j * bytes;
  LEAT_RETURN_IF_ERROR(
      leat_entries_copy_one(i >= 0 ? a : b, i >= 0 ? i : j, indices, values, place));
  void* to = (char*)values->data + (size_t)place * bytes;
  if (is_nan(values->dtype, other)) {
    memcpy(to, other, bytes);
  } else {
    (*combine)(to, other, 1);
  }
  return leat_ok_status();
}

static leat_status_t extremum__cpu(leat_kernel_context_t* c) {
  const leat_entries_t a = leat_entries_of_inputs(c, 0), b = leat_entries_of_inputs(c, 3);
  leat_tensor_t *indices, *values;
  LEAT_RETURN_IF_ERROR(check_pair(c, &a, &b));
  int64_t total = 0, i, j, rank = a.shape.shape.element_count;
  leat_entry_pairs_t pairs = {&a, &b, 0, 0};
  while (leat_entry_pairs_next(&pairs, &i, &j)) ++total;
  LEAT_RETURN_IF_ERROR(leat_entries_allocate(c, 0, 1, total, rank, &indices, &values));
  pairs = (leat_entry_pairs_t){&a, &b, 0, 0};
  for (int64_t place = 0; leat_entry_pairs_next(&pairs, &i, &j); ++place) {
    LEAT_RETURN_IF_ERROR(write_entry(c, &a, i, &b, j, indices, values, place));
  }
  return leat_ok_status();
}

#define KERNEL(op, create_fn)                                                                \
  LEAT_CPU_KERNEL(op,                                                                        \
                  "T: bfloat16, double, float, half, int16, int32, int64, int8, uint16, "    \
                  "uint32, uint64, uint8",                                                   \
                  leat_combine_fn_t, create_fn, extremum__cpu)

const leat_kernel_row_t leat_sparse_extremum_kernels_cpu[] = {
    KERNEL("SparseSparseMaximum", create_max),
    KERNEL("SparseSparseMinimum", create_min),
    LEAT_KERNEL_ROWS_END,
};
