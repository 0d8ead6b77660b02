// Functions that a client calls on a task as a whole and that need another one, by messages by
// hand: the worker of the scene is called, and has the ps do its part. How TensorFlow's parameter
// server strategy calls such is in tests/oracle/eager_parameter_server_oracle.py.
#include "base/clock.h"
#include "cluster/eager_text.h"
#include "cluster/worker_session.h"

#define NEGATE "input: 'x' attr { key: 'T' value { type: DT_FLOAT } }"
#define RETURNS "ret { key: 'y' value: 'n:y:0' }"
// A variable on the ps, whose handle is the output of op 1 there, has the value 3.
#define VARIABLE                                                                               \
  "queue { operation { id: 1 name: 'VarHandleOp' device: '" CLUSTER_PS_CPU "'"                 \
  " attrs { key: 'dtype' value { type: DT_FLOAT } } attrs { key: 'shape' value { shape {} } }" \
  " attrs { key: 'shared_name' value { s: 'v' } } } }"                                         \
  "queue { operation { id: 2 name: 'AssignVariableOp' device: '" CLUSTER_PS_CPU "'"            \
  " op_inputs { remote_handle { op_id: 1 } }" THREE                                            \
  " attrs { key: 'dtype' value { type: DT_FLOAT } } } }"
// Its handle, as an input of an op of the worker.
#define HANDLE                                                                        \
  "op_inputs { remote_handle { op_id: 1 device: '" CLUSTER_PS_CPU "' op_device: '"    \
  CLUSTER_PS_CPU "' dtype: DT_RESOURCE } } "
// A function of a name that no node can have, as Python's have it.
#define READ                                                                               \
  REGISTER("<lambda>", "input_arg { name: 'x' type: DT_RESOURCE } " FLOAT("output", "y"),      \
           "ReadVariableOp", "input: 'x' attr { key: 'dtype' value { type: DT_FLOAT } }",  \
           "ret { key: 'y' value: 'n:value:0' }")
// The node is to be on the ps; the second function calls the first.
#define FAR(device)                                                \
  REGISTER("far", FLOAT("input", "x") FLOAT("output", "y"), "Neg", \
           NEGATE " device: '" device "'", RETURNS)
#define OUTER                                                                         \
  REGISTER("outer", FLOAT("input", "x") FLOAT("output", "y"), "PartitionedCall",      \
           "input: 'x' attr { key: 'Tin' value { list { type: DT_FLOAT } } } "        \
           "attr { key: 'Tout' value { list { type: DT_FLOAT } } } "                  \
           "attr { key: 'f' value { func { name: 'far' } } }",                        \
           "ret { key: 'y' value: 'n:output:0' }")

static int set_up(void** state) {
  cluster_scene_set_up(state);
  eager_create_context(*state, CLUSTER_WORKER);
  eager_create_context(*state, CLUSTER_PS);
  return 0;
}

// The ps is a process, which may not be up yet.
static int set_up_process(void** state) {
  cluster_scene_set_up_with(state, &(cluster_options_t){.ps_is_a_process = true});
  eager_create_context(*state, CLUSTER_WORKER);
  return 0;
}

// Calls a function on the worker. The answer has its only output, where |code| is OK.
static float call(cluster_scene_t* cluster, const char* name, const char* inputs,
                  leat_status_code_t code, const char* says) {
  char text[1024];
  cluster_call_t made;
  leat_pb_enqueue_response_t response = {0};
  leat_tensor_t value;
  float found = 0;
  snprintf(text, sizeof text,
           CONTEXT "queue { operation { id: -1 name: '%s' is_function: true device: '"
           CLUSTER_WORKER_CPU "' %s } }", name, inputs);
  eager_start(cluster, CLUSTER_WORKER, SERVICE "Enqueue", &leat_pb_enqueue_request_descriptor,
              text, &made);
  cluster_call_expect(&made, code, says, &leat_pb_enqueue_response_descriptor, &response);
  if (code == LEAT_OK) {
    LEAT_EXPECT_OK(leat_tensor_from_content(response.queue_response.items[0].tensor.items,
                                            &made.arena, leat_buffer_source_host(), &value));
    found = leat_tensor_data(&value, float)[0];
    leat_tensor_release(&value);
  }
  cluster_call_free(&made);
  return found;
}

