// What the files of the pass "fusion" share. The pass replaces elementwise nodes that read each
// other by one node that computes them in one loop, so that values between them never reach memory.
// fusion.c finds fusion regions, sets of nodes that one node can replace; fusion_program.c makes
// that node; fusion_constant.c finds how little of a constant the node has to read;
// fusion_reduction.c finds the reductions with which a region may end. A region may not contain a
// path that leaves it and comes back, since its node would wait for itself.
#ifndef LEAT_OPTIMIZE_FUSION_H_
#define LEAT_OPTIMIZE_FUSION_H_

#include "optimize/edit.h"

#define LEAT_FUSION_MAX_MEMBERS 160
#define LEAT_FUSION_NONE (-1)

// What a node is within a region.
typedef enum leat_fusion_role_e {
  LEAT_FUSION_OUTSIDER,   // no member of any region
  LEAT_FUSION_STEP,       // elementwise; the inputs have one shape or are broadcast to one
  LEAT_FUSION_STRICT,     // elementwise; inputs whose shapes differ are an error
  LEAT_FUSION_SUM,        // a sum of n inputs: n - 1 steps
  LEAT_FUSION_REPEATED,   // its input, broadcast to the shape of its output
  LEAT_FUSION_PRODUCT,    // the matrix product of a column and a row
  LEAT_FUSION_FORWARDED,  // an Identity
  LEAT_FUSION_RESHAPED,   // a Reshape: a step that computes nothing
  LEAT_FUSION_REDUCTION,  // reduces the rows of its input: a step that no other member reads
  LEAT_FUSION_CONSTANT,   // a constant with control inputs
  LEAT_FUSION_GROUP,      // a NoOp: it waits for members, and other nodes wait for it
} leat_fusion_role_t;

typedef struct leat_fusion_s {
  leat_edit_t* edit;
  leat_graph_t* graph;  // the edit's
  const leat_pass_options_t* options;
  const leat_op_t* op;  // _FusedElementwise
  size_t count;         // nodes when the pass began; nodes added since have no role
  uint8_t* roles;       // node -> leat_fusion_role_t
  int32_t* region_of;   // node -> the number of its region; LEAT_FUSION_NONE: none
} leat_fusion_t;

// How many steps with arithmetic the node is.
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

// How many steps of a program the node takes at most. A product takes four: a reshape of each side,
// the multiplication, and the addition to 0.
static inline int leat_fusion_places(const leat_fusion_t* fusion, int32_t node) {
  switch (fusion->roles[node]) {
    case LEAT_FUSION_RESHAPED: return 1;
    case LEAT_FUSION_PRODUCT: return 4;
    default: return leat_fusion_steps(fusion, node);
  }
}

// In a few words what the pass makes of nodes of |op|, whose kernel has |access|; NULL: it leaves
// them alone. Which ones it takes depends on their shapes besides.
const char* leat_fusion_form(const leat_op_row_t* op, leat_access_t access);

// Replaces |members|, the nodes of one region in topological order, by one node. Leaves them as
// they are where the program would be too large, have no output, or read nothing but constants.
LEAT_MUST_USE leat_status_t leat_fusion_make(const leat_fusion_t* fusion, const int32_t* members,
                                             int count);

// ---- Reductions ---------------------------------------------------------------------------------

// A reduction over the last axes of a node's first input.
typedef struct leat_fusion_reduction_s {
  leat_string_view_t op;
  int64_t axes;  // how many
  bool keep_dims;
} leat_fusion_reduction_t;

// False where the node is no such reduction, or its axes are not known.
bool leat_fusion_find_reduction(const leat_graph_t* graph, const leat_node_t* node,
                                const leat_pass_options_t* options,
                                leat_fusion_reduction_t* out_reduction);

// ---- Constants ----------------------------------------------------------------------------------

// The part of a constant that determines all of it, which is all that a program has to read.
typedef enum leat_fusion_extent_e {
  LEAT_FUSION_WHOLE,    // the whole constant
  LEAT_FUSION_ELEMENT,  // one element: all have the same bits
  LEAT_FUSION_ROW,      // one row along the last dimension: all rows are equal
  LEAT_FUSION_ZERO,     // no part of a constant, but a scalar 0 of the type, at which a sum begins
} leat_fusion_extent_t;

leat_fusion_extent_t leat_fusion_find_extent(const leat_tensor_t* constant);
// Whether every element is 1.
bool leat_fusion_is_one(const leat_tensor_t* constant);
// |out_constant| is a scalar (ELEMENT), a vector (ROW), or shares the buffer of |constant| (WHOLE).
LEAT_MUST_USE leat_status_t leat_fusion_take_extent(const leat_tensor_t* constant,
                                                    leat_fusion_extent_t extent,
                                                    leat_tensor_t* out_constant);
// Whether broadcasting an array of |operand|, a full shape, with an array of |shape| is known to
// give |shape|. A program may then read a mere part of that operand: the result has the same shape,
// and no error for shapes that do not fit is lost.
bool leat_fusion_covers(leat_partial_shape_t shape, leat_partial_shape_t operand);

#endif  // LEAT_OPTIMIZE_FUSION_H_
