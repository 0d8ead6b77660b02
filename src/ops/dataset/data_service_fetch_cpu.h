// Elements on their way to a client of tf.data's service, and those that lie ready. A fetch stands
// for an element that is to come, as a thread that reads from a worker does in TensorFlow: it is
// under way, or pauses after a failure that may pass. Its result lies in the line of results in the
// end; where reads are coordinated it stands there from the beginning, since elements are then
// given in the order of rounds:
//
//   tasks ─▶ fetches, at most one a task ─▶ [ result | result | result ] ─▶ the step that asks
//
// This header is what the two sources of the client share: data_service_client_cpu.c, which knows
// the dispatcher, and data_service_fetch_cpu.c, which knows the workers. All of a client is guarded
// by the lock of its wait queue but for what is set when it is made.
#ifndef LEAT_OPS_DATASET_DATA_SERVICE_FETCH_CPU_H_
#define LEAT_OPS_DATASET_DATA_SERVICE_FETCH_CPU_H_

#include "kernel/wait_queue.h"
#include "ops/dataset/data_service_client_cpu.h"
#include "ops/dataset/data_service_task_cpu.h"
#include "ops/queue/alarm_cpu.h"

// What a worker has answered.
typedef struct leat_service_result_s {
  struct leat_service_result_s* next;  // in the line
  bool is_ready;
  bool is_skipped;  // there is no element in this round
  bool is_end;
  bool has_element;
  leat_tensor_t element[];
} leat_service_result_t;

typedef struct leat_service_fetch_s {
  struct leat_service_fetch_s* next;  // of those that begin, or that pause
  leat_service_client_t* client;
  leat_service_task_t* task;
  leat_service_result_t* result;
  int64_t round;
  int failures;
  bool asks_removal;  // of the task, before the next try
  int64_t wakes_ns;   // the end of a pause
} leat_service_fetch_t;

// What begins when the lock is free.
typedef struct leat_service_work_s {
  leat_service_fetch_t* fetches;
  bool begins;
  bool beats;
  bool stops;
  bool releases;
} leat_service_work_t;

struct leat_service_client_s {
  leat_resource_t resource;
  leat_wait_queue_t wait_queue;  // the pull that waits; its lock guards what follows |repetition|
  leat_alarm_t alarm;
  leat_dataset_t* dataset;
  const leat_service_job_t* job;
  leat_service_peer_t* dispatcher;
  leat_cancellation_t* cancellation;  // of the calls
  int64_t repetition;
  leat_status_t failure;       // what every take answers
  leat_status_t wait_failure;  // why the last pull could not wait
  bool has_begun;
  bool has_client;  // |client_id| is the dispatcher's
  bool is_stopped;
  bool is_finished;  // the dispatcher says that the iteration is
  int64_t client_id;
  int64_t beats_ns;  // the next heartbeat; LEAT_DEADLINE_NEVER: it is under way, or there is none
  leat_service_tasks_t tasks;
  leat_service_fetch_t* paused;
  leat_service_result_t *first, *last;
  int64_t result_count;
  int64_t fetch_count;
  int64_t max_outstanding;
};

// data_service_client_cpu.c. Whether several consumers read together.
bool leat_service_client_is_coordinated(const leat_service_client_t* client);
// Whether there may be elements that were not asked for yet.
bool leat_service_client_goes_on(const leat_service_client_t* client);
// Makes |status| what every take answers, unless there is a failure already; it is taken, and may
// be OK.
void leat_service_client_fail(leat_service_client_t* client, leat_status_t status);
// When to send the next heartbeat, if now one ends.
int64_t leat_service_client_next_beat_ns(const leat_service_client_t* client);
// Calls the dispatcher, again after failures that may pass until |gives_up_ns|. It retains the
// client, and |done| ends with leat_service_client_end_event. The lock is free.
void leat_service_client_call(leat_service_client_t* client, const leat_service_question_t* method,
                              const void* request, int64_t gives_up_ns, leat_remote_done_fn_t done,
                              void* data);
// The end of a call's event: the lock is held and then free, what can begin now begins, and the
// call's reference is given up.
void leat_service_client_end_event(leat_service_client_t* client);

// data_service_fetch_cpu.c. The first result that is an element or the end and may be taken; NULL:
// none. It is the caller's to free.
leat_service_result_t* leat_service_results_take(leat_service_client_t* client);
void leat_service_result_free(const leat_service_client_t* client, leat_service_result_t* result);
// Whether another element may be asked for.
bool leat_service_client_has_room(const leat_service_client_t* client);
// Adds fetches to |work| whose pause is over, and new ones where there is room.
void leat_service_fetches_collect(leat_service_client_t* client, int64_t now_ns,
                                  leat_service_work_t* work);
// The end of the first pause; LEAT_DEADLINE_NEVER: there is none.
int64_t leat_service_fetches_wake_ns(const leat_service_client_t* client);
// Makes the call of a fetch that was collected. The lock is free.
void leat_service_fetch_start(leat_service_fetch_t* fetch);
// Frees all results and the fetches that pause; no others are left.
void leat_service_fetches_free(leat_service_client_t* client);

#endif  // LEAT_OPS_DATASET_DATA_SERVICE_FETCH_CPU_H_
