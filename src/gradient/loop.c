// Gradients of loops (section 4.4 describes the loops). The forward loop counts its iterations,
// unless it does so already, and a backward loop runs as often:
//
//   forward:   v ─▶ Enter ─▶ Merge ─▶ Switch ─▶ body ─▶ NextIteration      Exit ─▶ y
//   backward:  dv ◀─ Exit ◀─ Switch ◀─ Merge ◀─ body' ◀─ NextIteration     Enter ◀─ dy
//
// The gradient of a loop variable enters where the variable leaves, goes back through the body once
// in each iteration, and leaves where the variable enters. With v_n = f(v_{n-1}, c): dv_{n-1} =
// df/dv * dv_n, and for an invariant c (an Enter that is_constant) dc = sum over n of df/dc * dv_n,
// which an additional variable of the backward loop adds up. Gradients that are rows are pushed on
// lists and joined behind the loop, since their number is not known before. The body's gradient is
// built by region.c in a context of its own, which resolves forward values (context.c); a loop
// within the body is visited from there, recursively.
#include "gradient/walk.h"

#define MAX_DEPTH 200  // loops within loops, since the walk is recursive there

// One loop while its gradient is built.
typedef struct backward_s {
  leat_context_t* outer;
  leat_context_t inner;  // in the backward loop
  leat_loop_t* loop;
  leat_walk_t* w;
  leat_output_t count;  // the number of iterations, outside of the backward loop
  leat_builder_t b;     // of nodes outside of it that run when the loop does
} backward_t;

// ---- The counter --------------------------------------------------------------------------------

// A constant 1 in every iteration of |site|: it waits for node |beside|, which runs in each.
static leat_output_t one_beside(const leat_site_t* site, leat_builder_t* b, int32_t beside) {
  // The builder's own control inputs are overwritten here, so it must have none.
  LEAT_DCHECK(b->control_count == 0);
  b->control_inputs = &beside;
  b->control_count = 1;
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  b->control_count = 0;
  leat_site_place(site, b, one, site->frame);
  return one;
}

// Makes op(v, one) the next value of |v|.
static leat_output_t step(const leat_site_t* site, leat_builder_t* b, const char* op,
                          leat_site_variable_t v, leat_output_t one) {
  leat_output_t next = leat_build_binary(b, op, v.body, one);
  leat_site_place(site, b, next, site->frame);
  leat_site_close(site, b, v, next);
  return next;
}

// Follows |value| back through the Identities and Enters that forward it unchanged, and returns
// the output that they forward.
static leat_output_t see_through(const leat_graph_t* graph, leat_output_t value) {
  const leat_node_t* node = &graph->nodes[value.node];
  while (node->op->flags & (LEAT_OP_PASS_THROUGH | LEAT_OP_ENTER)) {
    value = node->inputs[0];
    node = &graph->nodes[value.node];
  }
  return value;
}

// Whether |value| is the int32 constant |wanted|.
static bool is_int32(const leat_graph_t* graph, leat_output_t value, int32_t wanted) {
  const leat_tensor_t* found = leat_node_constant(&graph->nodes[see_through(graph, value).node]);
  return found && found->dtype == LEAT_DTYPE_INT32 && found->shape.rank == 0 &&
         *leat_tensor_data(found, int32_t) == wanted;
}

// Whether a variable counts iterations already, as many loops do: it starts with 0, and 1 is added
// in each iteration.
static bool counts(const leat_graph_t* graph, const leat_loop_variable_t* v) {
  const leat_node_t* add = &graph->nodes[graph->nodes[v->next].inputs[0].node];
  if (v->decide < 0 || !leat_string_view_starts_with(add->op->name, LEAT_SV("Add")) ||
      add->input_count != 2 || !is_int32(graph, graph->nodes[v->enter].inputs[0], 0)) {
    return false;
  }
  leat_output_t body = {v->decide, 1};
  for (int k = 0; k < 2; ++k) {
    if (leat_output_equal(see_through(graph, add->inputs[k]), body) &&
        is_int32(graph, add->inputs[1 - k], 1)) {
      return true;
    }
  }
  return false;
}

