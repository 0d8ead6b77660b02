// Streams, as a server of cluster/rpc.h takes them: a client of bytes
// (tests/cluster/http2_client.h) sends messages to /test/Stream, which come back, fail, or are held
// until the test answers them. What the client sends faster than it is answered must be served one
// message after the other, and no further than the client takes answers. A stream ends in one of
// five ways: by the client's last message, a failure, a cancellation, the client's death or the
// server's. In each of them the server's request must be gone afterwards: the scene's end waits for
// it and would hang.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/test.h"
#include "base/thread.h"
#include "cluster/http2_client.h"
#include "cluster/rpc_scene.h"

enum { WIDE = 1 << 30 };

static void open_stream(rpc_scene_t* s, http2_client_t* out_client) {
  rpc_scene_share(s);
  http2_open(out_client, s->port, "/test/Stream", WIDE);
}

static void send_text(http2_client_t* client, const char* text) {
  http2_send(client, text, strlen(text));
}

static void expect_text(http2_client_t* client, const char* text) {
  size_t size;
  char* answer = http2_receive(client, &size);
  assert_non_null(answer);
  assert_int_equal(size, strlen(text));
  assert_string_equal(answer, text);
  free(answer);
}

// The stream ends now, and without another answer.
static void expect_end(http2_client_t* client, int code, const char* message) {
  size_t size;
  assert_null(http2_receive(client, &size));
  assert_int_equal(client->code, code);
  assert_non_null(strstr(client->message, message));
}

// ---- Messages -----------------------------------------------------------------------------------

// All are sent before the first answer is taken.
static void messages_are_answered_in_order(void** state) {
  rpc_scene_t* s = *state;
  http2_client_t client;
  char text[32];
  open_stream(s, &client);
  for (int i = 0; i < 2000; ++i) {
    snprintf(text, sizeof text, "message %d", i);
    send_text(&client, text);
  }
  http2_half_close(&client);
  for (int i = 0; i < 2000; ++i) {
    snprintf(text, sizeof text, "message %d", i);
    expect_text(&client, text);
  }
  expect_end(&client, LEAT_OK, "");
  assert_int_equal(atomic_load(&s->streamed), 2000);
  http2_close(&client);
}

// None, an empty one, and one that is larger than windows and than gRPC's limit by default.
static void messages_of_all_sizes(void** state) {
  rpc_scene_t* s = *state;
  http2_client_t client;
  open_stream(s, &client);
  http2_half_close(&client);
  expect_end(&client, LEAT_OK, "");
  assert_int_equal(atomic_load(&s->streamed), 0);
  http2_close(&client);

  const size_t sizes[] = {0, 1, 70000, 20000000, 3};
  char* bytes = malloc(20000000);
  for (size_t i = 0; i < 20000000; ++i) bytes[i] = (char)(i * 31 >> 3);
  open_stream(s, &client);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(sizes); ++i) {
    size_t size;
    http2_send(&client, bytes, sizes[i]);
    char* answer = http2_receive(&client, &size);
    assert_non_null(answer);
    assert_int_equal(size, sizes[i]);
    assert_memory_equal(answer, bytes, size);
    free(answer);
  }
  http2_close(&client);
  free(bytes);
}

// Whoever has a request may answer it later, on another thread.
static void answers_may_come_later(void** state) {
  rpc_scene_t* s = *state;
  http2_client_t client;
  open_stream(s, &client);
  for (int i = 0; i < 3; ++i) {
    send_text(&client, "hold");
    send_text(&client, "behind it");
    rpc_scene_wait_for_held(s);
    leat_clock_sleep_ns(20000000);
    assert_int_equal(atomic_load(&s->streamed), 2 * i + 1);  // what is behind it waits
    rpc_scene_answer_held(s);
    expect_text(&client, "held");
    expect_text(&client, "behind it");
  }
  http2_close(&client);
  assert_int_equal(atomic_load(&s->cancellations), 0);
}

