// What the definitions of TensorList ops share.
#ifndef LEAT_OPS_QUEUE_TENSOR_LIST_H_
#define LEAT_OPS_QUEUE_TENSOR_LIST_H_

#include "graph/gradient.h"
#include "graph/inference.h"

// Input |index| as a shape: a vector of sizes; a scalar, or what is not known, is the unknown
// shape.
LEAT_MUST_USE leat_status_t leat_list_shape_of_input(leat_inference_t* c, int index,
                                                     leat_partial_shape_t* out_shape);
// Type and shape of the elements of the list at input 0: follows it to the op that makes it. false
// where that is not seen. INVALID_ARGUMENT when the type is not |dtype|.
LEAT_MUST_USE leat_status_t leat_list_elements(leat_inference_t* c, int dtype,
                                               leat_partial_shape_t* out_shape);
// The elements' shape as input |index| and the list say.
LEAT_MUST_USE leat_status_t leat_list_merged_elements(leat_inference_t* c, int index,
                                                      leat_partial_shape_t* out_shape);

// ---- For gradients ------------------------------------------------------------------------------

leat_output_t leat_list_build_element_shape(leat_gradient_t* g, leat_output_t list);
leat_output_t leat_list_build_length(leat_gradient_t* g, leat_output_t list);
// A list without tensors, as long as |list| and for the same elements: of the node's dtype.
leat_output_t leat_list_build_reserved(leat_gradient_t* g, leat_output_t list);
// [size 1, size 2, ...] of |tensor|.
leat_output_t leat_list_build_row_shape(leat_gradient_t* g, leat_output_t tensor);
leat_output_t leat_list_build_unknown_shape(leat_gradient_t* g);

#endif  // LEAT_OPS_QUEUE_TENSOR_LIST_H_
