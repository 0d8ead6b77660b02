// Calls of the processes of tf.data's service: a dispatcher, who knows datasets, jobs and workers,
// and the workers, who make elements. A call is tried again, with growing pauses, after a failure
// that may pass (UNAVAILABLE, ABORTED, CANCELLED by the peer), for as long as its caller says: the
// dispatcher may not be up yet, or start again. Before the first call of a dispatcher comes the
// question for its version, since messages of another version mean something else.
//
//   leat_service_call ─▶ [GetVersion] ─▶ the method ─▶ done
//                              ▲ a pause ◀─┘ may pass
//
// No thread waits. The caller ends a call early by cancelling the cancellation that it names.
#ifndef LEAT_OPS_DATASET_DATA_SERVICE_CALL_CPU_H_
#define LEAT_OPS_DATASET_DATA_SERVICE_CALL_CPU_H_

#include "formats/wire/message.h"
#include "kernel/cancellation.h"
#include "kernel/remote_call.h"

// A process of the service. Reference counted; any thread may use it.
typedef struct leat_service_peer_s leat_service_peer_t;
// |address| is "host:port". Fails as leat_remote_open does; nobody is called yet.
LEAT_MUST_USE leat_status_t leat_service_peer_create(leat_string_view_t address, bool is_dispatcher,
                                                     leat_service_peer_t** out_peer);
void leat_service_peer_retain(leat_service_peer_t* peer);
void leat_service_peer_release(leat_service_peer_t* peer);  // NULL is allowed

// Constant and static.
typedef struct leat_service_question_s {
  const char* path;     // "/tensorflow.data.DispatcherService/GetOrCreateJob"
  const char* failure;  // what stands before the message of a failure: "Failed to get a job"
  const leat_message_descriptor_t* request;  // NULL: a message without fields
} leat_service_question_t;

typedef struct leat_service_request_s {
  leat_service_peer_t* peer;
  const leat_service_question_t* method;
  const void* request;  // the struct of the method's message; encoded before the function returns
  int64_t gives_up_ns;  // after a failure that may pass, it is tried again until then; 0: never
  int64_t deadline_ns;  // of each try; 0: none
  leat_cancellation_t* cancellation;  // NULL: none
  leat_remote_done_fn_t done;         // called once, perhaps before the function returns
  void* data;
} leat_service_request_t;
// Makes a call; |call| is copied. Cancelled, it ends with CANCELLED.
void leat_service_call(const leat_service_request_t* call);

// Whether a failure with |status| may pass.
bool leat_service_failure_may_pass(leat_status_t status);
// The pause after |failures| > 0 failures in a row: 50 ms at first, then longer, 10 s at most, and
// by chance shorter than that, so that many clients do not come back at once.
int64_t leat_service_pause_ns(int failures);

#endif  // LEAT_OPS_DATASET_DATA_SERVICE_CALL_CPU_H_
