// A dispatcher that is started again after every call, beside one that never is: whoever asks must
// not be able to tell the two apart. The calls are those of two workers and of clients of dynamic,
// static and coordinated jobs, made as functions, without a network; their answers are compared as
// bytes. Then the journal that the calls left is cut in many places: a dispatcher starts
// from each such beginning, with every iteration that goes on shared out to all workers. At last
// journals that no dispatcher has written are refused, and a full disk refuses changes and makes
// none of them; and times go on. data_server_test.c has the calls over a network.
#include "data_service/dispatcher.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file_system_faulty.h"
#include "base/test.h"
#include "data_service/dispatcher_record.h"
#include "data_service/journal.h"
#include "formats/generated/graph.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"
#include "init.h"
#include "scratch.h"

#define JOURNAL "work/tf_data_dispatcher_journal"

// ---- Calls --------------------------------------------------------------------------------------

// A call with its message as text, so that scenes read as lists.
typedef struct step_s {
  const char* method;  // with a '+' before it: the dispatcher is not started again behind it
  const char* message;
} step_t;

static leat_dispatcher_t* start_in(const char* work_dir, bool is_fault_tolerant,
                                   leat_file_system_t* fs) {
  const leat_runtime_t* runtime;
  leat_dispatcher_t* dispatcher;
  LEAT_EXPECT_OK(leat_runtime_get(&runtime));
  const leat_dispatcher_options_t options = {.runtime = runtime,
                                             .work_dir = leat_string_view_from(work_dir),
                                             .is_fault_tolerant = is_fault_tolerant,
                                             .file_system = fs,
                                             .gc_timeout_ms = -1};
  LEAT_EXPECT_OK(leat_dispatcher_create(&options, &dispatcher));
  return dispatcher;
}

// Removes what a dispatcher has left in "work".
static void empty_directory(void) {
  char name[80];
  for (int i = 0; i < 100; ++i) {
    snprintf(name, sizeof name, JOURNAL "/journal_%d", i);
    remove(name);
  }
}

// The GraphDef of zip(range(4), range(count)) as bytes, in a field of a message in text.
static void print_graph(int count, char* out_text, size_t size) {
  static const char kNumber[] =
      "node { name: '%s' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } attr { key: "
      "'value' value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: %d } } } } ";
  static const char kRange[] =
      "node { name: '%s' op: 'RangeDataset' input: 'n0' input: '%s' input: 'n1' attr { key: "
      "'output_types' value { list { type: DT_INT64 } } } attr { key: 'output_shapes' value { list "
      "{ shape { } } } } } ";
  char text[4096];
  int end = 0;
  const int numbers[] = {0, 1, 4, count};
  for (int i = 0; i < 4; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    end += snprintf(text + end, sizeof text - (size_t)end, kNumber, name, numbers[i]);
  }
  end += snprintf(text + end, sizeof text - (size_t)end, kRange, "a", "n2");
  end += snprintf(text + end, sizeof text - (size_t)end, kRange, "b", "n3");
  snprintf(text + end, sizeof text - (size_t)end,
           "node { name: 'zip' op: 'ZipDataset' input: 'a' input: 'b' attr { key: 'N' value { i: 2 "
           "} } attr { key: 'output_types' value { list { type: DT_INT64 type: DT_INT64 } } } attr "
           "{ key: 'output_shapes' value { list { shape { } shape { } } } } } node { name: 'ret' "
           "op: '_Retval' input: 'zip' attr { key: 'T' value { type: DT_VARIANT } } attr { key: "
           "'index' value { i: 0 } } }");
  leat_arena_t arena;
  leat_pb_graph_def_t def;
  leat_string_builder_t bytes;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_text_parse(&leat_pb_graph_def_descriptor, leat_string_view_from(text),
                                 &arena, &def));
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &def, &bytes));
  const leat_string_view_t view = leat_string_builder_view(&bytes);
  end = 0;
  for (size_t i = 0; i < view.size; ++i) {
    end += snprintf(out_text + end, size - (size_t)end, "\\%03o", (unsigned char)view.data[i]);
  }
  assert_true((size_t)end + 1 < size);
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
}

