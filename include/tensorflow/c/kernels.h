// Kernels of one's own, for ops of ops.h or for any other.
//
//   static void compute(void* kernel, TF_OpKernelContext* ctx) {
//     TF_Status* status = TF_NewStatus();
//     TF_Tensor *x = NULL, *y = NULL;
//     TF_GetInput(ctx, 0, &x, status);
//     if (x) {
//       int64_t count = TF_TensorElementCount(x);
//       y = TF_AllocateOutput(ctx, 0, TF_FLOAT, &count, 1, TF_TensorByteSize(x), status);
//     }
//     if (y) memset(TF_TensorData(y), 0, TF_TensorByteSize(y));
//     if (TF_GetCode(status) != TF_OK) TF_OpKernelContext_Failure(ctx, status);
//     TF_DeleteTensor(y);
//     TF_DeleteTensor(x);
//     TF_DeleteStatus(status);
//   }
//
//   static void register_kernels(TF_Status* status) {
//     TF_KernelBuilder* k = TF_NewKernelBuilder("ZeroOut", "CPU", NULL, compute, NULL);
//     TF_KernelBuilder_TypeConstraint(k, "T", TF_FLOAT, status);
//     TF_RegisterKernelBuilder("ZeroOut", k, status);
//   }
//
// A kernel is made once for each node of a plan and then runs many times, on several threads at
// once: what |create| returned must not change while it runs. A run ends well when every output is
// set and nothing called TF_OpKernelContext_Failure; else the step fails with the first failure, or
// with TF_INTERNAL for an output that is missing. c_api.h has the rules on errors and ownership.

#ifndef TENSORFLOW_C_KERNELS_H_
#define TENSORFLOW_C_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/experimental/stream_executor/stream_executor.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"
#include "tensorflow/core/common_runtime/next_pluggable_device/c/tf_rendezvous_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

// A kernel in the making.
typedef struct TF_KernelBuilder TF_KernelBuilder;
// The node that an instance is made for; lives as long as the call of |create_func|.
typedef struct TF_OpKernelConstruction TF_OpKernelConstruction;
// One run; lives until |compute_func| returns, or an asynchronous kernel is done.
typedef struct TF_OpKernelContext TF_OpKernelContext;
// How an asynchronous kernel says that it is done.
typedef struct TF_AsyncOpKernelDoneCallback TF_AsyncOpKernelDoneCallback;

// --- Registering -----------------------------------------------------------------------------

// Not of this library: what a library with kernels for devices of its own exports to register them.
// TF_LoadLibrary does not call it.
TF_CAPI_EXPORT void TF_InitKernel(void);

// A kernel for the op |op_name| on devices of type |device_name| ("CPU").
//
// create_func   makes what the other two get as their first argument; NULL: they get NULL
// compute_func  one run
// delete_func   ends what create_func made, also after TF_OpKernelConstruction_Failure; may be NULL
//
// NULL when memory runs out.
TF_CAPI_EXPORT TF_KernelBuilder* TF_NewKernelBuilder(
    const char* op_name, const char* device_name, void* (*create_func)(TF_OpKernelConstruction*),
    void (*compute_func)(void*, TF_OpKernelContext*), void (*delete_func)(void*));

// The same for one that may finish after it has returned: the run ends, and its context with it,
// when TF_RunAsyncOpKernelDoneCallback is called, once, on any thread. A kernel that waits for
// something else does so here, so that it holds no thread of the pool.
TF_CAPI_EXPORT TF_KernelBuilder* TF_NewAsyncKernelBuilder(
    const char* op_name, const char* device_name, void* (*create_func)(TF_OpKernelConstruction*),
    void (*compute_async_func)(void*, TF_OpKernelContext*, TF_AsyncOpKernelDoneCallback* done),
    void (*delete_func)(void*));
TF_CAPI_EXPORT void TF_RunAsyncOpKernelDoneCallback(TF_AsyncOpKernelDoneCallback* done);

