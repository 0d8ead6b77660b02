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
  const leat_op_t* op;  // NULL: none yet
  const char* before;
  const char* after;
  uint16_t before_bytes, after_bytes;
  bool has_class;
  bool claims_shapes;  // "_output_shapes" says what the node's shapes are
  int32_t node;        // the first one that was written so
} leat_node_pattern_t;

typedef struct leat_node_patterns_s {
  leat_allocator_t* allocator;
  leat_arena_t arena;
  leat_node_pattern_t* items;  // by hash: the last one that fell there
  size_t capacity;             // a power of two; 0: nodes are not compared
} leat_node_patterns_t;

// For a file of |node_count| nodes, whose bytes outlive the patterns.
LEAT_MUST_USE leat_status_t leat_node_patterns_initialize(leat_allocator_t* allocator,
                                                          size_t node_count,
                                                          leat_node_patterns_t* out_patterns);
void leat_node_patterns_deinitialize(leat_node_patterns_t* patterns);
// The pattern's place, NULL when such a node has none; |*out_known|: it is there.
leat_node_pattern_t* leat_node_patterns_find(const leat_node_patterns_t* patterns,
                                             const leat_node_writing_t* writing, bool* out_known);
// |node| of |graph|, which is written so, is one that others will be like.
LEAT_MUST_USE leat_status_t leat_node_pattern_learn(leat_node_patterns_t* patterns, const leat_node_writing_t* writing, const leat_graph_t* graph,
                             int32_t node, bool claims_shapes, leat_node_pattern_t* pattern);

#endif  // LEAT_GRAPH_NODE_PATTERN_H_