static const leat_data_method_t* find_method(const char* name) {
  const leat_data_method_t* method = leat_dispatcher_methods;
  while (method->name && strcmp(method->name, name)) ++method;
  assert_non_null(method->name);
  return method;
}

// Makes the call; |out_answer| gets the code and the answer's bytes. "%s" in the message is the
// graph.
static leat_status_code_t call(leat_dispatcher_t* dispatcher, const step_t* step,
                               const char* graph, leat_string_builder_t* out_answer) {
  static char text[20000];
  const leat_data_method_t* method = find_method(step->method + (step->method[0] == '+'));
  leat_data_call_t call = {0};
  void *message = NULL, *answer = NULL;
  const char* hole = strstr(step->message, "%s");
  const int before = hole ? (int)(hole - step->message) : (int)strlen(step->message);
  snprintf(text, sizeof text, "%.*s%s%s", before, step->message, hole ? graph : "",
           hole ? hole + 2 : "");
  leat_arena_initialize(leat_allocator_system(), 0, &call.arena);
  leat_string_builder_initialize(leat_allocator_system(), &call.answer);
  if (method->request) {
    LEAT_EXPECT_OK(leat_arena_allocate_array(&call.arena, 1, method->request->size_bytes,
                                             &message));
    LEAT_EXPECT_OK(leat_text_parse(method->request, leat_string_view_from(text), &call.arena,
                                   message));
  }
  if (method->answer) {
    LEAT_EXPECT_OK(
        leat_arena_allocate_array(&call.arena, 1, method->answer->size_bytes, &answer));
  }
  leat_status_t status = method->serve(dispatcher, &call, message, answer);
  const leat_status_code_t code = leat_status_code(status);
  leat_string_builder_print(out_answer, "%s ", leat_status_code_name(code));
  if (!status && method->answer) {
    LEAT_EXPECT_OK(leat_message_encode(method->answer, answer, out_answer));
  }
  leat_status_free(status);
  leat_string_builder_deinitialize(&call.answer);
  leat_arena_deinitialize(&call.arena);
  return code;
}

// ---- The scene ----------------------------------------------------------------------------------

#define WORKER(address, tasks)                                                             \
  {"WorkerHeartbeat", "worker_address: '" address "' worker_tags: 't' worker_uid: 7 "      \
                      "transfer_servers { protocol: 'grpc' address: '" address "' } " tasks}
