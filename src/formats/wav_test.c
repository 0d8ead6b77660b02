// WAV files byte by byte, and what they cannot hold.
#include "formats/wav.h"

#include <math.h>

#include "base/test.h"

static void samples_are_rounded_and_cut_off(void** state) {
  static const float kSamples[] = {1, -2, 0.5f, -0x1p-15f, NAN, 0.00002f};
  static const char kFile[] =
      "RIFF\060\0\0\0WAVEfmt \020\0\0\0\001\0\002\0\100\037\0\0\0\175\0\0\004\0\020\0data"
      "\014\0\0\0\377\177\0\200\0\100\377\377\0\200\001\0";
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_are_rounded_and_cut_off),
      cmocka_unit_test(what_the_header_cannot_say_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
