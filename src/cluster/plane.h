// The plane: how values move between two tasks of Leat's that both have UCX, in place of the calls
// of RecvTensor and RecvBuf, and how a master calls for the steps of another task, in place of
// gRPC's RunGraph. Each task has an end, at which messages come in. What a task wants of another's
// Send, or of a member of a collective, it asks for in a message, and the answer brings the value:
// a small one together with the message, the elements of a large one straight from the sender's
// buffer into the receiver's tensor. Two processes of one machine need no network for that: the
// receiver reads the elements from the sender's memory (cluster/plane_loan.c).
//
//   fetch ─ REQUEST {step, key, member} ─▶ serve ─▶ rendezvous, or round, of the step at the sender
//   fn(value)                ◀─ VALUE {shape}, elements ─ or FAILURE ◀─┘
//
//   call ─ CALL {method, request} ─▶ handler ─▶ a method of a service
//   done(status, answer)     ◀─ ANSWER ◀─┘
//
// Whether a pair of tasks has this way is found out once, by the receiver (cluster/fetch.c): it
// sends its offer, which has the address of its end, by gRPC, and gets that of the other. Then the
// way proves itself: a body as large as those that take UCX's large path goes there and another one
// comes back. Only after that is the way used, and nothing waits for it, since all goes by gRPC
// meanwhile. Where the other task knows no such offer, or the way has not proved itself in time,
// it goes by gRPC for good. A way that breaks later ends what is under way with UNAVAILABLE, as a
// broken connection of gRPC does: the sender has given the value away then, and has no second one.
//
// All functions may be called from any thread.
#ifndef LEAT_CLUSTER_PLANE_H_
#define LEAT_CLUSTER_PLANE_H_

#include "base/thread_pool.h"
#include "cluster/plane_module.h"
#include "formats/generated/plane.h"
#include "kernel/rendezvous.h"

typedef struct leat_plane_s leat_plane_t;
typedef struct leat_plane_call_s leat_plane_call_t;

typedef struct leat_plane_options_s {
  bool is_local;  // only processes of this machine can reach the end
  // As if all other tasks ran on other machines: none reads the memory of another.
  bool is_distant;
  leat_thread_pool_t* pool;  // helps to read another's memory; retained by the caller; may be NULL
  leat_allocator_t* allocator;
  int64_t proof_timeout_ns;  // how long a way may take to prove itself; 0: 5 s
  // Gives |fn| the value that a Send of this task leaves under |key|, or, where |member| names a
  // device, the chunk that it offers under |key| as a member of a collective; or a failure: once,
  // perhaps before this returns. The texts are valid during the call. On a thread of the plane's,
  // which it may block.
  void (*serve)(void* data, int64_t step_id, leat_string_view_t key, leat_string_view_t member,
                leat_rendezvous_receive_fn_t fn, void* fn_data);
  // Serves the calls of methods, as that of a server of rpc.h. On a thread of the plane's.
  leat_rpc_handler_fn_t handler;
  void* data;  // of both
} leat_plane_options_t;

// UNIMPLEMENTED, naming the package, where the module is absent; UNAVAILABLE where UCX cannot work
// here.
LEAT_MUST_USE leat_status_t leat_plane_create(const leat_plane_options_t* options,
                                              leat_plane_t** out_plane);
// Ends all fetches and calls with CANCELLED, cancels those that came in, serves no more, and waits
// until these are answered and no function of the plane's callers runs. What |serve| has not
// answered yet may be answered later, until the plane is freed.
// NULL is allowed. Not from such a function.
void leat_plane_stop(leat_plane_t* plane);
void leat_plane_free(leat_plane_t* plane);  // stops it first; NULL is allowed
// What other tasks are told of this end; borrowed.
leat_pb_plane_offer_t leat_plane_offer(const leat_plane_t* plane);

// Opens the way to the task that made |offer|, or leaves it as it is. INVALID_ARGUMENT where it is
// of another version or its address is none; UNAVAILABLE where a way to it was lost before.
LEAT_MUST_USE leat_status_t leat_plane_join(leat_plane_t* plane,
                                            const leat_pb_plane_offer_t* offer);

// Tasks are told apart by the incarnations of their devices, so that one which was restarted counts
// as another. Whether nobody has asked for the offer of the task with |incarnation|; the caller
// then does, and calls leat_plane_answer.
bool leat_plane_asks(leat_plane_t* plane, uint64_t incarnation);
// The task with |incarnation| has made |offer|, and the way to it was opened, which is asked for a
// proof now; NULL: the task has no offer.
void leat_plane_answer(leat_plane_t* plane, uint64_t incarnation,
                       const leat_pb_plane_offer_t* offer);

// Asks the task with |incarnation| for a value or, where |member| is not empty, for a chunk of that
// member of a collective. false where there is no way to the task, or no memory, and nothing was
// done. |fn| is called once, perhaps before this returns. |*out_call| is set before; the caller
// frees it.
bool leat_plane_fetch(leat_plane_t* plane, uint64_t incarnation, int64_t step_id,
                      leat_string_view_t key, leat_string_view_t member,
                      leat_rendezvous_receive_fn_t fn, void* data, leat_plane_call_t** out_call);

typedef struct leat_plane_call_options_s {
  uint64_t incarnation;          // of the task
  leat_rpc_channel_t* channel;   // by which gRPC reaches it
  const char* method;            // "/tensorflow.WorkerService/RunGraph"
  leat_string_view_t bytes;      // the request, which is copied
} leat_plane_call_options_t;
// Calls a method, as leat_rpc_call does, but without a deadline. false where there is no way to the
// task, the request is larger than a header, or there is no memory, and nothing was done. |done| is
// called once, perhaps before this returns. |*out_call| is set before; the caller frees it.
bool leat_plane_call(leat_plane_t* plane, const leat_plane_call_options_t* options,
                     leat_rpc_done_fn_t done, void* data, leat_plane_call_t** out_call);
// Ends the calls of methods of the task that |channel| leads to with |status| (taken), as
// leat_rpc_channel_fail does. NULL is allowed.
void leat_plane_fail(leat_plane_t* plane, const leat_rpc_channel_t* channel, leat_status_t status);

// Ends the fetch or the call with CANCELLED, unless it has ended.
void leat_plane_cancel(leat_plane_call_t* call);
void leat_plane_call_free(leat_plane_call_t* call);  // NULL is allowed

#endif  // LEAT_CLUSTER_PLANE_H_
