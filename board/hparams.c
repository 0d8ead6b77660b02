// Reads the sessions, their metrics and the experiment out of the runs of a log directory, for
// board/api_hparams.c and board/api_session_groups.c. What the plugin hparams wrote stands in the
// metadata of three tags without a value worth reading.
//
//   runs by name ─▶ read_run: a session where there is a start, and the first experiment
//                ─▶ read_metrics: the newest scalars, to the nearest session at or above the run
//                ─▶ board_hparams_experiment: what was written, or what the sessions have
//
// A message that does not decode counts as absent, because one broken run must not hide the others.
// Names and messages are copied into the arena under the lock of their run, since the run may grow,
// or be read again from its beginning, as soon as the lock is free. No two locks are held at once,
// so runs may be some moments apart. Where no program wrote an experiment, one is made of the
// values that the sessions have: each hyper-parameter gets a type, and the range or the list of its
// values. Maps find a hyper-parameter by its name and a value among those seen, since comparing
// each with each would take long where sessions are many.
#include "board/hparams.h"

#include <math.h>
#include <stdlib.h>

#include "formats/wire/decode.h"

#define EXPERIMENT LEAT_SV("_hparams_/experiment")
#define START LEAT_SV("_hparams_/session_start_info")
#define END LEAT_SV("_hparams_/session_end_info")
#define CONTENT_MEMORY_BYTES ((uint64_t)64 << 20)

// ---- Reading ------------------------------------------------------------------------------------
// The plugin's data of |tag|; NULL where the run has none. The lock is held.
static leat_status_t read_data(const board_run_t* run, leat_string_view_t tag, leat_arena_t* arena,
                               leat_pb_hparam_plugin_data_t** out_data) {
  leat_decode_limits_t limits = {.max_memory_bytes = CONTENT_MEMORY_BYTES};
  const board_series_t* series = board_run_find(run, tag);
  leat_string_view_t content;
  *out_data = NULL;
  if (!series || strcmp(series->plugin, "hparams")) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, series->content, &content));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, out_data));
  leat_status_t status = leat_message_decode(&leat_pb_hparam_plugin_data_descriptor, content, arena,
                                             &limits, *out_data);
  if (leat_status_code(status) == LEAT_INVALID_ARGUMENT) {
    leat_status_free(status);
    *out_data = NULL;
    return leat_ok_status();
  }
  return status;
}

// Adds the session of |run|, if it has one, and takes its experiment, if there is none yet.
static leat_status_t read_run(board_run_t* run, leat_arena_t* arena, board_hparams_t* hparams) {
  leat_pb_hparam_plugin_data_t *start = NULL, *end = NULL, *experiment = NULL;
  board_run_lock(run);
  leat_status_t status = read_data(run, START, arena, &start);
  if (!status) status = read_data(run, END, arena, &end);
  if (!status && !hparams->experiment) status = read_data(run, EXPERIMENT, arena, &experiment);
  leat_mutex_unlock(&run->lock);
  LEAT_RETURN_IF_ERROR(status);
  if (experiment) hparams->experiment = experiment->experiment;
  if (!start || !start->session_start_info) return leat_ok_status();
  board_session_t* session = &hparams->sessions[hparams->session_count++];
  *session = (board_session_t){.start = start->session_start_info,
                               .end = end ? end->session_end_info : NULL};
  return leat_arena_copy_string(arena, leat_string_view_from(run->name), &session->name);
}

// Adds the newest values of the scalars of |run|, which is |group| of the session.
static leat_status_t read_metrics(board_run_t* run, leat_string_view_t group, leat_arena_t* arena,
                                  board_metric_list_t* list) {
  leat_status_t status = leat_ok_status();
  board_run_lock(run);
  for (size_t i = 0; i < run->series_count && !status; ++i) {
    board_series_t* series = run->series[i];
    if (series->form != BOARD_FORM_SCALAR || strcmp(series->plugin, "scalars") || !series->count) {
      continue;
    }
    const board_columns_t columns = board_series_columns(series);
    const uint32_t last = columns.count - 1;
    board_metric_value_t* value;
    status = leat_message_list_append(arena, list, sizeof *value, (void**)&value);
    if (status) break;
    *value = (board_metric_value_t){.name = {.group = group}, .value = columns.values[last],
                                    .wall_time = columns.wall_times[last],
                                    .step = columns.steps[last]};
    status = leat_arena_copy_string(arena, leat_string_view_make(series->tag, series->tag_size),
                                    &value->name.tag);
  }
  leat_mutex_unlock(&run->lock);
  return status;
}

