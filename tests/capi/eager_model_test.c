// SavedModels for eager execution (experimental/saved_model/public). A small model with a variable
// is written, y = x * w and x itself as it came, loaded into an eager context, and called through
// its signature. Two models of one name must not share their variables, and an op keeps its model.
// The expected values are products of small numbers, which floats hold exactly. The tests catch
// results in another order than that of their names, a model that is freed while an op still calls
// it, and metadata that say other names, types or shapes than were written. A folder without a
// model, tags and signatures that it does not have, and wrong inputs must be refused with NOT_FOUND
// or INVALID_ARGUMENT.
#include "capi/eager_kit.h"
#include "client/model_kit.h"
#include "leat/saved_model.h"
#include "scratch.h"
#include "tensorflow/c/experimental/saved_model/public/saved_model_api.h"

static TFE_Context* context;

// Writes the model with |factor| into |directory|.
static void write_model(const char* directory, double factor) {
  leat_scope_t* s = kit.scope;
  TF_Output x = leat_placeholder(s, "x", TF_FLOAT, 1, (int64_t[]){-1});
  TF_Output w = leat_variable(s, "w", TF_FLOAT, 0, NULL, leat_initializer_constant(factor));
  TF_Output y = leat_multiply(s, x, w);
  leat_saver_t* saver = leat_saver_create(s, "ckpt", (leat_saver_options_t){.keep = 1});
  leat_model_tensor_t in = {"in", x}, outs[] = {{"product", y}, {"echo", x}};
  leat_model_signature_t signature = {"serving_default", NULL, &in, 1, outs, 2};
  leat_model_t model = {.signatures = &signature, .signature_count = 1,
                        .saver = leat_saver_operations(saver)};
  model_kit_run(leat_variables_initializer(s));
  leat_saved_model_write(directory, kit.graph, kit.session, &model, kit.status);
  kit_ok(kit.status);
  leat_saver_free(saver);
}

static int set_up(void** state) {
  if (scratch_set_up(state) || model_kit_set_up(state)) return -1;
  context = eager_open();
  return 0;
}

static int tear_down(void** state) {
  TFE_DeleteContext(context);
  return model_kit_tear_down(state) || scratch_tear_down(state);
}

static TF_SavedModel* load(const char* directory) {
  TF_SavedModel* model = TF_LoadSavedModel(directory, context, kit.status);
  kit_ok(kit.status);
  return model;
}

// An op that calls the signature of |model| with the vector {|x|}.
static TFE_Op* call(TF_SavedModel* model, float x) {
  TF_SignatureDefFunction* serve =
      TF_GetSavedModelSignatureDefFunction(model, "serving_default", kit.status);
  kit_ok(kit.status);
  TFE_TensorHandle* input = eager_handle(kit_floats(1, &x));
  TFE_Op* op = TF_SignatureDefFunctionMakeCallOp(serve, &input, 1, kit.status);
  kit_ok(kit.status);
  TFE_DeleteTensorHandle(input);
  return op;
}

// Executes |op|, which gives {|echo|} and {|product|} in the order of the names.
static void expect_results(TFE_Op* op, float echo, float product) {
  TFE_TensorHandle* results[2];
  int count = 2;
  TFE_Execute(op, results, &count, kit.status);
  kit_ok(kit.status);
  assert_int_equal(count, 2);
  assert_float_equal(eager_float(results[0]), echo, 0);
  assert_float_equal(eager_float(results[1]), product, 0);
}

static void test_metadata(void** state) {
  write_model("model", 3);
  TF_SavedModel* model = load("model");
  TF_SignatureDefFunctionMetadata* metadata = TF_SignatureDefFunctionGetMetadata(
      TF_GetSavedModelSignatureDefFunction(model, "serving_default", kit.status));
  const TF_SignatureDefParamList* args = TF_SignatureDefFunctionMetadataArgs(metadata);
  assert_int_equal(TF_SignatureDefParamListSize(args), 1);
  const TF_SignatureDefParam* in = TF_SignatureDefParamListGet(args, 0);
  assert_string_equal(TF_SignatureDefParamName(in), "in");
  const TF_TensorSpec* spec = TF_SignatureDefParamTensorSpec(in);
  assert_int_equal(TF_TensorSpecDataType(spec), TF_FLOAT);
  assert_int_equal(TF_ShapeDims(TF_TensorSpecShape(spec)), 1);
  assert_int_equal(TF_ShapeDimSize(TF_TensorSpecShape(spec), 0), -1);
  const TF_SignatureDefParamList* returns = TF_SignatureDefFunctionMetadataReturns(metadata);
  assert_int_equal(TF_SignatureDefParamListSize(returns), 2);
  assert_string_equal(TF_SignatureDefParamName(TF_SignatureDefParamListGet(returns, 0)), "echo");
  assert_null(TF_SignatureDefParamListGet(returns, 2));
  assert_null(TF_SignatureDefParamListGet(returns, -1));
  TF_DeleteSavedModel(model);
}

static void test_calls(void** state) {
  write_model("three", 3);
  model_kit_tear_down(state);
  model_kit_set_up(state);
  write_model("five", 5);
  TF_SavedModel *three = load("three"), *five = load("five");
  TFE_Op *by_three = call(three, 2), *by_five = call(five, 2);
  TF_DeleteSavedModel(three);  // the op keeps it
  expect_results(by_three, 2, 6);
  expect_results(by_five, 2, 10);
  expect_results(by_three, 2, 6);
  TFE_TensorHandle* result;
  int count = 1;
  TFE_Execute(by_five, &result, &count, kit.status);  // too little room
  kit_expect(kit.status, TF_INVALID_ARGUMENT);
  TFE_DeleteOp(by_three);
  TFE_DeleteOp(by_five);
  TF_DeleteSavedModel(five);
}

static void test_refusals(void** state) {
  write_model("model", 3);
  assert_null(TF_LoadSavedModel("no_model", context, kit.status));
  kit_expect(kit.status, TF_NOT_FOUND);
  const char* tags[] = {"serve", "gpu"};
  assert_null(TF_LoadSavedModelWithTags("model", context, tags, 2, kit.status));
  kit_expect(kit.status, TF_NOT_FOUND);
  TF_SavedModel* model = load("model");
  assert_null(TF_GetSavedModelSignatureDefFunction(model, "other", kit.status));
  kit_expect(kit.status, TF_NOT_FOUND);
  TF_SignatureDefFunction* serve =
      TF_GetSavedModelSignatureDefFunction(model, "serving_default", kit.status);
  assert_null(TF_SignatureDefFunctionMakeCallOp(serve, NULL, 0, kit.status));
  kit_expect(kit.status, TF_INVALID_ARGUMENT);
  TFE_TensorHandle* wrong = eager_handle(kit_int32(1));
  TFE_Op* op = TF_SignatureDefFunctionMakeCallOp(serve, &wrong, 1, kit.status);
  kit_ok(kit.status);
  eager_expect(op, TF_INVALID_ARGUMENT);
  TFE_DeleteTensorHandle(wrong);
  TF_DeleteSavedModel(model);
  TF_DeleteSavedModel(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_metadata, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_calls, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
