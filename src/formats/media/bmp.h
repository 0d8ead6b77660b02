// BMP files without compression: a head that says size and depth, and rows from the bottom up.
#ifndef LEAT_FORMATS_MEDIA_BMP_H_
#define LEAT_FORMATS_MEDIA_BMP_H_

#include "formats/media/image_file.h"

// Writes the pixels to where |target| says, with the channels of the file (1 for 8 bits a pixel,
// whose palette is not looked at, as in TensorFlow; 3 for 24, 4 for 32) or, where |channels| is
// larger, with so many: grey is repeated and alpha opaque. INVALID_ARGUMENT for what is no such
// file, ABORTED where the target refuses.
LEAT_MUST_USE leat_status_t leat_bmp_decode(const uint8_t* bytes, size_t size, int channels,
                                            const leat_image_target_t* target);

#endif  // LEAT_FORMATS_MEDIA_BMP_H_
