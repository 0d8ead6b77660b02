// Finds the shapes that a node's outputs will have before the node runs. A kernel of an accelerator
// needs them to allocate the outputs when it enqueues its work. They come from the op's shape
// function, which is asked with the actual shapes of all inputs and the values of those that the
// host can read.
#ifndef LEAT_OPS_SIMULATED_OUTPUT_SHAPES_H_
#define LEAT_OPS_SIMULATED_OUTPUT_SHAPES_H_

#include "graph/op/op.h"
#include "tensor/tensor.h"

typedef struct leat_output_shapes_s leat_output_shapes_t;
// Prepares for a node of |op|. |attrs| are copied; |name| is borrowed for the life of the result.
LEAT_MUST_USE leat_status_t leat_output_shapes_create(const leat_op_t* op, leat_string_view_t name,
                                                      const leat_attr_t* attrs, int attr_count,
                                                      leat_allocator_t* allocator,
                                                      leat_output_shapes_t** out_shapes);
void leat_output_shapes_free(leat_output_shapes_t* shapes);  // NULL is allowed

// What the host knows of an input.
typedef struct leat_actual_input_s {
  const leat_shape_t* shape;
  const leat_tensor_t* value;  // NULL: the host cannot read it
} leat_actual_input_t;
// Asks the shape function; may be called by several threads at once. |*out_known| is false when it
// cannot tell all shapes. |out_shapes| [output_count] must be zeroed before, and are the caller's
// to release in any case.
LEAT_MUST_USE leat_status_t leat_output_shapes_find(const leat_output_shapes_t* shapes,
                                                    const leat_actual_input_t* inputs,
                                                    int input_count, int output_count,
                                                    leat_shape_t* out_shapes, bool* out_known);

#endif  // LEAT_OPS_SIMULATED_OUTPUT_SHAPES_H_
