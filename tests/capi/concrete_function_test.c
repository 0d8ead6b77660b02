// Functions of a SavedModel by their path (concrete_function.h). The model is written by hand,
// since leat_saved_model_write saves no objects: a variable that a signature shares with functions,
// two variables of one name that only the checkpoint's object graph tells apart (its nodes have
// other numbers than the model's), a table with its functions, an asset, and a function of two
// traces. The numbers in it (3, 10, 20) are such that each sum tells which variable was read. The
// tests catch a function that gets another object than it captured, a change that a signature does
// not see, a table that is made without being filled, and a model that is freed while an op still
// calls it. Paths that name nothing, no function or several traces, functions that are missing, and
// an object that needs itself must be refused. Models that TensorFlow saved are compared with its
// answers by tests/oracle/concrete_function_oracle.py.
#include <stdio.h>
#include <string.h>

#include "capi/eager_kit.h"
#include "leat/inspect.h"
#include "leat/saved_model.h"
#include "scratch.h"
#include "tensorflow/c/env.h"

static TFE_Context* context;
static TF_Status* status;
static TF_SavedModel* model;

// ---- The model ----------------------------------------------------------------------------------

#define ATTR(name, value) "attr { key: '" name "' value { " value " } } "
#define FLOAT_T ATTR("T", "type: DT_FLOAT")
#define NODE(name, op, inputs) "node { name: '" name "' op: '" op "' " inputs " "
#define BODY(name, op, inputs) "node_def { name: '" name "' op: '" op "' " inputs " "
#define ARG(name, type) "input_arg { name: '" name "' type: " type " } "
#define RESULT(type) "output_arg { name: 'r' type: " type " } "
#define READ(input) \
  BODY("read", "ReadVariableOp", "input: '" input "'") ATTR("dtype", "type: DT_FLOAT") "} "
#define CALL(function, types, results)                                       \
  ATTR("f", "func { name: '" function "' }") ATTR("Tin", "list { " types " }") \
  ATTR("Tout", "list { " results " }")

// x + |input|'s value, under its own name for each of its objects.
#define ADD(name)                                                                           \
  "function { signature { name: '" name "' " ARG("x", "DT_FLOAT") ARG("w", "DT_RESOURCE")     \
  RESULT("DT_FLOAT") "is_stateful: true } " READ("w")                                         \
  BODY("sum", "AddV2", "input: 'x' input: 'read:value:0'") FLOAT_T "} "                       \
  "ret { key: 'r' value: 'sum:z:0' } } "
#define PLUS(name, constant)                                                                  \
  "function { signature { name: '" name "' " ARG("x", "DT_FLOAT") RESULT("DT_FLOAT") "} "     \
  BODY("c", "Const", "") ATTR("dtype", "type: DT_FLOAT")                                      \
  ATTR("value", "tensor { dtype: DT_FLOAT tensor_shape {} float_val: " constant " }") "} "    \
  BODY("sum", "AddV2", "input: 'x' input: 'c:output:0'") FLOAT_T "} "                         \
  "ret { key: 'r' value: 'sum:z:0' } } "

