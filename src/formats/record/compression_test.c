// Streams through the module zlib: kinds of blocks, members, damage, ends before their time, more
// than the limit; what we write is read again, also before its end. The streams at the top are
// handmade bytes of the formats, because what zlib itself writes has only some of these forms. They
// are read in steps of few bytes, so that every state is left and entered again in the middle. What
// is said where the module is not installed is tested first, because a module that was found is
// kept.
#include "formats/record/compression.h"

#include <stdio.h>
#include <string.h>

#include "formats/test_directory.h"

#define FIXED "\170\001\113\114\112\116\104\105\025\000\110\331\007\135"
#define STORED "\170\001\001\010\000\367\377\141\163\040\151\164\040\151\163\014\167\002\316"
#define MEMBERS \
    "\037\213\010\010\000\000\000\000\002\377\156\141\155\145\056\164\170\164\000\313\317\113" \
    "\125\000\000\111\141\254\043\004\000\000\000\037\213\010\000\000\000\000\000\002\003\053" \
    "\051\317\007\000\146\212\312\021\003\000\000\000"

static char text[1 << 18];
static size_t text_size;

// Reads all, |step| bytes at a time, into |text|.
static leat_status_t decompress_all(leat_string_view_t bytes, leat_compression_t format,
                                    uint64_t limit, size_t step) {
  leat_record_bytes_source_t source;
  leat_decompressor_t* decompressor;
  leat_status_t status = leat_ok_status();
  leat_record_bytes_source_initialize(bytes, &source);
  LEAT_RETURN_IF_ERROR(leat_decompressor_create(&source.base, format, limit,
                                                leat_allocator_system(), &decompressor));
  leat_record_source_t* out = leat_decompressor_source(decompressor);
  text_size = 0;
  for (size_t got = step; got == step && !status && text_size + step <= sizeof text;) {
    status = out->read(out, text + text_size, step, &got);
    if (!status) text_size += got;
  }
  leat_decompressor_free(decompressor);
  return status;
}

static void expect_text(const char* wanted) {
  assert_int_equal(text_size, strlen(wanted));
  assert_memory_equal(text, wanted, text_size);
}

static const char* bottles(void) {
  static char lines[100000];
  if (lines[0]) return lines;
  for (size_t i = 0, used = 0; used + 100 < sizeof lines; ++i) {
    used += (size_t)snprintf(lines + used, sizeof lines - used,
                             "%zu bottles of beer on the wall, take %zu down and pass it around\n",
                             i * i, i);
  }
  return lines;
}

// Writes the bottles through a compressed file in the test's directory, |step| bytes at a time; the
// caller frees the bytes.
static leat_string_view_t compress_bottles(leat_compression_t format, size_t step) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_file_t* file;
  LEAT_EXPECT_OK(leat_file_open(leat_file_system_posix(), test_path("f"), LEAT_FILE_WRITE,
                                allocator, &file));
  LEAT_EXPECT_OK(leat_compressed_file_create(file, format, allocator, &file));
  size_t size = strlen(bottles());
  for (size_t i = 0; i < size; i += step) {
    LEAT_EXPECT_OK(file->vtable->write(file, bottles() + i, step < size - i ? step : size - i));
  }
  LEAT_EXPECT_OK(leat_file_close(file));
  leat_string_view_t bytes;
  bytes.data = test_read_file("f", &bytes.size);
  return bytes;
}

static void blocks_of_every_kind_come_out(void** state) {
  LEAT_EXPECT_OK(decompress_all(LEAT_SV(STORED), LEAT_COMPRESSION_ZLIB, 0, 100));
  expect_text("as it is");
  LEAT_EXPECT_OK(decompress_all(LEAT_SV(FIXED), LEAT_COMPRESSION_ZLIB, 0, 100));
  expect_text("abcabcabcabcabcabcx");
  LEAT_EXPECT_OK(decompress_all(LEAT_SV(MEMBERS), LEAT_COMPRESSION_GZIP, 0, 3));
  expect_text("one two");
}

static void what_is_written_is_read_again(void** state) {
  for (int format = LEAT_COMPRESSION_ZLIB; format <= LEAT_COMPRESSION_GZIP; ++format) {
    leat_string_view_t bytes = compress_bottles((leat_compression_t)format, 777);
    assert_in_range(bytes.size, 100, strlen(bottles()) / 2);
    LEAT_EXPECT_OK(decompress_all(bytes, (leat_compression_t)format, strlen(bottles()), 1000));
    expect_text(bottles());
    leat_allocator_free(leat_allocator_system(), (char*)bytes.data);
  }
}

