// How the C API reports failure: an object with a code, a message and optional payloads. A program
// acts on the code and shows the message to people: it names the node, the value and the rule, and
// its wording may change. Every function that takes a TF_Status sets it, to TF_OK where all went
// well, so that one object serves any number of calls. A function that fails gives back nothing
// that the caller would have to free.

#ifndef TENSORFLOW_C_TF_STATUS_H_
#define TENSORFLOW_C_TF_STATUS_H_

#include "tensorflow/c/c_api_macros.h"
#include "xla/tsl/c/tsl_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// The outcome of one call. The caller makes it, passes it to as many calls as it likes, one at a
// time, and reads it after each. One status belongs to one thread at a time; threads that run at
// once take one each.
typedef struct TSL_Status TF_Status;

// Why a call failed: the codes of TSL_Code, under the names that programs use.
typedef TSL_Code TF_Code;
#define TF_OK TSL_OK
#define TF_CANCELLED TSL_CANCELLED
#define TF_UNKNOWN TSL_UNKNOWN
#define TF_INVALID_ARGUMENT TSL_INVALID_ARGUMENT
#define TF_DEADLINE_EXCEEDED TSL_DEADLINE_EXCEEDED
#define TF_NOT_FOUND TSL_NOT_FOUND
#define TF_ALREADY_EXISTS TSL_ALREADY_EXISTS
#define TF_PERMISSION_DENIED TSL_PERMISSION_DENIED
#define TF_RESOURCE_EXHAUSTED TSL_RESOURCE_EXHAUSTED
#define TF_FAILED_PRECONDITION TSL_FAILED_PRECONDITION
#define TF_ABORTED TSL_ABORTED
#define TF_OUT_OF_RANGE TSL_OUT_OF_RANGE
#define TF_UNIMPLEMENTED TSL_UNIMPLEMENTED
#define TF_INTERNAL TSL_INTERNAL
#define TF_UNAVAILABLE TSL_UNAVAILABLE
#define TF_DATA_LOSS TSL_DATA_LOSS
#define TF_UNAUTHENTICATED TSL_UNAUTHENTICATED

// A status that says TF_OK. Free with TF_DeleteStatus. NULL when memory runs out.
TF_CAPI_EXPORT TF_Status* TF_NewStatus(void);

// Frees the status and the strings read from it. NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteStatus(TF_Status* s);

// Makes |s| say |code| and |msg| (copied, NUL-terminated) and forgets whatever it held, payloads
// included. With TF_OK the message is dropped. For code that implements an API of this shape, such
// as a plugin's kernels.
TF_CAPI_EXPORT void TF_SetStatus(TF_Status* s, TF_Code code, const char* msg);

// Attaches |value| to the error under |key|, in the place of an earlier value of that key. Both are
// copied. Does nothing while |s| says TF_OK.
TF_CAPI_EXPORT void TF_SetPayload(TF_Status* s, const char* key, const char* value);

// What TF_ForEachPayload calls. The strings live until the visitor returns.
#define TF_PayloadVisitor TSL_PayloadVisitor

// Calls |visitor| once for every payload, in no promised order, on the calling thread; |capture| is
// handed through. The visitor must not change |s|.
TF_CAPI_EXPORT void TF_ForEachPayload(const TF_Status* s, TF_PayloadVisitor visitor, void* capture);

// Makes |s| say what the errno value |error_code| means: ENOENT becomes TF_NOT_FOUND, EACCES
// TF_PERMISSION_DENIED, ENOSPC TF_RESOURCE_EXHAUSTED, 0 TF_OK and so on. The message is
// |context|, then the system's text.
TF_CAPI_EXPORT void TF_SetStatusFromIOError(TF_Status* s, int error_code, const char* context);

// The code that |s| holds.
TF_CAPI_EXPORT TF_Code TF_GetCode(const TF_Status* s);

// The message, NUL-terminated; "" when the code is TF_OK. It belongs to |s| and lives until |s| is
// next set or deleted, by any function that takes it.
TF_CAPI_EXPORT const char* TF_Message(const TF_Status* s);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_TF_STATUS_H_
