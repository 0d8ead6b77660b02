// Groups of sessions (board/session_groups.h) as TensorBoard's plugin hparams answers them, at two
// addresses that board/api.c routes here: session_groups gives JSON with all that is known of each
// session, download_data a table in CSV, JSON or LaTeX with a column for each hyper-parameter and
// each metric of the experiment.
//
//   request (JSON) ─▶ sessions, experiment ─▶ groups, sorted ─▶ those from begin to end ─▶ text
//                     board/hparams.c         session_groups.c
//
// Both answers begin with make_answer, so that a table which is downloaded has the rows that the
// page shows for the same request, in the same order. All of it is made anew for each request, in
// the request's arena, because runs grow while they are looked at. A row of a table is a walk over
// the columns of the experiment that the request wants to see. cell_of finds the value of a cell,
// and one function for each form prints it, so headings and missing values are decided in one
// place. Details such as "True" and "nan" in CSV, or three digits in LaTeX, are TensorBoard's,
// because an answer of its API must equal its own (board/api.h).
#include <math.h>
#include <stdlib.h>

#include "board/api_hparams.h"
#include "board/json_writer.h"

// ---- JSON ---------------------------------------------------------------------------------------
static void print_metrics(const board_metric_list_t* list, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV("\"metricValues\":["));
  for (size_t i = 0; i < list->count; ++i) {
    const board_metric_value_t* value = &list->items[i];
    leat_string_builder_append(out, i ? LEAT_SV(",{") : LEAT_SV("{"));
    board_api_print_metric_name(value->name, out);
    leat_string_builder_append(out, LEAT_SV(",\"value\":"));
    board_json_float(out, value->value);
    leat_string_builder_print(out, ",\"trainingStep\":%lld,\"wallTimeSecs\":",
                              (long long)value->step);
    board_json_float(out, value->wall_time);
    leat_string_builder_append_char(out, '}');
  }
  leat_string_builder_append_char(out, ']');
}

static void print_session(const board_session_t* session, leat_string_builder_t* out) {
  static const char* const statuses[] = {"UNKNOWN", "SUCCESS", "FAILURE", "RUNNING"};
  int32_t status = session->end ? session->end->status : 0;
  leat_string_builder_append(out, LEAT_SV("{\"name\":"));
  board_json_string(out, session->name);
  leat_string_builder_append(out, LEAT_SV(",\"startTimeSecs\":"));
  board_json_float(out, session->start->start_time_secs);
  leat_string_builder_append(out, LEAT_SV(",\"endTimeSecs\":"));
  board_json_float(out, session->end ? session->end->end_time_secs : 0);
  if (status >= 0 && status < 4) {
    leat_string_builder_print(out, ",\"status\":\"STATUS_%s\",\"modelUri\":", statuses[status]);
  } else {
    leat_string_builder_print(out, ",\"status\":%d,\"modelUri\":", status);
  }
  board_json_string(out, session->start->model_uri);
  leat_string_builder_append(out, LEAT_SV(",\"monitorUrl\":"));
  board_json_string(out, session->start->monitor_url);
  leat_string_builder_append_char(out, ',');
  print_metrics(&session->metrics, out);
  leat_string_builder_append_char(out, '}');
}

static void print_group(const board_session_group_t* group, const board_groups_request_t* request,
                        leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV("{\"name\":"));
  board_json_string(out, group->name);
  leat_string_builder_append(out, LEAT_SV(",\"hparams\":{"));
  board_api_print_hparams(group->sessions.items[0]->start, request, out);
  leat_string_builder_append(out, LEAT_SV("},"));
  print_metrics(&group->metrics, out);
  leat_string_builder_append(out, LEAT_SV(",\"sessions\":["));
  for (size_t i = 0; i < group->sessions.count; ++i) {
    if (i) leat_string_builder_append_char(out, ',');
    print_session(group->sessions.items[i], out);
  }
  leat_string_builder_append(out, LEAT_SV("],\"monitorUrl\":"));
  board_json_string(out, group->monitor_url);
  leat_string_builder_append_char(out, '}');
}

