// A table from step numbers to rendezvous. The rendezvous of a step is a local one
// (worker/local_rendezvous.h), which keeps values and waiting receivers, with a list of the fetches
// from other tasks beside it. An abort ends both: it aborts the local rendezvous and cancels the
// fetches, whose receivers then get the cause of the abort and not that a call was cancelled.
//
// A fetch has two owners, the function that starts it and the callback that ends it, since the
// callback may run before the start has returned. Whoever comes second frees it. The call's handle
// is stored under the mutex only after the call was made; an abort that comes in between is seen by
// the starter, which then cancels the call itself. Whoever cancels a call takes it out of its fetch
// first and holds no mutex, because a call on the plane ends while it is cancelled.
//
// A request for a value may also come after its step, when its sender was cancelled. It would wait
// for a Send that never comes and bring the step's entry back, so the last steps that ended are
// remembered, in a ring.
#include "cluster/rendezvous_table.h"

#include <ctype.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/sync.h"
#include "worker/local_rendezvous.h"

#define REMEMBERED_STEPS 4096

typedef struct fetch_s fetch_t;

typedef struct step_rendezvous_s {
  leat_rendezvous_t base;
  leat_rendezvous_t* local;
  leat_rendezvous_table_t* table;
  int64_t step_id;
  int64_t made_ns;     // when it was first named
  leat_fetcher_t* fetcher;  // the table's, or that of the view by which the step's worker opened it
  leat_mutex_t mutex;  // guards what follows
  leat_status_t aborted;
  fetch_t* fetches;  // under way
} step_rendezvous_t;

struct fetch_s {
  fetch_t* next;
  fetch_t* previous;
  step_rendezvous_t* rendezvous;  // retained
  leat_rendezvous_receive_fn_t fn;
  void* data;
  leat_task_call_t call;  // none until the starter has stored it, and once it was cancelled
  bool is_started;        // the starter has returned from making the call
  bool is_ended;          // the callback has run
};

struct leat_rendezvous_table_s {
  leat_rendezvous_source_t source;
  leat_allocator_t* allocator;
  leat_fetcher_t* fetcher;
  leat_mutex_t mutex;     // guards what follows; taken before the mutex of a rendezvous
  leat_word_map_t steps;  // step -> step_rendezvous_t*, retained
  leat_word_map_t over;   // those of |ring|
  int64_t ring[REMEMBERED_STEPS];
  size_t ring_next;
};

// ---- Fetches ------------------------------------------------------------------------------------

static void unlink_fetch(fetch_t* fetch) {
  if (fetch->next) fetch->next->previous = fetch->previous;
  if (fetch->previous) {
    fetch->previous->next = fetch->next;
  } else {
    fetch->rendezvous->fetches = fetch->next;
  }
}

static void free_fetch(fetch_t* fetch) {
  step_rendezvous_t* rendezvous = fetch->rendezvous;
  leat_task_call_free(fetch->call);
  leat_allocator_free(rendezvous->table->allocator, fetch);
  leat_rendezvous_release(&rendezvous->base);
}

// A leat_rendezvous_receive_fn_t: the other task has answered.
static void end_fetch(void* data, leat_status_t status, leat_slot_t value) {
  fetch_t* fetch = data;
  step_rendezvous_t* rendezvous = fetch->rendezvous;
  leat_rendezvous_receive_fn_t fn = fetch->fn;
  void* fn_data = fetch->data;
  leat_mutex_lock(&rendezvous->mutex);
  unlink_fetch(fetch);
  if (status && rendezvous->aborted) {
    leat_status_free(status);
    status = leat_status_clone(rendezvous->aborted);
  }
  fetch->is_ended = true;
  const bool frees = fetch->is_started;
  leat_mutex_unlock(&rendezvous->mutex);
  if (frees) free_fetch(fetch);
  fn(fn_data, status, value);
}

static void start_fetch(step_rendezvous_t* rendezvous, fetch_t* fetch, leat_string_view_t key) {
  leat_fetcher_t* fetcher = rendezvous->fetcher;
  leat_task_call_t call = {0};
  fetcher->fetch(fetcher, rendezvous->step_id, key, end_fetch, fetch, &call);
  leat_mutex_lock(&rendezvous->mutex);
  fetch->is_started = true;
  const bool frees = fetch->is_ended;
  const bool cancels = !frees && rendezvous->aborted;
  if (!cancels) fetch->call = call;
  leat_mutex_unlock(&rendezvous->mutex);
  if (cancels) leat_task_call_drop(call);
  if (frees) free_fetch(fetch);
}

