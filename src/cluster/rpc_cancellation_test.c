// Remote procedure calls that end before their time: cancelled by the client, by a deadline,
// because their server stops or because their channel is freed. Client and server live in one
// process (cluster/rpc_scene.h), so the tests see both sides: the caller's function runs exactly
// once with the right code, and the server's handler hears of the cancellation exactly once, even
// if it asks for it late. The method /test/Hold does not answer until the test says so, which gives
// each case the moment it needs. Where the moment cannot be chosen, 400 calls are cancelled after
// ever longer pauses. What a cancelled request uses may be freed once it has been answered, so the
// answer has to wait for a cancellation that is being reported.
#include "base/clock.h"
#include "base/test.h"
#include "base/thread.h"
#include "cluster/rpc_scene.h"

// ---- Cancellation -------------------------------------------------------------------------------

// The server hears of it, and may answer afterwards, which nobody receives.
static void clients_cancel(void** state) {
  rpc_scene_t* s = *state;
  rpc_end_t end;
  leat_rpc_call_t* call;
  rpc_scene_start(s, "/test/Hold", &end, &call);
  rpc_scene_wait_for_held(s);
  leat_rpc_cancel(call);
  rpc_end_wait(&end);
  assert_int_equal(end.code, LEAT_CANCELLED);
  leat_notification_wait(&s->cancelled, LEAT_DEADLINE_NEVER);
  assert_int_equal(atomic_load(&s->cancellations), 1);
  rpc_scene_answer_held(s);
  rpc_end_free(&end);
  leat_rpc_cancel(call);  // it has ended: nothing
  leat_rpc_call_free(call);
}

// Makes a call that may take |allowed_ns|, and waits for its end. Returns whether the server had it
// before, which on a busy machine may not be so.
static bool call_in_time(rpc_scene_t* s, int64_t allowed_ns) {
  rpc_end_t end;
  bool is_held = false;
  rpc_end_initialize(&end);
  const int64_t begin = leat_clock_now_ns();
  const leat_rpc_call_options_t options = {.method = "/test/Hold",
                                           .deadline_ns = begin + allowed_ns};
  leat_rpc_call(s->channel, &options, rpc_scene_done, &end, NULL);
  while (!is_held && !atomic_load(&end.times)) {
    leat_clock_sleep_ns(1000000);
    leat_mutex_lock(&s->mutex);
    is_held = s->held_count > 0;
    leat_mutex_unlock(&s->mutex);
  }
  rpc_end_wait(&end);
  assert_int_equal(end.code, LEAT_DEADLINE_EXCEEDED);
  assert_true(leat_clock_now_ns() - begin >= allowed_ns - 1000000);
  rpc_end_free(&end);
  return is_held;
}

static void deadlines_pass(void** state) {
  rpc_scene_t* s = *state;
  int calls = 1;
  for (int64_t allowed_ns = 100000000; !call_in_time(s, allowed_ns); ++calls) {
    if (allowed_ns < INT64_C(10000000000)) allowed_ns *= 4;
  }
  leat_notification_wait(&s->cancelled, LEAT_DEADLINE_NEVER);
  assert_in_range(atomic_load(&s->cancellations), 1, calls);
  rpc_scene_answer_held(s);
}

static void deadlines_of_the_past_fail_at_once(void** state) {
  rpc_scene_t* s = *state;
  rpc_end_t end;
  rpc_end_initialize(&end);
  const leat_rpc_call_options_t options = {.method = "/test/Echo",
                                           .deadline_ns = leat_clock_now_ns() - 1000};
  leat_rpc_call(s->channel, &options, rpc_scene_done, &end, NULL);
  rpc_end_wait(&end);
  assert_int_equal(end.code, LEAT_DEADLINE_EXCEEDED);
  rpc_end_free(&end);
}

// Who asks after the news of the cancellation has come is called at once, on its own thread.
static void late_questions_hear_of_cancellation(void** state) {
  rpc_scene_t* s = *state;
  rpc_end_t end;
  leat_rpc_call_t* call;
  s->holds_without_asking = true;
  rpc_scene_start(s, "/test/Hold", &end, &call);
  leat_rpc_request_t* held = rpc_scene_wait_for_held(s);
  leat_rpc_cancel(call);
  rpc_end_wait(&end);
  // The news reaches the server some time after the client's end; where it is still on its way, he
  // is called when it comes.
  leat_clock_sleep_ns(200000000);
  leat_rpc_request_on_cancel(held, rpc_scene_on_cancel, s);
  rpc_scene_expect_count(&s->cancellations, 1);
  rpc_scene_answer_held(s);
  rpc_end_free(&end);
  leat_rpc_call_free(call);
}

// What |fn| uses may be freed once the request is answered.
static void answers_wait_for_the_news_of_cancellation(void** state) {
  rpc_scene_t* s = *state;
  rpc_end_t end;
  leat_rpc_call_t* call;
  s->cancellation_takes_ns = 200000000;
  rpc_scene_start(s, "/test/Hold", &end, &call);
  rpc_scene_wait_for_held(s);
  leat_rpc_cancel(call);
  leat_notification_wait(&s->cancelled, LEAT_DEADLINE_NEVER);
  assert_int_equal(atomic_load(&s->cancellations_ended), 0);
  rpc_scene_answer_held(s);
  assert_int_equal(atomic_load(&s->cancellations_ended), 1);
  rpc_end_wait(&end);
  rpc_end_free(&end);
  leat_rpc_call_free(call);
}

