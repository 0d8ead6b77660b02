// Functions in an eager context, and the attributes of eager ops: calls by name and through
// attributes, what removing a function means for calls, variables that functions and ops share, and
// which of several values an attribute keeps. The functions have one or two ops, so that their
// results can be told by hand and two functions of one name apart (10 and 25). The tests catch a
// call that still runs a function after it was removed or replaced, a kernel that is kept for other
// types or attributes than the op's, and a generator of random numbers that begins again with each
// op. More ops than the context keeps kernels for are executed, since it then drops them all.
// TensorFlow 2.21's library passes this program too, up to the last test, where it wants an
// attribute that Leat tells from the inputs (sum_of).
#include "capi/eager_kit.h"

static void test_call_by_name(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = eager_open();
  TFE_TensorHandle* five = eager_handle(kit_int32(5));
  assert_null(TFE_NewOp(context, "twice", s));
  kit_expect(s, TF_NOT_FOUND);
  assert_false(TFE_ContextHasFunction(context, "twice"));
  eager_add_function(context, eager_self_binary("twice", "AddV2", TF_INT32));
  assert_true(TFE_ContextHasFunction(context, "twice"));
  TF_Buffer* traces = TF_NewBuffer();
  TFE_ContextGetGraphDebugInfo(context, "twice", traces, s);
  kit_ok(s);
  assert_int_equal(traces->length, 0);
  TF_DeleteBuffer(traces);
  TF_Buffer* names = TF_NewBuffer();
  TFE_ContextGetGraphDebugInfo(context, "thrice", names, s);
  kit_expect_text(s, TF_NOT_FOUND, "Unable to find function with name: thrice");
  TFE_GetExecutedOpNames(context, names, s);
  kit_ok(s);
  assert_int_equal(names->length, 0);
  TF_DeleteBuffer(names);
  assert_int_equal(eager_int32(eager_result(eager_op(context, "twice", five, NULL))), 10);
  assert_int_equal(eager_int32(eager_result(eager_op(context, "twice", five, NULL))), 10);
  eager_expect(eager_op(context, "twice", NULL, NULL), TF_INVALID_ARGUMENT);
  TFE_TensorHandle* wrong = eager_handle(kit_float(5));
  eager_expect(eager_op(context, "twice", wrong, NULL), TF_INVALID_ARGUMENT);
  TFE_DeleteTensorHandle(wrong);
  TFE_DeleteTensorHandle(five);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

static void test_removal(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = eager_open();
  TFE_TensorHandle* five = eager_handle(kit_int32(5));
  TF_Function* twice = eager_self_binary("f", "AddV2", TF_INT32);
  TF_Buffer* bytes = TF_NewBuffer();
  TF_FunctionToFunctionDef(twice, bytes, s);
  eager_add_function(context, twice);
  TFE_ContextAddFunctionDef(context, bytes->data, bytes->length, s);  // the same once more
  kit_ok(s);
  TFE_ContextAddFunctionDef(context, "\xff", 1, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_Function* square = eager_self_binary("f", "Mul", TF_INT32);
  TFE_ContextAddFunction(context, square, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_ContextRemoveFunction(context, "f", s);
  kit_ok(s);
  assert_int_equal(eager_int32(eager_result(eager_op(context, "f", five, NULL))), 10);
  TFE_ContextRemoveFunction(context, "f", s);
  kit_ok(s);
  assert_false(TFE_ContextHasFunction(context, "f"));
  assert_null(TFE_NewOp(context, "f", s));
  kit_expect(s, TF_NOT_FOUND);
  TFE_ContextRemoveFunction(context, "f", s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  eager_add_function(context, square);  // another one under the name
  assert_int_equal(eager_int32(eager_result(eager_op(context, "f", five, NULL))), 25);
  TF_DeleteBuffer(bytes);
  TFE_DeleteTensorHandle(five);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

static void test_reading(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = eager_open();
  eager_add_function(context, eager_self_binary("twice", "AddV2", TF_INT32));
  TF_Function* read = TFE_ContextGetFunction(context, "twice", s);
  kit_ok(s);
  assert_string_equal(TF_FunctionName(read), "twice");
  TF_Buffer *bytes = TF_NewBuffer(), *same = TF_NewBuffer();
  TFE_ContextGetFunctionDef(context, "twice", bytes, s);
  kit_ok(s);
  TF_FunctionToFunctionDef(read, same, s);
  assert_int_equal(bytes->length, same->length);
  TF_DeleteFunction(read);
  assert_null(TFE_ContextGetFunction(context, "thrice", s));
  kit_expect(s, TF_NOT_FOUND);
  TF_Buffer* none = TF_NewBuffer();
  TFE_ContextGetFunctionDef(context, "thrice", none, s);
  kit_expect(s, TF_NOT_FOUND);
  TF_DeleteBuffer(none);
  TF_DeleteBuffer(bytes);
  TF_DeleteBuffer(same);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

static TFE_Op* call_of(TFE_Context* context, const char* op_name, TFE_TensorHandle* input) {
  const TF_DataType type = TF_INT32;
  TFE_Op* op = eager_op(context, op_name, input, NULL);
  TFE_OpSetAttrTypeList(op, "Tin", &type, 1);
  TFE_OpSetAttrTypeList(op, "Tout", &type, 1);
  return op;
}

static void test_calls_through_attributes(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = eager_open();
  TFE_TensorHandle* five = eager_handle(kit_int32(5));
  eager_add_function(context, eager_self_binary("twice", "AddV2", TF_INT32));
  eager_add_function(context, eager_self_binary("square", "Mul", TF_INT32));
  TFE_Op* op = call_of(context, "PartitionedCall", five);
  TFE_OpSetAttrFunctionName(op, "f", "square", 6);
  assert_int_equal(eager_int32(eager_result(op)), 25);
  TFE_Op* twice = TFE_NewOp(context, "twice", s);
  TFE_Op* square = TFE_NewOp(context, "square", s);
  op = call_of(context, "StatefulPartitionedCall", five);
  TFE_OpSetAttrFunction(op, "f", twice);
  assert_int_equal(eager_int32(eager_result(op)), 10);
  // One of two branches.
  for (int branch = 0; branch < 2; ++branch) {
    const TFE_Op* branches[] = {twice, square};
    TFE_TensorHandle* index = eager_handle(kit_int32(branch));
    const TF_DataType type = TF_INT32;
    op = TFE_NewOp(context, "Case", s);
    TFE_OpAddInput(op, index, s);
    TFE_OpAddInputList(op, &five, 1, s);
    kit_ok(s);
    TFE_OpSetAttrTypeList(op, "Tout", &type, 1);
    TFE_OpSetAttrFunctionList(op, "branches", branches, 2);
    assert_int_equal(eager_int32(eager_result(op)), branch ? 25 : 10);
    TFE_DeleteTensorHandle(index);
  }
  TFE_DeleteOp(twice);
  TFE_DeleteOp(square);
  // A call of a function that is gone.
  TFE_ContextRemoveFunction(context, "square", s);
  op = call_of(context, "StatefulPartitionedCall", five);
  TFE_OpSetAttrFunctionName(op, "f", "square", 6);
  eager_expect(op, TF_NOT_FOUND);
  TFE_DeleteTensorHandle(five);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

// A function that adds its second argument to the variable that the first one names.
static TF_Function* add_to_variable(void) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Output inputs[] = {kit_out(kit_placeholder(graph, "variable", TF_RESOURCE), 0),
                        kit_out(kit_placeholder(graph, "delta", TF_INT32), 0)};
  TF_OperationDescription* d = TF_NewOperation(graph, "AssignAddVariableOp", "add");
  TF_AddInput(d, inputs[0]);
  TF_AddInput(d, inputs[1]);
  TF_SetAttrType(d, "dtype", TF_INT32);
  TF_Operation* add = kit_finish(d);
  d = TF_NewOperation(graph, "ReadVariableOp", "read");
  TF_AddInput(d, inputs[0]);
  TF_AddControlInput(d, add);
  TF_SetAttrType(d, "dtype", TF_INT32);
  TF_Output output = kit_out(kit_finish(d), 0);
  TF_Function* function = TF_GraphToFunction(graph, "add_to", 0, -1, NULL, 2, inputs, 1, &output,
                                             NULL, NULL, NULL, s);
  kit_ok(s);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
  return function;
}

// Ops and functions of a context see the same variables.
static void test_shared_variable(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = eager_open();
  eager_add_function(context, add_to_variable());
  TFE_Op* op = TFE_NewOp(context, "VarHandleOp", s);
  TFE_OpSetAttrType(op, "dtype", TF_INT32);
  TFE_OpSetAttrShape(op, "shape", NULL, 0, s);
  TFE_OpSetAttrString(op, "shared_name", "v", 1);
  TFE_TensorHandle* variable = eager_result(op);
  TFE_TensorHandle* seven = eager_handle(kit_int32(7));
  int count = 0;
  op = eager_op(context, "AssignVariableOp", variable, seven);
  TFE_Execute(op, NULL, &count, s);
  kit_ok(s);
  TFE_DeleteOp(op);
  assert_int_equal(eager_int32(eager_result(eager_op(context, "add_to", variable, seven))), 14);
  op = eager_op(context, "ReadVariableOp", variable, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_INT32);
  assert_int_equal(eager_int32(eager_result(op)), 14);
  TFE_DeleteTensorHandle(seven);
  TFE_DeleteTensorHandle(variable);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

static void test_first_value_stays(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = eager_open();
  TFE_TensorHandle* two = eager_handle(kit_int32(2));
  TFE_Op* op = eager_op(context, "AddV2", two, two);
  TFE_OpSetAttrType(op, "T", TF_FLOAT);  // the input told it before
  assert_int_equal(eager_int32(eager_result(op)), 4);
  op = TFE_NewOp(context, "AddV2", s);
  TFE_OpSetAttrType(op, "T", TF_FLOAT);
  TFE_OpAddInput(op, two, s);
  TFE_OpAddInput(op, two, s);
  kit_ok(s);
  eager_expect(op, TF_INVALID_ARGUMENT);
  op = eager_op(context, "Cast", two, NULL);
  TFE_OpSetAttrType(op, "DstT", TF_FLOAT);
  TFE_OpSetAttrType(op, "DstT", TF_INT32);
  assert_float_equal(eager_float(eager_result(op)), 2, 0);
  TFE_TensorHandle* inputs[] = {two, two, two};
  op = TFE_NewOp(context, "AddN", s);
  TFE_OpAddInputList(op, inputs, 3, s);
  kit_ok(s);
  TFE_OpSetAttrInt(op, "N", 2);
  assert_int_equal(eager_int32(eager_result(op)), 6);
  op = TFE_NewOp(context, "AddV2", s);
  TFE_OpAddInputList(op, inputs, 2, s);  // no list there
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(two);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

static bool has_text(const TF_Buffer* buffer, const char* text) {
  const char* bytes = buffer->data;
  size_t size = strlen(text);
  for (size_t i = 0; i + size <= buffer->length; ++i) {
    if (memcmp(bytes + i, text, size) == 0) return true;
  }
  return false;
}

static void test_passing_attributes_on(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = eager_open();
  const int64_t dims[] = {1, 2};
  const float values[] = {3, 4};
  TFE_TensorHandle* row = eager_handle(kit_tensor(TF_FLOAT, 2, dims, values, sizeof values));
  TFE_Op* source = eager_op(context, "MatMul", row, row);
  TFE_OpSetAttrBool(source, "transpose_b", 1);
  TF_Buffer* bytes = TF_NewBuffer();
  TFE_OpAttrsSerialize(TFE_OpGetAttrs(source), bytes, s);
  kit_ok(s);
  assert_true(has_text(bytes, "MatMul"));
  assert_true(has_text(bytes, "transpose_b"));
  assert_true(has_text(bytes, "transpose_a"));  // by default
  assert_true(has_text(bytes, "T\x12\x02\x30\x01"));  // a float, by the input
  TF_DeleteBuffer(bytes);
  // What the other op has set stays, the rest is taken over: both operands are transposed.
  TFE_TensorHandle* column =
      eager_handle(kit_tensor(TF_FLOAT, 2, (const int64_t[]){2, 1}, values, sizeof values));
  TFE_Op* op = eager_op(context, "MatMul", column, row);
  TFE_OpSetAttrBool(op, "transpose_a", 1);
  TFE_OpAddAttrs(op, TFE_OpGetAttrs(source));
  TFE_DeleteOp(source);
  assert_float_equal(eager_float(eager_result(op)), 25, 0);
  TFE_DeleteTensorHandle(column);
  TFE_DeleteTensorHandle(row);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

// A kernel that keeps a generator of random numbers goes on where it was.
static void test_random_numbers_go_on(void** state) {
  TFE_Context* context = eager_open();
  const int32_t one = 1;
  const int64_t dims[] = {1};
  TFE_TensorHandle* shape = eager_handle(kit_tensor(TF_INT32, 1, dims, &one, sizeof one));
  float drawn[2];
  for (int i = 0; i < 2; ++i) {
    TFE_Op* op = eager_op(context, "RandomUniform", shape, NULL);
    TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
    TFE_OpSetAttrInt(op, "seed", 1);
    TFE_OpSetAttrInt(op, "seed2", 2);
    drawn[i] = eager_float(eager_result(op));
  }
  assert_true(drawn[0] != drawn[1]);
  TFE_DeleteTensorHandle(shape);
  TFE_DeleteContext(context);
}

// An AddN of twice |item|, whose inputs come one by one, so that they tell no attribute before the
// op is executed. (TensorFlow asks for T then.)
static TFE_Op* sum_of(TFE_Context* context, TFE_TensorHandle* item) {
  TFE_Op* op = eager_op(context, "AddN", item, item);
  TFE_OpSetAttrInt(op, "N", 2);
  return op;
}

// A context keeps kernels, of which it drops all when they are too many. Whatever it keeps, each op
// gets the kernel of its own types and attributes.
static void test_kept_kernels_fit(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = eager_open();
  TFE_TensorHandle *whole = eager_handle(kit_int32(7)), *part = eager_handle(kit_float(0.5f));
  for (int i = 0; i < 1100; ++i) {
    TFE_Op* op = eager_op(context, "Cast", whole, NULL);
    TFE_OpSetAttrType(op, "DstT", i % 2 ? TF_FLOAT : TF_INT32);
    TFE_OpSetAttrInt(op, "_number", i);
    TFE_TensorHandle* cast = eager_result(op);
    assert_int_equal(TFE_TensorHandleDataType(cast), i % 2 ? TF_FLOAT : TF_INT32);
    TFE_DeleteTensorHandle(cast);
  }
  // Nothing but the inputs tells these two apart.
  assert_int_equal(eager_int32(eager_result(sum_of(context, whole))), 14);
  assert_float_equal(eager_float(eager_result(sum_of(context, part))), 1, 0);
  TFE_ContextClearCaches(context);
  assert_int_equal(eager_int32(eager_result(eager_op(context, "AddV2", whole, whole))), 14);
  TFE_DeleteTensorHandle(whole);
  TFE_DeleteTensorHandle(part);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_call_by_name),
      cmocka_unit_test(test_removal),
      cmocka_unit_test(test_reading),
      cmocka_unit_test(test_calls_through_attributes),
      cmocka_unit_test(test_shared_variable),
      cmocka_unit_test(test_first_value_stays),
      cmocka_unit_test(test_passing_attributes_on),
      cmocka_unit_test(test_random_numbers_go_on),
      cmocka_unit_test(test_kept_kernels_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
