// The shapes that a node's outputs will have, before it runs: what an accelerator's kernel asks to
// allocate them when it enqueues its work. The op's own shape function says it, asked about the
// actual inputs: all of their shapes, and the values of those that the host can read.
#ifndef LEAT_OPS_SIMULATED_OUTPUT_SHAPES_H_
#define LEAT_OPS_SIMULATED_OUTPUT_SHAPES_H_

#include "graph/op.h"
#include "tensor/tensor.h"

typedef struct leat_output_shapes_s leat_output_shapes_t;
// For a node of |op| with |attrs|, which are copied; |name| is borrowed.
LEAT_MUST_USE leat_status_t leat_output_shapes_create(const leat_op_t* op, leat_string_view_t name,
                                                      const leat_attr_t* attrs, int attr_count,
                                                      leat_allocator_t* allocator,
                                                      leat_output_shapes_t** out_shapes);
void leat_output_shapes_free(leat_output_shapes_t* shapes);  // NULL is allowed

// What is known of an input.
typedef struct leat_actual_input_s {
  const leat_shape_t* shape;
  const leat_tensor_t* value;  // NULL: the host cannot read it
} leat_actual_input_t;
// Thread-safe. |*out_known| is false when the shape function cannot tell them all; |out_shapes|
// [output_count], zeroed before, are the caller's in any case.
LEAT_MUST_USE leat_status_t leat_output_shapes_find(const leat_output_shapes_t* shapes,
                                                    const leat_actual_input_t* inputs,
                                                    int input_count, int output_count,
                                                    leat_shape_t* out_shapes, bool* out_known);

#endif  // LEAT_OPS_SIMULATED_OUTPUT_SHAPES_H_
