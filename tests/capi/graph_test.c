// TF_Graph and TF_Operation: life, names, order, edges both ways, shapes, constants, edits. The
// tests use the public functions only, and hold the addresses of operations while the graph grows,
// because the C API promises that they stay. Edits are followed by a look at both ends of the edge.
// Attributes of every kind are tested in attr_test.c, nodes that must be refused in builder_test.c,
// and importing in import_test.c.
#include "capi/kit.h"

#include <stdio.h>
#include <string.h>

static void test_empty(void** state) {
  TF_Graph* graph = TF_NewGraph();
  size_t position = 0;
  assert_null(TF_GraphNextOperation(graph, &position));
  assert_null(TF_GraphOperationByName(graph, "x"));
  TF_DeleteGraph(graph);
  TF_DeleteGraph(NULL);
}

static void test_names_and_order(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* y = kit_placeholder(graph, "scope/y", TF_INT32);
  assert_string_equal(TF_OperationName(x), "x");
  assert_string_equal(TF_OperationName(y), "scope/y");
  assert_string_equal(TF_OperationOpType(x), "Placeholder");
  assert_string_equal(TF_OperationDevice(x), "");
  assert_ptr_equal(TF_GraphOperationByName(graph, "scope/y"), y);
  assert_null(TF_GraphOperationByName(graph, "y"));
  size_t position = 0;
  assert_ptr_equal(TF_GraphNextOperation(graph, &position), x);
  assert_ptr_equal(TF_GraphNextOperation(graph, &position), y);
  assert_null(TF_GraphNextOperation(graph, &position));
  // One that is added on the way comes at the end.
  TF_Operation* z = kit_no_op(graph, "z");
  assert_ptr_equal(TF_GraphNextOperation(graph, &position), z);
  TF_DeleteGraph(graph);
}

// A client may give a node any name, as bindings do ("const/0/[1 2 3 4]"). Such a graph can be
// looked at and written; a session, which would have to read it, refuses it.
static void test_any_name_is_taken(void** state) {
  static const char* const names[] = {"const/0/[1 2 3 4]", "a b", "", "^a", "a:0", "\303\251"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    TF_Graph* graph = TF_NewGraph();
    TF_Status* status = TF_NewStatus();
    TF_Buffer* bytes = TF_NewBuffer();
    TF_Operation* node =
        TF_FinishOperation(TF_NewOperation(graph, "NoOp", names[i]), status);
    assert_int_equal(TF_GetCode(status), TF_OK);
    assert_string_equal(TF_OperationName(node), names[i]);
    assert_ptr_equal(TF_GraphOperationByName(graph, names[i]), node);
    TF_GraphToGraphDef(graph, bytes, status);
    assert_int_equal(TF_GetCode(status), TF_OK);
    TF_SessionOptions* options = TF_NewSessionOptions();
    TF_Session* session = TF_NewSession(graph, options, status);
    const TF_Operation* target = kit_no_op(graph, "sound");
    TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, status);
    assert_int_equal(TF_GetCode(status), TF_INVALID_ARGUMENT);
    assert_non_null(strstr(TF_Message(status), "Node name contains invalid characters"));
    TF_DeleteSession(session, status);
    TF_DeleteSessionOptions(options);
    TF_DeleteBuffer(bytes);
    TF_DeleteStatus(status);
    TF_DeleteGraph(graph);
  }
}

static void test_addresses_stay(void** state) {
  enum { kCount = 3000 };
  static TF_Operation* operations[kCount];
  TF_Graph* graph = TF_NewGraph();
  char name[32];
  for (int i = 0; i < kCount; ++i) {
    snprintf(name, sizeof name, "n%d", i);
    operations[i] = kit_no_op(graph, name);
  }
  size_t position = 0;
  for (int i = 0; i < kCount; ++i) {
    snprintf(name, sizeof name, "n%d", i);
    assert_ptr_equal(TF_GraphNextOperation(graph, &position), operations[i]);
    assert_string_equal(TF_OperationName(operations[i]), name);
  }
  TF_DeleteGraph(graph);
}

