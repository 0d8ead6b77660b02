// Parts of functions that run on several tasks (RunComponentFunction), as a client sends them: by
// messages by hand, good and bad ones, to the ps of the scene. The parts of a step meet by Send and
// Recv, in whatever order they come, until the client has the step cleaned up. Several of them give
// outputs of one op. Functions that TensorFlow itself cuts into parts are in
// tests/oracle/eager_function_oracle.py.
#include "cluster/eager_text.h"
#include "cluster/rendezvous_table.h"

#define KEY                                                                                \
  "attr { key: 'tensor_name' value { s: 'v' } }"                                           \
  "attr { key: 'send_device' value { s: '" CLUSTER_PS_CPU "' } }"                          \
  "attr { key: 'send_device_incarnation' value { i: 1 } }"                                 \
  "attr { key: 'recv_device' value { s: '" CLUSTER_PS_CPU "' } }"

// The fields of an operation are |text|, what comes behind it |rest|.
static void start_component(cluster_scene_t* cluster, const char* text, const char* rest,
                            cluster_call_t* out_call) {
  char all[1024];
  snprintf(all, sizeof all,
           CONTEXT "operation { is_function: true is_component_function: true device: '"
           CLUSTER_PS_CPU "' %s } %s", text, rest);
  eager_start(cluster, CLUSTER_PS, SERVICE "RunComponentFunction",
              &leat_pb_run_component_function_request_descriptor, all, out_call);
}

static void run_component(cluster_scene_t* cluster, const char* text, const char* rest,
                          leat_status_code_t code, const char* says) {
  cluster_call_t call;
  start_component(cluster, text, rest, &call);
  cluster_call_expect(&call, code, says, NULL, NULL);
  cluster_call_free(&call);
}

// Runs a part whose only output comes back with the answer.
static float run_for_value(cluster_scene_t* cluster, const char* text) {
  leat_pb_run_component_function_response_t response;
  leat_tensor_t value;
  cluster_call_t call;
  start_component(cluster, text, "output_num: 0", &call);
  cluster_call_expect(&call, LEAT_OK, "", &leat_pb_run_component_function_response_descriptor,
                      &response);
  assert_int_equal(response.tensor.count, 1);
  LEAT_EXPECT_OK(leat_tensor_from_content(response.tensor.items, &call.arena,
                                          leat_buffer_source_host(), &value));
  const float found = leat_tensor_data(&value, float)[0];
  leat_tensor_release(&value);
  cluster_call_free(&call);
  return found;
}

// A context with three functions: the negative of its argument; a Send of it; a Recv.
static int set_up(void** state) {
  cluster_scene_set_up(state);
  cluster_scene_t* cluster = *state;
  eager_create_context(cluster, CLUSTER_PS);
  eager_enqueue(cluster, CLUSTER_PS,
                CONTEXT REGISTER("negate", FLOAT("input", "x") FLOAT("output", "y"), "Neg",
                                 "input: 'x' attr { key: 'T' value { type: DT_FLOAT } }",
                                 "ret { key: 'y' value: 'n:y:0' }")
                    REGISTER("send", FLOAT("input", "x"), "_Send",
                             "input: 'x' attr { key: 'T' value { type: DT_FLOAT } }" KEY, "")
                    REGISTER("receive", FLOAT("output", "y"), "_Recv",
                             "attr { key: 'tensor_type' value { type: DT_FLOAT } }" KEY,
                             "ret { key: 'y' value: 'n:tensor:0' }"),
                LEAT_OK, "");
  return 0;
}

static void parts_give_outputs_of_one_op(void** state) {
  cluster_scene_t* cluster = *state;
  assert_true(run_for_value(cluster, "id: -1 func_step_id: 1 name: 'negate'" THREE) == -3);
  static const char kCall[] = "id: 5 func_step_id: 1 name: 'negate'" THREE;
  run_component(cluster, kCall, "output_num: 7", LEAT_OK, "");
  run_component(cluster, kCall, "output_num: 0", LEAT_OK, "");
  run_component(cluster, kCall, "output_num: 7", LEAT_INVALID_ARGUMENT,
                "output_num is negative or was used");
  // The outputs are inputs of other calls, and are let go of one by one.
  for (int i = 0; i <= 7; i += 7) {
    char input[128], drop[128];
    snprintf(input, sizeof input,
             "id: -1 func_step_id: 1 name: 'negate' "
             "op_inputs { remote_handle { op_id: 5 output_num: %d } }", i);
    snprintf(drop, sizeof drop,
             CONTEXT "queue { handle_to_decref { op_id: 5 output_num: %d } }", i);
    assert_true(run_for_value(cluster, input) == 3);
    eager_enqueue(cluster, CLUSTER_PS, drop, LEAT_OK, "");
    run_component(cluster, input, "output_num: 0", LEAT_INVALID_ARGUMENT, "Op ID: 5");
    eager_enqueue(cluster, CLUSTER_PS, drop, LEAT_INVALID_ARGUMENT, "Op ID: 5");
  }
  assert_int_equal(cluster_task(cluster, CLUSTER_PS)->eager_contexts->outputs.count, 0);
}

