// Images as PNG files, through the module png. UNIMPLEMENTED where the module is absent.
#ifndef LEAT_FORMATS_MEDIA_PNG_H_
#define LEAT_FORMATS_MEDIA_PNG_H_

#include "base/string_builder.h"
#include "formats/media/png_module.h"

// Appends the file of |image|, TensorFlow's own bytes. INTERNAL for sizes that no file has.
LEAT_MUST_USE leat_status_t leat_png_encode(const leat_png_image_t* image,
                                            leat_string_builder_t* out_file);
// Writes the pixels of |file| to where |target| says. INVALID_ARGUMENT for what is no PNG file,
// ABORTED where the target refuses.
LEAT_MUST_USE leat_status_t leat_png_decode(const leat_png_file_t* file,
                                            const leat_image_target_t* target);

#endif  // LEAT_FORMATS_MEDIA_PNG_H_