// The nearest session that is |run| or lies above it, and the run's name from there; NULL where
// there is none.
static board_session_t* session_above(const leat_string_map_t* by_name, board_session_t* sessions,
                                      leat_string_view_t run, leat_string_view_t* out_group) {
  uint64_t index;
  leat_string_view_t above = run;
  for (; above.size; above.size = leat_string_view_find_last(above, '/')) {
    if (above.size == SIZE_MAX) break;
    if (leat_string_map_get(by_name, above, &index)) {
      *out_group = leat_string_view_from_index(run, above.size + 1);
      return &sessions[index];
    }
  }
  // The log directory itself lies above everything.
  *out_group = run;
  return leat_string_map_get(by_name, LEAT_SV("."), &index) ? &sessions[index] : NULL;
}

board_metric_name_t board_metric_name_of(const board_metric_name_t* name) {
  board_metric_name_t none = {0};
  return name ? *name : none;
}

int board_metric_name_compare(board_metric_name_t a, board_metric_name_t b) {
  int tags = leat_string_view_compare(a.tag, b.tag);
  return tags ? tags : leat_string_view_compare(a.group, b.group);
}

static int compare_metrics(const void* a, const void* b) {
  return board_metric_name_compare(((const board_metric_value_t*)a)->name,
                                   ((const board_metric_value_t*)b)->name);
}

static int compare_runs(const void* a, const void* b) {
  return strcmp((*(board_run_t* const*)a)->name, (*(board_run_t* const*)b)->name);
}

// Reads the metrics of all sessions.
static leat_status_t read_all_metrics(board_run_t** runs, size_t count, leat_arena_t* arena,
                                      const board_hparams_t* hparams) {
  leat_string_map_t by_name;
  leat_status_t status = leat_ok_status();
  leat_string_map_initialize(leat_allocator_system(), &by_name);
  for (size_t i = 0; i < hparams->session_count && !status; ++i) {
    status = leat_string_map_set(&by_name, hparams->sessions[i].name, i);
  }
  for (size_t i = 0; i < count && !status; ++i) {
    leat_string_view_t group, name;
    status = leat_arena_copy_string(arena, leat_string_view_from(runs[i]->name), &name);
    if (status) break;
    board_session_t* session = session_above(&by_name, hparams->sessions, name, &group);
    if (session) status = read_metrics(runs[i], group, arena, &session->metrics);
  }
  leat_string_map_deinitialize(&by_name);
  for (size_t i = 0; i < hparams->session_count && !status; ++i) {
    board_metric_list_t* list = &hparams->sessions[i].metrics;
    if (list->count) qsort(list->items, list->count, sizeof *list->items, compare_metrics);
  }
  return status;
}

leat_status_t board_hparams_read(board_logdir_t* logdir, leat_arena_t* arena,
                                 board_hparams_t* out_hparams) {
  board_run_t** runs;
  size_t count;
  *out_hparams = (board_hparams_t){0};
  LEAT_RETURN_IF_ERROR(board_logdir_runs(logdir, &runs, &count));
  if (count) qsort(runs, count, sizeof *runs, compare_runs);
  leat_status_t status = LEAT_NEW(arena, count + 1, &out_hparams->sessions);
  for (size_t i = 0; i < count && !status; ++i) status = read_run(runs[i], arena, out_hparams);
  if (!status && out_hparams->session_count) {
    status = read_all_metrics(runs, count, arena, out_hparams);
  }
  leat_allocator_free(leat_allocator_system(), runs);
  return status;
}

bool board_hparam_is_value(const leat_pb_value_t* value) {
  return value && (value->kind_case == BOARD_HPARAM_TEXT || value->kind_case == BOARD_HPARAM_BOOL ||
                   (value->kind_case == BOARD_HPARAM_NUMBER && !isnan(value->number_value)));
}

