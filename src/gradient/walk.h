// The state of one backward walk, and the interface between the files of this folder. Only they
// include it.
//
//   gradient.c      the entry: preparation, frames from the ys outwards, the results
//   between.c       which nodes lie on paths from xs to ys; expansion of calls among them
//   region.c        the walk over the nodes of one frame
//   contributions.c contributions to a gradient, and their sums
//   guards.c        under which conditions a node runs
//   conditional.c   gradients of Switch and Merge
//   loop_form.c     loops recognised in the forward graph
//   loop.c          the backward loop of a forward loop
//   site.c          loop variables added to a loop
//   context.c       forward values where gradients are built
//   accumulator.c   accumulators: values of every iteration, kept in lists
//
// The walk visits a node when all of its readers between xs and ys have been visited: it sums the
// contributions to the node's outputs, calls the gradient function of the node's op, and adds what
// that gives as contributions to the node's inputs. A loop is one item of that walk in the frame
// around it; the nodes within it are visited by a walk of their own, whose gradients stand in a
// backward loop.
//
// All state lies in the walk's arena and on the stack of leat_add_gradients; one thread. Every
// function may run out of memory; an error ends the whole walk, and the nodes that were added stay.
#ifndef LEAT_GRADIENT_WALK_H_
#define LEAT_GRADIENT_WALK_H_

#include "gradient/gradient.h"
#include "graph/frames.h"

struct leat_context_s;

// One contribution to the gradient of an output. The contributions are summed when all are there:
// one list for each output, in the order in which they came.
typedef struct leat_contribution_s {
  struct leat_contribution_s* next;
  leat_gradient_value_t value;
} leat_contribution_t;

// A condition under which a node runs: "|pred| is |side|" (0 or 1) and everything that guard
// |parent| says. Guards form a tree, so that equal conditions have equal numbers; guard 0 is its
// root and says nothing. |depth| counts the items from the root.
typedef struct leat_guard_s {
  int32_t parent;
  int32_t depth;
  int32_t first_child, next;  // in the tree; -1: none
  leat_output_t pred;
  int32_t side;
} leat_guard_t;

// Where the outputs of a node are, in which frame of the forward graph or of the backward loops
// that the walk adds, and under which condition the node runs. Nodes without a place are in frame 0
// and run always.
typedef struct leat_node_place_s {
  int32_t frame;
  int32_t guard;
} leat_node_place_t;

// A loop, forward or backward, to which variables can be added (site.c): what nodes of it need to
// know of their loop.
typedef struct leat_site_s {
  struct leat_walk_s* walk;
  int32_t frame, parent_frame;
  leat_string_view_t name;
  int64_t parallel_iterations;
  leat_output_t pred;        // the output of its LoopCond
  int32_t exit_guard;        // the guard of what leaves it
  leat_string_view_t scope;  // put before the names of nodes that are added
} leat_site_t;

// A loop variable: Enter -> |merge| -> Switch, whose output 1 is |body|, the value in an iteration,
// and whose output 0 is |last|, the value after the loop.
typedef struct leat_site_variable_s {
  leat_output_t merge, body, last;
} leat_site_variable_t;

// A variable of a forward loop, by its nodes.
typedef struct leat_loop_variable_s {
  int32_t enter, merge, decide, next;  // |decide| is the Switch, -1 if there is none
  leat_site_variable_t back;           // the variable of its gradient in the backward loop
} leat_loop_variable_t;

// A loop of the forward graph, as loop_form.c recognised it and loop.c differentiates it.
typedef struct leat_loop_s {
  leat_site_t site;
  int32_t first_node;  // its nodes, linked by walk->next_in_loop; -1: none
  int32_t guard;       // of the loop as a whole: when it runs
  leat_loop_variable_t* variables;
  int variable_count;
  // Made when first needed: a node outside of the loop that runs when the loop does (-1: none is
  // needed, or not made yet), and a constant -1 that waits for it.
  int32_t outside;
  leat_output_t minus_one;
} leat_loop_t;

