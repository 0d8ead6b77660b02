// Compiles signatures and coordinates steps. Feeds and fetches of the whole are dealt out to the
// partitions by the index lists that the partitioner made; with one partition they are handed
// through as they are.
#include "master/master.h"

#include "base/clock.h"
#include "base/sync.h"
#include "function/inline.h"
#include "kernel/cancellation.h"
#include "master/answer.h"
#include "master/partitioner.h"

typedef struct compiled_partition_s {
  uint64_t handle;
  bool registered;
  int* feed_indices;  // NULL: all, in order
  int feed_count;
  int* fetch_indices;
  int fetch_count;
  leat_rewrite_t kept;  // a copy of its graph, or none
  leat_string_view_t device;
} compiled_partition_t;

struct leat_compiled_s {
  leat_allocator_t* allocator;
  leat_worker_t* worker;
  compiled_partition_t* partitions;
  int partition_count;
  int feed_count;
  int fetch_count;
  bool has_flow;       // control flow: values may be dead
  bool leaves_traces;  // in the step's container: every step is cleaned up after
};

// A thread takes several numbers at a time: concurrent steps share no counter.
#define IDS_OF_A_THREAD 256
static _Atomic(int64_t) next_free_id = 1;
static LEAT_THREAD_LOCAL int64_t next_id, ids_left;

int64_t leat_master_new_step(void) {
  if (ids_left == 0) {
    next_id = atomic_fetch_add_explicit(&next_free_id, IDS_OF_A_THREAD, memory_order_relaxed);
    ids_left = IDS_OF_A_THREAD;
  }
  --ids_left;
  return next_id++;
}

leat_status_t leat_master_prune(const leat_graph_t* graph, const leat_step_signature_t* signature,
                                leat_rewrite_t* out_rewrite) {
  return leat_prune(graph, signature->feeds, signature->feed_count, signature->fetches,
                    signature->fetch_count, signature->targets, signature->target_count,
                    out_rewrite);
}

// ---- Waiting ------------------------------------------------------------------------------------

// Counts down the partitions of a step; the first failure is kept. |state| lets the usual case, a
// step that ends before its call returns, go without any lock. A step of one partition may ask the
// waiting thread to go on with it.
typedef enum { WAIT_RUNNING, WAIT_PARKED, WAIT_ASKED, WAIT_DONE } wait_state_t;
typedef struct wait_s {
  leat_step_waiter_t waiter;
  void (*rest)(void* data);  // of the step, when asked
  void* rest_data;
  _Atomic(int) pending;
  _Atomic(int) state;
  leat_worker_t* worker;
  int64_t step_id;
  bool several;  // partitions: a failure must reach the others
  bool aborted;  // the worker remembers that
  bool leaves_traces;
  leat_spinlock_t lock;
  leat_status_t status;
  leat_notification_t* notification;
} wait_t;

// Keeps the first failure (|status|, taken); where the step has other partitions they hear of it.
static void note_failure(leat_worker_t* worker, int64_t step_id, bool several,
                         leat_spinlock_t* lock, leat_status_t* inout_status,
                         leat_status_t status) {
  leat_status_t cause = several ? leat_status_clone(status) : NULL;
  leat_spinlock_lock(lock);
  *inout_status = leat_status_join(*inout_status, status);
  leat_spinlock_unlock(lock);
  if (cause) worker->vtable->abort_step(worker, step_id, cause);
}

// The wait is the waiting thread's again at once, unless that one is parked.
static void wake(wait_t* wait, wait_state_t state) {
  int before = atomic_exchange_explicit(&wait->state, state, memory_order_acq_rel);
  if (before == WAIT_PARKED) leat_notification_open(wait->notification);
}

static void partition_done(void* data, leat_status_t status) {
  wait_t* wait = data;
  LEAT_DCHECK(atomic_load_explicit(&wait->pending, memory_order_relaxed) > 0);
  if (LEAT_UNLIKELY(status)) {
    note_failure(wait->worker, wait->step_id, wait->several, &wait->lock, &wait->status, status);
  }
  if (atomic_fetch_sub_explicit(&wait->pending, 1, memory_order_acq_rel) == 1) {
    wake(wait, WAIT_DONE);
  }
}

