// The backward walk of one frame. An item is a node of the frame, or a whole loop within it; it is
// visited when all of its readers between xs and ys have been, which makes its gradient complete.
// Ready items wait in a list and are taken in order. Visiting a node adds up the contributions to
// its outputs, calls its op's gradient function, and contributes the results to its inputs; control
// flow nodes have functions of their own (conditional.c, loop.c). A node that got no contribution
// is passed over, but still counts as a reader of its inputs. If some item never becomes ready, the
// frame has a cycle that is not a loop.
#include "gradient/walk.h"

typedef struct region_s {
  leat_context_t* c;
  leat_walk_t* w;
  int32_t* ready;  // items in the order in which they became ready
  size_t ready_count;
  bool* queued;  // [item] it is in |ready|, or was
} region_t;

// The gradient function of a node: the caller's for its entry, or that of the op which the entry
// names.
typedef struct found_gradient_s {
  leat_gradient_fn_t of_op;
  const leat_own_gradients_t* own;  // NULL: |of_op| is used
} found_gradient_t;

leat_string_view_t leat_gradient_entry(const leat_node_t* node) {
  // Python's gradient_override_map sets the attribute.
  const leat_attr_value_t* other = leat_node_attr(node, LEAT_SV("_gradient_op_type"));
  return other && other->kind == LEAT_ATTR_STRING && !other->is_list ? other->s : node->op->name;
}

static leat_status_t find_gradient(const leat_walk_t* w, int32_t index, found_gradient_t* out) {
  const leat_node_t* node = &w->graph->nodes[index];
  const leat_string_view_t entry = leat_gradient_entry(node);
  *out = (found_gradient_t){.of_op = node->op->row->gradient};
  if (w->options && w->options->own && w->options->own->has(w->options->own->data, entry)) {
    out->own = w->options->own;
    return leat_ok_status();
  }
  if (!leat_string_view_equal(entry, node->op->name)) {
    const leat_op_t* op;
    leat_status_t status = leat_op_registry_find(w->graph->ops, entry, &op);
    out->of_op = status ? NULL : op->row->gradient;
    leat_status_free(status);
  }
  const bool is_refused = out->of_op == leat_gradient_none && w->options &&
                          w->options->refuses && w->options->refuses(node);
  if (out->of_op && !is_refused) return leat_ok_status();
  if (w->options && w->options->unknown) return w->options->unknown(entry);
  return leat_make_status(LEAT_NOT_FOUND,
                          "AddGradients failed for node '%.*s' (%.*s): No gradient defined for "
                          "op: %.*s",
                          LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), LEAT_SV_ARG(entry));
}

// ---- Nodes --------------------------------------------------------------------------------------

// Marks which of the nodes from |first_new| on, those that a gradient function has just made, read
// a value of an older node, directly or through others. Inputs come before their readers but where
// a loop is closed, so that one pass over the nodes marks nearly all and a second finds no more.
static leat_status_t mark_dependent(leat_walk_t* w, int32_t first_new, bool** out_marks) {
  const leat_graph_t* graph = w->graph;
  const int32_t count = (int32_t)graph->node_count;
  LEAT_DCHECK(first_new <= count);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)(count - first_new) + 1, out_marks));
  bool* marks = *out_marks;
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = first_new; i < count; ++i) {
      const leat_node_t* node = &graph->nodes[i];
      for (int k = 0; k < node->input_count + node->control_count && !marks[i - first_new]; ++k) {
        const int32_t source = node->inputs[k].node;
        if (source >= first_new && !marks[source - first_new]) continue;
        marks[i - first_new] = changed = true;
      }
    }
  }
  return leat_ok_status();
}

// A gradient that needs nothing but constants would be there though its node did not run, so it
// waits for |alive|, a value that is dead then. The control edge comes from an Identity, because
// |alive| may be one output of a Switch, and a Switch itself runs whichever of its outputs is dead.
static leat_output_t bind(leat_builder_t* b, leat_output_t value, leat_output_t alive) {
  const leat_output_t pivot = leat_build_unary(b, "Identity", alive);
  leat_builder_t bound = *b;
  bound.control_inputs = &pivot.node;
  bound.control_count = 1;
  value = leat_build_unary(&bound, "Identity", value);
  b->status = bound.status;
  return value;
}

