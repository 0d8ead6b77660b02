// Definitions of the datasets that call a function for each element: map, filter and take-while.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_map_dataset_ops[] = {
    {.name = "MapDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
              "; use_inter_op_parallelism: bool = true; preserve_cardinality: bool = false; "
              "force_synchronous: bool = false" LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "A function of each element."},
    {.name = "ParallelMapDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments; num_parallel_calls: int32",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
              "; use_inter_op_parallelism: bool = true; sloppy: bool = false; "
              "preserve_cardinality: bool = false" LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "A function of each element, called for several at once."},
    {.name = "ParallelMapDatasetV2",
     .inputs = "input_dataset: variant; other_arguments: Targuments; num_parallel_calls: int64",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
              "; use_inter_op_parallelism: bool = true; deterministic: string = 'default'; "
              "preserve_cardinality: bool = false; use_unbounded_threadpool: bool = "
              "false" LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "ParallelMapDataset that says whether order matters."},
    {.name = "FilterDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments",
     .outputs = "handle: variant",
     .attrs =
         "predicate: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "The elements for which a function says true."},
    {.name = "ParallelFilterDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments; num_parallel_calls: int64",
     .outputs = "handle: variant",
     .attrs = "predicate: func; deterministic: string = 'default'; Targuments: list(type) >= "
              "0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "FilterDataset that calls for several elements at once."},
    {.name = "TakeWhileDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments",
     .outputs = "handle: variant",
     .attrs =
         "predicate: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "The elements before the first for which a function says false."},
    LEAT_OP_ROWS_END,
};
