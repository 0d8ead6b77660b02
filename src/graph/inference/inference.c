// The tools of shape functions, and the one place that runs them. A dimension that is not known is
// -1; a tool gives what is known for sure, so unknown operands make unknown results and never an
// error. Results share the dimensions of their operands wherever nothing changed (merge and
// broadcast look first whether the result is one of the two), so that inferring a large graph
// allocates little. Rules and messages are those of TensorFlow's InferenceContext, on which
// clients' tests match.
//
// A tool that looks at a value rather than a shape sets |saw_values|. That tells
// leat_graph_add_like whether two nodes with equal input shapes must have equal output shapes.
#include "graph/inference/inference.h"

#include "base/checked.h"
#include "graph/storage.h"

#define MAX_PASS_THROUGH 256  // Identities in a row that are followed

leat_partial_shape_t leat_inference_input(const leat_inference_t* c, int index) {
  LEAT_DCHECK(index >= 0 && index < c->node->input_count);
  leat_output_t input = c->node->inputs[index];
  if (!leat_output_exists(input)) return leat_partial_shape_unknown();
  return leat_graph_output_shape(c->graph, input);
}

// Follows |output| back through ops that pass a value on (Identity) to the one that makes it.
static leat_output_t origin(const leat_graph_t* graph, leat_output_t output) {
  for (int i = 0; i < MAX_PASS_THROUGH && leat_output_exists(output); ++i) {
    const leat_node_t* node = &graph->nodes[output.node];
    if (!(node->op->flags & LEAT_OP_PASS_THROUGH) || output.index != 0 || node->input_count == 0) {
      break;
    }
    output = node->inputs[0];
  }
  return output;
}

const leat_tensor_t* leat_inference_input_tensor(leat_inference_t* c, int index) {
  LEAT_DCHECK(index >= 0 && index < c->node->input_count);
  c->saw_values = true;
  leat_output_t source = origin(c->graph, c->node->inputs[index]);
  if (!leat_output_exists(source) || source.index != 0) return NULL;
  return leat_node_constant(&c->graph->nodes[source.node]);
}

bool leat_inference_input_handle(leat_inference_t* c, int index, int* out_dtype,
                                 leat_partial_shape_t* out_shape) {
  leat_output_t source = c->node->inputs[index];
  LEAT_DCHECK(index < c->node->input_count);
  c->saw_values = true;
  *out_dtype = LEAT_DTYPE_INVALID;
  *out_shape = leat_partial_shape_unknown();
  // The usual case is the handle of a variable, in a graph where nobody stated referents: it needs
  // neither the walk nor the cache.
  if (leat_output_exists(source) && source.index == 0 &&
      c->graph->storage->referents.count == 0 &&
      (c->graph->nodes[source.node].op->flags & LEAT_OP_VARIABLE)) {
    leat_referent_t referent;
    bool is_known = leat_variable_referent(&c->graph->nodes[source.node], &referent);
    *out_dtype = referent.dtype;
    *out_shape = referent.shape;
    return is_known;
  }
  leat_partial_value_t value;
  c->status = leat_status_join(c->status, leat_inference_input_value(c, index, &value));
  if (c->status || value.referent_count < 1) return false;
  *out_dtype = value.referents[0].dtype;
  *out_shape = value.referents[0].shape;
  return true;
}

void leat_inference_set_output(leat_inference_t* c, int index, leat_partial_shape_t shape) {
  if (index < c->node->output_count) c->outputs[index] = shape;
}

// ---- making -------------------------------------------------------------------------------------

leat_status_t leat_inference_make(leat_inference_t* c, int rank, const int64_t* dims,
                                  leat_partial_shape_t* out_shape) {
  return leat_partial_shape_create(rank, dims, c->arena, out_shape);
}

leat_status_t leat_inference_unknown_of_rank(leat_inference_t* c, int rank,
                                             leat_partial_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < rank && i < LEAT_SHAPE_MAX_RANK; ++i) dims[i] = LEAT_DIM_UNKNOWN;
  return leat_partial_shape_create(rank, dims, c->arena, out_shape);
}

leat_status_t leat_inference_with_rank(leat_inference_t* c, leat_partial_shape_t shape, int rank,
                                       leat_partial_shape_t* out_shape) {
  *out_shape = shape;
  if (shape.rank == rank) return leat_ok_status();
  if (shape.rank < 0) return leat_inference_unknown_of_rank(c, rank, out_shape);
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Shape must be rank %d but is rank %d", rank,
                          shape.rank);
}

