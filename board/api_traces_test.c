// Recordings as the page asks for them: a small recording is written into the log directory, and
// each address is asked for it and for what it does not have. Requests go to the API without a
// socket (test_scene.h), and the binary windows are decoded here by the layout that api_traces.c
// states. The recording is made span by span (trace/test_recording.h) with times that can be summed
// up by hand, so that medians, totals, the delay of a lock and the items of a window are known. The
// tests catch slices in the wrong lane or pixel, windows whose borders count twice or not at all,
// a recording that is kept after its file has changed, and an index that changes an answer or is
// not used. Links and files that are no recordings
// must not be listed, and names that lead out of the directory must not be read.
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "board/test_scene.h"
#include "board/trace_store.h"
#include "formats/wire/wire.h"
#include "trace/test_recording.h"

#define FILE_NAME "leat-1.perfetto-trace"

// Three steps of a caller; in the second its kernel waits for a lock that the second thread holds.
static void write_recording(const char* path) {
  test_recording_t r;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  test_add_thread(&r, "saver");
  static const int kNoEdges[][2] = {{-1, -1}};
  const uint32_t conv = test_add_name(&r, "conv1", "Conv2D");
  test_add_graph(&r, conv, 1, kNoEdges);
  test_set_facts(&r, 0, &(leat_span_facts_t){LEAT_SV("/device:CPU:0"),
                                             LEAT_SV("float [32,10], int32 []"),
                                             LEAT_SV("train.py:12"), 640});
  test_add_span(&r, 0, 1000, 3000, LEAT_SPAN_STEP, 0, 1);
  test_add_span(&r, 0, 1100, 2900, LEAT_SPAN_KERNEL, conv, 64);
  test_add_span(&r, 0, 4000, 9000, LEAT_SPAN_STEP, 0, 2);
  test_add_span(&r, 0, 4100, 8900, LEAT_SPAN_KERNEL, conv, 64);
  test_add_span(&r, 0, 4200, 7200, LEAT_SPAN_LOCK, 0, 101);
  test_add_span(&r, 0, 10000, 12000, LEAT_SPAN_STEP, 0, 3);
  test_add_span(&r, 0, 10100, 11900, LEAT_SPAN_KERNEL, conv, 64);
  test_add_span(&r, 1, 1000, 8000, LEAT_SPAN_TASK, 0, 10);
  test_recording_write(&r, path);
  test_recording_deinitialize(&r);
}

// A board, with index files in |cache| where it is not NULL.
static void start_with(const char* cache) {
  scene_write(".", NULL, 0);
  LEAT_EXPECT_OK(board_trace_store_create(cache, &scene.api.traces));
  scene_start();
}

static void start(void) {
  write_recording(test_path(FILE_NAME));
  start_with(NULL);
}

static void stop(void) {
  scene_stop();
  board_trace_store_free(scene.api.traces);
}

static void recordings_are_listed(void** state) {
  leat_file_system_t* fs = leat_file_system_posix();
  start();
  LEAT_EXPECT_OK(leat_file_make_directories(fs, test_path("deep")));
  test_write_file("notes.txt", "x", 1);
  test_write_file("other.json", "{\"a\":1}", 7);
  write_recording(test_path("deep/z.json"));
  assert_int_equal(symlink(test_path(FILE_NAME), test_path("link.perfetto-trace")), 0);
  test_write_file("deep/leat-2.perfetto-trace", "", 0);
  assert_int_equal(scene_ask("/data/leat/traces", ""), 200);
  scene_expect("[{\"name\":\"deep/leat-2.perfetto-trace\",\"bytes\":0,");
  scene_expect(",{\"name\":\"" FILE_NAME "\",\"bytes\":");
  scene_expect(",{\"name\":\"deep/z.json\",\"bytes\":");
  assert_null(strstr(scene.body, "other"));
  assert_null(strstr(scene.body, "notes"));
  assert_null(strstr(scene.body, "link"));
  assert_int_equal(scene_ask("/data/leat/trace", "file=deep/leat-2.perfetto-trace"), 200);
  scene_expect("{\"length\":0,\"slices\":0,");
  // The same recording in the other format, whose processes have names.
  assert_int_equal(scene_ask("/data/leat/trace", "file=deep/z.json"), 200);
  scene_expect("{\"length\":11000,\"slices\":8,\"damaged\":0,");
  scene_expect("\"processes\":[[");
  assert_int_equal(scene_ask("/data/leat/trace", "file=other.json"), 400);
  stop();
  LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path("deep/z.json")));
  LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path("deep/leat-2.perfetto-trace")));
  LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path("deep")));
}

