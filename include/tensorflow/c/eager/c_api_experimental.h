// What TensorFlow calls experimental of eager execution: metrics, cancelling, executors, more about
// handles and ops. See c_api.h beside this one. TensorFlow's own header is for C++ alone; this one
// is for C too.

#ifndef TENSORFLOW_C_EAGER_C_API_EXPERIMENTAL_H_
#define TENSORFLOW_C_EAGER_C_API_EXPERIMENTAL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- Metrics ---------------------------------------------------------------------------------
// A metric has a name, which no other one has while it lives (TF_ALREADY_EXISTS), and a cell for
// each combination of its labels' values. Cells are found from any thread, changed from any thread,
// and live as long as the metric. New... gives NULL on failure; Delete... accepts NULL.
//
//   TFE_MonitoringCounter1* steps =
//       TFE_MonitoringNewCounter1("steps", status, "steps run", "model");
//   TFE_MonitoringCounterCellIncrementBy(TFE_MonitoringGetCellCounter1(steps, "ptb"), 1);

// A count, a number, a truth value, a text (its bytes into an empty buffer), a distribution (a
// HistogramProto into an empty buffer).
typedef struct TFE_MonitoringCounterCell TFE_MonitoringCounterCell;
TF_CAPI_EXPORT void TFE_MonitoringCounterCellIncrementBy(TFE_MonitoringCounterCell* cell,
                                                         int64_t value);
TF_CAPI_EXPORT int64_t TFE_MonitoringCounterCellValue(TFE_MonitoringCounterCell* cell);
typedef struct TFE_MonitoringIntGaugeCell TFE_MonitoringIntGaugeCell;
TF_CAPI_EXPORT void TFE_MonitoringIntGaugeCellSet(TFE_MonitoringIntGaugeCell* cell, int64_t value);
TF_CAPI_EXPORT int64_t TFE_MonitoringIntGaugeCellValue(TFE_MonitoringIntGaugeCell* cell);
typedef struct TFE_MonitoringBoolGaugeCell TFE_MonitoringBoolGaugeCell;
TF_CAPI_EXPORT void TFE_MonitoringBoolGaugeCellSet(TFE_MonitoringBoolGaugeCell* cell, bool value);
TF_CAPI_EXPORT bool TFE_MonitoringBoolGaugeCellValue(TFE_MonitoringBoolGaugeCell* cell);
typedef struct TFE_MonitoringStringGaugeCell TFE_MonitoringStringGaugeCell;
TF_CAPI_EXPORT void TFE_MonitoringStringGaugeCellSet(TFE_MonitoringStringGaugeCell* cell,
                                                     const char* value);
TF_CAPI_EXPORT void TFE_MonitoringStringGaugeCellValue(TFE_MonitoringStringGaugeCell* cell,
                                                       TF_Buffer* buf);
typedef struct TFE_MonitoringSamplerCell TFE_MonitoringSamplerCell;
TF_CAPI_EXPORT void TFE_MonitoringSamplerCellAdd(TFE_MonitoringSamplerCell* cell, double value);
TF_CAPI_EXPORT void TFE_MonitoringSamplerCellValue(TFE_MonitoringSamplerCell* cell,
                                                   TF_Buffer* buf);

// The limits of a distribution: |bucket_count| of them, scale, scale * growth_factor, ..., and one
// above all. A sampler keeps a copy.
typedef struct TFE_MonitoringBuckets TFE_MonitoringBuckets;
TF_CAPI_EXPORT TFE_MonitoringBuckets* TFE_MonitoringNewExponentialBuckets(double scale,
                                                                          double growth_factor,
                                                                          int bucket_count);
TF_CAPI_EXPORT void TFE_MonitoringDeleteBuckets(TFE_MonitoringBuckets* buckets);

// TFE_MonitoringNew<Kind><n>(name, status, description, <n> labels), Delete<Kind><n>(metric) and
// GetCell<Kind><n>(metric, <n> values) for every kind and number of labels that there is.
#define TFE_METRIC_(metric, Kind, made_of, labels, values)                                        \
  typedef struct TFE_Monitoring##metric TFE_Monitoring##metric;                                   \
  TF_CAPI_EXPORT TFE_Monitoring##metric* TFE_MonitoringNew##metric made_of labels;                \
  TF_CAPI_EXPORT void TFE_MonitoringDelete##metric(TFE_Monitoring##metric* metric_);              \
  TF_CAPI_EXPORT TFE_Monitoring##Kind##Cell* TFE_MonitoringGetCell##metric values;
