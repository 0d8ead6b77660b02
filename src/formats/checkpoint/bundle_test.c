// Checkpoints: what is saved is restored, whole or in slices; nothing half made is ever found; and
// files that lie end in a status. A bundle of two tensors is written and read back through the
// public functions. Meanwhile the n-th call of the file system fails, or the n-th allocation fails,
// or one byte of a file is changed, for every n and every byte. Slices are cut from a tensor whose
// elements count upwards, so that a wrong offset shows as a wrong number. Files that TensorFlow
// wrote are not read here but by tests/oracle/checkpoint_oracle.py, and the table of the index has
// its own test (table_test.c).
#include "formats/checkpoint/bundle.h"

#include "base/fault.h"
#include "base/file_system_faulty.h"
#include "formats/test_directory.h"

static leat_tensor_t make_floats(int64_t rows, int64_t columns, float first) {
  leat_tensor_t tensor;
  leat_shape_t shape;
  LEAT_EXPECT_OK(leat_shape_create(2, (const int64_t[]){rows, columns}, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  for (int64_t i = 0; i < rows * columns; ++i) {
    leat_tensor_data(&tensor, float)[i] = first + (float)i;
  }
  return tensor;
}

static leat_tensor_t make_strings(void) {
  leat_tensor_t tensor;
  leat_shape_t shape = leat_shape_vector(3);
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &shape, &tensor));
  static char text[1000];
  memset(text, 'x', sizeof(text));
  LEAT_EXPECT_OK(leat_tensor_set_string(&tensor, 1, LEAT_SV("one")));
  LEAT_EXPECT_OK(leat_tensor_set_string(&tensor, 2, leat_string_view_make(text, sizeof(text))));
  return tensor;
}

static leat_status_t save(leat_file_system_t* fs, const char* prefix, const leat_tensor_t* floats,
                          const leat_tensor_t* strings) {
  leat_bundle_writer_t* writer;
  LEAT_RETURN_IF_ERROR(leat_bundle_writer_create(fs, prefix, leat_allocator_system(), &writer));
  leat_status_t status = leat_bundle_writer_add(writer, LEAT_SV("w"), floats);
  if (!status) status = leat_bundle_writer_add(writer, LEAT_SV("a/strings"), strings);
  if (!status) status = leat_bundle_writer_finish(writer);
  leat_bundle_writer_free(writer);
  return status;
}

static leat_status_t restore(const char* prefix, leat_tensor_t* out_floats,
                             leat_tensor_t* out_strings) {
  leat_bundle_reader_t* reader;
  *out_floats = *out_strings = (leat_tensor_t){0};
  LEAT_RETURN_IF_ERROR(leat_bundle_reader_open(leat_file_system_posix(), prefix,
                                               leat_allocator_system(), &reader));
  leat_buffer_source_t* source = leat_buffer_source_host();
  leat_status_t status = leat_bundle_reader_read(reader, LEAT_SV("w"), source, out_floats);
  if (!status) status = leat_bundle_reader_read(reader, LEAT_SV("a/strings"), source, out_strings);
  leat_bundle_reader_free(reader);
  return status;
}

static bool same_floats(const leat_tensor_t* a, const leat_tensor_t* b) {
  return a->dtype == b->dtype && leat_shape_equal(&a->shape, &b->shape) &&
         memcmp(a->data, b->data, leat_tensor_size_bytes(a)) == 0;
}

static void tensors_come_back(void** state) {
  leat_tensor_t floats = make_floats(300, 1000, 1), strings = make_strings(), a, b;
  LEAT_EXPECT_OK(save(leat_file_system_posix(), test_path("c"), &floats, &strings));
  LEAT_EXPECT_OK(restore(test_path("c"), &a, &b));
  assert_true(same_floats(&floats, &a));
  assert_int_equal(leat_tensor_string_at(&b, 0).size, 0);
  assert_true(leat_string_view_equals(leat_tensor_string_at(&b, 1), "one"));
  assert_int_equal(leat_tensor_string_at(&b, 2).size, 1000);
  leat_tensor_release(&a);
  leat_tensor_release(&b);
  leat_tensor_release(&floats);
  leat_tensor_release(&strings);
}

