// Importing: every option, results, failures that leave the graph as it was, and back again. Each
// test begins with a GraphDef of four nodes, which the fixture exports from a graph, and imports it
// with an option set, or imports bytes that are wrong in one way each. After a refusal the number
// of operations must be what it was. The importer below is tested in src/graph/import, and hostile
// GraphDefs in tests/hostile.
#include "capi/kit.h"

typedef struct fixture_s {
  TF_Graph* graph;
  TF_Status* status;
  TF_Buffer* def;  // feed (Placeholder), three (Const), neg = Neg(feed), sum = AddV2(neg, three)
  TF_ImportGraphDefOptions* options;
} fixture_t;

static fixture_t f;

static TF_Buffer* export_graph(TF_Graph* graph) {
  TF_Buffer* buffer = TF_NewBuffer();
  TF_GraphToGraphDef(graph, buffer, f.status);
  kit_ok(f.status);
  return buffer;
}

static int set_up(void** state) {
  f.status = TF_NewStatus();
  TF_Graph* source = TF_NewGraph();
  TF_Operation* feed = kit_placeholder(source, "feed", TF_INT32);
  TF_Operation* three = kit_const_int32(source, "three", 3);
  TF_Operation* negative = kit_unary(source, "Neg", "neg", feed);
  kit_binary(source, "AddV2", "sum", negative, three);
  f.def = export_graph(source);
  TF_DeleteGraph(source);
  f.graph = TF_NewGraph();
  f.options = TF_NewImportGraphDefOptions();
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteImportGraphDefOptions(f.options);
  TF_DeleteBuffer(f.def);
  TF_DeleteGraph(f.graph);
  TF_DeleteStatus(f.status);
  return 0;
}

static void import(void) {
  TF_GraphImportGraphDef(f.graph, f.def, f.options, f.status);
  kit_ok(f.status);
}

static void refuse(TF_Code code) {
  int count = kit_count(f.graph);
  TF_GraphImportGraphDef(f.graph, f.def, f.options, f.status);
  kit_expect(f.status, code);
  assert_int_equal(kit_count(f.graph), count);
}

static TF_Operation* find(const char* name) {
  TF_Operation* operation = TF_GraphOperationByName(f.graph, name);
  if (!operation) fail_msg("no operation '%s'", name);
  return operation;
}

static TF_Operation* input_of(const char* name, int index) {
  return TF_OperationInput((TF_Input){find(name), index}).oper;
}

static void test_plain(void** state) {
  import();
  assert_int_equal(kit_count(f.graph), 4);
  assert_ptr_equal(input_of("sum", 0), find("neg"));
  assert_string_equal(TF_OperationOpType(find("three")), "Const");
  TF_Session* session = kit_session(f.graph);
  TF_Tensor* value =
      kit_run(session, kit_out(find("feed"), 0), kit_int32(5), kit_out(find("sum"), 0));
  assert_int_equal(kit_int32_of(value), -2);
  TF_DeleteTensor(value);
  kit_close(session);
}

static void test_round_trip(void** state) {
  import();
  TF_Buffer* again = export_graph(f.graph);
  assert_int_equal(again->length, f.def->length);
  assert_memory_equal(again->data, f.def->data, again->length);
  TF_GraphToGraphDef(f.graph, again, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);  // the buffer is in use
  TF_DeleteBuffer(again);
  TF_Buffer* node = TF_NewBuffer();
  TF_OperationToNodeDef(find("neg"), node, f.status);
  kit_ok(f.status);
  assert_memory_equal(node->data, "\x0a\x03neg\x12\x03Neg\x1a\x04" "feed", 16);
  TF_DeleteBuffer(node);
  TF_Buffer* versions = TF_NewBuffer();
  TF_GraphVersions(f.graph, versions, f.status);
  kit_ok(f.status);
  assert_true(versions->length > 0);
  TF_DeleteBuffer(versions);
}

static void test_prefix(void** state) {
  TF_ImportGraphDefOptionsSetPrefix(f.options, "model");
  import();
  assert_ptr_equal(input_of("model/neg", 0), find("model/feed"));
  refuse(TF_INVALID_ARGUMENT);
  TF_ImportGraphDefOptionsSetUniquifyPrefix(f.options, 1);
  import();
  assert_ptr_equal(input_of("model_1/neg", 0), find("model_1/feed"));
  TF_ImportGraphDefOptionsSetPrefix(f.options, "");
  import();
  assert_ptr_equal(input_of("neg", 0), find("feed"));
}

