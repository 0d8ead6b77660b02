// The supervisor of leat/supervisor.h: a loop over steps that outlives the sessions in which they
// run. Between two steps it is here that sessions come and go:
//
//     next ──▶ open: session ──▶ restore or init, or wait ──▶ queue runners ──▶ a step to take
//      ▲        │ not there yet: wait, and try again                                │
//      │        ▼                                                                   ▼
//      └── judge: ABORTED, UNAVAILABLE end the session ◀── a step, a save, a look at the counter
//                 anything else is the end: the first cause
//
// Whatever runs a step hands its status to judge(), which alone decides what a failure means. After
// it either the session is there and good, or there is none, or training is over; callers go on by
// looking at that. Opening is in client/ready.c. The number of steps done comes from the graph's
// counter, because other tasks count there too, and is read by a step of its own between two steps;
// a program without such a counter pays nothing. A stop is a flag that is only looked at, so that a
// handler of signals may set it.
#include "client/supervisor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRACE_SECONDS 120  // that threads have to end, as TensorFlow's

// ---- What happens -------------------------------------------------------------------------------

void leat_supervisor_tell(leat_supervisor_t* s, const char* name, const char* path,
                          const char* message) {
  const leat_supervisor_event_t event = {sizeof event, name, s->step, path, message};
  if (s->spec.observe) {
    s->spec.observe(s->spec.data, &event);
  } else if (!strcmp(name, "skipped") || !strcmp(name, "waiting") || !strcmp(name, "lost")) {
    fprintf(stderr, "leat: training, step %lld: %s%s%s: %s\n", (long long)s->step, name,
            *path ? " " : "", path, message);
  }
}

// The threads are woken by closing the session, and the queues' own cancelling, which would outlive
// the session in another task, finds it closed.
void leat_supervisor_end_session(leat_supervisor_t* s) {
  if (!s->session) return;
  if (s->is_opened && s->spec.closing) s->spec.closing(s->spec.data, s->session);
  s->is_opened = 0;
  TF_CloseSession(s->session, s->closing);
  leat_coordinator_free(s->coordinator);
  s->coordinator = NULL;
  TF_DeleteSession(s->session, s->closing);
  s->session = NULL;
}

void leat_supervisor_fail(leat_supervisor_t* s, const TF_Status* cause) {
  if (TF_GetCode(s->cause) == TF_OK) TF_SetStatus(s->cause, TF_GetCode(cause), TF_Message(cause));
  if (!s->is_over) leat_supervisor_tell(s, "stopped", "", TF_Message(s->cause));
  s->is_over = 1;
  leat_supervisor_end_session(s);
}

// A fault during a stop is the end, since the state that was to be saved is gone.
static void lose(leat_supervisor_t* s, const TF_Status* fault) {
  const int allowed = s->spec.restarts;
  if (leat_supervisor_reason_to_stop(s) || (allowed && s->losses >= allowed)) {
    leat_supervisor_fail(s, fault);
    return;
  }
  ++s->losses;
  leat_supervisor_tell(s, "lost", "", TF_Message(fault));
  leat_supervisor_end_session(s);
}

// What a step ends with after a queue runner has failed is a consequence of that failure.
void leat_supervisor_judge(leat_supervisor_t* s, const TF_Status* status) {
  const TF_Status* first = status;
  if (!leat_supervisor_is_loss(status) && s->coordinator &&
      leat_coordinator_reason(s->coordinator, s->reason) && TF_GetCode(s->reason) != TF_OK) {
    first = s->reason;
  }
  const TF_Code code = TF_GetCode(first);
  if (code == TF_OK) return;
  if (leat_supervisor_is_loss(first)) {
    lose(s, first);
  } else if (code == TF_OUT_OF_RANGE) {
    s->has_ended_input = 1;
  } else {
    leat_supervisor_fail(s, first);
  }
}

// ---- Between two steps --------------------------------------------------------------------------

