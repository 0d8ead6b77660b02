// AddN and AccumulateNV2: the sum of a list of tensors of one shape.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t add_n_gradient(leat_gradient_t* g) {
  leat_gradient_value_t dz = leat_gradient_value_of_output(g, 0);
  for (int i = 0; i < leat_gradient_node(g)->input_count; ++i) g->input_gradients[i] = dz;
  return leat_ok_status();
}

#define NUMBERS                                                                               \
  "float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, " \
  "qint16, quint16, uint16, complex128, half, uint32, uint64"

const leat_op_row_t leat_add_n_ops[] = {
    {.name = "AddN",
     .inputs = "inputs: N * T",
     .outputs = "sum: T",
     .attrs = "N: int >= 1; T: {" NUMBERS ", variant}",
     .flags = LEAT_OP_COMMUTATIVE | LEAT_OP_AGGREGATE | LEAT_OP_CHEAP,
     .shape = leat_shape_merge_inputs,
     .gradient = add_n_gradient,
     .identities = LEAT_IDENTITY_ONE_INPUT,
     .doc = "The sum of all inputs, which have one shape."},
    {.name = "AccumulateNV2",
     .inputs = "inputs: N * T",
     .outputs = "sum: T",
     .attrs = "N: int >= 1; T: {" NUMBERS "}; shape: shape",
     .flags = LEAT_OP_COMMUTATIVE | LEAT_OP_AGGREGATE,
     .shape = leat_shape_from_attr,
     .gradient = add_n_gradient,
     .identities = LEAT_IDENTITY_ONE_INPUT,
     .doc = "The sum of all inputs, which have the stated shape."},
    LEAT_OP_ROWS_END,
};
