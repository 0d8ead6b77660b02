// Definition of ScanDataset, which calls a function with a state and each element.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_scan_dataset_ops[] = {
    {.name = "ScanDataset",
     .inputs = "input_dataset: variant; initial_state: Tstate; other_arguments: Targuments",
     .outputs = "handle: variant",
     .attrs =
         "f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
         "; preserve_cardinality: bool = false; use_default_device: bool = true" LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "A function of a state and each element."},
    LEAT_OP_ROWS_END,
};
