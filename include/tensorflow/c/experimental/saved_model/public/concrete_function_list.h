// A list of a SavedModel's functions: leat_saved_model_functions (leat/saved_model.h) gives one.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_CONCRETE_FUNCTION_LIST_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_CONCRETE_FUNCTION_LIST_H_

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/experimental/saved_model/public/concrete_function.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_ConcreteFunctionList TF_ConcreteFunctionList;
TF_CAPI_EXPORT size_t TF_ConcreteFunctionListSize(TF_ConcreteFunctionList* list);
// Borrowed from the model; NULL where there is none of the number.
TF_CAPI_EXPORT TF_ConcreteFunction* TF_ConcreteFunctionListGet(TF_ConcreteFunctionList* list,
                                                               int i);
// Frees the list, not the functions. NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteConcreteFunctionList(TF_ConcreteFunctionList* list);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_CONCRETE_FUNCTION_LIST_H_