static void answered_requests_are_not_cancelled(void** state) {
  rpc_scene_t* s = *state;
  rpc_end_t end;
  rpc_scene_start(s, "/test/Hold", &end, NULL);
  rpc_scene_wait_for_held(s);
  rpc_scene_answer_held(s);
  rpc_end_wait(&end);
  assert_int_equal(end.code, LEAT_OK);
  rpc_end_free(&end);
  assert_int_equal(atomic_load(&s->cancellations), 0);
}

// Calls that are cancelled at any moment of their lives, and freed before or after their end.
static void cancelling_meets_ends(void** state) {
  rpc_scene_t* s = *state;
  for (int i = 0; i < 400; ++i) {
    rpc_end_t end;
    leat_rpc_call_t* call;
    rpc_scene_start(s, "/test/Echo", &end, &call);
    if (i % 3) leat_clock_sleep_ns(i * 500);
    leat_rpc_cancel(call);
    if (i % 2) leat_rpc_call_free(call);
    rpc_end_wait(&end);
    assert_true(end.code == LEAT_OK || end.code == LEAT_CANCELLED);
    assert_int_equal(atomic_load(&end.times), 1);
    if (i % 2 == 0) leat_rpc_call_free(call);
    rpc_end_free(&end);
  }
}

// ---- The ends of servers and channels -----------------------------------------------------------

static void stop_server(void* data) {
  rpc_scene_t* s = data;
  leat_rpc_server_stop(s->server);
  atomic_store(&s->has_stopped, true);
}

static void stopping_waits_for_answers(void** state) {
  rpc_scene_t* s = *state;
  rpc_end_t end;
  leat_thread_t thread;
  rpc_scene_start(s, "/test/Hold", &end, NULL);
  rpc_scene_wait_for_held(s);
  LEAT_EXPECT_OK(leat_thread_start("stopper", stop_server, s, &thread));
  rpc_end_wait(&end);
  assert_true(end.code == LEAT_UNAVAILABLE || end.code == LEAT_CANCELLED);
  leat_notification_wait(&s->cancelled, LEAT_DEADLINE_NEVER);
  leat_clock_sleep_ns(20000000);
  assert_false(atomic_load(&s->has_stopped));
  rpc_scene_answer_held(s);
  leat_thread_join(thread);
  s->server = NULL;
  rpc_end_free(&end);
  rpc_scene_call(s, "/test/Echo", "x", 1, &end);
  assert_int_equal(end.code, LEAT_UNAVAILABLE);
  rpc_end_free(&end);
}

static void freeing_a_channel_ends_its_calls(void** state) {
  rpc_scene_t* s = *state;
  enum { CALLS = 8 };
  rpc_end_t ends[CALLS];
  leat_rpc_call_t* calls[CALLS];
  s->holds_many = true;
  for (int i = 0; i < CALLS; ++i) rpc_scene_start(s, "/test/Hold", &ends[i], &calls[i]);
  rpc_scene_wait_for_held(s);
  leat_rpc_channel_free(s->channel);
  s->channel = NULL;
  for (int i = 0; i < CALLS; ++i) {
    assert_int_equal(atomic_load(&ends[i].times), 1);  // before leat_rpc_channel_free returned
    assert_int_equal(ends[i].code, LEAT_CANCELLED);
    rpc_end_free(&ends[i]);
    leat_rpc_cancel(calls[i]);
    leat_rpc_call_free(calls[i]);
  }
}

// Whoever knows that nobody will answer ends the calls under way, and says why. Later calls, and
// those that wait for a server, are not meant.
static void a_channel_fails(void** state) {
  rpc_scene_t* s = *state;
  rpc_end_t end, later, waiting;
  rpc_end_initialize(&waiting);
  assert_false(leat_rpc_channel_is_busy(s->channel));
  const leat_rpc_call_options_t options = {
      .method = "/test/Hold", .deadline_ns = LEAT_DEADLINE_NEVER, .waits = true};
  s->holds_many = true;
  leat_rpc_call(s->channel, &options, rpc_scene_done, &waiting, NULL);
  assert_false(leat_rpc_channel_is_busy(s->channel));
  rpc_scene_start(s, "/test/Hold", &end, NULL);
  assert_true(leat_rpc_channel_is_busy(s->channel));
  leat_rpc_channel_fail(s->channel, leat_make_status(LEAT_UNAVAILABLE, "it is silent"));
  rpc_end_wait(&end);
  assert_int_equal(end.code, LEAT_UNAVAILABLE);
  assert_non_null(strstr(end.message, "it is silent"));
  assert_false(atomic_load(&waiting.times));
  rpc_scene_call(s, "/test/Echo", "x", 1, &later);
  assert_int_equal(later.code, LEAT_OK);
  leat_rpc_channel_free(s->channel);  // which ends the call that waits
  s->channel = NULL;
  assert_int_equal(waiting.code, LEAT_CANCELLED);
  rpc_end_free(&end);
  rpc_end_free(&later);
  rpc_end_free(&waiting);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, rpc_scene_set_up, rpc_scene_tear_down)
      CASE(clients_cancel), CASE(deadlines_pass), CASE(deadlines_of_the_past_fail_at_once),
      CASE(late_questions_hear_of_cancellation), CASE(answers_wait_for_the_news_of_cancellation),
      CASE(answered_requests_are_not_cancelled), CASE(cancelling_meets_ends),
      CASE(stopping_waits_for_answers), CASE(freeing_a_channel_ends_its_calls),
      CASE(a_channel_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
