// The reader of TensorFlow's first checkpoint format, in which each shard is one sorted table: a
// first record describes all tensors, the others hold slices as TensorProto. The shards are written
// here with the table writer alone and not with checkpoint_v1_writer.c, so that an error that the
// reader and the writer share cannot hide. A tensor whose rows lie in two shards must be read as
// one tensor, and so must a slice of it that lies across the border. Shards that leave rows out,
// that disagree about the type, that hold rows beyond the shape or that are no table at all are
// refused.
#include "formats/checkpoint/checkpoint_v1.h"

#include "formats/checkpoint/table.h"
#include "formats/generated/checkpoint.h"
#include "formats/test_directory.h"
#include "formats/wire/encode.h"

// A shard's file: tensor "w" of shape [4,3], of which it holds rows |first| to |last| (as floats
// that count from 0 over the whole), stated with dtype |dtype|.
static void write_shard(const char* name, int64_t first, int64_t last, int dtype) {
  float values[12];
  leat_pb_tensor_shape_proto_dim_t dims[] = {{.size = 4}, {.size = 3}};
  leat_pb_tensor_shape_proto_t shape = {.dim = {dims, 2}};
  leat_pb_tensor_slice_proto_extent_t extents[] = {
      {.start = first, .length = last - first, .has_length_case = 2}, {0}};
  leat_pb_tensor_slice_proto_t slice = {.extent = {extents, 2}};
  leat_pb_saved_slice_meta_t tensor = {
      .name = LEAT_SV("w"), .shape = &shape, .type = dtype, .slice = {&slice, 1}};
  leat_pb_saved_tensor_slice_meta_t meta = {.tensor = {&tensor, 1}};
  for (int i = 0; i < 12; ++i) values[i] = (float)(first * 3 + i);
  leat_pb_tensor_proto_t data = {.float_val = {values, (size_t)(last - first) * 3}};
  leat_pb_saved_slice_t saved = {.name = LEAT_SV("w"), .slice = &slice, .data = &data};
  leat_pb_saved_tensor_slices_t head = {.meta = &meta}, body = {.data = &saved};

  leat_file_t* file;
  leat_arena_t arena;
  leat_table_writer_t writer;
  leat_tensor_slice_t range;
  leat_string_builder_t key, bytes;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &key);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_file_open(leat_file_system_posix(), test_path(name), LEAT_FILE_WRITE,
                                leat_allocator_system(), &file));
  leat_table_writer_initialize(file, 0, leat_allocator_system(), &writer);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_saved_tensor_slices_descriptor, &head, &bytes));
  LEAT_EXPECT_OK(leat_table_writer_add(&writer, LEAT_SV(""), leat_string_builder_view(&bytes)));
  bytes.size = 0;
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_saved_tensor_slices_descriptor, &body, &bytes));
  LEAT_EXPECT_OK(leat_tensor_slice_from_proto(&slice, &arena, &range));
  leat_tensor_slice_append_key(LEAT_SV("w"), &range, &key);
  LEAT_EXPECT_OK(leat_table_writer_add(&writer, leat_string_builder_view(&key),
                                       leat_string_builder_view(&bytes)));
  LEAT_EXPECT_OK(leat_table_writer_finish(&writer));
  leat_table_writer_deinitialize(&writer);
  LEAT_EXPECT_OK(leat_file_close(file));
  leat_string_builder_deinitialize(&key);
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
}

static leat_checkpoint_v1_t* open_checkpoint(const char* pattern) {
  leat_checkpoint_v1_t* checkpoint;
  LEAT_EXPECT_OK(leat_checkpoint_v1_open(leat_file_system_posix(), test_path(pattern),
                                         leat_allocator_system(), &checkpoint));
  return checkpoint;
}

static void shards_are_one_checkpoint(void** state) {
  leat_tensor_t tensor;
  leat_arena_t arena;
  leat_tensor_slice_t slice;
  leat_string_view_t name;
  const leat_shape_t* shape;
  int dtype;
  write_shard("c-00000-of-00002", 0, 1, LEAT_DTYPE_FLOAT);
  write_shard("c-00001-of-00002", 1, 4, LEAT_DTYPE_FLOAT);
  leat_checkpoint_v1_t* checkpoint = open_checkpoint("c-*-of-00002");
  assert_int_equal(leat_checkpoint_v1_count(checkpoint), 1);
  leat_checkpoint_v1_get(checkpoint, 0, &name, &dtype, &shape);
  assert_true(leat_string_view_equals(name, "w"));
  assert_string_equal(LEAT_SHAPE_TEXT(shape), "[4,3]");
  LEAT_EXPECT_OK(leat_checkpoint_v1_read(checkpoint, LEAT_SV("w"), NULL,
                                         leat_buffer_source_host(), &tensor));
  for (int i = 0; i < 12; ++i) assert_true(leat_tensor_data(&tensor, float)[i] == (float)i);
  leat_tensor_release(&tensor);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_tensor_slice_parse(LEAT_SV("0,3:1,2"), &arena, &slice));
  LEAT_EXPECT_OK(leat_checkpoint_v1_read(checkpoint, LEAT_SV("w"), &slice,
                                         leat_buffer_source_host(), &tensor));
  assert_string_equal(LEAT_SHAPE_TEXT(&tensor.shape), "[3,2]");
  assert_true(leat_tensor_data(&tensor, float)[5] == 8.0f);
  leat_tensor_release(&tensor);
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND,
                   leat_checkpoint_v1_read(checkpoint, LEAT_SV("x"), NULL,
                                           leat_buffer_source_host(), &tensor));
  leat_arena_deinitialize(&arena);
  leat_checkpoint_v1_free(checkpoint);
}

static void what_is_missing_or_wrong_is_refused(void** state) {
  leat_tensor_t tensor;
  leat_checkpoint_v1_t* checkpoint;
  leat_file_system_t* fs = leat_file_system_posix();
  write_shard("half", 0, 2, LEAT_DTYPE_FLOAT);
  checkpoint = open_checkpoint("half");
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_checkpoint_v1_read(checkpoint, LEAT_SV("w"), NULL,
                                           leat_buffer_source_host(), &tensor));
  leat_checkpoint_v1_free(checkpoint);
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, leat_checkpoint_v1_open(fs, test_path("none"),
                                                           leat_allocator_system(), &checkpoint));
  write_shard("odd-0", 0, 2, LEAT_DTYPE_FLOAT);
  write_shard("odd-1", 2, 4, LEAT_DTYPE_INT32);
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, leat_checkpoint_v1_open(fs, test_path("odd-*"),
                                                           leat_allocator_system(), &checkpoint));
  write_shard("beyond", 2, 5, LEAT_DTYPE_FLOAT);
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, leat_checkpoint_v1_open(fs, test_path("beyond"),
                                                           leat_allocator_system(), &checkpoint));
  test_write_file("text", "no table, however long it may be: it has no magic number", 56);
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, leat_checkpoint_v1_open(fs, test_path("text"),
                                                           leat_allocator_system(), &checkpoint));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shards_are_one_checkpoint),
      cmocka_unit_test(what_is_missing_or_wrong_is_refused),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
