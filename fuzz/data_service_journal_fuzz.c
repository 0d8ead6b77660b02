// The journal of a data service's dispatcher, replayed. An even first byte: the rest is a file of
// records. An odd one: the rest is changes, each behind a byte with its size, so that no checksum
// stands between the fuzzer and the tables. At the end every record that the state has is visited.
#include "data_service/dispatcher_update.h"
#include "data_service/journal.h"
#include "formats/wire/decode.h"

static leat_status_t apply(void* data, const leat_pb_dispatcher_update_t* update) {
  return leat_dispatcher_apply(data, update);
}

static void apply_bytes(leat_dispatcher_state_t* state, leat_string_view_t bytes) {
  leat_pb_dispatcher_update_t update;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_status_t status =
      leat_message_decode(&leat_pb_dispatcher_update_descriptor, bytes, &arena, NULL, &update);
  if (!status) status = leat_dispatcher_apply(state, &update);
  leat_status_free(status);
  leat_arena_deinitialize(&arena);
}

// Whether the lists end where they say that they do, and each task is its iteration's.
static void visit(const leat_dispatcher_state_t* state) {
  size_t workers = 0;
  for (leat_data_worker_record_t* w = state->workers; w; w = w->next) {
    ++workers;
    for (leat_data_task_t* t = w->tasks; t; t = t->next_of_worker) {
      if (t->worker != w || t->is_removed) __builtin_trap();
    }
  }
  if (workers != state->worker_count) __builtin_trap();
  for (size_t i = 0; i < state->iterations.count; ++i) {
    const leat_data_iteration_t* iteration = state->iterations.items[i];
    leat_data_task_t* const* last = &iteration->tasks;
    for (; *last; last = &(*last)->next) {
      if ((*last)->iteration != iteration) __builtin_trap();
    }
    if (last != iteration->last_task || iteration->client_count < 0) __builtin_trap();
    for (int64_t k = 0; k < iteration->source_count; ++k) {
      if (iteration->positions[k].count < 0) __builtin_trap();
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const leat_pb_string_list_t none = {0};
  leat_dispatcher_state_t state;
  size_t whole_bytes;
  if (size == 0) return 0;
  leat_status_t status = leat_dispatcher_state_initialize(leat_allocator_system(), &none, &state);
  if (status) {
    leat_status_free(status);
    return 0;
  }
  if (data[0] % 2 == 0) {
    const leat_string_view_t bytes = leat_string_view_make((const char*)data + 1, size - 1);
    leat_status_free(leat_journal_read(bytes, data[0] & 2, apply, &state, &whole_bytes));
  } else {
    for (size_t begin = 2; begin <= size;) {
      const size_t left = size - begin, wanted = data[begin - 1];
      const size_t length = wanted < left ? wanted : left;
      apply_bytes(&state, leat_string_view_make((const char*)data + begin, length));
      begin += length + 1;
    }
  }
  visit(&state);
  leat_dispatcher_state_deinitialize(&state);
  return 0;
}
