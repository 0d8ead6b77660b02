// White paper, section 4.3: device constraints. Each test stands under the sentence of the paper
// that it tests, and uses the public C API on a session with several CPU devices or a simulated
// accelerator. Where a node ran is read from the statistics of its step, or from the graphs that
// the devices got. TensorFlow's finer rules of placement are tested in src/master/placement_test.c.
#include "paper/partitions.h"

#include <stdio.h>

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

// ConfigProto: device_count { "CPU": |cpus| }, perhaps allow_soft_placement.
static TF_Session* open_session(int cpus, int soft) {
  const unsigned char config[] = {0x0a, 7, 0x0a, 3, 'C', 'P', 'U', 0x10, (unsigned char)cpus,
                                  0x38, (unsigned char)soft};
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetStatus(status, TF_OK, "");
  TF_SetConfig(options, config, sizeof config, status);
  kit_ok(status);
  TF_Session* session = TF_NewSession(graph, options, status);
  kit_ok(status);
  TF_DeleteSessionOptions(options);
  return session;
}

static TF_Output placed(const char* name, const char* device, TF_Output x) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "Sign", name);
  TF_AddInput(desc, x);
  TF_SetDevice(desc, device);
  return kit_out(kit_finish(desc), 0);
}

// The device of the statistics under which |text| stands: the last "device:CPU:N" before it.
static int device_of(TF_Session* session, TF_Output fetch, const char* text) {
  TF_Tensor* result = NULL;
  const char full_trace[] = {8, 3};
  TF_Buffer* options = TF_NewBufferFromString(full_trace, sizeof full_trace);
  TF_Buffer* metadata = TF_NewBuffer();
  TF_SessionRun(session, options, NULL, NULL, 0, &fetch, &result, 1, NULL, 0, metadata, status);
  kit_ok(status);
  const char* bytes = metadata->data;
  int device = -1, found = -1;
  for (size_t i = 0; i + 13 < metadata->length; ++i) {
    if (!memcmp(bytes + i, "0/device:CPU:", 13)) device = bytes[i + 13] - '0';
    if (i + strlen(text) < metadata->length && !memcmp(bytes + i, text, strlen(text))) {
      found = device;
    }
  }
  TF_DeleteTensor(result);
  TF_DeleteBuffer(options);
  TF_DeleteBuffer(metadata);
  return found;
}

// "TensorFlow clients can control the placement of nodes on devices by providing partial
// constraints for a node about which devices the node can execute on."
static void paper_4_3__partial_constraints_place_nodes(void** state) {
  variable_t variable = paper_variable(graph, "start", 1, NULL, NULL);
  static const struct {
    const char* constraint;
    int device;
  } cases[] = {
      {"/device:CPU:1", 1},
      {"/cpu:2", 2},
      {"/job:localhost/device:CPU:1", 1},
      {"/job:localhost/replica:0/task:0", 0},
      {"/job:localhost/replica:0/task:0/device:CPU:2", 2},
      {"/device:CPU:*", 0},
      {"", 0},
  };
  TF_Session* session = open_session(3, 0);
  paper_run(session, variable.initialize);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char name[20], text[30];
    snprintf(name, sizeof name, "placed%d", (int)i);
    snprintf(text, sizeof text, "placed%d = Sign(", (int)i);
    TF_Output y = placed(name, cases[i].constraint, variable.read);
    assert_true(paper_fetch(session, y) == 1);
    assert_int_equal(device_of(session, y, text), cases[i].device);
  }
  kit_close(session);
}

// "... or 'Colocate this node with the node named variable13'."
static void paper_4_3__colocation_with_a_named_node(void** state) {
  variable_t variable = paper_variable(graph, "start", 1, NULL, NULL);
  TF_Output there = placed("variable13", "/device:CPU:2", variable.read);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Sign", "beside");
  TF_AddInput(desc, there);
  TF_ColocateWith(desc, there.oper);
  TF_Output beside = kit_out(kit_finish(desc), 0);
  TF_Session* session = open_session(3, 0);
  paper_run(session, variable.initialize);
  assert_true(paper_fetch(session, beside) == 1);
  assert_int_equal(device_of(session, beside, "beside = Sign("), 2);
  kit_close(session);
}

// "... compute the feasible set of devices for each node, then use union-find on the graph of
// colocation constraints to compute the graph components that must be placed together. For each
// such component, we compute the intersection of the feasible device sets."
static void paper_4_3__components_share_the_intersection(void** state) {
  variable_t variable = paper_variable(graph, "start", 1, NULL, NULL);
  TF_Output first = placed("first", "", variable.read);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Sign", "second");
  TF_AddInput(desc, first);
  TF_ColocateWith(desc, first.oper);
  TF_Operation* second = kit_finish(desc);
  desc = TF_NewOperation(graph, "Sign", "third");
  TF_AddInput(desc, kit_out(second, 0));
  TF_ColocateWith(desc, second);
  TF_SetDevice(desc, "/device:CPU:1");
  TF_Output third = kit_out(kit_finish(desc), 0);
  TF_Session* session = open_session(3, 0);
  paper_run(session, variable.initialize);
  assert_true(paper_fetch(session, third) == 1);
  assert_int_equal(device_of(session, third, "first = Sign("), 1);
  assert_int_equal(device_of(session, third, "second = Sign("), 1);
  assert_int_equal(device_of(session, third, "third = Sign("), 1);
  kit_close(session);
}

// Where kernels, not constraints, say what is feasible: on an accelerator that has Tanh but no
// Atan.
static void paper_4_3__kernels_narrow_a_component(void** state) {
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* alone = kit_unary(graph, "Tanh", "alone", x);
  TF_Operation* atan = kit_unary(graph, "Atan", "atan", x);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Tanh", "beside");
  TF_AddInput(desc, kit_out(alone, 0));
  TF_ColocateWith(desc, atan);
  TF_Operation* beside = kit_finish(desc);
  TF_Operation* sum = kit_binary(graph, "AddV2", "sum", beside, atan);
  TF_Session* session = paper_session(graph, "device_count { key: 'SIM' value: 1 }");
  paper_partitions_t partitions = paper_partitions_open(session, kit_out(sum, 0));
  assert_int_equal(paper_partitions_count(&partitions, "SIM:0", "Tanh"), 1);
  assert_int_equal(paper_partitions_count(&partitions, "CPU:0", "Tanh"), 1);
  assert_int_equal(paper_partitions_count(&partitions, "CPU:0", "Atan"), 1);
  paper_partitions_close(&partitions);
  kit_close(session);
}

// A constraint that no device fulfils is an error, unless soft placement was asked for.
static void paper_4_3__impossible_constraints(void** state) {
  TF_Output c = kit_out(kit_const_float(graph, "c", 1), 0);
  TF_Output y = placed("lost", "/device:CPU:9", c);
  TF_Session* session = open_session(2, 0);
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &y, &result, 1, NULL, 0, NULL, status);
  kit_expect_text(status, TF_INVALID_ARGUMENT, "lost");
  kit_close(session);
  session = open_session(2, 1);
  assert_true(paper_fetch(session, y) == 1);
  kit_close(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_4_3__partial_constraints_place_nodes),
      TEST(paper_4_3__colocation_with_a_named_node),
      TEST(paper_4_3__components_share_the_intersection),
      TEST(paper_4_3__kernels_narrow_a_component),
      TEST(paper_4_3__impossible_constraints),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
