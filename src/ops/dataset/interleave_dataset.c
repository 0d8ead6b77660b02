// Definitions of the datasets whose function returns a dataset for each element: flat map and
// interleave.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_interleave_dataset_ops[] = {
    {.name = "FlatMapDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "The elements of the datasets that a function makes, one after the other."},
    {.name = "InterleaveDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
               "block_length: int64",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "Elements of the datasets that a function makes, in turns."},
    {.name = "ParallelInterleaveDatasetV2",
     .inputs = "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
               "block_length: int64; num_parallel_calls: int64",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
              "; sloppy: bool = false" LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "InterleaveDataset that reads several datasets at once."},
    {.name = "ParallelInterleaveDatasetV3",
     .inputs = "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
               "block_length: int64; num_parallel_calls: int64",
     .outputs = "handle: variant",
     .attrs = "f: func; deterministic: string = 'default'; Targuments: list(type) >= "
              "0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "ParallelInterleaveDatasetV2 that says whether order matters."},
    {.name = "ParallelInterleaveDatasetV4",
     .inputs = "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
               "block_length: int64; buffer_output_elements: int64; prefetch_input_elements: "
               "int64; num_parallel_calls: int64",
     .outputs = "handle: variant",
     .attrs = "f: func; deterministic: string = 'default'; Targuments: list(type) >= "
              "0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "ParallelInterleaveDatasetV3 with sizes of its buffers."},
    LEAT_OP_ROWS_END,
};
