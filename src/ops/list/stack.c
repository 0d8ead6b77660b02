// Stacks, the way in which while loops of section 4.4 save intermediate results: an iteration of
// the forward loop pushes, and the same iteration of the gradient's loop pops. A stack lives as
// long as its step.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t push_shape(leat_inference_t* c) {
  leat_inference_set_output(c, 0, leat_inference_input(c, 1));
  return leat_ok_status();
}

#define TWICE(op_name, more_inputs, op_outputs, op_attrs, op_shape, words)                 \
  {.name = op_name,                                                                        \
   .inputs = "handle: Ref(string)" more_inputs,                                            \
   .outputs = op_outputs,                                                                  \
   .attrs = op_attrs,                                                                      \
   .flags = LEAT_OP_STEP_RESOURCE,                                                         \
   .shape = op_shape,                                                                      \
   .gradient = leat_gradient_none,                                                         \
   .doc = words},                                                                          \
  {                                                                                        \
    .name = op_name "V2", .inputs = "handle: resource" more_inputs, .outputs = op_outputs, \
    .attrs = op_attrs, .flags = LEAT_OP_STATEFUL, .shape = op_shape,                       \
    .gradient = leat_gradient_none, .doc = words                                           \
  }

const leat_op_row_t leat_stack_ops[] = {
    {.name = "Stack",
     .outputs = "handle: Ref(string)",
     .attrs = "elem_type: type; stack_name: string = ''",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_STEP_RESOURCE,
     .shape = leat_shape_two_strings,
     .gradient = leat_gradient_none,
     .doc = "A stack of tensors; use StackV2."},
    {.name = "StackV2",
     .inputs = "max_size: int32",
     .outputs = "handle: resource",
     .attrs = "elem_type: type; stack_name: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_two_strings,
     .gradient = leat_gradient_none,
     .doc = "A stack of tensors of one type; a negative max_size does not bound it."},
    TWICE("StackPush", "; elem: T", "output: T", "T: type; swap_memory: bool = false", push_shape,
          "Puts a tensor on the stack, and forwards it."),
    TWICE("StackPop", "", "elem: elem_type", "elem_type: type", leat_shape_unknown,
          "Takes the tensor that was pushed last."),
    TWICE("StackClose", "", NULL, NULL, leat_shape_of_two_strings,
          "Forgets the tensors; the stack cannot be used any more."),
    LEAT_OP_ROWS_END,
};
