// An edit: the one way in which a pass changes a graph. The passes of one stage (before placement,
// after it) share one edit, one after the other:
//
//   leat_edit_initialize ─▶ pass ─▶ pass ─▶ ... ─▶ leat_edit_compact ─▶ leat_edit_deinitialize
//                            │ adds, redirects, replaces    │ copies what is left into a new graph
//
// The edit keeps what passes ask again and again, and every change keeps it true: who reads an
// output (the edge lists of a graph only tell what a node reads), whether a node comes before
// another (ranks), and under which conditions a node's value comes at all. A node that nobody needs
// any more is gone at once: it counts as nobody's reader, and leat_edit_visit skips it. It keeps
// its place in graph->nodes, and stays readable there, until the graph is compacted; a change that
// reads it again brings it back.
//
// Control edges. A node may vanish although others wait for it; this is what they wait for then,
// and no pass decides it otherwise:
//   - Where something stands for the node (leat_edit_replace, leat_edit_replace_by_output), they
//     wait for that.
//   - Otherwise (leat_edit_pass_waiters) they wait for all that the node read and waited for, so
//     that no effect that came before them comes after them now. That is not possible for a node
//     that reads a Switch: only one output of a Switch is alive, and a control edge cannot tell
//     which. leat_edit_may_vanish refuses such a node.
//
// No change may close a cycle: where an edge would, the functions below fail with INTERNAL and
// leave the edge as it was. A pass that cannot be sure asks leat_edit_reaches first.
//
// An edit belongs to one thread. Memory that a pass needs until its end comes from edit->scratch.
#ifndef LEAT_OPTIMIZE_EDIT_H_
#define LEAT_OPTIMIZE_EDIT_H_

#include "optimize/conditions.h"

// What the edit knows of a node besides the graph; edit.c says how uses and ranks work.
typedef struct leat_edit_node_s {
  int64_t rank;        // greater than the ranks of all that it reads or waits for
  int32_t first_use;   // an edge that reads or waits for the node; -1: none
  int32_t use_count;   // edges that do
  int32_t first_edge;  // the number of the node's own edge 0; the others follow
  uint32_t walk : 30;  // the last walk that came by
  uint32_t is_kept : 1;  // fetched, or a target
  uint32_t is_gone : 1;  // nobody needs it
} leat_edit_node_t;
#define LEAT_EDIT_MAX_WALKS ((UINT32_C(1) << 30) - 1)

// An edge, data or control, in the list of those that leave its source.
#define LEAT_EDIT_NOT_LINKED (-2)  // in |previous|: the edge is in no list, its node being gone
typedef struct leat_edit_use_s {
  int32_t reader, next, previous;  // the node that reads; edges, -1: there is none
} leat_edit_use_t;

typedef struct leat_edit_s {
  leat_rewrite_t* rewrite;  // its graph is edited, and its fetches and targets follow
  leat_graph_t* graph;      // rewrite->graph: nodes are added at its end
  const leat_pass_options_t* options;
  leat_arena_t* scratch;  // of the pass that runs
  bool changed;           // since the edit was initialised
  // What follows only the edit itself writes.
  leat_edit_node_t* nodes;  // beside graph->nodes
  leat_edit_use_t* uses;    // by the number of the edge
  size_t node_count, node_capacity, use_count, use_capacity;
  size_t first_new;  // the nodes from here on were added by the edit,
  size_t first_of_pass;  // and those from here on by the pass that runs
  int32_t* order;    // all nodes, inputs first, while is_sorted
  size_t order_capacity;
  bool is_sorted;
  int32_t* stack;    // for walks: room for each node twice
  size_t stack_capacity;
  uint32_t walk;  // numbers the walks
  leat_conditions_t conditions;
  bool has_conditions;
  leat_arena_t pass_arena;
} leat_edit_t;

// ---- From beginning to end ----------------------------------------------------------------------

// |rewrite| and |options| must outlive the edit. INVALID_ARGUMENT when the graph has a cycle.
LEAT_MUST_USE leat_status_t leat_edit_initialize(leat_rewrite_t* rewrite,
                                                 const leat_pass_options_t* options,
                                                 leat_edit_t* out_edit);