static void go_on(leat_step_waiter_t* self, void (*fn)(void* data), void* data) {
  wait_t* wait = (wait_t*)self;
  // Only a step of one partition may ask, so that one request is there at a time.
  LEAT_DCHECK(!wait->several);
  wait->rest = fn;
  wait->rest_data = data;
  wake(wait, WAIT_ASKED);
}

static void park(wait_t* wait, int64_t deadline_ns) {
  leat_notification_t notification;
  leat_notification_initialize(&notification);
  wait->notification = &notification;
  int running = WAIT_RUNNING;
  if (atomic_compare_exchange_strong(&wait->state, &running, WAIT_PARKED) &&
      !leat_notification_wait(&notification, deadline_ns)) {
    wait->aborted = true;
    wait->worker->vtable->abort_step(
        wait->worker, wait->step_id,
        leat_make_status(LEAT_DEADLINE_EXCEEDED, "Run failed: the step's timeout has passed"));
    leat_notification_wait(&notification, LEAT_DEADLINE_NEVER);
  }
  leat_notification_deinitialize(&notification);
}

static leat_status_t wait_for(wait_t* wait, int64_t deadline_ns) {
  int state;
  while (LEAT_UNLIKELY((state = atomic_load_explicit(&wait->state, memory_order_acquire)) !=
                       WAIT_DONE)) {
    if (state == WAIT_ASKED) {
      atomic_store_explicit(&wait->state, WAIT_RUNNING, memory_order_relaxed);
      wait->rest(wait->rest_data);
    } else {
      park(wait, wait->aborted ? LEAT_DEADLINE_NEVER : deadline_ns);
    }
  }
  if (LEAT_UNLIKELY(wait->status || wait->several || wait->aborted || wait->leaves_traces)) {
    wait->worker->vtable->cleanup_step(wait->worker, wait->step_id);
  }
  return wait->status;
}

// ---- Compiling ----------------------------------------------------------------------------------

// The worker takes the graph itself over.
static leat_status_t keep_copy(const leat_partition_t* partition, leat_rewrite_t* out_kept) {
  size_t count = partition->graph->node_count;
  int32_t* all;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(partition->graph->allocator, count + 1,
                                                     sizeof *all, (void**)&all));
  for (size_t i = 0; i < count; ++i) all[i] = (int32_t)i;
  leat_status_t status =
      leat_prune(partition->graph, NULL, 0, NULL, 0, all, (int)count, out_kept);
  leat_allocator_free(partition->graph->allocator, all);
  return status;
}

static leat_status_t register_partition(const leat_master_options_t* options,
                                        leat_partition_t* partition, int feed_count,
                                        bool has_flow, compiled_partition_t* out) {
  LEAT_DCHECK(partition->graph && !out->registered);
  leat_register_request_t request = {
      .graph = partition->graph,
      .device = options->placement.devices[partition->device].name,
      .feed_count = feed_count,
      .fetches = partition->fetches,
      .fetch_count = partition->fetch_count,
      .executor = options->executor,
      .inter_op_threads = options->inter_op_threads,
      .deterministic = options->deterministic,
      .functions = options->functions,
      .receives_dead = has_flow,
  };
  out->device = request.device;
  if (options->keeps_parts) {
    LEAT_RETURN_IF_ERROR(keep_copy(partition, &out->kept));
    leat_name_device(out->kept.graph, out->device);
  }
  partition->graph = NULL;  // taken over
  leat_answer_t answer;
  leat_answer_initialize(&answer);
  options->worker->vtable->register_graph(options->worker, &request, &out->handle,
                                          leat_answer_give, &answer);
  leat_status_t status = leat_answer_wait(&answer);
  out->registered = !status;
  return status;
}

static leat_status_t copy_indices(leat_allocator_t* allocator, const int* indices, int count,
                                  int** out_indices) {
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(allocator, (size_t)(count ? count : 1),
                                                     sizeof(int), (void**)out_indices));
  for (int i = 0; i < count; ++i) (*out_indices)[i] = indices[i];
  return leat_ok_status();
}

