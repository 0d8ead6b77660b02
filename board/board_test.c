// The server as its clients see it, over a real socket on this machine: answers, compression,
// tokens, host names, paths and pushed events. A test that speaks HTTP by hand can send what no
// HTTP library would, such as "/%2e%2e/", a header that lies about the host, or a stream that is
// never read. Clients that do not read must neither keep the others waiting nor make the server
// store what they miss, so a hundred clients ask beside a silent one. A thread of the server
// follows the log while the tests rewrite it; the tests poll for what they expect, with limits that
// only a hang reaches.
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "board/api.h"
#include "board/graph_store.h"
#include "base/clock.h"
#include "base/thread.h"
#include "formats/generated/event.h"
#include "formats/record/record.h"
#include "formats/test_directory.h"
#include "formats/wire/encode.h"

#define TOKEN "0123456789abcdef"

typedef struct scene_s {
  board_api_t api;
  board_http_t* server;
  _Atomic(board_http_t*) pushed;
  board_logdir_options_t logdir;
} scene_t;
static scene_t scene;

static void push(void* data, uint64_t version, bool changed) {
  (void)data;
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)version);
  if (scene.pushed && changed) board_http_push(scene.pushed, "version", text);
  if (scene.pushed && !changed) board_http_ping(scene.pushed);
}

// Writes |count| scalars of the tag "loss" from |begin| on, as the whole file.
static void write_log(int count) {
  leat_string_builder_t bytes, event_bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  for (int i = 0; i < count; ++i) {
    leat_pb_summary_value_t value = {.tag = LEAT_SV("loss"), .simple_value = (float)i,
                                     .value_case = 2};
    leat_pb_summary_t summary = {.value = {&value, 1}};
    leat_pb_event_t event = {.wall_time = 1, .step = i, .summary = &summary, .what_case = 5};
    leat_string_builder_initialize(leat_allocator_system(), &event_bytes);
    LEAT_EXPECT_OK(leat_message_encode(&leat_pb_event_descriptor, &event, &event_bytes));
    leat_record_append(&bytes, leat_string_builder_view(&event_bytes));
    leat_string_builder_deinitialize(&event_bytes);
  }
  test_write_file("events.out.tfevents.1.host", bytes.data, bytes.size);
  leat_string_builder_deinitialize(&bytes);
}

static void start_with(const char* prefix, const char* token, bool is_framed) {
  board_http_options_t http = {.host = "127.0.0.1", .path_prefix = prefix, .token = token,
                               .is_framed = is_framed,
                               .handler = board_api_handle, .data = &scene.api};
  scene.logdir = (board_logdir_options_t){test_directory, NULL, 50, push, NULL};
  scene.api.path_prefix = prefix;
  LEAT_EXPECT_OK(board_graph_store_create(&scene.api.graphs));
  LEAT_EXPECT_OK(board_logdir_create(&scene.logdir, &scene.api.logdir));
  LEAT_EXPECT_OK(board_http_start(&http, &scene.server));
  scene.pushed = scene.server;
  LEAT_EXPECT_OK(board_logdir_round(scene.api.logdir));
}

static void start(const char* prefix, const char* token) { start_with(prefix, token, false); }

static void stop(void) {
  board_logdir_stop(scene.api.logdir);
  scene.pushed = NULL;
  board_http_stop(scene.server);
  board_graph_store_free(scene.api.graphs);
  board_logdir_free(scene.api.logdir);
}

static int connect_client(void) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons(board_http_port(scene.server)),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int client = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(client >= 0);
  assert_int_equal(connect(client, (struct sockaddr*)&address, sizeof address), 0);
  return client;
}

static void send_text(int client, const char* text) {
  size_t size = strlen(text);
  assert_int_equal(send(client, text, size, MSG_NOSIGNAL), size);
}

// Reads until |wanted| was seen, or to the end where it is NULL. Returns whether it was seen.
static bool receive(int client, const char* wanted, char* out, size_t room) {
  size_t size = 0;
  struct timeval patience = {20, 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  while (size + 1 < room) {
    ssize_t got = recv(client, out + size, room - size - 1, 0);
    if (got <= 0) break;
    size += (size_t)got;
    out[size] = 0;
    if (wanted && strstr(out, wanted)) return true;
  }
  out[size] = 0;
  return false;
}

// Sends a request of its own connection; the whole answer, valid until the next call.
static const char* ask(const char* method, const char* target, const char* headers,
                       const char* body) {
  static char request[8192], answer[1 << 16];
  int client = connect_client();
  snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nConnection: close\r\n%s\r\n%s", method,
           target, headers, body);
  send_text(client, request);
  receive(client, NULL, answer, sizeof answer);
  close(client);
  return answer;
}

