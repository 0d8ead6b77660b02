// The access relation of a node, operand by operand: along which axes a kernel walks its operands
// while it computes. Every node of a known access (kernel/kernel.h) is seen as one loop over a
// domain, whose axes are those of its output, followed by the axes over which it combines elements:
//
//   MatMul   a [m, k], b [k, n] -> [m, n]   domain (m, n, k): a runs along m, k, and b along k, n
//   Sum      x [m, k], axes 1   -> [m]      domain (m, k):    x runs along both axes
//   AddV2    x [m, n], b [n]    -> [m, n]   domain (m, n):    x runs along both, b along n
//   Gather   t [v, n], i [m]    -> [m, n]   domain (m, n):    i runs along m, t along n; the axis v
//                                           belongs to no axis of the domain: rows are looked up
//
// If an operand is cut along one of its axes, then the domain is cut there, and with it every other
// operand that runs along the same axis; operands that do not are read again for each piece. That
// tells which nodes commute with a concatenation (optimize/concat_sinking.c). All functions are
// pure.
#ifndef LEAT_OPTIMIZE_DOMAIN_H_
#define LEAT_OPTIMIZE_DOMAIN_H_

#include "optimize/pass.h"

#define LEAT_DOMAIN_MAX_RANK 16
#define LEAT_AXIS_NONE (-1)

typedef struct leat_domain_s {
  const leat_graph_t* graph;
  const leat_node_t* node;
  leat_access_t access;
  int rank;      // axes of output 0, with which the domain begins
  int combined;  // axes over which elements are combined, behind them
  int8_t axes[LEAT_DOMAIN_MAX_RANK];  // of operand 0, where the access does not tell them by itself
} leat_domain_t;

// Finds the domain of a placed node. False where its access is none of those that walk operands
// axis by axis, or where ranks, or constants on which the relation depends, are not known.
bool leat_domain_find(const leat_graph_t* graph, const leat_node_t* node,
                      const leat_pass_options_t* options, leat_domain_t* out_domain);
// The axis of operand |operand| that runs along axis |axis| of the domain; NONE where all indices
// along |axis| read the same elements of the operand. The dimension can be 1 although that of the
// domain is larger: the operand is then repeated, if leat_domain_repeats.
int leat_domain_operand_axis(const leat_domain_t* domain, int operand, int axis);
// The axis of the domain along which axis |operand_axis| of operand |operand| runs; NONE where each
// element of the output may need any index of it.
int leat_domain_axis(const leat_domain_t* domain, int operand, int operand_axis);
// Whether operands are broadcast.
bool leat_domain_repeats(const leat_domain_t* domain);

// The constant that node |index| is or forwards; NULL: it is none. |*out_waits|, unless |out_waits|
// is NULL, tells whether the constant or a node that forwards it has control inputs, so that it may
// come late or be dead.
const leat_tensor_t* leat_constant_behind(const leat_graph_t* graph, int32_t index,
                                          bool* out_waits);
// The axis of a tensor of |rank| that |axis| names, which counts from the end where it is negative;
// NONE where it names none. |rank| -1 has no axes.
int leat_axis_in_rank(int64_t axis, int rank);
// The axis of a tensor of |rank| that the scalar constant |axis| names; NONE where it names none.
int leat_axis_of_constant(const leat_tensor_t* axis, int rank);

#endif  // LEAT_OPTIMIZE_DOMAIN_H_
