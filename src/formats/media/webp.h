// Still and animated images as WebP files, through the module webp. UNIMPLEMENTED where the module
// is absent.
#ifndef LEAT_FORMATS_MEDIA_WEBP_H_
#define LEAT_FORMATS_MEDIA_WEBP_H_

#include "formats/media/webp_module.h"

// Writes the first |most_frames| frames of the file to where |target| says, as RGB, or with alpha
// where the file has it or is animated; |channels| must be the file's, or 0. INVALID_ARGUMENT for
// what is no WebP file, ABORTED where the target refuses.
LEAT_MUST_USE leat_status_t leat_webp_decode(const uint8_t* bytes, size_t size, int channels,
                                             int64_t most_frames,
                                             const leat_image_target_t* target);

#endif  // LEAT_FORMATS_MEDIA_WEBP_H_