// How many sessions of masters the ps has, and how many graphs these have.
static size_t count_sessions(cluster_scene_t* cluster, size_t* out_graphs) {
  return leat_worker_sessions_count(cluster_task(cluster, CLUSTER_PS), out_graphs);
}

static void a_handle_leads_to_its_task(void** state) {
  cluster_scene_t* cluster = *state;
  size_t graphs;
  eager_enqueue(cluster, CLUSTER_PS, CONTEXT VARIABLE, LEAT_OK, "");
  eager_enqueue(cluster, CLUSTER_WORKER, CONTEXT READ, LEAT_OK, "");
  assert_true(call(cluster, "<lambda>", HANDLE, LEAT_OK, "") == 3);
  assert_int_equal(count_sessions(cluster, &graphs), 1);
  assert_int_equal(graphs, 1);
  // The worker has the handle by now, and the function is compiled.
  eager_enqueue(cluster, CLUSTER_PS, CONTEXT "queue { handle_to_decref { op_id: 1 } }", LEAT_OK,
                "");
  assert_true(call(cluster, "<lambda>", HANDLE, LEAT_OK, "") == 3);
  assert_int_equal(count_sessions(cluster, &graphs), 1);
  assert_int_equal(graphs, 1);
  // Outputs are kept on the worker, for later calls.
  eager_enqueue(cluster, CLUSTER_WORKER,
                CONTEXT "queue { operation { id: 5 name: '<lambda>' is_function: true "
                HANDLE " } }",
                LEAT_OK, "");
  eager_enqueue(cluster, CLUSTER_WORKER,
                CONTEXT "queue { operation { id: 6 name: 'Neg' op_inputs { remote_handle { op_id: 5"
                " } } attrs { key: 'T' value { type: DT_FLOAT } } } }", LEAT_OK, "");
  // The session over both tasks ends with the context.
  const leat_pb_close_context_request_t close = {.context_id = 77};
  cluster_call(cluster, CLUSTER_WORKER, SERVICE "CloseContext",
               &leat_pb_close_context_request_descriptor, &close, LEAT_OK, "");
  for (int64_t begin_ns = leat_clock_now_ns(); count_sessions(cluster, &graphs) > 0;) {
    cluster_expect_no_hang(begin_ns);
    leat_clock_sleep_ns(1000000);
  }
}

static void nodes_lead_to_their_task(void** state) {
  cluster_scene_t* cluster = *state;
  size_t graphs;
  eager_enqueue(cluster, CLUSTER_PS, CONTEXT VARIABLE, LEAT_OK, "");
  // A function that needs no other task, and what calls it.
  eager_enqueue(cluster, CLUSTER_WORKER, CONTEXT FAR("CPU:0") OUTER READ, LEAT_OK, "");
  assert_true(call(cluster, "outer", THREE, LEAT_OK, "") == -3);
  assert_int_equal(count_sessions(cluster, &graphs), 0);
  // Another one of the name, which does.
  eager_enqueue(cluster, CLUSTER_WORKER,
                CONTEXT "queue { remove_function { function_name: 'far' } }"
                "queue { remove_function { function_name: 'outer' } }" OUTER, LEAT_OK, "");
  call(cluster, "outer", THREE, LEAT_NOT_FOUND, "'far'");
  eager_enqueue(cluster, CLUSTER_WORKER, CONTEXT FAR(CLUSTER_PS_CPU), LEAT_OK, "");
  assert_true(call(cluster, "outer", THREE, LEAT_OK, "") == -3);
  assert_true(call(cluster, "far", THREE, LEAT_OK, "") == -3);
  assert_true(call(cluster, "<lambda>", HANDLE, LEAT_OK, "") == 3);
  assert_int_equal(count_sessions(cluster, &graphs), 1);
  assert_int_equal(graphs, 3);
  // And back again.
  eager_enqueue(cluster, CLUSTER_WORKER,
                CONTEXT "queue { remove_function { function_name: 'far' } }" FAR("CPU:0"), LEAT_OK,
                "");
  assert_true(call(cluster, "far", THREE, LEAT_OK, "") == -3);
  count_sessions(cluster, &graphs);
  assert_int_equal(graphs, 3);
}

