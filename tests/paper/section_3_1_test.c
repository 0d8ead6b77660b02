// White paper, section 3.1: single-device execution.
#include "paper/counter.h"

#include <stdio.h>

// "The nodes of the graph are executed in an order that respects the dependencies between nodes."
// "... once this count drops to zero, the node is eligible for execution": each node of a diamond
// chain runs once, after both of its inputs.
static void paper_3_1__nodes_run_once_after_their_dependencies(void** state) {
  enum { kLevels = 12 };
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Output left = kit_out(x, 0), right = left;
  counter_t counters[2 * kLevels];
  for (int i = 0; i < kLevels; ++i) {
    char names[4][20];
    for (int k = 0; k < 4; ++k) snprintf(names[k], 20, "n%d_%d", i, k);
    TF_Operation* sum = kit_binary(graph, "AddV2", names[0], left.oper, right.oper);
    TF_Operation* difference = kit_binary(graph, "Sub", names[1], left.oper, right.oper);
    counters[2 * i] = paper_counted(graph, names[2], kit_out(sum, 0));
    counters[2 * i + 1] = paper_counted(graph, names[3], kit_out(difference, 0));
    left = counters[2 * i].output;
    right = counters[2 * i + 1].output;
  }
  TF_Operation* end = kit_binary(graph, "AddV2", "end", left.oper, right.oper);
  TF_Session* session = kit_session(graph);
  for (int i = 0; i < 2 * kLevels; ++i) paper_run(session, counters[i].variable.initialize);
  for (int step = 1; step <= 3; ++step) {
    TF_Tensor* result = kit_run(session, kit_out(x, 0), kit_float(3), kit_out(end, 0));
    // (a, b) -> (a + b, a - b): twice doubles both; 12 levels from (3, 3), then the sum.
    assert_true(kit_float_of(result) == 2 * 3 * 64);
    TF_DeleteTensor(result);
    for (int i = 0; i < 2 * kLevels; ++i) {
      assert_true(paper_fetch(session, counters[i].variable.read) == (float)step);
    }
  }
  kit_close(session);
  TF_DeleteGraph(graph);
}

// "In particular, we keep track of a count per node of the number of dependencies of that node that
// have not yet been executed": a node with thousands of dependencies, most of them equal.
static void paper_3_1__counts_of_dependencies(void** state) {
  enum { kInputs = 3000 };
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* y = kit_unary(graph, "Neg", "y", x);
  TF_Output inputs[kInputs];
  for (int i = 0; i < kInputs; ++i) inputs[i] = kit_out(i % 7 ? x : y, 0);
  TF_OperationDescription* desc = TF_NewOperation(graph, "AddN", "sum");
  TF_AddInputList(desc, inputs, kInputs);
  for (int i = 0; i < 100; ++i) TF_AddControlInput(desc, y);
  TF_Operation* sum = kit_finish(desc);
  TF_Session* session = kit_session(graph);
  for (int step = 0; step < 3; ++step) {
    TF_Tensor* result = kit_run(session, kit_out(x, 0), kit_float(1), kit_out(sum, 0));
    assert_true(kit_float_of(result) == kInputs - 2 * 429);
    TF_DeleteTensor(result);
  }
  kit_close(session);
  TF_DeleteGraph(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paper_3_1__nodes_run_once_after_their_dependencies),
      cmocka_unit_test(paper_3_1__counts_of_dependencies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
