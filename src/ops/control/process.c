// Definitions of ops about the process in which a step runs: its clock, the kind of device, its
// end, and a fact.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_process_ops[] = {
    {.name = "Abort",
     .attrs = "error_msg: string = ''; exit_without_error: bool = false",
     .shape = leat_shape_none,
     .doc = "Ends the step with ABORTED and the message."},
    {.name = "DeviceIndex",
     .outputs = "index: int32",
     .attrs = "device_names: list(string)",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The place in a list of the kind of device that runs the node."},
    {.name = "Fact",
     .outputs = "fact: string",
     .shape = leat_shape_scalar_output,
     .doc = "A fact about factorials."},
    {.name = "Timestamp",
     .outputs = "ts: double",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "The seconds since 1970."},
    LEAT_OP_ROWS_END,
};