// Takes the call of a fetch, which the caller then cancels. false where there is none.
static bool take_call(step_rendezvous_t* rendezvous, leat_task_call_t* out_call) {
  leat_mutex_lock(&rendezvous->mutex);
  fetch_t* fetch = rendezvous->fetches;
  while (fetch && !fetch->call.rpc && !fetch->call.plane) fetch = fetch->next;
  if (fetch) {
    *out_call = fetch->call;
    fetch->call = (leat_task_call_t){0};
  }
  leat_mutex_unlock(&rendezvous->mutex);
  return fetch != NULL;
}

static leat_status_t add_fetch(step_rendezvous_t* rendezvous, leat_rendezvous_receive_fn_t fn,
                               void* data, fetch_t** out_fetch) {
  fetch_t* fetch;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(rendezvous->table->allocator, 1, &fetch));
  *fetch = (fetch_t){.rendezvous = rendezvous, .fn = fn, .data = data};
  leat_mutex_lock(&rendezvous->mutex);
  leat_status_t status =
      rendezvous->aborted ? leat_status_clone(rendezvous->aborted) : leat_ok_status();
  if (!status) {
    leat_rendezvous_retain(&rendezvous->base);
    fetch->next = rendezvous->fetches;
    if (fetch->next) fetch->next->previous = fetch;
    rendezvous->fetches = fetch;
  }
  leat_mutex_unlock(&rendezvous->mutex);
  if (status) {
    leat_allocator_free(rendezvous->table->allocator, fetch);
    return status;
  }
  *out_fetch = fetch;
  return leat_ok_status();
}

// ---- The rendezvous of a step -------------------------------------------------------------------

static leat_status_t send(leat_rendezvous_t* self, leat_rendezvous_key_t key, leat_slot_t value) {
  leat_rendezvous_t* local = ((step_rendezvous_t*)self)->local;
  return local->vtable->send(local, key, value);
}

static void receive(leat_rendezvous_t* self, leat_rendezvous_key_t key,
                    leat_rendezvous_receive_fn_t fn, void* data) {
  step_rendezvous_t* rendezvous = (step_rendezvous_t*)self;
  const leat_fetcher_t* fetcher = rendezvous->fetcher;
  if (key.transfer != LEAT_RENDEZVOUS_NO_TRANSFER || !fetcher->is_remote(fetcher, key.text)) {
    rendezvous->local->vtable->receive(rendezvous->local, key, fn, data);
    return;
  }
  fetch_t* fetch = NULL;
  leat_status_t status = add_fetch(rendezvous, fn, data, &fetch);
  if (status) {
    fn(data, status, (leat_slot_t){0});
  } else {
    start_fetch(rendezvous, fetch, key.text);
  }
}

static leat_status_t reserve(leat_rendezvous_t* self, uint32_t transfer_count) {
  leat_rendezvous_t* local = ((step_rendezvous_t*)self)->local;
  return local->vtable->reserve(local, transfer_count);
}

static void abort_step(leat_rendezvous_t* self, leat_status_t status) {
  step_rendezvous_t* rendezvous = (step_rendezvous_t*)self;
  leat_mutex_lock(&rendezvous->mutex);
  if (!rendezvous->aborted) rendezvous->aborted = leat_status_clone(status);
  leat_mutex_unlock(&rendezvous->mutex);
  for (leat_task_call_t call; take_call(rendezvous, &call);) leat_task_call_drop(call);
  rendezvous->local->vtable->abort(rendezvous->local, status);
}

// Fetches hold references, so none is under way.
static void destroy(leat_rendezvous_t* self) {
  step_rendezvous_t* rendezvous = (step_rendezvous_t*)self;
  LEAT_DCHECK(!rendezvous->fetches);
  leat_rendezvous_release(rendezvous->local);
  leat_status_free(rendezvous->aborted);
  leat_mutex_deinitialize(&rendezvous->mutex);
  leat_allocator_free(rendezvous->table->allocator, rendezvous);
}

static const leat_rendezvous_vtable_t kVtable = {
    .destroy = destroy,
    .send = send,
    .receive = receive,
    .reserve = reserve,
    .abort = abort_step,
};

