// A function as an op: its signature said in the mini-language, as a row in an op family is.
#ifndef LEAT_GRAPH_FUNCTION_OP_H_
#define LEAT_GRAPH_FUNCTION_OP_H_

#include "formats/generated/op_def.h"
#include "graph/op.h"

// The op lies in |arena|. INVALID_ARGUMENT for a signature that is none.
LEAT_MUST_USE leat_status_t leat_function_op_make(const leat_pb_op_def_t* signature,
                                                  leat_arena_t* arena, leat_op_t** out_op);

#endif  // LEAT_GRAPH_FUNCTION_OP_H_
