// The cache of signatures: who compiles, who waits, and what is left of a failure. Compiling is a
// function of the test's own, which counts its calls and can be held at a gate; so one thread can
// be known to be compiling while others ask for the same signature or another one. No graph and no
// worker take part. Sessions use the cache in session_test.c.
#include "session/signature_cache.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/test.h"
#include "base/thread.h"

// A compiler that counts its calls and waits at a gate while it works.
typedef struct compiler_s {
  leat_notification_t begun, gate;
  _Atomic(int) calls;
  bool waits, fails;
} compiler_t;

static leat_status_t compile(void* data, const leat_run_t* run, leat_signature_t* signature) {
  compiler_t* compiler = data;
  atomic_fetch_add(&compiler->calls, 1);
  if (compiler->waits) {
    leat_notification_open(&compiler->begun);
    leat_notification_wait(&compiler->gate, LEAT_DEADLINE_NEVER);
  }
  return compiler->fails ? leat_make_status(LEAT_UNAVAILABLE, "nobody compiles") : NULL;
}

static void compiler_open(compiler_t* compiler, bool waits, bool fails) {
  *compiler = (compiler_t){.waits = waits, .fails = fails};
  leat_notification_initialize(&compiler->begun);
  leat_notification_initialize(&compiler->gate);
}

static void compiler_close(compiler_t* compiler) {
  leat_notification_deinitialize(&compiler->begun);
  leat_notification_deinitialize(&compiler->gate);
}

// A thread that asks for the signature of one target.
typedef struct request_s {
  leat_signature_cache_t* cache;
  compiler_t* compiler;
  int32_t target;
  int64_t deadline_ns;
  leat_signature_t* signature;
  leat_status_t status;
  leat_thread_t thread;
} request_t;

static void ask(void* data) {
  request_t* r = data;
  leat_run_t run = {.targets = &r->target, .target_count = 1};
  r->status = leat_signature_cache_make(r->cache, &run, r->deadline_ns, compile, r->compiler,
                                        &r->signature);
}

static request_t request_for(leat_signature_cache_t* cache, compiler_t* compiler,
                             int32_t target) {
  return (request_t){.cache = cache, .compiler = compiler, .target = target,
                     .deadline_ns = LEAT_DEADLINE_NEVER};
}

static void start(request_t* request) {
  LEAT_EXPECT_OK(leat_thread_start("ask", ask, request, &request->thread));
}

// Until |count| threads wait for a signature of |cache| that is being compiled.
static void await_waiters(leat_signature_cache_t* cache, int count) {
  for (int waiters = 0; waiters != count; leat_clock_sleep_ns(1000000)) {
    leat_mutex_lock(&cache->mutex);
    waiters = cache->items[0]->waiters;
    leat_mutex_unlock(&cache->mutex);
  }
}

static void each_is_compiled_once(void** state) {
  leat_signature_cache_t cache;
  compiler_t compiler;
  leat_signature_cache_initialize(leat_allocator_system(), &cache);
  compiler_open(&compiler, false, false);
  leat_signature_t* first = NULL;
  for (int round = 0; round < 3; ++round) {
    for (int32_t target = 0; target < 40; ++target) {
      leat_run_t run = {.targets = &target, .target_count = 1};
      request_t request = request_for(&cache, &compiler, target);
      ask(&request);
      LEAT_EXPECT_OK(request.status);
      assert_ptr_equal(leat_signature_cache_find(&cache, &run), request.signature);
      if (target == 0 && round == 0) first = request.signature;
      if (target == 0) assert_ptr_equal(request.signature, first);
    }
  }
  assert_int_equal(compiler.calls, 40);
  leat_signature_cache_deinitialize(&cache);
  compiler_close(&compiler);
}

// One thread compiles; a second one wants the same and waits; a third one is not held up.
static void others_go_on_meanwhile(void** state) {
  leat_signature_cache_t cache;
  compiler_t slow, quick;
  leat_signature_cache_initialize(leat_allocator_system(), &cache);
  compiler_open(&slow, true, false);
  compiler_open(&quick, false, false);
  request_t a = request_for(&cache, &slow, 1), b = request_for(&cache, &quick, 1),
            c = request_for(&cache, &quick, 2);
  start(&a);
  leat_notification_wait(&slow.begun, LEAT_DEADLINE_NEVER);
  start(&b);
  await_waiters(&cache, 1);
  ask(&c);
  LEAT_EXPECT_OK(c.status);
  request_t late = request_for(&cache, &quick, 1);
  late.deadline_ns = leat_clock_now_ns() + 1000000;
  ask(&late);
  LEAT_EXPECT_CODE(LEAT_DEADLINE_EXCEEDED, late.status);
  leat_notification_open(&slow.gate);
  leat_thread_join(a.thread);
  leat_thread_join(b.thread);
  LEAT_EXPECT_OK(a.status);
  LEAT_EXPECT_OK(b.status);
  assert_ptr_equal(a.signature, b.signature);
  assert_int_equal(slow.calls + quick.calls, 2);
  leat_signature_cache_deinitialize(&cache);
  compiler_close(&slow);
  compiler_close(&quick);
}

