// Makes a function from a part of a graph (section 10), as TF_GraphToFunction does.
#ifndef LEAT_FUNCTION_DEFINE_H_
#define LEAT_FUNCTION_DEFINE_H_

#include "formats/generated/graph.h"
#include "graph/graph.h"

// Which part of the graph becomes the function. Everything is borrowed.
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

// Fills |out_function|, which borrows from the graph; the rest lies in |arena|. INVALID_ARGUMENT
// for an input that is listed twice, an input or output that is a reference, an edge into the body
// that is not an input, and names that are taken.
LEAT_MUST_USE leat_status_t leat_function_define(const leat_graph_t* graph,
                                                 const leat_function_spec_t* spec,
                                                 leat_arena_t* arena,
                                                 leat_pb_function_def_t* out_function);

#endif  // LEAT_FUNCTION_DEFINE_H_
