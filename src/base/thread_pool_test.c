// The thread pool: every task runs once, every item of a loop is given to one thread, and nobody
// waits for ever. Tasks count, and loops mark each item, so that an item which is left out or done
// twice shows; the pool is tried with sizes from one to four, in loops within loops within tasks,
// with more loops at once than it has slots, and with its last reference held by a task. That loops
// are in fact divided is seen by the number of calls only. How fast they are is not tested here;
// data races are found by the build under TSan.
#include "base/thread_pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/sync.h"
#include "base/test.h"

static leat_thread_pool_t* make_pool(int size) {
  leat_thread_pool_t* pool = NULL;
  LEAT_EXPECT_OK(leat_thread_pool_create(size, leat_allocator_system(), &pool));
  return pool;
}

static void sizes_are_checked(void** state) {
  leat_thread_pool_t* pool = NULL;
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_thread_pool_create(-1, leat_allocator_system(), &pool));
  assert_null(pool);
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_thread_pool_create(1 << 20, leat_allocator_system(), &pool));
  pool = make_pool(0);
  assert_true(leat_thread_pool_size(pool) >= 1);
  leat_thread_pool_retain(pool);
  leat_thread_pool_release(pool);
  leat_thread_pool_release(pool);
  leat_thread_pool_release(NULL);
}

static void add_one(void* data) { atomic_fetch_add((_Atomic int*)data, 1); }

static void queued_tasks_run_before_the_pool_ends(void** state) {
  for (int size = 1; size <= 4; ++size) {
    _Atomic int count = 0;
    leat_thread_pool_t* pool = make_pool(size);
    for (int i = 0; i < 3000; ++i) leat_thread_pool_schedule(pool, add_one, &count);
    leat_thread_pool_release(pool);
    assert_int_equal(count, 3000);
  }
}

typedef struct gate_s {
  leat_notification_t entered, opened;
} gate_t;

static void pass_gate(void* data) {
  gate_t* gate = data;
  leat_notification_open(&gate->entered);
  leat_notification_wait(&gate->opened, LEAT_DEADLINE_NEVER);
}

typedef struct turn_s {
  int number;
  int* next;
} turn_t;

static void take_turn(void* data) {
  turn_t* turn = data;
  if (*turn->next == turn->number) ++*turn->next;
}

// The queue grows while its first task is not at its beginning, since one has been taken.
static void one_thread_takes_tasks_in_order_when_the_queue_has_grown(void** state) {
  enum { TASKS = 200 };
  turn_t turns[TASKS];
  int next = 0;
  gate_t gate;
  leat_thread_pool_t* pool = make_pool(1);
  leat_notification_initialize(&gate.entered);
  leat_notification_initialize(&gate.opened);
  leat_thread_pool_schedule(pool, pass_gate, &gate);
  assert_true(leat_notification_wait(&gate.entered, leat_clock_deadline_after_ms(60000)));
  for (int i = 0; i < TASKS; ++i) {
    turns[i] = (turn_t){i, &next};
    leat_thread_pool_schedule(pool, take_turn, &turns[i]);
  }
  leat_notification_open(&gate.opened);
  leat_thread_pool_release(pool);
  assert_int_equal(next, TASKS);
  leat_notification_deinitialize(&gate.entered);
  leat_notification_deinitialize(&gate.opened);
}

static void tasks_run_when_memory_is_gone(void** state) {
  for (int64_t n = 1;; ++n) {
    _Atomic int count = 0;
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_thread_pool_t* pool = NULL;
    leat_status_t status = leat_thread_pool_create(2, leat_allocator_system(), &pool);
    for (int i = 0; pool && i < 500; ++i) leat_thread_pool_schedule(pool, add_one, &count);
    assert_int_equal(!pool, status != NULL);
    leat_status_free(status);
    int expected = pool ? 500 : 0;
    leat_thread_pool_release(pool);
    assert_int_equal(count, expected);
    if (!leat_fault_remove(&fault)) break;
  }
}

typedef struct chain_s {
  leat_thread_pool_t* pool;
  _Atomic int left;
  leat_notification_t done;
} chain_t;

