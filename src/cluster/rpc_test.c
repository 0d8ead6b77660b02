// Remote procedure calls over loopback, with server and client in one process
// (cluster/rpc_scene.h): what cluster/rpc.h promises of bytes, ends, threads, addresses and memory.
// Bytes that a caller lends are counted back by a release function, whatever happens to the call,
// and 100 MB travel without a copy by either caller. Handlers and callbacks may block; 64 calls
// whose handlers wait for each other prove that each gets a thread, and /proc is read to see that
// those threads end with the last user. Strangers write garbage into the port while a call is under
// way. Finally every allocation fails once. Deadlines and cancellation are tested in
// rpc_cancellation_test.c, TLS in rpc_security_test.c.
#include "cluster/rpc.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/sync.h"
#include "base/test.h"
#include "base/thread.h"
#include "cluster/rpc_scene.h"

// ---- The module ---------------------------------------------------------------------------------

// The first case, because a module that was found stays.
static void a_missing_engine_is_named(void** state) {
  const char* folder = getenv("LEAT_MODULE_DIR");
  char* before = folder ? strdup(folder) : NULL;
  leat_rpc_channel_t* channel;
  setenv("LEAT_MODULE_DIR", "/nonexistent", 1);
  leat_status_t status = leat_rpc_channel_create(LEAT_SV("127.0.0.1:1"), &(leat_rpc_security_t){0},
                                                 &channel);
  assert_int_equal(leat_status_code(status), LEAT_UNIMPLEMENTED);
  assert_non_null(strstr(leat_status_message(status), "libgrpc29"));
  leat_status_free(status);
  assert_null(channel);
  unsetenv("LEAT_MODULE_DIR");
  if (before) setenv("LEAT_MODULE_DIR", before, 1);
  free(before);
}

// The threads of this process that bear |name|, as far as /proc tells: while threads end, a listing
// can leave out ones that run, and a thread bears its maker's name until it has set its own.
static int count_threads(const char* name) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  for (struct dirent* task; (task = readdir(tasks));) {
    char path[300], comm[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
    FILE* file = fopen(path, "r");
    if (!file) continue;  // it has ended meanwhile, or is no number
    if (!fgets(comm, sizeof comm, file)) comm[0] = '\0';
    fclose(file);
    comm[strcspn(comm, "\n")] = '\0';
    count += !strcmp(comm, name);
  }
  closedir(tasks);
  return count;
}

// Waits, a minute at most, until five counts in a row find |least| to |most| threads of that name.
static void wait_for_threads(const char* name, int least, int most) {
  int matches = 0;
  for (int tries = 0; matches < 5 && tries < 6000; ++tries) {
    if (tries > 0) leat_clock_sleep_ns(10000000);
    const int count = count_threads(name);
    matches = least <= count && count <= most ? matches + 1 : 0;
  }
  assert_int_equal(matches, 5);
}

// The engine's threads come with the first server or channel and go with the last; the C core's own
// stay. A thread that has told of its end still takes a moment to vanish.
static void threads_end_with_the_last_user(void** state) {
  for (int i = 0; i < 3; ++i) {
    rpc_scene_t scene;
    rpc_end_t end;
    rpc_scene_open(&scene, &(rpc_scene_options_t){0});
    rpc_scene_call(&scene, "/test/Echo", "x", 1, &end);
    rpc_end_free(&end);
    wait_for_threads("leat-rpc", 2, 3);
    rpc_scene_close(&scene);
    wait_for_threads("leat-rpc", 0, 0);
  }
}

// ---- Bytes --------------------------------------------------------------------------------------

static void bytes_are_joined(void** state) {
  const leat_rpc_piece_t pieces[] = {{"ab", 2, NULL, NULL}, {NULL, 0, NULL, NULL},
                                     {"cde", 3, NULL, NULL}};
  leat_string_view_t view;
  char* copy;
  for (size_t count = 0; count <= 3; ++count) {
    const leat_rpc_bytes_t bytes = {pieces, count};
    const char* const expected[] = {"", "ab", "ab", "abcde"};
    LEAT_EXPECT_OK(leat_rpc_bytes_join(bytes, leat_allocator_system(), &view, &copy));
    assert_true(leat_string_view_equals(view, expected[count]));
    assert_int_equal(leat_rpc_bytes_size(bytes), view.size);
    assert_true((copy != NULL) == (count > 1));  // one piece is not copied
    leat_allocator_free(leat_allocator_system(), copy);
  }
}

