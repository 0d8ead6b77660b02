// Precision and recall curves, as TensorBoard's plugin answers for them. A point of a series is a
// matrix of six rows: true positives, false positives, true negatives, false negatives, precision
// and recall, at as many thresholds between 0 and 1. A tensor of another form is refused. Counts
// are printed as whole numbers, which is what the pages expect, whatever a file says.
#include "board/api.h"
#include "board/json_writer.h"
#include "board/tensor_list.h"

#define CURVE_POINTS 100
#define ROWS 6

leat_status_t board_api_pr_curve_tags(board_api_t* api, const board_request_t* request,
                                      board_response_t* response) {
  (void)request;
  return board_api_index(api, "pr_curves", BOARD_CLASS_TENSOR, board_api_print_names,
                         &response->body);
}

// A count, which is a whole number of 0 or more in every file that a program meant.
static int64_t count_of(double number) {
  return number > -9e18 && number < 9e18 ? (int64_t)number : 0;
}

static void print_row(const char* name, const double* row, size_t count, bool is_float,
                      leat_string_builder_t* out) {
  leat_string_builder_print(out, ",\"%s\":[", name);
  for (size_t i = 0; i < count; ++i) {
    if (i) leat_string_builder_append_char(out, ',');
    if (is_float) {
      board_json_float(out, row[i]);
    } else {
      board_json_int(out, count_of(row[i]));
    }
  }
  leat_string_builder_append_char(out, ']');
}

static leat_status_t print_curve(const board_snapshot_t* snapshot, uint32_t index,
                                 leat_arena_t* arena, leat_string_builder_t* out) {
  static const char* const names[ROWS] = {"true_positives", "false_positives", "true_negatives",
                                          "false_negatives", "precision", "recall"};
  leat_pb_summary_value_t value;
  board_tensor_list_t list;
  double* thresholds = NULL;
  LEAT_RETURN_IF_ERROR(board_snapshot_value(snapshot, index, arena, &value));
  LEAT_RETURN_IF_ERROR(board_tensor_list_read(value.tensor, arena, &list));
  if (!list.numbers || list.rank != 2 || list.dims[0] < ROWS || !list.dims[1]) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "the value is no curve");
  }
  size_t width = list.dims[1], end = width;
  // At the end of the curve nothing is called positive, and precision has no meaning.
  while (end > 1 && !count_of(list.numbers[end - 1]) && !count_of(list.numbers[width + end - 1])) {
    --end;
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, width, &thresholds));
  double step = width > 1 ? 1.0 / (double)(width - 1) : 0;
  for (size_t i = 0; i < width; ++i) thresholds[i] = (double)i * step;
  if (width > 1) thresholds[width - 1] = 1;
  leat_string_builder_append(out, LEAT_SV("{\"wall_time\":"));
  board_json_float(out, snapshot->wall_times[index]);
  leat_string_builder_print(out, ",\"step\":%lld", (long long)snapshot->steps[index]);
  for (size_t row = 0; row < ROWS; ++row) {
    print_row(names[row], list.numbers + row * width, end, row >= 4, out);
  }
  print_row("thresholds", thresholds, end, true, out);
  leat_string_builder_append_char(out, '}');
  return leat_ok_status();
}

leat_status_t board_api_pr_curves(board_api_t* api, const board_request_t* request,
                                  board_response_t* response) {
  leat_string_view_t tag;
  bool follows = false;
  if (!board_query_get(&request->query, "tag", &tag)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "The tag must be specified");
  }
  leat_string_builder_append_char(&response->body, '{');
  for (size_t i = 0; i < request->query.count; ++i) {
    const board_parameter_t* item = &request->query.items[i];
    board_snapshot_t snapshot;
    if (!leat_string_view_equals(item->name, "run")) continue;
    board_run_t* run = board_logdir_find(api->logdir, item->value);
    leat_status_t status = run ? board_snapshot_take(run, tag, "pr_curves", BOARD_CLASS_TENSOR,
                                                     request->arena, &snapshot)
                               : leat_make_status(LEAT_NOT_FOUND, "no run");
    if (status && leat_status_code(status) == LEAT_NOT_FOUND) {
      // Here TensorBoard answers 400.
      leat_status_free(status);
      status = leat_make_status(LEAT_INVALID_ARGUMENT, "No PR curves could be found");
    }
    LEAT_RETURN_IF_ERROR(status);
    LEAT_RETURN_IF_ERROR(board_snapshot_thin(&snapshot, CURVE_POINTS, request->arena));
    if (follows) leat_string_builder_append_char(&response->body, ',');
    follows = true;
    board_json_string(&response->body, item->value);
    leat_string_builder_append(&response->body, LEAT_SV(":["));
    for (uint32_t point = 0; point < snapshot.count; ++point) {
      if (point) leat_string_builder_append_char(&response->body, ',');
      LEAT_RETURN_IF_ERROR(print_curve(&snapshot, point, request->arena, &response->body));
    }
    leat_string_builder_append_char(&response->body, ']');
  }
  leat_string_builder_append_char(&response->body, '}');
  if (follows) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "The run must be specified");
}