// Contributes |gradients| to the inputs of node |index|, made live whenever the inputs are. |alive|
// is a value that is there when the gradient is wanted; nodes from |first_new| on were added by the
// gradient function.
static leat_status_t pass_on(leat_context_t* c, int32_t index, leat_builder_t* b,
                             int32_t first_new, leat_output_t alive,
                             leat_gradient_value_t* gradients) {
  leat_walk_t* w = c->walk;
  int32_t guard = w->guards ? w->places[index].guard : 0;
  bool* depends = NULL;
  if (guard > 0) LEAT_RETURN_IF_ERROR(mark_dependent(w, first_new, &depends));
  for (int k = 0; k < w->graph->nodes[index].input_count; ++k) {
    leat_gradient_value_t* g = &gradients[k];
    leat_output_t input = leat_walk_input(w, &w->graph->nodes[index], k);
    if ((size_t)input.node >= w->node_count || !leat_output_exists(g->dense)) continue;
    if (guard > 0 && g->dense.node >= first_new && !depends[g->dense.node - first_new]) {
      g->dense = bind(b, g->dense, alive);
    }
    if (b->place) {
      LEAT_RETURN_IF_ERROR(leat_context_resolve(c, g->dense, &g->dense));
      if (leat_gradient_is_rows(*g)) {
        LEAT_RETURN_IF_ERROR(leat_context_resolve(c, g->indices, &g->indices));
        LEAT_RETURN_IF_ERROR(leat_context_resolve(c, g->dense_shape, &g->dense_shape));
      }
    }
    if (guard > 0) LEAT_RETURN_IF_ERROR(leat_conditional_lift(c, b, input, guard, g));
    LEAT_RETURN_IF_ERROR(leat_builder_take_status(b));
    LEAT_RETURN_IF_ERROR(leat_walk_add_contribution(w, input, *g));
  }
  return leat_ok_status();
}

// UNIMPLEMENTED when a gradient must pass a stack: TensorFlow's older loop gradients pop values
// from stacks, and nothing in the graph tells where a value was pushed.
static leat_status_t check_stacks(const leat_context_t* c, int32_t index) {
  const leat_walk_t* w = c->walk;
  const leat_node_t* node = &w->graph->nodes[index];
  for (int k = 0; c->loop && k < node->input_count; ++k) {
    const leat_node_t* source = &w->graph->nodes[node->inputs[k].node];
    if (!leat_string_view_starts_with(source->op->name, LEAT_SV("StackPop"))) continue;
    if (!leat_dtype_in(source->output_types[0], LEAT_DTYPES_FLOATING | LEAT_DTYPES_COMPLEX)) {
      continue;
    }
    return leat_walk_error(w, LEAT_UNIMPLEMENTED, index,
                           "a gradient of a loop's gradient that keeps values on stacks; lists of "
                           "tensors, as leat_add_gradients uses, have one");
  }
  return leat_ok_status();
}

// Calls the gradient function of node |index| and contributes what it set.
static leat_status_t call_gradient(leat_context_t* c, int32_t index, leat_output_t alive,
                                   const leat_gradient_value_t* output_gradients,
                                   leat_builder_t* builder) {
  leat_walk_t* w = c->walk;
  found_gradient_t found;
  LEAT_RETURN_IF_ERROR(find_gradient(w, index, &found));
  LEAT_RETURN_IF_ERROR(check_stacks(c, index));
  int inputs = w->graph->nodes[index].input_count;
  leat_gradient_value_t* gradients;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)inputs + 1, &gradients));
  for (int k = 0; k < inputs; ++k) gradients[k] = LEAT_GRADIENT_NONE;
  int32_t first_new = (int32_t)w->graph->node_count;
  leat_gradient_t g = {*builder, index, output_gradients, gradients,
                       w->options && w->options->as_cpp};
  leat_status_t status = found.own ? found.own->build(found.own->data, &g) : found.of_op(&g);
  // Many functions return the builder's status itself, which must not be joined with itself.
  if (status != g.builder.status) status = leat_status_join(status, g.builder.status);
  if (!status) status = pass_on(c, index, builder, first_new, alive, gradients);
  if (!status) return leat_ok_status();
  const leat_node_t* node = &w->graph->nodes[index];
  return leat_status_annotate(status, "AddGradients failed for node '%.*s' (%.*s)",
                              LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
}

