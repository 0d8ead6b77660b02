// The writer of TensorFlow's first checkpoint format is checked by reading its file back with the
// reader, which has a test of its own (checkpoint_v1_test.c). Three tensors are added in an order
// that is not that of their names, and one of them in two slices with the last rows first, because
// the writer has to sort what the table of the file wants sorted. Slices of one tensor that
// disagree about the full shape are an error of the caller and reported as INTERNAL. A writer that
// is freed without having finished leaves no file.

#include "formats/checkpoint/checkpoint_v1.h"
#include "formats/test_directory.h"

static leat_tensor_t floats(int64_t rows, float first) {
  leat_tensor_t tensor;
  leat_shape_t shape;
  LEAT_EXPECT_OK(leat_shape_create(2, (const int64_t[]){rows, 3}, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  for (int64_t i = 0; i < shape.element_count; ++i) {
    leat_tensor_data(&tensor, float)[i] = first + (float)i;
  }
  return tensor;
}

static void add(leat_checkpoint_v1_writer_t* writer, leat_arena_t* arena, const char* name,
                const char* spec, leat_tensor_t tensor) {
  leat_shape_t full = leat_shape_retain(&tensor.shape);
  leat_tensor_slice_t slice;
  if (*spec) {
    LEAT_EXPECT_OK(
        leat_tensor_slice_parse_spec(leat_string_view_from(spec), arena, &full, &slice));
  } else {
    LEAT_EXPECT_OK(leat_tensor_slice_make_full(full.rank, arena, &slice));
  }
  LEAT_EXPECT_OK(leat_checkpoint_v1_writer_add(writer, leat_string_view_from(name), &full, &slice,
                                               &tensor));
  leat_tensor_release(&tensor);
}

static void write_file(const char* path) {
  leat_checkpoint_v1_writer_t* writer;
  leat_arena_t arena;
  leat_tensor_t text;
  leat_allocator_t* allocator = leat_allocator_system();
  leat_arena_initialize(allocator, 0, &arena);
  LEAT_EXPECT_OK(
      leat_checkpoint_v1_writer_create(leat_file_system_posix(), path, allocator, &writer));
  LEAT_EXPECT_OK(leat_tensor_scalar_string(LEAT_SV("hello"), &text));
  add(writer, &arena, "text", "", text);
  add(writer, &arena, "part", "4 3 2,2:-", floats(2, 6));
  add(writer, &arena, "part", "4 3 0,2:-", floats(2, 0));
  add(writer, &arena, "a", "", floats(40, 100));
  LEAT_EXPECT_OK(leat_checkpoint_v1_writer_finish(writer));
  leat_checkpoint_v1_writer_free(writer);
  leat_arena_deinitialize(&arena);
}

static void written_is_read(void** state) {
  (void)state;
  leat_checkpoint_v1_t* checkpoint;
  leat_tensor_t tensor;
  const char* path = test_path("first");
  write_file(path);
  LEAT_EXPECT_OK(leat_checkpoint_v1_open(leat_file_system_posix(), path, leat_allocator_system(),
                                         &checkpoint));
  assert_int_equal(leat_checkpoint_v1_count(checkpoint), 3);
  LEAT_EXPECT_OK(leat_checkpoint_v1_read(checkpoint, LEAT_SV("part"), NULL,
                                         leat_buffer_source_host(), &tensor));
  assert_int_equal(tensor.shape.element_count, 12);
  for (int i = 0; i < 12; ++i) assert_true(leat_tensor_data(&tensor, float)[i] == (float)i);
  leat_tensor_release(&tensor);
  LEAT_EXPECT_OK(leat_checkpoint_v1_read(checkpoint, LEAT_SV("text"), NULL,
                                         leat_buffer_source_host(), &tensor));
  assert_true(leat_string_view_equals(leat_tensor_string_at(&tensor, 0), "hello"));
  leat_tensor_release(&tensor);
  leat_checkpoint_v1_free(checkpoint);
}

static void slices_must_agree(void** state) {
  (void)state;
  leat_checkpoint_v1_writer_t* writer;
  leat_arena_t arena;
  leat_tensor_slice_t slice;
  leat_tensor_t other = floats(1, 0);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_checkpoint_v1_writer_create(leat_file_system_posix(), test_path("second"),
                                                  leat_allocator_system(), &writer));
  add(writer, &arena, "part", "4 3 2,2:-", floats(2, 6));
  LEAT_EXPECT_OK(leat_tensor_slice_make_full(2, &arena, &slice));
  LEAT_EXPECT_CODE(LEAT_INTERNAL, leat_checkpoint_v1_writer_add(writer, LEAT_SV("part"),
                                                                &other.shape, &slice, &other));
  leat_tensor_release(&other);
  leat_checkpoint_v1_writer_free(writer);
  assert_false(leat_file_exists(leat_file_system_posix(), test_path("second")));
  leat_arena_deinitialize(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(written_is_read),
      cmocka_unit_test(slices_must_agree),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
