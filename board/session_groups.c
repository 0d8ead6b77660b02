// A group is the sessions that name it; a session that names none is a group of its own name. The
// hyper-parameters of a group are those of its first session. Its metrics are means, or those of
// one session: of sessions in the order of one metric the first, the last, or the middle one.
#include "board/session_groups.h"

#include <stdlib.h>

#include "base/sort.h"
#include "board/text_pattern.h"

// ---- Making groups ------------------------------------------------------------------------------
static bool is_allowed(const board_groups_request_t* request, int32_t status) {
  for (size_t i = 0; i < request->allowed_statuses.count; ++i) {
    if (request->allowed_statuses.items[i] == status) return true;
  }
  return false;
}

static leat_status_t make_groups(const board_hparams_t* hparams,
                                 const board_groups_request_t* request, leat_arena_t* arena,
                                 leat_string_map_t* by_name,
                                 board_session_group_t* groups) {
  for (size_t i = 0; i < hparams->session_count; ++i) {
    const board_session_t* session = &hparams->sessions[i];
    const board_session_t** added;
    uint64_t* index;
    bool is_new;
    if (!is_allowed(request, session->end ? session->end->status : 0)) continue;
    leat_string_view_t name = session->start->group_name;
    if (!name.size) name = session->name;
    LEAT_RETURN_IF_ERROR(leat_string_map_insert(by_name, name, by_name->count, &index, &is_new));
    if (is_new) {
      groups[*index] = (board_session_group_t){.name = name,
                                               .monitor_url = session->start->monitor_url};
    }
    LEAT_RETURN_IF_ERROR(leat_message_list_append(arena, &groups[*index].sessions, sizeof *added,
                                                  (void**)&added));
    *added = session;
  }
  return leat_ok_status();
}

// ---- Metrics of a group -------------------------------------------------------------------------
static const board_metric_value_t* find_metric(const board_metric_list_t* list,
                                               board_metric_name_t name) {
  for (size_t i = 0; i < list->count; ++i) {
    if (!board_metric_name_compare(list->items[i].name, name)) return &list->items[i];
  }
  return NULL;
}

// The mean of each metric over the sessions that have it, in the order in which they come.
static leat_status_t average(leat_arena_t* arena, board_session_group_t* group) {
  leat_string_map_t places;
  size_t *counts = NULL, all = 0;
  leat_status_t status = leat_ok_status();
  for (size_t s = 0; s < group->sessions.count; ++s) all += group->sessions.items[s]->metrics.count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, all + 1, &group->metrics.items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, all + 1, &counts));
  leat_string_map_initialize(leat_allocator_system(), &places);
  for (size_t s = 0; s < group->sessions.count && !status; ++s) {
    const board_metric_list_t* list = &group->sessions.items[s]->metrics;
    for (size_t i = 0; i < list->count && !status; ++i) {
      const board_metric_value_t* value = &list->items[i];
      leat_string_view_t key;
      uint64_t* index;
      bool is_new;
      status = leat_arena_print(arena, &key, "%zu %.*s %.*s", value->name.tag.size,
                                LEAT_SV_ARG(value->name.tag), LEAT_SV_ARG(value->name.group));
      if (!status) status = leat_string_map_insert(&places, key, places.count, &index, &is_new);
      if (status) break;
      board_metric_value_t* sum = &group->metrics.items[*index];
      if (is_new) *sum = (board_metric_value_t){.name = value->name};
      sum->value += value->value;
      sum->step += value->step;
      sum->wall_time += value->wall_time;
      ++counts[*index];
    }
  }
  group->metrics.count = places.count;
  leat_string_map_deinitialize(&places);
  for (size_t i = 0; i < group->metrics.count; ++i) {
    board_metric_value_t* sum = &group->metrics.items[i];
    int64_t count = (int64_t)counts[i];
    sum->value /= (double)count;
    sum->wall_time /= (double)count;
    sum->step = sum->step / count - (sum->step % count < 0);  // rounded down
  }
  return status;
}

typedef struct ranked_s {
  double value;
  uint32_t session;
} ranked_t;

static int compare_ranked(const void* a, const void* b) {
  const ranked_t *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  return x->session < y->session ? -1 : 1;
}

// The metrics of the session whose value of |metric| is the middle, the least or the greatest.
static leat_status_t pick(leat_arena_t* arena, const board_groups_request_t* request,
                          board_session_group_t* group) {
  board_metric_name_t metric = board_metric_name_of(request->aggregation_metric);
  ranked_t* ranked = NULL;
  size_t count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, group->sessions.count, &ranked));
  for (size_t s = 0; s < group->sessions.count; ++s) {
    const board_metric_value_t* value = find_metric(&group->sessions.items[s]->metrics, metric);
    if (value) ranked[count++] = (ranked_t){value->value, (uint32_t)s};
  }
  if (!count) return leat_ok_status();
  qsort(ranked, count, sizeof *ranked, compare_ranked);
  int32_t aggregation = request->aggregation_type;
  size_t at = aggregation == LEAT_PB_HPARAM_AGGREGATION_AGGREGATION_MIN   ? 0
              : aggregation == LEAT_PB_HPARAM_AGGREGATION_AGGREGATION_MAX ? count - 1
                                                                          : (count - 1) / 2;
  group->metrics = group->sessions.items[ranked[at].session]->metrics;
  return leat_ok_status();
}

