// The PNG module's table of functions.
#include "modules/png/png_codec.h"

#include <png.h>

__attribute__((visibility("default"))) const leat_png_module_t* leat_module_png(void) {
  static const leat_png_module_t kModule = {
      .struct_size = sizeof(leat_png_module_t),
      .version = PNG_LIBPNG_VER_STRING,
      .encode = leat_png_module_encode,
      .decode = leat_png_module_decode,
  };
  return &kModule;
}
