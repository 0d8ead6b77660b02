// leat/inspect.h: versions, the ops and the machine as JSON, placement explained, messages as text
// and field by field. Most results are JSON or text, and the tests look for the parts that a client
// would read, since the whole changes with each new op. Messages are made from text, so that what
// is read field by field can be seen beside it. Wrong types, wrong text and fields that are not
// there must give a status or nothing.
#include <stdio.h>
#include <stdlib.h>

#include "capi/kit.h"
#include "leat/inspect.h"

static TF_Status* status;

static int set_up(void** state) {
  status = TF_NewStatus();
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteStatus(status);
  return 0;
}

static void expect_part(TF_Buffer* buffer, const char* part) {
  kit_ok(status);
  assert_non_null(buffer);
  char* text = strndup(buffer->data, buffer->length);
  if (!strstr(text, part)) fail_msg("'%s' is not in: %.500s", part, text);
  free(text);
  TF_DeleteBuffer(buffer);
}

// y = Tanh(x) twice over, x a placeholder: on which device, by whom, from what.
static TF_Output add_placed(TF_Graph* graph, const char* op, const char* name, TF_Output* x) {
  TF_OperationDescription* description = TF_NewOperation(graph, op, name);
  if (x) TF_AddInput(description, *x);
  if (!x) TF_SetAttrType(description, "dtype", TF_FLOAT);
  return kit_out(kit_finish(description), 0);
}

static void test_placement(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Output x = add_placed(graph, "Placeholder", "x", NULL);
  TF_Output y = add_placed(graph, "Tanh", "y", &x), z = add_placed(graph, "Tanh", "z", &y);
  TF_Output aside = add_placed(graph, "Neg", "aside", &x);
  expect_part(leat_explain_placement(graph, options, NULL, 0, NULL, 0, status), "\"aside\"");
  leat_set_devices(options, "CPU:1,SIM:2,NOSUCH:3", status);
  kit_ok(status);
  expect_part(leat_explain_placement(graph, options, &z, 1, NULL, 0, status),
              "{\"name\": \"y\", \"op\": \"Tanh\", \"device\": 1, \"reason\": \"preferred\"");
  leat_set_placer(options, "greedy", status);
  kit_ok(status);
  // A graph without nodes takes no time.
  TF_Graph* empty = TF_NewGraph();
  expect_part(leat_explain_placement(empty, options, NULL, 0, NULL, 0, status), "\"step_us\": 0,");
  TF_DeleteGraph(empty);
  // A step of nothing but y, which took a second on SIM and 2 us on the CPU.
  const char costs[] =
      "step_stats { dev_stats { device: '/device:SIM:0' node_stats { node_name: 'y'\n"
      "  op_end_rel_nanos: 1000000000 } }\n"
      "  dev_stats { device: '/device:CPU:0' node_stats { node_name: 'y' op_end_rel_nanos: 2000 } }"
      "}";
  TF_Buffer text = {costs, sizeof costs - 1, NULL};
  TF_Buffer* metadata = leat_message_from_text("RunMetadata", &text, status);
  kit_ok(status);
  leat_set_costs(options, metadata, status);
  kit_ok(status);
  const TF_Operation* target = y.oper;
  expect_part(leat_explain_placement(graph, options, NULL, 0, &target, 1, status),
              "\"op\": \"Tanh\", \"device\": 0, \"reason\": \"earliest end\", \"beside\": \"\", "
              "\"cost_us\": 2,");
  TF_Session* session = TF_NewSession(graph, options, status);
  kit_ok(status);
  TF_DeleteSessionOptions(options);  // the session keeps the costs
  TF_Tensor *value = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof(float)), *result = NULL;
  *(float*)TF_TensorData(value) = 2;
  TF_SessionRun(session, NULL, &x, &value, 1, &aside, &result, 1, NULL, 0, NULL, status);
  kit_ok(status);
  assert_true(*(float*)TF_TensorData(result) == -2);
  TF_DeleteTensor(value);
  TF_DeleteTensor(result);
  TF_DeleteBuffer(metadata);
  kit_close(session);
  TF_DeleteGraph(graph);
}