// The number of iterations of |loop|, outside of it. A counter is added when there is none.
static leat_status_t count_iterations(leat_loop_t* loop, leat_output_t* out_count) {
  LEAT_DCHECK(loop->site.frame > 0);
  const leat_site_t* site = &loop->site;
  leat_builder_t b = leat_site_builder(site);
  for (int i = 0; i < loop->variable_count; ++i) {
    if (!counts(site->walk->graph, &loop->variables[i])) continue;
    const leat_output_t last = {loop->variables[i].decide, 0};
    *out_count = leat_site_exit(site, &b, (leat_site_variable_t){.last = last});
    return b.status;
  }
  LEAT_RETURN_IF_ERROR(leat_loop_outside_builder(loop, &b));
  leat_output_t zero = leat_build_scalar(&b, LEAT_DTYPE_INT32, 0);
  leat_site_place(site, &b, zero, site->parent_frame);
  b.control_count = 0;
  leat_site_variable_t v = leat_site_open(site, &b, zero);
  step(site, &b, "AddV2", v, one_beside(site, &b, v.merge.node));
  *out_count = leat_site_exit(site, &b, v);
  return b.status;
}

// Makes the frame of the backward loop, whose counter goes from the number of iterations down to 0.
static leat_status_t open_backward(backward_t* t) {
  leat_site_t* site = &t->inner.site;
  leat_output_t count;
  LEAT_RETURN_IF_ERROR(count_iterations(t->loop, &count));
  *site = (leat_site_t){.walk = t->w, .frame = t->w->frame_count++,
                        .parent_frame = t->outer->site.frame,
                        .name = t->w->graph->nodes[count.node].name,  // unique: a node has it
                        .parallel_iterations = t->loop->site.parallel_iterations,
                        .pred = LEAT_OUTPUT_NONE, .scope = t->loop->site.scope};
  LEAT_RETURN_IF_ERROR(leat_context_resolve(t->outer, count, &t->count));
  leat_builder_t b = leat_site_builder(site);
  leat_site_variable_t v = leat_site_open(site, &b, t->count);
  leat_output_t one = one_beside(site, &b, v.merge.node);
  leat_output_t more = leat_build_binary(&b, "GreaterEqual", v.merge, one);
  leat_site_place(site, &b, more, site->frame);
  site->pred = leat_build_unary(&b, "LoopCond", more);
  leat_site_place(site, &b, site->pred, site->frame);
  v.last = leat_build_binary(&b, "Switch", v.merge, site->pred);
  leat_site_place(site, &b, v.last, site->frame);
  v.body = leat_node_output(v.last.node, 1);
  t->inner.pivot = step(site, &b, "Sub", v, one).node;
  LEAT_RETURN_IF_ERROR(b.status);
  t->b = leat_context_builder(t->outer, site->scope);
  if (t->outer->site.frame > 0 || t->loop->guard > 0) {
    t->b.control_inputs = &t->count.node;
    t->b.control_count = 1;
  }
  return leat_ok_status();
}

// ---- Variables ----------------------------------------------------------------------------------

// Whether a gradient flows through the variable.
static bool carries_gradient(const leat_walk_t* w, const leat_loop_variable_t* v) {
  return w->between[v->merge];
}

// Moves the gradients of Exits to what the Exits read, which must be last values of variables.
// |*out_any|: there is one.
static leat_status_t take_exits(backward_t* t, bool* out_any) {
  leat_walk_t* w = t->w;
  leat_builder_t b = leat_context_builder(t->outer, t->loop->site.scope);
  *out_any = false;
  for (int32_t n = t->loop->first_node; n >= 0; n = w->next_in_loop[n]) {
    const leat_node_t* node = &w->graph->nodes[n];
    if (!(node->op->flags & LEAT_OP_EXIT)) continue;
    if (w->stops[n] || !leat_walk_has_contributions(w, (leat_output_t){n, 0})) continue;
    leat_output_t last = node->inputs[0];
    bool known = false;
    for (int i = 0; i < t->loop->variable_count; ++i) {
      known |= last.node == t->loop->variables[i].decide && last.index == 0;
    }
    if (!known) {
      return leat_walk_error(w, LEAT_INVALID_ARGUMENT, n,
                             "its input is not what a loop variable is at last, must be");
    }
    leat_gradient_value_t sum;
    LEAT_RETURN_IF_ERROR(leat_walk_sum_contributions(w, &b, (leat_output_t){n, 0}, &sum));
    LEAT_RETURN_IF_ERROR(leat_walk_add_contribution(w, last, sum));
    *out_any = true;
  }
  return leat_ok_status();
}

