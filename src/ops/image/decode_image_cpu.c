// CPU kernels of the ops that decode files of images. One kernel serves all of them, as in
// TensorFlow: the file's first bytes tell the format, and most ops take more than the one that they
// are named after. What they differ in is a table.
//
//   contents ──▶ format ──▶ decoder ──▶ pixels, in the output where types agree
//                                   └─▶ pixels of 8 or 16 bits ──▶ scaled to the output's type
//
// A decoder asks for memory when it knows the size; |allocate| gives it that of the output, or of a
// temporary. 8 bits become 16 by a factor of 256 (but a decoder of PNG files makes 16 bits by
// itself), and floats are in [0, 1].
#include <string.h>

#include "base/checked.h"
#include "formats/media/bmp.h"
#include "formats/media/gif.h"
#include "formats/media/jpeg.h"
#include "formats/media/png.h"
#include "formats/media/webp.h"
#include "ops/kernel_rows.h"

// A file or image is refused above these sizes, as in TensorFlow.
#define MOST_FILE_BYTES ((size_t)INT32_MAX)
#define MOST_PIXELS ((int64_t)1 << 29)

typedef enum format_e { JPEG, PNG, GIF, BMP, WEBP, FORMATS } format_t;
static const char* const kFormatNames[] = {"JPEG", "PNG", "GIF", "BMP", "WebP"};
static const char* const kFormatOps[] = {"decode_jpeg", "decode_png", "decode_gif", "decode_bmp",
                                         "DecodeWebP"};

// What an op takes and gives.
typedef struct op_traits_s {
  const char* name;
  uint8_t formats;    // a bit each
  bool has_frames;    // the output has a dimension of frames
  bool crops;
} op_traits_t;
#define BIT(format) (1 << (format))
static const op_traits_t kOps[] = {
    {"DecodeJpeg", BIT(JPEG) | BIT(PNG) | BIT(GIF), false, false},
    {"DecodePng", BIT(JPEG) | BIT(PNG) | BIT(GIF), false, false},
    {"DecodeGif", BIT(JPEG) | BIT(PNG) | BIT(GIF), true, false},
    {"DecodeBmp", BIT(BMP), false, false},
    {"DecodeWebP", BIT(JPEG) | BIT(PNG) | BIT(WEBP), false, false},
    {"DecodeImage", BIT(JPEG) | BIT(PNG) | BIT(GIF) | BIT(BMP) | BIT(WEBP), false, false},
    {"DecodeAndCropJpeg", BIT(JPEG), false, true},
};

typedef struct decoding_s {
  const op_traits_t* op;
  int64_t channels;  // 0: those of the file
  bool expands_animations;
  leat_jpeg_file_t jpeg;  // how a JPEG file is decoded; its bytes are set by each run
} decoding_t;

// ---- Attributes ---------------------------------------------------------------------------------

static bool has_attr(const leat_kernel_creation_t* c, const char* name) {
  return leat_op_find_attr(c->kernel->op, leat_string_view_from(name)) >= 0;
}

static leat_status_t attr_error(const leat_kernel_creation_t* c, leat_status_t status) {
  return leat_status_annotate(status, "Create failed for node '%.*s' (%.*s)",
                              LEAT_SV_ARG(c->kernel->node_name),
                              LEAT_SV_ARG(c->kernel->op->name));
}