static void a_recording_is_told(void** state) {
  start();
  assert_int_equal(scene_ask("/data/leat/trace", "file=" FILE_NAME), 200);
  scene_expect("{\"length\":11000,\"slices\":8,\"damaged\":0,");
  scene_expect("\"kinds\":[\"step\",\"kernel\",");
  scene_expect("\"thread\":100,\"lanes\":3,\"name\":\"main\"}");
  // The longest of the three kernels began in the second step.
  scene_expect("[\"Conv2D\",\"conv1\",1,3,8400,0,1,1,3100,7900]");
  stop();
}

// Asks for the steps until they are found, as the page does; fails the test where they never are.
static void ask_steps(void) {
  for (int i = 0; i < 60000; ++i) {
    assert_int_equal(scene_ask("/data/leat/trace/steps", "file=" FILE_NAME), 200);
    if (strcmp(scene.body, "{\"status\":\"pending\"}")) return;
    usleep(1000);
  }
  fail_msg("the steps are pending for a minute");
}

static void steps_are_told_when_they_are_found(void** state) {
  start();
  ask_steps();
  assert_string_equal(
      scene.body,
      "{\"status\":\"found\",\"steps\":["
      "[\"1\",0,2000,0,0],[\"2\",3000,8000,0,0],[\"3\",9000,11000,0,0]],"
      "\"main_group\":0,\"groups\":[{\"steps\":3,\"slowest\":1,\"median\":2000,\"total\":9000}]}");
  assert_int_equal(scene_ask("/data/leat/trace/steps", "file=none.perfetto-trace"), 404);
  stop();
}

static void a_window_has_what_is_seen(void** state) {
  start();
  const char* query = "file=" FILE_NAME "&begin=2500&end=8500&pixels=60&first=0&rows=1";
  assert_int_equal(scene_ask("/data/leat/trace/window", query), 200);
  const char* data = scene.body;
  assert_memory_equal(data, "LTW1", 4);
  assert_int_equal(leat_wire_load32(data + 4), 3);  // lanes
  for (uint32_t depth = 0; depth < 3; ++depth, data += 56) {
    assert_int_equal(leat_wire_load32(data + 8), 0);
    assert_int_equal(leat_wire_load32(data + 12), depth);
    assert_int_equal(leat_wire_load32(data + 16), 1);
  }
  double numbers[3];  // of the lock, the last
  memcpy(numbers, data - 56 + 24, sizeof numbers);
  assert_true(numbers[0] == 3200 && numbers[1] == 6200 && numbers[2] == 3000);
  // In one pixel each lane has one item, the first of three steps.
  assert_int_equal(scene_ask("/data/leat/trace/window", "file=" FILE_NAME "&pixels=1"), 200);
  assert_int_equal(leat_wire_load32(scene.body + 4), 4);
  assert_int_equal(leat_wire_load32(scene.body + 16), 1);
  assert_int_equal(leat_wire_load32(scene.body + 24 + 24), 3);
  assert_int_equal(scene_ask("/data/leat/trace/window", "file=" FILE_NAME "&pixels=0"), 400);
  assert_int_equal(scene_ask("/data/leat/trace/window",
                             "file=" FILE_NAME "&begin=-9000000000000000000&end="
                             "9000000000000000000&first=-5"), 200);
  assert_int_equal(leat_wire_load32(scene.body + 4), 4);
  stop();
}

