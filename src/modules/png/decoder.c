// libpng's decoder: rows of any PNG file as 1 to 4 channels of 8 or 16 bits. libpng converts
// colours, palettes, transparency and small depths while it reads. What it does not do is to make
// 16 bits of 8: such rows are read into the first half of their place and widened when all passes
// over an interlaced file are done. libpng reports errors by a jump to this file, where a code says
// what the status is to be; its own messages are not shown, since they depend on its version.
#include "modules/png/png_codec.h"

#include <png.h>
#include <setjmp.h>
#include <string.h>

typedef struct decoder_s {
  const leat_png_file_t* file;
  const leat_image_target_t* target;
  size_t position;  // in the file's bytes
  png_structp png;
  png_infop info;
  leat_image_size_t size;
  size_t row_bytes;  // of the pixels
  uint8_t* pixels;
  bool widens;  // 8 bits are read where 16 are asked for
  int code;     // of an error from here on
} decoder_t;

static void read_bytes(png_structp png, png_bytep bytes, size_t size) {
  decoder_t* d = png_get_io_ptr(png);
  if (size > d->file->size - d->position) png_error(png, "the file ends");
  memcpy(bytes, d->file->bytes + d->position, size);
  d->position += size;
}

static void jump_back(png_structp png, png_const_charp message) { png_longjmp(png, 1); }

static void ignore(png_structp png, png_const_charp message) {}

// Asks for the conversions from the colours of the file to |channels|, as TensorFlow does: grey is
// made of RGB by the weights of luminance, alpha is dropped, or added as the largest number of the
// file's depth. (With fewer than 8 bits that is not opaque; TensorFlow's answer is taken as it is.)
static void convert_colours(decoder_t* d, int color_type, int depth, int channels) {
  const bool has_alpha = (color_type & PNG_COLOR_MASK_ALPHA) ||
                         png_get_valid(d->png, d->info, PNG_INFO_tRNS);
  const bool is_gray = !(color_type & PNG_COLOR_MASK_COLOR), wants_gray = channels < 3;
  if (color_type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(d->png);
  if (is_gray && depth < 8) png_set_expand_gray_1_2_4_to_8(d->png);
  if (png_get_valid(d->png, d->info, PNG_INFO_tRNS)) png_set_tRNS_to_alpha(d->png);
  if (channels % 2) {
    if (has_alpha) png_set_strip_alpha(d->png);
  } else if (!has_alpha) {
    png_set_add_alpha(d->png, (1u << depth) - 1, PNG_FILLER_AFTER);
  }
  if (is_gray && !wants_gray) png_set_gray_to_rgb(d->png);
  if (!is_gray && wants_gray) {
    png_set_rgb_to_gray(d->png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
  }
}

// Reads the head and prepares the rows.
static void read_head(decoder_t* d) {
  png_uint_32 width, height;
  int depth, color_type;
  png_read_info(d->png, d->info);
  png_get_IHDR(d->png, d->info, &width, &height, &depth, &color_type, NULL, NULL, NULL);
  int channels = d->file->channels;
  if (channels == 0) {
    channels = png_get_channels(d->png, d->info);
    if (color_type == PNG_COLOR_TYPE_PALETTE) {
      channels = png_get_valid(d->png, d->info, PNG_INFO_tRNS) ? 4 : 3;
    }
  }
  convert_colours(d, color_type, depth, channels);
  d->widens = depth <= 8 && d->file->bits == 16;
  if (depth == 16 && d->file->bits == 8) png_set_strip_16(d->png);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (depth == 16 && d->file->bits == 16) png_set_swap(d->png);
#endif
  d->size = (leat_image_size_t){1, height, width, channels};
  d->row_bytes = (size_t)width * (size_t)channels * (size_t)(d->file->bits / 8);
}

// Reads all rows, as often as the file is interlaced.
static void read_rows(decoder_t* d) {
  const int passes = png_set_interlace_handling(d->png);
  png_read_update_info(d->png, d->info);
  // A row of another size would be written past its place.
  if (png_get_rowbytes(d->png, d->info) != d->row_bytes / (d->widens ? 2 : 1)) {
    png_error(d->png, "rows of another size");
  }
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t y = 0; y < d->size.height; ++y) {
      png_read_row(d->png, d->pixels + (size_t)y * d->row_bytes, NULL);
    }
  }
  png_read_end(d->png, d->info);
}

// 0xab becomes 0xabab, so that white stays white. From the end on, since both lie in one place.
static void widen(decoder_t* d) {
  for (int64_t y = 0; d->widens && y < d->size.height; ++y) {
    uint8_t* bytes = d->pixels + (size_t)y * d->row_bytes;
    for (size_t i = d->row_bytes / 2; i-- > 0;) bytes[2 * i] = bytes[2 * i + 1] = bytes[i];
  }
}

// Sets |code| to that of an error before something can fail. Not inlined, so that what it changes
// lies in memory when it is left by a jump.
static __attribute__((noinline)) void decode(decoder_t* d) {
  png_set_read_fn(d->png, d, read_bytes);
  read_head(d);
  d->code = LEAT_ABORTED;
  d->pixels = d->target->allocate(d->target->data, &d->size);
  if (!d->pixels) png_error(d->png, "refused");
  d->code = LEAT_INVALID_ARGUMENT;
  read_rows(d);
  widen(d);
  d->code = LEAT_OK;
}

int leat_png_module_decode(const leat_png_file_t* file, const leat_image_target_t* target) {
  decoder_t d = {.file = file, .target = target, .code = LEAT_FAILED_PRECONDITION};
  d.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, jump_back, ignore);
  if (!d.png) return LEAT_RESOURCE_EXHAUSTED;
  d.info = png_create_info_struct(d.png);
  if (!d.info) {
    d.code = LEAT_RESOURCE_EXHAUSTED;
  } else if (!setjmp(png_jmpbuf(d.png))) {
    decode(&d);
  }
  png_destroy_read_struct(&d.png, d.info ? &d.info : NULL, NULL);
  return d.code;
}