// Serves only nodes whose attribute |attr_name| (a type, or each of a list) is |type|. Each call is
// a further condition. TF_UNIMPLEMENTED for what is no type.
TF_CAPI_EXPORT void TF_KernelBuilder_TypeConstraint(TF_KernelBuilder* kernel_builder,
                                                    const char* attr_name, const TF_DataType type,
                                                    TF_Status* status);

// The input or output |arg_name| lies in memory of the host, whatever the device.
TF_CAPI_EXPORT void TF_KernelBuilder_HostMemory(TF_KernelBuilder* kernel_builder,
                                                const char* arg_name);

// Of several that serve a node the highest is taken (0 unless set), then the first registered;
// those of the library itself come before.
TF_CAPI_EXPORT void TF_KernelBuilder_Priority(TF_KernelBuilder* kernel_builder,
                                              int32_t priority_number);

// Serves only nodes whose attribute _kernel is |label|, which is copied.
TF_CAPI_EXPORT void TF_KernelBuilder_Label(TF_KernelBuilder* kernel_builder, const char* label);

// Registers the kernel and frees |builder|, whatever comes of it. |kernel_name| is for people.
// Sessions that have planned a graph keep the kernels that they chose. TF_INVALID_ARGUMENT when
// the op, the device or the function is missing.
TF_CAPI_EXPORT void TF_RegisterKernelBuilder(const char* kernel_name, TF_KernelBuilder* builder,
                                             TF_Status* status);

// The same with op, device, constraints, host arguments, label and priority out of a serialised
// KernelDef, which ends at its first byte 0; NULL: those of the builder.
TF_CAPI_EXPORT void TF_RegisterKernelBuilderWithKernelDef(const char* serialized_kernel_def,
                                                          const char* name,
                                                          TF_KernelBuilder* builder,
                                                          TF_Status* status);

// Frees a builder that is not registered. NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteKernelBuilder(TF_KernelBuilder* builder);

// --- While it runs: inputs -------------------------------------------------------------------

TF_CAPI_EXPORT int TF_NumInputs(TF_OpKernelContext* ctx);
TF_CAPI_EXPORT int TF_NumOutputs(TF_OpKernelContext* ctx);

// |*tensor| becomes a new handle on input |i|, for the caller to delete; its elements are not to be
// written. TF_OUT_OF_RANGE when there is no such input.
TF_CAPI_EXPORT void TF_GetInput(TF_OpKernelContext* ctx, int i, TF_Tensor** tensor,
                                TF_Status* status);

typedef struct {
  size_t struct_size;
  void* priv;
  int start;          // out: the first tensor of the argument
  int stop;           // out: behind its last
  TF_Status* status;  // the caller's; set
} TF_InputRange_Args;
#define TF_InputRange_Args_STRUCT_SIZE TF_OFFSET_OF_END(TF_InputRange_Args, status)

// Which inputs the argument |name| of the op stands for.
TF_CAPI_EXPORT void TF_InputRange(TF_OpKernelContext* ctx, const char* name,
                                  TF_InputRange_Args* args);

// 0 when there is no such input.
TF_CAPI_EXPORT TF_DataType TF_InputDatatype(TF_OpKernelContext* ctx, int index);

// Input |i|, a resource handle, as a ResourceHandleProto.
TF_CAPI_EXPORT void TF_GetSerializedResourceHandleProto(
    TF_OpKernelContext* ctx, int i, TF_Buffer* serialized_resource_handle_proto,
    TF_Status* status);

// --- While it runs: outputs ------------------------------------------------------------------
// A mistake here fails the run, whether the kernel looks at |status| or not.

// Output |i| becomes |tensor|, which stays the caller's handle. TF_OUT_OF_RANGE when there is no
// such output, TF_INVALID_ARGUMENT when the type is not the output's.
TF_CAPI_EXPORT void TF_SetOutput(TF_OpKernelContext* ctx, int i, const TF_Tensor* tensor,
                                 TF_Status* status);

// A new handle on output |i| as it is set by now. TF_FAILED_PRECONDITION when it is not.
TF_CAPI_EXPORT TF_Tensor* TF_GetMutableOutput(TF_OpKernelContext* ctx, int i, TF_Status* status);

