// MapDefun: a function of the rows of tensors, which TensorFlow puts in the place of a map over a
// dataset's elements when it batches before it maps.
//
//   arguments [n, ...], captured inputs [...] -> outputs [n, ...]
//
// Dimension 0 of all arguments is the same. The attribute output_shapes says what is known of the
// shapes of the rows of the outputs.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Finds the number of rows, which all arguments must have.
static leat_status_t count_rows(leat_inference_t* c, int64_t* out_rows) {
  const leat_attr_value_t* arguments = leat_node_attr(c->node, LEAT_SV("Targuments"));
  *out_rows = LEAT_DIM_UNKNOWN;
  for (int i = 0; arguments && i < (int)arguments->count; ++i) {
    const leat_partial_shape_t shape = leat_inference_input(c, i);
    if (shape.rank < 0) continue;
    if (shape.rank == 0) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Arguments must have rank at least 1. Input "
                              "%d has rank of 0.", i);
    }
    leat_status_t status = leat_inference_merge_dim(*out_rows, shape.dims[0], out_rows);
    if (!status) continue;
    return leat_status_annotate(status, "Arguments must have the same dimension 0; argument %d", i);
  }
  return leat_ok_status();
}

static leat_status_t map_defun_shape(leat_inference_t* c) {
  const leat_attr_value_t* shapes = leat_node_attr(c->node, LEAT_SV("output_shapes"));
  int64_t rows;
  LEAT_RETURN_IF_ERROR(count_rows(c, &rows));
  if (!shapes || (int)shapes->count != c->node->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "`output_shapes` must be the same length as "
                            "`output_types` (%d vs. %d)", shapes ? (int)shapes->count : 0,
                            c->node->output_count);
  }
  leat_partial_shape_t first, whole;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &rows, &first));
  for (int i = 0; i < c->node->output_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, first, shapes->shapes[i], &whole));
    leat_inference_set_output(c, i, whole);
  }
  return leat_ok_status();
}

const leat_op_row_t leat_map_defun_ops[] = {
    {.name = "MapDefun",
     .inputs = "arguments: Targuments; captured_inputs: Tcaptured",
     .outputs = "output: output_types",
     .attrs = "Targuments: list(type) >= 1; Tcaptured: list(type) >= 0 = []; "
              "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; f: func; "
              "max_intra_op_parallelism: int = 1",
     .flags = LEAT_OP_CALLS | LEAT_OP_NEVER_FOLD,
     .shape = map_defun_shape,
     .doc = "What a function makes of each row of the arguments."},
    LEAT_OP_ROWS_END,
};
