// Calls of methods between two ends of the plane, without tasks around them: answers of all sizes,
// failures, cancellation from both sides, and ends that go in the middle of a call.
#include "base/thread.h"
#include "cluster/plane_message.h"
#include "cluster/plane_scene.h"

#define MANY 40  // more than UCX's module has threads at rest

// ---- The other end ------------------------------------------------------------------------------

// Requests of "/hold", which are answered when they are cancelled, or never by the handler.
static _Atomic(leat_rpc_request_t*) held;
static atomic_int cancelled, inside;

static void note_cancel(void* data) {
  atomic_fetch_add(&cancelled, 1);
  leat_rpc_answer(data, leat_make_status(LEAT_CANCELLED, "the caller gave up"), LEAT_SV(""),
                  (leat_rpc_bytes_t){0});
}

static void release_text(void* text) { free(text); }

// Answers with as many bytes as the request says, in |count| pieces.
static void answer_bytes(leat_rpc_request_t* request, size_t size, size_t count) {
  leat_rpc_piece_t pieces[3];
  for (size_t i = 0; i < count; ++i) {
    char* text = malloc(size / count + 1);
    memset(text, 'a' + (int)i, size / count);
    pieces[i] = (leat_rpc_piece_t){text, size / count, release_text, text};
  }
  leat_rpc_answer(request, leat_ok_status(), LEAT_SV(""), (leat_rpc_bytes_t){pieces, count});
}

static void handle(void* data, leat_rpc_request_t* request) {
  int64_t number = 0;
  char* copy;
  leat_string_view_t bytes;
  assert_null(request->message);
  assert_true(request->deadline_ns == LEAT_DEADLINE_NEVER);
  LEAT_EXPECT_OK(leat_rpc_bytes_join(request->bytes, leat_allocator_system(), &bytes, &copy));
  leat_string_view_to_int64(bytes, &number);
  leat_allocator_free(leat_allocator_system(), copy);
  if (leat_string_view_equals(request->method, "/bytes")) {
    answer_bytes(request, (size_t)number, 1);
  } else if (leat_string_view_equals(request->method, "/pieces")) {
    answer_bytes(request, (size_t)number, 3);
  } else if (leat_string_view_equals(request->method, "/nothing")) {
    leat_rpc_answer(request, leat_ok_status(), LEAT_SV(""), (leat_rpc_bytes_t){0});
  } else if (leat_string_view_equals(request->method, "/length")) {
    char text[16];
    snprintf(text, sizeof text, "%zu", bytes.size);
    const leat_rpc_piece_t piece = {.data = text, .size = strlen(text)};
    leat_rpc_answer(request, leat_ok_status(), LEAT_SV(""), (leat_rpc_bytes_t){&piece, 1});
  } else if (leat_string_view_equals(request->method, "/fail")) {
    leat_rpc_answer(request,
                    leat_make_status(LEAT_ABORTED, "%0*d is no such thing", (int)number, 7),
                    LEAT_SV("why"), (leat_rpc_bytes_t){0});
  } else if (leat_string_view_equals(request->method, "/meet")) {
    atomic_fetch_add(&inside, 1);
    while (atomic_load(&inside) < MANY) leat_clock_sleep_ns(100000);
    leat_rpc_answer(request, leat_ok_status(), LEAT_SV(""), (leat_rpc_bytes_t){0});
  } else {
    leat_rpc_request_on_cancel(request, note_cancel, request);
    atomic_store(&held, request);
  }
}

// ---- Calls --------------------------------------------------------------------------------------

typedef struct called_s {
  atomic_int times;
  leat_status_code_t code;
  char message[160], details[16];
  char* answer;
  size_t size;
  leat_plane_call_t* call;
} called_t;

static void note_answer(void* data, leat_status_t status, leat_string_view_t details,
                        leat_rpc_bytes_t answer) {
  called_t* called = data;
  called->code = leat_status_code(status);
  snprintf(called->message, sizeof called->message, "%s", leat_status_message(status));
  snprintf(called->details, sizeof called->details, "%.*s", LEAT_SV_ARG(details));
  called->size = leat_rpc_bytes_size(answer);
  called->answer = calloc(1, called->size + 1);
  for (size_t i = 0, at = 0; i < answer.count; at += answer.pieces[i++].size) {
    memcpy(called->answer + at, answer.pieces[i].data, answer.pieces[i].size);
  }
  leat_status_free(status);
  atomic_fetch_add(&called->times, 1);
}