// A node that is not control flow.
static leat_status_t visit_plain(leat_context_t* c, int32_t index, leat_builder_t* builder) {
  leat_walk_t* w = c->walk;
  int outputs = w->graph->nodes[index].output_count;
  leat_gradient_value_t* gradients;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)outputs, &gradients));
  leat_output_t alive = LEAT_OUTPUT_NONE;
  for (int k = 0; k < outputs; ++k) {
    LEAT_RETURN_IF_ERROR(
        leat_walk_sum_contributions(w, builder, (leat_output_t){index, k}, &gradients[k]));
    if (leat_output_exists(gradients[k].dense)) alive = gradients[k].dense;
  }
  if (!leat_output_exists(alive)) return leat_ok_status();
  return call_gradient(c, index, alive, gradients, builder);
}

// Whether some x is outside of the region. Then a gradient from inside a loop would have to pass
// the loop's earlier iterations.
static bool asks_outside(const leat_context_t* c) {
  for (int i = 0; i < c->walk->x_count; ++i) {
    if (leat_walk_frame_of(c->walk, c->walk->xs[i].node) != c->region) return true;
  }
  return false;
}

// A control flow node. Those that make up a loop are the work of loop.c; others pass gradients here
// or in conditional.c.
static leat_status_t visit_flow(leat_context_t* c, int32_t index, leat_builder_t* b) {
  leat_walk_t* w = c->walk;
  const leat_node_t* node = &w->graph->nodes[index];
  uint32_t flags = node->op->flags;
  leat_gradient_value_t value;
  if (flags & LEAT_OP_SWITCH) {
    if (!(w->graph->nodes[node->inputs[1].node].op->flags & LEAT_OP_LOOP_CONDITION)) {
      return leat_conditional_visit_switch(c, index, b);
    }
    if (c->loop || !asks_outside(c)) return leat_ok_status();
    return leat_walk_error(w, LEAT_INVALID_ARGUMENT, index,
                           "a gradient inside the loop leads through the first value of its "
                           "variable, must lead through invariants or values of one iteration");
  }
  if (flags & LEAT_OP_MERGE) {
    bool is_of_loop = leat_node_closing_input(w->graph, node) >= 0;
    return is_of_loop ? leat_ok_status() : leat_conditional_visit_merge(c, index, b);
  }
  if ((flags & LEAT_OP_NEXT_ITERATION) || ((flags & LEAT_OP_ENTER) && !c->loop)) {
    LEAT_RETURN_IF_ERROR(leat_walk_sum_contributions(w, b, (leat_output_t){index, 0}, &value));
    return leat_walk_add_contribution(w, leat_walk_input(w, &w->graph->nodes[index], 0), value);
  }
  return leat_ok_status();  // loop.c takes Exits and Enters
}

leat_string_view_t leat_walk_colocated_with(const leat_node_t* node) {
  const leat_string_view_t prefix = LEAT_SV("loc:@");
  const leat_attr_value_t* group = leat_node_attr(node, LEAT_SV("_class"));
  if (!group || group->kind != LEAT_ATTR_STRING || !group->is_list || group->count == 0 ||
      !leat_string_view_starts_with(group->strings[0], prefix)) {
    return node->name;
  }
  return leat_string_view_make(group->strings[0].data + prefix.size,
                               group->strings[0].size - prefix.size);
}

static leat_status_t visit_node(leat_context_t* c, int32_t index) {
  leat_walk_t* w = c->walk;
  if (w->stops[index] || !w->contributions[index]) return leat_ok_status();
  LEAT_DCHECK((size_t)index < w->node_count);
  leat_string_view_t scope;
  LEAT_RETURN_IF_ERROR(leat_walk_scope_of(w, index, &scope));
  leat_builder_t b = leat_context_builder(c, scope);
  if (w->options && w->options->colocate) {
    b.colocate_with = leat_walk_colocated_with(&w->graph->nodes[index]);
  }
  if (w->graph->nodes[index].op->flags & LEAT_OP_CONTROL_FLOW) return visit_flow(c, index, &b);
  return visit_plain(c, index, &b);
}

// ---- Items --------------------------------------------------------------------------------------

// Makes |item| ready unless it waits for readers or was ready before.
static void enqueue(region_t* r, int32_t item) {
  LEAT_DCHECK(item >= 0 && (size_t)item < r->w->node_count + (size_t)r->w->frames.count + 1);
  if (r->queued[item] || r->w->pending[item]) return;
  r->queued[item] = true;
  LEAT_DCHECK(r->ready_count < r->w->node_count + (size_t)r->w->frames.count + 1);
  r->ready[r->ready_count++] = item;
}

