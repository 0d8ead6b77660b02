// Running single ops, without a graph.
//
//   TFE_ContextOptions* options = TFE_NewContextOptions();
//   TFE_Context* ctx = TFE_NewContext(options, status);
//   TFE_Op* op = TFE_NewOp(ctx, "MatMul", status);
//   TFE_OpAddInput(op, a, status);
//   TFE_OpAddInput(op, b, status);
//   TFE_TensorHandle* result = NULL;
//   int count = 1;
//   TFE_Execute(op, &result, &count, status);
//   TF_Tensor* value = TFE_TensorHandleResolve(result, status);
//
// In Leat an op runs on the caller's thread, on the CPU, or on another task of the context's
// cluster (TFE_ContextSetServerDef), and is finished when TFE_Execute returns.
// Not for eager use are ops that belong to a graph (Placeholder, control flow, Send and Recv), or
// that take references to variables (those with resource handles are there): TF_UNIMPLEMENTED.
// Objects belong to one thread at a time, contexts to all. c_api.h has the rules on errors and
// ownership. Functions of TensorFlow's header that are not here exist in the library and say
// TF_UNIMPLEMENTED, or do nothing.

#ifndef TENSORFLOW_C_EAGER_C_API_H_
#define TENSORFLOW_C_EAGER_C_API_H_

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- Contexts --------------------------------------------------------------------------------

typedef struct TFE_ContextOptions TFE_ContextOptions;
TF_CAPI_EXPORT TFE_ContextOptions* TFE_NewContextOptions(void);
// A ConfigProto, as for TF_SetConfig.
TF_CAPI_EXPORT void TFE_ContextOptionsSetConfig(TFE_ContextOptions* options, const void* proto,
                                                size_t proto_len, TF_Status* status);

// What becomes of an input on another device than the op's. There is one device here.
typedef enum TFE_ContextDevicePlacementPolicy {
  TFE_DEVICE_PLACEMENT_EXPLICIT = 0,
  TFE_DEVICE_PLACEMENT_WARN = 1,
  TFE_DEVICE_PLACEMENT_SILENT = 2,
  TFE_DEVICE_PLACEMENT_SILENT_FOR_INT32 = 3,
} TFE_ContextDevicePlacementPolicy;

// Ops are run at once all the same.
TF_CAPI_EXPORT void TFE_ContextOptionsSetAsync(TFE_ContextOptions* options, unsigned char enable);
TF_CAPI_EXPORT void TFE_ContextOptionsSetDevicePlacementPolicy(
    TFE_ContextOptions* options, TFE_ContextDevicePlacementPolicy policy);
TF_CAPI_EXPORT void TFE_DeleteContextOptions(TFE_ContextOptions* options);

// Devices, threads, and the resources that ops make (variables, queues, tables).
typedef struct TFE_Context TFE_Context;
TF_CAPI_EXPORT TFE_Context* TFE_NewContext(const TFE_ContextOptions* opts, TF_Status* status);
// Ops and handles that are left must not be used in another context.
TF_CAPI_EXPORT void TFE_DeleteContext(TFE_Context* ctx);
TF_CAPI_EXPORT TF_DeviceList* TFE_ContextListDevices(TFE_Context* ctx, TF_Status* status);
// Makes the context a task of the cluster that a ServerDef describes, with a server of its own, as
// TF_NewServer does. Ops run on the other tasks, which may be TensorFlow's, where TFE_OpSetDevice
// names a device of theirs or an input is a resource there. Their outputs stay there, until they
// are deleted, resolved or copied. Blocks until all tasks are up. A task ends what the context left
// there |keep_alive_secs| after its last sign of life; 0: never.
TF_CAPI_EXPORT void TFE_ContextSetServerDef(TFE_Context* ctx, int keep_alive_secs,
                                            const void* proto, size_t proto_len,
                                            TF_Status* status);
// Ends what nameless queues and tables belong to.
TF_CAPI_EXPORT void TFE_ContextClearCaches(TFE_Context* ctx);
TF_CAPI_EXPORT void TFE_ContextSetThreadLocalDevicePlacementPolicy(
    TFE_Context* ctx, TFE_ContextDevicePlacementPolicy policy);
TF_CAPI_EXPORT TFE_ContextDevicePlacementPolicy
TFE_ContextGetDevicePlacementPolicy(TFE_Context* ctx);

// --- Values ----------------------------------------------------------------------------------

