// Operations with inputs out of bounds (operations.txt), as constants, which folding sees, and as
// feeds: each gives its code with a message, and the session goes on working. A line of the file
// names an op, its attributes and inputs, and the code that building or running must give in either
// way. The inputs are built into a graph as text, run in a fresh session, and a harmless node is
// run after each. All lines are tried before the test fails, so that one run lists every
// difference. sweep_test.c tries all ops with inputs drawn at random.
#include <stdio.h>
#include <stdlib.h>

#include "hostile/case_file.h"

enum { kInputs = 8 };

typedef struct case_s {
  leat_string_view_t name, op, attrs;
  leat_string_view_t constants, fed;  // what happens
  leat_string_view_t inputs[kInputs];
  int input_count;
} case_t;

static int failures;

static void complain(const case_t* c, const char* how, const char* what, int code,
                     const TF_Status* status) {
  print_error("%.*s (%s): %s gives %d: %s\n", (int)c->name.size, c->name.data, how, what, code,
              TF_Message(status));
  ++failures;
}

static void read_case(leat_string_view_t line, case_t* out) {
  leat_string_view_t field;
  *out = (case_t){0};
  assert_true(case_field(&line, &out->name) && case_field(&line, &out->op));
  assert_true(case_field(&line, &out->attrs));
  while (case_field(&line, &field)) {
    if (leat_string_view_starts_with(field, LEAT_SV("constants "))) {
      out->constants = leat_string_view_from_index(field, 10);
    } else if (leat_string_view_starts_with(field, LEAT_SV("fed "))) {
      out->fed = leat_string_view_from_index(field, 4);
    } else if (leat_string_view_starts_with(field, LEAT_SV("input "))) {
      assert_true(out->input_count < kInputs);
      out->inputs[out->input_count++] = leat_string_view_from_index(field, 6);
    }
  }
}

// The attributes of the case as those of a node.
static void print_attrs(leat_string_view_t attrs, leat_string_builder_t* out) {
  const char* at = attrs.data;
  const char* limit = attrs.data + attrs.size;
  while (at < limit) {
    const char* equals = strstr(at, " = ");
    const char* end = memchr(equals, ';', (size_t)(limit - equals));
    leat_string_builder_print(out, "attr { key: \"%.*s\" value { %.*s } } ", (int)(equals - at), at,
                              (int)(end - equals - 3), equals + 3);
    at = end + 1;
    while (at < limit && *at == ' ') ++at;
  }
}

static void print_constant(int index, TF_Tensor* tensor, leat_string_builder_t* out) {
  const unsigned char* bytes = TF_TensorData(tensor);
  int dtype = (int)TF_TensorType(tensor);
  leat_string_builder_print(out,
                            "node { name: \"in%d\" op: \"Const\" attr { key: \"dtype\" value { "
                            "type: %d } } attr { key: \"value\" value { tensor { dtype: %d "
                            "tensor_shape { ",
                            index, dtype, dtype);
  for (int d = 0; d < TF_NumDims(tensor); ++d) {
    leat_string_builder_print(out, "dim { size: %lld } ", (long long)TF_Dim(tensor, d));
  }
  leat_string_builder_print(out, "} tensor_content: \"");
  for (size_t i = 0; i < TF_TensorByteSize(tensor); ++i) {
    leat_string_builder_print(out, "\\%03o", bytes[i]);
  }
  leat_string_builder_print(out, "\" } } } }\n");
}

static TF_Buffer* make_graph(const case_t* c, bool constants, TF_Tensor* const* values) {
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_print(&text,
                            "node { name: \"life\" op: \"NoOp\" } "
                            "node { name: \"still_alive\" op: \"NoOp\" input: \"^life\" }\n");
  for (int i = 0; i < c->input_count; ++i) {
    if (constants) {
      print_constant(i, values[i], &text);
    } else {
      leat_string_builder_print(&text,
                                "node { name: \"in%d\" op: \"Placeholder\" attr { key: \"dtype\" "
                                "value { type: %d } } }\n",
                                i, (int)TF_TensorType(values[i]));
    }
  }
  leat_string_builder_print(&text, "node { name: \"n\" op: \"%.*s\" ", (int)c->op.size, c->op.data);
  for (int i = 0; i < c->input_count; ++i) leat_string_builder_print(&text, "input: \"in%d\" ", i);
  print_attrs(c->attrs, &text);
  leat_string_builder_print(&text, "}\n");
  TF_Buffer* graph = case_graph(leat_string_builder_view(&text));
  leat_string_builder_deinitialize(&text);
  return graph;
}

static void run(const case_t* c, const char* how, bool constants, int expected, TF_Graph* graph,
                TF_Tensor* const* values) {
  TF_Status* status = TF_NewStatus();
  TF_Session* session = kit_session(graph);
  case_step_t step = {.fetch = kit_out(TF_GraphOperationByName(graph, "n"), 0)};
  const case_step_t good = {.fetch = kit_out(TF_GraphOperationByName(graph, "still_alive"), -1)};
  for (int i = 0; i < c->input_count && !constants; ++i) {
    char name[10];
    snprintf(name, sizeof name, "in%d", i);
    step.feeds[i] = kit_out(TF_GraphOperationByName(graph, name), 0);
    step.values[i] = values[i];
    step.feed_count = i + 1;
  }
  int code = (int)case_run(session, &step, status);
  if (code != expected) complain(c, how, "running", code, status);
  if (case_run(session, &good, status)) complain(c, how, "going on", 0, status);
  kit_close(session);
  TF_DeleteStatus(status);
}

static void check_way(const case_t* c, bool constants, TF_Tensor* const* values) {
  const char* how = constants ? "constants" : "fed";
  leat_string_view_t outcome = constants ? c->constants : c->fed;
  int build = case_code(outcome, "build"), expected = case_code(outcome, "run");
  TF_Status* status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_Buffer* def = make_graph(c, constants, values);
  TF_GraphImportGraphDef(graph, def, options, status);
  int code = (int)TF_GetCode(status);
  if (code != (build < 0 ? 0 : build)) complain(c, how, "building", code, status);
  if (code == TF_OK && expected >= 0) run(c, how, constants, expected, graph, values);
  TF_DeleteBuffer(def);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
}

static void test_operations(void** state) {
  case_file_t file;
  leat_string_view_t line;
  int count = 0;
  case_file_open("operations.txt", &file);
  while (case_file_line(&file, &line)) {
    case_t c;
    TF_Tensor* values[kInputs];
    read_case(line, &c);
    for (int i = 0; i < c.input_count; ++i) values[i] = case_tensor(c.inputs[i]);
    check_way(&c, true, values);
    check_way(&c, false, values);
    for (int i = 0; i < c.input_count; ++i) TF_DeleteTensor(values[i]);
    ++count;
  }
  free(file.text);
  assert_int_equal(failures, 0);
  assert_true(count >= 290);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_operations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
