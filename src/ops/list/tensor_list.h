// Helpers that the definitions of TensorList ops (tensor_list.c, tensor_list_batch.c) share.
#ifndef LEAT_OPS_LIST_TENSOR_LIST_H_
#define LEAT_OPS_LIST_TENSOR_LIST_H_

#include "graph/gradient.h"
#include "graph/inference/inference.h"

// Returns what inference knows of the shape that input |index| states: its sizes where it is a
// vector of known values, its rank where only the vector's length is known, and otherwise nothing.
LEAT_MUST_USE leat_status_t leat_list_shape_of_input(leat_inference_t* c, int index,
                                                     leat_partial_shape_t* out_shape);
// Returns what is known of the shape of the elements of the list at input 0. INVALID_ARGUMENT when
// their type is known to be another than |dtype| (0: any).
LEAT_MUST_USE leat_status_t leat_list_elements(leat_inference_t* c, int dtype,
                                               leat_partial_shape_t* out_shape);
// Value functions of ops that make lists: they tell inference that output 0 is a list whose
// elements have the shape that the first, second or third input states.
LEAT_MUST_USE leat_status_t leat_value_list_of_first(leat_inference_t* c);
LEAT_MUST_USE leat_status_t leat_value_list_of_second(leat_inference_t* c);
LEAT_MUST_USE leat_status_t leat_value_list_of_third(leat_inference_t* c);
// The elements' shape from both the list at input 0 and the shape that input |index| states.
LEAT_MUST_USE leat_status_t leat_list_merged_elements(leat_inference_t* c, int index,
                                                      leat_partial_shape_t* out_shape);

// ---- For gradients ------------------------------------------------------------------------------

leat_output_t leat_list_build_element_shape(leat_gradient_t* g, leat_output_t list);
leat_output_t leat_list_build_length(leat_gradient_t* g, leat_output_t list);
// Builds a list without tensors that has the length and the element shape of |list|.
leat_output_t leat_list_build_reserved(leat_gradient_t* g, leat_output_t list);
// Builds the sizes of |tensor| without the first one.
leat_output_t leat_list_build_row_shape(leat_gradient_t* g, leat_output_t tensor);
leat_output_t leat_list_build_unknown_shape(leat_gradient_t* g);

#endif  // LEAT_OPS_LIST_TENSOR_LIST_H_
