// IndexFlatMapDataset through the front door: elements in order, by their places and shuffled, and
// functions that say where there is nothing. What is expected is TensorFlow 2.21's answer for the
// same graphs, also where index_map_func does not count upwards: then whatever was read last
// serves. TensorFlow stops the process where an offset is one too large; here that is an error.
#include "capi/dataset_kit.h"

#define LIST(key, types) " attr { key: '" key "' value { list { " types " } } }"
#define ROW                                                                             \
  FUNCTION("Row", ARG("a", "INT64") OUT("r", "INT64"),                                  \
           DEF("one", "Const", , INT64("1"))                                            \
               DEF("b", "AddV2", IN("a") IN("one:output:0"), TYPE("T", "INT64"))        \
                   DEF("p", "Pack", IN("a") IN("b:z:0"),                                \
                       TYPE("T", "INT64") " attr { key: 'N' value { i: 2 } }"           \
                       " attr { key: 'axis' value { i: 0 } }") RET("r", "p:output:0"))
#define ITSELF_TWICE                                                                       \
  FUNCTION("Twice", ARG("a", "INT64") OUT("r", "INT64") OUT("s", "INT64"),                 \
           DEF("n", "Neg", IN("a"), TYPE("T", "INT64")) RET("r", "a") RET("s", "n:y:0"))
// A function of a place: |divisor| places belong to one element.
#define INDEX(name, divisor, modulus)                                                      \
  FUNCTION(name, ARG("i", "INT64") OUT("x", "INT64") OUT("y", "INT64"),                    \
           DEF("d", "Const", , INT64(divisor)) DEF("m", "Const", , INT64(modulus))         \
               DEF("x", "FloorDiv", IN("i") IN("d:output:0"), TYPE("T", "INT64"))          \
                   DEF("y", "FloorMod", IN("i") IN("m:output:0"), TYPE("T", "INT64"))      \
                       RET("x", "x:z:0") RET("y", "y:z:0"))
#define ONE_NUMBER FUNCTION("OneNumber", ARG("i", "INT64") OUT("r", "INT64"), RET("r", "i"))
#define FUNCTIONS                                                                        \
  LIBRARY ROW ITSELF_TWICE ONE_NUMBER INDEX("InPairs", "2", "2") INDEX("Skips", "-1", "2") \
      INDEX("TooFar", "2", "3") END

#define NUMBERS                       \
  NODE("zero", "Const", , INT64("0")) \
  NODE("one", "Const", , INT64("1"))  \
  NODE("six", "Const", , INT64("6"))  \
  NODE("ten", "Const", , INT64("10")) \
  NODE("n", "Const", , INT64("40"))
// The range 10, 20, 30, flattened.
#define FLAT(map, index)                                                                       \
  FUNCTIONS NUMBERS NODE("range", "RangeDataset", IN("ten") IN("n") IN("ten"), ELEMENT)        \
      NODE("flat", "IndexFlatMapDataset", IN("range") IN("six"),                               \
           ELEMENT FUNC("map_func", map) FUNC("index_map_func", index)                         \
               LIST("Tmap_func_args", "") LIST("Tindex_map_func_args", ""))
#define SHUFFLED                                                                             \
  NODE("seeds", "DummySeedGenerator", , )                                                    \
  NODE("all", "GlobalShuffleDataset", IN("flat") IN("one") IN("one") IN("seeds"),            \
       ELEMENT " attr { key: 'reshuffle_each_iteration' value { b: true } }")
#define AT(name, index) NODE(name, "GetElementAtIndex", IN("flat") IN(index), ELEMENT)

static int64_t value_of(TF_Tensor* tensor) {
  int64_t value = *(const int64_t*)TF_TensorData(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

static int64_t next(functions_t* f) { return value_of(functions_run(f, "next", 0, NULL, NULL)); }

// The elements of |text|, which ends with the code |end|.
static void expect(const char* text, int count, const int64_t* wanted, TF_Code end) {
  functions_t f = functions_open(text);
  functions_target(&f, "make");
  for (int i = 0; i < count; ++i) assert_int_equal(next(&f), wanted[i]);
  for (int i = 0; i < 2; ++i) assert_int_equal(functions_try(&f, "next", NULL, 0), end);
  functions_close(&f);
}
#define EXPECT(text, end, ...)                                                   \
  expect(text ITERATOR("flat"), sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
         (const int64_t[]){__VA_ARGS__}, end)

static void test_rows_and_tensors_are_elements(void** state) {
  EXPECT(FLAT("Row", "InPairs"), TF_OUT_OF_RANGE, 10, 11, 20, 21, 30, 31);
  EXPECT(FLAT("Twice", "InPairs"), TF_OUT_OF_RANGE, 10, -10, 20, -20, 30, -30);
}

// The indices are 0, -1, -2 and so on. As unsigned numbers, -1 is above all others.
static void test_what_was_read_last_serves(void** state) {
  functions_t f = functions_open(FLAT("Row", "Skips") ITERATOR("flat"));
  const int64_t wanted[] = {10, 21, 20, 21, 20, 21, 20, 21, 20, 21};
  functions_target(&f, "make");
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    assert_int_equal(next(&f), wanted[i]);
  }
  functions_close(&f);
}

static void test_places_are_found(void** state) {
  functions_t f = functions_open(FLAT("Row", "InPairs") AT("first", "zero") AT("second", "one")
                                     AT("outside", "six"));
  assert_int_equal(value_of(functions_run(&f, "first", 0, NULL, NULL)), 10);
  assert_int_equal(value_of(functions_run(&f, "second", 0, NULL, NULL)), 11);
  assert_int_equal(functions_try(&f, "outside", NULL, 0), TF_OUT_OF_RANGE);
  functions_close(&f);
}

static void test_all_are_shuffled(void** state) {
  const int64_t wanted[] = {11, 20, 30, 21, 10, 31};
  expect(FLAT("Row", "InPairs") SHUFFLED ITERATOR("all"), 6, wanted, TF_OUT_OF_RANGE);
}

static void test_what_is_nowhere_is_told(void** state) {
  EXPECT(FLAT("Row", "TooFar"), TF_INVALID_ARGUMENT, 10, 11);
  EXPECT(FLAT("Row", "OneNumber"), TF_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_and_tensors_are_elements),
      cmocka_unit_test(test_what_was_read_last_serves),
      cmocka_unit_test(test_places_are_found),
      cmocka_unit_test(test_all_are_shuffled),
      cmocka_unit_test(test_what_is_nowhere_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