// The functions of the session's graph as a FunctionDefLibrary, and the ConfigProto with which the
// session was opened, into an empty buffer. Both may be empty messages.
TF_CAPI_EXPORT void TF_GetSerializedFunctionDefLibrary(TF_OpKernelContext* ctx,
                                                       TF_Buffer* serialized_function_def_library,
                                                       TF_Status* status);
TF_CAPI_EXPORT void TF_GetSerializedConfigProto(TF_OpKernelContext* ctx,
                                                TF_Buffer* serialized_config_proto,
                                                TF_Status* status);

// 0 when there is no such output.
TF_CAPI_EXPORT TF_DataType TF_ExpectedOutputDataType(TF_OpKernelContext* ctx, int i);

// Output |index| becomes a new tensor of the output's type, |dtype|, whose elements the kernel
// writes through the handle that is returned, for the caller to delete (strings are initialised).
// |len| is not looked at: the shape says it. NULL on failure.
TF_CAPI_EXPORT TF_Tensor* TF_AllocateOutput(TF_OpKernelContext* context, int index,
                                            TF_DataType dtype, const int64_t* dims, int num_dims,
                                            size_t len, TF_Status* status);

// The same, in the bytes of one of the inputs named where nobody else needs them (a handle from
// TF_GetInput that is not deleted yet counts as somebody): then |*forwarded_input| is its index and
// the elements are the input's; else -1. |forwarded_input| may be NULL.
TF_CAPI_EXPORT TF_Tensor* TF_ForwardInputOrAllocateOutput(
    TF_OpKernelContext* context, const int* candidate_input_indices,
    int num_candidate_input_indices, int output_index, const int64_t* output_dims,
    int output_num_dims, int* forwarded_input, TF_Status* status);

// Scratch memory, for the caller to delete. |alloc_attrs| may be NULL.
TF_CAPI_EXPORT TF_Tensor* TF_AllocateTemp(TF_OpKernelContext* context, TF_DataType dtype,
                                          const int64_t* dims, int num_dims,
                                          TF_AllocatorAttributes* alloc_attrs, TF_Status* status);

// The run failed with |status|, which stays the caller's; TF_OK changes nothing.
TF_CAPI_EXPORT void TF_OpKernelContext_Failure(TF_OpKernelContext* ctx, TF_Status* status);

// --- While it runs: where and when -----------------------------------------------------------
// The texts live as long as the kernel.

// Whether the kernel's row, or the type, puts an argument into memory of the host. On a CPU all
// memory is. TF_OUT_OF_RANGE when there is none.
TF_CAPI_EXPORT bool TF_IsHostMemoryInput(TF_OpKernelContext* ctx, int i, TF_Status* status);
TF_CAPI_EXPORT bool TF_IsHostMemoryOutput(TF_OpKernelContext* ctx, int i, TF_Status* status);

// The step's number, by two names; which loop it is in, and which iteration (0, 0 outside).
TF_CAPI_EXPORT int64_t TF_StepId(TF_OpKernelContext* ctx);
TF_CAPI_EXPORT int64_t TF_GetStepId(TF_OpKernelContext* ctx);
TF_CAPI_EXPORT uint64_t TF_GetFrameId(TF_OpKernelContext* ctx);
TF_CAPI_EXPORT int64_t TF_GetIterId(TF_OpKernelContext* ctx);

// The device: the number at the end of its name, and the name.
TF_CAPI_EXPORT int TF_GetDeviceId(TF_OpKernelContext* ctx);
TF_CAPI_EXPORT TF_StringView TF_GetDeviceName(TF_OpKernelContext* ctx);
TF_CAPI_EXPORT TF_StringView TF_GetOpKernelName(TF_OpKernelContext* ctx);
TF_CAPI_EXPORT TF_StringView TF_GetResourceMgrDefaultContainerName(TF_OpKernelContext* ctx);

// The version of the graphs that this library makes.
TF_CAPI_EXPORT int TF_GetGraphDefVersion(TF_OpKernelContext* ctx);

