// Records: written and read back, truncated, corrupted, huge by their own account.
#include "formats/record.h"

#include "base/crc32c.h"
#include "formats/test_directory.h"
#include "formats/wire.h"

// Reads all records of a file; their sizes are summed up.
static leat_status_t read_all(const char* name, uint64_t limit, size_t* out_count,
                              size_t* out_bytes) {
  leat_file_t* file;
  leat_record_file_source_t source;
  leat_record_reader_t reader;
  leat_string_view_t record;
  *out_count = *out_bytes = 0;
  LEAT_RETURN_IF_ERROR(leat_file_open(leat_file_system_posix(), test_path(name), LEAT_FILE_READ,
                                      leat_allocator_system(), &file));
  leat_record_file_source_initialize(file, 0, &source);
  leat_record_reader_initialize(&source.base, limit, leat_allocator_system(), &reader);
  leat_status_t status;
  while (!(status = leat_record_reader_next(&reader, &record))) {
    ++*out_count;
    *out_bytes += record.size;
  }
  leat_record_reader_deinitialize(&reader);
  return leat_status_join(status, leat_file_close(file));
}

static void records_come_back(void** state) {
  static char big[700000];
  leat_file_t* file;
  size_t count, bytes;
  LEAT_EXPECT_OK(leat_file_open(leat_file_system_posix(), test_path("r"), LEAT_FILE_WRITE,
                                leat_allocator_system(), &file));
  LEAT_EXPECT_OK(leat_record_write(file, LEAT_SV("")));
  LEAT_EXPECT_OK(leat_record_write(file, LEAT_SV("abc")));
  LEAT_EXPECT_OK(leat_record_write(file, leat_string_view_make(big, sizeof(big))));
  for (int i = 0; i < 1000; ++i) {
    LEAT_EXPECT_OK(leat_record_write(file, leat_string_view_make(big, 700)));
  }
  LEAT_EXPECT_OK(leat_file_close(file));
  LEAT_EXPECT_CODE(LEAT_OUT_OF_RANGE, read_all("r", 0, &count, &bytes));
  assert_int_equal(count, 1003);
  assert_int_equal(bytes, 3 + sizeof(big) + 700 * 1000);
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, read_all("r", 1000, &count, &bytes));
  assert_int_equal(count, 2);
}

static void the_bytes_are_tensorflows(void** state) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_record_append(&out, LEAT_SV("abc"));
  assert_int_equal(out.size, 12 + 3 + 4);
  assert_memory_equal(out.data, "\3\0\0\0\0\0\0\0", 8);
  assert_int_equal(leat_wire_load32(out.data + 15), leat_crc32c_mask(leat_crc32c("abc", 3)));
  leat_string_builder_deinitialize(&out);
}

static void damage_is_data_loss(void** state) {
  leat_string_builder_t out;
  size_t count, bytes;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_record_append(&out, LEAT_SV("first"));
  leat_record_append(&out, LEAT_SV("second"));
  for (size_t cut = 0; cut <= out.size; ++cut) {
    test_write_file("r", out.data, cut);
    bool is_in_head = cut < 12 || (cut >= 21 && cut < 21 + 12);  // then it is the end
    leat_status_code_t expected =
        is_in_head || cut == out.size ? LEAT_OUT_OF_RANGE : LEAT_DATA_LOSS;
    LEAT_EXPECT_CODE(expected, read_all("r", 0, &count, &bytes));
    assert_int_equal(count, cut == out.size ? 2 : cut >= 21);
  }
  for (size_t i = 0; i < out.size; ++i) {
    out.data[i] ^= 0x10;
    test_write_file("r", out.data, out.size);
    LEAT_EXPECT_CODE(LEAT_DATA_LOSS, read_all("r", 0, &count, &bytes));
    out.data[i] ^= 0x10;
  }
  leat_string_builder_deinitialize(&out);
}

static void a_size_is_not_believed(void** state) {
  static const uint64_t sizes[] = {1000, (uint64_t)1 << 40, UINT64_MAX, UINT64_MAX / 4};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(sizes); ++i) {
    char head[20] = {0};
    size_t count, bytes;
    leat_wire_store64(head, sizes[i]);
    leat_wire_store32(head + 8, leat_crc32c_mask(leat_crc32c(head, 8)));
    test_write_file("r", head, sizeof(head));
    leat_status_t status = read_all("r", 0, &count, &bytes);
    assert_true(leat_status_code(status) == LEAT_DATA_LOSS ||
                leat_status_code(status) == LEAT_INVALID_ARGUMENT);
    leat_status_free(status);
  }
}

// A file that a writer is still adding to may be read on.
static void reading_goes_on_when_a_file_grows(void** state) {
  leat_string_builder_t out;
  leat_file_t *writer, *file;
  leat_record_file_source_t source;
  leat_record_reader_t reader;
  leat_string_view_t record;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_record_append(&out, LEAT_SV("late"));
  LEAT_EXPECT_OK(leat_file_open(leat_file_system_posix(), test_path("r"), LEAT_FILE_WRITE,
                                leat_allocator_system(), &writer));
  LEAT_EXPECT_OK(leat_file_open(leat_file_system_posix(), test_path("r"), LEAT_FILE_READ,
                                leat_allocator_system(), &file));
  leat_record_file_source_initialize(file, 0, &source);
  leat_record_reader_initialize(&source.base, 0, leat_allocator_system(), &reader);
  LEAT_EXPECT_CODE(LEAT_OUT_OF_RANGE, leat_record_reader_next(&reader, &record));
  LEAT_EXPECT_OK(writer->vtable->write(writer, out.data, 7));
  LEAT_EXPECT_CODE(LEAT_OUT_OF_RANGE, leat_record_reader_next(&reader, &record));
  LEAT_EXPECT_OK(writer->vtable->write(writer, out.data + 7, out.size - 7));
  LEAT_EXPECT_OK(leat_record_reader_next(&reader, &record));
  assert_true(leat_string_view_equals(record, "late"));
  leat_record_reader_deinitialize(&reader);
  LEAT_EXPECT_OK(leat_file_close(writer));
  LEAT_EXPECT_OK(leat_file_close(file));
  leat_string_builder_deinitialize(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(records_come_back),      cmocka_unit_test(the_bytes_are_tensorflows),
      cmocka_unit_test(damage_is_data_loss),    cmocka_unit_test(a_size_is_not_believed),
      cmocka_unit_test(reading_goes_on_when_a_file_grows),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
