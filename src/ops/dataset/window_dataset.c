// Definitions of WindowDataset, whose elements are datasets of consecutive elements, and of
// UnbatchDataset, whose elements are the rows of its input's.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_window_dataset_ops[] = {
    {.name = "WindowDataset",
     .inputs =
         "input_dataset: variant; size: int64; shift: int64; stride: int64; drop_remainder: bool",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "Elements that follow each other, as datasets."},
    {.name = "UnbatchDataset",
     .inputs = "input_dataset: variant",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "The rows of elements."},
    LEAT_OP_ROWS_END,
};
