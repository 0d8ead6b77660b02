// A part of a graph as a function (section 10): what TF_GraphToFunction makes.
#ifndef LEAT_FUNCTION_DEFINE_H_
#define LEAT_FUNCTION_DEFINE_H_

#include "formats/generated/graph.h"
#include "graph/graph.h"

typedef struct leat_function_spec_s {
  leat_string_view_t name;
  bool append_hash;                 // "_" and a hash of the function behind its name
  const int32_t* nodes;             // the body; NULL: every node but those of |inputs|
  int node_count;
  const leat_output_t* inputs;
  int input_count;
  const leat_output_t* outputs;
  int output_count;
  const char* const* output_names;  // NULL: after their nodes
  const int32_t* control_outputs;   // nodes that must run
  int control_output_count;
  const char* const* control_output_names;  // NULL: their nodes' own
  leat_string_view_t description;
} leat_function_spec_t;

// |out_function| borrows from the graph; the rest lies in |arena|. INVALID_ARGUMENT for an input
// named twice, a reference, an edge into the body that is no input.
LEAT_MUST_USE leat_status_t leat_function_define(const leat_graph_t* graph,
                                                 const leat_function_spec_t* spec,
                                                 leat_arena_t* arena,
                                                 leat_pb_function_def_t* out_function);

#endif  // LEAT_FUNCTION_DEFINE_H_
