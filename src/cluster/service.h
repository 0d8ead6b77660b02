// What the methods of both services share: a call is decoded, served and answered. A method gets
// the decoded message, which lives until the call is answered, on whatever thread.
#ifndef LEAT_CLUSTER_SERVICE_H_
#define LEAT_CLUSTER_SERVICE_H_

#include "cluster/task.h"
#include "formats/wire/message.h"

typedef struct leat_service_call_s {
  leat_task_t* task;
  leat_rpc_request_t* request;
  leat_arena_t arena;  // of the message, and of what the method makes of it
  char* joined;        // the bytes of the request, where they came in several pieces
} leat_service_call_t;

typedef struct leat_service_method_s {
  const char* name;                             // "RunGraph"
  const leat_message_descriptor_t* descriptor;  // of the request; NULL: it has no fields
  // Answers the call, now or later. |message| is the struct of |descriptor|. May block.
  void (*serve)(leat_service_call_t* call, const void* message);
} leat_service_method_t;

// The methods, each list ended by one without a name.
extern const leat_service_method_t leat_worker_methods[];  // worker_methods.c
extern const leat_service_method_t leat_master_methods[];  // master_methods.c
extern const leat_service_method_t leat_diagnosis_methods[];  // diagnosis_methods.c
extern const leat_service_method_t leat_collective_methods[];  // collective_methods.c
extern const leat_service_method_t leat_plane_methods[];  // fetch.c
extern const leat_service_method_t leat_eager_methods[];  // eager_methods.c
// Methods that are streams (rpc.h): each message of one is served as a call.
extern const leat_service_method_t leat_eager_streams[];  // eager_methods.c

// A leat_rpc_handler_fn_t: serves a request of either service. |task| is a leat_task_t.
// UNIMPLEMENTED for a method that there is not, INTERNAL for bytes that are no message, as
// TensorFlow has it.
void leat_service_handle(void* task, leat_rpc_request_t* request);
// Whether the method of that path is a stream; for leat_rpc_server_options_t.
bool leat_service_streams(leat_string_view_t path);

// Answers the call with |message|, the struct of |descriptor|, or with no bytes where that is NULL,
// and frees the call. |status| is taken.
void leat_service_answer(leat_service_call_t* call, leat_status_t status,
                         const leat_message_descriptor_t* descriptor, const void* message);
// The first half of that, for an answer that borrows from what is freed before the call is
// answered: makes the bytes of the answer, in |piece|, unless |status| (taken) is a failure.
LEAT_MUST_USE leat_status_t leat_service_encode(leat_status_t status,
                                                const leat_message_descriptor_t* descriptor,
                                                const void* message, leat_rpc_piece_t* piece,
                                                leat_rpc_bytes_t* out_bytes);
// The second half: answers with bytes, and frees the call. |status| is taken.
void leat_service_answer_bytes(leat_service_call_t* call, leat_status_t status,
                               leat_rpc_bytes_t bytes);
// What TensorFlow's masters are told of a failure besides its code and text.
typedef enum leat_failure_kind_e {
  LEAT_FAILURE_PLAIN,
  LEAT_FAILURE_DERIVED,    // it follows from another failure, which somebody else reports
  LEAT_FAILURE_RESTARTED,  // what was asked for is unknown, maybe because the task is a new one
} leat_failure_kind_t;
// Answers with a failure; |status| is taken.
void leat_service_answer_failure(leat_service_call_t* call, leat_status_t status,
                                 leat_failure_kind_t kind);

#endif  // LEAT_CLUSTER_SERVICE_H_