// Whoever waited gets the failure too, at once, and the next one compiles anew. Nothing is left
// behind.
static void failures_are_forgotten(void** state) {
  leat_signature_cache_t cache;
  compiler_t failing, working;
  leat_signature_cache_initialize(leat_allocator_system(), &cache);
  compiler_open(&failing, true, true);
  compiler_open(&working, false, false);
  request_t a = request_for(&cache, &failing, 1), b = request_for(&cache, &failing, 1),
            c = request_for(&cache, &working, 2), d = request_for(&cache, &working, 1);
  b.deadline_ns = leat_clock_deadline_after_ms(20000);
  start(&a);
  leat_notification_wait(&failing.begun, LEAT_DEADLINE_NEVER);
  start(&b);
  await_waiters(&cache, 1);
  ask(&c);  // behind the failing one in the table
  LEAT_EXPECT_OK(c.status);
  int64_t failed_ns = leat_clock_now_ns();
  leat_notification_open(&failing.gate);
  leat_thread_join(a.thread);
  leat_thread_join(b.thread);
  // The second thread was woken, and did not sleep until its own deadline.
  assert_true(leat_clock_now_ns() - failed_ns < INT64_C(10000000000));
  LEAT_EXPECT_CODE(LEAT_UNAVAILABLE, a.status);
  LEAT_EXPECT_CODE(LEAT_UNAVAILABLE, b.status);
  assert_int_equal(failing.calls, 1);
  assert_int_equal(cache.count, 1);
  request_t again = request_for(&cache, &working, 2);
  ask(&again);
  LEAT_EXPECT_OK(again.status);
  assert_ptr_equal(again.signature, c.signature);
  assert_int_equal(working.calls, 1);
  ask(&d);
  LEAT_EXPECT_OK(d.status);
  assert_int_equal(working.calls, 2);
  assert_int_equal(cache.count, 2);
  leat_signature_cache_deinitialize(&cache);
  compiler_close(&failing);
  compiler_close(&working);
}

// A compile function is called without a lock, so it may itself ask the cache for another
// signature, as another thread would do meanwhile: while this one is compiled and fails, target 2
// is entered behind it.
typedef struct nested_s {
  leat_signature_cache_t* cache;
  compiler_t* compiler;
  leat_signature_t* behind;
} nested_t;

static leat_status_t fail_behind_another(void* data, const leat_run_t* run, leat_signature_t* s) {
  nested_t* nested = data;
  request_t request = request_for(nested->cache, nested->compiler, 2);
  ask(&request);
  LEAT_EXPECT_OK(request.status);
  nested->behind = request.signature;
  return leat_make_status(LEAT_DATA_LOSS, "this signature fails");
}

// The signature behind one that fails takes its place in the table, and is still found there: its
// former place belongs to whatever comes next, and must not be looked at for it.
static void a_signature_is_found_after_one_before_it_failed(void** state) {
  leat_signature_cache_t cache;
  compiler_t failing, working;
  leat_signature_cache_initialize(leat_allocator_system(), &cache);
  compiler_open(&failing, false, true);
  compiler_open(&working, false, false);
  nested_t nested = {.cache = &cache, .compiler = &working};
  const int32_t fails = 1;
  leat_run_t run = {.targets = &fails, .target_count = 1};
  leat_signature_t* found;
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS,
                   leat_signature_cache_make(&cache, &run, LEAT_DEADLINE_NEVER,
                                             fail_behind_another, &nested, &found));
  assert_int_equal(cache.count, 1);
  // Another one takes the former place for a moment.
  request_t later = request_for(&cache, &failing, 3), good = request_for(&cache, &working, 2);
  ask(&later);
  LEAT_EXPECT_CODE(LEAT_UNAVAILABLE, later.status);
  uint64_t place;
  assert_true(leat_word_map_get(&cache.by_hash, nested.behind->hash, &place));
  assert_int_equal(place, 0);
  ask(&good);
  LEAT_EXPECT_OK(good.status);
  assert_ptr_equal(good.signature, nested.behind);
  assert_int_equal(working.calls, 1);
  leat_signature_cache_deinitialize(&cache);
  compiler_close(&failing);
  compiler_close(&working);
}

static void memory_may_end(void** state) {
  for (int64_t n = 1;; ++n) {
    leat_signature_cache_t cache;
    compiler_t compiler;
    leat_fault_t fault;
    compiler_open(&compiler, false, false);
    leat_signature_cache_initialize(leat_allocator_system(), &cache);
    request_t request = request_for(&cache, &compiler, 1);
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    ask(&request);
    bool met = leat_fault_remove(&fault);
    assert_int_equal(cache.count, !met);
    leat_signature_cache_deinitialize(&cache);
    compiler_close(&compiler);
    if (!met) {
      LEAT_EXPECT_OK(request.status);
      break;
    }
    LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, request.status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_is_compiled_once),
      cmocka_unit_test(others_go_on_meanwhile),
      cmocka_unit_test(failures_are_forgotten),
      cmocka_unit_test(a_signature_is_found_after_one_before_it_failed),
      cmocka_unit_test(memory_may_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
