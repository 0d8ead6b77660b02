// TF_FinishOperation: what it refuses, with TensorFlow's codes, and that the graph stays as it was.
// Each test describes an operation that is wrong in one way, in its name, inputs, attributes or
// shapes, and finishes it; afterwards the graph must have as many operations as before and none of
// that name. Errors are reported at the end only, so that the setters in between must accept
// anything. Attributes that are right are tested in attr_test.c.
#include "capi/kit.h"

typedef struct fixture_s {
  TF_Graph* graph;
  TF_Status* status;
  TF_Output x;  // float
  TF_Output i;  // int32
} fixture_t;

static fixture_t fixture;

static int set_up(void** state) {
  fixture.graph = TF_NewGraph();
  fixture.status = TF_NewStatus();
  fixture.x = kit_out(kit_placeholder(fixture.graph, "x", TF_FLOAT), 0);
  fixture.i = kit_out(kit_placeholder(fixture.graph, "i", TF_INT32), 0);
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(fixture.graph);
  TF_DeleteStatus(fixture.status);
  return 0;
}

static TF_OperationDescription* begin(const char* op) {
  return TF_NewOperation(fixture.graph, op, "new");
}

// The end fails, and leaves no trace.
static void refuse(TF_OperationDescription* desc, const char* text) {
  int count = kit_count(fixture.graph);
  assert_null(TF_FinishOperation(desc, fixture.status));
  kit_expect_text(fixture.status, TF_INVALID_ARGUMENT, text);
  assert_int_equal(kit_count(fixture.graph), count);
  assert_null(TF_GraphOperationByName(fixture.graph, "new"));
}

static void accept(TF_OperationDescription* desc) { kit_finish(desc); }

static void test_names(void** state) {
  refuse(begin("NoSuchOp"), "NoSuchOp");
  TF_OperationDescription* desc = TF_NewOperation(fixture.graph, "NoOp", "x");
  assert_null(TF_FinishOperation(desc, fixture.status));
  kit_expect_text(fixture.status, TF_INVALID_ARGUMENT, "Duplicate node name in graph: 'x'");
}

static void test_input_counts(void** state) {
  refuse(begin("Neg"), "inputs");
  TF_OperationDescription* desc = begin("Neg");
  TF_AddInput(desc, fixture.x);
  TF_AddInput(desc, fixture.x);
  refuse(desc, "inputs");
  desc = begin("NoOp");
  TF_AddInput(desc, fixture.x);
  refuse(desc, "inputs");
}

static void test_input_kinds(void** state) {
  TF_OperationDescription* desc = begin("Neg");
  TF_AddInputList(desc, &fixture.x, 1);
  refuse(desc, "list passed to 'x'");
  desc = begin("AddN");
  TF_AddInput(desc, fixture.x);
  refuse(desc, "single tensor passed to 'inputs'");
  desc = begin("AddN");
  TF_AddInputList(desc, NULL, 0);
  refuse(desc, "");
  desc = begin("AddN");
  TF_AddInputList(desc, &fixture.x, -1);
  refuse(desc, "list length");
}

static void test_input_types(void** state) {
  TF_OperationDescription* desc = begin("AddV2");
  TF_AddInput(desc, fixture.x);
  TF_AddInput(desc, fixture.i);
  refuse(desc, "T");
  const TF_Output both[] = {fixture.x, fixture.i};
  desc = begin("AddN");
  TF_AddInputList(desc, both, 2);
  refuse(desc, "int32");
  desc = begin("FakeQuantWithMinMaxArgs");  // takes float only; the words are TensorFlow's
  TF_AddInput(desc, fixture.i);
  refuse(desc, "Input 'inputs' passed int32 expected float while building NodeDef 'new' using "
               "Op<name=FakeQuantWithMinMaxArgs; ");
  desc = begin("MatMul");  // not of this type
  TF_AddInput(desc, kit_out(kit_placeholder(fixture.graph, "b", TF_BOOL), 0));
  TF_AddInput(desc, kit_out(TF_GraphOperationByName(fixture.graph, "b"), 0));
  refuse(desc, "");
}

static void test_input_places(void** state) {
  TF_Graph* other = TF_NewGraph();
  TF_Operation* stranger = kit_placeholder(other, "stranger", TF_FLOAT);
  TF_OperationDescription* desc = begin("Neg");
  TF_AddInput(desc, kit_out(fixture.x.oper, 3));
  refuse(desc, "index is 3");
  desc = begin("Neg");
  TF_AddInput(desc, kit_out(fixture.x.oper, -1));
  refuse(desc, "index is -1");
  desc = begin("Neg");
  TF_AddInput(desc, kit_out(stranger, 0));
  refuse(desc, "another graph");
  desc = begin("Neg");
  TF_AddInput(desc, kit_out(NULL, 0));
  refuse(desc, "NULL");
  desc = begin("NoOp");
  TF_AddControlInput(desc, stranger);
  refuse(desc, "another graph");
  desc = begin("NoOp");
  TF_ColocateWith(desc, NULL);
  refuse(desc, "NULL");
  TF_DeleteGraph(other);
}

