// The kernel of DenseToSparseBatchDataset: several elements, dense tensors of one rank whose sizes
// may differ, become the rows of one sparse tensor.
//
//   elements [2], [3], [1], row_shape [-1]
//       ──▶ indices [6, 2], values [6], dense_shape [3, 3], in one tensor [3] of variants
//
// Each of the three lies in a variant, as SerializeSparse makes it, so that DeserializeSparse reads
// the elements of this dataset. A size in row_shape bounds the rows and is that of the sparse
// tensor; where it is -1, the largest row of the batch decides. All numbers of a row become values,
// zeros as well.
//
// The input may answer PENDING in the middle of a batch, so that the rows collected so far belong
// to the iterator (ops/dataset/pull_cpu.h). A row that fails, or does not fit, takes those before
// it along, as in TensorFlow.
#include "base/checked.h"
#include "kernel/boxed_tensors.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

enum { INDICES, VALUES, DENSE_SHAPE, PARTS };

// The dataset has one tensor: row_shape.
typedef struct sparse_batch_s {
  leat_dataset_t base;
  int64_t size;
} sparse_batch_t;

typedef struct sparse_batch_iterator_s {
  leat_iterator_t base;
  leat_tensor_t* rows;
  size_t capacity, count;
  int64_t value_count;  // of all rows
} sparse_batch_iterator_t;

static int row_rank(const leat_dataset_t* dataset) {
  return (int)dataset->tensors[0].shape.element_count;
}

static const int64_t* row_shape(const leat_dataset_t* dataset) {
  return leat_tensor_data(&dataset->tensors[0], const int64_t);
}

static void drop_rows(sparse_batch_iterator_t* it) {
  for (size_t i = 0; i < it->count; ++i) leat_tensor_release(&it->rows[i]);
  it->count = 0;
  it->value_count = 0;
}

static void sparse_batch_stop(leat_iterator_t* self) {
  sparse_batch_iterator_t* it = (sparse_batch_iterator_t*)self;
  drop_rows(it);
  leat_allocator_free(leat_allocator_system(), it->rows);
}

// ---- Putting together ---------------------------------------------------------------------------

// Makes tensor |part| of the batch and puts it into its variant.
static leat_status_t add_part(leat_tensor_t* batch, int part, int dtype, int rank,
                              const int64_t* dims, leat_tensor_t** out_tensor) {
  leat_shape_t shape;
  leat_boxed_tensors_t* box;
  LEAT_RETURN_IF_ERROR(leat_boxed_tensors_create(
      &leat_tensor_box_vtable, true, 1, leat_tensor_data(batch, leat_variant_t) + part, &box));
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &shape));
  leat_status_t status =
      leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, &box->items[0]);
  leat_shape_release(&shape);
  *out_tensor = &box->items[0];
  return status;
}

// Writes the indices of all values of |row|, which is row |index| of the batch.
static int64_t* write_indices(const leat_tensor_t* row, int64_t index, int64_t* to) {
  const int rank = row->shape.rank;
  int64_t place[LEAT_SHAPE_MAX_RANK] = {0};
  for (int64_t i = 0; i < row->shape.element_count; ++i) {
    *to++ = index;
    for (int d = 0; d < rank; ++d) *to++ = place[d];
    for (int d = rank - 1; d >= 0 && ++place[d] == leat_shape_dim(&row->shape, d); --d) {
      place[d] = 0;
    }
  }
  return to;
}

static leat_status_t fill_values(const sparse_batch_iterator_t* it, leat_tensor_t* values) {
  char* to = values->data;
  for (size_t i = 0; i < it->count; ++i) {
    const leat_tensor_t* row = &it->rows[i];
    if (!row->shape.element_count) continue;
    LEAT_RETURN_IF_ERROR(
        leat_tensor_copy_elements(row->dtype, row->data, to, row->shape.element_count));
    to += (size_t)row->shape.element_count * leat_dtype_size(row->dtype);
  }
  return leat_ok_status();
}

