// A table from step numbers to rendezvous. The rendezvous of a step is a local one
// (worker/local_rendezvous.h), which keeps values and waiting receivers, with a list of the
// crossings beside it: the values that are being fetched from other tasks or pushed to them. An
// abort ends both: it aborts the local rendezvous and cancels the crossings, whose receivers then
// get the cause of the abort and not that a call was cancelled. Nobody waits for a push, so one
// that fails aborts the step: its receiver would wait for ever, and only this task knows why.
//
// A crossing has two owners, the function that starts it and the callback that ends it, since the
// callback may run before the start has returned. Whoever comes second frees it. The call's handle
// is stored under the mutex only after the call was made; an abort that comes in between is seen by
// the starter, which then cancels the call itself. Whoever cancels a call takes it out of its
// crossing first and holds no mutex, because a call on the plane of values ends while it is
// cancelled.
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

typedef struct crossing_s crossing_t;

typedef struct step_rendezvous_s {
  leat_rendezvous_t base;
  leat_rendezvous_t* local;
  leat_rendezvous_table_t* table;
  int64_t step_id;
  int64_t made_ns;     // when it was first named
  leat_value_exchange_t* exchange;  // the table's, or of the view that opened it for a worker
  leat_mutex_t mutex;  // guards what follows
  leat_status_t aborted;
  crossing_t* crossings;  // under way
} step_rendezvous_t;

struct crossing_s {
  crossing_t* next;
  crossing_t* previous;
  step_rendezvous_t* rendezvous;  // retained
  leat_rendezvous_receive_fn_t fn;
  void* data;
  leat_exchange_call_t call;  // none until the starter has stored it, and once it was cancelled
  bool is_started;        // the starter has returned from making the call
  bool is_ended;          // the callback has run
};

struct leat_rendezvous_table_s {
  leat_rendezvous_source_t source;
  leat_allocator_t* allocator;
  leat_value_exchange_t* exchange;
  leat_mutex_t mutex;     // guards what follows; taken before the mutex of a rendezvous
  leat_word_map_t steps;  // step -> step_rendezvous_t*, retained
  leat_word_map_t over;   // those of |ring|
  int64_t ring[REMEMBERED_STEPS];
  size_t ring_next;
};

// ---- Crossings ----------------------------------------------------------------------------------

static void unlink_crossing(crossing_t* crossing) {
  if (crossing->next) crossing->next->previous = crossing->previous;
  if (crossing->previous) {
    crossing->previous->next = crossing->next;
  } else {
    crossing->rendezvous->crossings = crossing->next;
  }
}

static void free_call(leat_exchange_call_t call) {
  leat_rpc_call_free(call.rpc);
  leat_plane_call_free(call.plane);
}

static void free_crossing(crossing_t* crossing) {
  step_rendezvous_t* rendezvous = crossing->rendezvous;
  free_call(crossing->call);
  leat_allocator_free(rendezvous->table->allocator, crossing);
  leat_rendezvous_release(&rendezvous->base);
}

// A leat_rendezvous_receive_fn_t: the other task has answered.
static void end_crossing(void* data, leat_status_t status, leat_slot_t value) {
  crossing_t* crossing = data;
  step_rendezvous_t* rendezvous = crossing->rendezvous;
  leat_rendezvous_receive_fn_t fn = crossing->fn;
  void* fn_data = crossing->data;
  leat_mutex_lock(&rendezvous->mutex);
  unlink_crossing(crossing);
  if (status && rendezvous->aborted) {
    leat_status_free(status);
    status = leat_status_clone(rendezvous->aborted);
  }
  crossing->is_ended = true;
  const bool frees = crossing->is_started;
  leat_mutex_unlock(&rendezvous->mutex);
  if (frees) free_crossing(crossing);
  fn(fn_data, status, value);
}

// Cancels and frees a call. Not with the mutex held: a call on the plane ends within this.
static void cancel_call(leat_exchange_call_t call) {
  leat_rpc_cancel(call.rpc);
  if (call.plane) leat_plane_cancel(call.plane);
  free_call(call);
}