const leat_pb_value_t* board_hparam_find(const leat_pb_hparam_session_start_t* start,
                                                leat_string_view_t name) {
  // Of entries with the same key the last one counts.
  for (size_t i = start->hparams.count; i-- > 0;) {
    const leat_pb_hparam_entry_t* entry = &start->hparams.items[i];
    if (!leat_string_view_equal(entry->key, name)) continue;
    return board_hparam_is_value(entry->value) ? entry->value : NULL;
  }
  return NULL;
}

// ---- The experiment of what is there ------------------------------------------------------------
// A hyper-parameter on the way: what kinds of values it has, and which.
typedef struct gathered_s {
  leat_pb_hparam_info_t info;
  bool has_kind[BOARD_HPARAM_BOOL + 1];
  leat_pb_value_list_t values;  // each once
  double low, high;                    // of those that are numbers
} gathered_t;

typedef struct gathered_list_s {
  gathered_t* items;
  size_t count;
} gathered_list_t;

// A value as a key of a map: its kind and its bytes.
static leat_status_t key_of(size_t name, const leat_pb_value_t* value, leat_arena_t* arena,
                            leat_string_view_t* out_key) {
  if (value->kind_case == BOARD_HPARAM_TEXT) {
    return leat_arena_print(arena, out_key, "%zu t%.*s", name, LEAT_SV_ARG(value->string_value));
  }
  double number = value->kind_case == BOARD_HPARAM_BOOL ? value->bool_value : value->number_value;
  return leat_arena_print(arena, out_key, "%zu %u%.17g", name, value->kind_case, number + 0.0);
}

typedef struct gathering_s {
  leat_arena_t* arena;
  leat_string_map_t by_name, seen;
  gathered_list_t found;
} gathering_t;

static leat_status_t gather_entry(gathering_t* all, const leat_pb_hparam_entry_t* entry) {
  uint64_t* index;
  bool is_new;
  leat_string_view_t key;
  gathered_t* item;
  leat_pb_value_t* added;
  if (!board_hparam_is_value(entry->value)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_string_map_insert(&all->by_name, entry->key, all->found.count, &index, &is_new));
  if (is_new) {
    LEAT_RETURN_IF_ERROR(
        leat_message_list_append(all->arena, &all->found, sizeof *item, (void**)&item));
    *item = (gathered_t){.info.name = entry->key, .low = INFINITY, .high = -INFINITY};
  }
  item = &all->found.items[*index];
  item->has_kind[entry->value->kind_case] = true;
  if (entry->value->kind_case == BOARD_HPARAM_NUMBER) {
    item->low = fmin(item->low, entry->value->number_value);
    item->high = fmax(item->high, entry->value->number_value);
  }
  LEAT_RETURN_IF_ERROR(key_of(*index, entry->value, all->arena, &key));
  LEAT_RETURN_IF_ERROR(leat_string_map_insert(&all->seen, key, 0, NULL, &is_new));
  if (!is_new) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_message_list_append(all->arena, &item->values, sizeof *added, (void**)&added));
  *added = *entry->value;
  return leat_ok_status();
}

static int compare_infos(const void* a, const void* b) {
  const leat_pb_hparam_info_t *x = a, *y = b;
  if (x->differs != y->differs) return x->differs ? -1 : 1;
  return leat_string_view_compare(x->name, y->name);
}

static int compare_bools(const void* a, const void* b) {
  return (int)((const leat_pb_value_t*)a)->bool_value -
         (int)((const leat_pb_value_t*)b)->bool_value;
}

// Sets the type and the domain. What has values of several kinds has the type of texts.
static leat_status_t finish_info(leat_arena_t* arena, gathered_t* item) {
  int kinds = item->has_kind[BOARD_HPARAM_NUMBER] + item->has_kind[BOARD_HPARAM_TEXT] +
              item->has_kind[BOARD_HPARAM_BOOL];
  item->info.differs = item->values.count > 1;
  item->info.type = kinds > 1 || item->has_kind[BOARD_HPARAM_TEXT] ? BOARD_HPARAM_TYPE_TEXT
                    : item->has_kind[BOARD_HPARAM_BOOL]            ? BOARD_HPARAM_TYPE_BOOL
                                                                   : BOARD_HPARAM_TYPE_NUMBER;
  if (item->info.type == BOARD_HPARAM_TYPE_NUMBER) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &item->info.domain_interval));
    *item->info.domain_interval = (leat_pb_hparam_interval_t){item->low, item->high};
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &item->info.domain_discrete));
  item->info.domain_discrete->values = item->values;
  if (item->info.type == BOARD_HPARAM_TYPE_BOOL) {
    qsort(item->values.items, item->values.count, sizeof *item->values.items, compare_bools);
  }
  return leat_ok_status();
}

