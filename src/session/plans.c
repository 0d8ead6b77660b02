// Plans are made by whichever thread first needs one, outside of the lock, and published by an
// atomic count or pointer after they are complete. Only one thread makes a plan of a signature at a
// time, so that the lists have one writer; a thread that finds another one at work waits until that
// is done and then looks again, since the plan may be the one that it needs.
//
// Each plan is compiled from a copy of the pruned graph, because compiling consumes its graph and
// because the client's graph may have changed since the signature was made. The copy is kept while
// more plans may follow.
#include "session/plans.h"

#include <string.h>

// ---- Shapes -------------------------------------------------------------------------------------

// Whether the open feeds have the shapes that |sizes| lists.
static bool have_sizes(const leat_plans_t* plans, const leat_tensor_t* feeds,
                       const int64_t* sizes) {
  for (int i = 0; i < plans->open_count; ++i) {
    const leat_shape_t* shape = &feeds[plans->open_feeds[i]].shape;
    if (*sizes++ != shape->rank) return false;
    const int64_t* dims = leat_shape_dims(shape);
    for (int d = 0; d < shape->rank; ++d) {
      if (*sizes++ != dims[d]) return false;
    }
  }
  return true;
}

static leat_status_t copy_sizes(const leat_plans_t* plans, const leat_tensor_t* feeds,
                                int64_t** out_sizes) {
  size_t count = 1;
  for (int i = 0; i < plans->open_count; ++i) {
    count += 1 + (size_t)feeds[plans->open_feeds[i]].shape.rank;
  }
  int64_t* sizes;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(plans->allocator, count, &sizes));
  *out_sizes = sizes;
  for (int i = 0; i < plans->open_count; ++i) {
    const leat_shape_t* shape = &feeds[plans->open_feeds[i]].shape;
    *sizes++ = shape->rank;
    if (shape->rank) memcpy(sizes, leat_shape_dims(shape), (size_t)shape->rank * sizeof *sizes);
    sizes += shape->rank;
  }
  return leat_ok_status();
}

// Lists the feeds whose shapes the graph does not know. In a graph without feeds there may be
// arguments that the client put there himself; with feeds, pruning refuses those.
static leat_status_t find_open_feeds(leat_plans_t* plans, const leat_graph_t* graph) {
  if (plans->feed_count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(plans->allocator, (size_t)plans->feed_count + 1, &plans->open_feeds));
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    if (!(node->op->flags & LEAT_OP_ARGUMENT) ||
        leat_partial_shape_is_full(node->output_shapes[0])) {
      continue;
    }
    const int64_t index = leat_node_attr_int(node, "index", 0);
    // The pruned graph has one argument for each feed.
    LEAT_DCHECK(index >= 0 && index < plans->feed_count && plans->open_count < plans->feed_count);
    plans->open_feeds[plans->open_count++] = (int)index;
  }
  return leat_ok_status();
}

// The place of the plan for these shapes; -1: there is none.
static int find_place(const leat_plans_t* plans, const leat_tensor_t* feeds) {
  const int count = atomic_load_explicit(&plans->count, memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (have_sizes(plans, feeds, plans->items[i].sizes)) return i;
  }
  return -1;
}

leat_compiled_t* leat_plans_find_open(const leat_plans_t* plans, const leat_tensor_t* feeds) {
  const int place = find_place(plans, feeds);
  if (place >= 0 && plans->items[place].compiled) return plans->items[place].compiled;
  const bool may_follow =
      place < 0 &&
      atomic_load_explicit(&plans->count, memory_order_acquire) < LEAT_SPECIALIZATIONS;
  return may_follow ? NULL : atomic_load_explicit(&plans->general, memory_order_acquire);
}

bool leat_plans_is_specialized(const leat_plans_t* plans, const leat_tensor_t* feeds) {
  const int place = find_place(plans, feeds);
  return place >= 0 && plans->items[place].compiled;
}

// ---- Making plans -------------------------------------------------------------------------------

static leat_status_t compile_copy(const leat_plans_t* plans, const leat_master_options_t* options,
                                  const leat_tensor_t* feeds, leat_compiled_t** out_compiled) {
  const leat_rewrite_t* source = &plans->source;
  leat_rewrite_t copy;
  LEAT_RETURN_IF_ERROR(leat_prune(source->graph, NULL, 0, source->fetches, source->fetch_count,
                                  source->targets, source->target_count, &copy));
  return leat_master_compile(options, &copy, plans->feed_count, feeds, out_compiled);
}

