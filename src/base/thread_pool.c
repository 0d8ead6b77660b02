// Two sources of work: a queue of tasks (a ring under the mutex) and slots with parallel loops.
// A loop lives in a slot of the pool, not on the caller's stack, so that a worker can look at it
// without owning anything. The slot's |state| word is the whole protocol:
//
//     active | caller parked | limit of helpers | helpers inside
//
// A helper enters by raising |helpers inside| while |active|; it then takes chunks from the slot's
// counter until none is left. The caller takes chunks too, clears |active| when they are gone, and
// waits only for helpers that are inside, each of which is at its last chunk. A helper that never
// came is never waited for.
//
// Idle workers spin on |work| for a while, then park on the condition. A publisher makes the work
// visible before it looks for parked workers, a worker counts itself as parked before it looks for
// work: one of them sees the other (all sequentially consistent).
#include "base/thread_pool.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/float_mode.h"
#include "base/observer.h"
#include "base/span.h"
#include "base/sync.h"
#include "base/thread.h"

#define SPIN_NS 50000
#define SPIN_RELAXES_PER_LOOK 16
#define LOOP_SLOT_COUNT 32
#define THREAD_LIMIT 1024
#define SPLIT_MINIMUM_NS 20000.0  // a shorter loop runs on its caller alone
#define SHARE_MINIMUM_NS 10000.0  // the least work for which a spinning worker is called
#define WAKE_MINIMUM_NS 60000.0   // the least work for which a sleeping worker is woken
#define CHUNKS_PER_THREAD 4

#define STATE_ACTIVE (1ull << 63)
#define STATE_PARKED (1ull << 62)
#define STATE_LIMIT_SHIFT 16
#define STATE_COUNT_MASK 0xffffull

typedef struct task_s {
  leat_task_fn_t fn;
  void* data;
  int64_t queued;  // when, by leat_span_now; 0: nothing was recorded then
} task_t;

typedef struct loop_s {
  _Atomic uint64_t state;
  // Written by the caller before |state| becomes active.
  leat_shard_fn_t fn;
  void* data;
  int64_t total;
  int64_t chunk;
  int64_t chunk_count;
  leat_span_work_t work;  // what the caller's spans are part of
  leat_mutex_t mutex;  // for a caller that waits long
  leat_condition_t condition;
  LEAT_ALIGNED(LEAT_CACHE_LINE_BYTES) _Atomic int64_t next;  // first chunk not taken yet
} LEAT_ALIGNED(LEAT_CACHE_LINE_BYTES) loop_t;

struct leat_thread_pool_s {
  leat_reference_count_t references;
  int size;
  leat_allocator_t* allocator;
  // What idle workers look at.
  LEAT_ALIGNED(LEAT_CACHE_LINE_BYTES) _Atomic uint32_t open_loops;  // slots that want helpers
  _Atomic int queued;
  _Atomic int searching;
  _Atomic int parked;
  _Atomic int started;
  _Atomic bool stopping;
  LEAT_ALIGNED(LEAT_CACHE_LINE_BYTES) _Atomic uint32_t used_loops;  // slots taken by a caller
  leat_mutex_t mutex;
  leat_condition_t wake;
  // Under |mutex|.
  task_t* ring;
  size_t ring_capacity;  // 0 or a power of two
  size_t ring_head;
  int alive;      // threads that have not ended
  bool orphaned;  // nobody joins: the last thread frees the pool
  leat_thread_t threads[THREAD_LIMIT];
  loop_t loops[LOOP_SLOT_COUNT];
};

static _Thread_local leat_thread_pool_t* current_pool;