// What a request for groups leads to.
typedef struct answer_s {
  board_hparams_t hparams;
  leat_pb_hparam_experiment_t experiment;
  board_groups_request_t request;
  board_session_group_t* groups;
  size_t count;          // of all groups
  size_t begin, end;     // of those to show
} answer_t;

static leat_status_t make_answer(board_api_t* api, const board_request_t* request,
                                 answer_t* out_answer) {
  leat_string_view_t json;
  LEAT_RETURN_IF_ERROR(board_api_request_json(request, &json));
  LEAT_RETURN_IF_ERROR(board_groups_request_read(json, request->arena, &out_answer->request));
  LEAT_RETURN_IF_ERROR(board_hparams_read(api->logdir, request->arena, &out_answer->hparams));
  LEAT_RETURN_IF_ERROR(board_hparams_experiment(&out_answer->hparams, request->arena,
                                                &out_answer->experiment));
  LEAT_RETURN_IF_ERROR(board_groups_make(&out_answer->hparams, &out_answer->experiment,
                                         &out_answer->request, request->arena, &out_answer->groups,
                                         &out_answer->count));
  // As with slices of Python, a negative index counts from the end.
  int64_t count = (int64_t)out_answer->count;
  int64_t start = out_answer->request.start_index;
  int64_t bounds[2] = {start, start + out_answer->request.slice_size};
  for (int i = 0; i < 2; ++i) {
    if (bounds[i] < 0) bounds[i] += count;
    if (bounds[i] < 0) bounds[i] = 0;
    if (bounds[i] > count) bounds[i] = count;
  }
  out_answer->begin = (size_t)bounds[0];
  out_answer->end = (size_t)(bounds[1] > bounds[0] ? bounds[1] : bounds[0]);
  return leat_ok_status();
}

leat_status_t board_api_session_groups(board_api_t* api, const board_request_t* request,
                                       board_response_t* response) {
  answer_t answer;
  LEAT_RETURN_IF_ERROR(make_answer(api, request, &answer));
  leat_string_builder_append(&response->body, LEAT_SV("{\"sessionGroups\":["));
  for (size_t i = answer.begin; i < answer.end; ++i) {
    if (i > answer.begin) leat_string_builder_append_char(&response->body, ',');
    print_group(&answer.groups[i], &answer.request, &response->body);
  }
  leat_string_builder_print(&response->body, "],\"totalSize\":%zu}", answer.count);
  return leat_ok_status();
}

// ---- Tables -------------------------------------------------------------------------------------
typedef enum form_e { FORM_CSV, FORM_JSON, FORM_LATEX } form_t;

// A cell of a table: a hyper-parameter, or a metric, either of which may be missing.
typedef struct cell_s {
  const leat_pb_value_t* hparam;
  const board_metric_value_t* metric;
  leat_string_view_t heading;  // of a cell of the first row
  bool is_metric;
} cell_t;

static void print_csv_text(leat_string_view_t text, leat_string_builder_t* out) {
  bool is_quoted = false;
  for (size_t i = 0; i < text.size; ++i) is_quoted |= strchr(",\"\r\n", text.data[i]) != NULL;
  if (!is_quoted) {
    leat_string_builder_append(out, text);
    return;
  }
  leat_string_builder_append_char(out, '"');
  for (size_t i = 0; i < text.size; ++i) {
    if (text.data[i] == '"') leat_string_builder_append_char(out, '"');
    leat_string_builder_append_char(out, text.data[i]);
  }
  leat_string_builder_append_char(out, '"');
}

