// Definitions of the ops that show values in words: Assert, which ends the step when a condition
// does not hold, and shows its data then; PrintV2, which prints a string; and the older Print,
// which prints tensors and hands its first input on. All are stateful, so that the optimizer keeps
// them although nobody reads their outputs.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t print_shape(leat_inference_t* c) {
  leat_partial_shape_t scalar;
  return leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &scalar);
}

static leat_status_t forwarded_gradient(leat_gradient_t* g) {
  g->input_gradients[0] = leat_gradient_value_of_output(g, 0);
  return leat_ok_status();
}

const leat_op_row_t leat_print_ops[] = {
    {.name = "Assert",
     .inputs = "condition: bool; data: T",
     .attrs = "T: list(type) >= 1; summarize: int = 3",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .gradient = leat_gradient_none,
     .doc = "Fails with the data in words unless the condition is true."},
    {.name = "Print",
     .inputs = "input: T; data: U",
     .outputs = "output: T",
     .attrs = "T: type; U: list(type) >= 0; message: string = ''; first_n: int = -1; summarize: "
              "int = 3",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unchanged,
     .gradient = forwarded_gradient,
     .doc = "Hands its input on, and writes the data to the standard error stream."},
    {.name = "PrintV2",
     .inputs = "input: string",
     .attrs = "output_stream: string = 'stderr'; end: string = '\n'",
     .flags = LEAT_OP_STATEFUL,
     .shape = print_shape,
     .doc = "Writes a string to a stream of the process or to a file."},
    LEAT_OP_ROWS_END,
};