static leat_status_t read_jpeg_attrs(leat_kernel_creation_t* c, leat_jpeg_file_t* jpeg) {
  int64_t ratio;
  leat_string_view_t method;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "ratio", &ratio));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "fancy_upscaling", &jpeg->fancy_upscaling));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_attr_bool(c, "try_recover_truncated", &jpeg->recover_truncated));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_attr_float(c, "acceptable_fraction", &jpeg->acceptable_fraction));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "dct_method", &method));
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
    return attr_error(c, leat_make_status(LEAT_INVALID_ARGUMENT,
                                          "ratio must be 1, 2, 4, or 8, got %lld",
                                          (long long)ratio));
  }
  jpeg->ratio = (int)ratio;
  jpeg->accurate_dct = leat_string_view_equals(method, "INTEGER_ACCURATE");
  if (jpeg->accurate_dct || method.size == 0 || leat_string_view_equals(method, "INTEGER_FAST")) {
    return leat_ok_status();
  }
  return attr_error(c, leat_make_status(LEAT_INVALID_ARGUMENT,
                                        "dct_method must be one of {'', 'INTEGER_FAST', "
                                        "'INTEGER_ACCURATE'}, got '%.*s'",
                                        LEAT_SV_ARG(method)));
}

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  decoding_t* d = state;
  *d = (decoding_t){.expands_animations = true,
                    .jpeg = {.ratio = 1, .fancy_upscaling = true, .acceptable_fraction = 1}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kOps); ++i) {
    if (leat_string_view_equals(c->kernel->op->name, kOps[i].name)) d->op = &kOps[i];
  }
  LEAT_DCHECK(d->op);
  d->jpeg.crops = d->op->crops;
  if (d->op->has_frames) d->channels = 3;
  if (has_attr(c, "channels")) {
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "channels", &d->channels));
    if (d->channels != 0 && d->channels != 1 && d->channels != 3 && d->channels != 4) {
      return attr_error(c, leat_make_status(LEAT_INVALID_ARGUMENT,
                                            "`channels` must be 0, 1, 3 or 4 but got %lld",
                                            (long long)d->channels));
    }
  }
  if (has_attr(c, "expand_animations")) {
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "expand_animations", &d->expands_animations));
  }
  return has_attr(c, "ratio") ? read_jpeg_attrs(c, &d->jpeg) : leat_ok_status();
}

// ---- Memory for pixels --------------------------------------------------------------------------

// One run. |pixels| is what the decoder wrote: the output, or |temporary|.
typedef struct run_s {
  leat_kernel_context_t* c;
  const decoding_t* decoding;
  format_t format;
  int decoded_dtype;  // uint8 or uint16
  int dtype;          // of the output
  leat_tensor_t* output;
  leat_tensor_t temporary;
  leat_status_t status;  // of the memory
} run_t;

// How many dimensions the output has: animations have frames where the op asks for them.
static int output_rank(const run_t* run) {
  const bool any = leat_string_view_equals(LEAT_SV("DecodeImage"), run->decoding->op->name);
  if (run->decoding->op->has_frames) return 4;
  if (run->format == WEBP) return !any || run->decoding->expands_animations ? 4 : 3;
  return any && run->format == GIF && run->decoding->expands_animations ? 4 : 3;
}

static leat_status_t allocate_pixels(run_t* run, const leat_image_size_t* size) {
  const int rank = output_rank(run);
  int64_t pixels = 0;
  if (rank == 3 && size->frames > 1) {
    return leat_kernel_invalid(run->c,
                               "Got %lld frames, but animated gifs can only be decoded by "
                               "tf.io.decode_gif or tf.io.decode_image",
                               (long long)size->frames);
  }
  const int64_t dims[] = {size->frames, size->height, size->width, size->channels};
  if (!leat_checked_multiply(size->height, size->width, &pixels) ||
      !leat_checked_multiply(pixels, size->frames, &pixels) || pixels >= MOST_PIXELS) {
    return leat_kernel_invalid(run->c, "%s size too large for int: %lld by %lld",
                               kFormatNames[run->format], (long long)size->width,
                               (long long)size->height);
  }
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(run->c, 0, rank, dims + 4 - rank, &run->output));
  if (run->dtype == run->decoded_dtype) return leat_ok_status();
  return leat_kernel_allocate_temporary(run->c, run->decoded_dtype, &run->output->shape,
                                        &run->temporary);
}

static void* allocate(void* data, const leat_image_size_t* size) {
  run_t* run = data;
  run->status = allocate_pixels(run, size);
  if (run->status) return NULL;
  return run->dtype == run->decoded_dtype ? run->output->data : run->temporary.data;
}