static void a_sync_makes_all_readable(void** state) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_file_t* file;
  leat_string_view_t bytes;
  LEAT_EXPECT_OK(leat_file_open(leat_file_system_posix(), test_path("f"), LEAT_FILE_WRITE,
                                allocator, &file));
  LEAT_EXPECT_OK(leat_compressed_file_create(file, LEAT_COMPRESSION_GZIP, allocator, &file));
  for (int i = 0; i < 2; ++i) {
    LEAT_EXPECT_OK(file->vtable->write(file, "bottle", 6));
    LEAT_EXPECT_OK(file->vtable->sync(file));
    LEAT_EXPECT_OK(file->vtable->sync(file));
    bytes.data = test_read_file("f", &bytes.size);
    LEAT_EXPECT_OK(decompress_all(bytes, LEAT_COMPRESSION_GZIP, 0, 64));
    expect_text(i ? "bottlebottle" : "bottle");
    leat_allocator_free(allocator, (char*)bytes.data);
  }
  LEAT_EXPECT_OK(leat_file_close(file));
}

static void any_changed_byte_is_found(void** state) {
  char bytes[sizeof STORED - 1];
  for (size_t i = 0; i < sizeof bytes; ++i) {
    memcpy(bytes, STORED, sizeof bytes);
    bytes[i] ^= 2;
    leat_status_t status = decompress_all(leat_string_view_make(bytes, sizeof bytes),
                                          LEAT_COMPRESSION_ZLIB, 0, 64);
    // Else the stream seems to go on past its end.
    if (!status) assert_int_not_equal(text_size, 8);
    if (status) assert_int_equal(leat_status_code(status), LEAT_DATA_LOSS);
    leat_status_free(status);
  }
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS,
                   decompress_all(LEAT_SV("no zlib at all"), LEAT_COMPRESSION_ZLIB, 0, 64));
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS,
                   decompress_all(LEAT_SV("no gzip at all"), LEAT_COMPRESSION_GZIP, 0, 64));
}

static void a_cut_stream_ends_early(void** state) {
  leat_string_view_t bytes = compress_bottles(LEAT_COMPRESSION_GZIP, 10000);
  for (size_t size = 0; size < bytes.size; size += 97) {
    LEAT_EXPECT_OK(decompress_all(leat_string_view_make(bytes.data, size), LEAT_COMPRESSION_GZIP,
                                  0, 4096));
    assert_true(text_size <= strlen(bottles()));
    assert_memory_equal(text, bottles(), text_size);
  }
  leat_allocator_free(leat_allocator_system(), (char*)bytes.data);
}

static void more_than_the_limit_is_refused(void** state) {
  LEAT_EXPECT_OK(decompress_all(LEAT_SV(FIXED), LEAT_COMPRESSION_ZLIB, 19, 7));
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   decompress_all(LEAT_SV(FIXED), LEAT_COMPRESSION_ZLIB, 18, 7));
}

// First of all: a module that was found is kept.
static void a_missing_module_names_its_package(void** state) {
  char* before = getenv("LEAT_MODULE_DIR") ? strdup(getenv("LEAT_MODULE_DIR")) : NULL;
  setenv("LEAT_MODULE_DIR", "/no/such/folder", 1);
  assert_null(leat_compression_module());
  leat_status_t status = decompress_all(LEAT_SV(FIXED), LEAT_COMPRESSION_ZLIB, 0, 7);
  assert_int_equal(leat_status_code(status), LEAT_UNIMPLEMENTED);
  assert_non_null(strstr(leat_status_message(status), "zlib1g"));
  leat_status_free(status);
  if (before) setenv("LEAT_MODULE_DIR", before, 1);
  free(before);
}

int main(void) {
#define FILE_TEST(name) \
  cmocka_unit_test_setup_teardown(name, test_directory_make, test_directory_remove)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_missing_module_names_its_package),
      cmocka_unit_test(blocks_of_every_kind_come_out),
      FILE_TEST(what_is_written_is_read_again),
      FILE_TEST(a_sync_makes_all_readable),
      cmocka_unit_test(any_changed_byte_is_found),
      FILE_TEST(a_cut_stream_ends_early),
      cmocka_unit_test(more_than_the_limit_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
