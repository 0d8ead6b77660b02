#include "board/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/test.h"

static void weights_are_read(void** state) {
  const char* accepted[] = {"gzip", "deflate, gzip, br", "br;q=1.0, gzip;q=0.5", " gzip ",
                            "gzip;x"};
  const char* refused[] = {"", "deflate", "gzip;q=0", "gzip;q=0.0, br", "gzip2", "x-gzip",
                           "gzip;q=x"};
  for (int i = 0; i < 5; ++i) assert_true(board_gzip_is_accepted(accepted[i]));
  for (int i = 0; i < 7; ++i) assert_false(board_gzip_is_accepted(refused[i]));
  assert_false(board_gzip_is_accepted(NULL));
}

static void expect_round_trip(size_t size) {
  leat_string_builder_t body;
  leat_string_builder_initialize(leat_allocator_system(), &body);
  for (size_t i = 0; i < size; ++i) leat_string_builder_append_char(&body, "abcabd"[i % 6]);
  assert_true(board_gzip(&body));
  assert_true(body.size < size / 2);
  unsigned char* plain = malloc(size + 1);
  z_stream stream = {.next_in = (Bytef*)body.data, .avail_in = (uInt)body.size,
                     .next_out = plain, .avail_out = (uInt)size + 1};
  assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
  assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
  assert_int_equal(stream.total_out, size);
  for (size_t i = 0; i < size; ++i) assert_int_equal(plain[i], "abcabd"[i % 6]);
  inflateEnd(&stream);
  free(plain);
  leat_string_builder_deinitialize(&body);
}

static void answers_become_smaller(void** state) {
  expect_round_trip(1000);
  expect_round_trip(1 << 20);
}

static void what_does_not_shrink_stays(void** state) {
  leat_string_builder_t body;
  uint64_t random = 1;
  leat_string_builder_initialize(leat_allocator_system(), &body);
  assert_false(board_gzip(&body));
  for (int i = 0; i < 5000; ++i) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
    leat_string_builder_append_char(&body, (char)(random >> 56));
  }
  assert_false(board_gzip(&body));
  assert_int_equal(body.size, 5000);
  leat_string_builder_deinitialize(&body);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(weights_are_read),
      cmocka_unit_test(answers_become_smaller),
      cmocka_unit_test(what_does_not_shrink_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
