// Definitions of the ops on the pixels of images [batch, height, width, channels]: resizing,
// cutting boxes out, and drawing boxes.
//
//   Resize*             images, size [2] int32 -> [batch, size[0], size[1], channels]
//   CropAndResize       image, boxes [n, 4], box_ind [n], crop_size [2] -> crops
//   DrawBoundingBoxes*  images, boxes [batch, boxes, 4] -> images
//
// A new size is an input, so that a program can compute it; where it is a constant the output's
// shape is known. Each op that resizes has a gradient op. Those of ResizeBicubic and ResizeBilinear
// take the images, although only their shape matters, because the output has that shape and type;
// that of ResizeNearestNeighbor takes the size alone. The attributes align_corners and
// half_pixel_centers say which pixel of the input lies under which of the output, and a gradient
// node gets the same values. The kernels are in resize_cpu.c, crop_cpu.c and drawing_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/image/image_shape.h"
#include "ops/op_rows.h"

// ---- Resizing -----------------------------------------------------------------------------------

// The output has the shape of input 1, the images that were resized.
static leat_status_t resize_grad_shape(leat_inference_t* c) {
  leat_inference_set_output(c, 0, leat_inference_input(c, 1));
  return leat_ok_status();
}

// A bool attribute of the node whose gradient is built, for the gradient node.
static leat_attr_t copied_attr(const leat_gradient_t* g, const char* name) {
  bool value = leat_node_attr_bool(leat_gradient_node(g), name, false);
  return (leat_attr_t){leat_string_view_from(name), {.kind = LEAT_ATTR_BOOL, .b = value}};
}

static leat_status_t add_gradient(leat_gradient_t* g, const char* op) {
  leat_gradient_set_input(
      g, 0,
      leat_build(
          &g->builder, op, LEAT_INPUTS(leat_gradient_of_output(g, 0), leat_gradient_input(g, 0)),
          LEAT_ATTRS(copied_attr(g, "align_corners"), copied_attr(g, "half_pixel_centers"))));
  return leat_ok_status();
}

// Images of other types than the gradient op has get no gradient, as in TensorFlow.
static leat_status_t bicubic_gradient(leat_gradient_t* g) {
  const int dtype = leat_build_type_of(&g->builder, leat_gradient_input(g, 0));
  if (dtype != LEAT_DTYPE_FLOAT && dtype != LEAT_DTYPE_DOUBLE) return leat_ok_status();
  return add_gradient(g, "ResizeBicubicGrad");
}

static leat_status_t bilinear_gradient(leat_gradient_t* g) {
  return add_gradient(g, "ResizeBilinearGrad");
}

// The gradient op takes height and width of the images, which are cut out of their shape.
static leat_status_t nearest_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t size = leat_build(b, "Slice",
                                  LEAT_INPUTS(leat_build_shape_of(b, leat_gradient_input(g, 0)),
                                              leat_build_int32_vector(b, (int32_t[]){1}, 1),
                                              leat_build_int32_vector(b, (int32_t[]){2}, 1)),
                                  LEAT_NO_ATTRS);
  leat_gradient_set_input(
      g, 0,
      leat_build(
          b, "ResizeNearestNeighborGrad", LEAT_INPUTS(leat_gradient_of_output(g, 0), size),
          LEAT_ATTRS(copied_attr(g, "align_corners"), copied_attr(g, "half_pixel_centers"))));
  return leat_ok_status();
}

// The range of the pixels, inputs 2 and 3, is that of the output too.
static leat_status_t quantized_resize_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_image_resize_shape(c));
  for (int i = 0; i < 2; ++i) {
    LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 2 + i));
    leat_inference_set_output(c, 1 + i, leat_partial_shape_scalar());
  }
  return leat_ok_status();
}

static leat_status_t scaled_resize_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 2));
  return leat_image_resize_shape(c);
}

#define CORNERS "; align_corners: bool = false; half_pixel_centers: bool = false"
#define PIXELS "int8, uint8, int16, uint16, int32, int64"

// ---- Cutting boxes out --------------------------------------------------------------------------
// CropAndResize cuts boxes out of a batch of images and resizes all of them to one size; box_ind
// says which image each box is cut out of. Object detectors use it between their two stages.
//
// The images have a gradient where they are floating-point, and the boxes always have one, because
// with bilinear interpolation a crop changes smoothly with the corners of its box. Each of the two
// gradients is an op of its own.

// There is one crop for each box: input 1 is boxes [boxes, 4], input 2 the numbers of their images
// [boxes].
static leat_status_t crop_shape(leat_inference_t* c) {
  leat_partial_shape_t image, boxes, places;
  int64_t four, count;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &image));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 2, &boxes));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &places));
  LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(leat_partial_shape_dim(boxes, 1), 4, &four));
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(boxes, 0),
                                                leat_partial_shape_dim(places, 0), &count));
  return leat_image_set_resized(c, 3, count, image.rank == 4 ? image.dims[3] : LEAT_DIM_UNKNOWN);
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

