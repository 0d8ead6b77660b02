// Imports an encoded GraphDef into a graph (TF_GraphImportGraphDef). Nodes may stand in any order
// in the file; the only cycles are those that a NextIteration closes into a Merge. An import that
// fails leaves the graph as it was.
//
//   leat_import_options_t options = {.prefix = LEAT_SV("model")};
//   leat_status_t status = leat_graph_import(graph, bytes, &options, NULL);
//
// INVALID_ARGUMENT for everything that is wrong with the GraphDef, NOT_FOUND for an op that is not
// registered, UNIMPLEMENTED for an op that the GraphDef's version has no longer, RESOURCE_EXHAUSTED
// when memory ran out. The message names the node. The import changes the graph, so the caller
// serialises it with other changes and with readers. The bytes are not needed after the call.
#ifndef LEAT_GRAPH_IMPORT_IMPORT_H_
#define LEAT_GRAPH_IMPORT_IMPORT_H_

#include "graph/graph.h"

// A tensor of the GraphDef. The index LEAT_CONTROL_INDEX names the node's control output.
typedef struct leat_tensor_name_s {
  leat_string_view_t node;
  int32_t index;
} leat_tensor_name_t;

// Nodes that read |from| in the GraphDef read |to| instead, which is in the graph before the
// import. Either both are control edges or neither is. Of several mappings of one |from| the last
// one counts.
typedef struct leat_import_mapping_s {
  leat_tensor_name_t from;
  leat_output_t to;
} leat_import_mapping_t;

// How to import. A zeroed struct means TensorFlow's defaults. Everything that it points to is
// borrowed during the call.
typedef struct leat_import_options_s {
  leat_string_view_t prefix;  // put before every name, with a '/' between
  bool uniquify_names;        // rename nodes whose names are taken, instead of an error
  bool uniquify_prefix;       // rename the prefix when it is taken
  const leat_import_mapping_t* input_map;
  int input_map_count;
  const int32_t* control_dependencies;  // every imported node runs after these nodes of the graph
  int control_dependency_count;
  const leat_tensor_name_t* return_outputs;  // tensors of the GraphDef to look up
  int return_output_count;
  const leat_string_view_t* return_nodes;  // nodes of the GraphDef to look up
  int return_node_count;
  leat_string_view_t default_device;  // for nodes that ask for no device
  // Names of inputs and groups may be of nodes that the graph had before, unless names change.
  bool extends_graph;
  bool ignore_colocation;  // "loc:@x" in "_class" need not name an imported node
  bool allow_internal_names;  // accept names that begin with '_' (graphs of the runtime)
  // Inputs whose shapes an op refuses are no error; the shapes of its outputs are unknown then. A
  // step says what is wrong when the op runs, if it does.
  bool tolerate_shapes;
} leat_import_options_t;

// What an import found. The arrays are of |allocator|; end with deinitialize. Nodes are given by
// their index in the graph.
typedef struct leat_import_results_s {
  leat_allocator_t* allocator;
  leat_output_t* return_outputs;  // in the order of the options' list
  int32_t* return_nodes;
  // Indices in |input_map| of the mappings whose |from| is not in the GraphDef, sorted by name and
  // index.
  int32_t* unused_mappings;
  int unused_mapping_count;
  int32_t first_node, node_count;  // the imported nodes stand in a row
} leat_import_results_t;
void leat_import_results_deinitialize(leat_import_results_t* results);

// Imports |graph_def|. |options| and |out_results| may be NULL; |out_results| is deinitialized by
// the caller after success and is empty after a failure. A name in |return_outputs| or
// |return_nodes| that the GraphDef lacks is INVALID_ARGUMENT.
LEAT_MUST_USE leat_status_t leat_graph_import(leat_graph_t* graph, leat_string_view_t graph_def,
                                              const leat_import_options_t* options,
                                              leat_import_results_t* out_results);

#endif  // LEAT_GRAPH_IMPORT_IMPORT_H_
