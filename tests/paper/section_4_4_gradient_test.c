// White paper, section 4.4: "When a machine learning model includes control-flow operations, we
// must account for them in the corresponding gradient computation." The graphs come as text, as a
// client would import them: nothing but nodes says what a loop or a conditional is. The conditional
// is fed values for which each branch is taken, and its derivative must follow. The loop computes
// sin(sin(... x)) for a fed number of iterations, so one gradient graph must be right for every
// number. Derivatives are those of calculus; more shapes of loops are differentiated in
// src/gradient/control_flow_test.c.
#include <math.h>
#include <string.h>

#include "capi/kit.h"
#include "leat/inspect.h"

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

#define NODE(op, name, inputs, attrs) \
  "node { name: '" name "' op: '" op "' " inputs " " attrs " }\n"
#define IN(name) "input: '" name "' "
#define TYPE(key, type) "attr { key: '" key "' value { type: DT_" type " } } "
#define NUMBER(type, field, value) \
  TYPE("dtype", type) "attr { key: 'value' value { tensor { dtype: DT_" type " tensor_shape { } " \
  field ": " value " } } } "
#define ENTER(name, from, type, constant)                                   \
  NODE("Enter", name, IN(from),                                             \
       TYPE("T", type) "attr { key: 'frame_name' value { s: 'loop' } } "    \
       "attr { key: 'is_constant' value { b: " constant " } } ")

static void import_text(const char* text) {
  TF_Buffer source = {text, strlen(text), NULL};
  TF_Buffer* bytes = leat_message_from_text("GraphDef", &source, status);
  kit_ok(status);
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(graph, bytes, options, status);
  kit_ok(status);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(bytes);
}

static TF_Output output(const char* name) {
  return kit_out(TF_GraphOperationByName(graph, name), 0);
}

// Feeds x and a second scalar, fetches one.
static float run(TF_Session* session, float x, TF_Output other, TF_Tensor* value, TF_Output fetch) {
  TF_Output feeds[] = {output("x"), other};
  TF_Tensor* values[] = {kit_float(x), value};
  TF_Tensor* result;
  TF_SessionRun(session, NULL, feeds, values, 2, &fetch, &result, 1, NULL, 0, NULL, status);
  kit_ok(status);
  float got = kit_float_of(result);
  TF_DeleteTensor(result);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  return got;
}

static TF_Output gradient(TF_Output y) {
  TF_Output x = output("x"), dy;
  TF_AddGradients(graph, &y, 1, &x, 1, NULL, status, &dy);
  kit_ok(status);
  return dy;
}

// "The gradient computation for a model with an if-conditional will need to know which branch of
// the conditional was taken, then apply the gradient logic to this branch."
static void paper_4_4__the_gradient_of_a_conditional_follows_its_branch(void** state) {
  import_text(NODE("Placeholder", "x", "", TYPE("dtype", "FLOAT"))
              NODE("Placeholder", "p", "", TYPE("dtype", "FLOAT"))
              NODE("Const", "zero", "", NUMBER("FLOAT", "float_val", "0"))
              NODE("Greater", "pred", IN("p") IN("zero"), TYPE("T", "FLOAT"))
              NODE("Switch", "s", IN("x") IN("pred"), TYPE("T", "FLOAT"))
              NODE("Mul", "square", IN("s:1") IN("s:1"), TYPE("T", "FLOAT"))
              NODE("Sin", "sine", IN("s"), TYPE("T", "FLOAT"))
              NODE("Merge", "y", IN("sine") IN("square"),
                   TYPE("T", "FLOAT") "attr { key: 'N' value { i: 2 } } "));
  TF_Output dy = gradient(output("y"));
  TF_Session* session = kit_session(graph);
  assert_true(run(session, 3, output("p"), kit_float(1), dy) == 6);
  assert_true(fabsf(run(session, 3, output("p"), kit_float(-1), dy) - cosf(3)) < 1e-6f);
  kit_close(session);
}

// "The gradient computation for a model with a while-loop will need to know how many iterations
// were taken, and will also rely on the intermediate values computed during those iterations. The
// basic technique is to rewrite the graph so to memorize the values needed."
static void paper_4_4__the_gradient_of_a_loop_runs_as_often(void** state) {
  import_text(NODE("Placeholder", "x", "", TYPE("dtype", "FLOAT"))
              NODE("Placeholder", "n", "", TYPE("dtype", "INT32"))
              NODE("Const", "zero", "", NUMBER("INT32", "int_val", "0"))
              ENTER("i0", "zero", "INT32", "false") ENTER("v0", "x", "FLOAT", "false")
              ENTER("limit", "n", "INT32", "true")
              NODE("Merge", "i", IN("i0") IN("i2"),
                   TYPE("T", "INT32") "attr { key: 'N' value { i: 2 } } ")
              NODE("Merge", "v", IN("v0") IN("v2"),
                   TYPE("T", "FLOAT") "attr { key: 'N' value { i: 2 } } ")
              NODE("Less", "less", IN("i") IN("limit"), TYPE("T", "INT32"))
              NODE("LoopCond", "more", IN("less"), "")
              NODE("Switch", "is", IN("i") IN("more"), TYPE("T", "INT32"))
              NODE("Switch", "vs", IN("v") IN("more"), TYPE("T", "FLOAT"))
              NODE("Const", "one", IN("^body"), NUMBER("INT32", "int_val", "1"))
              NODE("Identity", "body", IN("is:1"), TYPE("T", "INT32"))
              NODE("AddV2", "i1", IN("body") IN("one"), TYPE("T", "INT32"))
              NODE("Sin", "v1", IN("vs:1"), TYPE("T", "FLOAT"))
              NODE("NextIteration", "i2", IN("i1"), TYPE("T", "INT32"))
              NODE("NextIteration", "v2", IN("v1"), TYPE("T", "FLOAT"))
              NODE("Exit", "y", IN("vs"), TYPE("T", "FLOAT")));
  TF_Output dy = gradient(output("y")), d2y = gradient(dy);
  TF_Session* session = kit_session(graph);
  for (int n = 0; n < 20; n += 3) {  // sin(sin(... x)), one graph for every n
    double v = 0.7, first = 1, second = 0;
    for (int i = 0; i < n; ++i) {
      second = cos(v) * second - sin(v) * first * first;
      first *= cos(v);
      v = sin(v);
    }
    assert_true(fabs(run(session, 0.7f, output("n"), kit_int32(n), dy) - first) < 1e-5);
    assert_true(fabs(run(session, 0.7f, output("n"), kit_int32(n), d2y) - second) < 1e-5);
  }
  kit_close(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_4_4__the_gradient_of_a_conditional_follows_its_branch),
      TEST(paper_4_4__the_gradient_of_a_loop_runs_as_often),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