static void print_csv_cell(const cell_t* cell, leat_string_builder_t* out) {
  char text[40];
  double number = cell->metric ? cell->metric->value : 0;
  if (cell->heading.data) {
    print_csv_text(cell->heading, out);
    return;
  }
  if (!cell->metric && !cell->hparam) return;
  if (cell->hparam && cell->hparam->kind_case == BOARD_HPARAM_TEXT) {
    print_csv_text(cell->hparam->string_value, out);
    return;
  }
  if (cell->hparam && cell->hparam->kind_case == BOARD_HPARAM_BOOL) {
    leat_string_builder_append(out, cell->hparam->bool_value ? LEAT_SV("True") : LEAT_SV("False"));
    return;
  }
  if (cell->hparam) number = cell->hparam->number_value;
  if (isfinite(number)) {
    leat_string_builder_append(out, leat_string_view_make(text, board_float_text(number, text)));
  } else {
    leat_string_builder_print(out, "%s", isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
  }
}

static void print_json_cell(const cell_t* cell, leat_string_builder_t* out) {
  if (cell->heading.data) {
    board_json_string(out, cell->heading);
  } else if (cell->metric) {
    board_json_float(out, cell->metric->value);
  } else if (cell->is_metric) {
    leat_string_builder_append(out, LEAT_SV("null"));
  } else if (cell->hparam) {
    board_api_print_hparam(cell->hparam, out);
  } else {
    leat_string_builder_append(out, LEAT_SV("\"\""));
  }
}

static void print_latex_text(leat_string_view_t text, leat_string_builder_t* out) {
  for (size_t i = 0; i < text.size; ++i) {
    if (text.data[i] == '_' || text.data[i] == '%') leat_string_builder_append_char(out, '\\');
    leat_string_builder_append_char(out, text.data[i]);
  }
}

// Three digits; an exponent is that of a power of ten.
static void print_latex_number(double number, leat_string_builder_t* out) {
  size_t begin = out->size + 1;
  leat_string_builder_print(out, "$%.3g", number);
  leat_string_view_t text = leat_string_view_from_index(leat_string_builder_view(out), begin);
  size_t mark = leat_string_view_find(text, 'e');
  if (mark < text.size) {
    int exponent = atoi(text.data + mark + 1);
    out->size = begin + mark;
    leat_string_builder_print(out, "\\cdot 10^{%d}", exponent);
  }
  leat_string_builder_append_char(out, '$');
}

static void print_latex_cell(const cell_t* cell, leat_string_builder_t* out) {
  if (cell->heading.data) {
    print_latex_text(cell->heading, out);
  } else if (cell->metric) {
    print_latex_number(cell->metric->value, out);
  } else if (cell->is_metric) {
    leat_string_builder_append_char(out, '-');
  } else if (cell->hparam && cell->hparam->kind_case == BOARD_HPARAM_TEXT) {
    print_latex_text(cell->hparam->string_value, out);
  } else if (cell->hparam) {
    print_latex_number(cell->hparam->kind_case == BOARD_HPARAM_BOOL ? cell->hparam->bool_value
                                                                    : cell->hparam->number_value,
                       out);
  }
}

// The cell of the column |index| of the experiment; |group| NULL gives the heading.
static cell_t cell_of(const answer_t* answer, size_t index, const board_session_group_t* group) {
  const leat_pb_hparam_experiment_t* experiment = &answer->experiment;
  cell_t cell = {.is_metric = index >= experiment->hparam_infos.count};
  if (!cell.is_metric) {
    const leat_pb_hparam_info_t* info = &experiment->hparam_infos.items[index];
    if (group) {
      cell.hparam = board_hparam_find(group->sessions.items[0]->start, info->name);
    } else {
      cell.heading = info->display_name.size ? info->display_name : info->name;
    }
  } else {
    const leat_pb_hparam_metric_info_t* info =
        &experiment->metric_infos.items[index - experiment->hparam_infos.count];
    board_metric_name_t name = board_metric_name_of(info->name);
    for (size_t i = 0; group && i < group->metrics.count && !cell.metric; ++i) {
      if (board_metric_name_compare(group->metrics.items[i].name, name)) continue;
      cell.metric = &group->metrics.items[i];
    }
    if (!group) cell.heading = info->display_name.size ? info->display_name : name.tag;
  }
  if (!group && !cell.heading.data) cell.heading = LEAT_SV("");
  return cell;
}

static void print_row(const answer_t* answer, const leat_pb_value_list_t* visible, form_t form,
                      const board_session_group_t* group, leat_string_builder_t* out) {
  static const char* const separators[] = {",", ",", " & "};
  size_t count = answer->experiment.hparam_infos.count + answer->experiment.metric_infos.count;
  bool follows = false;
  for (size_t i = 0; i < count && i < visible->count; ++i) {
    if (!visible->items[i].bool_value) continue;
    cell_t cell = cell_of(answer, i, group);
    if (follows) leat_string_builder_append(out, leat_string_view_from(separators[form]));
    follows = true;
    if (form == FORM_CSV) print_csv_cell(&cell, out);
    if (form == FORM_JSON) print_json_cell(&cell, out);
    if (form == FORM_LATEX) print_latex_cell(&cell, out);
  }
}

static void print_csv(const answer_t* answer, const leat_pb_value_list_t* visible,
                      leat_string_builder_t* out) {
  print_row(answer, visible, FORM_CSV, NULL, out);
  leat_string_builder_append(out, LEAT_SV("\r\n"));
  for (size_t i = answer->begin; i < answer->end; ++i) {
    print_row(answer, visible, FORM_CSV, &answer->groups[i], out);
    leat_string_builder_append(out, LEAT_SV("\r\n"));
  }
}

static void print_json(const answer_t* answer, const leat_pb_value_list_t* visible,
                       leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV("{\"header\":["));
  print_row(answer, visible, FORM_JSON, NULL, out);
  leat_string_builder_append(out, LEAT_SV("],\"rows\":["));
  for (size_t i = answer->begin; i < answer->end; ++i) {
    leat_string_builder_append(out, i > answer->begin ? LEAT_SV(",[") : LEAT_SV("["));
    print_row(answer, visible, FORM_JSON, &answer->groups[i], out);
    leat_string_builder_append_char(out, ']');
  }
  leat_string_builder_append(out, LEAT_SV("]}"));
}

