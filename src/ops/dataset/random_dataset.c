// Definitions of the datasets of random numbers.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_random_dataset_ops[] = {
    {.name = "RandomDataset",
     .inputs = "seed: int64; seed2: int64",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "Random numbers, without end."},
    {.name = "RandomDatasetV2",
     .inputs = "seed: int64; seed2: int64; seed_generator: resource",
     .outputs = "handle: variant",
     .attrs = "rerandomize_each_iteration: bool = false; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "RandomDataset with a generator of seeds."},
    LEAT_OP_ROWS_END,
};
