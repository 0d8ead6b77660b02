// What the ops on lists of tensors check and, as in TensorFlow, what they do not. A list has a
// limit that TensorListPushBack respects and TensorListPushBackBatch does not; a list has an
// element shape that some ops compare with an element when it goes in and others only when elements
// are stacked. These differences look like mistakes and are not: TensorFlow accepts such graphs, so
// they must run. Each is fixed here by a small graph that a session runs (tests/session/scene.h).
#include "session/scene.h"

static const int32_t kTwoByTwo[] = {2, 2};
static const leat_attr_t kType = {{"element_dtype", 13},
                                  {.kind = LEAT_ATTR_TYPE, .type = LEAT_DTYPE_FLOAT}};

static leat_output_t make_int(scene_t* s, int value) {
  return leat_build_scalar(&s->b, LEAT_DTYPE_INT32, value);
}

static leat_output_t sizes_of(scene_t* s, const int32_t* sizes, int rank) {
  return leat_build_int32_vector(&s->b, sizes, rank);
}

// A list of scalars that takes |limit| elements.
static leat_output_t make_empty(scene_t* s, int limit) {
  return scene_output(s, "EmptyTensorList", "", "",
                      LEAT_INPUTS(sizes_of(s, NULL, 0), make_int(s, limit)),
                      (leat_attrs_t){&kType, 1});
}

static leat_status_t length_of(scene_t* s, leat_output_t list, int32_t* out_length) {
  leat_tensor_t value;
  *out_length = -1;
  LEAT_RETURN_IF_ERROR(scene_fetch(s, leat_build_unary(&s->b, "TensorListLength", list), &value));
  *out_length = *leat_tensor_data(&value, const int32_t);
  leat_tensor_release(&value);
  return leat_ok_status();
}

static void a_limit_holds_for_one_element_at_a_time(void** state) {
  scene_t s;
  int32_t length;
  scene_open(&s);
  leat_output_t one = scene_float(&s, 1), two = scene_floats(&s, 2, (const float[]){1, 2});
  leat_output_t list = leat_build_binary(&s.b, "TensorListPushBack", make_empty(&s, 1), one);
  LEAT_EXPECT_OK(length_of(&s, list, &length));
  assert_int_equal(length, 1);
  leat_output_t full = leat_build_binary(&s.b, "TensorListPushBack", list, one);
  scene_expect(length_of(&s, full, &length), LEAT_INVALID_ARGUMENT, "full list");
  leat_output_t any = leat_build_binary(&s.b, "TensorListPushBack", make_empty(&s, -2), one);
  LEAT_EXPECT_OK(length_of(&s, any, &length));
  assert_int_equal(length, 1);
  leat_output_t lists = leat_build_binary(&s.b, "Pack", list, make_empty(&s, 1));
  for (int i = 0; i < 2; ++i) {
    lists = leat_build_binary(&s.b, "TensorListPushBackBatch", lists, two);
  }
  leat_output_t first = leat_build(
      &s.b, "GatherV2", LEAT_INPUTS(lists, make_int(&s, 0), make_int(&s, 0)), LEAT_NO_ATTRS);
  leat_output_t both = scene_output(&s, "TensorListConcatLists", "", "", LEAT_INPUTS(first, list),
                                    (leat_attrs_t){&kType, 1});
  LEAT_EXPECT_OK(length_of(&s, both, &length));
  assert_int_equal(length, 4);
  scene_close(&s);
}

static void rows_of_another_shape(void** state) {
  static const int32_t kThree[] = {3}, kPlaces[] = {0, 1};
  scene_t s;
  int32_t length;
  scene_open(&s);
  leat_output_t rows = leat_build_binary(&s.b, "Reshape",
                                         scene_floats(&s, 4, (const float[]){1, 2, 3, 4}),
                                         sizes_of(&s, kTwoByTwo, 2));
  leat_output_t shape = sizes_of(&s, kThree, 1), places = sizes_of(&s, kPlaces, 2);
  leat_output_t fresh = scene_output(&s, "TensorListScatterV2", "", "",
                                     LEAT_INPUTS(rows, places, shape, make_int(&s, -1)),
                                     (leat_attrs_t){&kType, 1});
  scene_expect(length_of(&s, fresh, &length), LEAT_INVALID_ARGUMENT, "[3]");
  leat_output_t list = scene_output(&s, "TensorListReserve", "", "",
                                    LEAT_INPUTS(shape, make_int(&s, 2)),
                                    (leat_attrs_t){&kType, 1});
  list = scene_output(&s, "TensorListScatterIntoExistingList", "", "",
                      LEAT_INPUTS(list, rows, places), LEAT_NO_ATTRS);
  LEAT_EXPECT_OK(length_of(&s, list, &length));
  assert_int_equal(length, 2);
  // The row comes out as it went in; what joins the rows compares them with the list's shape.
  leat_tensor_t value;
  leat_output_t row = scene_output(&s, "TensorListGetItem", "", "",
                                   LEAT_INPUTS(list, make_int(&s, 1), shape),
                                   (leat_attrs_t){&kType, 1});
  LEAT_EXPECT_OK(scene_fetch(&s, leat_build_unary(&s.b, "Neg", row), &value));
  assert_int_equal(value.shape.element_count, 2);
  assert_true(leat_tensor_data(&value, const float)[1] == -4);
  leat_tensor_release(&value);
  leat_output_t stack = scene_output(&s, "TensorListStack", "", "", LEAT_INPUTS(list, shape),
                                     (leat_attrs_t){&kType, 1});
  scene_expect(scene_fetch(&s, stack, &value), LEAT_INVALID_ARGUMENT, "must be [3]");
  scene_close(&s);
}

static void expect_refused(scene_t* s, leat_output_t a, leat_output_t b, int dtype,
                           const char* words) {
  leat_build(&s->b, "TensorListConcatLists", LEAT_INPUTS(a, b),
             LEAT_ATTRS(LEAT_TYPE("element_dtype", dtype)));
  scene_expect(s->b.status, LEAT_INVALID_ARGUMENT, words);
  s->b.status = leat_ok_status();
}

// Lists are joined only where their elements may be of one type and one shape, which is checked
// while the graph is built.
static void lists_that_do_not_go_together(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t scalars = make_empty(&s, -1);
  leat_output_t matrices = scene_output(&s, "EmptyTensorList", "", "",
                                        LEAT_INPUTS(sizes_of(&s, kTwoByTwo, 2), make_int(&s, -1)),
                                        (leat_attrs_t){&kType, 1});
  expect_refused(&s, scalars, matrices, LEAT_DTYPE_FLOAT, "[] and [2,2]");
  expect_refused(&s, scalars, scalars, LEAT_DTYPE_INT32, "element dtype int32");
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_limit_holds_for_one_element_at_a_time),
      cmocka_unit_test(rows_of_another_shape),
      cmocka_unit_test(lists_that_do_not_go_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