static const char kFunctions[] =
    "library { "
    "function { signature { name: 'scale' " ARG("x", "DT_FLOAT") ARG("v", "DT_RESOURCE")
    RESULT("DT_FLOAT") "is_stateful: true } " READ("v")
    BODY("product", "Mul", "input: 'x' input: 'read:value:0'") FLOAT_T "} "
    "ret { key: 'r' value: 'product:z:0' } } "
    "function { signature { name: 'bump' " ARG("x", "DT_FLOAT") ARG("v", "DT_RESOURCE")
    "is_stateful: true control_output: 'a' } "
    BODY("add", "AssignAddVariableOp", "input: 'v' input: 'x'") ATTR("dtype", "type: DT_FLOAT")
    "} control_ret { key: 'a' value: 'add' } } "
    ADD("add_a") ADD("add_b") PLUS("one", "1") PLUS("two", "2")
    "function { signature { name: 'make' " RESULT("DT_RESOURCE") "is_stateful: true } "
    BODY("table", "HashTableV2", "") ATTR("key_dtype", "type: DT_STRING")
    ATTR("value_dtype", "type: DT_FLOAT") ATTR("shared_name", "s: 'words'") "} "
    "ret { key: 'r' value: 'table:table_handle:0' } } "
    "function { signature { name: 'fill' " ARG("t", "DT_RESOURCE") ARG("v", "DT_FLOAT")
    "is_stateful: true control_output: 'a' } "
    BODY("keys", "Const", "") ATTR("dtype", "type: DT_STRING")
    ATTR("value", "tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } "
                  "string_val: 'mill' }") "} "
    BODY("axis", "Const", "") ATTR("dtype", "type: DT_INT32")
    ATTR("value", "tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 }") "} "
    BODY("values", "ExpandDims", "input: 'v' input: 'axis:output:0'") FLOAT_T "} "
    BODY("import", "LookupTableImportV2",
         "input: 't' input: 'keys:output:0' input: 'values:output:0'")
    ATTR("Tin", "type: DT_STRING") ATTR("Tout", "type: DT_FLOAT")
    "} control_ret { key: 'a' value: 'import' } } "
    "function { signature { name: 'find' " ARG("k", "DT_STRING") ARG("t", "DT_RESOURCE")
    ARG("d", "DT_FLOAT") RESULT("DT_FLOAT") "is_stateful: true } "
    BODY("find", "LookupTableFindV2", "input: 't' input: 'k' input: 'd'")
    ATTR("Tin", "type: DT_STRING") ATTR("Tout", "type: DT_FLOAT") "} "
    "ret { key: 'r' value: 'find:values:0' } } "
    "function { signature { name: 'path' " ARG("p", "DT_STRING") RESULT("DT_STRING") "} "
    BODY("same", "Identity", "input: 'p'") ATTR("T", "type: DT_STRING") "} "
    "ret { key: 'r' value: 'same:output:0' } } "
    "} ";

static const char kNodes[] =
    NODE("v_node", "VarHandleOp", "") ATTR("dtype", "type: DT_FLOAT") ATTR("shape", "shape {}")
    ATTR("shared_name", "s: 'v_node'") "} "
    // Has the name of two objects, so that it is neither.
    NODE("w", "VarHandleOp", "") ATTR("dtype", "type: DT_FLOAT") ATTR("shape", "shape {}") "} "
    NODE("three", "Const", "") ATTR("dtype", "type: DT_FLOAT")
    ATTR("value", "tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 }") "} "
    NODE("init", "AssignVariableOp", "input: 'v_node' input: 'three'")
    ATTR("dtype", "type: DT_FLOAT") "} "
    NODE("default", "Const", "") ATTR("dtype", "type: DT_FLOAT")
    ATTR("value", "tensor { dtype: DT_FLOAT tensor_shape {} float_val: -1 }") "} "
    NODE("words", "Placeholder", "") ATTR("dtype", "type: DT_STRING") "} "
    NODE("x", "Placeholder", "") ATTR("dtype", "type: DT_FLOAT") ATTR("shape", "shape {}") "} "
    NODE("serve", "StatefulPartitionedCall", "input: 'x' input: 'v_node'")
    CALL("scale", "type: DT_FLOAT type: DT_RESOURCE", "type: DT_FLOAT") "} ";

#define CHILD(name, id) "children { local_name: '" name "' node_id: " id " } "
#define OBJECT(kind) "nodes { " kind " } "
#define W "variable { dtype: DT_FLOAT shape {} name: 'w' } "
#define FUNCTION(name) "function { concrete_functions: '" name "' } "
#define BOUND(name, inputs) \
  "concrete_functions { key: '" name "' value { " inputs " } } "

