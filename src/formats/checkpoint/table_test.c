// Tables: what is written is read, in order and by key; whatever byte is changed, reading ends in a
// status or in right answers. Tables are written with blocks of very different sizes, so that a key
// is sought across many blocks and within one. Every byte is changed in turn; since checksums stop
// most changes at once, blocks with a right checksum and wrong content are also made by hand. Every
// allocation and file call fails in turn. Bundles, which are built on tables, are tested in
// bundle_test.c.
#include "formats/checkpoint/table.h"

#include <stdio.h>

#include "base/fault.h"
#include "formats/test_directory.h"
#include "formats/wire/wire.h"

enum { ENTRIES = 500 };

static leat_string_view_t make_key(int i, char buffer[32]) {
  return leat_string_view_make(buffer, (size_t)snprintf(buffer, 32, "key/%05d/x", i * 3));
}

static leat_string_view_t make_value(int i, char buffer[32]) {
  return leat_string_view_make(buffer, (size_t)snprintf(buffer, 32, "value %d", i));
}

static leat_status_t write_table(const char* name, int count, size_t block_size) {
  leat_file_t* file;
  leat_table_writer_t writer;
  char key[32], value[32];
  LEAT_RETURN_IF_ERROR(leat_file_open(leat_file_system_posix(), test_path(name), LEAT_FILE_WRITE,
                                      leat_allocator_system(), &file));
  leat_table_writer_initialize(file, block_size, leat_allocator_system(), &writer);
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count && !status; ++i) {
    status = leat_table_writer_add(&writer, make_key(i, key), make_value(i, value));
  }
  if (!status) status = leat_table_writer_finish(&writer);
  leat_table_writer_deinitialize(&writer);
  return leat_status_join(status, leat_file_close(file));
}

static leat_table_t* open_table(const char* name) {
  leat_table_t* table;
  LEAT_EXPECT_OK(leat_table_open(leat_file_system_posix(), test_path(name),
                                 leat_allocator_system(), &table));
  return table;
}

static void entries_come_back_in_order_and_by_key(void** state) {
  static const size_t block_sizes[] = {1, 100, 4096, 0};
  for (size_t b = 0; b < LEAT_ARRAY_SIZE(block_sizes); ++b) {
    leat_table_cursor_t cursor;
    leat_arena_t arena;
    leat_string_view_t found;
    char key[32], value[32];
    LEAT_EXPECT_OK(write_table("t", ENTRIES, block_sizes[b]));
    leat_table_t* table = open_table("t");
    LEAT_EXPECT_OK(leat_table_cursor_initialize(table, &cursor));
    LEAT_EXPECT_OK(leat_table_cursor_seek(&cursor, LEAT_SV("")));
    for (int i = 0; i < ENTRIES; ++i) {
      assert_true(cursor.is_valid);
      assert_true(leat_string_view_equal(cursor.key, make_key(i, key)));
      assert_true(leat_string_view_equal(cursor.value, make_value(i, value)));
      LEAT_EXPECT_OK(leat_table_cursor_next(&cursor));
    }
    assert_false(cursor.is_valid);
    for (int i = 0; i < ENTRIES; ++i) {
      leat_string_view_t wanted = make_key(i, key);
      LEAT_EXPECT_OK(leat_table_cursor_seek(&cursor, wanted));
      assert_true(cursor.is_valid && leat_string_view_equal(cursor.value, make_value(i, value)));
      key[8] += 1;  // between this key and the next
      LEAT_EXPECT_OK(leat_table_cursor_seek(&cursor, wanted));
      assert_int_equal(cursor.is_valid, i + 1 < ENTRIES);
      if (cursor.is_valid) {
        assert_true(leat_string_view_equal(cursor.value, make_value(i + 1, value)));
      }
    }
    leat_arena_initialize(leat_allocator_system(), 0, &arena);
    LEAT_EXPECT_OK(leat_table_find(table, make_key(7, key), &arena, &found));
    assert_true(leat_string_view_equals(found, "value 7"));
    LEAT_EXPECT_CODE(LEAT_NOT_FOUND, leat_table_find(table, LEAT_SV("key"), &arena, &found));
    leat_arena_deinitialize(&arena);
    leat_table_cursor_deinitialize(&cursor);
    leat_table_free(table);
  }
}

// Every sixteenth key is stored whole, as in TensorFlow, so that a search need not read them all.
static void a_block_has_a_restart_for_every_sixteen_keys(void** state) {
  leat_table_block_builder_t builder;
  leat_string_view_t block;
  char key[32];
  leat_table_block_builder_initialize(leat_allocator_system(), &builder);
  for (int i = 0; i < 40; ++i) {
    LEAT_EXPECT_OK(leat_table_block_builder_add(&builder, make_key(i, key), LEAT_SV("v"), 16));
  }
  LEAT_EXPECT_OK(leat_table_block_builder_finish(&builder, &block));
  assert_int_equal(leat_wire_load32(block.data + block.size - 4), 3);
  leat_table_block_builder_deinitialize(&builder);
}

