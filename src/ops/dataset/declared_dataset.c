// Definitions of datasets that have no kernel, since they read from databases. Graphs of training
// programs hold them beside the part that somebody wants to run: such a graph can be loaded, and a
// step that needs one of these ops fails when it is placed.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_declared_dataset_ops[] = {
    {.name = "SqlDataset",
     .inputs = "driver_name: string; data_source_name: string; query: string",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The rows of a query of a database."},
    {.name = "LMDBDataset",
     .inputs = "filenames: string",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The pairs of keys and values in LMDB files."},
    LEAT_OP_ROWS_END,
};
