// What the definitions of TensorList ops share.
#ifndef LEAT_OPS_LIST_TENSOR_LIST_H_
#define LEAT_OPS_LIST_TENSOR_LIST_H_

#include "graph/gradient.h"
#include "graph/inference.h"

// Input |index| as a shape: a vector of sizes; a scalar, or what is not known, is the unknown
// shape.
LEAT_MUST_USE leat_status_t leat_list_shape_of_input(leat_inference_t* c, int index,
                                                     leat_partial_shape_t* out_shape);
// The shape of the elements of the list at input 0, as far as it is known. INVALID_ARGUMENT when
// their type is known and not |dtype| (0: any).
LEAT_MUST_USE leat_status_t leat_list_elements(leat_inference_t* c, int dtype,
                                               leat_partial_shape_t* out_shape);
// Value functions of ops that make lists; that input states the elements' shape.
LEAT_MUST_USE leat_status_t leat_value_list_of_first(leat_inference_t* c);
LEAT_MUST_USE leat_status_t leat_value_list_of_second(leat_inference_t* c);
LEAT_MUST_USE leat_status_t leat_value_list_of_third(leat_inference_t* c);
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

#endif  // LEAT_OPS_LIST_TENSOR_LIST_H_