// The state of the walk. Arrays by node have room for the nodes that were there when they were
// made; nodes that the walk adds as gradients have none but a place.
typedef struct leat_walk_s {
  leat_graph_t* graph;
  leat_arena_t arena;
  leat_string_view_t prefix;
  const leat_gradient_options_t* options;
  size_t node_count;      // of the graph before the walk built gradients
  leat_output_t** calls;  // [node] what a call's outputs were expanded to; NULL: not a call
  bool* reached;          // [node] a path leads from some x to it
  bool* between;          // [node] it is reached, and a path leads from it to some y
  bool* stops;            // [node] its inputs get no gradient
  uint32_t* pending;      // [item] readers that are still to be visited; see count_pending
  leat_contribution_t*** contributions;  // [node][output] contributions so far
  int32_t* ready;         // scratch: a stack of nodes
  leat_output_t* xs;      // as asked for, but past calls; |ys| likewise
  leat_output_t* ys;
  int x_count, y_count;
  // Control flow; empty where the graph between xs and ys has none.
  leat_frames_t frames;
  int32_t frame_count;  // of |frames|, and of the backward loops behind them
  leat_loop_t* loops;   // [forward frame]
  int32_t* next_in_loop;
  leat_node_place_t* places;
  size_t place_count, place_capacity;
  leat_guard_t* guards;
  int32_t guard_count, guard_capacity;
} leat_walk_t;

static inline bool leat_walk_has_loops(const leat_walk_t* w) { return w->frames.count > 1; }
// The frame that the outputs of |node| are in; 0 outside all loops.
static inline int32_t leat_walk_frame_of(const leat_walk_t* w, int32_t node) {
  return (size_t)node < w->place_count ? w->places[node].frame : 0;
}
// The loop to which |node| belongs; an Enter belongs to the loop that it leads into.
static inline int32_t leat_walk_loop_of(const leat_walk_t* w, int32_t node) {
  if (!leat_walk_has_loops(w)) return 0;
  bool enters = w->graph->nodes[node].op->flags & LEAT_OP_ENTER;
  return enters ? w->frames.outputs_in[node] : w->frames.runs_in[node];
}
// The output that a call's |output| was expanded to; other outputs as they are.
static inline leat_output_t leat_walk_past_calls(const leat_walk_t* w, leat_output_t output) {
  while (w->calls && output.index >= 0 && (size_t)output.node < w->node_count &&
         w->calls[output.node] && leat_output_exists(w->calls[output.node][0])) {
    output = w->calls[output.node][output.index];
  }
  return output;
}
// Input |k| of |node|, past calls.
static inline leat_output_t leat_walk_input(const leat_walk_t* w, const leat_node_t* node, int k) {
  return leat_walk_past_calls(w, node->inputs[k]);
}
// Notes where |node| is; the list of places grows as needed.
LEAT_MUST_USE leat_status_t leat_walk_set_place(leat_walk_t* w, int32_t node, int32_t frame,
                                                int32_t guard);
// Takes the builder's error, which is then the caller's; the builder is usable again.
LEAT_MUST_USE leat_status_t leat_builder_take_status(leat_builder_t* builder);
// The scope of what is built for |node|: "prefix/x_grad/" for node "x", or "prefix/" (as_cpp).
LEAT_MUST_USE leat_status_t leat_walk_scope_of(leat_walk_t* w, int32_t node,
                                               leat_string_view_t* out_scope);
// An error "AddGradients failed for node 'x' (Op): |rule|". |rule| says what is wrong and what must
// be.
LEAT_MUST_USE leat_status_t leat_walk_error(const leat_walk_t* w, leat_status_code_t code,
                                            int32_t node, const char* rule);

// Fills |calls|, |reached|, |between|, |xs| and |ys|. Calls between xs and ys are expanded, which
// adds nodes, until none is left. UNIMPLEMENTED when expansions do not end.
LEAT_MUST_USE leat_status_t leat_walk_find_between(leat_walk_t* w, const leat_output_t* ys,
                                                   const leat_output_t* xs);
