// The ops that call a function on its own results, While and For.
//
// While: a function of the loop variables decides whether the loop goes on, and another one makes
// their next values. When the master compiles a graph it lowers such a loop where it can, to the
// control flow of section 4.4 with the bodies of both functions in the graph; the LoopCond decides
// at the Switch:
//
//   input ─▶ Enter ─▶ Merge ─▶ Switch ─▶ Exit ─▶ output
//                       ▲  │     └▶ body ─▶ NextIteration ─┐
//                       │  └▶ cond ─▶ LoopCond             │
//                       └──────────────────────────────────┘
//
// Lowered loops can run several iterations at once (parallel_iterations), and on several devices.
// Nodes of the bodies that have no arguments must run once in each iteration, so they wait for a
// loop variable by control edges; a loop without variables gets a hidden one for that purpose. A
// loop that is not lowered runs as a kernel (loop_cpu.c).
//
// For calls a function once for each number of a range, and is not lowered.
#include "graph/function/lowering.h"
#include "graph/inference/inference.h"
#include "ops/function/branching.h"
#include "ops/op_rows.h"

typedef struct loop_s {
  leat_lowering_t* l;
  int count;              // of variables; 1, a hidden one, where the loop has none
  leat_output_t* inputs;
  leat_output_t* merges;
  leat_output_t* bodies;  // the variables as the body sees them: only when the loop goes on
} loop_t;

// Allocates the arrays. The hidden variable is a constant that waits for the call's gate.
static leat_status_t prepare(loop_t* loop) {
  leat_arena_t* arena = leat_graph_arena(loop->l->builder.graph);
  loop->count = loop->l->node->input_count;
  size_t count = (size_t)loop->count + 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &loop->inputs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &loop->merges));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &loop->bodies));
  for (int i = 0; i < loop->count; ++i) loop->inputs[i] = loop->l->inputs[i];
  if (loop->count == 0) {
    leat_builder_t* b = &loop->l->builder;
    leat_builder_t gated = *b;
    gated.control_inputs = &loop->l->gate;
    gated.control_count = loop->l->gate >= 0;
    loop->inputs[loop->count++] = leat_build_scalar(&gated, LEAT_DTYPE_BOOL, 0);
    b->status = gated.status;
  }
  return loop->l->builder.status;
}

// Builds an Enter and a Merge for each variable. The Merge's second input is the Enter too until
// the NextIteration exists, which then takes its place and closes the loop.
static void enter(loop_t* loop) {
  leat_builder_t* b = &loop->l->builder;
  int64_t parallel = leat_node_attr_int(loop->l->node, "parallel_iterations", 10);
  leat_string_view_t frame = {b->scope.data, b->scope.size - 1};
  for (int i = 0; i < loop->count; ++i) {
    leat_output_t entered =
        leat_build(b, "Enter", LEAT_INPUTS(loop->inputs[i]),
                   LEAT_ATTRS(LEAT_STRING("frame_name", frame),
                              LEAT_INT("parallel_iterations", parallel > 0 ? parallel : 10)));
    leat_builder_t inside = *b;  // nodes in the loop cannot wait for nodes outside of it
    inside.control_count = 0;
    loop->merges[i] = leat_build_binary(&inside, "Merge", entered, entered);
    b->status = inside.status;
  }
}

// Builds the condition. Its constants and calls belong to each iteration, so they wait for the
// first variable of the iteration.
static leat_output_t decide(loop_t* loop) {
  leat_builder_t* b = &loop->l->builder;
  leat_outputs_t variables = {loop->merges, loop->l->node->input_count};
  leat_call_t cond =
      loop->l->call(loop->l, leat_lowering_function(loop->l, "cond"), variables,
                    loop->merges[0].node);
  if (!b->status && cond.return_count != 1) {
    b->status = leat_make_status(LEAT_INVALID_ARGUMENT,
                                 "Calling a function failed for node '%.*s' (%.*s): cond returns "
                                 "%d values, must be 1",
                                 LEAT_SV_ARG(loop->l->node->name),
                                 LEAT_SV_ARG(loop->l->node->op->name), cond.return_count);
  }
  if (b->status) return LEAT_OUTPUT_NONE;
  b->control_inputs = &cond.done;
  b->control_count = cond.done >= 0;
  leat_output_t goes_on = leat_lower_to_bool(b, cond.returns[0]);
  b->control_count = 0;
  return leat_build_unary(b, "LoopCond", goes_on);
}