// A tensor on a device; its bytes are shared with the TF_Tensor it was made of.
typedef struct TFE_TensorHandle TFE_TensorHandle;
TF_CAPI_EXPORT TFE_TensorHandle* TFE_NewTensorHandle(const TF_Tensor* t, TF_Status* status);
TF_CAPI_EXPORT void TFE_DeleteTensorHandle(TFE_TensorHandle* h);
TF_CAPI_EXPORT TF_DataType TFE_TensorHandleDataType(TFE_TensorHandle* h);
TF_CAPI_EXPORT int TFE_TensorHandleNumDims(TFE_TensorHandle* h, TF_Status* status);
TF_CAPI_EXPORT int64_t TFE_TensorHandleNumElements(TFE_TensorHandle* h, TF_Status* status);
TF_CAPI_EXPORT int64_t TFE_TensorHandleDim(TFE_TensorHandle* h, int dim_index, TF_Status* status);
// Names of the device; static.
TF_CAPI_EXPORT const char* TFE_TensorHandleDeviceName(TFE_TensorHandle* h, TF_Status* status);
TF_CAPI_EXPORT const char* TFE_TensorHandleBackingDeviceName(TFE_TensorHandle* h,
                                                             TF_Status* status);
// New handles on the same bytes.
TF_CAPI_EXPORT TFE_TensorHandle* TFE_TensorHandleCopySharingTensor(TFE_TensorHandle* h,
                                                                   TF_Status* status);
TF_CAPI_EXPORT TFE_TensorHandle* TFE_TensorHandleCopyToDevice(TFE_TensorHandle* h,
                                                              TFE_Context* ctx,
                                                              const char* device_name,
                                                              TF_Status* status);
// A new TF_Tensor on them, not to be written.
TF_CAPI_EXPORT TF_Tensor* TFE_TensorHandleResolve(TFE_TensorHandle* h, TF_Status* status);

// The shape as the device has it.
typedef struct TFE_TensorDebugInfo TFE_TensorDebugInfo;
TF_CAPI_EXPORT TFE_TensorDebugInfo* TFE_TensorHandleTensorDebugInfo(TFE_TensorHandle* h,
                                                                    TF_Status* status);
TF_CAPI_EXPORT void TFE_DeleteTensorDebugInfo(TFE_TensorDebugInfo* debug_info);
TF_CAPI_EXPORT int TFE_TensorDebugInfoOnDeviceNumDims(TFE_TensorDebugInfo* debug_info);
TF_CAPI_EXPORT int64_t TFE_TensorDebugInfoOnDeviceDim(TFE_TensorDebugInfo* debug_info,
                                                      int dim_index);

// --- Ops -------------------------------------------------------------------------------------

// An op with its inputs and attributes, to be run once or several times.
typedef struct TFE_Op TFE_Op;
// Named after an op, or after a function that was added to the context, which the op then calls
// with its inputs as arguments. TF_NOT_FOUND when there is neither.
TF_CAPI_EXPORT TFE_Op* TFE_NewOp(TFE_Context* ctx, const char* op_or_function_name,
                                 TF_Status* status);
TF_CAPI_EXPORT void TFE_DeleteOp(TFE_Op* op);
TF_CAPI_EXPORT const char* TFE_OpGetName(const TFE_Op* op, TF_Status* status);
TF_CAPI_EXPORT TFE_Context* TFE_OpGetContext(const TFE_Op* op, TF_Status* status);
// TF_INVALID_ARGUMENT when it is not the CPU. Without one: "".
TF_CAPI_EXPORT void TFE_OpSetDevice(TFE_Op* op, const char* device_name, TF_Status* status);
TF_CAPI_EXPORT const char* TFE_OpGetDevice(const TFE_Op* op, TF_Status* status);

// The op keeps its own hold on the inputs. Those of a list come together or one by one.
TF_CAPI_EXPORT void TFE_OpAddInput(TFE_Op* op, TFE_TensorHandle* input, TF_Status* status);
TF_CAPI_EXPORT void TFE_OpAddInputList(TFE_Op* op, TFE_TensorHandle** inputs, int num_inputs,
                                       TF_Status* status);
TF_CAPI_EXPORT int TFE_OpGetFlatInputCount(const TFE_Op* op, TF_Status* status);
// Borrowed.
TF_CAPI_EXPORT TFE_TensorHandle* TFE_OpGetFlatInput(const TFE_Op* op, int index,
                                                    TF_Status* status);

TF_CAPI_EXPORT TF_AttrType TFE_OpGetAttrType(TFE_Op* op, const char* attr_name,
                                             unsigned char* is_list, TF_Status* status);
TF_CAPI_EXPORT TF_AttrType TFE_OpNameGetAttrType(TFE_Context* ctx,
                                                 const char* op_or_function_name,
                                                 const char* attr_name, unsigned char* is_list,
                                                 TF_Status* status);

// As TF_SetAttr... of c_api_builder.h: what is wrong TFE_Execute says. What is set first stays, and
// later values are ignored: by one of these functions, or by an input, which tells its type and a
// list's length when it is added as a whole argument (not item by item).
TF_CAPI_EXPORT void TFE_OpSetAttrString(TFE_Op* op, const char* attr_name, const void* value,
                                        size_t length);
