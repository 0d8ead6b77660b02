// White paper, section 5.1: common subexpression elimination. What ran is counted in the statistics
// of a traced step, by op, because that is what the paper promises: redundant copies are computed
// once. All graphs begin with the value of a variable, since constants would be folded before
// anything could be merged. Operands may be exchanged only where the op says so, and different
// attributes or types keep nodes apart. Two equal additions to a variable are two effects and must
// both happen. The pass itself is tested node by node in src/optimize/pass_test.c.
#include "paper/counter.h"

#include <math.h>

static TF_Graph* graph;
static TF_Output x;
static variable_t v;

static int set_up(void** state) {
  graph = TF_NewGraph();
  v = paper_variable(graph, "v", 0.5f, NULL, NULL);
  x = v.read;
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(graph);
  return 0;
}

// How many nodes of |op| run for the fetches.
static int runs_of(const TF_Output* fetches, int count, const char* op) {
  char text[50] = " = ";
  strcat(strcat(text, op), "(");
  TF_Session* session = kit_session(graph);
  paper_run(session, v.initialize);
  int runs = paper_traced(session, fetches, count, text);
  kit_close(session);
  return runs;
}

static TF_Operation* unary(const char* op, const char* name, TF_Output in) {
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  TF_AddInput(desc, in);
  return kit_finish(desc);
}

// "... canonicalizes multiple copies of operations with identical inputs and operation types to
// just a single one of these nodes, and redirects graph edges appropriately."
static void paper_5_1__redundant_copies_become_one(void** state) {
  TF_Output fetches[2];
  const char* names[2][3] = {{"a1", "a2", "a3"}, {"b1", "b2", "b3"}};
  for (int i = 0; i < 2; ++i) {
    TF_Operation* e = unary("Exp", names[i][0], x);
    TF_Operation* s = unary("Sin", names[i][1], kit_out(e, 0));
    fetches[i] = kit_out(unary("Tanh", names[i][2], kit_out(s, 0)), 0);
  }
  assert_int_equal(runs_of(fetches, 2, "Exp"), 1);
  assert_int_equal(runs_of(fetches, 2, "Sin"), 1);
  assert_int_equal(runs_of(fetches, 2, "Tanh"), 1);
  TF_Session* session = kit_session(graph);
  paper_run(session, v.initialize);
  for (int i = 0; i < 2; ++i) {
    assert_true(fabs(paper_fetch(session, fetches[i]) - tanh(sin(exp(0.5)))) < 1e-6);
  }
  kit_close(session);
}

static TF_Output binary(const char* op, const char* name, TF_Output a, TF_Output b) {
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  TF_AddInput(desc, a);
  TF_AddInput(desc, b);
  return kit_out(kit_finish(desc), 0);
}

// After Click's algorithm: the order of operands counts only where the operation says so.
static void paper_5_1__operands_of_sums_commute(void** state) {
  TF_Output e = kit_out(unary("Exp", "e", x), 0);
  TF_Output sums[] = {binary("AddV2", "a", x, e), binary("AddV2", "b", e, x)};
  TF_Output differences[] = {binary("Sub", "c", x, e), binary("Sub", "d", e, x)};
  assert_int_equal(runs_of(sums, 2, "AddV2"), 1);
  assert_int_equal(runs_of(differences, 2, "Sub"), 2);
}

// Different inputs, attributes or types are different operations.
static void paper_5_1__different_operations_stay(void** state) {
  TF_Operation* e = unary("Exp", "e", x);
  TF_Output fetches[] = {kit_out(e, 0), kit_out(unary("Exp", "ee", kit_out(e, 0)), 0)};
  assert_int_equal(runs_of(fetches, 2, "Exp"), 2);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Cast", "double");
  TF_AddInput(desc, x);
  TF_SetAttrType(desc, "DstT", TF_DOUBLE);
  TF_Output casts[] = {kit_out(kit_finish(desc), 0), {NULL, 0}};
  desc = TF_NewOperation(graph, "Cast", "int");
  TF_AddInput(desc, x);
  TF_SetAttrType(desc, "DstT", TF_INT32);
  casts[1] = kit_out(kit_finish(desc), 0);
  assert_int_equal(runs_of(casts, 2, "Cast"), 2);
}

// What has state is not an expression: two copies do their work twice.
static void paper_5_1__stateful_copies_stay(void** state) {
  TF_Operation* adds[] = {paper_add(graph, "add1", v, 1), paper_add(graph, "add2", v, 1)};
  TF_OperationDescription* desc = TF_NewOperation(graph, "NoOp", "both");
  TF_AddControlInput(desc, adds[0]);
  TF_Operation* both = paper_after(desc, adds[1]);
  TF_Session* session = kit_session(graph);
  paper_run(session, v.initialize);
  paper_run(session, both);
  assert_true(paper_fetch(session, v.read) == 2.5f);
  kit_close(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_5_1__redundant_copies_become_one),
      TEST(paper_5_1__operands_of_sums_commute),
      TEST(paper_5_1__different_operations_stay),
      TEST(paper_5_1__stateful_copies_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
