// What the decoders of image files share. A decoder knows the size of an image only when it has
// read the file's head; it then asks for memory, into which it writes the pixels row by row, so
// that they lie at once where the reader of the file wants them.
#ifndef LEAT_FORMATS_MEDIA_IMAGE_FILE_H_
#define LEAT_FORMATS_MEDIA_IMAGE_FILE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// The size of what a file holds. Pixels are [frames, height, width, channels]; channels are 1 grey,
// 2 grey and alpha, 3 RGB, 4 RGB and alpha.
typedef struct leat_image_size_s {
  int64_t frames;  // 1 but for animated files
  int64_t height, width;
  int channels;
} leat_image_size_t;

// Where a decoder puts the pixels.
typedef struct leat_image_target_s {
  void* data;
  // Memory for pixels of |size|; NULL refuses, which ends the decoding with ABORTED. It is asked at
  // most once.
  void* (*allocate)(void* data, const leat_image_size_t* size);
} leat_image_target_t;

#endif  // LEAT_FORMATS_MEDIA_IMAGE_FILE_H_
