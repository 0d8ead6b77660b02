#include "formats/wav.h"

#include <math.h>

enum { HEADER_BYTES = 44, FORMAT_BYTES = 16, PCM = 1, SAMPLE_BYTES = 2 };

static char* put(char* to, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) *to++ = (char)(value >> (8 * i));
  return to;
}

static char* put_name(char* to, const char* name) {
  memcpy(to, name, 4);
  return to + 4;
}

static uint32_t sample_of(float value) {
  float scaled = roundf(value * 32768);
  if (!(scaled > -32768)) return 0x8000;  // NaN too
  return scaled < 32767 ? (uint32_t)(int32_t)scaled : 0x7fff;
}

static char* put_header(char* to, uint32_t data_bytes, uint32_t channels, uint32_t rate) {
  uint32_t frame_bytes = channels * SAMPLE_BYTES;
  to = put(put_name(to, "RIFF"), HEADER_BYTES + data_bytes - 8, 4);
  to = put(put_name(put_name(to, "WAVE"), "fmt "), FORMAT_BYTES, 4);
  to = put(put(to, PCM, 2), channels, 2);
  to = put(put(to, rate, 4), rate * frame_bytes, 4);
  to = put(put(to, frame_bytes, 2), 8 * SAMPLE_BYTES, 2);
  return put(put_name(to, "data"), data_bytes, 4);
}

leat_status_t leat_wav_encode(const float* samples, int64_t frame_count, int64_t channel_count,
                              uint64_t frames_per_second, leat_string_builder_t* out_file) {
  if (frames_per_second == 0 || frames_per_second > UINT32_MAX || channel_count <= 0 ||
      channel_count > UINT16_MAX ||
      frame_count > (UINT32_MAX - HEADER_BYTES) / (SAMPLE_BYTES * channel_count)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Encoding as WAV failed: sample_rate, channels and frames are %llu, "
                            "%lld and %lld, must be in (0, 2^32), in (0, 2^16) and less than 4 GB",
                            (unsigned long long)frames_per_second, (long long)channel_count,
                            (long long)frame_count);
  }
  int64_t count = frame_count * channel_count;
  uint32_t data_bytes = (uint32_t)(count * SAMPLE_BYTES);
  char* to = leat_string_builder_reserve(out_file, HEADER_BYTES + (size_t)data_bytes);
  if (!to) return leat_status_clone(out_file->status);
  to = put_header(to, data_bytes, (uint32_t)channel_count, (uint32_t)frames_per_second);
  for (int64_t i = 0; i < count; ++i) to = put(to, sample_of(samples[i]), SAMPLE_BYTES);
  return leat_ok_status();
}