// The call of the crossing was made.
static void note_call(crossing_t* crossing, leat_exchange_call_t call) {
  step_rendezvous_t* rendezvous = crossing->rendezvous;
  leat_mutex_lock(&rendezvous->mutex);
  crossing->is_started = true;
  const bool frees = crossing->is_ended;
  const bool cancels = !frees && rendezvous->aborted;
  if (!cancels) crossing->call = call;
  leat_mutex_unlock(&rendezvous->mutex);
  if (cancels) cancel_call(call);
  if (frees) free_crossing(crossing);
}

// Takes the call of a crossing, which the caller then cancels. false where there is none.
static bool take_call(step_rendezvous_t* rendezvous, leat_exchange_call_t* out_call) {
  leat_mutex_lock(&rendezvous->mutex);
  crossing_t* crossing = rendezvous->crossings;
  while (crossing && !crossing->call.rpc && !crossing->call.plane) crossing = crossing->next;
  if (crossing) {
    *out_call = crossing->call;
    crossing->call = (leat_exchange_call_t){0};
  }
  leat_mutex_unlock(&rendezvous->mutex);
  return crossing != NULL;
}

static leat_status_t add_crossing(step_rendezvous_t* rendezvous, leat_rendezvous_receive_fn_t fn,
                                  void* data, crossing_t** out_crossing) {
  crossing_t* crossing;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(rendezvous->table->allocator, 1, &crossing));
  *crossing = (crossing_t){.rendezvous = rendezvous, .fn = fn, .data = data};
  leat_mutex_lock(&rendezvous->mutex);
  leat_status_t status =
      rendezvous->aborted ? leat_status_clone(rendezvous->aborted) : leat_ok_status();
  if (!status) {
    leat_rendezvous_retain(&rendezvous->base);
    crossing->next = rendezvous->crossings;
    if (crossing->next) crossing->next->previous = crossing;
    rendezvous->crossings = crossing;
  }
  leat_mutex_unlock(&rendezvous->mutex);
  if (status) {
    leat_allocator_free(rendezvous->table->allocator, crossing);
    return status;
  }
  *out_crossing = crossing;
  return leat_ok_status();
}

static void fetch(step_rendezvous_t* rendezvous, leat_string_view_t key,
                  leat_rendezvous_receive_fn_t fn, void* data) {
  leat_value_exchange_t* exchange = rendezvous->exchange;
  leat_exchange_call_t call = {0};
  crossing_t* crossing;
  leat_status_t status = add_crossing(rendezvous, fn, data, &crossing);
  if (status) {
    fn(data, status, (leat_slot_t){0});
    return;
  }
  exchange->fetch(exchange, rendezvous->step_id, key, end_crossing, crossing, &call);
  note_call(crossing, call);
}

// A leat_rendezvous_receive_fn_t: the value is with the other task, or does not get there.
static void pushed(void* data, leat_status_t status, leat_slot_t value) {
  leat_rendezvous_t* rendezvous = data;
  if (status) rendezvous->vtable->abort(rendezvous, status);
  leat_status_free(status);
  leat_rendezvous_release(rendezvous);
}

static leat_status_t push(step_rendezvous_t* rendezvous, leat_string_view_t key,
                          leat_slot_t value) {
  leat_value_exchange_t* exchange = rendezvous->exchange;
  leat_exchange_call_t call = {0};
  crossing_t* crossing;
  leat_status_t status = add_crossing(rendezvous, pushed, rendezvous, &crossing);
  if (status) {
    leat_slot_release(&value);
    return status;
  }
  leat_rendezvous_retain(&rendezvous->base);  // for |pushed|
  exchange->push(exchange, rendezvous->step_id, key, value, end_crossing, crossing, &call);
  note_call(crossing, call);
  return leat_ok_status();
}

// ---- The rendezvous of a step -------------------------------------------------------------------