static void test_edges(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* y = kit_placeholder(graph, "y", TF_FLOAT);
  TF_Operation* sum = kit_binary(graph, "AddV2", "sum", x, y);
  TF_Operation* twice = kit_binary(graph, "AddV2", "twice", x, x);
  assert_int_equal(TF_OperationNumInputs(sum), 2);
  assert_int_equal(TF_OperationNumOutputs(sum), 1);
  assert_int_equal(TF_OperationInputType((TF_Input){sum, 1}), TF_FLOAT);
  assert_int_equal(TF_OperationOutputType(kit_out(sum, 0)), TF_FLOAT);
  assert_int_equal(TF_OperationOutputType(kit_out(sum, 7)), 0);
  TF_Output source = TF_OperationInput((TF_Input){sum, 1});
  assert_ptr_equal(source.oper, y);
  assert_int_equal(source.index, 0);
  source = TF_OperationInput((TF_Input){sum, 2});
  assert_null(source.oper);
  assert_int_equal(source.index, -1);
  TF_Output all[2] = {{NULL, 9}, {NULL, 9}};
  TF_OperationAllInputs(sum, all, 1);
  assert_ptr_equal(all[0].oper, x);
  assert_null(all[1].oper);
  assert_int_equal(TF_OperationOutputNumConsumers(kit_out(x, 0)), 3);
  TF_Input consumers[2];
  assert_int_equal(TF_OperationOutputConsumers(kit_out(x, 0), consumers, 2), 3);
  assert_int_equal(TF_OperationOutputNumConsumers(kit_out(twice, 0)), 0);
  assert_int_equal(TF_OperationOutputNumConsumers(kit_out(x, 3)), 0);
  // They grow with the graph.
  kit_unary(graph, "Identity", "same", twice);
  assert_int_equal(TF_OperationOutputConsumers(kit_out(twice, 0), consumers, 2), 1);
  assert_string_equal(TF_OperationName(consumers[0].oper), "same");
  assert_int_equal(consumers[0].index, 0);
  TF_DeleteGraph(graph);
}

static void test_control_edges(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* a = kit_no_op(graph, "a");
  TF_Operation* b = kit_no_op(graph, "b");
  TF_OperationDescription* desc = TF_NewOperation(graph, "NoOp", "c");
  TF_AddControlInput(desc, a);
  TF_AddControlInput(desc, b);
  TF_AddControlInput(desc, a);
  TF_Operation* c = kit_finish(desc);
  TF_Operation* found[2] = {NULL, NULL};
  assert_int_equal(TF_OperationNumControlInputs(c), 2);
  assert_int_equal(TF_OperationGetControlInputs(c, found, 2), 2);
  assert_ptr_equal(found[0], a);
  assert_ptr_equal(found[1], b);
  assert_int_equal(TF_OperationNumControlOutputs(a), 1);
  assert_int_equal(TF_OperationGetControlOutputs(a, found, 1), 1);
  assert_ptr_equal(found[0], c);
  assert_int_equal(TF_OperationNumControlOutputs(c), 0);
  assert_int_equal(TF_OperationNumInputs(c), 0);
  TF_DeleteGraph(graph);
}