static void test_uniquify_names(void** state) {
  import();
  refuse(TF_INVALID_ARGUMENT);
  TF_ImportGraphDefOptionsSetUniquifyNames(f.options, 1);
  import();
  assert_ptr_equal(input_of("neg_1", 0), find("feed_1"));
  assert_int_equal(kit_count(f.graph), 8);
}

static void test_input_mapping(void** state) {
  TF_Operation* mine = kit_placeholder(f.graph, "mine", TF_INT32);
  TF_ImportGraphDefOptionsAddInputMapping(f.options, "feed", 0, kit_out(mine, 0));
  TF_ImportGraphDefOptionsAddInputMapping(f.options, "feed", 5, kit_out(mine, 0));
  TF_ImportGraphDefOptionsAddInputMapping(f.options, "typo", 0, kit_out(mine, 0));
  TF_ImportGraphDefOptionsAddReturnOutput(f.options, "feed", 0);
  TF_ImportGraphDefOptionsAddReturnOutput(f.options, "sum", 0);
  TF_ImportGraphDefOptionsAddReturnOperation(f.options, "three");
  assert_int_equal(TF_ImportGraphDefOptionsNumReturnOutputs(f.options), 2);
  assert_int_equal(TF_ImportGraphDefOptionsNumReturnOperations(f.options), 1);
  TF_ImportGraphDefResults* results =
      TF_GraphImportGraphDefWithResults(f.graph, f.def, f.options, f.status);
  kit_ok(f.status);
  assert_ptr_equal(input_of("neg", 0), mine);
  int count = 0;
  TF_Output* outputs = NULL;
  TF_ImportGraphDefResultsReturnOutputs(results, &count, &outputs);
  assert_int_equal(count, 2);
  assert_ptr_equal(outputs[0].oper, mine);
  assert_ptr_equal(outputs[1].oper, find("sum"));
  TF_Operation** operations = NULL;
  TF_ImportGraphDefResultsReturnOperations(results, &count, &operations);
  assert_int_equal(count, 1);
  assert_ptr_equal(operations[0], find("three"));
  const char** names = NULL;
  int* indices = NULL;
  TF_ImportGraphDefResultsMissingUnusedInputMappings(results, &count, &names, &indices);
  assert_int_equal(count, 2);
  assert_string_equal(names[0], "feed");
  assert_int_equal(indices[0], 5);
  assert_string_equal(names[1], "typo");
  assert_int_equal(indices[1], 0);
  TF_DeleteImportGraphDefResults(results);
  TF_DeleteImportGraphDefResults(NULL);
}

static void test_bad_mappings(void** state) {
  TF_Graph* other = TF_NewGraph();
  TF_Operation* stranger = kit_placeholder(other, "stranger", TF_INT32);
  TF_ImportGraphDefOptionsAddInputMapping(f.options, "feed", 0, kit_out(stranger, 0));
  refuse(TF_INVALID_ARGUMENT);
  TF_DeleteImportGraphDefOptions(f.options);
  f.options = TF_NewImportGraphDefOptions();
  TF_Operation* real = kit_placeholder(f.graph, "real", TF_FLOAT);
  TF_ImportGraphDefOptionsAddInputMapping(f.options, "feed", 0, kit_out(real, 0));
  refuse(TF_INVALID_ARGUMENT);  // of another type
  TF_DeleteImportGraphDefOptions(f.options);
  f.options = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsAddInputMapping(f.options, "feed", 0, kit_out(real, 3));
  refuse(TF_INVALID_ARGUMENT);  // no such output
  TF_DeleteGraph(other);
}