#define SPLIT(iteration, index, repetition)                                          \
  {"GetSplit", "iteration_id: " #iteration " split_provider_index: " #index " repetition: " \
               #repetition}
#define CLIENT(id, rounds) {"ClientHeartbeat", "iteration_client_id: " #id " " rounds}

static const step_t kScene[] = {
    {"GetVersion", ""},
    WORKER("localhost:1", ""),
    {"GetOrRegisterDataset", "dataset { graph: \"%s\" } metadata { element_spec: 'spec' "
                             "compression: COMPRESSION_SNAPPY cardinality: 4 }"},
    {"GetOrRegisterDataset", "dataset { graph: \"%s\" } dataset_id: 'mine'"},
    {"GetOrRegisterDataset", "dataset { graph: \"%s\" } dataset_id: 'mine'"},
    {"GetOrRegisterDataset", "dataset { graph: \"%s\" } dataset_id: '1001'"},
    {"GetOrRegisterDataset", "dataset { graph: \"%s\" } dataset_id: '../1001'"},
    {"GetOrRegisterDataset", "dataset { graph: \"%s\" }"},
    {"GetDataServiceMetadata", "dataset_id: '1000'"},
    {"DisableCompressionAtRuntime", "dataset_id: '1000' disable_compression_at_runtime: true"},
    {"DisableCompressionAtRuntime", "dataset_id: '1000'"},
    {"DisableCompressionAtRuntime", "dataset_id: 'mine'"},
    // A dynamic job: its splits, and a pass that one source begins while the other is at its first.
    {"GetOrCreateJob", "dataset_id: '1000' processing_mode_def { sharding_policy: DYNAMIC } "
                       "job_name: 'dynamic' target_workers: TARGET_WORKERS_AUTO"},
    {"GetOrCreateIteration", "job_id: 5000"},
    {"GetOrCreateIteration", "job_id: 5000"},
    WORKER("localhost:1", ""),
    WORKER("localhost:2", ""),
    CLIENT(3000, ""),
    SPLIT(2000, 0, 0),
    SPLIT(2000, 1, 0),
    SPLIT(2000, 0, 0),
    SPLIT(2000, 1, 0),
    SPLIT(2000, 1, 0),
    SPLIT(2000, 1, 0),
    SPLIT(2000, 1, 1),
    SPLIT(2000, 1, 0),
    SPLIT(2000, 1, 3),
    SPLIT(2000, 1, 3),
    SPLIT(2000, 2, 0),
    SPLIT(2000, 0, -1),
    SPLIT(2000, 0, 0),
    SPLIT(2000, 0, 0),
    SPLIT(2000, 0, 0),
    SPLIT(2000, 0, 0),
    {"GetOrCreateJob", "dataset_id: '1000' processing_mode_def { sharding_policy: DYNAMIC } "
                       "job_name: 'dynamic' target_workers: TARGET_WORKERS_ANY"},
    // Tasks end, and an iteration with its last one.
    {"WorkerUpdate", "updates { task_id: 4000 completed: true } updates { task_id: 4001 }"},
    WORKER("localhost:1", "current_tasks: 4000"),
    CLIENT(3000, ""),
    {"WorkerUpdate", "updates { task_id: 4001 completed: true } updates { task_id: 4001 "
                     "completed: true }"},
    CLIENT(3001, ""),
    SPLIT(2000, 0, 1),
    {"ReleaseIterationClient", "iteration_client_id: 3000"},
    {"ReleaseIterationClient", "iteration_client_id: 3000"},
    CLIENT(3000, ""),
    {"GetOrCreateIteration", "job_id: 5000 repetition: 1"},
    SPLIT(2001, 0, 0),
    // A coordinated job: a task is removed, and its worker waits for a round.
    {"GetOrCreateJob", "dataset_id: 'mine' num_consumers: 1 job_name: 'rounds' "
                       "use_cross_trainer_cache: false"},
    {"GetOrCreateIteration", "job_id: 5001"},
    CLIENT(3003, "current_round: 5"),
    {"MaybeRemoveTask", "task_id: 4004 round: 6"},
    {"MaybeRemoveTask", "task_id: 4004 round: 6"},
    // Rounds are not in the journal: the next worker's would be tried in round 1, and moved on.
    {"+ClientHeartbeat", "iteration_client_id: 3003 current_round: 6"},
    WORKER("localhost:1", ""),
    CLIENT(3003, "current_round: 6"),
    CLIENT(3003, "current_round: 9"),
    CLIENT(3003, "current_round: 12 blocked_round: 11"),
    CLIENT(3003, "current_round: 13"),
    // A job without a name, which nobody divides.
    {"GetOrCreateJob", "dataset_id: '1002' use_cross_trainer_cache: true"},
    {"GetOrCreateIteration", "job_id: 5002 repetition: 3"},
    CLIENT(3004, ""),
    WORKER("localhost:3", ""),
    WORKER("localhost:2", "current_tasks: 4000 current_tasks: 4005"),
    CLIENT(3004, ""),
    {"GetOrCreateIteration", "job_id: 5003"},
    {"GetWorkers", ""},
    {"GetDatasetDef", "dataset_id: '1002'"},
};

static void nobody_notices_that_it_was_started_again(void** state) {
  static char graph[16000];
  print_graph(3, graph, sizeof graph);
  empty_directory();
  leat_dispatcher_t* steady = start_in("work", false, NULL);
  leat_dispatcher_t* restless = start_in("work", true, NULL);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kScene); ++i) {
    leat_string_builder_t answers[2];
    for (int k = 0; k < 2; ++k) {
      leat_string_builder_initialize(leat_allocator_system(), &answers[k]);
    }
    call(steady, &kScene[i], graph, &answers[0]);
    call(restless, &kScene[i], graph, &answers[1]);
    if (!leat_string_view_equal(leat_string_builder_view(&answers[0]),
                                leat_string_builder_view(&answers[1]))) {
      print_error("step %zu: %s: '%.*s' and '%.*s'\n", i, kScene[i].method,
                  LEAT_SV_ARG(leat_string_builder_view(&answers[0])),
                  LEAT_SV_ARG(leat_string_builder_view(&answers[1])));
      fail();
    }
    for (int k = 0; k < 2; ++k) leat_string_builder_deinitialize(&answers[k]);
    if (kScene[i].method[0] == '+') continue;
    leat_dispatcher_free(restless);
    restless = start_in("work", true, NULL);
  }
  leat_dispatcher_free(steady);
  leat_dispatcher_free(restless);
}

