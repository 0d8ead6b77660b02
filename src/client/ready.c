// Opens the sessions of a supervisor and makes their variables ready, as TensorFlow's
// SessionManager does. The chief restores the newest checkpoint that can be read, or initialises
// where there has never been one. The other tasks look again and again whether the variables have
// values, each time in a new session, because one that was made before the chief's task was
// restarted would only fail:
//
//     session ──▶ chief: restore, or init ──▶ local_init ──▶ ready? ──▶ queue runners ──▶ opened
//        ▲                                        │ no         │ no
//        └───────────── wait a little ◀───────────┴────────────┘
//
// All of this has one deadline, |wait_seconds|. Reaching the master has a shorter one that doubles
// from try to try: so a stop is noticed before long, and a cluster that is slow to answer is waited
// for nevertheless. A fault of the cluster meanwhile (ABORTED, UNAVAILABLE) is a reason to try
// again and no lost session. Called by the supervisor's loop alone (supervisor.c).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/supervisor.h"

#define WAIT_SECONDS 7200.0   // TensorFlow's
#define FIRST_TRY_SECONDS 1.0
#define NAP_SECONDS 0.02      // a stop is noticed after it

double leat_supervisor_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Sleeps until |time|, or a stop.
static void sleep_until(const leat_supervisor_t* s, double time) {
  double left = time - leat_supervisor_now();
  while (left > 0 && !leat_supervisor_reason_to_stop(s)) {
    const double nap = left < NAP_SECONDS ? left : NAP_SECONDS;
    const struct timespec t = {0, (long)(nap * 1e9)};
    nanosleep(&t, NULL);
    left = time - leat_supervisor_now();
  }
}

// ---- Variables ----------------------------------------------------------------------------------

static void skip_checkpoint(void* data, const char* prefix, const TF_Status* why) {
  leat_supervisor_tell(data, "skipped", prefix, TF_Message(why));
}

static void restore_or_initialize(leat_supervisor_t* s, TF_Status* status) {
  char* prefix = NULL;
  int64_t step = 0;
  TF_SetStatus(status, TF_OK, "");
  if (s->spec.saver) {
    leat_saver_restore_newest(s->spec.saver, s->session, &step, &prefix, skip_checkpoint, s,
                              status);
  }
  if (TF_GetCode(status) == TF_OK && !prefix && s->spec.init) {
    leat_target_run(s->session, s->spec.init, status);
  }
  if (TF_GetCode(status) == TF_OK) {
    s->step = step;
    leat_supervisor_read_step(s, status);
  }
  if (TF_GetCode(status) == TF_OK) {
    s->saved_step = prefix ? s->step : -1;
    leat_supervisor_tell(s, prefix ? "restored" : "initialized", prefix ? prefix : "", "");
  }
  free(prefix);
}

// Sets |status| to FAILED_PRECONDITION with the first names of |list|, a list of strings.
static void report(const TF_Tensor* list, TF_Status* status) {
  char message[400] = "Variables not initialized: ";
  const TF_TString* names = TF_TensorData(list);
  const int64_t count = TF_TensorElementCount(list);
  size_t used = strlen(message);
  for (int64_t i = 0; i < count && used < sizeof message - 8; ++i) {
    const int size = (int)TF_TString_GetSize(&names[i]);
    used += (size_t)snprintf(message + used, sizeof message - used, "%s%.*s", i ? ", " : "", size,
                             TF_TString_GetDataPointer(&names[i]));
  }
  TF_SetStatus(status, TF_FAILED_PRECONDITION, message);
}

// FAILED_PRECONDITION where |ready| gives names.
static void check_ready(leat_supervisor_t* s, TF_Output ready, TF_Status* status) {
  TF_Tensor* value = NULL;
  TF_SetStatus(status, TF_OK, "");
  if (!ready.oper) return;
  TF_SessionRun(s->session, NULL, NULL, NULL, 0, &ready, &value, 1, NULL, 0, NULL, status);
  if (value && TF_TensorType(value) != TF_STRING) {
    TF_SetStatus(status, TF_INVALID_ARGUMENT,
                 "Asking for variables without values failed: the answer is no list of strings, "
                 "must be one");
  } else if (value && TF_TensorElementCount(value) > 0) {
    report(value, status);
  }
  TF_DeleteTensor(value);
}