#define HOST "Host: localhost:6006\r\n"

static void expect_code(int code, const char* method, const char* target, const char* headers) {
  char begin[32];
  const char* answer = ask(method, target, headers, "");
  snprintf(begin, sizeof begin, "HTTP/1.1 %d ", code);
  if (strncmp(answer, begin, strlen(begin))) print_error("%s: %.200s\n", target, answer);
  assert_int_equal(strncmp(answer, begin, strlen(begin)), 0);
}

static void addresses_are_answered(void** state) {
  write_log(3);
  start("", NULL);
  assert_non_null(strstr(ask("GET", "/data/runs", HOST, ""), "\r\n\r\n[\".\"]"));
  assert_non_null(strstr(ask("GET", "/data/plugin/scalars/scalars?run=.&tag=loss", HOST, ""),
                         "[[1.0,0,0.0],[1.0,1,1.0],[1.0,2,2.0]]"));
  assert_non_null(strstr(ask("GET", "/", HOST, ""), "default-src 'none'"));
  assert_non_null(strstr(ask("GET", "/", HOST, ""), "<script src=\"/page.js\" defer>"));
  assert_non_null(strstr(ask("GET", "/page.js", HOST, ""), "Content-Type: text/javascript"));
  assert_non_null(strstr(ask("GET", "/page.css", HOST, ""), "--ground"));
  const char* form = HOST "Content-Type: application/x-www-form-urlencoded\r\n"
                     "Content-Length: 15\r\n";
  assert_non_null(strstr(ask("POST", "/data/plugin/scalars/scalars_multirun", form,
                             "tag=loss&runs=."), "{\".\":[[1.0,0,0.0],"));
  const char* parts = HOST "Content-Type: multipart/form-data; boundary=----boundary1234567890\r\n"
                      "Content-Length: 182\r\n";
  assert_non_null(strstr(
      ask("POST", "/data/plugin/scalars/scalars_multirun", parts,
          "------boundary1234567890\r\nContent-Disposition: form-data; name=\"tag\"\r\n\r\nloss\r\n"
          "------boundary1234567890\r\nContent-Disposition: form-data; name=\"runs\"\r\n\r\n.\r\n"
          "------boundary1234567890--\r\n"),
      "{\".\":[[1.0,0,0.0],"));
  expect_code(405, "DELETE", "/data/runs", HOST);
  expect_code(200, "HEAD", "/data/runs", HOST);
  expect_code(200, "GET", "/data/runs/", HOST);
  stop();
}

// A browser that accepts gzip gets scripts and styles compressed; short answers are sent as they
// are.
static void long_answers_are_compressed(void** state) {
  write_log(1);
  start("", NULL);
  const char* answer = ask("GET", "/page.js", HOST "Accept-Encoding: br, gzip\r\n", "");
  assert_non_null(strstr(answer, "Content-Encoding: gzip"));
  assert_non_null(strstr(answer, "\r\n\r\n\x1f\x8b"));
  assert_null(strstr(ask("GET", "/page.js", HOST, ""), "Content-Encoding"));
  assert_null(strstr(ask("GET", "/data/runs", HOST "Accept-Encoding: gzip\r\n", ""),
                     "Content-Encoding"));
  stop();
}

// No path leads to a file, however it is spelt; and nobody but this machine's names may ask.
static void strangers_get_nothing(void** state) {
  static const char* const paths[] = {
      "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/data/../../etc/passwd",
      "/data//runs", "//data/runs", "/data/runs%00", "/data/plugin/scalars/../runs",
      "/events.out.tfevents.1.host"};
  write_log(1);
  start("", NULL);
  for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) expect_code(404, "GET", paths[i], HOST);
  expect_code(404, "GET", "/data/plugin/scalars/scalars?run=../..&tag=loss", HOST);
  expect_code(403, "GET", "/data/runs", "Host: evil.example\r\n");
  expect_code(403, "GET", "/data/runs", "Host: 127.0.0.1.evil.example:80\r\n");
  expect_code(403, "GET", "/data/runs", "Host: [::1].evil\r\n");
  expect_code(200, "GET", "/data/runs", "Host: 127.0.0.1:6006\r\n");
  expect_code(200, "GET", "/data/runs", "Host: [::1]:6006\r\n");
  stop();
}

