// Index tuples (nd_index_cpu.h): the policy for bad ones, the strides, and the error.
#include "ops/index/nd_index_cpu.h"

#include <stdio.h>

#include "base/checked.h"

leat_status_t leat_bad_indices_read(const leat_kernel_creation_t* creation,
                                    leat_bad_indices_t* out_policy) {
  leat_string_view_t policy;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(creation, "bad_indices_policy", &policy));
  *out_policy = LEAT_BAD_INDICES_FAIL;
  if (leat_string_view_equals(policy, "IGNORE")) {
    *out_policy = LEAT_BAD_INDICES_IGNORE;
  } else if (policy.size > 0 && !leat_string_view_equals(policy, "DEFAULT") &&
             !leat_string_view_equals(policy, "ERROR")) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Bad indices handling is unknown: %.*s",
                            LEAT_SV_ARG(policy));
  }
  return leat_ok_status();
}

leat_status_t leat_nd_index_make(const leat_kernel_context_t* c, const leat_tensor_t* indices,
                                 const leat_shape_t* shape, leat_nd_index_t* out_index) {
  int rank = indices->shape.rank;
  if (rank < 1) return leat_kernel_invalid(c, "rank of indices is 0, must be at least 1");
  int64_t depth = leat_shape_dim(&indices->shape, rank - 1);
  if (depth > shape->rank) {
    return leat_kernel_invalid(c, "last dimension of indices is %lld, must be at most the rank %d",
                               (long long)depth, shape->rank);
  }
  out_index->indices = indices;
  out_index->depth = (int)depth;
  out_index->count = leat_shape_product(&indices->shape, 0, rank - 1);
  out_index->slice = leat_shape_product(shape, (int)depth, shape->rank);
  int64_t stride = out_index->slice;
  for (int d = (int)depth - 1; d >= 0; --d) {
    out_index->dims[d] = leat_shape_dim(shape, d);
    out_index->strides[d] = stride;
    stride *= LEAT_MAX(out_index->dims[d], 1);
  }
  return leat_ok_status();
}

leat_status_t leat_nd_index_error(const leat_kernel_context_t* c, const leat_nd_index_t* index,
                                  const char* what, int64_t at) {
  char tuple[200];
  size_t used = 0;
  tuple[0] = 0;
  for (int d = 0; d < index->depth && used < sizeof(tuple) - 24; ++d) {
    used += (size_t)snprintf(tuple + used, sizeof(tuple) - used, d ? ", %lld" : "%lld",
                             (long long)leat_index_read(index->indices, at * index->depth + d));
  }
  leat_partial_shape_t dims = {index->depth, index->dims};
  // The last dimension of the indices holds the tuple.
  const leat_shape_t* shape = &index->indices->shape;
  return leat_kernel_invalid(c, "indices%s = [%s] does not index into %s %s",
                             LEAT_INDEX_PLACE(shape, LEAT_MAX(shape->rank - 1, 0), at), tuple,
                             what, LEAT_PARTIAL_SHAPE_TEXT(dims));
}