static leat_status_t register_partitions(const leat_master_options_t* options,
                                         leat_partitions_t* partitions, leat_compiled_t* compiled) {
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      options->allocator, (size_t)partitions->count, sizeof(compiled_partition_t),
      (void**)&compiled->partitions));
  compiled->partition_count = partitions->count;
  bool several = partitions->count > 1;
  for (int i = 0; i < partitions->count; ++i) {
    leat_partition_t* partition = &partitions->items[i];
    compiled_partition_t* out = &compiled->partitions[i];
    out->feed_count = several ? partition->feed_count : compiled->feed_count;
    out->fetch_count = partition->fetch_count;
    if (several) {
      LEAT_RETURN_IF_ERROR(copy_indices(options->allocator, partition->feed_indices,
                                        partition->feed_count, &out->feed_indices));
      LEAT_RETURN_IF_ERROR(copy_indices(options->allocator, partition->fetch_indices,
                                        partition->fetch_count, &out->fetch_indices));
    }
    LEAT_RETURN_IF_ERROR(register_partition(options, partition, out->feed_count,
                                            compiled->has_flow, out));
  }
  return leat_ok_status();
}

static bool is_on(const leat_master_options_t* options, const leat_pass_t* pass) {
  return options->optimize && (options->passes.passes & pass->bit);
}

static const leat_kernel_row_t* find_kernel(const void* data, const leat_op_t* op,
                                            const leat_attr_t* attrs, int attr_count,
                                            int32_t device) {
  const leat_placer_options_t* placement = data;
  const leat_kernel_row_t* row;
  leat_status_free(leat_kernel_registry_probe(placement->kernels, op, attrs, attr_count,
                                              placement->devices[device].type, &row));
  return row;  // NULL as well where memory is gone
}

leat_pass_options_t leat_master_pass_options(const leat_master_options_t* options) {
  leat_pass_options_t passes = options->passes;
  passes.find_kernel = find_kernel;
  passes.find_kernel_data = &options->placement;
  return passes;
}

static leat_status_t optimize(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                              bool placed) {
  const leat_pass_options_t passes = leat_master_pass_options(options);
  for (const leat_pass_t* const* pass = leat_passes; *pass; ++pass) {
    if (!is_on(options, *pass)) continue;
    LEAT_RETURN_IF_ERROR(leat_pass_run(*pass, rewrite, &passes, placed));
  }
  return leat_ok_status();
}

// Calls become the bodies of what they call; what these do besides is a target, as the call was
// part of the step.
static leat_status_t inline_calls(leat_rewrite_t* rewrite) {
  leat_inlined_t inlined;
  LEAT_RETURN_IF_ERROR(leat_function_inline(rewrite->graph, &inlined));
  if (!inlined.graph) return leat_ok_status();
  leat_allocator_t* allocator = leat_allocator_system();
  size_t count = (size_t)(rewrite->target_count + inlined.effect_count);
  int32_t* targets;
  leat_status_t status =
      leat_allocator_allocate_array(allocator, count + 1, sizeof *targets, (void**)&targets);
  int kept = 0;
  for (int i = 0; !status && i < rewrite->target_count; ++i) {
    int32_t target = inlined.map.nodes[rewrite->targets[i]];
    LEAT_DCHECK((size_t)target + 1 <= inlined.graph->node_count);
    if (target >= 0) targets[kept++] = target;
  }
  for (int i = 0; !status && i < inlined.effect_count; ++i) targets[kept++] = inlined.effects[i];
  for (int i = 0; !status && i < rewrite->fetch_count; ++i) {
    rewrite->fetches[i] = leat_node_map_output(&inlined.map, rewrite->fetches[i]);
    LEAT_DCHECK(leat_output_exists(rewrite->fetches[i]));
  }
  leat_rewrite_t pruned;
  if (!status) {
    status = leat_prune(inlined.graph, NULL, 0, rewrite->fetches, rewrite->fetch_count, targets,
                        kept, &pruned);
    leat_allocator_free(allocator, targets);
  }
  leat_graph_free(inlined.graph);
  if (status) return status;
  leat_rewrite_deinitialize(rewrite);
  *rewrite = pruned;
  return leat_ok_status();
}

static leat_status_t optimize_partitions(const leat_master_options_t* options,
                                         leat_partitions_t* partitions) {
  if (partitions->count < 2) return leat_ok_status();
  leat_graph_t** graphs;
  leat_status_t status = leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      options->allocator, (size_t)partitions->count, sizeof *graphs, (void**)&graphs));
  for (int i = 0; i < partitions->count; ++i) graphs[i] = partitions->items[i].graph;
  for (const leat_pass_t* const* pass = leat_passes; *pass && !status; ++pass) {
    if (!(*pass)->run_partitions || !is_on(options, *pass)) continue;
    status = leat_pass_run_partitions(*pass, graphs, partitions->count, &options->passes);
  }
  leat_allocator_free(options->allocator, graphs);
  return status;
}

