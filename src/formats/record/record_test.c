// Records: written and read back, truncated, corrupted, huge by their own account. The form is
// compared with bytes that TensorFlow wrote, since a writer and a reader with the same mistake
// would agree. A file is cut at each place, a size is made too large in several ways, and a disk
// fills after each number of bytes; reading must tell a clean end from damage. Compressed files are
// tested in compression_test.c, events in event_test.c.
#include "formats/record/record.h"

#include "base/crc32c.h"
#include "base/file_system_faulty.h"
#include "formats/test_directory.h"
#include "formats/wire/wire.h"

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
  leat_record_writer_t writer;
  size_t count, bytes;
  LEAT_EXPECT_OK(leat_file_open(leat_file_system_posix(), test_path("r"), LEAT_FILE_WRITE,
                                leat_allocator_system(), &file));
  leat_record_writer_initialize(file, &writer);
  LEAT_EXPECT_OK(leat_record_writer_add(&writer, LEAT_SV("")));
  LEAT_EXPECT_OK(leat_record_writer_add(&writer, LEAT_SV("abc")));
  LEAT_EXPECT_OK(leat_record_writer_add(&writer, leat_string_view_make(big, sizeof(big))));
  for (int i = 0; i < 1000; ++i) {
    LEAT_EXPECT_OK(leat_record_writer_add(&writer, leat_string_view_make(big, 700)));
  }
  LEAT_EXPECT_OK(leat_file_close(file));
  LEAT_EXPECT_CODE(LEAT_OUT_OF_RANGE, read_all("r", 0, &count, &bytes));
  assert_int_equal(count, 1003);
  assert_int_equal(bytes, 3 + sizeof(big) + 700 * 1000);
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, read_all("r", 1000, &count, &bytes));
  assert_int_equal(count, 2);
}

// What tf.io.TFRecordWriter writes for "abc" and for an empty record.
static void the_bytes_are_tensorflows(void** state) {
  static const char golden[] =
      "\x03\0\0\0\0\0\0\0" "\xb0\x99\x49\x0e" "abc" "\x6e\x57\xf1\x21"
      "\0\0\0\0\0\0\0\0" "\x29\x03\x98\x07" "\xd8\xea\x82\xa2";
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_record_append(&out, LEAT_SV("abc"));
  leat_record_append(&out, LEAT_SV(""));
  assert_int_equal(out.size, sizeof golden - 1);
  assert_memory_equal(out.data, golden, sizeof golden - 1);
  leat_string_builder_deinitialize(&out);
}

// Reading them is held to the same bytes.
static void tensorflows_bytes_are_read(void** state) {
  size_t count, bytes;
  test_write_file("r", "\x03\0\0\0\0\0\0\0" "\xb0\x99\x49\x0e" "abc" "\x6e\x57\xf1\x21", 19);
  LEAT_EXPECT_CODE(LEAT_OUT_OF_RANGE, read_all("r", 0, &count, &bytes));
  assert_int_equal(count, 1);
  assert_int_equal(bytes, 3);
}

// Writes records on a disk that has room for |space| bytes more, until one fails. Then there is
// room again. |can_cut| says whether the file can be cut back.
static void fill_disk(uint64_t space, bool can_cut) {
  leat_file_system_faulty_t faulty;
  leat_record_writer_t writer;
  leat_file_t* file;
  size_t written = 0, after = 0, count, bytes;
  leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
  LEAT_EXPECT_OK(leat_file_open(&faulty.base, test_path("r"), LEAT_FILE_WRITE,
                                leat_allocator_system(), &file));
  leat_file_vtable_t uncut = *file->vtable;
  uncut.truncate = NULL;
  if (!can_cut) file->vtable = &uncut;
  leat_record_writer_initialize(file, &writer);
  faulty.space_bytes = space;
  leat_status_t status;
  while (!(status = leat_record_writer_add(&writer, LEAT_SV("a record")))) ++written;
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
  faulty.space_bytes = UINT64_MAX;
  for (; after < 3; ++after) {
    status = leat_record_writer_add(&writer, LEAT_SV("after"));
    if (status) break;
  }
  assert_int_equal(leat_status_code(status), can_cut ? LEAT_OK : LEAT_RESOURCE_EXHAUSTED);
  leat_status_free(status);
  leat_record_writer_deinitialize(&writer);
  LEAT_EXPECT_OK(leat_file_close(file));
  assert_int_equal(after, can_cut ? 3 : 0);
  leat_status_free(read_all("r", 0, &count, &bytes));
  assert_int_equal(count, written + after);  // what was said to be written is there, no less
  assert_int_equal(bytes, 8 * written + 5 * after);
}

static void a_full_disk_tears_no_record(void** state) {
  for (uint64_t space = 0; space < 60; ++space) {
    fill_disk(space, true);
    fill_disk(space, false);
  }
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
    leat_status_t status = read_all("r", 0, &count, &bytes);
    assert_int_equal(leat_status_code(status), expected);
    // Not what the buffer has behind the file's end is held against the checksum.
    if (expected == LEAT_DATA_LOSS) {
      assert_non_null(strstr(leat_status_message(status), "truncated record"));
    }
    leat_status_free(status);
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
      cmocka_unit_test(tensorflows_bytes_are_read),
      cmocka_unit_test(a_full_disk_tears_no_record),
      cmocka_unit_test(damage_is_data_loss),    cmocka_unit_test(a_size_is_not_believed),
      cmocka_unit_test(reading_goes_on_when_a_file_grows),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
