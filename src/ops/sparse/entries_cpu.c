// Sparse tensors for the kernels of this family: they are checked here, put in order, divided into
// rows, and joined. A sparse tensor is three tensors, the indices of its entries, their values and
// the dense shape (leat_entries_t).
//
// A batch is a sparse tensor whose first dimension counts rows, each of which is a sparse tensor of
// its own. leat_entries_take_row makes such a tensor from the entries of a row, and
// leat_entries_join is the reverse:
//
//   batch  indices [n, r]: (0, 3) (0, 5) (2, 1)        rows  0: (3) (5)    1: none    2: (1)
//
// Both rely on the entries being in order, so that those of a row stand together. The inputs may
// come from anybody. A kernel that uses an index as an address therefore has
// leat_entries_check_indices run first, or checks the index itself.
#include "ops/sparse/entries_cpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"

leat_status_t leat_entries_allocate(leat_kernel_context_t* c, int first, int second, int64_t count,
                                    int64_t rank, leat_tensor_t** out_indices,
                                    leat_tensor_t** out_values) {
  leat_shape_t vector = leat_shape_vector(count);
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(c, first, 2, (int64_t[]){count, rank}, out_indices));
  return leat_kernel_allocate_output(c, second, &vector, out_values);
}

void leat_entries_release(leat_entries_t* entries) {
  leat_tensor_release(&entries->indices);
  leat_tensor_release(&entries->values);
  leat_tensor_release(&entries->shape);
}

leat_status_t leat_entries_check(const leat_kernel_context_t* c, const leat_entries_t* entries) {
  const leat_shape_t *indices = &entries->indices.shape, *values = &entries->values.shape,
                     *shape = &entries->shape.shape;
  if (indices->rank != 2) {
    return leat_kernel_invalid(c, "Input indices should be a matrix but received shape %s",
                               LEAT_SHAPE_TEXT(indices));
  }
  if (values->rank != 1) {
    return leat_kernel_invalid(c, "Input values should be a vector but received shape %s",
                               LEAT_SHAPE_TEXT(values));
  }
  if (shape->rank != 1) {
    return leat_kernel_invalid(c, "Input shape should be a vector but received shape %s",
                               LEAT_SHAPE_TEXT(shape));
  }
  if (values->element_count != leat_shape_dim(indices, 0)) {
    return leat_kernel_invalid(c, "Number of values must match first dimension of indices. Got "
                               "%lld values, indices shape: %s",
                               (long long)values->element_count, LEAT_SHAPE_TEXT(indices));
  }
  if (shape->element_count == leat_shape_dim(indices, 1)) return leat_ok_status();
  return leat_kernel_invalid(c, "Number of dimensions must match second dimension of indices. Got "
                             "%lld dimensions, indices shape: %s",
                             (long long)shape->element_count, LEAT_SHAPE_TEXT(indices));
}

leat_entries_t leat_entries_of_inputs(const leat_kernel_context_t* c, int first) {
  const leat_entries_t entries = {*leat_kernel_input(c, first), *leat_kernel_input(c, first + 1),
                                  *leat_kernel_input(c, first + 2)};
  LEAT_DCHECK(entries.indices.shape.rank == 2 && entries.values.shape.rank == 1);
  LEAT_DCHECK(entries.values.shape.element_count == leat_shape_dim(&entries.indices.shape, 0));
  LEAT_DCHECK(entries.shape.shape.element_count == leat_shape_dim(&entries.indices.shape, 1));
  return entries;
}

// Prints an index as "[1,2". The callers' messages close the bracket, also behind an index that was
// too long for |text|.
static const char* print_index(const int64_t* index, int64_t rank, char* text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "[");
  for (int64_t d = 0; d < rank && used + 24 < size; ++d) {
    used += (size_t)snprintf(text + used, size - used, d ? ",%lld" : "%lld", (long long)index[d]);
  }
  return text;
}
#define INDEX_TEXT(index, rank) print_index((index), (rank), (char[160]){0}, 160)

