// Shapes of the matrices in variants.
#include "ops/csr/csr_shape.h"

leat_status_t leat_csr_shape_of_input(leat_inference_t* c, int index,
                                      leat_partial_shape_t* out_shape) {
  int dtype;
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, index));
  // A variant may also hold something else, which the kernel refuses.
  bool is_matrix = leat_inference_input_handle(c, index, &dtype, out_shape) &&
                   (out_shape->rank == 2 || out_shape->rank == 3);
  if (!is_matrix) *out_shape = leat_partial_shape_unknown();
  return leat_ok_status();
}

leat_status_t leat_csr_shape_of_operand(leat_inference_t* c, int index, bool swaps,
                                        leat_partial_shape_t* out_shape) {
  LEAT_RETURN_IF_ERROR(leat_csr_shape_of_input(c, index, out_shape));
  int rank = out_shape->rank;
  if (!swaps || rank < 0) return leat_ok_status();
  int64_t dims[] = {out_shape->dims[0], out_shape->dims[0], out_shape->dims[0]};
  dims[rank - 2] = out_shape->dims[rank - 1];
  dims[rank - 1] = out_shape->dims[rank - 2];
  return leat_inference_make(c, rank, dims, out_shape);
}

leat_status_t leat_csr_set_shape(leat_inference_t* c, const char* type,
                                 leat_partial_shape_t shape) {
  const leat_referent_t matrix = {.dtype = leat_node_attr_type(c->node, type), .shape = shape};
  return leat_inference_set_output_referents(c, 0, &matrix, 1);
}
