// Images as JPEG files, through the module jpeg. UNIMPLEMENTED where the module is absent.
#ifndef LEAT_FORMATS_MEDIA_JPEG_H_
#define LEAT_FORMATS_MEDIA_JPEG_H_

#include "base/string_builder.h"
#include "formats/media/jpeg_module.h"

// Appends the file of |image|. INTERNAL for sizes that no file has (0, above 65,500).
LEAT_MUST_USE leat_status_t leat_jpeg_encode(const leat_jpeg_image_t* image,
                                             leat_string_builder_t* out_file);
// Writes the pixels of |file| to where |target| says. INVALID_ARGUMENT for what is no JPEG file and
// for a window that is not within the image, ABORTED where the target refuses.
LEAT_MUST_USE leat_status_t leat_jpeg_decode(const leat_jpeg_file_t* file,
                                             const leat_image_target_t* target);
// The size that the file's head tells. INVALID_ARGUMENT for what is no JPEG file.
LEAT_MUST_USE leat_status_t leat_jpeg_read_size(const uint8_t* bytes, size_t size,
                                                leat_image_size_t* out_size);

#endif  // LEAT_FORMATS_MEDIA_JPEG_H_
