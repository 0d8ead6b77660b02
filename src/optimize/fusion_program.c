// Makes a node _FusedElementwise of a fusion region (fusion.c). The node's attributes hold a small
// program: a list of steps, each with an op and operands, which are inputs of the node or earlier
// steps. This file translates the members of the region into steps, in topological order:
//
//   members   Mul(x, y)    Identity     AddV2(., c)    Tanh
//   steps     0: Mul 0 1     -        1: AddV2 -1 2   2: Tanh -2       inputs x, y, c; result 2
//
// If the translation fails for want of room, nothing has been changed and the members stay.
//
// A value from outside that a member merely forwards, and a constant, are no outputs of the node.
// Where nodes outside read such a member, it stays beside the new node. A constant member may wait
// for other members, so reading it could close a cycle; the new node gets its own copy, which waits
// for another input of the node and is thus in the same frame. It also gets its own constant where
// a part of the original suffices (fusion_constant.c). A Reshape that nodes outside read stays too
// and reads an output of the node; it becomes a step only if a member reads it.
//
// A member that repeats its input is not translated until its full shape is needed. Steps that
// combine it with single numbers are computed on the small array (the gradient of a mean is divided
// as a column, not as a matrix), and a reader broadcasts it anyway if another operand has the full
// shape.
#include <string.h>

#include "optimize/fusion.h"

#define MAX_ENDS 60  // inputs or outputs: a kernel's context has a bit for each

#define OUTSIDE 0  // in |values|: no step computes the member
#define SMALL 1024  // smaller constants are read whole, as looking for a part saves nothing

// The program under construction. While it is built, operand -1 - s means the result of step s, and
// operand i >= 0 means input i; describe() turns that into the numbers that the op expects.
typedef struct program_s {
  const leat_fusion_t* fusion;
  const int32_t* members;
  int member_count;
  int64_t values[LEAT_FUSION_MAX_MEMBERS];  // member -> the operand that has its value, or OUTSIDE
  leat_output_t origins[LEAT_FUSION_MAX_MEMBERS];  // member -> if OUTSIDE, the output that it is
  bool shown[LEAT_FUSION_MAX_MEMBERS];             // by member: nodes outside read it
  // By member: its value is operand |narrow| broadcast to its shape, and no step has done that yet.
  bool is_narrow[LEAT_FUSION_MAX_MEMBERS];
  int64_t narrow[LEAT_FUSION_MAX_MEMBERS];
  leat_output_t inputs[MAX_ENDS];
  uint8_t extents[MAX_ENDS];  // input -> leat_fusion_extent_t
  int32_t input_types[MAX_ENDS];
  int32_t controls[MAX_ENDS];
  int input_count, control_count;
  leat_string_view_t ops[LEAT_FUSED_MAX_STEPS], names[LEAT_FUSED_MAX_STEPS];
  int32_t types[LEAT_FUSED_MAX_STEPS];
  int64_t arities[LEAT_FUSED_MAX_STEPS];
  int64_t operands[LEAT_FUSED_MAX_OPERANDS * LEAT_FUSED_MAX_STEPS];
  leat_partial_shape_t shapes[LEAT_FUSED_MAX_STEPS];
  int64_t side_dims[LEAT_FUSED_MAX_STEPS][2];  // storage for the shapes that no node has
  uint64_t reshaping;  // bit s: step s is a member that reshapes
  int64_t axes[LEAT_FUSED_MAX_STEPS];
  bool keep_dims[LEAT_FUSED_MAX_STEPS];
  int step_count, operand_count, shape_count, reduction_count;
  int32_t last;  // the member of the last step
  int64_t results[MAX_ENDS];
  int32_t result_types[MAX_ENDS];
  int result_count;
} program_t;

// The index of |node| among the first |before| members; -1 where it is none of them.
static int find_member(const program_t* f, int before, int32_t node) {
  for (int m = 0; m < before; ++m) {
    if (f->members[m] == node) return m;
  }
  return -1;
}

