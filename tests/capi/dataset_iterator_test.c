// What TensorFlow's iterators over several devices ask of datasets and iterators, through the front
// door: a dataset of functions that is given more than these take, and strings that name iterators
// which no container has.
#include "capi/dataset_kit.h"
#include "capi/kit.h"

#define FUNCTIONS                                                                          \
  LIBRARY FUNCTION("Init", OUT("r", "INT64"),                                              \
                   DEF("c", "Const", , INT64("40")) RET("r", "c:output:0"))                \
      FUNCTION("Next", ARG("s", "INT64") ARG("a", "INT64") OUT("r", "INT64"),              \
               DEF("b", "AddV2", IN("s") IN("a"), TYPE("T", "INT64")) RET("r", "b:z:0"))   \
          FUNCTION("Finalize", ARG("s", "INT64") OUT("r", "INT64"), RET("r", "s")) END
#define NUMBERS                       \
  NODE("zero", "Const", , INT64("0")) \
  NODE("one", "Const", , INT64("1"))  \
  NODE("two", "Const", , INT64("2"))  \
  NODE("five", "Const", , INT64("5"))

static int64_t value_of(functions_t* f, const char* name) {
  TF_Tensor* tensor = functions_run(f, name, 0, NULL, NULL);
  const int64_t value = *(const int64_t*)TF_TensorData(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

// next_func is given "two" and "five", and takes one of them.
static void test_functions_get_as_much_as_they_take(void** state) {
  functions_t f = functions_open(
      FUNCTIONS NUMBERS
      NODE("gen", "GeneratorDataset", IN("two") IN("five"),
           ELEMENT FUNC("init_func", "Init") FUNC("next_func", "Next")
           FUNC("finalize_func", "Finalize")
           " attr { key: 'Tinit_func_args' value { list {} } }"
           " attr { key: 'Tfinalize_func_args' value { list {} } }"
           TYPES("Tnext_func_args", "DT_INT64, DT_INT64"))
      ITERATOR("gen"));
  functions_target(&f, "make");
  for (int i = 0; i < 3; ++i) assert_int_equal(value_of(&f, "next"), 42);
  functions_close(&f);
}

#define FOUND(text)                                                                            \
  NODE("found", "IteratorFromStringHandleV2", IN(text), ELEMENT)                               \
  NODE("next", "IteratorGetNext", IN("found"), ELEMENT)

// Each run makes an iterator that belongs to its handle, finds it by the string, and takes one
// element by either.
static void test_strings_name_iterators_without_a_name(void** state) {
  functions_t f = functions_open(
      NUMBERS NODE("range", "RangeDataset", IN("two") IN("five") IN("one"), ELEMENT)
      NODE("it", "AnonymousIteratorV3", , ELEMENT)
      NODE("make", "MakeIterator", IN("range") IN("it"), )
      NODE("text", "IteratorToStringHandle", IN("it") IN("^make"), ) FOUND("text")
      NODE("after", "IteratorGetNext", IN("it") IN("^next"), ELEMENT)
      NODE("sum", "AddV2", IN("next") IN("after"), TYPE("T", "INT64")));
  for (int i = 0; i < 3; ++i) assert_int_equal(value_of(&f, "sum"), 2 + 3);
  TF_Tensor* text = functions_run(&f, "text", 0, NULL, NULL);
  functions_t other =
      functions_open(NODE("x", "Placeholder", , TYPE("dtype", "STRING")) FOUND("x"));
  assert_int_equal(functions_try(&other, "next", text, 0), TF_NOT_FOUND);  // it ended with its step
  functions_close(&other);
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_functions_get_as_much_as_they_take),
      cmocka_unit_test(test_strings_name_iterators_without_a_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
