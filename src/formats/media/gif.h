// Animated images as GIF files, through the module gif. UNIMPLEMENTED where the module is absent.
#ifndef LEAT_FORMATS_MEDIA_GIF_H_
#define LEAT_FORMATS_MEDIA_GIF_H_

#include "formats/media/gif_module.h"

// Writes the first |most_frames| frames of the file as RGB to where |target| says.
// INVALID_ARGUMENT for what is no GIF file, ABORTED where the target refuses.
LEAT_MUST_USE leat_status_t leat_gif_decode(const uint8_t* bytes, size_t size, int64_t most_frames,
                                            const leat_image_target_t* target);

#endif  // LEAT_FORMATS_MEDIA_GIF_H_
