// A file of events, read by the board: the bytes as records whose sizes and checksums are right (u8
// size, bytes, again), with a damaged byte in between where a size is 255; then everything that a
// client can ask of the run. Right checksums are made here because the fuzzer would never guess
// one, and the decoders behind the check would stay untested. The answers are not compared with
// anything: a crash, a leak or a report of a sanitizer is what is looked for. The handler is called
// without a socket, and the file lies in a directory that is removed at the end.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "board/api.h"
#include "board/graph_store.h"
#include "formats/record/record.h"

static board_logdir_options_t options;
static board_api_t api;
static char directory[64], path[128];

static void remove_files(void) {
  unlink(path);
  rmdir(directory);
}

static void make_directory(void) {
  snprintf(directory, sizeof directory, "/tmp/leat-fuzz-XXXXXX");
  if (!mkdtemp(directory)) return;
  snprintf(path, sizeof path, "%s/events.out.tfevents.1", directory);
  atexit(remove_files);
  options = (board_logdir_options_t){directory, NULL, 86400000, NULL, NULL};
  api.path_prefix = "";
}

static void ask(const char* address, leat_string_view_t tag) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  board_request_t request = {.arena = &arena, .path = leat_string_view_from(address)};
  board_response_t response = {.code = 200};
  leat_string_builder_initialize(leat_allocator_system(), &response.body);
  leat_status_free(board_query_add(&arena, LEAT_SV("run"), LEAT_SV("."), &request.query));
  leat_status_free(board_query_add(&arena, LEAT_SV("tag"), tag, &request.query));
  board_api_handle(&api, &request, &response);
  leat_string_builder_deinitialize(&response.body);
  leat_arena_deinitialize(&arena);
}

// The run's own graph: its first item, and what holds the letter e.
static void ask_graph(const char* address) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  board_request_t request = {.arena = &arena, .path = leat_string_view_from(address)};
  board_response_t response = {.code = 200};
  leat_string_builder_initialize(leat_allocator_system(), &response.body);
  leat_status_free(board_query_parse(LEAT_SV("run=.&open=1,2,3&item=1&q=e"), &arena,
                                     &request.query));
  board_api_handle(&api, &request, &response);
  leat_string_builder_deinitialize(&response.body);
  leat_arena_deinitialize(&arena);
}

static void ask_all(void) {
  static const char* const indices[] = {
      "/data/runs", "/data/plugins_listing", "/data/plugin/scalars/tags",
      "/data/plugin/histograms/tags", "/data/plugin/images/tags", "/data/plugin/audio/tags",
      "/data/plugin/text/tags", "/data/plugin/graphs/info", "/data/leat/status",
      "/data/leat/columns", "/data/plugin/graphs/graph", "/data/leat/hparams"};
  static const char* const values[] = {
      "/data/plugin/scalars/scalars", "/data/plugin/histograms/histograms",
      "/data/plugin/distributions/distributions", "/data/plugin/images/images",
      "/data/plugin/audio/audio", "/data/plugin/text/text", "/data/plugin/pr_curves/pr_curves",
      "/data/plugin/graphs/graph", "/data/plugin/graphs/run_metadata", "/data/leat/text",
      "/data/leat/graph/levels"};
  static const char* const graphs[] = {"/data/leat/graph/levels", "/data/leat/graph/item",
                                       "/data/leat/graph/search"};
  board_run_t* run = board_logdir_find(api.logdir, LEAT_SV("."));
  for (size_t i = 0; i < sizeof indices / sizeof *indices; ++i) ask(indices[i], LEAT_SV("a"));
  for (size_t i = 0; i < 3; ++i) ask_graph(graphs[i]);
  for (size_t s = 0; run && s < run->series_count && s < 4; ++s) {
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
      ask(values[i], leat_string_view_make(run->series[s]->tag, run->series[s]->tag_size));
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  leat_string_builder_t records;
  if (!*directory) make_directory();
  leat_string_builder_initialize(leat_allocator_system(), &records);
  for (size_t at = 0; at < size;) {
    size_t length = data[at++];
    if (length == 255) leat_string_builder_append_char(&records, 'x');
    if (length > size - at) length = size - at;
    leat_record_append(&records, leat_string_view_make((const char*)data + at, length));
    at += length;
  }
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || write(file, records.data ? records.data : "", records.size) < 0) abort();
  close(file);
  leat_string_builder_deinitialize(&records);
  leat_status_free(board_graph_store_create(&api.graphs));
  leat_status_free(board_logdir_create(&options, &api.logdir));
  leat_status_free(board_logdir_round(api.logdir));
  ask_all();
  board_logdir_stop(api.logdir);
  board_graph_store_free(api.graphs);
  board_logdir_free(api.logdir);
  return 0;
}
