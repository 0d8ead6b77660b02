// A worker's call, made to wait for: the done callback of a call whose caller has nothing else to
// do until it ends. The answer lies on the caller's stack.
#ifndef LEAT_MASTER_ANSWER_H_
#define LEAT_MASTER_ANSWER_H_

#include "base/sync.h"
#include "worker/worker.h"

typedef struct leat_answer_s {
  leat_status_t status;
  leat_notification_t done;
} leat_answer_t;

static inline void leat_answer_initialize(leat_answer_t* out_answer) {
  out_answer->status = NULL;
  leat_notification_initialize(&out_answer->done);
}

// A leat_worker_done_fn_t whose |data| is the answer.
static inline void leat_answer_give(void* data, leat_status_t status) {
  leat_answer_t* answer = data;
  answer->status = status;
  leat_notification_open(&answer->done);
}

// Blocks until the call has ended; returns its status and deinitializes the answer.
LEAT_MUST_USE static inline leat_status_t leat_answer_wait(leat_answer_t* answer) {
  leat_notification_wait(&answer->done, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&answer->done);
  return answer->status;
}

#endif  // LEAT_MASTER_ANSWER_H_
