// Tools of shape functions for inputs that are indices, axes or sizes: what is known of their
// values while the graph is built, and arithmetic on dimensions that may be unknown.
#ifndef LEAT_GRAPH_INFERENCE_INFERENCE_INDEX_H_
#define LEAT_GRAPH_INFERENCE_INFERENCE_INDEX_H_

#include "graph/inference/inference.h"

// The value of integer input |input| of one element, if it is known.
LEAT_MUST_USE leat_status_t leat_inference_index(leat_inference_t* c, int input, bool* out_is_known,
                                                 int64_t* out_value);
// What is known of the value of input |input|; |*out_is_known| becomes whether all of its items
// are.
LEAT_MUST_USE leat_status_t leat_inference_indices(leat_inference_t* c, int input,
                                                   bool* out_is_known,
                                                   leat_partial_value_t* out_value);
// The axis that scalar input |input| names in a shape of |rank| (-1: unknown). A negative axis is
// resolved, and counts as not known where the rank is not known. INVALID_ARGUMENT when it is out of
// range.
LEAT_MUST_USE leat_status_t leat_inference_axis(leat_inference_t* c, int input, int rank,
                                                bool* out_is_known, int* out_axis);
// |shape| with |size| in the place of dimension |axis|, which must exist.
LEAT_MUST_USE leat_status_t leat_inference_replace_dim(leat_inference_t* c,
                                                       leat_partial_shape_t shape, int axis,
                                                       int64_t size,
                                                       leat_partial_shape_t* out_shape);
// |size| / |divisor|; unknown when |size| is. INVALID_ARGUMENT when |divisor| does not divide it or
// is not positive.
LEAT_MUST_USE leat_status_t leat_inference_divide(int64_t size, int64_t divisor, int64_t* out_size);
// |size| + |addend|; unknown when |size| is. INVALID_ARGUMENT when the sum overflows or is
// negative.
LEAT_MUST_USE leat_status_t leat_inference_add(int64_t size, int64_t addend, int64_t* out_size);
// The product of the known dimensions, how many are unknown, and the last unknown one (-1: none).
LEAT_MUST_USE leat_status_t leat_inference_count(leat_partial_shape_t shape, int64_t* out_count,
                                                 int* out_unknown_count, int* out_unknown_axis);

// Value function of Reshape and its like: output 0 has the elements of input 0 in their order.
LEAT_MUST_USE leat_status_t leat_value_rearranged(leat_inference_t* c);

#endif  // LEAT_GRAPH_INFERENCE_INFERENCE_INDEX_H_
