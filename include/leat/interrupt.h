/* leat/interrupt.h: ends the steps that one thread runs, as Ctrl-C does.
 *
 *   leat_interrupt_begin(interrupt);
 *   TF_SessionRun(session, NULL, NULL, NULL, 0, &y, &value, 1, NULL, 0, NULL, status);
 *   leat_interrupt_end(interrupt);
 *
 * The step fails with CANCELLED where another thread calls leat_interrupt_cancel(interrupt) before
 * its end.
 *
 * TF_CloseSession ends all steps of a session for good. An interrupt ends those that its thread has
 * under way, of any session, and the sessions can be used afterwards; what the steps wrote until
 * then stays written. Steps of callables belong to it too, and those at a master elsewhere, which
 * ends them on all tasks. A partial run ends where TF_SessionPRun waits for a fetch of it. */
#ifndef LEAT_INTERRUPT_H_
#define LEAT_INTERRUPT_H_

#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_interrupt_t leat_interrupt_t;

/* NULL where memory ran out. The caller owns it; it must not be freed between begin and end. */
TF_CAPI_EXPORT extern leat_interrupt_t* leat_interrupt_create(void);
TF_CAPI_EXPORT extern void leat_interrupt_free(leat_interrupt_t* interrupt);

/* The steps that the calling thread begins belong to |interrupt| until the end. Pairs may be nested
 * on the same thread; one thread at a time may be between them. NULL is allowed, and does
 * nothing. */
TF_CAPI_EXPORT extern void leat_interrupt_begin(leat_interrupt_t* interrupt);
TF_CAPI_EXPORT extern void leat_interrupt_end(leat_interrupt_t* interrupt);

/* Ends the steps that belong to it with CANCELLED, also those that the thread begins later before
 * its outermost end. Does nothing outside of begin and end. Any thread; not in a signal's handler.
 */
TF_CAPI_EXPORT extern void leat_interrupt_cancel(leat_interrupt_t* interrupt);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_INTERRUPT_H_ */
