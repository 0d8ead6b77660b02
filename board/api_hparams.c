// Hyper-parameters, at three addresses of TensorBoard's plugin (experiment, metric_evals, and in
// board/api_session_groups.c session_groups and download_data) and at one of our own,
// /data/leat/hparams, a table of the runs that wrote some:
//
//   {"sessions": [{"run": "a", "group": "", "status": 1, "start": seconds,
//                  "hparams": {"rate": 0.1, "optimizer": "adam"}, "metrics": {"loss": 0.5}}, ...]}
//
// The metrics of a run are the newest values of its scalars and of those of the runs below it
// ("a/eval" writes the metric "eval/loss"). The status is that of TensorBoard: 0 is not known, 1
// success, 2 failure, 3 running. A request of TensorBoard's is JSON, the body of a POST or the
// parameter "request".
#include "board/api_hparams.h"

#include "board/json_writer.h"

leat_status_t board_api_request_json(const board_request_t* request, leat_string_view_t* out_json) {
  *out_json = request->body;
  if (request->is_post || board_query_get(&request->query, "request", out_json)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Expected a JSON-formatted request");
}

void board_api_print_hparam(const leat_pb_value_t* value, leat_string_builder_t* out) {
  if (value && value->kind_case == BOARD_HPARAM_NUMBER) {
    board_json_float(out, value->number_value);
  } else if (value && value->kind_case == BOARD_HPARAM_TEXT) {
    board_json_string(out, value->string_value);
  } else if (value && value->kind_case == BOARD_HPARAM_BOOL) {
    board_json_number(out, BOARD_NUMBER_BOOL, value->bool_value);
  } else {
    leat_string_builder_append(out, LEAT_SV("null"));
  }
}

void board_api_print_hparams(const leat_pb_hparam_session_start_t* start,
                             const board_groups_request_t* request, leat_string_builder_t* out) {
  bool follows = false;
  for (size_t i = 0; i < start->hparams.count; ++i) {
    const leat_pb_hparam_entry_t* entry = &start->hparams.items[i];
    const leat_pb_value_t* value = board_hparam_find(start, entry->key);
    // Of entries with one key the last is printed, once.
    if (!value || value != entry->value) continue;
    if (request && !board_groups_has_hparam(request, entry->key)) continue;
    if (follows) leat_string_builder_append_char(out, ',');
    follows = true;
    board_json_string(out, entry->key);
    leat_string_builder_append_char(out, ':');
    board_api_print_hparam(value, out);
  }
}

// ---- Our own table ------------------------------------------------------------------------------
static void print_session(const board_session_t* session, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV("{\"run\":"));
  board_json_string(out, session->name);
  leat_string_builder_append(out, LEAT_SV(",\"group\":"));
  board_json_string(out, session->start->group_name);
  leat_string_builder_append(out, LEAT_SV(",\"hparams\":{"));
  board_api_print_hparams(session->start, NULL, out);
  leat_string_builder_append(out, LEAT_SV("},\"start\":"));
  board_json_float(out, session->start->start_time_secs);
  leat_string_builder_print(out, ",\"status\":%d,\"metrics\":{",
                            session->end ? session->end->status : 0);
  leat_string_builder_t name;
  leat_string_builder_initialize(leat_allocator_system(), &name);
  for (size_t i = 0; i < session->metrics.count; ++i) {
    const board_metric_value_t* value = &session->metrics.items[i];
    name.size = 0;
    leat_string_builder_append(&name, value->name.group);
    if (value->name.group.size) leat_string_builder_append_char(&name, '/');
    leat_string_builder_append(&name, value->name.tag);
    if (i) leat_string_builder_append_char(out, ',');
    board_json_string(out, leat_string_builder_view(&name));
    leat_string_builder_append_char(out, ':');
    board_json_float(out, value->value);
  }
  leat_string_builder_deinitialize(&name);
  leat_string_builder_append(out, LEAT_SV("}}"));
}

leat_status_t board_api_hparams(board_api_t* api, const board_request_t* request,
                                board_response_t* response) {
  board_hparams_t hparams;
  LEAT_RETURN_IF_ERROR(board_hparams_read(api->logdir, request->arena, &hparams));
  leat_string_builder_append(&response->body, LEAT_SV("{\"sessions\":["));
  for (size_t i = 0; i < hparams.session_count; ++i) {
    if (i) leat_string_builder_append_char(&response->body, ',');
    print_session(&hparams.sessions[i], &response->body);
  }
  leat_string_builder_append(&response->body, LEAT_SV("]}"));
  return leat_ok_status();
}

