// Definitions of the ops that resize images: bicubic, bilinear, and to the nearest pixel. The new
// size is an input, so that a program can compute it; where it is a constant the output's shape is
// known.
//
//   images [batch, height, width, channels], size [2] int32 -> [batch, size[0], size[1], channels]
//
// Each op has a gradient op. Those of the first two take the images, although only their shape
// matters, because the output has that shape and type; that of the last takes the size alone. The
// attributes align_corners and half_pixel_centers say which pixel of the input lies under which of
// the output, and a gradient node gets the same values. resize_cpu.c has the kernels.
#include "graph/gradient.h"
#include "ops/image/image_shape.h"
#include "ops/op_rows.h"

leat_status_t leat_image_set_resized(leat_inference_t* c, int size, int64_t batch,
                                     int64_t channels) {
  leat_partial_shape_t shape;
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, size), 1, &shape));
  int64_t two;
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(shape.rank == 1 ? shape.dims[0] : -1, 2, &two));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, size, &value));
  int64_t dims[4] = {batch, LEAT_DIM_UNKNOWN, LEAT_DIM_UNKNOWN, channels};
  for (int i = 0; i < 2 && value.rank == 1 && value.count == 2; ++i) {
    if (value.items[i] >= 0) dims[i + 1] = value.items[i];
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 4, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t resize_shape(leat_inference_t* c) {
  leat_partial_shape_t images;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &images));
  bool known = images.rank == 4;
  return leat_image_set_resized(c, 1, known ? images.dims[0] : LEAT_DIM_UNKNOWN,
                                known ? images.dims[3] : LEAT_DIM_UNKNOWN);
}

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

static leat_status_t bicubic_gradient(leat_gradient_t* g) {
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

#define CORNERS "; align_corners: bool = false; half_pixel_centers: bool = false"
#define PIXELS "int8, uint8, int16, uint16, int32, int64"

const leat_op_row_t leat_resize_ops[] = {
    {.name = "ResizeBicubic",
     .inputs = "images: T; size: int32",
     .outputs = "resized_images: float",
     .attrs = "T: {" PIXELS ", half, float, double, bfloat16}" CORNERS,
     .shape = resize_shape,
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
     .shape = resize_shape,
     .gradient = bilinear_gradient,
     .doc = "Images of another size, each pixel a weighted mean of the four about it."},
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
     .shape = resize_shape,
     .gradient = nearest_gradient,
     .doc = "Images of another size, each pixel the nearest one."},
    {.name = "ResizeNearestNeighborGrad",
     .inputs = "grads: T; size: int32",
     .outputs = "output: T",
     .attrs = "T: {uint8, int8, int32, half, float, double, bfloat16}" CORNERS,
     .shape = resize_shape,
     .gradient = leat_gradient_none,
     .doc = "The gradient of ResizeNearestNeighbor with respect to its images."},
    LEAT_OP_ROWS_END,
};