static void test_lists(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Output parts[] = {kit_out(kit_placeholder(graph, "x", TF_FLOAT), 0),
                       kit_out(kit_placeholder(graph, "y", TF_FLOAT), 0)};
  TF_OperationDescription* desc = TF_NewOperation(graph, "ConcatV2", "joined");
  TF_AddInputList(desc, parts, 2);
  TF_AddInput(desc, kit_out(kit_const_int32(graph, "axis", 0), 0));
  TF_Operation* joined = kit_finish(desc);
  assert_int_equal(TF_OperationNumInputs(joined), 3);
  assert_int_equal(TF_OperationInputListLength(joined, "values", s), 2);
  kit_ok(s);
  assert_int_equal(TF_OperationInputListLength(joined, "axis", s), 1);
  assert_int_equal(TF_OperationOutputListLength(joined, "output", s), 1);
  kit_ok(s);
  assert_int_equal(TF_OperationInputListLength(joined, "nothing", s), -1);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_int_equal(TF_OperationOutputListLength(joined, "values", s), -1);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_int_equal(TF_OperationInputType((TF_Input){joined, 2}), TF_INT32);
  int64_t length = 0;
  TF_OperationGetAttrInt(joined, "N", &length, s);
  kit_ok(s);
  assert_int_equal(length, 2);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

static void test_shapes(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Output x = kit_out(kit_placeholder(graph, "x", TF_FLOAT), 0);
  int64_t dims[2] = {7, 7};
  assert_int_equal(TF_GraphGetTensorNumDims(graph, x, s), -1);
  kit_ok(s);
  TF_GraphSetTensorShape(graph, x, NULL, -1, s);
  kit_ok(s);
  const int64_t first[] = {2, -1}, second[] = {-1, 3}, wrong[] = {2, 4}, bad[] = {-2, 1};
  TF_GraphSetTensorShape(graph, x, first, 2, s);
  kit_ok(s);
  TF_GraphSetTensorShape(graph, x, second, 2, s);
  kit_ok(s);
  assert_int_equal(TF_GraphGetTensorNumDims(graph, x, s), 2);
  TF_GraphGetTensorShape(graph, x, dims, 2, s);
  kit_ok(s);
  assert_int_equal(dims[0], 2);
  assert_int_equal(dims[1], 3);
  TF_GraphSetTensorShape(graph, x, wrong, 2, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_GraphSetTensorShape(graph, x, bad, 2, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_GraphSetTensorShape(graph, x, wrong, 1, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_GraphGetTensorShape(graph, x, dims, 1, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

static void test_shape_of_strangers(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Graph* other = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  assert_int_equal(TF_GraphGetTensorNumDims(other, kit_out(x, 0), s), -1);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_int_equal(TF_GraphGetTensorNumDims(graph, kit_out(x, 1), s), -1);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_GraphSetTensorShape(graph, kit_out(NULL, 0), NULL, -1, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(TF_GetHandleShapeAndType(graph, kit_out(x, 0)));
  TF_DeleteGraph(graph);
  TF_DeleteGraph(other);
  TF_DeleteStatus(s);
}

static void test_constants(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* three = kit_const_int32(graph, "three", 3);
  TF_Operation* sum = kit_binary(graph, "AddV2", "sum", three, three);
  TF_Operation* x = kit_placeholder(graph, "x", TF_INT32);
  TF_Operation* mixed = kit_binary(graph, "AddV2", "mixed", x, three);
  TF_Tensor* value = NULL;
  assert_int_equal(TF_TryEvaluateConstant(graph, kit_out(three, 0), &value, s), 1);
  kit_ok(s);
  assert_int_equal(kit_int32_of(value), 3);
  TF_DeleteTensor(value);
  assert_int_equal(TF_TryEvaluateConstant(graph, kit_out(sum, 0), &value, s), 1);
  assert_int_equal(kit_int32_of(value), 6);
  TF_DeleteTensor(value);
  assert_int_equal(TF_TryEvaluateConstant(graph, kit_out(mixed, 0), &value, s), 0);
  kit_ok(s);
  assert_null(value);
  const int64_t dims[] = {4, 5};
  TF_Operation* known = kit_shaped(graph, "known", TF_FLOAT, 2, dims);
  TF_Operation* shape = kit_unary(graph, "Shape", "shape", known);
  assert_int_equal(TF_TryEvaluateConstant(graph, kit_out(shape, 0), &value, s), 1);
  assert_int_equal(((const int32_t*)TF_TensorData(value))[1], 5);
  TF_DeleteTensor(value);
  assert_int_equal(TF_TryEvaluateConstant(graph, kit_out(three, 5), &value, s), 0);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

// A placeholder with a default may be fed with something else, so nothing follows from the default.
static void test_constants_of_defaults(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* three = kit_const_int32(graph, "three", 3);
  TF_OperationDescription* desc = TF_NewOperation(graph, "PlaceholderWithDefault", "x");
  TF_AddInput(desc, kit_out(three, 0));
  TF_SetAttrShape(desc, "shape", NULL, 0);
  TF_Operation* x = kit_finish(desc);
  TF_Operation* sum = kit_binary(graph, "AddV2", "sum", x, three);
  TF_Tensor* value = NULL;
  assert_int_equal(TF_TryEvaluateConstant(graph, kit_out(x, 0), &value, s), 0);
  kit_ok(s);
  assert_null(value);
  assert_int_equal(TF_TryEvaluateConstant(graph, kit_out(sum, 0), &value, s), 0);
  kit_ok(s);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

// Whether |input| is an input in the NodeDef of |operation|: field 3, a text below 128 bytes.
static bool has_input(TF_Operation* operation, const char* input) {
  TF_Status* s = TF_NewStatus();
  TF_Buffer* def = TF_NewBuffer();
  TF_OperationToNodeDef(operation, def, s);
  kit_ok(s);
  const size_t size = strlen(input);
  bool found = false;
  for (const char* p = def->data; p + 2 + size <= (const char*)def->data + def->length; ++p) {
    found |= p[0] == 0x1a && (size_t)p[1] == size && memcmp(p + 2, input, size) == 0;
  }
  TF_DeleteBuffer(def);
  TF_DeleteStatus(s);
  return found;
}

static void test_edits(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* y = kit_placeholder(graph, "y", TF_FLOAT);
  TF_Operation* same = kit_unary(graph, "Identity", "same", x);
  assert_int_equal(TF_OperationOutputNumConsumers(kit_out(x, 0)), 1);
  assert_true(has_input(same, "x"));
  TF_UpdateEdge(graph, kit_out(y, 0), (TF_Input){same, 0}, s);
  kit_ok(s);
  assert_true(has_input(same, "y:0"));  // TensorFlow writes the index where an edge was updated
  assert_ptr_equal(TF_OperationInput((TF_Input){same, 0}).oper, y);
  assert_int_equal(TF_OperationOutputNumConsumers(kit_out(x, 0)), 0);
  TF_UpdateEdge(graph, kit_out(y, 1), (TF_Input){same, 0}, s);
  kit_expect(s, TF_OUT_OF_RANGE);
  TF_UpdateEdge(graph, kit_out(y, 0), (TF_Input){same, 1}, s);
  kit_expect(s, TF_OUT_OF_RANGE);
  TF_AddOperationControlInput(graph, same, x);
  TF_AddOperationControlInput(graph, same, x);
  assert_int_equal(TF_OperationNumControlInputs(same), 1);
  assert_int_equal(TF_OperationNumControlOutputs(x), 1);
  TF_RemoveAllControlInputs(graph, same);
  assert_int_equal(TF_OperationNumControlInputs(same), 0);
  assert_int_equal(TF_OperationNumControlOutputs(x), 0);
  TF_SetRequestedDevice(graph, same, "/device:CPU:0");
  assert_string_equal(TF_OperationDevice(same), "/device:CPU:0");
  TF_Buffer* attr = TF_NewBufferFromString("\x18\x05", 2);  // i: 5
  TF_SetAttr(graph, same, "_five", attr, s);
  kit_ok(s);
  int64_t five = 0;
  TF_OperationGetAttrInt(same, "_five", &five, s);
  assert_int_equal(five, 5);
  TF_ClearAttr(graph, same, "_five", s);
  kit_ok(s);
  TF_ClearAttr(graph, same, "_five", s);
  kit_ok(s);
  TF_OperationGetAttrInt(same, "_five", &five, s);
  kit_expect(s, TF_NOT_FOUND);
  TF_DeleteBuffer(attr);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

// What is inferred behind a constant follows from the value that it has now.
static void test_replaced_constant(void** state) {
  // AttrValue { tensor { dtype: DT_INT32, tensor_shape { dim { size: 2 } }, tensor_content: 3 2 } }
  static const char three_two[] =
      "\x42\x12\x08\x03\x12\x04\x12\x02\x08\x02\x22\x08\3\0\0\0\2\0\0";
  const int64_t six = 6, two = 2;
  const int32_t two_three[] = {2, 3};
  int64_t dims[2] = {0};
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_shaped(graph, "x", TF_FLOAT, 1, &six);
  TF_Operation* shape =
      kit_const(graph, "shape", kit_tensor(TF_INT32, 1, &two, two_three, sizeof two_three));
  kit_binary(graph, "Reshape", "before", x, shape);
  TF_Buffer* value = TF_NewBufferFromString(three_two, sizeof three_two);
  TF_SetAttr(graph, shape, "value", value, s);
  kit_ok(s);
  TF_DeleteBuffer(value);
  TF_Operation* after = kit_binary(graph, "Reshape", "after", x, shape);
  TF_GraphGetTensorShape(graph, kit_out(after, 0), dims, 2, s);
  kit_ok(s);
  assert_int_equal(dims[0], 3);
  assert_int_equal(dims[1], 2);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

static void set_attr(TF_Graph* graph, TF_Operation* op, const char* name, const char* bytes,
                     TF_Status* s) {
  TF_Buffer* value = TF_NewBufferFromString(bytes, 2);
  TF_SetAttr(graph, op, name, value, s);
  TF_DeleteBuffer(value);
}

// An attribute that says what a node reads and gives cannot say something else afterwards: a
// product of doubles would read twice as many bytes as its floats have.
static void test_attributes_fit_edges(void** state) {
  const char kDouble[] = "\x30\x02", kThree[] = "\x18\x03", kTrue[] = "\x28\x01";
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* product = kit_binary(graph, "MatMul", "product", x, x);
  set_attr(graph, product, "T", kDouble, s);
  kit_expect_text(s, TF_INVALID_ARGUMENT, "node 'product' (MatMul): input 0 is of type float");
  TF_DataType type = TF_INT8;
  TF_OperationGetAttrType(product, "T", &type, s);
  assert_int_equal(type, TF_FLOAT);
  set_attr(graph, product, "transpose_a", kTrue, s);
  kit_ok(s);
  const TF_Output terms[] = {kit_out(x, 0), kit_out(x, 0)};
  TF_OperationDescription* desc = TF_NewOperation(graph, "AddN", "sum");
  TF_AddInputList(desc, terms, 2);
  TF_Operation* sum = kit_finish(desc);
  set_attr(graph, sum, "N", kThree, s);
  kit_expect_text(s, TF_INVALID_ARGUMENT, "input count is 2, must be 3, as the attributes say");
  desc = TF_NewOperation(graph, "Split", "split");
  TF_AddInput(desc, kit_out(kit_const_int32(graph, "axis", 0), 0));
  TF_AddInput(desc, kit_out(x, 0));
  TF_SetAttrInt(desc, "num_split", 2);
  set_attr(graph, kit_finish(desc), "num_split", kThree, s);
  kit_expect_text(s, TF_INVALID_ARGUMENT, "output count is 2, must be 3, as the attributes say");
  desc = TF_NewOperation(graph, "Cast", "cast");
  TF_AddInput(desc, kit_out(x, 0));
  TF_SetAttrType(desc, "DstT", TF_INT32);
  set_attr(graph, kit_finish(desc), "DstT", kDouble, s);
  kit_expect_text(s, TF_INVALID_ARGUMENT, "output 0 is of type int32, must be double");
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_empty),
      cmocka_unit_test(test_names_and_order),
      cmocka_unit_test(test_any_name_is_taken),
      cmocka_unit_test(test_addresses_stay),
      cmocka_unit_test(test_edges),
      cmocka_unit_test(test_control_edges),
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_shape_of_strangers),
      cmocka_unit_test(test_constants),
      cmocka_unit_test(test_constants_of_defaults),
      cmocka_unit_test(test_edits),
      cmocka_unit_test(test_replaced_constant),
      cmocka_unit_test(test_attributes_fit_edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
