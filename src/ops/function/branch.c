// If and Case, which call one function of several; _If is If in nodes that TensorFlow makes itself.
// When the master compiles a graph it lowers such a call where it can: the bodies of all branches
// are put into the graph, and control flow (section 4.4) runs only one of them. Every argument goes
// through a Switch to the branch that is taken, and a Merge takes what comes back:
//
//   argument ─▶ Switch ─▶ body of one branch ─┐
//                  └────▶ body of another ────┴▶ Merge ─▶ output
//
// Lowered branches run without a call's overhead, can be placed on several devices, and are
// optimized with the graph around them. Each branch also gets a pivot: an Identity of its side of
// the predicate's Switch, which is alive only if the branch is taken. Nodes of a body that have no
// arguments wait for the pivot by control edges, since they would otherwise run in every case.
// Calls that are not lowered run as kernels (branch_cpu.c). The lowering is called through the op's
// row.
//
// TensorFlow's own lowering of Case sends each argument through a _SwitchN, which has an output for
// each branch. Such a node becomes as many Switches, so that nobody but this file knows it.
#include "graph/function/lowering.h"
#include "graph/inference/inference.h"
#include "ops/function/branching.h"
#include "ops/op_rows.h"

typedef struct branches_s {
  leat_lowering_t* l;
  leat_outputs_t arguments;
  int count;
  leat_output_t* sides;   // [count, arguments.count + 1]: the arguments, then the pivot, on the
                          // side of each branch
  leat_call_t* calls;
} branches_t;

static leat_arena_t* arena_of(const branches_t* b) { return leat_graph_arena(b->l->builder.graph); }

static leat_status_t prepare(branches_t* b) {
  size_t sides = (size_t)b->count * (size_t)(b->arguments.count + 1);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena_of(b), sides + 1, &b->sides));
  return LEAT_NEW(arena_of(b), (size_t)b->count + 1, &b->calls);
}

// The arguments and, behind them, the pivot of |branch|.
static leat_output_t* side(const branches_t* b, int branch) {
  return b->sides + branch * (b->arguments.count + 1);
}

// Sends every argument, and |predicate| itself for the pivot, through a Switch by |predicate|. The
// outputs become those of the branches |when_false| and |when_true| (-1: nobody uses that side).
static void switch_arguments(branches_t* b, leat_output_t predicate, int when_false,
                             int when_true) {
  leat_builder_t* builder = &b->l->builder;
  for (int i = 0; i <= b->arguments.count; ++i) {
    bool is_pivot = i == b->arguments.count;
    leat_output_t data = is_pivot ? predicate : b->arguments.items[i];
    leat_output_t parted = leat_build_binary(builder, "Switch", data, predicate);
    for (int taken = 0; taken < 2; ++taken) {
      int branch = taken ? when_true : when_false;
      if (branch < 0 || builder->status) continue;
      leat_output_t output = {parted.node, taken};
      if (is_pivot) output = leat_build_unary(builder, "Identity", output);
      side(b, branch)[i] = output;
    }
  }
}

static void call_branches(branches_t* b, const leat_function_name_t* const* functions) {
  leat_builder_t* builder = &b->l->builder;
  int waits = builder->control_count;
  builder->control_count = 0;  // the Switches have waited for the call's control inputs already
  for (int k = 0; k < b->count && !builder->status; ++k) {
    leat_outputs_t arguments = {side(b, k), b->arguments.count};
    b->calls[k] = b->l->call(b->l, functions[k], arguments, side(b, k)[b->arguments.count].node);
  }
  builder->control_count = waits;
}

static leat_status_t check_returns(const branches_t* b) {
  for (int k = 0; k < b->count; ++k) {
    if (b->calls[k].return_count == b->l->node->output_count) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Calling a function failed for node '%.*s' (%.*s): branch %d returns "
                            "%d values, must be %d",
                            LEAT_SV_ARG(b->l->node->name), LEAT_SV_ARG(b->l->node->op->name), k,
                            b->calls[k].return_count, b->l->node->output_count);
  }
  return leat_ok_status();
}

// Builds a node that runs when all side effects of the branch that was taken are done, if there are
// any or if the call has no outputs by which one could wait for it.
static leat_status_t join(branches_t* b, leat_output_t* parts) {
  leat_builder_t* builder = &b->l->builder;
  bool acts = b->l->node->output_count == 0;
  for (int k = 0; k < b->count; ++k) acts |= b->calls[k].done >= 0;
  if (!acts) return leat_ok_status();
  for (int k = 0; k < b->count && !builder->status; ++k) {
    leat_builder_t after = *builder;
    after.control_inputs = &b->calls[k].done;
    after.control_count = b->calls[k].done >= 0;
    parts[k] = leat_build_unary(&after, "Identity", side(b, k)[b->arguments.count]);
    builder->status = after.status;
  }
  b->l->done = leat_build(builder, "Merge", (leat_outputs_t){parts, b->count}, LEAT_NO_ATTRS).node;
  return builder->status;
}

