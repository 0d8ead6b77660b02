// Definitions of the ops that read a whole dataset in one step.
#include "graph/gradient.h"
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_dataset_reader_ops[] = {
    {.name = "DatasetCardinality",
     .inputs = "input_dataset: variant",
     .outputs = "cardinality: int64",
     .attrs = "cardinality_options: string = ''",
     .shape = leat_shape_scalar_output,
     .doc = "How many elements there are; -1: no end, -2: unknown."},
    {.name = "DatasetToSingleElement",
     .inputs = "dataset: variant",
     .outputs = "components: output_types",
     .attrs = LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_of_element,
     .doc = "The only element."},
    {.name = "ReduceDataset",
     .inputs = "input_dataset: variant; initial_state: Tstate; other_arguments: Targuments",
     .outputs = "components: output_types",
     .attrs = "f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
              "; use_inter_op_parallelism: bool = true" LEAT_METADATA_ATTR,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_of_element,
     .gradient = leat_gradient_none,
     .doc = "A function of a state and each element, one after the other."},
    LEAT_OP_ROWS_END,
};
