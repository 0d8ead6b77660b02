// What a dispatcher knows: datasets, workers, jobs, the iterations of jobs, tasks and clients.
//
//   dataset ◀── job ◀── iteration (one for each repetition) ◀── task (one for each worker)
//                              ▲                                  │
//                              └── client                         └──▶ worker
//
// A record lives as long as the state, and never moves, as TensorFlow's dispatcher keeps its own;
// what a client gives up is only marked. Ids count up from a number of their own for each kind, so
// that a record is found by its id in an array. Nothing here locks: the dispatcher's mutex is held.
//
// Whoever changes the state does so by leat_dispatcher_apply (dispatcher_update.h), since each
// change may have to be made again from a journal. What a request must fulfil is checked before, by
// functions that change nothing.
#ifndef LEAT_DATA_SERVICE_DISPATCHER_STATE_H_
#define LEAT_DATA_SERVICE_DISPATCHER_STATE_H_

#include "base/arena.h"
#include "base/map.h"
#include "formats/generated/data_service.h"

// The last round in which a task of a coordinated read may begin: nobody reads so many elements.
#define LEAT_DATA_MOST_ROUNDS (INT64_MAX / 2)

// Whether the elements of a dataset go over the wire as they are, though they were registered as
// compressed: the first client that asks decides for all.
typedef enum leat_data_compression_e {
  LEAT_DATA_COMPRESSION_OPEN,  // nobody has asked
  LEAT_DATA_COMPRESSION_KEPT,
  LEAT_DATA_COMPRESSION_DISABLED,
} leat_data_compression_t;

typedef struct leat_data_dataset_s {
  leat_string_view_t id;
  leat_pb_dataset_def_t def;  // its graph never changes
  leat_pb_data_service_metadata_t metadata;
  leat_data_compression_t compression;
} leat_data_dataset_t;

typedef struct leat_data_worker_record_s {
  struct leat_data_worker_record_s* next;
  leat_string_view_t address;
  leat_pb_string_list_t tags;
  leat_pb_data_transfer_server_info_list_t transfer_servers;
  int64_t uid;
  int64_t index;         // among the addresses that the dispatcher was given; -1: none of them
  int64_t heard_of_ns;   // its last heartbeat
  bool is_lost;          // it was silent for too long, and somebody was told
  struct leat_data_task_s* tasks;  // those that are not finished
  struct leat_rpc_channel_s* channel;  // of the dispatcher, who frees it
} leat_data_worker_record_t;

typedef struct leat_data_job_s {
  int64_t id;
  leat_string_view_t name;
  leat_data_dataset_t* dataset;
  int32_t sharding_policy, target_workers;
  bool is_coordinated;    // its clients read in rounds, in which each of |num_consumers| gets one
  int64_t num_consumers;  // element
  bool uses_cross_trainer_cache;
  struct leat_data_iteration_s* iterations;
} leat_data_job_t;

// A task that waits until all consumers of its iteration have agreed on the round in which they
// read it first.
typedef struct leat_data_pending_task_s {
  struct leat_data_pending_task_s* next;
  struct leat_data_task_s* task;
  int64_t target_round, failures, ready_count;
} leat_data_pending_task_t;

// How far the splits of one source of a dynamic iteration have been given out: |count| of the pass
// number |repetition|.
typedef struct leat_split_position_s {
  int64_t repetition, count;
} leat_split_position_t;

typedef struct leat_data_iteration_s {
  struct leat_data_iteration_s* next;  // of the job
  int64_t id, repetition;
  leat_data_job_t* job;
  int64_t client_count;
  int64_t released_ns;  // when its last client went; below 0: none has gone yet
  int64_t round;        // the highest that a consumer has told
  bool is_finished, is_collected;
  struct leat_data_task_s *tasks, **last_task;  // in the order in which clients may read them
  leat_data_pending_task_t* pending;
  int64_t source_count;              // of a dynamic iteration; 0 of others
  leat_split_position_t* positions;  // [source_count]
  struct leat_split_providers_s* providers;  // of a dynamic iteration; of the dispatcher
} leat_data_iteration_t;