// Whether member |m| stays beside the new node if nodes outside read it.
static bool stays(const program_t* f, int m) {
  const int64_t step = -1 - f->values[m];
  return f->fusion->roles[f->members[m]] != LEAT_FUSION_GROUP &&
         (step < 0 || f->reshaping >> step & 1);
}

// Whether nodes outside the region read member |m|. A reader that stays beside the node counts as
// outside. Readers come after the member in topological order, so |shown| must be known for all
// later members.
static bool is_shown(const program_t* f, int m) {
  const leat_fusion_t* c = f->fusion;
  const int32_t node = f->members[m];
  if (leat_edit_is_kept(c->edit, node) || c->roles[node] == LEAT_FUSION_REDUCTION) return true;
  LEAT_EDIT_FOR_EACH_USE(c->edit, node, use) {
    const leat_reader_t reader = leat_edit_reader(c->edit, use);
    if (leat_edit_is_wait(c->edit, reader)) continue;
    if ((size_t)reader.node >= c->count || c->region_of[reader.node] != c->region_of[node]) {
      return true;
    }
    const int k = find_member(f, f->member_count, reader.node);
    if (f->shown[k] && stays(f, k)) return true;
  }
  return false;
}

// ---- The parts of the program; each function returns false where there is no room ---------------

// Adds |extent| of |source| to the inputs, unless it is one already.
static bool add_input(program_t* f, leat_output_t source, leat_fusion_extent_t extent,
                      int64_t* out_operand) {
  int i = 0;
  while (i < f->input_count &&
         !(leat_output_equal(f->inputs[i], source) && f->extents[i] == extent)) {
    ++i;
  }
  *out_operand = i;
  if (i < f->input_count) return true;
  if (i == MAX_ENDS) return false;
  f->inputs[i] = source;
  f->extents[i] = (uint8_t)extent;
  f->input_types[i] = leat_graph_output_type(f->fusion->graph, source);
  ++f->input_count;
  return true;
}

// Adds |source| to the control inputs, unless it is one already or is a member.
static bool add_control(program_t* f, int before, int32_t source) {
  if (find_member(f, before, source) >= 0) return true;
  for (int i = 0; i < f->control_count; ++i) {
    if (f->controls[i] == source) return true;
  }
  if (f->control_count == MAX_ENDS) return false;
  f->controls[f->control_count++] = source;
  return true;
}

// Appends a step, which computes with the type of |node| and reports errors under its name.
static void add_step(program_t* f, leat_string_view_t op, const leat_node_t* node,
                     const int64_t* operands, int count) {
  const int s = f->step_count++;
  f->ops[s] = op;
  f->names[s] = node->name;
  f->types[s] = node->output_types[0];
  f->arities[s] = count;
  for (int i = 0; i < count; ++i) f->operands[f->operand_count++] = operands[i];
}

// Follows |*inout_source| through members that forward. Returns the operand that has its value, or
// OUTSIDE where no step computes it; |*inout_source| is then the output where the value comes from.
static int64_t trace(const program_t* f, int before, leat_output_t* inout_source) {
  for (;;) {
    const int m = find_member(f, before, inout_source->node);
    if (m < 0) return OUTSIDE;
    if (f->values[m] != OUTSIDE || leat_output_equal(*inout_source, f->origins[m])) {
      return f->values[m];
    }
    *inout_source = f->origins[m];
  }
}

// Returns the constant that |source| is, if the new node may have a copy of it; else NULL. A
// constant outside the region with control inputs may not be copied, since the copy would not wait.
static const leat_tensor_t* find_constant(const program_t* f, int before, leat_output_t source) {
  if (trace(f, before, &source) != OUTSIDE) return NULL;
  const leat_node_t* node = &f->fusion->graph->nodes[source.node];
  const bool waits = node->control_count && find_member(f, f->member_count, source.node) < 0;
  return waits ? NULL : leat_node_constant(node);
}

// The member that |source| is, where that is still to be broadcast; -1 where it is none.
static int find_narrow(const program_t* f, int before, leat_output_t source) {
  if (trace(f, before, &source) != OUTSIDE) return -1;
  const int m = find_member(f, before, source.node);
  return m >= 0 && f->is_narrow[m] ? m : -1;
}