// Scales what was decoded into the output, if that is of another type.
static void convert(run_t* run) {
  const int64_t count = run->output->shape.element_count;
  const uint8_t* bytes = run->temporary.data;
  const uint16_t* words = run->temporary.data;
  uint16_t* to_words = run->output->data;
  float* to_floats = run->output->data;
  if (run->dtype == run->decoded_dtype) return;
  for (int64_t i = 0; i < count; ++i) {
    if (run->dtype == LEAT_DTYPE_UINT16) {
      to_words[i] = (uint16_t)(bytes[i] * 256);
    } else if (run->decoded_dtype == LEAT_DTYPE_UINT16) {
      to_floats[i] = (float)words[i] * (1.0f / UINT16_MAX);
    } else {
      to_floats[i] = (float)bytes[i] * (1.0f / UINT8_MAX);
    }
  }
}

// ---- Formats ------------------------------------------------------------------------------------

static format_t format_of(leat_string_view_t file) {
  static const struct {
    const char* text;
    size_t size;
  } kFirstBytes[] = {{"\xff\xd8\xff", 3}, {"\x89PNG\r\n\x1a\n", 8}, {"GIF8", 4}, {"BM", 2}};
  if (file.size >= 12 && !memcmp(file.data, "RIFF", 4) && !memcmp(file.data + 8, "WEBP", 4)) {
    return WEBP;
  }
  for (int i = 0; i < WEBP; ++i) {
    if (file.size >= kFirstBytes[i].size &&
        !memcmp(file.data, kFirstBytes[i].text, kFirstBytes[i].size)) {
      return (format_t)i;
    }
  }
  return FORMATS;
}

// What the format and the op allow.
static leat_status_t check(const leat_kernel_context_t* c, const decoding_t* d, format_t format) {
  if (format == FORMATS) {
    return leat_kernel_invalid(c,
                               "Unknown image file format. One of JPEG, PNG, GIF, BMP, WebP "
                               "required.");
  }
  if (!(d->op->formats & BIT(format))) {
    if (d->op->crops) {
      return leat_kernel_invalid(c, "DecodeAndCropJpeg operation can run on JPEG only, but "
                                 "detected %s.", kFormatNames[format]);
    }
    return leat_kernel_invalid(c, "Trying to decode %s format using a wrong op. Use `%s` or "
                               "`decode_image` instead. Op used: %s", kFormatNames[format],
                               kFormatOps[format], d->op->name);
  }
  if (format == JPEG && d->channels == 4) {
    return leat_kernel_invalid(c, "JPEG does not support 4 channels");
  }
  if (format == GIF && d->channels != 0 && d->channels != 3) {
    return leat_kernel_invalid(c, "channels must be 0 or 3 for GIF, got %d", (int)d->channels);
  }
  if (format == BMP && d->channels == 1) {
    return leat_kernel_invalid(c, "`channels` must be 0, 3 or 4 for BMP, but got 1");
  }
  if (format == WEBP && d->channels == 1) {
    return leat_kernel_invalid(c, "WebP only supports 3 or 4 channels");
  }
  if (format == WEBP && c->kernel->output_types[0] != LEAT_DTYPE_UINT8) {
    return leat_kernel_invalid(c, "WebP only supports uint8 for dtype");
  }
  return leat_ok_status();
}

static leat_status_t read_window(const leat_kernel_context_t* c, leat_jpeg_file_t* jpeg) {
  const leat_tensor_t* window = leat_kernel_input(c, 1);
  if (window->shape.rank != 1 || window->shape.element_count != 4) {
    return leat_kernel_invalid(c, "crop_window must have four elements, got shape %s",
                               LEAT_SHAPE_TEXT(&window->shape));
  }
  const int32_t* numbers = leat_tensor_data(window, const int32_t);
  jpeg->crop_y = numbers[0];
  jpeg->crop_x = numbers[1];
  jpeg->crop_height = numbers[2];
  jpeg->crop_width = numbers[3];
  return leat_ok_status();
}

