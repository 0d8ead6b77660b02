// leat/trace.h: a program records its own steps. What a recording holds and how it is written is
// tested further down (base/span_test.c, trace/recording_file_test.c); here the kernels of a real
// session must come into the file, each run of each, and those of steps outside must not.
#include <stdlib.h>
#include <string.h>

#include "client/model_kit.h"
#include "leat/trace.h"
#include "scratch.h"

#define STEPS 5

static void steps_are_in_the_file(void** state) {
  const double values[] = {1, 2, 3};
  TF_Output v = model_kit_variable("v", TF_FLOAT, 3, values);
  TF_Output before = leat_relu(kit.scope, v), during = leat_softmax(kit.scope, v);
  double found[3];
  model_kit_read(before, found, 3);
  leat_trace_start(0, kit.status);
  kit_expect(kit.status, TF_OK);
  for (int i = 0; i < STEPS; ++i) model_kit_read(during, found, 3);
  leat_trace_stop("trace.json", kit.status);
  kit_expect(kit.status, TF_OK);
  model_kit_read(before, found, 3);
  char* text = scratch_read_text("trace.json");
  assert_non_null(text);
  assert_int_equal(scratch_count_text(text, "\"name\":\"Softmax\",\"cat\":\"kernel\""), STEPS);
  assert_int_equal(scratch_count_text(text, "\"name\":\"step\""), STEPS);
  assert_int_equal(scratch_count_text(text, "\"name\":\"Relu\""), 0);
  assert_true(scratch_count_text(text, "\"node\":\"v\"") > 0);
  free(text);
}

static void calls_out_of_order_are_refused(void** state) {
  leat_trace_stop("trace.json", kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
  leat_trace_start(1 << 20, kit.status);
  kit_expect(kit.status, TF_OK);
  leat_trace_start(1 << 20, kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
  leat_trace_stop("no/such/folder/trace.json", kit.status);
  kit_expect(kit.status, TF_NOT_FOUND);
  leat_trace_start(1 << 20, kit.status);
  kit_expect(kit.status, TF_OK);
  leat_trace_stop(NULL, kit.status);
  kit_expect(kit.status, TF_OK);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, model_kit_set_up, model_kit_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(steps_are_in_the_file),
      TEST(calls_out_of_order_are_refused),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
