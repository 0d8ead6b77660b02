// The thread pool, which runs nodes of graphs, shards of kernels and completions. It has as many
// threads as the process may use CPUs, by its affinity and the quota of its control group. A worker
// without work spins for about 50 us and then sleeps. Threads are started when they are first
// needed, so a process that runs on one CPU never starts one. Any thread may call these functions.
#ifndef LEAT_BASE_THREAD_POOL_H_
#define LEAT_BASE_THREAD_POOL_H_

#include <stdint.h>

#include "base/allocator.h"

typedef struct leat_thread_pool_s leat_thread_pool_t;

// |thread_count| 0 takes leat_cpu_count(); INVALID_ARGUMENT outside 0 to 1024. A pool of 1 runs
// shards on the caller; scheduled tasks still get a thread of their own. The caller owns one
// reference.
LEAT_MUST_USE leat_status_t leat_thread_pool_create(int thread_count, leat_allocator_t* allocator,
                                                    leat_thread_pool_t** out_pool);
void leat_thread_pool_retain(leat_thread_pool_t* pool);
// The last release waits for running tasks; queued ones are run first. NULL is allowed. May be
// called from a task of the pool itself: then the threads end on their own.
void leat_thread_pool_release(leat_thread_pool_t* pool);
// The number of threads it may have, at least 1; not how many have been started.
int leat_thread_pool_size(const leat_thread_pool_t* pool);

// A task. It may block, but a blocked thread is one that runs nothing else, so what waits for other
// tasks of the pool can wait for ever.
typedef void (*leat_task_fn_t)(void* data);
// Runs |fn|(|data|) soon, on a thread of the pool. When memory is gone it runs here, at once.
void leat_thread_pool_schedule(leat_thread_pool_t* pool, leat_task_fn_t fn, void* data);

// Works on the items [begin, end). It may run on several threads at once, for other ranges, and
// cannot fail: a shard that can puts its status where |data| says.
typedef void (*leat_shard_fn_t)(void* data, int64_t begin, int64_t end);
void leat_thread_pool_parallel_for(leat_thread_pool_t* pool, int width_limit, int64_t total,
                                   double cost_per_item_ns, leat_shard_fn_t fn, void* data);

#endif  // LEAT_BASE_THREAD_POOL_H_
