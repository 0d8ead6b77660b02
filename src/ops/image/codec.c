// Definitions of the ops on files of images.
//
//   DecodePng, DecodeJpeg, DecodeBmp  contents of a file [] -> image [height, width, channels]
//   DecodeGif                         contents [] -> images [frames, height, width, 3]
//   DecodeWebP                        contents [] -> images [frames, height, width, channels]
//   DecodeImage                       contents [] of any of these -> one or the other
//   DecodeAndCropJpeg                 contents [], window [y, x, height, width] -> image
//   ExtractJpegShape                  contents [] -> [height, width, channels] from the file's head
//   EncodePng                         images [..., height, width, channels] -> contents [...]
//   EncodeJpeg*                       image [height, width, channels] -> contents []
//
// What an op decodes is the file's business more than the op's: DecodePng takes JPEG files too (see
// decode_cpu.c). Sizes are known at run time only. No op has a gradient.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t take_contents(leat_inference_t* c) {
  leat_partial_shape_t shape;
  return leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &shape);
}

static leat_status_t set_image(leat_inference_t* c, int64_t height, int64_t width) {
  leat_partial_shape_t shape;
  int64_t channels = leat_node_attr_int(c->node, "channels", 0);
  if (channels < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "channels must be non-negative, got %lld",
                            (long long)channels);
  }
  int64_t dims[] = {height, width, channels ? channels : LEAT_DIM_UNKNOWN};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 3, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t image_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(take_contents(c));
  return set_image(c, LEAT_DIM_UNKNOWN, LEAT_DIM_UNKNOWN);
}

static leat_status_t animation_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(take_contents(c));
  const int64_t dims[] = {LEAT_DIM_UNKNOWN, LEAT_DIM_UNKNOWN, LEAT_DIM_UNKNOWN, 3};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 4, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t frames_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  const int64_t channels = leat_node_attr_int(c->node, "channels", 0);
  LEAT_RETURN_IF_ERROR(take_contents(c));
  const int64_t dims[] = {LEAT_DIM_UNKNOWN, LEAT_DIM_UNKNOWN, LEAT_DIM_UNKNOWN,
                          channels > 0 ? channels : LEAT_DIM_UNKNOWN};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 4, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// Only the file tells whether there are frames, unless of those only the first is asked for.
static leat_status_t any_shape(leat_inference_t* c) {
  if (!leat_node_attr_bool(c->node, "expand_animations", true)) return image_shape(c);
  LEAT_RETURN_IF_ERROR(take_contents(c));
  leat_inference_set_output(c, 0, leat_partial_shape_unknown());
  return leat_ok_status();
}

static leat_status_t window_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  leat_partial_value_t window;
  int64_t four;
  LEAT_RETURN_IF_ERROR(take_contents(c));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &shape));
  LEAT_RETURN_IF_ERROR(
      leat_inference_dim_with_value(shape.rank == 1 ? shape.dims[0] : LEAT_DIM_UNKNOWN, 4, &four));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 1, &window));
  const bool known = window.rank == 1 && window.count == 4;
  return set_image(c, known && window.items[2] >= 0 ? window.items[2] : LEAT_DIM_UNKNOWN,
                   known && window.items[3] >= 0 ? window.items[3] : LEAT_DIM_UNKNOWN);
}

static leat_status_t three_numbers(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(take_contents(c));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, (int64_t[]){3}, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t jpeg_file_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 3, &shape));
  if (c->node->input_count > 1) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &shape));
  }
  return leat_shape_scalar_output(c);
}

static leat_status_t png_file_shape(leat_inference_t* c) {
  leat_partial_shape_t images = leat_inference_input(c, 0), shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, images, 3));
  shape = leat_partial_shape_unknown();
  if (images.rank >= 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, images.rank - 3, images.dims, &shape));
  }
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

#define JPEG_ATTRS                                                                            \
  "channels: int = 0; ratio: int = 1; fancy_upscaling: bool = true; try_recover_truncated: " \
  "bool = false; acceptable_fraction: float = 1.0; dct_method: string = ''"

const leat_op_row_t leat_codec_ops[] = {
    {.name = "DecodeJpeg",
     .inputs = "contents: string",
     .outputs = "image: uint8",
     .attrs = JPEG_ATTRS,
     .shape = image_shape,
     .doc = "The image in a JPEG file."},
    {.name = "DecodeAndCropJpeg",
     .inputs = "contents: string; crop_window: int32",
     .outputs = "image: uint8",
     .attrs = JPEG_ATTRS,
     .shape = window_shape,
     .doc = "A window of the image in a JPEG file; what is outside is not decoded."},
    {.name = "EncodeJpeg",
     .inputs = "image: uint8",
     .outputs = "contents: string",
     .attrs = "format: {'', 'grayscale', 'rgb'} = ''; quality: int = 95; progressive: bool = "
              "false; optimize_size: bool = false; chroma_downsampling: bool = true; "
              "density_unit: {'in', 'cm'} = 'in'; x_density: int = 300; y_density: int = 300; "
              "xmp_metadata: string = ''",
     .shape = jpeg_file_shape,
     .doc = "A JPEG file of an image."},
    {.name = "EncodeJpegVariableQuality",
     .inputs = "images: uint8; quality: int32",
     .outputs = "contents: string",
     .shape = jpeg_file_shape,
     .doc = "A JPEG file of an image, of the quality that is given as an input."},
    {.name = "ExtractJpegShape",
     .inputs = "contents: string",
     .outputs = "image_shape: output_type",
     .attrs = "output_type: {int32, int64} = DT_INT32",
     .shape = three_numbers,
     .doc = "Height, width and channels of the image in a JPEG file, without decoding it."},
    {.name = "DecodePng",
     .inputs = "contents: string",
     .outputs = "image: dtype",
     .attrs = "channels: int = 0; dtype: {uint8, uint16} = DT_UINT8",
     .shape = image_shape,
     .doc = "The image in a PNG file."},
    {.name = "EncodePng",
     .inputs = "image: T",
     .outputs = "contents: string",
     .attrs = "compression: int = -1; T: {uint8, uint16} = DT_UINT8",
     .shape = png_file_shape,
     .doc = "A PNG file of each image."},
    {.name = "DecodeGif",
     .inputs = "contents: string",
     .outputs = "image: uint8",
     .shape = animation_shape,
     .doc = "The frames in a GIF file."},
    {.name = "DecodeBmp",
     .inputs = "contents: string",
     .outputs = "image: uint8",
     .attrs = "channels: int = 0",
     .shape = image_shape,
     .doc = "The image in a BMP file."},
    {.name = "DecodeWebP",
     .inputs = "contents: string",
     .outputs = "image: dtype",
     .attrs = "channels: int = 0; dtype: {uint8} = uint8",
     .shape = frames_shape,
     .doc = "The frames of a WebP file; a still image is one."},
    {.name = "DecodeImage",
     .inputs = "contents: string",
     .outputs = "image: dtype",
     .attrs = "channels: int = 0; dtype: {uint8, uint16, float} = DT_UINT8; "
              "expand_animations: bool = true",
     .shape = any_shape,
     .doc = "The image, or the frames, in a file of any format."},
    LEAT_OP_ROWS_END,
};
