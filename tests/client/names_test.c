// leat/names.h gives out names that are unique in a graph, as TensorFlow 1's Graph.unique_name
// does, on which the names of variables in checkpoints depend. The expected names are those that
// Python gives for the same requests. Three rules surprise: letters in upper and lower case count
// as one name, a name that was made up ("x_1") is taken as well as one that was asked for, and
// asking without taking changes nothing. Operations that were added directly take their names too.
#include "leat/names.h"

#include <stdlib.h>

#include "capi/kit.h"

static void expect_name(TF_Graph* graph, const char* asked, int mark, const char* expected) {
  TF_Status* status = TF_NewStatus();
  char* name = leat_unique_name(graph, asked, mark, status);
  assert_int_equal(TF_GetCode(status), TF_OK);
  assert_string_equal(name, expected);
  free(name);
  TF_DeleteStatus(status);
}

static void test_numbers_follow(void** state) {
  TF_Graph* graph = TF_NewGraph();
  expect_name(graph, "x", 1, "x");
  expect_name(graph, "x", 1, "x_1");
  expect_name(graph, "x", 1, "x_2");
  expect_name(graph, "a/x", 1, "a/x");
  expect_name(graph, "a", 1, "a");  // "a/x" takes no scope
  TF_DeleteGraph(graph);
}

static void test_cases_are_the_same(void** state) {
  TF_Graph* graph = TF_NewGraph();
  expect_name(graph, "Foo", 1, "Foo");
  expect_name(graph, "foo", 1, "foo_1");
  expect_name(graph, "FOO", 1, "FOO_2");
  TF_DeleteGraph(graph);
}

// A name that was made up is taken too, and one that was asked for is passed over.
static void test_made_up_names_are_taken(void** state) {
  TF_Graph* graph = TF_NewGraph();
  expect_name(graph, "x", 1, "x");
  expect_name(graph, "x_1", 1, "x_1");
  expect_name(graph, "x", 1, "x_2");
  expect_name(graph, "x_2", 1, "x_2_1");
  TF_DeleteGraph(graph);
}

static void test_looking_takes_nothing(void** state) {
  TF_Graph* graph = TF_NewGraph();
  expect_name(graph, "x", 0, "x");
  expect_name(graph, "x", 0, "x");
  expect_name(graph, "x", 1, "x");
  expect_name(graph, "x", 0, "x_1");
  expect_name(graph, "x", 1, "x_1");
  TF_DeleteGraph(graph);
}

static void test_operations_take_names(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Status* status = TF_NewStatus();
  expect_name(graph, "other", 1, "other");
  assert_non_null(TF_FinishOperation(TF_NewOperation(graph, "NoOp", "Layer/Node"), status));
  assert_int_equal(TF_GetCode(status), TF_OK);
  expect_name(graph, "layer/node", 1, "layer/node_1");
  // An operation that has the name which was given out for it takes no second one.
  assert_non_null(TF_FinishOperation(TF_NewOperation(graph, "NoOp", "other"), status));
  expect_name(graph, "other", 1, "other_1");
  TF_DeleteStatus(status);
  TF_DeleteGraph(graph);
}

static void test_null_is_an_error(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Status* status = TF_NewStatus();
  assert_null(leat_unique_name(graph, NULL, 1, status));
  assert_int_equal(TF_GetCode(status), TF_INVALID_ARGUMENT);
  TF_DeleteStatus(status);
  TF_DeleteGraph(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers_follow),
      cmocka_unit_test(test_cases_are_the_same),
      cmocka_unit_test(test_made_up_names_are_taken),
      cmocka_unit_test(test_looking_takes_nothing),
      cmocka_unit_test(test_operations_take_names),
      cmocka_unit_test(test_null_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
