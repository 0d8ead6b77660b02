// Definitions of the ops that make and delete generators of seeds for shuffling and random
// datasets.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_seed_generator_ops[] = {
    {.name = "AnonymousSeedGenerator",
     .inputs = "seed: int64; seed2: int64; reshuffle: bool",
     .outputs = "handle: resource; deleter: variant",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "Makes a generator of seeds that may stay the same."},
    {.name = "AnonymousRandomSeedGenerator",
     .inputs = "seed: int64; seed2: int64",
     .outputs = "handle: resource; deleter: variant",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "Makes a generator of seeds."},
    {.name = "DummySeedGenerator",
     .outputs = "handle: resource",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "Stands where a generator of seeds is not needed."},
    {.name = "DeleteSeedGenerator",
     .inputs = "handle: resource; deleter: variant",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .doc = "Lets go of a generator of seeds."},
    {.name = "DeleteRandomSeedGenerator",
     .inputs = "handle: resource; deleter: variant",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .doc = "Lets go of a generator of seeds."},
    LEAT_OP_ROWS_END,
};
