// The ops InplaceUpdate, InplaceAdd, InplaceSub, DeepCopy and ParallelConcat, with the two ops into
// which TensorFlow rewrites a ParallelConcat: they write rows of a tensor. An op never changes a
// value that somebody else may read: its kernel copies it first then.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t parallel_concat_shape(leat_inference_t* c) {
  const leat_attr_value_t* attr = leat_node_attr(c->node, LEAT_SV("shape"));
  if (!attr || attr->kind != LEAT_ATTR_SHAPE || !leat_partial_shape_is_full(attr->shape) ||
      attr->shape.rank < 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "shape attr must be fully defined.");
  }
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    leat_partial_shape_t input = leat_inference_input(c, i), rest, wanted, unused;
    if (!leat_partial_shape_is_full(input)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "All input shapes must be fully defined.");
    }
    if (input.rank < 1 || input.dims[0] != 1) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Size of first dimension must be 1.");
    }
    LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, input, 1, INT32_MAX, &rest));
    LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, attr->shape, 1, INT32_MAX, &wanted));
    leat_status_t status = leat_inference_merge(c, rest, wanted, &unused);
    if (status) return leat_status_annotate(status, "From merging shape %d with other shapes", i);
  }
  leat_inference_set_output(c, 0, attr->shape);
  return leat_ok_status();
}

#define INPLACE(op, text)                                                        \
  {.name = op, .inputs = "x: T; i: int32; v: T", .outputs = "y: T",              \
   .attrs = "T: type", .shape = leat_shape_unchanged, .doc = text}

const leat_op_row_t leat_row_update_ops[] = {
    INPLACE("InplaceUpdate", "x with rows i replaced by v."),
    INPLACE("InplaceAdd", "x with v added to rows i."),
    INPLACE("InplaceSub", "x with v subtracted from rows i."),
    {.name = "DeepCopy",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unchanged,
     .doc = "A copy of x in memory of its own."},
    {.name = "ParallelConcat",
     .inputs = "values: N * T",
     .outputs = "output: T",
     .attrs = "N: int >= 1; T: type; shape: shape",
     .shape = parallel_concat_shape,
     .doc = "Values of one row each joined along dimension 0."},
    {.name = "_ParallelConcatStart",
     .outputs = "output: dtype",
     .attrs = "shape: shape; dtype: type",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_from_attr,
     .doc = "A tensor of the shape with any contents."},
    {.name = "_ParallelConcatUpdate",
     .inputs = "value: T; update: T",
     .outputs = "output: T",
     .attrs = "T: type; loc: int",
     .shape = leat_shape_unchanged,
     .doc = "The value with the update as its row loc."},
    LEAT_OP_ROWS_END,
};
