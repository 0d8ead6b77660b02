// The steps that a client's session keeps between calls: callables and partial runs
// (master_session.h). A callable is a step that was resolved once; nodes of a graph keep their
// numbers, so a resolved step stays valid. A partial run is a step under way, which a call takes
// out of the list while it uses it, so that two calls cannot use it at the same time. A call that
// is refused leaves it as it was; one that fails later ends it.
#include "cluster/kept_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "master/partial_run.h"

typedef struct callable_s {
  struct callable_s* next;
  int64_t number;
  leat_arena_t arena;
  leat_named_step_t step;
} callable_t;

typedef struct partial_s {
  struct partial_s* next;
  char handle[24];
  leat_arena_t arena;
  leat_named_step_t step;
  int64_t last_use_ns;
  bool* is_fed;      // [feed_count]
  bool* is_fetched;  // [fetch_count]
  leat_partial_run_t* run;
} partial_t;

// ---- Callables ----------------------------------------------------------------------------------

#define COPY(arena, count, items, out) copy_bytes(arena, (size_t)(count) * sizeof *(items), \
                                                  items, (void**)(out))

static leat_status_t copy_bytes(leat_arena_t* arena, size_t size, const void* bytes,
                                void** out_copy) {
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, size + 1, 1, out_copy));
  if (size) memcpy(*out_copy, bytes, size);
  return leat_ok_status();
}

static leat_status_t copy_step(const leat_named_step_t* step, leat_arena_t* arena,
                               leat_named_step_t* out_step) {
  *out_step = *step;
  LEAT_RETURN_IF_ERROR(COPY(arena, step->feed_count, step->feeds, &out_step->feeds));
  LEAT_RETURN_IF_ERROR(COPY(arena, step->feed_count, step->feed_types, &out_step->feed_types));
  LEAT_RETURN_IF_ERROR(COPY(arena, step->feed_count, step->feed_names, &out_step->feed_names));
  LEAT_RETURN_IF_ERROR(COPY(arena, step->fetch_count, step->fetches, &out_step->fetches));
  return COPY(arena, step->target_count, step->targets, &out_step->targets);
}

static void free_callable(leat_master_session_t* session, callable_t* callable) {
  leat_arena_deinitialize(&callable->arena);
  leat_allocator_free(session->task->allocator, callable);
}

leat_status_t leat_master_session_keep_callable(leat_master_session_t* session,
                                                const leat_named_step_t* step,
                                                int64_t* out_number) {
  callable_t* callable;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(session->task->allocator, 1, &callable));
  leat_arena_initialize(session->task->allocator, 0, &callable->arena);
  leat_status_t status = copy_step(step, &callable->arena, &callable->step);
  if (status) {
    free_callable(session, callable);
    return status;
  }
  leat_mutex_lock(&session->mutex);
  *out_number = callable->number = session->next_callable++;
  callable->next = session->callables;
  session->callables = callable;
  leat_mutex_unlock(&session->mutex);
  return leat_ok_status();
}

// The place of a callable in the list; it holds NULL where there is none. The mutex is held.
static callable_t** find_callable(leat_master_session_t* session, int64_t number) {
  callable_t** place = &session->callables;
  while (*place && (*place)->number != number) place = &(*place)->next;
  return place;
}

leat_status_t leat_master_session_find_callable(leat_master_session_t* session, int64_t number,
                                                leat_arena_t* arena,
                                                leat_named_step_t* out_step) {
  leat_mutex_lock(&session->mutex);
  const callable_t* callable = *find_callable(session, number);
  leat_status_t status =
      callable ? copy_step(&callable->step, arena, out_step)
               : leat_make_status(LEAT_INVALID_ARGUMENT,
                                  "Attempted to run callable after handle was released: %" PRId64,
                                  number);
  leat_mutex_unlock(&session->mutex);
  return status;
}

void leat_master_session_release_callable(leat_master_session_t* session, int64_t number) {
  leat_mutex_lock(&session->mutex);
  callable_t** place = find_callable(session, number);
  callable_t* callable = *place;
  if (callable) *place = callable->next;
  leat_mutex_unlock(&session->mutex);
  if (callable) free_callable(session, callable);
}

