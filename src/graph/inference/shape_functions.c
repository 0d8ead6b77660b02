// The shape functions that many ops share; graph/inference/inference.h says what each one does. The
// row of an op names its shape function, which the graph calls when a node of the op is added, and
// again for a loop whose shapes are found by iteration. A shape function reads the shapes of the
// inputs, which may be unknown in part or in whole, and sets those of the outputs. An output that
// it does not set stays unknown, which is always true. It refuses only what no run could make
// right, since the kernels check again with the real shapes.
#include "graph/inference/inference.h"

leat_status_t leat_shape_scalar_output(leat_inference_t* c) {
  for (int i = 0; i < c->node->output_count; ++i) {
    leat_inference_set_output(c, i, leat_partial_shape_scalar());
  }
  return leat_ok_status();
}

leat_status_t leat_shape_unchanged(leat_inference_t* c) {
  leat_inference_set_output(c, 0, leat_inference_input(c, 0));
  return leat_ok_status();
}

leat_status_t leat_shape_unknown(leat_inference_t* c) {
  for (int i = 0; i < c->node->output_count; ++i) {
    leat_inference_set_output(c, i, leat_partial_shape_unknown());
  }
  return leat_ok_status();
}

leat_status_t leat_shape_none(leat_inference_t* c) {
  (void)c;
  return leat_ok_status();
}

leat_status_t leat_shape_broadcast_binary(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_broadcast(c, leat_inference_input(c, 0),
                                                leat_inference_input(c, 1), &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// Each input adds what it knows, so that one known size is enough to know it for all.
leat_status_t leat_shape_merge_inputs(leat_inference_t* c) {
  leat_partial_shape_t shape = leat_partial_shape_unknown();
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, shape, leat_inference_input(c, i), &shape));
  }
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// INVALID_ARGUMENT when the product of the known dimensions exceeds 2^63 - 1, so that no tensor can
// have the shape.
static leat_status_t check_count(leat_partial_shape_t shape) {
  int64_t count = 1;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.dims[d] == 0) return leat_ok_status();
  }
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.dims[d] < 0 || !__builtin_mul_overflow(count, shape.dims[d], &count)) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "shape has more than 2^63 - 1 elements, must have at most so many");
  }
  return leat_ok_status();
}

// An op without the attribute, or whose attribute is something else, says nothing of its output.
leat_status_t leat_shape_from_attr(leat_inference_t* c) {
  const leat_attr_value_t* shape = leat_node_attr(c->node, LEAT_SV("shape"));
  if (shape && shape->kind == LEAT_ATTR_SHAPE && !shape->is_list) {
    LEAT_RETURN_IF_ERROR(check_count(shape->shape));
    leat_inference_set_output(c, 0, shape->shape);
  }
  return leat_ok_status();
}

// ---- Handles ------------------------------------------------------------------------------------

leat_status_t leat_shape_two_strings(leat_inference_t* c) {
  leat_partial_shape_t pair;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &(int64_t){2}, &pair));
  leat_inference_set_output(c, 0, pair);
  return leat_ok_status();
}

leat_status_t leat_shape_check_two_strings(leat_inference_t* c, int index) {
  leat_partial_shape_t pair;
  int64_t size;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, index), 1, &pair));
  return leat_inference_merge_dim(leat_partial_shape_dim(pair, 0), 2, &size);
}

leat_status_t leat_shape_check_scalar(leat_inference_t* c, int index) {
  leat_partial_shape_t scalar;
  return leat_inference_with_rank(c, leat_inference_input(c, index), 0, &scalar);
}

leat_status_t leat_shape_of_two_strings(leat_inference_t* c) {
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_shape_check_two_strings(c, i));
  }
  return leat_shape_scalar_output(c);
}