static leat_status_t merge(branches_t* b) {
  LEAT_RETURN_IF_ERROR(check_returns(b));
  leat_output_t* parts;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena_of(b), (size_t)b->count + 1, &parts));
  leat_builder_t* builder = &b->l->builder;
  for (int i = 0; i < b->l->node->output_count; ++i) {
    for (int k = 0; k < b->count; ++k) parts[k] = b->calls[k].returns[i];
    b->l->outputs[i] =
        leat_build(builder, "Merge", (leat_outputs_t){parts, b->count}, LEAT_NO_ATTRS);
  }
  LEAT_RETURN_IF_ERROR(builder->status);
  return join(b, parts);
}

leat_output_t leat_lower_to_bool(leat_builder_t* builder, leat_output_t condition) {
  if (leat_build_type_of(builder, condition) == LEAT_DTYPE_BOOL) return condition;
  return leat_build_unary(builder, "ToBool", condition);
}

static leat_status_t lower_if(leat_lowering_t* l) {
  const leat_function_name_t* functions[] = {leat_lowering_function(l, "else_branch"),
                                             leat_lowering_function(l, "then_branch")};
  branches_t b = {.l = l, .count = 2, .arguments = {l->inputs + 1, l->node->input_count - 1}};
  LEAT_RETURN_IF_ERROR(prepare(&b));
  leat_output_t predicate = leat_lower_to_bool(&l->builder, l->inputs[0]);
  switch_arguments(&b, predicate, 0, 1);
  call_branches(&b, functions);
  LEAT_RETURN_IF_ERROR(l->builder.status);
  return merge(&b);
}

// Builds the test whether |index| selects |branch|. An index out of range selects the last branch.
static leat_output_t is_branch(leat_builder_t* builder, leat_output_t index, int branch,
                               int count) {
  if (branch < count - 1) {
    return leat_build_binary(builder, "Equal", index,
                             leat_build_scalar(builder, LEAT_DTYPE_INT32, branch));
  }
  leat_output_t below = leat_build_binary(builder, "Less", index,
                                          leat_build_scalar(builder, LEAT_DTYPE_INT32, 0));
  leat_output_t above = leat_build_binary(builder, "GreaterEqual", index,
                                          leat_build_scalar(builder, LEAT_DTYPE_INT32, count - 1));
  return leat_build_binary(builder, "LogicalOr", below, above);
}

// The builder for the tests of an index: their constants have no inputs, so they wait for the gate.
static leat_builder_t build_gated(const leat_lowering_t* l) {
  leat_builder_t gated = l->builder;
  gated.control_inputs = &l->gate;
  gated.control_count = l->gate >= 0;
  return gated;
}

// Lowers a Case. Each branch gets a predicate of its own, whether the index selects it, and its
// arguments go through Switches by that.
static leat_status_t lower_case(leat_lowering_t* l) {
  const leat_attr_value_t* list = leat_node_attr(l->node, LEAT_SV("branches"));
  branches_t b = {.l = l,
                  .count = (int)list->count,
                  .arguments = {l->inputs + 1, l->node->input_count - 1}};
  const leat_function_name_t** functions;
  LEAT_RETURN_IF_ERROR(prepare(&b));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena_of(&b), list->count + 1, &functions));
  leat_builder_t* builder = &l->builder;
  leat_builder_t gated = build_gated(l);
  for (int k = 0; k < b.count; ++k) {
    functions[k] = &list->functions[k];
    leat_output_t predicate = is_branch(&gated, l->inputs[0], k, b.count);
    if (!builder->status) builder->status = gated.status;
    switch_arguments(&b, predicate, -1, k);
  }
  call_branches(&b, functions);
  LEAT_RETURN_IF_ERROR(builder->status);
  return merge(&b);
}

