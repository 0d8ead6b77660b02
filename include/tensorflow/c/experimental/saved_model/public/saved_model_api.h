// Models from files for eager execution: a SavedModel is loaded with its variables and tables, and
// its signatures and functions are called as ops.
//
//   TF_SavedModel* model = TF_LoadSavedModel("export/1", ctx, status);
//   TF_SignatureDefFunction* serve =
//       TF_GetSavedModelSignatureDefFunction(model, "serving_default", status);
//   TFE_Op* op = TF_SignatureDefFunctionMakeCallOp(serve, &input, 1, status);
//   TFE_Execute(op, &output, &count, status);
//
// The state of a model is its own: two models, and the ops of the context, share no variables. A
// model may be used on several threads.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SAVED_MODEL_API_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SAVED_MODEL_API_H_

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/experimental/saved_model/public/concrete_function.h"
#include "tensorflow/c/experimental/saved_model/public/concrete_function_list.h"
#include "tensorflow/c/experimental/saved_model/public/signature_def_function.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_SavedModel TF_SavedModel;
// Loads the graph with the tag "serve" from the directory |dirname|, or the one that has exactly
// |tags|, in any order. It runs on devices like those of |ctx|. Blocks while it reads files and
// restores variables. TF_NOT_FOUND when there is no such model, and what
// TF_LoadSessionFromSavedModel says.
TF_CAPI_EXPORT TF_SavedModel* TF_LoadSavedModel(const char* dirname, TFE_Context* ctx,
                                                TF_Status* status);
TF_CAPI_EXPORT TF_SavedModel* TF_LoadSavedModelWithTags(const char* dirname, TFE_Context* ctx,
                                                        const char* const* tags, int tags_len,
                                                        TF_Status* status);
// Ops of its signatures that are left keep what they need. NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteSavedModel(TF_SavedModel* model);

// The tf.function at |function_path|, the names of attributes from the saved object on, joined by
// dots: "f", "layers.0.call". It was traced once, or the path names one trace ("f.trace_1").
// Borrowed from the model; the first call makes it and may read files and run steps. Functions and
// signatures share the model's variables and tables. TF_NOT_FOUND where nothing is at the path,
// or the model was saved without its objects; TF_INVALID_ARGUMENT where it is no function;
// TF_FAILED_PRECONDITION for several traces, or where the model lacks what the function captures.
TF_CAPI_EXPORT TF_ConcreteFunction* TF_GetSavedModelConcreteFunction(TF_SavedModel* model,
                                                                     const char* function_path,
                                                                     TF_Status* status);
// The signature under that key ("serving_default"); borrowed from the model. TF_NOT_FOUND.
TF_CAPI_EXPORT TF_SignatureDefFunction* TF_GetSavedModelSignatureDefFunction(
    TF_SavedModel* model, const char* signature_def_key, TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SAVED_MODEL_API_H_
