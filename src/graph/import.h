// GraphDef into a graph. Nodes may stand in any order; the only cycles are those that a
// NextIteration closes into a Merge. On failure the graph is as before. INVALID_ARGUMENT for
// everything that is wrong with the GraphDef, NOT_FOUND for an op that is not registered,
// UNIMPLEMENTED for one that the GraphDef's version has no more.
#ifndef LEAT_GRAPH_IMPORT_H_
#define LEAT_GRAPH_IMPORT_H_

#include "graph/graph.h"

// A tensor of the GraphDef; index LEAT_CONTROL_INDEX names the node's control output.
typedef struct leat_tensor_name_s {
  leat_string_view_t node;
  int32_t index;
} leat_tensor_name_t;

// What reads |from| in the GraphDef shall read |to|, which is in the graph already. Both or neither
// are control edges. Of several mappings of one |from| the last counts.
typedef struct leat_import_mapping_s {
  leat_tensor_name_t from;
  leat_output_t to;
} leat_import_mapping_t;

// Zeroed: TensorFlow's defaults. Everything is borrowed.
typedef struct leat_import_options_s {
  leat_string_view_t prefix;       // put before names, with a '/' between
  bool uniquify_names;             // a name that is taken gets a suffix instead of an error
  bool uniquify_prefix;            // likewise the prefix
  const leat_import_mapping_t* input_map;
  int input_map_count;
  const int32_t* control_dependencies;  // of every imported node, directly or through its inputs
  int control_dependency_count;
  const leat_tensor_name_t* return_outputs;
  int return_output_count;
  const leat_string_view_t* return_nodes;
  int return_node_count;
  leat_string_view_t default_device;  // of nodes that state none
  bool ignore_colocation;             // do not ask that "loc:@x" names an imported node
  bool allow_internal_names;          // names may begin with '_' (graphs of the runtime's own)
} leat_import_options_t;

typedef struct leat_import_results_s {
  leat_allocator_t* allocator;
  leat_output_t* return_outputs;   // as asked for
  int32_t* return_nodes;
  int32_t* unused_mappings;        // indices in |input_map| of keys that the GraphDef lacks
  int unused_mapping_count;        // sorted by node name, then index
  int32_t first_node, node_count;  // what was added
} leat_import_results_t;
void leat_import_results_deinitialize(leat_import_results_t* results);

// |options| and |out_results| may be NULL; results need deinitialize after success.
LEAT_MUST_USE leat_status_t leat_graph_import(leat_graph_t* graph, leat_string_view_t graph_def,
                                              const leat_import_options_t* options,
                                              leat_import_results_t* out_results);

#endif  // LEAT_GRAPH_IMPORT_H_
