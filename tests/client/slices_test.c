// Partitioned variables in checkpoints: parts saved by themselves, merged, and read whole, in parts
// and across them, in both versions of the format. A table whose element at (i, j) is 10 i + j is
// saved as rectangles by the ops SaveV2 and SaveSlices, so that every element which is read back
// says where it came from. Parts that are missing and slices that are not written as they should
// must give a status with the part or slice in it. Slices as such are tested in
// src/formats/checkpoint.
#include <stdio.h>
#include <string.h>

#include "client/model_kit.h"
#include "leat/files.h"
#include "scratch.h"

static TF_Output strings(int count, const char* const* values) {
  int64_t dim = count;
  TF_Tensor* tensor =
      TF_AllocateTensor(TF_STRING, &dim, 1, (size_t)count * sizeof(TF_TString));
  TF_TString* items = TF_TensorData(tensor);
  for (int i = 0; i < count; ++i) TF_TString_Copy(&items[i], values[i], strlen(values[i]));
  leat_attribute_t attributes[] = {leat_attribute_tensor("value", tensor),
                                   leat_attribute_type("dtype", TF_STRING)};
  TF_Output output = kit_out(
      leat_operation(kit.scope, "Const", NULL, NULL, 0, attributes, 2), 0);
  TF_DeleteTensor(tensor);
  return output;
}

// The rectangle of a table whose element at (i, j) is 10 i + j.
static TF_Output table(int row, int rows, int column, int columns) {
  float values[64];
  for (int i = 0; i < rows * columns; ++i) {
    values[i] = (float)(10 * (row + i / columns) + column + i % columns);
  }
  return leat_constant_floats(kit.scope, 2, (int64_t[]){rows, columns}, values);
}

static void expect_table(TF_Output output, int row, int rows, int column, int columns) {
  double values[64];
  assert_int_equal(model_kit_read(output, values, 64), rows * columns);
  for (int i = 0; i < rows * columns; ++i) {
    assert_true(values[i] == 10 * (row + i / columns) + column + i % columns);
  }
}

static void save(const char* op, const char* file, const char* slice, TF_Output value) {
  TF_Output inputs[] = {leat_constant_string(kit.scope, file),
                        strings(1, (const char* const[]){"table"}),
                        strings(1, (const char* const[]){slice}), value};
  model_kit_run(leat_operation(kit.scope, op, NULL, inputs, 4, NULL, 0));
}

static TF_Output restore(const char* file, const char* slice) {
  static const TF_DataType dtype = TF_FLOAT;
  leat_attribute_t dtypes = leat_attribute_types("dtypes", 1, &dtype);
  TF_Output inputs[] = {leat_constant_string(kit.scope, file),
                        strings(1, (const char* const[]){"table"}),
                        strings(1, (const char* const[]){slice})};
  return kit_out(leat_operation(kit.scope, "RestoreV2", NULL, inputs, 3, &dtypes, 1), 0);
}

static TF_Output restore_old(const char* pattern, const char* slice) {
  leat_attribute_t dt = leat_attribute_type("dt", TF_FLOAT);
  TF_Output inputs[] = {leat_constant_string(kit.scope, pattern),
                        leat_constant_string(kit.scope, "table"),
                        leat_constant_string(kit.scope, slice)};
  return kit_out(leat_operation(kit.scope, "RestoreSlice", NULL, inputs, 3, &dt, 1), 0);
}

static void expect_failure(TF_Output output, TF_Code code, const char* text) {
  TF_Tensor* value = NULL;
  kit_ok(leat_scope_status(kit.scope));
  TF_SessionRun(kit.session, NULL, NULL, NULL, 0, &output, &value, 1, NULL, 0, NULL, kit.status);
  kit_expect_text(kit.status, code, text);
}

static TF_Operation* merge(int count, const char* const* parts, const char* target,
                           int allow_missing) {
  leat_attribute_t missing = leat_attribute_bool("allow_missing_files", allow_missing);
  TF_Output inputs[] = {strings(count, parts), leat_constant_string(kit.scope, target)};
  return leat_operation(kit.scope, "MergeV2Checkpoints", NULL, inputs, 2, &missing, 1);
}

// A table of 6 x 4 in two files: the upper 4 rows, and below them two parts side by side.
static void write_parts(void) {
  TF_Output inputs[] = {leat_constant_string(kit.scope, "parts/b"),
                        strings(2, (const char* const[]){"table", "table"}),
                        strings(2, (const char* const[]){"6 4 4,2:0,1", "6 4 4,2:1,3"}),
                        table(4, 2, 0, 1), table(4, 2, 1, 3)};
  save("SaveV2", "parts/a", "6 4 0,4:-", table(0, 4, 0, 4));
  model_kit_run(leat_operation(kit.scope, "SaveV2", NULL, inputs, 5, NULL, 0));
}