// What |rewrite| becomes on its way to the devices. |compiled| hears what is in it; may be NULL.
static leat_status_t cut(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                         leat_compiled_t* compiled, leat_partitions_t* out_partitions) {
  const uint32_t traces = LEAT_OP_STEP_RESOURCE | LEAT_OP_CALLS;
  LEAT_RETURN_IF_ERROR(inline_calls(rewrite));
  LEAT_RETURN_IF_ERROR(optimize(options, rewrite, false));
  for (size_t i = 0; compiled && i < rewrite->graph->node_count; ++i) {
    uint32_t flags = rewrite->graph->nodes[i].op->flags;
    if (flags & traces) compiled->leaves_traces = true;
    if (flags & LEAT_OP_CONTROL_FLOW) compiled->has_flow = true;
  }
  LEAT_RETURN_IF_ERROR(leat_place(rewrite->graph, &options->placement));
  LEAT_RETURN_IF_ERROR(optimize(options, rewrite, true));
  LEAT_RETURN_IF_ERROR(leat_partition(&rewrite->graph, rewrite->fetches, rewrite->fetch_count,
                                      &options->placement, options->incarnations,
                                      out_partitions));
  leat_status_t status = optimize_partitions(options, out_partitions);
  if (status) leat_partitions_free(out_partitions);
  return status;
}

static leat_status_t compile(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                             leat_compiled_t* compiled) {
  leat_partitions_t partitions = {0};
  LEAT_RETURN_IF_ERROR(cut(options, rewrite, compiled, &partitions));
  leat_status_t status = register_partitions(options, &partitions, compiled);
  leat_partitions_free(&partitions);
  return status;
}

leat_status_t leat_master_show_partitions(const leat_master_options_t* options,
                                          leat_rewrite_t* rewrite, leat_graph_view_fn_t show,
                                          void* data) {
  leat_partitions_t partitions = {0};
  leat_status_t status = cut(options, rewrite, NULL, &partitions);
  leat_rewrite_deinitialize(rewrite);
  if (status) return status;
  status = leat_show_parts(options, &partitions, true, show, data);
  leat_partitions_free(&partitions);
  return status;
}

leat_status_t leat_master_compile(const leat_master_options_t* options, leat_rewrite_t* rewrite,
                                  int feed_count, leat_compiled_t** out_compiled) {
  leat_compiled_t* compiled;
  leat_status_t status =
      leat_allocator_allocate(options->allocator, sizeof *compiled, (void**)&compiled);
  if (!status) {
    compiled->allocator = options->allocator;
    compiled->worker = options->worker;
    compiled->feed_count = feed_count;
    compiled->fetch_count = rewrite->fetch_count;
    status = compile(options, rewrite, compiled);
    if (status) leat_compiled_free(compiled);
  }
  leat_rewrite_deinitialize(rewrite);
  if (!status) *out_compiled = compiled;
  return status;
}

void leat_compiled_free(leat_compiled_t* compiled) {
  if (!compiled) return;
  for (int i = 0; i < compiled->partition_count; ++i) {
    compiled_partition_t* partition = &compiled->partitions[i];
    if (partition->registered) {
      compiled->worker->vtable->deregister_graph(compiled->worker, partition->handle);
    }
    if (partition->kept.graph) leat_rewrite_deinitialize(&partition->kept);
    leat_allocator_free(compiled->allocator, partition->feed_indices);
    leat_allocator_free(compiled->allocator, partition->fetch_indices);
  }
  leat_allocator_free(compiled->allocator, compiled->partitions);
  leat_allocator_free(compiled->allocator, compiled);
}

int leat_compiled_part_count(const leat_compiled_t* compiled) {
  bool kept = compiled->partition_count > 0 && compiled->partitions[0].kept.graph;
  return kept ? compiled->partition_count : 0;
}

const leat_graph_t* leat_compiled_part(const leat_compiled_t* compiled, int index,
                                       leat_string_view_t* out_device) {
  *out_device = compiled->partitions[index].device;
  return compiled->partitions[index].kept.graph;
}

