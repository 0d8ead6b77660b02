// Definition of DecodeJSONExample, which turns Example messages in JSON into serialized ones.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_json_example_ops[] = {
    {.name = "DecodeJSONExample",
     .inputs = "json_examples: string",
     .outputs = "binary_examples: string",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "Each Example message, of its JSON."},
    LEAT_OP_ROWS_END,
};
