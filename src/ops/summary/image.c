// The op that describes images as a Summary message with a PNG file for each image.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_image_ops[] = {
    {.name = "ImageSummary",
     .inputs = "tag: string; tensor: T",
     .outputs = "summary: string",
     .attrs = "max_images: int >= 1 = 3; T: {uint8, float, half, double} = float; "
              "bad_color: tensor = { dtype: DT_UINT8 tensor_shape { dim { size: 4 } } "
              "int_val: 255 int_val: 0 int_val: 0 int_val: 255 }",
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "A summary with images as PNG files."},
    LEAT_OP_ROWS_END,
};
