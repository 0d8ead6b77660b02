// CPU kernels of accumulators of sparse gradients, in which only some rows of a variable have a
// value, as an embedding's gradient is. The sum is a sorted list of row numbers with the rows'
// values, and a count for each row:
//
//   sum       indices [2, 5]      counts [1, 3]     values [a, b]
//   gradient  indices [2, 7]                        values [c, d]
//   new sum   indices [2, 5, 7]   counts [2, 3, 1]  values [a + c, b, d]
//
// Adding merges two sorted lists into new tensors in O(rows); the gradient's indices must therefore
// be in ascending order, which the kernel does not check. A hash table would accept any order but
// would have to be sorted when the sum is taken. The mean divides each row by the row's own count,
// not by the number of gradients, because a gradient without that row says nothing about it. What
// is not specific to sparse gradients is in accumulator_cpu.c, whose lock is held while rows are
// added and taken.
#include <string.h>

#include "device/cpu/combine.h"
#include "ops/kernel_rows.h"
#include "ops/queue/accumulator_cpu.h"

typedef struct sparse_s {
  leat_accumulator_t base;
  leat_tensor_t indices;  // int64 [rows], ascending
  leat_tensor_t counts;   // int32 [rows]: how many gradients had the row
  leat_tensor_t values;   // [rows, ...]
} sparse_t;

typedef struct known_shape_s {
  bool has_known_shape;
} known_shape_t;

// ---- Checks -------------------------------------------------------------------------------------

// Checks the dense shape that came with the gradient (input 4) against the accumulator's.
static leat_status_t check_stated_shape(leat_kernel_context_t* c, leat_partial_shape_t shape) {
  const leat_tensor_t* stated = leat_kernel_input(c, 4);
  if (shape.rank > stated->shape.element_count) {
    return leat_kernel_invalid(c, "Shape mismatch: expected shape rank at least %d, got %lld",
                               shape.rank, (long long)stated->shape.element_count);
  }
  for (int d = 0; d < shape.rank; ++d) {
    int64_t size = leat_tensor_data(stated, const int64_t)[d];
    if (shape.dims[d] >= 0 && shape.dims[d] != size) {
      return leat_kernel_invalid(c, "Shape mismatch: expected shape dim %d to be %lld, got %lld",
                                 d, (long long)shape.dims[d], (long long)size);
    }
  }
  return leat_ok_status();
}

// Checks the shape of the gradient's rows: against the sum's where there is one, otherwise against
// the accumulator's attribute, which may leave sizes and trailing dimensions open.
static leat_status_t check_rows(leat_kernel_context_t* c, const sparse_t* sparse) {
  const leat_shape_t* values = &leat_kernel_input(c, 3)->shape;
  leat_partial_shape_t shape = sparse->base.shape;
  bool first = sparse->base.count == 0;
  if (!first) shape = leat_partial_shape_of(&sparse->values.shape);
  if (first ? shape.rank > values->rank : shape.rank != values->rank) {
    return leat_kernel_invalid(c, "Shape mismatch: expected values rank %s%d, got %d",
                               first ? "at least " : "", shape.rank, values->rank);
  }
  for (int d = 1; d < shape.rank; ++d) {
    int64_t size = leat_shape_dim(values, d);
    if (shape.dims[d] >= 0 && shape.dims[d] != size) {
      return leat_kernel_invalid(c, "Shape mismatch: expected values dim %d to be %lld, got %lld",
                                 d, (long long)shape.dims[d], (long long)size);
    }
  }
  return leat_ok_status();
}