leat_status_t leat_inference_with_rank_at_least(leat_inference_t* c, leat_partial_shape_t shape,
                                                int rank) {
  (void)c;
  if (shape.rank < 0 || shape.rank >= rank) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Shape must be at least rank %d but is rank %d",
                          rank, shape.rank);
}

leat_status_t leat_inference_with_rank_at_most(leat_inference_t* c, leat_partial_shape_t shape,
                                               int rank) {
  (void)c;
  if (shape.rank <= rank) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Shape must be at most rank %d but is rank %d",
                          rank, shape.rank);
}

// ---- combining ----------------------------------------------------------------------------------

leat_status_t leat_inference_merge_dim(int64_t a, int64_t b, int64_t* out_dim) {
  *out_dim = a == LEAT_DIM_UNKNOWN ? b : a;
  if (a == b || a == LEAT_DIM_UNKNOWN || b == LEAT_DIM_UNKNOWN) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Dimensions must be equal, but are %lld and %lld", (long long)a,
                          (long long)b);
}

leat_status_t leat_inference_dim_with_value(int64_t dim, int64_t value, int64_t* out_dim) {
  *out_dim = value;
  if (dim == value || dim == LEAT_DIM_UNKNOWN) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Dimension must be %lld but is %lld",
                          (long long)value, (long long)dim);
}

// Compares two shapes of one rank: 1 if |a| is known wherever |b| is, 2 if only the converse holds,
// 0 if neither does or they contradict each other.
static int better(leat_partial_shape_t a, leat_partial_shape_t b) {
  LEAT_DCHECK(a.rank >= 0 && a.rank == b.rank);
  bool a_lacks = false, b_lacks = false;
  for (int i = 0; i < a.rank; ++i) {
    if (a.dims[i] == b.dims[i]) continue;
    if (a.dims[i] != LEAT_DIM_UNKNOWN && b.dims[i] != LEAT_DIM_UNKNOWN) return 0;
    if (a.dims[i] == LEAT_DIM_UNKNOWN) a_lacks = true;
    else b_lacks = true;
  }
  return !a_lacks ? 1 : !b_lacks ? 2 : 0;
}

leat_status_t leat_inference_merge(leat_inference_t* c, leat_partial_shape_t a,
                                   leat_partial_shape_t b, leat_partial_shape_t* out_shape) {
  *out_shape = a.rank < 0 ? b : a;
  if (a.rank < 0 || b.rank < 0) return leat_ok_status();
  switch (a.rank == b.rank ? better(a, b) : 0) {
    case 1: return leat_ok_status();
    case 2: *out_shape = b; return leat_ok_status();
  }
  return leat_partial_shape_merge(a, b, c->arena, out_shape);
}

// NumPy's rule for one dimension. Beside a known size above 1 an unknown one must be 1 or that
// size, so the result is that size; beside 1 the result is the unknown one.
static leat_status_t broadcast_dim(int64_t a, int64_t b, int64_t* out_dim) {
  if (a == LEAT_DIM_UNKNOWN || b == LEAT_DIM_UNKNOWN) {
    *out_dim = a > 1 ? a : b > 1 ? b : a == 1 ? b : b == 1 ? a : LEAT_DIM_UNKNOWN;
    return leat_ok_status();
  }
  if (a == 1 || b == 1) {
    *out_dim = a == 1 ? b : a;
    return leat_ok_status();
  }
  return leat_inference_merge_dim(a, b, out_dim);
}

leat_status_t leat_inference_broadcast(leat_inference_t* c, leat_partial_shape_t a,
                                       leat_partial_shape_t b, leat_partial_shape_t* out_shape) {
  *out_shape = leat_partial_shape_unknown();
  if (a.rank < 0 || b.rank < 0) return leat_ok_status();
  int rank = LEAT_MAX(a.rank, b.rank);
  LEAT_DCHECK(rank <= LEAT_SHAPE_MAX_RANK);
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < rank; ++i) {
    int in_a = i - (rank - a.rank), in_b = i - (rank - b.rank);
    leat_status_t status = broadcast_dim(in_a < 0 ? 1 : a.dims[in_a], in_b < 0 ? 1 : b.dims[in_b],
                                         &dims[i]);
    if (status) {
      return leat_status_annotate(status, "Broadcasting of %s and %s failed",
                                  LEAT_PARTIAL_SHAPE_TEXT(a), LEAT_PARTIAL_SHAPE_TEXT(b));
    }
  }
  *out_shape = (leat_partial_shape_t){rank, dims};
  // Mostly the result equals one of the two, and then shares its dimensions.
  if (leat_partial_shape_equal(*out_shape, a)) *out_shape = a;
  else if (leat_partial_shape_equal(*out_shape, b)) *out_shape = b;
  else return leat_partial_shape_create(rank, dims, c->arena, out_shape);
  return leat_ok_status();
}