void leat_supervisor_read_step(leat_supervisor_t* s, TF_Status* status) {
  TF_Tensor* value = NULL;
  TF_SetStatus(status, TF_OK, "");
  if (!s->spec.global_step.oper) return;
  TF_SessionRun(s->session, NULL, NULL, NULL, 0, &s->spec.global_step, &value, 1, NULL, 0, NULL,
                status);
  if (!value) return;
  const TF_DataType type = TF_TensorType(value);
  if (TF_TensorElementCount(value) != 1 || (type != TF_INT32 && type != TF_INT64)) {
    TF_SetStatus(status, TF_INVALID_ARGUMENT,
                 "Reading the global step failed: it is no scalar int32 or int64, must be one");
  } else {
    const void* data = TF_TensorData(value);
    s->step = type == TF_INT32 ? *(const int32_t*)data : *(const int64_t*)data;
  }
  TF_DeleteTensor(value);
}

static int saves(const leat_supervisor_t* s) { return s->spec.saver && !s->spec.waits_for_chief; }

// Saves where it is time to, which it is first after the initialization: a directory in which
// nothing can be written is found out before the work that it was for.
static void save(leat_supervisor_t* s, int must) {
  int saved = 1;
  if (!saves(s) || s->step == s->saved_step) return;
  if (must || s->saved_step < 0) {
    leat_saver_save(s->spec.saver, s->session, s->step, s->status);
  } else {
    saved = leat_saver_step(s->spec.saver, s->session, s->step, s->status);
  }
  if (saved && TF_GetCode(s->status) == TF_OK) {
    s->saved_step = s->step;
    leat_supervisor_tell(s, "saved", "", "");
  }
  leat_supervisor_judge(s, s->status);
}

// Finds out where training stands and saves. Returns whether the session is good.
static int look(leat_supervisor_t* s) {
  leat_supervisor_read_step(s, s->status);
  leat_supervisor_judge(s, s->status);
  if (s->session && !s->is_over) save(s, 0);
  return s->session && !s->is_over;
}

// Why training is to end; NULL: it is not.
static const char* reason_to_stop(const leat_supervisor_t* s) {
  if (s->has_ended_input) return "the input has ended";
  if (s->spec.last_step > 0 && s->step >= s->spec.last_step) return "the last step is done";
  return leat_supervisor_reason_to_stop(s);
}

// Joins the queue runners; the session stays.
static void stop_input(leat_supervisor_t* s) {
  if (!s->coordinator) return;
  leat_coordinator_request_stop(s->coordinator, NULL);
  leat_coordinator_join(s->coordinator, GRACE_SECONDS, s->status);
  const TF_Code code = TF_GetCode(s->status);
  if (code == TF_DEADLINE_EXCEEDED) {
    leat_supervisor_fail(s, s->status);  // which waits for them
  } else if (code != TF_OK && !leat_supervisor_is_loss(s->status)) {
    leat_supervisor_judge(s, s->status);
  }
  leat_coordinator_free(s->coordinator);
  s->coordinator = NULL;
}

// The end in order. Where the last save loses the session, training is not over.
static void finish(leat_supervisor_t* s, const char* why) {
  save(s, 1);
  if (!s->session || s->is_over) return;
  stop_input(s);
  if (s->is_over) return;
  s->is_over = 1;
  leat_supervisor_tell(s, "stopped", "", why);
}

int leat_supervisor_next(leat_supervisor_t* s, int64_t* out_step) {
  while (s && !s->is_over) {
    if (!s->session) {
      leat_supervisor_open(s);
    } else if (look(s)) {
      const char* why = reason_to_stop(s);
      if (!why) {
        s->has_counted = 0;
        if (out_step) *out_step = s->step;
        return 1;
      }
      finish(s, why);
    }
  }
  return 0;
}

// ---- Steps --------------------------------------------------------------------------------------

