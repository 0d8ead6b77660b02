// Shape inference: what is known of shapes, and of a few values, before anything runs. The shape
// function of an op (row->shape) sees one node through a leat_inference_t: the partial shapes of
// its inputs, constant inputs, small integer values that are known (the output of a Shape that
// feeds a Reshape), attributes, and what handles of resources stand for. It sets the partial shapes
// of the outputs and refuses, with INVALID_ARGUMENT, inputs that can never fit.
//
//   static leat_status_t matmul_shape(leat_inference_t* c) {
//     leat_partial_shape_t a, b;
//     LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &a));
//     LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 2, &b));
//     ...                                   // a [m, k], b [k, n] -> [m, n], each perhaps unknown
//
// A partial shape has rank -1 when nothing is known, and LEAT_DIM_UNKNOWN for a dimension that is
// not known. Shapes are small values whose dimensions lie in the graph's arena and are never
// written, so they may be copied and shared freely. Inference changes the graph's caches: the owner
// of the graph serialises it. Rules and messages are those of TensorFlow's InferenceContext.
#ifndef LEAT_GRAPH_INFERENCE_INFERENCE_H_
#define LEAT_GRAPH_INFERENCE_INFERENCE_H_

#include "formats/generated/types.h"
#include "graph/graph.h"

// What a handle (a tensor of type resource or variant) stands for: the value of a variable, the
// elements of a list or an array; for a table two of them, the keys and then the values.
typedef struct leat_referent_s {
  int32_t dtype;
  leat_partial_shape_t shape;
  const leat_pb_full_type_def_t* type;  // as a caller stated it; NULL: nobody did
} leat_referent_t;

// An item of a value that is not known.
#define LEAT_VALUE_UNKNOWN INT64_MIN
// What is known of the value of an output: a scalar or vector of integers, some of them perhaps
// unknown; or what a handle stands for.
typedef struct leat_partial_value_s {
  int32_t rank;   // 0 or 1; -1: nothing is known of the integers
  int32_t count;  // of |items|
  const int64_t* items;
  const leat_referent_t* referents;  // [referent_count]; NULL: not known
  int32_t referent_count;
} leat_partial_value_t;

// What a shape or value function gets: one node and what is known about it. It lives for one call;
// what functions make lies in |arena|.
typedef struct leat_inference_s {
  leat_graph_t* graph;
  leat_arena_t* arena;
  const leat_node_t* node;
  leat_partial_shape_t* outputs;        // [outputs] preset to unknown
  leat_partial_value_t* output_values;  // [outputs] while a value function runs; else NULL
  int depth;                            // of the walk for values; bounds recursion
  bool saw_values;                      // the function asked for more than shapes
  leat_status_t status;                 // an error of a function that returns no status
} leat_inference_t;

static inline int leat_inference_input_count(const leat_inference_t* c) {
  return c->node->input_count;
}
// What is known of the shape of input |index|.
leat_partial_shape_t leat_inference_input(const leat_inference_t* c, int index);
// The tensor of the constant that feeds input |index|, directly or through Identity; else NULL.
// Borrowed.
const leat_tensor_t* leat_inference_input_tensor(leat_inference_t* c, int index);
// What is known of the value of input |index|.
LEAT_MUST_USE leat_status_t leat_inference_input_value(leat_inference_t* c, int index,
                                                       leat_partial_value_t* out_value);
// Input |index| read as a shape: items that are -1 or not known become unknown dimensions.
LEAT_MUST_USE leat_status_t leat_inference_input_as_shape(leat_inference_t* c, int index,
                                                          leat_partial_shape_t* out_shape);
// Type and shape of what the handle at input |index| stands for, found by following the handle back
// to the op that makes it. False when that cannot be known (a placeholder, a function's argument)
// and nobody said it (leat_graph_set_referents).
bool leat_inference_input_handle(leat_inference_t* c, int index, int* out_dtype,
                                 leat_partial_shape_t* out_shape);
// Sets the shape of output |index|; ignored where the node has no such output.
void leat_inference_set_output(leat_inference_t* c, int index, leat_partial_shape_t shape);
// For value functions: output |index| holds |items| [count], in rank 0 or 1, LEAT_VALUE_UNKNOWN
// among them allowed. They are copied; long vectors are not remembered.
LEAT_MUST_USE leat_status_t leat_inference_set_output_value(leat_inference_t* c, int index,
                                                            int rank, int count,
                                                            const int64_t* items);
