// Control-flow contexts: what makes the nodes of section 4.4 of the white paper out of a loop or a
// conditional whose parts a client adds one node at a time. A context is one loop, or one branch of
// a conditional; contexts nest. While one is current, each node that is added through
// leat_control_flow_add_node is put into it by TensorFlow 1's rules:
//
//     outside            in the context
//     value ──────────▶ Enter(is_constant) ──▶ reader       a loop
//     value ──────────▶ Switch(predicate)  ──▶ reader       a branch
//     (no inputs)       pivot ──control──────▶ node
//
// A value is captured once for each context on its way from where it is to the reader. What an
// import joins to the graph is captured before it. Nodes that come into the graph in other ways
// (gradients, TF_FinishWhile) are not rewired. The contexts of all these are derived from what they
// read, so that a later reader knows where they are.
//
// The graph's owner serialises the calls, which change the graph. Errors of all functions that
// return a status: INVALID_ARGUMENT, FAILED_PRECONDITION for a call at the wrong time,
// RESOURCE_EXHAUSTED. The C API (capi/leat/control_flow.c, TF_FinishOperation) is the only caller.
#ifndef LEAT_GRAPH_CONTROL_FLOW_CONTEXT_H_
#define LEAT_GRAPH_CONTROL_FLOW_CONTEXT_H_

#include "graph/graph.h"

// Where the building of a loop or conditional stands.
typedef enum leat_control_stage_e {
  LEAT_CONTROL_CONDITION,  // of a loop: its condition is being added
  LEAT_CONTROL_OPEN,       // the body of a loop, or a branch, is being added
  LEAT_CONTROL_CLOSED,     // finished or abandoned
} leat_control_stage_t;

// A variable of a loop while the loop is built.
typedef struct leat_control_variable_s {
  leat_output_t input;   // the first value, as the client named it
  leat_output_t enter;
  leat_output_t merge;
  leat_output_t parted;  // the Switch; output 0 leaves the loop, output 1 goes on
  leat_output_t body;    // the Identity that the body reads
} leat_control_variable_t;

// What one thread builds: threads that add to a graph at the same time are each in contexts of
// their own. There is a record while a construct of the thread is open or it has entered a context.
typedef struct leat_control_builder_s {
  uint64_t thread;
  struct leat_control_builder_s* next;     // in the list of the graph's
  struct leat_control_context_s* current;  // NULL: outside all
  struct leat_control_context_s* open;     // the innermost construct under way; NULL: none
  // What was current before each begin and enter, the innermost last.
  struct leat_control_context_s** stack;
  size_t stack_count, stack_capacity;
} leat_control_builder_t;

// A context. It lies in the arena of its leat_control_flow_t and lives as long.
typedef struct leat_control_context_s {
  struct leat_control_flow_s* flow;
  struct leat_control_context_s* outer;  // the context around it; NULL: none
  struct leat_control_context_s* loop;   // the innermost loop around what it holds; perhaps itself
  struct leat_control_context_s* next;   // in the list of all contexts
  int depth;                             // 1 for a context that is in no other
  bool is_loop;
  uint8_t branch;  // of a conditional: the output of Switch that leads here, 0 or 1
  leat_control_stage_t stage;
  leat_control_builder_t* builder;  // while open: who builds it
  size_t stack_count;               // of the builder's stack, when this one was opened
  struct leat_control_context_s* around;  // while open: the one that was opened before it
  leat_string_view_t scope;   // of the names of its nodes: "while/"
  leat_string_view_t device;  // of the nodes that the construct itself adds
  // The bool by which it decides: the LoopCond of a loop, the "pred_id" of a conditional.
  leat_output_t predicate;
  int32_t pivot;             // what runs once whenever the context does
  leat_word_map_t captures;  // output -> output: values from outside, and what stands for each here

  // Of a loop.
  leat_string_view_t frame;  // attribute "frame_name"
  int parallel_iterations;
  const int32_t* after;  // [after_count] what its Enters wait for, outside
  int after_count;
  leat_control_variable_t* variables;  // [variable_count], the counter first if there is one
  int variable_count;
  bool counts;               // a variable counts the iterations, up to |maximum|
  leat_output_t within;      // whether the counter is below it

  // Of a conditional.
  struct leat_control_context_s* other;  // the other branch, once both are there
  int32_t other_pivot;                   // of the false branch, until then
  leat_output_t* results;                // [result_count] of a branch that was ended
  int result_count;
} leat_control_context_t;

typedef struct leat_control_capture_s {
  leat_control_context_t* context;
  uint64_t key;
} leat_control_capture_t;

// The contexts of one graph.
typedef struct leat_control_flow_s {
  leat_graph_t* graph;
  void* owner;  // the C API's handle of the graph, for its own use
  leat_arena_t arena;
  leat_control_context_t* contexts;  // all, the newest first
  leat_control_builder_t* builders;  // of the threads that are in contexts
  leat_word_map_t context_of;  // node -> leat_control_context_t*; a node outside all is absent
  // node -> number of frames around it which no context made, the innermost ones: those of imported
  // loops and of gradients. Without an entry: 0.
  leat_word_map_t foreign;
  // The frames in the graph by name: the leat_control_context_t* of a loop, or 0 for one which no
  // context made.
  leat_string_map_t frames;
  size_t known_nodes;        // so many nodes have their contexts and frames noted
  // What the addition under way has captured, so that its failure can be undone.
  leat_control_capture_t* fresh;
  size_t fresh_count, fresh_capacity;
} leat_control_flow_t;