// Counts the readers for which each item waits. An item is what a frame's walk visits: a node, or
// the loop of frame f as a whole within the frame around it, whose number is node_count + f.
LEAT_MUST_USE leat_status_t leat_walk_count_pending(leat_walk_t* w);
// The item that gives |source| to its readers: the loop, if |source| is an Exit.
int32_t leat_walk_item_of(const leat_walk_t* w, leat_output_t source);
// Whether the walk goes back along the edge: it closes no loop, and its source is between.
bool leat_walk_edge_counts(const leat_walk_t* w, const leat_node_t* reader, leat_output_t source);

// ---- contributions.c: contributions to a gradient, and their sums -------------------------------
// Adds a contribution to the gradient of |output|; nothing where |value| does not exist or |output|
// is not part of the forward graph.
LEAT_MUST_USE leat_status_t leat_walk_add_contribution(leat_walk_t* w, leat_output_t output,
                                                       leat_gradient_value_t value);
bool leat_walk_has_contributions(const leat_walk_t* w, leat_output_t output);
// The sum of the contributions to |output|, none when there are none; the sum replaces them. Takes
// the builder's error.
LEAT_MUST_USE leat_status_t leat_walk_sum_contributions(leat_walk_t* w, leat_builder_t* b,
                                                        leat_output_t output,
                                                        leat_gradient_value_t* out_sum);

// The node with which |node| is colocated: the first of its group, or itself. The view lies in the
// node.
leat_string_view_t leat_walk_colocated_with(const leat_node_t* node);

// Fills the guards of nodes and of loops, for the nodes in |order|, inputs first. UNIMPLEMENTED
// beyond a thousand conditionals within one another.
LEAT_MUST_USE leat_status_t leat_walk_find_guards(leat_walk_t* w, const int32_t* order,
                                                  size_t count);
// The condition under which |output| has a live value.
int32_t leat_walk_guard_of(leat_walk_t* w, leat_output_t output);
// Whether |guard| implies that |pred| is |side|: one of its items says so.
bool leat_guard_says(const leat_walk_t* w, int32_t guard, leat_output_t pred, int32_t side);
// The items of |guard| that |known| does not say, outermost first; they lie in the arena.
LEAT_MUST_USE leat_status_t leat_guard_difference(leat_walk_t* w, int32_t guard, int32_t known,
                                                  leat_guard_t** out_items, int* out_count);
// The guard that says what |a| and |b| say together.
LEAT_MUST_USE leat_status_t leat_guard_join(leat_walk_t* w, int32_t a, int32_t b,
                                            int32_t* out_guard);

// A place where gradients are built: beside the forward graph, or in the backward loop of a forward
// loop. Contexts stand on the stack, one for each loop that is being visited, and each refers to
// the one around it.
typedef struct leat_context_s {
  leat_walk_t* walk;
  struct leat_context_s* outer;  // the context around the loop; NULL where the walk begins
  leat_loop_t* loop;             // the forward loop; NULL where the walk begins
  int depth;                     // loops around
  int32_t region;                // the forward frame that is being visited
  int32_t came_from;             // the frame within it that was visited before; 0: none
  leat_site_t site;              // the backward loop
  leat_build_place_t place;      // the hook of its builders
  int32_t pivot;                 // a node that runs in every iteration; -1: none is needed
  int32_t next_frame;            // the place of the node that is being built; |next_guard| too
  int32_t next_guard;
  leat_output_t minus_one;  // a constant -1 here, once it is made
  leat_word_map_t values;   // forward value -> the same value here
} leat_context_t;

// A builder whose nodes stand in |c|; their inputs are resolved there.
leat_builder_t leat_context_builder(leat_context_t* c, leat_string_view_t scope);
// Finds |value|, of the forward graph, in |c|; may add nodes to both graphs. A value is resolved
// once in each context and remembered.
LEAT_MUST_USE leat_status_t leat_context_resolve(leat_context_t* c, leat_output_t value,
                                                 leat_output_t* out_here);
