// What a shape function sees of its node: partial shapes of the inputs, constant inputs, small
// integer values that are known ("shape as value": the output of Shape feeding Reshape),
// attributes. A dim is LEAT_DIM_UNKNOWN where not known. Everything lies in the graph's arena.
#ifndef LEAT_GRAPH_INFERENCE_H_
#define LEAT_GRAPH_INFERENCE_H_

#include "graph/graph.h"

// A scalar or vector of integers, some of them perhaps unknown.
#define LEAT_VALUE_UNKNOWN INT64_MIN
typedef struct leat_partial_value_s {
  int32_t rank;   // 0 or 1; -1: nothing known
  int32_t count;  // of |items|
  const int64_t* items;
} leat_partial_value_t;

typedef struct leat_inference_s {
  leat_graph_t* graph;
  leat_arena_t* arena;
  const leat_node_t* node;
  leat_partial_shape_t* outputs;         // preset to unknown
  leat_partial_value_t* output_values;   // only while a value function runs
  int depth;                             // of the walk for values
} leat_inference_t;

static inline int leat_inference_input_count(const leat_inference_t* c) {
  return c->node->input_count;
}
leat_partial_shape_t leat_inference_input(const leat_inference_t* c, int index);
// The constant that feeds input |index| (through Identity too), or NULL. Borrowed.
const leat_tensor_t* leat_inference_input_tensor(const leat_inference_t* c, int index);
LEAT_MUST_USE leat_status_t leat_inference_input_value(leat_inference_t* c, int index,
                                                       leat_partial_value_t* out_value);
// Input |index| read as a shape: -1 items and unknown ones are unknown dims.
LEAT_MUST_USE leat_status_t leat_inference_input_as_shape(leat_inference_t* c, int index,
                                                          leat_partial_shape_t* out_shape);
// Type and shape of the variable that the handle at input |index| names, found by following the
// handle to the op that makes it. false when it comes from elsewhere (a placeholder, a function).
bool leat_inference_input_handle(const leat_inference_t* c, int index, int* out_dtype,
                                 leat_partial_shape_t* out_shape);
void leat_inference_set_output(leat_inference_t* c, int index, leat_partial_shape_t shape);
LEAT_MUST_USE leat_status_t leat_inference_set_output_value(leat_inference_t* c, int index,
                                                            int rank, int count,
                                                            const int64_t* items);

// Makes shapes in the arena.
LEAT_MUST_USE leat_status_t leat_inference_make(leat_inference_t* c, int rank, const int64_t* dims,
                                                leat_partial_shape_t* out_shape);
LEAT_MUST_USE leat_status_t leat_inference_unknown_of_rank(leat_inference_t* c, int rank,
                                                           leat_partial_shape_t* out_shape);
// |shape|, known to have |rank| (INVALID_ARGUMENT "Shape must be rank R but is rank S").
LEAT_MUST_USE leat_status_t leat_inference_with_rank(leat_inference_t* c,
                                                     leat_partial_shape_t shape, int rank,
                                                     leat_partial_shape_t* out_shape);
LEAT_MUST_USE leat_status_t leat_inference_with_rank_at_least(leat_inference_t* c,
                                                              leat_partial_shape_t shape, int rank);
LEAT_MUST_USE leat_status_t leat_inference_with_rank_at_most(leat_inference_t* c,
                                                             leat_partial_shape_t shape, int rank);
LEAT_MUST_USE leat_status_t leat_inference_merge(leat_inference_t* c, leat_partial_shape_t a,
                                                 leat_partial_shape_t b,
                                                 leat_partial_shape_t* out_shape);
LEAT_MUST_USE leat_status_t leat_inference_merge_dim(int64_t a, int64_t b, int64_t* out_dim);
LEAT_MUST_USE leat_status_t leat_inference_broadcast(leat_inference_t* c, leat_partial_shape_t a,
                                                     leat_partial_shape_t b,
                                                     leat_partial_shape_t* out_shape);
LEAT_MUST_USE leat_status_t leat_inference_concatenate(leat_inference_t* c, leat_partial_shape_t a,
                                                       leat_partial_shape_t b,
                                                       leat_partial_shape_t* out_shape);
// Dims [begin, end) of |shape|; negative counts from the end, INT32_MAX = to the end.
LEAT_MUST_USE leat_status_t leat_inference_subshape(leat_inference_t* c, leat_partial_shape_t shape,
                                                    int begin, int end,
                                                    leat_partial_shape_t* out_shape);
static inline int64_t leat_partial_shape_dim(leat_partial_shape_t shape, int index) {
  if (shape.rank < 0) return LEAT_DIM_UNKNOWN;
  return shape.dims[index < 0 ? index + shape.rank : index];
}
// Unknown when either is; INVALID_ARGUMENT on overflow.
LEAT_MUST_USE leat_status_t leat_inference_multiply(int64_t a, int64_t b, int64_t* out_dim);

// ---- Shape functions that many ops share --------------------------------------------------------

// Every output is a scalar.
LEAT_MUST_USE leat_status_t leat_shape_scalar_output(leat_inference_t* c);
// Output 0 as input 0.
LEAT_MUST_USE leat_status_t leat_shape_unchanged(leat_inference_t* c);
LEAT_MUST_USE leat_status_t leat_shape_unknown(leat_inference_t* c);
// No outputs.
LEAT_MUST_USE leat_status_t leat_shape_none(leat_inference_t* c);
// Output 0 = input 0 broadcast with input 1.
LEAT_MUST_USE leat_status_t leat_shape_broadcast_binary(leat_inference_t* c);
// Output 0 = all inputs, which are equal.
LEAT_MUST_USE leat_status_t leat_shape_merge_inputs(leat_inference_t* c);
// Output 0 = attribute "shape".
LEAT_MUST_USE leat_status_t leat_shape_from_attr(leat_inference_t* c);

// Runs the node's shape function over |node| (not yet in the graph is fine).
LEAT_MUST_USE leat_status_t leat_inference_run(leat_graph_t* graph, const leat_node_t* node,
                                               leat_partial_shape_t* out_shapes);
// What is known of the value of a tensor of integers.
LEAT_MUST_USE leat_status_t leat_inference_value_of(leat_graph_t* graph, leat_output_t output,
                                                    int depth, leat_partial_value_t* out_value);

#endif  // LEAT_GRAPH_INFERENCE_H_
