// Patterns: the attributes of nodes as they are written in a file. Most nodes of a file have the op
// and, byte for byte, the attributes of an earlier node, except for "_class", which names the node
// with which they are colocated. What the earlier node's attributes resolved to is then right for
// them too, and import neither reads nor checks them again (leat_graph_add_like).
//
//   encoded attributes:  | before | "_class" entry, if there is one | after |
//
// The node reader (node_def_reader.c) looks patterns up, first by a glance at a node's last bytes
// and then by the hash of all bytes, and the importer adds the nodes that were not found. A table
// may lead to the wrong pattern, but the bytes are compared before a pattern is used. Patterns
// belong to one import and one thread.
#ifndef LEAT_GRAPH_IMPORT_NODE_PATTERN_H_
#define LEAT_GRAPH_IMPORT_NODE_PATTERN_H_

#include "graph/graph.h"

// How a node is written: the bytes of its attributes around "_class". Borrowed.
typedef struct leat_node_writing_s {
  leat_string_view_t op;
  leat_string_view_t before, after;
  bool has_class;
  uint32_t glance;  // leat_node_patterns_glance of all its attributes
} leat_node_writing_t;

// A node that later ones may repeat.
typedef struct leat_node_pattern_s {
  const leat_op_t* op;
  const char *before, *after;  // borrowed from the file
  uint16_t before_bytes, after_bytes;
  bool has_class;
  bool claims_shapes;  // it has an "_output_shapes", which its output shapes equal
  int32_t node;  // the first node of the graph that is written so
} leat_node_pattern_t;

// The number of different glances, and of places in the table of guesses.
#define LEAT_NODE_PATTERN_GUESSES 2048

// The patterns of one file. When |capacity| is reached no more are added.
typedef struct leat_node_patterns_s {
  leat_allocator_t* allocator;
  leat_node_pattern_t* items;
  size_t count, capacity;
  // Direct-mapped tables of item + 1, 0 for none; NULL when no patterns are kept.
  uint16_t* places;   // by the hash of the writing
  uint16_t* guesses;  // by its glance
} leat_node_patterns_t;

// Patterns for a file of about |node_count| nodes; a small file gets none, and all functions then
// find nothing. The patterns are to be deinitialized even after a failure.
LEAT_MUST_USE leat_status_t leat_node_patterns_initialize(leat_allocator_t* allocator,
                                                          size_t node_count,
                                                          leat_node_patterns_t* out_patterns);
void leat_node_patterns_deinitialize(leat_node_patterns_t* patterns);
// A word that differs for most ops: the length and the first letter of the name.
static inline uint64_t leat_node_patterns_op_word(leat_string_view_t op) {
  return op.size ? op.size << 8 | (uint8_t)op.data[0] : 0;
}
// A weak hash of a node's op, the length of its encoded attributes and their last sixteen bytes. It
// costs the same for any node and differs for most patterns, and the entries need not be found for
// it.
static inline uint32_t leat_node_patterns_glance(leat_string_view_t op, leat_string_view_t attrs) {
  uint64_t tail = 0, before = 0;
  if (attrs.size >= sizeof(tail)) {
    size_t at = attrs.size - sizeof(tail);
    memcpy(&tail, attrs.data + at, sizeof(tail));
    memcpy(&before, attrs.data + (at > sizeof(tail) ? at - sizeof(tail) : 0), sizeof(before));
  }
  uint64_t word = attrs.size << 20 ^ leat_node_patterns_op_word(op);
  return leat_hash_fold(tail ^ UINT64_C(0x9e3779b97f4a7c15), before ^ word) %
         LEAT_NODE_PATTERN_GUESSES;
}
// The pattern that was last seen with |glance|, or NULL. It may be wrong: see
// leat_node_pattern_matches.
static inline const leat_node_pattern_t* leat_node_patterns_guess(
    const leat_node_patterns_t* patterns, uint32_t glance) {
  size_t item = patterns->guesses ? patterns->guesses[glance] : 0;
  return item ? &patterns->items[item - 1] : NULL;
}
// Whether the node of |writing| has exactly the bytes and the op of |pattern|.
bool leat_node_pattern_matches(const leat_node_pattern_t* pattern,
                               const leat_node_writing_t* writing);
// The pattern of a node that is written as |writing|, or NULL. |*out_place| is for
// leat_node_patterns_add.
const leat_node_pattern_t* leat_node_patterns_find(leat_node_patterns_t* patterns,
                                                   const leat_node_writing_t* writing,
                                                   uint32_t* out_place);
// Remembers |node|, of |op| and written as |writing|, as a pattern. The bytes must outlive the
// patterns. Does nothing when there is no room.
void leat_node_patterns_add(leat_node_patterns_t* patterns, const leat_node_writing_t* writing,
                            uint32_t place, const leat_op_t* op, int32_t node, bool claims_shapes);

#endif  // LEAT_GRAPH_IMPORT_NODE_PATTERN_H_