// Sets the dense shape: the number of rows, and the sizes of row_shape, or of the largest row.
static void fill_dense_shape(const sparse_batch_iterator_t* it, int64_t* dims) {
  const int rank = row_rank(it->base.dataset);
  const int64_t* sizes = row_shape(it->base.dataset);
  *dims++ = (int64_t)it->count;
  for (int d = 0; d < rank; ++d) {
    dims[d] = sizes[d] < 0 ? 0 : sizes[d];
    for (size_t i = 0; sizes[d] < 0 && i < it->count; ++i) {
      dims[d] = LEAT_MAX(dims[d], leat_shape_dim(&it->rows[i].shape, d));
    }
  }
}

static leat_status_t fill_batch(const sparse_batch_iterator_t* it, leat_tensor_t* batch) {
  const int64_t rank = row_rank(it->base.dataset) + 1;
  leat_tensor_t* part;
  LEAT_RETURN_IF_ERROR(add_part(batch, INDICES, LEAT_DTYPE_INT64, 2,
                                (int64_t[]){it->value_count, rank}, &part));
  int64_t* to = leat_tensor_data(part, int64_t);
  for (size_t i = 0; i < it->count; ++i) to = write_indices(&it->rows[i], (int64_t)i, to);
  LEAT_RETURN_IF_ERROR(
      add_part(batch, VALUES, it->base.input->dataset->spec->types[0], 1, &it->value_count, &part));
  LEAT_RETURN_IF_ERROR(fill_values(it, part));
  LEAT_RETURN_IF_ERROR(add_part(batch, DENSE_SHAPE, LEAT_DTYPE_INT64, 1, &rank, &part));
  fill_dense_shape(it, leat_tensor_data(part, int64_t));
  return leat_ok_status();
}

static leat_status_t make_batch(const sparse_batch_iterator_t* it, leat_tensor_t* out) {
  leat_shape_t shape = leat_shape_vector(PARTS);
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_VARIANT, &shape, out));
  leat_status_t status = fill_batch(it, out);
  if (status) leat_tensor_release(out);
  return status;
}

// ---- Collecting ---------------------------------------------------------------------------------

// Checks a row against row_shape. DATA_LOSS, which is TensorFlow's code, where it is too large.
static leat_status_t check_row(const leat_dataset_t* dataset, const leat_tensor_t* row) {
  const int64_t* sizes = row_shape(dataset);
  if (row->shape.rank != row_rank(dataset)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Input element had shape %s that is incompatible with row_shape, which "
                            "has %d dimensions.",
                            LEAT_SHAPE_TEXT(&row->shape), row_rank(dataset));
  }
  for (int d = 0; d < row->shape.rank; ++d) {
    if (sizes[d] < 0 || leat_shape_dim(&row->shape, d) <= sizes[d]) continue;
    return leat_make_status(LEAT_DATA_LOSS,
                            "Input element had shape %s that is larger than row_shape, whose size "
                            "%d is %lld.",
                            LEAT_SHAPE_TEXT(&row->shape), d, (long long)sizes[d]);
  }
  return leat_ok_status();
}

static leat_status_t add_row(sparse_batch_iterator_t* it, leat_tensor_t* row) {
  ++it->count;  // so that it is released with the others
  LEAT_RETURN_IF_ERROR(check_row(it->base.dataset, row));
  if (leat_checked_add(it->value_count, row->shape.element_count, &it->value_count)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                          "a batch has more values than can be counted");
}

// Pulls rows until the batch is full or the input has ended, as |*out_poll| says.
static leat_status_t collect(sparse_batch_iterator_t* it, leat_pull_t* pull,
                             leat_poll_t* out_poll) {
  const uint64_t size = (uint64_t)((const sparse_batch_t*)it->base.dataset)->size;
  *out_poll = LEAT_POLL_ELEMENT;
  while (it->count < size) {
    LEAT_RETURN_IF_ERROR(
        LEAT_GROW(leat_allocator_system(), it->count + 1, &it->rows, &it->capacity));
    leat_tensor_t* row = &it->rows[it->count];
    LEAT_RETURN_IF_ERROR(leat_iterator_next(it->base.input, pull, row, out_poll));
    if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
    LEAT_RETURN_IF_ERROR(add_row(it, row));
  }
  return leat_ok_status();
}