// Lowers a _SwitchN: the data goes through a Switch for each output, by whether the index selects
// it. An index out of range selects the last output, as in TensorFlow.
static leat_status_t lower_switch_n(leat_lowering_t* l) {
  leat_builder_t* builder = &l->builder;
  leat_builder_t gated = build_gated(l);
  const int count = l->node->output_count;
  for (int k = 0; k < count; ++k) {
    leat_output_t selects = is_branch(&gated, l->inputs[1], k, count);
    if (!builder->status) builder->status = gated.status;
    leat_output_t parted = leat_build_binary(builder, "Switch", l->inputs[0], selects);
    l->outputs[k] = (leat_output_t){parted.node, 1};
  }
  return builder->status;
}

static leat_status_t switch_n_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 1));
  for (int k = 0; k < c->node->output_count; ++k) {
    leat_inference_set_output(c, k, leat_inference_input(c, 0));
  }
  return leat_ok_status();
}

// The attribute says what is known of the outputs.
leat_status_t leat_shape_from_output_shapes(leat_inference_t* c) {
  const leat_attr_value_t* shapes = leat_node_attr(c->node, LEAT_SV("output_shapes"));
  if (!shapes || shapes->kind != LEAT_ATTR_SHAPE || !shapes->count) return leat_ok_status();
  if ((int)shapes->count != c->node->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "`output_shapes` must be the same length as num outputs (%u vs. %d)",
                            shapes->count, c->node->output_count);
  }
  for (uint32_t i = 0; i < shapes->count && (int)i < c->node->output_count; ++i) {
    leat_inference_set_output(c, (int)i, shapes->shapes[i]);
  }
  return leat_ok_status();
}

static leat_status_t bool_shape(leat_inference_t* c) {
  leat_inference_set_output(c, 0, leat_partial_shape_scalar());
  return leat_ok_status();
}

#define IF_ATTRS                                                                              \
  "Tcond: type; Tin: list(type) >= 0; Tout: list(type) >= 0; then_branch: func; else_branch: " \
  "func; output_shapes: list(shape) = []"
#define CASE_ATTRS                                                                        \
  "Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: " \
  "list(shape) = []"
#define BRANCHES (LEAT_OP_CALLS | LEAT_OP_BRANCHES | LEAT_OP_NEVER_FOLD)

const leat_op_row_t leat_branch_ops[] = {
    {.name = "If",
     .inputs = "cond: Tcond; input: Tin",
     .outputs = "output: Tout",
     .attrs = IF_ATTRS,
     .flags = LEAT_OP_STATEFUL | BRANCHES,
     .shape = leat_shape_from_output_shapes,
     .lower = lower_if,
     .doc = "Calls one of two functions."},
    {.name = "StatelessIf",
     .inputs = "cond: Tcond; input: Tin",
     .outputs = "output: Tout",
     .attrs = IF_ATTRS,
     .flags = BRANCHES,
     .shape = leat_shape_from_output_shapes,
     .lower = lower_if,
     .doc = "If of functions without effects."},
    {.name = "_If",
     .inputs = "cond: Tcond; input: Tin",
     .outputs = "output: Tout",
     .attrs = "Tcond: type; Tin: list(type) >= 1; Tout: list(type) >= 1; then_branch: func; "
              "else_branch: func",
     .flags = LEAT_OP_STATEFUL | BRANCHES,
     .shape = leat_shape_unknown,
     .lower = lower_if,
     .doc = "If, in nodes that TensorFlow makes itself."},
    {.name = "Case",
     .inputs = "branch_index: int32; input: Tin",
     .outputs = "output: Tout",
     .attrs = CASE_ATTRS,
     .flags = LEAT_OP_STATEFUL | BRANCHES,
     .shape = leat_shape_from_output_shapes,
     .lower = lower_case,
     .doc = "Calls one of several functions."},
    {.name = "StatelessCase",
     .inputs = "branch_index: int32; input: Tin",
     .outputs = "output: Tout",
     .attrs = CASE_ATTRS,
     .flags = BRANCHES,
     .shape = leat_shape_from_output_shapes,
     .lower = lower_case,
     .doc = "Case of functions without effects."},
    {.name = "_SwitchN",
     .inputs = "data: T; output_index: int32",
     .outputs = "outputs: num_outs * T",
     .attrs = "num_outs: int >= 1; T: type",
     .flags = BRANCHES | LEAT_OP_STANDS_FOR_FLOW,
     .shape = switch_n_shape,
     .lower = lower_switch_n,
     .doc = "Hands its data to the output that an index numbers; the others are dead."},
    {.name = "ToBool",
     .inputs = "input: T",
     .outputs = "output: bool",
     .attrs = "T: type",
     .shape = bool_shape,
     .doc = "What a condition says: a number not zero, a string or a tensor not empty."},
    LEAT_OP_ROWS_END,
};
