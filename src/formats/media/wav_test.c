// The encoder is compared with a WAV file that was written out byte by byte from the format's
// description; its samples cover rounding, both ends of the 16-bit range, values beyond them and
// NaN. The decoder gets files that are written out in octal as well: unknown chunks and chunks of
// odd length must be skipped. Each file that breaks one rule (a chunk that is longer than the file,
// a bit depth other than 16, no channels, a chunk that is missing) is refused. What the 32-bit
// fields of the header cannot hold is an error of the encoder, not a wrong file.
#include "formats/media/wav.h"

#include <math.h>

#include "base/test.h"

static void samples_are_rounded_and_cut_off(void** state) {
  static const float kSamples[] = {1, -2, 0.5f, -0x1p-15f, NAN, 0.00002f};
  static const char kFile[] =
      "RIFF\060\0\0\0WAVEfmt \020\0\0\0\001\0\002\0\100\037\0\0\0\175\0\0\004\0\020\0data"
      "\014\0\0\0\377\177\0\200\0\100\377\377\0\0\001\0";
  leat_string_builder_t file;
  leat_string_builder_initialize(leat_allocator_system(), &file);
  LEAT_EXPECT_OK(leat_wav_encode(kSamples, 3, 2, 8000, &file));
  assert_int_equal(file.size, sizeof kFile - 1);
  assert_memory_equal(file.data, kFile, sizeof kFile - 1);
  leat_string_builder_deinitialize(&file);
}

static void what_the_header_cannot_say_is_an_error(void** state) {
  static const int64_t kCases[][3] = {  // frames, channels, rate
      {1, 0, 8000}, {1, 65536, 8000}, {1, 1, 0}, {1, 1, INT64_C(1) << 32}, {INT64_C(1) << 31, 1, 1},
  };
  leat_string_builder_t file;
  leat_string_builder_initialize(leat_allocator_system(), &file);
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    leat_status_t status =
        leat_wav_encode(NULL, kCases[i][0], kCases[i][1], (uint64_t)kCases[i][2], &file);
    assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
    leat_status_free(status);
  }
  leat_string_builder_deinitialize(&file);
}

#define FORMAT "\1\0\2\0\100\037\0\0\0\175\0\0\4\0\020\0"
#define DATA "data\4\0\0\0\0\100\0\200"

static void chunks_are_found(void** state) {
  static const char kFile[] =
      "RIFF----WAVEJUNK\3\0\0\0abcfmt \022\0\0\0" FORMAT "xx" DATA "LIST\1\0\0\0x";
  leat_wav_t wav;
  LEAT_EXPECT_OK(leat_wav_decode((leat_string_view_t){kFile, sizeof kFile - 1}, &wav));
  assert_int_equal(wav.frame_count, 1);
  assert_int_equal(wav.channel_count, 2);
  assert_int_equal(wav.frames_per_second, 8000);
  assert_true(leat_wav_sample(&wav, 0, 0) == 0.5f);
  assert_true(leat_wav_sample(&wav, 0, 1) == -1);
}

static void what_is_no_such_file_is_refused(void** state) {
#define FILE_OF(text) \
  { text, sizeof text - 1 }
  static const leat_string_view_t kFiles[] = {
      FILE_OF(""),
      FILE_OF("RIFF----WAVX"),
      FILE_OF("RIFF----WAVElist\0\0\0\0"),
      FILE_OF("RIFF----WAVEJUNK\377\377\377\377"),
      FILE_OF("RIFF----WAVEfmt \021\0\0\0" FORMAT),
      FILE_OF("RIFF----WAVEfmt \020\0\0\0" FORMAT),
      FILE_OF("RIFF----WAVEfmt \020\0\0\0" FORMAT DATA DATA),
      FILE_OF("RIFF----WAVEfmt \020\0\0\0" FORMAT "data\10\0\0\0\0\100\0\200"),
      FILE_OF("RIFF----WAVEfmt \020\0\0\0" FORMAT "data\377\377\377\377"),
      FILE_OF("RIFF----WAVEfmt \020\0\0\0\3\0\1\0\100\037\0\0\200\076\0\0\2\0\020\0" DATA),
      FILE_OF("RIFF----WAVEfmt \020\0\0\0\1\0\0\0\100\037\0\0\0\0\0\0\0\0\020\0" DATA),
      FILE_OF("RIFF----WAVEfmt \020\0\0\0\1\0\1\0\100\037\0\0\100\037\0\0\1\0\010\0" DATA),
      FILE_OF("RIFF----WAVEfmt \020\0\0\0\1\0\1\0\100\037\0\0\200\076\0\0\4\0\020\0" DATA),
      FILE_OF("RIFF----WAVEfmt \020\0\0\0\1\0\1\0\100\037\0\0\0\0\0\0\2\0\020\0" DATA),
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFiles); ++i) {
    leat_wav_t wav;
    leat_status_t status = leat_wav_decode(kFiles[i], &wav);
    assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
    leat_status_free(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_are_rounded_and_cut_off),
      cmocka_unit_test(what_the_header_cannot_say_is_an_error),
      cmocka_unit_test(chunks_are_found),
      cmocka_unit_test(what_is_no_such_file_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
