// The ops that print: PrintV2 a string, the older Print tensors.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t print_shape(leat_inference_t* c) {
  leat_partial_shape_t scalar;
  return leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &scalar);
}

static leat_status_t handed_on_gradient(leat_gradient_t* g) {
  g->input_gradients[0] = leat_gradient_value_of_output(g, 0);
  return leat_ok_status();
}

const leat_op_row_t leat_print_ops[] = {
    {.name = "Print",
     .inputs = "input: T; data: U",
     .outputs = "output: T",
     .attrs = "T: type; U: list(type) >= 0; message: string = ''; first_n: int = -1; summarize: "
              "int = 3",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unchanged,
     .gradient = handed_on_gradient,
     .doc = "Hands its input on, and writes the data to the standard error stream."},
    {.name = "PrintV2",
     .inputs = "input: string",
     .attrs = "output_stream: string = 'stderr'; end: string = '\n'",
     .flags = LEAT_OP_STATEFUL,
     .shape = print_shape,
     .doc = "Writes a string to a stream of the process or to a file."},
    LEAT_OP_ROWS_END,
};
