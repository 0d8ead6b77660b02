// Rewrite rules: what the author of an op family says about nodes for which the op stands, or which
// may change places. A rule is data with two small functions and lies with the op that it makes
// (ops/nn/epilogue_rules.c), so that the optimizer, which applies it (optimize/rules.c), names no
// op:
//
//   through (perhaps)             x ─▶ MatMul ─▶ Reshape ─▶ BiasAdd ─▶
//   root                               producer  through    root
//
// The optimizer finds the nodes, sees to it that those between producer and root may go (each is
// pure, read by the next one alone, on the same device, and comes under the same conditions), asks
// |applies|, and lets |make| add what stands for the root. What the vanished nodes waited for, the
// new nodes wait for; who waited for them waits for what they read.
//
// A rule may be applied to what another rule made: nodes that rules add are visited too, so a chain
// of ops goes into one node step by step. A rule that undoes another one would never end; each rule
// must make the graph simpler, or move an op in one direction.
#ifndef LEAT_GRAPH_REWRITE_RULE_H_
#define LEAT_GRAPH_REWRITE_RULE_H_

#include "graph/graph.h"

typedef struct leat_rewrite_match_s {
  const leat_graph_t* graph;  // nodes may move when one is added
  int32_t root;      // the node in whose place |make| puts another
  int32_t producer;  // the node at the other end, of which output 0 is read; -1: the rule has none
  int32_t through;   // the node between them; -1: none, the root reads the producer
  int side;          // the root's input on whose way they lie
  leat_arena_t* arena;  // until the pass ends
  // Adds a node named after the root. NOT_FOUND where no kernel serves it on the root's device: a
  // rule hands that on, and is then as if it had not applied.
  leat_status_t (*add)(struct leat_rewrite_match_s* match, const char* op, leat_node_spec_t* spec,
                       leat_output_t* out_output);
  void* optimizer;  // for |add|
} leat_rewrite_match_t;

typedef struct leat_rewrite_rule_s {
  const char* name;      // "product_bias"
  const char* root;      // names of ops, "BiasAdd|BiasAddV1"
  const char* producer;  // likewise; NULL: the root is all that there is
  const char* through;   // likewise, ops one of which stands between; NULL: nothing does
  bool keeps_shape;      // output 0 of the root has the shape of the producer's
  bool commutes;         // the producer may be at input 0 or 1 of the root; else it is at input 0
  // Whether shapes, types and attributes allow it. NULL: always.
  bool (*applies)(const leat_rewrite_match_t* match);
  // Adds the new nodes. |*out_by| stands for output 0 of the root; nobody reads another one.
  leat_status_t (*make)(leat_rewrite_match_t* match, leat_output_t* out_by);
  const char* doc;  // one line: "x w + b in one node"
} leat_rewrite_rule_t;

// Ends a table of rules.
#define LEAT_REWRITE_RULES_END {.name = 0}

static inline const leat_node_t* leat_rewrite_root(const leat_rewrite_match_t* match) {
  return leat_graph_node(match->graph, match->root);
}
static inline const leat_node_t* leat_rewrite_producer(const leat_rewrite_match_t* match) {
  return leat_graph_node(match->graph, match->producer);
}

#endif  // LEAT_GRAPH_REWRITE_RULE_H_
