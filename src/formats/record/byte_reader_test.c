// Lines and pieces of sources.
#include "formats/record/byte_reader.h"

#include <stdlib.h>

#include "base/test.h"

static leat_record_bytes_source_t source;
static leat_byte_reader_t reader;

static void open_reader(leat_string_view_t bytes) {
  leat_record_bytes_source_initialize(bytes, &source);
  leat_byte_reader_initialize(&source.base, leat_allocator_system(), &reader);
}

static void expect_line(const char* wanted) {
  leat_string_view_t line;
  LEAT_EXPECT_OK(leat_byte_reader_line(&reader, &line));
  assert_true(leat_string_view_equals(line, wanted));
}

static void lines_end_as_they_like(void** state) {
  leat_string_view_t line;
  open_reader(LEAT_SV("one\ntwo\r\n\nfo\rur"));
  expect_line("one");
  expect_line("two");
  expect_line("");
  expect_line("fo\rur");
  LEAT_EXPECT_CODE(LEAT_OUT_OF_RANGE, leat_byte_reader_line(&reader, &line));
  leat_byte_reader_deinitialize(&reader);
}

static void a_line_may_be_longer_than_any_buffer(void** state) {
  size_t size = 3 << 20;
  char* bytes = malloc(size);
  leat_string_view_t line;
  memset(bytes, 'x', size);
  bytes[10] = bytes[size - 2] = '\n';
  open_reader(leat_string_view_make(bytes, size));
  expect_line("xxxxxxxxxx");
  LEAT_EXPECT_OK(leat_byte_reader_line(&reader, &line));
  assert_int_equal(line.size, size - 13);
  expect_line("x");
  leat_byte_reader_deinitialize(&reader);
  free(bytes);
}

static void pieces_are_looked_at_and_passed_over(void** state) {
  leat_string_view_t piece;
  open_reader(LEAT_SV("0123456789"));
  LEAT_EXPECT_OK(leat_byte_reader_skip(&reader, 2));
  LEAT_EXPECT_OK(leat_byte_reader_peek(&reader, 3, &piece));
  assert_true(leat_string_view_equals(piece, "234"));
  LEAT_EXPECT_OK(leat_byte_reader_skip(&reader, 5));
  LEAT_EXPECT_OK(leat_byte_reader_peek(&reader, 3, &piece));
  assert_true(leat_string_view_equals(piece, "789"));
  LEAT_EXPECT_CODE(LEAT_OUT_OF_RANGE, leat_byte_reader_peek(&reader, 4, &piece));
  LEAT_EXPECT_CODE(LEAT_OUT_OF_RANGE, leat_byte_reader_skip(&reader, 4));
  leat_byte_reader_deinitialize(&reader);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_end_as_they_like),
      cmocka_unit_test(a_line_may_be_longer_than_any_buffer),
      cmocka_unit_test(pieces_are_looked_at_and_passed_over),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
