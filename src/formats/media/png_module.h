// The interface of leat_module_png.so: what the PNG library does for us, as plain C functions, so
// that our library links none of it.
#ifndef LEAT_FORMATS_MEDIA_PNG_MODULE_H_
#define LEAT_FORMATS_MEDIA_PNG_MODULE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Rows one behind the other, 8 bits a channel.
typedef struct leat_png_image_s {
  const uint8_t* pixels;    // [height, width, channels]
  uint32_t width, height;   // 1 to 2^31 - 1
  int channels;             // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
} leat_png_image_t;

// Takes the next bytes of a file; false when it cannot.
typedef bool (*leat_png_write_fn_t)(void* data, const void* bytes, size_t size);

typedef struct leat_png_module_s {
  size_t struct_size;   // of the module's struct: a field past it is absent
  const char* version;  // "1.6.39"
  // One of leat_status_code_t: INTERNAL for what the library refuses, RESOURCE_EXHAUSTED when
  // |write| or memory fails.
  int (*encode)(const leat_png_image_t* image, leat_png_write_fn_t write, void* data);
} leat_png_module_t;

// The module's only exported symbol, `leat_module_png`, has this type.
const leat_png_module_t* leat_module_png(void);

#endif  // LEAT_FORMATS_MEDIA_PNG_MODULE_H_
