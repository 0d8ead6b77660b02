// How kernels treat numbers that are too small for the usual form, and that a program's own
// floating-point state is as it left it after every call: its rounding, and, but for a signature's
// first step, which exceptions it has seen. A product that is too small, and one of a number that
// is too small, must be 0 in a session, in constants that are folded, on every thread of a pool and
// in an eager op. Otherwise a result would depend on where it was computed, and arithmetic with
// such numbers would be many times slower. TensorFlow's kernels do the same, and its library (2.21)
// passes all of these tests but the first. The library reads LEAT_GRADUAL_UNDERFLOW once, so the
// test of it runs in a child that has not used the library yet, and comes first.
#include <fenv.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capi/kit.h"
#include "tensorflow/c/eager/c_api.h"

#define SMALL 2e-38f     // of the usual form; a hundredth of it is not
#define DENORMAL 1e-40f
#define MANY (1 << 21)   // elements that are worth several threads

typedef struct fixture_s {
  TF_Graph* graph;
  TF_Status* status;
  TF_Output x, product;  // product = x * factor
} fixture_t;

static fixture_t f;

static void build(float factor) {
  f.graph = TF_NewGraph();
  f.status = TF_NewStatus();
  f.x = kit_out(kit_placeholder(f.graph, "x", TF_FLOAT), 0);
  TF_Operation* y = kit_const_float(f.graph, "factor", factor);
  f.product = kit_out(kit_binary(f.graph, "Mul", "product", f.x.oper, y), 0);
}

static void destroy(void) {
  TF_DeleteGraph(f.graph);
  TF_DeleteStatus(f.status);
}

static float multiply(float x, float factor) {
  build(factor);
  TF_Session* session = kit_session(f.graph);
  TF_Tensor* value = kit_run(session, f.x, kit_float(x), f.product);
  const float product = kit_float_of(value);
  TF_DeleteTensor(value);
  kit_close(session);
  destroy();
  return product;
}

static void test_gradual_underflow_by_option(void** state) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("LEAT_GRADUAL_UNDERFLOW", "1", 1);
    const bool is_kept = multiply(SMALL, 0.01f) > 0 && multiply(DENORMAL, 1e10f) > 0;
    _exit(is_kept ? 0 : 1);
  }
  int status;
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_results_and_operands_are_zero(void** state) {
  assert_true(multiply(SMALL, 0.01f) == 0);
  assert_true(multiply(DENORMAL, 1e10f) == 0);
  assert_true(multiply(SMALL, 2) > 0);
}

static void test_constants_are_folded_alike(void** state) {
  build(0.01f);
  TF_Operation* small = kit_const_float(f.graph, "small", SMALL);
  TF_Operation* y = TF_GraphOperationByName(f.graph, "factor");
  TF_Operation* folded = kit_binary(f.graph, "Mul", "folded", small, y);
  TF_Session* session = kit_session(f.graph);
  TF_Tensor* value = kit_run(session, (TF_Output){0}, NULL, kit_out(folded, 0));
  assert_true(kit_float_of(value) == 0);
  TF_DeleteTensor(value);
  kit_close(session);
  destroy();
}

static void test_all_threads(void** state) {
  build(0.01f);
  float* values = malloc(MANY * sizeof *values);
  for (int i = 0; i < MANY; ++i) values[i] = SMALL;
  TF_Session* session = kit_session(f.graph);
  TF_Tensor* value = kit_run(session, f.x, kit_floats(MANY, values), f.product);
  const float* products = TF_TensorData(value);
  int left = 0;
  for (int i = 0; i < MANY; ++i) left += products[i] != 0;
  assert_int_equal(left, 0);
  TF_DeleteTensor(value);
  free(values);
  kit_close(session);
  destroy();
}

static void test_eager(void** state) {
  TF_Status* status = TF_NewStatus();
  TFE_ContextOptions* options = TFE_NewContextOptions();
  TFE_Context* context = TFE_NewContext(options, status);
  TFE_DeleteContextOptions(options);
  TFE_Op* op = TFE_NewOp(context, "Mul", status);
  kit_ok(status);
  const float operands[] = {SMALL, 0.01f};
  for (int i = 0; i < 2; ++i) {
    TF_Tensor* tensor = kit_float(operands[i]);
    TFE_TensorHandle* handle = TFE_NewTensorHandle(tensor, status);
    TFE_OpAddInput(op, handle, status);
    kit_ok(status);
    TFE_DeleteTensorHandle(handle);
    TF_DeleteTensor(tensor);
  }
  TFE_TensorHandle* product;
  int count = 1;
  TFE_Execute(op, &product, &count, status);
  kit_ok(status);
  TF_Tensor* value = TFE_TensorHandleResolve(product, status);
  assert_true(kit_float_of(value) == 0);
  TF_DeleteTensor(value);
  TFE_DeleteTensorHandle(product);
  TFE_DeleteOp(op);
  TFE_DeleteContext(context);
  TF_DeleteStatus(status);
}

static void test_state_of_the_caller_is_kept(void** state) {
  volatile float factor = 0.7f, nearest, above;  // computed where they stand
  nearest = 1 / 3.0f * factor;
  build(factor);
  fesetround(FE_UPWARD);
  above = 1 / 3.0f * factor;
  fesetround(FE_TONEAREST);
  assert_true(above != nearest);
  TF_Session* session = kit_session(f.graph);
  TF_DeleteTensor(kit_run(session, f.x, kit_float(1), f.product));  // compiles the signature
  TF_Tensor* fed = kit_float(1 / 3.0f);
  feclearexcept(FE_ALL_EXCEPT);
  fesetround(FE_UPWARD);
  TF_Tensor* value = kit_run(session, f.x, fed, f.product);
  const int rounding = fegetround(), exceptions = fetestexcept(FE_ALL_EXCEPT);
  fesetround(FE_TONEAREST);
  assert_int_equal(rounding, FE_UPWARD);
  assert_int_equal(exceptions, 0);
  assert_true(kit_float_of(value) == nearest);
  TF_DeleteTensor(value);
  // What underflows in a kernel raises no exception here.
  for (int i = 0; i < 2; ++i) {
    value = kit_run(session, f.x, kit_float(i ? 1e-45f : SMALL), f.product);
    TF_DeleteTensor(value);
  }
  assert_int_equal(fetestexcept(FE_UNDERFLOW | FE_INEXACT), 0);
  volatile float denormal = SMALL;
  denormal = denormal / 100;
  assert_true(denormal > 0);
  kit_close(session);
  destroy();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gradual_underflow_by_option),
      cmocka_unit_test(test_results_and_operands_are_zero),
      cmocka_unit_test(test_constants_are_folded_alike),
      cmocka_unit_test(test_all_threads),
      cmocka_unit_test(test_eager),
      cmocka_unit_test(test_state_of_the_caller_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
