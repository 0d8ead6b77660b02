// What the files of the pass "fusion" share. fusion.c finds the regions of nodes that one node
// shall stand for, fusion_program.c makes that node, fusion_constant.c finds how little of a
// constant it has to read, and fusion_reduction.c which reductions it may end with.
#ifndef LEAT_OPTIMIZE_FUSION_H_
#define LEAT_OPTIMIZE_FUSION_H_

#include "optimize/edit.h"

#define LEAT_FUSION_MAX_MEMBERS 160
#define LEAT_FUSION_NONE (-1)

// What a node is to a region.
typedef enum leat_fusion_role_e {
  LEAT_FUSION_OUTSIDER,
  LEAT_FUSION_STEP,       // elementwise, over inputs that are broadcast to one shape or have it
  LEAT_FUSION_STRICT,     // elementwise, over inputs of one shape: others are an error
  LEAT_FUSION_SUM,        // of n inputs: n - 1 steps
  LEAT_FUSION_REPEATED,   // gives what it reads, broadcast to its shape
  LEAT_FUSION_PRODUCT,    // of a column and a row
  LEAT_FUSION_FORWARDED,  // gives what it reads
  LEAT_FUSION_RESHAPED,   // gives what it reads under another shape: a step without work
  LEAT_FUSION_REDUCTION,  // of rows of what it reads: a step that no member reads
  LEAT_FUSION_CONSTANT,   // that waits for others
  LEAT_FUSION_GROUP,      // gives nothing: others wait for it, and it for members
} leat_fusion_role_t;

typedef struct leat_fusion_s {
  leat_edit_t* edit;
  leat_graph_t* graph;  // the edit's
  const leat_pass_options_t* options;
  const leat_op_t* op;  // _FusedElementwise
  size_t count;         // of the nodes that were there when the pass began: the others have no role
  uint8_t* roles;       // node -> leat_fusion_role_t
  int32_t* region_of;   // node
} leat_fusion_t;

// How many steps that compute the node is.
static inline int leat_fusion_steps(const leat_fusion_t* fusion, int32_t node) {
  switch (fusion->roles[node]) {
    case LEAT_FUSION_STEP:
    case LEAT_FUSION_STRICT:
    case LEAT_FUSION_REPEATED:
    case LEAT_FUSION_PRODUCT:
    case LEAT_FUSION_REDUCTION: return 1;
    case LEAT_FUSION_SUM: return fusion->graph->nodes[node].input_count - 1;
    default: return 0;
  }
}

// How many steps of a program it may take.
static inline int leat_fusion_places(const leat_fusion_t* fusion, int32_t node) {
  switch (fusion->roles[node]) {
    case LEAT_FUSION_RESHAPED: return 1;
    case LEAT_FUSION_PRODUCT: return 4;
    default: return leat_fusion_steps(fusion, node);
  }
}

// |members| of one region, inputs first. They stay where one node cannot stand for them.
LEAT_MUST_USE leat_status_t leat_fusion_make(const leat_fusion_t* fusion, const int32_t* members,
                                             int count);

// ---- Reductions ---------------------------------------------------------------------------------

// Of the last axes of a node's first input.
typedef struct leat_fusion_reduction_s {
  leat_string_view_t op;
  int64_t axes;
  bool keep_dims;
} leat_fusion_reduction_t;

// False: the node is no such reduction, or it is not known.
bool leat_fusion_find_reduction(const leat_graph_t* graph, const leat_node_t* node,
                                 const leat_pass_options_t* options,
                                 leat_fusion_reduction_t* out_reduction);

// ---- Constants ----------------------------------------------------------------------------------

// What there is to a constant.
typedef enum leat_fusion_part_e {
  LEAT_FUSION_WHOLE,
  LEAT_FUSION_ELEMENT,  // all have its bits
  LEAT_FUSION_ROW,      // of the last dimension: all are alike
  LEAT_FUSION_ZERO,     // no part: where a sum of the constant's type begins
} leat_fusion_part_t;

leat_fusion_part_t leat_fusion_find_part(const leat_tensor_t* constant);
bool leat_fusion_is_one(const leat_tensor_t* constant);  // each of its elements
// |out_part| is a scalar, or a vector; or shares all of |constant|.
LEAT_MUST_USE leat_status_t leat_fusion_take_part(const leat_tensor_t* constant,
                                                   leat_fusion_part_t part,
                                                   leat_tensor_t* out_part);
// Is an array of |shape| known to be what one of |operand|, a full shape, is broadcast to? Then a
// part of that one gives the same shape, and no error is lost.
bool leat_fusion_covers(leat_partial_shape_t shape, leat_partial_shape_t operand);

#endif  // LEAT_OPTIMIZE_FUSION_H_
