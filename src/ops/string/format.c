// Definition of StringFormat: tensors as text, put into a template.
#include "ops/string/format.h"

#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t format_shape(leat_inference_t* c) {
  int places = leat_format_count(leat_node_attr_string(c->node, "template"),
                                 leat_node_attr_string(c->node, "placeholder"));
  if (places == leat_inference_input_count(c)) return leat_shape_scalar_output(c);
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "num placeholders in template and num inputs must match: %d vs. %d",
                          places, leat_inference_input_count(c));
}

const leat_op_row_t leat_format_ops[] = {
    {.name = "StringFormat",
     .inputs = "inputs: T",
     .outputs = "output: string",
     .attrs = "T: list(type) >= 0; template: string = '%s'; placeholder: string = '%s'; "
              "summarize: int = 3",
     .shape = format_shape,
     .doc = "A template with tensors in words in its places."},
    LEAT_OP_ROWS_END,
};
