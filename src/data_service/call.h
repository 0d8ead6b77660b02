// Calls that a dispatcher makes to its workers, and a worker to its dispatcher. The thread that
// makes one waits for the answer; leat_rpc_channel_fail on another thread ends the wait.
#ifndef LEAT_DATA_SERVICE_CALL_H_
#define LEAT_DATA_SERVICE_CALL_H_

#include "cluster/rpc.h"
#include "formats/wire/message.h"

typedef struct leat_data_request_s {
  const char* method;                           // "/tensorflow.data.WorkerService/ProcessTask"
  const leat_message_descriptor_t* descriptor;  // of |message|
  const void* message;
  const leat_message_descriptor_t* answer;      // NULL: the answer has no fields
  int64_t deadline_ns;
} leat_data_request_t;

// Makes the call and waits for its end. The answer, the struct of |request->answer|, lies in
// |arena|, which may be NULL where there is none.
LEAT_MUST_USE leat_status_t leat_data_call(leat_rpc_channel_t* channel,
                                           const leat_data_request_t* request, leat_arena_t* arena,
                                           void* out_answer);
// Whether the code says that the other side is gone, maybe for a while.
bool leat_data_is_preempted(const leat_status_t status);

#endif  // LEAT_DATA_SERVICE_CALL_H_
