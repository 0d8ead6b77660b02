// A wait queue before a resource for which kernels may have to wait (a queue, a mutex, a reader): a
// lock and two lines of calls, one of calls that put something in and one of calls that take
// something out. A call that enters tries at once, and if it can go on it is done without any
// allocation. Otherwise it stands in its line, holding no thread, until the success of another call
// lets it try again or its step is cancelled.
//
//   enter --attempt--> DONE --> finish
//            | WAITS
//            '--> line --(another call changed something: attempt again)--> DONE --> finish
//                      '-(cancelled)--> withdraw --> finish with CANCELLED
//
// Within a line calls keep the order in which they entered: the first must be done before the next
// may try, unless the wait queue is |any_order|. The caller of each function here holds a reference
// to the owner, and calls that stand in a line keep the owner alive.
#ifndef LEAT_KERNEL_WAIT_QUEUE_H_
#define LEAT_KERNEL_WAIT_QUEUE_H_

#include "base/thread_pool.h"
#include "kernel/cancellation.h"
#include "kernel/kernel.h"
#include "kernel/resource.h"

// The two lines: calls that put something in, calls that take something out.
typedef enum leat_line_e { LEAT_LINE_IN, LEAT_LINE_OUT, LEAT_LINE_COUNT } leat_line_t;

// How an attempt went.
typedef enum leat_passage_e {
  LEAT_PASSAGE_WAITS,     // nothing changed
  LEAT_PASSAGE_ADVANCES,  // something changed, but the call must go on waiting
  LEAT_PASSAGE_DONE,      // the call is over; |status| says how
} leat_passage_t;

typedef struct leat_attempt_s leat_attempt_t;
typedef struct leat_wait_queue_s leat_wait_queue_t;

// The base of what a call needs while it waits, at offset 0. A call that has to wait is copied to
// the heap, so until then the whole must be movable.
struct leat_attempt_s {
  size_t size_bytes;  // of the whole that begins with this base
  // Tries to go on, with the lock held.
  leat_passage_t (*attempt)(leat_attempt_t* self);
  // Gives back what the call took so far, with the lock held, because it ends as cancelled. NULL:
  // there is nothing to give back.
  void (*withdraw)(leat_attempt_t* self);
  // Called once, with the lock free: reports |status| and releases everything but the memory.
  void (*finish)(leat_attempt_t* self);
  leat_cancellation_t* cancellation;  // NULL: the call cannot be cancelled
  leat_thread_pool_t* pool;           // runs completions that nest too deeply; may be NULL
  leat_status_t status;
  // Used by the wait queue.
  leat_wait_queue_t* wait_queue;
  leat_attempt_t* next;
  leat_attempt_t* previous;
  uint64_t token;
  uint8_t line;
  bool waits;
};

struct leat_wait_queue_s {
  leat_resource_t* owner;  // retained by each call that waits
  bool any_order;          // later calls of a line may pass earlier ones
  leat_mutex_t mutex;
  leat_attempt_t* first[LEAT_LINE_COUNT];
  leat_attempt_t* last[LEAT_LINE_COUNT];
};

void leat_wait_queue_initialize(leat_resource_t* owner, leat_wait_queue_t* out_wait_queue);
void leat_wait_queue_deinitialize(leat_wait_queue_t* wait_queue);
// The base of an attempt of a kernel: its cancellation, its pool and the size.
leat_attempt_t leat_attempt_of(const leat_kernel_context_t* c, size_t size_bytes);
// Enters a call. |attempt| belongs to the caller and has no meaning afterwards: it was finished, or
// copied into the line.
void leat_wait_queue_enter(leat_wait_queue_t* wait_queue, leat_line_t line,
                           leat_attempt_t* attempt);
// Something changed from outside: |change|, which may be NULL, runs with the lock held, and then
// those who wait try again. All calls in the lines of |cancelled| (a bit a line) end with
// CANCELLED.
void leat_wait_queue_change(leat_wait_queue_t* wait_queue, void (*change)(void* data), void* data,
                            uint32_t cancelled);

#endif  // LEAT_KERNEL_WAIT_QUEUE_H_