// For value functions: the handle at output |index| stands for |items| [count]. They are copied;
// what they point to is not.
LEAT_MUST_USE leat_status_t leat_inference_set_output_referents(leat_inference_t* c, int index,
                                                                const leat_referent_t* items,
                                                                int count);

// A shape of |rank| |dims|, copied into the arena; one of unknown dimensions.
LEAT_MUST_USE leat_status_t leat_inference_make(leat_inference_t* c, int rank, const int64_t* dims,
                                                leat_partial_shape_t* out_shape);
LEAT_MUST_USE leat_status_t leat_inference_unknown_of_rank(leat_inference_t* c, int rank,
                                                           leat_partial_shape_t* out_shape);
// |shape| when its rank is |rank|, or a shape of that rank and unknown dimensions when its rank is
// not known; else INVALID_ARGUMENT "Shape must be rank R but is rank S". The next two only check.
LEAT_MUST_USE leat_status_t leat_inference_with_rank(leat_inference_t* c,
                                                     leat_partial_shape_t shape, int rank,
                                                     leat_partial_shape_t* out_shape);
LEAT_MUST_USE leat_status_t leat_inference_with_rank_at_least(leat_inference_t* c,
                                                              leat_partial_shape_t shape, int rank);
LEAT_MUST_USE leat_status_t leat_inference_with_rank_at_most(leat_inference_t* c,
                                                             leat_partial_shape_t shape, int rank);
// What is known of a shape that is both |a| and |b|, and the same for one dimension;
// INVALID_ARGUMENT when they contradict each other.
LEAT_MUST_USE leat_status_t leat_inference_merge(leat_inference_t* c, leat_partial_shape_t a,
                                                 leat_partial_shape_t b,
                                                 leat_partial_shape_t* out_shape);
LEAT_MUST_USE leat_status_t leat_inference_merge_dim(int64_t a, int64_t b, int64_t* out_dim);
// The same with a size that the op prescribes.
LEAT_MUST_USE leat_status_t leat_inference_dim_with_value(int64_t dim, int64_t value,
                                                          int64_t* out_dim);
// The shape to which |a| and |b| broadcast by NumPy's rules.
LEAT_MUST_USE leat_status_t leat_inference_broadcast(leat_inference_t* c, leat_partial_shape_t a,
                                                     leat_partial_shape_t b,
                                                     leat_partial_shape_t* out_shape);
// The dimensions of |a|, then those of |b|.
LEAT_MUST_USE leat_status_t leat_inference_concatenate(leat_inference_t* c, leat_partial_shape_t a,
                                                       leat_partial_shape_t b,
                                                       leat_partial_shape_t* out_shape);
// Dimensions [begin, end) of |shape|. A negative position counts from the end; INT32_MAX means to
// the end.
LEAT_MUST_USE leat_status_t leat_inference_subshape(leat_inference_t* c, leat_partial_shape_t shape,
                                                    int begin, int end,
                                                    leat_partial_shape_t* out_shape);
// Dimension |index|, from the end when negative. It must exist, or the rank be unknown.
static inline int64_t leat_partial_shape_dim(leat_partial_shape_t shape, int index) {
  if (shape.rank < 0) return LEAT_DIM_UNKNOWN;
  return shape.dims[index < 0 ? index + shape.rank : index];
}
// The product of two dimensions: 0 when either is 0, unknown when either is unknown;
// INVALID_ARGUMENT on overflow.
LEAT_MUST_USE leat_status_t leat_inference_multiply(int64_t a, int64_t b, int64_t* out_dim);

// ---- Shape functions that many ops share --------------------------------------------------------

