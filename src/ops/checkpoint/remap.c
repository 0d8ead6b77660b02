// The ops of warm starts: a vocabulary's remapping to an older vocabulary, and a checkpoint's
// matrix with its rows and columns put in the order that such a remapping says.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t vocabulary_shape(leat_inference_t* c) {
  leat_partial_shape_t scalar, vector;
  int64_t count = leat_node_attr_int(c->node, "num_new_vocab", 0);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &scalar));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &scalar));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &count, &vector));
  leat_inference_set_output(c, 0, vector);
  leat_inference_set_output(c, 1, scalar);
  return leat_ok_status();
}

static leat_status_t matrix_shape(leat_inference_t* c) {
  leat_partial_shape_t scalar, matrix;
  int64_t dims[] = {leat_node_attr_int(c->node, "num_rows", 0),
                    leat_node_attr_int(c->node, "num_cols", 0)};
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &scalar));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &matrix));
  leat_inference_set_output(c, 0, matrix);
  return leat_ok_status();
}

const leat_op_row_t leat_remap_ops[] = {
    {.name = "GenerateVocabRemapping",
     .inputs = "new_vocab_file: string; old_vocab_file: string",
     .outputs = "remapping: int64; num_present: int32",
     .attrs = "new_vocab_offset: int >= 0; num_new_vocab: int >= 0; old_vocab_size: int >= -1 = -1",
     .shape = vocabulary_shape,
     .gradient = leat_gradient_none,
     .doc = "Where the lines of one file stand in another, -1 for those that do not."},
    {.name = "LoadAndRemapMatrix",
     .inputs = "ckpt_path: string; old_tensor_name: string; row_remapping: int64; "
               "col_remapping: int64; initializing_values: float",
     .outputs = "output_matrix: float",
     .attrs = "num_rows: int >= 0; num_cols: int >= 1; max_rows_in_memory: int = -1",
     .flags = LEAT_OP_STATEFUL,
     .shape = matrix_shape,
     .gradient = leat_gradient_none,
     .doc = "A checkpoint's matrix with its rows and columns in another order."},
    LEAT_OP_ROWS_END,
};
