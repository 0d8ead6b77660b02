// The convolution plans that one kernel keeps. A plan is made for one shape, and making it takes up
// to a millisecond, so plans are kept in a list, the one used last first. All plans of a cache are
// for the one direction of their kernel, so the direction is not part of the key.
//
// An entry counts its users. Steps run at once, so the plan of one step may be pushed to the end of
// the list by others while the step still runs it: only entries without users are evicted. The lock
// is held for list operations and never while a plan is made or runs, a filter is packed or memory
// is freed. Two steps that miss the same shape at once both make a plan; the list then has two
// equal entries, which does no harm.
//
// An entry may also hold the filter, so that the filter is packed into the layout of oneDNN once
// and not in each run, which costs a fifth of a step of ResNet-50 with one image:
//
//   variable ──▶ buffer ◀── entry ──▶ packed copy ◀── runs under way
//
// To hold is to keep a reference to the filter's buffer. A buffer with a second reference is never
// written: whoever updates a variable writes to a copy then (kernel/cell.c). So while the entry
// holds a buffer, a run that brings the same buffer brings the same numbers. An equal address means
// nothing before that, because a variable of which nobody else holds the value is updated in place.
// Buffers that are written in spite of references (leat_buffer_is_stable) are never held.
//
// Holding costs a training step the copy of a filter for which it could have updated the old one in
// place. Therefore an entry waits until the same buffer came in |patience| runs in a row, and if
// the filter that it then holds is soon replaced, it waits for twice as many the next time: after a
// thousand training steps it has held the filter eight times.
//
// Whether the filter is packed by each run or once, the plan is the same, and so are the bits of
// the result. (With a plan of its own for a held filter oneDNN could take Winograd's algorithm for
// more shapes, but the numbers of a step would then depend on how often it ran before.)
//
// Only float has plans. Double and int32 are rare, and go the portable way without any state.
#include <string.h>

#include "base/checked.h"
#include "ops/nn/conv2d_cpu.h"

#define MOST_PLANS 16
// A packed filter is as large as the filter, so that only the entries used last hold theirs.
#define MOST_HELD 4
#define FIRST_PATIENCE 2
#define MOST_PATIENCE 4096
// A filter that served so many runs, packed, was worth holding, although it was replaced in the
// end.
#define WORTHY_RUNS 16

// The filter of an entry. |buffer| and |data| are where it lies. While it is held, |packed| is set,
// and both buffers are retained; otherwise |buffer| is only compared with that of the next run.
typedef struct filter_s {
  leat_buffer_t* buffer;
  const void* data;
  leat_buffer_t* packed;
  uint32_t runs;      // in a row with this filter; since it is held, where it is
  uint32_t patience;  // the runs in a row that it takes to hold a filter
  bool is_packing;    // a run is packing it, in order to hold it
} filter_t;

typedef struct leat_convolution_entry_s {
  struct leat_convolution_entry_s* next;
  int users;
  int flags, width;
  leat_convolution_shape_t shape;
  leat_convolution_plan_t* plan;
  filter_t filter;
} entry_t;

// What one run has of the cache.
typedef struct use_s {
  entry_t* entry;
  leat_buffer_t* packed;  // the run's own reference; NULL: the plan packs the filter or needs not
  bool packs;             // the run packs the filter for the entry to hold
} use_t;

// References that are dropped after the lock is released, since the last one frees memory.
typedef struct dropped_s {
  leat_buffer_t* buffers[4];
  int count;
} dropped_t;

static void end_dropped(dropped_t* dropped) {
  while (dropped->count > 0) leat_buffer_release(dropped->buffers[--dropped->count]);
}

// ---- Filters ------------------------------------------------------------------------------------

// Ends the holding of a filter, if it is held.
static void let_go(filter_t* filter, dropped_t* dropped) {
  if (filter->packed) {
    LEAT_DCHECK(dropped->count + 2 <= (int)LEAT_ARRAY_SIZE(dropped->buffers));
    dropped->buffers[dropped->count++] = filter->packed;
    dropped->buffers[dropped->count++] = filter->buffer;
  }
  filter->packed = filter->buffer = NULL;
  filter->data = NULL;
  filter->runs = 0;
}