int leat_supervisor_check(leat_supervisor_t* s, const TF_Status* status) {
  if (!s || !s->session || s->is_over) return 0;
  if (TF_GetCode(status) != TF_OK) {
    leat_supervisor_judge(s, status);
    return 0;
  }
  if (!s->spec.global_step.oper && !s->has_counted) ++s->step;
  s->has_counted = 1;
  return 1;
}

static int is_summary_due(const leat_supervisor_t* s) {
  const leat_supervisor_spec_t* spec = &s->spec;
  if (!s->events || !spec->summary.oper) return 0;
  if (s->summary_time < 0) return 1;
  return (spec->summary_steps > 0 && s->step - s->summary_step >= spec->summary_steps) ||
         (spec->summary_seconds > 0 &&
          leat_supervisor_now() - s->summary_time >= spec->summary_seconds);
}

// Writes the summary of the step that was just done, and how many steps a second there were.
static void write_summary(leat_supervisor_t* s, const TF_Tensor* summary, TF_Status* status) {
  const double now = leat_supervisor_now();
  if (TF_TensorType(summary) != TF_STRING || TF_TensorElementCount(summary) != 1) {
    TF_SetStatus(status, TF_INVALID_ARGUMENT,
                 "Writing a summary failed: it is no scalar string, must be one");
    return;
  }
  const TF_TString* text = TF_TensorData(summary);
  leat_events_add_summary(s->events, s->step + 1, TF_TString_GetDataPointer(text),
                          TF_TString_GetSize(text), status);
  if (TF_GetCode(status) == TF_OK && s->summary_time >= 0 && now > s->summary_time) {
    leat_events_add_scalar(s->events, s->step + 1, "global_step/sec",
                           (double)(s->step - s->summary_step) / (now - s->summary_time), status);
  }
  if (TF_GetCode(status) == TF_OK) leat_events_flush(s->events, status);
  s->summary_step = s->step;
  s->summary_time = now;
}

// Runs a step that fetches the summary too.
static void run_with_summary(leat_supervisor_t* s, const TF_Output* inputs,
                             TF_Tensor* const* input_values, int input_count,
                             const TF_Output* outputs, TF_Tensor** output_values,
                             int output_count, const TF_Operation* const* targets,
                             int target_count) {
  TF_Output* all = calloc((size_t)output_count + 1, sizeof *all);
  TF_Tensor** values = calloc((size_t)output_count + 1, sizeof *values);
  if (all && values) {
    for (int i = 0; i < output_count; ++i) all[i] = outputs[i];
    all[output_count] = s->spec.summary;
    TF_SessionRun(s->session, NULL, inputs, input_values, input_count, all, values,
                  output_count + 1, targets, target_count, NULL, s->status);
  } else {
    TF_SetStatus(s->status, TF_RESOURCE_EXHAUSTED, "no memory for the outputs of a step");
  }
  if (TF_GetCode(s->status) == TF_OK) {
    for (int i = 0; i < output_count; ++i) output_values[i] = values[i];
    write_summary(s, values[output_count], s->status);
    TF_DeleteTensor(values[output_count]);
    for (int i = 0; TF_GetCode(s->status) != TF_OK && i < output_count; ++i) {
      TF_DeleteTensor(output_values[i]);
      output_values[i] = NULL;
    }
  }
  free(values);
  free(all);
}

int leat_supervisor_run(leat_supervisor_t* s, const TF_Output* inputs,
                        TF_Tensor* const* input_values, int input_count, const TF_Output* outputs,
                        TF_Tensor** output_values, int output_count,
                        TF_Operation* const* targets, int target_count) {
  const TF_Operation* const* plain = (const TF_Operation* const*)targets;
  for (int i = 0; i < output_count; ++i) output_values[i] = NULL;
  if (!s || !s->session || s->is_over) return 0;
  if (is_summary_due(s)) {
    run_with_summary(s, inputs, input_values, input_count, outputs, output_values, output_count,
                     plain, target_count);
  } else {
    TF_SessionRun(s->session, NULL, inputs, input_values, input_count, outputs, output_values,
                  output_count, plain, target_count, NULL, s->status);
  }
  return leat_supervisor_check(s, s->status);
}