// A channel is a name here.
static leat_rpc_channel_t* channel_of(int number) {
  static char names[2];
  return (leat_rpc_channel_t*)&names[number];
}

static bool try_call(leat_plane_t* plane, uint64_t incarnation, const char* method,
                     leat_string_view_t bytes, called_t* out_called) {
  const leat_plane_call_options_t options = {.incarnation = incarnation,
                                             .channel = channel_of(incarnation == 77),
                                             .method = method,
                                             .bytes = bytes};
  *out_called = (called_t){0};
  return leat_plane_call(plane, &options, note_answer, out_called, &out_called->call);
}

// Begins a call. The way may not be ready yet.
static void begin(pair_t* pair, const char* method, const char* bytes, called_t* out_called) {
  const int64_t begin_ns = leat_clock_now_ns();
  while (!try_call(pair->near, pair->incarnation, method, leat_string_view_from(bytes),
                   out_called)) {
    assert_true(leat_clock_now_ns() - begin_ns < NO_HANG_NS);
    leat_clock_sleep_ns(100000);
  }
}

static void wait_for(atomic_int* number, int least) {
  const int64_t begin_ns = leat_clock_now_ns();
  while (atomic_load(number) < least) {
    assert_true(leat_clock_now_ns() - begin_ns < NO_HANG_NS);
    leat_clock_sleep_ns(20000);
  }
}

static void expect_answer(called_t* called, leat_status_code_t code, const char* text) {
  wait_for(&called->times, 1);
  if (called->code != code || !strstr(called->message, text)) {
    print_error("%d: %s\n", called->code, called->message);
  }
  assert_int_equal(called->code, code);
  assert_non_null(strstr(called->message, text));
  assert_int_equal(atomic_load(&called->times), 1);
  leat_plane_call_free(called->call);
}

static leat_rpc_request_t* wait_until_kept(void) {
  const int64_t begin_ns = leat_clock_now_ns();
  leat_rpc_request_t* request;
  while (!(request = atomic_exchange(&held, NULL))) {
    assert_true(leat_clock_now_ns() - begin_ns < NO_HANG_NS);
    leat_clock_sleep_ns(20000);
  }
  return request;
}

static int set_up_calls(void** state) {
  atomic_store(&cancelled, 0);
  return set_up(state);
}

// ---- Tests --------------------------------------------------------------------------------------

static void answers_of_all_sizes_come(void** state) {
  static const int kSizes[] = {0, 1, 300, 3900, 4080, 4096, 4200, 100000, 3000000};
  static const char* const kMethods[] = {"/bytes", "/pieces"};
  called_t called;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSizes); ++i) {
    for (size_t k = 0; k < LEAT_ARRAY_SIZE(kMethods); ++k) {
      char number[16];
      const size_t pieces = k ? 3 : 1, each = (size_t)kSizes[i] / pieces;
      snprintf(number, sizeof number, "%d", kSizes[i]);
      begin(*state, kMethods[k], number, &called);
      expect_answer(&called, LEAT_OK, "");
      assert_int_equal(called.size, each * pieces);
      for (size_t at = 0; at < called.size; ++at) {
        assert_int_equal(called.answer[at], 'a' + (int)(at / each));
      }
      free(called.answer);
    }
  }
  begin(*state, "/nothing", "", &called);
  expect_answer(&called, LEAT_OK, "");
  assert_int_equal(called.size, 0);
  free(called.answer);
}

// A request goes in a header or not at all.
static void the_largest_request_fits(void** state) {
  static const char kMethod[] = "/length";
  static char text[LEAT_PLANE_HEADER_BYTES];
  const size_t room = sizeof text - sizeof(leat_plane_frame_t) - strlen(kMethod);
  pair_t* pair = *state;
  called_t called;
  char number[16];
  begin(pair, "/nothing", "", &called);
  expect_answer(&called, LEAT_OK, "");
  free(called.answer);
  assert_false(try_call(pair->near, pair->incarnation, kMethod,
                        leat_string_view_make(text, room + 1), &called));
  assert_true(try_call(pair->near, pair->incarnation, kMethod, leat_string_view_make(text, room),
                       &called));
  expect_answer(&called, LEAT_OK, "");
  snprintf(number, sizeof number, "%zu", room);
  assert_string_equal(called.answer, number);
  free(called.answer);
  assert_false(try_call(pair->near, 5, "/nothing", LEAT_SV(""), &called));  // no such task
}

