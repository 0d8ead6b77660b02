// A supervisor's state, which its two sources share: supervisor.c has the loop over steps, ready.c
// opens a session until it is ready. One thread uses it, but for |stop|.
#ifndef LEAT_CLIENT_SUPERVISOR_H_
#define LEAT_CLIENT_SUPERVISOR_H_

#include "client/coordinator.h"
#include "client/saver.h"
#include "leat/supervisor.h"

struct leat_supervisor_t {
  leat_supervisor_spec_t spec;
  TF_SessionOptions* options;
  leat_events_t* events;  // NULL: none are written
  TF_Session* session;    // NULL: the next look opens one
  leat_coordinator_t* coordinator;  // of the session's queue runners; NULL: there are none
  TF_Status* status;   // of what is done at the time
  TF_Status* reason;   // why queue runners stopped
  TF_Status* closing;  // of what ends, which nobody asks for
  TF_Status* cause;    // the first error; OK: none so far
  int64_t step;        // done, as far as is known
  int64_t saved_step;  // the last that was saved or restored; -1: none
  int64_t summary_step;
  double summary_time;  // when it was written; negative: none was
  double end_time;      // when the time is up, once there was a session; 0: never
  int losses;           // sessions that were lost
  int is_opened;        // the session was given to the program
  int has_counted;      // the step that the loop is at was counted
  int has_ended_input;
  int is_over;
  int stop;  // accessed atomically
};

// Seconds of a clock that nobody sets.
double leat_supervisor_now(void);
// Tells the observer.
void leat_supervisor_tell(leat_supervisor_t* s, const char* name, const char* path,
                          const char* message);
// Whether the status says that the cluster has changed, so that another session may do better.
static inline int leat_supervisor_is_loss(const TF_Status* status) {
  return TF_GetCode(status) == TF_ABORTED || TF_GetCode(status) == TF_UNAVAILABLE;
}
// Why training is to end whatever it has come to: a request, or the time is up; NULL: it is not.
static inline const char* leat_supervisor_reason_to_stop(const leat_supervisor_t* s) {
  if (__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) return "a stop was requested";
  const int is_late = s->end_time > 0 && leat_supervisor_now() >= s->end_time;
  return is_late ? "the time is up" : NULL;
}
// Ends the session and its queue runners, and frees both.
void leat_supervisor_end_session(leat_supervisor_t* s);
// Ends training by an error, and the session.
void leat_supervisor_fail(leat_supervisor_t* s, const TF_Status* cause);
// Decides what a failure of a step means: that the session is lost, that training has ended in
// order, or by an error. OK means nothing, unless a queue runner has failed.
void leat_supervisor_judge(leat_supervisor_t* s, const TF_Status* status);
// Reads the global step into |step|; without one nothing is done.
void leat_supervisor_read_step(leat_supervisor_t* s, TF_Status* status);
// Opens a session and waits until it is ready (ready.c). Afterwards there is one, or training is
// over, or the session was lost again.
void leat_supervisor_open(leat_supervisor_t* s);

#endif  // LEAT_CLIENT_SUPERVISOR_H_
