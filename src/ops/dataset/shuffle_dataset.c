// Definitions of the datasets that give the elements of their input in a random order, and of the
// generators from which they and RandomDatasetV2 take the seeds of each pass.
//
// A generator of seeds is a resource. It lives apart from the datasets so that a pipeline which is
// made anew for each epoch goes on with new seeds, and so that two pipelines can share one. The
// first forms of the ops have their seeds as inputs instead. The kernels are in
// shuffle_dataset_cpu.c and seed_generator_cpu.c.
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
    // Generators of seeds.
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
    {.name = "DummyIterationCounter",
     .outputs = "handle: resource",
     .shape = leat_shape_scalar_output,
     .doc = "Stands where a counter of passes is not needed."},
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