static void test_placement_refuses(void** state) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Buffer garbage = {"\x0a\xff", 2, NULL};
  leat_set_placer(options, "clever", status);
  assert_int_equal(TF_GetCode(status), TF_INVALID_ARGUMENT);
  static const char* const devices[] = {"SIM", "CPU:0", "CPU:x", "CPU:1;SIM:1", ":3",
                                        "CPU:4294967298"};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
    leat_set_devices(options, devices[i], status);
    assert_int_equal(TF_GetCode(status), TF_INVALID_ARGUMENT);
  }
  leat_set_costs(options, &garbage, status);
  assert_int_equal(TF_GetCode(status), TF_INVALID_ARGUMENT);
  // Targets that are none of the graph's.
  TF_Graph *graph = TF_NewGraph(), *other = TF_NewGraph();
  for (int i = 0; i < 40; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    const TF_Operation* foreign = i % 2 ? kit_no_op(other, name) : NULL;
    assert_null(leat_explain_placement(graph, options, NULL, 0, &foreign, 1, status));
    kit_expect_text(status, TF_INVALID_ARGUMENT, "must be in the graph");
  }
  TF_DeleteGraph(graph);
  TF_DeleteGraph(other);
  TF_DeleteSessionOptions(options);
}

static void test_versions(void** state) {
  assert_string_equal(leat_version(), LEAT_VERSION);
  assert_string_equal(TF_Version(), "2.21.0");
}

static void test_ops(void** state) {
  expect_part(leat_ops_json(status),
              "{\"name\": \"Neg\", \"doc\": \"-x.\", \"family\": \"math\", \"inputs\": "
              "[{\"name\": \"x\", \"type\": \"T\"}], \"outputs\": "
              "[{\"name\": \"y\", \"type\": \"T\"}]");
  expect_part(leat_ops_json(status),
              "\"shapes\": \"matrix[..., n, n] rhs[..., n, k] -> output[..., n, k]\", ");
  expect_part(leat_ops_json(status), "\"fused\": [{\"by\": \"fusion\", \"doc\": \"one loop");
  expect_part(leat_ops_json(status), ", {\"by\": \"product_bias\", \"doc\": \"a product and");
  expect_part(leat_ops_json(status), "{\"name\": \"transpose_a\", \"type\": \"bool\", "
                                     "\"default\": \"false\"}");
  expect_part(leat_ops_json(status), "{\"name\": \"N\", \"type\": \"int >= 1\"}");
}

static void test_doctor(void** state) {
  expect_part(leat_doctor_json(0, status), "\"version\": \"" LEAT_VERSION "\"");
  expect_part(leat_doctor_json(0, status), "\"modules\": {\"onednn\": ");
  expect_part(leat_doctor_json(1, status), "\"null_step_us\": ");
}

static TF_Buffer* parse(const char* type, const char* text) {
  TF_Buffer source = {text, strlen(text), NULL};
  TF_Buffer* bytes = leat_message_from_text(type, &source, status);
  kit_ok(status);
  return bytes;
}

static void test_text(void** state) {
  TF_Buffer* bytes = parse("GraphDef", "node { name: 'a' op: 'NoOp' input: '^b' }");
  expect_part(leat_message_to_text("GraphDef", bytes, status),
              "node {\n  name: \"a\"\n  op: \"NoOp\"\n  input: \"^b\"\n}\n");
  expect_part(leat_message_to_text("tensorflow.GraphDef", bytes, status), "name: \"a\"");
  TF_DeleteBuffer(bytes);
  bytes = parse("Event", "step: 4 summary { value { tag: 'loss' simple_value: 0.5 } }");
  expect_part(leat_message_to_text("Event", bytes, status), "simple_value: 0.5");
  TF_DeleteBuffer(bytes);
}