// ---- Running ------------------------------------------------------------------------------------

static leat_status_t run_one(leat_compiled_t* compiled, leat_run_request_t* request,
                             wait_t* wait) {
  LEAT_DCHECK(compiled->partition_count == 1 && compiled->partitions[0].registered);
  request->handle = compiled->partitions[0].handle;
  request->waiter = &wait->waiter;
  wait->pending = 1;
  compiled->worker->vtable->run_graph(compiled->worker, request, partition_done, wait);
  return wait_for(wait, request->deadline_ns);
}

// The requests of all partitions, and their tensors side by side: feeds copied in (borrowed),
// fetches copied out.
typedef struct deal_s {
  leat_run_request_t* requests;
  leat_tensor_t* tensors;
} deal_t;

static void free_deal(const leat_compiled_t* compiled, deal_t* deal) {
  leat_allocator_free(compiled->allocator, deal->requests);
  leat_allocator_free(compiled->allocator, deal->tensors);
}

static leat_status_t deal_out(const leat_compiled_t* compiled, const leat_run_request_t* whole,
                              deal_t* deal) {
  int count = compiled->partition_count;
  size_t tensors = 0;
  for (int i = 0; i < count; ++i) {
    tensors += (size_t)compiled->partitions[i].feed_count;
    tensors += (size_t)compiled->partitions[i].fetch_count;
  }
  *deal = (deal_t){0};
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      compiled->allocator, tensors + 1, sizeof(leat_tensor_t), (void**)&deal->tensors));
  leat_status_t status =
      leat_allocator_allocate_array(compiled->allocator, (size_t)count,
                                    sizeof(leat_run_request_t), (void**)&deal->requests);
  if (status) {
    free_deal(compiled, deal);
    return status;
  }
  leat_tensor_t* next = deal->tensors;
  for (int i = 0; i < count; ++i) {
    const compiled_partition_t* partition = &compiled->partitions[i];
    deal->requests[i] = *whole;
    deal->requests[i].handle = partition->handle;
    deal->requests[i].feeds = next;
    for (int k = 0; k < partition->feed_count; ++k) {
      LEAT_DCHECK(partition->feed_indices[k] >= 0 &&
                  partition->feed_indices[k] < compiled->feed_count);
      *next++ = whole->feeds[partition->feed_indices[k]];
    }
    deal->requests[i].fetches = next;
    next += partition->fetch_count;
    LEAT_DCHECK((size_t)(next - deal->tensors) <= tensors);
  }
  return leat_ok_status();
}

static void collect(const leat_compiled_t* compiled, const leat_run_request_t* whole,
                    leat_status_t status, deal_t* deal) {
  for (int i = 0; i < compiled->partition_count; ++i) {
    const compiled_partition_t* partition = &compiled->partitions[i];
    for (int k = 0; k < partition->fetch_count; ++k) {
      if (status) {
        leat_tensor_release(&deal->requests[i].fetches[k]);  // of a partition that had finished
      } else {
        LEAT_DCHECK(partition->fetch_indices[k] < compiled->fetch_count);
        whole->fetches[partition->fetch_indices[k]] = deal->requests[i].fetches[k];
      }
    }
  }
  free_deal(compiled, deal);
}

static leat_status_t run_several(leat_compiled_t* compiled, const leat_run_request_t* whole,
                                 wait_t* wait) {
  deal_t deal;
  LEAT_RETURN_IF_ERROR(deal_out(compiled, whole, &deal));
  wait->pending = compiled->partition_count;
  wait->several = true;
  for (int i = 0; i < compiled->partition_count; ++i) {
    compiled->worker->vtable->run_graph(compiled->worker, &deal.requests[i], partition_done, wait);
  }
  leat_status_t status = wait_for(wait, whole->deadline_ns);
  collect(compiled, whole, status, &deal);
  return status;
}

leat_status_t leat_compiled_run(leat_compiled_t* compiled, const leat_tensor_t* feeds,
                                leat_tensor_t* fetches, int64_t deadline_ns, void* collector) {
  leat_run_request_t request = {
      .step_id = leat_master_new_step(),
      .feeds = feeds,
      .fetches = fetches,
      .deadline_ns = deadline_ns,
      .collector = collector,
  };
  wait_t wait = {.waiter = {go_on},
                 .worker = compiled->worker,
                 .step_id = request.step_id,
                 .leaves_traces = compiled->leaves_traces};
  if (compiled->partition_count == 0) return leat_ok_status();  // nothing was asked for
  if (compiled->partition_count == 1) return run_one(compiled, &request, &wait);
  return run_several(compiled, &request, &wait);
}

