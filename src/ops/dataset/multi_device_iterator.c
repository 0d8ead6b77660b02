// Definitions of the iterators that deal out the elements of one dataset to several devices, in
// turn, so that each replica of a model gets elements of its own:
//
//   MultiDeviceIterator(devices) ─▶ iterator ─▶ MultiDeviceIteratorInit(dataset) ─▶ incarnation
//                                            └─▶ MultiDeviceIteratorGetNextFromShard(shard)
//
// Each initialization begins another incarnation, and whoever asks for elements of an earlier one
// is refused.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_multi_device_iterator_ops[] = {
    {.name = "MultiDeviceIterator",
     .outputs = "handle: resource",
     .attrs = "devices: list(string) >= 1; shared_name: string; container: string; "
              LEAT_ELEMENT_ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "An iterator whose elements are dealt out to several devices."},
    {.name = "AnonymousMultiDeviceIterator",
     .outputs = "handle: resource; deleter: variant",
     .attrs = "devices: list(string) >= 1; " LEAT_ELEMENT_ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "A new MultiDeviceIterator, and what deletes it."},
    {.name = "AnonymousMultiDeviceIteratorV3",
     .outputs = "handle: resource",
     .attrs = "devices: list(string) >= 1; " LEAT_ELEMENT_ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "A new MultiDeviceIterator that ends with its last handle."},
    {.name = "MultiDeviceIteratorInit",
     .inputs = "dataset: variant; multi_device_iterator: resource; max_buffer_size: int64",
     .outputs = "incarnation_id: int64",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "Sets a MultiDeviceIterator to the start of a dataset."},
    {.name = "MultiDeviceIteratorGetNextFromShard",
     .inputs = "multi_device_iterator: resource; shard_num: int32; incarnation_id: int64",
     .outputs = "components: output_types",
     .attrs = LEAT_ELEMENT_ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_of_element,
     .doc = "The next element for one device."},
    {.name = "MultiDeviceIteratorToStringHandle",
     .inputs = "multi_device_iterator: resource",
     .outputs = "string_handle: string",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "What names a MultiDeviceIterator, as a string."},
    {.name = "MultiDeviceIteratorFromStringHandle",
     .inputs = "string_handle: string",
     .outputs = "multi_device_iterator: resource",
     .attrs = "output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The MultiDeviceIterator that a string names."},
    {.name = "DeleteMultiDeviceIterator",
     .inputs = "multi_device_iterator: resource; iterators: N * resource; deleter: variant",
     .attrs = "N: int >= 0",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .doc = "Lets go of a MultiDeviceIterator."},
    LEAT_OP_ROWS_END,
};
