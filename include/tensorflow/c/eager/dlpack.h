// Tensors that several libraries share without copying, by DLPack's structs, whose layout is a
// public agreement (https://github.com/dmlc/dlpack). A DLManagedTensor describes memory and how to
// let go of it. In C++ the functions are in the namespace tensorflow, as in TensorFlow's header.

#ifndef TENSORFLOW_C_EAGER_DLPACK_H_
#define TENSORFLOW_C_EAGER_DLPACK_H_

#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
namespace tensorflow {
#endif

// A new DLDevice for free(): device_type and device_id, two int32_t; type 1 (the CPU), number 0.
TF_CAPI_EXPORT void* TFE_GetDLDevice(TFE_TensorHandle* h, TF_Status* status);
// A new DLManagedTensor on the handle's memory, which it keeps alive. Whoever has it last calls its
// deleter, or TFE_CallDLManagedTensorDeleter. Nobody may write into the memory.
// TF_INVALID_ARGUMENT for strings, resources and other types that DLPack does not know.
TF_CAPI_EXPORT void* TFE_HandleToDLPack(TFE_TensorHandle* h, TF_Status* status);
// A handle on the memory of the DLManagedTensor |dlm|, whose deleter is called when the last handle
// and tensor on it are gone. After a failure |dlm| stays the caller's: TF_INVALID_ARGUMENT for
// memory of another device than the CPU, types that have no TF_DataType, and strides that are not
// those of rows one behind the other.
TF_CAPI_EXPORT TFE_TensorHandle* TFE_HandleFromDLPack(void* dlm, TF_Status* status,
                                                      TFE_Context* ctx);
TF_CAPI_EXPORT void TFE_CallDLManagedTensorDeleter(void* dlm_ptr);

#ifdef __cplusplus
} /* end namespace tensorflow */
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EAGER_DLPACK_H_