// ---- Snapshots ----------------------------------------------------------------------------------

#define SNAPSHOT(path) {"Snapshot", "dataset { graph: \"%s\" } path: '" path "' metadata { }"}
#define SNAPSHOT_SPLIT(path, worker, source)                                              \
  {"GetSnapshotSplit", "base_path: '" path "' worker_address: 'localhost:" worker "' "    \
                       "source_index: " source}
// A worker has at most three streams, one more with each heartbeat.
static const step_t kSnapshots[] = {
    SNAPSHOT("saved/1"),
    SNAPSHOT("saved/1"),
    SNAPSHOT(""),
    {"Snapshot", "path: 'saved/none'"},
    WORKER("localhost:1", ""),
    SNAPSHOT_SPLIT("saved/1", "1", "0"),
    SNAPSHOT_SPLIT("saved/1", "1", "1"),
    SNAPSHOT_SPLIT("saved/1", "2", "1"),
    SNAPSHOT_SPLIT("saved/2", "1", "0"),
    SNAPSHOT("saved/2"),
    SNAPSHOT("saved/3"),
    SNAPSHOT("saved/4"),
    WORKER("localhost:2", ""),
    WORKER("localhost:1", ""),
    WORKER("localhost:1", ""),
    WORKER("localhost:1", ""),
    {"GetSnapshotStreams", "path: 'saved/1'"},
    WORKER("localhost:1", "snapshot_task_progress { key: 'saved/3' value { status { code: ABORTED "
                          "} } } snapshot_task_progress { key: 'none' value { completed: true } }"),
    WORKER("localhost:1", ""),
    WORKER("localhost:2", ""),
};

static size_t count_of(leat_string_view_t text, const char* word) {
  size_t count = 0;
  for (; text.size; text = leat_string_view_from_index(text, 1)) {
    count += leat_string_view_starts_with(text, leat_string_view_from(word));
  }
  return count;
}

static void snapshots_go_on(void** state) {
  static char graph[16000];
  leat_string_builder_t answers[2];
  print_graph(3, graph, sizeof graph);
  for (int is_restless = 0; is_restless < 2; ++is_restless) {
    empty_directory();
    leat_dispatcher_t* dispatcher = start_in("work", true, NULL);
    leat_string_builder_initialize(leat_allocator_system(), &answers[is_restless]);
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSnapshots); ++i) {
      call(dispatcher, &kSnapshots[i], graph, &answers[is_restless]);
      if (!is_restless) continue;
      leat_dispatcher_free(dispatcher);
      dispatcher = start_in("work", true, NULL);
    }
    leat_dispatcher_free(dispatcher);
    assert_int_equal(rename("saved", is_restless ? "saved_restless" : "saved_steady"), 0);
  }
  const leat_string_view_t said = leat_string_builder_view(&answers[0]);
  assert_true(leat_string_view_equal(said, leat_string_builder_view(&answers[1])));
  assert_int_equal(count_of(said, "ALREADY_EXISTS"), 1);
  assert_int_equal(count_of(said, "INVALID_ARGUMENT"), 3);
  assert_int_equal(count_of(said, "INTERNAL"), 1);
  // The streams in the answers to worker 1, who gets one for that which failed, and to worker 2.
  assert_int_equal(count_of(said, "saved/"), 1 + 1 + 2 + 3 + 3 + 3 + 3 + 2);
  assert_int_equal(count_of(said, "saved/3"), 3);
  for (int i = 0; i < 2; ++i) leat_string_builder_deinitialize(&answers[i]);
}

