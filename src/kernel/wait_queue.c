// Waiting without threads. A call in a line ends once: either a flush lets it through, or its
// step's cancellation ends it. Both take it out of its line under the lock, and |waits| tells the
// second one that it came too late. The one who took it out deregisters it from the cancellation
// before its memory goes, so that a cancellation callback that runs at that moment still finds it,
// sees that it waits no longer, and leaves.
//
// A flush tries both lines in turn until neither changes, because what one call puts in may let
// another one take out. Completed calls are collected under the lock and finished after it is free:
// finishing runs the rest of a step, which may enter this very wait queue. After the lock is free
// the wait queue itself is not touched, since a completion may release the last reference of its
// owner.
#include "kernel/wait_queue.h"

#include <string.h>

// A completion runs the rest of another step on this thread, which may complete further calls. From
// this depth on completions go to the pool, so that no chain of steps exhausts the stack.
#define MAX_NESTING 16
static LEAT_THREAD_LOCAL int nesting;

void leat_wait_queue_initialize(leat_resource_t* owner, leat_wait_queue_t* out_wait_queue) {
  *out_wait_queue = (leat_wait_queue_t){.owner = owner};
  leat_mutex_initialize(&out_wait_queue->mutex);
}

void leat_wait_queue_deinitialize(leat_wait_queue_t* wait_queue) {
  leat_mutex_deinitialize(&wait_queue->mutex);
}

leat_attempt_t leat_attempt_of(const leat_kernel_context_t* c, size_t size_bytes) {
  return (leat_attempt_t){.size_bytes = size_bytes,
                          .cancellation = c->services->cancellation,
                          .pool = c->services->pool};
}

static leat_status_t cancelled_status(leat_line_t line) {
  return leat_make_status(LEAT_CANCELLED, "%s operation was cancelled",
                          line == LEAT_LINE_IN ? "Enqueue" : "Dequeue");
}

// ---- Lines, under the lock ----------------------------------------------------------------------

static void append(leat_wait_queue_t* t, leat_attempt_t* attempt) {
  leat_attempt_t* last = t->last[attempt->line];
  attempt->previous = last;
  attempt->next = NULL;
  if (last) {
    last->next = attempt;
  } else {
    t->first[attempt->line] = attempt;
  }
  t->last[attempt->line] = attempt;
  attempt->waits = true;
}

static void unlink_attempt(leat_wait_queue_t* t, leat_attempt_t* attempt) {
  if (attempt->next) {
    attempt->next->previous = attempt->previous;
  } else {
    t->last[attempt->line] = attempt->previous;
  }
  if (attempt->previous) {
    attempt->previous->next = attempt->next;
  } else {
    t->first[attempt->line] = attempt->next;
  }
  attempt->waits = false;
}

// A list of completed calls, in order.
typedef struct completed_s {
  leat_attempt_t* first;
  leat_attempt_t** end;
} completed_t;

static void complete(leat_wait_queue_t* t, leat_attempt_t* attempt, completed_t* completed) {
  unlink_attempt(t, attempt);
  attempt->next = NULL;
  *completed->end = attempt;
  completed->end = &attempt->next;
}

// Lets the calls of a line try, up to the first that must wait. True: something changed.
static bool try_line(leat_wait_queue_t* t, leat_line_t line, completed_t* completed) {
  bool changed = false;
  for (leat_attempt_t *attempt = t->first[line], *next; attempt; attempt = next) {
    next = attempt->next;
    leat_passage_t passage = attempt->attempt(attempt);
    if (passage != LEAT_PASSAGE_WAITS) changed = true;
    if (passage == LEAT_PASSAGE_DONE) {
      complete(t, attempt, completed);
    } else if (!t->any_order) {
      break;
    }
  }
  return changed;
}

static void flush(leat_wait_queue_t* t, completed_t* completed) {
  bool changed;
  do {
    changed = try_line(t, LEAT_LINE_IN, completed);
    changed = try_line(t, LEAT_LINE_OUT, completed) || changed;
  } while (changed);
}

// ---- Completion, with the lock free -------------------------------------------------------------

static void end_attempt(void* data) {
  leat_attempt_t* attempt = data;
  leat_resource_t* owner = attempt->wait_queue->owner;
  attempt->finish(attempt);
  leat_allocator_free(leat_allocator_system(), attempt);
  leat_resource_release(owner);
}