static leat_status_t make_rendezvous(leat_rendezvous_table_t* table, int64_t step_id,
                                     step_rendezvous_t** out_rendezvous) {
  step_rendezvous_t* rendezvous;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(table->allocator, 1, &rendezvous));
  *rendezvous = (step_rendezvous_t){.base = {&kVtable},
                                    .table = table,
                                    .step_id = step_id,
                                    .fetcher = table->fetcher,
                                    .made_ns = leat_clock_now_ns()};
  atomic_init(&rendezvous->base.references, 1);
  leat_status_t status = leat_local_rendezvous_create(table->allocator, &rendezvous->local);
  if (status) {
    leat_allocator_free(table->allocator, rendezvous);
    return status;
  }
  leat_mutex_initialize(&rendezvous->mutex);
  *out_rendezvous = rendezvous;
  return leat_ok_status();
}

// ---- The table ----------------------------------------------------------------------------------

static leat_status_t step_is_over(int64_t step_id) {
  return leat_make_status(LEAT_ABORTED, "Transfer failed: step %lld was cleaned up",
                          (long long)step_id);
}

// Finds or makes the rendezvous of a step, retained. The mutex is held.
static leat_status_t find_or_make(leat_rendezvous_table_t* table, int64_t step_id,
                                  leat_rendezvous_t** out_rendezvous) {
  uint64_t found;
  step_rendezvous_t* rendezvous;
  if (leat_word_map_get(&table->over, (uint64_t)step_id, NULL)) return step_is_over(step_id);
  if (leat_word_map_get(&table->steps, (uint64_t)step_id, &found)) {
    rendezvous = (step_rendezvous_t*)(uintptr_t)found;
  } else {
    LEAT_RETURN_IF_ERROR(make_rendezvous(table, step_id, &rendezvous));
    leat_status_t status =
        leat_word_map_set(&table->steps, (uint64_t)step_id, (uint64_t)(uintptr_t)rendezvous);
    if (status) {
      leat_rendezvous_release(&rendezvous->base);
      return status;
    }
  }
  leat_rendezvous_retain(&rendezvous->base);
  *out_rendezvous = &rendezvous->base;
  return leat_ok_status();
}

static leat_status_t open_step(leat_rendezvous_table_t* table, int64_t step_id,
                               leat_rendezvous_t** out_rendezvous) {
  leat_mutex_lock(&table->mutex);
  leat_status_t status = find_or_make(table, step_id, out_rendezvous);
  leat_mutex_unlock(&table->mutex);
  return status;
}

// Of leat_rendezvous_source_t.
static leat_status_t source_open(leat_rendezvous_source_t* self, int64_t step_id,
                                 leat_rendezvous_t** out_rendezvous) {
  return open_step((leat_rendezvous_table_t*)self, step_id, out_rendezvous);
}

static void source_close(leat_rendezvous_source_t* self, int64_t step_id) {
  leat_rendezvous_table_close((leat_rendezvous_table_t*)self, step_id);
}

// The same of a view. The step may have been named before, by a task that asks for its values,
// which needs no fetcher.
static leat_status_t view_open(leat_rendezvous_source_t* self, int64_t step_id,
                               leat_rendezvous_t** out_rendezvous) {
  const leat_rendezvous_view_t* view = (const leat_rendezvous_view_t*)self;
  leat_mutex_lock(&view->table->mutex);
  leat_status_t status = find_or_make(view->table, step_id, out_rendezvous);
  if (!status) ((step_rendezvous_t*)*out_rendezvous)->fetcher = view->fetcher;
  leat_mutex_unlock(&view->table->mutex);
  return status;
}

static void view_close(leat_rendezvous_source_t* self, int64_t step_id) {
  leat_rendezvous_table_close(((leat_rendezvous_view_t*)self)->table, step_id);
}

void leat_rendezvous_view_initialize(leat_rendezvous_table_t* table, leat_fetcher_t* fetcher,
                                     leat_rendezvous_view_t* out_view) {
  *out_view = (leat_rendezvous_view_t){{view_open, view_close}, table, fetcher};
}