static const char kObjects[] =
    OBJECT(CHILD("v", "1") CHILD("scale", "2") CHILD("bump", "3") CHILD("a", "4") CHILD("b", "5")
           CHILD("find", "10") CHILD("path", "14") CHILD("two", "16") CHILD("gone", "19")
           CHILD("self", "20") "user_object {}")
    // The node's name tells nothing: only the call in the graph says which variable this is.
    OBJECT("variable { dtype: DT_FLOAT shape {} name: 'v' }")  // 1
    OBJECT(FUNCTION("scale")) OBJECT(FUNCTION("bump"))
    OBJECT(CHILD("w", "6") CHILD("add", "8") "user_object {}")  // 4
    OBJECT(CHILD("w", "7") CHILD("add", "9") "user_object {}")
    OBJECT(W) OBJECT(W)                                         // 6, 7
    OBJECT(FUNCTION("add_a")) OBJECT(FUNCTION("add_b"))
    OBJECT(FUNCTION("find"))                                    // 10
    OBJECT(CHILD("_create_resource", "12") CHILD("_initialize", "13") "resource {}")
    OBJECT(FUNCTION("make")) OBJECT(FUNCTION("fill"))
    OBJECT(FUNCTION("path"))                                    // 14
    OBJECT("asset { asset_file_def_index: 0 }")
    OBJECT(CHILD("trace_0", "17") CHILD("trace_1", "18")        // 16
           "function { concrete_functions: 'one' concrete_functions: 'two' }")
    OBJECT("bare_concrete_function { concrete_function_name: 'one' }")
    OBJECT("bare_concrete_function { concrete_function_name: 'two' }")
    OBJECT(FUNCTION("gone"))                                    // 19
    OBJECT(FUNCTION("self"))                                    // 20
    OBJECT(CHILD("_create_resource", "20") "resource {}")       // 21
    OBJECT("constant { operation: 'default' }")                 // 22
    OBJECT("constant { operation: 'three' }")
    BOUND("scale", "bound_inputs: 1") BOUND("bump", "bound_inputs: 1")
    BOUND("add_a", "bound_inputs: 6") BOUND("add_b", "bound_inputs: 7")
    BOUND("find", "bound_inputs: 11 bound_inputs: 22") BOUND("make", "")
    BOUND("fill", "bound_inputs: 11 bound_inputs: 23") BOUND("path", "bound_inputs: 15")
    BOUND("one", "") BOUND("two", "") BOUND("gone", "") BOUND("self", "bound_inputs: 21");

static const char kRest[] =
    "asset_file_def { tensor_info { name: 'words:0' } filename: 'words.txt' } "
    "signature_def { key: 'serving_default' value { "
    "inputs { key: 'in' value { name: 'x:0' dtype: DT_FLOAT tensor_shape {} } } "
    "outputs { key: 'out' value { name: 'serve:0' dtype: DT_FLOAT tensor_shape {} } } } } "
    "signature_def { key: '__saved_model_init_op' value { "
    "outputs { key: '__saved_model_init_op' value { name: 'init' } } } } ";

// The objects of the checkpoint, in another order than the model's.
static const char kCheckpoint[] =
    "nodes { children { local_name: 'b' node_id: 1 } children { local_name: 'a' node_id: 3 } } "
    "nodes { children { local_name: 'w' node_id: 2 } } "
    "nodes { attributes { name: 'VARIABLE_VALUE' checkpoint_key: 'b/w' } } "
    "nodes { children { local_name: 'w' node_id: 4 } } "
    "nodes { attributes { name: 'VARIABLE_VALUE' checkpoint_key: 'a/w' } } ";

// A vector of |count| strings.
static TFE_TensorHandle* strings(int64_t count, const char* const* texts) {
  TF_Tensor* tensor =
      TF_AllocateTensor(TF_STRING, &count, 1, (size_t)count * sizeof(TF_TString));
  for (int64_t i = 0; i < count; ++i) {
    TF_TString* place = (TF_TString*)TF_TensorData(tensor) + i;
    TF_StringInit(place);
    TF_StringCopy(place, texts[i], strlen(texts[i]));
  }
  return eager_handle(tensor);
}

static TFE_TensorHandle* string_of_bytes(const TF_Buffer* bytes) {
  TF_Tensor* tensor = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
  TF_StringInit(TF_TensorData(tensor));
  TF_StringCopy(TF_TensorData(tensor), bytes->data, bytes->length);
  return eager_handle(tensor);
}