// The initial gradient of a variable that nothing reads behind the loop. It may still matter in the
// loop, so it starts with zeros, of the shape of its last value.
static leat_output_t zeros_at_last(backward_t* t, leat_output_t last) {
  leat_builder_t plain = leat_site_builder(&t->loop->site);
  if (t->b.status) return LEAT_OUTPUT_NONE;
  leat_output_t exit = leat_site_exit(&t->loop->site, &plain,
                                      (leat_site_variable_t){.last = last});
  t->b.status = plain.status;
  return leat_build_zeros_of(&t->b, exit);
}

// Gives each variable that carries a gradient a gradient variable in the backward loop, and
// contributes it to what the variable's NextIteration reads.
static leat_status_t open_variables(backward_t* t) {
  leat_walk_t* w = t->w;
  for (int i = 0; i < t->loop->variable_count; ++i) {
    leat_loop_variable_t* v = &t->loop->variables[i];
    leat_gradient_value_t initial;
    if (!carries_gradient(w, v)) continue;
    if (v->decide < 0) {
      return leat_walk_error(w, LEAT_INVALID_ARGUMENT, v->merge,
                             "no Switch decides whether its loop goes on, one must");
    }
    leat_output_t last = {v->decide, 0};
    LEAT_RETURN_IF_ERROR(leat_walk_sum_contributions(w, &t->b, last, &initial));
    leat_output_t start = leat_gradient_value_to_dense(&t->b, initial);
    if (!leat_output_exists(start)) start = zeros_at_last(t, last);
    LEAT_RETURN_IF_ERROR(leat_builder_take_status(&t->b));
    leat_builder_t b = leat_site_builder(&t->inner.site);
    v->back = leat_site_open(&t->inner.site, &b, start);
    LEAT_RETURN_IF_ERROR(b.status);
    if (leat_build_type_of(&b, last) != LEAT_DTYPE_RESOURCE) {
      LEAT_RETURN_IF_ERROR(leat_site_shape(&t->inner.site, v->back,
                                           leat_graph_output_shape(w->graph, last)));
    }
    LEAT_RETURN_IF_ERROR(leat_walk_add_contribution(w, (leat_output_t){v->next, 0},
                                                    leat_gradient_dense(v->back.body)));
  }
  return leat_ok_status();
}

// Contributes what came out of the backward loop to the value that |enter| reads.
static leat_status_t hand_out(backward_t* t, int32_t enter, leat_gradient_value_t value) {
  LEAT_DCHECK(enter >= 0 && (t->w->graph->nodes[enter].op->flags & LEAT_OP_ENTER));
  leat_walk_t* w = t->w;
  leat_output_t entered = leat_walk_input(w, &w->graph->nodes[enter], 0);
  if ((size_t)entered.node >= w->node_count) return leat_ok_status();
  leat_builder_t b = leat_context_builder(t->outer, t->inner.site.scope);
  LEAT_RETURN_IF_ERROR(leat_conditional_lift(t->outer, &b, entered, t->loop->guard, &value));
  LEAT_RETURN_IF_ERROR(leat_builder_take_status(&b));
  return leat_walk_add_contribution(w, entered, value);
}