// Takes note of the filter |given| of a run that begins, and decides how the run comes by its
// packed form. The caller holds the lock.
static void meet_filter(entry_t* entry, const leat_tensor_t* given, use_t* use,
                        dropped_t* dropped) {
  filter_t* filter = &entry->filter;
  if (!given || leat_convolution_plan_packed_bytes(entry->plan) == 0) return;
  const bool can_hold = given->buffer && leat_buffer_is_stable(given->buffer);
  if (!can_hold || given->buffer != filter->buffer || given->data != filter->data) {
    if (filter->packed) {
      filter->patience = filter->runs >= WORTHY_RUNS
                             ? FIRST_PATIENCE
                             : LEAT_MIN(2 * filter->patience, MOST_PATIENCE);
    }
    let_go(filter, dropped);
    filter->buffer = can_hold ? given->buffer : NULL;
    filter->data = can_hold ? given->data : NULL;
  }
  if (!can_hold) return;
  if (filter->runs < UINT32_MAX) ++filter->runs;
  if (filter->packed) {
    use->packed = filter->packed;
    leat_buffer_retain(use->packed);
  } else if (filter->runs > filter->patience && !filter->is_packing) {
    use->packs = filter->is_packing = true;
  }
}

// Lets go of the filters that the entries unused for longest hold, if too many do. The caller holds
// the lock and has added one at most.
static void limit_held(leat_convolution_cache_t* cache, dropped_t* dropped) {
  int held = 0;
  for (entry_t* entry = cache->first; entry; entry = entry->next) {
    if (entry->filter.packed && ++held > MOST_HELD) let_go(&entry->filter, dropped);
  }
}

// Packs the filter of the run |use|, which is |given| as a tensor and |plain| as floats, and makes
// the entry hold it. Where there is no memory for that, the run packs the filter as it would
// without the cache.
//
// The run's input keeps a reference to the filter, so nobody writes it between its packing and the
// moment when the entry's own reference is there.
static void pack_filter(leat_convolution_cache_t* cache, use_t* use, const leat_tensor_t* given,
                        const float* plain, void* workspace) {
  const leat_convolution_plan_t* plan = use->entry->plan;
  filter_t* filter = &use->entry->filter;
  leat_buffer_t* packed = NULL;
  leat_status_t status = leat_buffer_allocate(
      leat_buffer_source_host(), leat_convolution_plan_packed_bytes(plan), &packed);
  if (!status) status = leat_convolution_plan_pack(plan, plain, workspace, packed->data);
  if (status) {
    leat_status_free(status);
    leat_buffer_release(packed);
    return;
  }
  use->packed = packed;
  dropped_t dropped = {.count = 0};
  leat_spinlock_lock(&cache->lock);
  // Another run may have brought another filter meanwhile.
  if (filter->buffer == given->buffer && filter->data == given->data) {
    LEAT_DCHECK(!filter->packed && leat_buffer_is_stable(given->buffer));
    leat_buffer_retain(given->buffer);
    leat_buffer_retain(packed);
    filter->packed = packed;
    filter->runs = 1;
    limit_held(cache, &dropped);
  }
  leat_spinlock_unlock(&cache->lock);
  end_dropped(&dropped);
}

// ---- Plans --------------------------------------------------------------------------------------