static void echoes_come_back(void** state) {
  rpc_scene_t* s = *state;
  rpc_end_t end;
  for (size_t size = 0; size < 3000000; size = size * 7 + 1) {
    char* text = malloc(size + 1);
    for (size_t i = 0; i < size; ++i) text[i] = (char)(i * 31 + size);
    rpc_scene_call(s, "/test/Echo", text, size, &end);
    assert_int_equal(end.code, LEAT_OK);
    assert_int_equal(end.answer_size, size);
    assert_memory_equal(end.answer, text, size);
    rpc_end_free(&end);
    free(text);
  }
}

static void pieces_follow_one_another(void** state) {
  rpc_scene_t* s = *state;
  enum { COUNT = 50 };
  static char text[COUNT * 100];
  leat_rpc_piece_t pieces[COUNT];
  size_t size = 0;
  atomic_int released = 0;
  for (int i = 0; i < COUNT; ++i) {  // of 0 to 98 bytes, every other one lent
    pieces[i] = (leat_rpc_piece_t){text + size, (size_t)i * 2, i % 2 ? rpc_scene_count : NULL,
                                   i % 2 ? &released : NULL};
    for (int j = 0; j < i * 2; ++j) text[size++] = (char)('a' + i);
  }
  rpc_end_t end;
  rpc_end_initialize(&end);
  const leat_rpc_call_options_t options = {.method = "/test/Echo", .bytes = {pieces, COUNT},
                                           .deadline_ns = LEAT_DEADLINE_NEVER};
  leat_rpc_call(s->channel, &options, rpc_scene_done, &end, NULL);
  rpc_end_wait(&end);
  assert_int_equal(end.answer_size, size);
  assert_memory_equal(end.answer, text, size);
  rpc_end_free(&end);
  rpc_scene_expect_count(&released, COUNT / 2);
}

// The handler gets what the engine knows of a call.
static void requests_name_method_peer_and_deadline(void** state) {
  rpc_scene_t* s = *state;
  rpc_end_t end;
  rpc_scene_call(s, "/test/Describe", "", 0, &end);
  char* peer = strstr(end.answer, " from ipv4:127.0.0.1:");
  assert_non_null(peer);
  assert_memory_equal(end.answer, "/test/Describe without a deadline", 33);
  rpc_end_free(&end);
  rpc_end_initialize(&end);
  leat_rpc_call_options_t options = {.method = "/test/Describe",
                                     .deadline_ns = leat_clock_deadline_after_ms(60000)};
  leat_rpc_call(s->channel, &options, rpc_scene_done, &end, NULL);
  rpc_end_wait(&end);
  int64_t left_ms = 0;
  assert_int_equal(sscanf(end.answer, "/test/Describe within %" SCNd64, &left_ms), 1);
  assert_in_range(left_ms, 50000, 60600);  // on the wire, times are rounded up to three digits
  rpc_end_free(&end);
}

// 100 MB there and back, neither copied by the caller, each let go of exactly once.
static void large_messages_are_lent(void** state) {
  rpc_scene_t* s = *state;
  const size_t size = 100 * 1000 * 1000;
  char* bytes = malloc(size);
  for (size_t i = 0; i < size; i += 8) memcpy(bytes + i, &(uint64_t){i * UINT64_C(0x9e3779b9)}, 8);
  atomic_int released = 0, answers_released = 0;
  s->lent = (leat_rpc_piece_t){bytes, size, rpc_scene_count, &answers_released};
  const leat_rpc_piece_t piece = {bytes, size, rpc_scene_count, &released};
  const leat_rpc_call_options_t options = {.method = "/test/Lend", .bytes = {&piece, 1},
                                           .deadline_ns = LEAT_DEADLINE_NEVER};
  rpc_end_t end;
  rpc_end_initialize(&end);
  rpc_scene_share(s);
  leat_rpc_call(s->channel, &options, rpc_scene_done, &end, NULL);
  rpc_end_wait(&end);
  assert_int_equal(end.code, LEAT_OK);
  rpc_scene_share(s);
  assert_true(s->lent_equalled);
  assert_int_equal(end.answer_size, size);
  assert_int_equal(memcmp(end.answer, bytes, size), 0);
  rpc_end_free(&end);
  rpc_scene_expect_count(&released, 1);
  rpc_scene_expect_count(&answers_released, 1);
  free(bytes);
}

