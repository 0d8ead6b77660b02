// Cancellation of a step: each registered callback is called once or was taken out in time, and
// never both. Callbacks count; some take out themselves or others, register, or drop the last
// reference while they are called. Threads register and deregister callbacks on memory that they
// free at once while another thread cancels, so that a callback which runs too late shows under
// ASan and TSan. Memory fails at each allocation.
#include "kernel/cancellation.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/test.h"
#include "base/thread.h"

static leat_cancellation_t* make(void) {
  leat_cancellation_t* cancellation = NULL;
  LEAT_EXPECT_OK(leat_cancellation_create(leat_allocator_system(), &cancellation));
  return cancellation;
}

static void count_up(void* data) { atomic_fetch_add((_Atomic int*)data, 1); }

static void cancel_calls_each_once(void** state) {
  leat_cancellation_t* cancellation = make();
  _Atomic int calls[100] = {0};
  uint64_t tokens[100], token = 0;
  for (int i = 0; i < 100; ++i) {
    assert_true(leat_cancellation_register(cancellation, count_up, &calls[i], &tokens[i]));
  }
  for (int i = 0; i < 100; i += 2) {
    assert_true(leat_cancellation_deregister(cancellation, tokens[i]));
    assert_false(leat_cancellation_deregister(cancellation, tokens[i]));
  }
  // Places are used again, tokens are not.
  _Atomic int late = 0;
  assert_true(leat_cancellation_register(cancellation, count_up, &late, &token));
  for (int i = 0; i < 100; i += 2) {
    assert_false(leat_cancellation_deregister(cancellation, tokens[i]));
  }
  assert_false(leat_cancellation_is_cancelled(cancellation));
  leat_cancellation_cancel(cancellation);
  leat_cancellation_cancel(cancellation);
  assert_true(leat_cancellation_is_cancelled(cancellation));
  for (int i = 0; i < 100; ++i) assert_int_equal(calls[i], i % 2);
  assert_int_equal(late, 1);
  assert_false(leat_cancellation_register(cancellation, count_up, &late, &token));
  assert_false(leat_cancellation_deregister(cancellation, token));
  assert_int_equal(late, 1);
  leat_cancellation_release(cancellation);
}

static void one_that_nobody_used_serves_again(void** state) {
  leat_cancellation_t* cancellation = make();
  int calls = 0;
  uint64_t token;
  assert_true(leat_cancellation_is_unused(cancellation));
  assert_true(leat_cancellation_register(cancellation, count_up, &calls, &token));
  assert_false(leat_cancellation_is_unused(cancellation));
  assert_true(leat_cancellation_deregister(cancellation, token));
  assert_true(leat_cancellation_is_unused(cancellation));
  leat_cancellation_retain(cancellation);
  assert_false(leat_cancellation_is_unused(cancellation));
  leat_cancellation_release(cancellation);
  leat_cancellation_cancel(cancellation);
  assert_false(leat_cancellation_is_unused(cancellation));
  leat_cancellation_release(cancellation);
}

typedef struct self_s {
  leat_cancellation_t* cancellation;
  uint64_t own, other;
  bool own_removed, other_removed;
} self_t;

// A callback may deregister itself and others, register, and drop the last reference.
static void deregister_inside(void* data) {
  self_t* self = data;
  uint64_t token;
  self->own_removed = leat_cancellation_deregister(self->cancellation, self->own);
  self->other_removed = leat_cancellation_deregister(self->cancellation, self->other);
  assert_false(leat_cancellation_register(self->cancellation, count_up, NULL, &token));
  leat_cancellation_release(self->cancellation);
}

static void a_callback_may_do_anything(void** state) {
  self_t self = {.cancellation = make()};
  _Atomic int calls = 0;
  assert_true(
      leat_cancellation_register(self.cancellation, deregister_inside, &self, &self.own));
  assert_true(leat_cancellation_register(self.cancellation, count_up, &calls, &self.other));
  leat_cancellation_cancel(self.cancellation);
  assert_false(self.own_removed);
  assert_true(self.other_removed);
  assert_int_equal(calls, 0);
}

// Threads register and deregister on heap data which they free at once, while one cancels: under
// ASan and TSan a callback that runs too late shows.
typedef struct racer_s {
  leat_cancellation_t* cancellation;
  _Atomic int* called;
  _Atomic int* removed;
  _Atomic int* entered;
} racer_t;

static void call_heap(void* data) { ++*(int*)data; }

static void race(void* data) {
  racer_t* racer = data;
  for (int i = 0; i < 2000; ++i) {
    int* heap = calloc(1, sizeof(int));
    uint64_t token;
    if (!leat_cancellation_register(racer->cancellation, call_heap, heap, &token)) {
      free(heap);
      break;
    }
    atomic_fetch_add(racer->entered, 1);
    bool removed = leat_cancellation_deregister(racer->cancellation, token);
    assert_int_equal(*heap, removed ? 0 : 1);
    atomic_fetch_add(removed ? racer->removed : racer->called, 1);
    free(heap);
  }
}

static void threads_race_with_cancel(void** state) {
  for (int round = 0; round < 20; ++round) {
    _Atomic int called = 0, removed = 0, entered = 0;
    racer_t racer = {make(), &called, &removed, &entered};
    leat_thread_t threads[4];
    for (int i = 0; i < 4; ++i) {
      LEAT_EXPECT_OK(leat_thread_start("racer", race, &racer, &threads[i]));
    }
    while (atomic_load(&entered) < 100 * round) leat_cpu_relax();
    leat_cancellation_cancel(racer.cancellation);
    for (int i = 0; i < 4; ++i) leat_thread_join(threads[i]);
    assert_int_equal(called + removed, entered);
    leat_cancellation_release(racer.cancellation);
  }
}

static void memory_may_fail(void** state) {
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_cancellation_t* cancellation = NULL;
    _Atomic int calls = 0;
    uint64_t token;
    int registered = 0;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = leat_cancellation_create(leat_allocator_system(), &cancellation);
    for (int i = 0; i < 40 && !status; ++i) {
      registered += leat_cancellation_register(cancellation, count_up, &calls, &token);
    }
    bool met = leat_fault_remove(&fault);
    if (cancellation) leat_cancellation_cancel(cancellation);
    assert_int_equal(calls, registered);
    leat_cancellation_release(cancellation);
    if (!met) {
      LEAT_EXPECT_OK(status);
      assert_int_equal(registered, 40);
      break;
    }
    leat_status_free(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cancel_calls_each_once),
      cmocka_unit_test(one_that_nobody_used_serves_again),
      cmocka_unit_test(a_callback_may_do_anything),
      cmocka_unit_test(threads_race_with_cancel),
      cmocka_unit_test(memory_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
