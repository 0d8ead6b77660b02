/* leat/supervisor.h: training that goes on where it was interrupted (section 3.3 of the white
 * paper). examples/mnist is a whole program.
 *
 * When a task of a cluster fails, its variables are gone and the steps that need them fail. A
 * supervisor then opens another session, restores the newest checkpoint, and the program's loop
 * goes on from the step of that checkpoint. A program that is killed and started again does the
 * same.
 *
 *   leat_saver_t* saver = leat_saver_create(s, "run", (leat_saver_options_t){.every_steps = 100});
 *   leat_supervisor_spec_t spec = {
 *       .graph = graph, .init = init, .saver = saver, .global_step = step, .last_step = 1000};
 *   leat_supervisor_t* supervisor = leat_supervisor_create(&spec, status);
 *   for (int64_t i; leat_supervisor_next(supervisor, &i);) {
 *     leat_supervisor_run(supervisor, NULL, NULL, 0, NULL, NULL, 0, &train, 1);
 *   }
 *   leat_supervisor_close(supervisor, status);   // OK, or what went wrong first
 *   leat_saver_free(saver);
 *
 * Errors need no test in the loop: the supervisor keeps the first one, leat_supervisor_next gives 0
 * from then on, and leat_supervisor_close returns it. A step that was lost with its session is no
 * error; the loop comes to it once more, with the step's number.
 *
 * Of several tasks that train one model, one is the chief: it initialises or restores the
 * variables, saves them and writes events. The others wait until the variables are there.
 *
 * This is TensorFlow's tf.train.MonitoredTrainingSession, and its files are the same: checkpoints
 * model.ckpt-<step>, the state file `checkpoint`, events. A supervisor belongs to one thread at a
 * time, except for leat_supervisor_request_stop. */
#ifndef LEAT_SUPERVISOR_H_
#define LEAT_SUPERVISOR_H_

#include "leat/files.h"
#include "leat/input.h"
#include "leat/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_supervisor_t leat_supervisor_t;

/* Something that happened. Texts are never NULL, but may be empty, and are borrowed for the call.
 *
 *   name         what happened                                     what else is set
 *   initialized  the chief ran |init|: there was no checkpoint
 *   restored     the chief restored a checkpoint                   step, path
 *   skipped      a checkpoint could not be read, an older one is   path, message (why)
 *                tried
 *   waiting      for a master, for tasks, for the chief's values   message (what is missing)
 *   opened       the session is ready                              step
 *   lost         the session is lost, another will be opened       step, message (the fault)
 *   saved        a checkpoint was written                          step
 *   stopped      training has ended                                step, message (why)          */
typedef struct leat_supervisor_event_t {
  size_t struct_size; /* what lies beyond is absent */
  const char* name;
  int64_t step;
  const char* path;
  const char* message;
} leat_supervisor_event_t;

/* What is trained, where and until when. All zero is a sensible value of each field but |graph|;
 * what is pointed to is borrowed until leat_supervisor_close. */
