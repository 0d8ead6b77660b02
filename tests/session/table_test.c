// Lookup tables as resources of a session, through the ops and not the tables' own interface. A
// static table is filled once, and filling it again with as many entries does nothing; a mutable
// one changes from step to step. Five thousand keys, some close by and some far apart, go through
// every growth of the table. Maps are different: a TensorMap is a value, so whoever changes a map
// that others read gets one of its own. Tables under keys that collide are tested in
// src/ops/lookup.
#include <stdlib.h>

#include "session/scene.h"

static leat_output_t make_table(scene_t* s, const char* op, const char* name) {
  return scene_output(s, op, name, "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("key_dtype", LEAT_DTYPE_INT64),
                                 LEAT_TYPE("value_dtype", LEAT_DTYPE_FLOAT)));
}

static leat_output_t longs(scene_t* s, int64_t count, const int64_t* values) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT64, values, count, &tensor));
  leat_output_t output = leat_build_constant(&s->b, &tensor);
  leat_tensor_release(&tensor);
  return output;
}

static leat_attrs_t in_out(void) {
  static const leat_attr_t kTypes[] = {
      {{"Tin", 3}, {.kind = LEAT_ATTR_TYPE, .type = LEAT_DTYPE_INT64}},
      {{"Tout", 4}, {.kind = LEAT_ATTR_TYPE, .type = LEAT_DTYPE_FLOAT}}};
  return (leat_attrs_t){kTypes, 2};
}

static leat_output_t make_find(scene_t* s, leat_output_t table, leat_output_t keys) {
  return scene_output(s, "LookupTableFindV2", "", "",
                      LEAT_INPUTS(table, keys, scene_float(s, -1)), in_out());
}

static void expect_floats(scene_t* s, leat_output_t fetch, int count, const float* wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(scene_fetch(s, fetch, &value));
  assert_int_equal(value.shape.element_count, count);
  for (int i = 0; i < count; ++i) {
    assert_true(leat_tensor_data(&value, const float)[i] == wanted[i]);
  }
  leat_tensor_release(&value);
}

static void a_static_table_is_filled_once(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t table = make_table(&s, "HashTableV2", "t");
  leat_output_t keys = longs(&s, 3, (const int64_t[]){7, -7, 1});
  static const leat_attr_t kTypes[] = {
      {{"Tkey", 4}, {.kind = LEAT_ATTR_TYPE, .type = LEAT_DTYPE_INT64}},
      {{"Tval", 4}, {.kind = LEAT_ATTR_TYPE, .type = LEAT_DTYPE_FLOAT}}};
  int32_t fill = scene_node(&s, "InitializeTableV2", "", "",
                            LEAT_INPUTS(table, keys, scene_floats(&s, 3, (const float[]){1, 2, 3})),
                            (leat_attrs_t){kTypes, 2});
  int32_t refill = scene_node(&s, "InitializeTableV2", "", "",
                              LEAT_INPUTS(table, longs(&s, 1, (const int64_t[]){7}),
                                          scene_floats(&s, 1, (const float[]){1})),
                              (leat_attrs_t){kTypes, 2});
  leat_output_t find = make_find(&s, table, longs(&s, 3, (const int64_t[]){-7, 8, 7}));
  leat_tensor_t none;
  scene_expect(scene_fetch(&s, find, &none), LEAT_FAILED_PRECONDITION, "not initialized");
  LEAT_EXPECT_OK(scene_target(&s, fill));
  LEAT_EXPECT_OK(scene_target(&s, fill));  // as many as there are: nothing to do
  scene_expect(scene_target(&s, refill), LEAT_FAILED_PRECONDITION, "different data");
  expect_floats(&s, find, 3, (const float[]){2, -1, 1});
  scene_close(&s);
}

static void a_table_changes_from_step_to_step(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t table = make_table(&s, "MutableHashTableV2", "t");
  leat_output_t keys = longs(&s, 3, (const int64_t[]){1, 2, 3});
  int32_t insert =
      scene_node(&s, "LookupTableInsertV2", "", "",
                 LEAT_INPUTS(table, keys, scene_floats(&s, 3, (const float[]){10, 20, 30})),
                 in_out());
  int32_t take = scene_node(&s, "LookupTableRemoveV2", "", "",
                            LEAT_INPUTS(table, longs(&s, 2, (const int64_t[]){2, 9})),
                            LEAT_ATTRS(LEAT_TYPE("Tin", LEAT_DTYPE_INT64)));
  leat_output_t find = make_find(&s, table, keys);
  expect_floats(&s, find, 3, (const float[]){-1, -1, -1});
  LEAT_EXPECT_OK(scene_target(&s, insert));
  expect_floats(&s, find, 3, (const float[]){10, 20, 30});
  LEAT_EXPECT_OK(scene_target(&s, take));
  expect_floats(&s, find, 3, (const float[]){10, -1, 30});
  scene_close(&s);
}

