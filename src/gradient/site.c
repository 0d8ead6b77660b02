// Variables that the walk adds to a loop, forward (accumulators, counters) or backward (gradients):
//
//   initial ─ Enter ─ Merge ─ Switch(LoopCond) ─ true ─▶ body ... next ─ NextIteration ─┐
//                       ▲                └ false ─▶ last ─ Exit                        │
//                       └──────────────────────────────────────────────────────────────┘
//
// The frame and the place of every node are noted, because context.c must know where a value is.
#include "gradient/walk.h"

leat_builder_t leat_site_builder(const leat_site_t* site) {
  return (leat_builder_t){.graph = site->walk->graph, .scope = site->scope};
}

void leat_site_place(const leat_site_t* site, leat_builder_t* b, leat_output_t output,
                     int32_t frame) {
  if (b->status || !leat_output_exists(output)) return;
  b->status = leat_walk_set_place(site->walk, output.node, frame, 0);
}

// Adds a node whose outputs are in the loop.
static leat_output_t build(const leat_site_t* site, leat_builder_t* b, const char* op,
                           leat_outputs_t inputs, leat_attrs_t attrs) {
  leat_output_t output = leat_build(b, op, inputs, attrs);
  leat_site_place(site, b, output, site->frame);
  return output;
}

leat_output_t leat_site_enter(const leat_site_t* site, leat_builder_t* b, leat_output_t value,
                              bool is_constant) {
  leat_output_t inside =
      build(site, b, "Enter", LEAT_INPUTS(value),
            LEAT_ATTRS(LEAT_STRING("frame_name", site->name),
                       LEAT_BOOL("is_constant", is_constant),
                       LEAT_INT("parallel_iterations", site->parallel_iterations)));
  return inside;
}

leat_site_variable_t leat_site_open(const leat_site_t* site, leat_builder_t* b,
                                    leat_output_t initial) {
  leat_site_variable_t v = {LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE};
  leat_output_t enter = leat_site_enter(site, b, initial, false);
  // The Enter stands for the second input until leat_site_close sets the next value.
  v.merge = build(site, b, "Merge", LEAT_INPUTS(enter, enter), LEAT_NO_ATTRS);
  if (!leat_output_exists(site->pred)) return v;
  v.last = build(site, b, "Switch", LEAT_INPUTS(v.merge, site->pred), LEAT_NO_ATTRS);
  v.body = leat_node_output(v.last.node, 1);
  return v;
}

leat_status_t leat_site_shape(const leat_site_t* site, leat_site_variable_t variable,
                              leat_partial_shape_t shape) {
  const leat_output_t parts[] = {variable.merge, variable.last, variable.body};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(parts); ++i) {
    LEAT_RETURN_IF_ERROR(leat_graph_refine_shape(site->walk->graph, parts[i], shape));
  }
  return leat_ok_status();
}

void leat_site_close(const leat_site_t* site, leat_builder_t* b, leat_site_variable_t variable,
                     leat_output_t next) {
  LEAT_DCHECK(b->status || leat_output_exists(variable.merge));
  next = build(site, b, "NextIteration", LEAT_INPUTS(next), LEAT_NO_ATTRS);
  if (b->status) return;
  b->status = leat_graph_set_input(b->graph, variable.merge.node, 1, next);
}

leat_output_t leat_site_exit(const leat_site_t* site, leat_builder_t* b,
                             leat_site_variable_t variable) {
  LEAT_DCHECK(b->status || leat_output_exists(variable.last));
  leat_output_t exit = leat_build_unary(b, "Exit", variable.last);
  if (!b->status) {
    b->status = leat_walk_set_place(site->walk, exit.node, site->parent_frame, site->exit_guard);
  }
  return exit;
}
