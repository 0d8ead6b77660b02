// What the tests of the C API build with: checked one-line versions of the public functions. Every
// failure is a failure of the test.
#ifndef LEAT_TESTS_CAPI_KIT_H_
#define LEAT_TESTS_CAPI_KIT_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tensorflow/c/c_api.h"

// |status| must say |code|; with TF_OK the message must be empty, otherwise not.
#define kit_expect(status, code) kit_expect_at((status), (code), __FILE__, __LINE__)
#define kit_ok(status) kit_expect_at((status), TF_OK, __FILE__, __LINE__)
void kit_expect_at(const TF_Status* status, TF_Code code, const char* file, int line);
// |code| and a message that contains |text|.
void kit_expect_text(const TF_Status* status, TF_Code code, const char* text);

// Tensors.
TF_Tensor* kit_tensor(TF_DataType dtype, int rank, const int64_t* dims, const void* values,
                      size_t bytes);
TF_Tensor* kit_int32(int32_t value);
TF_Tensor* kit_float(float value);
TF_Tensor* kit_string(const char* value);
TF_Tensor* kit_floats(int64_t count, const float* values);
float kit_float_of(const TF_Tensor* tensor);
int32_t kit_int32_of(const TF_Tensor* tensor);

// Operations.
TF_Operation* kit_finish(TF_OperationDescription* desc);
TF_Operation* kit_placeholder(TF_Graph* graph, const char* name, TF_DataType dtype);
TF_Operation* kit_shaped(TF_Graph* graph, const char* name, TF_DataType dtype, int rank,
                         const int64_t* dims);
TF_Operation* kit_const(TF_Graph* graph, const char* name, TF_Tensor* value);  // deletes |value|
TF_Operation* kit_const_int32(TF_Graph* graph, const char* name, int32_t value);
TF_Operation* kit_const_float(TF_Graph* graph, const char* name, float value);
TF_Operation* kit_unary(TF_Graph* graph, const char* op, const char* name, TF_Operation* x);
TF_Operation* kit_binary(TF_Graph* graph, const char* op, const char* name, TF_Operation* x,
                         TF_Operation* y);
TF_Operation* kit_no_op(TF_Graph* graph, const char* name);
TF_Output kit_out(TF_Operation* operation, int index);
int kit_count(TF_Graph* graph);  // operations

// Sessions.
TF_Session* kit_session(TF_Graph* graph);
void kit_close(TF_Session* session);
// The value of |fetch| when |feed| (may have no operation) is |value| (deleted).
TF_Tensor* kit_run(TF_Session* session, TF_Output feed, TF_Tensor* value, TF_Output fetch);

#endif  // LEAT_TESTS_CAPI_KIT_H_
