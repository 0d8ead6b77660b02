// Slices: text, messages, keys, and copying between boxes. Text and messages must come back as they
// were, and what is no slice must be refused. Keys are compared as codes whose order is the order
// of the values, for numbers around every power of two, because the table of a checkpoint is sorted
// by them. Elements are copied between a whole and its parts, and say by their value where they
// came from. Saving and restoring slices is tested in bundle_test.c.
#include "formats/checkpoint/tensor_slice.h"

#include <string.h>

#include "base/test.h"
#include "formats/checkpoint/ordered_code.h"

static leat_arena_t arena;

static int begin(void** state) {
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  return 0;
}
static int end(void** state) {
  leat_arena_deinitialize(&arena);
  return 0;
}

static leat_tensor_slice_t parse(const char* text) {
  leat_tensor_slice_t slice;
  LEAT_EXPECT_OK(leat_tensor_slice_parse(leat_string_view_from(text), &arena, &slice));
  return slice;
}

static void text_is_read_and_written(void** state) {
  static const char* const texts[] = {"", "-", "0,4", "-:0,4:3,1", "-:-"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(texts); ++i) {
    leat_tensor_slice_t slice = parse(texts[i]);
    leat_string_builder_t out;
    leat_string_builder_initialize(leat_allocator_system(), &out);
    leat_tensor_slice_print(&slice, &out);
    assert_true(leat_string_view_equals(leat_string_builder_view(&out), texts[i]));
    leat_string_builder_deinitialize(&out);
  }
  static const char* const wrong[] = {"x", "0", "0,", "0,0", "-1,2", "0,-2", "0,1,2", "-:", "0 1"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(wrong); ++i) {
    leat_tensor_slice_t slice;
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, leat_tensor_slice_parse(
                                                leat_string_view_from(wrong[i]), &arena, &slice));
  }
}

static void a_spec_states_the_whole_too(void** state) {
  leat_shape_t shape;
  leat_tensor_slice_t slice;
  LEAT_EXPECT_OK(leat_tensor_slice_parse_spec(LEAT_SV("4 10 0,2:-"), &arena, &shape, &slice));
  assert_string_equal(LEAT_SHAPE_TEXT(&shape), "[4,10]");
  LEAT_EXPECT_OK(leat_tensor_slice_resolve(&slice, &shape, &shape));
  assert_string_equal(LEAT_SHAPE_TEXT(&shape), "[2,10]");
  static const char* const wrong[] = {"", "-", "4 0,2:-", "x 0,2", "4 10 -", "-1 -"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(wrong); ++i) {
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                     leat_tensor_slice_parse_spec(leat_string_view_from(wrong[i]), &arena, &shape,
                                                  &slice));
  }
  slice = parse("3,2:-");
  leat_shape_t full = shape;
  LEAT_EXPECT_OK(leat_shape_create(2, (const int64_t[]){4, 10}, &full));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, leat_tensor_slice_resolve(&slice, &full, &shape));
}

static void keys_and_messages_come_back(void** state) {
  static const char* const texts[] = {"", "-:0,4", "63,64:8191,8192:1048576,9223372036854775807"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(texts); ++i) {
    leat_tensor_slice_t slice = parse(texts[i]), back;
    leat_pb_tensor_slice_proto_t proto;
    leat_string_view_t name;
    leat_string_builder_t key;
    LEAT_EXPECT_OK(leat_tensor_slice_to_proto(&slice, &arena, &proto));
    LEAT_EXPECT_OK(leat_tensor_slice_from_proto(&proto, &arena, &back));
    assert_true(leat_tensor_slice_equal(&slice, &back));
    leat_string_builder_initialize(leat_allocator_system(), &key);
    leat_tensor_slice_append_key(LEAT_SV("a\0b\xff"), &slice, &key);
    LEAT_EXPECT_OK(leat_tensor_slice_parse_key(leat_string_builder_view(&key), &arena, &name,
                                               &back));
    assert_true(leat_string_view_equal(name, LEAT_SV("a\0b\xff")));
    assert_true(leat_tensor_slice_equal(&slice, &back));
    for (size_t size = 0; size < key.size; ++size) {
      LEAT_EXPECT_CODE(LEAT_DATA_LOSS,
                       leat_tensor_slice_parse_key(leat_string_view_make(key.data, size), &arena,
                                                   &name, &back));
    }
    leat_string_builder_deinitialize(&key);
  }
}