// A checkpoint's checksums do not say that the bytes of a bool are 0 and 1.
static void bools_are_0_or_1(void** state) {
  static const uint8_t bytes[] = {0, 1, 2, 128, 255};
  leat_tensor_t bools, got;
  leat_bundle_writer_t* writer;
  leat_bundle_reader_t* reader;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_BOOL, bytes, sizeof bytes, &bools));
  LEAT_EXPECT_OK(leat_bundle_writer_create(leat_file_system_posix(), test_path("b"),
                                           leat_allocator_system(), &writer));
  LEAT_EXPECT_OK(leat_bundle_writer_add(writer, LEAT_SV("b"), &bools));
  LEAT_EXPECT_OK(leat_bundle_writer_finish(writer));
  leat_bundle_writer_free(writer);
  LEAT_EXPECT_OK(leat_bundle_reader_open(leat_file_system_posix(), test_path("b"),
                                         leat_allocator_system(), &reader));
  LEAT_EXPECT_OK(
      leat_bundle_reader_read(reader, LEAT_SV("b"), leat_buffer_source_host(), &got));
  leat_bundle_reader_free(reader);
  for (size_t i = 0; i < sizeof bytes; ++i) {
    assert_int_equal(leat_tensor_data(&got, const uint8_t)[i], bytes[i] != 0);
  }
  leat_tensor_release(&got);
  leat_tensor_release(&bools);
}

static leat_status_t count_entry(void* data, leat_string_view_t name,
                                 const leat_pb_bundle_entry_proto_t* entry) {
  ++*(int*)data;
  return leat_ok_status();
}

static void what_is_wrong_is_refused(void** state) {
  leat_bundle_writer_t* writer;
  leat_bundle_reader_t* reader;
  leat_tensor_t tensor = make_floats(2, 2, 0), found;
  leat_tensor_t handle;
  leat_shape_t scalar = leat_shape_scalar();
  int count = 0;
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_RESOURCE, &scalar, &handle));
  LEAT_EXPECT_OK(leat_bundle_writer_create(leat_file_system_posix(), test_path("d/c"),
                                           leat_allocator_system(), &writer));
  LEAT_EXPECT_OK(leat_bundle_writer_add(writer, LEAT_SV("x"), &tensor));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, leat_bundle_writer_add(writer, LEAT_SV("x"), &tensor));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, leat_bundle_writer_add(writer, LEAT_SV(""), &tensor));
  LEAT_EXPECT_CODE(LEAT_UNIMPLEMENTED, leat_bundle_writer_add(writer, LEAT_SV("h"), &handle));
  LEAT_EXPECT_OK(leat_bundle_writer_finish(writer));
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION, leat_bundle_writer_finish(writer));
  leat_bundle_writer_free(writer);
  LEAT_EXPECT_OK(leat_bundle_reader_open(leat_file_system_posix(), test_path("d/c"),
                                         leat_allocator_system(), &reader));
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, leat_bundle_reader_read(reader, LEAT_SV("y"),
                                                           leat_buffer_source_host(), &found));
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, leat_bundle_reader_read(reader, LEAT_SV(""),
                                                           leat_buffer_source_host(), &found));
  LEAT_EXPECT_OK(leat_bundle_reader_each(reader, count_entry, &count));
  assert_int_equal(count, 1);
  leat_bundle_reader_free(reader);
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND,
                   leat_bundle_reader_open(leat_file_system_posix(), test_path("none"),
                                           leat_allocator_system(), &reader));
  leat_tensor_release(&tensor);
  leat_tensor_release(&handle);
  leat_file_system_t* fs = leat_file_system_posix();
  LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path("d/c.index")));
  LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path("d/c.data-00000-of-00001")));
  LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path("d")));
}