leat_status_t leat_thread_pool_create(int thread_count, leat_allocator_t* allocator,
                                      leat_thread_pool_t** out_pool) {
  *out_pool = NULL;
  if (thread_count < 0 || thread_count > THREAD_LIMIT) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Making a thread pool failed: thread count is %d, must be 0 to %d",
                            thread_count, THREAD_LIMIT);
  }
  if (thread_count == 0) thread_count = LEAT_MIN(leat_cpu_count(), THREAD_LIMIT);
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_aligned(allocator, LEAT_CACHE_LINE_BYTES,
                                                       sizeof(leat_thread_pool_t), &memory));
  leat_thread_pool_t* pool = memory;
  atomic_init(&pool->references, 1);
  pool->size = thread_count;
  pool->allocator = allocator;
  leat_mutex_initialize(&pool->mutex);
  leat_condition_initialize(&pool->wake);
  for (int i = 0; i < LOOP_SLOT_COUNT; ++i) {
    leat_mutex_initialize(&pool->loops[i].mutex);
    leat_condition_initialize(&pool->loops[i].condition);
  }
  *out_pool = pool;
  return leat_ok_status();
}

static void free_pool(leat_thread_pool_t* pool) {
  for (int i = 0; i < LOOP_SLOT_COUNT; ++i) {
    leat_condition_deinitialize(&pool->loops[i].condition);
    leat_mutex_deinitialize(&pool->loops[i].mutex);
  }
  leat_condition_deinitialize(&pool->wake);
  leat_mutex_deinitialize(&pool->mutex);
  leat_allocator_free(pool->allocator, pool->ring);
  leat_allocator_free(pool->allocator, pool);
}

void leat_thread_pool_retain(leat_thread_pool_t* pool) {
  leat_reference_count_retain(&pool->references);
}

void leat_thread_pool_release(leat_thread_pool_t* pool) {
  if (!pool || !leat_reference_count_release(&pool->references)) return;
  bool inside = current_pool == pool;
  leat_mutex_lock(&pool->mutex);
  atomic_store(&pool->stopping, true);
  pool->orphaned = inside;
  int started = atomic_load(&pool->started);
  for (int i = 0; inside && i < started; ++i) leat_thread_detach(pool->threads[i]);
  leat_condition_notify_all(&pool->wake);
  leat_mutex_unlock(&pool->mutex);
  if (inside) return;
  for (int i = 0; i < started; ++i) leat_thread_join(pool->threads[i]);
  free_pool(pool);
}

int leat_thread_pool_size(const leat_thread_pool_t* pool) { return pool->size; }

// ---- Tasks ----

static bool take_task(leat_thread_pool_t* pool, task_t* out_task) {
  if (atomic_load_explicit(&pool->queued, memory_order_relaxed) == 0) return false;
  leat_mutex_lock(&pool->mutex);
  int queued = atomic_load_explicit(&pool->queued, memory_order_relaxed);
  if (queued) {
    *out_task = pool->ring[pool->ring_head];
    pool->ring_head = (pool->ring_head + 1) & (pool->ring_capacity - 1);
    atomic_store(&pool->queued, queued - 1);
  }
  leat_mutex_unlock(&pool->mutex);
  return queued > 0;
}

// Appends a task to the ring; the caller holds the mutex.
static leat_status_t push_task(leat_thread_pool_t* pool, task_t task) {
  size_t queued = (size_t)atomic_load_explicit(&pool->queued, memory_order_relaxed);
  if (queued == pool->ring_capacity) {
    size_t capacity = queued ? 2 * queued : 64;
    void* memory = NULL;
    LEAT_RETURN_IF_ERROR(
        leat_allocator_allocate_array(pool->allocator, capacity, sizeof(task_t), &memory));
    task_t* ring = memory;
    for (size_t i = 0; i < queued; ++i) {
      ring[i] = pool->ring[(pool->ring_head + i) & (queued - 1)];
    }
    leat_allocator_free(pool->allocator, pool->ring);
    pool->ring = ring;
    pool->ring_capacity = capacity;
    pool->ring_head = 0;
  }
  pool->ring[(pool->ring_head + queued) & (pool->ring_capacity - 1)] = task;
  atomic_store(&pool->queued, (int)queued + 1);
  return leat_ok_status();
}

// ---- Loops ----