static leat_status_t make_infos(gathering_t* all, const board_hparams_t* hparams,
                                leat_pb_hparam_info_list_t* out_infos) {
  for (size_t s = 0; s < hparams->session_count; ++s) {
    const leat_pb_hparam_session_start_t* start = hparams->sessions[s].start;
    for (size_t i = 0; i < start->hparams.count; ++i) {
      LEAT_RETURN_IF_ERROR(gather_entry(all, &start->hparams.items[i]));
    }
  }
  gathered_list_t found = all->found;
  for (size_t i = 0; i < found.count; ++i) {
    LEAT_RETURN_IF_ERROR(finish_info(all->arena, &found.items[i]));
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(all->arena, found.count + 1, &out_infos->items));
  for (size_t i = 0; i < found.count; ++i) out_infos->items[i] = found.items[i].info;
  out_infos->count = found.count;
  return leat_ok_status();
}

// Every metric that a session has, once, by tag and group.
static leat_status_t make_metrics(const board_hparams_t* hparams, leat_arena_t* arena,
                                  leat_pb_hparam_metric_info_list_t* out_infos) {
  board_metric_value_t* all = NULL;
  size_t count = 0;
  for (size_t i = 0; i < hparams->session_count; ++i) count += hparams->sessions[i].metrics.count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &all));
  count = 0;
  for (size_t i = 0; i < hparams->session_count; ++i) {
    const board_metric_list_t* list = &hparams->sessions[i].metrics;
    if (list->count) memcpy(all + count, list->items, list->count * sizeof *all);
    count += list->count;
  }
  if (count) qsort(all, count, sizeof *all, compare_metrics);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &out_infos->items));
  for (size_t i = 0; i < count; ++i) {
    if (i && !compare_metrics(&all[i - 1], &all[i])) continue;
    leat_pb_hparam_metric_info_t* info = &out_infos->items[out_infos->count++];
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &info->name));
    *info->name = (leat_pb_hparam_metric_name_t){.group = all[i].name.group,
                                                 .tag = all[i].name.tag};
  }
  return leat_ok_status();
}

// Copies |infos| in the order in which TensorBoard answers, also of an experiment that a program
// wrote: those that differ first, then by name.
static leat_status_t sort_infos(const leat_pb_hparam_info_list_t* infos, leat_arena_t* arena,
                                leat_pb_hparam_info_list_t* out_infos) {
  size_t count = infos->count;
  leat_pb_hparam_info_t* sorted;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &sorted));
  if (count) {
    memcpy(sorted, infos->items, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_infos);
  }
  *out_infos = (leat_pb_hparam_info_list_t){sorted, count};
  return leat_ok_status();
}

leat_status_t board_hparams_experiment(const board_hparams_t* hparams, leat_arena_t* arena,
                                       leat_pb_hparam_experiment_t* out_experiment) {
  gathering_t all = {.arena = arena};
  *out_experiment = (leat_pb_hparam_experiment_t){0};
  if (hparams->experiment) {
    *out_experiment = *hparams->experiment;
    return sort_infos(&hparams->experiment->hparam_infos, arena, &out_experiment->hparam_infos);
  }
  leat_string_map_initialize(leat_allocator_system(), &all.by_name);
  leat_string_map_initialize(leat_allocator_system(), &all.seen);
  leat_status_t status = make_infos(&all, hparams, &out_experiment->hparam_infos);
  leat_string_map_deinitialize(&all.by_name);
  leat_string_map_deinitialize(&all.seen);
  if (!status) {
    status = sort_infos(&out_experiment->hparam_infos, arena, &out_experiment->hparam_infos);
  }
  return status ? status : make_metrics(hparams, arena, &out_experiment->metric_infos);
}
