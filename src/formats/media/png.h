// Images as PNG files, through the module png.
#ifndef LEAT_FORMATS_MEDIA_PNG_H_
#define LEAT_FORMATS_MEDIA_PNG_H_

#include "base/string_builder.h"
#include "formats/media/png_module.h"

// Appends the file of |image|, TensorFlow's own bytes. UNIMPLEMENTED where the module is absent.
LEAT_MUST_USE leat_status_t leat_png_encode(const leat_png_image_t* image,
                                            leat_string_builder_t* out_file);

#endif  // LEAT_FORMATS_MEDIA_PNG_H_
