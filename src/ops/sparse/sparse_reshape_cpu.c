// CPU kernel of SparseReshape. When the dense shape of a sparse tensor changes, its values stay as
// they are and in the same order; only the indices are written anew:
//
//   index in the old shape ──▶ place in the flattened dense tensor ──▶ index in the new shape
//
// One dimension of the new shape may be -1; it then follows from the number of elements. The dense
// tensor is never made, and may be far larger than memory, so products of sizes are checked for
// overflow. Indices are not checked against the old shape, as in TensorFlow: a wrong index becomes
// another wrong index, which the op that uses the tensor refuses.
#include "base/checked.h"
#include "ops/kernel_rows.h"

// Writes the new shape to |dims|, with -1 replaced. |dense| is the number of elements of the old
// one.
static leat_status_t resolve(const leat_kernel_context_t* c, int64_t dense, int64_t* dims,
                             int64_t rank) {
  int64_t product = 1, unknown = -1;
  for (int64_t d = 0; d < rank; ++d) {
    dims[d] = leat_tensor_data(leat_kernel_input(c, 2), const int64_t)[d];
    if (dims[d] == -1 && unknown >= 0) {
      return leat_kernel_invalid(c, "only one output dimension may be -1, not both %lld and %lld",
                                 (long long)unknown, (long long)d);
    }
    if (dims[d] == -1) {
      unknown = d;
      continue;
    }
    if (dims[d] < 0) {
      return leat_kernel_invalid(c, "size %lld must be non-negative, not %lld", (long long)d,
                                 (long long)dims[d]);
    }
    if (!leat_checked_multiply(product, dims[d], &product)) {
      return leat_kernel_invalid(c, "new_shape has too many elements");
    }
  }
  if (unknown >= 0) {
    if (product == 0) {
      return leat_kernel_invalid(c, "reshape cannot infer the missing input size for an empty "
                                 "tensor unless all specified input sizes are non-zero");
    }
    if (dense % product != 0) {
      return leat_kernel_invalid(c, "Input to reshape is a SparseTensor with %lld dense values, "
                                 "but the requested shape requires a multiple of %lld",
                                 (long long)dense, (long long)product);
    }
    dims[unknown] = dense / product;
    product *= dims[unknown];
  }
  if (product == dense) return leat_ok_status();
  return leat_kernel_invalid(c, "Input to reshape is a tensor with %lld dense values, but the "
                             "requested shape has %lld",
                             (long long)dense, (long long)product);
}

// Writes the indices in the new shape to |out|. Indices that lie outside the old shape give indices
// that lie outside the new one or are wrong, but no address is computed from them here.
static void rewrite(const leat_tensor_t* indices, const leat_shape_t* from, const int64_t* to,
                    int64_t to_rank, int64_t* out) {
  const int64_t* index = indices->data;
  for (int64_t i = 0; i < leat_shape_dim(&indices->shape, 0); ++i, out += to_rank) {
    uint64_t place = 0;
    for (int d = 0; d < from->rank; ++d) {
      place = place * (uint64_t)leat_shape_dim(from, d) + (uint64_t)*index++;
    }
    int64_t rest = (int64_t)place;
    for (int64_t d = to_rank - 1; d > 0; --d) {
      out[d] = rest % to[d];
      rest /= to[d];
    }
    if (to_rank) out[0] = rest;
  }
}

static leat_status_t fill(leat_kernel_context_t* c, const leat_shape_t* from, const int64_t* to,
                          int64_t rank) {
  const leat_tensor_t* indices = leat_kernel_input(c, 0);
  int64_t count = leat_shape_dim(&indices->shape, 0);
  leat_shape_t vector = leat_shape_vector(rank), matrix;
  leat_tensor_t *out_shape, *out_indices;
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (int64_t[]){count, rank}, &matrix));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &vector, &out_shape));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &matrix, &out_indices));
  if (rank) memcpy(out_shape->data, to, (size_t)rank * sizeof *to);
  if (count && from->element_count == 0) {
    return leat_kernel_invalid(
        c, "Input tensor has %lld non zero elements but the shapes are empty", (long long)count);
  }
  rewrite(indices, from, to, rank, out_indices->data);
  return leat_ok_status();
}

static leat_status_t reshape__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* shape = leat_kernel_input(c, 1);
  int64_t to[LEAT_SHAPE_MAX_RANK], rank = leat_kernel_input(c, 2)->shape.element_count;
  leat_shape_t from;
  if (shape->shape.element_count > LEAT_SHAPE_MAX_RANK || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "input_shape has %lld sizes and new_shape %lld, must have at "
                               "most %d",
                               (long long)shape->shape.element_count, (long long)rank,
                               LEAT_SHAPE_MAX_RANK);
  }
  LEAT_RETURN_IF_ERROR(leat_shape_create((int)shape->shape.element_count, shape->data, &from));
  leat_status_t status = resolve(c, from.element_count, to, rank);
  if (!status && rank == from.rank &&
      (rank == 0 || memcmp(to, leat_shape_dims(&from), (size_t)rank * sizeof *to) == 0)) {
    leat_kernel_pass_input(c, 0, 0);
    leat_kernel_pass_input(c, 1, 1);
  } else if (!status) {
    status = fill(c, &from, to, rank);
  }
  leat_shape_release(&from);
  return status;
}

const leat_kernel_row_t leat_sparse_reshape_kernels_cpu[] = {
    {.op = "SparseReshape", .device_type = "CPU", .compute = reshape__cpu},
    LEAT_KERNEL_ROWS_END,
};
