// Definitions of the datasets whose elements come from tensors of the graph: the tensors as one
// element, their rows, and ranges of numbers.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_tensor_dataset_ops[] = {
    {.name = "TensorDataset",
     .inputs = "components: Toutput_types",
     .outputs = "handle: variant",
     .attrs = "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1" LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "One element: the tensors."},
    {.name = "TensorSliceDataset",
     .inputs = "components: Toutput_types",
     .outputs = "handle: variant",
     .attrs = "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; is_files: bool = "
              "false" LEAT_METADATA_ATTR "; replicate_on_split: bool = false",
     .flags = LEAT_OP_STATEFUL,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "The rows of tensors."},
    {.name = "RangeDataset",
     .inputs = "start: int64; stop: int64; step: int64",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR "; replicate_on_split: bool = false",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_of_scalars,
     .doc = "Numbers from a start to a stop by a step."},
    LEAT_OP_ROWS_END,
};