typedef struct leat_data_task_s {
  struct leat_data_task_s* next;         // of the iteration
  struct leat_data_task_s* next_of_worker;
  int64_t id;
  leat_data_iteration_t* iteration;
  leat_data_worker_record_t* worker;
  int64_t starting_round;
  bool is_finished, is_removed;
  struct leat_task_removal_s* removal;  // of the dispatcher; NULL: no consumer asks for it
} leat_data_task_t;

// A snapshot that workers write together.
typedef struct leat_data_snapshot_s {
  leat_string_view_t path;
  struct leat_snapshot_s* snapshot;  // of the dispatcher
} leat_data_snapshot_t;

typedef struct leat_data_client_s {
  int64_t id;
  leat_data_iteration_t* iteration;  // NULL: it was released
  int64_t heard_of_ns;               // LEAT_DEADLINE_NEVER before its first heartbeat
  // It has stopped for this task, when the consumers had failed to agree so many times.
  const leat_data_pending_task_t* ready_for;
  int64_t ready_attempt;
} leat_data_client_t;

// Records by their id.
typedef struct leat_data_table_s {
  int64_t first_id;
  void** items;
  size_t count, capacity;
} leat_data_table_t;

typedef struct leat_dispatcher_state_s {
  leat_allocator_t* allocator;
  leat_arena_t arena;  // all records and their texts
  leat_string_map_t datasets, jobs_by_name, workers_by_address, snapshots;
  leat_data_table_t jobs, iterations, clients, tasks;
  int64_t next_dataset_id;
  leat_data_worker_record_t *workers, **last_worker;  // in the order in which they came
  size_t worker_count;
  leat_pb_string_list_t worker_addresses;  // that it was given: "host:port", "host", "host:%port%"
} leat_dispatcher_state_t;

// |worker_addresses| are copied; none: any worker may come, and no job may shard statically.
LEAT_MUST_USE leat_status_t leat_dispatcher_state_initialize(
    leat_allocator_t* allocator, const leat_pb_string_list_t* worker_addresses,
    leat_dispatcher_state_t* out_state);
void leat_dispatcher_state_deinitialize(leat_dispatcher_state_t* state);

// ---- Datasets -----------------------------------------------------------------------------------

// NOT_FOUND where there is none.
LEAT_MUST_USE leat_status_t leat_dispatcher_find_dataset(const leat_dispatcher_state_t* state,
                                                         leat_string_view_t id,
                                                         leat_data_dataset_t** out_dataset);
// Finds the dataset that a client registers as |id|; NULL where it is new. INVALID_ARGUMENT where
// there is one with that id whose elements are of other types or compressed otherwise.
LEAT_MUST_USE leat_status_t leat_dispatcher_match_dataset(
    const leat_dispatcher_state_t* state, leat_string_view_t id,
    const leat_pb_data_service_metadata_t* metadata, leat_data_dataset_t** out_dataset);
// An id that no dataset has.
LEAT_MUST_USE leat_status_t leat_dispatcher_make_dataset_id(const leat_dispatcher_state_t* state,
                                                            leat_arena_t* arena,
                                                            leat_string_view_t* out_id);
// Adds the dataset |id|, which is not there. The graph and the metadata are copied.
LEAT_MUST_USE leat_status_t leat_dispatcher_add_dataset(
    leat_dispatcher_state_t* state, leat_string_view_t id, leat_string_view_t graph,
    const leat_pb_data_service_metadata_t* metadata, leat_data_dataset_t** out_dataset);

// ---- Workers ------------------------------------------------------------------------------------

// NULL where there is none.
leat_data_worker_record_t* leat_dispatcher_find_worker(const leat_dispatcher_state_t* state,
                                                       leat_string_view_t address);
// FAILED_PRECONDITION where the dispatcher was given addresses and |address| is none of them, or
// another worker's.
LEAT_MUST_USE leat_status_t leat_dispatcher_check_worker(const leat_dispatcher_state_t* state,
                                                         leat_string_view_t address);
// Adds the worker that |request| comes from, which is not there and was checked.
LEAT_MUST_USE leat_status_t leat_dispatcher_add_worker(
    leat_dispatcher_state_t* state, const leat_pb_worker_heartbeat_request_t* request,
    leat_data_worker_record_t** out_worker);

// ---- Jobs and iterations ------------------------------------------------------------------------

LEAT_MUST_USE leat_status_t leat_dispatcher_find_job(const leat_dispatcher_state_t* state,
                                                     int64_t id, leat_data_job_t** out_job);
