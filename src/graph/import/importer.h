// The state of one import and the interface between its files. Only they include this header:
//
//   import.c         the whole: versions, functions, mappings, the pass over the file, undoing
//   import_node.c    one NodeDef into one node
//   import_names.c   names: prefix, uniqueness, look-up, colocation
//   import_order.c   the rest of a file from the first node that reads a later one
//   debug_info.c     the lines of a program that added the nodes
//
// The pass reads a NodeDef, adds the node (leat_importer_add) and forgets it, until a node reads a
// later one; leat_importer_add_ordered adds the rest. No function undoes anything:
// leat_graph_import marks the graph before and returns to the mark when one of them fails. An
// importer lives on the stack of leat_graph_import and is used by one thread.
#ifndef LEAT_GRAPH_IMPORT_IMPORTER_H_
#define LEAT_GRAPH_IMPORT_IMPORTER_H_

#include "graph/import/attr_wire.h"
#include "graph/import/graph_file.h"
#include "graph/import/import.h"
#include "graph/import/node_def_reader.h"

// An input of a Merge that was left open, because its source is imported later. The edges are set
// when all nodes are there.
typedef struct leat_back_edge_s {
  int32_t node;
  int32_t position;  // the data input of |node|
  leat_tensor_name_t source;
} leat_back_edge_t;

// A name in the "_class" of |node| that is checked and perhaps renamed at the end.
typedef struct leat_colocation_s {
  int32_t node;
  leat_string_view_t target;  // a name of the GraphDef
} leat_colocation_t;

// Sizes of the direct-mapped caches of ops and of nodes. An entry may be stale or another name's,
// so that whoever finds one compares the name.
#define LEAT_IMPORTER_OPS 32
#define LEAT_IMPORTER_RECENT 512

// The state. |options| is never NULL here, and zeroed where the caller gave none.
typedef struct leat_importer_s {
  leat_graph_t* graph;
  leat_graph_file_t* file;
  const leat_import_options_t* options;
  leat_allocator_t* allocator;
  leat_arena_t scratch;  // decoded messages; emptied when it has grown
  int32_t first;         // how many nodes the graph had before the import
  leat_string_view_t prefix;  // "a/", or "" for none
  // Whether names stay as they are in the file. Then the graph's own index tells what has been
  // imported; otherwise the map |imported| does.
  bool direct_names;
  bool renames;                // names that are taken get a suffix
  leat_string_map_t imported;  // name in the GraphDef -> node; unused if |direct_names|
  leat_string_map_t taken;  // "a", "a/b" for each node a/b/c that was there before
  leat_string_map_t file_names;  // the same for the GraphDef, and its names, if |renames|
  leat_string_map_t mapped;      // node of a mapping's |from| -> its last mapping
  int32_t* next_mapping;         // [mapping] an earlier one of the same node, or -1
  bool* mapping_used;
  leat_node_spec_t blank;  // the initial spec of every node; copying it is cheap
  // Caches that are indexed by few bytes of the name: nodes that were made or read last, and ops.
  int32_t recent[LEAT_IMPORTER_RECENT];
  const leat_op_t* last_ops[LEAT_IMPORTER_OPS];
  leat_attr_reader_t attr_reader;
  leat_node_patterns_t patterns;   // empty unless |direct_names|, since "_class" changes with names
  leat_string_view_t last_class_bytes;  // the last "_class", encoded
  leat_attr_value_t last_class;         // and its value
  // Inputs and attributes of the node that is being added.
  leat_output_t* inputs;
  int32_t* controls;
  size_t input_capacity;  // of both
  leat_attr_t* attrs;
  size_t attr_capacity;
  leat_back_edge_t* back_edges;
  size_t back_edge_count, back_edge_capacity;
  leat_colocation_t* colocations;
  size_t colocation_count, colocation_capacity;
} leat_importer_t;

// Reads the rest of the file if it was opened and not read, and adds its functions to the graph.
// Does nothing for a file that was read.
LEAT_MUST_USE leat_status_t leat_importer_read_file(leat_importer_t* importer);
// Tells the graph the lines of the file's nodes, which have been added. INVALID_ARGUMENT, and
// nothing is told, where the bytes are malformed. Lines for which there is no memory are left out.
LEAT_MUST_USE leat_status_t leat_importer_read_lines(leat_importer_t* importer);

