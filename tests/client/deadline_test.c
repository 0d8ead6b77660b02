// Helpers that run a step for their caller (a callable, a target, the saver, the coordinator) end
// when the deadline that he gave says so. The step is one that waits for ever: it takes an element
// out of a queue into which nobody puts any. Without a deadline each of these tests would run until
// CTest ends it. The deadlines are short where a step must meet them and a minute long where it
// must not, so that a slow machine changes nothing.
#include <unistd.h>

#include "client/model_kit.h"
#include "leat/callable.h"
#include "leat/input.h"
#include "scratch.h"

#define TIMEOUT_MS 50

static TF_Output taken;  // a string that never comes

static int set_up(void** state) {
  const TF_DataType type = TF_STRING;
  int code = scratch_set_up(state) || model_kit_set_up(state);
  leat_attribute_t types = leat_attribute_types("component_types", 1, &type);
  TF_Output queue = {leat_operation(kit.scope, "FIFOQueueV2", NULL, NULL, 0, &types, 1), 0};
  taken = (TF_Output){
      leat_operation(kit.scope, "QueueDequeueV2", NULL, &queue, 1, &types, 1), 0};
  model_kit_run(leat_group(kit.scope, NULL, NULL, 0));  // opens the session
  return code;
}

static int tear_down(void** state) {
  return model_kit_tear_down(state) || scratch_tear_down(state);
}

static void test_callable(void** state) {
  const TF_Operation* target = taken.oper;
  TF_Tensor* fetched = NULL;
  leat_callable_t* f =
      leat_callable_create(kit.session, NULL, 0, NULL, 0, &target, 1, kit.status);
  kit_ok(kit.status);
  leat_callable_run_within(f, TIMEOUT_MS, NULL, NULL, kit.status);
  kit_expect(kit.status, TF_DEADLINE_EXCEEDED);
  leat_callable_free(f);
  f = leat_callable_create(kit.session, NULL, 0, &taken, 1, NULL, 0, kit.status);
  kit_ok(kit.status);
  leat_callable_run_tensors_within(f, TIMEOUT_MS, NULL, &fetched, kit.status);
  kit_expect(kit.status, TF_DEADLINE_EXCEEDED);
  leat_callable_free(f);
}

static void test_target(void** state) {
  leat_target_run_within(kit.session, taken.oper, TIMEOUT_MS, kit.status);
  kit_expect(kit.status, TF_DEADLINE_EXCEEDED);
  leat_target_run_within(kit.session, NULL, TIMEOUT_MS, kit.status);
  kit_expect(kit.status, TF_INVALID_ARGUMENT);
  TF_Operation* nothing = leat_group(kit.scope, NULL, NULL, 0);
  leat_target_run_within(kit.session, nothing, 60000, kit.status);
  kit_ok(kit.status);
  leat_target_run_within(kit.session, nothing, 0, kit.status);
  kit_ok(kit.status);
}

static void test_saver(void** state) {
  leat_saver_operations_t operations = {
      .file_name = leat_placeholder(kit.scope, "file_name", TF_STRING, 0, NULL),
      .saved = taken,
      .restore = taken.oper};
  kit_ok(leat_scope_status(kit.scope));
  leat_saver_t* saver = leat_saver_over(
      operations, "ckpt", (leat_saver_options_t){.timeout_ms = TIMEOUT_MS}, kit.status);
  kit_ok(kit.status);
  leat_saver_save(saver, kit.session, 1, kit.status);
  kit_expect(kit.status, TF_DEADLINE_EXCEEDED);
  leat_saver_free(saver);
  operations.timeout_ms = TIMEOUT_MS;
  leat_variables_restore(kit.session, &operations, "ckpt/model.ckpt-1", kit.status);
  kit_expect(kit.status, TF_DEADLINE_EXCEEDED);
}

static void wait_for_stop(void* coordinator) {
  while (!leat_coordinator_should_stop(coordinator)) usleep(1000);
}

static void test_coordinator(void** state) {
  leat_coordinator_t* c = leat_coordinator_create();
  assert_int_equal(leat_coordinator_wait(c, 0), 1);  // it has no threads
  leat_coordinator_start(c, "waiter", wait_for_stop, c, kit.status);
  kit_ok(kit.status);
  assert_int_equal(leat_coordinator_wait(c, TIMEOUT_MS / 1e3), 0);
  leat_coordinator_request_stop(c, NULL);
  assert_int_equal(leat_coordinator_wait(c, -1), 1);
  leat_coordinator_join(c, 60, kit.status);
  kit_ok(kit.status);
  leat_coordinator_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(test_callable),
      TEST(test_target),
      TEST(test_saver),
      TEST(test_coordinator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