static leat_status_t make_general(leat_plans_t* plans, const leat_master_options_t* options) {
  leat_compiled_t* compiled;
  if (atomic_load_explicit(&plans->general, memory_order_relaxed)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(compile_copy(plans, options, NULL, &compiled));
  atomic_store_explicit(&plans->general, compiled, memory_order_release);
  return leat_ok_status();
}

// Makes a plan for the shapes of |feeds|. Where that fails, the general plan must do, and says what
// is wrong if that fails as well. Without memory the step fails instead, so that the next one with
// these shapes gets the plan that it would have got.
static leat_status_t make_specialized(leat_plans_t* plans, const leat_master_options_t* options,
                                      const leat_tensor_t* feeds) {
  const int count = atomic_load_explicit(&plans->count, memory_order_relaxed);
  leat_specialization_t item = {0};
  leat_status_t status = compile_copy(plans, options, feeds, &item.compiled);
  if (leat_status_code(status) == LEAT_RESOURCE_EXHAUSTED) return status;
  if (status) {
    leat_status_free(status);
    item.compiled = NULL;
    LEAT_RETURN_IF_ERROR(make_general(plans, options));
  }
  LEAT_DCHECK(count < LEAT_SPECIALIZATIONS);
  status = copy_sizes(plans, feeds, &item.sizes);
  if (status) {
    leat_compiled_free(item.compiled);
    return status;
  }
  plans->items[count] = item;
  atomic_store_explicit(&plans->count, count + 1, memory_order_release);
  return leat_ok_status();
}

static leat_status_t make_plan(leat_plans_t* plans, const leat_master_options_t* options,
                               const leat_tensor_t* feeds) {
  const bool has_room =
      atomic_load_explicit(&plans->count, memory_order_relaxed) < LEAT_SPECIALIZATIONS;
  return has_room ? make_specialized(plans, options, feeds) : make_general(plans, options);
}

// Called with the mutex held, which is let go meanwhile.
static leat_status_t wait_for_maker(leat_plans_t* plans, int64_t deadline_ns) {
  bool in_time = true;
  while (plans->is_compiling && in_time) {
    in_time = leat_condition_wait_until(&plans->changed, &plans->mutex, deadline_ns);
  }
  if (!plans->is_compiling) return leat_ok_status();
  return leat_make_status(LEAT_DEADLINE_EXCEEDED,
                          "Timed out waiting for notification: the step's timeout has passed while "
                          "another thread compiled its signature for other shapes");
}

leat_status_t leat_plans_make(leat_plans_t* plans, const leat_master_options_t* options,
                              const leat_tensor_t* feeds, int64_t deadline_ns,
                              leat_compiled_t** out_compiled) {
  leat_mutex_lock(&plans->mutex);
  leat_status_t status = wait_for_maker(plans, deadline_ns);
  *out_compiled = status ? NULL : leat_plans_find(plans, feeds);
  if (!status && !*out_compiled) {
    plans->is_compiling = true;
    leat_mutex_unlock(&plans->mutex);
    status = make_plan(plans, options, feeds);
    leat_mutex_lock(&plans->mutex);
    plans->is_compiling = false;
    leat_condition_notify_all(&plans->changed);
    if (!status) *out_compiled = leat_plans_find(plans, feeds);
  }
  leat_mutex_unlock(&plans->mutex);
  LEAT_DCHECK(status || *out_compiled);
  return status;
}

// ---- Life ---------------------------------------------------------------------------------------

leat_status_t leat_plans_initialize(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                                    int feed_count, const leat_tensor_t* feeds, bool specializes,
                                    leat_plans_t* out_plans) {
  leat_plans_t* plans = out_plans;
  plans->allocator = options->allocator;
  plans->feed_count = feed_count;
  leat_mutex_initialize(&plans->mutex);
  leat_condition_initialize(&plans->changed);
  leat_status_t status =
      specializes ? find_open_feeds(plans, rewrite->graph) : leat_ok_status();
  if (status) {
    leat_rewrite_deinitialize(rewrite);
    return status;
  }
  if (plans->open_count == 0) {
    leat_compiled_t* compiled;
    LEAT_RETURN_IF_ERROR(leat_master_compile(options, rewrite, feed_count, NULL, &compiled));
    atomic_store_explicit(&plans->general, compiled, memory_order_release);
    return leat_ok_status();
  }
  plans->source = *rewrite;
  return feeds ? make_specialized(plans, options, feeds) : make_general(plans, options);
}

void leat_plans_deinitialize(leat_plans_t* plans) {
  if (!plans->allocator) return;
  for (int i = 0; i < atomic_load(&plans->count); ++i) {
    leat_compiled_free(plans->items[i].compiled);
    leat_allocator_free(plans->allocator, plans->items[i].sizes);
  }
  leat_compiled_free(atomic_load(&plans->general));
  if (plans->source.graph) leat_rewrite_deinitialize(&plans->source);
  leat_allocator_free(plans->allocator, plans->open_feeds);
  leat_condition_deinitialize(&plans->changed);
  leat_mutex_deinitialize(&plans->mutex);
}