leat_status_t leat_inference_concatenate(leat_inference_t* c, leat_partial_shape_t a,
                                         leat_partial_shape_t b, leat_partial_shape_t* out_shape) {
  *out_shape = leat_partial_shape_unknown();
  if (a.rank < 0 || b.rank < 0) return leat_ok_status();
  if (a.rank + b.rank > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Shape must be at most rank %d but is rank %d",
                            LEAT_SHAPE_MAX_RANK, a.rank + b.rank);
  }
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < a.rank; ++i) dims[i] = a.dims[i];
  for (int i = 0; i < b.rank; ++i) dims[a.rank + i] = b.dims[i];
  return leat_partial_shape_create(a.rank + b.rank, dims, c->arena, out_shape);
}

leat_status_t leat_inference_subshape(leat_inference_t* c, leat_partial_shape_t shape, int begin,
                                      int end, leat_partial_shape_t* out_shape) {
  (void)c;
  *out_shape = leat_partial_shape_unknown();
  if (shape.rank < 0) {
    return leat_ok_status();
  }
  int from = LEAT_MIN(begin < 0 ? begin + shape.rank : begin, shape.rank);
  int to = LEAT_MIN(end < 0 ? end + shape.rank : end, shape.rank);
  if (from < 0 || to < 0 || from > to) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Subshape must have computed start <= end, but is %d and %d (computed "
                            "from start %d and end %d over shape with rank %d)",
                            from, to, begin, end, shape.rank);
  }
  // The result points into the dimensions of |shape|.
  *out_shape = (leat_partial_shape_t){to - from, to > from ? shape.dims + from : NULL};
  return leat_ok_status();
}

leat_status_t leat_inference_multiply(int64_t a, int64_t b, int64_t* out_dim) {
  LEAT_DCHECK(a >= LEAT_DIM_UNKNOWN && b >= LEAT_DIM_UNKNOWN);
  *out_dim = LEAT_DIM_UNKNOWN;
  if (a == 0 || b == 0) {
    *out_dim = 0;
    return leat_ok_status();
  }
  if (a == LEAT_DIM_UNKNOWN || b == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (leat_checked_multiply(a, b, out_dim)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Negative dimension size caused by overflow when multiplying %lld and "
                          "%lld", (long long)a, (long long)b);
}

// ---- running ------------------------------------------------------------------------------------

leat_status_t leat_inference_run(leat_graph_t* graph, const leat_node_t* node,
                                 leat_partial_shape_t* out_shapes, bool* out_follow) {
  if (out_follow) *out_follow = false;
  for (int i = 0; i < node->output_count; ++i) out_shapes[i] = leat_partial_shape_unknown();
  uint32_t calls = node->op->flags & (LEAT_OP_CALLS | LEAT_OP_BRANCHES);
  // The body of the function is asked where the op itself says nothing.
  const leat_shape_fn_t shape = node->op->row->shape;
  const bool says_nothing = !shape || shape == leat_shape_unknown;
  if (calls == LEAT_OP_CALLS && graph->infer_call && says_nothing) {
    return graph->infer_call(graph, node, out_shapes);
  }
  if (!shape && !node->op->shapes) return leat_ok_status();
  leat_inference_t inference = {
      .graph = graph, .arena = &graph->storage->arena, .node = node, .outputs = out_shapes};
  leat_status_t status = shape ? shape(&inference) : leat_shape_by_pattern(&inference);
  if (out_follow) *out_follow = !inference.saw_values;
  if (LEAT_LIKELY(!status && !inference.status)) return status;
  status = leat_status_join(status, inference.status);
  return leat_status_annotate(status, "Shape inference failed for node '%.*s' (%.*s)",
                              LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
}

leat_status_t leat_inference_try(leat_graph_t* graph, const leat_node_t* node,
                                 leat_partial_shape_t* out_shapes, bool* out_follow) {
  leat_status_t status = leat_inference_run(graph, node, out_shapes, out_follow);
  if (!status || leat_status_code(status) == LEAT_RESOURCE_EXHAUSTED) return status;
  leat_status_free(status);
  for (int i = 0; i < node->output_count; ++i) out_shapes[i] = leat_partial_shape_unknown();
  return leat_ok_status();
}