static int compare_to_name(const void* name, const void* value) {
  return board_metric_name_compare(*(const board_metric_name_t*)name,
                                   ((const board_metric_value_t*)value)->name);
}

// Leaves a session the metrics that the experiment names, in its order.
static leat_status_t choose_metrics(const leat_pb_hparam_experiment_t* experiment,
                                    leat_arena_t* arena, board_session_t* session) {
  board_metric_list_t chosen = {0};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, experiment->metric_infos.count + 1, &chosen.items));
  for (size_t i = 0; i < experiment->metric_infos.count; ++i) {
    board_metric_name_t wanted = board_metric_name_of(experiment->metric_infos.items[i].name);
    const board_metric_value_t* value =
        session->metrics.count ? bsearch(&wanted, session->metrics.items, session->metrics.count,
                                         sizeof *session->metrics.items, compare_to_name) : NULL;
    if (value) chosen.items[chosen.count++] = *value;
  }
  session->metrics = chosen;
  return leat_ok_status();
}

// ---- Values of columns --------------------------------------------------------------------------
typedef enum cell_kind_e { CELL_MISSING, CELL_NUMBER, CELL_BOOL, CELL_TEXT } cell_kind_t;

typedef struct cell_s {
  cell_kind_t kind;
  double number;  // of truths 0 or 1
  leat_string_view_t text;
} cell_t;

static cell_t cell_of_value(const leat_pb_value_t* value) {
  switch (value ? value->kind_case : 0) {
    case BOARD_HPARAM_NUMBER: return (cell_t){.kind = CELL_NUMBER, .number = value->number_value};
    case BOARD_HPARAM_TEXT: return (cell_t){.kind = CELL_TEXT, .text = value->string_value};
    case BOARD_HPARAM_BOOL: return (cell_t){.kind = CELL_BOOL, .number = value->bool_value};
    default: return (cell_t){0};
  }
}

static cell_t cell_of(const board_session_group_t* group, const board_column_t* column) {
  if (column->name_case == BOARD_COLUMN_METRIC) {
    const board_metric_value_t* value = find_metric(&group->metrics, *column->metric);
    return value ? (cell_t){.kind = CELL_NUMBER, .number = value->value} : (cell_t){0};
  }
  return cell_of_value(board_hparam_find(group->sessions.items[0]->start, column->hparam));
}

// A truth is equal to 0 or 1.
static bool is_among(cell_t cell, const leat_pb_value_list_value_t* choices) {
  for (size_t i = 0; i < choices->values.count; ++i) {
    cell_t choice = cell_of_value(&choices->values.items[i]);
    if (choice.kind == CELL_MISSING || (choice.kind == CELL_TEXT) != (cell.kind == CELL_TEXT)) {
      continue;
    }
    if (cell.kind == CELL_TEXT ? leat_string_view_equal(cell.text, choice.text)
                               : cell.number == choice.number) {
      return true;
    }
  }
  return false;
}

// Whether the filter of |column| lets |cell| through; |pattern| is its compiled pattern.
static leat_status_t passes(const board_column_t* column, board_text_pattern_t* pattern,
                            cell_t cell, bool* out_passes) {
  *out_passes = !(cell.kind == CELL_MISSING && column->exclude_missing_values);
  if (cell.kind == CELL_MISSING) return leat_ok_status();
  if (pattern) {
    if (cell.kind == CELL_TEXT) return board_text_pattern_occurs(pattern, cell.text, out_passes);
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Cannot use a regexp filter for a value that is no text: %g",
                            cell.number);
  }
  if (column->filter_case == BOARD_FILTER_INTERVAL) {
    if (cell.kind == CELL_TEXT) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Cannot use an interval filter for a value that is a text: %.*s",
                              LEAT_SV_ARG(cell.text));
    }
    *out_passes = cell.number >= column->filter_interval->min_value &&
                  cell.number <= column->filter_interval->max_value;
  }
  if (column->filter_case == BOARD_FILTER_DISCRETE) {
    *out_passes = is_among(cell, column->filter_discrete);
  }
  return leat_ok_status();
}