// Whether another operand of step |m|, one that is read whole, determines the shape of the result,
// so that input |index| may be smaller than it is.
static bool is_covered(const program_t* f, int m, int index) {
  const leat_graph_t* graph = f->fusion->graph;
  const leat_node_t* node = &graph->nodes[f->members[m]];
  const leat_partial_shape_t shape = leat_graph_output_shape(graph, node->inputs[index]);
  const leat_fusion_role_t role = f->fusion->roles[f->members[m]];
  if (role != LEAT_FUSION_STEP && role != LEAT_FUSION_SUM) return false;
  for (int i = 0; i < node->input_count; ++i) {
    if (!find_constant(f, m, node->inputs[i]) && find_narrow(f, m, node->inputs[i]) < 0 &&
        leat_fusion_covers(leat_graph_output_shape(graph, node->inputs[i]), shape)) {
      return true;
    }
  }
  return false;
}

// How much of a constant at input |index| of member |m|, a step, must be read.
static leat_fusion_extent_t find_extent(const program_t* f, int m, int index) {
  const leat_node_t* node = &f->fusion->graph->nodes[f->members[m]];
  const leat_tensor_t* constant = find_constant(f, m, node->inputs[index]);
  if (!constant || constant->shape.element_count < SMALL) return LEAT_FUSION_WHOLE;
  return is_covered(f, m, index) ? leat_fusion_find_extent(constant) : LEAT_FUSION_WHOLE;
}

static bool find_operand(program_t* f, int m, int index, int64_t* out_operand);

// Appends a Reshape or BroadcastTo of |operand| to |shape|, and returns the operand that it is.
static int64_t add_shaped_step(program_t* f, leat_string_view_t op, const leat_node_t* node,
                               int64_t operand, leat_partial_shape_t shape) {
  f->shapes[f->shape_count++] = shape;
  add_step(f, op, node, &operand, 1);
  return -f->step_count;
}

// Appends the step of member |m|, a Reshape. Called when a member first reads it, so that a Reshape
// which only nodes outside read becomes no step.
static bool add_reshape(program_t* f, int m) {
  const leat_node_t* node = &f->fusion->graph->nodes[f->members[m]];
  int64_t operand;
  if (!find_operand(f, m, 0, &operand)) return false;
  f->reshaping |= UINT64_C(1) << f->step_count;
  f->values[m] = add_shaped_step(f, LEAT_OP_NAME_RESHAPE, node, operand, node->output_shapes[0]);
  return true;
}

// Appends the step that broadcasts member |m|. Called when a member needs its full shape, or nodes
// outside read it.
static bool repeat(program_t* f, int m) {
  const leat_node_t* node = &f->fusion->graph->nodes[f->members[m]];
  if (f->step_count == LEAT_FUSED_MAX_STEPS) return false;
  f->values[m] =
      add_shaped_step(f, LEAT_OP_NAME_BROADCAST_TO, node, f->narrow[m], node->output_shapes[0]);
  return true;
}

// Notes that member |m| is |operand| broadcast to the member's shape, without a step for that.
static void stay_narrow(program_t* f, int m, int64_t operand) {
  f->is_narrow[m] = true;
  f->narrow[m] = operand;
  f->values[m] = OUTSIDE;
  f->origins[m] = (leat_output_t){f->members[m], 0};
}

// Finds the operand from which input |index| of member |m| is read, and appends the steps or the
// input that it needs.
static bool find_operand(program_t* f, int m, int index, int64_t* out_operand) {
  const leat_fusion_t* c = f->fusion;
  leat_output_t source = c->graph->nodes[f->members[m]].inputs[index];
  *out_operand = trace(f, m, &source);
  if (*out_operand != OUTSIDE) return true;
  const int from = find_member(f, m, source.node);
  if (from >= 0 && f->is_narrow[from]) {
    const bool is_repeated = !is_covered(f, m, index);
    if (is_repeated && !repeat(f, from)) return false;
    *out_operand = is_repeated ? f->values[from] : f->narrow[from];
    return true;
  }
  if (from < 0 || c->roles[source.node] != LEAT_FUSION_RESHAPED) {
    return add_input(f, source, find_extent(f, m, index), out_operand);
  }
  if (!add_reshape(f, from)) return false;
  *out_operand = f->values[from];
  return true;
}

