// Embeddings in files: tables, floats, and configurations that name what is not there, lies
// elsewhere, or is not what it says. The tests write their files into a fresh directory and read
// the tensor "a"; shapes and numbers are those that they wrote. They catch rows and columns that
// are exchanged, blank lines that count, a limit of rows that is passed over, and shapes whose
// product overflows. Configurations come with the files of strangers, so paths that are absolute,
// lead upwards or contain NUL must be refused with INVALID_ARGUMENT. Checkpoints, and a path that
// leads to a real file outside, are compared with TensorBoard's answers by
// tests/oracle/board_plugins_oracle.py.
#include "board/embeddings.h"

#include "board/test_arena.h"
#include "formats/test_directory.h"

static void write_text(const char* name, const char* text) {
  test_write_file(name, text, strlen(text));
}

static leat_pb_projector_config_t list(const char* config) {
  leat_pb_projector_config_t found;
  write_text("projector_config.pbtxt", config);
  LEAT_EXPECT_OK(board_embeddings_list(test_directory, &arena, &found));
  return found;
}

// The first number of the tensor "a", or -1 where it cannot be read for a reason of its own.
static float read_first(const char* config, size_t row_limit, board_matrix_t* out_matrix) {
  leat_pb_projector_config_t found = list(config);
  leat_status_t status = board_embeddings_read(test_directory, &found, LEAT_SV("a"), row_limit,
                                               &arena, out_matrix);
  if (!status) return out_matrix->values[0];
  assert_true(leat_status_code(status) == LEAT_INVALID_ARGUMENT ||
              leat_status_code(status) == LEAT_NOT_FOUND);
  leat_status_free(status);
  return -1;
}

static void tables_and_floats_are_read(void** state) {
  board_matrix_t matrix;
  float floats[6] = {7, 2, 3, 4, 5, 6};
  write_text("t.tsv", "4\t-2.5\n1e3\t0\n\n5\t6");
  test_write_file("f.bytes", floats, sizeof floats);
  const char* config = "embeddings { tensor_name: 'a:0' tensor_path: 't.tsv' }";
  assert_true(read_first(config, 9, &matrix) == 4);
  assert_true(matrix.rows == 3 && matrix.columns == 2 && matrix.values[2] == 1000);
  assert_true(read_first(config, 2, &matrix) == 4);
  assert_int_equal(matrix.rows, 2);
  leat_pb_projector_config_t found = list(config);
  const leat_pb_embedding_info_t* info = board_embeddings_find(&found, LEAT_SV("a:0"));
  assert_true(info && info->tensor_shape.count == 2 && info->tensor_shape.items[0] == 3);
  assert_true(read_first("embeddings { tensor_name: 'a' tensor_path: 'f.bytes' tensor_shape: 3 "
                         "tensor_shape: 2 }", 9, &matrix) == 7);
  assert_true(matrix.rows == 3 && matrix.columns == 2);
}

static void what_does_not_fit_is_refused(void** state) {
  static const char* const configs[] = {
      "embeddings { tensor_name: 'a' tensor_path: 'absent' }",
      "embeddings { tensor_name: 'a' tensor_path: '.' }",
      "embeddings { tensor_name: 'a' tensor_path: 'ragged' }",
      "embeddings { tensor_name: 'a' tensor_path: 'words' }",
      "embeddings { tensor_name: 'a' tensor_path: 'f.bytes' }",
      "embeddings { tensor_name: 'a' tensor_path: 'f.bytes' tensor_shape: 4294967295 "
      "tensor_shape: 4294967295 }",
      "embeddings { tensor_name: 'a' tensor_path: 'empty.bytes' tensor_shape: 2147483648 "
      "tensor_shape: 2147483648 }",
      "embeddings { tensor_name: 'b' }",
      "model_checkpoint_path: 't.tsv'"};
  board_matrix_t matrix;
  write_text("t.tsv", "1\t2\n");
  write_text("f.bytes", "12345678");
  write_text("empty.bytes", "");
  write_text("ragged", "1\t2\n3\n");
  write_text("words", "1\tx\n");
  for (size_t i = 0; i < sizeof configs / sizeof *configs; ++i) {
    print_message("%s\n", configs[i]);
    assert_true(read_first(configs[i], 9, &matrix) == -1);
  }
  leat_pb_projector_config_t found;
  write_text("projector_config.pbtxt", "embeddings {");
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, board_embeddings_list(test_directory, &arena, &found));
}

// None of these files is there, which would be NOT_FOUND: the path alone is reason enough.
static void paths_that_lead_out_are_refused(void** state) {
  static const char* const configs[] = {
      "embeddings { tensor_name: 'a' tensor_path: '../t.tsv' }",
      "embeddings { tensor_name: 'a' tensor_path: '/etc/hostname' }",
      "embeddings { tensor_name: 'a' tensor_path: 'x/../../t.tsv' }",
      "embeddings { tensor_name: 'a' tensor_path: 't.tsv\\000x' }",
      "model_checkpoint_path: '/etc/hostname'",
      "model_checkpoint_path: '../model'"};
  for (size_t i = 0; i < sizeof configs / sizeof *configs; ++i) {
    board_matrix_t matrix;
    print_message("%s\n", configs[i]);
    leat_pb_projector_config_t found = list(configs[i]);
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                     board_embeddings_read(test_directory, &found, LEAT_SV("a"), 9, &arena,
                                           &matrix));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tables_and_floats_are_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(paths_that_lead_out_are_refused, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
