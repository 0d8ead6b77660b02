// Images: which there are, and each by its key. The first two elements of an image's point are its
// width and height, hence the image |sample| is the element |sample| + 2.
#include "board/api.h"
#include "board/blob_key.h"
#include "board/json_writer.h"

#define IMAGE_POINTS 10

static void print_image_tag(board_series_t* series, leat_string_builder_t* out) {
  board_api_print_names(series, out);
  leat_string_builder_print(out, ",\"samples\":%lld", (long long)board_blob_longest(series) - 2);
}

leat_status_t board_api_image_tags(board_api_t* api, const board_request_t* request,
                                   board_response_t* response) {
  (void)request;
  return board_api_index(api, "images", BOARD_CLASS_BLOB, print_image_tag, &response->body);
}

leat_status_t board_api_images(board_api_t* api, const board_request_t* request,
                               board_response_t* response) {
  board_run_t* run;
  board_snapshot_t snapshot;
  leat_string_view_t tag;
  int64_t sample;
  bool follows = false;
  LEAT_RETURN_IF_ERROR(board_blob_points(api, request, "images", IMAGE_POINTS, &run, &tag, &sample,
                                         &snapshot));
  leat_string_builder_append_char(&response->body, '[');
  for (uint32_t i = 0; i < snapshot.count; ++i) {
    if (sample < 0 || sample >= (int64_t)snapshot.places[i].length - 2) continue;
    leat_string_builder_append(&response->body, follows ? LEAT_SV(",{") : LEAT_SV("{"));
    follows = true;
    leat_string_builder_append(&response->body, LEAT_SV("\"wall_time\":"));
    board_json_float(&response->body, snapshot.wall_times[i]);
    leat_string_builder_print(&response->body, ",\"step\":%lld,\"query\":\"blob_key=",
                              (long long)snapshot.steps[i]);
    board_blob_key_print("images", leat_string_view_from(run->name), tag, snapshot.steps[i],
                         (uint32_t)sample + 2, &response->body);
    leat_string_builder_append(&response->body, LEAT_SV("\"}"));
  }
  leat_string_builder_append_char(&response->body, ']');
  return leat_ok_status();
}

// The type that the bytes say. SVG, which may hold a program, is none of them.
const char* board_api_image_type(leat_string_view_t bytes) {
  static const struct {
    const char* begin;
    size_t size;
    const char* type;
  } kinds[] = {
      {"\x89PNG\r\n\x1a\n", 8, "image/png"},
      {"\xff\xd8\xff", 3, "image/jpeg"},
      {"GIF87a", 6, "image/gif"},
      {"GIF89a", 6, "image/gif"},
      {"BM", 2, "image/bmp"},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (bytes.size >= kinds[i].size && !memcmp(bytes.data, kinds[i].begin, kinds[i].size)) {
      return kinds[i].type;
    }
  }
  return "application/octet-stream";
}

leat_status_t board_api_image(board_api_t* api, const board_request_t* request,
                              board_response_t* response) {
  leat_string_view_t key, bytes;
  if (!board_query_get(&request->query, "blob_key", &key)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid run, tag, index, or sample");
  }
  LEAT_RETURN_IF_ERROR(board_blob_key_read(api, request, "images", key, &bytes));
  response->content_type = board_api_image_type(bytes);
  leat_string_builder_append(&response->body, bytes);
  return leat_ok_status();
}
