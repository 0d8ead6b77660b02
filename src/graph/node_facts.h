// Facts about a node that follow from the graph alone, whatever kernel serves the node: what the
// passes of the optimizer and the rewrite rules of op families (rewrite_rule.h) ask alike. "Known"
// is what holds in every run. All functions are pure; the graph must not change while they run.
#ifndef LEAT_GRAPH_NODE_FACTS_H_
#define LEAT_GRAPH_NODE_FACTS_H_

#include "graph/graph.h"

// Whether the shapes of all data inputs are known and equal.
bool leat_node_has_one_shape(const leat_graph_t* graph, const leat_node_t* node);
// Whether input 1 is a vector that is known to be as long as the last dimension of input 0.
bool leat_node_adds_bias(const leat_graph_t* graph, const leat_node_t* node);
// Whether all attributes have their defaults, apart from types and the number of inputs, which a
// step of a fused program has as well. The op must have inputs.
bool leat_node_has_default_attrs(const leat_node_t* node);
// Whether every element is the neutral one that |identities| (leat_identity_e) names. False for a
// tensor that is too large to look at.
bool leat_tensor_is_neutral(const leat_tensor_t* tensor, unsigned identities);
// Whether the node, a matrix product, has default attributes, a constant column of ones as input 1,
// and an input 0 that is known to be a matrix with as many columns, two or more. It then sums the
// rows of input 0, apart from the order of additions.
bool leat_node_multiplies_ones(const leat_graph_t* graph, const leat_node_t* node);

#endif  // LEAT_GRAPH_NODE_FACTS_H_
