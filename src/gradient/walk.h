// What the parts of the backward walk share: gradient.c is the walk, guards.c and conditional.c
// conditionals, loop.c loops, context.c forward values in the backward loop.
#ifndef LEAT_GRADIENT_WALK_H_
#define LEAT_GRADIENT_WALK_H_

#include "gradient/gradient.h"
#include "graph/frames.h"

struct leat_context_s;

// One contribution to an output's gradient.
typedef struct leat_part_s {
  struct leat_part_s* next;
  leat_gradient_value_t value;
} leat_part_t;

// "|pred| is |side|", and what |parent| says. Guard 0 says nothing.
typedef struct leat_guard_s {
  int32_t parent;
  int32_t depth;
  int32_t first_child, next;  // -1: none
  leat_output_t pred;
  int32_t side;
} leat_guard_t;

// Where a node's outputs are: a frame of the forward graph, or one that a backward loop adds; and
// when the node runs.
typedef struct leat_node_place_s {
  int32_t frame;
  int32_t guard;
} leat_node_place_t;

// A loop, forward or backward, that variables can be added to.
typedef struct leat_site_s {
  struct leat_walk_s* walk;
  int32_t frame, parent_frame;
  leat_string_view_t name;
  int64_t parallel_iterations;
  leat_output_t pred;  // of LoopCond
  int32_t exit_guard;  // of what leaves it
  leat_string_view_t scope;  // of nodes that are added
} leat_site_t;

// A loop variable: Enter -> merge -> Switch -> |body| | |last|.
typedef struct leat_site_variable_s {
  leat_output_t merge, body, last;
} leat_site_variable_t;

typedef struct leat_loop_variable_s {
  int32_t enter, merge, decide, next;  // nodes; decide is the Switch, -1 when there is none
  leat_site_variable_t back;           // in the backward loop
} leat_loop_variable_t;

// A loop of the forward graph.
typedef struct leat_loop_s {
  leat_site_t site;
  int32_t first_node;  // of those in it, linked by walk->next_in_loop; -1
  int32_t guard;       // of the loop as a whole
  leat_loop_variable_t* variables;
  int variable_count;
  // Made when first needed: what runs with the loop, outside it; a constant -1 there.
  int32_t outside;
  leat_output_t minus_one;
} leat_loop_t;

typedef struct leat_walk_s {
  leat_graph_t* graph;
  leat_arena_t arena;
  leat_string_view_t prefix;
  const leat_gradient_options_t* options;
  size_t node_count;     // before the walk added any
  leat_output_t** calls;  // node -> what its outputs were expanded to, or none; NULL: no call
  bool* reached;         // from some x
  bool* between;
  bool* stops;           // nodes whose inputs get nothing
  uint32_t* pending;     // item -> readers between that are still to visit
  leat_part_t*** parts;  // node -> output -> contributions
  int32_t* ready;
  leat_output_t* xs;     // past calls, as ys
  leat_output_t* ys;
  int x_count, y_count;
  // Control flow; empty without it.
  leat_frames_t frames;
  int32_t frame_count;   // with those that were added
  leat_loop_t* loops;    // by frame
  int32_t* next_in_loop;
  leat_node_place_t* places;
  size_t place_count, place_capacity;
  leat_guard_t* guards;
  int32_t guard_count, guard_capacity;
} leat_walk_t;

#define LEAT_GRADIENT_NONE \
  ((leat_gradient_value_t){LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE})
static inline leat_gradient_value_t leat_gradient_dense(leat_output_t value) {
  return (leat_gradient_value_t){value, LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE};
}
static inline bool leat_gradient_is_rows(leat_gradient_value_t value) {
  return leat_output_exists(value.indices);
}

