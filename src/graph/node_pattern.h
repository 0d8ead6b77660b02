// Nodes that are written alike. Most nodes of a file have the op and, byte for byte, the attributes
// of one before them, but for what they are colocated with ("_class"): what that one came to is
// theirs too, and nothing of it is read or resolved again.
#ifndef LEAT_GRAPH_NODE_PATTERN_H_
#define LEAT_GRAPH_NODE_PATTERN_H_

#include "graph/graph.h"

// The encoded attributes of a node: |before|, its "_class", |after|.
typedef struct leat_node_writing_s {
  leat_string_view_t op;
  leat_string_view_t before, after;
  bool has_class;
  uint32_t glance;  // leat_node_patterns_glance of it
} leat_node_writing_t;

typedef struct leat_node_pattern_s {
  const leat_op_t* op;
  const char *before, *after;  // in the file
  uint16_t before_bytes, after_bytes;
  bool has_class;
  bool claims_shapes;  // "_output_shapes" says what the node's shapes are
  int32_t node;        // the first one that was written so
} leat_node_pattern_t;

#define LEAT_NODE_PATTERN_GUESSES 2048

typedef struct leat_node_patterns_s {
  leat_allocator_t* allocator;
  leat_node_pattern_t* items;
  size_t count, capacity;
  // Item + 1, of the last one that fell there; NULL: none are kept.
  uint16_t* places;   // by hash
  uint16_t* guesses;  // by a mere glance
} leat_node_patterns_t;

// For a file of about |node_count| nodes.
LEAT_MUST_USE leat_status_t leat_node_patterns_initialize(leat_allocator_t* allocator,
                                                          size_t node_count,
                                                          leat_node_patterns_t* out_patterns);
void leat_node_patterns_deinitialize(leat_node_patterns_t* patterns);
// Tells most ops apart whose names are equally long.
static inline uint64_t leat_node_patterns_op_word(leat_string_view_t op) {
  return op.size ? op.size << 8 | (uint8_t)op.data[0] : 0;
}
// A mere glance at the encoded attributes of a node of |op|. It tells most patterns apart, and to
// take it nothing needs to be found among the attributes.
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
// What a node that looks so is probably written like; or NULL.
static inline const leat_node_pattern_t* leat_node_patterns_guess(
    const leat_node_patterns_t* patterns, uint32_t glance) {
  size_t item = patterns->guesses ? patterns->guesses[glance] : 0;
  return item ? &patterns->items[item - 1] : NULL;
}
bool leat_node_pattern_matches(const leat_node_pattern_t* pattern,
                               const leat_node_writing_t* writing);
// The pattern of a node that is written so, or NULL; |*out_place| is where it belongs.
const leat_node_pattern_t* leat_node_patterns_find(leat_node_patterns_t* patterns,
                                                   const leat_node_writing_t* writing,
                                                   uint32_t* out_place);
// |node|, of |op|, which is written so, is one that others will be like. The bytes must outlive the
// patterns.
void leat_node_patterns_add(leat_node_patterns_t* patterns, const leat_node_writing_t* writing,
                            uint32_t place, const leat_op_t* op, int32_t node, bool claims_shapes);

#endif  // LEAT_GRAPH_NODE_PATTERN_H_
