// ChooseFastestBranchDataset through the front door. Branches that make the same elements could not
// be told apart, so one of these makes negative numbers, and takes milliseconds for each since it
// adds up two million others. The expected elements follow from the rule: |per_branch| elements of
// each branch, and then the fastest; TensorFlow 2.21 gives the same ones. The branches of the
// second test leave elements of their feed, which the next one must get. In the third they make
// elements ahead. Then follow branches that read their input twice, fail, or do not fit the
// attributes.
#include "capi/dataset_kit.h"

#define LIST_INT(key, ...) " attr { key: '" key "' value { list { i: [" __VA_ARGS__ "] } } }"
#define INT(key, value) " attr { key: '" key "' value { i: " value " } }"
#define BRANCHES(a, b)                                            \
  " attr { key: 'branches' value { list { func { name: '" a "' }" \
  " func { name: '" b "' } } } }"

#define NUMBERS                         \
  NODE("zero", "Const", , INT64("0"))   \
  NODE("one", "Const", , INT64("1"))    \
  NODE("two", "Const", , INT64("2"))    \
  NODE("three", "Const", , INT64("3"))  \
  NODE("ten", "Const", , INT64("10"))   \
  NODE("range", "RangeDataset", IN("zero") IN("ten") IN("one"), ELEMENT)
// |arguments| are the inputs that the branches have captured, |attrs| their numbers and types.
#define CHOICE(a, b, numerator, denominator, per_branch, arguments, attrs)                         \
  NODE("choice", "ChooseFastestBranchDataset",                                                     \
       IN("range") IN(numerator) IN(denominator) arguments,                                        \
       ELEMENT BRANCHES(a, b) INT("num_elements_per_branch", per_branch) attrs)                    \
  NODE("it", "IteratorV2", , ELEMENT NAMES) NODE("make", "MakeIterator", IN("choice") IN("it"), )  \
      NODE("next", "IteratorGetNext", IN("it"), ELEMENT) NODE(                                     \
          "count", "DatasetCardinality", IN("choice"), )
#define CAPTURES_NOTHING NO_ARGUMENTS LIST_INT("other_arguments_lengths", "0, 0")

#define BRANCH(name, nodes, result) \
  FUNCTION(name, ARG("d", "VARIANT") OUT("r", "VARIANT"), nodes RET("r", result))
#define SAME BRANCH("Same", , "d")
// -a + min(a + (a + 1) + ... + (a + 1999999), 0)
#define SLOWLY                                                                                 \
  FUNCTION("Slowly", ARG("a", "INT64") OUT("r", "INT64"),                                      \
           DEF("n", "Neg", IN("a"), TYPE("T", "INT64")) DEF("zero", "Const", , INT64("0"))     \
               DEF("axis", "Const", , INT32("0")) DEF("one", "Const", , INT64("1"))            \
                   DEF("many", "Const", , INT64("2000000"))                                    \
                       DEF("end", "AddV2", IN("a") IN("many:output:0"), TYPE("T", "INT64"))    \
                           DEF("all", "Range", IN("a") IN("end:z:0") IN("one:output:0"),       \
                               TYPE("Tidx", "INT64"))                                          \
                               DEF("sum", "Sum", IN("all:output:0") IN("axis:output:0"),       \
                                   TYPE("T", "INT64") TYPE("Tidx", "INT32"))                   \
                                   DEF("least", "Minimum", IN("sum:output:0") IN("zero:output:0"), \
                                       TYPE("T", "INT64"))                                     \
                                       DEF("z", "AddV2", IN("n:y:0") IN("least:z:0"),          \
                                           TYPE("T", "INT64")) RET("r", "z:z:0"))
#define SLOW                                                                                  \
  BRANCH("Slow",                                                                              \
         DEF("m", "MapDataset", IN("d"), ELEMENT NO_ARGUMENTS FUNC("f", "Slowly")), "m:handle:0")
// The elements at even places.
#define EVEN                                                                            \
  BRANCH("Even",                                                                        \
         DEF("two", "Const", , INT64("2")) DEF("zero", "Const", , INT64("0"))           \
             DEF("s", "ShardDataset", IN("d") IN("two:output:0") IN("zero:output:0"),   \
                 ELEMENT),                                                              \
         "s:handle:0")
#define AHEAD                                                                          \
  BRANCH("Ahead",                                                                      \
         DEF("five", "Const", , INT64("5"))                                            \
             DEF("p", "PrefetchDataset", IN("d") IN("five:output:0"), ELEMENT),        \
         "p:handle:0")
#define TWICE                                                                        \
  BRANCH("Twice",                                                                    \
         DEF("two", "Const", , INT64("2"))                                           \
             DEF("t", "RepeatDataset", IN("d") IN("two:output:0"), ELEMENT),         \
         "t:handle:0")
#define SKIPPED                                                                      \
  FUNCTION("Skipped", ARG("d", "VARIANT") ARG("n", "INT64") OUT("r", "VARIANT"),     \
           DEF("s", "SkipDataset", IN("d") IN("n"), ELEMENT) RET("r", "s:handle:0"))

