// Functions: subgraphs with a name, called as operations. Part of the C API: c_api.h has the rules
// on errors, ownership and threads.
//
// A graph holds a library of functions. One whose name is F is called by an operation of op type F,
// or through ops that take a function as an attribute (PartitionedCall, While, If, Case, ...).
//
//   TF_Function* f = TF_GraphToFunction(body, "SquareOf", 0, -1, NULL, 1, &x, 1, &y, NULL,
//                                       NULL, NULL, status);
//   TF_GraphCopyFunction(graph, f, NULL, status);
//   TF_DeleteFunction(f);
//   TF_OperationDescription* call = TF_NewOperation(graph, "SquareOf", "call");

#ifndef TENSORFLOW_C_C_API_FUNCTION_H_
#define TENSORFLOW_C_C_API_FUNCTION_H_

#include <stddef.h>

#include "tensorflow/c/c_api_graph.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// A function outside any graph: inputs, outputs, body, attributes. Graphs that it is copied to do
// not depend on it. Free with TF_DeleteFunction.
typedef struct TF_Function TF_Function;

// Kept for the day when there are options; there is no way to make one. Pass NULL.
typedef struct TF_FunctionOptions TF_FunctionOptions;

// --- Making ----------------------------------------------------------------------------------

// Makes a function of (a part of) the graph |fn_body|, which stays as it is.
//
// fn_name, append_hash_to_fn_name
//     The name, [A-Z][A-Za-z0-9_.\-/]*; with 1, "_" and a hash of the definition are appended, so
//     that equal functions get equal names and others do not clash.
// num_opers, opers
//     The operations of the body. -1 and NULL: all of the graph, save those that |inputs| names,
//     each of which must then have just one output (placeholders that stood in for arguments). An
//     array of 0 is something else: a body without operations, as of an identity.
// ninputs, inputs
//     The tensors that become arguments, each once. An argument is named after its operation, in
//     lower case with "_" for anything but letters and digits; names that collide get a number.
// noutputs, outputs, output_names
//     The tensors that become results; one may occur repeatedly, and may be an argument. Their
//     names, [a-z][a-z0-9_]*, or NULL to have them made up.
// description
//     A text for people, or NULL.
//
// Returns the function, the caller's to delete, or NULL. TF_INVALID_ARGUMENT when an operation of
// the body takes a tensor, or waits for an operation, that is neither in the body nor an argument;
// when an argument repeats, or an argument or result is no tensor of the graph or has a reference
// type; when a name is malformed or repeats. An argument must not come from inside a loop or a
// conditional made of Enter, Switch and their like.
TF_CAPI_EXPORT TF_Function* TF_GraphToFunction(
    const TF_Graph* fn_body, const char* fn_name, unsigned char append_hash_to_fn_name,
    int num_opers, const TF_Operation* const* opers, int ninputs, const TF_Output* inputs,
    int noutputs, const TF_Output* outputs, const char* const* output_names,
    const TF_FunctionOptions* opts, const char* description, TF_Status* status);

// The same for a function with side effects that no result depends on: the |ncontrol_outputs|
// operations of the body in |control_outputs| run at every call. |control_output_names| names them,
// or is NULL to use the operations' own names.
TF_CAPI_EXPORT TF_Function* TF_GraphToFunctionWithControlOutputs(
    const TF_Graph* fn_body, const char* fn_name, unsigned char append_hash_to_fn_name,
    int num_opers, const TF_Operation* const* opers, int ninputs, const TF_Output* inputs,
    int noutputs, const TF_Output* outputs, const char* const* output_names, int ncontrol_outputs,
    const TF_Operation* const* control_outputs, const char* const* control_output_names,
    const TF_FunctionOptions* opts, const char* description, TF_Status* status);

// The function in the FunctionDef message of |proto_len| bytes at |proto|, the caller's to delete;
// NULL on failure. Whether its body makes sense shows when it is copied to a graph or called.
TF_CAPI_EXPORT TF_Function* TF_FunctionImportFunctionDef(const void* proto, size_t proto_len,
                                                         TF_Status* status);

// Frees the function; copies in graphs live on. NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteFunction(TF_Function* func);

// --- Looking, changing -----------------------------------------------------------------------

// The name, the hash included if one was appended. NUL-terminated, lives as long as |func|.
TF_CAPI_EXPORT const char* TF_FunctionName(TF_Function* func);

// Writes the FunctionDef message.
TF_CAPI_EXPORT void TF_FunctionToFunctionDef(TF_Function* func, TF_Buffer* output_func_def,
                                             TF_Status* status);

// Sets the function's attribute |attr_name|, new or not, to the AttrValue message of |proto_len|
// bytes at |proto|. Copies made before do not change.
TF_CAPI_EXPORT void TF_FunctionSetAttrValueProto(TF_Function* func, const char* attr_name,
                                                 const void* proto, size_t proto_len,
                                                 TF_Status* status);

// Writes the AttrValue message of the attribute. TF_INVALID_ARGUMENT when there is none of that
// name.
TF_CAPI_EXPORT void TF_FunctionGetAttrValueProto(TF_Function* func, const char* attr_name,
                                                 TF_Buffer* output_attr_value, TF_Status* status);

// --- A graph's functions ---------------------------------------------------------------------

// Adds a copy of |func| to the library of |g| and, unless |grad| is NULL, a copy of |grad| as the
// function that computes its gradient (arguments: those of |func|, then one gradient for each of
// its results; results: one gradient for each of its arguments). What the library has already, in
// the same form, is left alone. TF_INVALID_ARGUMENT, with the library as it was, when it has
// another function or op of that name, or another gradient for |func|, or |func| is NULL.
TF_CAPI_EXPORT void TF_GraphCopyFunction(TF_Graph* g, const TF_Function* func,
                                         const TF_Function* grad, TF_Status* status);

// How many functions the library holds.
TF_CAPI_EXPORT int TF_GraphNumFunctions(TF_Graph* g);

// Sets funcs[0], funcs[1], ... to copies of the functions in the library, |max_func| at most, each
// the caller's to delete. Returns how many.
TF_CAPI_EXPORT int TF_GraphGetFunctions(TF_Graph* g, TF_Function** funcs, int max_func,
                                        TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_FUNCTION_H_