static bool add_repeated(program_t* f, int m) {
  int64_t operand;
  if (!find_operand(f, m, 0, &operand)) return false;
  stay_narrow(f, m, operand);
  return true;
}

// ---- Products of a column and a row -------------------------------------------------------------

// Finds the operand that is input |side| of product |m| as a column (0) or a row (1), reshaped if
// it is stored transposed.
static bool find_side(program_t* f, int m, int side, int64_t* out_operand) {
  const leat_graph_t* graph = f->fusion->graph;
  const leat_node_t* node = &graph->nodes[f->members[m]];
  const leat_partial_shape_t given = leat_graph_output_shape(graph, node->inputs[side]);
  if (!find_operand(f, m, side, out_operand)) return false;
  if (given.dims[1 - side] == 1) return true;
  int64_t* dims = f->side_dims[f->shape_count];
  dims[side] = given.dims[1 - side];
  dims[1 - side] = 1;
  *out_operand = add_shaped_step(f, LEAT_OP_NAME_RESHAPE, node, *out_operand,
                                 (leat_partial_shape_t){2, dims});
  return true;
}

// Appends the addition of 0: a matrix product begins its sum at 0, so that a product of -0 becomes
// +0, and the fused node must give the same bits.
static bool add_to_zero(program_t* f, int m, int64_t* inout_operand) {
  int64_t terms[] = {*inout_operand, 0};
  if (!add_input(f, (leat_output_t){f->members[m], 0}, LEAT_FUSION_ZERO, &terms[1])) return false;
  add_step(f, LEAT_OP_NAME_ADD, &f->fusion->graph->nodes[f->members[m]], terms, 2);
  *inout_operand = -f->step_count;
  return true;
}

// Translates product |m| where the other side is a constant that repeats one number: |side| is
// multiplied by that number, or left as it is if the number is 1, and broadcast later.
static bool add_scaled_side(program_t* f, int m, int side) {
  const leat_node_t* node = &f->fusion->graph->nodes[f->members[m]];
  leat_output_t source = node->inputs[1 - side];
  int64_t operands[2];
  if (!find_side(f, m, side, &operands[0])) return false;
  if (!leat_fusion_is_one(find_constant(f, m, source))) {
    trace(f, m, &source);
    if (!add_input(f, source, LEAT_FUSION_ELEMENT, &operands[1])) return false;
    add_step(f, LEAT_OP_NAME_MUL, node, operands, 2);
    operands[0] = -f->step_count;
  }
  if (!add_to_zero(f, m, &operands[0])) return false;
  stay_narrow(f, m, operands[0]);
  return true;
}

// Translates a product of a column and a row into a multiplication that broadcasts both.
static bool add_product(program_t* f, int m) {
  const leat_node_t* node = &f->fusion->graph->nodes[f->members[m]];
  const leat_partial_shape_t shape = node->output_shapes[0];
  int64_t sides[2];
  for (int side = 0; side < 2; ++side) {
    const leat_tensor_t* other = find_constant(f, m, node->inputs[1 - side]);
    if (other && leat_fusion_find_extent(other) == LEAT_FUSION_ELEMENT &&
        leat_partial_shape_is_full(shape) && shape.dims[1 - side] > 1) {
      return add_scaled_side(f, m, side);
    }
  }
  if (!find_side(f, m, 0, &sides[0]) || !find_side(f, m, 1, &sides[1])) return false;
  add_step(f, LEAT_OP_NAME_MUL, node, sides, 2);
  f->values[m] = -f->step_count;
  return add_to_zero(f, m, &f->values[m]);
}

// ---- Members ------------------------------------------------------------------------------------

