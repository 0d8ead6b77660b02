// A signature of a SavedModel as a function. See saved_model_api.h.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_FUNCTION_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_FUNCTION_H_

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/experimental/saved_model/public/signature_def_function_metadata.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_SignatureDefFunction TF_SignatureDefFunction;
// Borrowed from the model.
TF_CAPI_EXPORT TF_SignatureDefFunctionMetadata* TF_SignatureDefFunctionGetMetadata(
    TF_SignatureDefFunction* func);
// A new op (TFE_DeleteOp) that runs the signature on |inputs|, which are given in the order of its
// arguments and of which it keeps its own hold. TFE_Execute gives the results in the order of the
// returns, and may run it more than once. The op keeps the model. TF_INVALID_ARGUMENT for another
// number of inputs than there are arguments; wrong types are an error of TFE_Execute.
TF_CAPI_EXPORT TFE_Op* TF_SignatureDefFunctionMakeCallOp(TF_SignatureDefFunction* func,
                                                         TFE_TensorHandle** inputs,
                                                         int num_inputs, TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_FUNCTION_H_
