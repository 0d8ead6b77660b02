// What is known of a function of a SavedModel besides its inputs and results. The type is opaque,
// and TensorFlow has no function that reads it. See concrete_function.h.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_FUNCTION_METADATA_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_FUNCTION_METADATA_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_FunctionMetadata TF_FunctionMetadata;

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_FUNCTION_METADATA_H_
