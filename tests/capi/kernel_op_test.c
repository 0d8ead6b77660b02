// leat_kernel_run_op: a kernel of a plug-in runs an op within its own run. Each test registers an
// op whose kernel does so, and a status that the kernel leaves in a variable of the test.
#include "leat/kernel_op.h"

#include <stdio.h>

#include "capi/plugin_kit.h"

static const char* inner;    // the op that the kernel runs
static int input_count, output_count;
static TF_Code answer;
static char message[500];

// Runs |inner| with its own input as often as |input_count| says; its output becomes the kernel's.
static void runs_inner(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor *x = NULL, *inputs[20], *outputs[20] = {NULL};
  TF_GetInput(ctx, 0, &x, s);
  for (int i = 0; i < 20; ++i) inputs[i] = x;
  leat_kernel_run_op(ctx, inner, inputs, input_count, outputs, output_count, s);
  answer = TF_GetCode(s);
  snprintf(message, sizeof message, "%s", TF_Message(s));
  if (answer == TF_OK) {
    for (int i = 0; i < output_count; ++i) assert_non_null(outputs[i]);
    TF_SetOutput(ctx, 0, outputs[0], s);
  } else {
    for (int i = 0; i < 20; ++i) assert_null(outputs[i]);
    TF_OpKernelContext_Failure(ctx, s);
  }
  for (int i = 0; i < 20; ++i) TF_DeleteTensor(outputs[i]);
  TF_DeleteTensor(x);
  TF_DeleteStatus(s);
}

static TF_Tensor* run_inner(const char* op, int inputs, int outputs, TF_Status* s) {
  inner = op;
  input_count = inputs;
  output_count = outputs;
  return run_op("RunsInner", s);
}

static void test_answers(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* sum = run_inner("AddV2", 2, 1, s);
  kit_ok(s);
  assert_int_equal(kit_int32_of(sum), 10);
  TF_DeleteTensor(sum);
  sum = run_inner("Neg", 1, 1, s);
  kit_ok(s);
  assert_int_equal(kit_int32_of(sum), -5);
  TF_DeleteTensor(sum);
  TF_DeleteStatus(s);
}

static void test_refuses(void** state) {
  static const struct {
    const char* op;
    int inputs, outputs;
    TF_Code code;
    const char* text;
  } kCases[] = {
      {"NoSuchOp", 1, 1, TF_NOT_FOUND, "Running op 'NoSuchOp' within a kernel failed"},
      {"AddV2", 1, 1, TF_INVALID_ARGUMENT, "AddV2"},
      {"AddV2", 2, 2, TF_INVALID_ARGUMENT, "output_count is 2, must be 1"},
      {"AddV2", 17, 1, TF_INVALID_ARGUMENT, "with 0 to 16 of both"},
      {"AddV2", -1, 1, TF_INVALID_ARGUMENT, "-1 inputs"},
      {"AddV2", 2, 17, TF_INVALID_ARGUMENT, "17 outputs"},
      {NULL, 1, 1, TF_INVALID_ARGUMENT, "op is NULL"},
      {"Placeholder", 0, 1, TF_UNIMPLEMENTED, "graph"},
      {"RandomUniform", 1, 1, TF_INVALID_ARGUMENT, "dtype"},
      {"Merge", 1, 2, TF_UNIMPLEMENTED, "graph"},
      {"Reshape", 2, 1, TF_INVALID_ARGUMENT, "Reshape"},  // the shape is no vector
  };
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    TF_Status* s = TF_NewStatus();
    TF_Tensor* result = run_inner(kCases[i].op, kCases[i].inputs, kCases[i].outputs, s);
    assert_null(result);
    kit_expect(s, kCases[i].code);
    assert_int_equal(answer, kCases[i].code);
    assert_true(holds(message, strlen(message), kCases[i].text));
    TF_DeleteStatus(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_answers),
      cmocka_unit_test(test_refuses),
  };
  assert_int_equal(register_op("RunsInner", "x: int32", "y: int32", NULL, NULL), TF_OK);
  register_kernel("RunsInner", runs_inner);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
