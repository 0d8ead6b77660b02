// How the rows of ops are written: what the source of a definition (src/ops/<family>/<noun>.c)
// includes. It sees the graph and not the kernels, so that nothing in a definition can depend on
// how a device computes the op. The source ends with its table, which the family's list names
// (ops/family.h):
//
//   const leat_op_row_t leat_l2_loss_ops[] = {
//       LEAT_OP_ROW("L2Loss", "t: T", "output: T", "T: {half, float}", shape, gradient, "..."),
//       LEAT_OP_ROWS_END,
//   };
#ifndef LEAT_OPS_OP_ROWS_H_
#define LEAT_OPS_OP_ROWS_H_

#include "graph/op/op.h"

// Ends a table of op rows.
#define LEAT_OP_ROWS_END {.name = 0}

// A row of an op. The first four arguments are texts in the mini-language of graph/op/op_parse.c;
// |shape_fn| and |gradient_fn| may be NULL; behind the description may stand further fields, such
// as .flags.
#define LEAT_OP_ROW(op, ins, outs, types, shape_fn, gradient_fn, ...) \
  {.name = op,                                                        \
   .inputs = ins,                                                     \
   .outputs = outs,                                                   \
   .attrs = types,                                                    \
   .shape = shape_fn,                                                 \
   .gradient = gradient_fn,                                           \
   .doc = __VA_ARGS__}

#endif  // LEAT_OPS_OP_ROWS_H_
