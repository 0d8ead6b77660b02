// Value inference for integer arithmetic. Programs compute shapes with ordinary ops (slices,
// products, quotients of sizes); shape inference follows the values of small integer tensors
// through these ops, so that a shape which was computed from known sizes is known while the graph
// is built. The value functions of unary.c, binary.c and cast.c call this file.
#ifndef LEAT_OPS_MATH_INTEGER_VALUE_H_
#define LEAT_OPS_MATH_INTEGER_VALUE_H_

#include "graph/inference/inference.h"

// Computes |*out_z|; false when the value cannot be known (overflow, division by zero).
typedef bool (*leat_integer_pair_fn_t)(int64_t x, int64_t y, int64_t* out_z);
// Infers the values of output 0 from those of inputs 0 and 1, scalars or vectors, which broadcast.
// Does nothing when a value is unknown altogether, or the type is not int32 or int64.
LEAT_MUST_USE leat_status_t leat_integer_value_binary(leat_inference_t* c,
                                                      leat_integer_pair_fn_t function);

// Finds the small integer values of an op of one operand.
typedef bool (*leat_integer_fn_t)(int64_t x, int64_t* out_z);
LEAT_MUST_USE leat_status_t leat_integer_value_unary(leat_inference_t* c,
                                                     leat_integer_fn_t function);

// true when input |index| of the node is int32 or int64.
bool leat_integer_value_applies(const leat_inference_t* c, int index);

#endif  // LEAT_OPS_MATH_INTEGER_VALUE_H_