// The piece of |whole| that |slice_text| states, as a tensor of its own.
static leat_tensor_t cut(const leat_tensor_t* whole, const char* slice_text) {
  leat_arena_t arena;
  leat_tensor_slice_t all, slice;
  leat_shape_t shape;
  leat_tensor_t part;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_tensor_slice_make_full(2, &arena, &all));
  LEAT_EXPECT_OK(leat_tensor_slice_parse(leat_string_view_from(slice_text), &arena, &slice));
  LEAT_EXPECT_OK(leat_tensor_slice_resolve(&all, &whole->shape, &shape));
  LEAT_EXPECT_OK(leat_tensor_slice_resolve(&slice, &whole->shape, &shape));
  LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), whole->dtype, &shape, &part));
  leat_tensor_slice_copy_common(&all, whole->data, &slice, part.data, 4);
  leat_arena_deinitialize(&arena);
  return part;
}

// Saves the slices of |whole| that |texts| states, as tensor "p", and a scalar of the file's name.
static void save_slices(const char* name, const leat_tensor_t* whole, const char* const* texts,
                        size_t count) {
  leat_bundle_writer_t* writer;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_bundle_writer_create(leat_file_system_posix(), test_path(name),
                                           leat_allocator_system(), &writer));
  for (size_t i = 0; i < count; ++i) {
    leat_tensor_slice_t slice;
    leat_tensor_t part = cut(whole, texts[i]);
    LEAT_EXPECT_OK(leat_tensor_slice_parse(leat_string_view_from(texts[i]), &arena, &slice));
    LEAT_EXPECT_OK(
        leat_bundle_writer_add_slice(writer, LEAT_SV("p"), &whole->shape, &slice, &part));
    leat_tensor_release(&part);
  }
  leat_tensor_t scalar;
  LEAT_EXPECT_OK(leat_tensor_scalar_string(leat_string_view_from(name), &scalar));
  LEAT_EXPECT_OK(leat_bundle_writer_add(writer, leat_string_view_from(name), &scalar));
  LEAT_EXPECT_OK(leat_bundle_writer_finish(writer));
  leat_bundle_writer_free(writer);
  leat_tensor_release(&scalar);
  leat_arena_deinitialize(&arena);
}

static void expect_slices(const char* name, const leat_tensor_t* whole) {
  static const char* const texts[] = {"-:-", "0,4:-", "3,5:1,4", "9,1:5,1", "0,10:0,6", "4,6:0,2"};
  leat_bundle_reader_t* reader;
  leat_arena_t arena;
  leat_tensor_t found;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_bundle_reader_open(leat_file_system_posix(), test_path(name),
                                         leat_allocator_system(), &reader));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(texts); ++i) {
    leat_tensor_slice_t slice;
    leat_tensor_t expected = cut(whole, texts[i]);
    LEAT_EXPECT_OK(leat_tensor_slice_parse(leat_string_view_from(texts[i]), &arena, &slice));
    LEAT_EXPECT_OK(leat_bundle_reader_read_slice(reader, LEAT_SV("p"), &slice,
                                                 leat_buffer_source_host(), &found));
    assert_true(same_floats(&expected, &found));
    leat_tensor_release(&expected);
    leat_tensor_release(&found);
  }
  LEAT_EXPECT_OK(
      leat_bundle_reader_read(reader, LEAT_SV("p"), leat_buffer_source_host(), &found));
  assert_true(same_floats(whole, &found));
  leat_tensor_release(&found);
  leat_bundle_reader_free(reader);
  leat_arena_deinitialize(&arena);
}

static void slices_are_put_together(void** state) {
  static const char* const parts[] = {"0,4:-", "4,6:0,2", "4,6:2,4"};
  static const char* const all[] = {"-:-"};
  leat_tensor_t whole = make_floats(10, 6, 0), found;
  leat_bundle_reader_t* reader;
  save_slices("s", &whole, parts, 3);
  expect_slices("s", &whole);
  save_slices("s", &whole, all, 1);
  expect_slices("s", &whole);
  save_slices("s", &whole, parts, 2);
  LEAT_EXPECT_OK(leat_bundle_reader_open(leat_file_system_posix(), test_path("s"),
                                         leat_allocator_system(), &reader));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, leat_bundle_reader_read(
                                              reader, LEAT_SV("p"), leat_buffer_source_host(),
                                              &found));
  leat_bundle_reader_free(reader);
  leat_tensor_release(&whole);
}

