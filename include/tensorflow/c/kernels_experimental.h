// Kernels of one's own: what TensorFlow calls experimental. See kernels.h.

#ifndef TENSORFLOW_C_KERNELS_EXPERIMENTAL_H_
#define TENSORFLOW_C_KERNELS_EXPERIMENTAL_H_

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

// The one tensor of the op's argument |inputName|; TF_INVALID_ARGUMENT when it is a list.
TF_CAPI_EXPORT void TF_GetInputByName(TF_OpKernelContext* ctx, const char* inputName,
                                      TF_Tensor** tensor, TF_Status* status);

// At most |num_dims| sizes of a shape; -1 for one that is not known.
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrTensorShape(TF_OpKernelConstruction* ctx,
                                                               const char* attr_name,
                                                               int64_t* dims, size_t num_dims,
                                                               TF_Status* status);

// Whether input |i| is a reference to a variable.
TF_CAPI_EXPORT bool TF_IsRefInput(TF_OpKernelContext* ctx, int i, TF_Status* status);

// The output becomes the reference at the input; the run fails when they are not of one type.
TF_CAPI_EXPORT void TF_OpKernelContext_ForwardRefInputToRefOutput(TF_OpKernelContext* ctx,
                                                                  int32_t input_index,
                                                                  int32_t output_index);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_KERNELS_EXPERIMENTAL_H_
