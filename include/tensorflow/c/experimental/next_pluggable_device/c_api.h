// What kernels of plug-ins may ask besides kernels.h: resources of their own in the resource
// manager of their device, several variables at once, and the coordination service of a cluster.
// The functions for PJRT are not here. All are for the thread that runs the kernel, and none blocks
// but TF_LockVariableInfos.

#ifndef TENSORFLOW_C_EXPERIMENTAL_NEXT_PLUGGABLE_DEVICE_C_API_H_
#define TENSORFLOW_C_EXPERIMENTAL_NEXT_PLUGGABLE_DEVICE_C_API_H_

#include <stdbool.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/kernels_experimental.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_Device TF_Device;
// Stands for the device on which the kernel runs: the same for all kernels of the device, and valid
// as long as its session.
TF_CAPI_EXPORT extern TF_Device* TF_GetDevice(TF_OpKernelContext* ctx);

// - Resources -------------------------------------------------------------------------------------

// Puts |plugin_resource| into a container of the device under the name |plugin_resource_name|; NULL
// or "" is the default container. The manager owns it then, and ends it with |delete_func|, which
// may be NULL, at the latest with the session. TF_ALREADY_EXISTS, and the caller keeps it, where
// there is a resource of a plug-in with the name.
TF_CAPI_EXPORT extern void TF_CreatePluginResource(TF_OpKernelContext* ctx,
                                                   const char* container_name,
                                                   const char* plugin_resource_name,
                                                   void* plugin_resource,
                                                   void (*delete_func)(void*), TF_Status* status);
// Gives the resource, which stays the manager's, or makes it by |create_func|, once. |create_func|
// must not call these functions. NULL after a failure.
TF_CAPI_EXPORT extern void TF_LookupOrCreatePluginResource(
    TF_OpKernelContext* ctx, const char* container_name, const char* plugin_resource_name,
    void** result_plugin_resource, void* (*create_func)(void*), void* create_func_args,
    void (*delete_func)(void*), TF_Status* status);

// - Variables -------------------------------------------------------------------------------------

// A variable that an input of the kernel names. Freed with TF_DeleteVariableInfo, which also gives
// up the lock and ignores NULL.
typedef struct TF_VariableInfo TF_VariableInfo;
// TF_NOT_FOUND for a variable that was never assigned, TF_INVALID_ARGUMENT where the input is no
// variable, TF_OUT_OF_RANGE where there is no such input.
TF_CAPI_EXPORT extern TF_VariableInfo* TF_CreateVariableInfoFromContext(TF_OpKernelContext* ctx,
                                                                        int index,
                                                                        TF_Status* status);
// Locks the variables in an order in which no two kernels wait for each other; one that is named
// twice is locked once. Blocks while another kernel has a lock.
TF_CAPI_EXPORT extern void TF_LockVariableInfos(TF_VariableInfo** vars, int num_vars,
                                                TF_Status* status);
// Gives the variable new memory of its type and shape, whose content is not set; who has read the
// variable keeps the former value. The caller has the lock.
TF_CAPI_EXPORT extern void TF_AllocateTempForVariableInfo(TF_OpKernelContext* ctx,
                                                          TF_VariableInfo* var_info,
                                                          TF_Status* status);
// The variable's tensor, which shares its memory; it may be written only after
// TF_AllocateTempForVariableInfo, and with the lock. The caller deletes it.
TF_CAPI_EXPORT extern TF_Tensor* TF_GetTensorFromVariableInfo(TF_VariableInfo* var_info,
                                                              TF_Status* status);
TF_CAPI_EXPORT extern void TF_DeleteVariableInfo(TF_VariableInfo* var_info);

// - Coordination service --------------------------------------------------------------------------
// Keys and values that the tasks of a cluster share. No session here takes part in a service, so
// that, as in a process of TensorFlow's without one, the agent is NULL, it is not initialized, and
// all else fails with TF_FAILED_PRECONDITION.

TF_CAPI_EXPORT extern TF_CoordinationServiceAgent* TF_GetCoordinationServiceAgent(
    TF_OpKernelContext* ctx);
TF_CAPI_EXPORT extern bool TF_CoordinationServiceIsInitialized(TF_CoordinationServiceAgent* agent);
TF_CAPI_EXPORT extern void TF_CoordinationServiceInsertKeyValue(const char* key, int64_t key_size,
                                                                const char* value,
                                                                int64_t value_size,
                                                                TF_CoordinationServiceAgent* agent,
                                                                TF_Status* status);
TF_CAPI_EXPORT extern TF_Buffer* TF_CoordinationServiceGetKeyValue(
    const char* key, int64_t key_size, TF_CoordinationServiceAgent* agent, TF_Status* status);
TF_CAPI_EXPORT extern TF_Buffer* TF_CoordinationServiceGetKeyValueWithTimeout(
    const char* key, int64_t key_size, int64_t timeout_seconds, TF_CoordinationServiceAgent* agent,
    TF_Status* status);
TF_CAPI_EXPORT extern TF_Buffer* TF_CoordinationServiceTryGetKeyValue(
    const char* key, int64_t key_size, TF_CoordinationServiceAgent* agent, TF_Status* status);
TF_CAPI_EXPORT extern void TF_CoordinationServiceDeleteKeyValue(const char* key, int64_t key_size,
                                                                TF_CoordinationServiceAgent* agent,
                                                                TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_NEXT_PLUGGABLE_DEVICE_C_API_H_