static void a_token_is_asked_for(void** state) {
  write_log(1);
  start("/p", TOKEN);
  expect_code(401, "GET", "/p/data/runs", HOST);
  expect_code(401, "GET", "/p/data/runs?token=0123456789abcdeX", HOST);
  expect_code(401, "GET", "/p/data/runs?token=", HOST);
  expect_code(401, "GET", "/p/data/runs?token=" TOKEN TOKEN, HOST);
  expect_code(401, "GET", "/p/data/runs", HOST "Authorization: Bearer 0123456789abcde\r\n");
  expect_code(401, "GET", "/p/data/runs", HOST "Cookie: leat_board=x\r\n");
  expect_code(200, "GET", "/p/data/runs", "Host: any\r\nAuthorization: Bearer " TOKEN "\r\n");
  expect_code(200, "GET", "/p/data/runs", "Host: any\r\nCookie: leat_board=" TOKEN "\r\n");
  assert_non_null(strstr(ask("GET", "/p/data/runs?token=" TOKEN, HOST, ""),
                         "leat_board=" TOKEN "; HttpOnly; SameSite=Strict; Path=/p/"));
  expect_code(404, "GET", "/data/runs?token=" TOKEN, HOST);
  expect_code(404, "GET", "/x/data/runs?token=" TOKEN, HOST);
  assert_non_null(strstr(ask("GET", "/p?token=" TOKEN, HOST, ""), "src=\"/p/page.js\""));
  stop();
  start("/\"><b>", NULL);
  assert_non_null(strstr(ask("GET", "/%22%3E%3Cb%3E/", HOST, ""),
                         "data-prefix=\"/&#34;&#62;&#60;b&#62;\""));
  stop();
  board_http_options_t open = {.host = "0.0.0.0", .path_prefix = "", .handler = board_api_handle};
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, board_http_start(&open, &scene.server));
}

// Without being asked, no page of another origin may show the board in a frame.
static void frames_of_this_machine_are_allowed_where_asked(void** state) {
  write_log(1);
  for (int is_framed = 0; is_framed < 2; ++is_framed) {
    start_with("", NULL, is_framed);
    const char* answer = ask("GET", "/", HOST, "");
    assert_non_null(strstr(answer, "; frame-ancestors 'self'"));
    const char* local = strstr(answer, " http://localhost:* http://127.0.0.1:* https://localhost:* "
                                       "https://127.0.0.1:*\r\n");
    assert_int_equal(local != NULL, is_framed);
    stop();
  }
}