// ---- Cut journals -------------------------------------------------------------------------------

// Each iteration that goes on has exactly one task for each worker, unless consumers must agree.
static void expect_tasks(const leat_dispatcher_t* dispatcher) {
  const leat_data_table_t* iterations = &dispatcher->state.iterations;
  for (size_t i = 0; i < iterations->count; ++i) {
    const leat_data_iteration_t* iteration = iterations->items[i];
    if (iteration->is_finished || iteration->job->is_coordinated) continue;
    for (leat_data_worker_record_t* w = dispatcher->state.workers; w; w = w->next) {
      int count = 0;
      for (leat_data_task_t* t = iteration->tasks; t; t = t->next) count += t->worker == w;
      assert_int_equal(count, 1);
    }
  }
}

static void it_starts_wherever_the_journal_ends(void** state) {
  static char graph[16000];
  char *bytes, *again;
  size_t size, again_size;
  print_graph(3, graph, sizeof graph);
  empty_directory();
  leat_dispatcher_t* dispatcher = start_in("work", true, NULL);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kScene); ++i) {
    leat_string_builder_t answer;
    leat_string_builder_initialize(leat_allocator_system(), &answer);
    call(dispatcher, &kScene[i], graph, &answer);
    leat_string_builder_deinitialize(&answer);
  }
  leat_dispatcher_free(dispatcher);
  LEAT_EXPECT_OK(leat_file_read_all(leat_file_system_posix(), JOURNAL "/journal_0",
                                    leat_allocator_system(), &bytes, &size));
  assert_true(size > 1000);
  for (size_t end = 0; end <= size; end += 41) {
    empty_directory();
    scratch_write_file(JOURNAL "/journal_0", bytes, end);
    dispatcher = start_in("work", true, NULL);
    expect_tasks(dispatcher);
    leat_dispatcher_free(dispatcher);
    // What it has made up for is in its own file, and so is made up for once.
    leat_dispatcher_free(start_in("work", true, NULL));
    LEAT_EXPECT_OK(leat_file_read_all(leat_file_system_posix(), JOURNAL "/journal_2",
                                      leat_allocator_system(), &again, &again_size));
    assert_int_equal(again_size, 0);
    leat_allocator_free(leat_allocator_system(), again);
  }
  leat_allocator_free(leat_allocator_system(), bytes);
}

// ---- What is refused ----------------------------------------------------------------------------

#define DATASET "register_dataset { dataset_id: '1000' } "
#define WORKER_1 "register_worker { worker_address: 'w:1' } "
#define JOB "create_job { job_id: 5000 job_name: 'j' dataset_id: '1000' processing_mode_def { " \
            "sharding_policy: DYNAMIC } } "
#define ITERATION "create_iteration { iteration_id: 2000 job_id: 5000 num_split_providers: 2 } "
#define TASK "create_task { task_id: 4000 iteration_id: 2000 worker_address: 'w:1' } "
#define ACQUIRE "acquire_iteration_client { iteration_id: 2000 iteration_client_id: 3000 } "

