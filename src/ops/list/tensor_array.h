// What the definitions of TensorArray ops share.
#ifndef LEAT_OPS_LIST_TENSOR_ARRAY_H_
#define LEAT_OPS_LIST_TENSOR_ARRAY_H_

#include "graph/gradient.h"
#include "graph/inference.h"

// What is known of the elements of the array at input 0. false where nothing is.
bool leat_array_element_shape(leat_inference_t* c, leat_partial_shape_t* out_shape);
// Input 0 is a handle (a vector of 2, as TensorFlow has it).
LEAT_MUST_USE leat_status_t leat_array_check_handle(leat_inference_t* c);

// The gradient array of the one at the node's input 0, and the flow that says it is there.
typedef struct leat_array_gradient_s {
  leat_output_t handle;
  leat_output_t flow;
  const char* version;  // of the ops: "", "V2", "V3"
} leat_array_gradient_t;
leat_array_gradient_t leat_array_gradient(leat_gradient_t* g, leat_output_t flow);
// The flow of an array's gradient that waits for what the node wrote.
leat_output_t leat_array_flow_after_write(leat_gradient_t* g);
// An op of that version: "TensorArrayRead" -> "TensorArrayReadV3"; its output 0.
leat_output_t leat_array_build(leat_gradient_t* g, const char* op, const char* version,
                               leat_outputs_t inputs, leat_attrs_t attrs);
// The gradient of taking elements (of input 1's indices) from an array: |op| puts that of output 0
// into the array's gradient.
LEAT_MUST_USE leat_status_t leat_array_gradient_to_rows(leat_gradient_t* g, const char* op);
// The gradient of putting input 2 there: |op| takes it from the array's gradient.
LEAT_MUST_USE leat_status_t leat_array_gradient_of_rows(leat_gradient_t* g, const char* op);

// Rows of the three versions of an op. |handle|: its type; |since|: deprecated (0: not).
#define LEAT_ARRAY_ROW(op_name, handle, more_inputs, op_outputs, op_attrs, op_flags, escaping, \
                       op_shape, op_gradient, since, instead, words)                           \
  {                                                                                            \
    .name = op_name, .inputs = "handle: " handle more_inputs, .outputs = op_outputs,           \
    .attrs = op_attrs, .flags = op_flags, .escaping_inputs = escaping, .shape = op_shape,      \
    .gradient = op_gradient, .deprecated_since = since, .deprecation = instead, .doc = words   \
  }

#endif  // LEAT_OPS_LIST_TENSOR_ARRAY_H_