// Writes a checkpoint with a/w = 10, b/w = 20 and the objects.
static void write_checkpoint(void) {
  const char *names[] = {"_CHECKPOINTABLE_OBJECT_GRAPH", "a/w", "b/w"}, *slices[] = {"", "", ""};
  TF_Buffer* text = TF_NewBufferFromString(kCheckpoint, strlen(kCheckpoint));
  TF_Buffer* objects = leat_message_from_text("TrackableObjectGraph", text, status);
  kit_ok(status);
  TFE_TensorHandle* values[] = {string_of_bytes(objects), eager_handle(kit_float(10)),
                                eager_handle(kit_float(20))};
  TFE_TensorHandle* inputs[] = {eager_handle(kit_string("model/variables/variables")),
                                strings(3, names), strings(3, slices)};
  TFE_Op* op = TFE_NewOp(context, "SaveV2", status);
  for (int i = 0; i < 3; ++i) TFE_OpAddInput(op, inputs[i], status);
  TFE_OpAddInputList(op, values, 3, status);
  int count = 0;
  TFE_Execute(op, NULL, &count, status);
  kit_ok(status);
  TFE_DeleteOp(op);
  for (int i = 0; i < 3; ++i) {
    TFE_DeleteTensorHandle(values[i]);
    TFE_DeleteTensorHandle(inputs[i]);
  }
  TF_DeleteBuffer(objects);
  TF_DeleteBuffer(text);
}

// Writes the model with |objects|, which may be none, and loads it.
static void load(const char* objects) {
  char text[32768];
  snprintf(text, sizeof text,
           "saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'serve' } "
           "graph_def { %s %s versions { producer: 1205 } } %s object_graph_def { %s } }",
           kNodes, kFunctions, kRest, objects);
  TF_CreateDir("model", status);
  TF_CreateDir("model/assets", status);
  scratch_write_text("model/saved_model.pbtxt", text);
  scratch_write_text("model/assets/words.txt", "mill\n");
  TF_CreateDir("model/variables", status);
  write_checkpoint();
  model = TF_LoadSavedModel("model", context, status);
  kit_ok(status);
}

static int set_up(void** state) {
  if (scratch_set_up(state)) return -1;
  status = TF_NewStatus();
  context = eager_open();
  load(kObjects);
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteSavedModel(model);
  TFE_DeleteContext(context);
  TF_DeleteStatus(status);
  return scratch_tear_down(state);
}

static TF_ConcreteFunction* get(const char* path) {
  TF_ConcreteFunction* function = TF_GetSavedModelConcreteFunction(model, path, status);
  kit_ok(status);
  return function;
}

// Calls the function at |path| for its one result; |input|, which may be NULL, is deleted.
static TFE_TensorHandle* call(const char* path, TFE_TensorHandle* input) {
  TFE_Op* op = TF_ConcreteFunctionMakeCallOp(get(path), &input, input != NULL, status);
  kit_ok(status);
  TFE_DeleteTensorHandle(input);
  return eager_result(op);
}

static float call_float(const char* path, float x) {
  return eager_float(call(path, eager_handle(kit_float(x))));
}

static void expect_refused(const char* path, TF_Code code, const char* text) {
  assert_null(TF_GetSavedModelConcreteFunction(model, path, status));
  kit_expect_text(status, code, text);
}

// ---- Tests --------------------------------------------------------------------------------------

// A function without results changes the variable that a signature reads.
static void test_variable_is_shared(void** state) {
  assert_float_equal(call_float("scale", 2), 6, 0);
  TFE_TensorHandle* one = eager_handle(kit_float(1));
  TFE_Op* bump = TF_ConcreteFunctionMakeCallOp(get("bump"), &one, 1, status);
  kit_ok(status);
  int count = 0;
  TFE_Execute(bump, NULL, &count, status);
  kit_ok(status);
  assert_int_equal(count, 0);
  assert_float_equal(call_float("scale", 2), 8, 0);
  TFE_Op* serve = TF_SignatureDefFunctionMakeCallOp(
      TF_GetSavedModelSignatureDefFunction(model, "serving_default", status), &one, 1, status);
  kit_ok(status);
  assert_float_equal(eager_float(eager_result(serve)), 4, 0);
  TFE_DeleteOp(bump);
  TFE_DeleteTensorHandle(one);
}

static void test_variables_of_one_name(void** state) {
  assert_float_equal(call_float("a.add", 1), 11, 0);
  assert_float_equal(call_float("b.add", 1), 21, 0);
}