static void requests_over_the_limit_are_refused(void** state) {
  rpc_scene_t limited;
  rpc_end_t end;
  static char text[2000];
  rpc_scene_open(&limited, &(rpc_scene_options_t){.max_message_bytes = 1000});
  rpc_scene_call(&limited, "/test/Echo", text, 1000, &end);
  assert_int_equal(end.code, LEAT_OK);
  rpc_end_free(&end);
  rpc_scene_call(&limited, "/test/Echo", text, 1001, &end);
  assert_int_equal(end.code, LEAT_RESOURCE_EXHAUSTED);
  rpc_end_free(&end);
  rpc_scene_close(&limited);
}

// ---- Ends ---------------------------------------------------------------------------------------

// What was lent comes back where nothing is sent: nobody listens, or the answer is a failure.
static void what_is_not_sent_is_released(void** state) {
  rpc_scene_t* s = *state;
  leat_rpc_channel_t* channel;
  char address[32];
  atomic_int released = 0;
  rpc_end_t end;
  snprintf(address, sizeof address, "127.0.0.1:%d", rpc_scene_free_port());
  LEAT_EXPECT_OK(leat_rpc_channel_create(leat_string_view_from(address), &(leat_rpc_security_t){0},
                                         &channel));
  const leat_rpc_piece_t piece = {"lent", 4, rpc_scene_count, &released};
  leat_rpc_call_options_t options = {.method = "/test/Echo", .bytes = {&piece, 1},
                                     .deadline_ns = LEAT_DEADLINE_NEVER};
  rpc_end_initialize(&end);
  leat_rpc_call(channel, &options, rpc_scene_done, &end, NULL);
  rpc_end_wait(&end);
  assert_int_equal(end.code, LEAT_UNAVAILABLE);
  rpc_end_free(&end);
  rpc_scene_expect_count(&released, 1);

  // With |waits|, the deadline ends it.
  options.waits = true;
  options.deadline_ns = leat_clock_deadline_after_ms(200);
  rpc_end_initialize(&end);
  leat_rpc_call(channel, &options, rpc_scene_done, &end, NULL);
  rpc_end_wait(&end);
  assert_int_equal(end.code, LEAT_DEADLINE_EXCEEDED);
  rpc_end_free(&end);
  rpc_scene_expect_count(&released, 2);
  leat_rpc_channel_free(channel);

  s->lent = piece;
  rpc_scene_call(s, "/test/FailLending", "", 0, &end);
  assert_int_equal(end.code, LEAT_ABORTED);
  assert_int_equal(end.answer_size, 0);
  rpc_end_free(&end);
  rpc_scene_expect_count(&released, 3);
}

static void waiting_calls_find_a_server_that_comes_later(void** state) {
  const int port = rpc_scene_free_port();
  leat_rpc_channel_t* channel;
  rpc_scene_t late;
  rpc_end_t end;
  char address[32];
  snprintf(address, sizeof address, "127.0.0.1:%d", port);
  LEAT_EXPECT_OK(leat_rpc_channel_create(leat_string_view_from(address), &(leat_rpc_security_t){0},
                                         &channel));
  rpc_end_initialize(&end);
  const leat_rpc_call_options_t options = {.method = "/test/Echo", .waits = true,
                                           .deadline_ns = leat_clock_deadline_after_ms(30000)};
  leat_rpc_call(channel, &options, rpc_scene_done, &end, NULL);
  leat_clock_sleep_ns(300000000);
  assert_int_equal(atomic_load(&end.times), 0);
  rpc_scene_open(&late, &(rpc_scene_options_t){.port = port});
  rpc_end_wait(&end);
  assert_int_equal(end.code, LEAT_OK);
  rpc_end_free(&end);
  leat_rpc_channel_free(channel);
  rpc_scene_close(&late);
}

// All codes of TensorFlow, texts that HTTP/2 must escape, and details of any bytes.
static void statuses_arrive_as_they_were_sent(void** state) {
  rpc_scene_t* s = *state;
  rpc_end_t end;
  for (int code = LEAT_CANCELLED; code <= LEAT_UNAUTHENTICATED; ++code) {
    s->fails_with = code;
    s->fails_saying = "100 % f\xc3\xbcr \xe2\x82\xac\n\ttab \x01 %41";
    s->fails_with_details = leat_string_view_make("\0\xff\x80 \n detail \0", 14);
    rpc_scene_call(s, "/test/Fail", "x", 1, &end);
    assert_int_equal(end.code, code);
    assert_string_equal(end.message, s->fails_saying);
    assert_int_equal(end.details_size, 14);
    assert_memory_equal(end.details, s->fails_with_details.data, 14);
    rpc_end_free(&end);
  }
  s->fails_with = 77;
  s->fails_saying = "";
  s->fails_with_details = LEAT_SV("");
  rpc_scene_call(s, "/test/Fail", "x", 1, &end);
  assert_int_equal(end.code, LEAT_UNKNOWN);
  assert_int_equal(end.details_size, 0);
  rpc_end_free(&end);
}

