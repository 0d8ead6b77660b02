// Definitions of DataFormatDimMap and DataFormatVecPermute, which translate numbers and sizes of
// dimensions from one data format to another.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

#define ATTRS \
  "T: {int32, int64} = int32; src_format: string = 'NHWC'; dst_format: string = 'NCHW'"

const leat_op_row_t leat_data_format_ops[] = {
    {.name = "DataFormatDimMap",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = ATTRS,
     .shape = leat_shape_unchanged,
     .doc = "The places in dst_format of dimensions of src_format."},
    {.name = "DataFormatVecPermute",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = ATTRS,
     .shape = leat_shape_unchanged,
     .doc = "A vector (or pairs) of sizes in src_format, in the order of dst_format."},
    LEAT_OP_ROWS_END,
};
