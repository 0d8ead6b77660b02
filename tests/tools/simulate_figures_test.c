// leat simulate against the measurements of "TensorFlow: A system for large-scale machine learning"
// (OSDI 2016), figures 6 to 9, by the scenarios in examples/simulate. The paper does not describe
// its network, and gives medians of a shared cluster. What a scenario was fitted to is said in it,
// and is held here to within 15 %; what follows from that without a further constant is held to
// within 25 %, which is as far as the simplest figure, dense steps of one worker, is from a
// straight line through the others. Where the paper states an order or a kind of growth, that is
// what is tested.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tool_run.h"

enum { MOST = 8 };

// Takes the member |name| of each outcome in a result with --json.
static void take(const tool_result_t* result, const char* name, double* out_values) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\": ", name);
  for (const char* at = result->out; (at = strstr(at, key));) {
    at += strlen(key);
    *out_values++ = strtod(at, NULL);
  }
}

static tool_result_t simulate(const char* scenario, const char* arguments) {
  tool_result_t result = tool_run("simulate %s/examples/simulate/%s.txt --json %s",
                                  getenv("LEAT_SOURCE_DIR"), scenario, arguments);
  if (result.code) print_error("%s\n", result.out);
  assert_int_equal(result.code, 0);
  return result;
}

static void simulate_for(const char* scenario, const char* arguments, const char* name,
                         double* out_values) {
  tool_result_t result = simulate(scenario, arguments);
  take(&result, name, out_values);
  tool_free(&result);
}

static void expect_within(double value, double measured, double part) {
  if (fabs(value / measured - 1) > part) print_error("%g, the paper has %g\n", value, measured);
  assert_true(fabs(value / measured - 1) <= part);
}

// ---- Figure 6: null steps -----------------------------------------------------------------------

static void test_null_steps(void** state) {
  static const struct {
    const char* scenario;
    double one, hundred;  // the paper's medians, with 1 and 100 workers
    double part_one, part_hundred;
  } kCurves[] = {
      {"null_scalar", 1.8e-3, 8.8e-3, .15, .15},
      {"null_sparse", 5e-3, 20e-3, .25, .25},
      {"null_dense_100mb", .147, .613, .25, .25},
      {"null_dense_1gb", 1.01, 7.16, .15, .15},
  };
  double last[MOST] = {0};
  for (int i = 0; i < 4; ++i) {
    double steps[MOST];
    simulate_for(kCurves[i].scenario, "--sweep workers=1,2,5,10,25,50,100", "step_median_s", steps);
    expect_within(steps[0], kCurves[i].one, kCurves[i].part_one);
    expect_within(steps[6], kCurves[i].hundred, kCurves[i].part_hundred);
    for (int w = 0; w < 7; ++w) {
      // A step takes longer with more workers, and the curves lie above each other.
      if (w > 0) assert_true(steps[w] >= .99 * steps[w - 1]);
      assert_true(steps[w] > last[w]);
      last[w] = steps[w];
    }
  }
}

// While the workers' own interfaces bound a dense step, more workers cost nothing: 16 servers feed
// 16 workers. Then the servers' do, and the time doubles with the number of workers.
static void test_dense_is_bound_by_interfaces(void** state) {
  double steps[MOST];
  simulate_for("null_dense_1gb", "--sweep workers=1,10,50,100", "step_median_s", steps);
  expect_within(steps[1], steps[0], .02);
  expect_within(steps[3], 2 * steps[2], .02);
  simulate_for("null_dense_1gb", "--set workers=100", "server_send", steps);
  expect_within(steps[0], .5, .02);  // half of the time, as it receives in the other half
}

// ---- Figures 7 and 8: Inception-v3 --------------------------------------------------------------

