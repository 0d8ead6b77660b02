// Hostile graphs and feeds (graphs.txt, variables.txt, functions.txt): each gives its code with a
// message, and the graph and the session go on working. A case says which code the import gives,
// what is then fed and run, and which code that gives; every step runs twice, because a first
// failure may damage what the second one meets. Each graph gets two healthy nodes before the
// import: a failed import must leave exactly these, and they must still run after the case. All
// failures of a file are listed before the test fails, and the least number of cases is stated so
// that a file that is read only in part is noticed.
#include <stdlib.h>
#include <string.h>

#include "hostile/case_file.h"

typedef struct case_s {
  leat_string_view_t name;
  int import, run;  // codes; |run| -1: nothing is run
  case_step_t step;
  bool feasible;    // the case's tensors can be made
} case_t;

static int failures;

static void complain(const case_t* c, const char* what, int got, const TF_Status* status) {
  print_error("%.*s: %s gives %d: %s\n", (int)c->name.size, c->name.data, what, got,
              TF_Message(status));
  ++failures;
}

static TF_Operation* find(TF_Graph* graph, leat_string_view_t text, leat_string_view_t* out_rest) {
  char name[100];
  size_t length = 0;
  while (length < text.size && text.data[length] != ' ') ++length;
  assert_true(length < sizeof name);
  memcpy(name, text.data, length);
  name[length] = 0;
  *out_rest = leat_string_view_from_index(text, length + 1);
  return TF_GraphOperationByName(graph, name);
}

// The fields that say what is run; the graph is there.
static void read_step(case_t* c, leat_string_view_t fields, TF_Graph* graph) {
  leat_string_view_t field, rest;
  char* end;
  c->feasible = true;
  while (case_field(&fields, &field)) {
    if (leat_string_view_starts_with(field, LEAT_SV("fetch "))) {
      c->step.fetch.oper = find(graph, leat_string_view_from_index(field, 6), &rest);
      c->step.fetch.index = (int)strtol(rest.data, NULL, 10);
    } else if (leat_string_view_starts_with(field, LEAT_SV("feed "))) {
      int i = c->step.feed_count++;
      c->step.feeds[i].oper = find(graph, leat_string_view_from_index(field, 5), &rest);
      c->step.feeds[i].index = (int)strtol(rest.data, &end, 10);
      size_t skip = (size_t)(end - rest.data) + 1;
      c->step.values[i] = case_tensor(leat_string_view_from_index(rest, skip));
      c->feasible &= c->step.values[i] != NULL;
    }
  }
}

static void run_case(case_t* c, leat_string_view_t fields, TF_Graph* graph, TF_Output healthy) {
  TF_Status* status = TF_NewStatus();
  TF_Session* session = kit_session(graph);
  read_step(c, fields, graph);
  assert_non_null(c->step.fetch.oper);
  for (int i = 0; i < 2 && c->feasible; ++i) {
    int code = (int)case_run(session, &c->step, status);
    if (code != c->run) complain(c, "running", code, status);
    if (code && TF_Message(status)[0] == 0) complain(c, "no message", code, status);
    const case_step_t good = {.fetch = healthy};
    // A node that can be placed nowhere makes the whole graph unusable, as in TensorFlow.
    if (leat_string_view_starts_with(c->name, LEAT_SV("device "))) continue;
    if (strstr(TF_Message(status), "No OpKernel was registered")) continue;
    if (case_run(session, &good, status)) complain(c, "going on", 0, status);
  }
  for (int i = 0; i < c->step.feed_count; ++i) TF_DeleteTensor(c->step.values[i]);
  kit_close(session);
  TF_DeleteStatus(status);
}

// Imports one graph and runs it if it should run. A graph that is refused must have left nothing
// behind beside the healthy node, and that node must still run.
static void check_case(leat_string_view_t line, leat_string_view_t body) {
  case_t c = {.import = -1, .run = -1};
  leat_string_view_t fields = leat_string_view_from_index(line, 4), field;
  case_field(&fields, &c.name);
  for (leat_string_view_t rest = fields; case_field(&rest, &field);) {
    if (c.import < 0) c.import = case_code(field, "import");
    if (c.run < 0) c.run = case_code(field, "run");
  }
  TF_Status* status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Output healthy =
      kit_out(kit_unary(graph, "Neg", "still_alive",
                        kit_const_float(graph, "life", 1)), 0);
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_Buffer* def = case_graph(body);
  TF_GraphImportGraphDef(graph, def, options, status);
  int code = (int)TF_GetCode(status);
  if (code != c.import) complain(&c, "importing", code, status);
  if (code && kit_count(graph) != 2) complain(&c, "leaving the graph", kit_count(graph), status);
  if (code == TF_OK && c.run >= 0) run_case(&c, fields, graph, healthy);
  TF_DeleteBuffer(def);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
}

static void check_file(const char* name, int least) {
  case_file_t file;
  leat_string_view_t line;
  int count = 0;
  failures = 0;
  case_file_open(name, &file);
  while (case_file_line(&file, &line)) {
    assert_true(leat_string_view_starts_with(line, LEAT_SV("=== ")));
    check_case(line, case_file_block(&file));
    ++count;
  }
  free(file.text);
  assert_int_equal(failures, 0);
  assert_true(count >= least);
}

static void test_graphs(void** state) { check_file("graphs.txt", 180); }
static void test_variables(void** state) { check_file("variables.txt", 50); }
static void test_functions(void** state) { check_file("functions.txt", 190); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_graphs),
      cmocka_unit_test(test_variables),
      cmocka_unit_test(test_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
