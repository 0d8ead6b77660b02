// The examples do what they promise: run as a user runs them, small, and judged by what they print.
// An example is documentation that compiles, and nothing else notices when it stops working.
// Results that depend on chance are judged loosely, by a loss that has fallen to a half or an
// accuracy that guessing does not reach; those that do not, such as synchronous replicas that
// compute what one device computes, are judged exactly. Speeds are printed but not judged, since
// they depend on the machine. Programs are found through LEAT_BUILD_DIR (tools/tool_run.h).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tool_run.h"

static tool_result_t run(const char* program, const char* arguments) {
  tool_result_t result = tool_run_example(program, arguments);
  if (result.code) print_error("%s %s: %s", program, arguments, result.out);
  assert_int_equal(result.code, 0);
  return result;
}

// Takes "<way>: ... loss A -> B<rest>" apart, and expects that the loss went down to a half.
static void expect_training(const char* way, char rest[128]) {
  double first = 0, last = 0;
  int end = 0;
  tool_result_t result = run("parallel", way);
  assert_int_equal(strncmp(result.out, way, strlen(way)), 0);
  const char* loss = strstr(result.out, "loss ");
  assert_non_null(loss);
  assert_int_equal(sscanf(loss, "loss %lf -> %lf%n", &first, &last, &end), 2);
  assert_true(last > 0 && last < first / 2);
  snprintf(rest, 128, "%s", loss + end);
  tool_free(&result);
}

static void test_synchronous(void** state) {
  char rest[128];
  double apart = 1;
  expect_training("synchronous", rest);
  assert_int_equal(sscanf(rest, ", at most %lf from one device", &apart), 1);
  assert_true(apart <= 1e-5);
}

static void test_asynchronous(void** state) {
  char rest[128];
  expect_training("asynchronous", rest);
}

static void test_layers(void** state) {
  char rest[128];
  expect_training("layers", rest);
}

// How much faster steps together are depends on the machine; both paces are there.
static void test_concurrent(void** state) {
  char rest[128];
  double alone = 0, together = 0;
  expect_training("concurrent", rest);
  assert_int_equal(
      sscanf(rest, ", %lf steps a second one by one, %lf by 4", &alone, &together), 2);
  assert_true(alone > 0 && together > 0);
}

// Fifty steps from the queue, then a second program that restores them.
static void test_mnist(void** state) {
  double accuracy = 0;
  tool_result_t result = run("mnist", "train . --input queue --steps 50");
  const char* const kinds[] = {"softmax: test accuracy ", "mlp: test accuracy "};
  for (int i = 0; i < 2; ++i) {
    const char* found = strstr(result.out, kinds[i]);
    assert_non_null(found);
    assert_int_equal(sscanf(found + strlen(kinds[i]), "%lf", &accuracy), 1);
    assert_true(accuracy > 50);
  }
  assert_int_equal(scratch_count("digits-"), 3);
  tool_free(&result);
  result = run("mnist", "classify .");
  assert_non_null(strstr(result.out, "mlp: restored from step 50"));
  tool_free(&result);
  result = tool_run_example("mnist", "train . --input pipe");
  assert_int_equal(result.code, 2);
  tool_free(&result);
}

// Ten costs, then derivatives. Each of the 784 * 100 units is above zero in half of the cases, so
// that the derivatives by b add up to about 39200; over 60 runs the deviation was 1270.
static void test_figure1(void** state) {
  tool_result_t result = run("figure1", "");
  double cost = 0, db = 0;
  const char* rest = result.out;
  for (int step = 0; step < 10; ++step) {
    int found = -1, end = 0;
    assert_int_equal(sscanf(rest, "%d %lf\n%n", &found, &cost, &end), 2);
    assert_int_equal(found, step);
    assert_true(cost > 60000 && cost < 160000);
    rest += end;
  }
  assert_int_equal(sscanf(rest, "sum of db: %lf", &db), 1);
  assert_true(db > 31200 && db < 47200);
  assert_non_null(strstr(rest, "sum of dW: "));
  assert_non_null(strstr(rest, "sum of dx: "));
  tool_free(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_synchronous), cmocka_unit_test(test_asynchronous),
      cmocka_unit_test(test_layers),      cmocka_unit_test(test_concurrent),
      cmocka_unit_test(test_mnist),       cmocka_unit_test(test_figure1),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