leat_status_t leat_entries_check_bounds(const leat_kernel_context_t* c,
                                        const leat_tensor_t* indices, const int64_t* dims) {
  int64_t count = leat_shape_dim(&indices->shape, 0), rank = leat_shape_dim(&indices->shape, 1);
  const int64_t* index = indices->data;
  for (int64_t i = 0; i < count; ++i, index += rank) {
    bool is_inside = true;
    for (int64_t d = 0; d < rank; ++d) is_inside &= index[d] >= 0 && index[d] < dims[d];
    if (is_inside) continue;
    const leat_partial_shape_t shape = {(int)rank, dims};
    return leat_kernel_invalid(c, "indices[%lld] = %s] is out of bounds: need 0 <= index < %s",
                               (long long)i, INDEX_TEXT(index, rank),
                               LEAT_PARTIAL_SHAPE_TEXT(shape));
  }
  return leat_ok_status();
}

leat_status_t leat_entries_check_indices(const leat_kernel_context_t* c,
                                         const leat_tensor_t* indices, const int64_t* dims) {
  int64_t count = leat_shape_dim(&indices->shape, 0), rank = leat_shape_dim(&indices->shape, 1);
  const int64_t* index = indices->data;
  LEAT_RETURN_IF_ERROR(leat_entries_check_bounds(c, indices, dims));
  for (int64_t i = 1; i < count; ++i) {
    index += rank;
    int order = leat_index_compare(index - rank, index, rank);
    if (order < 0) continue;
    return leat_kernel_invalid(c, "indices[%lld] = %s] is %s", (long long)i,
                               INDEX_TEXT(index, rank),
                               order > 0 ? "out of order. Many sparse ops require sorted indices."
                                         : "repeated");
  }
  return leat_ok_status();
}

// ---- Order --------------------------------------------------------------------------------------

int leat_index_compare(const int64_t* a, const int64_t* b, int64_t rank) {
  for (int64_t d = 0; d < rank; ++d) {
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  }
  return 0;
}

// What is sorted: pointers to indices, so that indices of any rank move as one word. Each has the
// rank beside it, which the comparison could not know otherwise.
typedef struct index_s {
  const int64_t* at;
  int64_t rank;
} index_t;

// Of equal indices the one that lies first in memory comes first, which qsort would not promise.
static int compare_indices(const void* a_item, const void* b_item) {
  const index_t *a = a_item, *b = b_item;
  int order = leat_index_compare(a->at, b->at, a->rank);
  return order ? order : (a->at > b->at) - (a->at < b->at);
}

leat_status_t leat_entries_order(leat_kernel_context_t* c, const int64_t* indices, int64_t count,
                                 int64_t rank, leat_tensor_t* out_order) {
  leat_shape_t vector = leat_shape_vector(count), pairs;
  leat_tensor_t memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &vector, out_order));
  int64_t* order = out_order->data;
  bool is_sorted = true;
  for (int64_t i = 0; i < count; ++i) {
    order[i] = i;
    const int64_t* index = indices + i * rank;
    is_sorted &= i == 0 || leat_index_compare(index - rank, index, rank) <= 0;
  }
  if (is_sorted) return leat_ok_status();
  leat_status_t status =
      leat_shape_create(2, (int64_t[]){count, sizeof(index_t) / sizeof(int64_t)}, &pairs);
  if (!status) status = leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &pairs, &memory);
  if (status) {
    leat_tensor_release(out_order);
    return status;
  }
  index_t* items = memory.data;
  for (int64_t i = 0; i < count; ++i) items[i] = (index_t){indices + i * rank, rank};
  qsort(items, (size_t)count, sizeof *items, compare_indices);
  for (int64_t i = 0; i < count; ++i) order[i] = (items[i].at - indices) / rank;
  leat_tensor_release(&memory);
  return leat_ok_status();
}

