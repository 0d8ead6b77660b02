// Helpers that the definitions of TensorArray ops (tensor_array.c, tensor_array_batch.c) share.
#ifndef LEAT_OPS_LIST_TENSOR_ARRAY_H_
#define LEAT_OPS_LIST_TENSOR_ARRAY_H_

#include "graph/gradient.h"
#include "graph/inference/inference.h"

// Returns what inference knows of the elements of the array at input 0; false where it knows
// nothing.
bool leat_array_element_shape(leat_inference_t* c, leat_partial_shape_t* out_shape);
// Checks that input 0 may be a handle, which TensorFlow defines as a vector of 2 elements.
LEAT_MUST_USE leat_status_t leat_array_check_handle(leat_inference_t* c);

// The gradient array of the array at a node's input 0, and a flow that is there only when the
// gradient array has been made.
typedef struct leat_array_gradient_s {
  leat_output_t handle;
  leat_output_t flow;
  const char* version;  // of the ops: "", "V2", "V3"
} leat_array_gradient_t;
leat_array_gradient_t leat_array_gradient(leat_gradient_t* g, leat_output_t flow);
// The gradient of the node's output flow, delayed until the node itself has written.
leat_output_t leat_array_flow_after_write(leat_gradient_t* g);
// Builds an op of |version|, such as "TensorArrayRead" -> "TensorArrayReadV3"; returns its output
// 0.
leat_output_t leat_array_build(leat_gradient_t* g, const char* op, const char* version,
                               leat_outputs_t inputs, leat_attrs_t attrs);
// The gradient of an op that reads elements (at input 1's indices): |op| writes the gradient of
// output 0 to the gradient array.
LEAT_MUST_USE leat_status_t leat_array_gradient_to_rows(leat_gradient_t* g, const char* op);
// The gradient of an op that writes input 2 to elements (at input 1's indices): |op| reads it from
// the gradient array.
LEAT_MUST_USE leat_status_t leat_array_gradient_of_rows(leat_gradient_t* g, const char* op);

// The row of one version of an op. |handle| is the type of the handle; |since| is the graph version
// that deprecates the op (0: none).
#define LEAT_ARRAY_ROW(op_name, handle, more_inputs, op_outputs, op_attrs, op_flags, op_shape, \
                       op_gradient, since, instead, words)                                     \
  {.name = op_name,                                                                            \
   .inputs = "handle: " handle more_inputs,                                                    \
   .outputs = op_outputs,                                                                      \
   .attrs = op_attrs,                                                                          \
   .flags = op_flags,                                                                          \
   .shape = op_shape,                                                                          \
   .gradient = op_gradient,                                                                    \
   .deprecated_since = since,                                                                  \
   .deprecation = instead,                                                                     \
   .doc = words}

#endif  // LEAT_OPS_LIST_TENSOR_ARRAY_H_
