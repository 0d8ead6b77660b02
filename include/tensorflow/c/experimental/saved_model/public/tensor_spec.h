// What a signature says of a tensor. See saved_model_api.h.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_TENSOR_SPEC_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_TENSOR_SPEC_H_

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_shape.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_TensorSpec TF_TensorSpec;
TF_CAPI_EXPORT TF_DataType TF_TensorSpecDataType(const TF_TensorSpec* spec);
// Borrowed from the specification.
TF_CAPI_EXPORT const TF_Shape* TF_TensorSpecShape(const TF_TensorSpec* spec);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_TENSOR_SPEC_H_
