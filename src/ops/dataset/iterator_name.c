// Definitions of the ops that turn an iterator's handle into a string and back.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_iterator_name_ops[] = {
    {.name = "IteratorToStringHandle",
     .inputs = "resource_handle: resource",
     .outputs = "string_handle: string",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "What names an iterator, as a string."},
    {.name = "IteratorFromStringHandle",
     .inputs = "string_handle: string",
     .outputs = "resource_handle: resource",
     .attrs = "output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The iterator that a string names."},
    {.name = "IteratorFromStringHandleV2",
     .inputs = "string_handle: string",
     .outputs = "resource_handle: resource",
     .attrs = "output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The iterator that a string names."},
    LEAT_OP_ROWS_END,
};
