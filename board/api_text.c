// Texts of the summaries, at TensorBoard's own address and, as they were written, at one of the
// board's. TensorBoard shows texts as Markdown; here their markup is escaped and only paragraphs
// and tables are made, so that what a log says is read and never run. Tensors of texts become
// tables. Of more than two dimensions the first slice is shown, with a warning in TensorBoard's
// words. At most TEXT_POINTS points of a tag are answered.
#include "board/api.h"
#include "board/json_writer.h"
#include "board/tensor_list.h"

#define TEXT_POINTS 100

leat_status_t board_api_text_tags(board_api_t* api, const board_request_t* request,
                                  board_response_t* response) {
  (void)request;
  return board_api_index(api, "text", BOARD_CLASS_TENSOR, NULL, &response->body);
}

static void print_table(const board_tensor_list_t* list, leat_string_builder_t* out) {
  uint32_t rows = list->rank == 1 ? list->dims[0] : list->dims[list->rank - 2];
  uint32_t columns = list->rank == 1 ? 1 : list->dims[list->rank - 1];
  if (list->rank > 2) {
    leat_string_builder_print(
        out, "<p><strong>Warning:</strong> This text summary contained data of dimensionality %u, "
        "but only 2d tables are supported. Showing a 2d slice of the data instead.</p>",
        list->rank);
  }
  leat_string_builder_append(out, LEAT_SV("<table>\n<tbody>\n"));
  for (uint32_t row = 0; row < rows; ++row) {
    leat_string_builder_append(out, LEAT_SV("<tr>\n"));
    for (uint32_t column = 0; column < columns && list->count; ++column) {
      leat_string_builder_append(out, LEAT_SV("<td>"));
      board_api_print_html(list->texts[row * columns + column], out);
      leat_string_builder_append(out, LEAT_SV("</td>\n"));
    }
    leat_string_builder_append(out, LEAT_SV("</tr>\n"));
  }
  leat_string_builder_append(out, LEAT_SV("</tbody>\n</table>"));
}

// The texts of a point, as they were written and as a table.
static void print_raw(const board_tensor_list_t* list, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV(",\"shape\":["));
  for (uint32_t i = 0; i < list->rank; ++i) {
    leat_string_builder_print(out, i ? ",%u" : "%u", list->dims[i]);
  }
  leat_string_builder_append(out, LEAT_SV("],\"texts\":["));
  for (size_t i = 0; i < list->count; ++i) {
    if (i) leat_string_builder_append_char(out, ',');
    board_json_string(out, list->texts[i]);
  }
  leat_string_builder_append_char(out, ']');
}

static void print_html(const board_tensor_list_t* list, leat_string_builder_t* out) {
  leat_string_builder_t html;
  leat_string_builder_append(out, LEAT_SV(",\"text\":"));
  leat_string_builder_initialize(leat_allocator_system(), &html);
  if (list->rank) {
    print_table(list, &html);
  } else {
    board_api_print_html(list->texts[0], &html);
  }
  board_json_string(out, leat_string_builder_view(&html));
  leat_string_builder_deinitialize(&html);
}

typedef void (*print_fn_t)(const board_tensor_list_t* list, leat_string_builder_t* out);

static leat_status_t print_point(const board_snapshot_t* snapshot, uint32_t index,
                                 leat_arena_t* arena, print_fn_t print,
                                 leat_string_builder_t* out) {
  leat_pb_summary_value_t value;
  board_tensor_list_t list;
  LEAT_RETURN_IF_ERROR(board_snapshot_value(snapshot, index, arena, &value));
  LEAT_RETURN_IF_ERROR(board_tensor_list_read(value.tensor, arena, &list));
  if (!list.texts) return leat_make_status(LEAT_INVALID_ARGUMENT, "the value is no text");
  leat_string_builder_append(out, LEAT_SV("{\"wall_time\":"));
  board_json_float(out, snapshot->wall_times[index]);
  leat_string_builder_print(out, ",\"step\":%lld", (long long)snapshot->steps[index]);
  print(&list, out);
  leat_string_builder_append_char(out, '}');
  return leat_ok_status();
}

static leat_status_t print_points(board_api_t* api, const board_request_t* request,
                                  print_fn_t print, board_response_t* response) {
  board_run_t* run;
  board_snapshot_t snapshot = {0};
  leat_string_view_t tag;
  leat_status_t status = board_api_run_and_tag(api, request, &run, &tag);
  if (!status) {
    status = board_snapshot_take(run, tag, "text", BOARD_CLASS_TENSOR, request->arena, &snapshot);
  }
  // What is not there has no texts.
  if (status && leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    status = leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(status);
  LEAT_RETURN_IF_ERROR(board_snapshot_thin(&snapshot, TEXT_POINTS, request->arena));
  leat_string_builder_append_char(&response->body, '[');
  for (uint32_t i = 0; i < snapshot.count; ++i) {
    if (i) leat_string_builder_append_char(&response->body, ',');
    LEAT_RETURN_IF_ERROR(print_point(&snapshot, i, request->arena, print,
                                     &response->body));
  }
  leat_string_builder_append_char(&response->body, ']');
  return leat_ok_status();
}

leat_status_t board_api_text(board_api_t* api, const board_request_t* request,
                             board_response_t* response) {
  return print_points(api, request, print_html, response);
}

leat_status_t board_api_raw_text(board_api_t* api, const board_request_t* request,
                                 board_response_t* response) {
  return print_points(api, request, print_raw, response);
}
