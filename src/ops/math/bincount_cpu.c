// The CPU kernels of Bincount, DenseBincount, SparseBincount and RaggedBincount: they count how
// often each integer in [0, size) occurs, or add up the weights of its occurrences.
//
//   bins[v] = sum over i with values[i] = v of weights[i]  (or of 1; at most 1 when binary)
//
// Dense vectors have one row of bins; matrices, sparse matrices and ragged tensors have one per
// row. Values from size on are dropped, negative ones are an error (in a sparse matrix they are
// dropped too). The loops run on one thread in the order of the values, so that sums of float
// weights are the same on every machine; counting is bound by memory, and the op is used on small
// inputs. Integers wrap at overflow, for which they are added as unsigned.
#include "ops/kernel_rows.h"

#include "base/checked.h"

typedef struct leat_bincount_s {
  bool is_binary;  // 1 for a value that occurs, however often
} leat_bincount_t;

static leat_status_t create_counted(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "binary_output", &((leat_bincount_t*)state)->is_binary);
}

// Adds occurrence |i| to the bin at |at| of |output|; binary output sets it to 1.
static void add(leat_tensor_t* output, const leat_tensor_t* weights, bool is_binary, int64_t at,
                int64_t i) {
  bool is_weighted = weights->shape.element_count > 0;
  switch (output->dtype) {
#define LEAT_ADD_(DTYPE, type, wide)                                                           \
  case LEAT_DTYPE_##DTYPE: {                                                                   \
    type* bin = &leat_tensor_data(output, type)[at];                                           \
    type weight = is_weighted ? leat_tensor_data(weights, const type)[i] : (type)1;            \
    *bin = is_binary ? (type)1 : (type)((wide)*bin + (wide)weight);                            \
    break;                                                                                     \
  }
    LEAT_ADD_(INT32, int32_t, uint32_t)
    LEAT_ADD_(INT64, int64_t, uint64_t)
    LEAT_ADD_(FLOAT, float, float)
    LEAT_ADD_(DOUBLE, double, double)
#undef LEAT_ADD_
    default: break;
  }
}

// Allocates the bins, all 0: [size], or [rows, size] for |rows| >= 0. Returns the size, input
// |size_tensor|.
static leat_status_t allocate_bins(leat_kernel_context_t* c, const leat_tensor_t* size_tensor,
                                   int64_t rows, int64_t* out_size, leat_tensor_t** out_output) {
  *out_size = leat_tensor_index_at(size_tensor, 0);
  if (*out_size < 0) {
    return leat_kernel_invalid(c, "size is %lld, must be >= 0", (long long)*out_size);
  }
  leat_shape_t shape;
  const int64_t dims[] = {rows, *out_size};
  LEAT_RETURN_IF_ERROR(leat_shape_create(rows < 0 ? 1 : 2, rows < 0 ? dims + 1 : dims, &shape));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, out_output));
  leat_tensor_fill_zero(*out_output);
  return leat_ok_status();
}

static leat_status_t negative(leat_kernel_context_t* c, int64_t i, int64_t bin) {
  return leat_kernel_invalid(c, "element %lld is %lld, must be >= 0", (long long)i,
                             (long long)bin);
}

// Weights are empty or there is one for each value.
static leat_status_t check_weights(leat_kernel_context_t* c, const leat_tensor_t* values,
                                   const leat_tensor_t* weights) {
  int64_t count = weights->shape.element_count;
  if (count == 0 || count == values->shape.element_count) return leat_ok_status();
  return leat_kernel_invalid(c, "weights is %s, must be empty or have the shape %s",
                             LEAT_SHAPE_TEXT(&weights->shape), LEAT_SHAPE_TEXT(&values->shape));
}

// Counts a vector or, with |by_row|, each row of a matrix.
static leat_status_t count_dense(leat_kernel_context_t* c, bool is_binary, bool by_row) {
  const leat_tensor_t* values = leat_kernel_input(c, 0);
  const leat_tensor_t* weights = leat_kernel_input(c, 2);
  LEAT_RETURN_IF_ERROR(check_weights(c, values, weights));
  int64_t size, rows = by_row ? leat_shape_dim(&values->shape, 0) : -1;
  int64_t columns = by_row ? leat_shape_dim(&values->shape, 1) : 0;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(allocate_bins(c, leat_kernel_input(c, 1), rows, &size, &output));
  for (int64_t i = 0; i < values->shape.element_count; ++i) {
    int64_t bin = leat_tensor_index_at(values, i);
    if (bin < 0) return negative(c, i, bin);
    int64_t row = by_row ? i / columns : 0;
    if (bin < size) add(output, weights, is_binary, row * size + bin, i);
  }
  return leat_ok_status();
}
static leat_status_t bincount__cpu(leat_kernel_context_t* c) {
  return count_dense(c, false, false);
}
static leat_status_t dense_bincount__cpu(leat_kernel_context_t* c) {
  const leat_bincount_t* state = leat_kernel_state(c);
  const leat_shape_t* weights = &leat_kernel_input(c, 2)->shape;
  const leat_shape_t* values = &leat_kernel_input(c, 0)->shape;
  if (weights->element_count && !leat_shape_equal(weights, values)) {
    return leat_kernel_invalid(c, "weights is %s, must be empty or have the shape %s",
                               LEAT_SHAPE_TEXT(weights), LEAT_SHAPE_TEXT(values));
  }
  return count_dense(c, state->is_binary, leat_kernel_input(c, 0)->shape.rank == 2);
}

