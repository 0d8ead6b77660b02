// A wait queue before a resource that kernels may have to wait for (a queue, a mutex, a reader): a
// lock and two lines of calls, one of those that put something in and one of those that take
// something out. A call that enters tries at once, and is done without any allocation when it can
// be. Otherwise it stands in its line, without a thread, until the success of another call lets it
// try again, or until its step is cancelled.
//
// The caller of each function here holds a reference to the owner, which calls that stand in line
// keep alive.
//
// Within a line the order of entering is kept, so the first must be done before the next may try,
// unless the wait queue is |any_order|.
#ifndef LEAT_KERNEL_WAIT_QUEUE_H_
#define LEAT_KERNEL_WAIT_QUEUE_H_

#include "base/thread_pool.h"
#include "kernel/cancellation.h"
#include "kernel/kernel.h"
#include "kernel/resource.h"

typedef enum leat_line_e { LEAT_LINE_IN, LEAT_LINE_OUT, LEAT_LINE_COUNT } leat_line_t;

typedef enum leat_passage_e {
  LEAT_PASSAGE_WAITS,     // nothing changed
  LEAT_PASSAGE_ADVANCES,  // something changed, but it must go on waiting
  LEAT_PASSAGE_DONE,      // |status| says how
} leat_passage_t;

typedef struct leat_attempt_s leat_attempt_t;
typedef struct leat_wait_queue_s leat_wait_queue_t;

// Base of what a call needs while it waits; the whole may be moved in memory until it waits.
struct leat_attempt_s {
  size_t size_bytes;  // of the whole
  leat_passage_t (*attempt)(leat_attempt_t* self);  // with the lock held
  // Gives back what was taken so far, with the lock held, before the call ends as cancelled. NULL:
  // nothing.
  void (*withdraw)(leat_attempt_t* self);
  // With the lock free, once: hands |status| on and lets go of all but the memory.
  void (*finish)(leat_attempt_t* self);
  leat_cancellation_t* cancellation;  // NULL: cannot be cancelled
  leat_thread_pool_t* pool;           // takes over where completions nest too deep; may be NULL
  leat_status_t status;
  // The wait queue's.
  leat_wait_queue_t* wait_queue;
  leat_attempt_t* next;
  leat_attempt_t* previous;
  uint64_t token;
  uint8_t line;
  bool waits;
};

struct leat_wait_queue_s {
  leat_resource_t* owner;  // kept alive by those who wait
  bool any_order;
  leat_mutex_t mutex;
  leat_attempt_t* first[LEAT_LINE_COUNT];
  leat_attempt_t* last[LEAT_LINE_COUNT];
};

void leat_wait_queue_initialize(leat_resource_t* owner, leat_wait_queue_t* out_wait_queue);
void leat_wait_queue_deinitialize(leat_wait_queue_t* wait_queue);
// Fills in what every attempt of a kernel has.
leat_attempt_t leat_attempt_of(const leat_kernel_context_t* c, size_t size_bytes);
// |attempt| is the caller's and dead afterwards: it was finished or copied.
void leat_wait_queue_enter(leat_wait_queue_t* wait_queue, leat_line_t line,
                           leat_attempt_t* attempt);
// Something changed from outside: |change| (may be NULL) runs with the lock held, then those who
// wait try again. Every attempt waiting in |cancelled| (a bit a line) ends with CANCELLED.
void leat_wait_queue_change(leat_wait_queue_t* wait_queue, void (*change)(void* data), void* data,
                           uint32_t cancelled);

#endif  // LEAT_KERNEL_WAIT_QUEUE_H_