// A context within |outer| (NULL: where the walk begins), without a loop yet; the caller sets the
// loop and the site.
void leat_context_initialize(leat_walk_t* w, leat_context_t* outer, leat_context_t* out_context);
void leat_context_deinitialize(leat_context_t* c);

// ---- accumulator.c: values of every iteration, kept in lists ------------------------------------
// Makes the forward loop of |c| keep |value| of each iteration, and gives the value of the matching
// iteration of the backward loop.
LEAT_MUST_USE leat_status_t leat_accumulator_keep(leat_context_t* c, leat_output_t value,
                                                  leat_output_t* out_here);
// A builder of nodes around |loop| in the forward graph that run when the loop does.
LEAT_MUST_USE leat_status_t leat_loop_outside_builder(leat_loop_t* loop,
                                                      leat_builder_t* out_builder);

// ---- site.c: adding variables to a loop ---------------------------------------------------------
// Add the nodes of a variable to the loop |site|. Enter gives |value| in the loop, and in every
// iteration if |is_constant|. Open adds a variable that starts with |initial|; its next value is
// missing until leat_site_close. All errors stay in |b|.
leat_output_t leat_site_enter(const leat_site_t* site, leat_builder_t* b, leat_output_t value,
                              bool is_constant);
leat_site_variable_t leat_site_open(const leat_site_t* site, leat_builder_t* b,
                                    leat_output_t initial);
// States that the variable has |shape| in every iteration.
LEAT_MUST_USE leat_status_t leat_site_shape(const leat_site_t* site,
                                            leat_site_variable_t variable,
                                            leat_partial_shape_t shape);
// Sets the variable's value in the next iteration.
void leat_site_close(const leat_site_t* site, leat_builder_t* b, leat_site_variable_t variable,
                     leat_output_t next);
// The variable's last value, outside of the loop.
leat_output_t leat_site_exit(const leat_site_t* site, leat_builder_t* b,
                             leat_site_variable_t variable);
// A builder of nodes as they are, without a context. Their places must be stated.
leat_builder_t leat_site_builder(const leat_site_t* site);
// States that |output| is in |frame|; an output that does not exist is passed over.
void leat_site_place(const leat_site_t* site, leat_builder_t* b, leat_output_t output,
                     int32_t frame);

// ---- conditional.c ------------------------------------------------------------------------------
// The gradients of Switch and Merge nodes that no LoopCond decides.
LEAT_MUST_USE leat_status_t leat_conditional_visit_switch(leat_context_t* c, int32_t node,
                                                          leat_builder_t* b);
LEAT_MUST_USE leat_status_t leat_conditional_visit_merge(leat_context_t* c, int32_t node,
                                                         leat_builder_t* b);
// |inout_value| is a gradient of |output| that is live under |guard|. Makes it live whenever
// |output| is, with zeros where |guard| does not hold.
LEAT_MUST_USE leat_status_t leat_conditional_lift(leat_context_t* c, leat_builder_t* b,
                                                  leat_output_t output, int32_t guard,
                                                  leat_gradient_value_t* inout_value);

// ---- loop_form.c, loop.c ------------------------------------------------------------------------
// Recognises the loops of the forward graph, from the nodes in |order|.
LEAT_MUST_USE leat_status_t leat_loops_find(leat_walk_t* w, const int32_t* order, size_t count);
// Builds the backward loop of |loop|, if some of its Exits has a gradient, and contributes to what
// its Enters read. UNIMPLEMENTED for 200 loops within one another.
LEAT_MUST_USE leat_status_t leat_loop_visit(leat_context_t* c, leat_loop_t* loop);

// ---- region.c -----------------------------------------------------------------------------------
// Visits the nodes of the context's region, backward. The contributions from which it starts have
// been added.
LEAT_MUST_USE leat_status_t leat_region_visit(leat_context_t* c);

#endif  // LEAT_GRADIENT_WALK_H_