static inline bool leat_walk_has_loops(const leat_walk_t* w) { return w->frames.count > 1; }
static inline int32_t leat_walk_frame_of(const leat_walk_t* w, int32_t node) {
  return (size_t)node < w->place_count ? w->places[node].frame : 0;
}
// The loop that |node| is part of: an Enter belongs to the one it leads to.
static inline int32_t leat_walk_loop_of(const leat_walk_t* w, int32_t node) {
  if (!leat_walk_has_loops(w)) return 0;
  bool enters = w->graph->nodes[node].op->flags & LEAT_OP_ENTER;
  return enters ? w->frames.outputs_in[node] : w->frames.runs_in[node];
}
// What |output| was expanded to, if a call makes it.
static inline leat_output_t leat_walk_past_calls(const leat_walk_t* w, leat_output_t output) {
  while (w->calls && output.index >= 0 && (size_t)output.node < w->node_count &&
         w->calls[output.node] && leat_output_exists(w->calls[output.node][0])) {
    output = w->calls[output.node][output.index];
  }
  return output;
}
static inline leat_output_t leat_walk_input(const leat_walk_t* w, const leat_node_t* node, int k) {
  return leat_walk_past_calls(w, node->inputs[k]);
}
LEAT_MUST_USE leat_status_t leat_walk_set_place(leat_walk_t* w, int32_t node, int32_t frame,
                                                int32_t guard);
// The builder's error, which it then forgets.
LEAT_MUST_USE leat_status_t leat_builder_take_status(leat_builder_t* builder);
// An error at |node|; |rule| says what is wrong and what must be.
LEAT_MUST_USE leat_status_t leat_walk_error(const leat_walk_t* w, leat_status_code_t code,
                                            int32_t node, const char* rule);

// ---- between.c: what is to be visited -----------------------------------------------------------
LEAT_MUST_USE leat_status_t leat_walk_find_between(leat_walk_t* w, const leat_output_t* ys,
                                                   const leat_output_t* xs);
// Readers that each item waits for. An item is a node, or (node_count + frame) a loop within the
// one that is being visited.
LEAT_MUST_USE leat_status_t leat_walk_count_pending(leat_walk_t* w);
// The item that output |source| stands for where it is read.
int32_t leat_walk_item_of(const leat_walk_t* w, leat_output_t source);
bool leat_walk_edge_counts(const leat_walk_t* w, const leat_node_t* reader, leat_output_t source);

// ---- parts.c: contributions and their sums ------------------------------------------------------
LEAT_MUST_USE leat_status_t leat_walk_add_part(leat_walk_t* w, leat_output_t output,
                                               leat_gradient_value_t value);
bool leat_walk_has_parts(const leat_walk_t* w, leat_output_t output);
// The sum of an output's contributions (none when there are none). Takes the builder's error.
LEAT_MUST_USE leat_status_t leat_walk_sum_parts(leat_walk_t* w, leat_builder_t* b,
                                                leat_output_t output,
                                                leat_gradient_value_t* out_sum);

// ---- guards.c: when a node runs -----------------------------------------------------------------
// |order|: nodes that matter, inputs first. Fills places' guards and loops' guards.
LEAT_MUST_USE leat_status_t leat_walk_find_guards(leat_walk_t* w, const int32_t* order,
                                                  size_t count);
int32_t leat_walk_guard_of(leat_walk_t* w, leat_output_t output);
bool leat_guard_says(const leat_walk_t* w, int32_t guard, leat_output_t pred, int32_t side);
// The items of |guard| that |known| does not say, outermost first. |out_items| lies in the arena.
LEAT_MUST_USE leat_status_t leat_guard_difference(leat_walk_t* w, int32_t guard, int32_t known,
                                                  leat_guard_t** out_items, int* out_count);
LEAT_MUST_USE leat_status_t leat_guard_join(leat_walk_t* w, int32_t a, int32_t b,
                                            int32_t* out_guard);

