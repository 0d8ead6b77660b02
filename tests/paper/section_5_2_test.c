// White paper, section 5.2: controlling data communication and memory usage. The paper describes
// scheduling of receives, recomputation and swapping; each is an option here, and each test runs
// the same graph with the option and without and compares the bits of the result. That the option
// did something is seen in the graph that its pass leaves: control edges before receives, nodes
// that appear twice, copies to the host. What the schedule and the memory options save is measured
// in tests/session/{transfer,memory}_test.c.
#include <stdio.h>
#include <stdlib.h>

#include "paper/partitions.h"

enum { kRecvs = 50 };

static TF_Graph* graph;
static TF_Status* status;

static int set_up(void** state) {
  graph = TF_NewGraph();
  status = TF_NewStatus();
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

static TF_Output node(const char* op, const char* name, const char* device, const TF_Output* inputs,
                      int count) {
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  for (int i = 0; i < count; ++i) TF_AddInput(desc, inputs[i]);
  TF_SetDevice(desc, device);
  return kit_out(kit_finish(desc), 0);
}

// ((x + v0) + v1) + ..., where each v comes from the other device.
static TF_Output sum_from_elsewhere(TF_Output x) {
  char name[20];
  TF_Output total = x;
  for (int i = 0; i < kRecvs; ++i) {
    snprintf(name, sizeof name, "v%d", i);
    TF_Output v = node(i % 2 ? "Neg" : "Abs", name, "/device:CPU:0", &x, 1);
    snprintf(name, sizeof name, "sum%d", i);
    total = node("AddV2", name, "/device:CPU:1", (TF_Output[]){total, v}, 2);
  }
  return total;
}

// How many control edges end at a node of |op| in a GraphDef.
static int control_edges(const TF_Buffer* bytes, const char* op) {
  leat_message_t* message = leat_message_open("GraphDef", bytes, status);
  leat_message_view_t view = leat_message_view(message);
  int found = 0;
  size_t size;
  for (size_t i = 0; i < leat_message_count(view, "node"); ++i) {
    leat_message_view_t n = leat_message_child(view, "node", i);
    const char* text = leat_message_string(n, "op", 0, &size);
    if (size != strlen(op) || memcmp(text, op, size)) continue;
    for (size_t k = 0; k < leat_message_count(n, "input"); ++k) {
      found += leat_message_string(n, "input", k, &size)[0] == '^';
    }
  }
  leat_message_close(message);
  return found;
}

// "We then insert control edges with the aim of delaying the start of these nodes until just before
// their results are needed."
static void paper_5_2__control_edges_delay_receives(void** state) {
  TF_Output x = kit_out(kit_placeholder(graph, "x", TF_FLOAT), 0);
  TF_Output total = sum_from_elsewhere(x);
  const char* kConfigs[] = {
      "device_count { key: 'CPU' value: 2 } graph_options { rewrite_options { "
      "common_subgraph_elimination: OFF } optimizer_options { opt_level: L0 } }",
      "device_count { key: 'CPU' value: 2 } graph_options { enable_recv_scheduling: true "
      "rewrite_options { common_subgraph_elimination: OFF } optimizer_options { opt_level: L0 } }",
  };
  for (int i = 0; i < 2; ++i) {
    TF_Session* session = paper_session(graph, kConfigs[i]);
    for (int step = 0; step < 3; ++step) {
      TF_Tensor* value = kit_run(session, x, kit_float(3), total);
      assert_true(kit_float_of(value) == 3);
      TF_DeleteTensor(value);
    }
    TF_Buffer *before = TF_NewBuffer(), *after = TF_NewBuffer();
    leat_pass_show(session, "recv_schedule", &total, 1, NULL, 0, before, after, status);
    kit_ok(status);
    assert_int_equal(control_edges(before, "_Recv"), 0);
    assert_true(control_edges(after, "_Recv") >= kRecvs * 4 / 5);
    TF_DeleteBuffer(before);
    TF_DeleteBuffer(after);
    kit_close(session);
  }
}

// x sigmoid(x) of |op|(x, x0), again and again, and the gradient of all of it: it reads, late, what
// the forward pass made early.
static TF_Output gradient_of_gates(const char* op, TF_Operation* x0) {
  TF_Operation* y = x0;
  char name[20];
  for (int i = 0; i < 4; ++i) {
    snprintf(name, sizeof name, "h%d", i);
    TF_Operation* h = kit_binary(graph, op, name, y, x0);
    snprintf(name, sizeof name, "gate%d", i);
    TF_Operation* gate = kit_unary(graph, "Sigmoid", name, h);
    snprintf(name, sizeof name, "y%d", i);
    y = kit_binary(graph, "Mul", name, h, gate);
  }
  TF_Output gradient, out = kit_out(y, 0), in = kit_out(x0, 0);
  TF_AddGradients(graph, &out, 1, &in, 1, NULL, status, &gradient);
  kit_ok(status);
  return gradient;
}

// The gradient with and without an option has the same bits; |pass| adds nodes to the graph.
static void expect_same_values(int64_t rows, int64_t columns, const char* op, const char* devices,
                               const char* option, const char* pass) {
  const int64_t dims[] = {rows, columns};
  size_t size = (size_t)(rows * columns) * sizeof(float);
  TF_Operation* x = kit_shaped(graph, "x", TF_FLOAT, 2, dims);
  TF_Output gradient = gradient_of_gates(op, x);
  float* fed = malloc(size);
  TF_Tensor* values[2];
  for (int64_t k = 0; k < rows * columns; ++k) fed[k] = (float)(k % 13) / 100;
  for (int i = 0; i < 2; ++i) {
    char config[300];
    snprintf(config, sizeof config, "%s graph_options { rewrite_options { %s } }", devices,
             i ? option : "");
    TF_Session* session = paper_session(graph, config);
    values[i] = kit_run(session, kit_out(x, 0), kit_tensor(TF_FLOAT, 2, dims, fed, size), gradient);
    TF_Buffer *before = TF_NewBuffer(), *after = TF_NewBuffer();
    leat_pass_show(session, pass, &gradient, 1, NULL, 0, before, after, status);
    kit_ok(status);
    assert_true(after->length > before->length);
    TF_DeleteBuffer(before);
    TF_DeleteBuffer(after);
    kit_close(session);
  }
  assert_memory_equal(TF_TensorData(values[0]), TF_TensorData(values[1]), size);
  for (int i = 0; i < 2; ++i) TF_DeleteTensor(values[i]);
  free(fed);
}

// "... recomputing a tensor instead of retaining it": the same gradient, and nodes that ran twice.
static void paper_5_2__recomputation_is_an_option(void** state) {
  expect_same_values(64, 64, "MatMul", "", "memory_optimization: RECOMPUTATION_HEURISTICS",
                     "recompute");
}

// "... swapping out long-lived tensors from GPU memory to more plentiful host CPU memory": the same
// gradient, and values that go to the host and back.
static void paper_5_2__swapping_is_an_option(void** state) {
  expect_same_values(512, 600, "Mul",
                     "device_count { key: 'CPU' value: 1 } device_count { key: 'SIM' value: 1 }",
                     "memory_optimization: SWAPPING_HEURISTICS", "swap");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_5_2__control_edges_delay_receives),
      TEST(paper_5_2__recomputation_is_an_option),
      TEST(paper_5_2__swapping_is_an_option),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