// The order of codes is the order of values, and every value comes back.
static void codes_are_ordered(void** state) {
  static int64_t values[400];
  size_t count = 0;
  for (int shift = 62; shift >= 0; --shift) {
    for (int64_t d = 1; d >= -1; --d) values[count++] = -(INT64_C(1) << shift) - d;
  }
  values[0] = INT64_MIN;
  for (int shift = 0; shift < 63; ++shift) {
    for (int64_t d = -1; d <= 1; ++d) values[count++] = (INT64_C(1) << shift) + d;
  }
  values[count++] = INT64_MAX;
  leat_string_builder_t last, code;
  leat_string_builder_initialize(leat_allocator_system(), &last);
  leat_string_builder_initialize(leat_allocator_system(), &code);
  for (size_t i = 0; i < count; ++i) {
    int64_t back;
    code.size = 0;
    leat_ordered_code_append_int64(&code, values[i]);
    leat_string_view_t view = leat_string_builder_view(&code);
    assert_true(leat_ordered_code_read_int64(&view, &back) && view.size == 0);
    assert_true(back == values[i]);
    int order = leat_string_view_compare(leat_string_builder_view(&last),
                                         leat_string_builder_view(&code));
    if (i > 0 && values[i - 1] < values[i]) assert_true(order < 0);
    if (i > 0 && values[i - 1] == values[i]) assert_int_equal(order, 0);
    last.size = 0;
    leat_string_builder_append(&last, leat_string_builder_view(&code));
  }
  leat_string_builder_deinitialize(&last);
  leat_string_builder_deinitialize(&code);
}

static void boxes_are_copied(void** state) {
  enum { ROWS = 5, COLUMNS = 7 };
  int32_t whole[ROWS][COLUMNS], part[2][3] = {{0}}, again[ROWS][COLUMNS] = {{0}};
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) whole[i][j] = 10 * i + j;
  }
  leat_tensor_slice_t all = parse("0,5:0,7"), box = parse("2,2:4,3"), other = parse("0,3:0,5");
  assert_int_equal(leat_tensor_slice_copy_common(&all, whole, &box, part, 4), 6);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) assert_int_equal(part[i][j], 10 * (i + 2) + j + 4);
  }
  assert_int_equal(leat_tensor_slice_copy_common(&box, part, &all, again, 4), 6);
  assert_int_equal(again[3][6], 36);
  assert_int_equal(again[1][6], 0);
  int32_t corner[3][5] = {{0}};
  assert_int_equal(leat_tensor_slice_copy_common(&box, part, &other, corner, 4), 1);
  assert_int_equal(corner[2][4], 24);
  leat_tensor_slice_t apart = parse("4,1:0,7"), scalar = parse("");
  assert_int_equal(leat_tensor_slice_copy_common(&box, part, &apart, again, 4), 0);
  assert_int_equal(leat_tensor_slice_copy_common(&scalar, &whole[1][1], &scalar, corner, 4), 1);
  assert_int_equal(corner[0][0], 11);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(text_is_read_and_written, begin, end),
      cmocka_unit_test_setup_teardown(a_spec_states_the_whole_too, begin, end),
      cmocka_unit_test_setup_teardown(keys_and_messages_come_back, begin, end),
      cmocka_unit_test(codes_are_ordered),
      cmocka_unit_test_setup_teardown(boxes_are_copied, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