// Finds the job of the name that |request| states; NULL where there is none, or no name is stated,
// and the job may be added. INVALID_ARGUMENT where a job of that name was made otherwise, INTERNAL
// for a sharding policy that there is not, NOT_FOUND for such a dataset.
LEAT_MUST_USE leat_status_t leat_dispatcher_match_job(
    const leat_dispatcher_state_t* state, const leat_pb_get_or_create_job_request_t* request,
    leat_data_job_t** out_job);
// A name that no job has.
LEAT_MUST_USE leat_status_t leat_dispatcher_make_job_name(const leat_dispatcher_state_t* state,
                                                          leat_arena_t* arena,
                                                          leat_string_view_t* out_name);
// Adds the job of |request|, which states a name, is not there and was checked.
LEAT_MUST_USE leat_status_t leat_dispatcher_add_job(
    leat_dispatcher_state_t* state, const leat_pb_get_or_create_job_request_t* request,
    leat_data_job_t** out_job);
LEAT_MUST_USE leat_status_t leat_dispatcher_find_iteration(const leat_dispatcher_state_t* state,
                                                           int64_t id,
                                                           leat_data_iteration_t** out_iteration);
// The iteration of |job| for |repetition| that is there and was not collected; NULL where there is
// none.
leat_data_iteration_t* leat_data_job_find_iteration(const leat_data_job_t* job,
                                                    int64_t repetition);
// |source_count|: of the sources whose splits it gives out.
LEAT_MUST_USE leat_status_t leat_dispatcher_add_iteration(leat_dispatcher_state_t* state,
                                                          leat_data_job_t* job, int64_t repetition,
                                                          int64_t source_count,
                                                          leat_data_iteration_t** out_iteration);
bool leat_data_job_is_dynamic(const leat_data_job_t* job);
// Marks an iteration that nobody reads, and its tasks, as finished.
void leat_data_iteration_collect(leat_data_iteration_t* iteration);

// ---- Tasks --------------------------------------------------------------------------------------

LEAT_MUST_USE leat_status_t leat_dispatcher_find_task(const leat_dispatcher_state_t* state,
                                                      int64_t id, leat_data_task_t** out_task);
// Adds a task of |iteration| for |worker|, which clients may read from now on.
LEAT_MUST_USE leat_status_t leat_dispatcher_add_task(leat_dispatcher_state_t* state,
                                                     leat_data_iteration_t* iteration,
                                                     leat_data_worker_record_t* worker,
                                                     leat_data_task_t** out_task);
// The same, but the consumers must first agree when: in |round|, if they can.
LEAT_MUST_USE leat_status_t leat_dispatcher_add_pending_task(leat_dispatcher_state_t* state,
                                                             leat_data_iteration_t* iteration,
                                                             leat_data_worker_record_t* worker,
                                                             int64_t round);
// The iteration is finished with its last task.
void leat_data_task_finish(leat_data_task_t* task);
// Its worker is gone, and all consumers agree to read without it.
void leat_data_task_remove(leat_data_task_t* task);

// ---- Clients ------------------------------------------------------------------------------------

LEAT_MUST_USE leat_status_t leat_dispatcher_add_client(leat_dispatcher_state_t* state,
                                                       leat_data_iteration_t* iteration,
                                                       leat_data_client_t** out_client);
// NOT_FOUND where there is none, or it was released.
LEAT_MUST_USE leat_status_t leat_dispatcher_find_client(const leat_dispatcher_state_t* state,
                                                        int64_t id,
                                                        leat_data_client_t** out_client);
void leat_data_client_release(leat_data_client_t* client, int64_t now_ns);
// Notes the round that a consumer tells, and says what its heartbeat changes of the pending task of
// its iteration. Where the consumer has already reached the task's round, the task moves:
// |*out_round| is then the new one, or else -1. |*out_stops|: the consumer has stopped for it.
void leat_data_client_judge_rounds(leat_data_client_t* client,
                                   const leat_pb_client_heartbeat_request_t* request,
                                   int64_t* out_round, bool* out_stops);
// Makes that change of the pending task, which there must be. The task may be read from its round
// on when all consumers have stopped.
void leat_data_client_apply_rounds(leat_data_client_t* client, int64_t round, bool stops);

#endif  // LEAT_DATA_SERVICE_DISPATCHER_STATE_H_
