/* leat/input.h: threads that fill queues while a program trains, and how they end together.
 * examples/mnist/input.c is a whole input pipeline.
 *
 * A queue between files and training lets reading run ahead of the steps. Somebody must run its
 * enqueue operations: a queue runner does, on a thread for each. The coordinator is where threads
 * learn that it is time to stop, and where whoever waits for them learns why.
 *
 *   leat_coordinator_t* coordinator = leat_coordinator_create();
 *   leat_queue_runner_t* runner = leat_queue_runner_create(s, queue, &enqueue, 1, NULL, NULL);
 *   TF_Operation* init = leat_variables_initializer(s);
 *   leat_target_run(session, init, status);
 *   leat_queue_runners_start(&runner, 1, session, coordinator, status);
 *   while (TF_GetCode(status) == TF_OK) leat_target_run(session, train, status);
 *   leat_coordinator_request_stop(coordinator, status);   // OUT_OF_RANGE: no more input
 *   leat_coordinator_join(coordinator, 120, status);      // OK unless something went wrong
 *   leat_coordinator_free(coordinator);
 *   leat_queue_runner_free(runner);
 *
 * These are TensorFlow's tf.train.Coordinator and QueueRunner. */
#ifndef LEAT_INPUT_H_
#define LEAT_INPUT_H_

#include "leat/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* - Coordinator ---------------------------------------------------------------------------------
 * Any number of threads may use one coordinator at once. A thread of your own:
 *
 *   leat_coordinator_t* c = leat_coordinator_create();
 *   leat_coordinator_start(c, "counter", count_until_stop, c, status);
 *   leat_coordinator_request_stop(c, NULL);
 *   leat_coordinator_join(c, 5, status);
 *   leat_coordinator_free(c);                                                                  */
typedef struct leat_coordinator_t leat_coordinator_t;

/* NULL when memory is gone. */
TF_CAPI_EXPORT extern leat_coordinator_t* leat_coordinator_create(void);
/* Requests a stop and waits without limit for the threads that still run. NULL is allowed. */
TF_CAPI_EXPORT extern void leat_coordinator_free(leat_coordinator_t* coordinator);
/* Runs |work|(|data|) on a thread that leat_coordinator_join waits for. |work| returns soon after
 * leat_coordinator_should_stop; |data| stays the caller's and lasts until then. |name| is copied.
 * RESOURCE_EXHAUSTED when there is no memory or no thread. */
TF_CAPI_EXPORT extern void leat_coordinator_start(leat_coordinator_t* coordinator,
                                                  const char* name, void (*work)(void* data),
                                                  void* data, TF_Status* status);
/* The first call stops; later ones do nothing. |reason| is what join reports, copied: NULL, TF_OK
 * and TF_OUT_OF_RANGE are a normal end. Queues of the runners started are closed and their waiting
 * enqueues cancelled before it returns. */
TF_CAPI_EXPORT extern void leat_coordinator_request_stop(leat_coordinator_t* coordinator,
                                                         const TF_Status* reason);
/* 1 once a stop was requested, else 0. Never blocks. */
TF_CAPI_EXPORT extern int leat_coordinator_should_stop(leat_coordinator_t* coordinator);
/* Blocks until a stop was requested or all threads have ended by themselves, and returns 1; 0 when
 * |seconds| went by before that (negative: without limit). A join after it is bounded by its grace,
 * once a stop was requested. */
TF_CAPI_EXPORT extern int leat_coordinator_wait(leat_coordinator_t* coordinator, double seconds);
/* Blocks until all threads have ended by themselves, or a stop was requested and |grace_seconds|
 * went by since (negative: without limit; 120 is TensorFlow's). |status| is the reason of the stop
 * when that was an error; else DEADLINE_EXCEEDED when threads still run, with one's name: the
 * session and what they use must then stay, and join may be called again. Not for a thread of the
 * coordinator's own. */
TF_CAPI_EXPORT extern void leat_coordinator_join(leat_coordinator_t* coordinator,
                                                 double grace_seconds, TF_Status* status);

/* ---- Queue runners --------------------------------------------------------------------------*/
typedef struct leat_queue_runner_t leat_queue_runner_t;

/* For the |count| operations that enqueue into |queue|; one that stands there twice is run by two
 * threads. |close| lets what is in the queue be taken, |cancel| also ends enqueues that wait; NULL
 * adds the operation to the scope's graph, so make runners before the first step. The operations
 * are borrowed from the graph, the scope is not needed later on. NULL when the scope has an error,
 * INVALID_ARGUMENT for a count below 1. */
TF_CAPI_EXPORT extern leat_queue_runner_t* leat_queue_runner_create(
    leat_scope_t* scope, TF_Output queue, TF_Operation* const* enqueues, int count,
    TF_Operation* close, TF_Operation* cancel);
/* After its threads were joined. NULL is allowed. */
TF_CAPI_EXPORT extern void leat_queue_runner_free(leat_queue_runner_t* runner);
/* The codes of a run that mean the end of input instead of TF_OUT_OF_RANGE, which alone does at
 * first; copied. Before the runner is started. */
TF_CAPI_EXPORT extern void leat_queue_runner_set_ends(leat_queue_runner_t* runner,
                                                      const TF_Code* codes, int count);
/* The queue runners of a training graph that was read (leat_meta_graph_load,
 * TF_LoadSessionFromSavedModel): one for each entry of the MetaGraphDef's collection
 * "queue_runners", for leat_queue_runners_start all together; NULL and 0 without entries. The
 * caller gives them to leat_queue_runners_free. Codes as leat_meta_graph_queue_runners has them. */
TF_CAPI_EXPORT extern leat_queue_runner_t** leat_queue_runners_load(
    TF_Graph* graph, const TF_Buffer* meta_graph_def, int* out_count, TF_Status* status);
/* After their threads were joined. NULL is allowed. */
TF_CAPI_EXPORT extern void leat_queue_runners_free(leat_queue_runner_t** runners, int count);
/* Starts one thread for each enqueue operation of each runner, and returns. A thread runs its
 * operation again and again until a stop is requested or a run fails. OUT_OF_RANGE (or what
 * leat_queue_runner_set_ends says) is the end of that thread's input: when the last thread of a
 * runner has ended so, the queue is closed, and those who take from it get what is left and then
 * OUT_OF_RANGE themselves. Any other failure stops the coordinator, which reports it.
 *
 * The runners, the session and the coordinator stay until leat_coordinator_join. On an error
 * (FAILED_PRECONDITION: a runner runs already; RESOURCE_EXHAUSTED) the coordinator is stopped. */
TF_CAPI_EXPORT extern void leat_queue_runners_start(leat_queue_runner_t* const* runners, int count,
                                                    TF_Session* session,
                                                    leat_coordinator_t* coordinator,
                                                    TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_INPUT_H_ */
