// A list of tensor handles that belongs to another object: leat_concrete_function_captures
// (leat/saved_model.h) gives one.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_TENSORHANDLE_LIST_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_TENSORHANDLE_LIST_H_

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_TensorHandleList TF_TensorHandleList;
TF_CAPI_EXPORT size_t TF_TensorHandleListSize(const TF_TensorHandleList* list);
// Borrowed from the list; NULL where there is none of the number.
TF_CAPI_EXPORT TFE_TensorHandle* TF_TensorHandleListGet(const TF_TensorHandleList* list, int i);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_TENSORHANDLE_LIST_H_
