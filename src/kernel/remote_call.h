// Calls of other processes by kernels: how an op of tf.data's service speaks with a dispatcher and
// with workers. Kernels may not know the room that carries bytes over a network (src/cluster/), so
// that what they need of it stands here as an interface, and src/init.c says once who carries:
//
//   kernel ──▶ leat_remote_call ──▶ leat_remote_carrier_t ──▶ cluster/rpc.h ──▶ [ network ]
//   done(status, answer) ◀──────────────────────────────────
//
// Nothing here blocks. Any function may be called on any thread, also within a |done|. The engine
// behind it is loaded by the first way that is opened; a program that opens none never loads it.
#ifndef LEAT_KERNEL_REMOTE_CALL_H_
#define LEAT_KERNEL_REMOTE_CALL_H_

#include "base/clock.h"
#include "base/status.h"
#include "base/string_view.h"

typedef struct leat_remote_way_s leat_remote_way_t;    // to a server
typedef struct leat_remote_call_s leat_remote_call_t;  // under way

// The end of a call: called exactly once, perhaps before leat_remote_call returns. It may block.
// |status| is the callee's to free; |answer| is valid during the call.
typedef void (*leat_remote_done_fn_t)(void* data, leat_status_t status, leat_string_view_t answer);

typedef struct leat_remote_request_s {
  const char* method;        // "/tensorflow.data.WorkerService/GetElement"; must live until |done|
  leat_string_view_t bytes;  // copied
  int64_t deadline_ns;       // leat_clock_now_ns, or LEAT_DEADLINE_NEVER; then DEADLINE_EXCEEDED
  bool waits;                // for a server that is not up yet, instead of failing with UNAVAILABLE
} leat_remote_request_t;

// Who carries calls. Constant and static; its functions are those below.
typedef struct leat_remote_carrier_s {
  leat_status_t (*open)(leat_string_view_t address, leat_remote_way_t** out_way);
  void (*close)(leat_remote_way_t* way);
  void (*call)(leat_remote_way_t* way, const leat_remote_request_t* request,
               leat_remote_done_fn_t done, void* data, leat_remote_call_t** out_call);
  void (*cancel)(leat_remote_call_t* call);
  void (*call_free)(leat_remote_call_t* call);
} leat_remote_carrier_t;

// Has the calls of this process carried by |carrier| from now on. Before the first way is opened.
void leat_remote_carrier_set(const leat_remote_carrier_t* carrier);

// Opens a way to the server at |address| ("host:port"), which is connected to by the first call and
// again after the connection was lost. UNIMPLEMENTED, naming the package, where there is no engine;
// INVALID_ARGUMENT for an address that is none, and for certificates that cannot be read.
LEAT_MUST_USE leat_status_t leat_remote_open(leat_string_view_t address,
                                             leat_remote_way_t** out_way);
// Cancels the calls under way, whose |done| come before or after this returns. NULL is allowed.
void leat_remote_close(leat_remote_way_t* way);
// Makes a call. |*out_call| is set before |done| may be called; the caller frees it, before or
// after the end. It stays NULL where there was no memory for a call, which |done| tells then.
void leat_remote_call(leat_remote_way_t* way, const leat_remote_request_t* request,
                      leat_remote_done_fn_t done, void* data, leat_remote_call_t** out_call);
// Ends the call with CANCELLED, unless it has ended; |done| is called as for every end. NULL is
// allowed.
void leat_remote_cancel(leat_remote_call_t* call);
void leat_remote_call_free(leat_remote_call_t* call);  // NULL is allowed

#endif  // LEAT_KERNEL_REMOTE_CALL_H_
