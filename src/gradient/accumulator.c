// Accumulators: how a backward loop gets the values of the forward iterations. The forward loop
// gets a variable that is a list and pushes the value of each iteration; the backward loop starts
// with the final list and pops it, so it sees the values in reverse order, as its iterations need
// them.
//
//   forward     list ─▶ push(value) ─▶ next          backward    list ─▶ pop ─▶ next
//                                                                         └─▶ value
//
// Both are plain dataflow on variants (TensorList ops), not side effects on a stack, so that the
// result can be differentiated again and pruned like anything else. A value that is live only under
// a guard is pushed and popped under that guard, and otherwise the list goes past by a Switch and a
// Merge. For a loop within a loop the final list is itself a value of the outer iteration, and the
// outer context keeps it in turn.
#include "gradient/walk.h"

// Finds or makes a node outside of the loop that runs when the loop does: an Identity of what the
// most guarded Enter reads. None is needed for a loop that always runs.
static leat_status_t find_outside(leat_loop_t* loop) {
  leat_walk_t* w = loop->site.walk;
  if (loop->outside >= 0 || (loop->site.parent_frame == 0 && loop->guard == 0)) {
    return leat_ok_status();
  }
  int32_t enter = -1;
  for (int i = 0; i < loop->variable_count; ++i) {
    int32_t candidate = loop->variables[i].enter;
    if (enter < 0 || w->guards[w->places[candidate].guard].depth >
                         w->guards[w->places[enter].guard].depth) {
      enter = candidate;
    }
  }
  leat_builder_t b = leat_site_builder(&loop->site);
  leat_output_t pass = leat_build_unary(&b, "Identity", w->graph->nodes[enter].inputs[0]);
  leat_site_place(&loop->site, &b, pass, loop->site.parent_frame);
  loop->outside = pass.node;
  return b.status;
}

leat_status_t leat_loop_outside_builder(leat_loop_t* loop, leat_builder_t* out_builder) {
  LEAT_RETURN_IF_ERROR(find_outside(loop));
  *out_builder = leat_site_builder(&loop->site);
  out_builder->control_inputs = &loop->outside;
  out_builder->control_count = loop->outside >= 0;
  return leat_ok_status();
}

// An empty list outside of |loop|, of elements of any shape.
static leat_status_t empty_list(leat_loop_t* loop, int dtype, leat_output_t* out_list) {
  leat_builder_t b;
  LEAT_RETURN_IF_ERROR(leat_loop_outside_builder(loop, &b));
  if (!leat_output_exists(loop->minus_one)) {
    loop->minus_one = leat_build_scalar(&b, LEAT_DTYPE_INT32, -1);
    leat_site_place(&loop->site, &b, loop->minus_one, loop->site.parent_frame);
  }
  *out_list = leat_build(&b, "EmptyTensorList", LEAT_INPUTS(loop->minus_one, loop->minus_one),
                         LEAT_ATTRS(LEAT_TYPE("element_dtype", dtype)));
  leat_site_place(&loop->site, &b, *out_list, loop->site.parent_frame);
  return b.status;
}

// ---- Past a guard -------------------------------------------------------------------------------

// The way of a list to where a guard holds: through a Switch for each item. |past| are the other
// outputs of the Switches, on which the list goes by, innermost last.
typedef struct detour_s {
  leat_guard_t* items;
  leat_output_t* past;
  int count;
} detour_t;

// The list where the guard holds.
static leat_output_t split(leat_context_t* c, leat_builder_t* b, int32_t frame,
                           detour_t* detour, leat_output_t list) {
  for (int i = 0; i < detour->count; ++i) {
    int32_t decide = leat_build_node(b, "Switch", LEAT_INPUTS(list, detour->items[i].pred),
                                     LEAT_NO_ATTRS);
    leat_site_place(&c->site, b, leat_node_output(decide, 0), frame);
    list = leat_node_output(decide, detour->items[i].side);
    LEAT_DCHECK(detour->items[i].side == 0 || detour->items[i].side == 1);
    detour->past[i] = leat_node_output(decide, 1 - detour->items[i].side);
  }
  return list;
}