TF_CAPI_EXPORT void TFE_OpSetAttrInt(TFE_Op* op, const char* attr_name, int64_t value);
TF_CAPI_EXPORT void TFE_OpSetAttrFloat(TFE_Op* op, const char* attr_name, float value);
TF_CAPI_EXPORT void TFE_OpSetAttrBool(TFE_Op* op, const char* attr_name, unsigned char value);
TF_CAPI_EXPORT void TFE_OpSetAttrType(TFE_Op* op, const char* attr_name, TF_DataType value);
TF_CAPI_EXPORT void TFE_OpSetAttrShape(TFE_Op* op, const char* attr_name, const int64_t* dims,
                                       const int num_dims, TF_Status* out_status);
TF_CAPI_EXPORT void TFE_OpSetAttrTensor(TFE_Op* op, const char* attr_name, TF_Tensor* tensor,
                                        TF_Status* status);
TF_CAPI_EXPORT void TFE_OpSetAttrStringList(TFE_Op* op, const char* attr_name,
                                            const void* const* values, const size_t* lengths,
                                            int num_values);
TF_CAPI_EXPORT void TFE_OpSetAttrIntList(TFE_Op* op, const char* attr_name, const int64_t* values,
                                         int num_values);
TF_CAPI_EXPORT void TFE_OpSetAttrFloatList(TFE_Op* op, const char* attr_name, const float* values,
                                           int num_values);
TF_CAPI_EXPORT void TFE_OpSetAttrBoolList(TFE_Op* op, const char* attr_name,
                                          const unsigned char* values, int num_values);
TF_CAPI_EXPORT void TFE_OpSetAttrTypeList(TFE_Op* op, const char* attr_name,
                                          const TF_DataType* values, int num_values);
TF_CAPI_EXPORT void TFE_OpSetAttrShapeList(TFE_Op* op, const char* attr_name, const int64_t** dims,
                                           const int* num_dims, int num_values,
                                           TF_Status* out_status);
// A function to call: the name of |value| with the attributes that it has now, defaults included.
// |value| is only read, and stays the caller's.
TF_CAPI_EXPORT void TFE_OpSetAttrFunction(TFE_Op* op, const char* attr_name, const TFE_Op* value);
// A function without attributes, by |length| bytes of its name.
TF_CAPI_EXPORT void TFE_OpSetAttrFunctionName(TFE_Op* op, const char* attr_name, const char* data,
                                              size_t length);
TF_CAPI_EXPORT void TFE_OpSetAttrFunctionList(TFE_Op* op, const char* attr_name,
                                              const TFE_Op** value, int num_values);

// How many tensors an argument stands for, once inputs and attributes are there; -1 on failure.
TF_CAPI_EXPORT int TFE_OpGetInputLength(TFE_Op* op, const char* input_name, TF_Status* status);
TF_CAPI_EXPORT int TFE_OpGetOutputLength(TFE_Op* op, const char* output_name, TF_Status* status);

// Runs the op. |*num_retvals| is the room in |retvals|, afterwards the number of outputs, each a
// new handle. TF_INVALID_ARGUMENT when there is less room than outputs.
TF_CAPI_EXPORT void TFE_Execute(TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals,
                                TF_Status* status);

// --- Functions -------------------------------------------------------------------------------

// Adds a copy of a function, a serialized FunctionDef or a TF_Function, that ops of the context may
// call. The same one may be added again, and is then removed by as many calls.
// TF_INVALID_ARGUMENT for bytes that are no FunctionDef, and where an op or another function has
// the name. Functions may be added before those that they call. Any thread.
TF_CAPI_EXPORT void TFE_ContextAddFunctionDef(TFE_Context* ctx,
                                              const char* serialized_function_def, size_t size,
                                              TF_Status* status);
TF_CAPI_EXPORT void TFE_ContextAddFunction(TFE_Context* ctx, TF_Function* function,
                                           TF_Status* status);
// Later ops do not find the function any more, and calls of it fail with TF_NOT_FOUND; those under
// way go on. TF_INVALID_ARGUMENT when there is none of the name.
TF_CAPI_EXPORT void TFE_ContextRemoveFunction(TFE_Context* ctx, const char* name,
                                              TF_Status* status);
TF_CAPI_EXPORT unsigned char TFE_ContextHasFunction(TFE_Context* ctx, const char* name);

// --- Traces ----------------------------------------------------------------------------------

// From now on the context notes when and where each op runs, and each node of functions that it
// calls; or it stops and forgets what it has noted.
TF_CAPI_EXPORT void TFE_ContextEnableRunMetadata(TFE_Context* ctx);
TF_CAPI_EXPORT void TFE_ContextDisableRunMetadata(TFE_Context* ctx);
// A RunMetadata message with what was noted since the last one, into an empty buffer.
TF_CAPI_EXPORT void TFE_ContextExportRunMetadata(TFE_Context* ctx, TF_Buffer* buf,
                                                 TF_Status* status);

// Nothing begins or ends.
TF_CAPI_EXPORT void TFE_ContextStartStep(TFE_Context* ctx);
TF_CAPI_EXPORT void TFE_ContextEndStep(TFE_Context* ctx);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EAGER_C_API_H_
