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

// --- Variables -------------------------------------------------------------------------------
// An input names a variable by a resource handle or by a reference. The functions that a kernel
// gives copy |source| into |dest|, which is of the same type and shape, or change a tensor in
// place. They are called on the calling thread before the function returns, own the tensors that
// they get and so delete them, and fail the run by TF_OpKernelContext_Failure. Without a function
// for copying, bytes are copied. Written is only what nobody else reads: values that steps have
// read never change. TF_OUT_OF_RANGE for an index that is none, TF_FAILED_PRECONDITION for a
// variable without a value, where one is needed.

// The variable at input |input_index| gets a copy of input |value_index|. A handle's first
// assignment makes the variable. TF_INVALID_ARGUMENT for another type than the variable's and, with
// |validate_shape|, another shape.
TF_CAPI_EXPORT void TF_AssignVariable(TF_OpKernelContext* ctx, int input_index, int value_index,
                                      bool validate_shape,
                                      void (*copyFunc)(TF_OpKernelContext* ctx, TF_Tensor* source,
                                                       TF_Tensor* dest),
                                      TF_Status* status);
// The same of a reference, which output |output_ref_index| becomes too. The variable is locked
// meanwhile in any case.
TF_CAPI_EXPORT void TF_AssignRefVariable(
    TF_OpKernelContext* ctx, int input_ref_index, int output_ref_index, int value_index,
    bool use_locking, bool validate_shape,
    void (*copyFunc)(TF_OpKernelContext* ctx, TF_Tensor* source, TF_Tensor* dest),
    TF_Status* status);
// Calls |updateFunc| with the variable's tensor, to be changed in place, with the value and |Op|,
// whose meaning is the kernel's own. TF_INVALID_ARGUMENT when the shapes differ.
TF_CAPI_EXPORT void TF_AssignUpdateVariable(
    TF_OpKernelContext* ctx, int input_index, int value_index, int Op, int isVariantType,
    void (*copyFunc)(TF_OpKernelContext* ctx, TF_Tensor* source, TF_Tensor* dest),
    void (*updateFunc)(TF_OpKernelContext* ctx, TF_Tensor* tensor, TF_Tensor* value, int Op),
    TF_Status* status);

// Output 0 becomes a reference to a new variable that ends with the step. |plugin_allocator| puts
// a tensor of that type and shape into the empty one that it gets (TF_AllocateTemp and
// TF_TensorBitcastFrom). TF_ALREADY_EXISTS when the step has one of the name.
TF_CAPI_EXPORT void TF_TemporaryVariable(
    TF_OpKernelContext* ctx, TF_DataType dtype, const int64_t* dims, int num_dims,
    TF_StringView* var_name,
    void (*plugin_allocator)(TF_OpKernelContext*, TF_Tensor*, TF_DataType, const int64_t*, int,
                             TF_Status*),
    TF_Status* tf_status);
// Output 0 becomes the value of the variable that input |index| refers to, and the variable ends.
TF_CAPI_EXPORT void TF_DestroyTemporaryVariable(TF_OpKernelContext* ctx, const int index,
                                                TF_StringView* var_name, TF_Status* tf_status);

// Locks the variables at |inputs| [len], if |do_lock| says so, in an order in which no two kernels
// wait for each other. Inputs that are no variables are passed over. |*lockHolder| keeps the locks
// until it is released, on the same thread; NULL after a failure, which releasing accepts.
typedef struct TF_VariableInputLockHolder TF_VariableInputLockHolder;
TF_CAPI_EXPORT void TF_MaybeLockVariableInputMutexesInOrder(
    TF_OpKernelContext* ctx, bool do_lock, bool sparse, const int* const inputs, size_t len,
    void (*copyFunc)(TF_OpKernelContext* ctx, TF_Tensor* source, TF_Tensor* dest),
    TF_VariableInputLockHolder** lockHolder, TF_Status* status);
TF_CAPI_EXPORT void TF_ReleaseVariableInputLockHolder(TF_VariableInputLockHolder* lockHolder);
// The variable's tensor, to be changed in place and then deleted. |lock_held|: the caller has
// locked the variable; otherwise it is locked only while the tensor is looked up.
TF_CAPI_EXPORT void TF_GetInputTensorFromVariable(
    TF_OpKernelContext* ctx, int input, bool lock_held, bool isVariantType, bool sparse,
    void (*copyFunc)(TF_OpKernelContext* ctx, TF_Tensor* source, TF_Tensor* dest),
    TF_Tensor** out, TF_Status* status);

// --- Variants --------------------------------------------------------------------------------
// Output 0 becomes the sum of all inputs, or what is 0 to input 0. Lists, optionals and others know
// these by themselves, so that the functions are not called; they may be NULL. TF_INVALID_ARGUMENT
// for inputs that are no variants, or of a kind that has no sum.

TF_CAPI_EXPORT void TF_AddNVariant(TF_OpKernelContext* ctx,
                                   void (*binary_add_func)(TF_OpKernelContext* ctx, TF_Tensor* a,
                                                           TF_Tensor* b, TF_Tensor* out),
                                   TF_Status* status);
TF_CAPI_EXPORT void TF_ZerosLikeVariant(TF_OpKernelContext* ctx,
                                        void (*zeros_like_func)(TF_OpKernelContext* ctx,
                                                                TF_Tensor* input, TF_Tensor* out),
                                        TF_Status* status);

// The coordination service of a cluster; next_pluggable_device/c_api.h has its functions.
typedef struct TF_CoordinationServiceAgent TF_CoordinationServiceAgent;

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_KERNELS_EXPERIMENTAL_H_
