// What a _FusedElementwise node computes: steps, each an elementwise op over inputs of the node and
// what earlier steps gave. An operand below |input_count| is an input, |input_count| + s is step s.
//
// A step "Reshape" computes nothing: those that read it see its operand under another shape, which
// is known. It is no result. A step "BroadcastTo" repeats its operand to a larger shape, known too.
//
// A step of a reduction ("Sum", "Max", ...: ops/math/reduction.c) has one operand, of which it
// reduces the last few axes. It is a result, and no step reads it.
#ifndef LEAT_OPS_MATH_FUSED_H_
#define LEAT_OPS_MATH_FUSED_H_

#include "graph/op.h"

typedef struct leat_fused_program_s {
  int input_count, step_count, operand_count, output_count, shape_count, reduction_count;
  const leat_string_view_t* ops;    // of the steps
  const leat_string_view_t* names;  // of the nodes that the steps were
  const int32_t* types;             // of what the steps give
  const int64_t* arities;           // how many operands each has
  const int64_t* operands;          // those of the first step, of the second, ...
  const int64_t* results;           // output -> step
  const leat_partial_shape_t* shapes;  // of the steps that reshape or repeat, in their order
  const int64_t* axes;    // how many the reductions reduce, in their order
  const bool* keep_dims;  // which of them leave these axes with one element
} leat_fused_program_t;

bool leat_fused_step_reshapes(const leat_fused_program_t* program, int64_t step);
bool leat_fused_step_repeats(const leat_fused_program_t* program, int64_t step);
bool leat_fused_step_reduces(const leat_fused_program_t* program, int64_t step);

// Borrows from |attrs|, those of a node with |input_count| inputs. INVALID_ARGUMENT when numbers do
// not agree or a step reads what comes later.
LEAT_MUST_USE leat_status_t leat_fused_program_read(const leat_attr_t* attrs, int attr_count,
                                                    int input_count,
                                                    leat_fused_program_t* out_program);

#endif  // LEAT_OPS_MATH_FUSED_H_
