// A map from step numbers to what a step has left here. It is behind a mutex and not a spinlock,
// because entries are allocated under it. The usual step leaves nothing and is not looked for: a
// count beside the map says that there is nothing to find (leat_step_table_has_any). A run that
// begins is entered in its worker before it looks here, and an abort is remembered here before it
// goes to the runs under way, so that one of the two always finds the other.
#include "worker/step_table.h"

typedef struct step_s {
  leat_rendezvous_t* rendezvous;
  leat_resource_manager_t* resources;
  leat_status_t aborted;
} step_t;

void leat_step_table_initialize(leat_allocator_t* allocator, leat_rendezvous_source_t* source,
                                leat_step_table_t* out_table) {
  *out_table = (leat_step_table_t){.allocator = allocator, .source = source};
  leat_mutex_initialize(&out_table->mutex);
  leat_word_map_initialize(allocator, &out_table->steps);
}

static void free_step(leat_step_table_t* table, step_t* step) {
  leat_rendezvous_release(step->rendezvous);
  leat_resource_manager_free(step->resources);
  leat_status_free(step->aborted);
  leat_allocator_free(table->allocator, step);
}

// The map keeps no list of its entries, so every place of it is looked at.
void leat_step_table_deinitialize(leat_step_table_t* table) {
  for (size_t i = 0; i < table->steps.capacity; ++i) {
    if (table->steps.used[i]) free_step(table, (step_t*)(uintptr_t)table->steps.values[i]);
  }
  leat_word_map_deinitialize(&table->steps);
  leat_mutex_deinitialize(&table->mutex);
}

// ---- With the mutex held ------------------------------------------------------------------------

static step_t* find_step(const leat_step_table_t* table, int64_t step_id) {
  uint64_t value;
  if (!leat_word_map_get(&table->steps, (uint64_t)step_id, &value)) return NULL;
  return (step_t*)(uintptr_t)value;
}

static leat_status_t find_or_make_step(leat_step_table_t* table, int64_t step_id,
                                       step_t** out_step) {
  *out_step = find_step(table, step_id);
  if (*out_step) return leat_ok_status();
  step_t* step;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(table->allocator, 1, &step));
  leat_status_t status =
      leat_word_map_set(&table->steps, (uint64_t)step_id, (uint64_t)(uintptr_t)step);
  if (status) {
    leat_allocator_free(table->allocator, step);
    return status;
  }
  LEAT_DCHECK(find_step(table, step_id) == step);
  table->count = table->steps.count;
  *out_step = step;
  return leat_ok_status();
}

// Borrows the status that the step, or every step, was aborted with; NULL where there was no abort.
static leat_status_t abort_of(const leat_step_table_t* table, int64_t step_id) {
  const int64_t ids[] = {step_id, LEAT_EVERY_STEP};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(ids); ++i) {
    const step_t* step = find_step(table, ids[i]);
    if (step && step->aborted) return step->aborted;
  }
  return NULL;
}

static leat_status_t open_rendezvous(leat_step_table_t* table, int64_t step_id,
                                     leat_rendezvous_t** out_rendezvous) {
  leat_rendezvous_source_t* source = table->source;
  return source ? source->open(source, step_id, out_rendezvous)
                : leat_local_rendezvous_create(table->allocator, out_rendezvous);
}

// A rendezvous that is made after the abort of its step is born aborted, so that a transfer which
// comes too late fails instead of waiting.
static leat_status_t find_or_make_rendezvous(leat_step_table_t* table, int64_t step_id,
                                             uint32_t transfer_count,
                                             leat_rendezvous_t** out_rendezvous) {
  step_t* step;
  LEAT_RETURN_IF_ERROR(find_or_make_step(table, step_id, &step));
  if (!step->rendezvous) {
    LEAT_RETURN_IF_ERROR(open_rendezvous(table, step_id, &step->rendezvous));
    leat_status_t aborted = abort_of(table, step_id);
    if (aborted) step->rendezvous->vtable->abort(step->rendezvous, aborted);
  }
  LEAT_RETURN_IF_ERROR(step->rendezvous->vtable->reserve(step->rendezvous, transfer_count));
  *out_rendezvous = step->rendezvous;
  leat_rendezvous_retain(step->rendezvous);
  return leat_ok_status();
}

