// PrintV2: a line for whoever watches the process.
#include "graph/inference.h"
#include "ops/family.h"

static leat_status_t print_shape(leat_inference_t* c) {
  leat_partial_shape_t scalar;
  return leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &scalar);
}

const leat_op_row_t leat_print_ops[] = {
    {.name = "PrintV2",
     .inputs = "input: string",
     .attrs = "output_stream: string = 'stderr'; end: string = '\n'",
     .flags = LEAT_OP_STATEFUL,
     .shape = print_shape,
     .doc = "Writes a string to a stream of the process or to a file."},
    LEAT_OP_ROWS_END,
};
