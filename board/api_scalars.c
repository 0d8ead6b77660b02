// The scalars of the summaries, as TensorBoard's scalars plugin answers for them: which tags there
// are, and [wall time, step, value] of each point that the reservoir keeps, as JSON or as CSV.
// Points are taken from a snapshot (board/snapshot.h), so that no lock is held while they are
// printed. Numbers are printed so that reading them back gives the same bits. What is no number has
// the same spelling as in TensorBoard's answers, which its pages understand although JSON has no
// such numbers.
#include <math.h>

#include "board/api.h"
#include "board/json_writer.h"

leat_status_t board_api_scalar_tags(board_api_t* api, const board_request_t* request,
                                    board_response_t* response) {
  (void)request;
  return board_api_index(api, "scalars", BOARD_CLASS_SCALAR, board_api_print_names,
                         &response->body);
}

leat_status_t board_api_scalar_tag_list(board_api_t* api, const board_request_t* request,
                                        board_response_t* response) {
  (void)request;
  return board_api_tag_list(api, "scalars", BOARD_CLASS_SCALAR, &response->body);
}

void board_api_print_points(const board_snapshot_t* snapshot, leat_string_builder_t* out) {
  leat_string_builder_append_char(out, '[');
  for (uint32_t i = 0; i < snapshot->count; ++i) {
    leat_string_builder_append(out, i ? LEAT_SV(",[") : LEAT_SV("["));
    board_json_float(out, snapshot->wall_times[i]);
    leat_string_builder_append_char(out, ',');
    board_json_int(out, snapshot->steps[i]);
    leat_string_builder_append_char(out, ',');
    board_json_number(out, snapshot->number_kind, snapshot->values[i]);
    leat_string_builder_append_char(out, ']');
  }
  leat_string_builder_append_char(out, ']');
}

// A number as Python's csv module writes it.
static void print_csv_number(board_number_kind_t kind, double number, leat_string_builder_t* out) {
  char text[40];
  if (kind == BOARD_NUMBER_BOOL) {
    leat_string_builder_append(out, number != 0 ? LEAT_SV("True") : LEAT_SV("False"));
    return;
  }
  if (kind == BOARD_NUMBER_INT) {
    board_json_number(out, kind, number);
    return;
  }
  size_t size = board_float_text(number, text);
  if (isfinite(number)) {
    leat_string_builder_append(out, leat_string_view_make(text, size));
  } else {
    leat_string_builder_print(out, "%s", isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
  }
}

static void print_csv(const board_snapshot_t* snapshot, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV("Wall time,Step,Value\r\n"));
  for (uint32_t i = 0; i < snapshot->count; ++i) {
    print_csv_number(BOARD_NUMBER_FLOAT, snapshot->wall_times[i], out);
    leat_string_builder_print(out, ",%lld,", (long long)snapshot->steps[i]);
    print_csv_number(snapshot->number_kind, snapshot->values[i], out);
    leat_string_builder_append(out, LEAT_SV("\r\n"));
  }
}

leat_status_t board_api_scalars(board_api_t* api, const board_request_t* request,
                                board_response_t* response) {
  board_run_t* run;
  board_snapshot_t snapshot;
  leat_string_view_t tag, format;
  LEAT_RETURN_IF_ERROR(board_api_run_and_tag(api, request, &run, &tag));
  LEAT_RETURN_IF_ERROR(board_snapshot_take(run, tag, "scalars", BOARD_CLASS_SCALAR, request->arena,
                                           &snapshot));
  if (board_query_get(&request->query, "format", &format) &&
      leat_string_view_equals(format, "csv")) {
    response->content_type = "text/csv; charset=utf-8";
    print_csv(&snapshot, &response->body);
  } else {
    board_api_print_points(&snapshot, &response->body);
  }
  return leat_ok_status();
}

leat_status_t board_api_scalars_multirun(board_api_t* api, const board_request_t* request,
                                         board_response_t* response) {
  leat_string_view_t tag = {0};
  int tags = 0;
  bool follows = false;
  if (!request->is_post) {
    response->code = 405;
    response->content_type = "text/plain; charset=utf-8";
    leat_string_builder_append(&response->body, LEAT_SV("the method must be POST"));
    return leat_ok_status();
  }
  for (size_t i = 0; i < request->form.count; ++i) {
    if (!leat_string_view_equals(request->form.items[i].name, "tag")) continue;
    tag = request->form.items[i].value;
    ++tags;
  }
  if (tags != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "tag must be specified exactly once");
  }
  leat_string_builder_append_char(&response->body, '{');
  for (size_t i = 0; i < request->form.count; ++i) {
    const board_parameter_t* item = &request->form.items[i];
    board_snapshot_t snapshot;
    if (!leat_string_view_equals(item->name, "runs")) continue;
    board_run_t* run = board_logdir_find(api->logdir, item->value);
    leat_status_t status = run ? board_snapshot_take(run, tag, "scalars", BOARD_CLASS_SCALAR,
                                                     request->arena, &snapshot)
                               : leat_make_status(LEAT_NOT_FOUND, "no run");
    if (!status) {
      if (follows) leat_string_builder_append_char(&response->body, ',');
      follows = true;
      board_json_string(&response->body, item->value);
      leat_string_builder_append_char(&response->body, ':');
      board_api_print_points(&snapshot, &response->body);
    }
    // Runs without the tag are left out.
    leat_status_free(status);
  }
  leat_string_builder_append_char(&response->body, '}');
  return leat_ok_status();
}
