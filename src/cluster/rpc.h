// Remote procedure calls between processes, as gRPC carries them. This is what the services and the
// proxies of this room need of a wire, and no more: bytes go to a method by its name, and bytes and
// a status come back. A server also takes streams, calls in which the client sends any number of
// messages and gets an answer to each. The engine behind it is a module (src/modules/grpc/, over
// the gRPC C core), which is loaded by the first server or channel; a program without a cluster
// never loads it.
//
//   client: leat_rpc_call ─▶ channel ─▶ [ network ] ─▶ server ─▶ leat_rpc_handler_fn_t
//           done(status, answer)     ◀─            ◀─         leat_rpc_answer
//
// All functions may be called from any thread. Handlers and |done| functions run on threads of the
// engine and may block there: within a millisecond another thread of the engine waits for the next
// event, so that a call is never stuck behind the handler of another one.
//
// No call is sent twice: TensorFlow's services refuse a request that comes again (CLUSTER.md,
// section 5), so the engine's own retries are off.
#ifndef LEAT_CLUSTER_RPC_H_
#define LEAT_CLUSTER_RPC_H_

#include "base/allocator.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/string_view.h"

// ---- Bytes --------------------------------------------------------------------------------------

// A message is a list of pieces that follow one another, so that the bytes of a large tensor go out
// from its buffer, and come in into one, without a copy in between.
//
// A piece that is sent is kept by the engine until it has been written: |release|(|owner|) is then
// called once, on any thread, also where the call fails. NULL: |data| is copied during the call.
// Of a piece that was received, |release| is NULL, and |data| is valid as long as the function that
// hands it out says.
typedef struct leat_rpc_piece_s {
  const char* data;
  size_t size;
  void (*release)(void* owner);
  void* owner;
} leat_rpc_piece_t;

typedef struct leat_rpc_bytes_s {
  const leat_rpc_piece_t* pieces;
  size_t count;
} leat_rpc_bytes_t;

size_t leat_rpc_bytes_size(leat_rpc_bytes_t bytes);
// Calls each piece's |release|: the bytes are sent, or never will be.
void leat_rpc_bytes_release(leat_rpc_bytes_t bytes);
// The |release| of a piece whose |owner| is its memory, which leat_allocator_system() gave.
void leat_rpc_release_text(void* text);
// The bytes as one view: of the only piece, or of a copy, which is |*out_copy| and the caller's to
// free (NULL where there was none to make). RESOURCE_EXHAUSTED without memory.
LEAT_MUST_USE leat_status_t leat_rpc_bytes_join(leat_rpc_bytes_t bytes,
                                                leat_allocator_t* allocator,
                                                leat_string_view_t* out_view, char** out_copy);

// ---- Security -----------------------------------------------------------------------------------

// Certificates and keys, as PEM text; borrowed for the call that takes them. All of them empty:
// plain text, which anybody on the way can read and change.
typedef struct leat_rpc_security_s {
  leat_string_view_t root_certificates;  // whom to believe
  leat_string_view_t certificate_chain;  // who we are; a server needs it
  leat_string_view_t private_key;
  bool requires_client_certificate;      // of a server: mutual TLS
} leat_rpc_security_t;

typedef enum leat_rpc_text_e {
  LEAT_RPC_CERTIFICATE, LEAT_RPC_KEY, LEAT_RPC_AUTHORITY
} leat_rpc_text_t;
// Looks at the texts as a peer will: whether they can be read, the key is the certificate's, the
// certificate is valid now, the root certificates signed it, and, unless |address| ("host:port") is
// empty, it is for that host. Where not, INVALID_ARGUMENT; |*out_which| is then the text at fault
// and |message| says what it does and must do. Without a chain only the root certificates are read.
LEAT_MUST_USE leat_status_t leat_rpc_check_security(const leat_rpc_security_t* security,
                                                    leat_string_view_t address,
                                                    leat_rpc_text_t* out_which, char* message,
                                                    size_t message_size);

// ---- Server -------------------------------------------------------------------------------------

typedef struct leat_rpc_server_s leat_rpc_server_t;

// A call that came in, or a message of a stream; valid until it is answered. The engine owns it.
//
// The messages of a stream are requests one after the other: the next one is read when the last one
// was answered and the client's side has taken the answer in. An answer with a failure ends the
// stream, and what the client had sent behind that message is dropped. The stream ends with success
// when the client says that it has no more messages. It may also cancel the stream, or be gone: the
// request under way, if any, is cancelled then, and nobody is told where there is none.
typedef struct leat_rpc_request_s {
  leat_string_view_t method;  // "/tensorflow.WorkerService/RunGraph"
  leat_rpc_bytes_t bytes;
  int64_t deadline_ns;        // leat_clock_now_ns, or LEAT_DEADLINE_NEVER
  leat_string_view_t peer;    // "ipv4:127.0.0.1:40112"
  const void* message;        // the method's struct, in place of |bytes|; NULL: there is none
  // How leat_rpc_answer answers a leat_rpc_direct_request_t; NULL: the engine has the request.
  void (*answer)(struct leat_rpc_request_s* request, leat_status_t status,
                 leat_string_view_t details, leat_rpc_bytes_t bytes);
} leat_rpc_request_t;

// A request that comes past the engine: from this process (local_call.h) or on the plane (plane.h).
// Whoever brings it makes the cancellation, and cancels it where the caller gives up or is lost.
// |answer| begins with leat_rpc_request_on_cancel of NULL, and takes its arguments over as
// leat_rpc_answer does.
typedef struct leat_rpc_direct_request_s {
  leat_rpc_request_t base;  // first, so that it can be cast back
  struct leat_cancellation_s* cancellation;
  bool is_watched;  // there is a function of leat_rpc_request_on_cancel
  uint64_t token;   // of that
} leat_rpc_direct_request_t;

