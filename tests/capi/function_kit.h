// Graphs with functions in text form (protobuf's, ' for "): what the tests of calls build with.
#ifndef LEAT_TESTS_CAPI_FUNCTION_KIT_H_
#define LEAT_TESTS_CAPI_FUNCTION_KIT_H_

#include "capi/kit.h"

// Attributes.
#define TYPE(key, dtype) " attr { key: '" key "' value { type: DT_" dtype " } }"
#define TYPES(key, ...) " attr { key: '" key "' value { list { type: [" __VA_ARGS__ "] } } }"
#define FUNC(key, name) " attr { key: '" key "' value { func { name: '" name "' } } }"
#define PLACEHOLDER(key, name) " attr { key: '" key "' value { placeholder: '" name "' } }"
#define LOWER " attr { key: '_lower_using_switch_merge' value { b: true } }"
// Nodes: |inputs| are IN(..)s, |attrs| attributes.
#define IN(name) " input: '" name "'"
#define NODE(name, op, inputs, attrs) "node { name: '" name "' op: '" op "'" inputs attrs " }\n"
#define DEF(name, op, inputs, attrs) "node_def { name: '" name "' op: '" op "'" inputs attrs " }\n"
#define CONST(dtype, field, value)                              \
  TYPE("dtype", dtype)                                          \
  " attr { key: 'value' value { tensor { dtype: DT_" dtype \
  " tensor_shape {} " field ": " value " } } }"
#define INT32(value) CONST("INT32", "int_val", value)
#define FLOAT(value) CONST("FLOAT", "float_val", value)
// Functions.
#define ARG(name, dtype) " input_arg { name: '" name "' type: DT_" dtype " }"
#define OUT(name, dtype) " output_arg { name: '" name "' type: DT_" dtype " }"
#define RET(name, value) " ret { key: '" name "' value: '" value "' }"
#define CONTROL_RET(name, value) " control_ret { key: '" name "' value: '" value "' }"
#define FUNCTION(name, signature, body) \
  " function { signature { name: '" name "'" signature " }\n" body " }\n"
// A text begins LIBRARY FUNCTION(..) FUNCTION(..) END, if it has functions.
#define LIBRARY "library {"
#define END "}\n"

// Imports |text| into |graph|; the code, and in |status| why not.
TF_Code functions_import(TF_Graph* graph, const char* text, TF_Status* status);
// A graph of |text|, which must be sound, and a session over it.
typedef struct functions_s {
  TF_Graph* graph;
  TF_Session* session;
  TF_Status* status;
} functions_t;
functions_t functions_open(const char* text);
functions_t functions_open_on(const char* text, int devices);
void functions_close(functions_t* f);

TF_Output functions_output(const functions_t* f, const char* name, int index);
// Fetches |name|:|index| with up to two scalars fed: placeholders called "x" and "y" of the graph.
TF_Tensor* functions_run(functions_t* f, const char* name, int index, TF_Tensor* x, TF_Tensor* y);
float functions_float(functions_t* f, const char* name, float x);    // feeds "x"
int32_t functions_int(functions_t* f, const char* name, int32_t x);  // feeds "x"
float functions_fetch(functions_t* f, const char* name);             // feeds nothing
void functions_target(functions_t* f, const char* name);
// The code of a fetch of |name|:0 with |x| (may be NULL; deleted) under a limit (0: none).
TF_Code functions_try(functions_t* f, const char* name, TF_Tensor* x, int timeout_ms);

#endif  // LEAT_TESTS_CAPI_FUNCTION_KIT_H_
