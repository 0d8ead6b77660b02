// Hyper-parameters (leat/summary.h), as TensorBoard's plugin hparams and the board read them. A run
// tells with which values its session began and how it ended, and the log directory may tell what
// the experiment is: which hyper-parameters there are, with which values, and which metrics. Each
// is a message HParamsPluginData in the metadata of a value under a tag of its own, whose tensor is
// empty, since readers take the metadata alone. A name must not come twice: of the entries of a map
// with one key a reader keeps one, and nobody would know which. Numbers must be finite, because the
// answers of both servers are JSON.
#include <math.h>

#include "base/clock.h"
#include "base/map.h"
#include "capi/leat/summary.h"
#include "formats/generated/hparams.h"
#include "formats/wire/encode.h"

// Fields of the oneofs of a Value, a HParamInfo and a HParamsPluginData.
enum { VALUE_NUMBER = 2, VALUE_STRING = 3, VALUE_BOOL = 4 };
enum { DOMAIN_DISCRETE = 5, DOMAIN_INTERVAL = 6 };
enum { DATA_EXPERIMENT = 2, DATA_START = 3, DATA_END = 4 };

static double now_seconds(void) { return (double)leat_clock_wall_ns() * 1e-9; }

// Makes |value| the one of |tag| that has |data| in its metadata.
static leat_status_t set_data(const char* tag, const leat_pb_hparam_plugin_data_t* data,
                              leat_arena_t* arena, leat_pb_summary_value_t* value) {
  leat_string_view_t content = {0};
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_message_encode(&leat_pb_hparam_plugin_data_descriptor, data, &bytes);
  if (!status) status = leat_arena_copy_string(arena, leat_string_builder_view(&bytes), &content);
  leat_string_builder_deinitialize(&bytes);
  LEAT_RETURN_IF_ERROR(status);
  value->tag = leat_string_view_from(tag);
  LEAT_RETURN_IF_ERROR(leat_summary_set_metadata("hparams", content, arena, value));
  return leat_summary_set_floats(1, (int64_t[]){0}, NULL, 0, arena, value);
}

// Refuses |name| where |seen| has it.
static leat_status_t check_new(const char* verb, const char* field, leat_string_map_t* seen,
                               leat_string_view_t name) {
  bool is_new;
  LEAT_RETURN_IF_ERROR(leat_string_map_insert(seen, name, 0, NULL, &is_new));
  if (is_new) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s failed: %s is '%.*s' twice, must be unique",
                          verb, field, LEAT_SV_ARG(name));
}

static leat_status_t check_finite(const char* verb, const char* name, const char* field,
                                  double number) {
  if (isfinite(number)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "%s failed for hyper-parameter '%s': %s is %g, must be finite", verb,
                          name, field, number);
}

static leat_status_t refuse_kind(const char* verb, const char* name, int kind) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "%s failed for hyper-parameter '%s': the kind is %d, must be %d (text), "
                          "%d (bool) or %d (number)",
                          verb, name, kind, LEAT_HPARAM_TEXT, LEAT_HPARAM_BOOL,
                          LEAT_HPARAM_NUMBER);
}

leat_hparam_t leat_hparam_number(const char* name, double number) {
  return (leat_hparam_t){.name = name, .kind = LEAT_HPARAM_NUMBER, .number = number};
}

leat_hparam_t leat_hparam_text(const char* name, const char* text) {
  return (leat_hparam_t){.name = name, .kind = LEAT_HPARAM_TEXT, .text = text};
}

leat_hparam_t leat_hparam_bool(const char* name, int truth) {
  return (leat_hparam_t){.name = name, .kind = LEAT_HPARAM_BOOL, .truth = truth};
}

// ---- Sessions -----------------------------------------------------------------------------------

#define START "AddSessionStart"

static leat_status_t make_entry(const leat_hparam_t* hparam, leat_arena_t* arena,
                                leat_string_map_t* seen, leat_pb_hparam_entry_t* out_entry) {
  LEAT_RETURN_IF_ERROR(
      leat_summary_take_name(START, "name of a hyper-parameter", hparam->name, &out_entry->key));
  LEAT_RETURN_IF_ERROR(check_new(START, "the name of a hyper-parameter", seen, out_entry->key));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &out_entry->value));
  leat_pb_value_t* value = out_entry->value;
  switch (hparam->kind) {
    case LEAT_HPARAM_TEXT:
      value->kind_case = VALUE_STRING;
      return leat_summary_take_text(START, "value of a hyper-parameter", hparam->text,
                                    &value->string_value);
    case LEAT_HPARAM_BOOL:
      value->kind_case = VALUE_BOOL;
      value->bool_value = hparam->truth != 0;
      return leat_ok_status();
    case LEAT_HPARAM_NUMBER:
      value->kind_case = VALUE_NUMBER;
      value->number_value = hparam->number;
      return check_finite(START, hparam->name, "the number", hparam->number);
  }
  return refuse_kind(START, hparam->name, (int)hparam->kind);
}

