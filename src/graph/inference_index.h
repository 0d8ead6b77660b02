// What is known, while the graph is built, of the small integer inputs that say where: axes, sizes,
// positions.
#ifndef LEAT_GRAPH_INFERENCE_INDEX_H_
#define LEAT_GRAPH_INFERENCE_INDEX_H_

#include "graph/inference.h"

// What is known of integer input |input| of one element: true and its value, or false.
LEAT_MUST_USE leat_status_t leat_inference_index(leat_inference_t* c, int input, bool* out_is_known,
                                                 int64_t* out_value);
// The same value with input |input|'s own items and count, where all of them are known.
LEAT_MUST_USE leat_status_t leat_inference_indices(leat_inference_t* c, int input,
                                                   bool* out_is_known,
                                                   leat_partial_value_t* out_value);
// The axis of |rank| dimensions (-1: unknown) that scalar input |input| names, negative ones
// resolved where the rank is known; INVALID_ARGUMENT when it is none of them.
LEAT_MUST_USE leat_status_t leat_inference_axis(leat_inference_t* c, int input, int rank,
                                                bool* out_is_known, int* out_axis);
// |shape| with |size| as dimension |axis|.
LEAT_MUST_USE leat_status_t leat_inference_replace_dim(leat_inference_t* c,
                                                       leat_partial_shape_t shape, int axis,
                                                       int64_t size,
                                                       leat_partial_shape_t* out_shape);
// Unknown when |size| is; INVALID_ARGUMENT when |divisor| does not divide it.
LEAT_MUST_USE leat_status_t leat_inference_divide(int64_t size, int64_t divisor, int64_t* out_size);
// Unknown when either is; INVALID_ARGUMENT when the sum overflows or is negative.
LEAT_MUST_USE leat_status_t leat_inference_add(int64_t size, int64_t addend, int64_t* out_size);
// Product of the known sizes and how many are unknown.
LEAT_MUST_USE leat_status_t leat_inference_count(leat_partial_shape_t shape, int64_t* out_count,
                                                 int* out_unknown_count, int* out_unknown_axis);

// Output 0 has the elements of input 0 in their order (value functions of Reshape and its kin).
LEAT_MUST_USE leat_status_t leat_value_rearranged(leat_inference_t* c);

#endif  // LEAT_GRAPH_INFERENCE_INDEX_H_