// Finishes completed calls, with the lock free.
static void settle(leat_attempt_t* completed) {
  while (completed) {
    leat_attempt_t* attempt = completed;
    completed = attempt->next;
    if (attempt->cancellation) leat_cancellation_deregister(attempt->cancellation, attempt->token);
    if (nesting >= MAX_NESTING && attempt->pool) {
      leat_thread_pool_schedule(attempt->pool, end_attempt, attempt);
      continue;
    }
    ++nesting;
    end_attempt(attempt);
    --nesting;
  }
}

// The cancellation callback of a call that waits.
static void on_cancel(void* data) {
  leat_attempt_t* attempt = data;
  leat_wait_queue_t* t = attempt->wait_queue;
  completed_t completed = {.end = &completed.first};
  leat_mutex_lock(&t->mutex);
  bool mine = attempt->waits;
  if (mine) {
    unlink_attempt(t, attempt);
    if (attempt->withdraw) attempt->withdraw(attempt);
    leat_status_free(attempt->status);
    attempt->status = cancelled_status((leat_line_t)attempt->line);
    flush(t, &completed);
  }
  leat_mutex_unlock(&t->mutex);
  if (mine) end_attempt(attempt);
  settle(completed.first);
}

// ---- Entering -----------------------------------------------------------------------------------

// Copies the call to the heap and appends it to its line. False, with the attempt's status set,
// when it was cancelled meanwhile or memory ran out.
static bool stand_in_line(leat_wait_queue_t* t, leat_attempt_t* attempt) {
  leat_attempt_t* waiting = NULL;
  leat_status_t status = leat_allocator_allocate(leat_allocator_system(), attempt->size_bytes,
                                                 (void**)&waiting);
  if (!status) {
    memcpy((void*)waiting, attempt, attempt->size_bytes);
    if (attempt->cancellation &&
        !leat_cancellation_register(attempt->cancellation, on_cancel, waiting, &waiting->token)) {
      leat_allocator_free(leat_allocator_system(), waiting);
      status = leat_cancellation_is_cancelled(attempt->cancellation)
                   ? cancelled_status((leat_line_t)attempt->line)
                   : leat_make_status(LEAT_RESOURCE_EXHAUSTED, "no memory to wait at a queue");
    }
  }
  if (status) {
    if (attempt->withdraw) attempt->withdraw(attempt);
    attempt->status = status;
    return false;
  }
  leat_resource_retain(t->owner);
  append(t, waiting);
  return true;
}

void leat_wait_queue_enter(leat_wait_queue_t* t, leat_line_t line, leat_attempt_t* attempt) {
  completed_t completed = {.end = &completed.first};
  bool stands = false;
  attempt->wait_queue = t;
  attempt->line = (uint8_t)line;
  if (attempt->cancellation && leat_cancellation_is_cancelled(attempt->cancellation)) {
    attempt->status = cancelled_status(line);
    attempt->finish(attempt);
    return;
  }
  leat_mutex_lock(&t->mutex);
  leat_passage_t passage =
      t->first[line] && !t->any_order ? LEAT_PASSAGE_WAITS : attempt->attempt(attempt);
  if (passage != LEAT_PASSAGE_DONE) stands = stand_in_line(t, attempt);
  if (passage != LEAT_PASSAGE_WAITS) flush(t, &completed);
  leat_mutex_unlock(&t->mutex);
  if (!stands) attempt->finish(attempt);
  settle(completed.first);
}

void leat_wait_queue_change(leat_wait_queue_t* t, void (*change)(void* data), void* data,
                            uint32_t cancelled) {
  completed_t completed = {.end = &completed.first};
  leat_mutex_lock(&t->mutex);
  if (change) change(data);
  for (int line = 0; line < LEAT_LINE_COUNT; ++line) {
    while ((cancelled >> line & 1) && t->first[line]) {
      leat_attempt_t* attempt = t->first[line];
      if (attempt->withdraw) attempt->withdraw(attempt);
      leat_status_free(attempt->status);
      attempt->status = cancelled_status((leat_line_t)line);
      complete(t, attempt, &completed);
    }
  }
  flush(t, &completed);
  leat_mutex_unlock(&t->mutex);
  settle(completed.first);
}
