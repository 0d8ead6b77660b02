// How the C API reports failure: an object with a code, a message and optional payloads. A program
// acts on the code and shows the message to people: it names the node, the value and the rule, and
// its wording may change. Every function that takes a TF_Status sets it, to TF_OK where all went
// well, so that one object serves any number of calls. A function that fails gives back nothing
// that the caller would have to free.

#ifndef TENSORFLOW_C_TF_STATUS_H_
#define TENSORFLOW_C_TF_STATUS_H_

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

// The outcome of one call. The caller makes it, passes it to as many calls as it likes, one at a
// time, and reads it after each. One status belongs to one thread at a time; threads that run at
// once take one each.
typedef struct TSL_Status TSL_Status;
typedef struct TSL_Status TF_Status;

// Why a call failed. The numbers are gRPC's and those of error_codes.proto.
typedef enum TSL_Code {
  TF_OK = 0,
  TF_CANCELLED = 1,            // somebody asked for it to stop
  TF_UNKNOWN = 2,              // the cause carried no code of its own
  TF_INVALID_ARGUMENT = 3,     // wrong whatever the state of the system
  TF_DEADLINE_EXCEEDED = 4,    // the time given was over first
  TF_NOT_FOUND = 5,            // no such file, device, node, op, tensor, ...
  TF_ALREADY_EXISTS = 6,       // to be created, but there already
  TF_PERMISSION_DENIED = 7,    // the caller may not
  TF_RESOURCE_EXHAUSTED = 8,   // memory, disk or a limit is used up
  TF_FAILED_PRECONDITION = 9,  // right call, wrong state: an uninitialised variable, say
  TF_ABORTED = 10,             // gave way to something concurrent; trying again may work
  TF_OUT_OF_RANGE = 11,        // past the end: how an input pipeline says that it is empty
  TF_UNIMPLEMENTED = 12,       // known, but not available here
  TF_INTERNAL = 13,            // the library broke its own promise
  TF_UNAVAILABLE = 14,         // a peer cannot be reached now; trying again may work
  TF_DATA_LOSS = 15,           // bytes are missing or damaged beyond repair
  TF_UNAUTHENTICATED = 16,     // who the caller is could not be established
} TSL_Code;
typedef TSL_Code TF_Code;

// The same codes under the names of TensorFlow's support library.
#define TSL_OK TF_OK
#define TSL_CANCELLED TF_CANCELLED
#define TSL_UNKNOWN TF_UNKNOWN
#define TSL_INVALID_ARGUMENT TF_INVALID_ARGUMENT
#define TSL_DEADLINE_EXCEEDED TF_DEADLINE_EXCEEDED
#define TSL_NOT_FOUND TF_NOT_FOUND
#define TSL_ALREADY_EXISTS TF_ALREADY_EXISTS
#define TSL_PERMISSION_DENIED TF_PERMISSION_DENIED
#define TSL_RESOURCE_EXHAUSTED TF_RESOURCE_EXHAUSTED
#define TSL_FAILED_PRECONDITION TF_FAILED_PRECONDITION
#define TSL_ABORTED TF_ABORTED
#define TSL_OUT_OF_RANGE TF_OUT_OF_RANGE
#define TSL_UNIMPLEMENTED TF_UNIMPLEMENTED
#define TSL_INTERNAL TF_INTERNAL
#define TSL_UNAVAILABLE TF_UNAVAILABLE
#define TSL_DATA_LOSS TF_DATA_LOSS
#define TSL_UNAUTHENTICATED TF_UNAUTHENTICATED

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
typedef void (*TSL_PayloadVisitor)(const char* key, const char* value, void* capture);
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