// Closes the loop: the body's returns go through NextIteration to the Merges, once the body's side
// effects are done. |pivot| is a node of the body's side.
static leat_status_t iterate(loop_t* loop, leat_call_t body, int32_t pivot) {
  leat_builder_t* b = &loop->l->builder;
  if (body.return_count != loop->l->node->input_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Calling a function failed for node '%.*s' (%.*s): body returns %d "
                            "values, must be %d",
                            LEAT_SV_ARG(loop->l->node->name),
                            LEAT_SV_ARG(loop->l->node->op->name), body.return_count,
                            loop->l->node->input_count);
  }
  int32_t done = body.done >= 0 ? body.done : pivot;
  b->control_inputs = &done;
  b->control_count = body.done >= 0;
  for (int i = 0; i < loop->count; ++i) {
    bool is_hidden = i >= body.return_count;
    leat_output_t next = leat_build_unary(b, "NextIteration",
                                          is_hidden ? loop->bodies[i] : body.returns[i]);
    LEAT_RETURN_IF_ERROR(b->status);
    LEAT_RETURN_IF_ERROR(leat_graph_set_input(b->graph, loop->merges[i].node, 1, next));
  }
  b->control_count = 0;
  return leat_ok_status();
}

// Lowers one While, in the order of the picture above. Its effects are over when the last Exit has
// run.
static leat_status_t lower_while(leat_lowering_t* l) {
  leat_builder_t* b = &l->builder;
  loop_t loop = {.l = l};
  LEAT_RETURN_IF_ERROR(prepare(&loop));
  enter(&loop);
  b->control_count = 0;  // from here on all nodes are inside the loop
  LEAT_RETURN_IF_ERROR(b->status);
  leat_output_t goes_on = decide(&loop);
  leat_output_t last = LEAT_OUTPUT_NONE;
  for (int i = 0; i < loop.count; ++i) {
    leat_output_t parted = leat_build_binary(b, "Switch", loop.merges[i], goes_on);
    LEAT_RETURN_IF_ERROR(b->status);
    last = leat_build_unary(b, "Exit", (leat_output_t){parted.node, 0});
    if (i < l->node->output_count) l->outputs[i] = last;
    loop.bodies[i] = leat_build_unary(b, "Identity", (leat_output_t){parted.node, 1});
  }
  LEAT_RETURN_IF_ERROR(b->status);
  leat_call_t body =
      l->call(l, leat_lowering_function(l, "body"),
              (leat_outputs_t){loop.bodies, l->node->input_count}, loop.bodies[0].node);
  LEAT_RETURN_IF_ERROR(b->status);
  LEAT_RETURN_IF_ERROR(iterate(&loop, body, loop.bodies[0].node));
  if (body.done >= 0 || l->node->output_count == 0) l->done = last.node;
  return leat_ok_status();
}

#define WHILE_ATTRS                                                                            \
  "T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = []; "              \
  "parallel_iterations: int = 10"

const leat_op_row_t leat_loop_ops[] = {
    {.name = "While",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = WHILE_ATTRS,
     .flags = LEAT_OP_STATEFUL | LEAT_OP_CALLS | LEAT_OP_BRANCHES,
     .shape = leat_shape_from_output_shapes,
     .lower = lower_while,
     .doc = "Calls a function on its own results for as long as another says so."},
    {.name = "StatelessWhile",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = WHILE_ATTRS,
     .flags = LEAT_OP_CALLS | LEAT_OP_BRANCHES | LEAT_OP_NEVER_FOLD,
     .shape = leat_shape_from_output_shapes,
     .lower = lower_while,
     .doc = "While of functions without effects."},
    {.name = "_While",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: list(type) >= 0; cond: func; body: func",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_CALLS | LEAT_OP_BRANCHES,
     .shape = leat_shape_unknown,
     .lower = lower_while,
     .doc = "While, in nodes that TensorFlow makes itself."},
    {.name = "For",
     .inputs = "start: int32; limit: int32; delta: int32; input: T",
     .outputs = "output: T",
     .attrs = "T: list(type) >= 0; body: func",
     .flags = LEAT_OP_CALLS | LEAT_OP_NEVER_FOLD,
     .shape = leat_shape_unknown,
     .doc = "Calls a function on a number and its own results, number after number."},
    LEAT_OP_ROWS_END,
};