// What the op's row says in |shapes| (graph/op/shape_pattern.h): refuses inputs that do not fit,
// and sets the outputs that have an item. Rows without a function of their own have this one;
// others may call it first.
LEAT_MUST_USE leat_status_t leat_shape_by_pattern(leat_inference_t* c);
// Every output is a scalar.
LEAT_MUST_USE leat_status_t leat_shape_scalar_output(leat_inference_t* c);
// Output 0 has the shape of input 0.
LEAT_MUST_USE leat_status_t leat_shape_unchanged(leat_inference_t* c);
// Nothing is known of the outputs, and any inputs are accepted.
LEAT_MUST_USE leat_status_t leat_shape_unknown(leat_inference_t* c);
// For ops without outputs that accept any inputs.
LEAT_MUST_USE leat_status_t leat_shape_none(leat_inference_t* c);
// Output 0 has the shape to which inputs 0 and 1 broadcast.
LEAT_MUST_USE leat_status_t leat_shape_broadcast_binary(leat_inference_t* c);
// All inputs have one shape, and output 0 has it too.
LEAT_MUST_USE leat_status_t leat_shape_merge_inputs(leat_inference_t* c);
// Output 0 has the shape in attribute "shape".
LEAT_MUST_USE leat_status_t leat_shape_from_attr(leat_inference_t* c);

// Handles of resources, which queues, tables, readers and datasets use. In the older ops of
// TensorFlow a handle is a reference to a vector of two strings (container and name), in the newer
// ones a scalar of type resource.

// Output 0 is a reference to the two strings of a handle.
LEAT_MUST_USE leat_status_t leat_shape_two_strings(leat_inference_t* c);
// Every input is such a handle, every output a scalar.
LEAT_MUST_USE leat_status_t leat_shape_of_two_strings(leat_inference_t* c);
// Input |index| is a vector of 2.
LEAT_MUST_USE leat_status_t leat_shape_check_two_strings(leat_inference_t* c, int index);
// Input |index| is a scalar.
LEAT_MUST_USE leat_status_t leat_shape_check_scalar(leat_inference_t* c, int index);

// ---- A value function that many ops share -------------------------------------------------------

// The handle at output 0 stands for what the handle at input 0 stands for (ops that forward a
// handle).
LEAT_MUST_USE leat_status_t leat_value_forwarded(leat_inference_t* c);

// ---- Running the functions ----------------------------------------------------------------------

// Infers |out_shapes| [node->output_count] by the op's shape function, or by graph->infer_call for
// calls. |node| need not be in the graph yet, but its inputs must. |*out_follow|, unless NULL,
// becomes whether the shapes follow from attributes, types and input shapes alone.
LEAT_MUST_USE leat_status_t leat_inference_run(leat_graph_t* graph, const leat_node_t* node,
                                               leat_partial_shape_t* out_shapes, bool* out_follow);
// The same, but shapes are unknown where the function refuses the inputs. An error means that
// memory ran out.
LEAT_MUST_USE leat_status_t leat_inference_try(leat_graph_t* graph, const leat_node_t* node,
                                               leat_partial_shape_t* out_shapes, bool* out_follow);
// Infers the shapes again of all nodes in |order| (inputs first, edges that close loops aside)
// whose op has one of the flags |from|, and of all that depend on these. LEAT_OP_ENTER gives shapes
// in and behind loops, LEAT_OP_ARGUMENT those that follow from new shapes of arguments. A shape
// only ever gets narrower; one that does not settle, or that contradicts what was known, stays as
// it was, which is no error.
LEAT_MUST_USE leat_status_t leat_graph_narrow_shapes(leat_graph_t* graph, const int32_t* order,
                                                     size_t order_count, uint32_t from);
// What is known of the value of |output|, of integers or a handle. |depth| is 0 except in
// recursion.
LEAT_MUST_USE leat_status_t leat_inference_value_of(leat_graph_t* graph, leat_output_t output,
                                                    int depth, leat_partial_value_t* out_value);
// What the handle or reference that variable |node| makes stands for, from its attributes "dtype"
// and "shape"; false when it has no type.
bool leat_variable_referent(const leat_node_t* node, leat_referent_t* out_referent);
// States that the handle |output| stands for |items| [count], for handles that come from elsewhere.
// The items are copied; what they point to is not. Shapes that were inferred before stay as they
// are.
LEAT_MUST_USE leat_status_t leat_graph_set_referents(leat_graph_t* graph, leat_output_t output,
                                                     const leat_referent_t* items, int count);

#endif  // LEAT_GRAPH_INFERENCE_INFERENCE_H_
