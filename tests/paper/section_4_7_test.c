// White paper, section 4.7: containers.
#include "paper/counter.h"

// "A Container is the mechanism within TensorFlow for managing longer-lived mutable state. The
// backing store for a Variable lives in a container."
static void paper_4_7__variables_live_in_containers(void** state) {
  TF_Graph* graph = TF_NewGraph();
  variable_t one = paper_variable(graph, "one", 1, "c1", "v");
  variable_t same = paper_variable(graph, "same", 2, "c1", "v");
  variable_t other = paper_variable(graph, "other", 3, "c2", "v");
  TF_Session* session = kit_session(graph);
  paper_run(session, one.initialize);
  paper_run(session, other.initialize);
  assert_true(paper_fetch(session, same.read) == 1);  // one container, one name: one variable
  paper_run(session, same.initialize);
  assert_true(paper_fetch(session, one.read) == 2);
  assert_true(paper_fetch(session, other.read) == 3);  // of another container
  kit_close(session);
  TF_DeleteGraph(graph);
}

// "The default container": where a variable lives that names none.
static void paper_4_7__the_default_container(void** state) {
  TF_Graph* graph = TF_NewGraph();
  variable_t one = paper_variable(graph, "one", 1, NULL, "v");
  variable_t same = paper_variable(graph, "same", 2, "", "v");
  TF_Session* session = kit_session(graph);
  paper_run(session, one.initialize);
  assert_true(paper_fetch(session, same.read) == 1);
  kit_close(session);
  TF_DeleteGraph(graph);
}

// "Using containers, it is possible to share state even across completely disjoint computation
// graphs associated with different Sessions."
static void paper_4_7__state_is_shared_across_sessions(void** state) {
  TF_Graph* graphs[2] = {TF_NewGraph(), TF_NewGraph()};
  variable_t here = paper_variable(graphs[0], "here", 1, "shared between sessions", "v");
  variable_t there = paper_variable(graphs[1], "there", 2, "shared between sessions", "v");
  TF_Operation* add = paper_add(graphs[1], "add", there, 10);
  TF_Session* sessions[2] = {kit_session(graphs[0]), kit_session(graphs[1])};
  paper_run(sessions[0], here.initialize);
  assert_true(paper_fetch(sessions[1], there.read) == 1);
  paper_run(sessions[1], add);
  assert_true(paper_fetch(sessions[0], here.read) == 11);
  kit_close(sessions[0]);
  assert_true(paper_fetch(sessions[1], there.read) == 11);  // state outlives a session
  kit_close(sessions[1]);
  TF_Session* later = kit_session(graphs[0]);
  assert_true(paper_fetch(later, here.read) == 11);
  kit_close(later);
  for (int i = 0; i < 2; ++i) TF_DeleteGraph(graphs[i]);
}

// What names no container belongs to its session.
static void paper_4_7__sessions_do_not_meet_in_the_default_container(void** state) {
  TF_Graph* graph = TF_NewGraph();
  variable_t v = paper_variable(graph, "v", 1, NULL, NULL);
  TF_Operation* add = paper_add(graph, "add", v, 10);
  TF_Session *one = kit_session(graph), *two = kit_session(graph);
  paper_run(one, v.initialize);
  paper_run(two, v.initialize);
  paper_run(one, add);
  assert_true(paper_fetch(one, v.read) == 11);
  assert_true(paper_fetch(two, v.read) == 1);
  kit_close(one);
  kit_close(two);
  TF_DeleteGraph(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paper_4_7__variables_live_in_containers),
      cmocka_unit_test(paper_4_7__the_default_container),
      cmocka_unit_test(paper_4_7__state_is_shared_across_sessions),
      cmocka_unit_test(paper_4_7__sessions_do_not_meet_in_the_default_container),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
