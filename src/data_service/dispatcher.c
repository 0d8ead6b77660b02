// The life of a dispatcher, and what it does by itself: a thread looks from time to time for
// clients that have fallen silent, which it releases, for iterations that no client reads any
// more, whose tasks it ends, and for workers that do not report, of which it tells. Methods are in
// dispatcher_methods.c, those of snapshots in dispatcher_snapshots.c. One mutex guards all state;
// nobody calls another process while it is held.
//
// With a work directory datasets lie in files, so that workers can read them there. A dispatcher
// that is fault-tolerant keeps a journal there as well, and begins with what it says; of any other
// one nothing outlives the process, and clients of the one before are told so by NOT_FOUND.
#include "data_service/dispatcher.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/file_system.h"
#include "cluster/rpc.h"
#include "data_service/dispatcher_record.h"
#include "data_service/journal.h"
#include "data_service/split_providers.h"
#include "formats/path.h"

#define MINUTE_MS INT64_C(60000)

static int64_t number_or(int64_t number, int64_t otherwise) { return number ? number : otherwise; }

static leat_status_t make_directory(const leat_dispatcher_t* dispatcher) {
  char path[4096];
  const leat_string_view_t work_dir = dispatcher->options.work_dir;
  if (!work_dir.size) return leat_ok_status();
  snprintf(path, sizeof path, "%.*s/datasets", LEAT_SV_ARG(work_dir));
  return leat_file_make_directories(leat_file_system_default(), path);
}

static void collect_for_ever(void* data) {
  leat_dispatcher_t* dispatcher = data;
  bool goes_on = true;
  while (goes_on) {
    const int64_t next_ns = leat_clock_now_ns() + dispatcher->options.gc_check_ms * 1000000;
    leat_mutex_lock(&dispatcher->mutex);
    while (!dispatcher->is_stopped &&
           leat_condition_wait_until(&dispatcher->changed, &dispatcher->mutex, next_ns)) {
    }
    goes_on = !dispatcher->is_stopped;
    leat_mutex_unlock(&dispatcher->mutex);
    if (goes_on) leat_dispatcher_collect(dispatcher, leat_clock_now_ns());
  }
}

static leat_status_t prepare(leat_dispatcher_t* dispatcher,
                             const leat_dispatcher_options_t* options) {
  leat_dispatcher_options_t* own = &dispatcher->options;
  *own = *options;
  own->gc_check_ms = number_or(options->gc_check_ms, 10 * MINUTE_MS);
  own->gc_timeout_ms = number_or(options->gc_timeout_ms, 5 * MINUTE_MS);
  own->client_timeout_ms = number_or(options->client_timeout_ms, 5 * MINUTE_MS);
  own->worker_timeout_ms = number_or(options->worker_timeout_ms, 10 * MINUTE_MS);
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&dispatcher->state.arena, options->work_dir,
                                              &own->work_dir));
  if (own->is_fault_tolerant && !own->work_dir.size) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "fault_tolerant_mode is True, but no work_dir is configured.");
  }
  LEAT_RETURN_IF_ERROR(make_directory(dispatcher));
  if (own->is_fault_tolerant) LEAT_RETURN_IF_ERROR(leat_dispatcher_restore(dispatcher));
  if (own->gc_timeout_ms < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_thread_start("leat-data-gc", collect_for_ever, dispatcher,
                                         &dispatcher->thread));
  dispatcher->has_thread = true;
  return leat_ok_status();
}

leat_status_t leat_dispatcher_create(const leat_dispatcher_options_t* options,
                                     leat_dispatcher_t** out_dispatcher) {
  leat_dispatcher_t* dispatcher;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &dispatcher));
  leat_mutex_initialize(&dispatcher->mutex);
  leat_condition_initialize(&dispatcher->changed);
  leat_status_t status = leat_dispatcher_state_initialize(
      leat_allocator_system(), &options->worker_addresses, &dispatcher->state);
  if (!status) status = prepare(dispatcher, options);
  if (status) {
    leat_dispatcher_free(dispatcher);
    return status;
  }
  *out_dispatcher = dispatcher;
  return leat_ok_status();
}

void leat_dispatcher_stop(leat_dispatcher_t* dispatcher) {
  leat_mutex_lock(&dispatcher->mutex);
  dispatcher->is_stopped = true;
  leat_condition_notify_all(&dispatcher->changed);
  for (leat_data_worker_record_t* w = dispatcher->state.workers; w; w = w->next) {
    if (!w->channel) continue;
    leat_rpc_channel_fail(w->channel, leat_make_status(LEAT_CANCELLED,
                                                       "the dispatcher is shutting down"));
  }
  leat_mutex_unlock(&dispatcher->mutex);
}

void leat_dispatcher_free(leat_dispatcher_t* dispatcher) {
  if (!dispatcher) return;
  leat_dispatcher_stop(dispatcher);
  if (dispatcher->has_thread) leat_thread_join(dispatcher->thread);
  for (leat_data_worker_record_t* w = dispatcher->state.workers; w; w = w->next) {
    leat_rpc_channel_free(w->channel);
  }
  const leat_data_table_t* iterations = &dispatcher->state.iterations;
  for (size_t i = 0; i < iterations->count; ++i) {
    leat_split_providers_free(((leat_data_iteration_t*)iterations->items[i])->providers);
  }
  leat_dispatcher_free_snapshots(dispatcher);
  leat_journal_close(dispatcher->journal);
  leat_dispatcher_state_deinitialize(&dispatcher->state);
  leat_condition_deinitialize(&dispatcher->changed);
  leat_mutex_deinitialize(&dispatcher->mutex);
  leat_allocator_free(leat_allocator_system(), dispatcher);
}

