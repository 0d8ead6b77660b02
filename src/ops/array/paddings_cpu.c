// Reads and checks the paddings of a kernel (paddings_cpu.h).
#include "ops/array/paddings_cpu.h"

#include "base/checked.h"
#include "ops/array/index_cpu.h"

leat_status_t leat_paddings_read(const leat_kernel_context_t* c, int input, int rank,
                                 leat_paddings_t* out_paddings) {
  const leat_tensor_t* paddings = leat_kernel_input(c, input);
  const leat_shape_t* shape = &paddings->shape;
  if (shape->rank != 2 || leat_shape_dim(shape, 1) != 2 || leat_shape_dim(shape, 0) != rank) {
    return leat_kernel_invalid(c, "paddings has shape %s, must be [%d,2]", LEAT_SHAPE_TEXT(shape),
                               rank);
  }
  out_paddings->rank = rank;
  out_paddings->is_none = true;
  for (int d = 0; d < rank; ++d) {
    int64_t before = out_paddings->before[d] = leat_tensor_index_at(paddings, 2 * d);
    int64_t after = out_paddings->after[d] = leat_tensor_index_at(paddings, 2 * d + 1);
    if (before < 0 || after < 0) {
      return leat_kernel_invalid(c, "paddings[%d] is [%lld, %lld], must be non-negative", d,
                                 (long long)before, (long long)after);
    }
    if (before > 0 || after > 0) out_paddings->is_none = false;
  }
  return leat_ok_status();
}

leat_status_t leat_paddings_shape(const leat_kernel_context_t* c, const leat_paddings_t* paddings,
                                  const leat_shape_t* shape, leat_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < paddings->rank; ++d) {
    if (!leat_checked_add(leat_shape_dim(shape, d), paddings->before[d], &dims[d]) ||
        !leat_checked_add(dims[d], paddings->after[d], &dims[d])) {
      return leat_kernel_invalid(c, "dimension %d is too large when padded, must be below 2^63", d);
    }
  }
  return leat_shape_create(paddings->rank, dims, out_shape);
}
