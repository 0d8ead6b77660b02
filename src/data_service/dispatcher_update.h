// Changes of a dispatcher's state, as its journal has them.
#ifndef LEAT_DATA_SERVICE_DISPATCHER_UPDATE_H_
#define LEAT_DATA_SERVICE_DISPATCHER_UPDATE_H_

#include "data_service/dispatcher_state.h"
#include "formats/generated/data_service_journal.h"

// Which change an update is: its update_type_case.
typedef enum leat_dispatcher_change_e {
  LEAT_CHANGE_REGISTER_DATASET = 1,
  LEAT_CHANGE_CREATE_ITERATION = 2,
  LEAT_CHANGE_CREATE_TASK = 3,
  LEAT_CHANGE_FINISH_TASK = 4,
  LEAT_CHANGE_REGISTER_WORKER = 5,
  LEAT_CHANGE_ACQUIRE_CLIENT = 6,
  LEAT_CHANGE_RELEASE_CLIENT = 7,
  LEAT_CHANGE_PRODUCE_SPLIT = 8,
  LEAT_CHANGE_CREATE_PENDING_TASK = 9,
  LEAT_CHANGE_CLIENT_HEARTBEAT = 10,
  LEAT_CHANGE_REMOVE_TASK = 11,
  LEAT_CHANGE_COLLECT_ITERATION = 12,
  LEAT_CHANGE_CREATE_JOB = 14,
  LEAT_CHANGE_SNAPSHOT = 15,
  LEAT_CHANGE_DISABLE_COMPRESSION = 16,
} leat_dispatcher_change_t;

// Makes the change, or none of it: the first time, or again from a journal, whose every field may
// be wrong. Texts are copied. A new record has the next id of its kind; a dataset has no graph yet,
// an iteration no split providers, a snapshot only its path, and clients and workers were not heard
// of. DATA_LOSS for a change that does not fit the state, and what the checks of dispatcher_state.h
// say of a job or a worker.
LEAT_MUST_USE leat_status_t leat_dispatcher_apply(leat_dispatcher_state_t* state,
                                                  const leat_pb_dispatcher_update_t* update);

// The id that the next record of a table gets.
int64_t leat_data_table_next_id(const leat_data_table_t* table);

// Fills an update that gives |worker| a task: the |index|-th that is given from now on. What it
// points to lies in |arena|, and texts are the worker's.
LEAT_MUST_USE leat_status_t leat_dispatcher_describe_new_task(
    const leat_dispatcher_state_t* state, int64_t iteration_id,
    const leat_data_worker_record_t* worker, int64_t index, leat_arena_t* arena,
    leat_pb_dispatcher_update_t* out_update);

#endif  // LEAT_DATA_SERVICE_DISPATCHER_UPDATE_H_