// 2,300 pictures a second with 200 workers, with diminishing returns: the servers are busy.
static void test_inception_scales(void** state) {
  double rates[MOST], steps[MOST], in_step[MOST];
  tool_result_t result =
      simulate("inception_async", "--set steps=40 --sweep workers=25,50,100,200");
  take(&result, "examples_per_s", rates);
  take(&result, "step_median_s", steps);
  tool_free(&result);
  expect_within(rates[3], 2300, .15);
  for (int i = 1; i < 4; ++i) assert_true(rates[i] > rates[i - 1]);
  assert_true(rates[3] / rates[2] < .85 * rates[2] / rates[1]);
  // Steps in step take longer for each number of workers, since they wait for the slowest. The
  // paper has about 10 % for the median. Here it is up to 30 %: the simulated workers come to the
  // servers together, and those of a real cluster that are not in step meet there too.
  simulate_for("inception_sync", "--set steps=60 --sweep workers=25,50,100,200", "step_median_s",
               in_step);
  for (int i = 0; i < 4; ++i) {
    assert_true(in_step[i] > 1.03 * steps[i]);
    assert_true(in_step[i] < (i == 2 ? 1.45 : 1.35) * steps[i]);
    if (i > 0) assert_true(steps[i] > .99 * steps[i - 1] && in_step[i] > in_step[i - 1]);
  }
}

// The fourth backup worker is the last that shortens the median step, to 1.93 s; the gain is some
// 15 %. Counted by the work of all workers, the third is the last that pays: t(0) / t(b) x 50 / (50
// + b) is 1.095 there.
static void test_backup_workers(void** state) {
  double steps[MOST], gain[MOST];
  int best = 0;
  simulate_for("inception_sync", "--sweep backup=0,1,2,3,4,5", "step_median_s", steps);
  expect_within(steps[0], 2.24, .15);
  expect_within(steps[4], 1.93, .15);
  for (int b = 0; b <= 5; ++b) {
    gain[b] = steps[0] / steps[b] * 50 / (50 + b);
    if (gain[b] > gain[best]) best = b;
    if (b > 0 && b <= 4) assert_true(steps[b] <= 1.005 * steps[b - 1]);
  }
  assert_true(steps[5] > .995 * steps[4]);
  assert_true(steps[4] < .92 * steps[0] && steps[4] > .80 * steps[0]);
  assert_int_equal(best, 3);
  expect_within(gain[best], 1.095, .05);
}

// ---- Figure 9: a language model -----------------------------------------------------------------

static void test_softmax(void** state) {
  double full[3][MOST], sampled[3][MOST];
  const char* workers[] = {"4", "32", "256"};
  for (int i = 0; i < 3; ++i) {
    char arguments[100];
    snprintf(arguments, sizeof arguments,
             "--set steps=8 --set warmup=3 --set workers=%s --sweep servers=1,2,4,8,16,32",
             workers[i]);
    simulate_for("language_full", arguments, "examples_per_s", full[i]);
    simulate_for("language_sampled", arguments, "examples_per_s", sampled[i]);
  }
  for (int i = 0; i < 3; ++i) {
    for (int s = 1; s < 6; ++s) assert_true(full[i][s] > full[i][s - 1]);
    // A sampled softmax is a multiple faster, and by more than an order with many workers.
    for (int s = 0; s < 6; ++s) assert_true(sampled[i][s] > full[i][s]);
  }
  assert_true(sampled[2][0] > 20 * full[2][0] && sampled[2][5] > 10 * full[2][5]);
  // A second server is worth more than 32 workers in place of 4, or 256 in place of 32.
  assert_true(full[0][1] / full[0][0] > 1.5 * full[1][0] / full[0][0]);
  assert_true(full[1][1] / full[1][0] > 1.5 * full[2][0] / full[1][0]);
  // With 4 workers the LSTM comes to dominate the step.
  assert_true(full[0][5] / full[0][4] < 1.2 && full[0][2] / full[0][1] > 1.6);
}

// ---- What if ------------------------------------------------------------------------------------

// A thousand workers and a hundred servers: what bounds them is told, and neither the servers'
// processors nor the workers can give more than they have.
static void test_thousand_workers(void** state) {
  double rate[MOST], busy[MOST];
  tool_result_t result = simulate("inception_async", "--set servers=100 --set workers=1000 "
                                                     "--set warmup=2 --set steps=8");
  take(&result, "steps_per_s", rate);
  take(&result, "server_cpu", busy);
  tool_free(&result);
  assert_true(rate[0] < 100 * 8 / 1.9 && rate[0] < 1000 / 1.5);
  expect_within(busy[0], rate[0] * 1.9 / (100 * 8), .05);
  expect_within(busy[0], .95, .06);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_null_steps),
      cmocka_unit_test(test_dense_is_bound_by_interfaces),
      cmocka_unit_test(test_inception_scales),
      cmocka_unit_test(test_backup_workers),
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_thousand_workers),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