TF_Session* leat_supervisor_session(leat_supervisor_t* s) { return s ? s->session : NULL; }

leat_events_t* leat_supervisor_events(leat_supervisor_t* s) { return s ? s->events : NULL; }

void leat_supervisor_request_stop(leat_supervisor_t* s) {
  if (s) __atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);
}

// ---- Life ---------------------------------------------------------------------------------------

static void check_spec(const leat_supervisor_spec_t* spec, TF_Status* status) {
  const char* wrong = NULL;
  if (!spec->graph) wrong = "graph is NULL, must be the graph that is trained";
  if (spec->waits_for_chief && !spec->ready.oper) {
    wrong = "ready is not given, must be where waits_for_chief is 1";
  }
  if (spec->queue_runner_count < 0) wrong = "queue_runner_count is negative, must be 0 or more";
  if (spec->wait_seconds < 0 || spec->poll_seconds < 0 || spec->seconds < 0) {
    wrong = "a time is negative, must be 0 or more";
  }
  TF_SetStatus(status, TF_OK, "");
  if (!wrong) return;
  char message[160];
  snprintf(message, sizeof message, "Making a supervisor failed: %s", wrong);
  TF_SetStatus(status, TF_INVALID_ARGUMENT, message);
}

static void destroy(leat_supervisor_t* s) {
  leat_supervisor_end_session(s);
  TF_SetStatus(s->closing, TF_OK, "");
  leat_events_close(s->events, s->closing);
  if (TF_GetCode(s->cause) == TF_OK) {
    TF_SetStatus(s->cause, TF_GetCode(s->closing), TF_Message(s->closing));
  }
  TF_DeleteSessionOptions(s->options);
}

static void release(leat_supervisor_t* s) {
  TF_DeleteStatus(s->status);
  TF_DeleteStatus(s->reason);
  TF_DeleteStatus(s->closing);
  TF_DeleteStatus(s->cause);
  free(s);
}

static void set_up(leat_supervisor_t* s, TF_Status* status) {
  const leat_supervisor_spec_t* spec = &s->spec;
  if (spec->target && *spec->target) TF_SetTarget(s->options, spec->target);
  if (spec->config_size) TF_SetConfig(s->options, spec->config, spec->config_size, status);
  if (TF_GetCode(status) != TF_OK || !spec->logs || spec->waits_for_chief) return;
  s->events = leat_events_open(spec->logs, status);
  if (s->events) leat_events_add_graph(s->events, spec->graph, status);
}

leat_supervisor_t* leat_supervisor_create(const leat_supervisor_spec_t* spec, TF_Status* status) {
  check_spec(spec, status);
  if (TF_GetCode(status) != TF_OK) return NULL;
  leat_supervisor_t* s = calloc(1, sizeof *s);
  if (s) {
    *s = (leat_supervisor_t){.spec = *spec,
                             .options = TF_NewSessionOptions(),
                             .status = TF_NewStatus(),
                             .reason = TF_NewStatus(),
                             .closing = TF_NewStatus(),
                             .cause = TF_NewStatus(),
                             .saved_step = -1,
                             .summary_time = -1};
  }
  if (!s || !s->options || !s->status || !s->reason || !s->closing || !s->cause) {
    if (s) TF_DeleteSessionOptions(s->options);
    if (s) release(s);
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for a supervisor");
    return NULL;
  }
  set_up(s, status);
  if (TF_GetCode(status) == TF_OK) return s;
  destroy(s);
  release(s);
  return NULL;
}

void leat_supervisor_close(leat_supervisor_t* s, TF_Status* status) {
  if (!s) return;
  leat_supervisor_request_stop(s);
  if (s->session && !s->is_over && look(s)) finish(s, "the program left the loop");
  destroy(s);
  TF_SetStatus(status, TF_GetCode(s->cause), TF_Message(s->cause));
  release(s);
}
