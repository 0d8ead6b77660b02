// What the sources of this module share: the engine, which is the completion queue of the gRPC C
// core with the threads that serve it, and the translation of bytes. The module is a shared library
// of its own, leat_module_grpc.so; cluster/rpc_module.h is its whole interface.
//
//   client.c, server.c ─ start a batch with an event as its tag ─▶ C core ─▶ completion queue
//   event->serve(event, success)  ◀─  a thread of the engine  ◀──────────────────┘
//
// Lock order. There are three kinds of mutexes (the engine's, a server's, a channel's) and the
// spinlocks of requests and calls. None is ever taken while another is held, and neither the C core
// nor a function of the caller's is called while one is held, since both may call back: the C core
// runs |release| functions of pieces in whatever call of it lets go of them last.
#ifndef LEAT_MODULES_GRPC_ENGINE_H_
#define LEAT_MODULES_GRPC_ENGINE_H_

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/slice.h>

#include "cluster/rpc_module.h"

// The functions of the library, set before anything else runs.
extern const leat_rpc_host_t* rpc_host;
void rpc_initialize(const leat_rpc_host_t* host);

// ---- The engine ---------------------------------------------------------------------------------

typedef struct rpc_engine_s rpc_engine_t;

// The tag of an operation of the C core: what it belongs to is the struct around it.
typedef struct rpc_event_s rpc_event_t;
struct rpc_event_s {
  void (*serve)(rpc_event_t* event, bool success);
  rpc_engine_t* engine;
  // Written before the event is given to the C core and read when it comes back. What one thread
  // wrote is visible to the other in any case, through the C core, but a race detector that does
  // not see into the C core believes only this.
  atomic_int sent;
};
#define RPC_EVENT_OWNER(event, type, field) ((type*)((char*)(event) - offsetof(type, field)))

// One engine serves all servers and channels of the process. The first of them makes it, and it
// ends with the last. NULL without memory or threads.
rpc_engine_t* rpc_engine_acquire(void);
// The caller's events must all have come. Waits until the threads have ended, if this was the last
// user, except on a thread of the engine.
void rpc_engine_release(rpc_engine_t* engine);
grpc_completion_queue* rpc_engine_queue(rpc_engine_t* engine);
// Makes |event| ready to be a tag.
void* rpc_event_send(rpc_engine_t* engine, rpc_event_t* event,
                     void (*serve)(rpc_event_t* event, bool success));
// A thread that serves an event brackets what may block, which is every function of the caller's:
// another thread then waits for events, at once or within a millisecond.
void rpc_engine_enter_caller(rpc_engine_t* engine);
void rpc_engine_leave_caller(rpc_engine_t* engine);

// ---- Bytes --------------------------------------------------------------------------------------

#define RPC_INLINE_PIECES 8
// Bytes that came in: views of the slices of |buffer|, which it owns.
typedef struct rpc_received_s {
  grpc_byte_buffer* buffer;
  leat_rpc_piece_t* pieces;
  leat_rpc_piece_t inlined[RPC_INLINE_PIECES];
} rpc_received_t;

// Gives |buffer|, which the C core has put there, as pieces. false without memory.
bool rpc_received_open(rpc_received_t* received, leat_rpc_bytes_t* out_bytes);
void rpc_received_close(rpc_received_t* received);

// The bytes as the C core wants them; what has a |release| is not copied. LEAT_RESOURCE_EXHAUSTED
// without memory or above 2 GiB; every |release| has then been called.
int rpc_bytes_to_buffer(leat_rpc_bytes_t bytes, grpc_byte_buffer** out_buffer);
// Calls every |release|, for bytes that are not sent.
void rpc_bytes_release(leat_rpc_bytes_t bytes);
// A view of the slice, which must stay where it is.
leat_string_view_t rpc_slice_view(const grpc_slice* slice);
grpc_slice rpc_slice_from(leat_string_view_t view);

// The trailer of a failure that says more than its code and text.
#define RPC_DETAILS_KEY "grpc-status-details-bin"

// ---- What both sides ask of a connection --------------------------------------------------------

// The arguments of a channel or a server; |room| has space for RPC_MAX_ARGUMENTS.
#define RPC_MAX_ARGUMENTS 24
size_t rpc_shared_arguments(grpc_arg* room);
grpc_arg rpc_integer_argument(const char* key, int value);
static inline bool rpc_is_secure(const leat_rpc_credentials_t* credentials) {
  return credentials->root_certificates || credentials->certificate_chain;
}
// |deadline_ns| in the C core's time.
gpr_timespec rpc_deadline_to_core(int64_t deadline_ns);
int64_t rpc_deadline_from_core(gpr_timespec deadline);

// ---- The functions of the module's table (cluster/rpc_module.h) ---------------------------------

int rpc_server_start(const leat_rpc_server_settings_t* settings, int* out_port,
                     leat_rpc_server_t** out_server);
void rpc_server_stop(leat_rpc_server_t* server);
void rpc_answer(leat_rpc_request_t* request, int code, leat_string_view_t message,
                leat_string_view_t details, leat_rpc_bytes_t bytes);
void rpc_request_on_cancel(leat_rpc_request_t* request, void (*fn)(void* data), void* data);
int rpc_channel_create(const char* address, const leat_rpc_credentials_t* credentials,
                       leat_rpc_channel_t** out_channel);
void rpc_channel_free(leat_rpc_channel_t* channel);
bool rpc_channel_is_busy(leat_rpc_channel_t* channel);
void rpc_channel_fail(leat_rpc_channel_t* channel, int code, const char* message);
int rpc_check_credentials(const leat_rpc_credentials_t* credentials, const char* host,
                          leat_rpc_text_t* out_which, char* message, size_t message_size);
void rpc_call(leat_rpc_channel_t* channel, const leat_rpc_call_options_t* options,
              leat_rpc_done_fn_t done, void* data, leat_rpc_call_t** out_call);
void rpc_cancel(leat_rpc_call_t* call);
void rpc_call_free(leat_rpc_call_t* call);

#endif  // LEAT_MODULES_GRPC_ENGINE_H_
