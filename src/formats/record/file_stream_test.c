// Files read through their compression.
#include "formats/record/file_stream.h"

#include "formats/test_directory.h"

static void put_file(const char* name, leat_string_view_t bytes) {
  LEAT_EXPECT_OK(leat_file_write_atomically(leat_file_system_posix(), test_path(name), bytes.data,
                                            bytes.size));
}

static leat_status_t read_stream(const char* name, leat_string_view_t compression, char text[64],
                                 size_t* out_size) {
  leat_file_stream_t* stream;
  LEAT_RETURN_IF_ERROR(leat_file_stream_open(leat_file_system_posix(), test_path(name),
                                             compression, leat_allocator_system(), &stream));
  leat_record_source_t* source = leat_file_stream_source(stream);
  leat_status_t status = source->read(source, text, 64, out_size);
  leat_file_stream_close(stream);
  return status;
}

static void plain_and_compressed_files_come_out(void** state) {
  char text[64];
  size_t size;
  put_file("plain", LEAT_SV("plain text"));
  LEAT_EXPECT_OK(read_stream("plain", LEAT_SV(""), text, &size));
  assert_int_equal(size, 10);
  // Two blocks: each its size in 4 bytes, then Snappy's: the size of the text and a literal.
  put_file("snappy", LEAT_SV("\0\0\0\5\3\10abc\0\0\0\4\2\4de"));
  LEAT_EXPECT_OK(read_stream("snappy", LEAT_SV("SNAPPY"), text, &size));
  assert_int_equal(size, 5);
  assert_memory_equal(text, "abcde", 5);
  put_file("zlib", LEAT_SV("\170\1\1\2\0\375\377hi\1;\0\322"));
  LEAT_EXPECT_OK(read_stream("zlib", LEAT_SV("ZLIB"), text, &size));
  assert_int_equal(size, 2);
}

static void damage_and_unknown_names_are_errors(void** state) {
  char text[64];
  size_t size;
  put_file("snappy", LEAT_SV("\0\0\1\0\3\10abc"));
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, read_stream("snappy", LEAT_SV("SNAPPY"), text, &size));
  // The size of the second block is cut after 1 to 3 bytes.
  static const char kCut[] = "\0\0\0\5\3\10abc\0\0\0";
  for (size_t bytes = 10; bytes <= 12; ++bytes) {
    put_file("snappy", leat_string_view_make(kCut, bytes));
    LEAT_EXPECT_CODE(LEAT_DATA_LOSS, read_stream("snappy", LEAT_SV("SNAPPY"), text, &size));
  }
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, read_stream("snappy", LEAT_SV("RAR"), text, &size));
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, read_stream("missing", LEAT_SV(""), text, &size));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(plain_and_compressed_files_come_out, test_directory_make,
                                      test_directory_remove),
      cmocka_unit_test_setup_teardown(damage_and_unknown_names_are_errors, test_directory_make,
                                      test_directory_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