// A recording whose windows can be told by hand. Of the first thread the outer lane, from the
// recording's beginning: 0-10 a, 20-30 b, 50-55 c, 150-400 d, 450-460 a, 500 b; within d 150 c and
// 200-300 a. The second thread: 100-500 d.
static void write_windows(void) {
  static const char* const kNodes[] = {"a", "b", "c", "d"};
  static const struct {
    uint32_t thread, name;
    int64_t begin, end;
  } kSpans[] = {{0, 1, 0, 10},    {0, 2, 20, 30},   {0, 3, 50, 55},   {0, 4, 150, 400},
                {0, 3, 150, 150}, {0, 1, 200, 300}, {0, 1, 450, 460}, {0, 2, 500, 500},
                {1, 4, 100, 500}};
  test_recording_t r;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  test_add_thread(&r, "pool");
  for (int i = 0; i < 4; ++i) test_add_name(&r, kNodes[i], "Op");
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSpans); ++i) {
    test_add_span(&r, kSpans[i].thread, 1000 + kSpans[i].begin, 1000 + kSpans[i].end,
                  LEAT_SPAN_KERNEL, kSpans[i].name, 0);
  }
  test_recording_write(&r, test_path(FILE_NAME));
  test_recording_deinitialize(&r);
}

// The window as text: a line for each lane, "row/depth", with its items, "begin-end covered count
// name first". Names are told by their nodes.
static const char* window_text(const char* query) {
  static char text[2048];
  static const char kLetters[] = "abcd";
  char whole[256];
  size_t size = 0;
  snprintf(whole, sizeof whole, "file=" FILE_NAME "&%s", query);
  assert_int_equal(scene_ask("/data/leat/trace/window", whole), 200);
  const char* at = scene.body + 8;
  text[0] = 0;
  for (uint32_t lanes = leat_wire_load32(scene.body + 4); lanes > 0; --lanes) {
    uint32_t items = leat_wire_load32(at + 8);
    size += (size_t)snprintf(text + size, sizeof text - size, "%u/%u", leat_wire_load32(at),
                             leat_wire_load32(at + 4));
    for (at += 16; items > 0; --items, at += 40) {
      double numbers[3];
      memcpy(numbers, at, sizeof numbers);
      const uint32_t name = leat_wire_load32(at + 28);
      assert_true(name < 4);
      size += (size_t)snprintf(text + size, sizeof text - size, " | %.0f-%.0f %.0f %u %c %u",
                               numbers[0], numbers[1], numbers[2], leat_wire_load32(at + 24),
                               kLetters[name], leat_wire_load32(at + 32));
      assert_true(size < sizeof text - 100);
    }
    size += (size_t)snprintf(text + size, sizeof text - size, "\n");
  }
  return text;
}

static void windows_are_what_one_tells_by_hand(void** state) {
  static const struct {
    const char *query, *text;
  } kWindows[] = {
      // All of it, in pixels of 100: what begins last begins at the very end.
      {"pixels=5",
       "0/0 | 0-55 25 3 a 0 | 150-400 250 1 d 3 | 450-460 10 1 a 4 | 500-500 0 1 b 5\n"
       "0/1 | 150-150 0 1 c 0 | 200-300 100 1 a 1\n"
       "1/0 | 100-500 400 1 d 0\n"},
      // What begins where the window ends is not in it.
      {"begin=410&end=450&pixels=2&rows=1", ""},
      {"begin=410&end=451&pixels=2&rows=1", "0/0 | 450-460 10 1 a 4\n"},
      {"begin=460&end=500&pixels=2&rows=1", ""},
      {"begin=459&end=500&pixels=2&rows=1", "0/0 | 450-460 10 1 a 4\n"},
      // Pixels of 50, at whose border one begins.
      {"begin=0&end=100&pixels=2", "0/0 | 0-30 20 2 a 0 | 50-55 5 1 c 2\n"},
      // A window that begins before the recording, and one that ends behind it, have their own
      // pixels: of 40 and of 200.
      {"begin=-100&end=60&pixels=4", "0/0 | 0-10 10 1 a 0 | 20-55 15 2 b 1\n"},
      {"begin=0&end=1000&pixels=5&rows=1",
       "0/0 | 0-55 25 3 a 0 | 150-400 250 1 d 3 | 450-500 10 2 a 4\n"
       "0/1 | 150-150 0 1 c 0 | 200-300 100 1 a 1\n"},
      // A pixel of 1091 is aligned: it gets 1152, and the first one ends at that time of the
      // recording's clock, which shows 1000 at its beginning.
      {"begin=-90&end=1001&pixels=1&rows=1",
       "0/0 | 0-400 275 4 a 0 | 450-500 10 2 a 4\n0/1 | 150-150 0 1 c 0 | 200-300 100 1 a 1\n"},
      // A lane in which nothing is seen is left out.
      {"begin=160&end=190&pixels=3", "0/0 | 150-400 250 1 d 3\n1/0 | 100-500 400 1 d 0\n"},
      {"begin=160&end=190&pixels=3&first=1", "1/0 | 100-500 400 1 d 0\n"},
      {"begin=160&end=190&pixels=8192&first=1&rows=0", ""}};
  start();
  write_windows();
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kWindows); ++i) {
    assert_string_equal(window_text(kWindows[i].query), kWindows[i].text);
  }
  assert_int_equal(scene_ask("/data/leat/trace/window", "file=" FILE_NAME "&pixels=8193"), 400);
  // A slice that begins with the one around it lies in it all the same.
  assert_int_equal(
      scene_ask("/data/leat/trace/slice", "file=" FILE_NAME "&row=0&depth=1&slice=0"), 200);
  scene_expect("\"begin\":150,\"end\":150,\"value\":\"0\",\"by\":0},{\"row\":0,\"depth\":0,"
               "\"slice\":3,");
  stop();
}

