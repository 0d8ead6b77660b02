// The devices that a session may place operations on. Part of the C API: c_api.h has the rules on
// errors, ownership and threads.

#ifndef TENSORFLOW_C_C_API_DEVICE_H_
#define TENSORFLOW_C_C_API_DEVICE_H_

#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/c_api_session.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// A list of devices as they were when it was asked for.
typedef struct TF_DeviceList TF_DeviceList;

// The devices of |session|: those of this process, or of the whole cluster when its target is a
// master (may block, then). Free with TF_DeleteDeviceList.
TF_CAPI_EXPORT TF_DeviceList* TF_SessionListDevices(TF_Session* session, TF_Status* status);

TF_CAPI_EXPORT void TF_DeleteDeviceList(TF_DeviceList* list);

// How many there are.
TF_CAPI_EXPORT int TF_DeviceListCount(const TF_DeviceList* list);

// Facts about the |index|-th. TF_INVALID_ARGUMENT, and the value in brackets, when there are not so
// many or |list| is NULL. Strings are NUL-terminated and live as long as the list.

// "/job:localhost/replica:0/task:0/device:CPU:0" [NULL]
TF_CAPI_EXPORT const char* TF_DeviceListName(const TF_DeviceList* list, int index,
                                             TF_Status* status);

// "CPU" [NULL]
TF_CAPI_EXPORT const char* TF_DeviceListType(const TF_DeviceList* list, int index,
                                             TF_Status* status);

// Bytes of memory that its allocator may hand out [-1]
TF_CAPI_EXPORT int64_t TF_DeviceListMemoryBytes(const TF_DeviceList* list, int index,
                                                TF_Status* status);

// A random number, never 0, that another start of the same device would not have: state that is
// gone can be told from state that is there [0]
TF_CAPI_EXPORT uint64_t TF_DeviceListIncarnation(const TF_DeviceList* list, int index,
                                                 TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_DEVICE_H_
