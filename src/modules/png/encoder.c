// libpng's encoder with TensorFlow's settings.
#include "modules/png/png_codec.h"

#include <png.h>
#include <setjmp.h>
#include <zlib.h>

typedef struct sink_s {
  leat_png_write_fn_t write;
  void* data;
  bool is_full;
} sink_t;

static void write_bytes(png_structp file, png_bytep bytes, size_t size) {
  sink_t* sink = png_get_io_ptr(file);
  sink->is_full = !sink->write(sink->data, bytes, size);
  if (sink->is_full) png_error(file, "no room");
}

static void flush_bytes(png_structp file) {}

static void jump_back(png_structp file, png_const_charp message) { png_longjmp(file, 1); }

static void ignore(png_structp file, png_const_charp message) {}

static void write_image(png_structp file, png_infop info, const leat_png_image_t* image) {
  static const int kColorTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                    PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_compression_level(file, image->compression);
  png_set_compression_mem_level(file, MAX_MEM_LEVEL);
  png_set_IHDR(file, info, image->width, image->height, image->bits,
               kColorTypes[image->channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(file, info);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (image->bits == 16) png_set_swap(file);
#endif
  size_t row_bytes = (size_t)image->width * (size_t)(image->channels * image->bits / 8);
  for (uint32_t y = 0; y < image->height; ++y) {
    png_write_row(file, (png_const_bytep)image->pixels + y * row_bytes);
  }
  png_write_end(file, NULL);
}

int leat_png_module_encode(const leat_png_image_t* image, leat_png_write_fn_t write, void* data) {
  sink_t sink = {write, data, false};
  if (image->channels < 1 || image->channels > 4) return LEAT_INTERNAL;
  png_structp file = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, jump_back, ignore);
  if (!file) return LEAT_RESOURCE_EXHAUSTED;
  png_infop info = png_create_info_struct(file);
  if (!info || setjmp(png_jmpbuf(file))) {
    int code = !info || sink.is_full ? LEAT_RESOURCE_EXHAUSTED : LEAT_INTERNAL;
    png_destroy_write_struct(&file, info ? &info : NULL);
    return code;
  }
  png_set_write_fn(file, &sink, write_bytes, flush_bytes);
  write_image(file, info, image);
  png_destroy_write_struct(&file, &info);
  return LEAT_OK;
}
