// Between the parts of the pass "cluster": cluster.c says which nodes make a cluster,
// cluster_fusion.c puts one node in their place, cluster_constant.c says how little of a constant
// that node has to read, cluster_reduction.c what it reduces.
#ifndef LEAT_OPTIMIZE_CLUSTER_H_
#define LEAT_OPTIMIZE_CLUSTER_H_

#include "optimize/edit.h"

#define LEAT_CLUSTER_MAX_MEMBERS 160
#define LEAT_CLUSTER_NONE (-1)

// What a node is to a cluster.
typedef enum leat_cluster_role_e {
  LEAT_CLUSTER_STRANGER,
  LEAT_CLUSTER_STEP,       // elementwise, over inputs that are broadcast to one shape or have it
  LEAT_CLUSTER_STRICT,     // elementwise, over inputs of one shape: others are an error
  LEAT_CLUSTER_SUM,        // of n inputs: n - 1 steps
  LEAT_CLUSTER_REPEATED,   // gives what it reads, broadcast to its shape
  LEAT_CLUSTER_PRODUCT,    // of a column and a row
  LEAT_CLUSTER_HANDED_ON,  // gives what it reads
  LEAT_CLUSTER_RESHAPED,   // gives what it reads under another shape: a step without work
  LEAT_CLUSTER_REDUCTION,  // of rows of what it reads: a step that no member reads
  LEAT_CLUSTER_CONSTANT,   // that waits for others
  LEAT_CLUSTER_GROUP,      // gives nothing: others wait for it, and it for members
} leat_cluster_role_t;

typedef struct leat_clusters_s {
  leat_edit_t* edit;
  leat_graph_t* graph;  // the edit's
  const leat_pass_options_t* options;
  const leat_op_t* op;  // _FusedElementwise
  size_t count;         // of the nodes that were there when the pass began: the others have no role
  uint8_t* roles;       // node -> leat_cluster_role_t
  int32_t* cluster_of;  // node
} leat_clusters_t;

// How many steps that compute the node is.
static inline int leat_cluster_steps(const leat_clusters_t* clusters, int32_t node) {
  switch (clusters->roles[node]) {
    case LEAT_CLUSTER_STEP:
    case LEAT_CLUSTER_STRICT:
    case LEAT_CLUSTER_REPEATED:
    case LEAT_CLUSTER_PRODUCT:
    case LEAT_CLUSTER_REDUCTION: return 1;
    case LEAT_CLUSTER_SUM: return clusters->graph->nodes[node].input_count - 1;
    default: return 0;
  }
}

// How many steps of a program it may take.
static inline int leat_cluster_places(const leat_clusters_t* clusters, int32_t node) {
  switch (clusters->roles[node]) {
    case LEAT_CLUSTER_RESHAPED: return 1;
    case LEAT_CLUSTER_PRODUCT: return 4;
    default: return leat_cluster_steps(clusters, node);
  }
}

// |members| of one cluster, inputs first. They stay where one node cannot stand for them.
LEAT_MUST_USE leat_status_t leat_cluster_fuse(const leat_clusters_t* clusters,
                                              const int32_t* members, int count);

// ---- Reductions ---------------------------------------------------------------------------------

// Of the last axes of a node's first input.
typedef struct leat_cluster_reduction_s {
  leat_string_view_t op;
  int64_t axes;
  bool keep_dims;
} leat_cluster_reduction_t;

// False: the node is no such reduction, or it is not known.
bool leat_cluster_find_reduction(const leat_graph_t* graph, const leat_node_t* node,
                                 const leat_pass_options_t* options,
                                 leat_cluster_reduction_t* out_reduction);

// ---- Constants ----------------------------------------------------------------------------------

// What there is to a constant.
typedef enum leat_cluster_part_e {
  LEAT_CLUSTER_WHOLE,
  LEAT_CLUSTER_ELEMENT,  // all have its bits
  LEAT_CLUSTER_ROW,      // of the last dimension: all are alike
  LEAT_CLUSTER_ZERO,     // no part: where a sum of the constant's type begins
} leat_cluster_part_t;

leat_cluster_part_t leat_cluster_find_part(const leat_tensor_t* constant);
bool leat_cluster_is_one(const leat_tensor_t* constant);  // each of its elements
// |out_part| is a scalar, or a vector; or shares all of |constant|.
LEAT_MUST_USE leat_status_t leat_cluster_take_part(const leat_tensor_t* constant,
                                                   leat_cluster_part_t part,
                                                   leat_tensor_t* out_part);
// Is an array of |shape| known to be what one of |operand|, a full shape, is broadcast to? Then a
// part of that one gives the same shape, and no error is lost.
bool leat_cluster_covers(leat_partial_shape_t shape, leat_partial_shape_t operand);

#endif  // LEAT_OPTIMIZE_CLUSTER_H_
