// xla/tsl/c/tsl_status.h: the status of TensorFlow's support library (TSL), which TF_Status is. Its
// functions are those of tensorflow/c/tf_status.h under other names, and do the same; programs use
// those. Bindings that are generated from the headers, as Rust's are, may name these.
#ifndef XLA_TSL_C_TSL_STATUS_H_
#define XLA_TSL_C_TSL_STATUS_H_

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TSL_Status TSL_Status;

// Why a call failed. The numbers are gRPC's and those of error_codes.proto.
typedef enum TSL_Code {
  TSL_OK = 0,
  TSL_CANCELLED = 1,            // somebody asked for it to stop
  TSL_UNKNOWN = 2,              // the cause carried no code of its own
  TSL_INVALID_ARGUMENT = 3,     // wrong whatever the state of the system
  TSL_DEADLINE_EXCEEDED = 4,    // the time given was over first
  TSL_NOT_FOUND = 5,            // no such file, device, node, op, tensor, ...
  TSL_ALREADY_EXISTS = 6,       // to be created, but there already
  TSL_PERMISSION_DENIED = 7,    // the caller may not
  TSL_RESOURCE_EXHAUSTED = 8,   // memory, disk or a limit is used up
  TSL_FAILED_PRECONDITION = 9,  // right call, wrong state: an uninitialised variable, say
  TSL_ABORTED = 10,             // gave way to something concurrent; trying again may work
  TSL_OUT_OF_RANGE = 11,        // past the end: how an input pipeline says that it is empty
  TSL_UNIMPLEMENTED = 12,       // known, but not available here
  TSL_INTERNAL = 13,            // the library broke its own promise
  TSL_UNAVAILABLE = 14,         // a peer cannot be reached now; trying again may work
  TSL_DATA_LOSS = 15,           // bytes are missing or damaged beyond repair
  TSL_UNAUTHENTICATED = 16,     // who the caller is could not be established
} TSL_Code;

TF_CAPI_EXPORT TSL_Status* TSL_NewStatus(void);
TF_CAPI_EXPORT void TSL_DeleteStatus(TSL_Status* s);
TF_CAPI_EXPORT void TSL_SetStatus(TSL_Status* s, TSL_Code code, const char* msg);
TF_CAPI_EXPORT void TSL_SetPayload(TSL_Status* s, const char* key, const char* value);
typedef void (*TSL_PayloadVisitor)(const char* key, const char* value, void* capture);
TF_CAPI_EXPORT void TSL_ForEachPayload(const TSL_Status* s, TSL_PayloadVisitor visitor,
                                       void* capture);
TF_CAPI_EXPORT void TSL_SetStatusFromIOError(TSL_Status* s, int error_code, const char* context);
TF_CAPI_EXPORT TSL_Code TSL_GetCode(const TSL_Status* s);
TF_CAPI_EXPORT const char* TSL_Message(const TSL_Status* s);

#ifdef __cplusplus
}
#endif

#endif
