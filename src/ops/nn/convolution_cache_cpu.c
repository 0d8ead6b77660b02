// The convolution plans that one kernel keeps. A plan is made for one shape, and making it takes up
// to a millisecond, so plans are kept in a list, the one used last first. All plans of a cache are
// for the one direction of their kernel, so the direction is not part of the key.
//
// An entry counts its users. Steps run at once, so the plan of one step may be pushed to the end of
// the list by others while the step still runs it: only entries without users are evicted. The lock
// is held for list operations and never while a plan is made or runs. Two steps that miss the same
// shape at once both make a plan; the list then has two equal entries, which does no harm.
//
// Only float has plans. Double and int32 are rare, and go the portable way without any state.
#include <string.h>

#include "ops/nn/conv2d_cpu.h"

#define MOST_PLANS 16

typedef struct leat_convolution_entry_s {
  struct leat_convolution_entry_s* next;
  int users;
  int flags, width;
  leat_convolution_shape_t shape;
  leat_convolution_plan_t* plan;
} entry_t;

static void free_entry(entry_t* entry) {
  if (!entry) return;
  leat_convolution_plan_destroy(entry->plan);
  leat_allocator_free(leat_allocator_system(), entry);
}

void leat_convolution_cache_clear(leat_convolution_cache_t* cache) {
  while (cache->first) {
    entry_t* entry = cache->first;
    cache->first = entry->next;
    free_entry(entry);
  }
  cache->count = 0;
}

// Finds the entry of |shape|, moves it to the front and counts the caller as a user. NULL when
// there is none. The caller holds the lock.
static entry_t* take(leat_convolution_cache_t* cache, const leat_convolution_shape_t* shape,
                     int flags, int width) {
  for (entry_t** link = &cache->first; *link; link = &(*link)->next) {
    entry_t* entry = *link;
    if (entry->flags != flags || entry->width != width) continue;
    if (memcmp(&entry->shape, shape, sizeof *shape) != 0) continue;
    *link = entry->next;
    entry->next = cache->first;
    cache->first = entry;
    ++entry->users;
    return entry;
  }
  return NULL;
}

// Takes the entry that was unused longest out of a list that has become too long, for the caller to
// free. NULL when there is none. The caller holds the lock.
static entry_t* evict(leat_convolution_cache_t* cache) {
  if (cache->count <= MOST_PLANS) return NULL;
  entry_t** last = NULL;
  for (entry_t** link = &cache->first; *link; link = &(*link)->next) {
    if ((*link)->users == 0) last = link;
  }
  if (!last) return NULL;
  entry_t* entry = *last;
  *last = entry->next;
  --cache->count;
  return entry;
}

static leat_status_t make(leat_convolution_direction_t direction,
                          const leat_convolution_shape_t* shape, int flags, int width,
                          entry_t** out_entry) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(), sizeof(entry_t), &memory));
  entry_t* entry = memory;
  *entry = (entry_t){.users = 1, .flags = flags, .width = width, .shape = *shape};
  leat_status_t status = leat_convolution_plan_create(direction, shape, flags, width,
                                                      leat_allocator_system(), &entry->plan);
  if (status) {
    free_entry(entry);
    return status;
  }
  *out_entry = entry;
  return leat_ok_status();
}

// Gives an entry for |shape| that the caller releases after the run, from the list or made anew.
static leat_status_t acquire(leat_convolution_cache_t* cache,
                             leat_convolution_direction_t direction,
                             const leat_convolution_shape_t* shape, int flags, int width,
                             entry_t** out_entry) {
  leat_spinlock_lock(&cache->lock);
  *out_entry = take(cache, shape, flags, width);
  leat_spinlock_unlock(&cache->lock);
  if (*out_entry) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(make(direction, shape, flags, width, out_entry));
  leat_spinlock_lock(&cache->lock);
  (*out_entry)->next = cache->first;
  cache->first = *out_entry;
  ++cache->count;
  entry_t* evicted = evict(cache);
  leat_spinlock_unlock(&cache->lock);
  free_entry(evicted);
  return leat_ok_status();
}

static void release(leat_convolution_cache_t* cache, entry_t* entry) {
  leat_spinlock_lock(&cache->lock);
  --entry->users;
  leat_spinlock_unlock(&cache->lock);
}

static leat_status_t allocate_workspace(leat_kernel_context_t* c, size_t bytes,
                                        leat_tensor_t* out_tensor) {
  const leat_shape_t shape = leat_shape_vector((int64_t)(bytes ? bytes : 64));
  return leat_kernel_allocate_temporary(c, LEAT_DTYPE_UINT8, &shape, out_tensor);
}

// A plan of the pool's width; where the session asks for determinism, one whose bits do not depend
// on the number of threads.
static leat_status_t run_f32(leat_convolution_cache_t* cache, leat_kernel_context_t* c,
                             leat_convolution_direction_t direction,
                             const leat_convolution_shape_t* shape, const void* first,
                             const void* second, const leat_row_step_t* step, void* result) {
  leat_thread_pool_t* pool = c->services->pool;
  const int width = pool ? leat_thread_pool_size(pool) : 1;
  int flags = 0;
  if (c->services->deterministic) flags |= LEAT_CONVOLUTION_DETERMINISTIC;
  if (step && step->bias) flags |= LEAT_CONVOLUTION_BIAS;
  if (step && !step->only_bias) flags |= LEAT_CONVOLUTION_STEP;
  entry_t* entry;
  LEAT_RETURN_IF_ERROR(acquire(cache, direction, shape, flags, width, &entry));
  leat_tensor_t workspace;
  leat_status_t status =
      allocate_workspace(c, leat_convolution_plan_workspace_bytes(entry->plan), &workspace);
  if (!status) {
    status = leat_convolution_plan_run(entry->plan, first, second, step, result, workspace.data,
                                       pool);
    leat_tensor_release(&workspace);
  }
  release(cache, entry);
  return status;
}

leat_status_t leat_convolution_cache_run(leat_convolution_cache_t* cache, leat_kernel_context_t* c,
                                         leat_convolution_direction_t direction,
                                         const leat_convolution_shape_t* shape, int dtype,
                                         const void* first, const void* second,
                                         const leat_row_step_t* step, void* result) {
  if (dtype == LEAT_DTYPE_FLOAT) {
    return run_f32(cache, c, direction, shape, first, second, step, result);
  }
  leat_thread_pool_t* pool = c->services->pool;
  const int width = pool ? leat_thread_pool_size(pool) : 1;
  const bool is_double = dtype == LEAT_DTYPE_DOUBLE;
  leat_tensor_t workspace;
  LEAT_RETURN_IF_ERROR(allocate_workspace(
      c,
      is_double ? leat_convolution_f64_workspace_bytes(direction, shape, width)
                : leat_convolution_i32_workspace_bytes(direction, shape, width),
      &workspace));
  if (is_double) {
    leat_convolution_f64(direction, shape, first, second, step, result, workspace.data, pool);
  } else {
    leat_convolution_i32(direction, shape, first, second, step, result, workspace.data, pool);
  }
  leat_tensor_release(&workspace);
  return leat_ok_status();
}