// ---- Partial runs -------------------------------------------------------------------------------

void leat_kept_steps_end(leat_master_session_t* session, partial_t* partial) {
  leat_partial_run_end(partial->run);
  leat_arena_deinitialize(&partial->arena);
  leat_allocator_free(session->task->allocator, partial);
}

void leat_kept_steps_free(leat_master_session_t* session) {
  for (callable_t *c = session->callables, *next; c; c = next) {
    next = c->next;
    free_callable(session, c);
  }
  for (partial_t *p = session->partials, *next; p; p = next) {
    next = p->next;
    leat_kept_steps_end(session, p);
  }
}

// Puts the run into the list, where other calls find it.
static void add_partial(leat_master_session_t* session, partial_t* partial) {
  leat_mutex_lock(&session->mutex);
  partial->last_use_ns = leat_clock_now_ns();
  partial->next = session->partials;
  session->partials = partial;
  leat_mutex_unlock(&session->mutex);
}

partial_t* leat_kept_steps_take_abandoned(leat_master_session_t* session, int64_t before_ns) {
  leat_mutex_lock(&session->mutex);
  partial_t** place = &session->partials;
  while (*place && (*place)->last_use_ns >= before_ns) place = &(*place)->next;
  partial_t* partial = *place;
  if (partial) *place = partial->next;
  leat_mutex_unlock(&session->mutex);
  return partial;
}

static leat_status_t begin_partial(leat_master_session_t* session, const leat_named_step_t* step,
                                   partial_t* partial) {
  LEAT_RETURN_IF_ERROR(copy_step(step, &partial->arena, &partial->step));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&partial->arena, (size_t)step->feed_count + 1, &partial->is_fed));
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(&partial->arena, (size_t)step->fetch_count + 1, &partial->is_fetched));
  const leat_run_t run = {.feeds = step->feeds,
                          .feed_count = step->feed_count,
                          .fetches = step->fetches,
                          .fetch_count = step->fetch_count,
                          .targets = step->targets,
                          .target_count = step->target_count};
  return leat_session_begin_partial(session->session, &run, &partial->run);
}

leat_status_t leat_master_session_begin_partial(leat_master_session_t* session,
                                                const leat_named_step_t* step,
                                                leat_arena_t* arena,
                                                leat_string_view_t* out_handle) {
  partial_t* partial;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(session->task->allocator, 1, &partial));
  leat_arena_initialize(session->task->allocator, 0, &partial->arena);
  snprintf(partial->handle, sizeof partial->handle, "%016" PRIx64, (uint64_t)leat_task_draw(63));
  leat_status_t status = begin_partial(session, step, partial);
  if (!status) {
    status = leat_arena_copy_string(arena, leat_string_view_from(partial->handle), out_handle);
  }
  if (status) {
    leat_kept_steps_end(session, partial);
    return status;
  }
  add_partial(session, partial);
  return leat_ok_status();
}

// Takes the run out of the list, so that no other call uses it meanwhile; NULL where it is not
// there.
static partial_t* take_partial(leat_master_session_t* session, leat_string_view_t handle) {
  leat_mutex_lock(&session->mutex);
  partial_t** place = &session->partials;
  while (*place && !leat_string_view_equals(handle, (*place)->handle)) place = &(*place)->next;
  partial_t* partial = *place;
  if (partial) *place = partial->next;
  leat_mutex_unlock(&session->mutex);
  return partial;
}

// Finds |output| among those that the setup named; |used| says which were used before.
static leat_status_t find_named(const leat_output_t* outputs, const bool* used, int count,
                                leat_output_t output, const char* what, int* out_index) {
  bool is_known = false;
  for (int i = 0; i < count; ++i) {
    if (!leat_output_equal(outputs[i], output)) continue;
    is_known = true;
    if (used[i]) continue;
    *out_index = i;
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Partial run failed: %s %s, must be %s", what,
                          is_known ? "was given in an earlier call" : "was not named at setup",
                          is_known ? "given once" : "one of those");
}