// ---- names (import_names.c) ---------------------------------------------------------------------

// INVALID_ARGUMENT when |name| cannot be the name of a node.
LEAT_MUST_USE leat_status_t leat_importer_check_name(const leat_importer_t* importer,
                                                     leat_string_view_t name);
// Decides how names change, once before the first node.
LEAT_MUST_USE leat_status_t leat_importer_prepare_names(leat_importer_t* importer);
// Notes a name of the file and its prefixes, which new names must avoid. Called for the whole file
// before the first node is added, if |renames|.
LEAT_MUST_USE leat_status_t leat_importer_learn_names(leat_importer_t* importer,
                                                      leat_string_view_t name);
// The name in the graph of the node that the GraphDef calls |name|; it lies in the storage.
// INVALID_ARGUMENT when it is malformed or taken.
LEAT_MUST_USE leat_status_t leat_importer_name(leat_importer_t* importer, leat_string_view_t name,
                                               leat_string_view_t* out_name);
// The node that |name| of the GraphDef became, or -1 when it is not imported yet. Nodes that were
// in the graph before are found where the options say so, by their name.
int32_t leat_importer_find(leat_importer_t* importer, leat_string_view_t name);
// The slot of |name| in the cache of recent nodes, by its length and last eight bytes; NULL for
// shorter names, which are not cached.
static inline int32_t* leat_importer_recent(leat_importer_t* importer, leat_string_view_t name) {
  uint64_t tail;
  if (name.size < sizeof(tail)) return NULL;
  memcpy(&tail, name.data + name.size - sizeof(tail), sizeof(tail));
  return &importer->recent[leat_hash_mix(tail, name.size) % LEAT_IMPORTER_RECENT];
}
// leat_importer_find for inputs: most nodes read one that was made or read a few nodes before, and
// the cache answers without hashing the name. The node's name decides; the slot is only where to
// look.
static inline int32_t leat_importer_find_near(leat_importer_t* importer, leat_string_view_t name) {
  const leat_graph_t* graph = importer->graph;
  int32_t* place = importer->direct_names ? leat_importer_recent(importer, name) : NULL;
  if (place && *place >= importer->first && *place < (int32_t)graph->node_count &&
      leat_string_view_equal(graph->nodes[*place].name, name)) {
    return *place;
  }
  return leat_importer_find(importer, name);
}
// Remembers that |name| is |node|, because it will probably be read soon.
static inline void leat_importer_note(leat_importer_t* importer, leat_string_view_t name,
                                      int32_t node) {
  int32_t* place = leat_importer_recent(importer, name);
  if (place) *place = node;
}
// The index of the mapping that counts for |from|, or -1.
int32_t leat_importer_mapping(const leat_importer_t* importer, leat_tensor_name_t from);
// When all nodes are there: checks that every "_class" names imported nodes, and renames those that
// were renamed.
LEAT_MUST_USE leat_status_t leat_importer_finish_colocations(leat_importer_t* importer);

// ---- nodes (import_node.c) ----------------------------------------------------------------------

// The op of |def|: a registered one, or a function of the graph. NOT_FOUND where there is none,
// INVALID_ARGUMENT for no name. A file that was opened is read first if its functions may matter:
// the op is not known, or it calls functions.
LEAT_MUST_USE leat_status_t leat_importer_op(leat_importer_t* importer,
                                             const leat_node_def_t* def,
                                             const leat_op_t** out_op);
// Adds the node. If it reads a node that is not imported yet, then |*out_deferred| becomes true and
// nothing is added when |may_defer|; otherwise a Merge is added with that input open, and any other
// node is INVALID_ARGUMENT.
LEAT_MUST_USE leat_status_t leat_importer_add(leat_importer_t* importer,
                                              const leat_node_def_t* def, bool may_defer,
                                              bool* out_deferred);

// ---- order (import_order.c) ---------------------------------------------------------------------

// Adds the |count| nodes that are left at |cursor|, each after its inputs, and closes the loops.
LEAT_MUST_USE leat_status_t leat_importer_add_ordered(leat_importer_t* importer,
                                                      leat_node_cursor_t* cursor, size_t count);

#endif  // LEAT_GRAPH_IMPORT_IMPORTER_H_