static void a_slice_is_told_with_those_around_it(void** state) {
  start();
  assert_int_equal(
      scene_ask("/data/leat/trace/slice", "file=" FILE_NAME "&row=0&depth=2&slice=0"), 200);
  scene_expect("[{\"row\":0,\"depth\":2,\"slice\":0,\"name\":");
  scene_expect("\"begin\":3200,\"end\":6200,\"value\":\"0\",\"by\":101},{\"row\":0,\"depth\":1,"
               "\"slice\":1,");
  scene_expect(",{\"row\":0,\"depth\":0,\"slice\":1,");
  assert_int_equal(scene_ask("/data/leat/trace/slice", "file=" FILE_NAME "&row=2"), 404);
  assert_int_equal(scene_ask("/data/leat/trace/slice", "file=" FILE_NAME "&depth=3"), 404);
  assert_int_equal(scene_ask("/data/leat/trace/slice", "file=" FILE_NAME "&slice=-1"), 404);
  stop();
}

static void delays_are_told_in_sentences(void** state) {
  start();
  assert_int_equal(scene_ask("/data/leat/trace/step", "file=" FILE_NAME "&step=1"), 200);
  scene_expect("{\"path\":[[3000,3100,0,1,-1],[3100,3200,0,0,");
  scene_expect("\"begin\":3200,\"end\":6200,\"total\":3000,\"median\":0,\"gain\":3000,");
  assert_int_equal(scene_ask("/data/leat/trace/step", "file=" FILE_NAME "&group=0"), 200);
  scene_expect("\"gain\":1000,\"sentence\":\"Conv2D 'conv1' waited 1.0 us for a lock that thread "
               "101 (saver) held\"");
  assert_int_equal(scene_ask("/data/leat/trace/step", "file=" FILE_NAME "&step=3"), 404);
  assert_int_equal(scene_ask("/data/leat/trace/step", "file=" FILE_NAME "&group=1"), 404);
  stop();
}

static void what_is_known_of_a_node_is_told(void** state) {
  start();
  char query[100];
  bool is_found = false;
  for (int i = 0; i < 10 && !is_found; ++i) {
    snprintf(query, sizeof query, "file=" FILE_NAME "&name=%d", i);
    is_found = scene_ask("/data/leat/trace/node", query) == 200 && strcmp(scene.body, "null");
  }
  assert_true(is_found);
  assert_string_equal(scene.body, "{\"device\":\"/device:CPU:0\",\"outputs\":[\"float [32,10]\","
                                  "\"int32 []\"],\"source\":\"train.py:12\",\"flops\":640}");
  assert_int_equal(scene_ask("/data/leat/trace/node", "file=" FILE_NAME "&name=1000"), 404);
  stop();
}