// Returns the only input of member |m| that is still to be broadcast, where all other inputs are
// single numbers, so that the step can be computed before the broadcast; -1 where that is not so.
static int find_narrow_input(const program_t* f, int m) {
  const leat_graph_t* graph = f->fusion->graph;
  const leat_node_t* node = &graph->nodes[f->members[m]];
  const leat_fusion_role_t role = f->fusion->roles[f->members[m]];
  int found = -1;
  if (role != LEAT_FUSION_STEP && node->input_count > 1) return -1;
  for (int i = 0; i < node->input_count; ++i) {
    const leat_tensor_t* constant = find_constant(f, m, node->inputs[i]);
    if (find_narrow(f, m, node->inputs[i]) >= 0) {
      if (found >= 0) return -1;
      found = i;
    } else if (!(constant && leat_fusion_find_extent(constant) == LEAT_FUSION_ELEMENT) &&
               leat_graph_output_shape(graph, node->inputs[i]).rank != 0) {
      return -1;
    }
  }
  return found >= 0 && leat_partial_shape_equal(leat_graph_output_shape(graph, node->inputs[found]),
                                                node->output_shapes[0])
             ? found
             : -1;
}

// Appends the step of member |m| on the array before its broadcast, which the result then needs.
static bool add_narrow_step(program_t* f, int m, int narrow_input) {
  const leat_node_t* node = &f->fusion->graph->nodes[f->members[m]];
  int64_t operands[LEAT_FUSED_MAX_OPERANDS] = {0};
  for (int i = 0; i < node->input_count; ++i) {
    leat_output_t source = node->inputs[i];
    if (i == narrow_input) {
      operands[i] = f->narrow[find_narrow(f, m, source)];
    } else if (find_constant(f, m, source)) {
      trace(f, m, &source);
      if (!add_input(f, source, LEAT_FUSION_ELEMENT, &operands[i])) return false;
    } else if (!find_operand(f, m, i, &operands[i])) {
      return false;
    }
  }
  add_step(f, node->op->name, node, operands, node->input_count);
  stay_narrow(f, m, -f->step_count);
  return true;
}

// Appends the steps of an elementwise member: one, or n - 1 for a sum of n inputs. There is room,
// because fusion.c limits the places that a region takes.
static bool add_steps(program_t* f, int m) {
  const leat_fusion_t* c = f->fusion;
  const int narrow_input = find_narrow_input(f, m);
  if (narrow_input >= 0) return add_narrow_step(f, m, narrow_input);
  const leat_node_t* node = &c->graph->nodes[f->members[m]];
  const bool is_sum = c->roles[f->members[m]] == LEAT_FUSION_SUM;
  const int arity = is_sum ? 2 : node->input_count;
  int64_t operands[LEAT_FUSED_MAX_OPERANDS] = {0};
  for (int i = 0; i < node->input_count; ++i) {
    int64_t* operand = &operands[is_sum && i ? 1 : i];
    if (!find_operand(f, m, i, operand)) return false;
    if (i < arity - 1) continue;
    add_step(f, is_sum ? LEAT_OP_NAME_ADD : node->op->name, node, operands, arity);
    operands[0] = -f->step_count;
  }
  f->values[m] = -f->step_count;
  return true;
}

static bool add_reduction(program_t* f, int m) {
  const leat_fusion_t* c = f->fusion;
  const leat_node_t* node = &c->graph->nodes[f->members[m]];
  leat_fusion_reduction_t reduction;
  int64_t operand;
  if (!leat_fusion_find_reduction(c->graph, node, c->options, &reduction) ||
      !find_operand(f, m, 0, &operand)) {
    return false;
  }
  f->axes[f->reduction_count] = reduction.axes;
  f->keep_dims[f->reduction_count++] = reduction.keep_dims;
  add_step(f, reduction.op, node, &operand, 1);
  f->values[m] = -f->step_count;
  return true;
}