static void make_ready(leat_supervisor_t* s, TF_Status* status) {
  TF_SetStatus(status, TF_OK, "");
  if (!s->spec.waits_for_chief) restore_or_initialize(s, status);
  if (TF_GetCode(status) == TF_OK && s->spec.local_init) {
    check_ready(s, s->spec.local_ready, status);
    if (TF_GetCode(status) == TF_OK) leat_target_run(s->session, s->spec.local_init, status);
  }
  if (TF_GetCode(status) == TF_OK) check_ready(s, s->spec.ready, status);
  if (TF_GetCode(status) == TF_OK && s->spec.waits_for_chief) leat_supervisor_read_step(s, status);
}

// ---- The session --------------------------------------------------------------------------------

// Whether another try may do better after |status|: where there is no session (|is_open| is 0), it
// is that of the connection.
static int can_wait(const leat_supervisor_t* s, int is_open, const TF_Status* status) {
  const TF_Code code = TF_GetCode(status);
  if (leat_supervisor_is_loss(status)) return 1;
  if (!is_open) return code == TF_DEADLINE_EXCEEDED;
  return s->spec.waits_for_chief && code == TF_FAILED_PRECONDITION;
}

static void try_to_open(leat_supervisor_t* s, double seconds) {
  const int64_t timeout_ms = seconds < 1e9 ? (int64_t)(seconds * 1e3) + 1 : INT64_C(1) << 40;
  s->session = leat_session_create_within(s->spec.graph, s->options, timeout_ms, s->status);
  if (s->session) make_ready(s, s->status);
}

static void time_out(leat_supervisor_t* s, double seconds) {
  char message[640];
  snprintf(message, sizeof message,
           "Waiting for a session failed: it is not ready after %.0f seconds: %.500s", seconds,
           TF_Message(s->status));
  TF_SetStatus(s->status, TF_DEADLINE_EXCEEDED, message);
  leat_supervisor_fail(s, s->status);
}

// Tries until the session is ready. Returns 0 where training is over instead.
static int wait_until_ready(leat_supervisor_t* s) {
  const double begun = leat_supervisor_now();
  const double limit = s->spec.wait_seconds > 0 ? s->spec.wait_seconds : WAIT_SECONDS;
  const double poll = s->spec.poll_seconds > 0 ? s->spec.poll_seconds : 1;
  char told[256] = "";
  for (double patience = FIRST_TRY_SECONDS;; patience *= 2) {
    const char* why = leat_supervisor_reason_to_stop(s);
    if (why) {
      s->is_over = 1;
      leat_supervisor_tell(s, "stopped", "", why);
      return 0;
    }
    const double left = begun + limit - leat_supervisor_now();
    try_to_open(s, patience < left ? patience : left);
    if (TF_GetCode(s->status) == TF_OK) return 1;
    const int is_open = s->session != NULL;
    leat_supervisor_end_session(s);
    if (!can_wait(s, is_open, s->status)) {
      leat_supervisor_fail(s, s->status);
      return 0;
    }
    if (leat_supervisor_now() + poll > begun + limit) {
      time_out(s, limit);
      return 0;
    }
    if (strncmp(told, TF_Message(s->status), sizeof told - 1)) {
      leat_supervisor_tell(s, "waiting", "", TF_Message(s->status));
    }
    snprintf(told, sizeof told, "%s", TF_Message(s->status));
    sleep_until(s, leat_supervisor_now() + poll);
  }
}

void leat_supervisor_open(leat_supervisor_t* s) {
  if (!wait_until_ready(s)) return;
  s->has_ended_input = 0;
  if (s->spec.seconds > 0 && s->end_time <= 0) {
    s->end_time = leat_supervisor_now() + s->spec.seconds;
  }
  if (s->spec.queue_runner_count > 0) {
    s->coordinator = leat_coordinator_create();
    if (s->coordinator) {
      leat_queue_runners_start(s->spec.queue_runners, s->spec.queue_runner_count, s->session,
                               s->coordinator, s->status);
    } else {
      TF_SetStatus(s->status, TF_RESOURCE_EXHAUSTED, "no memory for queue runners");
    }
  }
  if (TF_GetCode(s->status) == TF_OK && s->spec.opened) {
    s->is_opened = 1;
    s->spec.opened(s->spec.data, s->session, s->status);
  }
  leat_supervisor_judge(s, s->status);
  if (s->session && !s->is_over) leat_supervisor_tell(s, "opened", "", "");
}
