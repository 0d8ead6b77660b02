// Datasets without functions, each read as a whole: its elements, batched, are the only element of
// another dataset. The wanted orders of shuffling are TensorFlow's.
#include "base/test.h"
#include "op_harness/fixture.h"

enum { MOST = 64 };

typedef struct scene_s {
  leat_fixture_t fixture;
  leat_graph_t* graph;
  leat_builder_t b;
} scene_t;

static void open_scene(scene_t* s) {
  LEAT_EXPECT_OK(leat_fixture_initialize(&s->fixture));
  LEAT_EXPECT_OK(leat_graph_create(s->fixture.ops, leat_allocator_system(), &s->graph));
  s->b = (leat_builder_t){.graph = s->graph};
}

static void close_scene(scene_t* s) {
  leat_status_free(s->b.status);
  leat_graph_free(s->graph);
  leat_fixture_deinitialize(&s->fixture);
}

// ---- Nodes --------------------------------------------------------------------------------------

static const int32_t kLong[] = {LEAT_DTYPE_INT64};
static const leat_partial_shape_t kAnyShape[] = {{-1, NULL}};
#define ELEMENT(types_name)                                                                       \
  {LEAT_SV(types_name), {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = 1, .types = kLong}}, { \
    LEAT_SV("output_shapes"), {                                                                   \
      .kind = LEAT_ATTR_SHAPE, .is_list = true, .count = 1, .shapes = kAnyShape                   \
    }                                                                                             \
  }

static leat_output_t number(scene_t* s, int64_t value) {
  return leat_build_scalar(&s->b, LEAT_DTYPE_INT64, (double)value);
}

static leat_output_t dataset(scene_t* s, const char* op, leat_outputs_t inputs) {
  const leat_attr_t attrs[] = {ELEMENT("output_types")};
  return leat_build(&s->b, op, inputs, (leat_attrs_t){attrs, 2});
}

static leat_output_t range(scene_t* s, int64_t start, int64_t stop) {
  return dataset(s, "RangeDataset", LEAT_INPUTS(number(s, start), number(s, stop), number(s, 1)));
}

static leat_output_t counted(scene_t* s, const char* op, leat_output_t input, int64_t count) {
  return dataset(s, op, LEAT_INPUTS(input, number(s, count)));
}

static leat_output_t shuffled(scene_t* s, leat_output_t input, int64_t buffer_size) {
  return dataset(s, "ShuffleDataset",
                 LEAT_INPUTS(input, number(s, buffer_size), number(s, 7), number(s, 42)));
}

// ---- Running ------------------------------------------------------------------------------------

static leat_status_t fetch(scene_t* s, leat_output_t output, leat_tensor_t* out_value) {
  leat_fixture_plan_t plan;
  LEAT_RETURN_IF_ERROR(leat_status_clone(s->b.status));
  LEAT_RETURN_IF_ERROR(leat_fixture_plan_initialize(&s->fixture, s->graph, &output, 1, &plan));
  leat_status_t status = leat_fixture_plan_run(&plan, NULL, 0, out_value);
  leat_fixture_plan_deinitialize(&plan);
  return status;
}

static leat_output_t only_element(scene_t* s, leat_output_t of) {
  return dataset(s, "DatasetToSingleElement", LEAT_INPUTS(of));
}

static void expect_elements(scene_t* s, leat_output_t of, int count, const int64_t* wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(fetch(s, only_element(s, counted(s, "BatchDataset", of, MOST)), &value));
  assert_int_equal(value.shape.element_count, count);
  for (int i = 0; i < count; ++i) {
    assert_int_equal(leat_tensor_data(&value, const int64_t)[i], wanted[i]);
  }
  leat_tensor_release(&value);
}
#define EXPECT(s, of, ...)                                                             \
  expect_elements((s), (of), sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
                  (const int64_t[]){__VA_ARGS__})

static void expect_failure(scene_t* s, leat_output_t output, leat_status_code_t code) {
  leat_tensor_t value;
  LEAT_EXPECT_CODE(code, fetch(s, output, &value));
}

static int64_t cardinality(scene_t* s, leat_output_t of) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(
      fetch(s, leat_build(&s->b, "DatasetCardinality", LEAT_INPUTS(of), LEAT_NO_ATTRS), &value));
  int64_t count = *leat_tensor_data(&value, const int64_t);
  leat_tensor_release(&value);
  return count;
}

// ---- Cases --------------------------------------------------------------------------------------

