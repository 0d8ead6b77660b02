// Waiting without threads. An attempt is completed by whoever takes it out of its line under the
// lock: the flush that let it through or its cancellation; |waits| decides between the two. The
// completer deregisters it from the cancellation before its memory goes, so that a callback that
// runs meanwhile finds it alive and not waiting, and goes away.
//
// A wait queue is not touched after its lock was let go: a call that completes may release the last
// reference of its owner.
#include "kernel/wait_queue.h"

#include <string.h>

// A completion runs the rest of another step, which may complete others: from this depth on they
// go to the pool, so that no chain of steps exhausts the stack.
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

// Completed attempts, in order.
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

// Stands in line from now on. On failure the attempt's status is set.
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
