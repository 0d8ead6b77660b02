// Reads the axes of a reduction, computes its output shape, and merges the dimensions of its input
// into the plan that ops/math/reduction_plan_cpu.h describes.
#include "ops/math/reduction_plan_cpu.h"

leat_status_t leat_reduction_axes(leat_kernel_context_t* c, const leat_tensor_t* axes, int rank,
                                  bool* out_reduced) {
  for (int d = 0; d < rank; ++d) out_reduced[d] = false;
  for (int64_t i = 0; i < axes->shape.element_count; ++i) {
    int64_t axis = leat_tensor_index_at(axes, i);
    if (axis < -rank || axis >= rank) {
      return leat_kernel_invalid(c, "Invalid reduction dimension (%lld for input with %d "
                                 "dimension(s))", (long long)axis, rank);
    }
    if (axis < 0) axis += rank;
    if (out_reduced[axis]) {
      return leat_kernel_invalid(c, "Invalid reduction arguments: Axes contains duplicate "
                                 "dimension: %lld", (long long)axis);
    }
    out_reduced[axis] = true;
  }
  return leat_ok_status();
}

leat_status_t leat_reduction_shape(const leat_shape_t* input, const bool* reduced, bool keep_dims,
                                   leat_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < input->rank; ++d) {
    if (!reduced[d]) dims[rank++] = leat_shape_dim(input, d);
    if (reduced[d] && keep_dims) dims[rank++] = 1;
  }
  return leat_shape_create(rank, dims, out_shape);
}

// Adds a dimension to a walk, inside those it has.
static void push(leat_reduction_walk_t* walk, int64_t dim, int64_t stride) {
  walk->dims[walk->rank] = dim;
  walk->strides[walk->rank++] = stride;
  walk->total *= dim;
}

void leat_reduction_plan(const leat_shape_t* input, const bool* reduced,
                         leat_reduction_plan_t* out_plan) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  bool fates[LEAT_SHAPE_MAX_RANK];  // whether merged dimension d is reduced
  int rank = 0;
  for (int d = 0; d < input->rank; ++d) {
    int64_t size = leat_shape_dim(input, d);
    if (size == 1) continue;
    if (rank && fates[rank - 1] == reduced[d]) {
      dims[rank - 1] *= size;
    } else {
      fates[rank] = reduced[d];
      dims[rank++] = size;
    }
  }
  out_plan->kept.rank = out_plan->reduced.rank = 0;
  out_plan->kept.total = out_plan->reduced.total = 1;
  out_plan->inner = rank ? dims[rank - 1] : 1;
  out_plan->inner_is_reduced = rank && fates[rank - 1];
  int64_t strides[LEAT_SHAPE_MAX_RANK], stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= dims[d];
  }
  // The innermost merged dimension is not part of a walk: it is |inner|.
  for (int d = 0; d < rank - 1; ++d) {
    push(fates[d] ? &out_plan->reduced : &out_plan->kept, dims[d], strides[d]);
  }
}

int64_t leat_reduction_offset(const leat_reduction_walk_t* walk, int64_t index) {
  int64_t offset = 0;
  for (int d = walk->rank - 1; d > 0; --d) {
    offset += index % walk->dims[d] * walk->strides[d];
    index /= walk->dims[d];
  }
  return walk->rank ? offset + index * walk->strides[0] : 0;
}