static void parts_and_repetitions(void** state) {
  scene_t s;
  open_scene(&s);
  leat_output_t five = range(&s, 0, 5);
  EXPECT(&s, five, 0, 1, 2, 3, 4);
  EXPECT(&s, counted(&s, "TakeDataset", five, 2), 0, 1);
  EXPECT(&s, counted(&s, "TakeDataset", five, -1), 0, 1, 2, 3, 4);
  EXPECT(&s, counted(&s, "SkipDataset", five, 3), 3, 4);
  EXPECT(&s, counted(&s, "RepeatDataset", range(&s, 7, 9), 3), 7, 8, 7, 8, 7, 8);
  leat_output_t endless = counted(&s, "RepeatDataset", range(&s, 7, 9), -1);
  EXPECT(&s, counted(&s, "TakeDataset", endless, 3), 7, 8, 7);
  EXPECT(&s, dataset(&s, "ShardDataset", LEAT_INPUTS(five, number(&s, 2), number(&s, 1))), 1, 3);
  EXPECT(&s, dataset(&s, "ConcatenateDataset", LEAT_INPUTS(range(&s, 8, 10), five)), 8, 9, 0, 1, 2,
         3, 4);
  EXPECT(&s, counted(&s, "PrefetchDataset", five, 2), 0, 1, 2, 3, 4);
  close_scene(&s);
}

static void numbers_end_where_they_must(void** state) {
  scene_t s;
  open_scene(&s);
  leat_output_t last = range(&s, 1, 3);
  leat_output_t down =
      dataset(&s, "RangeDataset", LEAT_INPUTS(number(&s, 3), number(&s, -4), number(&s, -3)));
  EXPECT(&s, down, 3, 0, -3);
  expect_failure(&s, only_element(&s, range(&s, 3, 3)), LEAT_INVALID_ARGUMENT);
  expect_failure(&s, only_element(&s, last), LEAT_INVALID_ARGUMENT);
  expect_failure(
      &s, dataset(&s, "RangeDataset", LEAT_INPUTS(number(&s, 3), number(&s, 4), number(&s, 0))),
      LEAT_INVALID_ARGUMENT);
  expect_failure(&s, counted(&s, "BatchDataset", last, 0), LEAT_INVALID_ARGUMENT);
  close_scene(&s);
}

static void cardinalities_follow(void** state) {
  scene_t s;
  open_scene(&s);
  leat_output_t seven = range(&s, 0, 7);
  leat_output_t endless = counted(&s, "RepeatDataset", seven, -1);
  assert_int_equal(cardinality(&s, seven), 7);
  assert_int_equal(cardinality(&s, endless), -1);
  assert_int_equal(cardinality(&s, counted(&s, "SkipDataset", seven, 9)), 0);
  assert_int_equal(cardinality(&s, counted(&s, "TakeDataset", endless, 4)), 4);
  assert_int_equal(cardinality(&s, counted(&s, "BatchDataset", seven, 3)), 3);
  assert_int_equal(cardinality(&s, shuffled(&s, endless, 3)), -1);
  close_scene(&s);
}

#define SHUFFLED_3 0, 1, 2, 5, 3, 4, 6
#define SHUFFLED_100 2, 1, 5, 3, 0, 4, 6
#define SHUFFLED_3_AGAIN 0, 2, 4, 3, 6, 1, 5

static void shuffling_is_tensorflows(void** state) {
  scene_t s;
  open_scene(&s);
  leat_output_t seven = range(&s, 0, 7);
  EXPECT(&s, shuffled(&s, seven, 3), SHUFFLED_3);
  EXPECT(&s, shuffled(&s, seven, 100), SHUFFLED_100);
  EXPECT(&s, counted(&s, "RepeatDataset", shuffled(&s, seven, 3), 2), SHUFFLED_3, SHUFFLED_3_AGAIN);
  EXPECT(&s, shuffled(&s, seven, 1), 0, 1, 2, 3, 4, 5, 6);
  close_scene(&s);
}

static void a_cache_is_read_from_the_second_pass_on(void** state) {
  scene_t s;
  open_scene(&s);
  leat_tensor_t none;
  LEAT_EXPECT_OK(leat_tensor_scalar_string(LEAT_SV(""), &none));
  leat_output_t memory = leat_build_constant(&s.b, &none);
  leat_tensor_release(&none);
  leat_output_t cache =
      dataset(&s, "CacheDataset", LEAT_INPUTS(shuffled(&s, range(&s, 0, 7), 3), memory));
  EXPECT(&s, counted(&s, "RepeatDataset", cache, 2), SHUFFLED_3, SHUFFLED_3);
  close_scene(&s);
}

// Neither the elements nor the freeing of them may exhaust the stack.
static void datasets_stand_on_each_other_up_to_a_limit(void** state) {
  scene_t s;
  open_scene(&s);
  leat_output_t top = range(&s, 0, 3);
  leat_output_t count = number(&s, 2);
  for (int i = 0; i < 990; ++i) top = dataset(&s, "RepeatDataset", LEAT_INPUTS(top, number(&s, 1)));
  EXPECT(&s, top, 0, 1, 2);
  for (int i = 0; i < 20; ++i) top = dataset(&s, "TakeDataset", LEAT_INPUTS(top, count));
  expect_failure(&s, top, LEAT_RESOURCE_EXHAUSTED);
  close_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_and_repetitions),
      cmocka_unit_test(numbers_end_where_they_must),
      cmocka_unit_test(cardinalities_follow),
      cmocka_unit_test(shuffling_is_tensorflows),
      cmocka_unit_test(a_cache_is_read_from_the_second_pass_on),
      cmocka_unit_test(datasets_stand_on_each_other_up_to_a_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