// The text of a failure is cut where it is longer than a header.
static void failures_come_with_their_details(void** state) {
  called_t called;
  begin(*state, "/fail", "1", &called);
  expect_answer(&called, LEAT_ABORTED, "7 is no such thing");
  assert_string_equal(called.details, "why");
  free(called.answer);
  begin(*state, "/fail", "9000", &called);
  expect_answer(&called, LEAT_ABORTED, "000000");
  assert_string_equal(called.details, "why");
  free(called.answer);
}

// The caller's end comes at once; the other end hears of it, and its late answer is dropped.
static void a_cancelled_call_ends_on_both_sides(void** state) {
  called_t called;
  begin(*state, "/hold", "", &called);
  wait_until_kept();
  leat_plane_cancel(called.call);
  assert_int_equal(atomic_load(&called.times), 1);
  leat_plane_cancel(called.call);
  expect_answer(&called, LEAT_CANCELLED, "Calling another task failed: it was cancelled");
  free(called.answer);
  wait_for(&cancelled, 1);
  begin(*state, "/nothing", "", &called);
  expect_answer(&called, LEAT_OK, "");
  free(called.answer);
}

// Calls of one task fail, those of another and fetches go on.
static void calls_of_a_silent_task_fail(void** state) {
  pair_t* pair = *state;
  called_t called, other;
  fetched_t fetched;
  const leat_pb_plane_offer_t far = leat_plane_offer(pair->far);
  start(pair, 1, "hold", &fetched);
  begin(pair, "/hold", "", &called);
  leat_rpc_request_t* request = wait_until_kept();
  assert_true(leat_plane_asks(pair->near, 78));  // the same end, as if another task had it
  leat_plane_answer(pair->near, 78, &far);
  pair->incarnation = 78;
  begin(pair, "/hold", "", &other);
  leat_rpc_request_t* other_request = wait_until_kept();
  leat_plane_fail(pair->near, channel_of(1), leat_make_status(LEAT_UNAVAILABLE, "it is silent"));
  assert_int_equal(atomic_load(&called.times), 1);
  expect_answer(&called, LEAT_UNAVAILABLE, "it is silent");
  assert_int_equal(atomic_load(&other.times), 0);
  assert_int_equal(atomic_load(&fetched.times), 0);
  leat_rpc_answer(request, leat_ok_status(), LEAT_SV(""), (leat_rpc_bytes_t){0});
  leat_rpc_answer(other_request, leat_ok_status(), LEAT_SV(""), (leat_rpc_bytes_t){0});
  expect_answer(&other, LEAT_OK, "");
  free(called.answer);
  free(other.answer);
  wait_until_held(pair);
  pair->serving.fn(pair->serving.data, leat_ok_status(), make_floats(3, 1));
  expect_end(&fetched, LEAT_OK, "");
  leat_slot_release(&fetched.value);
}

// An end that stops cancels what it serves.
static void an_end_that_stops_cancels_its_requests(void** state) {
  pair_t* pair = *state;
  called_t called;
  begin(pair, "/hold", "", &called);
  wait_until_kept();
  leat_plane_stop(pair->far);
  assert_int_equal(atomic_load(&cancelled), 1);
  expect_answer(&called, LEAT_UNAVAILABLE, "the connection by UCX broke");
  free(called.answer);
}

// The request is answered a while after it was cancelled.
static void answer_late(void* data) {
  wait_for(&cancelled, 1);
  leat_clock_sleep_ns(30000000);
  atomic_fetch_add(&inside, 1);
  leat_rpc_answer(data, leat_ok_status(), LEAT_SV(""), (leat_rpc_bytes_t){0});
}

static void note_cancel_alone(void* data) { atomic_fetch_add(&cancelled, 1); }

static void stopping_waits_for_answers(void** state) {
  pair_t* pair = *state;
  called_t called;
  leat_thread_t thread;
  atomic_store(&inside, 0);
  begin(pair, "/hold", "", &called);
  leat_rpc_request_t* request = wait_until_kept();
  leat_rpc_request_on_cancel(request, note_cancel_alone, NULL);
  LEAT_EXPECT_OK(leat_thread_start("late", answer_late, request, &thread));
  leat_plane_stop(pair->far);
  assert_int_equal(atomic_load(&inside), 1);
  leat_thread_join(thread);
  expect_answer(&called, LEAT_UNAVAILABLE, "the connection by UCX broke");
  free(called.answer);
}

