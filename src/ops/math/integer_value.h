// Value functions of integer arithmetic: what is known of small integer tensors while the graph is
// built, so that shapes that were computed are shapes that are known.
#ifndef LEAT_OPS_MATH_INTEGER_VALUE_H_
#define LEAT_OPS_MATH_INTEGER_VALUE_H_

#include "graph/inference.h"

// false: the result is not known (overflow, division by zero).
typedef bool (*leat_integer_pair_fn_t)(int64_t x, int64_t y, int64_t* out_z);
// Scalars and vectors of inputs 0 and 1, broadcast; nothing for types that are not int32 or int64.
LEAT_MUST_USE leat_status_t leat_integer_value_binary(leat_inference_t* c,
                                                      leat_integer_pair_fn_t function);

typedef bool (*leat_integer_fn_t)(int64_t x, int64_t* out_z);
LEAT_MUST_USE leat_status_t leat_integer_value_unary(leat_inference_t* c,
                                                     leat_integer_fn_t function);

// true when input |index| of the node is int32 or int64.
bool leat_integer_value_applies(const leat_inference_t* c, int index);

#endif  // LEAT_OPS_MATH_INTEGER_VALUE_H_