static void parts_meet_in_a_step(void** state) {
  cluster_scene_t* cluster = *state;
  leat_task_t* task = cluster_task(cluster, CLUSTER_PS);
  cluster_call_t waiting;
  run_component(cluster, "id: 1 func_step_id: -9 name: 'send'" THREE, "", LEAT_OK, "");
  assert_true(run_for_value(cluster, "id: -1 func_step_id: -9 name: 'receive'") == 3);
  // The other way round, and in another step.
  start_component(cluster, "id: 2 func_step_id: 10 name: 'receive'", "output_num: 0", &waiting);
  cluster_let_wait();
  assert_int_equal(atomic_load(&waiting.end.times), 0);
  run_component(cluster, "id: 3 func_step_id: 10 name: 'send'" THREE, "", LEAT_OK, "");
  cluster_call_expect(&waiting, LEAT_OK, "", NULL, NULL);
  cluster_call_free(&waiting);
  // What was not received ends with the step; who comes late is told that it is over.
  run_component(cluster, "id: 4 func_step_id: 10 name: 'send'" THREE, "", LEAT_OK, "");
  assert_false(leat_rendezvous_table_is_empty(task->rendezvous, 10));
  eager_enqueue(cluster, CLUSTER_PS, CONTEXT "queue { cleanup_function { step_id: 10 } }", LEAT_OK,
                "");
  assert_true(leat_rendezvous_table_is_over(task->rendezvous, 10));
  run_component(cluster, "id: 5 func_step_id: 10 name: 'receive'", "output_num: 0", LEAT_ABORTED,
                "");
}

// A part that waits ends with its call, and with the context; one that fails ends the others of its
// step.
static void parts_are_cancelled(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_call_t waiting;
  start_component(cluster, "id: 1 func_step_id: 20 name: 'receive'", "output_num: 0", &waiting);
  cluster_let_wait();
  leat_rpc_cancel(waiting.call);
  cluster_call_expect(&waiting, LEAT_CANCELLED, "", NULL, NULL);
  cluster_call_free(&waiting);
  start_component(cluster, "id: 4 func_step_id: 23 name: 'receive'", "output_num: 0", &waiting);
  cluster_let_wait();
  run_component(cluster, "id: 5 func_step_id: 23 name: 'send'", "", LEAT_INVALID_ARGUMENT,
                "called with 0 arguments");
  cluster_call_expect(&waiting, LEAT_INVALID_ARGUMENT, "called with 0 arguments", NULL, NULL);
  cluster_call_free(&waiting);
  start_component(cluster, "id: 2 func_step_id: 21 name: 'receive'", "output_num: 0", &waiting);
  cluster_let_wait();
  const leat_pb_close_context_request_t close = {.context_id = 77};
  cluster_call(cluster, CLUSTER_PS, SERVICE "CloseContext",
               &leat_pb_close_context_request_descriptor, &close, LEAT_OK, "");
  cluster_call_expect(&waiting, LEAT_CANCELLED, "", NULL, NULL);
  cluster_call_free(&waiting);
  run_component(cluster, "id: 3 func_step_id: 22 name: 'send'" THREE, "", LEAT_ABORTED,
                "Unable to find a context_id");
}

static void bad_messages_are_refused(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_call_t call;
  static const char* const kNoParts[] = {
      CONTEXT, CONTEXT "operation { name: 'negate' is_function: true }",
      CONTEXT "operation { name: 'negate' is_component_function: true }"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNoParts); ++i) {
    eager_start(cluster, CLUSTER_PS, SERVICE "RunComponentFunction",
                &leat_pb_run_component_function_request_descriptor, kNoParts[i], &call);
    cluster_call_expect(&call, LEAT_INTERNAL, "must be a part of a function", NULL, NULL);
    cluster_call_free(&call);
  }
  static const struct {
    const char *text, *rest;
    leat_status_code_t code;
    const char* says;
  } kBad[] = {
      {"id: 1 name: 'negate'" THREE, "output_num: 0", LEAT_INVALID_ARGUMENT, "func_step_id is 0"},
      {"id: 1 func_step_id: 1 name: 'none'" THREE, "output_num: 0", LEAT_NOT_FOUND, "'none'"},
      {"id: 1 func_step_id: 1 name: 'Neg'" THREE, "output_num: 0", LEAT_NOT_FOUND, "'Neg'"},
      {"id: 1 func_step_id: 1 name: 'negate'", "output_num: 0", LEAT_INVALID_ARGUMENT,
       "called with 0 arguments"},
      {"id: 1 func_step_id: 1 name: 'negate'" THREE THREE, "output_num: 0", LEAT_INVALID_ARGUMENT,
       "called with 2 arguments"},
      {"id: 1 func_step_id: 1 name: 'negate' op_inputs { tensor { dtype: DT_INT32 "
       "tensor_shape {} int_val: 1 } }", "output_num: 0", LEAT_INVALID_ARGUMENT,
       "argument 0 is of type int32"},
      {"id: 1 func_step_id: 1 name: 'negate'" THREE, "", LEAT_INVALID_ARGUMENT,
       "there are 0 values of output_num, must be 1"},
      {"id: 1 func_step_id: 1 name: 'negate'" THREE, "output_num: 0 output_num: 1",
       LEAT_INVALID_ARGUMENT, "there are 2 values of output_num, must be 1"},
      {"id: 1 func_step_id: 1 name: 'negate'" THREE, "output_num: -1", LEAT_INVALID_ARGUMENT,
       "output_num is negative"},
      {"id: 1 func_step_id: 1 name: 'negate' op_inputs { remote_handle { op_id: 8 } }",
       "output_num: 0", LEAT_INVALID_ARGUMENT, "Op ID: 8"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kBad); ++i) {
    run_component(cluster, kBad[i].text, kBad[i].rest, kBad[i].code, kBad[i].says);
  }
  // The step that is every step is none to clean up.
  eager_enqueue(cluster, CLUSTER_PS, CONTEXT "queue { cleanup_function { step_id: 0 } }", LEAT_OK,
                "");
  assert_true(run_for_value(cluster, "id: -1 func_step_id: 1 name: 'negate'" THREE) == -3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, cluster_scene_tear_down)
      CASE(parts_give_outputs_of_one_op), CASE(parts_meet_in_a_step), CASE(parts_are_cancelled),
      CASE(bad_messages_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