// An end whose caller stops cancels what that has called for.
static void the_end_of_the_caller_cancels_its_requests(void** state) {
  pair_t* pair = *state;
  called_t called;
  begin(pair, "/hold", "", &called);
  wait_until_kept();
  leat_plane_stop(pair->near);
  expect_answer(&called, LEAT_CANCELLED, "the server stops");
  free(called.answer);
  wait_for(&cancelled, 1);
}

// No call waits behind the handler of another one, though all came at once.
static void handlers_that_block_stop_nobody(void** state) {
  static called_t called[MANY];
  atomic_store(&inside, 0);
  for (int i = 0; i < MANY; ++i) begin(*state, "/meet", "", &called[i]);
  for (int i = 0; i < MANY; ++i) {
    expect_answer(&called[i], LEAT_OK, "");
    free(called[i].answer);
  }
}

// Who calls and who serves, whose call, and whose cancellation comes first: all at once.
static void calls_and_cancellations_race(void** state) {
  enum { ROUNDS = 300, CALLS = 4 };
  for (int round = 0; round < ROUNDS; ++round) {
    called_t called[CALLS];
    for (int i = 0; i < CALLS; ++i) begin(*state, i % 2 ? "/hold" : "/bytes", "9", &called[i]);
    if (round % 3 == 0) leat_clock_sleep_ns(round * 1000);
    for (int i = 0; i < CALLS; ++i) {
      leat_plane_cancel(called[i].call);
      wait_for(&called[i].times, 1);
      assert_true(called[i].code == LEAT_CANCELLED || (called[i].code == LEAT_OK && i % 2 == 0));
      leat_plane_call_free(called[i].call);
      free(called[i].answer);
    }
  }
  wait_for(&cancelled, 2 * ROUNDS);
  atomic_store(&held, NULL);
}

// Sends |kind| for a call of which the near end itself knows nothing.
static void send_frame(const pair_t* pair, leat_plane_kind_t kind, const char* method) {
  leat_plane_way_t* way = leat_plane_get_way(pair->near, pair->far->number);
  assert_non_null(way);
  leat_plane_send(way, (leat_plane_frame_t){.kind = kind, .call = 4711},
                  leat_string_view_from(method), LEAT_SV(""), (leat_rpc_piece_t){0});
  leat_plane_way_release(way);
}

static void a_cancellation_may_overtake_its_call(void** state) {
  pair_t* pair = *state;
  called_t called;
  begin(pair, "/nothing", "", &called);  // the way is ready then
  expect_answer(&called, LEAT_OK, "");
  free(called.answer);
  send_frame(pair, LEAT_PLANE_CANCEL, "");
  begin(pair, "/nothing", "", &called);
  expect_answer(&called, LEAT_OK, "");
  free(called.answer);
  send_frame(pair, LEAT_PLANE_CALL, "/hold");
  wait_for(&cancelled, 1);
  atomic_store(&held, NULL);
}

// A process is killed while it serves.
static void the_death_of_the_other_ends_the_call(void** state) {
  pair_t pair;
  process_t process;
  called_t called;
  start_process(&pair, &process);
  begin(&pair, "/bytes", "5", &called);
  expect_answer(&called, LEAT_OK, "");
  free(called.answer);
  begin(&pair, "/hold", "", &called);
  leat_clock_sleep_ns(2000000);
  kill_process(&process);
  expect_answer(&called, LEAT_UNAVAILABLE, "UCX");
  free(called.answer);
  leat_plane_free(pair.near);
}

int main(int argc, char** argv) {
  handler = handle;
  setenv("UCX_TLS", "tcp", 1);
  if (argc == 4) return serve_for_ever(atoi(argv[1]), atoi(argv[2]), argv[3]);
#define CALL_TEST(test) cmocka_unit_test_setup_teardown(test, set_up_calls, tear_down)
  const struct CMUnitTest tests[] = {
      CALL_TEST(answers_of_all_sizes_come),
      CALL_TEST(the_largest_request_fits),
      CALL_TEST(failures_come_with_their_details),
      CALL_TEST(a_cancelled_call_ends_on_both_sides),
      CALL_TEST(calls_of_a_silent_task_fail),
      CALL_TEST(an_end_that_stops_cancels_its_requests),
      CALL_TEST(stopping_waits_for_answers),
      CALL_TEST(the_end_of_the_caller_cancels_its_requests),
      CALL_TEST(handlers_that_block_stop_nobody),
      CALL_TEST(a_cancellation_may_overtake_its_call),
      CALL_TEST(calls_and_cancellations_race),
      cmocka_unit_test(the_death_of_the_other_ends_the_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