static leat_status_t find_or_make_resources(leat_step_table_t* table, int64_t step_id,
                                            leat_resource_manager_t** out_resources) {
  step_t* step;
  LEAT_RETURN_IF_ERROR(find_or_make_step(table, step_id, &step));
  if (!step->resources) {
    LEAT_RETURN_IF_ERROR(leat_resource_manager_create(table->allocator, &step->resources));
  }
  LEAT_DCHECK(step->resources);
  *out_resources = step->resources;
  return leat_ok_status();
}

// ---- The table ----------------------------------------------------------------------------------

leat_status_t leat_step_table_rendezvous(leat_step_table_t* table, int64_t step_id,
                                         leat_rendezvous_t** out_rendezvous) {
  leat_mutex_lock(&table->mutex);
  leat_status_t status = find_or_make_rendezvous(table, step_id, 0, out_rendezvous);
  leat_mutex_unlock(&table->mutex);
  return status;
}

leat_status_t leat_step_table_join(leat_step_table_t* table, int64_t step_id,
                                   int64_t container_step_id, uint32_t transfer_count,
                                   leat_resource_manager_t** out_resources,
                                   leat_rendezvous_t** out_rendezvous) {
  leat_mutex_lock(&table->mutex);
  leat_status_t status = abort_of(table, step_id);
  if (status) status = leat_status_clone(status);
  if (!status && out_resources) {
    status = find_or_make_resources(table, container_step_id, out_resources);
  }
  if (!status && out_rendezvous) {
    status = find_or_make_rendezvous(table, step_id, transfer_count, out_rendezvous);
  }
  leat_mutex_unlock(&table->mutex);
  return status;
}

// The first abort counts, as it does for the step's status (master/step.c); later ones are mostly
// its consequences.
leat_rendezvous_t* leat_step_table_abort(leat_step_table_t* table, int64_t step_id,
                                         leat_status_t status) {
  leat_rendezvous_t* rendezvous = NULL;
  step_t* step;
  leat_mutex_lock(&table->mutex);
  leat_status_t remembered = find_or_make_step(table, step_id, &step);
  if (remembered) {
    leat_status_free(remembered);  // no memory to remember it: running ones still end
  } else if (!step->aborted) {
    step->aborted = leat_status_clone(status);
    rendezvous = step->rendezvous;
    if (rendezvous) leat_rendezvous_retain(rendezvous);
  }
  leat_mutex_unlock(&table->mutex);
  return rendezvous;
}

// The step is freed without the mutex, because releasing resources runs code of their kinds, of
// which this table knows nothing.
void leat_step_table_forget(leat_step_table_t* table, int64_t step_id) {
  leat_mutex_lock(&table->mutex);
  step_t* step = find_step(table, step_id);
  if (step) leat_word_map_erase(&table->steps, (uint64_t)step_id);
  table->count = table->steps.count;
  leat_mutex_unlock(&table->mutex);
  if (table->source) table->source->close(table->source, step_id);
  if (step) free_step(table, step);
}

// ---- Values that come and go from outside the step's graphs -------------------------------------

typedef struct reception_s {
  leat_slot_t* out_value;
  leat_step_table_done_fn_t done;
  void* data;
  leat_allocator_t* allocator;
} reception_t;

static void received(void* data, leat_status_t status, leat_slot_t value) {
  reception_t reception = *(reception_t*)data;
  leat_allocator_free(reception.allocator, data);
  if (!status) *reception.out_value = value;
  reception.done(reception.data, status);
}

void leat_step_table_receive(leat_step_table_t* table, int64_t step_id, leat_string_view_t key,
                             leat_slot_t* out_value, leat_step_table_done_fn_t done, void* data) {
  leat_rendezvous_t* rendezvous = NULL;
  reception_t* reception = NULL;
  leat_status_t status = leat_step_table_rendezvous(table, step_id, &rendezvous);
  if (!status) status = LEAT_ALLOCATE(table->allocator, 1, &reception);
  if (status) {
    done(data, status);
  } else {
    *reception = (reception_t){out_value, done, data, table->allocator};
    rendezvous->vtable->receive(rendezvous, leat_rendezvous_text(key), received, reception);
  }
  leat_rendezvous_release(rendezvous);
}

leat_status_t leat_step_table_send(leat_step_table_t* table, int64_t step_id,
                                   leat_string_view_t key, leat_slot_t value) {
  leat_rendezvous_t* rendezvous;
  leat_status_t status = leat_step_table_rendezvous(table, step_id, &rendezvous);
  if (status) {
    leat_slot_release(&value);
    return status;
  }
  status = rendezvous->vtable->send(rendezvous, leat_rendezvous_text(key), value);
  leat_rendezvous_release(rendezvous);
  return status;
}
