// Conditions, notifications, spinlocks, reader lanes and reference counts. Time limits are compared
// with the clock; exclusion is tested by threads that count or compare under a lock, where a lost
// update or a torn pair would show. A notification is destroyed by its waiter at once, in many
// rounds with different delays, so that an opener which touches it too late is seen by valgrind or
// a sanitizer. Debug builds stop a thread that allocates or takes a mutex under a spinlock; that is
// tried in child processes, since it ends the process.
#include "base/sync.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/test.h"
#include "base/thread.h"

static void conditions_time_out(void** state) {
  leat_mutex_t mutex;
  leat_condition_t condition;
  leat_mutex_initialize(&mutex);
  leat_condition_initialize(&condition);
  leat_mutex_lock(&mutex);
  int64_t before = leat_clock_now_ns();
  bool in_time = true;
  while (in_time) in_time = leat_condition_wait_until(&condition, &mutex, before + 3000000);
  assert_true(leat_clock_now_ns() - before >= 3000000);
  assert_false(leat_condition_wait_until(&condition, &mutex, 1));
  leat_mutex_unlock(&mutex);
  leat_condition_deinitialize(&condition);
  leat_mutex_deinitialize(&mutex);
}

typedef struct opening_s {
  leat_notification_t* notification;
  int64_t delay_ns;
} opening_t;

static void open_later(void* data) {
  opening_t* opening = data;
  leat_clock_sleep_ns(opening->delay_ns);
  leat_notification_open(opening->notification);
}

// The waiter destroys it at once: under valgrind or a sanitizer an opener that comes late shows.
static void notification_may_be_destroyed_by_its_waiter(void** state) {
  static const int64_t delays_ns[] = {0, 1000, 20000, 60000, 100000, 1000000};
  for (int round = 0; round < 300; ++round) {
    leat_notification_t* notification = malloc(sizeof(*notification));
    leat_notification_initialize(notification);
    opening_t opening = {notification, delays_ns[round % 6]};
    leat_thread_t thread;
    LEAT_EXPECT_OK(leat_thread_start("opener", open_later, &opening, &thread));
    assert_true(leat_notification_wait(notification, LEAT_DEADLINE_NEVER));
    leat_notification_deinitialize(notification);
    free(notification);
    leat_thread_join(thread);
  }
}

static void notification_wait_times_out(void** state) {
  leat_notification_t notification;
  leat_notification_initialize(&notification);
  int64_t before = leat_clock_now_ns();
  assert_false(leat_notification_wait(&notification, before + 2000000));
  assert_true(leat_clock_now_ns() - before >= 2000000);
  assert_false(leat_notification_wait(&notification, 0));
  leat_notification_open(&notification);  // after somebody has parked
  leat_notification_open(&notification);
  assert_true(leat_notification_wait(&notification, 0));
  leat_notification_deinitialize(&notification);
}

typedef struct counting_s {
  leat_spinlock_t lock;
  leat_reference_count_t references;
  int64_t count;
  _Atomic int last_ones;
} counting_t;

static void count_under_lock(void* data) {
  counting_t* counting = data;
  for (int i = 0; i < 20000; ++i) {
    leat_spinlock_lock(&counting->lock);
    ++counting->count;
    leat_spinlock_unlock(&counting->lock);
  }
  if (leat_reference_count_release(&counting->references)) {
    atomic_fetch_add(&counting->last_ones, 1);
  }
}

static void locks_exclude_and_one_is_last(void** state) {
  enum { THREADS = 3 };
  counting_t counting = {0};
  atomic_init(&counting.references, 1);
  leat_thread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    leat_reference_count_retain(&counting.references);
    LEAT_EXPECT_OK(leat_thread_start("counter", count_under_lock, &counting, &threads[i]));
  }
  int mine = leat_reference_count_release(&counting.references);
  for (int i = 0; i < THREADS; ++i) leat_thread_join(threads[i]);
  assert_int_equal(counting.count, THREADS * 20000);
  assert_int_equal(counting.last_ones + mine, 1);
}

// What the lanes guard: two numbers that are equal whenever a reader looks.
typedef struct pair_s {
  leat_lanes_t lanes;
  leat_mutex_t writers;
  int64_t first, second;
  _Atomic int torn;
} pair_t;