// Checks a gradient against the accumulator: its type, its form, its rows, and the shape that the
// node may state.
static leat_status_t check_gradient(leat_kernel_context_t* c, const sparse_t* sparse) {
  const leat_tensor_t* indices = leat_kernel_input(c, 2);
  const leat_tensor_t* values = leat_kernel_input(c, 3);
  leat_partial_shape_t shape = sparse->base.shape;
  if (values->dtype != sparse->base.dtype) {
    return leat_kernel_invalid(c, "gradient_values are %s, must be the accumulator's type, %s",
                               leat_dtype_name(values->dtype),
                               leat_dtype_name(sparse->base.dtype));
  }
  if (indices->shape.rank != 1) {
    return leat_kernel_invalid(c, "Input indices should be vector but received shape: %s",
                               LEAT_SHAPE_TEXT(&indices->shape));
  }
  int64_t rows = indices->shape.element_count;
  if (values->shape.rank < 1) {
    return leat_kernel_invalid(c, "Values cannot be 0-dimensional.");
  }
  if (leat_shape_dim(&values->shape, 0) != rows) {
    return leat_kernel_invalid(c, "Expected %lld non-empty input values, got shape %s",
                               (long long)rows, LEAT_SHAPE_TEXT(&values->shape));
  }
  if (((const known_shape_t*)leat_kernel_state(c))->has_known_shape) {
    LEAT_RETURN_IF_ERROR(check_stated_shape(c, shape));
  }
  for (int64_t i = 0; shape.rank > 0 && shape.dims[0] >= 0 && i < rows; ++i) {
    int64_t index = leat_tensor_data(indices, const int64_t)[i];
    if (index >= shape.dims[0]) {
      return leat_kernel_invalid(c,
                                 "Shape mismatch: index of slice %lld exceeded limits of shape; "
                                 "index is %lld exceeded %lld",
                                 (long long)i, (long long)index, (long long)shape.dims[0]);
    }
  }
  return check_rows(c, sparse);
}

// ---- Adding -------------------------------------------------------------------------------------

static void release(sparse_t* sparse) {
  leat_tensor_release(&sparse->indices);
  leat_tensor_release(&sparse->counts);
  leat_tensor_release(&sparse->values);
}

// Allocates a sum of |rows| rows, each of the shape of a row of |like|.
static leat_status_t allocate(leat_buffer_source_t* memory, int64_t rows, const leat_tensor_t* like,
                              sparse_t* out) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  leat_shape_t vector = leat_shape_vector(rows), shape;
  memcpy(dims, leat_shape_dims(&like->shape), (size_t)like->shape.rank * sizeof(int64_t));
  dims[0] = rows;
  LEAT_RETURN_IF_ERROR(leat_shape_create(like->shape.rank, dims, &shape));
  leat_status_t status = leat_tensor_allocate(memory, LEAT_DTYPE_INT64, &vector, &out->indices);
  if (!status) status = leat_tensor_allocate(memory, LEAT_DTYPE_INT32, &vector, &out->counts);
  if (!status) status = leat_tensor_allocate(memory, like->dtype, &shape, &out->values);
  leat_shape_release(&shape);
  if (status) release(out);
  return status;
}

// Returns how many different numbers two ascending lists have together.
static int64_t count_union(const int64_t* a, int64_t a_count, const int64_t* b, int64_t b_count) {
  int64_t count = 0;
  for (int64_t i = 0, k = 0; i < a_count || k < b_count; ++count) {
    int64_t left = i, right = k;
    if (left < a_count && (right >= b_count || a[left] <= b[right])) ++i;
    if (right < b_count && (left >= a_count || b[right] <= a[left])) ++k;
  }
  return count;
}

// Replaces the sum by the sum plus the gradient in inputs 2 and 3. On failure the old sum stays.
static leat_status_t merge(leat_kernel_context_t* c, sparse_t* sparse) {
  const leat_tensor_t* new_indices = leat_kernel_input(c, 2);
  const leat_tensor_t* new_values = leat_kernel_input(c, 3);
  int64_t a_count = sparse->base.count ? sparse->indices.shape.element_count : 0;
  int64_t b_count = new_indices->shape.element_count;
  const int64_t* a = leat_tensor_data(&sparse->indices, const int64_t);
  const int64_t* b = leat_tensor_data(new_indices, const int64_t);
  sparse_t sum = {0};
  LEAT_RETURN_IF_ERROR(allocate(c->services->memory, count_union(a, a_count, b, b_count),
                                new_values, &sum));
  int64_t row_items = leat_shape_product(&new_values->shape, 1, new_values->shape.rank);
  size_t row_bytes = (size_t)row_items * leat_dtype_size(new_values->dtype);
  char* out = sum.values.data;
  int64_t row = 0;
  for (int64_t i = 0, k = 0; i < a_count || k < b_count; ++row, out += row_bytes) {
    bool old = i < a_count && (k >= b_count || a[i] <= b[k]);
    bool new = k < b_count && (i >= a_count || b[k] <= a[i]);
    const char* new_row = (const char*)new_values->data + (size_t)k * row_bytes;
    leat_tensor_data(&sum.indices, int64_t)[row] = old ? a[i] : b[k];
    leat_tensor_data(&sum.counts, int32_t)[row] =
        (old ? leat_tensor_data(&sparse->counts, const int32_t)[i] : 0) + new;
    if (row_bytes) {
      memcpy(out, old ? (const char*)sparse->values.data + (size_t)i * row_bytes : new_row,
             row_bytes);
    }
    if (old && new) leat_numbers_add(sparse->base.dtype, out, new_row, out, row_items);
    i += old;
    k += new;
  }
  release(sparse);
  sparse->indices = sum.indices;
  sparse->counts = sum.counts;
  sparse->values = sum.values;
  return leat_ok_status();
}

