// The coordinator of leat/input.h: threads that work until one of them, or the client, requests a
// stop, and a client that waits for their end. There is one lock, one condition variable and a list
// of threads.
//
//     workers ──end──▶ changed ◀──stop──  any thread: requests the stop and runs the stop's actions
//                        │
//                      join, wait
//
// A stop has actions: operations that cancel queues, so that threads which wait in a step wake up.
// The thread that requests the stop runs them itself, outside the lock, since they are steps and
// may take long. No thread is kept waiting for a stop, and join returns when the workers have ended
// even if no stop is ever requested. Memory for the actions is allocated when they are registered,
// because the end must not fail for want of memory. The reason of the first stop that was an error
// is what join reports; the end of input (OUT_OF_RANGE) is no error.
#include "client/coordinator.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "leat/train.h"
#include "tensorflow/c/env.h"

typedef struct worker_t {
  leat_coordinator_t* coordinator;
  void (*work)(void* data);
  void* data;
  TF_Thread* thread;
  int ended;
  struct worker_t* next;
  char name[];
} worker_t;

typedef struct stop_action_t {
  TF_Session* session;
  TF_Operation* operation;
  TF_Status* status;  // made beforehand: a stop must not need memory
  struct stop_action_t* next;
} stop_action_t;

struct leat_coordinator_t {
  pthread_mutex_t lock;    // guards the fields below
  // signalled at a stop, at the end of a worker, and at the end of the stop's actions
  pthread_cond_t changed;
  worker_t* workers;
  stop_action_t* actions;
  TF_Status* reason;
  int stopping;
  int acting;  // the stop's actions are running
};

// ---- Life ---------------------------------------------------------------------------------------

leat_coordinator_t* leat_coordinator_create(void) {
  leat_coordinator_t* c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->reason = TF_NewStatus();
  if (!c->reason) {
    free(c);
    return NULL;
  }
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->changed, NULL);
  return c;
}

void leat_coordinator_free(leat_coordinator_t* c) {
  if (!c) return;
  leat_coordinator_request_stop(c, NULL);
  leat_coordinator_join(c, -1, c->reason);
  pthread_cond_destroy(&c->changed);
  pthread_mutex_destroy(&c->lock);
  TF_DeleteStatus(c->reason);
  free(c);
}

// ---- Threads ------------------------------------------------------------------------------------

static void run_worker(void* data) {
  worker_t* worker = data;
  leat_coordinator_t* c = worker->coordinator;
  worker->work(worker->data);
  pthread_mutex_lock(&c->lock);
  worker->ended = 1;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
}

void leat_coordinator_start(leat_coordinator_t* c, const char* name, void (*work)(void* data),
                            void* data, TF_Status* status) {
  TF_ThreadOptions options;
  TF_DefaultThreadOptions(&options);
  worker_t* worker = calloc(1, sizeof *worker + strlen(name) + 1);
  if (worker) {
    *worker = (worker_t){.coordinator = c, .work = work, .data = data};
    strcpy(worker->name, name);
    // the worker's end waits for this lock until the worker is in the list
    pthread_mutex_lock(&c->lock);
    worker->thread = TF_StartThread(&options, name, run_worker, worker);
    if (worker->thread) {
      worker->next = c->workers;
      c->workers = worker;
    }
    pthread_mutex_unlock(&c->lock);
  }
  if (worker && worker->thread) {
    TF_SetStatus(status, TF_OK, "");
    return;
  }
  free(worker);
  TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "starting a thread failed: no memory, or no more "
                                              "threads");
}

// ---- The stop -----------------------------------------------------------------------------------

// Frees |actions|; where |runs|, it runs each of them before.
static void end_actions(stop_action_t* actions, int runs) {
  while (actions) {
    stop_action_t* next = actions->next;
    // Other threads wait for these operations to wake them: an operation that lacks memory is tried
    // again.
    for (int i = 0; runs && i < 3; ++i) {
      leat_target_run(actions->session, actions->operation, actions->status);
      if (TF_GetCode(actions->status) != TF_RESOURCE_EXHAUSTED) break;
    }
    TF_DeleteStatus(actions->status);
    free(actions);
    actions = next;
  }
}

// A stop that was requested before runs the action at once.
int leat_coordinator_on_stop(leat_coordinator_t* c, TF_Session* session, TF_Operation* operation) {
  stop_action_t* action = malloc(sizeof *action);
  TF_Status* status = TF_NewStatus();
  if (!action || !status) {
    free(action);
    TF_DeleteStatus(status);
    return 0;
  }
  pthread_mutex_lock(&c->lock);
  *action = (stop_action_t){session, operation, status, NULL};
  int late = c->stopping;
  if (!late) {
    action->next = c->actions;
    c->actions = action;
  }
  pthread_mutex_unlock(&c->lock);
  if (late) end_actions(action, 1);
  return 1;
}

