// Brings a dispatcher back to where the journal in its work directory ends. The journal has the
// records and how they changed; what it does not have is made here:
//
//   a dataset's graph            is read from WORK_DIR/datasets/ID
//   a source's next split        is found by counting: the journal says how many were given out
//   when somebody was heard of   is now, so that nobody is given up who had no chance to report
//   snapshots                    are read from their own directories (snapshot.h)
//   tasks                        of an iteration or a worker whose record is there, but whose tasks
//                                are not, since the dispatcher died between the two; they are made
//
// The last is a matter of TensorFlow's journals, which have a write for each record; this
// dispatcher writes what belongs together at once, but a torn write may have left its beginning.
#include <stdio.h>

#include "base/clock.h"
#include "data_service/dataset_file.h"
#include "data_service/dispatcher_record.h"
#include "data_service/journal.h"
#include "data_service/split_providers.h"

// A leat_journal_fn_t.
static leat_status_t take_update(void* data, const leat_pb_dispatcher_update_t* update) {
  leat_dispatcher_t* dispatcher = data;
  if (update->update_type_case == LEAT_CHANGE_REGISTER_DATASET) {
    LEAT_RETURN_IF_ERROR(leat_dispatcher_check_dataset_id(dispatcher,
                                                          update->register_dataset->dataset_id));
  }
  return leat_dispatcher_apply(&dispatcher->state, update);
}

static leat_status_t open_journal(leat_dispatcher_t* dispatcher, leat_arena_t* arena) {
  leat_file_system_t* fs = dispatcher->options.file_system;
  leat_string_view_t directory;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &directory, "%.*s/tf_data_dispatcher_journal",
                                        LEAT_SV_ARG(dispatcher->options.work_dir)));
  return leat_journal_open(fs ? fs : leat_file_system_default(), directory, take_update,
                           dispatcher, &dispatcher->journal);
}

static leat_status_t read_graphs(leat_dispatcher_t* dispatcher, leat_arena_t* arena) {
  const leat_string_map_t* datasets = &dispatcher->state.datasets;
  for (size_t i = 0; i < datasets->count; ++i) {
    leat_data_dataset_t* dataset = (leat_data_dataset_t*)(uintptr_t)datasets->entries[i].value;
    leat_pb_dataset_def_t def;
    leat_string_view_t path;
    LEAT_RETURN_IF_ERROR(leat_dispatcher_name_file(dispatcher, dataset->id, arena, &path));
    leat_status_t status = leat_dataset_file_read(path, arena, &def);
    if (!status) {
      status = leat_arena_copy_string(&dispatcher->state.arena, def.graph, &dataset->def.graph);
    }
    if (status) {
      return leat_status_annotate(status, "Reading the dataset of the journal, %.*s, failed",
                                  LEAT_SV_ARG(path));
    }
  }
  return leat_ok_status();
}

static leat_status_t restore_providers(const leat_dispatcher_t* dispatcher,
                                       leat_data_iteration_t* iteration) {
  LEAT_RETURN_IF_ERROR(leat_split_providers_create(dispatcher->options.runtime,
                                                   iteration->job->dataset->def.graph,
                                                   &iteration->providers));
  const size_t count = leat_split_providers_count(iteration->providers);
  if ((int64_t)count != iteration->source_count) {
    return leat_make_status(LEAT_DATA_LOSS,
                            "Restoring the splits of a dataset failed: it has %zu sources, must "
                            "have the %lld of the journal",
                            count, (long long)iteration->source_count);
  }
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_split_providers_seek(iteration->providers, i, &iteration->positions[i]));
  }
  return leat_ok_status();
}

// Whether the worker has, or had, a task of the iteration.
static bool has_task(const leat_data_iteration_t* iteration,
                     const leat_data_worker_record_t* worker) {
  const leat_data_task_t* task = iteration->tasks;
  while (task && task->worker != worker) task = task->next;
  return task != NULL;
}

static leat_status_t make_missing_tasks(leat_dispatcher_t* dispatcher,
                                        const leat_data_iteration_t* iteration,
                                        leat_arena_t* arena) {
  leat_pb_dispatcher_update_t update;
  if (iteration->job->is_coordinated) return leat_ok_status();  // heartbeats see to that
  for (leat_data_worker_record_t* w = dispatcher->state.workers; w; w = w->next) {
    if (has_task(iteration, w)) continue;
    LEAT_RETURN_IF_ERROR(leat_dispatcher_describe_new_task(&dispatcher->state, iteration->id, w, 0,
                                                           arena, &update));
    LEAT_RETURN_IF_ERROR(leat_dispatcher_commit(dispatcher, &update, 1));
  }
  return leat_ok_status();
}

static leat_status_t restore_iterations(leat_dispatcher_t* dispatcher, leat_arena_t* arena) {
  const leat_data_table_t* iterations = &dispatcher->state.iterations;
  for (size_t i = 0; i < iterations->count; ++i) {
    leat_data_iteration_t* iteration = iterations->items[i];
    if (iteration->is_finished) continue;
    if (iteration->source_count) {
      LEAT_RETURN_IF_ERROR(leat_status_annotate(restore_providers(dispatcher, iteration),
                                                "Restoring iteration %lld failed",
                                                (long long)iteration->id));
    }
    LEAT_RETURN_IF_ERROR(make_missing_tasks(dispatcher, iteration, arena));
  }
  return leat_ok_status();
}

static void hear_of_all(leat_dispatcher_t* dispatcher) {
  const leat_data_table_t* clients = &dispatcher->state.clients;
  const int64_t now_ns = leat_clock_now_ns();
  for (size_t i = 0; i < clients->count; ++i) {
    ((leat_data_client_t*)clients->items[i])->heard_of_ns = now_ns;
  }
  for (leat_data_worker_record_t* w = dispatcher->state.workers; w; w = w->next) {
    w->heard_of_ns = now_ns;
  }
}

leat_status_t leat_dispatcher_restore(leat_dispatcher_t* dispatcher) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = open_journal(dispatcher, &arena);
  if (!status) status = read_graphs(dispatcher, &arena);
  if (!status) status = restore_iterations(dispatcher, &arena);
  if (!status) status = leat_dispatcher_restore_snapshots(dispatcher);
  if (!status) hear_of_all(dispatcher);
  leat_arena_deinitialize(&arena);
  return status;
}
