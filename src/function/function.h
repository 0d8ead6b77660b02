// Functions (section 10), as the other rooms use them: the session asks for the shapes of calls,
// the master replaces the calls of a signature's graph by what they stand for, and the C API makes
// a function of a part of a graph. How a body comes to stand in a graph is this room's own matter
// (expander.h, body_graph.h). Nothing here blocks or keeps state; a graph that is only read may be
// read by several threads.
#ifndef LEAT_FUNCTION_FUNCTION_H_
#define LEAT_FUNCTION_FUNCTION_H_

#include "formats/generated/graph.h"
#include "graph/graph.h"
#include "graph/node_map.h"

// ---- Calls are inlined (inline.c) ---------------------------------------------------------------

// A graph without calls is made from a graph with calls: the nodes of every function that it calls
// stand in the graph itself, so that the optimizer sees across calls and the placer places each
// node. The master inlines a signature's graph before it optimizes it; what a call "f" stands for
// is named "_f/...".
//
//   x ─▶ f ─▶ y     becomes     x ─▶ nodes of f's body ─▶ y
//
// This is the result. By |map| the caller finds feeds and fetches of the old graph in the new one.
typedef struct leat_inlined_s {
  leat_graph_t* graph;     // owned by the caller; NULL: there was no call
  leat_node_map_t map;     // from the old graph; lies in the arena of the new one
  const int32_t* effects;  // nodes that must run if their calls had to
  int effect_count;
} leat_inlined_t;

// Inlines the calls of |graph|, which is not changed and may be freed afterwards. Calls that stay
// (recursion; branches that do not ask to be lowered) run through the function runtime. Fails as
// leat_expander_add_body does, with the function's name; then there is no graph.
LEAT_MUST_USE leat_status_t leat_function_inline(const leat_graph_t* graph,
                                                 leat_inlined_t* out_inlined);

// ---- A part of a graph becomes a function (define.c) --------------------------------------------

// Which part of a graph becomes the function. Everything is borrowed.
typedef struct leat_function_spec_s {
  leat_string_view_t name;
  bool append_hash;  // make the name unique by "_" and a hash of the function
  const int32_t* nodes;  // the body; NULL: every node but those of |inputs|
  int node_count;
  const leat_output_t* inputs;
  int input_count;
  const leat_output_t* outputs;
  int output_count;
  const char* const* output_names;  // NULL: they are named after their nodes
  const int32_t* control_outputs;   // nodes that every call must run
  int control_output_count;
  const char* const* control_output_names;  // NULL: the names of the nodes
  leat_string_view_t description;
} leat_function_spec_t;

// Makes the function, as TF_GraphToFunction does. |out_function| borrows from the graph; the rest
// lies in |arena|. INVALID_ARGUMENT for an input that is listed twice, an input or output that is a
// reference, an edge into the body that is not an input, and names that are taken.
LEAT_MUST_USE leat_status_t leat_function_define(const leat_graph_t* graph,
                                                 const leat_function_spec_t* spec,
                                                 leat_arena_t* arena,
                                                 leat_pb_function_def_t* out_function);

// ---- Shapes of calls (call_shapes.c) ------------------------------------------------------------

// The function for leat_graph_t.infer_call. The outputs of a call have the shapes of the function's
// returns, when its arguments have the shapes of the call's inputs. TensorFlow's shape refiner
// infers so for calls by name and through PartitionedCall; If and While state the shapes of their
// outputs in an attribute instead. |out_shapes| [node->output_count] keep their values where
// nothing is known, for instance when the function is not defined yet. Fails when the body cannot
// be made: NOT_FOUND for an op that is not registered.
LEAT_MUST_USE leat_status_t leat_call_infer_shapes(leat_graph_t* graph, const leat_node_t* node,
                                                   leat_partial_shape_t* out_shapes);

#endif  // LEAT_FUNCTION_FUNCTION_H_