// Behind the walk of the body: the gradient of a variable's value in an iteration is that of the
// iteration before.
static leat_status_t close_variables(backward_t* t) {
  leat_walk_t* w = t->w;
  for (int i = 0; i < t->loop->variable_count; ++i) {
    leat_loop_variable_t* v = &t->loop->variables[i];
    leat_gradient_value_t sum;
    if (!carries_gradient(w, v)) continue;
    // open_variables has refused a variable that no Switch decides.
    LEAT_DCHECK(v->decide >= 0 && leat_output_exists(v->back.merge));
    leat_output_t merge = {v->merge, 0}, body = {v->decide, 1};
    leat_builder_t b = leat_context_builder(&t->inner, t->inner.site.scope);
    // The Merge has the same value as the Switch's output, so their gradients are added.
    LEAT_RETURN_IF_ERROR(leat_walk_sum_contributions(w, &b, merge, &sum));
    LEAT_RETURN_IF_ERROR(leat_walk_add_contribution(w, body, sum));
    LEAT_RETURN_IF_ERROR(leat_walk_sum_contributions(w, &b, body, &sum));
    leat_output_t next = leat_gradient_value_to_dense(&b, sum);
    if (!leat_output_exists(next)) next = leat_build_zeros_of(&b, body);
    leat_builder_t plain = leat_site_builder(&t->inner.site);
    LEAT_RETURN_IF_ERROR(b.status);
    leat_site_close(&t->inner.site, &plain, v->back, next);
    leat_output_t exit = leat_site_exit(&t->inner.site, &plain, v->back);
    LEAT_RETURN_IF_ERROR(plain.status);
    LEAT_RETURN_IF_ERROR(hand_out(t, v->enter, leat_gradient_dense(exit)));
  }
  return leat_ok_status();
}

// ---- Invariants ---------------------------------------------------------------------------------

// An additional variable of the backward loop: |initial|, then op(value, |more|) in each iteration;
// its last value.
static leat_output_t accumulate(backward_t* t, leat_builder_t* b, const char* op,
                                leat_output_t initial, leat_output_t more) {
  const leat_site_t* site = &t->inner.site;
  leat_builder_t plain = leat_site_builder(site);
  if (b->status || t->b.status) return LEAT_OUTPUT_NONE;
  leat_site_variable_t v = leat_site_open(site, &plain, initial);
  b->status = leat_builder_take_status(&plain);
  leat_output_t next = leat_build_binary(b, op, v.body, more);
  plain.status = leat_builder_take_status(b);
  leat_site_close(site, &plain, v, next);
  leat_output_t exit = leat_site_exit(site, &plain, v);
  b->status = plain.status;
  return exit;
}

// |rows| of all iterations, one behind the other; |row_shape| is [-1, ...], the shape of the rows.
static leat_output_t gather(backward_t* t, leat_builder_t* b, leat_output_t rows,
                            leat_output_t row_shape) {
  int dtype = leat_build_type_of(b, rows);
  leat_builder_t* out = &t->b;
  leat_output_t any = leat_build_scalar(out, LEAT_DTYPE_INT32, -1);
  leat_output_t empty = leat_build(out, "EmptyTensorList", LEAT_INPUTS(any, any),
                                   LEAT_ATTRS(LEAT_TYPE("element_dtype", dtype)));
  leat_output_t list = accumulate(t, b, "TensorListPushBack", empty, rows);
  leat_tensor_t none;
  if (!out->status && !b->status) {
    out->status = leat_tensor_vector(LEAT_DTYPE_INT64, NULL, 0, &none);
  }
  if (out->status || b->status) return LEAT_OUTPUT_NONE;
  leat_output_t leading = leat_build_constant(out, &none);
  leat_tensor_release(&none);
  return leat_build(out, "TensorListConcatV2", LEAT_INPUTS(list, row_shape, leading),
                    LEAT_ATTRS(LEAT_TYPE("element_dtype", dtype)));
}

