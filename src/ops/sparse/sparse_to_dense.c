// Definition of SparseToDense: entries at indices of a dense tensor, and a default value elsewhere.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t to_dense_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 1, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_output_t sum_of_all(leat_builder_t* b, leat_output_t x) {
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t axes =
      leat_build(b, "Range",
                 LEAT_INPUTS(zero, leat_build_unary(b, "Rank", x),
                             leat_build_scalar(b, LEAT_DTYPE_INT32, 1)),
                 LEAT_NO_ATTRS);
  return leat_build_binary(b, "Sum", x, axes);
}

// The values get dy at their indices, and the default value the sum of dy elsewhere.
static leat_status_t to_dense_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_output_t values = leat_build_binary(b, "GatherNd", dy, leat_gradient_input(g, 0));
  leat_gradient_set_input(g, 0, leat_build_zeros_of(b, leat_gradient_input(g, 0)));
  leat_gradient_set_input(g, 1, leat_build_zeros_of(b, leat_gradient_input(g, 1)));
  leat_gradient_set_input(g, 2, values);
  leat_gradient_set_input(
      g, 3, leat_build_binary(b, "Sub", sum_of_all(b, dy), sum_of_all(b, values)));
  return leat_ok_status();
}

const leat_op_row_t leat_sparse_to_dense_ops[] = {
    {.name = "SparseToDense",
     .inputs = "sparse_indices: Tindices; output_shape: Tindices; sparse_values: T; "
               "default_value: T",
     .outputs = "dense: T",
     .attrs = "validate_indices: bool = true; T: type; Tindices: {int32, int64}",
     .shape = to_dense_shape,
     .gradient = to_dense_gradient,
     .doc = "A dense tensor of a default value with entries at indices."},
    LEAT_OP_ROWS_END,
};
