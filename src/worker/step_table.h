// What steps leave on a worker until they are cleaned up: the rendezvous of their Sends and Recvs,
// the container that their kernels share, and why they were ended, should it come before their run.
// An abort may overtake the run that it ends, because a transport keeps no order; therefore it is
// remembered here until the master cleans the step up. Most steps leave nothing, and for them the
// table costs one load. All functions may be called from any thread.
#ifndef LEAT_WORKER_STEP_TABLE_H_
#define LEAT_WORKER_STEP_TABLE_H_

#include "base/map.h"
#include "base/sync.h"
#include "kernel/resource.h"
#include "worker/local_rendezvous.h"

#define LEAT_EVERY_STEP 0  // an abort of it is one of every step; no step has the number

// Where the rendezvous of a step come from, if not from the table: values of the step then also
// come from other workers and go to them, and whoever carries them has to find the rendezvous too.
typedef struct leat_rendezvous_source_s {
  // The rendezvous of the step, retained: the same one for all who ask. Called with the mutex of a
  // step table held, so it must not call a worker.
  leat_status_t (*open)(struct leat_rendezvous_source_s* self, int64_t step_id,
                        leat_rendezvous_t** out_rendezvous);
  // The step is over, and will not be asked for again.
  void (*close)(struct leat_rendezvous_source_s* self, int64_t step_id);
} leat_rendezvous_source_t;

typedef struct leat_step_table_s {
  leat_allocator_t* allocator;
  leat_rendezvous_source_t* source;  // NULL: each step has a local rendezvous
  leat_mutex_t mutex;
  leat_word_map_t steps;  // step id -> step_t*
  _Atomic(size_t) count;  // the map's
} leat_step_table_t;

// |source| is borrowed, and may be NULL.
void leat_step_table_initialize(leat_allocator_t* allocator, leat_rendezvous_source_t* source,
                                leat_step_table_t* out_table);
// Releases what steps have left. No step may be running.
void leat_step_table_deinitialize(leat_step_table_t* table);

// false: no step was ended early or has anything here.
static inline bool leat_step_table_has_any(const leat_step_table_t* table) {
  return atomic_load_explicit(&table->count, memory_order_seq_cst) > 0;
}

// The step's rendezvous, made on first need and the caller's to release. It is aborted already when
// its step is.
LEAT_MUST_USE leat_status_t leat_step_table_rendezvous(leat_step_table_t* table, int64_t step_id,
                                                       leat_rendezvous_t** out_rendezvous);
// Leaves a value (taken) in the step's rendezvous under the text |key|, or takes one out: |done| is
// called once, perhaps before this returns.
typedef void (*leat_step_table_done_fn_t)(void* data, leat_status_t status);
LEAT_MUST_USE leat_status_t leat_step_table_send(leat_step_table_t* table, int64_t step_id,
                                                 leat_string_view_t key, leat_slot_t value);
void leat_step_table_receive(leat_step_table_t* table, int64_t step_id, leat_string_view_t key,
                             leat_slot_t* out_value, leat_step_table_done_fn_t done, void* data);
// For a run that begins: its step's rendezvous and the container of step |container_step_id|, each
// where it is wanted (else NULL), made on first need. The container lives until that step is
// forgotten. The rendezvous gets room for |transfer_count| numbered transfers. Returns a clone of
// what the step was ended with before, should it have been.
LEAT_MUST_USE leat_status_t leat_step_table_join(leat_step_table_t* table, int64_t step_id,
                                                 int64_t container_step_id,
                                                 uint32_t transfer_count,
                                                 leat_resource_manager_t** out_resources,
                                                 leat_rendezvous_t** out_rendezvous);
// Remembers a clone of |status|, of which the first counts. Returns the rendezvous that now is to
// be aborted, the caller's to release, or NULL.
leat_rendezvous_t* leat_step_table_abort(leat_step_table_t* table, int64_t step_id,
                                         leat_status_t status);
// Forgets all of the step: releases its rendezvous and ends its container, with the table's lock
// free.
void leat_step_table_forget(leat_step_table_t* table, int64_t step_id);

#endif  // LEAT_WORKER_STEP_TABLE_H_
