// A function of a graph as an op: its signature becomes a row in the mini-language and is parsed as
// the row of any op is, so that nodes, shape inference and checks treat a call by name as they
// treat other nodes.
#ifndef LEAT_GRAPH_FUNCTION_FUNCTION_OP_H_
#define LEAT_GRAPH_FUNCTION_FUNCTION_OP_H_

#include "formats/generated/op_def.h"
#include "graph/op/op.h"

// Makes the op of |signature| in |arena|. INVALID_ARGUMENT when the signature cannot be an op's.
LEAT_MUST_USE leat_status_t leat_function_op_make(const leat_pb_op_def_t* signature,
                                                  leat_arena_t* arena, leat_op_t** out_op);

#endif  // LEAT_GRAPH_FUNCTION_FUNCTION_OP_H_
