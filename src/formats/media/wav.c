// Sound in WAV files: encoding samples, and finding the samples in a file. A WAV file is a RIFF
// container of chunks, each of which begins with a name of four bytes and a size:
//
//   "RIFF" size "WAVE" │ "fmt " 16 or 18, format │ others │ "data" size, samples │ others
//
// Only PCM with 16 bits a sample is read and written, as in TensorFlow's EncodeWav and DecodeWav. A
// file is hostile input, so each size is tested against the bytes that are left before it is used,
// and the fields of the format that say the same thing twice must agree. Decoding copies nothing:
// the result points into the file's bytes.
//
// TensorFlow is strict about chunks before "fmt " (only known names may come there) and lenient
// about chunks after it (they are skipped even when they are cut short). Both are kept, since a
// file that TensorFlow reads must be read here.
#include "formats/media/wav.h"

#include <math.h>

#include "base/checked.h"

enum { HEADER_BYTES = 44, FORMAT_BYTES = 16, PCM = 1, SAMPLE_BYTES = 2 };

// Writes the |bytes| low bytes of |value|, least significant first, and returns what follows them.
static char* put(char* to, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) *to++ = (char)(value >> (8 * i));
  return to;
}

static char* put_name(char* to, const char* name) {
  memcpy(to, name, 4);
  return to + 4;
}

// A float from -1 to 1 as 16 bits. Values outside are clamped, and a NaN is 0.
static uint32_t sample_of(float value) {
  float scaled = roundf(value * 32768);
  if (scaled != scaled) return 0;
  if (!(scaled > -32768)) return 0x8000;
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

// ---- Reading ------------------------------------------------------------------------------------

static leat_status_t malformed(const char* what, uint32_t value, const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Decoding of WAV failed: %s is %u, must be %s",
                          what, value, rule);
}

// Takes |size| bytes off the front of |rest|; refuses when there are fewer.
static leat_status_t take(leat_string_view_t* rest, size_t size, leat_string_view_t* out_bytes) {
  if (rest->size < size) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Decoding of WAV failed: %zu bytes are left, must be at least %zu",
                            rest->size, size);
  }
  *out_bytes = (leat_string_view_t){rest->data, size};
  *rest = leat_string_view_from_index(*rest, size);
  return leat_ok_status();
}

// The little-endian number of |size| bytes at offset |at|, which the caller has tested to be there.
static uint32_t number_at(leat_string_view_t bytes, size_t at, size_t size) {
  uint32_t number = 0;
  while (size--) number = number << 8 | (uint8_t)bytes.data[at + size];
  return number;
}

// Takes the name and the size with which each chunk begins.
static leat_status_t take_chunk_head(leat_string_view_t* rest, leat_string_view_t* out_name,
                                     uint32_t* out_size) {
  leat_string_view_t head = {0};
  LEAT_RETURN_IF_ERROR(take(rest, 8, &head));
  *out_name = (leat_string_view_t){head.data, 4};
  *out_size = number_at(head, 4, 4);
  return leat_ok_status();
}

static leat_status_t take_riff(leat_string_view_t* rest) {
  leat_string_view_t head = {0};
  LEAT_RETURN_IF_ERROR(take(rest, 12, &head));
  if (!memcmp(head.data, "RIFF", 4) && !memcmp(head.data + 8, "WAVE", 4)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Header mismatch: Expected RIFF and WAVE");
}

// Whether TensorFlow skips a chunk of this name when it comes before the format.
static bool may_precede_format(leat_string_view_t name) {
  static const char kNames[] = "JUNKbextiXMLqltymextlevllinkaxml";
  for (const char* known = kNames; *known; known += 4) {
    if (!memcmp(name.data, known, 4)) return true;
  }
  return false;
}

// Takes the chunk "fmt " and the chunks before it.
static leat_status_t take_format(leat_string_view_t* rest, leat_string_view_t* out_format) {
  leat_string_view_t name, skipped;
  uint32_t size;
  for (;;) {
    LEAT_RETURN_IF_ERROR(take_chunk_head(rest, &name, &size));
    if (leat_string_view_equals(name, "fmt ")) break;
    if (!may_precede_format(name)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Unexpected field %.*s", LEAT_SV_ARG(name));
    }
    LEAT_RETURN_IF_ERROR(take(rest, size, &skipped));
  }
  if (size != FORMAT_BYTES && size != FORMAT_BYTES + 2) {
    return malformed("the size of the format", size, "16 or 18");
  }
  LEAT_RETURN_IF_ERROR(take(rest, FORMAT_BYTES, out_format));
  // The last 2 of 18 bytes are the size of an extension that PCM lacks. They are skipped, and a
  // file that ends before them is not refused for it.
  *rest = leat_string_view_from_index(*rest, LEAT_MIN(rest->size, size - FORMAT_BYTES));
  return leat_ok_status();
}

static leat_status_t read_format(leat_string_view_t format, leat_wav_t* wav) {
  uint32_t code = number_at(format, 0, 2), channels = number_at(format, 2, 2);
  uint32_t bytes_per_second = number_at(format, 8, 4), frame_bytes = number_at(format, 12, 2);
  uint32_t bits = number_at(format, 14, 2);
  wav->channel_count = channels;
  wav->frames_per_second = number_at(format, 4, 4);
  if (code != PCM) return malformed("the audio format", code, "1 (PCM)");
  if (channels == 0) return malformed("the number of channels", 0, "at least 1");
  if (bits != 8 * SAMPLE_BYTES) return malformed("bits a sample", bits, "16");
  if (frame_bytes != channels * SAMPLE_BYTES) {
    return malformed("bytes a frame", frame_bytes, "2 for each channel");
  }
  if (bytes_per_second != (uint64_t)frame_bytes * wav->frames_per_second) {
    return malformed("bytes a second", bytes_per_second, "the sample rate times bytes a frame");
  }
  return leat_ok_status();
}

leat_status_t leat_wav_decode(leat_string_view_t file, leat_wav_t* out_wav) {
  leat_string_view_t format = {0}, name, data = {0};
  uint32_t size;
  *out_wav = (leat_wav_t){0};
  LEAT_RETURN_IF_ERROR(take_riff(&file));
  LEAT_RETURN_IF_ERROR(take_format(&file, &format));
  LEAT_RETURN_IF_ERROR(read_format(format, out_wav));
  while (file.size) {
    LEAT_RETURN_IF_ERROR(take_chunk_head(&file, &name, &size));
    if (size > INT32_MAX) return malformed("the size of a chunk", size, "below 2^31");
    if (!leat_string_view_equals(name, "data")) {
      file = leat_string_view_from_index(file, LEAT_MIN(file.size, size));
      continue;
    }
    if (out_wav->samples) return malformed("the number of data chunks", 2, "1");
    uint32_t frame_bytes = (uint32_t)out_wav->channel_count * SAMPLE_BYTES;
    LEAT_RETURN_IF_ERROR(take(&file, size / frame_bytes * frame_bytes, &data));
    out_wav->frame_count = size / frame_bytes;
    out_wav->samples = (const uint8_t*)data.data;
  }
  if (out_wav->samples) return leat_ok_status();
  return malformed("the number of data chunks", 0, "1");
}
