// Definitions of CropAndResize and its gradients. CropAndResize cuts boxes out of a batch of images
// and resizes all of them to one size; box_ind says which image each box is cut out of. Object
// detectors use it between their two stages.
//
//   image [batch, height, width, channels], boxes [n, 4], box_ind [n], crop_size [2] -> crops
//
// The images have a gradient where they are floating-point, and the boxes always have one, because
// with bilinear interpolation a crop changes smoothly with the corners of its box. Each of the two
// gradients is an op of its own. crop_cpu.c has the kernels.
#include "graph/gradient.h"
#include "ops/image/image_shape.h"
#include "ops/op_rows.h"

// Gives the number of boxes: input |input| is boxes [boxes, 4], the input after it the numbers of
// their images [boxes].
static leat_status_t box_count(leat_inference_t* c, int input, int64_t* out_count) {
  leat_partial_shape_t boxes, images;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, input), 2, &boxes));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, input + 1), 1, &images));
  int64_t four;
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(boxes.rank == 2 ? boxes.dims[1] : -1, 4, &four));
  return leat_inference_merge_dim(boxes.rank == 2 ? boxes.dims[0] : LEAT_DIM_UNKNOWN,
                                  images.rank == 1 ? images.dims[0] : LEAT_DIM_UNKNOWN, out_count);
}

static leat_status_t crop_shape(leat_inference_t* c) {
  leat_partial_shape_t image;
  int64_t boxes;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &image));
  LEAT_RETURN_IF_ERROR(box_count(c, 1, &boxes));
  return leat_image_set_resized(c, 3, boxes, image.rank == 4 ? image.dims[3] : LEAT_DIM_UNKNOWN);
}

static leat_status_t image_grad_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 3, &shape));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, shape, 4, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t boxes_grad_shape(leat_inference_t* c) {
  leat_inference_set_output(c, 0, leat_inference_input(c, 2));
  return leat_ok_status();
}

// The gradient of the boxes is that of the bilinear method, whatever the method was. Images of
// integers get no gradient.
static leat_status_t crop_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  leat_output_t dy = leat_gradient_of_output(g, 0), image = leat_gradient_input(g, 0);
  leat_output_t boxes = leat_gradient_input(g, 1), places = leat_gradient_input(g, 2);
  int dtype = leat_node_attr_type(node, "T");
  if (dtype == LEAT_DTYPE_FLOAT || dtype == LEAT_DTYPE_HALF || dtype == LEAT_DTYPE_DOUBLE) {
    const leat_attr_value_t* method = leat_node_attr(node, LEAT_SV("method"));
    leat_gradient_set_input(
        g, 0,
        leat_build(b, "CropAndResizeGradImage",
                   LEAT_INPUTS(dy, boxes, places, leat_build_shape_of(b, image)),
                   LEAT_ATTRS(LEAT_TYPE("T", dtype), {LEAT_SV("method"), *method})));
  }
  leat_gradient_set_input(g, 1,
                          leat_build(b, "CropAndResizeGradBoxes",
                                     LEAT_INPUTS(dy, image, boxes, places), LEAT_NO_ATTRS));
  return leat_ok_status();
}

#define IMAGE_TYPES "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}"

const leat_op_row_t leat_crop_ops[] = {
    {.name = "CropAndResize",
     .inputs = "image: T; boxes: float; box_ind: int32; crop_size: int32",
     .outputs = "crops: float",
     .attrs = IMAGE_TYPES "; method: {'bilinear', 'nearest'} = 'bilinear'; "
                          "extrapolation_value: float = 0.0",
     .shape = crop_shape,
     .gradient = crop_gradient,
     .doc = "Boxes of images, in coordinates from 0 to 1, brought to one size."},
    {.name = "CropAndResizeGradImage",
     .inputs = "grads: float; boxes: float; box_ind: int32; image_size: int32",
     .outputs = "output: T",
     .attrs = "T: {float, half, double}; method: {'bilinear', 'nearest'} = 'bilinear'",
     .shape = image_grad_shape,
     .doc = "The gradient of CropAndResize with respect to the images."},
    {.name = "CropAndResizeGradBoxes",
     .inputs = "grads: float; image: T; boxes: float; box_ind: int32",
     .outputs = "output: float",
     .attrs = IMAGE_TYPES "; method: {'bilinear'} = 'bilinear'",
     .shape = boxes_grad_shape,
     .doc = "The gradient of CropAndResize with respect to the boxes."},
    LEAT_OP_ROWS_END,
};