// INVALID_ARGUMENT unless the sparse tensor's parts agree and its indices are within the dense
// shape.
static leat_status_t check_sparse(leat_kernel_context_t* c) {
  const leat_shape_t* indices = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* values = &leat_kernel_input(c, 1)->shape;
  const leat_shape_t* dense = &leat_kernel_input(c, 2)->shape;
  bool fits = indices->rank == 2 && values->rank == 1 && dense->rank == 1 &&
              dense->element_count >= 1 &&
              leat_shape_dim(indices, 0) == values->element_count &&
              leat_shape_dim(indices, 1) == dense->element_count;
  if (!fits) {
    return leat_kernel_invalid(c, "indices is %s, values %s and dense_shape %s, must be [n, rank], "
                                  "[n] and [rank]", LEAT_SHAPE_TEXT(indices),
                               LEAT_SHAPE_TEXT(values), LEAT_SHAPE_TEXT(dense));
  }
  int64_t rank = dense->element_count;
  for (int64_t i = 0; i < indices->element_count; ++i) {
    int64_t index = leat_tensor_index_at(leat_kernel_input(c, 0), i);
    int64_t dim = leat_tensor_index_at(leat_kernel_input(c, 2), i % rank);
    if (index < 0 || index >= dim) {
      return leat_kernel_invalid(c, "index %lld is %lld, must be in [0, %lld)", (long long)i,
                                 (long long)index, (long long)dim);
    }
  }
  return leat_ok_status();
}

// A sparse vector has one row of bins, and a sparse matrix one for each of its rows.
static leat_status_t sparse_bincount__cpu(leat_kernel_context_t* c) {
  const leat_bincount_t* state = leat_kernel_state(c);
  const leat_tensor_t* indices = leat_kernel_input(c, 0);
  const leat_tensor_t* values = leat_kernel_input(c, 1);
  const leat_tensor_t* dense = leat_kernel_input(c, 2);
  const leat_tensor_t* weights = leat_kernel_input(c, 4);
  LEAT_RETURN_IF_ERROR(check_sparse(c));
  LEAT_RETURN_IF_ERROR(check_weights(c, values, weights));
  int64_t rank = dense->shape.element_count, size;
  int64_t rows = rank == 1 ? -1 : leat_tensor_index_at(dense, 0);
  leat_tensor_t* output;
  if (rows < 0 && rank != 1) return leat_kernel_invalid(c, "dense_shape must be >= 0");
  LEAT_RETURN_IF_ERROR(allocate_bins(c, leat_kernel_input(c, 3), rows, &size, &output));
  for (int64_t i = 0; i < values->shape.element_count; ++i) {
    int64_t bin = leat_tensor_index_at(values, i);
    if (bin < 0 && rank == 1) return negative(c, i, bin);
    int64_t row = rank == 1 ? 0 : leat_tensor_index_at(indices, i * rank);
    if (bin >= 0 && bin < size) add(output, weights, state->is_binary, row * size + bin, i);
  }
  return leat_ok_status();
}

// Row r of the ragged tensor has the values from splits[r] to splits[r + 1].
static leat_status_t ragged_bincount__cpu(leat_kernel_context_t* c) {
  const leat_bincount_t* state = leat_kernel_state(c);
  const leat_tensor_t* splits = leat_kernel_input(c, 0);
  const leat_tensor_t* values = leat_kernel_input(c, 1);
  const leat_tensor_t* weights = leat_kernel_input(c, 3);
  int64_t rows = splits->shape.element_count - 1, n = values->shape.element_count;
  LEAT_RETURN_IF_ERROR(check_weights(c, values, weights));
  if (rows < 0 || leat_tensor_index_at(splits, 0) != 0 ||
      leat_tensor_index_at(splits, rows) != n) {
    return leat_kernel_invalid(c, "splits must begin with 0 and end with %lld", (long long)n);
  }
  int64_t size;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(allocate_bins(c, leat_kernel_input(c, 2), rows, &size, &output));
  for (int64_t i = 0, row = 0; i < n; ++i) {
    while (row < rows && i >= leat_tensor_index_at(splits, row + 1)) ++row;
    int64_t bin = leat_tensor_index_at(values, i);
    if (bin < 0) return negative(c, i, bin);
    if (bin < size) add(output, weights, state->is_binary, row * size + bin, i);
  }
  return leat_ok_status();
}

#define COUNTED(name, compute_fn)           \
  {.op = name,                              \
   .device_type = "CPU",                    \
   .create = create_counted,                \
   .state_bytes = sizeof(leat_bincount_t),  \
   .compute = compute_fn}

const leat_kernel_row_t leat_bincount_kernels_cpu[] = {
    {.op = "Bincount", .device_type = "CPU", .compute = bincount__cpu},
    COUNTED("DenseBincount", dense_bincount__cpu),
    COUNTED("SparseBincount", sparse_bincount__cpu),
    COUNTED("RaggedBincount", ragged_bincount__cpu),
    LEAT_KERNEL_ROWS_END,
};
