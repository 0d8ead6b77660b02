// Definitions of the datasets that select elements at run time: by an index that another dataset
// gives, by whether they could be computed, and by whether their number is the expected one.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_choice_dataset_ops[] = {
    {.name = "DirectedInterleaveDataset",
     .inputs = "selector_input_dataset: variant; data_input_datasets: N * variant",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS "; N: int >= 1; stop_on_empty_dataset: bool = false",
     .shape = leat_shape_scalar_output,
     .doc = "Elements of several datasets, in the order that another names."},
    {.name = "IgnoreErrorsDataset",
     .inputs = "input_dataset: variant",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS "; log_warning: bool = false",
     .shape = leat_shape_scalar_output,
     .doc = "The elements that can be made."},
    {.name = "AssertCardinalityDataset",
     .inputs = "input_dataset: variant; cardinality: int64",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS,
     .shape = leat_shape_scalar_output,
     .doc = "The elements, which must be so many."},
    LEAT_OP_ROWS_END,
};
