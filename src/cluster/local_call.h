// Calls to a server of the calling process. A program that makes a server (TF_NewServer) is mostly
// its client too, and each of its steps would go through the network of the machine and two more
// threads. Such a call is made on the caller's thread, to the function that serves what comes by
// the network:
//
//   leat_client_call ─▶ leat_local_call_begin: has a server of this process the address?
//                         ├─ yes: leat_local_call_run ─▶ leat_rpc_handler_fn_t ─▶ leat_rpc_answer
//                         └─ no: leat_rpc_call ─▶ [ network ]
//
// A server is known by the address of leat_server_target, to the letter, as in TensorFlow: who
// names the machine in another way goes by the network. Whoever serves such a call ends it at its
// deadline; nobody else looks at that.
#ifndef LEAT_CLUSTER_LOCAL_CALL_H_
#define LEAT_CLUSTER_LOCAL_CALL_H_

#include "base/sync.h"
#include "cluster/rpc.h"

// A server that takes calls of its own process. All functions may be called from any thread.
typedef struct leat_local_server_s {
  leat_string_view_t address;  // "host:port"
  leat_rpc_handler_fn_t handler;
  void* data;                  // of the handler
  struct leat_local_server_s* next;  // in the list of all of them
  struct leat_local_call_s* calls;   // that are under way
  leat_condition_t left;             // a call was ended
} leat_local_server_t;

// Takes calls from now on. |address|, |handler| and |data| are set; they stay until the server is
// closed.
void leat_local_server_open(leat_local_server_t* server);
// Takes no more calls, cancels those under way, and waits until they are ended. Not from a handler.
void leat_local_server_close(leat_local_server_t* server);

// A call, in memory of the caller's, which is zeroed.
typedef struct leat_local_call_s {
  leat_rpc_direct_request_t request;  // first, so that it can be cast back
  leat_local_server_t* server;
  struct leat_local_call_s *next, **link;  // in the server's list; |*link| is this call
  leat_rpc_done_fn_t done;
  void* done_data;
} leat_local_call_t;

// Whether a server of this process has |address|, and there is memory for a call. The call may be
// cancelled from then on, must be run, and then be ended.
bool leat_local_call_begin(leat_string_view_t address, leat_local_call_t* call);
// Has the server serve the call on this thread. |message| is the struct of the method's request,
// which is neither encoded nor copied; it is valid until |done| is called, which happens once,
// perhaps on another thread and after this returns.
void leat_local_call_run(leat_local_call_t* call, const char* method, const void* message,
                         int64_t deadline_ns, leat_rpc_done_fn_t done, void* data);
void leat_local_call_cancel(leat_local_call_t* call);  // before it is ended
void leat_local_call_end(leat_local_call_t* call);     // |done| has been called

#endif  // LEAT_CLUSTER_LOCAL_CALL_H_
