// Memory that runs out at the n-th allocation, for every n, while gradients are added and while
// steps run, on each executor and across devices: RESOURCE_EXHAUSTED, nothing is lost (under ASan),
// and trying again, in the same graph and session, gives the right numbers. The model is a small
// network with one training step, and the expected numbers are those of the run in which nothing
// failed. A variable is where a failure could do lasting harm, so the step that failed is a
// training step and the next one reads what it left. Functions and loops are tried in
// function_memory_test.c, building and importing in tests/capi/memory_test.c.
#include <math.h>
#include <stdlib.h>

#include "base/fault.h"
#include "capi/kit.h"

// y = sum(relu(x w) * relu(x w)), w a variable; train: w -= 0.01 dy/dw.
typedef struct model_s {
  TF_Graph* graph;
  TF_Status* status;
  TF_Output x, handle, w, y, gradient;
  TF_Operation *initialize, *train;
} model_t;

static TF_Operation* with_dtype(TF_OperationDescription* desc) {
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  return kit_finish(desc);
}

static void on_device(TF_OperationDescription* desc, int device) {
  TF_SetDevice(desc, device ? "/cpu:1" : "/cpu:0");
}

static TF_Output placed(TF_Graph* graph, const char* op, const char* name, TF_Output a, TF_Output b,
                        int device) {
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  TF_AddInput(desc, a);
  if (b.oper) TF_AddInput(desc, b);
  on_device(desc, device);
  return kit_out(kit_finish(desc), 0);
}

// A small model with one variable; with |far| every other node lies on a second device, so that the
// step has transfers too.
static void build(model_t* m, int far) {
  const float start[] = {1, -1, 2, 0.5f};
  const int64_t dims[] = {2, 2};
  m->graph = TF_NewGraph();
  m->status = TF_NewStatus();
  m->x = kit_out(kit_shaped(m->graph, "x", TF_FLOAT, 2, dims), 0);
  TF_OperationDescription* desc = TF_NewOperation(m->graph, "VarHandleOp", "v");
  TF_SetAttrShape(desc, "shape", dims, 2);
  m->handle = kit_out(with_dtype(desc), 0);
  TF_Output value = kit_out(
      kit_const(m->graph, "start", kit_tensor(TF_FLOAT, 2, dims, start, sizeof start)), 0);
  desc = TF_NewOperation(m->graph, "AssignVariableOp", "initialize");
  TF_AddInput(desc, m->handle);
  TF_AddInput(desc, value);
  m->initialize = with_dtype(desc);
  desc = TF_NewOperation(m->graph, "ReadVariableOp", "w");
  TF_AddInput(desc, m->handle);
  m->w = kit_out(with_dtype(desc), 0);
  const TF_Output none = {NULL, 0};
  TF_Output product = placed(m->graph, "MatMul", "product", m->x, m->w, far);
  TF_Output hidden = placed(m->graph, "Relu", "hidden", product, none, 0);
  TF_Output square = placed(m->graph, "Mul", "square", hidden, hidden, far);
  const int32_t axes[] = {0, 1};
  const int64_t two = 2;
  TF_Output all = kit_out(
      kit_const(m->graph, "axes", kit_tensor(TF_INT32, 1, &two, axes, sizeof axes)), 0);
  m->y = placed(m->graph, "Sum", "y", square, all, 0);
}

static void end(model_t* m) {
  TF_DeleteGraph(m->graph);
  TF_DeleteStatus(m->status);
}

static void add_training(model_t* m) {
  TF_AddGradients(m->graph, &m->y, 1, &m->w, 1, NULL, m->status, &m->gradient);
  kit_ok(m->status);
  TF_Operation* rate = kit_const_float(m->graph, "rate", 0.01f);
  TF_OperationDescription* desc =
      TF_NewOperation(m->graph, "ResourceApplyGradientDescent", "train");
  TF_AddInput(desc, m->handle);
  TF_AddInput(desc, kit_out(rate, 0));
  TF_AddInput(desc, m->gradient);
  m->train = kit_finish(desc);
}

// ---- Gradients ----------------------------------------------------------------------------------