// Serves a call. It, or whoever it hands the request to, answers the request exactly once.
typedef void (*leat_rpc_handler_fn_t)(void* data, leat_rpc_request_t* request);

typedef struct leat_rpc_server_options_s {
  leat_string_view_t address;  // "host:port"; port 0 takes a free one
  leat_rpc_security_t security;
  int64_t max_message_bytes;   // of a request; 0: no limit but gRPC's own of 2 GiB
  leat_rpc_handler_fn_t handler;
  void* data;                  // of the handler
  bool (*streams)(leat_string_view_t method);  // which methods are streams; NULL: none
} leat_rpc_server_options_t;

// Listens on the address, and serves from then on. UNIMPLEMENTED, naming the package, where the
// engine is absent; UNAVAILABLE where the address cannot be had; INVALID_ARGUMENT for one without a
// port, and for certificates that cannot be read.
LEAT_MUST_USE leat_status_t leat_rpc_server_start(const leat_rpc_server_options_t* options,
                                                  int* out_port, leat_rpc_server_t** out_server);
// Whether |address| ("host:port") leads to this machine alone.
bool leat_rpc_is_loopback(leat_string_view_t address);
// leat_rpc_server_start for a process that the others reach at |options->address|: where that leads
// to this machine alone, it listens for this machine alone, else on the port of all of its
// addresses, since the name may be one of many.
LEAT_MUST_USE leat_status_t leat_rpc_server_start_reachable(
    const leat_rpc_server_options_t* options, int* out_port, leat_rpc_server_t** out_server);
// Answers |request|, which is gone then. |status| is taken over; where it is a failure, |bytes| are
// not sent. |details| is the trailer grpc-status-details-bin of a failure, or empty. May be called
// on a thread other than the handler's. That the client is gone is no error.
void leat_rpc_answer(leat_rpc_request_t* request, leat_status_t status,
                     leat_string_view_t details, leat_rpc_bytes_t bytes);
// Has |fn|(|data|) called once if the client cancels the call, its deadline passes, or its
// connection breaks before the answer; at once where that has happened already. One |fn| a request;
// NULL takes it back. That, and leat_rpc_answer, wait for an |fn| that is running on another
// thread, so that nothing of its |data| is used afterwards; |fn| itself may answer.
void leat_rpc_request_on_cancel(leat_rpc_request_t* request, void (*fn)(void* data), void* data);
// Takes no more calls, cancels those that are not answered (their |fn| of cancellation is called),
// and waits until all are answered and no handler runs; then frees the server. NULL is allowed. Not
// from a handler.
void leat_rpc_server_stop(leat_rpc_server_t* server);

// ---- Client -------------------------------------------------------------------------------------

typedef struct leat_rpc_channel_s leat_rpc_channel_t;
typedef struct leat_rpc_call_s leat_rpc_call_t;

// A way to the server at |address| ("host:port"). It connects on the first call, and again after
// the connection was lost. Never blocks. Root certificates that cannot be read are found when it
// connects, and make its calls fail with UNAVAILABLE.
LEAT_MUST_USE leat_status_t leat_rpc_channel_create(leat_string_view_t address,
                                                    const leat_rpc_security_t* security,
                                                    leat_rpc_channel_t** out_channel);
// Cancels the calls under way and waits until their |done| have returned. NULL is allowed. Not from
// a |done|.
void leat_rpc_channel_free(leat_rpc_channel_t* channel);
// Whether a call is under way that neither waits for the server to come up nor is patient
// (leat_rpc_call_options_t).
bool leat_rpc_channel_is_busy(leat_rpc_channel_t* channel);
// Ends all calls but those that wait for the server to come up with |status|, which is taken: the
// caller knows that nobody will answer them.
// Later calls are made as before. Does not wait for their |done|.
void leat_rpc_channel_fail(leat_rpc_channel_t* channel, leat_status_t status);

// The end of a call: called exactly once, perhaps before leat_rpc_call returns. |status| is the
// callee's to free; |details| as in leat_rpc_answer. |answer| and |details| are valid during the
// call.
typedef void (*leat_rpc_done_fn_t)(void* data, leat_status_t status, leat_string_view_t details,
                                   leat_rpc_bytes_t answer);

typedef struct leat_rpc_call_options_s {
  const char* method;   // "/tensorflow.WorkerService/RunGraph"; must live until |done|
  leat_rpc_bytes_t bytes;
  int64_t deadline_ns;  // leat_clock_now_ns, or LEAT_DEADLINE_NEVER; then DEADLINE_EXCEEDED
  bool waits;           // for a server that is not up yet, instead of failing with UNAVAILABLE;
                        // for one that is up and refuses the certificates only after the first try
  bool is_patient;      // does not count as busy (leat_rpc_channel_is_busy)
} leat_rpc_call_options_t;

// Makes a call. Never blocks. |out_call|, unless it is NULL, gets the call for leat_rpc_cancel; the
// caller frees it, before or after the end. It is set before |done| may be called.
void leat_rpc_call(leat_rpc_channel_t* channel, const leat_rpc_call_options_t* options,
                   leat_rpc_done_fn_t done, void* data, leat_rpc_call_t** out_call);
// Ends the call with CANCELLED, unless it has ended. |done| is called as for every end. NULL is
// allowed: a call for which there was no memory ended within leat_rpc_call.
void leat_rpc_cancel(leat_rpc_call_t* call);
void leat_rpc_call_free(leat_rpc_call_t* call);  // NULL is allowed

#endif  // LEAT_CLUSTER_RPC_H_