static void test_bad_text(void** state) {
  TF_Buffer text = {"node { nome: 'a' }", 18, NULL};
  assert_null(leat_message_from_text("GraphDef", &text, status));
  kit_expect_text(status, TF_INVALID_ARGUMENT, "nome");
  assert_null(leat_message_from_text("Alien", &text, status));
  kit_expect_text(status, TF_NOT_FOUND, "type is 'Alien'");
  assert_null(leat_message_to_text("GraphDef", &text, status));
  kit_expect(status, TF_INVALID_ARGUMENT);
  assert_null(leat_message_to_text(NULL, &text, status));
  kit_expect(status, TF_NOT_FOUND);
  assert_null(leat_message_open("GraphDef", &text, status));
  kit_expect(status, TF_INVALID_ARGUMENT);
  leat_message_close(NULL);
}

static void test_fields(void** state) {
  TF_Buffer* bytes = parse(
      "GraphDef",
      "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }"
      "  attr { key: 'shape' value { shape { dim { size: -1 } dim { size: 3 } } } } }"
      "node { name: 'y' op: 'Neg' input: 'x' attr { key: 'eps' value { f: 0.25 } } }"
      "versions { producer: 21 }");
  leat_message_t* message = leat_message_open("GraphDef", bytes, status);
  kit_ok(status);
  leat_message_view_t graph = leat_message_view(message);
  assert_int_equal(leat_message_count(graph, "node"), 2);
  assert_int_equal(leat_message_count(graph, "library"), 0);
  assert_int_equal(leat_message_count(graph, "nonsense"), 0);
  leat_message_view_t x = leat_message_child(graph, "node", 0);
  size_t size;
  assert_memory_equal(leat_message_string(x, "op", 0, &size), "Placeholder", 11);
  assert_int_equal(size, 11);
  leat_message_view_t entry = leat_message_child(x, "attr", 0);
  leat_message_view_t value = leat_message_child(entry, "value", 0);
  assert_memory_equal(leat_message_string(value, "type", 0, &size), "DT_FLOAT", 8);
  assert_int_equal(leat_message_integer(value, "type", 0), 1);
  assert_int_equal(leat_message_count(value, "type"), 1);   // the oneof's member
  assert_int_equal(leat_message_count(value, "f"), 0);      // another one
  assert_null(leat_message_child(value, "shape", 0).data);
  leat_message_view_t shape = leat_message_child(
      leat_message_child(leat_message_child(x, "attr", 1), "value", 0), "shape", 0);
  assert_int_equal(leat_message_integer(leat_message_child(shape, "dim", 0), "size", 0), -1);
  leat_message_view_t y = leat_message_child(graph, "node", 1);
  value = leat_message_child(leat_message_child(y, "attr", 0), "value", 0);
  assert_true(leat_message_real(value, "f", 0) == 0.25);
  assert_int_equal(
      leat_message_integer(leat_message_child(graph, "versions", 0), "producer", 0), 21);
  expect_part(leat_message_view_to_text(y, status), "name: \"y\"\n");
  // Past the end, absent, of another kind: empty.
  leat_message_view_t none = leat_message_child(graph, "node", 2);
  assert_null(none.data);
  assert_string_equal(leat_message_string(none, "name", 0, &size), "");
  assert_int_equal(size, 0);
  assert_int_equal(leat_message_integer(y, "name", 0), 0);
  assert_string_equal(leat_message_string(y, "input", 1, NULL), "");
  TF_DeleteBuffer(leat_message_view_to_text(none, status));
  kit_ok(status);
  leat_message_close(message);
  TF_DeleteBuffer(bytes);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_placement), TEST(test_placement_refuses),
      TEST(test_versions), TEST(test_ops),      TEST(test_doctor),
      TEST(test_text),     TEST(test_bad_text), TEST(test_fields),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