// ---- The experiment -----------------------------------------------------------------------------
static const char* const kTypes[] = {"DATA_TYPE_UNSET", "DATA_TYPE_STRING", "DATA_TYPE_BOOL",
                                     "DATA_TYPE_FLOAT64"};
static const char* const kDatasets[] = {"DATASET_UNKNOWN", "DATASET_TRAINING",
                                        "DATASET_VALIDATION"};

// The name of an enum's value, or the number where it has none.
static void print_enum(int32_t value, const char* const* names, int32_t count,
                       leat_string_builder_t* out) {
  if (value >= 0 && value < count) {
    leat_string_builder_print(out, "\"%s\"", names[value]);
  } else {
    leat_string_builder_print(out, "%d", value);
  }
}

// A value of the domain of texts is a text: of another kind it is what JSON says, and of texts too,
// without the quotes, so that a quote in it has a backslash. So does TensorBoard print them.
static void print_domain_text(const leat_pb_value_t* value, leat_string_builder_t* out) {
  leat_string_builder_t json;
  leat_string_builder_initialize(leat_allocator_system(), &json);
  if (value->kind_case == BOARD_HPARAM_TEXT) {
    board_json_ascii_string(&json, value->string_value);
  } else {
    board_api_print_hparam(value, &json);
  }
  leat_string_view_t text = leat_string_builder_view(&json);
  if (value->kind_case == BOARD_HPARAM_TEXT && text.size >= 2) {
    text = leat_string_view_make(text.data + 1, text.size - 2);
  }
  board_json_string(out, text);
  leat_string_builder_deinitialize(&json);
}

// |is_written| says that a program wrote the domain, and the values are printed as they are.
static void print_domain(const leat_pb_hparam_info_t* info, bool is_written,
                         leat_string_builder_t* out) {
  if (info->domain_interval) {
    leat_string_builder_append(out, LEAT_SV(",\"domainInterval\":{\"minValue\":"));
    board_json_float(out, info->domain_interval->min_value);
    leat_string_builder_append(out, LEAT_SV(",\"maxValue\":"));
    board_json_float(out, info->domain_interval->max_value);
    leat_string_builder_append_char(out, '}');
  }
  if (!info->domain_discrete) return;
  leat_string_builder_append(out, LEAT_SV(",\"domainDiscrete\":["));
  for (size_t i = 0; i < info->domain_discrete->values.count; ++i) {
    const leat_pb_value_t* value = &info->domain_discrete->values.items[i];
    if (i) leat_string_builder_append_char(out, ',');
    if (!is_written && info->type == BOARD_HPARAM_TYPE_TEXT) {
      print_domain_text(value, out);
    } else {
      board_api_print_hparam(value, out);
    }
  }
  leat_string_builder_append_char(out, ']');
}

// Prints |text| as the member |key|, which is ready to print: ",\"name\":".
static void print_member(leat_string_view_t key, leat_string_view_t text,
                         leat_string_builder_t* out) {
  leat_string_builder_append(out, key);
  board_json_string(out, text);
}

static void print_hparam_info(const leat_pb_hparam_info_t* info, bool is_written,
                              leat_string_builder_t* out) {
  print_member(LEAT_SV("{\"name\":"), info->name, out);
  print_member(LEAT_SV(",\"displayName\":"), info->display_name, out);
  print_member(LEAT_SV(",\"description\":"), info->description, out);
  leat_string_builder_append(out, LEAT_SV(",\"type\":"));
  print_enum(info->type, kTypes, 4, out);
  leat_string_builder_append(out, LEAT_SV(",\"differs\":"));
  board_json_number(out, BOARD_NUMBER_BOOL, info->differs);
  print_domain(info, is_written, out);
  leat_string_builder_append_char(out, '}');
}

void board_api_print_metric_name(board_metric_name_t name, leat_string_builder_t* out) {
  print_member(LEAT_SV("\"name\":{\"tag\":"), name.tag, out);
  print_member(LEAT_SV(",\"group\":"), name.group, out);
  leat_string_builder_append_char(out, '}');
}

static void print_metric_info(const leat_pb_hparam_metric_info_t* info,
                              leat_string_builder_t* out) {
  leat_string_builder_append_char(out, '{');
  if (info->name) {
    board_api_print_metric_name(*info->name, out);
    leat_string_builder_append_char(out, ',');
  }
  print_member(LEAT_SV("\"displayName\":"), info->display_name, out);
  print_member(LEAT_SV(",\"description\":"), info->description, out);
  leat_string_builder_append(out, LEAT_SV(",\"datasetType\":"));
  print_enum(info->dataset_type, kDatasets, 3, out);
  leat_string_builder_append_char(out, '}');
}

