// Rewrite rules, by which the author of an op family says which nodes one node of his op can
// replace, and which nodes may change places. A rule is data with two small functions, and lies
// with the op that it makes (ops/nn/epilogue_rules.c). The optimizer, which applies it
// (optimize/rules.c), therefore knows no op:
//
//   x ─▶ MatMul ─▶ Reshape ─▶ BiasAdd ─▶       a rule without |through| has no node in the middle
//        producer  through    root
//
// The optimizer finds the nodes and makes sure that all of them from producer to root may
// disappear: each is pure, is read by the next one alone, lies on the root's device, and has the
// root's conditions (optimize/conditions.h). It then asks |applies|, and |make| adds the nodes that
// replace the root. The new nodes wait for whatever the old ones waited for; a node that waited for
// an old one waits for the inputs of that one instead.
//
// Nodes that a rule adds are visited too, so that a chain of ops becomes one node step by step. Two
// rules that undo each other would never end; so each rule must make the graph simpler, or move an
// op in one direction only.
#ifndef LEAT_GRAPH_REWRITE_RULE_H_
#define LEAT_GRAPH_REWRITE_RULE_H_

#include "graph/graph.h"

typedef struct leat_rewrite_match_s {
  const leat_graph_t* graph;  // adding a node invalidates pointers to its nodes
  int32_t root;      // the node that the nodes of |make| replace
  int32_t producer;  // the node at the other end, of which output 0 is read; -1: the rule has none
  int32_t through;   // the node between them; -1: none, the root reads the producer
  int side;          // the input of the root that leads to them
  leat_arena_t* arena;  // until the pass ends
  // Adds a node named after the root. NOT_FOUND where no kernel serves it on the root's device; the
  // rule returns that status, and the optimizer then treats the rule as one that does not apply.
  leat_status_t (*add)(struct leat_rewrite_match_s* match, const char* op, leat_node_spec_t* spec,
                       leat_output_t* out_output);
  void* optimizer;  // for |add|
} leat_rewrite_match_t;

typedef struct leat_rewrite_rule_s {
  const char* name;      // "product_bias"
  const char* root;      // names of ops, "BiasAdd|BiasAddV1"
  const char* producer;  // likewise; NULL: the rule looks at the root only
  const char* through;   // likewise; NULL: the root reads the producer
  bool keeps_shape;      // output 0 of the root has the shape of the producer's
  bool commutes;         // the producer may be at input 0 or 1 of the root; else it is at input 0
  // Whether shapes, types and attributes allow the rewrite. NULL: they always do.
  bool (*applies)(const leat_rewrite_match_t* match);
  // Adds the new nodes. |*out_by| replaces output 0 of the root, the only one that is read.
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

// Adds a constant int64 vector of |count| items.
LEAT_MUST_USE leat_status_t leat_rewrite_add_vector(leat_rewrite_match_t* match,
                                                    const int64_t* items, int count,
                                                    leat_output_t* out_vector);

#endif  // LEAT_GRAPH_REWRITE_RULE_H_
