// Sparse matrices in compressed rows: makes and opens the boxes that hold them in variants
// (csr_matrix_cpu.h has their layout), transposes them, and reads and writes single numbers. The
// kernels of this folder are the only callers. Nobody else makes such a box, since its variant can
// neither be encoded nor decoded (kernel/boxed_tensors.c), so kernels rely on pointers and columns
// without checking them again. The tensors in a box have buffers of their own and none of the step,
// because a variant may outlive its step. Row pointers have 32 bits, so leat_csr_check_dims and
// leat_csr_matrix_create refuse what would need more.
//
// Transposition needs no sort and takes time in proportion to the entries, rows and columns. The
// pointers of the result serve as counters meanwhile:
//
//   entries of each column ─▶ running sums: where the next entry goes ─▶ moved by one row: pointers
//
// Entries are placed in the order of the old rows, so the new rows come out sorted, whatever the
// order was before. Numbers pass through a pair of doubles, so that one loop serves float, double
// and both complex types; a float becomes a double and a float again without loss.
#include "ops/csr/csr_matrix_cpu.h"

#include <stdlib.h>

#include "base/checked.h"
#include "kernel/boxed_tensors.h"

// The tensors in the box.
enum { SHAPE, BEGINS, ROW_PTRS, INDICES, VALUES, TENSOR_COUNT };

static void view_box(const leat_boxed_tensors_t* box, leat_csr_matrix_t* out_matrix) {
  const int64_t* dims = box->items[SHAPE].data;
  int rank = (int)box->items[SHAPE].shape.element_count;
  *out_matrix = (leat_csr_matrix_t){.dtype = box->items[VALUES].dtype,
                                    .rank = rank,
                                    .batches = rank == 3 ? dims[0] : 1,
                                    .rows = dims[rank - 2],
                                    .columns = dims[rank - 1],
                                    .begins = box->items[BEGINS].data,
                                    .row_ptrs = box->items[ROW_PTRS].data,
                                    .indices = box->items[INDICES].data,
                                    .values = box->items[VALUES].data};
}

leat_status_t leat_csr_matrix_of_input(const leat_kernel_context_t* c, int index, int dtype,
                                       leat_csr_matrix_t* out_matrix) {
  const leat_tensor_t* input = leat_kernel_input(c, index);
  const leat_boxed_tensors_t* box = NULL;
  if (input->shape.rank == 0) box = leat_boxed_tensors_of(input->data, &leat_csr_box_vtable);
  if (!box) {
    return leat_kernel_invalid(c, "Invalid input matrix: input %d has shape %s, must be a scalar "
                               "that holds a CSRSparseMatrix",
                               index, LEAT_SHAPE_TEXT(&input->shape));
  }
  view_box(box, out_matrix);
  if (dtype == 0 || out_matrix->dtype == dtype) return leat_ok_status();
  return leat_kernel_invalid(c, "Asked for a CSRSparseMatrix of type %s but saw dtype: %s",
                             leat_dtype_name(dtype), leat_dtype_name(out_matrix->dtype));
}

leat_status_t leat_csr_check_dims(const leat_kernel_context_t* c, int64_t rank,
                                  const int64_t* dims) {
  leat_shape_t shape;
  int64_t pointers;
  if (rank != 2 && rank != 3) {
    return leat_kernel_invalid(c, "a CSRSparseMatrix must have rank 2 or 3; but saw rank: %lld",
                               (long long)rank);
  }
  LEAT_RETURN_IF_ERROR(leat_shape_create((int)rank, dims, &shape));
  if (leat_checked_add(dims[rank - 2], 1, &pointers) &&
      leat_checked_multiply(pointers, rank == 3 ? dims[0] : 1, &pointers) &&
      pointers <= INT32_MAX && (rank == 2 || dims[0] < INT32_MAX)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "The csr row index size of the dense shape %s must be <= %d",
                             LEAT_SHAPE_TEXT(&shape), INT32_MAX);
}

// Allocates tensor |which| of the box, which may outlive the step.
static leat_status_t allocate_item(leat_boxed_tensors_t* box, int which, int dtype,
                                   int64_t count) {
  leat_shape_t vector = leat_shape_vector(count);
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), dtype, &vector, &box->items[which]));
  leat_tensor_fill_zero(&box->items[which]);
  return leat_ok_status();
}