leat_status_t leat_entries_copy_one(const leat_entries_t* entries, int64_t from,
                                    leat_tensor_t* out_indices, leat_tensor_t* out_values,
                                    int64_t to) {
  int64_t rank = leat_shape_dim(&entries->indices.shape, 1);
  size_t bytes = leat_dtype_size(entries->values.dtype);
  memcpy(leat_tensor_data(out_indices, int64_t) + to * rank,
         leat_tensor_data(&entries->indices, const int64_t) + from * rank,
         (size_t)rank * sizeof(int64_t));
  return leat_tensor_copy_elements(entries->values.dtype,
                                   (const char*)entries->values.data + (size_t)from * bytes,
                                   (char*)out_values->data + (size_t)to * bytes, 1);
}

bool leat_entry_pairs_next(leat_entry_pairs_t* pairs, int64_t* out_a, int64_t* out_b) {
  int64_t a = pairs->next_a, b = pairs->next_b;
  bool has_a = a < leat_shape_dim(&pairs->a->indices.shape, 0);
  bool has_b = b < leat_shape_dim(&pairs->b->indices.shape, 0);
  int order = (int)has_b - (int)has_a;
  if (has_a && has_b) {
    int64_t rank = leat_shape_dim(&pairs->a->indices.shape, 1);
    order = leat_index_compare(leat_tensor_data(&pairs->a->indices, const int64_t) + a * rank,
                               leat_tensor_data(&pairs->b->indices, const int64_t) + b * rank,
                               rank);
  }
  *out_a = has_a && order <= 0 ? a : -1;
  *out_b = has_b && order >= 0 ? b : -1;
  pairs->next_a += *out_a >= 0;
  pairs->next_b += *out_b >= 0;
  return has_a || has_b;
}

// ---- Batches ------------------------------------------------------------------------------------

leat_status_t leat_entries_of_batch(const leat_kernel_context_t* c, int first, bool is_validated,
                                    leat_entries_t* out_batch) {
  leat_shape_t dense;
  *out_batch = leat_entries_of_inputs(c, first);
  int64_t rank = out_batch->shape.shape.element_count;
  const int64_t* dims = out_batch->shape.data;
  if (rank <= 1) {
    return leat_kernel_invalid(c, "Rank of input SparseTensor should be > 1, but saw rank: %lld",
                               (long long)rank);
  }
  if (rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "Rank of input SparseTensor is %lld, must be <= %d",
                               (long long)rank, LEAT_SHAPE_MAX_RANK);
  }
  LEAT_RETURN_IF_ERROR(leat_shape_create((int)rank, dims, &dense));
  leat_shape_release(&dense);
  if (!is_validated) return leat_ok_status();
  return leat_entries_check_indices(c, &out_batch->indices, dims);
}

// Allocates |count| entries of |rank|. They are in the host's memory and not in the step's, because
// a row may be kept beyond the step (tensors_map_cpu.c).
static leat_status_t allocate_entries(int64_t count, int64_t rank, int dtype,
                                      leat_entries_t* out_entries) {
  leat_buffer_source_t* host = leat_buffer_source_host();
  leat_shape_t matrix, vector = leat_shape_vector(count), dims = leat_shape_vector(rank);
  *out_entries = (leat_entries_t){0};
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (int64_t[]){count, rank}, &matrix));
  leat_status_t status =
      leat_tensor_allocate(host, LEAT_DTYPE_INT64, &matrix, &out_entries->indices);
  if (!status) status = leat_tensor_allocate(host, dtype, &vector, &out_entries->values);
  if (!status) status = leat_tensor_allocate(host, LEAT_DTYPE_INT64, &dims, &out_entries->shape);
  if (status) leat_entries_release(out_entries);
  return status;
}