static leat_status_t sparse_add(leat_accumulator_t* self, leat_kernel_context_t* c) {
  LEAT_RETURN_IF_ERROR(check_gradient(c, (sparse_t*)self));
  return merge(c, (sparse_t*)self);
}

// ---- Taking -------------------------------------------------------------------------------------

// Output 2 is the dense shape [rows of the variable, ...shape of a row]; the first size is -1 where
// the accumulator does not know it.
static leat_status_t set_shape(leat_kernel_context_t* c, const sparse_t* sparse) {
  const leat_shape_t* values = &sparse->values.shape;
  leat_shape_t vector = leat_shape_vector(values->rank);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &vector, &output));
  int64_t* dims = leat_tensor_data(output, int64_t);
  for (int d = 0; d < values->rank; ++d) dims[d] = leat_shape_dim(values, d);
  dims[0] = sparse->base.shape.rank > 0 ? sparse->base.shape.dims[0] : -1;
  return leat_ok_status();
}

static leat_status_t sparse_take(leat_accumulator_t* self, leat_kernel_context_t* c) {
  sparse_t* sparse = (sparse_t*)self;
  LEAT_RETURN_IF_ERROR(set_shape(c, sparse));
  const leat_tensor_t* values = &sparse->values;
  int64_t rows = sparse->indices.shape.element_count;
  int64_t row_items = leat_shape_product(&values->shape, 1, values->shape.rank);
  size_t row_bytes = (size_t)row_items * leat_dtype_size(values->dtype);
  for (int64_t r = 0; self->mean && r < rows; ++r) {
    leat_accumulator_divide(self->dtype, (char*)values->data + (size_t)r * row_bytes, row_items,
                            leat_tensor_data(&sparse->counts, const int32_t)[r]);
  }
  leat_kernel_set_output(c, 0, leat_tensor_move(&sparse->indices));
  leat_kernel_set_output(c, 1, leat_tensor_move(&sparse->values));
  leat_tensor_release(&sparse->counts);
  return leat_ok_status();
}

static void sparse_destroy(leat_accumulator_t* self) { release((sparse_t*)self); }

static const leat_accumulator_vtable_t kSparseVtable = {
    .name = "SparseConditionalAccumulator",
    .add = sparse_add,
    .take = sparse_take,
    .destroy = sparse_destroy};

static leat_status_t make_sparse(void* data, leat_resource_t** out_resource) {
  leat_accumulator_t* accumulator;
  LEAT_RETURN_IF_ERROR(
      leat_accumulator_create(data, &kSparseVtable, sizeof(sparse_t), &accumulator));
  *out_resource = &accumulator->resource;
  return leat_ok_status();
}

static leat_status_t accumulator__cpu(leat_kernel_context_t* c) {
  return leat_accumulator_output_handle(c, make_sparse);
}

static leat_status_t apply_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "has_known_shape", &((known_shape_t*)state)->has_known_shape);
}

static leat_status_t apply__cpu(leat_kernel_context_t* c) {
  return leat_accumulator_apply(c, &kSparseVtable);
}

static void take__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_accumulator_take(c, done, &kSparseVtable);
}

const leat_kernel_row_t leat_sparse_accumulator_kernels_cpu[] = {
    {.op = "SparseConditionalAccumulator", .device_type = "CPU",
     .constraints = "dtype: double, float, half", .create = leat_accumulator_handle_create,
     .destroy = leat_accumulator_handle_destroy,
     .state_bytes = sizeof(leat_accumulator_handle_t), .compute = accumulator__cpu},
    {.op = "SparseAccumulatorApplyGradient", .device_type = "CPU", .create = apply_create,
     .state_bytes = sizeof(known_shape_t), .compute = apply__cpu},
    {.op = "SparseAccumulatorTakeGradient", .device_type = "CPU",
     .compute_async = take__cpu},
    LEAT_KERNEL_ROWS_END,
};
