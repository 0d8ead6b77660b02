// How AudioSpectrogram divides a sound into windows, for its shape function and its kernel. A
// window of |window| frames begins every |stride| frames; it is padded with zeros to a power of
// two, which the Fourier transform needs.
#ifndef LEAT_OPS_AUDIO_SPECTROGRAM_H_
#define LEAT_OPS_AUDIO_SPECTROGRAM_H_

#include <stdint.h>

#include "base/status.h"

// INVALID_ARGUMENT unless |window| is at least 2 frames and |stride| at least 1, both below 2^31.
LEAT_MUST_USE leat_status_t leat_spectrogram_check(int64_t window, int64_t stride);

// The smallest power of two that is not below |window|.
static inline int64_t leat_spectrogram_transform_size(int64_t window) {
  int64_t size = 1;
  while (size < window) size *= 2;
  return size;
}
// The number of windows that lie wholly within |frames| frames.
static inline int64_t leat_spectrogram_row_count(int64_t frames, int64_t window, int64_t stride) {
  return frames < window ? 0 : 1 + (frames - window) / stride;
}

#endif  // LEAT_OPS_AUDIO_SPECTROGRAM_H_