static void delays_of_a_window_are_told_as_arrows(void** state) {
  start();
  ask_steps();
  // The lock that the second thread held is the greatest; the arrow leads from its row.
  assert_int_equal(scene_ask("/data/leat/trace/arrows", "file=" FILE_NAME "&most=1"), 200);
  assert_string_equal(scene.body,
                      "[{\"begin\":3200,\"end\":6200,\"row\":0,\"from\":1,\"cause\":7,\"ns\":3000,"
                      "\"step\":1,\"sentence\":\"Conv2D 'conv1' waited 3.0 us for a lock that "
                      "thread 101 (saver) held\"}]");
  static const char* const kEmpty[] = {"&most=0", "&begin=6200", "&end=3200", "&begin=-9&end=-1",
                                       "&begin=20000&end=9223372036854775807"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kEmpty); ++i) {
    char query[200];
    snprintf(query, sizeof query, "file=" FILE_NAME "%s", kEmpty[i]);
    assert_int_equal(scene_ask("/data/leat/trace/arrows", query), 200);
    assert_string_equal(scene.body, "[]");
  }
  assert_int_equal(scene_ask("/data/leat/trace/arrows", "file=" FILE_NAME "&most=101"), 400);
  assert_int_equal(scene_ask("/data/leat/trace/arrows", "file=none.perfetto-trace"), 404);
  stop();
}

static void other_files_are_not_read(void** state) {
  static const char* const kNames[] = {
      "file=", "file=none.perfetto-trace", "file=../" FILE_NAME, "file=/tmp/" FILE_NAME,
      "file=./" FILE_NAME, "file=.//" FILE_NAME, "file=events.out.tfevents.1.host",
      "file=notes.txt%00.perfetto-trace"};
  start();
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    assert_int_equal(scene_ask("/data/leat/trace", kNames[i]), 404);
  }
  char around[512];
  snprintf(around, sizeof around, "file=..%s/" FILE_NAME, strrchr(test_directory, '/'));
  assert_int_equal(scene_ask("/data/leat/trace", around), 404);
  assert_int_equal(scene_ask("/data/leat/trace", ""), 400);
  test_write_file("text.perfetto-trace", "no packet of a trace", 20);
  assert_int_equal(scene_ask("/data/leat/trace", "file=text.perfetto-trace"), 400);
  stop();
}

// What was read is forgotten when its file has changed.
static void a_new_recording_replaces_the_old_one(void** state) {
  start();
  assert_int_equal(scene_ask("/data/leat/trace", "file=" FILE_NAME), 200);
  scene_expect("\"slices\":8");
  test_write_file(FILE_NAME, "", 0);
  assert_int_equal(scene_ask("/data/leat/trace", "file=" FILE_NAME), 200);
  scene_expect("\"slices\":0");
  stop();
}

// The paths of files that end in ".trace", one behind the other.
static leat_status_t note_index(void* data, const char* name) {
  leat_string_builder_t* out = data;
  if (!leat_string_view_ends_with(leat_string_view_from(name), LEAT_SV(".trace"))) {
    return leat_ok_status();
  }
  leat_string_builder_print(out, "%s/%s", test_path("cache"), name);
  return leat_ok_status();
}

// The one index file in the cache; the caller removes its directory.
static struct stat index_stat(void) {
  leat_string_builder_t path;
  struct stat stat_of;
  leat_string_builder_initialize(leat_allocator_system(), &path);
  LEAT_EXPECT_OK(leat_file_system_posix()->vtable->list(
      leat_file_system_posix(), test_path("cache"), note_index, &path));
  assert_int_equal(stat(path.data, &stat_of), 0);
  leat_string_builder_deinitialize(&path);
  return stat_of;
}

static leat_status_t remove_cached(void* data, const char* name) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", test_path("cache"), name);
  return leat_file_system_posix()->vtable->remove(leat_file_system_posix(), path);
}