// ---- Drawing boxes ------------------------------------------------------------------------------
// The outlines of boxes are drawn into images. Colours are fixed in the first version of the op and
// an input in the second.

// Images have one channel (grey), three (RGB) or four (RGBA).
static leat_status_t draw_shape(leat_inference_t* c) {
  leat_partial_shape_t images, boxes;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &images));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 3, &boxes));
  int64_t depth = images.rank == 4 ? images.dims[3] : LEAT_DIM_UNKNOWN, four;
  if (depth >= 0 && depth != 1 && depth != 3 && depth != 4) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
  }
  LEAT_RETURN_IF_ERROR(
      leat_inference_dim_with_value(boxes.rank == 3 ? boxes.dims[2] : LEAT_DIM_UNKNOWN, 4, &four));
  leat_inference_set_output(c, 0, images);
  return leat_ok_status();
}

static leat_status_t draw_v2_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, leat_inference_input(c, 0), 3));
  return leat_shape_unchanged(c);
}

#define RULES \
  LEAT_RULE_RANK(0, 4), LEAT_RULE_RANK(1, 3), LEAT_RULE_SAME_DIM(0, 0, 1, 0), LEAT_RULE_DIM(1, 2, 4)

const leat_op_row_t leat_image_ops[] = {
    {.name = "ResizeBicubic",
     .inputs = "images: T; size: int32",
     .outputs = "resized_images: float",
     .attrs = "T: {" PIXELS ", half, float, double, bfloat16}" CORNERS,
     .shape = leat_image_resize_shape,
     .gradient = bicubic_gradient,
     .doc = "Images of another size, each pixel a weighted mean of the sixteen about it."},
    {.name = "ResizeBicubicGrad",
     .inputs = "grads: float; original_image: T",
     .outputs = "output: T",
     .attrs = "T: {float, double}" CORNERS,
     .shape = resize_grad_shape,
     .doc = "The gradient of ResizeBicubic with respect to its images."},
    {.name = "ResizeBilinear",
     .inputs = "images: T; size: int32",
     .outputs = "resized_images: float",
     .attrs = "T: {" PIXELS ", bfloat16, half, float, double, bfloat16}" CORNERS,
     .shape = leat_image_resize_shape,
     .gradient = bilinear_gradient,
     .doc = "Images of another size, each pixel a weighted mean of the four about it."},
    {.name = "_ScaledResizeBilinear",
     .inputs = "images: T; size: int32; factor: float",
     .outputs = "resized_images: float",
     .attrs = "T: {" PIXELS ", half, float, bfloat16}; scaling: {'Mul', 'RealDiv'}" CORNERS,
     .shape = scaled_resize_shape,
     .doc = "ResizeBilinear of images that are first multiplied or divided by a number."},
    {.name = "QuantizedResizeBilinear",
     .inputs = "images: T; size: int32; min: float; max: float",
     .outputs = "resized_images: T; out_min: float; out_max: float",
     .attrs = "T: {quint8, qint32, float}" CORNERS,
     .shape = quantized_resize_shape,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(2), LEAT_RULE_SCALAR(3)),
     .doc = "ResizeBilinear of quantised images, whose range stays as it is."},
    {.name = "ResizeBilinearGrad",
     .inputs = "grads: float; original_image: T",
     .outputs = "output: T",
     .attrs = "T: {float, bfloat16, half, double}" CORNERS,
     .shape = resize_grad_shape,
     .gradient = leat_gradient_none,
     .doc = "The gradient of ResizeBilinear with respect to its images."},
    {.name = "ResizeNearestNeighbor",
     .inputs = "images: T; size: int32",
     .outputs = "resized_images: T",
     .attrs = "T: {" PIXELS ", half, float, double, bfloat16}" CORNERS,
     .shape = leat_image_resize_shape,
     .gradient = nearest_gradient,
     .doc = "Images of another size, each pixel the nearest one."},
    {.name = "ResizeNearestNeighborGrad",
     .inputs = "grads: T; size: int32",
     .outputs = "output: T",
     .attrs = "T: {uint8, int8, int32, half, float, double, bfloat16}" CORNERS,
     .shape = leat_image_resize_shape,
     .gradient = leat_gradient_none,
     .doc = "The gradient of ResizeNearestNeighbor with respect to its images."},
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
    {.name = "DrawBoundingBoxes",
     .inputs = "images: T; boxes: float",
     .outputs = "output: T",
     .attrs = "T: {float, half} = DT_FLOAT",
     .shape = draw_shape,
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(RULES),
     .doc = "Images with the outlines of boxes, in ten colours."},
    {.name = "DrawBoundingBoxesV2",
     .inputs = "images: T; boxes: float; colors: float",
     .outputs = "output: T",
     .attrs = "T: {float, half} = DT_FLOAT",
     .shape = draw_v2_shape,
     .contract = LEAT_RULES(RULES, LEAT_RULE_RANK(2, 2)),
     .doc = "Images with the outlines of boxes, in the colours given."},
    LEAT_OP_ROWS_END,
};