// Changes, separated by "; ", of which the last one is refused.
static const struct {
  const char* changes;
  const char* said;  // in the message
  leat_status_code_t code;
} kRefused[] = {
    {"", "no change", LEAT_DATA_LOSS},
    {"register_dataset { }", "dataset_id is ''", LEAT_DATA_LOSS},
    {DATASET "; " DATASET, "dataset_id is '1000'", LEAT_DATA_LOSS},
    {"register_dataset { dataset_id: '../x' }", "'../x'", LEAT_INVALID_ARGUMENT},
    {WORKER_1 "; " WORKER_1, "w:1", LEAT_DATA_LOSS},
    {JOB, "Dataset id 1000 not found", LEAT_DATA_LOSS},
    {DATASET "; create_job { job_id: 5001 job_name: 'j' dataset_id: '1000' }",
     "job_id is 5001, must be 5000", LEAT_DATA_LOSS},
    {DATASET "; create_job { job_id: 5000 dataset_id: '1000' num_consumers: -1 }", "num_consumers",
     LEAT_INVALID_ARGUMENT},
    {DATASET "; " JOB "; create_job { job_id: 5001 job_name: 'j' dataset_id: '1000' "
     "processing_mode_def { sharding_policy: DYNAMIC } }", "job_name is 'j'", LEAT_DATA_LOSS},
    {ITERATION, "Job with id 5000 not found", LEAT_DATA_LOSS},
    {DATASET "; " JOB "; create_iteration { iteration_id: 2000 job_id: 5000 num_split_providers: "
     "9223372036854775807 }", "num_split_providers", LEAT_DATA_LOSS},
    {DATASET "; " JOB "; create_iteration { iteration_id: 2000 job_id: 5000 num_split_providers: "
     "-1 }", "num_split_providers", LEAT_DATA_LOSS},
    {DATASET "; create_job { job_id: 5000 dataset_id: '1000' }; " ITERATION, "num_split_providers",
     LEAT_DATA_LOSS},
    {DATASET "; " JOB "; create_iteration { iteration_id: 9223372036854775807 job_id: 5000 }",
     "iteration_id", LEAT_DATA_LOSS},
    {"produce_split { iteration_id: 2000 }", "Iteration id 2000 not found", LEAT_DATA_LOSS},
    {DATASET "; " JOB "; " ITERATION "; produce_split { iteration_id: 2000 split_provider_index: 2 "
     "}", "split_provider_index is 2", LEAT_DATA_LOSS},
    {DATASET "; " JOB "; " ITERATION "; produce_split { iteration_id: 2000 split_provider_index: "
     "-1 }", "split_provider_index is -1", LEAT_DATA_LOSS},
    {DATASET "; " JOB "; " ITERATION "; produce_split { iteration_id: 2000 repetition: "
     "9223372036854775807 }", "repetition", LEAT_DATA_LOSS},
    {TASK, "Iteration id 2000 not found", LEAT_DATA_LOSS},
    {DATASET "; " JOB "; " ITERATION "; " TASK, "worker_address is 'w:1'", LEAT_DATA_LOSS},
    {DATASET "; " JOB "; " ITERATION "; " WORKER_1 "; create_task { task_id: 3999 iteration_id: "
     "2000 worker_address: 'w:1' }", "task_id is 3999", LEAT_DATA_LOSS},
    {DATASET "; " JOB "; " ITERATION "; " WORKER_1 "; create_pending_task { task_id: 4000 "
     "iteration_id: 2000 worker_address: 'w:1' }", "coordinated", LEAT_DATA_LOSS},
    {"finish_task { task_id: 4000 }", "Task 4000 not found", LEAT_DATA_LOSS},
    {"remove_task { task_id: -4000 }", "Task -4000 not found", LEAT_DATA_LOSS},
    {ACQUIRE, "Iteration id 2000 not found", LEAT_DATA_LOSS},
    {DATASET "; " JOB "; " ITERATION "; acquire_iteration_client { iteration_id: 2000 "
     "iteration_client_id: 3001 }", "iteration_client_id is 3001", LEAT_DATA_LOSS},
    {"release_iteration_client { iteration_client_id: 3000 }", "client id 3000 not found",
     LEAT_DATA_LOSS},
    {DATASET "; " JOB "; " ITERATION "; " ACQUIRE "; client_heartbeat { iteration_client_id: 3000 "
     "task_accepted: true }", "pending task", LEAT_DATA_LOSS},
    {"garbage_collect_iteration { iteration_id: 0 }", "Iteration id 0 not found", LEAT_DATA_LOSS},
    {"snapshot { path: 'lost' }", "lost", LEAT_NOT_FOUND},
    {"snapshot { path: 'lost' }*2", "no snapshot has", LEAT_DATA_LOSS},
    {"compression_disabled_at_runtime { dataset_id: 'x' }", "x not found", LEAT_DATA_LOSS},
    // The dataset has two sources, of 4 and 3 splits.
    {DATASET "; " JOB "; create_iteration { iteration_id: 2000 job_id: 5000 num_split_providers: "
     "3 }", "2 sources", LEAT_DATA_LOSS},
    {DATASET "; " JOB "; " ITERATION "; produce_split { iteration_id: 2000 split_provider_index: 1 "
     "}*4", "4 were given out", LEAT_DATA_LOSS},
    {"register_dataset { dataset_id: 'lost' }", "lost", LEAT_NOT_FOUND},
};

