// Snappy blocks made by hand: each kind of element, and each way to lie.
#include "formats/record/snappy_block.h"

#include <string.h>

#include "base/test.h"

static leat_status_t decompress(const char* bytes, size_t size, char** out_data,
                                size_t* out_size) {
  return leat_snappy_decompress(leat_string_view_make(bytes, size), leat_allocator_system(),
                                out_data, out_size);
}
#define EXPECT(literal, text) expect((literal), sizeof(literal) - 1, (text), sizeof(text) - 1)

static void expect(const char* bytes, size_t size, const char* text, size_t text_size) {
  char* data;
  size_t got;
  LEAT_EXPECT_OK(decompress(bytes, size, &data, &got));
  assert_int_equal(got, text_size);
  assert_memory_equal(data, text, text_size);
  leat_allocator_free(leat_allocator_system(), data);
}

static void elements_are_read(void** state) {
  EXPECT("\0", "");
  EXPECT("\3\x08" "abc", "abc");
  EXPECT("\3\xf0\2" "abc", "abc");              // the length in a byte of its own
  EXPECT("\3\xf4\2\0" "abc", "abc");            // in two
  EXPECT("\3\xf8\2\0\0" "abc", "abc");          // in three
  EXPECT("\3\xfc\2\0\0\0" "abc", "abc");        // in four
  EXPECT("\7\x08" "abc\1\3", "abcabca");        // copy of 4 from 3 back, overlapping
  EXPECT("\6\x08" "abc\x0a\3\0", "abcabc");     // 16 bits of distance
  EXPECT("\6\x08" "abc\x0b\3\0\0\0", "abcabc"); // 32 bits
}

static void lies_are_refused(void** state) {
  static const struct {
    size_t size;
    const char* bytes;
  } cases[] = {
      {0, ""},
      {1, "\3"},                   // nothing there
      {4, "\3\x08" "ab"},          // literal cut off
      {5, "\2\x08" "abc"},         // more than stated
      {5, "\4\x08" "abc"},         // less than stated
      {2, "\4\1"},                 // copy cut off
      {3, "\4\1\1"},               // copy from before the start
      {6, "\7\x08" "abc\1"},       // distance cut off
      {7, "\7\x08" "abc\1\0"},     // distance 0
      {7, "\7\x08" "abc\1\4"},     // too far back
      {7, "\5\x08" "abc\1\3"},     // copy beyond the end
      {4, "\3\xfc\2\0"},           // length cut off
      {6, "\xff\xff\xff\xff\x0f\0"},   // 4 GiB from one byte
      {11, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0"},
      {7, "\3\xfc\xff\xff\xff\xff" "a"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    char* data;
    size_t size;
    LEAT_EXPECT_CODE(LEAT_DATA_LOSS, decompress(cases[i].bytes, cases[i].size, &data, &size));
    assert_null(data);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_are_read),
      cmocka_unit_test(lies_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