// Begins a pass: |edit->scratch| is empty, and conditions are found anew when they are asked for.
void leat_edit_begin_pass(leat_edit_t* edit);
// What was added from node |first| on and nobody came to need is gone. It is so after each pass.
void leat_edit_drop_unneeded(leat_edit_t* edit, size_t first);
// Puts in the place of the rewrite's graph a copy without the nodes that neither a fetch nor a
// target needs; does nothing where nothing was changed. Node indices change, so the edit is over:
// only leat_edit_deinitialize may follow.
LEAT_MUST_USE leat_status_t leat_edit_compact(leat_edit_t* edit);
// A graph of its own with what the edit would leave, had it ended after the last pass; the caller
// frees it. The edit goes on.
LEAT_MUST_USE leat_status_t leat_edit_copy(const leat_edit_t* edit, leat_graph_t** out_graph);
// For an edit that was initialised, or zeroed.
void leat_edit_deinitialize(leat_edit_t* edit);
// INTERNAL, naming |stage| and the rule, when what would be left is no well-formed graph
// (graph/verify.h) or what the edit knows of it is not true. Debug builds call it after each pass.
LEAT_MUST_USE leat_status_t leat_edit_verify(const leat_edit_t* edit, bool placed,
                                             const char* stage);

// Calls |visit| for each node that is not gone, inputs first, and then, until there are no more,
// for those that were added meanwhile. The first failure ends it.
LEAT_MUST_USE leat_status_t leat_edit_visit(leat_edit_t* edit,
                                            leat_status_t (*visit)(leat_edit_t* edit,
                                                                   int32_t node));
// The nodes that are not gone, inputs first, in scratch memory.
LEAT_MUST_USE leat_status_t leat_edit_sort(leat_edit_t* edit, int32_t** out_nodes,
                                           size_t* out_count);

// Edges into a node, data and control.
static inline int leat_node_edge_count(const leat_node_t* node) {
  return node->input_count + node->control_count;
}

// ---- Questions ----------------------------------------------------------------------------------