enum { MANY = 5000 };

// Keys far apart and close by, through all growth of the table.
static void many_keys_are_found(void** state) {
  scene_t s;
  scene_open(&s);
  int64_t* names = calloc(MANY, sizeof *names);
  float* numbers = calloc(MANY, sizeof *numbers);
  for (int i = 0; i < MANY; ++i) {
    names[i] = i % 2 ? i : (int64_t)i << 40;
    numbers[i] = (float)i;
  }
  leat_output_t table = make_table(&s, "MutableHashTableV2", "t");
  leat_output_t keys = longs(&s, MANY, names);
  int32_t insert = scene_node(&s, "LookupTableInsertV2", "", "",
                              LEAT_INPUTS(table, keys, scene_floats(&s, MANY, numbers)), in_out());
  int32_t remove_some = scene_node(&s, "LookupTableRemoveV2", "", "",
                                   LEAT_INPUTS(table, longs(&s, MANY / 2, names)),
                                   LEAT_ATTRS(LEAT_TYPE("Tin", LEAT_DTYPE_INT64)));
  leat_output_t find = make_find(&s, table, keys);
  LEAT_EXPECT_OK(scene_target(&s, insert));
  expect_floats(&s, find, MANY, numbers);
  LEAT_EXPECT_OK(scene_target(&s, remove_some));
  for (int i = 0; i < MANY / 2; ++i) numbers[i] = -1;
  expect_floats(&s, find, MANY, numbers);
  free(names);
  free(numbers);
  scene_close(&s);
}

// ---- Maps ---------------------------------------------------------------------------------------

static leat_output_t map_insert(scene_t* s, leat_output_t map, float key, float value) {
  return scene_output(s, "TensorMapInsert", "", "",
                      LEAT_INPUTS(map, scene_float(s, key), scene_float(s, value)),
                      LEAT_NO_ATTRS);
}

static leat_output_t map_lookup_of(scene_t* s, leat_output_t map, float key, int dtype) {
  return scene_output(s, "TensorMapLookup", "", "", LEAT_INPUTS(map, scene_float(s, key)),
                      LEAT_ATTRS(LEAT_TYPE("value_dtype", dtype)));
}

static leat_output_t map_lookup(scene_t* s, leat_output_t map, float key) {
  return map_lookup_of(s, map, key, LEAT_DTYPE_FLOAT);
}

// Who changes a map that others read gets one of its own.
static void a_map_is_a_value(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t empty =
      scene_output(&s, "EmptyTensorMap", "", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  leat_output_t two = map_insert(&s, map_insert(&s, empty, 1, 10), 2, 20);
  leat_output_t replaced = map_insert(&s, two, 1, 11);
  leat_output_t erased =
      scene_output(&s, "TensorMapErase", "", "", LEAT_INPUTS(two, scene_float(&s, 1)),
                   LEAT_ATTRS(LEAT_TYPE("value_dtype", LEAT_DTYPE_FLOAT)));
  leat_output_t sum = scene_output(
      &s, "AddN", "", "", LEAT_INPUTS(map_lookup(&s, two, 1), map_lookup(&s, replaced, 1),
                                      map_lookup(&s, erased, 2), map_lookup(&s, replaced, 2)),
      LEAT_NO_ATTRS);
  for (int i = 0; i < 3; ++i) assert_true(scene_get(&s, sum) == 10 + 11 + 20 + 20);
  leat_tensor_t none;
  scene_expect(scene_fetch(&s, map_lookup(&s, erased, 1), &none), LEAT_INVALID_ARGUMENT,
               "none of the map's");
  scene_expect(scene_fetch(&s, map_lookup_of(&s, two, 1, LEAT_DTYPE_INT32), &none), LEAT_INTERNAL,
               "of type float, must be int32");
  leat_output_t both =
      scene_output(&s, "AddN", "", "", LEAT_INPUTS(two, erased, empty), LEAT_NO_ATTRS);
  assert_true(scene_get(&s, map_lookup(&s, both, 2)) == 40);
  assert_true(scene_get(&s, map_lookup(&s, both, 1)) == 10);
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_static_table_is_filled_once),
      cmocka_unit_test(a_table_changes_from_step_to_step),
      cmocka_unit_test(many_keys_are_found),
      cmocka_unit_test(a_map_is_a_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