static void test_merged(void** state) {
  write_parts();
  save("SaveV2", "whole", "", table(1, 1, 1, 1));  // gives way
  model_kit_run(merge(2, (const char* const[]){"parts/a", "parts/b"}, "whole", 0));
  assert_false(scratch_has("parts"));
  assert_true(scratch_has("whole.data-00001-of-00002"));
  expect_table(restore("whole", ""), 0, 6, 0, 4);
  expect_table(restore("whole", "6 4 0,4:-"), 0, 4, 0, 4);
  expect_table(restore("whole", "6 4 3,3:1,2"), 3, 3, 1, 2);
  expect_table(restore("whole", "6 4 -:3,1"), 0, 6, 3, 1);
  expect_failure(restore("whole", "6 5 -:-"), TF_INVALID_ARGUMENT, "does not match the shape");
  TF_Status* status = TF_NewStatus();
  leat_checkpoint_t* checkpoint = leat_checkpoint_open("whole", status);
  kit_ok(status);
  int64_t dims[2];
  assert_int_equal(leat_checkpoint_count(checkpoint), 1);
  assert_int_equal(leat_checkpoint_shape(checkpoint, 0, NULL, dims, 2), 2);
  assert_int_equal(dims[0] * 10 + dims[1], 64);
  leat_checkpoint_close(checkpoint);
  TF_DeleteStatus(status);
}

// What the parts do not cover is missed by who asks for it, not before.
static void test_missing_part(void** state) {
  write_parts();
  TF_Operation* strict =
      merge(2, (const char* const[]){"parts/a", "parts/none"}, "strict", 0);
  expect_failure(kit_out(strict, 0), TF_OUT_OF_RANGE, "output index 0");
  const TF_Operation* targets[] = {strict};
  TF_SessionRun(kit.session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, kit.status);
  kit_expect_text(kit.status, TF_NOT_FOUND, "parts/none.index");
  assert_true(scratch_has("parts/a.index"));
  model_kit_run(merge(2, (const char* const[]){"parts/a", "parts/none"}, "upper", 1));
  expect_table(restore("upper", "6 4 1,2:-"), 1, 2, 0, 4);
  expect_failure(restore("upper", ""), TF_INVALID_ARGUMENT, "table");
  expect_failure(restore("upper", "6 4 3,2:-"), TF_INVALID_ARGUMENT, "table");
}

// A reader without a graph finds both shards of what test_first_version has written.
static void expect_old_table(const char* prefix) {
  int64_t dims[2];
  leat_checkpoint_t* checkpoint = leat_checkpoint_open(prefix, kit.status);
  kit_ok(kit.status);
  assert_int_equal(leat_checkpoint_count(checkpoint), 1);
  assert_int_equal(leat_checkpoint_shape(checkpoint, 0, NULL, dims, 2), 2);
  assert_int_equal(dims[0], 6);
  leat_checkpoint_close(checkpoint);
}

// The first version: each file a shard of its own, found by a pattern.
static void test_first_version(void** state) {
  save("SaveSlices", "old-00000-of-00002", "6 4 0,4:-", table(0, 4, 0, 4));
  save("SaveSlices", "old-00001-of-00002", "6 4 4,2:-", table(4, 2, 0, 4));
  expect_table(restore_old("old-*-of-00002", "6 4 3,2:2,2"), 3, 2, 2, 2);
  expect_table(restore_old("old-*-of-00002", "6 4 -:-"), 0, 6, 0, 4);
  expect_table(restore("old-*-of-00002", ""), 0, 6, 0, 4);
  expect_failure(restore_old("old-00000-of-00002", "6 4 3,2:-"), TF_INVALID_ARGUMENT,
                 "sufficient slices");
  expect_failure(restore_old("none", "6 4 3,2:-"), TF_NOT_FOUND, "none");
  expect_old_table("old");
  expect_old_table("old-?\?\?\?\?-of-00002");
}

static void test_wrong_slices(void** state) {
  const struct {
    const char *slice, *text;
  } cases[] = {
      {"6 4", "'4'"}, {"6 4 0,4", "0,4"}, {"6 4 0,9:-", "0,9"}, {"6 4 0,3:-", "shape"},
      {"6 -4 0,4:-", "-4"}, {"x", "x"}, {"6 4 0,4:-:-", "0,4:-:-"},
      {"99999999999 99999999999 0,4:0,4", "99999999999"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    TF_Output inputs[] = {leat_constant_string(kit.scope, "wrong"),
                          strings(1, (const char* const[]){"table"}),
                          strings(1, (const char* const[]){cases[i].slice}), table(0, 4, 0, 4)};
    const TF_Operation* targets[] = {
        leat_operation(kit.scope, "SaveV2", NULL, inputs, 4, NULL, 0)};
    kit_ok(leat_scope_status(kit.scope));
    if (!kit.session) kit.session = kit_session(kit.graph);
    TF_SessionRun(kit.session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, kit.status);
    kit_expect_text(kit.status, TF_INVALID_ARGUMENT, cases[i].text);
    assert_int_equal(scratch_count("wrong"), 0);
  }
}

static int set_up(void** state) { return scratch_set_up(state) || model_kit_set_up(state); }

static int tear_down(void** state) {
  return model_kit_tear_down(state) || scratch_tear_down(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_merged),
      TEST(test_missing_part),
      TEST(test_first_version),
      TEST(test_wrong_slices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