static inline const leat_node_t* leat_edit_node(const leat_edit_t* edit, int32_t node) {
  LEAT_DCHECK(node >= 0 && (size_t)node < edit->graph->node_count);
  return &edit->graph->nodes[node];
}
static inline bool leat_edit_is_gone(const leat_edit_t* edit, int32_t node) {
  return edit->nodes[node].is_gone;
}
// Whether the node is fetched or a target.
static inline bool leat_edit_is_kept(const leat_edit_t* edit, int32_t node) {
  return edit->nodes[node].is_kept;
}
// How many edges leave the node, data and control.
static inline int leat_edit_use_count(const leat_edit_t* edit, int32_t node) {
  return edit->nodes[node].use_count;
}
// Walks the edges that leave |node|, data and control, in no order. The loop's body may change the
// edge |use|, and no other one of the node.
#define LEAT_EDIT_FOR_EACH_USE(edit, node, use)                                             \
  for (int32_t use = (edit)->nodes[node].first_use, next_##use;                             \
       use >= 0 && (next_##use = (edit)->uses[use].next, true); use = next_##use)
// The node that the edge leads to, and the edge's place among its inputs.
static inline leat_reader_t leat_edit_reader(const leat_edit_t* edit, int32_t use) {
  const int32_t reader = edit->uses[use].reader;
  return (leat_reader_t){reader, use - edit->nodes[reader].first_edge};
}
static inline bool leat_edit_is_wait(const leat_edit_t* edit, leat_reader_t reader) {
  return reader.position >= leat_edit_node(edit, reader.node)->input_count;
}

// Whether one edge reads |output| and it is not fetched; |out_reader| tells which. Others may read
// the node's other outputs, and wait for it.
bool leat_edit_find_only_reader(const leat_edit_t* edit, leat_output_t output,
                                leat_reader_t* out_reader);
// Whether the node may vanish when one edge that reads it does: it is neither fetched nor a target,
// exactly one edge reads any of its outputs, and if others wait for it they can wait for what it
// reads instead.
bool leat_edit_may_vanish(const leat_edit_t* edit, int32_t node);
// Whether those who wait for the node can wait for what it reads and waits for instead, as
// leat_edit_pass_waiters arranges it: not where a Switch decides whether it runs.
bool leat_edit_can_pass_waiters(const leat_edit_t* edit, int32_t node);
// Whether a path of edges leads from |from| to |to|, or they are one node. True as well where
// finding out would take too long.
bool leat_edit_reaches(leat_edit_t* edit, int32_t from, int32_t to);
// Finds out for leat_edit_comes_with under which conditions nodes come. The graph must be placed,
// and the options must have find_kernel.
LEAT_MUST_USE leat_status_t leat_edit_find_conditions(leat_edit_t* edit);
// Whether the values of two nodes come together or not at all (optimize/conditions.h). The
// conditions are those that nodes had when the pass found them, or when they were added.
bool leat_edit_comes_with(const leat_edit_t* edit, int32_t a, int32_t b);

// ---- Changes ------------------------------------------------------------------------------------

// Adds the node that |spec| describes on the device of |beside|. A spec without a name takes the
// name of |beside| followed by |suffix|, made unique.
LEAT_MUST_USE leat_status_t leat_edit_add(leat_edit_t* edit, int32_t beside, const char* suffix,
                                          leat_node_spec_t* spec, int32_t* out_node);
// Makes the node a target: it runs even where nobody needs it.
LEAT_MUST_USE leat_status_t leat_edit_keep(leat_edit_t* edit, int32_t node);
// Edge |position| of |node| comes from |source| from now on; of a control edge the source's index
// does not matter.
LEAT_MUST_USE leat_status_t leat_edit_set_input(leat_edit_t* edit, int32_t node, int position,
                                                leat_output_t source);
// Makes |node| wait for |source|, unless it does.
LEAT_MUST_USE leat_status_t leat_edit_add_wait(leat_edit_t* edit, int32_t node, int32_t source);
// |node| waits for |sources| and nothing else; they may be fewer than now, not more.
LEAT_MUST_USE leat_status_t leat_edit_set_waits(leat_edit_t* edit, int32_t node,
                                                const int32_t* sources, int count);
// The type attribute |attr| of the node becomes |dtype|, and so do the types of the outputs that
// had its type before; their shapes become |shape|, unless that is NULL. For nodes of a loop, none
// of which can be replaced alone.
LEAT_MUST_USE leat_status_t leat_edit_set_type(leat_edit_t* edit, int32_t node, const char* attr,
                                               int dtype, const leat_partial_shape_t* shape);
// Who reads or fetches |output| has |by|, of another node, instead. Who waits for its node goes on
// doing so.
LEAT_MUST_USE leat_status_t leat_edit_redirect(leat_edit_t* edit, leat_output_t output,
                                               leat_output_t by);
// |by| stands for |node|, output for output, for readers, waiters, fetches and targets.
LEAT_MUST_USE leat_status_t leat_edit_replace(leat_edit_t* edit, int32_t node, int32_t by);
// |by| stands for |node|, of which nobody reads more than one output.
LEAT_MUST_USE leat_status_t leat_edit_replace_by_output(leat_edit_t* edit, int32_t node,
                                                        leat_output_t by);

// Nodes to wait for, in scratch memory; zeroed: none.
typedef struct leat_waits_s {
  int32_t* nodes;
  int count, room;
} leat_waits_t;
LEAT_MUST_USE leat_status_t leat_waits_add(leat_edit_t* edit, int32_t node,
                                           leat_waits_t* inout_waits);
// Adds those that |node| waits for.
LEAT_MUST_USE leat_status_t leat_waits_add_controls(leat_edit_t* edit, int32_t node,
                                                    leat_waits_t* inout_waits);
// Who waits for |node| waits, through a NoOp, for |sources| instead, which must not follow from it.
LEAT_MUST_USE leat_status_t leat_edit_move_waiters(leat_edit_t* edit, int32_t node,
                                                   const leat_waits_t* sources);
// Who waits for |node| waits for all that it reads and waits for instead.
LEAT_MUST_USE leat_status_t leat_edit_pass_waiters(leat_edit_t* edit, int32_t node);

#endif  // LEAT_OPTIMIZE_EDIT_H_