// A client that takes no answers is read no further.
static void the_client_sets_the_pace(void** state) {
  rpc_scene_t* s = *state;
  http2_client_t client;
  http2_open(&client, s->port, "/test/Stream", 0);
  for (int i = 0; i < 3; ++i) send_text(&client, "message");
  rpc_scene_expect_count(&s->streamed, 1);
  leat_clock_sleep_ns(100000000);
  assert_int_equal(atomic_load(&s->streamed), 1);
  http2_widen(&client, 12);  // one answer
  expect_text(&client, "message");
  rpc_scene_expect_count(&s->streamed, 2);
  http2_widen(&client, WIDE);
  expect_text(&client, "message");
  expect_text(&client, "message");
  http2_close(&client);
}

// For a client that makes an ordinary call, a stream of one message is one; and a stream to an
// ordinary method gets one answer.
static void streams_and_calls_meet(void** state) {
  rpc_scene_t* s = *state;
  http2_client_t client;
  rpc_end_t end;
  rpc_scene_call(s, "/test/Stream", "once", 4, &end);
  assert_int_equal(end.code, LEAT_OK);
  assert_string_equal(end.answer, "once");
  rpc_end_free(&end);
  http2_open(&client, s->port, "/test/Echo", WIDE);
  send_text(&client, "first");
  send_text(&client, "second");
  expect_text(&client, "first");
  expect_end(&client, LEAT_OK, "");
  http2_close(&client);
}

// ---- Ends ---------------------------------------------------------------------------------------

static void failures_end_streams(void** state) {
  rpc_scene_t* s = *state;
  http2_client_t client;
  s->fails_with = LEAT_ABORTED;
  s->fails_saying = "what was said";
  s->fails_with_details = LEAT_SV("details");
  open_stream(s, &client);
  send_text(&client, "before");
  send_text(&client, "fail");
  send_text(&client, "behind");
  expect_text(&client, "before");
  expect_end(&client, LEAT_ABORTED, "what was said");
  http2_close(&client);
  open_stream(s, &client);
  send_text(&client, "fail");
  expect_end(&client, LEAT_ABORTED, "what was said");
  http2_close(&client);
  rpc_scene_expect_count(&s->streamed, 3);  // nothing that came behind a failure was served
}

static void clients_cancel_streams(void** state) {
  rpc_scene_t* s = *state;
  http2_client_t client;
  open_stream(s, &client);
  send_text(&client, "answered");
  expect_text(&client, "answered");
  send_text(&client, "hold");
  rpc_scene_wait_for_held(s);
  http2_reset(&client);
  assert_true(leat_notification_wait(&s->cancelled, leat_clock_deadline_after_ms(60000)));
  rpc_scene_answer_held(s);
  http2_close(&client);
  rpc_scene_expect_count(&s->cancellations, 1);
  // Who asked about a message that was answered is not told of a later one.
  open_stream(s, &client);
  send_text(&client, "hold");
  rpc_scene_wait_for_held(s);
  rpc_scene_answer_held(s);
  expect_text(&client, "held");
  s->holds_without_asking = true;
  rpc_scene_share(s);
  send_text(&client, "hold");
  rpc_scene_wait_for_held(s);
  http2_reset(&client);
  http2_close(&client);
  rpc_scene_expect_count(&s->cancellations, 1);
  rpc_scene_answer_held(s);
  // Nobody is told where no message is under way.
  open_stream(s, &client);
  send_text(&client, "answered");
  expect_text(&client, "answered");
  http2_reset(&client);
  http2_close(&client);
  rpc_scene_expect_count(&s->cancellations, 1);
}

// The client is gone without a word: with a message under way, and in the middle of one.
static void clients_die(void** state) {
  rpc_scene_t* s = *state;
  http2_client_t client;
  open_stream(s, &client);
  send_text(&client, "hold");
  rpc_scene_wait_for_held(s);
  http2_close(&client);
  assert_true(leat_notification_wait(&s->cancelled, leat_clock_deadline_after_ms(60000)));
  rpc_scene_answer_held(s);
  open_stream(s, &client);
  send_text(&client, "answered");
  expect_text(&client, "answered");
  http2_send_beginning(&client, 100);
  http2_close(&client);
  rpc_scene_expect_count(&s->streamed, 2);
  rpc_scene_expect_count(&s->cancellations, 1);
}

