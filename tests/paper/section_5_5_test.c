// White paper, section 5.5: lossy compression of values that go between devices. A thousand floats
// with all kinds of mantissas and exponents go from one CPU device to another. By default they must
// arrive bit for bit; with the option enable_bfloat16_sendrecv each must have its upper 16 bits and
// zeros below, which is exactly how the paper describes the format. The node on each device is an
// Abs of positive numbers, which changes none of them, so that any difference comes from the
// transfer.
#include <math.h>

#include "paper/partitions.h"

enum { kCount = 1000 };

static TF_Graph* graph;
static TF_Status* status;
static float sent[kCount], received[kCount];

static int set_up(void** state) {
  graph = TF_NewGraph();
  status = TF_NewStatus();
  for (int i = 0; i < kCount; ++i) sent[i] = ldexpf(1.0f + (float)i / 7, i % 200 - 100);
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

// |sent| goes from one device to the other, in a session with that configuration.
static void transfer(const char* config) {
  TF_Session* session = paper_session(graph, config);
  TF_Output x = kit_out(TF_GraphOperationByName(graph, "x"), 0);
  TF_Output y = kit_out(TF_GraphOperationByName(graph, "y"), 0);
  TF_Tensor* value = kit_run(session, x, kit_floats(kCount, sent), y);
  assert_int_equal(TF_TensorByteSize(value), sizeof received);
  memcpy(received, TF_TensorData(value), sizeof received);
  TF_DeleteTensor(value);
  kit_close(session);
}

static void build(void) {
  const int64_t dims[] = {kCount};
  TF_Operation* x = kit_shaped(graph, "x", TF_FLOAT, 1, dims);
  const char* names[] = {"there", "y"};
  for (int i = 0; i < 2; ++i) {
    TF_OperationDescription* desc = TF_NewOperation(graph, "Abs", names[i]);
    TF_AddInput(desc, kit_out(x, 0));
    TF_SetDevice(desc, i ? "/device:CPU:1" : "/device:CPU:0");
    x = kit_finish(desc);
  }
}

#define TWO "device_count { key: 'CPU' value: 2 } "

// "... we often use lossy compression of higher precision internal representations when sending
// data between devices": by option.
static void paper_5_5__values_are_exact_unless_asked(void** state) {
  build();
  transfer(TWO);
  assert_memory_equal(received, sent, sizeof sent);
}

// "... converts 32-bit floating point representations into a 16-bit floating point representation
// (... just 16 bits less precision in the mantissa), and then convert back ... by just filling in
// zeroes for the lost portion of the mantissa".
static void paper_5_5__mantissas_lose_16_bits(void** state) {
  build();
  transfer(TWO "graph_options { enable_bfloat16_sendrecv: true }");
  for (int i = 0; i < kCount; ++i) {
    uint32_t before, after;
    memcpy(&before, &sent[i], 4);
    memcpy(&after, &received[i], 4);
    assert_int_equal(after, before & 0xffff0000u);
    assert_true(fabsf(received[i] - sent[i]) <= ldexpf(sent[i], -7));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_5_5__values_are_exact_unless_asked),
      TEST(paper_5_5__mantissas_lose_16_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