static void read_and_write_pair(void* data) {
  pair_t* pair = data;
  for (int i = 0; i < 20000; ++i) {
    leat_spinlock_t* lane = leat_lanes_lock_one(&pair->lanes);
    if (pair->first != pair->second) ++pair->torn;
    leat_spinlock_unlock(lane);
    if (i % 64) continue;
    leat_mutex_lock(&pair->writers);
    leat_lanes_lock_all(&pair->lanes);
    ++pair->first;
    ++pair->second;
    leat_lanes_unlock_all(&pair->lanes);
    leat_mutex_unlock(&pair->writers);
  }
}

static void lanes_exclude_writers(void** state) {
  enum { THREADS = LEAT_READER_LANES + 2 };
  static pair_t pair;
  leat_thread_t threads[THREADS];
  leat_mutex_initialize(&pair.writers);
  for (int i = 0; i < THREADS; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("reader", read_and_write_pair, &pair, &threads[i]));
  }
  for (int i = 0; i < THREADS; ++i) leat_thread_join(threads[i]);
  leat_mutex_deinitialize(&pair.writers);
  assert_int_equal(pair.torn, 0);
  assert_int_equal(pair.first, THREADS * ((20000 + 63) / 64));
}

static void a_later_failure_is_dropped(void** state) {
  leat_spinlock_t lock = 0;
  leat_status_t status = leat_ok_status();
  leat_spinlock_join_status(&lock, &status, leat_ok_status());
  assert_null(status);
  leat_spinlock_join_status(&lock, &status, leat_make_status(LEAT_ABORTED, "first"));
  leat_spinlock_join_status(&lock, &status, leat_make_status(LEAT_INTERNAL, "second"));
  leat_spinlock_join_status(&lock, &status, leat_ok_status());
  LEAT_EXPECT_CODE(LEAT_ABORTED, status);
  assert_int_equal(lock, 0);
}

#if defined(LEAT_DEBUG)
// What a thread must not do while it holds a spinlock. |pointer| is an allocation.
static void lock_mutex(void* pointer) {
  leat_mutex_t mutex;
  leat_mutex_initialize(&mutex);
  leat_mutex_lock(&mutex);
}

static void allocate(void* pointer) {
  leat_status_free(leat_allocator_allocate(leat_allocator_system(), 8, &pointer));
}

static void allocate_uninitialized(void* pointer) {
  leat_status_free(
      leat_allocator_allocate_uninitialized(leat_allocator_system(), 16, 8, &pointer));
}

static void reallocate(void* pointer) {
  leat_status_free(leat_allocator_reallocate(leat_allocator_system(), 8, 16, &pointer));
}

static void free_it(void* pointer) { leat_allocator_free(leat_allocator_system(), pointer); }

// true when |fn| ends a child that calls it under a spinlock and, if |lanes|, one under all lanes.
static bool ends_process(void (*fn)(void*), bool holds, bool lanes) {
  static leat_lanes_t all;
  leat_spinlock_t lock = 0;
  void* pointer = NULL;
  LEAT_EXPECT_OK(leat_allocator_allocate(leat_allocator_system(), 8, &pointer));
  pid_t child = fork();
  if (child == 0) {
    signal(SIGTRAP, SIG_DFL);
    signal(SIGILL, SIG_DFL);
    if (lanes) leat_lanes_lock_all(&all);
    leat_spinlock_lock(&lock);
    if (!holds) leat_spinlock_unlock(&lock);
    if (!holds && lanes) leat_lanes_unlock_all(&all);
    fn(pointer);
    _exit(0);
  }
  int how = 0;
  waitpid(child, &how, 0);
  leat_allocator_free(leat_allocator_system(), pointer);
  return !WIFEXITED(how) || WEXITSTATUS(how) != 0;
}

static void debug_builds_refuse_long_work_under_a_spinlock(void** state) {
  void (*const fns[])(void*) = {lock_mutex, allocate, allocate_uninitialized, reallocate, free_it};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(fns); ++i) {
    for (int lanes = 0; lanes < 2; ++lanes) {
      assert_true(ends_process(fns[i], true, lanes));
      assert_false(ends_process(fns[i], false, lanes));
    }
  }
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conditions_time_out),
      cmocka_unit_test(notification_may_be_destroyed_by_its_waiter),
      cmocka_unit_test(notification_wait_times_out),
      cmocka_unit_test(locks_exclude_and_one_is_last),
      cmocka_unit_test(lanes_exclude_writers),
      cmocka_unit_test(a_later_failure_is_dropped),
#if defined(LEAT_DEBUG)
      cmocka_unit_test(debug_builds_refuse_long_work_under_a_spinlock),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
