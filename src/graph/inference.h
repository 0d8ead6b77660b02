// What a shape function sees of its node: partial shapes of the inputs, constant inputs, small
// integer values that are known ("shape as value": the output of Shape feeding Reshape),
// attributes. A dim is LEAT_DIM_UNKNOWN where not known. Everything lies in the graph's arena.
#ifndef LEAT_GRAPH_INFERENCE_H_
#define LEAT_GRAPH_INFERENCE_H_

#include "formats/generated/types.h"
#include "graph/graph.h"

// What a handle (resource or variant) stands for: the value of a variable, the elements of a list
// or an array; the keys of a table, and then its values.
typedef struct leat_referent_s {
  int32_t dtype;
  leat_partial_shape_t shape;
  const leat_pb_full_type_def_t* type;  // as a caller stated it; may be NULL
} leat_referent_t;

// A scalar or vector of integers, some of them perhaps unknown; or a handle.
#define LEAT_VALUE_UNKNOWN INT64_MIN
typedef struct leat_partial_value_s {
  int32_t rank;   // 0 or 1; -1: nothing known
  int32_t count;  // of |items|
  const int64_t* items;
  const leat_referent_t* referents;  // NULL: not known
  int32_t referent_count;
} leat_partial_value_t;

typedef struct leat_inference_s {
  leat_graph_t* graph;
  leat_arena_t* arena;
  const leat_node_t* node;
  leat_partial_shape_t* outputs;         // preset to unknown
  leat_partial_value_t* output_values;   // only while a value function runs
  int depth;                             // of the walk for values
  bool saw_values;                       // asked for more than shapes
  leat_status_t status;                  // what a function with another result could not say
} leat_inference_t;

static inline int leat_inference_input_count(const leat_inference_t* c) {
  return c->node->input_count;
}
leat_partial_shape_t leat_inference_input(const leat_inference_t* c, int index);
// The constant that feeds input |index| (through Identity too), or NULL. Borrowed.
const leat_tensor_t* leat_inference_input_tensor(leat_inference_t* c, int index);
LEAT_MUST_USE leat_status_t leat_inference_input_value(leat_inference_t* c, int index,
                                                       leat_partial_value_t* out_value);
// Input |index| read as a shape: -1 items and unknown ones are unknown dims.
LEAT_MUST_USE leat_status_t leat_inference_input_as_shape(leat_inference_t* c, int index,
                                                          leat_partial_shape_t* out_shape);
// Type and shape of what the handle at input |index| stands for, found by following the handle to
// the op that makes it. false when it comes from elsewhere (a placeholder, a function) and nobody
// said (leat_graph_set_referents).
bool leat_inference_input_handle(leat_inference_t* c, int index, int* out_dtype,
                                 leat_partial_shape_t* out_shape);
void leat_inference_set_output(leat_inference_t* c, int index, leat_partial_shape_t shape);
LEAT_MUST_USE leat_status_t leat_inference_set_output_value(leat_inference_t* c, int index,
                                                            int rank, int count,
                                                            const int64_t* items);
// |items| [count] are copied, what they point to is not.
LEAT_MUST_USE leat_status_t leat_inference_set_output_referents(leat_inference_t* c, int index,
                                                                const leat_referent_t* items,
                                                                int count);

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

// ---- A value function that many ops share -------------------------------------------------------

// The handle at output 0 stands for what that at input 0 does.
LEAT_MUST_USE leat_status_t leat_value_handed_on(leat_inference_t* c);

// ---- Running them -------------------------------------------------------------------------------

// Runs the node's shape function over |node| (not yet in the graph is fine). |*out_follow|, if
// wanted: the shapes follow from attributes, types and the inputs' shapes alone.
LEAT_MUST_USE leat_status_t leat_inference_run(leat_graph_t* graph, const leat_node_t* node,
                                               leat_partial_shape_t* out_shapes, bool* out_follow);
// What is known of the value of a tensor of integers, or of a handle.
LEAT_MUST_USE leat_status_t leat_inference_value_of(leat_graph_t* graph, leat_output_t output,
                                                    int depth, leat_partial_value_t* out_value);
// What the handle or reference stands for that |node|, a variable, makes; false: nothing is known.
bool leat_variable_referent(const leat_node_t* node, leat_referent_t* out_referent);
// From now on the handle |output| is known to stand for |items| [count], which are copied, what
// they point to is not. What was inferred from it before stays.
LEAT_MUST_USE leat_status_t leat_graph_set_referents(leat_graph_t* graph, leat_output_t output,
                                                     const leat_referent_t* items, int count);

#endif  // LEAT_GRAPH_INFERENCE_H_
