// The interface of leat_module_png.so: what the PNG library does for us, as plain C functions, so
// that our library links none of it.
#ifndef LEAT_FORMATS_MEDIA_PNG_MODULE_H_
#define LEAT_FORMATS_MEDIA_PNG_MODULE_H_

#include "formats/media/image_file.h"

// An image to encode: rows one behind the other.
typedef struct leat_png_image_s {
  const void* pixels;      // [height, width, channels] of uint8 or, for 16 bits, uint16
  uint32_t width, height;  // 1 to 2^31 - 1
  int channels;            // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
  int bits;                // of a channel: 8 or 16
  int compression;         // 0 to 9 as zlib's, -1: its default
} leat_png_image_t;

// A file to decode.
typedef struct leat_png_file_s {
  const uint8_t* bytes;
  size_t size;
  int channels;  // 1 to 4; 0: those of the file
  int bits;      // 8 or 16: the pixels become uint8 or uint16, whatever the file has
} leat_png_file_t;

// Takes the next bytes of a file; false when it cannot.
typedef bool (*leat_png_write_fn_t)(void* data, const void* bytes, size_t size);

typedef struct leat_png_module_s {
  size_t struct_size;   // of the module's struct: a field past it is absent
  const char* version;  // "1.6.39"
  // One of leat_status_code_t: INTERNAL for what the library refuses, RESOURCE_EXHAUSTED when
  // |write| or memory fails.
  int (*encode)(const leat_png_image_t* image, leat_png_write_fn_t write, void* data);
  // FAILED_PRECONDITION for a head that is none, INVALID_ARGUMENT for bad data behind a good one,
  // ABORTED where |target| refuses, RESOURCE_EXHAUSTED without memory.
  int (*decode)(const leat_png_file_t* file, const leat_image_target_t* target);
} leat_png_module_t;

// The module's only exported symbol, `leat_module_png`, has this type.
const leat_png_module_t* leat_module_png(void);

#endif  // LEAT_FORMATS_MEDIA_PNG_MODULE_H_
