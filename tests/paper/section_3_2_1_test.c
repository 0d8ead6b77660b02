// White paper, section 3.2.1: node placement. Each test quotes the sentence that it tests and asks
// leat_explain_placement() where a node would be placed, on a CPU and two simulated accelerators;
// no step runs. The greedy placer, which is the paper's, is chosen by an option. Decisions depend
// on costs, so tests that need a certain one give measured times as step statistics, and the others
// compare sizes so different that any estimate agrees. Constraints that a user gives are section
// 4.3's (section_4_3_test.c).
#include <stdio.h>
#include <stdlib.h>

#include "leat/inspect.h"
#include "paper/counter.h"

static TF_Graph* graph;
static TF_Status* status;
static TF_SessionOptions* options;

static int set_up(void** state) {
  graph = TF_NewGraph();
  status = TF_NewStatus();
  options = TF_NewSessionOptions();
  leat_set_devices(options, "CPU:1,SIM:2", status);
  leat_set_placer(options, "greedy", status);
  kit_ok(status);
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

static TF_Output source(const char* name, int64_t size) {
  int64_t dims[] = {size, size};
  TF_OperationDescription* desc = TF_NewOperation(graph, "Placeholder", name);
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_SetAttrShape(desc, "shape", dims, 2);
  return kit_out(kit_finish(desc), 0);
}

static TF_Output add(const char* op, const char* name, TF_Output x, const TF_Output* y) {
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  TF_AddInput(desc, x);
  if (y) TF_AddInput(desc, *y);
  return kit_out(kit_finish(desc), 0);
}

static void set_costs(const char* text) {
  TF_Buffer buffer = {text, strlen(text), NULL};
  TF_Buffer* metadata = leat_message_from_text("RunMetadata", &buffer, status);
  kit_ok(status);
  leat_set_costs(options, metadata, status);
  kit_ok(status);
  TF_DeleteBuffer(metadata);
}

// The device (0: CPU:0, then SIM:0 and SIM:1) of node |name| in a step that fetches |fetch|.
static int device_of(TF_Output fetch, const char* name) {
  char pattern[64];
  TF_Buffer* json = leat_explain_placement(graph, options, &fetch, 1, NULL, 0, status);
  kit_ok(status);
  char* text = strndup(json->data, json->length);
  snprintf(pattern, sizeof pattern, "{\"name\": \"%s\"", name);
  const char* node = strstr(text, pattern);
  assert_non_null(node);
  int device = atoi(strstr(node, "\"device\": ") + 10);
  free(text);
  TF_DeleteBuffer(json);
  return device;
}

// "A device may not be feasible if the device does not provide a kernel that implements the
// particular operation."
static void paper_3_2_1__a_device_without_a_kernel_is_not_feasible(void** state) {
  TF_Output x = source("x", 2048);
  TF_Output product = add("MatMul", "product", x, &x);
  assert_int_equal(device_of(product, "x"), 0);  // a placeholder waits for a feed on the host
  assert_true(device_of(product, "product") > 0);
}

// "... examining the effects on the completion time of the node of placing the node on each
// possible device. ... it also includes the costs introduced by any communication": the same work,
// five times as fast elsewhere, is worth the way there for a small tensor only.
static void paper_3_2_1__communication_counts(void** state) {
  static const char kCosts[] =
      "step_stats { dev_stats { device: '/device:CPU:0'\n"
      "  node_stats { node_name: 'few' op_end_rel_nanos: 500000 }\n"
      "  node_stats { node_name: 'many' op_end_rel_nanos: 500000 } }\n"
      "dev_stats { device: '/device:SIM:0'\n"
      "  node_stats { node_name: 'few' op_end_rel_nanos: 100000 }\n"
      "  node_stats { node_name: 'many' op_end_rel_nanos: 100000 } } }";
  TF_Output few = add("Tanh", "few", source("small", 2), NULL);
  TF_Output many = add("Tanh", "many", source("large", 2048), NULL);
  set_costs(kCosts);
  assert_true(device_of(few, "few") > 0);
  assert_int_equal(device_of(many, "many"), 0);
}

// What reads a large result goes where that is.
static void paper_3_2_1__readers_go_where_their_inputs_are(void** state) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "Tanh", "first");
  TF_AddInput(desc, source("large", 2048));
  TF_SetDevice(desc, "/device:SIM:1");
  TF_Output second = add("Tanh", "second", kit_out(kit_finish(desc), 0), NULL);
  assert_int_equal(device_of(second, "first"), 2);
  assert_int_equal(device_of(second, "second"), 2);
}

// "The device where the node's operation would finish the soonest is selected": work that can go on
// side by side is divided.
static void paper_3_2_1__independent_work_is_divided(void** state) {
  TF_Output x = source("x", 2048);
  TF_Output a = add("MatMul", "a", x, &x), b = add("MatMul", "b", x, &x);
  set_costs("step_stats { dev_stats { device: '/device:SIM:0'\n"
            "  node_stats { node_name: 'a' op_end_rel_nanos: 90000000 }\n"
            "  node_stats { node_name: 'b' op_end_rel_nanos: 90000000 } } }");
  TF_Output sum = add("AddV2", "sum", a, &b);
  assert_true(device_of(sum, "a") > 0 && device_of(sum, "b") > 0);
  assert_true(device_of(sum, "a") != device_of(sum, "b"));
}

// "This cost model is either statically estimated ... or is measured based on an actual set of
// placement decisions for earlier executions of the graph."
static void paper_3_2_1__measured_costs_go_before_estimates(void** state) {
  TF_Output x = source("x", 512), y = add("MatMul", "y", x, &x);
  assert_true(device_of(y, "y") > 0);
  set_costs("step_stats { dev_stats { device: '/device:SIM:0'\n"
            "  node_stats { node_name: 'y' op_end_rel_nanos: 90000000 } } }");
  assert_int_equal(device_of(y, "y"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_3_2_1__a_device_without_a_kernel_is_not_feasible),
      TEST(paper_3_2_1__communication_counts),
      TEST(paper_3_2_1__readers_go_where_their_inputs_are),
      TEST(paper_3_2_1__independent_work_is_divided),
      TEST(paper_3_2_1__measured_costs_go_before_estimates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