size_t leat_dispatcher_count_workers(leat_dispatcher_t* dispatcher) {
  leat_mutex_lock(&dispatcher->mutex);
  const size_t count = dispatcher->state.worker_count;
  leat_mutex_unlock(&dispatcher->mutex);
  return count;
}

leat_status_t leat_dispatcher_commit(leat_dispatcher_t* dispatcher,
                                     const leat_pb_dispatcher_update_t* updates, size_t count) {
  leat_status_t status = leat_ok_status();
  if (dispatcher->journal) {
    LEAT_RETURN_IF_ERROR(leat_journal_write(dispatcher->journal, updates, count));
  }
  for (size_t i = 0; i < count && !status; ++i) {
    status = leat_dispatcher_apply(&dispatcher->state, &updates[i]);
  }
  if (status && dispatcher->journal) leat_journal_fail(dispatcher->journal, status);
  return status;
}

// ---- Collecting ---------------------------------------------------------------------------------

// Whether |since_ns| lies more than |patience_ms| before |now_ns|. A client that has not begun was
// heard of at LEAT_DEADLINE_NEVER, which lies behind any time.
static bool is_over(int64_t since_ns, int64_t patience_ms, int64_t now_ns) {
  return (now_ns - since_ns) / 1000000 > patience_ms;
}

static int64_t wall_micros_at(int64_t now_ns) {
  return (leat_clock_wall_ns() + (now_ns - leat_clock_now_ns())) / 1000;
}

// Whether the change was made. One that the journal does not take is tried again at the next look.
static bool commits(leat_dispatcher_t* dispatcher, leat_pb_dispatcher_update_t update) {
  leat_status_t status = leat_dispatcher_commit(dispatcher, &update, 1);
  const bool is_made = !status;
  leat_status_free(status);
  return is_made;
}

static void release_silent_clients(leat_dispatcher_t* dispatcher, int64_t now_ns) {
  const leat_data_table_t* clients = &dispatcher->state.clients;
  for (size_t i = 0; i < clients->count; ++i) {
    leat_data_client_t* client = clients->items[i];
    if (!client->iteration || client->iteration->is_finished ||
        !is_over(client->heard_of_ns, dispatcher->options.client_timeout_ms, now_ns)) {
      continue;
    }
    leat_pb_release_iteration_client_update_t release = {
        .iteration_client_id = client->id, .time_micros = wall_micros_at(now_ns)};
    if (!commits(dispatcher, (leat_pb_dispatcher_update_t){
                                 .update_type_case = LEAT_CHANGE_RELEASE_CLIENT,
                                 .release_iteration_client = &release})) {
      return;
    }
    leat_data_tell(&dispatcher->options.teller,
                   &(leat_data_event_t){.name = "client_lost", .id = client->id});
  }
}

// An iteration of dynamic sharding promises that each element is read at most once, which a second
// one in its place would not keep.
static bool is_abandoned(const leat_dispatcher_t* dispatcher,
                         const leat_data_iteration_t* iteration, int64_t now_ns) {
  return !iteration->is_finished && !iteration->client_count && iteration->released_ns >= 0 &&
         (!leat_data_job_is_dynamic(iteration->job) || dispatcher->options.collects_dynamic) &&
         is_over(iteration->released_ns, dispatcher->options.gc_timeout_ms, now_ns);
}

static void collect_iterations(leat_dispatcher_t* dispatcher, int64_t now_ns) {
  const leat_data_table_t* iterations = &dispatcher->state.iterations;
  for (size_t i = 0; i < iterations->count; ++i) {
    leat_data_iteration_t* iteration = iterations->items[i];
    if (!is_abandoned(dispatcher, iteration, now_ns)) continue;
    leat_pb_garbage_collect_iteration_update_t collect = {.iteration_id = iteration->id};
    if (!commits(dispatcher, (leat_pb_dispatcher_update_t){
                                 .update_type_case = LEAT_CHANGE_COLLECT_ITERATION,
                                 .garbage_collect_iteration = &collect})) {
      return;
    }
    leat_data_tell(&dispatcher->options.teller,
                   &(leat_data_event_t){.name = "iteration_collected", .id = iteration->id});
  }
}

static void tell_silent_workers(leat_dispatcher_t* dispatcher, int64_t now_ns) {
  for (leat_data_worker_record_t* w = dispatcher->state.workers; w; w = w->next) {
    if (w->is_lost || !is_over(w->heard_of_ns, dispatcher->options.worker_timeout_ms, now_ns)) {
      continue;
    }
    w->is_lost = true;
    leat_data_tell(&dispatcher->options.teller,
                   &(leat_data_event_t){.name = "worker_lost", .address = w->address});
  }
}

void leat_dispatcher_collect(leat_dispatcher_t* dispatcher, int64_t now_ns) {
  leat_mutex_lock(&dispatcher->mutex);
  release_silent_clients(dispatcher, now_ns);
  collect_iterations(dispatcher, now_ns);
  tell_silent_workers(dispatcher, now_ns);
  leat_mutex_unlock(&dispatcher->mutex);
}
