// The control flow ops of section 4.4 and their forms for references: Switch, Merge, Enter, Exit
// (the paper's Leave) and NextIteration; LoopCond marks the condition of a loop. They have no
// computation of their own: the executor sees them by their flags and moves their values itself
// (src/worker/frames.c). This file has their rows and shape functions. A loop makes the graph
// cyclic, so the shape functions must not rely on what comes around the back edge from
// NextIteration to Merge: it is not known yet when the Merge is inferred.
// NoOp and ControlTrigger are here too: they do nothing, and others wait for them by control edges.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t switch_shape(leat_inference_t* c) {
  leat_partial_shape_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &unused));
  leat_inference_set_output(c, 0, leat_inference_input(c, 0));
  leat_inference_set_output(c, 1, leat_inference_input(c, 0));
  return leat_ok_status();
}

static leat_status_t condition_shape(leat_inference_t* c) {
  leat_partial_shape_t scalar;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &scalar));
  leat_inference_set_output(c, 0, scalar);
  return leat_ok_status();
}

// The output has what all inputs agree on. An input that closes a loop is not there yet when the
// Merge is added and has an unknown shape, so that such a Merge knows nothing.
static leat_status_t merge_shape(leat_inference_t* c) {
  leat_partial_shape_t first = leat_inference_input(c, 0), merged;
  leat_inference_set_output(c, 1, leat_partial_shape_scalar());
  if (first.rank < 0) return leat_ok_status();
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < first.rank; ++d) dims[d] = first.dims[d];
  for (int i = 1; i < leat_inference_input_count(c); ++i) {
    leat_partial_shape_t other = leat_inference_input(c, i);
    if (other.rank != first.rank) return leat_ok_status();
    for (int d = 0; d < first.rank; ++d) {
      if (other.dims[d] != dims[d]) dims[d] = LEAT_DIM_UNKNOWN;
    }
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, first.rank, dims, &merged));
  leat_inference_set_output(c, 0, merged);
  return leat_ok_status();
}

// The output has the shape of the inputs, where all of them have one and it is fully known.
static leat_status_t select_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  leat_partial_shape_t first = leat_inference_input(c, 1);
  for (int i = 1; i < leat_inference_input_count(c); ++i) {
    leat_partial_shape_t shape = leat_inference_input(c, i);
    if (leat_partial_shape_is_full(shape) && leat_partial_shape_equal(shape, first)) continue;
    return leat_ok_status();
  }
  leat_inference_set_output(c, 0, first);
  return leat_ok_status();
}

// A loop variable may change its shape from iteration to iteration, so nothing is known inside the
// loop; a loop constant keeps its shape.
static leat_status_t enter_shape(leat_inference_t* c) {
  bool constant = leat_node_attr_bool(c->node, "is_constant", false);
  leat_inference_set_output(
      c, 0, constant ? leat_inference_input(c, 0) : leat_partial_shape_unknown());
  return leat_ok_status();
}

#define ENTER_ATTRS                                                                         \
  "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10"

const leat_op_row_t leat_flow_ops[] = {
    {.name = "Switch",
     .inputs = "data: T; pred: bool",
     .outputs = "output_false: T; output_true: T",
     .attrs = "T: type",
     .flags = LEAT_OP_SWITCH,
     .shape = switch_shape,
     .doc = "Hands its data to one of two outputs; the other is dead."},
    {.name = "RefSwitch",
     .inputs = "data: Ref(T); pred: bool",
     .outputs = "output_false: Ref(T); output_true: Ref(T)",
     .attrs = "T: type",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT | LEAT_OP_SWITCH,
     .shape = switch_shape,
     .doc = "Switch of a reference."},
    {.name = "Merge",
     .inputs = "inputs: N * T",
     .outputs = "output: T; value_index: int32",
     .attrs = "T: type; N: int >= 1",
     .flags = LEAT_OP_MERGE,
     .shape = merge_shape,
     .doc = "The first live input, and which it was."},
    {.name = "RefMerge",
     .inputs = "inputs: Ref(N * T)",
     .outputs = "output: Ref(T); value_index: int32",
     .attrs = "T: type; N: int >= 1",
     .flags = LEAT_OP_MERGE,
     .shape = merge_shape,
     .doc = "Merge of references."},
    {.name = "RefSelect",
     .inputs = "index: int32; inputs: Ref(N * T)",
     .outputs = "output: Ref(T)",
     .attrs = "T: type; N: int >= 1",
     .shape = select_shape,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(0)),
     .doc = "The reference among the inputs that index numbers."},
    {.name = "Enter",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = ENTER_ATTRS,
     .flags = LEAT_OP_ENTER,
     .shape = enter_shape,
     .doc = "Brings a value into the frame of a loop."},
    {.name = "RefEnter",
     .inputs = "data: Ref(T)",
     .outputs = "output: Ref(T)",
     .attrs = ENTER_ATTRS,
     .flags = LEAT_OP_ENTER,
     .shape = leat_shape_unchanged,
     .doc = "Enter of a reference."},
    {.name = "Exit",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = LEAT_OP_EXIT,
     .shape = leat_shape_unchanged,
     .doc = "Brings a value out of the frame of a loop."},
    {.name = "RefExit",
     .inputs = "data: Ref(T)",
     .outputs = "output: Ref(T)",
     .attrs = "T: type",
     .flags = LEAT_OP_EXIT,
     .shape = leat_shape_unchanged,
     .doc = "Exit of a reference."},
    {.name = "NextIteration",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = LEAT_OP_NEXT_ITERATION,
     .shape = leat_shape_unchanged,
     .doc = "Hands a value to the next iteration of its loop."},
    {.name = "RefNextIteration",
     .inputs = "data: Ref(T)",
     .outputs = "output: Ref(T)",
     .attrs = "T: type",
     .flags = LEAT_OP_NEXT_ITERATION,
     .shape = leat_shape_unchanged,
     .doc = "NextIteration of a reference."},
    {.name = "LoopCond",
     .inputs = "input: bool",
     .outputs = "output: bool",
     .flags = LEAT_OP_LOOP_CONDITION,
     .shape = condition_shape,
     .gradient = leat_gradient_none,
     .doc = "Marks what decides whether a loop goes on."},
    {.name = "NoOp",
     .cost = LEAT_COST_NONE,
     .shape = leat_shape_none,
     .gradient = leat_gradient_none,
     .doc = "Does nothing; others may wait for it."},
    {.name = "ControlTrigger",
     .flags = LEAT_OP_CONTROL_TRIGGER,
     .shape = leat_shape_none,
     .gradient = leat_gradient_none,
     .doc = "Does nothing, and runs even when what it waits for is dead."},
    LEAT_OP_ROWS_END,
};