static void shards_are_merged(void** state) {
  static const char* const first[] = {"0,4:-"};
  static const char* const second[] = {"4,6:0,2", "4,6:2,4"};
  leat_file_system_t* fs = leat_file_system_posix();
  leat_tensor_t whole = make_floats(10, 6, 0), found;
  leat_bundle_reader_t* reader;
  save_slices("one", &whole, first, 1);
  save_slices("two", &whole, second, 2);
  const char* const prefixes[] = {test_path("one"), test_path("two")};
  LEAT_EXPECT_OK(leat_bundle_merge(fs, prefixes, 2, test_path("m"), leat_allocator_system()));
  assert_false(leat_file_exists(fs, test_path("one.index")));
  assert_true(leat_file_exists(fs, test_path("m.data-00001-of-00002")));
  expect_slices("m", &whole);
  LEAT_EXPECT_OK(
      leat_bundle_reader_open(fs, test_path("m"), leat_allocator_system(), &reader));
  LEAT_EXPECT_OK(
      leat_bundle_reader_read(reader, LEAT_SV("two"), leat_buffer_source_host(), &found));
  assert_true(leat_string_view_equals(leat_tensor_string_at(&found, 0), "two"));
  leat_tensor_release(&found);
  leat_bundle_reader_free(reader);
  save_slices("one", &whole, first, 1);
  const char* const same[] = {test_path("one"), test_path("one")};
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_bundle_merge(fs, same, 2, test_path("n"), leat_allocator_system()));
  leat_tensor_release(&whole);
}

// The names of data files, as users see them: those of a first save are what TensorFlow would use;
// a save over it takes the next number of a shard that is free, and the one after that the first
// again.
static void data_files_of_generations(void** state) {
  static const char* const names[] = {"g.data-00000-of-00001", "g.data-00001-of-00001"};
  leat_file_system_t* fs = leat_file_system_posix();
  leat_tensor_t floats = make_floats(3, 4, 0), strings = make_strings();
  test_write_file(names[1], "x", 1);  // without an index it is nobody's
  test_write_file("g.data-0-of-1", "x", 1);
  test_write_file("g.data-+0007-of-00001", "x", 1);
  test_write_file("g.data-00007-of- 0001", "x", 1);
  test_write_file("g.data-00000-of-00007.bak", "x", 1);
  for (int i = 0; i < 5; ++i) {
    LEAT_EXPECT_OK(save(fs, test_path(i < 3 ? "g" : ".//g"), &floats, &strings));
    assert_true(leat_file_exists(fs, test_path(names[i % 2])));
    assert_false(leat_file_exists(fs, test_path(names[1 - i % 2])));
  }
  assert_true(leat_file_exists(fs, test_path("g.data-+0007-of-00001")));
  assert_true(leat_file_exists(fs, test_path("g.data-00007-of- 0001")));
  assert_true(leat_file_exists(fs, test_path("g.data-0-of-1")));  // no names of data files
  assert_true(leat_file_exists(fs, test_path("g.data-00000-of-00007.bak")));
  leat_tensor_release(&floats);
  leat_tensor_release(&strings);
}

// The bundle that is replaced may be one of those that are merged, under another spelling too: its
// data stay until the merged index stands.
static void the_target_may_be_merged(void** state) {
  static const char* const first[] = {"0,4:-"};
  static const char* const second[] = {"4,6:-"};
  leat_tensor_t whole = make_floats(10, 6, 0), found;
  leat_bundle_reader_t* reader;
  for (int64_t n = 1;; ++n) {
    leat_file_system_faulty_t faulty;
    save_slices("t", &whole, first, 1);
    save_slices("u", &whole, second, 1);
    leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
    faulty.failing_call = n;
    faulty.fails_from_then_on = true;
    const char* const prefixes[] = {test_path("u"), test_path("t")};
    leat_status_t status = leat_bundle_merge(&faulty.base, prefixes, 2, test_path(".//t"),
                                             leat_allocator_system());
    bool met = faulty.call_count >= n;
    LEAT_EXPECT_OK(leat_bundle_reader_open(leat_file_system_posix(), test_path("t"),
                                           leat_allocator_system(), &reader));
    LEAT_EXPECT_OK(
        leat_bundle_reader_read(reader, LEAT_SV("t"), leat_buffer_source_host(), &found));
    leat_tensor_release(&found);
    leat_bundle_reader_free(reader);
    if (!status) expect_slices("t", &whole);
    leat_status_free(status);
    if (!met) break;
  }
  assert_false(leat_file_exists(leat_file_system_posix(), test_path("u.index")));
  leat_tensor_release(&whole);
}