// Takes chunks of the loop and runs them until none is left.
static void run_chunks(loop_t* loop) {
  for (;;) {
    int64_t index = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed);
    if (index >= loop->chunk_count) return;
    const int64_t begin = index * loop->chunk;
    const int64_t count = LEAT_MIN(loop->chunk, loop->total - begin);
    const int64_t span = leat_span_begin();
    loop->fn(loop->data, begin, begin + count);
    if (LEAT_LIKELY(!span)) continue;
    leat_span_end_in_step(span, LEAT_SPAN_SHARD, loop->work.name, count, loop->work.step);
  }
}

// Leaves a loop that this thread had entered, and wakes the caller if it sleeps and this was the
// last helper inside.
static void leave_loop(loop_t* loop) {
  uint64_t before = atomic_fetch_sub(&loop->state, 1);
  if (!(before & STATE_PARKED) || (before & STATE_COUNT_MASK) != 1) return;
  leat_mutex_lock(&loop->mutex);
  leat_condition_notify_all(&loop->condition);
  leat_mutex_unlock(&loop->mutex);
}

// Enters the loop in |slot| as a helper; false when the loop is over or has as many helpers as it
// wants.
static bool enter_loop(leat_thread_pool_t* pool, int slot) {
  loop_t* loop = &pool->loops[slot];
  uint64_t state = atomic_load(&loop->state);
  uint64_t limit, count;
  do {
    limit = state >> STATE_LIMIT_SHIFT & STATE_COUNT_MASK;
    count = state & STATE_COUNT_MASK;
    if (!(state & STATE_ACTIVE) || count >= limit) return false;
  } while (!atomic_compare_exchange_weak(&loop->state, &state, state + 1));
  // The slot cannot change hands while this thread is inside, so the bit cleared is this loop's.
  if (count + 1 == limit) atomic_fetch_and(&pool->open_loops, ~(1u << slot));
  return true;
}

// ---- Workers ----

typedef struct work_s {
  int slot;  // of a loop that this thread has entered, or -1
  task_t task;
} work_t;

// Takes work for this thread. Loops come before tasks, because the caller of a loop is waiting.
static bool take_work(leat_thread_pool_t* pool, work_t* out_work) {
  uint32_t open = atomic_load_explicit(&pool->open_loops, memory_order_acquire);
  for (; open; open &= open - 1) {
    out_work->slot = __builtin_ctz(open);
    if (enter_loop(pool, out_work->slot)) return true;
  }
  out_work->slot = -1;
  return take_task(pool, &out_work->task);
}

static void run_task(const task_t* task) {
  const int64_t span = leat_span_begin();
  if (LEAT_UNLIKELY(span)) leat_span_work_of_thread = (leat_span_work_t){0};
  task->fn(task->data);
  if (LEAT_LIKELY(!span)) return;
  leat_span_end_in_step(span, LEAT_SPAN_TASK, 0, task->queued ? span - task->queued : 0,
                        leat_span_work_of_thread.step);
}

static void do_work(leat_thread_pool_t* pool, const work_t* work) {
  if (work->slot < 0) {
    run_task(&work->task);
    return;
  }
  loop_t* loop = &pool->loops[work->slot];
  run_chunks(loop);
  atomic_fetch_and(&pool->open_loops, ~(1u << work->slot));
  leave_loop(loop);
}

static bool has_work(leat_thread_pool_t* pool) {
  return atomic_load(&pool->open_loops) || atomic_load(&pool->queued);
}

// Looks for work and spins for a while when there is none. A thread that looks is counted in
// |searching| from the moment it has nothing to do, so that publishers do not wake another one for
// the work that this one is about to find.
static bool search_work(leat_thread_pool_t* pool, work_t* out_work) {
  // The caller of a loop computes too, so one CPU is left to it.
  bool may_spin = atomic_fetch_add(&pool->searching, 1) < pool->size - 1;
  bool found = take_work(pool, out_work);
  if (!found && may_spin) {
    int64_t end_ns = leat_clock_now_ns() + SPIN_NS;
    do {
      for (int i = 0; i < SPIN_RELAXES_PER_LOOK && !has_work(pool); ++i) leat_cpu_relax();
      found = take_work(pool, out_work);
    } while (!found && !atomic_load_explicit(&pool->stopping, memory_order_relaxed) &&
             leat_clock_now_ns() < end_ns);
  }
  atomic_fetch_sub(&pool->searching, 1);
  return found;
}