// Contexts for |graph|, which must outlive them. No context is open.
LEAT_MUST_USE leat_status_t leat_control_flow_create(leat_graph_t* graph,
                                                     leat_control_flow_t** out_flow);
// NULL is allowed.
void leat_control_flow_free(leat_control_flow_t* flow);

// The context that is current for the calling thread; NULL: outside all.
leat_control_context_t* leat_control_flow_current(const leat_control_flow_t* flow);
// Adds a node to the current context, or, where there is none, as leat_graph_add_node does.
// INVALID_ARGUMENT also for an input that is in a loop which the context is not in. On failure the
// graph and the contexts are as before.
LEAT_MUST_USE leat_status_t leat_control_flow_add_node(leat_control_flow_t* flow,
                                                       const leat_node_spec_t* spec,
                                                       int32_t* out_node);
// What stands for |value| in the current context, for a reader that is about to come in some other
// way; |scope| is before the names of what is added. Errors as above.
LEAT_MUST_USE leat_status_t leat_control_flow_bring(leat_control_flow_t* flow,
                                                    leat_output_t value, leat_string_view_t scope,
                                                    leat_output_t* out_here);
// What nodes that read nothing wait for in the current context, in place of |controls|: those of
// them that are in the same loop, and the pivot. The list lies in |arena|.
LEAT_MUST_USE leat_status_t leat_control_flow_wait(leat_control_flow_t* flow,
                                                   const int32_t* controls, int count,
                                                   leat_arena_t* arena,
                                                   const int32_t** out_controls, int* out_count);
// The context that |node| is in; an Exit is in its loop. NULL: none.
LEAT_MUST_USE leat_status_t leat_control_flow_context_of(leat_control_flow_t* flow, int32_t node,
                                                         leat_control_context_t** out_context);
// Makes |context|, NULL for the outside, the current one until leat_control_flow_leave.
LEAT_MUST_USE leat_status_t leat_control_flow_enter(leat_control_flow_t* flow,
                                                    leat_control_context_t* context);
// Goes back to what was current before the last enter that belongs to the innermost open construct.
void leat_control_flow_leave(leat_control_flow_t* flow);
// Leaves the construct that |context| is part of, and what was opened in it, unfinished. Does
// nothing where it is not open.
void leat_control_flow_abandon(leat_control_context_t* context);

// ---- Building (loop.c, conditional.c) -----------------------------------------------------------

// How a construct is built; all is borrowed.
typedef struct leat_control_options_s {
  leat_string_view_t name;  // the scope without its "/"
  leat_string_view_t device;
  const int32_t* after;  // [after_count] nodes after which the construct begins
  int after_count;
  int parallel_iterations;              // at least 1
  leat_output_t maximum;                // a bound for the iterations; none: node is -1
  const leat_partial_shape_t* shapes;   // shape invariants [input_count]; NULL: the inputs' own
} leat_control_options_t;

// A loop over |inputs|; the current context is then its condition, which reads |out_variables|.
LEAT_MUST_USE leat_status_t leat_control_while_begin(leat_control_flow_t* flow,
                                                     const leat_control_options_t* options,
                                                     const leat_output_t* inputs, int count,
                                                     leat_output_t* out_variables,
                                                     leat_control_context_t** out_context);
// Ends the condition; the body reads |out_variables|.
LEAT_MUST_USE leat_status_t leat_control_while_body(leat_control_context_t* loop,
                                                    leat_output_t condition,
                                                    leat_output_t* out_variables);
// Ends the body and the loop. Where the results do not fit, nothing has been added.
LEAT_MUST_USE leat_status_t leat_control_while_end(leat_control_context_t* loop,
                                                   const leat_output_t* results, int count,
                                                   leat_output_t* out_exits);
// A conditional; the current context is then its true branch.
LEAT_MUST_USE leat_status_t leat_control_cond_begin(leat_control_flow_t* flow,
                                                    const leat_control_options_t* options,
                                                    leat_output_t predicate,
                                                    leat_control_context_t** out_context);
// Ends the true branch; the current context is then the false one. A result with the index
// LEAT_CONTROL_INDEX stands for its node.
LEAT_MUST_USE leat_status_t leat_control_cond_else(leat_control_context_t* branch,
                                                   const leat_output_t* results, int count,
                                                   leat_control_context_t** out_context);
// Ends the false branch and the conditional.
LEAT_MUST_USE leat_status_t leat_control_cond_end(leat_control_context_t* branch,
                                                  const leat_output_t* results, int count,
                                                  leat_output_t* out_merged);

#endif  // LEAT_GRAPH_CONTROL_FLOW_CONTEXT_H_