#define TFE_L_ const char*
#define TFE_NEW_(...) (TFE_L_ name, TF_Status* status, __VA_ARGS__)
#define TFE_SAMPLER_(...) \
  (TFE_L_ name, TFE_MonitoringBuckets* buckets, TF_Status* status, __VA_ARGS__)
#define TFE_METRICS_(Kind, new_)                                                                  \
  TFE_METRIC_(Kind##0, Kind, new_(TFE_L_ description), , (TFE_Monitoring##Kind##0 * metric_))     \
  TFE_METRIC_(Kind##1, Kind, new_(TFE_L_ description, TFE_L_ label1), ,                           \
              (TFE_Monitoring##Kind##1 * metric_, TFE_L_ label1))                                 \
  TFE_METRIC_(Kind##2, Kind, new_(TFE_L_ description, TFE_L_ label1, TFE_L_ label2), ,            \
              (TFE_Monitoring##Kind##2 * metric_, TFE_L_ label1, TFE_L_ label2))
TFE_METRICS_(Counter, TFE_NEW_)
TFE_METRICS_(IntGauge, TFE_NEW_)
TFE_METRICS_(BoolGauge, TFE_NEW_)
TFE_METRICS_(StringGauge, TFE_NEW_)
TFE_METRIC_(StringGauge3, StringGauge,
            TFE_NEW_(TFE_L_ description, TFE_L_ label1, TFE_L_ label2, TFE_L_ label3), ,
            (TFE_MonitoringStringGauge3 * metric_, TFE_L_ label1, TFE_L_ label2, TFE_L_ label3))
TFE_METRIC_(StringGauge4, StringGauge,
            TFE_NEW_(TFE_L_ description, TFE_L_ label1, TFE_L_ label2, TFE_L_ label3,
                     TFE_L_ label4), ,
            (TFE_MonitoringStringGauge4 * metric_, TFE_L_ label1, TFE_L_ label2, TFE_L_ label3,
             TFE_L_ label4))
TFE_METRICS_(Sampler, TFE_SAMPLER_)
#undef TFE_METRIC_
#undef TFE_METRICS_
#undef TFE_NEW_
#undef TFE_SAMPLER_
#undef TFE_L_

// --- Cancelling ------------------------------------------------------------------------------

typedef struct TFE_CancellationManager TFE_CancellationManager;
typedef int64_t TFE_CancellationToken;
typedef struct TFE_CancelCallback {
  void (*callback)(void* context);
  void* context;
} TFE_CancelCallback;
TF_CAPI_EXPORT TFE_CancellationManager* TFE_NewCancellationManager(void);
// Calls every callback that is registered, once, and ends ops that wait.
TF_CAPI_EXPORT void TFE_CancellationManagerStartCancel(TFE_CancellationManager* manager);
TF_CAPI_EXPORT bool TFE_CancellationManagerIsCancelled(TFE_CancellationManager* manager);
// While the callbacks are being called.
TF_CAPI_EXPORT bool TFE_CancellationManagerIsCancelling(TFE_CancellationManager* manager);
// A new token for a callback.
TF_CAPI_EXPORT TFE_CancellationToken
TFE_CancellationManagerGetToken(TFE_CancellationManager* manager);
// false, and no callback, when it is cancelled already.
TF_CAPI_EXPORT bool TFE_CancellationManagerRegisterCallback(TFE_CancellationManager* manager,
                                                            TFE_CancellationToken token,
                                                            const TFE_CancelCallback* c_callback,
                                                            const char* callback_name);
// Afterwards the callback does not run; false when it did, or there is none.
TF_CAPI_EXPORT bool TFE_CancellationManagerDeregisterCallback(TFE_CancellationManager* manager,
                                                              TFE_CancellationToken token);
TF_CAPI_EXPORT bool TFE_CancellationManagerTryDeregisterCallback(TFE_CancellationManager* manager,
                                                                 TFE_CancellationToken token);
TF_CAPI_EXPORT void TFE_DeleteCancellationManager(TFE_CancellationManager* manager);
// The op's runs hear of |cancellation_manager|, which must outlive the op.
TF_CAPI_EXPORT void TFE_OpSetCancellationManager(TFE_Op* op,
                                                 TFE_CancellationManager* cancellation_manager,
                                                 TF_Status* status);

// --- Executors -------------------------------------------------------------------------------
// Ops run at once, on the caller's thread: an executor has nothing to wait for.

typedef struct TFE_Executor TFE_Executor;
TF_CAPI_EXPORT TFE_Executor* TFE_NewExecutor(bool is_async, bool enable_streaming_enqueue,
                                             int in_flight_nodes_limit);
TF_CAPI_EXPORT void TFE_DeleteExecutor(TFE_Executor* executor);
// What it was made with.
TF_CAPI_EXPORT bool TFE_ExecutorIsAsync(TFE_Executor* executor);
TF_CAPI_EXPORT void TFE_ExecutorWaitForAllPendingNodes(TFE_Executor* executor, TF_Status* status);
TF_CAPI_EXPORT void TFE_ExecutorClearError(TFE_Executor* executor);
// The executor of this thread in the context, which keeps a hold of its own on |executor|; and a
// new handle on it, for TFE_DeleteExecutor. A thread that has set none gets one that is
// asynchronous if TFE_ContextOptionsSetAsync asked for that.
TF_CAPI_EXPORT void TFE_ContextSetExecutorForThread(TFE_Context* ctx, TFE_Executor* executor);
TF_CAPI_EXPORT TFE_Executor* TFE_ContextGetExecutorForThread(TFE_Context* ctx);

// --- Coordination ----------------------------------------------------------------------------
// Keys and values, barriers and errors that the tasks of a cluster share. An eager context is never
// part of one: TF_FAILED_PRECONDITION, as TensorFlow says it to such a context.

TF_CAPI_EXPORT void TFE_InsertConfigKeyValue(TFE_Context* ctx, const char* key, const char* value,
                                             TF_Status* status);
TF_CAPI_EXPORT void TFE_GetConfigKeyValue(TFE_Context* ctx, const char* key,
                                          int64_t timeout_in_ms, TF_Buffer* value_buf,
                                          TF_Status* status);
TF_CAPI_EXPORT void TFE_DeleteConfigKeyValue(TFE_Context* ctx, const char* key, TF_Status* status);
TF_CAPI_EXPORT void TFE_ReportErrorToCluster(TFE_Context* ctx, int error_code,
                                             const char* error_message, TF_Status* status);
TF_CAPI_EXPORT void TFE_GetTaskStates(TFE_Context* ctx, const TF_Buffer* tasks, void* states,
                                      TF_Status* status);
TF_CAPI_EXPORT void TFE_WaitAtBarrier(TFE_Context* ctx, const char* barrier_id,
                                      int64_t barrier_timeout_in_ms, TF_Status* status);

// --- Contexts, handles, ops ------------------------------------------------------------------

// |op_to_reset| becomes a new op of the same context.
TF_CAPI_EXPORT void TFE_OpReset(TFE_Op* op_to_reset, const char* op_or_function_name,
                                const char* raw_device_name, TF_Status* status);
// An AttrValue message.
TF_CAPI_EXPORT void TFE_OpSetAttrValueProto(const TFE_Op* op, const char* attr_name,
                                            const void* proto, size_t proto_len,
                                            TF_Status* status);

// The attributes of an op, for a client that passes them on without knowing them: what was set, and
// what the inputs told. Valid as long as the op, whose attributes they stay.
typedef struct TFE_OpAttrs TFE_OpAttrs;
TF_CAPI_EXPORT const TFE_OpAttrs* TFE_OpGetAttrs(const TFE_Op* op);
// Sets those that |op| has not yet.
TF_CAPI_EXPORT void TFE_OpAddAttrs(TFE_Op* op, const TFE_OpAttrs* attrs);
// A NameAttrList message, into an empty buffer: the op's name and its attributes, with the defaults
// of those that have no other value.
TF_CAPI_EXPORT void TFE_OpAttrsSerialize(const TFE_OpAttrs* attrs, TF_Buffer* buf,
                                         TF_Status* status);

// A function of the context, as a FunctionDef message in an empty buffer, or as a TF_Function,
// which the caller deletes. TF_NOT_FOUND.
TF_CAPI_EXPORT void TFE_ContextGetFunctionDef(TFE_Context* ctx, const char* function_name,
                                              TF_Buffer* buf, TF_Status* status);
TF_CAPI_EXPORT TF_Function* TFE_ContextGetFunction(TFE_Context* ctx, const char* name,
                                                   TF_Status* status);

// Writes a line to the log for each op that is executed, with its device, or stops that.
TF_CAPI_EXPORT void TFE_ContextSetLogDevicePlacement(TFE_Context* ctx, unsigned char enable,
                                                     TF_Status* status);
// Both are accepted; ops give the same values either way.
TF_CAPI_EXPORT void TFE_ContextSetRunEagerOpAsFunction(TFE_Context* ctx, unsigned char enable,
                                                       TF_Status* status);
TF_CAPI_EXPORT void TFE_ContextSetJitCompileRewrite(TFE_Context* ctx, unsigned char enable,
                                                    TF_Status* status);

// There is one runtime.
TF_CAPI_EXPORT void TFE_ContextOptionsSetTfrt(TFE_ContextOptions* options, bool use_tfrt);
// A number that no other context of this process has.
TF_CAPI_EXPORT uint64_t TFE_GetContextId(TFE_Context* ctx);
TF_CAPI_EXPORT void TFE_ContextAsyncWait(TFE_Context* ctx, TF_Status* status);
// TFE_ContextSetServerDef with a limit for reaching the tasks (0: none) and further tries.
// |clear_existing_contexts| ends the contexts of all clients on the tasks before.
TF_CAPI_EXPORT void TFE_ContextSetServerDefWithTimeout(
    TFE_Context* ctx, int keep_alive_secs, const void* proto, size_t proto_len,
    int64_t init_timeout_in_ms, TF_Status* status, bool clear_existing_contexts);
TF_CAPI_EXPORT void TFE_ContextSetServerDefWithTimeoutAndRetries(
    TFE_Context* ctx, int keep_alive_secs, const void* proto, size_t proto_len,
    int64_t init_timeout_in_ms, int retries, TF_Status* status, bool clear_existing_contexts);
// Other tasks from now on; the context's own must stay. What is on tasks that stay stays there. A
// task that was restarted is a new one.
TF_CAPI_EXPORT void TFE_ContextUpdateServerDef(TFE_Context* ctx, int keep_alive_secs,
                                               const void* proto, size_t proto_len,
                                               TF_Status* status);
TF_CAPI_EXPORT void TFE_ContextUpdateServerDefWithTimeout(TFE_Context* ctx, int keep_alive_secs,
                                                          const void* proto, size_t proto_len,
                                                          int64_t init_timeout_in_ms,
                                                          TF_Status* status);
// Whether the task "/job:worker/replica:0/task:1" answers, whatever it knows of the context.
TF_CAPI_EXPORT bool TFE_ContextCheckAlive(TFE_Context* ctx, const char* worker_name,
                                          TF_Status* status);

// The context's task, "/job:localhost/replica:0/task:0" without a cluster, into an empty buffer.
TF_CAPI_EXPORT void TFE_HostAddressSpace(TFE_Context* ctx, TF_Buffer* buf);
// There is one device.
TF_CAPI_EXPORT void TFE_ContextSetSoftDevicePlacement(TFE_Context* ctx, unsigned char enable,
                                                      TF_Status* status);

// Where the elements are, and how many bytes they take.
TF_CAPI_EXPORT void* TFE_TensorHandleDevicePointer(TFE_TensorHandle* h, TF_Status* status);
TF_CAPI_EXPORT size_t TFE_TensorHandleDeviceMemorySize(TFE_TensorHandle* h, TF_Status* status);
// As TF_NewTensor.
TF_CAPI_EXPORT TFE_TensorHandle* TFE_NewTensorHandleFromDeviceMemory(
    TFE_Context* ctx, const char* device_name, TF_DataType dtype, const int64_t* dims,
    int num_dims, void* data, size_t len, void (*deallocator)(void* data, size_t len, void* arg),
    void* deallocator_arg, TF_Status* status);
TF_CAPI_EXPORT TF_Tensor* TFE_AllocateHostTensor(TFE_Context* ctx, TF_DataType dtype,
                                                 const int64_t* dims, int num_dims,
                                                 TF_Status* status);
TF_CAPI_EXPORT TFE_TensorHandle* TFE_NewTensorHandleFromTensor(TFE_Context* ctx, TF_Tensor* t,
                                                               TF_Status* status);
// "CPU"; 0; TF_OK: what there is is finished.
TF_CAPI_EXPORT const char* TFE_TensorHandleDeviceType(TFE_TensorHandle* h, TF_Status* status);
TF_CAPI_EXPORT int TFE_TensorHandleDeviceID(TFE_TensorHandle* h, TF_Status* status);
TF_CAPI_EXPORT void TFE_TensorHandleGetStatus(TFE_TensorHandle* h, TF_Status* status);

// The stack traces of a function's nodes, into an empty buffer: an empty GraphDebugInfo, since
// functions keep none. TF_NOT_FOUND where the context has no such function.
TF_CAPI_EXPORT void TFE_ContextGetGraphDebugInfo(TFE_Context* ctx, const char* function_name,
                                                 TF_Buffer* buf, TF_Status* status);
// Empty, as in TensorFlow unless its other runtime is used; TFE_ContextExportRunMetadata has names.
TF_CAPI_EXPORT void TFE_GetExecutedOpNames(TFE_Context* ctx, TF_Buffer* buf, TF_Status* status);

// --- Custom devices ---------------------------------------------------------------------------
// A device that the client writes, in functions that execute ops and copy tensors. An op goes there
// when it names the device (TFE_OpSetDevice), when a resource among its inputs is there, or when
// another input is there and it names no device. Ops of the CPU get copies of inputs that are on a
// custom device. Functions may be called on any thread that uses the context. In C the client sets
// |version| and the functions it has not got to NULL.

#ifdef __cplusplus
#define TFE_BY_DEFAULT(value) = value
#else
#define TFE_BY_DEFAULT(value)
#endif
#define TFE_CUSTOM_DEVICE_VERSION 4

typedef struct TFE_CustomDevice {
  int version TFE_BY_DEFAULT(TFE_CUSTOM_DEVICE_VERSION);
  // Each gives a new handle, or NULL with |status|. |tensor| is borrowed.
  TFE_TensorHandle* (*copy_tensor_to_device)(TFE_Context* context, TFE_TensorHandle* tensor,
                                             TF_Status* status, void* device_info);
  TFE_TensorHandle* (*copy_tensor_from_device)(TFE_Context* context, TFE_TensorHandle* tensor,
                                               const char* target_device_name, TF_Status* status,
                                               void* device_info);
  // Executes |op|: fills |outputs|, which has room for |*num_outputs|, and says how many there are.
  // Inputs may be on the CPU. It can execute an op like it by TFE_NewOp and TFE_OpAddAttrs.
  void (*execute)(const TFE_Op* op, int* num_outputs, TFE_TensorHandle** outputs, TF_Status* s,
                  void* device_info);
  // Called once, with the end of the context or when registering fails.
  void (*delete_device)(void* device_info);
  // For TFE_CreatePackedTensorHandle with a handle of the device; NULL: TF_UNIMPLEMENTED.
  TFE_TensorHandle* (*pack)(TFE_Context* context, TFE_TensorHandle** handles, int num_handles,
                            TF_Status* s, void* device_info) TFE_BY_DEFAULT(nullptr);
  // Whether an op that names no device goes to the device of its input; NULL: it does.
  bool (*shall_pin_to_this_device)(const TFE_Op* op, TF_Status* s) TFE_BY_DEFAULT(nullptr);
} TFE_CustomDevice;
// |device_name| is full: "/job:localhost/replica:0/task:0/device:CUSTOM:0". TF_INVALID_ARGUMENT for
// another, TF_ALREADY_EXISTS for the name of a device. The context owns |device_info| in any case.
TF_CAPI_EXPORT void TFE_RegisterCustomDevice(TFE_Context* ctx, TFE_CustomDevice device,
                                             const char* device_name, void* device_info,
                                             TF_Status* status);
TF_CAPI_EXPORT bool TFE_IsCustomDevice(TFE_Context* ctx, const char* device_name);

typedef struct TFE_CustomDeviceTensorHandleMethods {
  int version TFE_BY_DEFAULT(TFE_CUSTOM_DEVICE_VERSION);
  int (*num_dims)(void* data, TF_Status* status);
  int64_t (*dim)(void* data, int dim_index, TF_Status* status);
  void (*deallocator)(void* data);
  // Is not called: nothing prints handles here.
  TF_Buffer* (*summarize)(void* data, TF_Status* status) TFE_BY_DEFAULT(nullptr);
} TFE_CustomDeviceTensorHandle;
// A handle of what a custom device keeps in |tensor_handle_data|, which the handle owns: the last
// copy of it calls |deallocator|, and so does a failure. TFE_TensorHandleResolve copies it to the
// CPU by the device's function. TF_INVALID_ARGUMENT where there is no such device.
TF_CAPI_EXPORT TFE_TensorHandle* TFE_NewCustomDeviceTensorHandle(
    TFE_Context* ctx, const char* device_name, TF_DataType dtype, void* tensor_handle_data,
    TFE_CustomDeviceTensorHandle methods, TF_Status* status);
#undef TFE_BY_DEFAULT

// A handle of |*num_handles| handles, at least one, one for each of several devices, to be given to
// ops. On a context with one device of its own an op reads the first. It cannot be resolved or
// copied (TF_INVALID_ARGUMENT, TF_INTERNAL).
TF_CAPI_EXPORT TFE_TensorHandle* TFE_CreatePackedTensorHandle(TFE_Context* ctx,
                                                              TFE_TensorHandle** handles,
                                                              int* num_handles,
                                                              TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EAGER_C_API_EXPERIMENTAL_H_