leat_status_t leat_csr_matrix_create(leat_kernel_context_t* c, int dtype, int rank,
                                     const int64_t* dims, int64_t count,
                                     leat_csr_matrix_t* out_matrix) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_boxed_tensors_t* box;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_csr_check_dims(c, rank, dims));
  if (count > INT32_MAX) {
    return leat_kernel_invalid(c, "a CSRSparseMatrix cannot have %lld entries", (long long)count);
  }
  int64_t batches = rank == 3 ? dims[0] : 1;
  int64_t pointers = batches * (dims[rank - 2] + 1);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  LEAT_RETURN_IF_ERROR(leat_boxed_tensors_create(&leat_csr_box_vtable, true, TENSOR_COUNT,
                                                 output->data, &box));
  LEAT_RETURN_IF_ERROR(leat_tensor_vector(LEAT_DTYPE_INT64, dims, rank, &box->items[SHAPE]));
  LEAT_RETURN_IF_ERROR(allocate_item(box, BEGINS, LEAT_DTYPE_INT32, batches + 1));
  LEAT_RETURN_IF_ERROR(allocate_item(box, ROW_PTRS, LEAT_DTYPE_INT32, pointers));
  LEAT_RETURN_IF_ERROR(allocate_item(box, INDICES, LEAT_DTYPE_INT32, count));
  LEAT_RETURN_IF_ERROR(allocate_item(box, VALUES, dtype, count));
  view_box(box, out_matrix);
  return leat_ok_status();
}

// ---- Transposition ------------------------------------------------------------------------------

// Transposes one matrix of a batch. The pointers of |to| first count the entries of its rows, then
// say where the next entry of each row goes, and at last where the next row begins.
static void transpose_one(const leat_csr_matrix_t* m, int64_t batch, bool conjugates,
                          leat_csr_matrix_t* to) {
  int32_t* next = to->row_ptrs + batch * (to->rows + 1);
  int64_t begin = m->begins[batch], end = m->begins[batch + 1];
  for (int64_t i = begin; i < end; ++i) ++next[m->indices[i] + 1];
  for (int64_t row = 0; row < to->rows; ++row) next[row + 1] += next[row];
  // Entry i of a row is written where next[row] points to; all pointers are then one row ahead.
  for (int64_t row = 0; row < m->rows; ++row) {
    leat_csr_row_t entries = leat_csr_row(m, batch, row);
    for (int64_t i = entries.begin; i < entries.end; ++i) {
      int64_t place = begin + next[m->indices[i]]++;
      leat_csr_number_t number = leat_csr_number_at(m->dtype, m->values, i);
      if (conjugates) number = leat_csr_number_conjugate(number);
      to->indices[place] = (int32_t)row;
      leat_csr_number_set(m->dtype, to->values, place, number);
    }
  }
  for (int64_t row = to->rows; row > 0; --row) next[row] = next[row - 1];
  next[0] = 0;
}

leat_status_t leat_csr_matrix_transpose(leat_kernel_context_t* c, const leat_csr_matrix_t* m,
                                        bool conjugates, leat_tensor_t* out_memory,
                                        leat_csr_matrix_t* out_matrix) {
  int64_t dims[] = {m->batches, m->columns, m->rows};
  for (int i = 0; i < 3; ++i) out_memory[i] = (leat_tensor_t){0};
  LEAT_RETURN_IF_ERROR(leat_csr_check_dims(c, 3, dims));
  leat_shape_t pointers = leat_shape_vector(m->batches * (m->columns + 1));
  leat_shape_t entries = leat_shape_vector(leat_csr_entry_count(m));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT32, &pointers, &out_memory[0]));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT32, &entries, &out_memory[1]));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, m->dtype, &entries, &out_memory[2]));
  leat_tensor_fill_zero(&out_memory[0]);
  *out_matrix = (leat_csr_matrix_t){m->dtype,           m->rank,
                                    m->batches,         m->columns,
                                    m->rows,            m->begins,
                                    out_memory[0].data, out_memory[1].data,
                                    out_memory[2].data};
  for (int64_t i = 0; i < m->batches; ++i) transpose_one(m, i, conjugates, out_matrix);
  return leat_ok_status();
}

static int compare_columns(const void* a, const void* b) {
  const int32_t x = *(const int32_t*)a, y = *(const int32_t*)b;
  return (x > y) - (x < y);
}

void leat_csr_sort_columns(int32_t* columns, int64_t count) {
  qsort(columns, (size_t)count, sizeof *columns, compare_columns);
}

// ---- Numbers ------------------------------------------------------------------------------------

leat_csr_number_t leat_csr_number_at(int dtype, const void* values, int64_t index) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: return (leat_csr_number_t){((const float*)values)[index], 0};
    case LEAT_DTYPE_DOUBLE: return (leat_csr_number_t){((const double*)values)[index], 0};
    case LEAT_DTYPE_COMPLEX64: {
      const float* pair = (const float*)values + 2 * index;
      return (leat_csr_number_t){pair[0], pair[1]};
    }
    default: {
      const double* pair = (const double*)values + 2 * index;
      return (leat_csr_number_t){pair[0], pair[1]};
    }
  }
}

void leat_csr_number_set(int dtype, void* values, int64_t index, leat_csr_number_t number) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: ((float*)values)[index] = (float)number.real; break;
    case LEAT_DTYPE_DOUBLE: ((double*)values)[index] = number.real; break;
    case LEAT_DTYPE_COMPLEX64:
      ((float*)values)[2 * index] = (float)number.real;
      ((float*)values)[2 * index + 1] = (float)number.imaginary;
      break;
    default:
      ((double*)values)[2 * index] = number.real;
      ((double*)values)[2 * index + 1] = number.imaginary;
  }
}