static void test_attributes(void** state) {
  refuse(begin("Placeholder"), "dtype");  // missing
  TF_OperationDescription* desc = begin("Placeholder");
  TF_SetAttrInt(desc, "dtype", 1);
  refuse(desc, "dtype");  // of another kind
  desc = begin("Placeholder");
  TF_SetAttrType(desc, "dtype", (TF_DataType)99);
  refuse(desc, "dtype");
  desc = begin("Placeholder");
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_SetAttrType(desc, "dtype", TF_INT32);
  refuse(desc, "inconsistent");
  desc = begin("Neg");
  TF_AddInput(desc, fixture.x);
  TF_SetAttrType(desc, "T", TF_INT32);
  refuse(desc, "T");
  desc = begin("Placeholder");
  const int64_t dims[] = {-7};
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_SetAttrShape(desc, "shape", dims, 1);
  refuse(desc, "shape");
  desc = begin("Neg");
  TF_AddInput(desc, fixture.x);
  TF_SetAttrType(desc, "T", TF_FLOAT);
  TF_SetAttrType(desc, "T", TF_FLOAT);  // the same again is no error
  accept(desc);
}

static void test_shapes_that_do_not_fit(void** state) {
  const int64_t a[] = {2, 3}, b[] = {4, 5};
  TF_OperationDescription* desc = begin("MatMul");
  TF_AddInput(desc, kit_out(kit_shaped(fixture.graph, "a", TF_FLOAT, 2, a), 0));
  TF_AddInput(desc, kit_out(kit_shaped(fixture.graph, "b", TF_FLOAT, 2, b), 0));
  refuse(desc, "");
}

static void test_bad_messages(void** state) {
  const void* bad = "\xff";
  const size_t length = 1;
  TF_OperationDescription* desc = begin("Placeholder");
  TF_SetAttrValueProto(desc, "dtype", bad, length, fixture.status);
  kit_expect_text(fixture.status, TF_INVALID_ARGUMENT, "Unparseable AttrValue proto");
  TF_SetAttrTensorShapeProto(desc, "shape", bad, length, fixture.status);
  kit_expect_text(fixture.status, TF_INVALID_ARGUMENT, "Unparseable TensorShapeProto");
  TF_SetAttrTensorShapeProtoList(desc, "shape", &bad, &length, 1, fixture.status);
  kit_expect(fixture.status, TF_INVALID_ARGUMENT);
  TF_SetAttrTensor(desc, "value", NULL, fixture.status);
  kit_expect(fixture.status, TF_INVALID_ARGUMENT);
  TF_SetAttrValueProto(desc, "_class", "\x18\x05", 2, fixture.status);  // i: 5
  kit_expect(fixture.status, TF_INVALID_ARGUMENT);
  refuse(desc, "dtype");
}

static void test_nothing_to_build_on(void** state) {
  TF_SetDevice(NULL, "");
  TF_AddInput(NULL, fixture.x);
  TF_SetAttrInt(NULL, "a", 1);
  TF_SetAttrString(NULL, "a", "b", 1);
  assert_null(TF_FinishOperation(NULL, fixture.status));
  kit_expect(fixture.status, TF_RESOURCE_EXHAUSTED);
}

static void test_placement(void** state) {
  TF_OperationDescription* desc = begin("Neg");
  TF_AddInput(desc, fixture.x);
  TF_SetDevice(desc, "/device:CPU:0");
  TF_ColocateWith(desc, fixture.x.oper);
  TF_ColocateWith(desc, fixture.i.oper);
  TF_ColocateWith(desc, fixture.x.oper);
  TF_Operation* operation = kit_finish(desc);
  assert_string_equal(TF_OperationDevice(operation), "/device:CPU:0");
  void* values[3];
  size_t lengths[3];
  char storage[64];
  TF_AttrMetadata metadata = TF_OperationGetAttrMetadata(operation, "_class", fixture.status);
  kit_ok(fixture.status);
  assert_int_equal(metadata.list_size, 2);
  TF_OperationGetAttrStringList(operation, "_class", values, lengths, 3, storage, sizeof storage,
                                fixture.status);
  kit_ok(fixture.status);
  assert_int_equal(lengths[0], 6);
  assert_memory_equal(values[0], "loc:@i", 6);
  assert_memory_equal(values[1], "loc:@x", 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(test_names),        TEST(test_input_counts),
      TEST(test_input_kinds),  TEST(test_input_types),
      TEST(test_input_places), TEST(test_attributes),
      TEST(test_shapes_that_do_not_fit),
      TEST(test_bad_messages), TEST(test_nothing_to_build_on),
      TEST(test_placement),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
