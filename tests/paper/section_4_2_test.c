// White paper, section 4.2: partial execution. All tests run parts of one graph of six nodes, in
// the manner of figure 6, through the public C API. Each node counts its runs (counter.h), and the
// counts of all six are compared after a step, so that a node which ran without need shows as well
// as one that did not run. Errors in feeds and fetches are tested in tests/capi/session_test.c.
#include "paper/counter.h"

static TF_Graph* graph;
static TF_Status* status;
static TF_Output x;                      // a placeholder
static counter_t a, b, c, d, e, f;       // figure 6: a, b -> c -> e; c -> d -> f
static TF_Session* session;

static counter_t counted_sum(const char* name, const char* sum, TF_Output p, TF_Output q) {
  return paper_counted(graph, name, kit_out(kit_binary(graph, "AddV2", sum, p.oper, q.oper), 0));
}

static int set_up(void** state) {
  graph = TF_NewGraph();
  status = TF_NewStatus();
  x = kit_out(kit_placeholder(graph, "x", TF_FLOAT), 0);
  a = paper_counted(graph, "a", x);
  b = paper_counted(graph, "b", kit_out(kit_const_float(graph, "two", 2), 0));
  c = counted_sum("c", "c_sum", a.output, b.output);
  d = paper_counted(graph, "d", c.output);
  e = counted_sum("e", "e_sum", c.output, c.output);
  f = paper_counted(graph, "f", d.output);
  session = kit_session(graph);
  const counter_t* all[] = {&a, &b, &c, &d, &e, &f};
  for (int i = 0; i < 6; ++i) paper_run(session, all[i]->variable.initialize);
  return 0;
}

static int tear_down(void** state) {
  kit_close(session);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

// How often each has run: one digit a node, "abcdef".
static void expect_runs(const char* runs) {
  const counter_t* all[] = {&a, &b, &c, &d, &e, &f};
  char got[7] = "";
  for (int i = 0; i < 6; ++i) {
    got[i] = (char)('0' + (int)paper_fetch(session, all[i]->variable.read));
  }
  assert_string_equal(got, runs);
}

static float run(TF_Output feed, float value, TF_Output fetch) {
  TF_Tensor* result = kit_run(session, feed, kit_float(value), fetch);
  float got = kit_float_of(result);
  TF_DeleteTensor(result);
  return got;
}

// "... the transitive closure of all nodes that must be executed in order to compute the outputs
// that were requested."
static void paper_4_2__fetch_runs_only_needed_nodes(void** state) {
  assert_true(run(x, 5, c.output) == 7);
  expect_runs("111000");
  assert_true(run(x, 5, e.output) == 14);
  expect_runs("222010");
}

// As in figure 6, b is fed and f is fetched. Neither e runs, which f does not need, nor the node b,
// whose place the feed takes.
static void paper_4_2__figure_6(void** state) {
  const TF_Output feeds[] = {x, b.output};
  TF_Tensor* values[] = {kit_float(1), kit_float(10)};
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, feeds, values, 2, &f.output, &result, 1, NULL, 0, NULL, status);
  kit_ok(status);
  assert_true(kit_float_of(result) == 11);
  expect_runs("101101");
  TF_DeleteTensor(result);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
}

// "Both inputs and outputs may be any edge of the graph."
static void paper_4_2__any_edge_can_be_fed(void** state) {
  assert_true(run(c.output, 100, e.output) == 200);
  expect_runs("000010");
  assert_true(run(d.output, 3, f.output) == 3);
  expect_runs("000011");
}

// A fetch asks for a computation, a feed takes its place: of one edge there is one of the two.
static void paper_4_2__an_edge_is_fed_or_fetched(void** state) {
  TF_Tensor *fed = kit_float(42), *result = NULL;
  TF_SessionRun(session, NULL, &c.output, &fed, 1, &c.output, &result, 1, NULL, 0, NULL, status);
  kit_expect(status, TF_INVALID_ARGUMENT);
  expect_runs("000000");
  TF_DeleteTensor(fed);
}

// "If the port portion is missing ... the node should be executed but no output tensor returned":
// targets.
static void paper_4_2__targets_run_without_an_output(void** state) {
  const TF_Operation* targets[] = {c.output.oper, e.output.oper};
  TF_Tensor* fed = kit_float(1);
  TF_SessionRun(session, NULL, &x, &fed, 1, NULL, NULL, 0, targets, 2, NULL, status);
  kit_ok(status);
  expect_runs("111010");
  TF_DeleteTensor(fed);
}

// "... an output that is fetched twice is computed once."
static void paper_4_2__one_output_fetched_twice(void** state) {
  const TF_Output fetches[] = {c.output, e.output, c.output};
  TF_Tensor *fed = kit_float(1), *results[3];
  TF_SessionRun(session, NULL, &x, &fed, 1, fetches, results, 3, NULL, 0, NULL, status);
  kit_ok(status);
  const float expected[] = {3, 6, 3};
  for (int i = 0; i < 3; ++i) {
    assert_true(kit_float_of(results[i]) == expected[i]);
    TF_DeleteTensor(results[i]);
  }
  expect_runs("111010");
  TF_DeleteTensor(fed);
}

// Different parts of one graph, each by its own call.
static void paper_4_2__each_call_chooses_its_part(void** state) {
  assert_true(run(x, 1, a.output) == 1);
  assert_true(run(x, 1, f.output) == 3);
  assert_true(run(c.output, 2, d.output) == 2);
  assert_true(run(x, 1, a.output) == 1);
  expect_runs("311201");
}

// A placeholder that is needed must be fed; one that is not needed, need not.
static void paper_4_2__what_is_needed_must_be_fed(void** state) {
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &c.output, &result, 1, NULL, 0, NULL, status);
  kit_expect(status, TF_INVALID_ARGUMENT);
  assert_null(result);
  assert_true(paper_fetch(session, b.output) == 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_4_2__fetch_runs_only_needed_nodes),
      TEST(paper_4_2__figure_6),
      TEST(paper_4_2__any_edge_can_be_fed),
      TEST(paper_4_2__an_edge_is_fed_or_fetched),
      TEST(paper_4_2__targets_run_without_an_output),
      TEST(paper_4_2__one_output_fetched_twice),
      TEST(paper_4_2__each_call_chooses_its_part),
      TEST(paper_4_2__what_is_needed_must_be_fed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