static leat_status_t make_start(const void* data, leat_arena_t* arena,
                                leat_pb_summary_value_t* value) {
  const leat_session_start_t* request = data;
  leat_pb_hparam_session_start_t start = {.start_time_secs = now_seconds()};
  leat_pb_hparam_plugin_data_t plugin = {.session_start_info = &start, .data_case = DATA_START};
  LEAT_RETURN_IF_ERROR(leat_summary_check_list(START, "start", request, 1));
  LEAT_RETURN_IF_ERROR(leat_summary_check_list(START, "hyper-parameters", request->hparams,
                                               request->hparam_count));
  if (request->group) {
    LEAT_RETURN_IF_ERROR(
        leat_summary_take_text(START, "group", request->group, &start.group_name));
  }
  size_t count = (size_t)request->hparam_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &start.hparams.items));
  leat_string_map_t seen;
  leat_string_map_initialize(leat_allocator_system(), &seen);
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < count && !status; ++i) {
    status = make_entry(&request->hparams[i], arena, &seen, &start.hparams.items[i]);
  }
  leat_string_map_deinitialize(&seen);
  LEAT_RETURN_IF_ERROR(status);
  start.hparams.count = count;
  return set_data("_hparams_/session_start_info", &plugin, arena, value);
}

void leat_events_add_session_start(leat_events_t* events, const leat_session_start_t* start,
                                   TF_Status* status) {
  leat_summary_add(events, 0, make_start, start, status);
}

TF_Buffer* leat_summary_session_start(const leat_session_start_t* start, TF_Status* status) {
  return leat_summary_encode(make_start, start, status);
}

static leat_status_t make_end(const void* data, leat_arena_t* arena,
                              leat_pb_summary_value_t* value) {
  int session_status = (int)*(const leat_session_status_t*)data;
  leat_pb_hparam_session_end_t end = {.end_time_secs = now_seconds(), .status = session_status};
  leat_pb_hparam_plugin_data_t plugin = {.session_end_info = &end, .data_case = DATA_END};
  if (session_status < LEAT_SESSION_UNKNOWN || session_status > LEAT_SESSION_RUNNING) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "AddSessionEnd failed: the session's status is %d, must be %d to %d",
                            session_status, LEAT_SESSION_UNKNOWN, LEAT_SESSION_RUNNING);
  }
  return set_data("_hparams_/session_end_info", &plugin, arena, value);
}

void leat_events_add_session_end(leat_events_t* events, leat_session_status_t session_status,
                                 TF_Status* status) {
  leat_summary_add(events, 0, make_end, &session_status, status);
}

TF_Buffer* leat_summary_session_end(leat_session_status_t session_status, TF_Status* status) {
  return leat_summary_encode(make_end, &session_status, status);
}

// ---- Experiments --------------------------------------------------------------------------------

#define EXPERIMENT "AddExperiment"

static leat_status_t make_texts(const leat_hparam_info_t* request, leat_arena_t* arena,
                                leat_pb_hparam_info_t* out_info) {
  LEAT_RETURN_IF_ERROR(leat_summary_check_list(EXPERIMENT, "texts of a hyper-parameter",
                                               request->texts, request->text_count));
  if (!request->text_count) return leat_ok_status();
  size_t count = (size_t)request->text_count;
  out_info->domain_case = DOMAIN_DISCRETE;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &out_info->domain_discrete));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &out_info->domain_discrete->values.items));
  out_info->domain_discrete->values.count = count;
  for (size_t i = 0; i < count; ++i) {
    leat_pb_value_t* value = &out_info->domain_discrete->values.items[i];
    value->kind_case = VALUE_STRING;
    LEAT_RETURN_IF_ERROR(leat_summary_take_text(EXPERIMENT, "text of a hyper-parameter",
                                                request->texts[i], &value->string_value));
  }
  return leat_ok_status();
}

static leat_status_t make_interval(const leat_hparam_info_t* request, leat_arena_t* arena,
                                   leat_pb_hparam_info_t* out_info) {
  LEAT_RETURN_IF_ERROR(check_finite(EXPERIMENT, request->name, "low", request->low));
  LEAT_RETURN_IF_ERROR(check_finite(EXPERIMENT, request->name, "high", request->high));
  if (request->low > request->high) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            EXPERIMENT " failed for hyper-parameter '%s': low is %g, must be at "
                                       "most high, which is %g",
                            request->name, request->low, request->high);
  }
  if (request->low == 0 && request->high == 0) return leat_ok_status();
  out_info->domain_case = DOMAIN_INTERVAL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &out_info->domain_interval));
  *out_info->domain_interval = (leat_pb_hparam_interval_t){request->low, request->high};
  return leat_ok_status();
}

static leat_status_t make_bools(leat_arena_t* arena, leat_pb_hparam_info_t* out_info) {
  out_info->domain_case = DOMAIN_DISCRETE;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &out_info->domain_discrete));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 2, &out_info->domain_discrete->values.items));
  out_info->domain_discrete->values.count = 2;
  for (int i = 0; i < 2; ++i) {
    out_info->domain_discrete->values.items[i] =
        (leat_pb_value_t){.kind_case = VALUE_BOOL, .bool_value = i == 1};
  }
  return leat_ok_status();
}