static void print_experiment(const leat_pb_hparam_experiment_t* experiment, bool is_written,
                             leat_string_builder_t* out) {
  print_member(LEAT_SV("{\"name\":"), experiment->name, out);
  print_member(LEAT_SV(",\"description\":"), experiment->description, out);
  print_member(LEAT_SV(",\"user\":"), experiment->user, out);
  leat_string_builder_append(out, LEAT_SV(",\"timeCreatedSecs\":"));
  board_json_float(out, experiment->time_created_secs);
  leat_string_builder_append(out, LEAT_SV(",\"hparamInfos\":["));
  for (size_t i = 0; i < experiment->hparam_infos.count; ++i) {
    if (i) leat_string_builder_append_char(out, ',');
    print_hparam_info(&experiment->hparam_infos.items[i], is_written, out);
  }
  leat_string_builder_append(out, LEAT_SV("],\"metricInfos\":["));
  for (size_t i = 0; i < experiment->metric_infos.count; ++i) {
    if (i) leat_string_builder_append_char(out, ',');
    print_metric_info(&experiment->metric_infos.items[i], out);
  }
  leat_string_builder_append(out, LEAT_SV("]}"));
}

leat_status_t board_api_experiment(board_api_t* api, const board_request_t* request,
                                   board_response_t* response) {
  board_hparams_t hparams;
  leat_pb_hparam_experiment_t experiment;
  leat_string_view_t json;
  leat_pb_hparam_experiment_request_t wanted;
  LEAT_RETURN_IF_ERROR(board_api_request_json(request, &json));
  LEAT_RETURN_IF_ERROR(board_json_decode(&leat_pb_hparam_experiment_request_descriptor, json,
                                         request->arena, &wanted));
  LEAT_RETURN_IF_ERROR(board_hparams_read(api->logdir, request->arena, &hparams));
  LEAT_RETURN_IF_ERROR(board_hparams_experiment(&hparams, request->arena, &experiment));
  if (wanted.has_include_metrics_case && !wanted.include_metrics) {
    experiment.metric_infos.count = 0;
  }
  if (wanted.hparams_limit > 0 &&
      (size_t)wanted.hparams_limit < experiment.hparam_infos.count) {
    experiment.hparam_infos.count = (size_t)wanted.hparams_limit;
  }
  print_experiment(&experiment, hparams.experiment != NULL, &response->body);
  return leat_ok_status();
}

// ---- The course of a metric ---------------------------------------------------------------------
// The run that a session and a group below it name.
static leat_status_t run_of(board_api_t* api, leat_arena_t* arena, leat_string_view_t session,
                            leat_string_view_t group, board_run_t** out_run) {
  leat_string_view_t name = session;
  if (leat_string_view_equals(session, ".") && group.size) session.size = 0;
  if (group.size) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &name, "%.*s%s%.*s", LEAT_SV_ARG(session),
                                          session.size ? "/" : "", LEAT_SV_ARG(group)));
  }
  *out_run = board_logdir_find(api->logdir, name);
  if (*out_run) return leat_ok_status();
  return leat_make_status(LEAT_NOT_FOUND, "Not found: there is no run '%.*s'", LEAT_SV_ARG(name));
}

leat_status_t board_api_metric_evals(board_api_t* api, const board_request_t* request,
                                     board_response_t* response) {
  leat_pb_hparam_metric_request_t wanted;
  leat_string_view_t json;
  board_run_t* run;
  board_snapshot_t snapshot;
  LEAT_RETURN_IF_ERROR(board_api_request_json(request, &json));
  LEAT_RETURN_IF_ERROR(board_json_decode(&leat_pb_hparam_metric_request_descriptor, json,
                                         request->arena, &wanted));
  board_metric_name_t metric = board_metric_name_of(wanted.metric_name);
  LEAT_RETURN_IF_ERROR(run_of(api, request->arena, wanted.session_name, metric.group, &run));
  LEAT_RETURN_IF_ERROR(board_snapshot_take(run, metric.tag, "scalars", BOARD_CLASS_SCALAR,
                                           request->arena, &snapshot));
  board_api_print_points(&snapshot, &response->body);
  return leat_ok_status();
}
