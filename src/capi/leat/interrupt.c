// leat/interrupt.h: a cancellation (kernel/cancellation.h), which the steps of one thread take from
// a variable of the thread. A cancellation stays cancelled, so the next outermost begin makes
// another; between begin and end it is never replaced, since steps only borrow it.
#include "leat/interrupt.h"

#include "capi/leat/interrupt.h"
#include "kernel/cancellation.h"

struct leat_interrupt_t {
  leat_mutex_t mutex;                 // guards what follows
  leat_cancellation_t* cancellation;  // NULL: none yet, or memory ran out
  int depth;                          // begins that have not ended
};

static LEAT_THREAD_LOCAL leat_cancellation_t* of_thread;

leat_cancellation_t* leat_capi_thread_cancellation(void) { return of_thread; }

leat_interrupt_t* leat_interrupt_create(void) {
  leat_interrupt_t* interrupt;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &interrupt);
  if (status) {
    leat_status_free(status);
    return NULL;
  }
  leat_mutex_initialize(&interrupt->mutex);
  return interrupt;
}

void leat_interrupt_free(leat_interrupt_t* interrupt) {
  if (!interrupt) return;
  LEAT_DCHECK(interrupt->depth == 0);
  leat_cancellation_release(interrupt->cancellation);
  leat_mutex_deinitialize(&interrupt->mutex);
  leat_allocator_free(leat_allocator_system(), interrupt);
}

// Sees to it that the cancellation, which no step borrows, is not cancelled.
static void renew(leat_interrupt_t* interrupt) {
  if (interrupt->cancellation && !leat_cancellation_is_cancelled(interrupt->cancellation)) return;
  leat_cancellation_release(interrupt->cancellation);
  interrupt->cancellation = NULL;
  leat_status_free(leat_cancellation_create(leat_allocator_system(), &interrupt->cancellation));
}

void leat_interrupt_begin(leat_interrupt_t* interrupt) {
  if (!interrupt) return;
  leat_mutex_lock(&interrupt->mutex);
  if (interrupt->depth++ == 0) renew(interrupt);
  of_thread = interrupt->cancellation;
  leat_mutex_unlock(&interrupt->mutex);
}

void leat_interrupt_end(leat_interrupt_t* interrupt) {
  if (!interrupt) return;
  leat_mutex_lock(&interrupt->mutex);
  LEAT_DCHECK(interrupt->depth > 0);
  if (--interrupt->depth == 0) of_thread = NULL;
  leat_mutex_unlock(&interrupt->mutex);
}

void leat_interrupt_cancel(leat_interrupt_t* interrupt) {
  if (!interrupt) return;
  leat_mutex_lock(&interrupt->mutex);
  leat_cancellation_t* cancellation = interrupt->depth ? interrupt->cancellation : NULL;
  if (cancellation) leat_cancellation_retain(cancellation);
  leat_mutex_unlock(&interrupt->mutex);
  if (!cancellation) return;
  leat_cancellation_cancel(cancellation);
  leat_cancellation_release(cancellation);
}