// Translates member |m|. All members before it have been translated.
static bool add_member(program_t* f, int m) {
  const leat_fusion_t* c = f->fusion;
  const leat_node_t* node = &c->graph->nodes[f->members[m]];
  f->is_narrow[m] = false;
  if (leat_fusion_steps(c, f->members[m])) f->last = f->members[m];
  for (int i = 0; i < node->control_count; ++i) {
    if (!add_control(f, m, node->inputs[node->input_count + i].node)) return false;
  }
  switch (c->roles[f->members[m]]) {
    case LEAT_FUSION_FORWARDED:
      f->origins[m] = node->inputs[0];
      f->values[m] = trace(f, m, &f->origins[m]);
      return true;
    case LEAT_FUSION_CONSTANT:
    case LEAT_FUSION_RESHAPED:
    case LEAT_FUSION_GROUP:
      f->origins[m] = (leat_output_t){f->members[m], 0};
      f->values[m] = OUTSIDE;
      return true;
    case LEAT_FUSION_REPEATED: return add_repeated(f, m);
    case LEAT_FUSION_PRODUCT: return add_product(f, m);
    case LEAT_FUSION_REDUCTION: return add_reduction(f, m);
    default: return add_steps(f, m);
  }
}

// The output of the new node that has the value of member |m|; the count of results: none yet.
static int find_result(const program_t* f, int m) {
  const int64_t step = -1 - f->values[m];
  int i = 0;
  while (i < f->result_count && f->results[i] != step) ++i;
  return i;
}

// Lists the steps that nodes outside read. The first loop runs backwards because is_shown asks for
// the later members.
static bool add_results(program_t* f) {
  for (int m = f->member_count - 1; m >= 0; --m) {
    f->shown[m] = is_shown(f, m);
    if (f->shown[m] && f->is_narrow[m] && f->values[m] == OUTSIDE && !repeat(f, m)) return false;
  }
  for (int m = 0; m < f->member_count; ++m) {
    if (!f->shown[m] || f->values[m] >= 0 || stays(f, m)) continue;
    const int i = find_result(f, m);
    if (i < f->result_count) continue;
    if (i == MAX_ENDS) return false;
    f->results[i] = -1 - f->values[m];
    f->result_types[i] = f->types[f->results[i]];
    ++f->result_count;
  }
  return f->result_count > 0;
}

// Whether the input is a constant that is a member.
static bool is_constant_member(const program_t* f, int input) {
  return find_member(f, f->member_count, f->inputs[input].node) >= 0;
}

// The first input that stays as it is, for the copies of constants to wait for; -1 where there is
// none.
static int find_anchor(const program_t* f) {
  for (int i = 0; i < f->input_count; ++i) {
    if (!is_constant_member(f, i) && f->extents[i] == LEAT_FUSION_WHOLE) return i;
  }
  return -1;
}

// Translates all members, and turns operands into the numbers of the op: an input's index, or the
// count of inputs plus a step's index.
static bool describe(program_t* f) {
  for (int m = 0; m < f->member_count; ++m) {
    if (!add_member(f, m)) return false;
  }
  if (find_anchor(f) < 0 || !add_results(f)) return false;
  for (int i = 0; i < f->operand_count; ++i) {
    if (f->operands[i] < 0) f->operands[i] = f->input_count - 1 - f->operands[i];
  }
  return true;
}

// ---- The node -----------------------------------------------------------------------------------

// Makes the value of the constant for input |index|.
static leat_status_t make_constant(const program_t* f, int index, leat_tensor_t* out_constant) {
  static const double kZero = 0;
  const leat_node_t* node = &f->fusion->graph->nodes[f->inputs[index].node];
  if (f->extents[index] == LEAT_FUSION_ZERO) {
    return leat_tensor_scalar(f->input_types[index], &kZero, out_constant);
  }
  return leat_fusion_take_extent(leat_node_constant(node), f->extents[index], out_constant);
}

