// CPU kernels that make CSR sparse matrices of dense and sparse tensors, and back.
//
// The entries come as indices [n, rank] in the order of batches and rows. As in TensorFlow the
// order is not checked: entries are counted by row, and columns and values are taken as they come.
#include "base/checked.h"
#include "ops/csr/csr_matrix_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

// ---- To CSR -------------------------------------------------------------------------------------

// Makes output 0 a matrix with an entry for each of |indices|, whose values the caller writes.
static leat_status_t make_matrix(leat_kernel_context_t* c, const leat_tensor_t* indices, int rank,
                                 const int64_t* dims, int dtype, leat_csr_matrix_t* out_matrix) {
  int64_t count = leat_shape_dim(&indices->shape, 0);
  const int64_t* index = indices->data;
  LEAT_RETURN_IF_ERROR(leat_entries_check_bounds(c, indices, dims));
  LEAT_RETURN_IF_ERROR(leat_csr_matrix_create(c, dtype, rank, dims, count, out_matrix));
  if (count && out_matrix->columns > INT32_MAX) {
    return leat_kernel_invalid(c, "the matrix has %lld columns, must have at most %d",
                               (long long)out_matrix->columns, INT32_MAX);
  }
  for (int64_t i = 0; i < count; ++i, index += rank) {
    int64_t batch = rank == 3 ? index[0] : 0;
    ++out_matrix->begins[batch + 1];
    ++out_matrix->row_ptrs[batch * (out_matrix->rows + 1) + index[rank - 2] + 1];
    out_matrix->indices[i] = (int32_t)index[rank - 1];
  }
  for (int64_t batch = 0; batch < out_matrix->batches; ++batch) {
    int32_t* pointers = out_matrix->row_ptrs + batch * (out_matrix->rows + 1);
    out_matrix->begins[batch + 1] += out_matrix->begins[batch];
    for (int64_t row = 0; row < out_matrix->rows; ++row) pointers[row + 1] += pointers[row];
  }
  return leat_ok_status();
}

static leat_status_t sparse_to_csr__cpu(leat_kernel_context_t* c) {
  const leat_entries_t entries = leat_entries_of_inputs(c, 0);
  leat_csr_matrix_t matrix;
  int64_t rank = entries.shape.shape.element_count;
  const int64_t* dims = entries.shape.data;
  LEAT_RETURN_IF_ERROR(leat_csr_check_dims(c, rank, dims));
  LEAT_RETURN_IF_ERROR(
      make_matrix(c, &entries.indices, (int)rank, dims, entries.values.dtype, &matrix));
  memcpy(matrix.values, entries.values.data, leat_tensor_size_bytes(&entries.values));
  return leat_ok_status();
}

static leat_status_t dense_to_csr__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t *dense = leat_kernel_input(c, 0), *indices = leat_kernel_input(c, 1);
  const int64_t *dims = leat_shape_dims(&dense->shape), *index = indices->data;
  int rank = dense->shape.rank;
  leat_csr_matrix_t matrix;
  LEAT_RETURN_IF_ERROR(leat_csr_check_dims(c, rank, dims));
  if (leat_shape_dim(&indices->shape, 1) != rank) {
    return leat_kernel_invalid(c, "indices have shape %s, must have as many columns as the dense "
                               "input has dimensions, %d",
                               LEAT_SHAPE_TEXT(&indices->shape), rank);
  }
  LEAT_RETURN_IF_ERROR(make_matrix(c, indices, rank, dims, dense->dtype, &matrix));
  size_t bytes = leat_dtype_size(dense->dtype);
  char* to = matrix.values;
  for (int64_t i = 0; i < leat_shape_dim(&indices->shape, 0); ++i, index += rank, to += bytes) {
    size_t place = 0;
    for (int d = 0; d < rank; ++d) place = place * (size_t)dims[d] + (size_t)index[d];
    memcpy(to, (const char*)dense->data + place * bytes, bytes);
  }
  return leat_ok_status();
}

// ---- From CSR -----------------------------------------------------------------------------------

