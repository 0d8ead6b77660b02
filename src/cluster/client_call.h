// Calls of a client's session to its master. Each is made by a thread that waits for the answer. A
// list of those under way lets the session's end, on another thread, end them too.
#ifndef LEAT_CLUSTER_CLIENT_CALL_H_
#define LEAT_CLUSTER_CLIENT_CALL_H_

#include "base/sync.h"
#include "cluster/rpc.h"
#include "formats/wire/message.h"
#include "kernel/cancellation.h"

// The calls of a session.
typedef struct leat_client_calls_s {
  leat_mutex_t mutex;  // guards what follows
  struct leat_exchange_s* first;
  bool is_closed;
} leat_client_calls_t;
void leat_client_calls_initialize(leat_client_calls_t* out_calls);
void leat_client_calls_deinitialize(leat_client_calls_t* calls);  // no call is under way
// Notes that the session ends: later steps are cancelled, and ABORTED, with which a master answers
// a step whose session it has ended, becomes CANCELLED.
void leat_client_calls_close(leat_client_calls_t* calls);
// Cancels the steps under way.
void leat_client_calls_cancel(leat_client_calls_t* calls);

typedef enum leat_client_call_kind_e {
  LEAT_CLIENT_CALL_OPENS,  // waits for a master that is not up yet
  LEAT_CLIENT_CALL_STEP,   // is in the list
  LEAT_CLIENT_CALL_CLOSES,
} leat_client_call_kind_t;
// Reads the answer, on the thread that has it; the bytes are valid during the call.
typedef leat_status_t (*leat_client_read_fn_t)(void* data, leat_string_view_t answer);
typedef struct leat_client_call_s {
  leat_string_view_t address;   // of the server: one of this process is called without a network
                                // (local_call.h); empty: the call goes by the network
  leat_rpc_channel_t* channel;  // the way by the network
  const char* method;
  const leat_message_descriptor_t* descriptor;  // of |message|
  const void* message;
  int64_t deadline_ns;
  leat_client_call_kind_t kind;
  leat_cancellation_t* cancellation;  // of the caller; NULL: none
  leat_client_read_fn_t read;         // NULL: the answer does not count
  void* data;
} leat_client_call_t;
// Makes the call and waits for its end. UNAVAILABLE where the master is gone, CANCELLED where the
// caller cancels it.
LEAT_MUST_USE leat_status_t leat_client_call(leat_client_calls_t* calls,
                                             const leat_client_call_t* call);

#endif  // LEAT_CLUSTER_CLIENT_CALL_H_