static void an_empty_table_is_one(void** state) {
  leat_table_cursor_t cursor;
  LEAT_EXPECT_OK(write_table("t", 0, 0));
  leat_table_t* table = open_table("t");
  LEAT_EXPECT_OK(leat_table_cursor_initialize(table, &cursor));
  LEAT_EXPECT_OK(leat_table_cursor_seek(&cursor, LEAT_SV("")));
  assert_false(cursor.is_valid);
  LEAT_EXPECT_OK(leat_table_cursor_next(&cursor));
  leat_table_cursor_deinitialize(&cursor);
  leat_table_free(table);
}

static void keys_out_of_order_are_refused(void** state) {
  leat_file_t* file;
  leat_table_writer_t writer;
  LEAT_EXPECT_OK(leat_file_open(leat_file_system_posix(), test_path("t"), LEAT_FILE_WRITE,
                                leat_allocator_system(), &file));
  leat_table_writer_initialize(file, 0, leat_allocator_system(), &writer);
  LEAT_EXPECT_OK(leat_table_writer_add(&writer, LEAT_SV("b"), LEAT_SV("")));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_table_writer_add(&writer, LEAT_SV("b"), LEAT_SV("")));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_table_writer_add(&writer, LEAT_SV("a"), LEAT_SV("")));
  leat_table_writer_deinitialize(&writer);
  LEAT_EXPECT_OK(leat_file_close(file));
}

static leat_status_t read_all(const char* name, int* out_count) {
  leat_table_t* table;
  leat_table_cursor_t cursor = {0};
  *out_count = 0;
  LEAT_RETURN_IF_ERROR(leat_table_open(leat_file_system_posix(), test_path(name),
                                       leat_allocator_system(), &table));
  leat_status_t status = leat_table_cursor_initialize(table, &cursor);
  if (!status) status = leat_table_cursor_seek(&cursor, LEAT_SV(""));
  while (!status && cursor.is_valid) {
    ++*out_count;
    status = leat_table_cursor_next(&cursor);
  }
  if (!status) status = leat_table_cursor_seek(&cursor, LEAT_SV("key/00030/x"));
  leat_table_cursor_deinitialize(&cursor);
  leat_table_free(table);
  return status;
}

static void every_changed_byte_is_harmless(void** state) {
  size_t size;
  int count;
  LEAT_EXPECT_OK(write_table("t", 30, 100));
  char* bytes = test_read_file("t", &size);
  for (size_t i = 0; i < size; ++i) {
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    for (size_t j = 0; j < LEAT_ARRAY_SIZE(changes); ++j) {
      bytes[i] ^= (char)changes[j];
      test_write_file("u", bytes, size);
      leat_status_t status = read_all("u", &count);
      if (!status) assert_int_equal(count, 30);
      leat_status_free(status);
      bytes[i] ^= (char)changes[j];
    }
  }
  for (size_t cut = 0; cut < size; ++cut) {
    test_write_file("u", bytes, cut);
    LEAT_EXPECT_CODE(LEAT_DATA_LOSS, read_all("u", &count));
  }
  leat_allocator_free(leat_allocator_system(), bytes);
}

// Blocks whose checksum is right and whose content is not.
static void unsound_blocks_are_refused(void** state) {
  static const struct {
    size_t size;
    const char* bytes;
  } blocks[] = {
      {0, ""},
      {4, "\0\0\0\0"},                                  // no restart
      {4, "\1\0\0\0"},                                  // no room for the one
      {8, "\x09\0\0\0\1\0\0\0"},                        // restart beyond the end
      {11, "\1\1\0\0\0\0\0\1\0\0\0"},                   // shares with nothing
      {11, "\0\5\5\0\0\0\0\1\0\0\0"},                   // key beyond the end
      {12, "\0\1\7k\0\0\0\0\1\0\0\0"},                  // value beyond the end
      {18, "\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0\0\0\1\0\0"},
      {12, "\x80\x80\x80\x80\0\0\0\0\1\0\0\0"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(blocks); ++i) {
    leat_table_block_cursor_t cursor;
    leat_string_view_t block = leat_string_view_make(blocks[i].bytes, blocks[i].size);
    leat_status_t status =
        leat_table_block_cursor_initialize(block, leat_allocator_system(), &cursor);
    if (!status) status = leat_table_block_cursor_seek(&cursor, LEAT_SV("k"));
    assert_int_equal(leat_status_code(status), LEAT_DATA_LOSS);
    leat_status_free(status);
    leat_table_block_cursor_deinitialize(&cursor);
  }
}

static void every_fault_is_reported(void** state) {
  LEAT_EXPECT_OK(write_table("t", 30, 100));
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    int count;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION | LEAT_FAULT_FILE, n);
    leat_status_t status = write_table("u", 30, 100);
    if (!status) status = read_all("t", &count);
    bool met = leat_fault_remove(&fault);
    if (!met) assert_null(status);
    leat_status_free(status);
    if (!met) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_come_back_in_order_and_by_key),
      cmocka_unit_test(a_block_has_a_restart_for_every_sixteen_keys),
      cmocka_unit_test(an_empty_table_is_one),
      cmocka_unit_test(keys_out_of_order_are_refused),
      cmocka_unit_test(every_changed_byte_is_harmless),
      cmocka_unit_test(unsound_blocks_are_refused),
      cmocka_unit_test(every_fault_is_reported),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