// Remembers that the step is over, in place of the oldest. Without memory it is not remembered. The
// mutex is held.
static void remember(leat_rendezvous_table_t* table, int64_t step_id) {
  int64_t* place = &table->ring[table->ring_next];
  if (*place) leat_word_map_erase(&table->over, (uint64_t)*place);
  *place = 0;
  leat_status_t status = leat_word_map_set(&table->over, (uint64_t)step_id, 1);
  if (!status) {
    *place = step_id;
    table->ring_next = (table->ring_next + 1) % REMEMBERED_STEPS;
  }
  leat_status_free(status);
}

void leat_rendezvous_table_close(leat_rendezvous_table_t* table, int64_t step_id) {
  uint64_t found = 0;
  leat_mutex_lock(&table->mutex);
  if (leat_word_map_get(&table->steps, (uint64_t)step_id, &found)) {
    leat_word_map_erase(&table->steps, (uint64_t)step_id);
  }
  if (!leat_word_map_get(&table->over, (uint64_t)step_id, NULL)) remember(table, step_id);
  leat_mutex_unlock(&table->mutex);
  if (!found) return;
  leat_rendezvous_t* rendezvous = &((step_rendezvous_t*)(uintptr_t)found)->base;
  leat_status_t status = step_is_over(step_id);
  rendezvous->vtable->abort(rendezvous, status);
  leat_status_free(status);
  leat_rendezvous_release(rendezvous);
}

// The number of a step that only this table holds, made before |before_ns|; 0: there is none.
static int64_t find_abandoned(leat_rendezvous_table_t* table, int64_t before_ns) {
  int64_t step_id = 0;
  leat_mutex_lock(&table->mutex);
  for (size_t i = 0; i < table->steps.capacity && !step_id; ++i) {
    if (!table->steps.used[i]) continue;
    step_rendezvous_t* rendezvous = (step_rendezvous_t*)(uintptr_t)table->steps.values[i];
    const bool is_held = atomic_load(&rendezvous->base.references) > 1;
    if (!is_held && rendezvous->made_ns < before_ns) step_id = rendezvous->step_id;
  }
  leat_mutex_unlock(&table->mutex);
  return step_id;
}

void leat_rendezvous_table_collect(leat_rendezvous_table_t* table, int64_t before_ns) {
  for (int64_t step_id; (step_id = find_abandoned(table, before_ns));) {
    leat_rendezvous_table_close(table, step_id);
  }
}

size_t leat_rendezvous_table_count(leat_rendezvous_table_t* table) {
  leat_mutex_lock(&table->mutex);
  const size_t count = table->steps.count;
  leat_mutex_unlock(&table->mutex);
  return count;
}

// Reads 16 hex digits.
static bool parse_incarnation(leat_string_view_t text, uint64_t* out_incarnation) {
  *out_incarnation = 0;
  for (size_t i = 0; i < text.size; ++i) {
    const unsigned char c = (unsigned char)text.data[i];
    if (!isxdigit(c)) return false;
    const int digit = c <= '9' ? c - '0' : tolower(c) - 'a' + 10;
    *out_incarnation = *out_incarnation << 4 | (uint64_t)digit;
  }
  return text.size == 16;
}

leat_status_t leat_rendezvous_key_parse(leat_string_view_t key, leat_string_view_t* out_sender,
                                        uint64_t* out_incarnation) {
  leat_string_view_t parts[5];
  leat_string_view_t rest = key;
  int count = 0;
  for (; count < 5; ++count) {
    const size_t end = count < 4 ? leat_string_view_find(rest, ';') : rest.size;
    if (end == SIZE_MAX) break;
    parts[count] = leat_string_view_make(rest.data, end);
    rest = leat_string_view_from_index(rest, end + 1);
  }
  const bool is_valid = count == 5 && parse_incarnation(parts[1], out_incarnation) &&
                        parts[4].size > 0 && leat_string_view_find(parts[4], ';') == SIZE_MAX;
  if (!is_valid) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid  rendezvous key: %.*s",
                            LEAT_SV_ARG(key));
  }
  *out_sender = parts[0];
  return leat_ok_status();
}

leat_status_t leat_rendezvous_table_send(leat_rendezvous_table_t* table, int64_t step_id,
                                         leat_string_view_t key, leat_slot_t value) {
  leat_rendezvous_t* rendezvous;
  leat_status_t status = open_step(table, step_id, &rendezvous);
  if (status) {
    leat_slot_release(&value);
    return status;
  }
  status = rendezvous->vtable->send(rendezvous, leat_rendezvous_text(key), value);
  leat_rendezvous_release(rendezvous);
  return status;
}

