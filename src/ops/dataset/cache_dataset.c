// Definitions of CacheDataset and of the ops that make the memory in which it keeps elements. The
// kernels of the latter are in cache_dataset_cpu.c and, where a handle stands for nothing, in
// seed_generator_cpu.c.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_cache_dataset_ops[] = {
    {.name = "CacheDataset",
     .inputs = "input_dataset: variant; filename: string",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_of_scalars,
     .doc = "The elements, remembered for the next pass."},
    {.name = "CacheDatasetV2",
     .inputs = "input_dataset: variant; filename: string; cache: resource",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_of_scalars,
     .doc = "CacheDataset with the memory as a resource."},
    {.name = "AnonymousMemoryCache",
     .outputs = "handle: resource; deleter: variant",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "Makes a memory of elements."},
    {.name = "DummyMemoryCache",
     .outputs = "handle: resource",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "Stands where a memory of elements is not needed."},
    {.name = "DeleteMemoryCache",
     .inputs = "handle: resource; deleter: variant",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .doc = "Lets go of a memory of elements."},
    LEAT_OP_ROWS_END,
};
