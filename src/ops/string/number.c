// Definitions of AsString and StringToNumber.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_number_ops[] = {
    {.name = "AsString",
     .inputs = "input: T",
     .outputs = "output: string",
     .attrs = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, "
              "uint32, uint64, complex64, complex128, bool, variant, string}; "
              "precision: int = -1; scientific: bool = false; shortest: bool = false; "
              "width: int = -1; fill: string = ''",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "Each element in decimal, as C's printf writes it."},
    {.name = "StringToNumber",
     .inputs = "string_tensor: string",
     .outputs = "output: out_type",
     .attrs = "out_type: {float, double, int32, int64, uint32, uint64} = float",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The number that each string states, in decimal."},
    LEAT_OP_ROWS_END,
};
