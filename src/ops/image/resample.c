// Definitions of the ops that resample images [batch, height, width, channels] by weights that
// depend on where an output pixel lies: the mean of an area, any scale and translation under a
// choice of kernels, and projective transforms.
//
//   ResizeArea                 images, size [2]                            -> resized_images
//   ScaleAndTranslate          images, size [2], scale [2], translation [2] -> resized_images
//   ImageProjectiveTransform*  images, transforms [batch or 1, 8], output_shape [2] -> images
//
// The gradient of a projective transform is the transform by the inverse matrix. The kernels are in
// resample_cpu.c and projective_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/image/image_shape.h"
#include "ops/op_rows.h"

// Checks that inputs |first| and |first| + 1 are vectors of 2.
static leat_status_t check_pairs(leat_inference_t* c, int first) {
  for (int i = first; i < first + 2; ++i) {
    leat_partial_shape_t pair;
    int64_t two;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 1, &pair));
    LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(pair.dims[0], 2, &two));
  }
  return leat_ok_status();
}

static leat_status_t scale_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_pairs(c, 2));
  return leat_image_resize_shape(c);
}

// The output has the shape of input 1, the images that were scaled.
static leat_status_t scale_grad_shape(leat_inference_t* c) {
  leat_inference_set_output(c, 0, leat_inference_input(c, 1));
  return leat_ok_status();
}

static leat_status_t projective_shape(leat_inference_t* c) {
  leat_partial_shape_t images;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 4, &images));
  if (leat_inference_input_count(c) > 3) LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 3));
  return leat_image_set_resized(c, 2, images.dims[0], images.dims[3]);
}

// ---- Gradients ----------------------------------------------------------------------------------

static leat_attr_t copied_attr(const leat_gradient_t* g, const char* name) {
  const leat_string_view_t text = leat_string_view_from(name);
  return (leat_attr_t){text, *leat_node_attr(leat_gradient_node(g), text)};
}

static leat_status_t scale_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(
      g, 0,
      leat_build(&g->builder, "ScaleAndTranslateGrad",
                 LEAT_INPUTS(leat_gradient_of_output(g, 0), leat_gradient_input(g, 0),
                             leat_gradient_input(g, 2), leat_gradient_input(g, 3)),
                 LEAT_ATTRS(copied_attr(g, "kernel_type"), copied_attr(g, "antialias"))));
  return leat_ok_status();
}

// The transforms [n, 8] of the inverse matrices. A transform is a matrix without its last number,
// which is 1.
static leat_output_t build_inverse(leat_builder_t* b, leat_output_t transforms) {
  leat_output_t flat = leat_build_binary(
      b, "Reshape", transforms, leat_build_int32_vector(b, (const int32_t[]){-1, 8}, 2));
  leat_output_t column =
      leat_build(b, "Slice",
                 LEAT_INPUTS(flat, leat_build_int32_vector(b, (const int32_t[]){0, 0}, 2),
                             leat_build_int32_vector(b, (const int32_t[]){-1, 1}, 2)),
                 LEAT_NO_ATTRS);
  leat_output_t nine = leat_build(b, "ConcatV2",
                                  LEAT_INPUTS(flat, leat_build_unary(b, "OnesLike", column),
                                              leat_build_scalar(b, LEAT_DTYPE_INT32, 1)),
                                  LEAT_NO_ATTRS);
  leat_output_t matrices = leat_build_binary(
      b, "Reshape", nine, leat_build_int32_vector(b, (const int32_t[]){-1, 3, 3}, 3));
  leat_output_t inverse = leat_build_binary(
      b, "Reshape", leat_build_unary(b, "MatrixInverse", matrices),
      leat_build_int32_vector(b, (const int32_t[]){-1, 9}, 2));
  leat_output_t last =
      leat_build(b, "Slice",
                 LEAT_INPUTS(inverse, leat_build_int32_vector(b, (const int32_t[]){0, 8}, 2),
                             leat_build_int32_vector(b, (const int32_t[]){-1, 1}, 2)),
                 LEAT_NO_ATTRS);
  return leat_build(b, "Slice",
                    LEAT_INPUTS(leat_build_binary(b, "RealDiv", inverse, last),
                                leat_build_int32_vector(b, (const int32_t[]){0, 0}, 2),
                                leat_build_int32_vector(b, (const int32_t[]){-1, 8}, 2)),
                    LEAT_NO_ATTRS);
}

static leat_status_t projective_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t size = leat_build(b, "Slice",
                                  LEAT_INPUTS(leat_build_shape_of(b, leat_gradient_input(g, 0)),
                                              leat_build_int32_vector(b, (const int32_t[]){1}, 1),
                                              leat_build_int32_vector(b, (const int32_t[]){2}, 1)),
                                  LEAT_NO_ATTRS);
  const leat_output_t inputs[] = {leat_gradient_of_output(g, 0),
                                  build_inverse(b, leat_gradient_input(g, 1)), size,
                                  leat_build_scalar(b, LEAT_DTYPE_FLOAT, 0)};
  const bool has_fill = leat_gradient_node(g)->input_count > 3;
  leat_gradient_set_input(
      g, 0,
      leat_build(b, has_fill ? "ImageProjectiveTransformV3" : "ImageProjectiveTransformV2",
                 (leat_outputs_t){inputs, has_fill ? 4 : 3},
                 LEAT_ATTRS(copied_attr(g, "interpolation"), copied_attr(g, "fill_mode"))));
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

#define KERNEL "kernel_type: string = 'lanczos3'; antialias: bool = true"
#define PROJECTIVE                                                                             \
  "dtype: {uint8, int32, int64, half, bfloat16, float, double}; interpolation: string; "       \
  "fill_mode: string = 'CONSTANT'"

const leat_op_row_t leat_resample_ops[] = {
    LEAT_OP_ROW("ResizeArea", "images: T; size: int32", "resized_images: float",
                "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}; "
                "align_corners: bool = false",
                leat_image_resize_shape, NULL,
                "Images of another size, each pixel the mean of the area that it covers."),
    LEAT_OP_ROW("ScaleAndTranslate", "images: T; size: int32; scale: float; translation: float",
                "resized_images: float",
                "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}; "
                KERNEL,
                scale_shape, scale_gradient, "Images scaled and moved, under a choice of kernels."),
    LEAT_OP_ROW("ScaleAndTranslateGrad",
                "grads: T; original_image: T; scale: float; translation: float", "output: T",
                "T: {float}; " KERNEL, scale_grad_shape, NULL,
                "The gradient of ScaleAndTranslate with respect to its images."),
    LEAT_OP_ROW("ImageProjectiveTransformV2",
                "images: dtype; transforms: float; output_shape: int32",
                "transformed_images: dtype", PROJECTIVE, projective_shape, projective_gradient,
                "Images under projective transforms, 0 outside."),
    LEAT_OP_ROW("ImageProjectiveTransformV3",
                "images: dtype; transforms: float; output_shape: int32; fill_value: float",
                "transformed_images: dtype", PROJECTIVE, projective_shape, projective_gradient,
                "Images under projective transforms, with a value for what lies outside."),
    LEAT_OP_ROWS_END,
};
