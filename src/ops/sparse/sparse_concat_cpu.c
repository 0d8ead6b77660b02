// CPU kernel of SparseConcat: sparse tensors side by side along an axis.
//
//   indices [N], values [N], shapes [N] -> sparse
//
// All entries are written one tensor after the other, their index along the axis moved by the sizes
// of the tensors before, and are then brought into the order of their indices. The tensors must
// agree in all other dimensions. Indices are not checked against the shapes, as in TensorFlow: they
// are only moved and compared.
#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

typedef struct concat_s {
  int64_t axis;  // negative: from the end
  int64_t count;
} concat_t;

static leat_status_t concat_create(leat_kernel_creation_t* c, void* memory) {
  concat_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "concat_dim", &state->axis));
  return leat_kernel_attr_int(c, "N", &state->count);
}

static leat_entries_t tensor_of(const leat_kernel_context_t* c, int64_t number) {
  int n = (int)((const concat_t*)leat_kernel_state(c))->count, i = (int)number;
  return (leat_entries_t){*leat_kernel_input(c, i), *leat_kernel_input(c, n + i),
                          *leat_kernel_input(c, 2 * n + i)};
}

// INTERNAL, as in TensorFlow, unless |dims| make a shape.
static leat_status_t check_dims(const leat_kernel_context_t* c, const int64_t* dims,
                                int64_t rank) {
  leat_shape_t shape;
  leat_status_t status = leat_shape_create((int)rank, dims, &shape);
  leat_shape_release(&shape);
  if (!status) return leat_ok_status();
  leat_status_free(status);
  return leat_kernel_error(c, LEAT_INTERNAL, "Encountered overflow from large input shape.");
}

// Checks tensor |number| against the first one, and adds its size along |axis| to |dims|.
static leat_status_t add_tensor(const leat_kernel_context_t* c, int64_t number, int64_t axis,
                                int64_t* dims, int64_t rank) {
  leat_entries_t entries = tensor_of(c, number);
  const int64_t* own = entries.shape.data;
  LEAT_RETURN_IF_ERROR(leat_entries_check(c, &entries));
  if (entries.shape.shape.element_count != rank) {
    return leat_kernel_invalid(c, "Ranks of all input tensors must match: expected %lld but got "
                               "%lld at position %lld",
                               (long long)rank, (long long)entries.shape.shape.element_count,
                               (long long)number);
  }
  LEAT_RETURN_IF_ERROR(check_dims(c, own, rank));
  if (number == 0) memcpy(dims, own, (size_t)rank * sizeof *dims);
  for (int64_t d = 0; d < rank; ++d) {
    if (d == axis || own[d] == dims[d]) continue;
    return leat_kernel_invalid(c, "Input shapes must match: expected %lld for dimension %lld but "
                               "got %lld at position %lld",
                               (long long)dims[d], (long long)d, (long long)own[d],
                               (long long)number);
  }
  if (number == 0 || leat_checked_add(dims[axis], own[axis], &dims[axis])) return leat_ok_status();
  return leat_kernel_error(c, LEAT_INTERNAL, "Encountered overflow from large input shape.");
}

// Writes the indices of all tensors one after the other, moved along |axis|.
static void move_indices(const leat_kernel_context_t* c, int64_t axis, int64_t rank,
                         int64_t* index) {
  const concat_t* state = leat_kernel_state(c);
  uint64_t offset = 0;  // unsigned, since an index that is far outside wraps
  for (int64_t i = 0; i < state->count; ++i) {
    leat_entries_t entries = tensor_of(c, i);
    int64_t count = entries.values.shape.element_count;
    memcpy(index, entries.indices.data, (size_t)(count * rank) * sizeof *index);
    for (int64_t k = 0; k < count; ++k, index += rank) {
      index[axis] = (int64_t)((uint64_t)index[axis] + offset);
    }
    offset += (uint64_t)leat_tensor_data(&entries.shape, const int64_t)[axis];
  }
}

// Copies all entries to the outputs in the order of their indices.
static leat_status_t write_ordered(leat_kernel_context_t* c, const leat_entries_t* all,
                                   const int64_t* order) {
  int64_t total = leat_shape_dim(&all->indices.shape, 0);
  leat_tensor_t *indices, *values;
  LEAT_RETURN_IF_ERROR(leat_entries_allocate(
      c, 0, 1, total, leat_shape_dim(&all->indices.shape, 1), &indices, &values));
  for (int64_t i = 0; i < total; ++i) {
    LEAT_RETURN_IF_ERROR(leat_entries_copy_one(all, order[i], indices, values, i));
  }
  return leat_ok_status();
}

// Allocates |all| and fills it with the entries of all tensors.
static leat_status_t gather_entries(leat_kernel_context_t* c, int64_t total, int64_t axis,
                                    int64_t rank, leat_entries_t* all) {
  const concat_t* state = leat_kernel_state(c);
  leat_shape_t matrix, vector = leat_shape_vector(total);
  int dtype = c->kernel->output_types[1];
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (int64_t[]){total, rank}, &matrix));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &matrix, &all->indices));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, dtype, &vector, &all->values));
  move_indices(c, axis, rank, all->indices.data);
  char* to = all->values.data;
  for (int64_t i = 0; i < state->count; ++i) {
    leat_entries_t entries = tensor_of(c, i);
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(dtype, entries.values.data, to,
                                                   entries.values.shape.element_count));
    to += leat_tensor_size_bytes(&entries.values);
  }
  return leat_ok_status();
}

static leat_status_t concat__cpu(leat_kernel_context_t* c) {
  const concat_t* state = leat_kernel_state(c);
  int64_t rank = leat_kernel_input(c, 2 * (int)state->count)->shape.element_count;
  int64_t axis = state->axis, total = 0, dims[LEAT_SHAPE_MAX_RANK];
  leat_tensor_t* shape;
  if (rank > LEAT_SHAPE_MAX_RANK) return leat_kernel_invalid(c, "the rank is too large");
  if (!leat_axis_resolve(&axis, rank)) {
    return leat_kernel_invalid(c, "Concat dimension must be in range [%lld, %lld), got %lld",
                               (long long)-rank, (long long)rank, (long long)axis);
  }
  for (int64_t i = 0; i < state->count; ++i) {
    LEAT_RETURN_IF_ERROR(add_tensor(c, i, axis, dims, rank));
    if (!leat_checked_add(total, tensor_of(c, i).values.shape.element_count, &total)) {
      return leat_kernel_invalid(c, "the tensors have too many entries");
    }
  }
  LEAT_RETURN_IF_ERROR(check_dims(c, dims, rank));
  leat_shape_t vector = leat_shape_vector(rank);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &vector, &shape));
  memcpy(shape->data, dims, (size_t)rank * sizeof *dims);
  leat_entries_t all = {0};
  leat_tensor_t order = {0};
  leat_status_t status = gather_entries(c, total, axis, rank, &all);
  if (!status) status = leat_entries_order(c, all.indices.data, total, rank, &order);
  if (!status) status = write_ordered(c, &all, order.data);
  leat_tensor_release(&order);
  leat_entries_release(&all);
  return status;
}

const leat_kernel_row_t leat_sparse_concat_kernels_cpu[] = {
    LEAT_CPU_KERNEL("SparseConcat",
                    "T: bfloat16, bool, complex128, complex64, double, float, half, int16, int32, "
                    "int64, int8, resource, string, uint16, uint32, uint64, uint8, variant",
                    concat_t, concat_create, concat__cpu),
    LEAT_KERNEL_ROWS_END,
};