static leat_status_t csr_to_sparse__cpu(leat_kernel_context_t* c) {
  leat_csr_matrix_t m;
  leat_tensor_t *indices, *values, *shape;
  LEAT_RETURN_IF_ERROR(leat_csr_matrix_of_input(c, 0, c->kernel->output_types[1], &m));
  int64_t count = leat_csr_entry_count(&m);
  leat_shape_t vector = leat_shape_vector(m.rank);
  LEAT_RETURN_IF_ERROR(leat_entries_allocate(c, 0, 1, count, m.rank, &indices, &values));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &vector, &shape));
  memcpy(values->data, m.values, leat_tensor_size_bytes(values));
  int64_t *dims = shape->data, *index = indices->data;
  if (m.rank == 3) *dims++ = m.batches;
  *dims++ = m.rows;
  *dims = m.columns;
  for (int64_t batch = 0; batch < m.batches; ++batch) {
    for (int64_t row = 0; row < m.rows; ++row) {
      leat_csr_row_t entries = leat_csr_row(&m, batch, row);
      for (int64_t i = entries.begin; i < entries.end; ++i) {
        if (m.rank == 3) *index++ = batch;
        *index++ = row;
        *index++ = m.indices[i];
      }
    }
  }
  return leat_ok_status();
}

static leat_status_t csr_to_dense__cpu(leat_kernel_context_t* c) {
  leat_csr_matrix_t m;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_csr_matrix_of_input(c, 0, c->kernel->output_types[0], &m));
  int64_t dims[] = {m.batches, m.rows, m.columns};
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, m.rank, dims + 3 - m.rank, &output));
  leat_tensor_fill_zero(output);
  size_t bytes = leat_dtype_size(m.dtype), row_bytes = (size_t)m.columns * bytes;
  char* to = output->data;
  for (int64_t batch = 0; batch < m.batches; ++batch) {
    for (int64_t row = 0; row < m.rows; ++row, to += row_bytes) {
      leat_csr_row_t entries = leat_csr_row(&m, batch, row);
      for (int64_t i = entries.begin; i < entries.end; ++i) {
        memcpy(to + (size_t)m.indices[i] * bytes, (const char*)m.values + (size_t)i * bytes,
               bytes);
      }
    }
  }
  return leat_ok_status();
}

static leat_status_t components__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* index = leat_kernel_input(c, 1);
  leat_csr_matrix_t m;
  leat_tensor_t *pointers, *indices, *values;
  LEAT_RETURN_IF_ERROR(leat_csr_matrix_of_input(c, 0, c->kernel->output_types[2], &m));
  int64_t batch = *leat_tensor_data(index, const int32_t);
  if (batch < 0 || batch >= m.batches) {
    return leat_kernel_invalid(c, "index (%lld) not in [0, %lld)", (long long)batch,
                               (long long)m.batches);
  }
  int64_t begin = m.begins[batch], count = m.begins[batch + 1] - begin;
  leat_shape_t rows = leat_shape_vector(m.rows + 1), entries = leat_shape_vector(count);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &rows, &pointers));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &entries, &indices));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &entries, &values));
  memcpy(pointers->data, m.row_ptrs + batch * (m.rows + 1), leat_tensor_size_bytes(pointers));
  memcpy(indices->data, m.indices + begin, leat_tensor_size_bytes(indices));
  memcpy(values->data, (const char*)m.values + (size_t)begin * leat_dtype_size(m.dtype),
         leat_tensor_size_bytes(values));
  return leat_ok_status();
}

static leat_status_t count__cpu(leat_kernel_context_t* c) {
  leat_csr_matrix_t m;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_csr_matrix_of_input(c, 0, 0, &m));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, m.rank - 2, &m.batches, &output));
  for (int64_t batch = 0; batch < m.batches; ++batch) {
    leat_tensor_data(output, int32_t)[batch] = m.begins[batch + 1] - m.begins[batch];
  }
  return leat_ok_status();
}

#define KERNEL(op_name, types, fn) \
  {.op = op_name, .device_type = "CPU", .constraints = types, .compute = fn##__cpu}
#define NUMBERS ": complex128, complex64, double, float"

const leat_kernel_row_t leat_csr_conversion_kernels_cpu[] = {
    KERNEL("SparseTensorToCSRSparseMatrix", "T" NUMBERS, sparse_to_csr),
    KERNEL("DenseToCSRSparseMatrix", "T" NUMBERS, dense_to_csr),
    KERNEL("CSRSparseMatrixToSparseTensor", "type" NUMBERS, csr_to_sparse),
    KERNEL("CSRSparseMatrixToDense", "type" NUMBERS, csr_to_dense),
    KERNEL("CSRSparseMatrixComponents", "type" NUMBERS, components),
    KERNEL("SparseMatrixNNZ", NULL, count),
    LEAT_KERNEL_ROWS_END,
};
