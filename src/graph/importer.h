// The state of one import, shared by its parts: import.c (the whole), import_names.c (names),
// import_node.c (one node), import_order.c (nodes that refer to later ones).
#ifndef LEAT_GRAPH_IMPORTER_H_
#define LEAT_GRAPH_IMPORTER_H_

#include "graph/attr_wire.h"
#include "graph/graph_file.h"
#include "graph/import.h"
#include "graph/node_def_reader.h"

typedef struct leat_back_edge_s {
  int32_t node;
  int32_t position;
  leat_tensor_name_t source;
} leat_back_edge_t;

typedef struct leat_colocation_s {
  int32_t node;
  leat_string_view_t target;  // a name of the GraphDef
} leat_colocation_t;

#define LEAT_IMPORTER_OPS 32
#define LEAT_IMPORTER_RECENT 512

typedef struct leat_importer_s {
  leat_graph_t* graph;
  leat_graph_file_t* file;
  const leat_import_options_t* options;
  leat_allocator_t* allocator;
  leat_arena_t scratch;  // of what the general decoder makes; emptied when it has grown
  int32_t first;            // nodes that were there before
  leat_string_view_t prefix;  // "a/", or ""
  // Names in the GraphDef are names in the graph: graph->names serves as the index of what has been
  // imported. Otherwise |imported| does, and names of the file may be changed.
  bool direct_names;
  bool renames;               // uniquify_names, and no unique prefix that makes it needless
  leat_string_map_t imported;      // name in the GraphDef -> node
  leat_string_map_t taken;         // names' prefixes ("a", "a/b") of nodes that were there before
  leat_string_map_t file_names;    // names and prefixes in the GraphDef (where it renames)
  leat_string_map_t mapped;        // node of a mapping's |from| -> last mapping of it
  int32_t* next_mapping;           // the one before it of the same node, or -1
  bool* mapping_used;
  leat_node_spec_t blank;   // what a node begins as: to copy it is less than to clear one
  int32_t recent[LEAT_IMPORTER_RECENT];  // nodes made or read last, by a mere glance at the name
  const leat_op_t* last_ops[LEAT_IMPORTER_OPS];  // by a mere glance at the name
  leat_attr_reader_t attr_reader;
  leat_node_patterns_t patterns;   // none where names, and with them values, change
  leat_string_view_t last_class_bytes;  // of the last node that had a "_class", encoded
  leat_attr_value_t last_class;         // and read
  leat_output_t* inputs;           // of the node at hand
  int32_t* controls;
  size_t input_capacity;           // of both
  leat_attr_t* attrs;
  size_t attr_capacity;
  leat_back_edge_t* back_edges;
  size_t back_edge_count, back_edge_capacity;
  leat_colocation_t* colocations;
  size_t colocation_count, colocation_capacity;
} leat_importer_t;

// Reads the file, if it is not read yet: the graph has its functions then.
LEAT_MUST_USE leat_status_t leat_importer_read_file(leat_importer_t* importer);

// ---- names (import_names.c) ---------------------------------------------------------------------

// INVALID_ARGUMENT when |name| cannot be a node's.
LEAT_MUST_USE leat_status_t leat_importer_check_name(const leat_importer_t* importer,
                                                     leat_string_view_t name);
LEAT_MUST_USE leat_status_t leat_importer_prepare_names(leat_importer_t* importer);
// Learns the names of the whole file, which renaming must avoid.
LEAT_MUST_USE leat_status_t leat_importer_learn_names(leat_importer_t* importer,
                                                      leat_string_view_t name);
// Name of the new node in the graph, in its storage. Refuses what is malformed or taken.
LEAT_MUST_USE leat_status_t leat_importer_name(leat_importer_t* importer, leat_string_view_t name,
                                               leat_string_view_t* out_name);
// The node that |name| of the GraphDef became, or -1.
int32_t leat_importer_find(leat_importer_t* importer, leat_string_view_t name);
// Where |name| is noted, by a mere glance at it; NULL: names so short are not.
static inline int32_t* leat_importer_recent(leat_importer_t* importer, leat_string_view_t name) {
  uint64_t tail;
  if (name.size < sizeof(tail)) return NULL;
  memcpy(&tail, name.data + name.size - sizeof(tail), sizeof(tail));
  return &importer->recent[leat_hash_mix(tail, name.size) % LEAT_IMPORTER_RECENT];
}
// leat_importer_find in hot code: most nodes read one that was made or read a few nodes before.
static inline int32_t leat_importer_find_near(leat_importer_t* importer, leat_string_view_t name) {
  const leat_graph_t* graph = importer->graph;
  int32_t* place = importer->direct_names ? leat_importer_recent(importer, name) : NULL;
  if (place && *place >= importer->first && *place < (int32_t)graph->node_count &&
      leat_string_view_equal(graph->nodes[*place].name, name)) {
    return *place;
  }
  return leat_importer_find(importer, name);
}
// |name|, which is |node|'s, was made or read: it will be read again soon.
static inline void leat_importer_note(leat_importer_t* importer, leat_string_view_t name,
                                      int32_t node) {
  int32_t* place = leat_importer_recent(importer, name);
  if (place) *place = node;
}
// Index of the mapping of that tensor, or -1.
int32_t leat_importer_mapping(const leat_importer_t* importer, leat_tensor_name_t from);
// Corrects colocations with renamed nodes, and checks that all name imported ones.
LEAT_MUST_USE leat_status_t leat_importer_finish_colocations(leat_importer_t* importer);

// ---- nodes (import_node.c) ----------------------------------------------------------------------

LEAT_MUST_USE leat_status_t leat_importer_op(leat_importer_t* importer,
                                             const leat_node_def_t* def,
                                             const leat_op_t** out_op);
// Adds the node. One that reads a node not imported yet: |*out_deferred| when |may_defer|; a Merge
// leaves that input open; else INVALID_ARGUMENT.
LEAT_MUST_USE leat_status_t leat_importer_add(leat_importer_t* importer,
                                              const leat_node_def_t* def, bool may_defer,
                                              bool* out_deferred);

// ---- order (import_order.c) ---------------------------------------------------------------------

// Imports |count| nodes from |cursor| on, in the order of their inputs, the first |skipped| of the
// file being done.
LEAT_MUST_USE leat_status_t leat_importer_add_ordered(leat_importer_t* importer,
                                                      leat_node_cursor_t* cursor, size_t count);

#endif  // LEAT_GRAPH_IMPORTER_H_