// Marks what the call feeds and fetches, and checks that each fetch can be computed. The indices
// are of the setup's lists.
static leat_status_t check_partial(partial_t* partial, const leat_named_step_t* step, int* feeds,
                                   int* fetches) {
  const leat_named_step_t* all = &partial->step;
  for (int i = 0; i < step->feed_count; ++i) {
    LEAT_RETURN_IF_ERROR(find_named(all->feeds, partial->is_fed, all->feed_count, step->feeds[i],
                                   "a feed", &feeds[i]));
    partial->is_fed[feeds[i]] = true;
  }
  for (int i = 0; i < step->fetch_count; ++i) {
    LEAT_RETURN_IF_ERROR(find_named(all->fetches, partial->is_fetched, all->fetch_count,
                                    step->fetches[i], "a fetch", &fetches[i]));
    partial->is_fetched[fetches[i]] = true;
    for (int k = 0; k < all->feed_count; ++k) {
      if (partial->is_fed[k] || !leat_partial_run_needs(partial->run, fetches[i], k)) continue;
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Partial run failed: fetch %d depends on feed %d of the setup, which "
                              "must be fed first",
                              i, k);
    }
  }
  return leat_ok_status();
}

static bool is_complete(const partial_t* partial) {
  for (int i = 0; i < partial->step.feed_count; ++i) {
    if (!partial->is_fed[i]) return false;
  }
  for (int i = 0; i < partial->step.fetch_count; ++i) {
    if (!partial->is_fetched[i]) return false;
  }
  return true;
}

static leat_status_t run_partial(partial_t* partial, const leat_named_step_t* step,
                                 const leat_tensor_t* values, const int* feeds, const int* fetches,
                                 int64_t deadline_ns, leat_cancellation_t* cancellation,
                                 leat_tensor_t* out_values) {
  for (int i = 0; i < step->feed_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_partial_run_feed(partial->run, feeds[i], &values[i]));
  }
  for (int i = 0; i < step->fetch_count; ++i) {
    leat_status_t status = leat_partial_run_fetch(partial->run, fetches[i], deadline_ns,
                                                  cancellation, &out_values[i]);
    if (!status) continue;
    while (i-- > 0) leat_tensor_release(&out_values[i]);
    return status;
  }
  return leat_ok_status();
}

leat_status_t leat_master_session_run_partial(leat_master_session_t* session,
                                              leat_string_view_t handle,
                                              const leat_named_step_t* step,
                                              const leat_tensor_t* values, int64_t deadline_ns,
                                              leat_cancellation_t* cancellation,
                                              leat_tensor_t* out_values) {
  partial_t* partial = take_partial(session, handle);
  if (!partial) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Partial run failed: handle is '%.*s', must be of a partial run that "
                            "is not over",
                            LEAT_SV_ARG(handle));
  }
  leat_arena_t arena;
  int *feeds = NULL, *fetches = NULL;
  bool* before = NULL;
  const size_t feed_count = (size_t)partial->step.feed_count;
  const size_t fetch_count = (size_t)partial->step.fetch_count;
  leat_arena_initialize(session->task->allocator, 0, &arena);
  leat_status_t status = LEAT_NEW(&arena, (size_t)step->feed_count + 1, &feeds);
  if (!status) status = LEAT_NEW(&arena, (size_t)step->fetch_count + 1, &fetches);
  if (!status) status = LEAT_NEW(&arena, feed_count + fetch_count + 1, &before);
  if (!status) {
    memcpy(before, partial->is_fed, feed_count);
    memcpy(before + feed_count, partial->is_fetched, fetch_count);
    status = check_partial(partial, step, feeds, fetches);
    if (status) {  // an error of the caller leaves the run as it was
      memcpy(partial->is_fed, before, feed_count);
      memcpy(partial->is_fetched, before + feed_count, fetch_count);
      add_partial(session, partial);
      leat_arena_deinitialize(&arena);
      return status;
    }
    status = run_partial(partial, step, values, feeds, fetches, deadline_ns, cancellation,
                         out_values);
  }
  leat_arena_deinitialize(&arena);
  if (status || is_complete(partial)) {
    leat_kept_steps_end(session, partial);
  } else {
    add_partial(session, partial);
  }
  return status;
}
