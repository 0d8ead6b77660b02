// Identity and the ops like it, whose output is their input: their shapes, gradients and
// registration. They differ in what they tell the gradient (StopGradient, PreventGradient), the
// optimizer (an op with LEAT_OP_PASS_THROUGH gives its input in the same buffer) and the reader of
// the graph. RefIdentity passes a reference to a variable, not its value. A gradient of rows
// (IndexedSlices) passes as such, because a dense one would be far larger. _ListToArray and
// _ArrayToList pass tensors on as IdentityN does, and only give them under another signature.
//
// CheckNumerics and CheckNumericsV2 pass their input on too, and fail where it holds an infinity or
// a NaN. They are stateful, so that the optimizer keeps the check. The kernels are in
// identity_cpu.c and numerics_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t identity_n_shape(leat_inference_t* c) {
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    leat_inference_set_output(c, i, leat_inference_input(c, i));
  }
  return leat_ok_status();
}

// As in TensorFlow, every input of a type that has gradients gets one as soon as one output has
// one: zeros where its own output has none.
static leat_status_t identity_n_gradient(leat_gradient_t* g) {
  const leat_dtype_set_t flows =
      LEAT_DTYPES_FLOATING | LEAT_DTYPES_COMPLEX | LEAT_DTYPE_BIT(RESOURCE);
  for (int i = 0; i < leat_gradient_node(g)->input_count; ++i) {
    if (leat_gradient_has_output(g, i)) {
      g->input_gradients[i] = leat_gradient_value_of_output(g, i);
    } else if (leat_dtype_in(leat_gradient_node(g)->output_types[i], flows)) {
      leat_gradient_set_input(g, i, leat_gradient_of_output(g, i));
    }
  }
  return leat_ok_status();
}

static leat_status_t identity_gradient(leat_gradient_t* g) {
  for (int i = 0; i < leat_gradient_node(g)->input_count; ++i) {
    g->input_gradients[i] = leat_gradient_value_of_output(g, i);
  }
  return leat_ok_status();
}

// Fails, with the reason that the node states.
static leat_status_t prevent_gradient_gradient(leat_gradient_t* g) {
  leat_string_view_t message = leat_node_attr_string(leat_gradient_node(g), "message");
  return leat_make_status(LEAT_NOT_FOUND, "Gradient explicitly disabled. Reason: %.*s",
                          LEAT_SV_ARG(message));
}

// ---- CheckNumerics ------------------------------------------------------------------------------

// The gradient is checked by the same op, with a message that says it was the gradient.
static leat_status_t check_numerics_gradient(leat_gradient_t* g) {
  leat_string_view_t message = leat_node_attr_string(leat_gradient_node(g), "message");
  leat_string_view_t text;
  LEAT_RETURN_IF_ERROR(leat_arena_print(
      leat_graph_arena(g->builder.graph), &text,
      "Not a number (NaN) or infinity (Inf) values detected in gradient. %.*s",
      LEAT_SV_ARG(message)));
  const char* op = leat_gradient_node(g)->op->row->name;
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, op, LEAT_INPUTS(leat_gradient_of_output(g, 0)),
                                     LEAT_ATTRS(LEAT_STRING("message", text))));
  return leat_ok_status();
}

const leat_op_row_t leat_identity_ops[] = {
    {.name = "Identity",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = LEAT_OP_PASS_THROUGH,
     .shape = leat_shape_unchanged,
     .gradient = identity_gradient,
     .doc = "The input."},
    {.name = "RefIdentity",
     .inputs = "input: Ref(T)",
     .outputs = "output: Ref(T)",
     .attrs = "T: type",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
     .shape = leat_shape_unchanged,
     .gradient = identity_gradient,
     .doc = "The same reference."},
    {.name = "IdentityN",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: list(type) >= 1",
     .shape = identity_n_shape,
     .gradient = identity_n_gradient,
     .doc = "The inputs, each in its place."},
    {.name = "_ListToArray",
     .inputs = "input: Tin",
     .outputs = "output: N * T",
     .attrs = "Tin: list(type) >= 1; T: type; N: int >= 1",
     .shape = identity_n_shape,
     .doc = "The tensors of a list of types as an array of one type."},
    {.name = "_ArrayToList",
     .inputs = "input: N * T",
     .outputs = "output: out_types",
     .attrs = "T: type; N: int >= 1; out_types: list(type) >= 1",
     .shape = identity_n_shape,
     .doc = "The tensors of an array of one type as a list of types."},
    {.name = "_EagerConst",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = LEAT_OP_PASS_THROUGH,
     .shape = leat_shape_unchanged,
     .doc = "The input, which eager execution made a constant of a function."},
    {.name = "StopGradient",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = LEAT_OP_PASS_THROUGH | LEAT_OP_STOPS_GRADIENT,
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The input, a constant to whoever differentiates."},
    {.name = "PreventGradient",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type; message: string = ''",
     .flags = LEAT_OP_PASS_THROUGH,
     .shape = leat_shape_unchanged,
     .gradient = prevent_gradient_gradient,
     .doc = "The input; to differentiate through it is an error with the message."},
    {.name = "Snapshot",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = LEAT_OP_PASS_THROUGH,
     .shape = leat_shape_unchanged,
     .doc = "The input as it is now."},
    {.name = "DebugGradientIdentity",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
     .shape = leat_shape_unchanged,
     .doc = "The input, where a debugger watches gradients."},
    {.name = "GuaranteeConst",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unchanged,
     .doc = "The input, which the caller promises never to change."},
    {.name = "CheckPinned",
     .inputs = "tensor: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .shape = leat_shape_unchanged,
     .doc = "The input, or an error where its memory is not pinned for a GPU."},
    {.name = "CheckNumerics",
     .inputs = "tensor: T",
     .outputs = "output: T",
     .attrs = "T: {bfloat16, half, float, double}; message: string",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unchanged,
     .gradient = check_numerics_gradient,
     .doc = "The input, or an error where it holds infinity or NaN."},
    {.name = "CheckNumericsV2",
     .inputs = "tensor: T",
     .outputs = "output: T",
     .attrs = "T: {bfloat16, half, float, double}; message: string",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unchanged,
     .gradient = check_numerics_gradient,
     .doc = "The input, or an error that tells -infinity, +infinity and NaN apart."},
    LEAT_OP_ROWS_END,
};
