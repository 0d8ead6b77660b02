// Reads BMP files without compression, byte by byte from the fields of their head. Numbers are
// little-endian and signed; a negative height says that the rows lie from the top down instead of
// from the bottom up. All of them come from a stranger's file, so a size is checked against the
// bytes that are there before a pixel is read, and a picture above MOST_BYTES is refused before
// memory is taken. Each row is padded to a multiple of four bytes. The palette of files with 8 bits
// a pixel is not looked at, and error messages are TensorFlow's.
#include "formats/media/bmp.h"

#include <stdlib.h>
#include <string.h>

// Where the head's fields are. All are little-endian.
enum { PIXELS_AT = 10, WIDTH_AT = 18, HEIGHT_AT = 22, DEPTH_AT = 28, HEAD_BYTES = 32 };

#define MOST_BYTES ((int64_t)1 << 30)

typedef struct bmp_s {
  int64_t pixels_at;
  int64_t width, height;
  bool from_top;  // rows lie from the top down
  int channels;
  int64_t row_bytes;  // in the file, a multiple of four
} bmp_t;

static int64_t number_at(const uint8_t* bytes, int offset) {
  const uint8_t* b = bytes + offset;
  return (int32_t)((uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
                   (uint32_t)b[3] << 24);
}

static leat_status_t invalid(const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s", rule);
}

static leat_status_t read_head(const uint8_t* bytes, size_t size, bmp_t* out) {
  if (size < HEAD_BYTES) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Incomplete bmp content, requires at least 32 bytes to find the "
                            "header size, width, height, and bpp, got %zu bytes",
                            size);
  }
  const int64_t height = number_at(bytes, HEIGHT_AT);
  const int depth = bytes[DEPTH_AT] | bytes[DEPTH_AT + 1] << 8;
  *out = (bmp_t){.pixels_at = number_at(bytes, PIXELS_AT),
                 .width = number_at(bytes, WIDTH_AT),
                 .height = llabs(height),
                 .from_top = height < 0,
                 .channels = depth / 8};
  if (out->channels != 1 && out->channels != 3 && out->channels != 4) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Number of channels inherent in the image must be 1, 3 or 4, was %d",
                            out->channels);
  }
  if (out->width <= 0) return invalid("Width must be positive");
  if (out->height == 0) return invalid("Height must be nonzero");
  if (out->pixels_at < 0) return invalid("header size must be nonnegative");
  // The channels are at most 4, and the rows are padded to four bytes.
  if (out->width >= MOST_BYTES / 4 || (out->width * 4 + 3) >= MOST_BYTES / out->height) {
    return invalid("Total possible pixel bytes must be less than 2^30");
  }
  out->row_bytes = (out->width * out->channels + 3) / 4 * 4;
  const int64_t missing = (int64_t)size - (out->pixels_at + out->row_bytes * out->height);
  if (missing == 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Input size should match (header_size + row_size * abs_height) but they "
                          "differ by %lld",
                          (long long)missing);
}

// One row: the file has blue, green, red, alpha.
static void convert_row(const uint8_t* from, const bmp_t* bmp, int channels, uint8_t* to) {
  for (int64_t x = 0; x < bmp->width; ++x, from += bmp->channels, to += channels) {
    for (int k = 0; k < channels && k < 3; ++k) to[k] = bmp->channels == 1 ? from[0] : from[2 - k];
    if (channels == 4) to[3] = bmp->channels == 4 ? from[3] : 255;
  }
}

leat_status_t leat_bmp_decode(const uint8_t* bytes, size_t size, int channels,
                              const leat_image_target_t* target) {
  bmp_t bmp = {0};
  LEAT_RETURN_IF_ERROR(read_head(bytes, size, &bmp));
  if (channels == 0) channels = bmp.channels;
  const leat_image_size_t result = {1, bmp.height, bmp.width, channels};
  uint8_t* pixels = target->allocate(target->data, &result);
  if (!pixels) return leat_make_status(LEAT_ABORTED, "BMP decoding was refused");
  for (int64_t y = 0; y < bmp.height; ++y) {
    const int64_t row = bmp.from_top ? y : bmp.height - 1 - y;
    convert_row(bytes + bmp.pixels_at + row * bmp.row_bytes, &bmp, channels,
                pixels + y * bmp.width * channels);
  }
  return leat_ok_status();
}