// The list from either way, by a Merge for each Switch.
static leat_output_t rejoin(leat_context_t* c, leat_builder_t* b, int32_t frame,
                            const detour_t* detour, leat_output_t list) {
  for (int i = detour->count - 1; i >= 0; --i) {
    list = leat_build(b, "Merge", LEAT_INPUTS(list, detour->past[i]), LEAT_NO_ATTRS);
    leat_site_place(&c->site, b, list, frame);
  }
  return list;
}

// ---- Both loops ---------------------------------------------------------------------------------

// Adds the list to the forward loop; |*out_list| becomes its last value, outside.
static leat_status_t push(leat_context_t* c, leat_output_t value, int dtype, detour_t* detour,
                          leat_output_t* out_list) {
  const leat_site_t* site = &c->loop->site;
  leat_output_t empty;
  LEAT_DCHECK(c->loop->variables);
  LEAT_RETURN_IF_ERROR(empty_list(c->loop, dtype, &empty));
  leat_builder_t b = leat_site_builder(site);
  leat_site_variable_t v = leat_site_open(site, &b, empty);
  leat_output_t list = split(c, &b, site->frame, detour, v.body);
  list = leat_build(&b, "TensorListPushBack", LEAT_INPUTS(list, value),
                    LEAT_ATTRS(LEAT_TYPE("element_dtype", dtype)));
  leat_site_place(site, &b, list, site->frame);
  leat_site_close(site, &b, v, rejoin(c, &b, site->frame, detour, list));
  *out_list = leat_site_exit(site, &b, v);
  return b.status;
}

// Adds the list to the backward loop; |*out_value| becomes the value in each iteration.
static leat_status_t pop(leat_context_t* c, leat_output_t list, int dtype, detour_t* detour,
                         leat_output_t* out_value) {
  const leat_site_t* site = &c->site;
  leat_builder_t b = leat_context_builder(c, site->scope);
  if (!leat_output_exists(c->minus_one)) {
    c->minus_one = leat_build_scalar(&b, LEAT_DTYPE_INT32, -1);
    LEAT_RETURN_IF_ERROR(b.status);
  }
  leat_builder_t plain = leat_site_builder(site);
  leat_site_variable_t v = leat_site_open(site, &plain, list);
  LEAT_RETURN_IF_ERROR(plain.status);
  list = split(c, &b, site->frame, detour, v.body);
  int32_t pop = leat_build_node(&b, "TensorListPopBack", LEAT_INPUTS(list, c->minus_one),
                                LEAT_ATTRS(LEAT_TYPE("element_dtype", dtype)));
  leat_site_close(site, &b, v, rejoin(c, &b, site->frame, detour, leat_node_output(pop, 0)));
  *out_value = leat_node_output(pop, 1);
  return b.status;
}

leat_status_t leat_accumulator_keep(leat_context_t* c, leat_output_t value,
                                    leat_output_t* out_here) {
  leat_walk_t* w = c->walk;
  int dtype = leat_dtype_base(leat_graph_output_type(w->graph, value));
  detour_t detour = {0};
  leat_output_t list;
  LEAT_RETURN_IF_ERROR(leat_guard_difference(w, leat_walk_guard_of(w, value), 0, &detour.items,
                                             &detour.count));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)detour.count + 1, &detour.past));
  LEAT_RETURN_IF_ERROR(push(c, value, dtype, &detour, &list));
  LEAT_RETURN_IF_ERROR(leat_context_resolve(c->outer, list, &list));
  LEAT_RETURN_IF_ERROR(pop(c, list, dtype, &detour, out_here));
  return leat_graph_refine_shape(w->graph, *out_here, leat_graph_output_shape(w->graph, value));
}