static void stop_server(void* data) {
  rpc_scene_t* s = data;
  leat_rpc_server_stop(s->server);
  atomic_store(&s->has_stopped, true);
}

// The server waits for the message under way, and for nothing else.
static void stopping_ends_streams(void** state) {
  rpc_scene_t* s = *state;
  http2_client_t idle, busy;
  leat_thread_t thread;
  open_stream(s, &idle);
  send_text(&idle, "answered");
  expect_text(&idle, "answered");
  open_stream(s, &busy);
  send_text(&busy, "hold");
  rpc_scene_wait_for_held(s);
  LEAT_EXPECT_OK(leat_thread_start("stopper", stop_server, s, &thread));
  assert_true(leat_notification_wait(&s->cancelled, leat_clock_deadline_after_ms(60000)));
  size_t size;
  assert_null(http2_receive(&idle, &size));
  assert_int_not_equal(idle.code, LEAT_OK);
  leat_clock_sleep_ns(20000000);
  assert_false(atomic_load(&s->has_stopped));
  rpc_scene_answer_held(s);
  leat_thread_join(thread);
  s->server = NULL;
  assert_null(http2_receive(&busy, &size));
  http2_close(&idle);
  http2_close(&busy);
}

// The limit holds for each message.
static void messages_over_the_limit_are_refused(void** state) {
  rpc_scene_t limited;
  http2_client_t client;
  static char text[1002];
  memset(text, 'x', 1001);
  rpc_scene_open(&limited, &(rpc_scene_options_t){.max_message_bytes = 1000});
  open_stream(&limited, &client);
  http2_send(&client, text, 1001);
  expect_end(&client, LEAT_RESOURCE_EXHAUSTED, "");
  http2_close(&client);
  open_stream(&limited, &client);
  text[1000] = '\0';
  for (int i = 0; i < 3; ++i) {
    send_text(&client, text);
    expect_text(&client, text);
  }
  http2_send(&client, text, 1001);
  expect_end(&client, LEAT_RESOURCE_EXHAUSTED, "");
  http2_close(&client);
  assert_int_equal(atomic_load(&limited.streamed), 3);
  rpc_scene_close(&limited);
}

// Wherever memory runs out, the stream goes on or ends with a failure that says so.
static void allocations_fail(void** state) {
  rpc_scene_t* s = *state;
  enum { SIZE = 400000 };  // in many pieces
  char* bytes = malloc(SIZE);
  memset(bytes, 'x', SIZE);
  bool was_met = true, has_ended = false;
  for (int64_t n = 1; was_met || n < 4; ++n) {
    http2_client_t client;
    leat_fault_t fault;
    size_t size;
    open_stream(s, &client);
    send_text(&client, "open");
    expect_text(&client, "open");
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    http2_send(&client, bytes, SIZE);
    char* answer = http2_receive(&client, &size);
    was_met = leat_fault_remove(&fault);
    if (answer) {
      assert_int_equal(size, SIZE);
    } else {
      assert_true(was_met);
      assert_int_equal(client.code, LEAT_RESOURCE_EXHAUSTED);
      has_ended = true;
    }
    free(answer);
    http2_close(&client);
  }
  assert_true(has_ended);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, rpc_scene_set_up, rpc_scene_tear_down)
      CASE(messages_are_answered_in_order), CASE(messages_of_all_sizes),
      CASE(answers_may_come_later), CASE(the_client_sets_the_pace),
      CASE(streams_and_calls_meet), CASE(failures_end_streams), CASE(clients_cancel_streams),
      CASE(clients_die), CASE(stopping_ends_streams),
      cmocka_unit_test(messages_over_the_limit_are_refused), CASE(allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
