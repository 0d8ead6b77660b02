// The signature cache by itself. Each test brings its own compile function, so that it decides when
// a compilation fails and what happens meanwhile: a compile function is called without a lock, and
// may itself ask the cache for another signature, which is what another thread would do.
#include "session/signature_cache.h"

#include "base/clock.h"
#include "base/test.h"
#include "base/thread.h"

static leat_signature_cache_t cache;

static int set_up(void** state) {
  leat_signature_cache_initialize(leat_allocator_system(), &cache);
  return 0;
}

static int tear_down(void** state) {
  leat_signature_cache_deinitialize(&cache);
  return 0;
}

// A run that fetches |*fetch| and nothing else.
static leat_run_t run_of(const leat_output_t* fetch) {
  return (leat_run_t){.fetches = fetch, .fetch_count = 1};
}

static leat_status_t compile_at_once(void* data, const leat_run_t* run, leat_signature_t* s) {
  if (data) ++*(int*)data;
  return leat_ok_status();
}

static leat_status_t fail_at_once(void* data, const leat_run_t* run, leat_signature_t* s) {
  return leat_make_status(LEAT_DATA_LOSS, "this signature fails");
}

static const leat_output_t kFails = {1, 0}, kGood = {2, 0}, kLater = {3, 0};

// While kFails is compiled, kGood is entered behind it.
static leat_status_t fail_behind_another(void* data, const leat_run_t* run, leat_signature_t* s) {
  const leat_run_t good = run_of(&kGood);
  LEAT_RETURN_IF_ERROR(leat_signature_cache_make(&cache, &good, LEAT_DEADLINE_NEVER,
                                                 compile_at_once, NULL,
                                                 (leat_signature_t**)data));
  return leat_make_status(LEAT_DATA_LOSS, "this signature fails");
}

// The signature behind one that fails takes its place in the table, and is still found there: its
// former place belongs to whatever comes next, and must not be looked at for it.
static void a_signature_is_found_after_one_before_it_failed(void** state) {
  leat_run_t fails = run_of(&kFails), good = run_of(&kGood), later = run_of(&kLater);
  leat_signature_t *first = NULL, *found = NULL;
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS,
                   leat_signature_cache_make(&cache, &fails, LEAT_DEADLINE_NEVER,
                                             fail_behind_another, &first, &found));
  assert_int_equal(cache.count, 1);
  // Another one takes the former place for a moment.
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, leat_signature_cache_make(&cache, &later, LEAT_DEADLINE_NEVER,
                                                             fail_at_once, NULL, &found));
  uint64_t place;
  assert_true(leat_word_map_get(&cache.by_hash, first->hash, &place));
  assert_int_equal(place, 0);
  int compiled = 0;
  LEAT_EXPECT_OK(leat_signature_cache_make(&cache, &good, LEAT_DEADLINE_NEVER, compile_at_once,
                                           &compiled, &found));
  assert_ptr_equal(found, first);
  assert_int_equal(compiled, 0);
}

// ---- Waiting for another thread -----------------------------------------------------------------

typedef struct waiter_s {
  leat_thread_t thread;
  leat_status_t status;
} waiter_t;

static void wait_for_the_failing_one(void* data) {
  waiter_t* w = data;
  leat_signature_t* found;
  const leat_run_t run = run_of(&kFails);
  w->status = leat_signature_cache_make(&cache, &run, leat_clock_deadline_after_ms(20000),
                                        compile_at_once, NULL, &found);
}

// Starts a thread that wants the same signature, and fails when that one waits.
static leat_status_t fail_with_a_waiter(void* data, const leat_run_t* run, leat_signature_t* s) {
  waiter_t* w = data;
  LEAT_EXPECT_OK(leat_thread_start("waiter", wait_for_the_failing_one, w, &w->thread));
  int64_t end_ns = leat_clock_now_ns() + INT64_C(20000000000);
  for (int waiters = 0; !waiters;) {
    leat_mutex_lock(&cache.mutex);
    waiters = s->waiters;
    leat_mutex_unlock(&cache.mutex);
    assert_true(leat_clock_now_ns() < end_ns);
  }
  return leat_make_status(LEAT_DATA_LOSS, "this signature fails");
}

// Who waits for a compilation hears at once that it has failed, and why; the next one compiles
// anew.
static void waiters_hear_of_a_failure(void** state) {
  waiter_t waiter = {0};
  leat_signature_t* found;
  const leat_run_t run = run_of(&kFails);
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS,
                   leat_signature_cache_make(&cache, &run, LEAT_DEADLINE_NEVER,
                                             fail_with_a_waiter, &waiter, &found));
  int64_t failed_ns = leat_clock_now_ns();
  leat_thread_join(waiter.thread);
  // It was woken, and did not sleep until its own deadline.
  assert_true(leat_clock_now_ns() - failed_ns < INT64_C(10000000000));
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, waiter.status);
  assert_int_equal(cache.count, 0);
  int compiled = 0;
  LEAT_EXPECT_OK(leat_signature_cache_make(&cache, &run, LEAT_DEADLINE_NEVER, compile_at_once,
                                           &compiled, &found));
  assert_int_equal(compiled, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(a_signature_is_found_after_one_before_it_failed),
      TEST(waiters_hear_of_a_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
