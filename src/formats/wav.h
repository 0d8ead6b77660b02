// Sound as WAV files: RIFF, 16 bits a sample.
#ifndef LEAT_FORMATS_WAV_H_
#define LEAT_FORMATS_WAV_H_

#include "base/string_builder.h"

// Appends the file of |samples| [frame_count, channel_count], which are -1 to 1 (others are cut
// off). INVALID_ARGUMENT when the format cannot say the rate, the channels or the length.
LEAT_MUST_USE leat_status_t leat_wav_encode(const float* samples, int64_t frame_count,
                                            int64_t channel_count, uint64_t frames_per_second,
                                            leat_string_builder_t* out_file);

#endif  // LEAT_FORMATS_WAV_H_
