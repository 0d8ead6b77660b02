// How the rows of ops are written: what the source of a definition (src/ops/<family>/<noun>.c)
// includes. It sees the graph and not the kernels, so that nothing in a definition can depend on
// how a device computes the op.
#ifndef LEAT_OPS_OP_ROWS_H_
#define LEAT_OPS_OP_ROWS_H_

#include "graph/op/op.h"

// Ends a table of op rows.
#define LEAT_OP_ROWS_END {.name = 0}

// A row of an op; behind its description may stand further fields.
#define LEAT_OP_ROW(op, ins, outs, types, shape_fn, gradient_fn, ...) \
  {.name = op,                                                        \
   .inputs = ins,                                                     \
   .outputs = outs,                                                   \
   .attrs = types,                                                    \
   .shape = shape_fn,                                                 \
   .gradient = gradient_fn,                                           \
   .doc = __VA_ARGS__}

#endif  // LEAT_OPS_OP_ROWS_H_