static void free_entry(entry_t* entry) {
  if (!entry) return;
  dropped_t dropped = {.count = 0};
  let_go(&entry->filter, &dropped);
  end_dropped(&dropped);
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

int leat_convolution_cache_held(leat_convolution_cache_t* cache) {
  int held = 0;
  leat_spinlock_lock(&cache->lock);
  for (const entry_t* entry = cache->first; entry; entry = entry->next) {
    held += entry->filter.packed != NULL;
  }
  leat_spinlock_unlock(&cache->lock);
  return held;
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
  *entry = (entry_t){.users = 1,
                     .flags = flags,
                     .width = width,
                     .shape = *shape,
                     .filter = {.patience = FIRST_PATIENCE}};
  leat_status_t status = leat_convolution_plan_create(direction, shape, flags, width,
                                                      leat_allocator_system(), &entry->plan);
  if (status) {
    free_entry(entry);
    return status;
  }
  *out_entry = entry;
  return leat_ok_status();
}

// Begins a run for |shape| with the filter |filter|, or NULL: with an entry from the list or one
// made anew.
static leat_status_t begin_use(leat_convolution_cache_t* cache,
                               leat_convolution_direction_t direction,
                               const leat_convolution_shape_t* shape, int flags, int width,
                               const leat_tensor_t* filter, use_t* out_use) {
  *out_use = (use_t){0};
  dropped_t dropped = {.count = 0};
  leat_spinlock_lock(&cache->lock);
  out_use->entry = take(cache, shape, flags, width);
  if (out_use->entry) meet_filter(out_use->entry, filter, out_use, &dropped);
  leat_spinlock_unlock(&cache->lock);
  end_dropped(&dropped);
  if (out_use->entry) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(make(direction, shape, flags, width, &out_use->entry));
  leat_spinlock_lock(&cache->lock);
  out_use->entry->next = cache->first;
  cache->first = out_use->entry;
  ++cache->count;
  meet_filter(out_use->entry, filter, out_use, &dropped);
  entry_t* evicted = evict(cache);
  leat_spinlock_unlock(&cache->lock);
  LEAT_DCHECK(dropped.count == 0);
  free_entry(evicted);
  return leat_ok_status();
}

static void end_use(leat_convolution_cache_t* cache, const use_t* use) {
  leat_spinlock_lock(&cache->lock);
  if (use->packs) use->entry->filter.is_packing = false;
  --use->entry->users;
  leat_spinlock_unlock(&cache->lock);
  leat_buffer_release(use->packed);
}

static leat_status_t allocate_workspace(leat_kernel_context_t* c, size_t bytes,
                                        leat_tensor_t* out_tensor) {
  const leat_shape_t shape = leat_shape_vector((int64_t)(bytes ? bytes : 64));
  return leat_kernel_allocate_temporary(c, LEAT_DTYPE_UINT8, &shape, out_tensor);
}

// A plan of the pool's width; where the session asks for determinism, one whose bits do not depend
// on the number of threads.
static leat_status_t run_f32(leat_convolution_cache_t* cache, leat_kernel_context_t* c,
                             const leat_convolution_run_t* run) {
  const leat_row_step_t* step = run->step;
  leat_thread_pool_t* pool = c->services->pool;
  const int width = pool ? leat_thread_pool_size(pool) : 1;
  int flags = 0;
  if (c->services->deterministic) flags |= LEAT_CONVOLUTION_DETERMINISTIC;
  if (step && step->bias) flags |= LEAT_CONVOLUTION_BIAS;
  if (step && !step->only_bias) flags |= LEAT_CONVOLUTION_STEP;
  use_t use;
  LEAT_RETURN_IF_ERROR(
      begin_use(cache, run->direction, run->shape, flags, width, run->filter, &use));
  const leat_convolution_plan_t* plan = use.entry->plan;
  leat_tensor_t workspace;
  leat_status_t status =
      allocate_workspace(c, leat_convolution_plan_workspace_bytes(plan), &workspace);
  if (!status) {
    const float* plain = run->direction == LEAT_CONVOLUTION_FORWARD ? run->second : run->first;
    if (use.packs) pack_filter(cache, &use, run->filter, plain, workspace.data);
    status = leat_convolution_plan_run(plan, run->first, run->second,
                                       use.packed ? use.packed->data : NULL, step, run->result,
                                       workspace.data, pool);
    leat_tensor_release(&workspace);
  }
  end_use(cache, &use);
  return status;
}

leat_status_t leat_convolution_cache_run(leat_convolution_cache_t* cache, leat_kernel_context_t* c,
                                         const leat_convolution_run_t* run) {
  if (run->dtype == LEAT_DTYPE_FLOAT) return run_f32(cache, c, run);
  leat_thread_pool_t* pool = c->services->pool;
  const int width = pool ? leat_thread_pool_size(pool) : 1;
  const bool is_double = run->dtype == LEAT_DTYPE_DOUBLE;
  leat_tensor_t workspace;
  LEAT_RETURN_IF_ERROR(allocate_workspace(
      c,
      is_double ? leat_convolution_f64_workspace_bytes(run->direction, run->shape, width)
                : leat_convolution_i32_workspace_bytes(run->direction, run->shape, width),
      &workspace));
  if (is_double) {
    leat_convolution_f64(run->direction, run->shape, run->first, run->second, run->step,
                         run->result, workspace.data, pool);
  } else {
    leat_convolution_i32(run->direction, run->shape, run->first, run->second, run->step,
                         run->result, workspace.data, pool);
  }
  leat_tensor_release(&workspace);
  return leat_ok_status();
}