// Sleeps until there is work; false when the pool stops and no work is left.
static bool park_for_work(leat_thread_pool_t* pool) {
  leat_mutex_lock(&pool->mutex);
  atomic_fetch_add(&pool->parked, 1);
  const int64_t span = leat_span_begin();
  while (!has_work(pool) && !atomic_load(&pool->stopping)) {
    leat_condition_wait(&pool->wake, &pool->mutex);
  }
  atomic_fetch_sub(&pool->parked, 1);
  bool go_on = has_work(pool);
  leat_mutex_unlock(&pool->mutex);
  if (LEAT_UNLIKELY(span)) leat_span_end(span, LEAT_SPAN_PARK, 0, 0);
  return go_on;
}

static void end_thread(leat_thread_pool_t* pool) {
  leat_mutex_lock(&pool->mutex);
  bool last = --pool->alive == 0 && pool->orphaned;
  leat_mutex_unlock(&pool->mutex);
  if (last) free_pool(pool);
}

static void run_worker(void* data) {
  leat_thread_pool_t* pool = data;
  current_pool = pool;
  work_t work;
  leat_float_mode_enter();  // for as long as the thread lives
  do {
    while (search_work(pool, &work)) do_work(pool, &work);
  } while (park_for_work(pool));
  end_thread(pool);
}

// Starts one more worker, unless there are enough; the caller holds the mutex.
static bool start_thread(leat_thread_pool_t* pool) {
  int started = atomic_load(&pool->started);
  if (started >= pool->size || atomic_load(&pool->stopping)) return false;
  leat_status_t status =
      leat_thread_start("leat_pool", run_worker, pool, &pool->threads[started]);
  if (status) {
    leat_status_free(status);  // the threads that run already do the work
    return false;
  }
  ++pool->alive;
  atomic_store(&pool->started, started + 1);
  return true;
}

// Brings |wanted| workers to work that is already visible to them: those that search come by
// themselves, and beyond them sleeping workers are woken and new ones started.
static void call_workers(leat_thread_pool_t* pool, int wanted, bool may_wake) {
  int missing = wanted - atomic_load(&pool->searching);
  if (missing <= 0 || !may_wake) return;
  int parked = atomic_load(&pool->parked);
  bool may_start = atomic_load(&pool->started) < pool->size;
  if (parked == 0 && !may_start) return;
  leat_mutex_lock(&pool->mutex);
  parked = atomic_load(&pool->parked);
  for (int i = 0; i < LEAT_MIN(parked, missing); ++i) leat_condition_notify_one(&pool->wake);
  for (missing -= parked; missing > 0 && start_thread(pool); --missing) {
  }
  leat_mutex_unlock(&pool->mutex);
}

static void observe_queue(int depth) {
  const leat_observer_t* observer = leat_observer_get();
  if (LEAT_LIKELY(!observer) || !observer->on_queue) return;
  observer->on_queue(observer->data, "thread_pool", depth);
}

void leat_thread_pool_schedule(leat_thread_pool_t* pool, leat_task_fn_t fn, void* data) {
  leat_mutex_lock(&pool->mutex);
  bool just_started = atomic_load(&pool->started) == 0 && start_thread(pool);
  bool has_thread = just_started || atomic_load(&pool->started) > 0;
  const task_t task = {fn, data, leat_span_begin()};
  leat_status_t status = has_thread ? push_task(pool, task) : leat_ok_status();
  int depth = atomic_load(&pool->queued);
  leat_mutex_unlock(&pool->mutex);
  if (!has_thread || status) {
    leat_status_free(status);
    fn(data);
    return;
  }
  observe_queue(depth);
  // Open loops are added, because a searching worker may be about to enter one of them and would
  // then not come for the task.
  int open = __builtin_popcount(atomic_load(&pool->open_loops));
  call_workers(pool, depth + open - just_started, true);
}

// ---- parallel_for ----