typedef struct leat_supervisor_spec_t {
  TF_Graph* graph;
  TF_Operation* init;       /* gives the variables their first values: the chief, where there is no
                               checkpoint */
  TF_Operation* local_init; /* run in each new session by each task: tables, counters of its own */
  TF_Output local_ready;    /* as |ready|: what must be there before |local_init| */
  TF_Output ready;          /* strings [n], the variables that have no value yet, such as
                               leat_variables_uninitialized: a session is ready when n is 0 */
  TF_Output global_step;    /* a scalar int32 or int64 that the training step counts up, such as
                               leat_global_step; none: the loop's steps are counted, from that in
                               the checkpoint's name */
  leat_saver_t* saver;      /* the chief restores and saves with it, when its options say so, after
                               |init| and at the end; NULL: nothing outlives a fault */
  leat_queue_runner_t* const* queue_runners; /* run while there is a session */
  int queue_runner_count;

  const char* target;    /* "grpc://host:port"; NULL or "": this process */
  const void* config;    /* a serialized ConfigProto */
  size_t config_size;
  int waits_for_chief;   /* 1: another task is the chief; |ready| must be given then */
  double wait_seconds;   /* for a session that is ready, before DEADLINE_EXCEEDED; 0: 7200 */
  double poll_seconds;   /* between two looks whether it is; 0: 1 */
  int restarts;          /* sessions that may be lost, before the fault is the end; 0: any number,
                            negative: none */

  int64_t last_step;     /* training ends when so many steps are done; 0: it does not */
  double seconds;        /* or when so much time has passed since the first session; 0: not */

  const char* logs;      /* the directory of the chief's event files; NULL: none */
  TF_Output summary;     /* a string scalar, a serialized Summary, that leat_supervisor_run fetches
                            with the first step, and then every so many steps or seconds */
  int64_t summary_steps;
  double summary_seconds;

  /* Called when a session is ready, before its first step: to prepare steps on it. An error in
   * |status| ends training, or the session, as a step's does. May be NULL. */
  void (*opened)(void* data, TF_Session* session, TF_Status* status);
  /* Called before a session ends that |opened| was called for; |session| may have failed. */
  void (*closing)(void* data, TF_Session* session);
  /* Called for each event. NULL: "skipped", "waiting" and "lost" are a line each on stderr. */
  void (*observe)(void* data, const leat_supervisor_event_t* event);
  void* data; /* of the three; all are called by the thread of the loop */
} leat_supervisor_spec_t;

/* Checks the spec, which is copied; no session is opened yet. NULL on error: INVALID_ARGUMENT, or
 * that of the event file. The other functions accept NULL. */
TF_CAPI_EXPORT extern leat_supervisor_t* leat_supervisor_create(const leat_supervisor_spec_t* spec,
                                                                TF_Status* status);
/* Does what is to be done between two steps. 1 when there is a step to take: |out_step| (may be
 * NULL) is the number of those done. 0 when training has ended, by a stop, a condition of the spec,
 * the end of input or an error; the chief has saved then, and queue runners have been joined.
 *
 * Blocks while a session is opened, restored and waited for, which leat_supervisor_request_stop
 * ends, and while a checkpoint is saved. */
TF_CAPI_EXPORT extern int leat_supervisor_next(leat_supervisor_t* supervisor, int64_t* out_step);
/* A step, with TF_SessionRun's arguments. 1 when it was done. 0 when it failed: |output_values| are
 * NULL, and leat_supervisor_next does what there is to do. ABORTED and UNAVAILABLE say that the
 * session is lost; OUT_OF_RANGE is the end of input; where a queue runner failed first, its error
 * counts. At most one step for each leat_supervisor_next is counted where there is no global step.
 */
TF_CAPI_EXPORT extern int leat_supervisor_run(
    leat_supervisor_t* supervisor, const TF_Output* inputs, TF_Tensor* const* input_values,
    int input_count, const TF_Output* outputs, TF_Tensor** output_values, int output_count,
    TF_Operation* const* targets, int target_count);
/* The same for a step of the program's own on the supervisor's session (leat_callable_run): tells
 * how it ended, |status|, and returns 1 when that is OK. */
TF_CAPI_EXPORT extern int leat_supervisor_check(leat_supervisor_t* supervisor,
                                                const TF_Status* status);
/* The session, until the next call of leat_supervisor_next or leat_supervisor_close: after training
 * has ended too, to evaluate with. NULL before the first step and after an error. */
TF_CAPI_EXPORT extern TF_Session* leat_supervisor_session(leat_supervisor_t* supervisor);
/* The chief's event file, for scalars of the program's own; NULL without |logs|. Borrowed. */
TF_CAPI_EXPORT extern leat_events_t* leat_supervisor_events(leat_supervisor_t* supervisor);
/* Training ends when the step under way has: leat_supervisor_next saves and gives 0. Any thread, or
 * a signal's handler. */
TF_CAPI_EXPORT extern void leat_supervisor_request_stop(leat_supervisor_t* supervisor);
/* Ends training if that has not ended by itself, saves what is not saved, closes the session and
 * frees the supervisor. |status| is the first error of the training, or OK; where |supervisor| is
 * NULL it stays what it is. */
TF_CAPI_EXPORT extern void leat_supervisor_close(leat_supervisor_t* supervisor, TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_SUPERVISOR_H_ */
