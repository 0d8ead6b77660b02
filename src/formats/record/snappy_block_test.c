// Snappy blocks made by hand: each kind of element, and each way to lie.
#include "formats/record/snappy_block.h"
#include "formats/record/snappy_file.h"

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

// A block that the compressor makes of |size| bytes is read as these bytes.
static size_t expect_round_trip(const char* bytes, size_t size) {
  leat_string_builder_t block;
  leat_string_builder_initialize(leat_allocator_system(), &block);
  leat_snappy_compress(leat_string_view_make(bytes, size), &block);
  LEAT_EXPECT_OK(leat_status_clone(block.status));
  expect(block.data, block.size, bytes, size);
  const size_t compressed = block.size;
  leat_string_builder_deinitialize(&block);
  return compressed;
}

static void blocks_are_made(void** state) {
  static char bytes[3 * LEAT_SNAPPY_BLOCK_BYTES + 7];  // a block of several pieces
  leat_string_builder_t block;
  leat_string_builder_initialize(leat_allocator_system(), &block);
  leat_snappy_compress(LEAT_SV("abcdefabcdeg"), &block);
  assert_int_equal(block.size, 1 + 7 + 3 + 2);
  assert_memory_equal(block.data, "\14\24" "abcdef\22\6\0\0" "g", 13);
  leat_string_builder_deinitialize(&block);
  expect_round_trip("", 0);
  expect_round_trip("abc", 3);
  uint32_t random = 1;
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (char)(i % 251);
  assert_in_range(expect_round_trip(bytes, LEAT_SNAPPY_BLOCK_BYTES), 3000, 4000);
  assert_in_range(expect_round_trip(bytes, sizeof bytes), 9000, 12000);
  for (size_t i = 0; i < sizeof bytes; ++i) {
    random = random * 1664525 + 1013904223;
    bytes[i] = (char)(random >> 24);
  }
  static const size_t kSizes[] = {1, 59, 60, 61, 255, 256, 257, 4096,
                                  LEAT_SNAPPY_BLOCK_BYTES, LEAT_SNAPPY_BLOCK_BYTES + 1,
                                  sizeof bytes};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSizes); ++i) expect_round_trip(bytes, kSizes[i]);
  memcpy(bytes + 60000, bytes, 5000);  // a copy from far back
  expect_round_trip(bytes, sizeof bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_are_read),
      cmocka_unit_test(blocks_are_made),
      cmocka_unit_test(lies_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