static void test_table_and_asset(void** state) {
  assert_float_equal(eager_float(call("find", eager_handle(kit_string("mill")))), 3, 0);
  assert_float_equal(eager_float(call("find", eager_handle(kit_string("leat")))), -1, 0);
  TFE_TensorHandle* path = call("path", NULL);
  TF_Tensor* text = TFE_TensorHandleResolve(path, status);
  assert_string_equal(TF_StringGetDataPointer(TF_TensorData(text)), "model/assets/words.txt");
  TF_DeleteTensor(text);
  TFE_DeleteTensorHandle(path);
}

// The op keeps the model, and asking twice gives the same function.
static void test_life(void** state) {
  TF_ConcreteFunction* function = get("scale");
  assert_ptr_equal(get("scale"), function);
  assert_non_null(TF_ConcreteFunctionGetMetadata(function));
  const TF_TensorHandleList* captures = leat_concrete_function_captures(function);
  assert_int_equal(TF_TensorHandleListSize(captures), 1);
  assert_int_equal(TFE_TensorHandleDataType(TF_TensorHandleListGet(captures, 0)), TF_RESOURCE);
  assert_null(TF_TensorHandleListGet(captures, 1));
  TFE_TensorHandle* x = eager_handle(kit_float(2));
  TFE_Op* op = TF_ConcreteFunctionMakeCallOp(function, &x, 1, status);
  TFE_DeleteTensorHandle(x);
  TF_DeleteSavedModel(model);
  model = NULL;
  assert_float_equal(eager_float(eager_result(op)), 6, 0);
}

static void test_refusals(void** state) {
  expect_refused("", TF_NOT_FOUND, "No saved object found at path");
  expect_refused("a.none", TF_NOT_FOUND, "No saved object found at path a.none");
  expect_refused("a.", TF_NOT_FOUND, "No saved object found at path a.");
  expect_refused("a", TF_INVALID_ARGUMENT, "a is not a path to a Function.");
  expect_refused("two", TF_FAILED_PRECONDITION, "has 2 traces");
  assert_float_equal(call_float("two.trace_1", 1), 3, 0);
  expect_refused("gone", TF_FAILED_PRECONDITION, "'gone'");
  expect_refused("self", TF_FAILED_PRECONDITION, "does not need itself");
  assert_null(TF_ConcreteFunctionMakeCallOp(get("scale"), NULL, 0, status));
  kit_expect_text(status, TF_INVALID_ARGUMENT, "there are 0 inputs, must be 1");
  assert_null(leat_saved_model_functions(model, status));
  kit_expect(status, TF_FAILED_PRECONDITION);
  TF_DeleteSavedModel(model);
  load("");
  expect_refused("scale", TF_NOT_FOUND, "has no objects");
}

// Each function once, though objects share it; one of several traces by its traces.
static void test_list(void** state) {
  TF_DeleteSavedModel(model);
  load(OBJECT(CHILD("two", "1") "user_object {}")
       OBJECT("function { concrete_functions: 'one' concrete_functions: 'two' }")
       OBJECT("bare_concrete_function { concrete_function_name: 'one' }")
       OBJECT("bare_concrete_function { concrete_function_name: 'two' }")
       OBJECT(FUNCTION("two")) BOUND("one", "") BOUND("two", ""));
  TF_ConcreteFunctionList* list = leat_saved_model_functions(model, status);
  kit_ok(status);
  assert_int_equal(TF_ConcreteFunctionListSize(list), 2);
  assert_ptr_equal(TF_ConcreteFunctionListGet(list, 0), TF_ConcreteFunctionListGet(list, 0));
  TFE_TensorHandle* x = eager_handle(kit_float(5));
  TFE_Op* op =
      TF_ConcreteFunctionMakeCallOp(TF_ConcreteFunctionListGet(list, 1), &x, 1, status);
  assert_float_equal(eager_float(eager_result(op)), 7, 0);
  assert_null(TF_ConcreteFunctionListGet(list, 2));
  assert_null(TF_ConcreteFunctionListGet(list, -1));
  TFE_DeleteTensorHandle(x);
  TF_DeleteConcreteFunctionList(list);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_variable_is_shared, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_variables_of_one_name, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_table_and_asset, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_life, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
