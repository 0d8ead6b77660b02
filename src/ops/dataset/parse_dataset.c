// Definition of the datasets that parse batches of serialized Example messages into tensors.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

#define TYPES "list({float, int64, string}) >= 0"
#define ROW(op_name, order)                                                                        \
  {                                                                                                \
    .name = op_name,                                                                               \
    .inputs = "input_dataset: variant; num_parallel_calls: int64; dense_defaults: Tdense",         \
    .outputs = "handle: variant",                                                                  \
    .attrs = "sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; sparse_types: " TYPES \
             "; Tdense: " TYPES "; dense_shapes: list(shape) >= 0; " LEAT_ELEMENT_ATTRS "; " order \
             "; ragged_keys: list(string) >= 0 = []; ragged_value_types: " TYPES                   \
             " = []; ragged_split_types: list({int32, int64}) >= 0 = []",                          \
    .escaping_inputs = LEAT_EVERY_INPUT, .shape = leat_shape_scalar_output,                        \
    .doc = "The wanted features of batches of Example messages, by name."                          \
  }

const leat_op_row_t leat_parse_dataset_ops[] = {
    ROW("ParseExampleDataset", "sloppy: bool = false"),
    ROW("ParseExampleDatasetV2", "deterministic: string = 'default'"),
    LEAT_OP_ROWS_END,
};