static void print_latex(const answer_t* answer, const leat_pb_value_list_t* visible,
                        leat_string_builder_t* out) {
  size_t count = answer->experiment.hparam_infos.count + answer->experiment.metric_infos.count;
  leat_string_builder_append(out, LEAT_SV("\\begin{table}[tbp]\n\\begin{tabular}{"));
  for (size_t i = 0; i < count && i < visible->count; ++i) {
    if (visible->items[i].bool_value) leat_string_builder_append_char(out, 'l');
  }
  leat_string_builder_append(out, LEAT_SV("}\n"));
  print_row(answer, visible, FORM_LATEX, NULL, out);
  leat_string_builder_append(out, LEAT_SV(" \\\\ \\hline\n"));
  for (size_t i = answer->begin; i < answer->end; ++i) {
    print_row(answer, visible, FORM_LATEX, &answer->groups[i], out);
    leat_string_builder_append(out, LEAT_SV(" \\\\\n"));
  }
  leat_string_builder_append(out, LEAT_SV("\\hline\n\\end{tabular}\n\\end{table}\n"));
}

leat_status_t board_api_hparams_table(board_api_t* api, const board_request_t* request,
                                      board_response_t* response) {
  answer_t answer;
  leat_pb_value_list_value_t visible;  // a truth for each column
  leat_string_view_t text, form;
  if (!board_query_get(&request->query, "format", &form)) form = LEAT_SV("None");
  if (!board_query_get(&request->query, "columnsVisibility", &text)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "columnsVisibility must be specified");
  }
  LEAT_RETURN_IF_ERROR(board_json_decode(&leat_pb_value_list_value_descriptor, text,
                                         request->arena, &visible));
  LEAT_RETURN_IF_ERROR(make_answer(api, request, &answer));
  if (leat_string_view_equals(form, "csv")) {
    response->content_type = "text/csv; charset=utf-8";
    print_csv(&answer, &visible.values, &response->body);
  } else if (leat_string_view_equals(form, "json")) {
    print_json(&answer, &visible.values, &response->body);
  } else if (leat_string_view_equals(form, "latex")) {
    response->content_type = "application/x-latex";
    print_latex(&answer, &visible.values, &response->body);
  } else {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "format is '%.*s', must be csv, json or latex", LEAT_SV_ARG(form));
  }
  return leat_ok_status();
}
