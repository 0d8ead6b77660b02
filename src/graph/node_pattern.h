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
} leat_node_writing_t;

typedef struct leat_node_pattern_s {
  const leat_op_t* op;
  const char *before, *after;  // in the file
  uint16_t before_bytes, after_bytes;
  bool has_class;
  bool claims_shapes;  // "_output_shapes" says what the node's shapes are
  uint16_t next;       // item + 1 of what came behind such a node the last time; 0: nothing
  int32_t node;        // the first one that was written so
} leat_node_pattern_t;

typedef struct leat_node_patterns_s {
  leat_allocator_t* allocator;
  leat_node_pattern_t* items;
  size_t count;
  uint16_t last;     // item + 1 of the node before; 0: there is none
  uint16_t* places;  // by hash: item + 1, of the last one that fell there; NULL: none are kept
} leat_node_patterns_t;

// For a file of |node_count| nodes.
LEAT_MUST_USE leat_status_t leat_node_patterns_initialize(leat_allocator_t* allocator,
                                                          size_t node_count,
                                                          leat_node_patterns_t* out_patterns);
void leat_node_patterns_deinitialize(leat_node_patterns_t* patterns);
// What the next node is probably written like, as nodes follow each other in files; or NULL.
static inline const leat_node_pattern_t* leat_node_patterns_guess(
    const leat_node_patterns_t* patterns) {
  if (!patterns->last) return NULL;
  uint16_t next = patterns->items[patterns->last - 1].next;
  return next ? &patterns->items[next - 1] : NULL;
}
// Is the next node written like |guess|?
bool leat_node_patterns_confirm(leat_node_patterns_t* patterns, const leat_node_pattern_t* guess,
                                const leat_node_writing_t* writing);
// The pattern of the next node, which is written so, or NULL; |*out_place| is where it belongs.
const leat_node_pattern_t* leat_node_patterns_find(leat_node_patterns_t* patterns,
                                                   const leat_node_writing_t* writing,
                                                   uint32_t* out_place);
// |node|, of |op|, which is written so, is one that others will be like. The bytes must outlive the
// patterns.
void leat_node_patterns_add(leat_node_patterns_t* patterns, const leat_node_writing_t* writing,
                            uint32_t place, const leat_op_t* op, int32_t node,
                            bool claims_shapes);

#endif  // LEAT_GRAPH_NODE_PATTERN_H_
