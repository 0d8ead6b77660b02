// What a client sends in a URL: the query is parsed, and what it names is looked up as a blob's
// key, which is the one text of a client that has a form of its own. There are no runs.
#include "board/blob_key.h"
#include "board/graph_store.h"
#include "board/trace_store.h"

static board_api_t* api(void) {
  static board_logdir_options_t options = {.path = "/nonexistent/leat",
                                           .poll_ms = 86400000};
  static board_api_t api = {.path_prefix = ""};
  if (!api.logdir) leat_status_free(board_logdir_create(&options, &api.logdir));
  if (!api.graphs) leat_status_free(board_graph_store_create(&api.graphs));
  if (!api.traces) leat_status_free(board_trace_store_create(NULL, &api.traces));
  return &api;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  leat_arena_t arena;
  leat_string_view_t text = leat_string_view_make((const char*)data, size), value, bytes;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  board_request_t request = {.arena = &arena, .path = LEAT_SV("/data/runs")};
  board_response_t response = {.code = 200};
  leat_string_builder_initialize(leat_allocator_system(), &response.body);
  leat_status_free(board_query_parse(text, &arena, &request.query));
  if (!board_query_get(&request.query, "blob_key", &value)) value = text;
  leat_status_free(board_blob_key_read(api(), &request, "images", value, &bytes));
  request.path = text;
  board_api_handle(api(), &request, &response);
  leat_string_builder_deinitialize(&response.body);
  leat_arena_deinitialize(&arena);
  return 0;
}