// Every call of the file system fails once, and once for good: what is found is the old checkpoint
// or the new one.
static void publishing_is_all_or_nothing(void** state) {
  leat_tensor_t old = make_floats(3, 4, 0), new = make_floats(3, 4, 100), strings = make_strings();
  for (int64_t n = 1;; ++n) {
    leat_file_system_faulty_t faulty;
    leat_tensor_t a, b;
    LEAT_EXPECT_OK(save(leat_file_system_posix(), test_path("p"), &old, &strings));
    leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
    faulty.failing_call = n;
    faulty.fails_from_then_on = n % 2 == 0;
    leat_status_t status = save(&faulty.base, test_path("p"), &new, &strings);
    leat_status_t found = restore(test_path("p"), &a, &b);
    LEAT_EXPECT_OK(found);
    assert_true(same_floats(&a, &new) || (status && same_floats(&a, &old)));
    bool met = faulty.call_count >= n;
    leat_tensor_release(&a);
    leat_tensor_release(&b);
    leat_status_free(status);
    if (!met) break;
  }
  leat_tensor_release(&old);
  leat_tensor_release(&new);
  leat_tensor_release(&strings);
}

static void every_allocation_may_fail(void** state) {
  leat_tensor_t floats = make_floats(3, 4, 0), strings = make_strings();
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_tensor_t a = {0}, b = {0};
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = save(leat_file_system_posix(), test_path("f"), &floats, &strings);
    if (!status) status = restore(test_path("f"), &a, &b);
    bool met = leat_fault_remove(&fault);
    if (!met) assert_null(status);
    leat_tensor_release(&a);
    leat_tensor_release(&b);
    leat_status_free(status);
    if (!met) break;
  }
  leat_tensor_release(&floats);
  leat_tensor_release(&strings);
}

// Any byte of either file: the right tensors or DATA_LOSS (a flipped version may refuse otherwise).
static void every_changed_byte_is_noticed(void** state) {
  static const char* const names[] = {"q.index", "q.data-00000-of-00001"};
  leat_tensor_t floats = make_floats(3, 4, 0), strings = make_strings();
  LEAT_EXPECT_OK(save(leat_file_system_posix(), test_path("q"), &floats, &strings));
  for (size_t file = 0; file < LEAT_ARRAY_SIZE(names); ++file) {
    size_t size;
    char* bytes = test_read_file(names[file], &size);
    for (size_t i = 0; i < size; ++i) {
      leat_tensor_t a, b;
      bytes[i] ^= 0x41;
      test_write_file(names[file], bytes, size);
      leat_status_t status = restore(test_path("q"), &a, &b);
      if (!status) assert_true(same_floats(&a, &floats));
      if (status) assert_int_equal(leat_status_code(status), LEAT_DATA_LOSS);
      leat_status_free(status);
      leat_tensor_release(&a);
      leat_tensor_release(&b);
      bytes[i] ^= 0x41;
    }
    test_write_file(names[file], bytes, size);
    leat_allocator_free(leat_allocator_system(), bytes);
  }
  leat_tensor_release(&floats);
  leat_tensor_release(&strings);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_come_back),
      cmocka_unit_test(bools_are_0_or_1),
      cmocka_unit_test(what_is_wrong_is_refused),
      cmocka_unit_test(slices_are_put_together),
      cmocka_unit_test(shards_are_merged),
      cmocka_unit_test(data_files_of_generations),
      cmocka_unit_test(the_target_may_be_merged),
      cmocka_unit_test(publishing_is_all_or_nothing),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(every_changed_byte_is_noticed),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