bool leat_rendezvous_table_is_empty(leat_rendezvous_table_t* table, int64_t step_id) {
  uint64_t found = 0;
  bool is_empty = true;
  leat_mutex_lock(&table->mutex);
  if (leat_word_map_get(&table->steps, (uint64_t)step_id, &found)) {
    step_rendezvous_t* rendezvous = (step_rendezvous_t*)(uintptr_t)found;
    leat_mutex_lock(&rendezvous->mutex);
    is_empty = !rendezvous->fetches && leat_local_rendezvous_is_empty(rendezvous->local);
    leat_mutex_unlock(&rendezvous->mutex);
  }
  leat_mutex_unlock(&table->mutex);
  return is_empty;
}

bool leat_rendezvous_table_is_over(leat_rendezvous_table_t* table, int64_t step_id) {
  leat_mutex_lock(&table->mutex);
  const bool is_over = leat_word_map_get(&table->over, (uint64_t)step_id, NULL);
  leat_mutex_unlock(&table->mutex);
  return is_over;
}

void leat_rendezvous_table_receive(leat_rendezvous_table_t* table, int64_t step_id,
                                   leat_string_view_t key, leat_rendezvous_receive_fn_t fn,
                                   void* data) {
  leat_rendezvous_t* rendezvous = NULL;
  leat_status_t status = open_step(table, step_id, &rendezvous);
  if (status) {
    fn(data, status, (leat_slot_t){0});
    return;
  }
  leat_rendezvous_t* local = ((step_rendezvous_t*)rendezvous)->local;
  local->vtable->receive(local, leat_rendezvous_text(key), fn, data);
  leat_rendezvous_release(rendezvous);
}

void leat_rendezvous_table_abort(leat_rendezvous_table_t* table, int64_t step_id,
                                 leat_status_t status) {
  leat_rendezvous_t* rendezvous = NULL;
  leat_status_t opened = open_step(table, step_id, &rendezvous);
  if (!opened) rendezvous->vtable->abort(rendezvous, status);
  leat_rendezvous_release(rendezvous);
  leat_status_free(opened);
  leat_status_free(status);
}

// Aborts one step a look, without the table's mutex, until none is left that has not been aborted.
void leat_rendezvous_table_abort_all(leat_rendezvous_table_t* table, leat_status_t status) {
  for (;;) {
    step_rendezvous_t* next = NULL;
    leat_mutex_lock(&table->mutex);
    for (size_t i = 0; i < table->steps.capacity && !next; ++i) {
      if (!table->steps.used[i]) continue;
      step_rendezvous_t* candidate = (step_rendezvous_t*)(uintptr_t)table->steps.values[i];
      leat_mutex_lock(&candidate->mutex);
      if (!candidate->aborted) next = candidate;
      leat_mutex_unlock(&candidate->mutex);
    }
    if (next) leat_rendezvous_retain(&next->base);
    leat_mutex_unlock(&table->mutex);
    if (!next) break;
    next->base.vtable->abort(&next->base, status);
    leat_rendezvous_release(&next->base);
  }
  leat_status_free(status);
}

leat_rendezvous_source_t* leat_rendezvous_table_source(leat_rendezvous_table_t* table) {
  return &table->source;
}

leat_status_t leat_rendezvous_table_create(leat_fetcher_t* fetcher, leat_allocator_t* allocator,
                                           leat_rendezvous_table_t** out_table) {
  leat_rendezvous_table_t* table;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &table));
  table->source = (leat_rendezvous_source_t){source_open, source_close};
  table->allocator = allocator;
  table->fetcher = fetcher;
  leat_mutex_initialize(&table->mutex);
  leat_word_map_initialize(allocator, &table->steps);
  leat_word_map_initialize(allocator, &table->over);
  *out_table = table;
  return leat_ok_status();
}

void leat_rendezvous_table_free(leat_rendezvous_table_t* table) {
  if (!table) return;
  for (size_t i = 0; i < table->steps.capacity; ++i) {
    if (!table->steps.used[i]) continue;
    leat_rendezvous_release(&((step_rendezvous_t*)(uintptr_t)table->steps.values[i])->base);
  }
  leat_word_map_deinitialize(&table->steps);
  leat_word_map_deinitialize(&table->over);
  leat_mutex_deinitialize(&table->mutex);
  leat_allocator_free(table->allocator, table);
}