static void schedule_next(void* data) {
  chain_t* chain = data;
  if (atomic_fetch_sub(&chain->left, 1) == 1) {
    leat_notification_open(&chain->done);
  } else {
    leat_thread_pool_schedule(chain->pool, schedule_next, chain);
  }
}

static void tasks_may_schedule_tasks(void** state) {
  for (int size = 1; size <= 3; ++size) {
    chain_t chain = {.pool = make_pool(size)};
    atomic_init(&chain.left, 2000);
    leat_notification_initialize(&chain.done);
    leat_thread_pool_schedule(chain.pool, schedule_next, &chain);
    assert_true(leat_notification_wait(&chain.done, leat_clock_deadline_after_ms(60000)));
    leat_thread_pool_release(chain.pool);
    leat_notification_deinitialize(&chain.done);
  }
}

typedef struct last_s {
  leat_thread_pool_t* pool;
  leat_notification_t may_go;
  _Atomic int* after;
} last_t;

static void release_from_inside(void* data) {
  last_t* last = data;
  leat_notification_wait(&last->may_go, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&last->may_go);
  _Atomic int* after = last->after;
  leat_thread_pool_t* pool = last->pool;
  free(last);
  leat_thread_pool_schedule(pool, add_one, after);
  leat_thread_pool_release(pool);
}

static void a_task_may_hold_the_last_reference(void** state) {
  static _Atomic int after;  // the threads end on their own, perhaps after this test
  enum { ROUNDS = 50 };
  for (int i = 0; i < ROUNDS; ++i) {
    last_t* last = malloc(sizeof(*last));
    last->pool = make_pool(1 + i % 3);
    last->after = &after;
    leat_notification_initialize(&last->may_go);
    leat_thread_pool_t* pool = last->pool;
    leat_thread_pool_retain(pool);
    leat_thread_pool_schedule(pool, release_from_inside, last);
    leat_thread_pool_release(pool);
    leat_notification_open(&last->may_go);
  }
  int64_t deadline_ns = leat_clock_deadline_after_ms(60000);
  while (atomic_load(&after) < ROUNDS && leat_clock_now_ns() < deadline_ns) {
    leat_clock_sleep_ns(1000000);
  }
  assert_int_equal(atomic_load(&after), ROUNDS);
  leat_clock_sleep_ns(20000000);  // let the last thread free its pool, for the leak checkers
}

typedef struct cover_s {
  _Atomic uint8_t* marks;
  _Atomic int calls;
} cover_t;

static void mark_range(void* data, int64_t begin, int64_t end) {
  cover_t* cover = data;
  atomic_fetch_add(&cover->calls, 1);
  for (int64_t i = begin; i < end; ++i) atomic_fetch_add(&cover->marks[i], 1);
}

static int expect_covered(leat_thread_pool_t* pool, int width, int64_t total, double cost_ns) {
  cover_t cover = {.marks = calloc((size_t)total + 1, 1)};
  leat_thread_pool_parallel_for(pool, width, total, cost_ns, mark_range, &cover);
  for (int64_t i = 0; i < total; ++i) assert_int_equal(cover.marks[i], 1);
  assert_int_equal(cover.marks[total], 0);
  free((void*)cover.marks);
  return cover.calls;
}

static void loops_cover_each_item_once(void** state) {
  for (int size = 1; size <= 4; ++size) {
    leat_thread_pool_t* pool = make_pool(size);
    for (int64_t total = 0; total < 3000; total = total * 2 + 1) {
      expect_covered(pool, 0, total, 1000);
      expect_covered(pool, 0, total, 1e9);
      expect_covered(pool, 2, total, 30);
      expect_covered(pool, 100, total, 1e300);
    }
    leat_thread_pool_release(pool);
  }
}