// The stream for kernels of a plug-in's device (experimental/stream_executor/stream_executor.h), on
// which the kernel enqueues its work; it belongs to the device. TF_FAILED_PRECONDITION on a CPU.
TF_CAPI_EXPORT SP_Stream TF_GetStream(TF_OpKernelContext* ctx, TF_Status* status);

// --- While it is made ------------------------------------------------------------------------

// Making the kernel failed; the node's graph cannot run.
TF_CAPI_EXPORT void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction* ctx,
                                                    TF_Status* status);

// The node's name, which lives as long as the kernel.
TF_CAPI_EXPORT TF_StringView TF_OpKernelConstruction_GetName(TF_OpKernelConstruction* ctx);

// A new buffer with the NodeDef: name, op, device and attributes. Its inputs are left out.
TF_CAPI_EXPORT TF_Buffer* TF_OpKernelConstruction_GetNodeDef(TF_OpKernelConstruction* ctx,
                                                             TF_Status* status);

TF_CAPI_EXPORT bool TF_OpKernelConstruction_HasAttr(TF_OpKernelConstruction* ctx,
                                                    const char* attr_name, TF_Status* status);

// For reserving memory: |*list_size| is the length of a list, or -1; |*total_size| the bytes of a
// string or of all strings in a list, the rank of a shape or of all shapes in a list, else -1.
// TF_INVALID_ARGUMENT when there is no such attribute.
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction* ctx,
                                                        const char* attr_name, int32_t* list_size,
                                                        int32_t* total_size, TF_Status* status);

// The attribute's value. TF_NOT_FOUND when there is none of that name, TF_INVALID_ARGUMENT when it
// is of another kind, or no int32.
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrType(TF_OpKernelConstruction* ctx,
                                                        const char* attr_name, TF_DataType* val,
                                                        TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrInt32(TF_OpKernelConstruction* ctx,
                                                         const char* attr_name, int32_t* val,
                                                         TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrInt64(TF_OpKernelConstruction* ctx,
                                                         const char* attr_name, int64_t* val,
                                                         TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrFloat(TF_OpKernelConstruction* ctx,
                                                         const char* attr_name, float* val,
                                                         TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrBool(TF_OpKernelConstruction* ctx,
                                                        const char* attr_name, TF_Bool* val,
                                                        TF_Status* status);
// At most |max_length| bytes, without a NUL.
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction* ctx,
                                                          const char* attr_name, char* val,
                                                          size_t max_length, TF_Status* status);
// A new handle for the caller to delete.
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrTensor(TF_OpKernelConstruction* ctx,
                                                          const char* attr_name, TF_Tensor** val,
                                                          TF_Status* status);
// A new buffer with the function's NameAttrList.
TF_CAPI_EXPORT TF_Buffer* TF_OpKernelConstruction_GetAttrFunction(TF_OpKernelConstruction* ctx,
                                                                  const char* attr_name,
                                                                  TF_Status* status);

// The same of lists: at most |max_vals| items.
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrTypeList(TF_OpKernelConstruction* ctx,
                                                            const char* attr_name,
                                                            TF_DataType* vals, int max_vals,
                                                            TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrInt32List(TF_OpKernelConstruction* ctx,
                                                             const char* attr_name, int32_t* vals,
                                                             int max_vals, TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrInt64List(TF_OpKernelConstruction* ctx,
                                                             const char* attr_name, int64_t* vals,
                                                             int max_vals, TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrFloatList(TF_OpKernelConstruction* ctx,
                                                             const char* attr_name, float* vals,
                                                             int max_vals, TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrBoolList(TF_OpKernelConstruction* ctx,
                                                            const char* attr_name, TF_Bool* vals,
                                                            int max_vals, TF_Status* status);
// The bytes go into |storage|; TF_INVALID_ARGUMENT when they do not fit.
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrStringList(TF_OpKernelConstruction* ctx,
                                                              const char* attr_name, char** values,
                                                              size_t* lengths, int max_values,
                                                              void* storage, size_t storage_size,
                                                              TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrTensorList(TF_OpKernelConstruction* ctx,
                                                              const char* attr_name,
                                                              TF_Tensor** vals, int max_values,
                                                              TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_KERNELS_H_
