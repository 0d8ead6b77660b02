// The shape lives no longer than the call: the tensor has a copy.
#include "ops/array/sized_output_cpu.h"

leat_status_t leat_sized_output(leat_kernel_context_t* c, int index, int rank, const int64_t* dims,
                                leat_tensor_t** out_tensor) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, index, &shape, out_tensor);
  leat_shape_release(&shape);
  return status;
}
