// The kernel of SparseTensorSliceDataset: the rows of a sparse tensor, also those without values,
// each as the three parts of a sparse tensor of one dimension less.
//
//   indices [n, rank], values [n], shape [rank]
//       ──▶ for each row: indices [k, rank - 1], values [k], shape [rank - 1]
//
// The values of a row must be next to each other, and the rows in order; the kernel checks it once.
// An iterator then only moves on by the values of each row, so that a pass over the dataset costs a
// pass over the values. The position of an iterator is the row and the value at which the next one
// begins.
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

enum { INDICES, VALUES, SHAPE, PARTS };

typedef struct rows_iterator_s {
  leat_iterator_t base;
  int64_t row;    // the row that is given next
  int64_t value;  // index of the first value that belongs to it or to a later row
} rows_iterator_t;

static int64_t rank_of(const leat_tensor_t* parts) { return parts[SHAPE].shape.element_count; }

static int64_t row_of(const leat_tensor_t* parts, int64_t value) {
  return leat_tensor_data(&parts[INDICES], const int64_t)[value * rank_of(parts)];
}

static int64_t rows_cardinality(const leat_dataset_t* self) {
  return *leat_tensor_data(&self->tensors[SHAPE], const int64_t);
}

// Makes the indices of the values from |begin| to |end| within their row.
static leat_status_t make_indices(const leat_tensor_t* parts, int64_t begin, int64_t end,
                                  leat_tensor_t* out_tensor) {
  int64_t rank = rank_of(parts);
  int64_t dims[2] = {end - begin, rank - 1};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
  leat_status_t status =
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_INT64, &shape, out_tensor);
  leat_shape_release(&shape);
  if (status) return status;
  const int64_t* from = leat_tensor_data(&parts[INDICES], const int64_t);
  int64_t* to = leat_tensor_data(out_tensor, int64_t);
  for (int64_t i = 0; i < dims[0]; ++i) {
    for (int64_t d = 1; d < rank; ++d) {
      to[i * (rank - 1) + d - 1] = from[(begin + i) * rank + d];
    }
  }
  return leat_ok_status();
}

// Copies the elements from |begin| to |end| of a vector: a kernel wants them aligned.
static leat_status_t copy_range(const leat_tensor_t* vector, int64_t begin, int64_t end,
                                leat_tensor_t* out_tensor) {
  leat_tensor_t slice;
  LEAT_RETURN_IF_ERROR(leat_tensor_slice(vector, begin, end, &slice));
  leat_status_t status = leat_tensor_copy(leat_buffer_source_host(), &slice, out_tensor);
  leat_tensor_release(&slice);
  return status;
}

static leat_status_t make_row(const leat_tensor_t* parts, int64_t begin, int64_t end,
                              leat_tensor_t* out) {
  LEAT_RETURN_IF_ERROR(make_indices(parts, begin, end, &out[INDICES]));
  leat_status_t status = copy_range(&parts[VALUES], begin, end, &out[VALUES]);
  if (!status) {
    status = copy_range(&parts[SHAPE], 1, rank_of(parts), &out[SHAPE]);
    if (status) leat_tensor_release(&out[VALUES]);
  }
  if (status) leat_tensor_release(&out[INDICES]);
  return status;
}