// ---- context.c: forward values where gradients are built ----------------------------------------
typedef struct leat_context_s {
  leat_walk_t* walk;
  struct leat_context_s* outer;  // NULL where the walk begins
  leat_loop_t* loop;             // that this is the backward loop of; NULL where the walk begins
  int depth;                     // loops around
  int32_t region;                // forward frame that is being visited
  int32_t came_from;             // the frame within that was visited before; 0: none
  leat_site_t site;              // the backward loop
  leat_build_place_t place;
  int32_t pivot;                 // runs in every iteration; -1: none needed
  int32_t next_frame;            // of the node that is being built
  int32_t next_guard;
  leat_output_t minus_one;
  leat_word_map_t values;        // forward value -> the same here
} leat_context_t;

// A builder of nodes in |c|.
leat_builder_t leat_context_builder(leat_context_t* c, leat_string_view_t scope);
LEAT_MUST_USE leat_status_t leat_context_resolve(leat_context_t* c, leat_output_t value,
                                                 leat_output_t* out_here);
void leat_context_initialize(leat_walk_t* w, leat_context_t* outer, leat_context_t* out_context);
void leat_context_deinitialize(leat_context_t* c);

// ---- history.c: values of every iteration, kept in lists ----------------------------------------
// |value| of the forward loop, in the matching iteration of the backward one.
LEAT_MUST_USE leat_status_t leat_history_keep(leat_context_t* c, leat_output_t value,
                                              leat_output_t* out_here);
// Where nodes of the forward graph are added around |loop|, such that they run when it does.
LEAT_MUST_USE leat_status_t leat_loop_outside_builder(leat_loop_t* loop,
                                                      leat_builder_t* out_builder);

// ---- site.c: adding variables to a loop ---------------------------------------------------------
leat_output_t leat_site_enter(const leat_site_t* site, leat_builder_t* b, leat_output_t value,
                              bool is_constant);
leat_site_variable_t leat_site_open(const leat_site_t* site, leat_builder_t* b,
                                    leat_output_t initial);
// It has that shape in every iteration.
LEAT_MUST_USE leat_status_t leat_site_shape(const leat_site_t* site,
                                            leat_site_variable_t variable,
                                            leat_partial_shape_t shape);
// |next| is its value in the next iteration.
void leat_site_close(const leat_site_t* site, leat_builder_t* b, leat_site_variable_t variable,
                     leat_output_t next);
leat_output_t leat_site_exit(const leat_site_t* site, leat_builder_t* b,
                             leat_site_variable_t variable);
// A builder without a context; nodes are said to be in the site's frame.
leat_builder_t leat_site_builder(const leat_site_t* site);
// |output| is in |frame|; an output that does not exist is left alone.
void leat_site_place(const leat_site_t* site, leat_builder_t* b, leat_output_t output,
                     int32_t frame);

// ---- conditional.c ------------------------------------------------------------------------------
LEAT_MUST_USE leat_status_t leat_conditional_visit_switch(leat_context_t* c, int32_t node,
                                                          leat_builder_t* b);
LEAT_MUST_USE leat_status_t leat_conditional_visit_merge(leat_context_t* c, int32_t node,
                                                         leat_builder_t* b);
// |value|, which is there when |guard| holds, or zeros like |output| where only the output's does.
LEAT_MUST_USE leat_status_t leat_conditional_lift(leat_context_t* c, leat_builder_t* b,
                                                  leat_output_t output, int32_t guard,
                                                  leat_gradient_value_t* inout_value);

// ---- loop_form.c, loop.c ------------------------------------------------------------------------
LEAT_MUST_USE leat_status_t leat_loops_find(leat_walk_t* w, const int32_t* order, size_t count);
LEAT_MUST_USE leat_status_t leat_loop_visit(leat_context_t* c, leat_loop_t* loop);

// ---- region.c -----------------------------------------------------------------------------------
// Visits the nodes of the context's region; the contributions that start it are there.
LEAT_MUST_USE leat_status_t leat_region_visit(leat_context_t* c);

#endif  // LEAT_GRADIENT_WALK_H_