void leat_coordinator_request_stop(leat_coordinator_t* c, const TF_Status* reason) {
  TF_Code code = reason ? TF_GetCode(reason) : TF_OK;
  pthread_mutex_lock(&c->lock);
  if (!c->stopping) {
    c->stopping = c->acting = 1;
    if (code != TF_OK && code != TF_OUT_OF_RANGE) {
      TF_SetStatus(c->reason, code, TF_Message(reason));
    }
    stop_action_t* actions = c->actions;
    c->actions = NULL;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    end_actions(actions, 1);
    pthread_mutex_lock(&c->lock);
    c->acting = 0;
    pthread_cond_broadcast(&c->changed);
  }
  pthread_mutex_unlock(&c->lock);
}

int leat_coordinator_should_stop(leat_coordinator_t* c) {
  pthread_mutex_lock(&c->lock);
  int stopping = c->stopping;
  pthread_mutex_unlock(&c->lock);
  return stopping;
}

int leat_coordinator_reason(leat_coordinator_t* c, TF_Status* status) {
  pthread_mutex_lock(&c->lock);
  int stopping = c->stopping;
  if (stopping) TF_SetStatus(status, TF_GetCode(c->reason), TF_Message(c->reason));
  pthread_mutex_unlock(&c->lock);
  return stopping;
}

// ---- Joining ------------------------------------------------------------------------------------

static const worker_t* running(const leat_coordinator_t* c) {
  const worker_t* worker = c->workers;
  while (worker && worker->ended) worker = worker->next;
  return worker;
}

// Sleeps until something has changed. Returns false when |seconds| have gone by since |*start|; a
// negative number never does. The caller holds the lock.
static int wait_for_change(leat_coordinator_t* c, const struct timespec* start, double seconds) {
  if (seconds < 0 || seconds > 1e9) {
    pthread_cond_wait(&c->changed, &c->lock);
    return 1;
  }
  int64_t ns = start->tv_nsec + (int64_t)(seconds * 1e9);
  struct timespec until = {.tv_sec = start->tv_sec + (time_t)(ns / 1000000000),
                           .tv_nsec = (long)(ns % 1000000000)};
  return pthread_cond_timedwait(&c->changed, &c->lock, &until) == 0;
}

// Waits until all workers have ended, for |seconds| at most.
static void wait_out_grace(leat_coordinator_t* c, double seconds) {
  struct timespec start;
  timespec_get(&start, TIME_UTC);
  while (running(c) && wait_for_change(c, &start, seconds)) continue;
}

int leat_coordinator_wait(leat_coordinator_t* c, double seconds) {
  struct timespec start;
  timespec_get(&start, TIME_UTC);
  pthread_mutex_lock(&c->lock);
  while (running(c) && !c->stopping && wait_for_change(c, &start, seconds)) continue;
  int is_over = c->stopping || !running(c);
  pthread_mutex_unlock(&c->lock);
  return is_over;
}

// Takes the workers that have ended out of the list and returns them.
static worker_t* take_ended(leat_coordinator_t* c) {
  worker_t *ended = NULL, **place = &c->workers;
  while (*place) {
    worker_t* worker = *place;
    if (worker->ended) {
      *place = worker->next;
      worker->next = ended;
      ended = worker;
    } else {
      place = &worker->next;
    }
  }
  return ended;
}

static void set_outcome(const leat_coordinator_t* c, TF_Status* status) {
  char message[160];
  const worker_t* worker = running(c);
  if (TF_GetCode(c->reason) != TF_OK) {
    if (status != c->reason) TF_SetStatus(status, TF_GetCode(c->reason), TF_Message(c->reason));
  } else if (worker) {
    snprintf(message, sizeof message,
             "joining threads failed: thread '%.64s' still runs after the time of grace",
             worker->name);
    TF_SetStatus(status, TF_DEADLINE_EXCEEDED, message);
  } else {
    TF_SetStatus(status, TF_OK, "");
  }
}

// Waits for a stop or the end of all workers, then for the workers for the time of grace, and for
// the stop's actions. The threads are joined outside the lock.
void leat_coordinator_join(leat_coordinator_t* c, double grace_seconds, TF_Status* status) {
  pthread_mutex_lock(&c->lock);
  while (running(c) && !c->stopping) pthread_cond_wait(&c->changed, &c->lock);
  wait_out_grace(c, grace_seconds);
  while (c->acting) pthread_cond_wait(&c->changed, &c->lock);
  worker_t* ended = take_ended(c);
  // When no worker is left, no thread waits in these queues, and their session may be freed: the
  // actions are dropped.
  stop_action_t* actions = running(c) ? NULL : c->actions;
  if (actions) c->actions = NULL;
  set_outcome(c, status);
  pthread_mutex_unlock(&c->lock);
  while (ended) {
    worker_t* next = ended->next;
    TF_JoinThread(ended->thread);
    free(ended);
    ended = next;
  }
  end_actions(actions, 0);
}