// ---- Threads ------------------------------------------------------------------------------------

// Each handler blocks until all have come, so each needs a thread of its own.
static void handlers_that_block_hold_up_nobody(void** state) {
  rpc_scene_t* s = *state;
  enum { CALLS = 64 };
  static rpc_end_t ends[CALLS];
  s->gathered_at = CALLS;
  for (int i = 0; i < CALLS; ++i) rpc_scene_start(s, "/test/Gather", &ends[i], NULL);
  for (int i = 0; i < CALLS; ++i) {
    rpc_end_wait(&ends[i]);
    assert_int_equal(ends[i].code, LEAT_OK);
    rpc_end_free(&ends[i]);
  }
}

// A |done| that waits for another call's end.
static void call_and_wait(void* data, leat_status_t status, leat_string_view_t details,
                          leat_rpc_bytes_t answer) {
  rpc_end_t* outer = data;
  rpc_end_t inner;
  rpc_scene_call(outer->scene, "/test/Echo", "inner", 5, &inner);
  const bool is_right = inner.code == LEAT_OK && inner.answer_size == 5;
  rpc_end_free(&inner);
  if (!is_right) status = leat_status_join(status, leat_make_status(LEAT_INTERNAL, "inner"));
  rpc_scene_done(outer, status, details, answer);
}

static void ends_that_block_hold_up_nobody(void** state) {
  rpc_scene_t* s = *state;
  enum { CALLS = 16 };
  static rpc_end_t ends[CALLS];
  for (int i = 0; i < CALLS; ++i) {
    rpc_end_initialize(&ends[i]);
    ends[i].scene = s;
    const leat_rpc_call_options_t options = {.method = "/test/Echo",
                                             .deadline_ns = LEAT_DEADLINE_NEVER};
    leat_rpc_call(s->channel, &options, call_and_wait, &ends[i], NULL);
  }
  for (int i = 0; i < CALLS; ++i) {
    rpc_end_wait(&ends[i]);
    assert_int_equal(ends[i].code, LEAT_OK);
    rpc_end_free(&ends[i]);
  }
}

static void call_often(void* data) {
  rpc_scene_t* s = data;
  rpc_end_t end;
  for (int i = 0; i < 300; ++i) {
    char text[64];
    const int size = snprintf(text, sizeof text, "%p %d", (void*)&end, i);
    rpc_scene_call(s, "/test/Echo", text, (size_t)size, &end);
    if (end.code != LEAT_OK || strcmp(end.answer, text)) atomic_fetch_add(&s->faults, 1);
    rpc_end_free(&end);
  }
}

static void many_threads_call_at_once(void** state) {
  rpc_scene_t* s = *state;
  leat_thread_t threads[6];
  for (int i = 0; i < 6; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("caller", call_often, s, &threads[i]));
  }
  for (int i = 0; i < 6; ++i) leat_thread_join(threads[i]);
  assert_int_equal(atomic_load(&s->faults), 0);
}

// ---- Servers and channels -----------------------------------------------------------------------

static void two_servers_cannot_have_one_port(void** state) {
  rpc_scene_t* s = *state;
  char address[32];
  int port;
  leat_rpc_server_t* second;
  snprintf(address, sizeof address, "127.0.0.1:%d", s->port);
  const leat_rpc_server_options_t options = {.address = leat_string_view_from(address),
                                             .handler = rpc_scene_serve, .data = s};
  LEAT_EXPECT_CODE(LEAT_UNAVAILABLE, leat_rpc_server_start(&options, &port, &second));
  assert_null(second);
}

static void addresses_are_checked(void** state) {
  leat_rpc_server_t* server;
  leat_rpc_channel_t* channel;
  int port;
  const char* const kNone[] = {"", ":1", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "a:-1"};
  leat_rpc_server_options_t options = {.handler = rpc_scene_serve};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNone); ++i) {
    options.address = leat_string_view_from(kNone[i]);
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, leat_rpc_server_start(&options, &port, &server));
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                     leat_rpc_channel_create(options.address, &(leat_rpc_security_t){0}, &channel));
    assert_null(channel);
  }
  options.address = LEAT_SV("192.0.2.1:1");  // an address for documentation: not this machine's
  LEAT_EXPECT_CODE(LEAT_UNAVAILABLE, leat_rpc_server_start(&options, &port, &server));
  assert_null(server);
}

