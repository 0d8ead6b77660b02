// For tests of answers: a log directory with one event file, and requests to its API without a
// socket. Each program that includes it has one scene.
#ifndef LEAT_BOARD_TEST_SCENE_H_
#define LEAT_BOARD_TEST_SCENE_H_

#include "board/api.h"
#include "board/dump_store.h"
#include "board/graph_store.h"
#include "formats/generated/event.h"
#include "formats/record/record.h"
#include "formats/test_directory.h"
#include "formats/wire/encode.h"

static struct {
  board_api_t api;
  board_logdir_options_t options;
  leat_arena_t arena;
  char* body;  // of the last answer
} scene;

// Makes |events| the file of the run |run|, which is "." or a directory of one level.
static inline void scene_write(const char* run, const leat_pb_event_t* events, size_t count) {
  leat_string_builder_t bytes, event_bytes, path;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_string_builder_initialize(leat_allocator_system(), &event_bytes);
  leat_string_builder_initialize(leat_allocator_system(), &path);
  for (size_t i = 0; i < count; ++i) {
    event_bytes.size = 0;
    LEAT_EXPECT_OK(leat_message_encode(&leat_pb_event_descriptor, &events[i], &event_bytes));
    leat_record_append(&bytes, leat_string_builder_view(&event_bytes));
  }
  leat_string_builder_print(&path, "%s/events.out.tfevents.1.host", run);
  test_write_file(path.data, bytes.data, bytes.size);
  leat_string_builder_deinitialize(&bytes);
  leat_string_builder_deinitialize(&event_bytes);
  leat_string_builder_deinitialize(&path);
}

// Loads what was written.
static void scene_start(void) {
  scene.options = (board_logdir_options_t){.path = test_directory, .poll_ms = 1000};
  leat_arena_initialize(leat_allocator_system(), 0, &scene.arena);
  LEAT_EXPECT_OK(board_graph_store_create(&scene.api.graphs));
  LEAT_EXPECT_OK(board_dump_store_create(&scene.api.dumps));
  LEAT_EXPECT_OK(board_logdir_create(&scene.options, &scene.api.logdir));
  LEAT_EXPECT_OK(board_logdir_round(scene.api.logdir));
}

static void scene_stop(void) {
  leat_allocator_free(leat_allocator_system(), scene.body);
  scene.body = NULL;
  board_logdir_stop(scene.api.logdir);
  board_graph_store_free(scene.api.graphs);
  board_dump_store_free(scene.api.dumps);
  board_logdir_free(scene.api.logdir);
  leat_arena_deinitialize(&scene.arena);
}

// The answer's code; its text is |scene.body|.
static int scene_ask(const char* path, const char* query) {
  board_request_t request = {.arena = &scene.arena, .path = leat_string_view_from(path)};
  board_response_t response = {.code = 200, .content_type = "application/json"};
  size_t size;
  LEAT_EXPECT_OK(board_query_parse(leat_string_view_from(query), &scene.arena, &request.query));
  leat_string_builder_initialize(leat_allocator_system(), &response.body);
  board_api_handle(&scene.api, &request, &response);
  leat_allocator_free(leat_allocator_system(), scene.body);
  LEAT_EXPECT_OK(leat_string_builder_finish(&response.body, &scene.body, &size));
  return response.code;
}

static void scene_expect(const char* part) {
  if (!strstr(scene.body, part)) print_error("%s\nlacks %s\n", scene.body, part);
  assert_non_null(strstr(scene.body, part));
}

#endif  // LEAT_BOARD_TEST_SCENE_H_