static leat_status_t send(leat_rendezvous_t* self, leat_rendezvous_key_t key, leat_slot_t value) {
  step_rendezvous_t* rendezvous = (step_rendezvous_t*)self;
  const leat_value_exchange_t* exchange = rendezvous->exchange;
  if (key.is_pushed && exchange->goes_elsewhere(exchange, key.text)) {
    return push(rendezvous, key.text, value);
  }
  return rendezvous->local->vtable->send(rendezvous->local, key, value);
}

static void receive(leat_rendezvous_t* self, leat_rendezvous_key_t key,
                    leat_rendezvous_receive_fn_t fn, void* data) {
  step_rendezvous_t* rendezvous = (step_rendezvous_t*)self;
  const leat_value_exchange_t* exchange = rendezvous->exchange;
  const bool is_here = key.transfer != LEAT_RENDEZVOUS_NO_TRANSFER || key.is_pushed ||
                       !exchange->comes_from_elsewhere(exchange, key.text);
  if (is_here) {
    rendezvous->local->vtable->receive(rendezvous->local, key, fn, data);
  } else {
    fetch(rendezvous, key.text, fn, data);
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
  for (leat_exchange_call_t call; take_call(rendezvous, &call);) cancel_call(call);
  rendezvous->local->vtable->abort(rendezvous->local, status);
}

// Crossings hold references, so none is under way.
static void destroy(leat_rendezvous_t* self) {
  step_rendezvous_t* rendezvous = (step_rendezvous_t*)self;
  LEAT_DCHECK(!rendezvous->crossings);
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
                                    .exchange = table->exchange,
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
// which needs no exchange.
static leat_status_t view_open(leat_rendezvous_source_t* self, int64_t step_id,
                               leat_rendezvous_t** out_rendezvous) {
  const leat_rendezvous_view_t* view = (const leat_rendezvous_view_t*)self;
  leat_mutex_lock(&view->table->mutex);
  leat_status_t status = find_or_make(view->table, step_id, out_rendezvous);
  if (!status) ((step_rendezvous_t*)*out_rendezvous)->exchange = view->exchange;
  leat_mutex_unlock(&view->table->mutex);
  return status;
}

static void view_close(leat_rendezvous_source_t* self, int64_t step_id) {
  leat_rendezvous_table_close(((leat_rendezvous_view_t*)self)->table, step_id);
}

void leat_rendezvous_view_initialize(leat_rendezvous_table_t* table,
                                     leat_value_exchange_t* exchange,
                                     leat_rendezvous_view_t* out_view) {
  *out_view = (leat_rendezvous_view_t){{view_open, view_close}, table, exchange};
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

// Cuts a key into sender, incarnation, receiver, name, and frame and iteration.
static bool split_key(leat_string_view_t key, leat_string_view_t parts[5]) {
  leat_string_view_t rest = key;
  for (int i = 0; i < 5; ++i) {
    const size_t end = i < 4 ? leat_string_view_find(rest, ';') : rest.size;
    if (end == SIZE_MAX) return false;
    parts[i] = leat_string_view_make(rest.data, end);
    rest = leat_string_view_from_index(rest, end + 1);
  }
  return parts[4].size > 0 && leat_string_view_find(parts[4], ';') == SIZE_MAX;
}

leat_string_view_t leat_rendezvous_key_receiver(leat_string_view_t key) {
  leat_string_view_t parts[5];
  return split_key(key, parts) ? parts[2] : LEAT_SV("");
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
  if (!split_key(key, parts) || !parse_incarnation(parts[1], out_incarnation)) {
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

leat_status_t leat_rendezvous_table_create(leat_value_exchange_t* exchange,
                                           leat_allocator_t* allocator,
                                           leat_rendezvous_table_t** out_table) {
  leat_rendezvous_table_t* table;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &table));
  table->source = (leat_rendezvous_source_t){source_open, source_close};
  table->allocator = allocator;
  table->exchange = exchange;
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
