// Queue runners and their coordinator: how input ends, how an error and a stop reach everyone. A
// source counts up to a limit and then fails with OUT_OF_RANGE, as a reader at the end of its files
// does; threads of a runner put its numbers into a queue, and the test takes them out and joins.
// Threads that wait at a full queue, fail, or do not end in time must each be told by the join.
// Runners that come with a MetaGraph are tested in queue_runners_test.c. A scope that places its
// operations on a device (leat_scope_on) is tested here as well.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/model_kit.h"
#include "leat/input.h"

static leat_coordinator_t* coordinator;
static leat_queue_runner_t* runner;

static int set_up(void** state) {
  coordinator = leat_coordinator_create();
  return model_kit_set_up(state);
}

static int tear_down(void** state) {
  leat_coordinator_free(coordinator);
  leat_queue_runner_free(runner);
  runner = NULL;
  return model_kit_tear_down(state);
}

static const TF_DataType kInt = TF_INT32;

static TF_Output make_queue(const char* op, int capacity) {
  leat_attribute_t attributes[] = {leat_attribute_types("component_types", 1, &kInt),
                                   leat_attribute_int("capacity", capacity)};
  return (TF_Output){leat_operation(kit.scope, op, NULL, NULL, 0, attributes, 2), 0};
}

static TF_Operation* make_enqueue(TF_Output queue, TF_Output value) {
  return leat_operation(kit.scope, "QueueEnqueueV2", NULL, (TF_Output[]){queue, value}, 2, NULL,
                        0);
}

static TF_Output make_dequeue(TF_Output queue) {
  leat_attribute_t types = leat_attribute_types("component_types", 1, &kInt);
  return (TF_Output){leat_operation(kit.scope, "QueueDequeueV2", NULL, &queue, 1, &types, 1), 0};
}

// 0, 1 ... |limit| - 1, then OUT_OF_RANGE.
static TF_Output make_counter(int limit) {
  leat_variable_untrained(kit.scope, "next", kInt, 0, NULL, leat_initializer_constant(0));
  TF_Output next = leat_variable_at(kit.scope, leat_variable_count(kit.scope) - 1);
  leat_attribute_t attribute = leat_attribute_int("limit", limit);
  return (TF_Output){leat_operation(kit.scope, "CountUpTo", NULL, &next, 1, &attribute, 1), 0};
}

static void start(TF_Output queue, TF_Operation* const* enqueues, int count) {
  runner = leat_queue_runner_create(kit.scope, queue, enqueues, count, NULL, NULL);
  TF_Operation* init = leat_variables_initializer(kit.scope);
  kit_ok(leat_scope_status(kit.scope));
  model_kit_run(init);
  leat_queue_runners_start(&runner, 1, kit.session, coordinator, kit.status);
  kit_ok(kit.status);
}

static void join_as(double grace, TF_Code code) {
  leat_coordinator_join(coordinator, grace, kit.status);
  if (TF_GetCode(kit.status) != code) fail_msg("%s", TF_Message(kit.status));
}

// Three threads share a source that ends: the queue stays open until the last of them is through,
// what they put in arrives once each, and the join needs no stop.
static void test_end_of_input(void** state) {
  TF_Output queue = make_queue("FIFOQueueV2", 4);
  TF_Operation* enqueue = make_enqueue(queue, make_counter(100));
  TF_Output taken = make_dequeue(queue);
  start(queue, (TF_Operation*[]){enqueue, enqueue, enqueue}, 3);
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += (int)model_kit_scalar(taken);
  assert_int_equal(sum, 4950);
  leat_target_run(kit.session, taken.oper, kit.status);
  assert_int_equal(TF_GetCode(kit.status), TF_OUT_OF_RANGE);
  join_as(-1, TF_OK);
  assert_int_equal(leat_coordinator_should_stop(coordinator), 0);
  leat_coordinator_request_stop(coordinator, NULL);
}

// The reason that is reported is the first, and a consumer that waits hears of the end.
static void test_error(void** state) {
  TF_Output queue = make_queue("FIFOQueueV2", 4);
  TF_Output name = leat_constant_string(kit.scope, "no/such/file");
  TF_Output text = {leat_operation(kit.scope, "ReadFile", NULL, &name, 1, NULL, 0), 0};
  TF_Output size = {leat_operation(kit.scope, "StringLength", NULL, &text, 1, NULL, 0), 0};
  TF_Operation* enqueue = make_enqueue(queue, size);
  TF_Output taken = make_dequeue(queue);
  start(queue, &enqueue, 1);
  leat_target_run(kit.session, taken.oper, kit.status);
  assert_int_equal(TF_GetCode(kit.status), TF_OUT_OF_RANGE);
  leat_coordinator_request_stop(coordinator, kit.status);
  join_as(-1, TF_NOT_FOUND);
  assert_non_null(strstr(TF_Message(kit.status), "no/such/file"));
}