// The node has been visited: one reader of each of its inputs is done.
static void settle_inputs(region_t* r, int32_t index) {
  const leat_walk_t* w = r->w;
  const leat_node_t* node = &w->graph->nodes[index];
  if (!w->between[index]) return;
  for (int k = 0; k < node->input_count; ++k) {
    leat_output_t source = leat_walk_input(w, node, k);
    if ((size_t)source.node >= w->node_count) continue;
    if (!leat_walk_edge_counts(w, node, source)) continue;
    int32_t item = leat_walk_item_of(w, source);
    // leat_walk_count_pending has counted this edge.
    LEAT_DCHECK(w->pending[item] > 0);
    if (--w->pending[item] == 0) enqueue(r, item);
  }
}

// A loop has been visited: its Enters are readers of values of this region.
static void settle_loop(region_t* r, const leat_loop_t* loop) {
  for (int32_t n = loop->first_node; n >= 0; n = r->w->next_in_loop[n]) {
    if (r->w->graph->nodes[n].op->flags & LEAT_OP_ENTER) settle_inputs(r, n);
  }
}

static leat_status_t visit_items(region_t* r) {
  leat_walk_t* w = r->w;
  for (size_t next = 0; next < r->ready_count; ++next) {
    int32_t item = r->ready[next];
    if ((size_t)item >= w->node_count) {
      leat_loop_t* loop = &w->loops[(size_t)item - w->node_count];
      LEAT_RETURN_IF_ERROR(leat_loop_visit(r->c, loop));
      settle_loop(r, loop);
      continue;
    }
    LEAT_RETURN_IF_ERROR(visit_node(r->c, item));
    // The input of an Enter is outside; it is settled when the loop is done.
    if (!(w->graph->nodes[item].op->flags & LEAT_OP_ENTER)) settle_inputs(r, item);
  }
  return leat_ok_status();
}

// Makes ready what waits for no reader.
static void enqueue_first(region_t* r) {
  leat_walk_t* w = r->w;
  if (!w->loops) {
    for (int i = 0; i < w->y_count; ++i) {
      if (w->between[w->ys[i].node]) enqueue(r, w->ys[i].node);
    }
    return;
  }
  for (int32_t n = w->loops[r->c->region].first_node; n >= 0; n = w->next_in_loop[n]) {
    if (w->between[n]) enqueue(r, n);
  }
  for (int32_t f = 1; f < w->frames.count; ++f) {
    if (w->frames.items[f].parent == r->c->region) enqueue(r, (int32_t)w->node_count + f);
  }
}

static leat_status_t check_all_visited(const region_t* r) {
  const leat_walk_t* w = r->w;
  int32_t n = w->loops ? w->loops[r->c->region].first_node : -1;
  for (; n >= 0; n = w->next_in_loop[n]) {
    if (!w->between[n] || r->queued[n]) continue;
    return leat_walk_error(w, LEAT_INVALID_ARGUMENT, n,
                           "it is on a cycle that no NextIteration closes, must not be");
  }
  return leat_ok_status();
}

// Sums the gradients of xs that are in this loop: the nodes of the sum must stand in its frame, and
// later the context is another one.
static leat_status_t sum_asked(leat_context_t* c) {
  leat_walk_t* w = c->walk;
  leat_builder_t b = leat_context_builder(c, c->site.scope);
  leat_gradient_value_t sum;
  for (int i = 0; c->region > 0 && i < w->x_count; ++i) {
    if (leat_walk_frame_of(w, w->xs[i].node) != c->region) continue;
    LEAT_RETURN_IF_ERROR(leat_walk_sum_contributions(w, &b, w->xs[i], &sum));
  }
  return leat_ok_status();
}

leat_status_t leat_region_visit(leat_context_t* c) {
  leat_walk_t* w = c->walk;
  size_t items = w->node_count + (size_t)w->frames.count + 1;
  region_t r = {.c = c, .w = w};
  leat_arena_t arena;
  leat_arena_initialize(w->graph->allocator, 0, &arena);
  leat_status_t status = LEAT_NEW(&arena, items, &r.ready);
  if (!status) status = LEAT_NEW(&arena, items, &r.queued);
  if (!status) {
    if (c->came_from > 0) {
      r.queued[w->node_count + (size_t)c->came_from] = true;
      settle_loop(&r, &w->loops[c->came_from]);
    }
    enqueue_first(&r);
    status = visit_items(&r);
  }
  if (!status) status = check_all_visited(&r);
  if (!status) status = sum_asked(c);
  leat_arena_deinitialize(&arena);
  return status;
}