static int64_t value_of(TF_Tensor* tensor) {
  int64_t value = *(const int64_t*)TF_TensorData(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

static void expect_all(const char* text, int count, const int64_t* wanted) {
  functions_t f = functions_open(text);
  for (int pass = 0; pass < 2; ++pass) {
    functions_target(&f, "make");
    for (int i = 0; i < count; ++i) {
      assert_int_equal(value_of(functions_run(&f, "next", 0, NULL, NULL)), wanted[i]);
    }
    assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  }
  functions_close(&f);
}
#define EXPECT_ALL(text, ...)                                                  \
  expect_all((text), sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
             (const int64_t[]){__VA_ARGS__})

static void expect_failure(const char* text, TF_Code code, const char* part) {
  functions_t f = functions_open(text);
  const TF_Operation* targets[] = {TF_GraphOperationByName(f.graph, "make")};
  TF_SessionRun(f.session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, f.status);
  if (TF_GetCode(f.status) == TF_OK) functions_try(&f, "next", NULL, 0);
  kit_expect_text(f.status, code, part);
  functions_close(&f);
}

static void test_each_branch_has_its_turn_and_the_fastest_goes_on(void** state) {
  EXPECT_ALL(LIBRARY SAME SLOWLY SLOW END NUMBERS CHOICE("Slow", "Same", "one", "one", "3", ,
                                                         CAPTURES_NOTHING),
             0, -1, -2, 3, 4, 5, 6, 7, 8, 9);
  EXPECT_ALL(LIBRARY SAME SLOWLY SLOW END NUMBERS CHOICE("Same", "Slow", "one", "one", "3", ,
                                                         CAPTURES_NOTHING),
             0, 1, 2, -3, -4, -5, 6, 7, 8, 9);
}

static void test_what_a_branch_leaves_is_the_next_ones(void** state) {
  const char* text = LIBRARY EVEN END NUMBERS CHOICE("Even", "Even", "two", "one", "2", ,
                                                     CAPTURES_NOTHING);
  EXPECT_ALL(text, 0, 2, 3, 5, 6, 8);
  functions_t f = functions_open(text);
  assert_int_equal(value_of(functions_run(&f, "count", 0, NULL, NULL)), 20);
  functions_close(&f);
}

static void test_elements_made_ahead_are_not_lost(void** state) {
  EXPECT_ALL(LIBRARY AHEAD SAME END NUMBERS CHOICE("Ahead", "Same", "one", "one", "3", ,
                                                   CAPTURES_NOTHING),
             0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  EXPECT_ALL(LIBRARY AHEAD END NUMBERS CHOICE("Ahead", "Ahead", "one", "one", "4", ,
                                              CAPTURES_NOTHING),
             0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
}

// The branches skip 2 elements and 1, 0 and 1 and then 5. Whichever goes on skips the last one, 9.
static void test_branches_capture_tensors(void** state) {
  EXPECT_ALL(LIBRARY SKIPPED SAME END NUMBERS CHOICE(
                 "Skipped", "Skipped", "three", "one", "3", IN("two") IN("one"),
                 TYPES("Targuments", "DT_INT64, DT_INT64")
                     LIST_INT("other_arguments_lengths", "1, 1")),
             2, 3, 4, 6, 7, 8);
}

static void test_what_does_not_fit_is_refused(void** state) {
  expect_failure(LIBRARY SAME END NUMBERS CHOICE("Same", "Same", "zero", "one", "3", ,
                                                 CAPTURES_NOTHING),
                 TF_INVALID_ARGUMENT, "`ratio_numerator` must be greater than zero");
  expect_failure(LIBRARY SAME END NUMBERS CHOICE("Same", "Same", "one", "zero", "3", ,
                                                 CAPTURES_NOTHING),
                 TF_INVALID_ARGUMENT, "`ratio_denominator` must be greater than zero");
  expect_failure(LIBRARY SAME END NUMBERS CHOICE("Same", "Same", "one", "two", "3", ,
                                                 CAPTURES_NOTHING),
                 TF_INVALID_ARGUMENT, "must be divisible by `ratio_denominator`");
  expect_failure(LIBRARY SAME END NUMBERS CHOICE("Same", "Same", "ten", "one",
                                                 "4611686018427387904", , CAPTURES_NOTHING),
                 TF_INVALID_ARGUMENT, "must fit 64 bits");
  expect_failure(LIBRARY SAME END NUMBERS CHOICE(
                     "Same", "Same", "one", "one", "3", ,
                     NO_ARGUMENTS LIST_INT("other_arguments_lengths", "0")),
                 TF_INVALID_ARGUMENT, "must have the same length");
  expect_failure(LIBRARY SAME END NUMBERS CHOICE(
                     "Same", "Same", "one", "one", "3", ,
                     NO_ARGUMENTS LIST_INT("other_arguments_lengths", "1, -1")),
                 TF_INVALID_ARGUMENT, "whose sum is that of other_arguments, 0");
}

static void test_a_branch_reads_its_input_once(void** state) {
  functions_t f = functions_open(LIBRARY TWICE END NUMBERS CHOICE("Twice", "Twice", "one", "one",
                                                                  "11", , CAPTURES_NOTHING));
  functions_target(&f, "make");
  for (int i = 0; i < 10; ++i) {
    assert_int_equal(value_of(functions_run(&f, "next", 0, NULL, NULL)), i);
  }
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_INVALID_ARGUMENT);
  kit_expect_text(f.status, TF_INVALID_ARGUMENT, "a second iterator over it was made");
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_branch_has_its_turn_and_the_fastest_goes_on),
      cmocka_unit_test(test_what_a_branch_leaves_is_the_next_ones),
      cmocka_unit_test(test_elements_made_ahead_are_not_lost),
      cmocka_unit_test(test_branches_capture_tensors),
      cmocka_unit_test(test_what_does_not_fit_is_refused),
      cmocka_unit_test(test_a_branch_reads_its_input_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
