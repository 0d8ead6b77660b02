// The definition of a dataset that has no kernel, since it reads LMDB's databases. Graphs of
// training programs hold it beside the part that somebody wants to run: such a graph can be loaded,
// and a step that needs this op fails when it is placed.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_declared_dataset_ops[] = {
    {.name = "LMDBDataset",
     .inputs = "filenames: string",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The pairs of keys and values in LMDB files."},
    LEAT_OP_ROWS_END,
};