// A free slot's index, or -1.
static int take_slot(leat_thread_pool_t* pool) {
  uint32_t used = atomic_load_explicit(&pool->used_loops, memory_order_relaxed);
  int slot;
  do {
    if (!~used) return -1;
    slot = __builtin_ctz(~used);
  } while (!atomic_compare_exchange_weak_explicit(&pool->used_loops, &used, used | 1u << slot,
                                                  memory_order_acquire, memory_order_relaxed));
  return slot;
}

static bool has_no_helper(loop_t* loop) { return !(atomic_load(&loop->state) & STATE_COUNT_MASK); }

// Waits until no helper is inside the loop: spins first, since each helper is at its last chunk,
// and then sleeps.
static void wait_for_helpers(loop_t* loop) {
  if (has_no_helper(loop)) return;
  int64_t end_ns = leat_clock_now_ns() + SPIN_NS;
  do {
    for (int i = 0; i < SPIN_RELAXES_PER_LOOK; ++i) {
      if (has_no_helper(loop)) return;
      leat_cpu_relax();
    }
  } while (leat_clock_now_ns() < end_ns);
  const int64_t span = leat_span_begin();
  leat_mutex_lock(&loop->mutex);
  atomic_fetch_or(&loop->state, STATE_PARKED);
  while (!has_no_helper(loop)) leat_condition_wait(&loop->condition, &loop->mutex);
  leat_mutex_unlock(&loop->mutex);
  if (LEAT_UNLIKELY(span)) leat_span_end(span, LEAT_SPAN_WAIT, 0, 0);
}

static void run_loop(leat_thread_pool_t* pool, int slot, int helpers, bool may_wake) {
  loop_t* loop = &pool->loops[slot];
  atomic_store(&loop->state, STATE_ACTIVE | (uint64_t)helpers << STATE_LIMIT_SHIFT);
  atomic_fetch_or(&pool->open_loops, 1u << slot);
  call_workers(pool, helpers + atomic_load(&pool->queued), may_wake);
  run_chunks(loop);
  atomic_fetch_and(&pool->open_loops, ~(1u << slot));
  atomic_fetch_and(&loop->state, ~STATE_ACTIVE);
  wait_for_helpers(loop);
  atomic_fetch_and_explicit(&pool->used_loops, ~(1u << slot), memory_order_release);
}

// How many threads the loop is worth, including the caller.
static int useful_width(const leat_thread_pool_t* pool, int width_limit, int64_t total,
                        double cost_ns) {
  if (!pool || !(cost_ns >= SPLIT_MINIMUM_NS)) return 1;
  int64_t width = pool->size;
  if (width_limit > 0) width = LEAT_MIN(width, width_limit);
  double shares = cost_ns / SHARE_MINIMUM_NS;
  if (shares < (double)width) width = (int64_t)shares;
  return (int)LEAT_MIN(width, total);
}

void leat_thread_pool_parallel_for(leat_thread_pool_t* pool, int width_limit, int64_t total,
                                   double cost_per_item_ns, leat_shard_fn_t fn, void* data) {
  if (total <= 0) return;
  double cost_ns = (double)total * cost_per_item_ns;
  int width = useful_width(pool, width_limit, total, cost_ns);
  int slot = width > 1 ? take_slot(pool) : -1;
  if (slot < 0) {
    fn(data, 0, total);
    return;
  }
  // Several chunks for each thread let a fast thread take more of them. They are not made so small
  // that taking a chunk costs a notable part of running it.
  double chunks = LEAT_MIN((double)width * CHUNKS_PER_THREAD, 2 * cost_ns / SHARE_MINIMUM_NS);
  int64_t chunk_count = LEAT_MIN((int64_t)chunks, total);
  loop_t* loop = &pool->loops[slot];
  loop->fn = fn;
  loop->data = data;
  loop->total = total;
  loop->chunk = (total - 1) / chunk_count + 1;
  loop->chunk_count = (total - 1) / loop->chunk + 1;
  loop->work = leat_spans_are_recorded() ? leat_span_work_of_thread : (leat_span_work_t){0};
  atomic_store_explicit(&loop->next, 0, memory_order_relaxed);
  run_loop(pool, slot, width - 1, cost_ns >= WAKE_MINIMUM_NS);
}
