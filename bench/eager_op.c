// What it costs to run one small op without a graph: an AddV2 of two scalars is described
// (TFE_NewOp, TFE_OpAddInput), executed and deleted, as a binding does for each op of a program.
// The library is loaded from the folder argv[1] at run time, so that the same program measures this
// library and TensorFlow's own. The first of nine rounds is short and warms up. The sum grows by
// one with each op, so that no op can be left out. Prints one line, which bench/run.py reads.

#include "program.h"
#include "tensorflow/c/eager/c_api.h"

#define FUNCTIONS(X)                                                                          \
  X(TF_NewStatus) X(TF_GetCode) X(TF_Message) X(TF_AllocateTensor) X(TF_TensorData)           \
  X(TF_DeleteTensor) X(TFE_NewContextOptions) X(TFE_NewContext) X(TFE_NewTensorHandle)        \
  X(TFE_TensorHandleResolve) X(TFE_DeleteTensorHandle) X(TFE_NewOp) X(TFE_OpAddInput)         \
  X(TFE_Execute) X(TFE_DeleteOp)
#define DECLARE(name) static __typeof__(&name) name##_;
FUNCTIONS(DECLARE)

static TF_Status* status;

static void check(void) {
  if (TF_GetCode_(status) == TF_OK) return;
  fprintf(stderr, "%s\n", TF_Message_(status));
  exit(1);
}

static TFE_TensorHandle* scalar(float value) {
  TF_Tensor* tensor = TF_AllocateTensor_(TF_FLOAT, NULL, 0, sizeof value);
  *(float*)TF_TensorData_(tensor) = value;
  TFE_TensorHandle* handle = TFE_NewTensorHandle_(tensor, status);
  check();
  TF_DeleteTensor_(tensor);
  return handle;
}

// a + b in the place of |a|, which is deleted.
static TFE_TensorHandle* add(TFE_Context* context, TFE_TensorHandle* a, TFE_TensorHandle* b) {
  TFE_Op* op = TFE_NewOp_(context, "AddV2", status);
  TFE_OpAddInput_(op, a, status);
  TFE_OpAddInput_(op, b, status);
  TFE_TensorHandle* sum = NULL;
  int count = 1;
  TFE_Execute_(op, &sum, &count, status);
  check();
  TFE_DeleteOp_(op);
  TFE_DeleteTensorHandle_(a);
  return sum;
}

int main(int argc, char** argv) {
  void* library = open_library(argc, argv);
#define LOAD(name) name##_ = (__typeof__(&name))dlsym(library, #name);
  FUNCTIONS(LOAD)
  status = TF_NewStatus_();
  TFE_Context* context = TFE_NewContext_(TFE_NewContextOptions_(), status);
  check();
  TFE_TensorHandle *sum = scalar(0), *one = scalar(1);
  double samples[SAMPLES];
  for (int i = 0; i < SAMPLES; ++i) {
    int count = i ? 20000 : 100;
    double start = now_us();
    for (int k = 0; k < count; ++k) sum = add(context, sum, one);
    samples[i] = (now_us() - start) / count;
  }
  TF_Tensor* result = TFE_TensorHandleResolve_(sum, status);
  check();
  print_samples("eager_op", samples, *(float*)TF_TensorData_(result));
  return 0;
}
