// A program, in C and in C++ at once, that includes the headers which cppflow and tfjs-node include
// and does with strings what they do: a tensor of one, through an eager op and back.
#include <stdio.h>
#include <string.h>

#include <tensorflow/c/c_api.h>
#include <tensorflow/c/eager/c_api.h>
#include <tensorflow/c/tf_datatype.h>
#include <tensorflow/c/tf_tensor.h>
#include <tensorflow/core/platform/ctstring.h>
#include <tensorflow/core/platform/ctstring_internal.h>

static const char text[] = "longer than the 22 characters that fit inside";

static int failed(TF_Status* status, const char* what) {
  if (TF_GetCode(status) == TF_OK) return 0;
  printf("%s: %s\n", what, TF_Message(status));
  return 1;
}

// Text -> tensor -> Identity -> tensor; whether the text comes back.
static int run(TFE_Context* context, TF_Status* status) {
  TF_TString string;
  TFE_TensorHandle* results[1] = {NULL};
  int count = 1;
  TF_Tensor* tensor = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
  TF_TString_Init(&string);
  TF_TString_Copy(&string, text, strlen(text));
  memcpy(TF_TensorData(tensor), &string, sizeof string);  // the tensor has the string from here on
  TFE_TensorHandle* handle = TFE_NewTensorHandle(tensor, status);
  if (failed(status, "a handle")) return 1;
  TFE_Op* op = TFE_NewOp(context, "Identity", status);
  if (failed(status, "an op")) return 1;
  TFE_OpAddInput(op, handle, status);
  TFE_Execute(op, results, &count, status);
  if (failed(status, "running")) return 1;
  TF_Tensor* result = TFE_TensorHandleResolve(results[0], status);
  if (failed(status, "resolving")) return 1;
  const TF_TString* got = (const TF_TString*)TF_TensorData(result);
  int same = TF_TString_GetSize(got) == strlen(text) &&
             !memcmp(TF_TString_GetDataPointer(got), text, strlen(text));
  TF_DeleteTensor(result);
  TFE_DeleteTensorHandle(results[0]);
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(handle);
  TF_DeleteTensor(tensor);
  return !same;
}

int main(void) {
  TF_Status* status = TF_NewStatus();
  TFE_ContextOptions* options = TFE_NewContextOptions();
  TFE_Context* context = TFE_NewContext(options, status);
  int wrong = failed(status, "a context") || run(context, status);
  wrong |= TF_align16(17) != 32 || TF_align16(16) != 16 || TF_max(2, 3) != 3 || TF_min(2, 3) != 2;
  wrong |= TF_swap32(0x01020304u) != 0x04030201u;
  TFE_DeleteContext(context);
  TFE_DeleteContextOptions(options);
  TF_DeleteStatus(status);
  puts(wrong ? "strings: wrong" : "strings: right");
  return wrong;
}