// Keeps the groups that the filter of |column| lets through.
static leat_status_t filter(const board_column_t* column, board_session_group_t* groups,
                            size_t* inout_count) {
  board_text_pattern_t* pattern = NULL;
  size_t kept = 0;
  if (column->filter_case == BOARD_FILTER_REGEXP) {
    LEAT_RETURN_IF_ERROR(board_text_pattern_create(column->filter_regexp, &pattern));
  }
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < *inout_count && !status; ++i) {
    bool is_kept = false;
    status = passes(column, pattern, cell_of(&groups[i], column), &is_kept);
    if (is_kept) groups[kept++] = groups[i];
  }
  board_text_pattern_free(pattern);
  *inout_count = kept;
  return status;
}

// ---- The order ----------------------------------------------------------------------------------
typedef struct ordering_s {
  const board_groups_request_t* request;
  const board_session_group_t* groups;
} ordering_t;

// Numbers and truths come before texts.
static int compare_cells(cell_t a, cell_t b) {
  bool a_is_text = a.kind == CELL_TEXT, b_is_text = b.kind == CELL_TEXT;
  if (a_is_text != b_is_text) return a_is_text ? 1 : -1;
  if (a_is_text) return leat_string_view_compare(a.text, b.text);
  return a.number < b.number ? -1 : a.number > b.number;
}

static bool is_before(const void* context, const void* a, const void* b) {
  const ordering_t* ordering = context;
  const board_session_group_t* x = &ordering->groups[*(const uint32_t*)a];
  const board_session_group_t* y = &ordering->groups[*(const uint32_t*)b];
  for (size_t i = 0; i < ordering->request->col_params.count; ++i) {
    const board_column_t* column = &ordering->request->col_params.items[i];
    bool is_rising = column->order == LEAT_PB_HPARAM_ORDER_ORDER_ASC;
    if (!is_rising && column->order != LEAT_PB_HPARAM_ORDER_ORDER_DESC) continue;
    cell_t left = cell_of(x, column), right = cell_of(y, column);
    bool left_is_missing = left.kind == CELL_MISSING, right_is_missing = right.kind == CELL_MISSING;
    if (left_is_missing != right_is_missing) return left_is_missing == column->missing_values_first;
    int order = left_is_missing ? 0 : compare_cells(left, right);
    if (order) return (order < 0) == is_rising;
  }
  return leat_string_view_compare(x->name, y->name) < 0;
}

static leat_status_t sort(const board_groups_request_t* request, leat_arena_t* arena,
                          board_session_group_t** inout_groups, size_t count) {
  ordering_t ordering = {request, *inout_groups};
  board_session_group_t* sorted = NULL;
  uint32_t* indices = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &sorted));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &indices));
  for (size_t i = 0; i < count; ++i) indices[i] = (uint32_t)i;
  leat_sort(indices, count, sizeof *indices, is_before, &ordering);
  for (size_t i = 0; i < count; ++i) sorted[i] = (*inout_groups)[indices[i]];
  *inout_groups = sorted;
  return leat_ok_status();
}

leat_status_t board_groups_make(const board_hparams_t* hparams,
                                const leat_pb_hparam_experiment_t* experiment,
                                const board_groups_request_t* request, leat_arena_t* arena,
                                board_session_group_t** out_groups, size_t* out_count) {
  leat_string_map_t by_name;
  bool leaves_metrics_out = request->has_include_metrics_case && !request->include_metrics;
  for (size_t i = 0; i < hparams->session_count; ++i) {
    board_session_t* session = &hparams->sessions[i];
    if (leaves_metrics_out) session->metrics.count = 0;
    if (hparams->experiment) LEAT_RETURN_IF_ERROR(choose_metrics(experiment, arena, session));
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, hparams->session_count + 1, out_groups));
  leat_string_map_initialize(leat_allocator_system(), &by_name);
  leat_status_t status = make_groups(hparams, request, arena, &by_name, *out_groups);
  *out_count = by_name.count;
  leat_string_map_deinitialize(&by_name);
  LEAT_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < *out_count; ++i) {
    board_session_group_t* group = &(*out_groups)[i];
    bool is_mean = request->aggregation_type <= LEAT_PB_HPARAM_AGGREGATION_AGGREGATION_AVG;
    LEAT_RETURN_IF_ERROR(is_mean ? average(arena, group) : pick(arena, request, group));
  }
  for (size_t i = 0; i < request->col_params.count; ++i) {
    LEAT_RETURN_IF_ERROR(filter(&request->col_params.items[i], *out_groups, out_count));
  }
  return sort(request, arena, out_groups, *out_count);
}

bool board_groups_has_hparam(const board_groups_request_t* request, leat_string_view_t name) {
  bool says_any = false;
  for (size_t i = 0; i < request->col_params.count; ++i) {
    const board_column_t* column = &request->col_params.items[i];
    says_any |= column->has_include_in_result_case != 0;
    if (column->include_in_result && column->name_case != BOARD_COLUMN_METRIC &&
        leat_string_view_equal(column->hparam, name)) {
      return true;
    }
  }
  return !says_any;
}