static int connect_raw(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)},
                                .sin_port = htons((uint16_t)port)};
  const int stranger = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(stranger, (struct sockaddr*)&address, sizeof address), 0);
  return stranger;
}

// Strangers who do not speak HTTP/2, or begin to and then do not, disturb nobody else.
static void garbage_disturbs_nobody(void** state) {
  rpc_scene_t* s = *state;
  static const char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  rpc_end_t held, end;
  rpc_scene_start(s, "/test/Hold", &held, NULL);
  rpc_scene_wait_for_held(s);
  for (int i = 0; i < 20; ++i) {
    const int stranger = connect_raw(s->port);
    char garbage[5000];
    for (size_t j = 0; j < sizeof garbage; ++j) garbage[j] = (char)((j * 7919 + (size_t)i) >> 3);
    if (i % 2) memcpy(garbage, kPreface, sizeof kPreface - 1);
    send(stranger, garbage, sizeof garbage, MSG_NOSIGNAL);
    rpc_scene_call(s, "/test/Echo", "still here", 10, &end);
    assert_int_equal(end.code, LEAT_OK);
    rpc_end_free(&end);
    close(stranger);
  }
  rpc_scene_answer_held(s);
  rpc_end_wait(&held);
  assert_int_equal(held.code, LEAT_OK);
  rpc_end_free(&held);
}

// Wherever memory runs out, a call ends once, with success or a failure that says so, and what was
// lent comes back once.
static void allocations_fail(void** state) {
  rpc_scene_t* s = *state;
  enum { PIECES = 10 };
  rpc_end_t end;
  atomic_int released = 0;
  leat_rpc_piece_t pieces[PIECES];
  for (int i = 0; i < PIECES; ++i) {
    pieces[i] = (leat_rpc_piece_t){"piece", 5, rpc_scene_count, &released};
  }
  const leat_rpc_call_options_t options = {.method = "/test/Echo", .bytes = {pieces, PIECES},
                                           .deadline_ns = LEAT_DEADLINE_NEVER};
  rpc_scene_call(s, "/test/Echo", "connected", 9, &end);
  rpc_end_free(&end);
  // Several times, since a server that lost a waiting request has others.
  int calls = 0, rounds = 0;
  for (int64_t n = 1; rounds < 8; ++n) {
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    rpc_end_initialize(&end);
    leat_rpc_call(s->channel, &options, rpc_scene_done, &end, NULL);
    rpc_end_wait(&end);
    const bool was_met = leat_fault_remove(&fault);
    assert_true(end.code == LEAT_OK || (was_met && end.code == LEAT_RESOURCE_EXHAUSTED));
    assert_int_equal(atomic_load(&end.times), 1);
    rpc_end_free(&end);
    rpc_scene_expect_count(&released, ++calls * PIECES);
    if (was_met) continue;
    assert_true(n > 3);
    ++rounds;
    n = 0;
  }
  // Requests that could not be made ready were made up for.
  enum { CALLS = 20 };
  static rpc_end_t ends[CALLS];
  s->gathered_at = CALLS;
  for (int i = 0; i < CALLS; ++i) rpc_scene_start(s, "/test/Gather", &ends[i], NULL);
  for (int i = 0; i < CALLS; ++i) {
    rpc_end_wait(&ends[i]);
    rpc_end_free(&ends[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_missing_engine_is_named),
      cmocka_unit_test(threads_end_with_the_last_user), cmocka_unit_test(bytes_are_joined),
#define CASE(name) cmocka_unit_test_setup_teardown(name, rpc_scene_set_up, rpc_scene_tear_down)
      CASE(echoes_come_back), CASE(pieces_follow_one_another),
      CASE(requests_name_method_peer_and_deadline), CASE(large_messages_are_lent),
      cmocka_unit_test(requests_over_the_limit_are_refused),
      CASE(what_is_not_sent_is_released),
      cmocka_unit_test(waiting_calls_find_a_server_that_comes_later),
      CASE(statuses_arrive_as_they_were_sent), CASE(handlers_that_block_hold_up_nobody),
      CASE(ends_that_block_hold_up_nobody), CASE(many_threads_call_at_once),
      CASE(two_servers_cannot_have_one_port),
      cmocka_unit_test(addresses_are_checked),
      CASE(garbage_disturbs_nobody), CASE(allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