static leat_status_t make_info(const leat_hparam_info_t* request, leat_arena_t* arena,
                               leat_string_map_t* seen, leat_pb_hparam_info_t* out_info) {
  LEAT_RETURN_IF_ERROR(leat_summary_take_name(EXPERIMENT, "name of a hyper-parameter",
                                              request->name, &out_info->name));
  LEAT_RETURN_IF_ERROR(
      check_new(EXPERIMENT, "the name of a hyper-parameter", seen, out_info->name));
  if (request->title) {
    LEAT_RETURN_IF_ERROR(leat_summary_take_text(EXPERIMENT, "title of a hyper-parameter",
                                                request->title, &out_info->display_name));
  }
  out_info->type = (int32_t)request->kind;
  switch (request->kind) {
    case LEAT_HPARAM_TEXT: return make_texts(request, arena, out_info);
    case LEAT_HPARAM_BOOL: return make_bools(arena, out_info);
    case LEAT_HPARAM_NUMBER: return make_interval(request, arena, out_info);
  }
  return refuse_kind(EXPERIMENT, request->name, (int)request->kind);
}

// |seen| knows metrics by their groups and tags, with a byte between them that is in no text.
static leat_status_t make_metric(const leat_hparam_metric_t* request, leat_arena_t* arena,
                                 leat_string_map_t* seen, leat_pb_hparam_metric_info_t* out_info) {
  leat_string_view_t key;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &out_info->name));
  LEAT_RETURN_IF_ERROR(
      leat_summary_take_name(EXPERIMENT, "tag of a metric", request->tag, &out_info->name->tag));
  if (request->group) {
    LEAT_RETURN_IF_ERROR(leat_summary_take_text(EXPERIMENT, "group of a metric", request->group,
                                                &out_info->name->group));
  }
  if (request->title) {
    LEAT_RETURN_IF_ERROR(leat_summary_take_text(EXPERIMENT, "title of a metric", request->title,
                                                &out_info->display_name));
  }
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &key, "%s\xff%s",
                                        request->group ? request->group : "", request->tag));
  bool is_new;
  LEAT_RETURN_IF_ERROR(leat_string_map_insert(seen, key, 0, NULL, &is_new));
  if (is_new) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          EXPERIMENT " failed: the metric '%s' of the group '%s' is there twice, "
                                     "must be unique",
                          request->tag, request->group ? request->group : "");
}

static leat_status_t make_infos(const leat_experiment_t* request, leat_arena_t* arena,
                                leat_string_map_t* names, leat_string_map_t* metrics,
                                leat_pb_hparam_experiment_t* experiment) {
  size_t name_count = (size_t)request->hparam_count, metric_count = (size_t)request->metric_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, name_count + 1, &experiment->hparam_infos.items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, metric_count + 1, &experiment->metric_infos.items));
  for (size_t i = 0; i < name_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        make_info(&request->hparams[i], arena, names, &experiment->hparam_infos.items[i]));
  }
  for (size_t i = 0; i < metric_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        make_metric(&request->metrics[i], arena, metrics, &experiment->metric_infos.items[i]));
  }
  experiment->hparam_infos.count = name_count;
  experiment->metric_infos.count = metric_count;
  return leat_ok_status();
}

static leat_status_t make_experiment(const void* data, leat_arena_t* arena,
                                     leat_pb_summary_value_t* value) {
  const leat_experiment_t* request = data;
  leat_pb_hparam_experiment_t experiment = {.time_created_secs = now_seconds()};
  leat_pb_hparam_plugin_data_t plugin = {.experiment = &experiment, .data_case = DATA_EXPERIMENT};
  leat_string_map_t names, metrics;
  LEAT_RETURN_IF_ERROR(leat_summary_check_list(EXPERIMENT, "experiment", request, 1));
  LEAT_RETURN_IF_ERROR(leat_summary_check_list(EXPERIMENT, "hyper-parameters", request->hparams,
                                               request->hparam_count));
  LEAT_RETURN_IF_ERROR(
      leat_summary_check_list(EXPERIMENT, "metrics", request->metrics, request->metric_count));
  if (request->description) {
    LEAT_RETURN_IF_ERROR(leat_summary_take_text(EXPERIMENT, "description", request->description,
                                                &experiment.description));
  }
  leat_string_map_initialize(leat_allocator_system(), &names);
  leat_string_map_initialize(leat_allocator_system(), &metrics);
  leat_status_t status = make_infos(request, arena, &names, &metrics, &experiment);
  leat_string_map_deinitialize(&names);
  leat_string_map_deinitialize(&metrics);
  LEAT_RETURN_IF_ERROR(status);
  return set_data("_hparams_/experiment", &plugin, arena, value);
}

void leat_events_add_experiment(leat_events_t* events, const leat_experiment_t* experiment,
                                TF_Status* status) {
  leat_summary_add(events, 0, make_experiment, experiment, status);
}

TF_Buffer* leat_summary_experiment(const leat_experiment_t* experiment, TF_Status* status) {
  return leat_summary_encode(make_experiment, experiment, status);
}