static void test_return_outputs(void** state) {
  TF_Output outputs[2];
  TF_ImportGraphDefOptionsSetPrefix(f.options, "in");
  TF_ImportGraphDefOptionsAddReturnOutput(f.options, "sum", 0);
  TF_GraphImportGraphDefWithReturnOutputs(f.graph, f.def, f.options, outputs, 2, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_GraphImportGraphDefWithReturnOutputs(f.graph, f.def, f.options, NULL, 1, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  assert_int_equal(kit_count(f.graph), 0);
  TF_GraphImportGraphDefWithReturnOutputs(f.graph, f.def, f.options, outputs, 1, f.status);
  kit_ok(f.status);
  assert_ptr_equal(outputs[0].oper, find("in/sum"));
  TF_ImportGraphDefOptionsSetPrefix(f.options, "again");
  TF_ImportGraphDefOptionsAddReturnOutput(f.options, "nothing", 0);
  refuse(TF_INVALID_ARGUMENT);
}

static void test_control(void** state) {
  TF_Operation* first = kit_no_op(f.graph, "first");
  TF_ImportGraphDefOptionsAddControlDependency(f.options, first);
  import();
  TF_Operation* found[2];
  assert_int_equal(TF_OperationGetControlInputs(find("feed"), found, 2), 1);
  assert_ptr_equal(found[0], first);
  // A graph whose one operation waits for "gone", which is to be "first".
  TF_Graph* source = TF_NewGraph();
  TF_Operation* gone = kit_no_op(source, "gone");
  TF_OperationDescription* desc = TF_NewOperation(source, "NoOp", "waits");
  TF_AddControlInput(desc, gone);
  kit_finish(desc);
  TF_DeleteBuffer(f.def);
  f.def = export_graph(source);
  TF_DeleteGraph(source);
  TF_DeleteImportGraphDefOptions(f.options);
  f.options = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsRemapControlDependency(f.options, "gone", first);
  import();
  assert_int_equal(TF_OperationGetControlInputs(find("waits"), found, 2), 1);
  assert_ptr_equal(found[0], first);
}

static void test_default_device(void** state) {
  TF_ImportGraphDefOptionsSetDefaultDevice(f.options, "/device:CPU:0");
  import();
  assert_string_equal(TF_OperationDevice(find("neg")), "/device:CPU:0");
}

static void replace_def(const char* bytes, size_t length) {
  TF_DeleteBuffer(f.def);
  f.def = TF_NewBufferFromString(bytes, length);
}
#define REPLACE_DEF(text) replace_def(text, sizeof(text) - 1)

static void test_bad_graph_defs(void** state) {
  REPLACE_DEF("\x0a\xff");  // truncated
  refuse(TF_INVALID_ARGUMENT);
  REPLACE_DEF("\x0a\x0b\x0a\x01" "a\x12\x06NoSuch");  // op
  refuse(TF_NOT_FOUND);
  REPLACE_DEF("\x0a\x0b\x0a\x03" "a b\x12\x04NoOp");  // name
  refuse(TF_INVALID_ARGUMENT);
  REPLACE_DEF("\x0a\x09\x0a\x01" "a\x12\x04NoOp\x0a\x09\x0a\x01" "a\x12\x04NoOp");  // twice
  refuse(TF_INVALID_ARGUMENT);
  REPLACE_DEF("\x0a\x0d\x0a\x01" "a\x12\x04NoOp\x1a\x02^b");  // control input
  refuse(TF_INVALID_ARGUMENT);
  REPLACE_DEF("\x0a\x0d\x0a\x01" "a\x12\x04NoOp\x1a\x02^a");  // itself
  refuse(TF_INVALID_ARGUMENT);
  REPLACE_DEF("\x22\x06\x08\xff\xff\x03\x10\xff\xff\x03");  // versions, badly
  refuse(TF_INVALID_ARGUMENT);
  TF_GraphImportGraphDef(f.graph, NULL, f.options, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  assert_null(TF_GraphImportGraphDefWithResultsNoSerialization(f.graph, f.def, f.options,
                                                               f.status));
  kit_expect(f.status, TF_UNIMPLEMENTED);
}

// Every prefix of a good GraphDef is refused or taken, and nothing else happens.
static void test_truncated(void** state) {
  TF_Buffer* whole = f.def;
  for (size_t length = 0; length < whole->length; ++length) {
    f.def = TF_NewBufferFromString(whole->data, length);
    int count = kit_count(f.graph);
    TF_GraphImportGraphDef(f.graph, f.def, f.options, f.status);
    if (TF_GetCode(f.status) != TF_OK) {
      assert_int_equal(TF_GetCode(f.status), TF_INVALID_ARGUMENT);
      assert_int_equal(kit_count(f.graph), count);
    }
    TF_DeleteBuffer(f.def);
    TF_DeleteGraph(f.graph);
    f.graph = TF_NewGraph();
  }
  f.def = whole;
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(test_plain),          TEST(test_round_trip),
      TEST(test_prefix),         TEST(test_uniquify_names),
      TEST(test_input_mapping),  TEST(test_bad_mappings),
      TEST(test_return_outputs), TEST(test_control),
      TEST(test_default_device), TEST(test_bad_graph_defs),
      TEST(test_truncated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