static void small_or_odd_loops_run_on_the_caller(void** state) {
  leat_thread_pool_t* pool = make_pool(4);
  assert_int_equal(expect_covered(pool, 0, 100, 10), 1);
  assert_int_equal(expect_covered(pool, 1, 100, 1e9), 1);
  assert_int_equal(expect_covered(pool, 0, 100, 0), 1);
  assert_int_equal(expect_covered(pool, 0, 100, -5), 1);
  assert_int_equal(expect_covered(pool, 0, 100, 0.0 / (double)(pool == NULL)), 1);
  assert_int_equal(expect_covered(NULL, 0, 100, 1e9), 1);
  assert_int_equal(expect_covered(pool, 0, 0, 1e9), 0);
  assert_true(expect_covered(pool, 0, 100, 1e9) > 4);
  leat_thread_pool_release(pool);
}

static void check_huge_range(void* data, int64_t begin, int64_t end) {
  assert_true(begin >= 0 && begin < end);
  _Atomic int64_t* covered = data;
  atomic_fetch_add(covered, end - begin);
}

static void huge_totals_do_not_overflow(void** state) {
  leat_thread_pool_t* pool = make_pool(3);
  _Atomic int64_t covered = 0;
  leat_thread_pool_parallel_for(pool, 0, INT64_MAX, 1, check_huge_range, &covered);
  assert_true(covered == INT64_MAX);
  leat_thread_pool_release(pool);
}

typedef struct nest_s {
  leat_thread_pool_t* pool;
  _Atomic int64_t items;
} nest_t;

static void count_items(void* data, int64_t begin, int64_t end) {
  atomic_fetch_add(&((nest_t*)data)->items, end - begin);
}

static void loop_inside(void* data, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    leat_thread_pool_parallel_for(((nest_t*)data)->pool, 0, 50, 1e6, count_items, data);
  }
}

static void loop_in_task(void* data) {
  leat_thread_pool_parallel_for(((nest_t*)data)->pool, 0, 40, 1e6, loop_inside, data);
}

// More loops at once than there are slots, from tasks, the caller, and within one another.
static void loops_nest(void** state) {
  nest_t nest = {.pool = make_pool(4)};
  for (int i = 0; i < 50; ++i) leat_thread_pool_schedule(nest.pool, loop_in_task, &nest);
  loop_in_task(&nest);
  leat_thread_pool_release(nest.pool);
  assert_int_equal(nest.items, 51 * 40 * 50);
}

static void sleep_a_little(void* data, int64_t begin, int64_t end) {
  leat_clock_sleep_ns(1000000 * (end - begin));
}

// A helper that sleeps in its last chunk makes the caller park.
static void callers_wait_for_slow_helpers(void** state) {
  leat_thread_pool_t* pool = make_pool(2);
  for (int i = 0; i < 10; ++i) {
    leat_thread_pool_parallel_for(pool, 0, 3, 1e6, sleep_a_little, NULL);
    leat_clock_sleep_ns(i * 30000);
  }
  leat_thread_pool_release(pool);
}

static void keep_depth(void* data, const char* queue, int depth) {
  assert_string_equal(queue, "thread_pool");
  if (depth > *(int*)data) *(int*)data = depth;
}

static void observer_sees_the_queue(void** state) {
  int deepest = 0;
  _Atomic int count = 0;
  leat_observer_t observer = {.data = &deepest, .on_queue = keep_depth};
  leat_observer_install(&observer);
  leat_thread_pool_t* pool = make_pool(1);
  for (int i = 0; i < 10; ++i) leat_thread_pool_schedule(pool, add_one, &count);
  leat_observer_install(NULL);
  leat_thread_pool_release(pool);
  assert_true(deepest >= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_checked),
      cmocka_unit_test(queued_tasks_run_before_the_pool_ends),
      cmocka_unit_test(one_thread_takes_tasks_in_order_when_the_queue_has_grown),
      cmocka_unit_test(tasks_run_when_memory_is_gone),
      cmocka_unit_test(tasks_may_schedule_tasks),
      cmocka_unit_test(a_task_may_hold_the_last_reference),
      cmocka_unit_test(loops_cover_each_item_once),
      cmocka_unit_test(small_or_odd_loops_run_on_the_caller),
      cmocka_unit_test(huge_totals_do_not_overflow),
      cmocka_unit_test(loops_nest),
      cmocka_unit_test(callers_wait_for_slow_helpers),
      cmocka_unit_test(observer_sees_the_queue),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
