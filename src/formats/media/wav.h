// Sound in WAV files with 16 bits a sample, for the ops EncodeWav, DecodeWav and AudioSummary.
// Channels are interleaved: the samples of all channels at one moment are a frame. Files come from
// anybody, so a decoder checks every size against the bytes there are.
#ifndef LEAT_FORMATS_MEDIA_WAV_H_
#define LEAT_FORMATS_MEDIA_WAV_H_

#include "base/string_builder.h"

// Appends the file of |samples| [frame_count, channel_count], which are -1 to 1 (others are cut
// off). INVALID_ARGUMENT when the format cannot say the rate, the channels or the length.
LEAT_MUST_USE leat_status_t leat_wav_encode(const float* samples, int64_t frame_count,
                                            int64_t channel_count, uint64_t frames_per_second,
                                            leat_string_builder_t* out_file);

// The sound in a decoded file. The samples are borrowed from the file's bytes.
typedef struct leat_wav_s {
  int64_t frame_count, channel_count;
  uint32_t frames_per_second;
  const uint8_t* samples;  // [frame_count, channel_count], two bytes each
} leat_wav_t;

// INVALID_ARGUMENT when |file| is no WAV file, or one whose samples do not have 16 bits.
LEAT_MUST_USE leat_status_t leat_wav_decode(leat_string_view_t file, leat_wav_t* out_wav);
// A sample as a number from -1 to 1. |frame| and |channel| must be in range.
static inline float leat_wav_sample(const leat_wav_t* wav, int64_t frame, int64_t channel) {
  const uint8_t* bytes = wav->samples + 2 * (frame * wav->channel_count + channel);
  return (float)(int16_t)(uint16_t)(bytes[0] | bytes[1] << 8) / 32768;
}

#endif  // LEAT_FORMATS_MEDIA_WAV_H_