static leat_status_t no_change(void* data, const leat_pb_dispatcher_update_t* update) {
  return leat_ok_status();
}

// Writes a journal with the changes, the last one as often as "*n" behind it says.
static void write_changes(const char* changes) {
  leat_journal_t* journal;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_journal_open(leat_file_system_posix(), LEAT_SV(JOURNAL), no_change, NULL,
                                   &journal));
  for (const char* next = changes; next;) {
    leat_pb_dispatcher_update_t update;
    const char* end = strstr(next, "; ");
    const char* star = strchr(next, '*');
    const size_t size = end ? (size_t)(end - next) : star ? (size_t)(star - next) : strlen(next);
    const int times = !end && star ? star[1] - '0' : 1;
    LEAT_EXPECT_OK(leat_text_parse(&leat_pb_dispatcher_update_descriptor,
                                   leat_string_view_make(next, size), &arena, &update));
    for (int i = 0; i < times; ++i) LEAT_EXPECT_OK(leat_journal_write(journal, &update, 1));
    next = end ? end + 2 : NULL;
  }
  leat_journal_close(journal);
  leat_arena_deinitialize(&arena);
}

static void journals_that_make_no_sense_are_refused(void** state) {
  static char graph[16000];
  static const step_t kRegister = {"GetOrRegisterDataset", "dataset { graph: \"%s\" }"};
  const leat_runtime_t* runtime;
  leat_string_builder_t answer;
  LEAT_EXPECT_OK(leat_runtime_get(&runtime));
  const leat_dispatcher_options_t options = {.runtime = runtime,
                                             .work_dir = LEAT_SV("work"),
                                             .is_fault_tolerant = true,
                                             .gc_timeout_ms = -1};
  leat_dispatcher_t* dispatcher;
  print_graph(3, graph, sizeof graph);
  empty_directory();
  dispatcher = start_in("work", true, NULL);  // it writes the file of dataset 1000
  leat_string_builder_initialize(leat_allocator_system(), &answer);
  assert_int_equal(call(dispatcher, &kRegister, graph, &answer), LEAT_OK);
  leat_string_builder_deinitialize(&answer);
  leat_dispatcher_free(dispatcher);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kRefused); ++i) {
    empty_directory();
    write_changes(kRefused[i].changes);
    leat_status_t status = leat_dispatcher_create(&options, &dispatcher);
    if (!strstr(leat_status_message(status), kRefused[i].said)) {
      print_error("%zu: %s\n", i, leat_status_message(status));
      fail();
    }
    LEAT_EXPECT_CODE(kRefused[i].code, status);
  }
  const leat_dispatcher_options_t nowhere = {.runtime = runtime, .is_fault_tolerant = true};
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, leat_dispatcher_create(&nowhere, &dispatcher));
}