// Threads that wait at a full queue end when a stop is requested; TensorFlow's older handles too.
static void stop_full_queue(const char* op) {
  TF_Output queue = make_queue("FIFOQueueV2", 2);
  TF_Output one = leat_constant_int(kit.scope, 1);
  TF_Operation* enqueue = make_enqueue(queue, one);
  if (!strcmp(op, "FIFOQueue")) {
    queue = make_queue(op, 2);
    enqueue = leat_operation(kit.scope, "QueueEnqueue", NULL, (TF_Output[]){queue, one}, 2, NULL,
                             0);
  }
  start(queue, (TF_Operation*[]){enqueue, enqueue}, 2);
  usleep(20000);
  leat_coordinator_request_stop(coordinator, NULL);
  join_as(60, TF_OK);
  assert_int_equal(leat_coordinator_should_stop(coordinator), 1);
}
static void test_stop(void** state) { stop_full_queue("FIFOQueueV2"); }
static void test_stop_reference(void** state) { stop_full_queue("FIFOQueue"); }

// A runner that runs cannot be started again; that stops everything.
static void test_twice(void** state) {
  TF_Output queue = make_queue("FIFOQueueV2", 2);
  TF_Operation* enqueue = make_enqueue(queue, leat_constant_int(kit.scope, 1));
  start(queue, &enqueue, 1);
  leat_queue_runners_start(&runner, 1, kit.session, coordinator, kit.status);
  assert_int_equal(TF_GetCode(kit.status), TF_FAILED_PRECONDITION);
  join_as(-1, TF_FAILED_PRECONDITION);
}

static void wait_for_release(void* released) {
  while (!__atomic_load_n((int*)released, __ATOMIC_ACQUIRE)) usleep(1000);
}

static void test_grace(void** state) {
  int released = 0;
  leat_coordinator_start(coordinator, "slow", wait_for_release, &released, kit.status);
  kit_ok(kit.status);
  TF_SetStatus(kit.status, TF_OUT_OF_RANGE, "no more");
  leat_coordinator_request_stop(coordinator, kit.status);
  join_as(0.05, TF_DEADLINE_EXCEEDED);
  assert_non_null(strstr(TF_Message(kit.status), "'slow'"));
  __atomic_store_n(&released, 1, __ATOMIC_RELEASE);
  join_as(60, TF_OK);
}

static void test_first_error(void** state) {
  TF_SetStatus(kit.status, TF_DATA_LOSS, "first");
  leat_coordinator_request_stop(coordinator, kit.status);
  TF_SetStatus(kit.status, TF_INTERNAL, "second");
  leat_coordinator_request_stop(coordinator, kit.status);
  join_as(0, TF_DATA_LOSS);
  assert_string_equal(TF_Message(kit.status), "first");
}

static void test_bad_runner(void** state) {
  TF_Output queue = make_queue("FIFOQueueV2", 2);
  assert_null(leat_queue_runner_create(kit.scope, queue, NULL, 0, NULL, NULL));
  assert_int_equal(TF_GetCode(leat_scope_status(kit.scope)), TF_INVALID_ARGUMENT);
}

// A scope on a device places what is made in it and in scopes entered from it.
static void test_scope_on(void** state) {
  leat_scope_t* on = leat_scope_on(kit.scope, "/device:CPU:1");
  leat_scope_t* inner = leat_scope_enter(on, "layer");
  leat_scope_t* off = leat_scope_on(inner, "");
  assert_string_equal(TF_OperationDevice(leat_constant_int(inner, 1).oper), "/device:CPU:1");
  assert_string_equal(TF_OperationDevice(leat_constant_int(off, 1).oper), "");
  assert_string_equal(TF_OperationDevice(leat_constant_int(kit.scope, 1).oper), "");
  assert_null(leat_scope_on(NULL, "/device:CPU:1"));
  leat_scope_free(off);
  leat_scope_free(inner);
  leat_scope_free(on);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_end_of_input), TEST(test_error),       TEST(test_stop),
      TEST(test_stop_reference), TEST(test_twice),     TEST(test_grace),
      TEST(test_first_error),  TEST(test_bad_runner),  TEST(test_scope_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
