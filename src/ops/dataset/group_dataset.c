// Definition of GroupByWindowDataset, which collects elements by a key and reduces each full group.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_group_dataset_ops[] = {
    {.name = "GroupByWindowDataset",
     .inputs = "input_dataset: variant; key_func_other_arguments: Tkey_func_other_arguments; "
               "reduce_func_other_arguments: Treduce_func_other_arguments; "
               "window_size_func_other_arguments: Twindow_size_func_other_arguments",
     .outputs = "handle: variant",
     .attrs =
         "key_func: func; reduce_func: func; window_size_func: func; Tkey_func_other_arguments: "
         "list(type) >= 0; Treduce_func_other_arguments: list(type) >= 0; "
         "Twindow_size_func_other_arguments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
             LEAT_METADATA_ATTR,
     .escaping_inputs = LEAT_EVERY_INPUT,
     .shape = leat_shape_scalar_output,
     .doc = "The datasets that a function makes of so many elements of one key each."},
    LEAT_OP_ROWS_END,
};