// Each call is made first while the disk takes nothing, which must change nothing, so that it is
// answered later as if nobody had asked before.
static void a_full_disk_changes_nothing(void** state) {
  static char graph[16000];
  leat_file_system_faulty_t faulty;
  int refused = 0;
  print_graph(3, graph, sizeof graph);
  empty_directory();
  leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
  leat_dispatcher_t* steady = start_in("work", false, NULL);
  leat_dispatcher_t* full = start_in("work", true, &faulty.base);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kScene); ++i) {
    leat_string_builder_t answers[3];
    for (int k = 0; k < 3; ++k) {
      leat_string_builder_initialize(leat_allocator_system(), &answers[k]);
    }
    faulty.space_bytes = 5;
    const leat_status_code_t code = call(full, &kScene[i], graph, &answers[2]);
    faulty.space_bytes = UINT64_MAX;
    call(steady, &kScene[i], graph, &answers[0]);
    const bool is_refused = code == LEAT_RESOURCE_EXHAUSTED;
    refused += is_refused;
    if (is_refused) call(full, &kScene[i], graph, &answers[1]);
    if (!leat_string_view_equal(leat_string_builder_view(&answers[0]),
                                leat_string_builder_view(&answers[is_refused ? 1 : 2]))) {
      print_error("step %zu: %s\n", i, kScene[i].method);
      fail();
    }
    for (int k = 0; k < 3; ++k) leat_string_builder_deinitialize(&answers[k]);
  }
  assert_true(refused > 25);
  leat_dispatcher_free(steady);
  leat_dispatcher_free(full);
}

// ---- Time ---------------------------------------------------------------------------------------

#define MINUTE_NS (INT64_C(60000000000))

static leat_dispatcher_t* start_patient(void) {
  leat_dispatcher_t* dispatcher = start_in("work", true, NULL);
  dispatcher->options.gc_timeout_ms = 5 * 60000;  // its thread does not run, for tests are slow
  return dispatcher;
}

// Clients have their whole time after a start, and the time of an iteration that nobody reads goes
// on: it was released seven minutes ago.
static void time_goes_on(void** state) {
  char changes[1000];
  leat_data_client_t* client;
  leat_data_iteration_t* iteration;
  empty_directory();
  snprintf(changes, sizeof changes,
           DATASET "; create_job { job_id: 5000 dataset_id: '1000' }; create_iteration { "
           "iteration_id: 2000 job_id: 5000 }; create_iteration { iteration_id: 2001 job_id: 5000 "
           "repetition: 1 }; " ACQUIRE "; acquire_iteration_client { iteration_id: 2001 "
           "iteration_client_id: 3001 }; release_iteration_client { iteration_client_id: 3001 "
           "time_micros: %" PRId64 " }",
           (leat_clock_wall_ns() - 7 * MINUTE_NS) / 1000);
  write_changes(changes);
  leat_dispatcher_t* dispatcher = start_patient();
  const int64_t now_ns = leat_clock_now_ns();
  LEAT_EXPECT_OK(leat_dispatcher_find_iteration(&dispatcher->state, 2001, &iteration));
  // The clock of this machine may have begun later than that.
  assert_true(now_ns < 7 * MINUTE_NS || now_ns - iteration->released_ns >= 7 * MINUTE_NS);
  leat_dispatcher_collect(dispatcher, now_ns + 4 * MINUTE_NS);
  assert_true(now_ns < 2 * MINUTE_NS || iteration->is_collected);
  LEAT_EXPECT_OK(leat_dispatcher_find_client(&dispatcher->state, 3000, &client));
  leat_dispatcher_collect(dispatcher, now_ns + 6 * MINUTE_NS);
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND,
                   leat_dispatcher_find_client(&dispatcher->state, 3000, &client));
  leat_dispatcher_collect(dispatcher, now_ns + 12 * MINUTE_NS);
  // What was released and collected stays so.
  leat_dispatcher_free(dispatcher);
  dispatcher = start_patient();
  for (int64_t id = 2000; id <= 2001; ++id) {
    LEAT_EXPECT_OK(leat_dispatcher_find_iteration(&dispatcher->state, id, &iteration));
    assert_true(iteration->is_collected);
    assert_int_equal(iteration->client_count, 0);
  }
  leat_dispatcher_free(dispatcher);
}

int main(void) {
  const struct CMUnitTest cases[] = {
      cmocka_unit_test(nobody_notices_that_it_was_started_again),
      cmocka_unit_test(snapshots_go_on),
      cmocka_unit_test(it_starts_wherever_the_journal_ends),
      cmocka_unit_test(journals_that_make_no_sense_are_refused),
      cmocka_unit_test(a_full_disk_changes_nothing),
      cmocka_unit_test(time_goes_on),
  };
  return cmocka_run_group_tests(cases, scratch_set_up, scratch_tear_down);
}