static leat_status_t decode(run_t* run, leat_string_view_t file) {
  const leat_image_target_t target = {run, allocate};
  const decoding_t* d = run->decoding;
  const uint8_t* bytes = (const uint8_t*)file.data;
  if (run->format == PNG) {
    const leat_png_file_t png = {bytes, file.size, (int)d->channels,
                                 run->decoded_dtype == LEAT_DTYPE_UINT16 ? 16 : 8};
    return leat_png_decode(&png, &target);
  }
  if (run->format == GIF) {
    return leat_gif_decode(bytes, file.size, d->expands_animations ? INT32_MAX : 1, &target);
  }
  if (run->format == WEBP) {
    return leat_webp_decode(bytes, file.size, (int)d->channels,
                            d->expands_animations ? INT32_MAX : 1, &target);
  }
  if (run->format == BMP) return leat_bmp_decode(bytes, file.size, (int)d->channels, &target);
  leat_jpeg_file_t jpeg = d->jpeg;
  jpeg.bytes = bytes;
  jpeg.size = file.size;
  jpeg.channels = (int)d->channels;
  if (jpeg.crops) LEAT_RETURN_IF_ERROR(read_window(run->c, &jpeg));
  return leat_jpeg_decode(&jpeg, &target);
}

static leat_status_t decode__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* contents = leat_kernel_input(c, 0);
  if (contents->shape.rank != 0) {
    return leat_kernel_invalid(c, "`contents` must be scalar but got shape%s",
                               LEAT_SHAPE_TEXT(&contents->shape));
  }
  const leat_string_view_t file = leat_tensor_string_at(contents, 0);
  if (file.size == 0) return leat_kernel_invalid(c, "Input is empty.");
  if (file.size > MOST_FILE_BYTES) {
    return leat_kernel_invalid(c, "Input contents are too large for int: %zu", file.size);
  }
  run_t run = {.c = c,
               .decoding = leat_kernel_state(c),
               .format = format_of(file),
               .dtype = (int)c->kernel->output_types[0]};
  LEAT_RETURN_IF_ERROR(check(c, run.decoding, run.format));
  run.decoded_dtype = run.format == PNG && run.dtype != LEAT_DTYPE_UINT8 ? LEAT_DTYPE_UINT16
                                                                         : LEAT_DTYPE_UINT8;
  leat_status_t status = decode(&run, file);
  if (run.status) {  // the decoder only says that it was refused
    leat_status_free(status);
    status = run.status;
  }
  if (!status) convert(&run);
  leat_tensor_release(&run.temporary);
  return status;
}

// ---- Size ---------------------------------------------------------------------------------------

static leat_status_t extract_shape__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* contents = leat_kernel_input(c, 0);
  leat_image_size_t size = {0};
  leat_tensor_t* output;
  if (contents->shape.rank != 0) {
    return leat_kernel_invalid(c, "contents must be scalar, got shape %s",
                               LEAT_SHAPE_TEXT(&contents->shape));
  }
  const leat_string_view_t file = leat_tensor_string_at(contents, 0);
  LEAT_RETURN_IF_ERROR(leat_jpeg_read_size((const uint8_t*)file.data, file.size, &size));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 1, (int64_t[]){3}, &output));
  const int64_t numbers[] = {size.height, size.width, size.channels};
  for (int i = 0; i < 3; ++i) {
    if (output->dtype == LEAT_DTYPE_INT64) {
      leat_tensor_data(output, int64_t)[i] = numbers[i];
    } else {
      leat_tensor_data(output, int32_t)[i] = (int32_t)numbers[i];
    }
  }
  return leat_ok_status();
}

#define DECODER(op) LEAT_CPU_KERNEL(op, NULL, decoding_t, create, decode__cpu)

const leat_kernel_row_t leat_decode_image_kernels_cpu[] = {
    DECODER("DecodeJpeg"),
    DECODER("DecodePng"),
    DECODER("DecodeGif"),
    DECODER("DecodeBmp"),
    DECODER("DecodeWebP"),
    DECODER("DecodeImage"),
    DECODER("DecodeAndCropJpeg"),
    {.op = "ExtractJpegShape", .device_type = "CPU", .compute = extract_shape__cpu},
    LEAT_KERNEL_ROWS_END,
};
