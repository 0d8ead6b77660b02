// The board follows event files that another process is still writing, so a file may end anywhere
// inside a record, and the rest may arrive later. Records are written to a file cut by cut, and the
// reader must return each record as soon as it is whole and never twice. A flipped bit costs one
// record and not the rest of the file: the reader searches for the next head whose checksum is
// right, also when that part of the file arrives later. A length that lies although its checksum
// fits must not make the reader allocate. The records come from the writer of formats/record/,
// which tests/oracle/record_oracle.py compares with TensorFlow's.
#include "board/event_file.h"

#include "formats/record/record.h"
#include "formats/test_directory.h"
#include "formats/wire/wire.h"

// Records of the texts "r0", "r1", ... with |sizes[i]| bytes.
static void make_records(const size_t* sizes, size_t count, leat_string_builder_t* out) {
  static char bytes[3 << 20];
  leat_string_builder_initialize(leat_allocator_system(), out);
  for (size_t i = 0; i < count; ++i) {
    memset(bytes, (int)('a' + i), sizes[i]);
    leat_record_append(out, leat_string_view_make(bytes, sizes[i]));
  }
}

// Reads on and expects records with these first letters.
static void expect_records(board_event_file_t* file, const char* letters) {
  board_record_t record;
  LEAT_EXPECT_OK(board_event_file_open(file));
  for (; *letters; ++letters) {
    assert_true(board_event_file_next(file, &record));
    assert_true(record.bytes.size > 0);
    assert_int_equal(record.bytes.data[0], *letters);
    // A record says where it lies.
    char* again;
    LEAT_EXPECT_OK(board_event_file_read(file->path, record.offset, (uint32_t)record.bytes.size,
                                         &again));
    assert_memory_equal(again, record.bytes.data, record.bytes.size);
    leat_allocator_free(leat_allocator_system(), again);
  }
  assert_false(board_event_file_next(file, &record));
  LEAT_EXPECT_OK(file->broken);
  board_event_file_close(file);
}

static void a_file_is_followed(void** state) {
  static const size_t sizes[] = {5, 100, 2 << 20, 7};
  board_event_file_t file;
  leat_string_builder_t records;
  make_records(sizes, 4, &records);
  size_t ends[] = {21, 21 + 116, 21 + 116 + (2 << 20) + 16};
  LEAT_EXPECT_OK(board_event_file_initialize(test_path("f"), &file));
  // Cut inside a head, inside a length's checksum, inside the bytes, inside the last checksum.
  test_write_file("f", records.data, 7);
  expect_records(&file, "");
  test_write_file("f", records.data, ends[0] - 1);
  expect_records(&file, "");
  test_write_file("f", records.data, ends[0] + 10);
  expect_records(&file, "a");
  test_write_file("f", records.data, ends[1] + 500);
  expect_records(&file, "b");
  test_write_file("f", records.data, ends[2]);
  expect_records(&file, "c");
  test_write_file("f", records.data, records.size);
  expect_records(&file, "d");
  assert_int_equal(file.damaged, 0);
  board_event_file_deinitialize(&file);
  leat_string_builder_deinitialize(&records);
}

// Flips each bit of a record in turn: the others are read all the same, and one is counted.
static void one_damaged_record_is_skipped(void** state) {
  static const size_t sizes[] = {5, 3, 9};
  leat_string_builder_t records;
  make_records(sizes, 3, &records);
  for (size_t bit = 21 * 8; bit < (21 + 19) * 8; ++bit) {
    board_event_file_t file;
    records.data[bit / 8] ^= (char)(1 << bit % 8);
    test_write_file("f", records.data, records.size);
    LEAT_EXPECT_OK(board_event_file_initialize(test_path("f"), &file));
    expect_records(&file, "ac");
    assert_int_equal(file.damaged, 1);
    board_event_file_deinitialize(&file);
    records.data[bit / 8] ^= (char)(1 << bit % 8);
  }
  leat_string_builder_deinitialize(&records);
}

// The same among records of equal length, whose heads are not computed again.
static void a_damaged_head_is_noticed_among_equal_ones(void** state) {
  static const size_t sizes[] = {5, 5, 5, 5};
  leat_string_builder_t records;
  make_records(sizes, 4, &records);
  for (size_t bit = 42 * 8; bit < (42 + 21) * 8; ++bit) {
    board_event_file_t file;
    records.data[bit / 8] ^= (char)(1 << bit % 8);
    test_write_file("f", records.data, records.size);
    LEAT_EXPECT_OK(board_event_file_initialize(test_path("f"), &file));
    expect_records(&file, "abd");
    assert_int_equal(file.damaged, 1);
    board_event_file_deinitialize(&file);
    records.data[bit / 8] ^= (char)(1 << bit % 8);
  }
  leat_string_builder_deinitialize(&records);
}

// A damaged length in a file that grows: what comes behind it is found when it is whole.
static void damage_is_passed_while_a_file_grows(void** state) {
  static const size_t sizes[] = {5, 300, 9, 4};
  board_event_file_t file;
  leat_string_builder_t records;
  make_records(sizes, 4, &records);
  records.data[21] ^= 1;
  LEAT_EXPECT_OK(board_event_file_initialize(test_path("f"), &file));
  for (size_t size = 0; size < records.size; ++size) {
    size_t begin = 21 + 316;
    test_write_file("f", records.data, size);
    expect_records(&file, size == 21 ? "a" : size == begin + 25 ? "c" : "");
  }
  test_write_file("f", records.data, records.size);
  expect_records(&file, "d");
  assert_int_equal(file.damaged, 1);
  board_event_file_deinitialize(&file);
  leat_string_builder_deinitialize(&records);
}

// Lengths that lie, with checksums that fit them.
static void huge_lengths_cost_nothing(void** state) {
  static const uint64_t lengths[] = {UINT64_MAX, (uint64_t)1 << 63, (uint64_t)1 << 40, 1000,
                                     UINT64_MAX - 15, UINT64_MAX / 2};
  leat_string_builder_t record;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    char head[32] = {0};
    board_event_file_t file;
    leat_wire_store64(head, lengths[i]);
    // The writer's checksum of the eight bytes of a record is that of a length.
    leat_string_builder_initialize(leat_allocator_system(), &record);
    leat_record_append(&record, leat_string_view_make(head, 8));
    memcpy(head + 8, record.data + 20, 4);
    test_write_file("f", head, sizeof head);
    LEAT_EXPECT_OK(board_event_file_initialize(test_path("f"), &file));
    expect_records(&file, "");
    board_event_file_deinitialize(&file);
    leat_string_builder_deinitialize(&record);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_is_followed),
      cmocka_unit_test(one_damaged_record_is_skipped),
      cmocka_unit_test(a_damaged_head_is_noticed_among_equal_ones),
      cmocka_unit_test(damage_is_passed_while_a_file_grows),
      cmocka_unit_test(huge_lengths_cost_nothing),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