// Adds a constant of the new node's own and makes it input |index|. Where the original has control
// inputs, or is none (the 0 at which a sum begins), the copy waits for |anchor|, so that it is in
// the frame of the node.
static leat_status_t copy_constant(program_t* f, int index, int32_t anchor) {
  const leat_graph_t* graph = f->fusion->graph;
  const int32_t node = f->inputs[index].node;
  leat_tensor_t constant;
  const leat_op_t* op;
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(graph->ops, LEAT_OP_NAME_CONSTANT, &op));
  LEAT_RETURN_IF_ERROR(make_constant(f, index, &constant));
  const leat_attr_t attrs[] = {LEAT_TENSOR("value", &constant), LEAT_TYPE("dtype", constant.dtype)};
  leat_node_spec_t spec = {.op = op,
                           .control_inputs = &anchor,
                           .control_count = graph->nodes[node].control_count > 0 ||
                                            f->extents[index] == LEAT_FUSION_ZERO,
                           .attrs = attrs,
                           .attr_count = LEAT_ARRAY_SIZE(attrs)};
  leat_status_t status = leat_edit_add(f->fusion->edit, node, "/_fused", &spec,
                                                 &f->inputs[index].node);
  leat_tensor_release(&constant);
  return status;
}

// Gives the new node a constant of its own for each constant member and each part of a constant.
static leat_status_t copy_constants(program_t* f) {
  const int32_t anchor = f->inputs[find_anchor(f)].node;
  for (int i = 0; i < f->input_count; ++i) {
    if (!is_constant_member(f, i) && f->extents[i] == LEAT_FUSION_WHOLE) continue;
    LEAT_RETURN_IF_ERROR(copy_constant(f, i, anchor));
  }
  return leat_ok_status();
}

static leat_status_t add_node(const program_t* f, int32_t* out_node) {
  const leat_attr_t attrs[] = {
      LEAT_LIST("Tin", TYPE, f->input_count, types, f->input_types),
      LEAT_LIST("Tout", TYPE, f->result_count, types, f->result_types),
      LEAT_LIST("steps", STRING, f->step_count, strings, f->ops),
      LEAT_LIST("names", STRING, f->step_count, strings, f->names),
      LEAT_LIST("types", TYPE, f->step_count, types, f->types),
      LEAT_LIST("arities", INT, f->step_count, ints, f->arities),
      LEAT_LIST("operands", INT, f->operand_count, ints, f->operands),
      LEAT_LIST("results", INT, f->result_count, ints, f->results),
      LEAT_LIST("shapes", SHAPE, f->shape_count, shapes, f->shapes),
      LEAT_LIST("axes", INT, f->reduction_count, ints, f->axes),
      LEAT_LIST("keep_dims", BOOL, f->reduction_count, bools, f->keep_dims)};
  leat_node_spec_t spec = {.op = f->fusion->op,
                           .inputs = f->inputs,
                           .input_count = f->input_count,
                           .control_inputs = f->controls,
                           .control_count = f->control_count,
                           .attrs = attrs,
                           .attr_count = LEAT_ARRAY_SIZE(attrs)};
  return leat_edit_add(f->fusion->edit, f->last, "/_fused", &spec, out_node);
}

leat_status_t leat_fusion_make(const leat_fusion_t* fusion, const int32_t* members,
                               int count) {
  leat_graph_t* graph = fusion->graph;
  program_t f;
  int32_t node;
  f.fusion = fusion;
  f.members = members;
  f.member_count = count;
  f.input_count = f.control_count = f.step_count = f.operand_count = f.result_count = 0;
  f.shape_count = f.reduction_count = 0;
  f.reshaping = 0;
  if (!describe(&f)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(copy_constants(&f));
  LEAT_RETURN_IF_ERROR(add_node(&f, &node));
  for (int m = 0; m < count; ++m) {
    if (f.shown[m] && stays(&f, m)) continue;
    leat_output_t output = {node, 0};  // for nodes that only wait for the member
    if (f.shown[m] && f.values[m] < 0) {
      output.index = find_result(&f, m);
      LEAT_RETURN_IF_ERROR(leat_graph_refine_shape(
          graph, output, graph->nodes[members[m]].output_shapes[0]));
    }
    LEAT_RETURN_IF_ERROR(leat_edit_replace_by_output(fusion->edit, members[m], output));
  }
  return leat_ok_status();
}
