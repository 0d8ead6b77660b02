// The ops that call one function: PartitionedCall, RemoteCall and SymbolicGradient; and _Arg and
// _Retval, the ends of a function's body. A lowered call is replaced by the body, or by the body of
// the function's gradient. Where a body runs, the executor fills _Arg from the feeds or from the
// caller's arguments, and _Retval marks what the caller gets. TensorFlow has _DeviceArg and
// _DeviceRetval for integers that stay in a device's memory.
#include "graph/function/lowering.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t lower_call(leat_lowering_t* l) {
  return leat_lower_call(l, leat_lowering_function(l, "f"));
}

static leat_status_t lower_gradient(leat_lowering_t* l) {
  leat_outputs_t arguments = {l->inputs, l->node->input_count};
  const leat_call_t call = l->gradient(l, leat_lowering_function(l, "f"), arguments, l->gate);
  // Only a gradient function of the user's can differ. The words are those that TensorFlow has.
  if (!l->builder.status && call.return_count != l->node->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Calling a gradient function failed for node '%.*s' (%.*s): SymGrad "
                            "expects to return %d values, one for each argument of its function, "
                            "but get %d instead",
                            LEAT_SV_ARG(l->node->name), LEAT_SV_ARG(l->node->op->name),
                            l->node->output_count, call.return_count);
  }
  return leat_lowering_finish(l, call);
}

#define CALL_ATTRS                                                            \
  "Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; config: string = ''; " \
  "config_proto: string = ''; executor_type: string = ''"

const leat_op_row_t leat_call_ops[] = {
    {.name = "PartitionedCall",
     .inputs = "args: Tin",
     .outputs = "output: Tout",
     .attrs = CALL_ATTRS,
     .flags = LEAT_OP_CALLS | LEAT_OP_NEVER_FOLD,
     .shape = leat_shape_unknown,
     .gradient = leat_gradient_of_call,
     .lower = lower_call,
     .doc = "Calls a function."},
    {.name = "StatefulPartitionedCall",
     .inputs = "args: Tin",
     .outputs = "output: Tout",
     .attrs = CALL_ATTRS,
     .flags = LEAT_OP_STATEFUL | LEAT_OP_DISTRIBUTED_COMMUNICATION | LEAT_OP_CALLS,
     .shape = leat_shape_unknown,
     .gradient = leat_gradient_of_call,
     .lower = lower_call,
     .doc = "Calls a function that may have effects."},
    {.name = "RemoteCall",
     .inputs = "target: string; args: Tin",
     .outputs = "output: Tout",
     .attrs = "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_CALLS,
     .shape = leat_shape_unknown,
     .doc = "Calls a function on the device that a string names."},
    {.name = "SymbolicGradient",
     .inputs = "input: Tin",
     .outputs = "output: Tout",
     .attrs = "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func",
     .flags = LEAT_OP_CALLS | LEAT_OP_NEVER_FOLD,
     .shape = leat_shape_unknown,
     .lower = lower_gradient,
     .doc = "The gradients of a function with respect to its arguments."},
    {.name = "_Arg",
     .outputs = "output: T",
     .attrs = "T: type; index: int >= 0",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_ARGUMENT,
     .shape = leat_shape_unknown,
     .doc = "The value of a fed edge or of a function's argument."},
    {.name = "_Retval",
     .inputs = "input: T",
     .attrs = "T: type; index: int >= 0",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_RETURN_VALUE,
     .shape = leat_shape_none,
     .doc = "A value that a function returns."},
    {.name = "_DeviceArg", .alias_of = "_Arg", .doc = "_Arg of a value in a device's memory."},
    {.name = "_DeviceRetval",
     .alias_of = "_Retval",
     .doc = "_Retval of a value in a device's memory."},
    LEAT_OP_ROWS_END,
};