static leat_status_t sparse_batch_next(leat_iterator_t* self, leat_pull_t* pull,
                                       leat_tensor_t* out, leat_poll_t* out_poll) {
  sparse_batch_iterator_t* it = (sparse_batch_iterator_t*)self;
  leat_status_t status = collect(it, pull, out_poll);
  if (!status && *out_poll == LEAT_POLL_PENDING) return leat_ok_status();
  if (!status && it->count) {
    *out_poll = LEAT_POLL_ELEMENT;
    status = make_batch(it, out);
  }
  drop_rows(it);
  return status;
}

static int64_t sparse_batch_cardinality(const leat_dataset_t* self) {
  const int64_t size = ((const sparse_batch_t*)self)->size;
  const int64_t n = leat_dataset_cardinality(self->inputs[0]);
  return n < 0 ? n : n / size + (n % size != 0);
}

static const leat_dataset_kind_t kSparseBatch = {.name = "DenseToSparseBatch",
                                                 .dataset_bytes = sizeof(sparse_batch_t),
                                                 .iterator_bytes = sizeof(sparse_batch_iterator_t),
                                                 .opens_input = true,
                                                 .next = sparse_batch_next,
                                                 .stop = sparse_batch_stop,
                                                 .cardinality = sparse_batch_cardinality};

// ---- The kernel ---------------------------------------------------------------------------------

static leat_status_t check_row_shape(const leat_kernel_context_t* c) {
  const leat_tensor_t* sizes = leat_kernel_input(c, 2);
  if (sizes->shape.rank != 1 || sizes->shape.element_count >= LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "row_shape has shape %s, must be a vector of fewer than %d sizes",
                               LEAT_SHAPE_TEXT(&sizes->shape), LEAT_SHAPE_MAX_RANK);
  }
  for (int64_t d = 0; d < sizes->shape.element_count; ++d) {
    const int64_t size = leat_tensor_data(sizes, const int64_t)[d];
    if (size >= -1) continue;
    return leat_kernel_invalid(c, "row_shape[%lld] is %lld, must be >= -1", (long long)d,
                               (long long)size);
  }
  return leat_ok_status();
}

// The shape that TensorFlow states for the elements is that of the dense batch, although they are
// three variants.
static leat_status_t make_spec(const leat_tensor_t* sizes, leat_element_spec_t** out_spec) {
  int64_t dims[LEAT_SHAPE_MAX_RANK] = {LEAT_DIM_UNKNOWN};
  const int rank = (int)sizes->shape.element_count;
  for (int d = 0; d < rank; ++d) dims[d + 1] = leat_tensor_data(sizes, const int64_t)[d];
  LEAT_RETURN_IF_ERROR(leat_element_spec_create(1, out_spec));
  leat_status_t status = leat_element_spec_set(*out_spec, 0, LEAT_DTYPE_VARIANT,
                                               (leat_partial_shape_t){rank + 1, dims});
  if (status) leat_element_spec_release(*out_spec);
  return status;
}

static leat_status_t sparse_batch__cpu(leat_kernel_context_t* c) {
  int64_t size;
  leat_element_spec_t* spec;
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  if (input->spec->count != 1) {
    return leat_kernel_invalid(c, "the input's elements have %d components, must have one",
                               input->spec->count);
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "batch_size", &size));
  if (size <= 0) return leat_kernel_invalid(c, "Batch size must be greater than zero.");
  LEAT_RETURN_IF_ERROR(check_row_shape(c));
  LEAT_RETURN_IF_ERROR(make_spec(leat_kernel_input(c, 2), &spec));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(&kSparseBatch, spec, input, 1, &dataset));
  ((sparse_batch_t*)dataset)->size = size;
  leat_status_t status = leat_dataset_keep_inputs(c, 2, 0, 1, dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

const leat_kernel_row_t leat_sparse_batch_dataset_kernels_cpu[] = {
    {.op = "DenseToSparseBatchDataset", .device_type = "CPU", .compute = sparse_batch__cpu},
    {.op = "ExperimentalDenseToSparseBatchDataset",
     .device_type = "CPU",
     .compute = sparse_batch__cpu},
    LEAT_KERNEL_ROWS_END,
};
