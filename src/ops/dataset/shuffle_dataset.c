// Definitions of the datasets that give the elements of their input in a random order.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_shuffle_dataset_ops[] = {
    {.name = "ShuffleDataset",
     .inputs = "input_dataset: variant; buffer_size: int64; seed: int64; seed2: int64",
     .outputs = "handle: variant",
     .attrs = "reshuffle_each_iteration: bool = true; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_of_scalars,
     .doc = "The elements in a random order."},
    {.name = "ShuffleDatasetV2",
     .inputs = "input_dataset: variant; buffer_size: int64; seed_generator: resource",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_of_scalars,
     .doc = "ShuffleDataset with seeds of a generator."},
    {.name = "ShuffleDatasetV3",
     .inputs = "input_dataset: variant; buffer_size: int64; seed: int64; seed2: int64; "
               "seed_generator: resource",
     .outputs = "handle: variant",
     .attrs = "reshuffle_each_iteration: bool = true; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_of_scalars,
     .doc = "ShuffleDataset with seeds, and a generator of more."},
    {.name = "ShuffleAndRepeatDataset",
     .inputs =
         "input_dataset: variant; buffer_size: int64; seed: int64; seed2: int64; count: int64",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS "; reshuffle_each_iteration: bool = true" LEAT_METADATA_ATTR,
     .shape = leat_shape_of_scalars,
     .doc = "The elements several times over, each time in a random order."},
    {.name = "ShuffleAndRepeatDatasetV2",
     .inputs = "input_dataset: variant; buffer_size: int64; seed: int64; seed2: int64; count: "
               "int64; seed_generator: resource",
     .outputs = "handle: variant",
     .attrs = "reshuffle_each_iteration: bool = true; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_of_scalars,
     .doc = "ShuffleAndRepeatDataset with a generator of seeds."},
    LEAT_OP_ROWS_END,
};