// A session that has lost a task is left; the next call makes another. TensorFlow's client reads in
// the message which task it was.
static void a_lost_task_is_told_and_forgotten(void** state) {
  cluster_scene_t* cluster = *state;
  eager_enqueue(cluster, CLUSTER_WORKER, CONTEXT FAR(CLUSTER_PS_CPU), LEAT_OK, "");
  assert_true(call(cluster, "far", THREE, LEAT_OK, "") == -3);
  cluster_kill_ps(cluster);
  call(cluster, "far", THREE, LEAT_UNAVAILABLE,
       "GRPC error information from remote target /job:ps/replica:0/task:0:");
  // A value that is there, and a session that cannot be made.
  call(cluster, "far", HANDLE, LEAT_UNAVAILABLE,
       "GRPC error information from remote target /job:ps/replica:0/task:0:");
  call(cluster, "far", THREE, LEAT_UNAVAILABLE,
       "GRPC error information from remote target /job:ps/replica:0/task:0:");
  cluster_start_ps(cluster);
  assert_true(call(cluster, "far", THREE, LEAT_OK, "") == -3);
}

static void bad_inputs_are_refused(void** state) {
  cluster_scene_t* cluster = *state;
  eager_enqueue(cluster, CLUSTER_PS, CONTEXT VARIABLE, LEAT_OK, "");
  eager_enqueue(cluster, CLUSTER_WORKER, CONTEXT READ FAR("/job:none"), LEAT_OK, "");
#define ON_PS "device: '" CLUSTER_PS_CPU "' op_device: '" CLUSTER_PS_CPU "'"
  static const struct {
    const char *name, *inputs;
    leat_status_code_t code;
    const char* says;
  } kBad[] = {
      {"<lambda>", "op_inputs { remote_handle { op_id: 9 " ON_PS " dtype: DT_RESOURCE } }",
       LEAT_INVALID_ARGUMENT, "From /job:ps/replica:0/task:0:\nfor input 0 of 'Identity': Unable "
       "to find the relevant tensor remote_handle: Op ID: 9"},
      {"<lambda>", "op_inputs { remote_handle { op_id: 1 output_num: -1 " ON_PS
       " dtype: DT_RESOURCE } }", LEAT_INVALID_ARGUMENT, "Output num: -1"},
      {"<lambda>", "op_inputs { remote_handle { op_id: 1 op_device: '/job:no/task:1' } }",
       LEAT_INVALID_ARGUMENT, "Op ID: 1"},
      {"<lambda>", "op_inputs { remote_handle { op_id: 1 " ON_PS " dtype: DT_FLOAT } }",
       LEAT_INVALID_ARGUMENT, "incompatible with expected float"},
      {"<lambda>", HANDLE HANDLE, LEAT_INVALID_ARGUMENT, "called with 2 arguments"},
      {"far", THREE, LEAT_INVALID_ARGUMENT, "'/job:none'"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kBad); ++i) {
    call(cluster, kBad[i].name, kBad[i].inputs, kBad[i].code, kBad[i].says);
  }
  assert_true(call(cluster, "<lambda>", HANDLE, LEAT_OK, "") == 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define CASE(name, set_up) cmocka_unit_test_setup_teardown(name, set_up, cluster_scene_tear_down)
      CASE(a_handle_leads_to_its_task, set_up),
      CASE(nodes_lead_to_their_task, set_up),
      CASE(a_lost_task_is_told_and_forgotten, set_up_process),
      CASE(bad_inputs_are_refused, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