// A second board answers as the first one did, from the index that it made, and makes another one
// when the recording has changed.
static void a_second_start_uses_the_index(void** state) {
  static const char* const kQueries[][2] = {
      {"/data/leat/trace", "file=" FILE_NAME},
      {"/data/leat/trace/window", "file=" FILE_NAME "&pixels=100"},
      {"/data/leat/trace/slice", "file=" FILE_NAME "&row=0&depth=2&slice=0"},
      {"/data/leat/trace/step", "file=" FILE_NAME "&step=1"},
      {"/data/leat/trace/step", "file=" FILE_NAME "&group=0"},
      {"/data/leat/trace/steps", "file=" FILE_NAME}};  // which are found by now
  leat_file_system_t* fs = leat_file_system_posix();
  char* bodies[LEAT_ARRAY_SIZE(kQueries)];
  char cache[512];
  snprintf(cache, sizeof cache, "%s", test_path("cache"));
  LEAT_EXPECT_OK(leat_file_make_directories(fs, cache));
  write_recording(test_path(FILE_NAME));
  struct stat first = {0};
  // Boards without a cache, and the first and the second with one.
  for (int board = 0; board < 3; ++board) {
    start_with(board ? cache : NULL);
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(kQueries); ++i) {
      assert_int_equal(scene_ask(kQueries[i][0], kQueries[i][1]), 200);
      if (!board) bodies[i] = strdup(scene.body);
      assert_string_equal(scene.body, bodies[i]);
    }
    if (board == 1) first = index_stat();
    stop();
  }
  struct stat second = index_stat();
  assert_true(second.st_ino == first.st_ino && second.st_mtim.tv_nsec == first.st_mtim.tv_nsec);
  start_with(cache);
  write_windows();  // another recording of that name
  assert_int_equal(scene_ask("/data/leat/trace", "file=" FILE_NAME), 200);
  scene_expect("\"slices\":9,");
  second = index_stat();
  assert_true(second.st_ino != first.st_ino || second.st_mtim.tv_nsec != first.st_mtim.tv_nsec);
  stop();
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kQueries); ++i) free(bodies[i]);
  LEAT_EXPECT_OK(fs->vtable->list(fs, cache, remove_cached, NULL));
  LEAT_EXPECT_OK(fs->vtable->remove(fs, cache));
}

// The name of a slice that lies too deep is listed, and has nothing.
static void a_name_without_slices_is_told(void** state) {
  static const char* const kNodes[] = {"outer", "inner"};
  leat_string_builder_t file;
  test_recording_t r;
  start();
  leat_string_builder_initialize(leat_allocator_system(), &file);
  test_recording_initialize(&r);
  test_add_thread(&r, "idle");
  test_add_thread(&r, "main");
  for (int i = 0; i < 2; ++i) test_add_name(&r, kNodes[i], "Op");
  for (int64_t i = 0; i <= LEAT_TIMELINE_MAX_DEPTH; ++i) {
    test_add_span(&r, 1, 1000 + i, 9000 - i, LEAT_SPAN_KERNEL,
                  i == LEAT_TIMELINE_MAX_DEPTH ? 2 : 1, 0);
  }
  test_recording_append(&r, 1, &file);
  test_write_file(FILE_NAME, file.data, file.size);
  assert_int_equal(scene_ask("/data/leat/trace", "file=" FILE_NAME), 200);
  scene_expect("[\"Op\",\"inner\",1,0,0,0,0,0,0,0]");
  test_recording_deinitialize(&r);
  leat_string_builder_deinitialize(&file);
  stop();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recordings_are_listed),
      cmocka_unit_test(a_recording_is_told),
      cmocka_unit_test(steps_are_told_when_they_are_found),
      cmocka_unit_test(a_window_has_what_is_seen),
      cmocka_unit_test(windows_are_what_one_tells_by_hand),
      cmocka_unit_test(a_slice_is_told_with_those_around_it),
      cmocka_unit_test(delays_are_told_in_sentences),
      cmocka_unit_test(what_is_known_of_a_node_is_told),
      cmocka_unit_test(delays_of_a_window_are_told_as_arrows),
      cmocka_unit_test(other_files_are_not_read),
      cmocka_unit_test(a_new_recording_replaces_the_old_one),
      cmocka_unit_test(a_second_start_uses_the_index),
      cmocka_unit_test(a_name_without_slices_is_told),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