static leat_status_t rows_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                               leat_poll_t* out_poll) {
  rows_iterator_t* it = (rows_iterator_t*)self;
  const leat_tensor_t* parts = self->dataset->tensors;
  int64_t count = parts[VALUES].shape.element_count, end = it->value;
  if (it->row >= rows_cardinality(self->dataset)) return leat_ok_status();
  while (end < count && row_of(parts, end) == it->row) ++end;
  LEAT_RETURN_IF_ERROR(make_row(parts, it->value, end, out));
  it->value = end;
  ++it->row;
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static const leat_dataset_kind_t kRows = {.name = "SparseTensorSlice",
                                          .dataset_bytes = sizeof(leat_dataset_t),
                                          .iterator_bytes = sizeof(rows_iterator_t),
                                          .next = rows_next,
                                          .cardinality = rows_cardinality};

static leat_status_t check_parts(const leat_kernel_context_t* c) {
  const leat_shape_t* indices = &leat_kernel_input(c, INDICES)->shape;
  const leat_shape_t* values = &leat_kernel_input(c, VALUES)->shape;
  const leat_shape_t* shape = &leat_kernel_input(c, SHAPE)->shape;
  if (indices->rank != 2 || values->rank != 1 || shape->rank != 1) {
    return leat_kernel_invalid(c,
                               "indices, values and dense_shape have shapes %s, %s and %s, must be "
                               "a matrix and two vectors",
                               LEAT_SHAPE_TEXT(indices), LEAT_SHAPE_TEXT(values),
                               LEAT_SHAPE_TEXT(shape));
  }
  if (leat_shape_dim(indices, 0) != values->element_count ||
      leat_shape_dim(indices, 1) != shape->element_count || shape->element_count == 0) {
    return leat_kernel_invalid(c,
                               "indices has shape %s, must have a row for each of %lld values and "
                               "a column for each of %lld dimensions",
                               LEAT_SHAPE_TEXT(indices), (long long)values->element_count,
                               (long long)shape->element_count);
  }
  return leat_ok_status();
}

// Checks that the rows of the indices are in order and none is negative. Those behind the last row
// are never given.
static leat_status_t check_order(const leat_kernel_context_t* c, const leat_tensor_t* parts) {
  int64_t last = 0;
  for (int64_t i = 0; i < parts[VALUES].shape.element_count; ++i) {
    int64_t row = row_of(parts, i);
    if (row < last) {
      return leat_kernel_error(c, LEAT_UNIMPLEMENTED,
                               "The SparseTensor must be ordered in the batch dimension; handling "
                               "arbitrarily ordered input is not currently supported.");
    }
    last = row;
  }
  return leat_ok_status();
}

static leat_status_t make_spec(int dtype, int64_t rank, leat_element_spec_t** out_spec) {
  leat_element_spec_t* spec;
  int64_t indices[2] = {-1, rank - 1}, values[1] = {-1}, shape[1] = {rank - 1};
  LEAT_RETURN_IF_ERROR(leat_element_spec_create(PARTS, &spec));
  leat_status_t status = leat_element_spec_set(spec, INDICES, LEAT_DTYPE_INT64,
                                               (leat_partial_shape_t){2, indices});
  if (!status) {
    status = leat_element_spec_set(spec, VALUES, dtype, (leat_partial_shape_t){1, values});
  }
  if (!status) {
    status = leat_element_spec_set(spec, SHAPE, LEAT_DTYPE_INT64,
                                   (leat_partial_shape_t){1, shape});
  }
  if (status) {
    leat_element_spec_release(spec);
    return status;
  }
  *out_spec = spec;
  return leat_ok_status();
}

static leat_status_t rows__cpu(leat_kernel_context_t* c) {
  leat_element_spec_t* spec;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(check_parts(c));
  LEAT_RETURN_IF_ERROR(make_spec(leat_kernel_input(c, VALUES)->dtype,
                                 leat_kernel_input(c, SHAPE)->shape.element_count, &spec));
  LEAT_RETURN_IF_ERROR(leat_dataset_create(&kRows, spec, 0, PARTS, &dataset));
  leat_status_t status = leat_dataset_keep_inputs(c, 0, 0, PARTS, dataset);
  if (!status) status = check_order(c, dataset->tensors);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

const leat_kernel_row_t leat_sparse_slice_dataset_kernels_cpu[] = {
    {.op = "SparseTensorSliceDataset", .device_type = "CPU", .compute = rows__cpu},
    LEAT_KERNEL_ROWS_END,
};
