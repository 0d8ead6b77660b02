// Definitions of the ops that turn a tensor into a serialized TensorProto and back.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_serialized_tensor_ops[] = {
    {.name = "ParseTensor",
     .inputs = "serialized: string",
     .outputs = "output: out_type",
     .attrs = "out_type: type",
     .shape = leat_shape_unknown,
     .gradient = leat_gradient_none,
     .doc = "The tensor that a TensorProto holds."},
    {.name = "SerializeTensor",
     .inputs = "tensor: T",
     .outputs = "serialized: string",
     .attrs = "T: type",
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "The tensor as a TensorProto."},
    LEAT_OP_ROWS_END,
};