// A hundred clients that ask at once, and one that asks for much and reads nothing.
static void many_ask_at_once(void** state) {
  static char answer[1 << 16];
  int clients[100];
  write_log(1000);
  start("", NULL);
  int silent = connect_client();
  for (int i = 0; i < 1000; ++i) {
    const char* request = "GET /data/plugin/scalars/scalars?run=.&tag=loss HTTP/1.1\r\n" HOST
                          "\r\n";
    if (send(silent, request, strlen(request), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
  }
  for (int i = 0; i < 100; ++i) {
    clients[i] = connect_client();
    send_text(clients[i], "GET /data/plugin/scalars/scalars?run=.&tag=loss HTTP/1.1\r\n"
              "Connection: close\r\n" HOST "\r\n");
  }
  for (int i = 0; i < 100; ++i) {
    assert_true(receive(clients[i], "[1.0,999,999.0]]", answer, sizeof answer));
    close(clients[i]);
  }
  close(silent);
  stop();
}

// Bytes that were allocated; 0 under sanitizers, which do not count them.
static size_t memory_in_use(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Streams hear of what is written; those that do not read do not keep the others from it.
static void changes_are_pushed(void** state) {
  static char answer[1 << 16];
  write_log(1);
  start("", NULL);
  int deaf = connect_client(), client = connect_client(), small = 4096;
  setsockopt(deaf, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  send_text(deaf, "GET /data/leat/live HTTP/1.1\r\n" HOST "\r\n");
  send_text(client, "GET /data/leat/live HTTP/1.1\r\n" HOST "\r\n");
  assert_true(receive(client, "event: version\ndata: ", answer, sizeof answer));
  write_log(5);
  // An event may still be of the rounds before.
  bool is_new = false;
  for (int i = 0; i < 10 && !is_new; ++i) {
    assert_true(receive(client, "event: version\ndata: ", answer, sizeof answer));
    is_new = strstr(ask("GET", "/data/plugin/scalars/scalars?run=.&tag=loss", HOST, ""),
                    "[1.0,4,4.0]]") != NULL;
  }
  assert_true(is_new);
  // What a client does not read is not kept for it: of 28 MB the server has little.
  const size_t before = memory_in_use();
  for (int i = 0; i < 1000000; ++i) board_http_push(scene.server, "version", "1000000");
  assert_true(memory_in_use() < before + 4000000);
  // The end does not wait for anybody.
  stop();
  close(deaf);
  close(client);
}

// Pages that were closed leave their streams; more of them than the server takes connections, while
// nothing new is written, do not keep others out.
static void streams_without_client_end(void** state) {
  static char answer[1 << 16];
  write_log(1);
  start("", NULL);
  for (int i = 0; i < 1100; ++i) {
    int client = connect_client();
    send_text(client, "GET /data/leat/live HTTP/1.1\r\n" HOST "\r\n");
    assert_true(receive(client, "event: version\ndata: ", answer, sizeof answer));
    close(client);
  }
  expect_code(200, "GET", "/data/runs", HOST);
  stop();
}

// Runs behind symbolic links are found, once; links that lead back are not followed.
static void links_do_not_go_round(void** state) {
  static const char* const made[] = {"other/events.out.tfevents.1.host", "other/b", "other", "a",
                                     "linked"};
  write_log(1);
  assert_int_equal(mkdir(test_path("other"), 0700), 0);
  test_write_file(made[0], "", 0);
  assert_int_equal(symlink("..", test_path("other/b")), 0);
  assert_int_equal(symlink(".", test_path("a")), 0);
  assert_int_equal(symlink("other", test_path("linked")), 0);
  start("", NULL);
  const char* runs = ask("GET", "/data/runs", HOST, "");
  assert_non_null(strstr(runs, "\r\n\r\n[\".\",\"linked\",\"other\"]"));
  stop();
  for (size_t i = 0; i < sizeof made / sizeof *made; ++i) {
    assert_int_equal(remove(test_path(made[i])), 0);
  }
}

// A stranger's form is refused before it is sent.
static void strangers_send_no_forms(void** state) {
  static char answer[1 << 16];
  write_log(1);
  start("", TOKEN);
  int client = connect_client();
  send_text(client, "POST /data/leat/columns HTTP/1.1\r\n" HOST
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000000\r\n\r\n");
  assert_true(receive(client, "HTTP/1.1 401 ", answer, sizeof answer));
  close(client);
  stop();
}

// Rounds that look for runs hide none meanwhile.
static void runs_stay_during_rounds(void** state) {
  write_log(1);
  start("", NULL);
  for (int i = 0; i < 2000; ++i) {
    board_run_t** runs;
    size_t count;
    if (i % 20 == 0) write_log(2 + i);  // which begins a round
    assert_non_null(board_logdir_find(scene.api.logdir, LEAT_SV(".")));
    LEAT_EXPECT_OK(board_logdir_runs(scene.api.logdir, &runs, &count));
    leat_allocator_free(leat_allocator_system(), runs);
    assert_int_equal(count, 1);
    leat_clock_sleep_ns(50000);
  }
  stop();
}

#define OF_PAGE HOST "X-Leat-Board: 1\r\nContent-Type: application/x-www-form-urlencoded\r\n"

// Asks to delete |run|; the request has |headers|.
static void expect_deletion(int code, const char* method, const char* headers, const char* run) {
  char begin[32], body[64], all[300];
  snprintf(body, sizeof body, "run=%s", run);
  snprintf(all, sizeof all, "%sContent-Length: %zu\r\n", headers, strlen(body));
  const char* answer = ask(method, "/data/leat/delete_run", all, body);
  snprintf(begin, sizeof begin, "HTTP/1.1 %d ", code);
  if (strncmp(answer, begin, strlen(begin))) print_error("%s %s: %.200s\n", method, run, answer);
  assert_int_equal(strncmp(answer, begin, strlen(begin)), 0);
}

static bool is_there(const char* name) { return access(test_path(name), F_OK) == 0; }

// The root, "a" with a checkpoint in it and a run below it, and "b", in which nothing else is.
static void runs_are_deleted_where_that_is_allowed(void** state) {
  static const char* const kFiles[] = {"a/events.out.tfevents.1.host", "a/model.ckpt",
                                       "a/below/events.out.tfevents.1.host",
                                       "b/events.out.tfevents.1.host",
                                       "b/events.out.tfevents.2.host"};
  static const char* const kLeft[] = {"a/below/events.out.tfevents.1.host", "a/model.ckpt",
                                      "a/below", "a"};
  write_log(1);
  assert_int_equal(mkdir(test_path("a"), 0700), 0);
  assert_int_equal(mkdir(test_path("a/below"), 0700), 0);
  assert_int_equal(mkdir(test_path("b"), 0700), 0);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFiles); ++i) test_write_file(kFiles[i], "", 0);
  start("", NULL);
  expect_deletion(403, "POST", OF_PAGE, "b");
  scene.api.deletes_runs = true;
  assert_non_null(strstr(ask("GET", "/data/leat/status", HOST, ""), "\"deletes_runs\":true}"));
  // Pages of others can make a browser send forms, but not with the header.
  expect_deletion(403, "POST", HOST "Content-Type: application/x-www-form-urlencoded\r\n", "b");
  expect_deletion(403, "GET", OF_PAGE, "b");
  expect_deletion(404, "POST", OF_PAGE, "..");
  expect_deletion(404, "POST", OF_PAGE, "a/../b");
  expect_deletion(404, "POST", OF_PAGE, "");
  assert_non_null(strstr(ask("POST", "/data/leat/delete_run", OF_PAGE "Content-Length: 0\r\n", ""),
                         "the form has no run"));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFiles); ++i) assert_true(is_there(kFiles[i]));
  const uint64_t before = board_logdir_version(scene.api.logdir);
  expect_deletion(200, "POST", OF_PAGE, "b");
  assert_false(is_there("b"));
  assert_true(board_logdir_version(scene.api.logdir) > before);  // pages that look on are told
  expect_deletion(404, "POST", OF_PAGE, "b");
  expect_deletion(200, "POST", OF_PAGE, "a");
  assert_false(is_there(kFiles[0]));
  assert_true(is_there("a/model.ckpt"));
  assert_non_null(strstr(ask("GET", "/data/runs", HOST, ""), "\r\n\r\n[\".\",\"a/below\"]"));
  const board_run_t* root = board_logdir_find(scene.api.logdir, LEAT_SV("."));
  assert_int_equal(root->series_count, 1);
  expect_deletion(200, "POST", OF_PAGE, ".");
  assert_int_equal(root->series_count, 0);  // its memory is given back
  assert_false(is_there("events.out.tfevents.1.host"));
  assert_non_null(strstr(ask("GET", "/data/runs", HOST, ""), "\r\n\r\n[\"a/below\"]"));
  // What is written anew under a name that was deleted is a run again.
  write_log(2);
  LEAT_EXPECT_OK(board_logdir_round(scene.api.logdir));
  const char* answer = ask("GET", "/data/plugin/scalars/scalars?run=.&tag=loss", HOST, "");
  assert_non_null(strstr(answer, "[[1.0,0,0.0],[1.0,1,1.0]]"));
  stop();
  scene.api.deletes_runs = false;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kLeft); ++i) {
    assert_int_equal(remove(test_path(kLeft[i])), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(addresses_are_answered),
      cmocka_unit_test(long_answers_are_compressed),
      cmocka_unit_test(strangers_get_nothing),
      cmocka_unit_test(a_token_is_asked_for),
      cmocka_unit_test(frames_of_this_machine_are_allowed_where_asked),
      cmocka_unit_test(many_ask_at_once),
      cmocka_unit_test(changes_are_pushed),
      cmocka_unit_test(streams_without_client_end),
      cmocka_unit_test(strangers_send_no_forms),
      cmocka_unit_test(links_do_not_go_round),
      cmocka_unit_test(runs_stay_during_rounds),
      cmocka_unit_test(runs_are_deleted_where_that_is_allowed),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