static void gradients_try_again(void** state) {
  for (int64_t n = 1;; ++n) {
    model_t m;
    leat_fault_t fault;
    TF_Output gradient;
    build(&m, 0);
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    TF_AddGradients(m.graph, &m.y, 1, &m.w, 1, NULL, m.status, &gradient);
    bool met = leat_fault_remove(&fault);
    TF_Code code = TF_GetCode(m.status);
    if (!met) kit_ok(m.status);
    if (code != TF_OK) {
      kit_expect(m.status, TF_RESOURCE_EXHAUSTED);
      add_training(&m);  // beside what is left of the first attempt, as in TensorFlow
    }
    end(&m);
    if (!met) break;
    assert_true(n < 100000);
  }
}

// ---- Steps --------------------------------------------------------------------------------------

static TF_Session* open_session(model_t* m, int devices) {
  const unsigned char config[] = {0x0a, 7, 0x0a, 3, 'C', 'P', 'U', 0x10, (unsigned char)devices,
                                  0x28, 2};  // device_count, inter_op threads
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = NULL;
  if (!options) {
    TF_SetStatus(m->status, TF_RESOURCE_EXHAUSTED, "no options");
    return NULL;
  }
  TF_SetStatus(m->status, TF_OK, "");
  TF_SetConfig(options, config, sizeof config, m->status);
  if (TF_GetCode(m->status) == TF_OK) session = TF_NewSession(m->graph, options, m->status);
  TF_DeleteSessionOptions(options);
  return session;
}

static bool run_target(model_t* m, TF_Session* session, TF_Tensor* fed,
                       const TF_Operation* target) {
  TF_SessionRun(session, NULL, &m->x, &fed, 1, NULL, NULL, 0, &target, 1, NULL, m->status);
  return TF_GetCode(m->status) == TF_OK;
}

static bool fetch(model_t* m, TF_Session* session, TF_Tensor* fed, float* out_y) {
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, &m->x, &fed, 1, &m->y, &result, 1, NULL, 0, NULL, m->status);
  if (TF_GetCode(m->status) != TF_OK) return false;
  *out_y = kit_float_of(result);
  TF_DeleteTensor(result);
  return true;
}

// Two steps of each signature.
static bool run_steps(model_t* m, TF_Session* session, TF_Tensor* fed, float* out_y) {
  float first;
  return run_target(m, session, fed, m->initialize) && fetch(m, session, fed, &first) &&
         run_target(m, session, fed, m->train) && fetch(m, session, fed, out_y) &&
         run_target(m, session, fed, m->train);
}

// Lets the n-th allocation fail, for every n until none is left. What fails must say that memory is
// exhausted, and a second attempt must then succeed.
static void steps_try_again(int devices) {
  const float x[] = {1, 2, -1, 3};
  const int64_t dims[] = {2, 2};
  float expected = NAN;
  for (int64_t n = 1;; ++n) {
    model_t m;
    leat_fault_t fault;
    float y = 0;
    build(&m, devices > 1);
    add_training(&m);
    TF_Tensor* fed = kit_tensor(TF_FLOAT, 2, dims, x, sizeof x);
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    TF_Session* session = open_session(&m, devices);
    bool done = session && run_steps(&m, session, fed, &y);
    bool met = leat_fault_remove(&fault);
    if (!done) {
      kit_expect(m.status, TF_RESOURCE_EXHAUSTED);
      if (!session) session = open_session(&m, devices);
      assert_true(run_steps(&m, session, fed, &y));
    }
    if (isnan(expected)) expected = y;
    assert_true(y == expected);
    TF_DeleteTensor(fed);
    kit_close(session);
    end(&m);
    if (!met) break;
    assert_true(n < 100000);
  }
  assert_true(expected > 0 && expected < 100);
}

static void steps_of_the_linear_executor(void** state) {
  setenv("LEAT_EXECUTOR", "sequence", 1);
  steps_try_again(1);
}

static void steps_of_the_dataflow_executor(void** state) {
  setenv("LEAT_EXECUTOR", "dataflow", 1);
  steps_try_again(1);
}

static void steps_across_devices(void** state) {
  unsetenv("LEAT_EXECUTOR");
  steps_try_again(2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_try_again),
      cmocka_unit_test(steps_of_the_linear_executor),
      cmocka_unit_test(steps_of_the_dataflow_executor),
      cmocka_unit_test(steps_across_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
