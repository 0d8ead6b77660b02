// The ops that write tensors to a checkpoint, each under a name, whole or as a slice of a larger
// tensor.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Checks that input 0 is a scalar, and that inputs 1 to first - 1 are vectors with an item for each
// of the tensors, which are the inputs from |first| on.
static leat_status_t save_shape(leat_inference_t* c, int first) {
  leat_partial_shape_t vector;
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &vector));
  for (int i = 1; i < first; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 1, &vector));
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(vector, 0),
                                                  leat_inference_input_count(c) - first, &unused));
  }
  return leat_ok_status();
}

static leat_status_t save_whole_shape(leat_inference_t* c) { return save_shape(c, 2); }

static leat_status_t save_slices_shape(leat_inference_t* c) { return save_shape(c, 3); }

const leat_op_row_t leat_save_ops[] = {
    {.name = "SaveV2",
     .inputs = "prefix: string; tensor_names: string; shape_and_slices: string; tensors: dtypes",
     .attrs = "dtypes: list(type) >= 1",
     .flags = LEAT_OP_STATEFUL,
     .shape = save_slices_shape,
     .gradient = leat_gradient_none,
     .doc = "Writes a checkpoint of the second version, whole or not at all."},
    {.name = "Save",
     .inputs = "filename: string; tensor_names: string; data: T",
     .attrs = "T: list(type) >= 1",
     .flags = LEAT_OP_STATEFUL,
     .shape = save_whole_shape,
     .gradient = leat_gradient_none,
     .doc = "Writes a checkpoint of the first version."},
    {.name = "SaveSlices",
     .inputs = "filename: string; tensor_names: string; shapes_and_slices: string; data: T",
     .attrs = "T: list(type) >= 1",
     .flags = LEAT_OP_STATEFUL,
     .shape = save_slices_shape,
     .gradient = leat_gradient_none,
     .doc = "Writes slices of tensors to a checkpoint of the first version."},
    LEAT_OP_ROWS_END,
};