// ---- Runs that nobody waits for -----------------------------------------------------------------

typedef struct started_s {
  leat_compiled_t* compiled;
  leat_run_request_t whole;
  deal_t deal;
  bool several;
  bool leaves_cleanup;
  _Atomic(int) pending;
  leat_spinlock_t lock;
  leat_status_t status;
  leat_cancellation_t* cancellation;
  uint64_t cancel_token;
  leat_worker_done_fn_t done;
  void* data;
} started_t;

static void cancel_started(void* data) {
  started_t* s = data;
  leat_worker_t* worker = s->compiled->worker;
  worker->vtable->abort_step(worker, s->whole.step_id,
                             leat_make_status(LEAT_CANCELLED, "Run failed: the caller was "
                                                              "cancelled"));
}

static void end_started(started_t* s) {
  LEAT_DCHECK(atomic_load_explicit(&s->pending, memory_order_relaxed) == 0);
  leat_worker_t* worker = s->compiled->worker;
  leat_worker_done_fn_t done = s->done;
  void* data = s->data;
  leat_status_t status = s->status;
  bool was_cancelled = false;
  if (s->cancellation) {
    was_cancelled = !leat_cancellation_deregister(s->cancellation, s->cancel_token);
  }
  if (!s->leaves_cleanup && (status || s->several || was_cancelled)) {
    worker->vtable->cleanup_step(worker, s->whole.step_id);
  }
  if (s->several) collect(s->compiled, &s->whole, status, &s->deal);
  leat_allocator_free(s->compiled->allocator, s);
  done(data, status);
}

static void started_partition_done(void* data, leat_status_t status) {
  started_t* s = data;
  if (LEAT_UNLIKELY(status)) {
    note_failure(s->compiled->worker, s->whole.step_id, s->several, &s->lock, &s->status, status);
  }
  LEAT_DCHECK(atomic_load_explicit(&s->pending, memory_order_relaxed) > 0);
  if (atomic_fetch_sub_explicit(&s->pending, 1, memory_order_acq_rel) == 1) end_started(s);
}

void leat_compiled_start(leat_compiled_t* compiled, const leat_compiled_call_t* call,
                         leat_worker_done_fn_t done, void* data) {
  started_t* s;
  leat_status_t status = leat_ok_status();
  if (compiled->partition_count) {
    status = leat_allocator_allocate(compiled->allocator, sizeof *s, (void**)&s);
  }
  if (status || compiled->partition_count == 0) {
    done(data, status);
    return;
  }
  int count = compiled->partition_count;
  *s = (started_t){
      .compiled = compiled,
      .whole = {.handle = compiled->partitions[0].handle,
                .step_id = call->step_id ? call->step_id : leat_master_new_step(),
                .container_step_id = call->container_step_id,
                .function_depth = call->function_depth,
                .calls = call->calls,
                .feeds = call->feeds,
                .fetches = call->fetches,
                .deadline_ns = call->deadline_ns,
                .collector = call->collector},
      .several = count > 1,
      .leaves_cleanup = call->leaves_cleanup,
      .pending = count,
      .done = done,
      .data = data};
  if (s->several) status = deal_out(compiled, &s->whole, &s->deal);
  if (!status && call->cancellation &&
      leat_cancellation_register(call->cancellation, cancel_started, s, &s->cancel_token)) {
    s->cancellation = call->cancellation;
  } else if (!status && call->cancellation) {
    status = leat_cancellation_is_cancelled(call->cancellation)
                 ? leat_make_status(LEAT_CANCELLED, "Run failed: the caller was cancelled")
                 : leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Run failed: memory ran out");
    if (s->several) free_deal(compiled, &s->deal);
  }
  if (status) {
    leat_allocator_free(compiled->allocator, s);
    done(data, status);
    return;
  }
  leat_worker_t* worker = compiled->worker;
  leat_run_request_t* requests = s->several ? s->deal.requests : &s->whole;
  for (int i = 0; i < count; ++i) {
    worker->vtable->run_graph(worker, &requests[i], started_partition_done, s);
  }
}