// The rows of all iterations as one gradient of |entered|.
static leat_gradient_value_t gather_rows(backward_t* t, leat_builder_t* b, leat_output_t entered,
                                         leat_gradient_value_t rows) {
  leat_builder_t* out = &t->b;
  bool is_handle = leat_build_type_of(out, entered) == LEAT_DTYPE_RESOURCE;
  leat_output_t shape = is_handle ? leat_build_unary(out, "VariableShape", entered)
                                  : leat_build_shape_of(out, entered);
  leat_output_t minus = leat_build_int32_vector(out, (const int32_t[]){-1}, 1);
  leat_output_t rest = leat_build(
      out, "Slice",
      LEAT_INPUTS(shape, leat_build_int32_vector(out, (const int32_t[]){1}, 1), minus),
      LEAT_NO_ATTRS);
  leat_output_t row_shape =
      leat_build(out, "ConcatV2",
                 LEAT_INPUTS(minus, rest, leat_build_scalar(out, LEAT_DTYPE_INT32, 0)),
                 LEAT_ATTRS(LEAT_INT("N", 2)));
  return (leat_gradient_value_t){gather(t, b, rows.dense, row_shape),
                                 gather(t, b, rows.indices, minus), shape};
}

// The gradient of an invariant: the sum over the iterations, contributed outside.
static leat_status_t sum_invariant(backward_t* t, int32_t enter) {
  leat_walk_t* w = t->w;
  leat_gradient_value_t sum, total;
  leat_builder_t b = leat_context_builder(&t->inner, t->inner.site.scope);
  if (!leat_node_attr_bool(&w->graph->nodes[enter], "is_constant", false)) {
    return leat_walk_error(w, LEAT_INVALID_ARGUMENT, enter,
                           "no Merge of its loop reads it, must be is_constant or read by one");
  }
  LEAT_RETURN_IF_ERROR(leat_walk_sum_contributions(w, &b, (leat_output_t){enter, 0}, &sum));
  leat_output_t entered = leat_walk_input(w, &w->graph->nodes[enter], 0);
  if (leat_gradient_is_rows(sum)) {
    total = gather_rows(t, &b, entered, sum);
  } else {
    bool is_list = leat_build_type_of(&b, sum.dense) == LEAT_DTYPE_VARIANT;
    leat_output_t zeros = leat_build_zeros_of(&t->b, entered);
    total = leat_gradient_dense(
        accumulate(t, &b, is_list ? "AddN" : "AddV2", zeros, sum.dense));
  }
  LEAT_RETURN_IF_ERROR(
      leat_status_join(leat_builder_take_status(&b), leat_builder_take_status(&t->b)));
  return hand_out(t, enter, total);
}

static leat_status_t sum_invariants(backward_t* t) {
  leat_walk_t* w = t->w;
  for (int32_t n = t->loop->first_node; n >= 0; n = w->next_in_loop[n]) {
    if (!(w->graph->nodes[n].op->flags & LEAT_OP_ENTER)) continue;
    if (w->stops[n] || !leat_walk_has_contributions(w, (leat_output_t){n, 0})) continue;
    LEAT_RETURN_IF_ERROR(sum_invariant(t, n));
  }
  return leat_ok_status();
}

static leat_status_t differentiate(backward_t* t) {
  LEAT_RETURN_IF_ERROR(open_backward(t));
  LEAT_RETURN_IF_ERROR(open_variables(t));
  LEAT_RETURN_IF_ERROR(leat_region_visit(&t->inner));
  LEAT_RETURN_IF_ERROR(close_variables(t));
  return sum_invariants(t);
}

leat_status_t leat_loop_visit(leat_context_t* c, leat_loop_t* loop) {
  backward_t t = {.outer = c, .loop = loop, .w = c->walk};
  bool any;
  LEAT_RETURN_IF_ERROR(take_exits(&t, &any));
  if (!any) return leat_ok_status();
  if (!leat_output_exists(loop->site.pred) || loop->variable_count == 0) {
    return leat_walk_error(t.w, LEAT_INVALID_ARGUMENT, loop->first_node,
                           "its frame has no LoopCond or no variable, must be a loop");
  }
  if (c->depth >= MAX_DEPTH) {
    return leat_walk_error(t.w, LEAT_UNIMPLEMENTED, loop->first_node,
                           "it is within 200 loops, must be within fewer");
  }
  leat_context_initialize(t.w, c, &t.inner);
  t.inner.depth = c->depth + 1;
  t.inner.loop = loop;
  t.inner.region = loop->site.frame;
  leat_status_t status = differentiate(&t);
  leat_context_deinitialize(&t.inner);
  return status;
}
