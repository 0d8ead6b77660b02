// An argument or a result of a signature. See saved_model_api.h.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_PARAM_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_PARAM_H_

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/experimental/saved_model/public/tensor_spec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_SignatureDefParam TF_SignatureDefParam;
// Both are borrowed from the model.
TF_CAPI_EXPORT const char* TF_SignatureDefParamName(const TF_SignatureDefParam* param);
TF_CAPI_EXPORT const TF_TensorSpec* TF_SignatureDefParamTensorSpec(
    const TF_SignatureDefParam* param);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_PARAM_H_
