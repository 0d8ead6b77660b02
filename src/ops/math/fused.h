// What a _FusedElementwise node computes: a list of steps, each an elementwise op over inputs of
// the node and results of earlier steps. The lists are attributes of the node; this header is the
// decoded view of them, which borrows from the node. The optimizer (optimize/fusion.c) writes such
// nodes, the shape function (fused.c) and the kernel (fused_create_cpu.c) read them.
//
//   operand k < input_count: the node's input k;  operand input_count + s: the result of step s
//
// A step "Reshape" computes nothing: the steps that read it see its operand under another, fully
// known shape. It cannot be a result. A step "BroadcastTo" repeats its operand to a larger shape,
// which is known too. A step of a reduction ("Sum", "Max", ...: ops/math/reduction.c) has one
// operand, of which it reduces the last few axes. It is a result of the node, and no step reads it.
#ifndef LEAT_OPS_MATH_FUSED_H_
#define LEAT_OPS_MATH_FUSED_H_

#include "graph/op/op.h"

typedef struct leat_fused_program_s {
  int input_count, step_count, operand_count, output_count, shape_count, reduction_count;
  const leat_string_view_t* ops;    // the op of each step
  const leat_string_view_t* names;  // the names of the nodes that the steps were before fusion
  const int32_t* types;             // the data type of each step's result
  const int64_t* arities;           // the number of operands of each step
  const int64_t* operands;          // the operands of the first step, then of the second, ...
  const int64_t* results;           // the step that computes each output of the node
  const leat_partial_shape_t* shapes;  // of the steps that reshape or repeat, in their order
  const int64_t* axes;    // the number of last axes that each reduction reduces, in their order
  const bool* keep_dims;  // true: the reduction leaves these axes with one element
} leat_fused_program_t;

bool leat_fused_step_reshapes(const leat_fused_program_t* program, int64_t step);
bool leat_fused_step_repeats(const leat_fused_program_t* program, int64_t step);
bool leat_fused_step_reduces(const leat_fused_program_t* program, int64_t step);

// Decodes the attributes |attrs| of a node with |input_count| inputs; |out_program| borrows from
// them. INVALID_ARGUMENT when the lists' lengths do not agree or a step reads a later one.
LEAT_MUST_USE leat_status_t leat_fused_program_read(const leat_attr_t* attrs, int attr_count,
                                                    int input_count,
                                                    leat_fused_program_t* out_program);

#endif  // LEAT_OPS_MATH_FUSED_H_
