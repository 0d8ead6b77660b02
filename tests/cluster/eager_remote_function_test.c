// Functions of an eager client on other tasks, through the C API (eager_scene.h): called on one of
// them as a whole, or with nodes and variables on several.
#include "cluster/eager_scene.h"
#include "cluster/worker_session.h"

static float call_on_ps(eager_scene_t* scene, const char* name, TFE_TensorHandle* x) {
  TFE_TensorHandle* y = eager_result(eager_scene_op(scene, CLUSTER_PS_CPU, name, x, NULL));
  eager_scene_expect_device(scene, y, CLUSTER_PS_CPU);
  return eager_float(y);
}

// Functions that the context had before it joined, and those that it gets later.
static void test_functions(void** state) {
  eager_scene_t* scene = *state;
  eager_add_function(scene->context, eager_self_binary("twice", "AddV2", TF_FLOAT));
  eager_scene_join(scene, 60);
  eager_add_function(scene->context, eager_self_binary("square", "Mul", TF_FLOAT));
  TFE_TensorHandle* x = eager_handle(kit_float(5));
  assert_true(call_on_ps(scene, "twice", x) == 10);
  assert_true(call_on_ps(scene, "square", x) == 25);
  TFE_ContextRemoveFunction(scene->context, "square", scene->s);
  kit_ok(scene->s);
  eager_add_function(scene->context, eager_self_binary("square", "Sub", TF_FLOAT));
  assert_true(call_on_ps(scene, "square", x) == 0);
  TFE_DeleteTensorHandle(x);
}

// Adds a node with one input; |dtype|: its attribute of that name. |device| may be "".
static TF_Output add_node(TF_Graph* graph, const char* op, const char* name, TF_Output input,
                          const char* device, const char* dtype) {
  TF_Status* s = TF_NewStatus();
  TF_OperationDescription* description = TF_NewOperation(graph, op, name);
  TF_AddInput(description, input);
  TF_SetDevice(description, device);
  TF_SetAttrType(description, dtype, TF_FLOAT);
  TF_Operation* node = TF_FinishOperation(description, s);
  kit_ok(s);
  TF_DeleteStatus(s);
  return (TF_Output){node, 0};
}

// A function of two variables and a number: v + w - x, whose last term is made on the worker.
static void add_spanning_function(eager_scene_t* scene) {
  TF_Graph* graph = TF_NewGraph();
  TF_Output inputs[] = {{kit_placeholder(graph, "v", TF_RESOURCE), 0},
                        {kit_placeholder(graph, "w", TF_RESOURCE), 0},
                        {kit_placeholder(graph, "x", TF_FLOAT), 0}};
  const TF_Output v = add_node(graph, "ReadVariableOp", "read_v", inputs[0], "", "dtype");
  const TF_Output w = add_node(graph, "ReadVariableOp", "read_w", inputs[1], "", "dtype");
  const TF_Output term = add_node(graph, "Neg", "term", inputs[2], CLUSTER_WORKER_CPU, "T");
  TF_Operation* sum = kit_binary(graph, "AddV2", "sum", v.oper, w.oper);
  const TF_Output output = {kit_binary(graph, "AddV2", "all", sum, term.oper), 0};
  TF_Function* function = TF_GraphToFunction(graph, "spanning", 0, -1, NULL, 3, inputs, 1, &output,
                                             NULL, NULL, NULL, scene->s);
  kit_ok(scene->s);
  eager_add_function(scene->context, function);
  TF_DeleteGraph(graph);
}

static float call_spanning(eager_scene_t* scene, const char* device, TFE_TensorHandle* v,
                           TFE_TensorHandle* w, TFE_TensorHandle* x) {
  TFE_Op* op = eager_scene_op(scene, device, "spanning", v, w);
  TFE_OpAddInput(op, x, scene->s);
  kit_ok(scene->s);
  TFE_TensorHandle* y = eager_result(op);
  eager_scene_expect_device(scene, y, *device ? device : CLIENT_CPU);
  return eager_float(y);
}

// Functions that need three tasks, on whichever of these they are called.
static void test_functions_over_tasks(void** state) {
  eager_scene_t* scene = *state;
  add_spanning_function(scene);
  eager_scene_join(scene, 60);
  TFE_TensorHandle* there = eager_scene_variable(scene, CLUSTER_PS_CPU, "v");
  TFE_TensorHandle* here = eager_scene_variable(scene, "", "v");
  TFE_TensorHandle* two = eager_handle(kit_float(2));
  TFE_TensorHandle* five = eager_handle(kit_float(5));
  eager_scene_run(eager_op(scene->context, "AssignVariableOp", there, two));
  eager_scene_run(eager_op(scene->context, "AssignVariableOp", here, five));
  assert_true(call_spanning(scene, "", there, here, two) == 2 + 5 - 2);
  assert_true(call_spanning(scene, "", here, here, five) == 5 + 5 - 5);
  assert_true(call_spanning(scene, CLUSTER_WORKER_CPU, there, there, five) == 2 + 2 - 5);
  assert_true(call_spanning(scene, CLUSTER_PS_CPU, there, there, two) == 2 + 2 - 2);
  // Its variables are found before and after the calls, and each call reads them anew.
  eager_scene_run(eager_op(scene->context, "AssignAddVariableOp", there, five));
  assert_true(call_spanning(scene, "", there, here, two) == 7 + 5 - 2);
  TFE_TensorHandle* const handles[] = {there, here, two, five};
  for (size_t i = 0; i < sizeof handles / sizeof handles[0]; ++i) {
    TFE_DeleteTensorHandle(handles[i]);
  }
}

// Waits until |task| has |count| sessions of masters.
static void expect_sessions(const eager_scene_t* scene, int task, size_t count) {
  size_t graphs;
  const int64_t begin_ns = leat_clock_now_ns();
  while (leat_worker_sessions_count(cluster_task(scene->cluster, task), &graphs) != count) {
    cluster_expect_no_hang(begin_ns);
    leat_clock_sleep_ns(1000000);
  }
}

// A session over more tasks serves for one over less, which is closed.
static void test_a_larger_session_replaces_a_smaller(void** state) {
  eager_scene_t* scene = *state;
  add_spanning_function(scene);
  eager_scene_join(scene, 60);
  TFE_TensorHandle* there = eager_scene_variable(scene, CLUSTER_PS_CPU, "v");
  TFE_TensorHandle* here = eager_scene_variable(scene, "", "v");
  TFE_TensorHandle* two = eager_handle(kit_float(2));
  eager_scene_run(eager_op(scene->context, "AssignVariableOp", there, two));
  eager_scene_run(eager_op(scene->context, "AssignVariableOp", here, two));
  assert_true(call_spanning(scene, "", here, here, two) == 2);
  expect_sessions(scene, CLUSTER_WORKER, 1);
  expect_sessions(scene, CLUSTER_PS, 0);
  assert_true(call_spanning(scene, "", here, there, two) == 2);
  assert_true(call_spanning(scene, "", here, here, two) == 2);
  expect_sessions(scene, CLUSTER_WORKER, 1);
  expect_sessions(scene, CLUSTER_PS, 1);
  TFE_DeleteTensorHandle(there);
  TFE_DeleteTensorHandle(here);
  TFE_DeleteTensorHandle(two);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_functions, eager_scene_set_up, eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_functions_over_tasks, eager_scene_set_up,
                                      eager_scene_tear_down),
      cmocka_unit_test_setup_teardown(test_a_larger_session_replaces_a_smaller,
                                      eager_scene_set_up, eager_scene_tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
