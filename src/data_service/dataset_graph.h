// The graph of a dataset, as clients register it: a GraphDef whose node _Retval reads the dataset.
// It is decoded, changed as a message, and encoded again. Nothing is checked that import checks.
#ifndef LEAT_DATA_SERVICE_DATASET_GRAPH_H_
#define LEAT_DATA_SERVICE_DATASET_GRAPH_H_

#include "base/map.h"
#include "base/string_builder.h"
#include "formats/generated/graph.h"

typedef struct leat_dataset_graph_s {
  leat_arena_t arena;         // of the messages
  leat_pb_graph_def_t def;
  size_t capacity;            // of def.node.items
  leat_string_map_t nodes;    // by name, the index
  leat_pb_node_def_t retval;  // _Retval, which is not among the nodes
} leat_dataset_graph_t;

// Decodes |bytes|, which must outlive the graph. INVALID_ARGUMENT where they are no GraphDef, and
// where there is no _Retval that reads a node. To be deinitialized after a success.
LEAT_MUST_USE leat_status_t leat_dataset_graph_initialize(leat_string_view_t bytes,
                                                          leat_dataset_graph_t* out_graph);
void leat_dataset_graph_deinitialize(leat_dataset_graph_t* graph);
// Appends the encoded GraphDef, with _Retval or without.
LEAT_MUST_USE leat_status_t leat_dataset_graph_write(const leat_dataset_graph_t* graph,
                                                     bool has_retval, leat_string_builder_t* out);

// What TensorFlow's dispatcher changes of a graph that it is given: no node asks for a device of
// the client's, and tables are named by their nodes, so that each pass over the dataset finds them.
LEAT_MUST_USE leat_status_t leat_dataset_graph_prepare(leat_dataset_graph_t* graph);

// Gives datasets that shuffle or remember elements resources of their own. A client has the handles
// of its resources as constants, and no other process can find what they stand for.
LEAT_MUST_USE leat_status_t leat_dataset_graph_localize(leat_dataset_graph_t* graph);

// The name of the dataset's node.
leat_string_view_t leat_dataset_graph_root(const leat_dataset_graph_t* graph);
// The node that data input |index| of |node| reads; NULL where there is none.
leat_pb_node_def_t* leat_dataset_graph_input(const leat_dataset_graph_t* graph,
                                             const leat_pb_node_def_t* node, size_t index);
// Adds a node named |name| or, where that is taken, by a longer text. The node is empty but for its
// name, op and |input_count| empty inputs. Pointers to nodes are no longer valid.
LEAT_MUST_USE leat_status_t leat_dataset_graph_add(leat_dataset_graph_t* graph, const char* name,
                                                   const char* op, size_t input_count,
                                                   leat_pb_node_def_t** out_node);
// Adds a constant, a scalar of int64.
LEAT_MUST_USE leat_status_t leat_dataset_graph_add_number(leat_dataset_graph_t* graph,
                                                          int64_t value,
                                                          leat_string_view_t* out_name);
// Sets or replaces an attribute; |value| must live as long as the graph.
LEAT_MUST_USE leat_status_t leat_dataset_graph_set_attr(leat_dataset_graph_t* graph,
                                                        leat_pb_node_def_t* node, const char* name,
                                                        leat_pb_attr_value_t* value);
// NULL where there is none.
leat_pb_attr_value_t* leat_node_def_attr(const leat_pb_node_def_t* node, const char* name);

#endif  // LEAT_DATA_SERVICE_DATASET_GRAPH_H_
