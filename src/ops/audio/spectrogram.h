// How a spectrogram is divided.
#ifndef LEAT_OPS_AUDIO_SPECTROGRAM_H_
#define LEAT_OPS_AUDIO_SPECTROGRAM_H_

#include <stdint.h>

#include "base/status.h"

// INVALID_ARGUMENT for sizes, in frames, by which nothing is divided.
LEAT_MUST_USE leat_status_t leat_spectrogram_check(int64_t window, int64_t stride);

// The least power of two that is not below |window|.
static inline int64_t leat_spectrogram_transform_size(int64_t window) {
  int64_t size = 1;
  while (size < window) size *= 2;
  return size;
}
// Windows that lie wholly within so many frames.
static inline int64_t leat_spectrogram_row_count(int64_t frames, int64_t window, int64_t stride) {
  return frames < window ? 0 : 1 + (frames - window) / stride;
}

#endif  // LEAT_OPS_AUDIO_SPECTROGRAM_H_