leat_status_t leat_entries_take_row(const leat_entries_t* batch, int64_t row,
                                    int64_t* inout_place, leat_entries_t* out_row) {
  int64_t total = batch->values.shape.element_count, rank = batch->shape.shape.element_count;
  const int64_t* index = leat_tensor_data(&batch->indices, const int64_t) + *inout_place * rank;
  size_t bytes = leat_dtype_size(batch->values.dtype);
  int64_t count = 0;
  while (*inout_place + count < total && index[count * rank] == row) ++count;
  LEAT_RETURN_IF_ERROR(allocate_entries(count, rank - 1, batch->values.dtype, out_row));
  for (int64_t i = 0; i < count; ++i) {
    memcpy(leat_tensor_data(&out_row->indices, int64_t) + i * (rank - 1), index + i * rank + 1,
           (size_t)(rank - 1) * sizeof *index);
  }
  memcpy(out_row->shape.data, leat_tensor_data(&batch->shape, const int64_t) + 1,
         (size_t)(rank - 1) * sizeof *index);
  leat_status_t status = leat_tensor_copy_elements(
      batch->values.dtype, (const char*)batch->values.data + (size_t)*inout_place * bytes,
      out_row->values.data, count);
  if (status) leat_entries_release(out_row);
  *inout_place += count;
  return status;
}

// Writes output 2, the dense shape of the joined tensor: |lead|, followed by the largest size that
// any row has in each dimension. INVALID_ARGUMENT unless all rows have the same rank.
static leat_status_t join_shapes(leat_kernel_context_t* c, const leat_entries_t* rows,
                                 int64_t count, int lead_rank, const int64_t* lead) {
  int64_t rank = rows->shape.shape.element_count;
  leat_shape_t vector = leat_shape_vector(lead_rank + rank);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &vector, &output));
  int64_t* dims = output->data;
  for (int i = 0; i < lead_rank; ++i) *dims++ = lead[i];
  for (int64_t i = 0; i < count; ++i) {
    if (rows[i].shape.shape.element_count != rank) {
      return leat_kernel_invalid(c, "Inconsistent shape across SparseTensors: rank prior to "
                                 "SparseTensor[%lld] was: %lld but rank of SparseTensor[%lld] is: "
                                 "%lld",
                                 (long long)i, (long long)rank, (long long)i,
                                 (long long)rows[i].shape.shape.element_count);
    }
    const int64_t* row = rows[i].shape.data;
    for (int64_t d = 0; d < rank; ++d) dims[d] = i ? LEAT_MAX(dims[d], row[d]) : row[d];
  }
  return leat_ok_status();
}

// Writes the indices of row |number| of the joined tensor to |index|, and gives the place after
// them. The row's number is written as an index in the dimensions |lead|.
static int64_t* write_indices(const leat_entries_t* row, int64_t number, int lead_rank,
                              const int64_t* lead, int64_t* index) {
  int64_t rank = row->shape.shape.element_count;
  const int64_t* from = row->indices.data;
  for (int64_t i = 0; i < row->values.shape.element_count; ++i, from += rank) {
    int64_t rest = number;
    for (int d = lead_rank - 1; d >= 0; --d) {
      index[d] = rest % lead[d];
      rest /= lead[d];
    }
    index += lead_rank;
    for (int64_t d = 0; d < rank; ++d) *index++ = from[d];
  }
  return index;
}

leat_status_t leat_entries_join(leat_kernel_context_t* c, const leat_entries_t* rows,
                                int64_t count, int lead_rank, const int64_t* lead) {
  int64_t total = 0;
  leat_tensor_t *indices, *values;
  LEAT_RETURN_IF_ERROR(join_shapes(c, rows, count, lead_rank, lead));
  for (int64_t i = 0; i < count; ++i) total += rows[i].values.shape.element_count;
  int64_t rank = lead_rank + rows->shape.shape.element_count;
  LEAT_RETURN_IF_ERROR(leat_entries_allocate(c, 0, 1, total, rank, &indices, &values));
  int64_t* index = indices->data;
  char* value = values->data;
  for (int64_t i = 0; i < count; ++i) {
    const leat_tensor_t* from = &rows[i].values;
    index = write_indices(&rows[i], i, lead_rank, lead, index);
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(values->dtype, from->data, value,
                                                   from->shape.element_count));
    value += (size_t)from->shape.element_count * leat_dtype_size(values->dtype);
  }
  return leat_ok_status();
}
