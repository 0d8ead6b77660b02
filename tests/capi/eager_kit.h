// One-line versions of the functions of eager/c_api.h for tests. Every failure is a failure of the
// test; arguments stay the caller's unless a comment says otherwise.
#ifndef LEAT_TESTS_CAPI_EAGER_KIT_H_
#define LEAT_TESTS_CAPI_EAGER_KIT_H_

#include "capi/kit.h"
#include "tensorflow/c/eager/c_api_experimental.h"

TFE_Context* eager_open(void);
// A handle on |tensor|, which is deleted.
TFE_TensorHandle* eager_handle(TF_Tensor* tensor);
// An op with up to two inputs, each of which may be NULL.
TFE_Op* eager_op(TFE_Context* context, const char* name, TFE_TensorHandle* a,
                 TFE_TensorHandle* b);
// Executes |op|, which is deleted, for its one output.
TFE_TensorHandle* eager_result(TFE_Op* op);
// Executes |op|, which is deleted, and expects |code|.
void eager_expect(TFE_Op* op, TF_Code code);
// A function of one |type|, |op| of its argument with itself.
TF_Function* eager_self_binary(const char* name, const char* op, TF_DataType type);
void eager_add_function(TFE_Context* context, TF_Function* function);  // which is deleted
// The values of scalars, whose handles are deleted.
int32_t eager_int32(TFE_TensorHandle* handle);
float eager_float(TFE_TensorHandle* handle);

#endif  // LEAT_TESTS_CAPI_EAGER_KIT_H_
