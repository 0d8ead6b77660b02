// The two halves of the PNG module. libpng reports errors with longjmp, which must not cross the
// functions of other files: each half catches its own.
#ifndef LEAT_MODULES_PNG_PNG_CODEC_H_
#define LEAT_MODULES_PNG_PNG_CODEC_H_

#include "formats/media/png_module.h"

int leat_png_module_encode(const leat_png_image_t* image, leat_png_write_fn_t write, void* data);
int leat_png_module_decode(const leat_png_file_t* file, const leat_image_target_t* target);

#endif  // LEAT_MODULES_PNG_PNG_CODEC_H_
