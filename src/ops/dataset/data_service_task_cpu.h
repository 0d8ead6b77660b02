// The tasks from which a client of tf.data's service reads: one for each worker that makes elements
// for the client's iteration. The dispatcher tells which there are, with each heartbeat, and they
// are read in turn:
//
//   tasks   [ A | B | C ]    next ─▶ B; past the end a round is over, and A is next
//
// Consumers that read together (coordinated reads) read round r of the same task at the same time;
// a task that comes later is read from its starting round on, and all consumers stop before a round
// that the dispatcher has blocked until they have all heard of it.
//
// Everything here is guarded by the lock of the client (ops/dataset/data_service_client_cpu.h).
#ifndef LEAT_OPS_DATASET_DATA_SERVICE_TASK_CPU_H_
#define LEAT_OPS_DATASET_DATA_SERVICE_TASK_CPU_H_

#include "formats/generated/data_service.h"
#include "ops/dataset/data_service_call_cpu.h"

typedef struct leat_service_task_s {
  int references;  // the list's, and one of each call under way
  int64_t id;
  int64_t starting_round;
  leat_service_peer_t* worker;
  char* address;  // of the worker
  bool in_use;    // a call for an element is under way
  bool at_end;
  bool is_removed;  // at our request, since its worker is gone
  bool is_listed;
  bool skipped_last;   // the worker had no element for the last round
  int failures;        // in a row
  int64_t resumes_ns;  // after failures: not to be asked before
} leat_service_task_t;

typedef struct leat_service_tasks_s {
  leat_service_task_t** items;
  size_t count, capacity;
  size_t next;  // to be read
  int64_t round;
  int64_t blocked_round;  // not to be begun; -1: none is blocked
  int64_t ended_count;    // of the listed tasks
  bool is_coordinated;
  bool leaves_some_out;  // there are tasks that are not to be read by this client
} leat_service_tasks_t;

void leat_service_tasks_initialize(bool is_coordinated, leat_service_tasks_t* out_tasks);
void leat_service_tasks_deinitialize(leat_service_tasks_t* tasks);
// Makes the list that of a heartbeat's answer: tasks that are not in |response| go, new ones come.
// |protocol| is by which elements shall be transferred; |leaves_colocated| says that workers in
// processes of other clients are not to be read. NOT_FOUND where a worker does not have |protocol|.
LEAT_MUST_USE leat_status_t leat_service_tasks_update(
    leat_service_tasks_t* tasks, const leat_pb_client_heartbeat_response_t* response,
    leat_string_view_t protocol, bool leaves_colocated);
// The task to be read next, and in which round; NULL: none now. Not before |now_ns| are those read
// that failed.
leat_service_task_t* leat_service_tasks_choose(leat_service_tasks_t* tasks, int64_t now_ns,
                                               int64_t* out_round);
// When a task that failed may be read again; LEAT_DEADLINE_NEVER: none has failed.
int64_t leat_service_tasks_resume_ns(const leat_service_tasks_t* tasks);
// The task has no more elements.
void leat_service_tasks_end(leat_service_tasks_t* tasks, leat_service_task_t* task);
void leat_service_task_release(leat_service_task_t* task);

// Whether |text| is |word|, which is in upper case, in any case.
bool leat_service_word_is(leat_string_view_t text, const char* word);

#endif  // LEAT_OPS_DATASET_DATA_SERVICE_TASK_CPU_H_
