// A function of a SavedModel: a tf.function of the object that was saved, as it was traced. See
// saved_model_api.h.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_CONCRETE_FUNCTION_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_CONCRETE_FUNCTION_H_

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/experimental/saved_model/public/function_metadata.h"
#include "tensorflow/c/experimental/saved_model/public/tensorhandle_list.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_ConcreteFunction TF_ConcreteFunction;
// Borrowed from the model, as the function is.
TF_CAPI_EXPORT TF_FunctionMetadata* TF_ConcreteFunctionGetMetadata(TF_ConcreteFunction* func);
// A new op (TFE_DeleteOp) that calls the function on |inputs|: its arguments, without what it
// captured, in the order of the function's signature (nested arguments are flattened, and what is
// no tensor is left out). The op keeps its own hold on them and on the model. TFE_Execute gives the
// results, flattened in the same way, and may call it more than once. TF_INVALID_ARGUMENT for
// another number of inputs than there are arguments; wrong types are an error of TFE_Execute.
TF_CAPI_EXPORT TFE_Op* TF_ConcreteFunctionMakeCallOp(TF_ConcreteFunction* func,
                                                     TFE_TensorHandle** inputs, int num_inputs,
                                                     TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_CONCRETE_FUNCTION_H_
