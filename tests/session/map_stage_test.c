// MapStage and MapUnstage pass tuples from one step to another under a key, component by component.
// These tests are about what a call that fails, or that is dropped, leaves behind. A map has a
// limit of bytes, which here is two tuples: staging a key that is there already must not use up
// room, so after many such calls there must be as much room as before. A call that asks for wrong
// types, for a wrong number of outputs or for a component that is gone must leave the tuple as it
// was, and a later call takes it.
#include "session/scene.h"

enum { WIDTH = 2 };

// What the ops of one map have in common: its name and limits, and the types of |width| components.
static leat_attrs_t map_attrs(int dtype, int width, int64_t memory_limit) {
  static int32_t types[WIDTH];
  static leat_attr_t attrs[3];
  for (int i = 0; i < WIDTH; ++i) types[i] = dtype;
  attrs[0] = (leat_attr_t){
      LEAT_SV("dtypes"),
      {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = (uint32_t)width, .types = types}};
  attrs[1] = (leat_attr_t)LEAT_INT("memory_limit", memory_limit);
  attrs[2] = (leat_attr_t)LEAT_STRING("shared_name", LEAT_SV("map"));
  return (leat_attrs_t){attrs, 3};
}

static leat_output_t make_key(scene_t* s) { return leat_build_scalar(&s->b, LEAT_DTYPE_INT64, 7); }

// Stages components |first| to |last| of the tuple of key 7; component i is |value| + i.
static int32_t make_stage(scene_t* s, int first, int last, float value, int64_t memory_limit) {
  int32_t indices[WIDTH];
  leat_output_t inputs[2 + WIDTH] = {make_key(s)};
  for (int i = first; i <= last; ++i) {
    indices[i - first] = i;
    inputs[2 + i - first] = scene_float(s, value + (float)i);
  }
  inputs[1] = leat_build_int32_vector(&s->b, indices, last - first + 1);
  return scene_node(s, "MapStage", "", "", (leat_outputs_t){inputs, 3 + last - first},
                    map_attrs(LEAT_DTYPE_FLOAT, WIDTH, memory_limit));
}

// Takes components |first| to |last| of the tuple of key 7 through |width| outputs of type |dtype|.
static leat_output_t make_unstage(scene_t* s, int first, int last, int dtype, int width,
                                  int64_t memory_limit) {
  const int32_t indices[WIDTH] = {first, last};
  leat_output_t places = leat_build_int32_vector(&s->b, indices, last - first + 1);
  return scene_output(s, "MapUnstage", "", "", LEAT_INPUTS(make_key(s), places),
                      map_attrs(dtype, width, memory_limit));
}

static void expect_taken(scene_t* s, leat_output_t unstage, float wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(scene_fetch(s, unstage, &value));
  assert_true(leat_tensor_data(&value, const float)[0] == wanted);
  leat_tensor_release(&value);
}

// A key that is there already keeps its tuple. The tuples that are dropped take no room: after many
// of them there is as much as before.
static void dropped_tuples_take_no_room(void** state) {
  enum { LIMIT = 16 };  // two tuples
  scene_t s;
  scene_open(&s);
  int32_t stage = make_stage(&s, 0, 1, 1, LIMIT), again = make_stage(&s, 0, 1, 5, LIMIT);
  int32_t left = make_stage(&s, 0, 0, 5, LIMIT), right = make_stage(&s, 1, 1, 5, LIMIT);
  leat_output_t unstage = make_unstage(&s, 0, 1, LEAT_DTYPE_FLOAT, 2, LIMIT);
  s.options.operation_timeout_ms = 60000;
  for (int turn = 0; turn < 4; ++turn) {
    LEAT_EXPECT_OK(scene_target(&s, stage));
    LEAT_EXPECT_OK(scene_target(&s, again));
    LEAT_EXPECT_OK(scene_target(&s, left));
    LEAT_EXPECT_OK(scene_target(&s, right));
    expect_taken(&s, unstage, 1);
  }
  scene_close(&s);
}

// Outputs of the wrong type or count, or a component that is gone: each ends in an error, after
// which the tuple is what it was.
static void an_unstage_that_fails_takes_nothing(void** state) {
  scene_t s;
  leat_tensor_t none;
  scene_open(&s);
  int32_t stage = make_stage(&s, 0, 1, 1, 0);
  leat_output_t both = make_unstage(&s, 0, 1, LEAT_DTYPE_FLOAT, 2, 0);
  leat_output_t longs = make_unstage(&s, 0, 1, LEAT_DTYPE_INT64, 2, 0);
  leat_output_t too_few = make_unstage(&s, 0, 1, LEAT_DTYPE_FLOAT, 1, 0);
  leat_output_t left = make_unstage(&s, 0, 0, LEAT_DTYPE_FLOAT, 1, 0);
  leat_output_t right = make_unstage(&s, 1, 1, LEAT_DTYPE_FLOAT, 1, 0);
  s.options.operation_timeout_ms = 60000;
  LEAT_EXPECT_OK(scene_target(&s, stage));
  scene_expect(scene_fetch(&s, longs, &none), LEAT_INVALID_ARGUMENT, "must be int64");
  scene_expect(scene_fetch(&s, too_few, &none), LEAT_INVALID_ARGUMENT, "size mismatch");
  expect_taken(&s, right, 2);
  scene_expect(scene_fetch(&s, both, &none), LEAT_INVALID_ARGUMENT, "already been removed");
  expect_taken(&s, left, 1);
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dropped_tuples_take_no_room),
      cmocka_unit_test(an_unstage_that_fails_takes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
