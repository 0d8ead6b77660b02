// The worker of this process: registers graphs, compiles them into plans and runs steps on them.
// The master calls it through its vtable (worker/worker.h), directly or from behind a transport.
//
//   register   graph ─▶ compiler ─▶ plan ─▶ entry of the table, named by a handle
//   run        handle ─▶ entry ─▶ run, with an instance of the plan ─▶ executor ─▶ done
//
// A registered graph has a lock of its own, which guards the list of its running steps, so that an
// abort reaches them. Steps of different graphs write to no common memory here. Runs and instances
// are kept with the graph, so that a step of a graph that has run usually takes no memory here.
//
// An abort and the beginning of a step may happen at the same time. The abort is first recorded and
// then passed to the running steps of the list; a step first enters the list and then looks for a
// recorded abort. Whatever the order, one of the two finds the other.
#include "worker/local_worker.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/cancellation.h"
#include "kernel/collective.h"
#include "kernel/resource.h"
#include "kernel/session_tensors.h"
#include "worker/compiler.h"
#include "worker/execution.h"
#include "worker/graph_table.h"
#include "worker/step_table.h"

typedef struct run_s run_t;

// A registered graph. Its plan is freed by whoever lets go last, the registration or a run; then
// the entry waits in the table for the next graph.
typedef struct registered_s {
  leat_graph_entry_t entry;
  int inter_op_threads;
  bool deterministic;
  bool ends_at_once;     // a run of it is over when leat_execution_start returns
  struct leat_function_runtime_s* functions;
  int device;
  leat_spinlock_t lock;  // what follows
  bool open;             // not deregistered
  uint32_t references;
  leat_plan_t* plan;
  leat_plan_instance_t* free_instances;
  run_t* runs;       // under way
  run_t* free_runs;  // by |next|
} registered_t;

typedef struct local_worker_s leat_local_worker_t;

struct run_s {
  leat_execution_t execution;
  leat_cancellation_t* cancellation;  // of a plan that waits: made with the run, kept over its uses
  run_t* next;
  run_t* previous;
  leat_local_worker_t* worker;
  registered_t* registered;
  int64_t step_id;
  leat_worker_done_fn_t done;
  void* done_data;
  bool on_stack;
};

struct local_worker_s {
  leat_worker_t base;
  leat_allocator_t* allocator;
  leat_device_t** devices;
  leat_resource_manager_t** resources;  // one a device
  bool owns_resources;
  leat_resource_manager_t* own;  // the session's; NULL where all resources are the worker's own
  leat_collectives_t* collectives;  // of its devices, where it owns the resources
  int device_count;
  leat_session_tensors_t* session_tensors;
  const leat_kernel_registry_t* kernels;
  leat_thread_pool_t* pool;
  leat_graph_table_t graphs;
  leat_step_table_t steps;
};

static void free_run(leat_local_worker_t* worker, run_t* run) {
  leat_cancellation_release(run->cancellation);
  leat_allocator_free(worker->allocator, run);
}

// Drops a reference under the graph's lock. Who gets true unlocks the graph, then empties it.
static bool was_last(registered_t* registered) {
  LEAT_DCHECK(leat_spinlock_is_held() && registered->references > 0);
  return --registered->references == 0;
}

static void empty_registered(leat_local_worker_t* worker, registered_t* registered) {
  LEAT_DCHECK(!registered->open && !registered->runs && registered->references == 0);
  for (run_t *run = registered->free_runs, *next; run; run = next) {
    next = run->next;
    free_run(worker, run);
  }
  for (leat_plan_instance_t* kept; (kept = leat_plan_take_instance(&registered->free_instances));) {
    leat_plan_free_instance(registered->plan, kept);
  }
  leat_plan_free(registered->plan);
  registered->plan = NULL;
  leat_graph_table_give_back(&worker->graphs, &registered->entry);
}

// Nothing happens when |registered| is no longer what |handle| names.
static void deregister(leat_local_worker_t* worker, registered_t* registered, uint64_t handle) {
  leat_spinlock_lock(&registered->lock);
  bool names_it = registered->open && registered->entry.handle == handle;
  bool unused = names_it && was_last(registered);
  if (names_it) registered->open = false;
  leat_spinlock_unlock(&registered->lock);
  if (unused) empty_registered(worker, registered);
}

static registered_t* graph_at(const leat_local_worker_t* worker, size_t index) {
  return (registered_t*)leat_graph_table_at(&worker->graphs, index);
}

static int find_device(const leat_local_worker_t* worker, leat_string_view_t name) {
  for (int i = 0; i < worker->device_count; ++i) {
    if (leat_string_view_equal(worker->devices[i]->name, name)) return i;
  }
  return -1;
}

static void open_graph(registered_t* registered, int device, const leat_register_request_t* request,
                       leat_plan_t* plan) {
  leat_spinlock_lock(&registered->lock);
  LEAT_DCHECK(!registered->open && !registered->plan && !registered->runs);
  leat_graph_entry_renew(&registered->entry);
  registered->device = device;
  registered->inter_op_threads = request->inter_op_threads;
  registered->deterministic = request->deterministic;
  registered->functions = request->functions;
  registered->ends_at_once = plan->ends_at_once;
  registered->plan = plan;
  registered->references = 1;
  registered->free_runs = NULL;
  registered->open = true;
  leat_spinlock_unlock(&registered->lock);
}

// The graph is taken over, even on failure.
static leat_status_t register_graph(leat_local_worker_t* worker,
                                    const leat_register_request_t* request, uint64_t* out_handle) {
  int device = find_device(worker, request->device);
  leat_plan_t* plan = NULL;
  leat_graph_entry_t* entry;
  leat_status_t status = leat_ok_status();
  if (device < 0) {
    status = leat_make_status(LEAT_NOT_FOUND,
                              "RegisterGraph failed: device is '%.*s', must be one of this "
                              "worker's",
                              LEAT_SV_ARG(request->device));
  }
  if (!status) {
    leat_plan_options_t options = {worker->kernels, worker->resources[device],
                                   worker->devices[device], worker->allocator,
                                   worker->own};
    status = leat_plan_compile(request, &options, &plan);
  }
  if (status) {
    leat_graph_free(request->graph);
    return status;
  }
  status = leat_graph_table_take(&worker->graphs, &entry);
  if (status) {
    leat_plan_free(plan);  // and the graph with it
    return status;
  }
  open_graph((registered_t*)entry, device, request, plan);
  *out_handle = entry->handle;
  return leat_ok_status();
}

static void worker_register_graph(leat_worker_t* self, const leat_register_request_t* request,
                                  uint64_t* out_handle, leat_worker_done_fn_t done, void* data) {
  done(data, register_graph((leat_local_worker_t*)self, request, out_handle));
}

static void worker_deregister_graph(leat_worker_t* self, uint64_t handle) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  leat_graph_entry_t* entry = leat_graph_table_find(&worker->graphs, handle);
  if (entry) deregister(worker, (registered_t*)entry, handle);
}

static void link_run(registered_t* registered, run_t* run) {
  LEAT_DCHECK(leat_spinlock_is_held());
  run->previous = NULL;
  run->next = registered->runs;
  if (run->next) run->next->previous = run;
  registered->runs = run;
}

static void unlink_run(registered_t* registered, run_t* run) {
  LEAT_DCHECK(run->previous ? run->previous->next == run : registered->runs == run);
  if (run->next) run->next->previous = run->previous;
  if (run->previous) {
    run->previous->next = run->next;
  } else {
    registered->runs = run->next;
  }
}

// Keeps the run for the graph's next step, unless somebody heard of its cancellation.
static bool keep_run(run_t* run) {
  if (run->on_stack) return true;
  if (run->cancellation && !leat_cancellation_is_unused(run->cancellation)) return false;
  run->next = run->registered->free_runs;
  run->registered->free_runs = run;
  return true;
}

// Takes the run, which is over or did not begin, out of its graph's list.
static void leave_run(run_t* run) {
  leat_local_worker_t* worker = run->worker;
  registered_t* registered = run->registered;
  leat_rendezvous_t* rendezvous = run->execution.services.rendezvous;
  leat_spinlock_lock(&registered->lock);
  unlink_run(registered, run);
  leat_status_t stop_status = run->execution.stop_status;  // nobody can stop it any more
  leat_plan_keep_instance(&registered->free_instances, run->execution.instance);
  bool kept = keep_run(run);
  bool unused = was_last(registered);
  leat_spinlock_unlock(&registered->lock);
  leat_status_free(stop_status);
  leat_rendezvous_release(rendezvous);
  if (!kept) free_run(worker, run);
  if (unused) empty_registered(worker, registered);
}

// |done| is called last, because the caller may free everything when it has heard of the end.
static void run_done(void* data, leat_status_t status) {
  const run_t* run = data;
  leat_worker_done_fn_t done = run->done;
  void* done_data = run->done_data;
  leave_run(data);
  done(done_data, status);
}

// Fills all of |run| but its instance. It needs no lock.
static void fill_run(leat_local_worker_t* worker, registered_t* registered,
                     const leat_run_request_t* request, run_t* run) {
  const leat_device_t* device = worker->devices[registered->device];
  run->worker = worker;
  run->registered = registered;
  run->step_id = request->step_id;
  leat_execution_t* execution = &run->execution;
  memset(execution, 0, offsetof(leat_execution_t, call));
  execution->plan = registered->plan;
  execution->feeds = request->feeds;
  execution->fetches = request->fetches;
  execution->deadline_ns = request->deadline_ns;
  execution->inter_op_threads =
      request->inter_op_threads ? request->inter_op_threads : registered->inter_op_threads;
  execution->waiter = request->waiter;
  leat_step_services_t* services = &execution->services;
  services->step_id = request->step_id;
  services->memory = device->memory;
  services->pool = device->pool;
  services->resources = worker->resources[registered->device];
  services->session_tensors = worker->session_tensors;
  services->collector = request->collector;
  services->deterministic = registered->deterministic;
  services->functions = registered->functions;
  services->cancellation = run->cancellation;
  services->deadline_ns = request->deadline_ns;
  services->function_depth = request->function_depth;
  services->calls = request->calls ? request->calls : &run->execution.calls;
  services->draw_counts = request->draw_counts;
  services->container_step_id =
      request->container_step_id ? request->container_step_id : request->step_id;
}

// Looks up what the run shares with others of its step.
static leat_status_t join_step(leat_local_worker_t* worker, run_t* run) {
  leat_step_services_t* services = &run->execution.services;
  const leat_plan_t* plan = run->registered->plan;
  services->transfer_count = plan->transfer_count;
  return leat_step_table_join(&worker->steps, run->step_id, services->container_step_id,
                              plan->transfer_count,
                              plan->uses_step_resources ? &services->step_resources : NULL,
                              plan->uses_rendezvous ? &services->rendezvous : NULL);
}

static leat_status_t make_run(leat_local_worker_t* worker, const leat_plan_t* plan,
                              run_t** out_run) {
  run_t* run;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(worker->allocator, 1, &run));
  leat_status_t status = leat_ok_status();
  if (plan->waits) status = leat_cancellation_create(worker->allocator, &run->cancellation);
  if (status) {
    leat_allocator_free(worker->allocator, run);
    return status;
  }
  *out_run = run;
  return leat_ok_status();
}

// Makes those of the two that are NULL. Called with the graph's lock held, which it lets go
// meanwhile.
static leat_status_t make_missing(leat_local_worker_t* worker, registered_t* registered,
                                  run_t** inout_run, leat_plan_instance_t** inout_instance) {
  leat_plan_t* plan = registered->plan;
  leat_status_t status = leat_ok_status();
  leat_spinlock_unlock(&registered->lock);
  if (!*inout_run) status = make_run(worker, plan, inout_run);
  if (!status && !*inout_instance) {
    status = leat_plan_make_instance(plan, inout_instance);
    if (status && !(*inout_run)->on_stack) free_run(worker, *inout_run);
  }
  leat_spinlock_lock(&registered->lock);
  leat_plan_instance_t* spare = status ? *inout_instance : NULL;
  if (spare) leat_plan_keep_instance(&registered->free_instances, spare);
  return status;
}

// The run of |registered| for |request|, known to aborts: |local|, which is filled, or else one of
// an earlier step or a new one. Called with the graph's lock held, which it lets go while it makes
// one.
static leat_status_t begin_run(leat_local_worker_t* worker, registered_t* registered,
                               const leat_run_request_t* request, run_t* local,
                               run_t** out_run) {
  LEAT_DCHECK(leat_spinlock_is_held() && registered->plan);
  leat_plan_instance_t* instance = leat_plan_take_instance(&registered->free_instances);
  run_t* run = local ? local : registered->free_runs;
  if (!local && run) registered->free_runs = run->next;
  if (LEAT_UNLIKELY(!run || !instance)) {
    LEAT_RETURN_IF_ERROR(make_missing(worker, registered, &run, &instance));
  }
  if (!local) fill_run(worker, registered, request, run);
  run->execution.instance = instance;
  link_run(registered, run);
  *out_run = run;
  return leat_ok_status();
}

static leat_status_t not_registered(uint64_t handle) {
  return leat_make_status(LEAT_ABORTED,
                          "RunGraph failed: graph handle %llu is not registered (any more)",
                          (unsigned long long)handle);
}

// Ends with |*out_run| under way, or with a failure and nothing to undo. It is |local|, which is on
// the stack, where it ends before leat_execution_start returns.
static leat_status_t enter_run(leat_local_worker_t* worker, const leat_run_request_t* request,
                               run_t* local, run_t** out_run) {
  registered_t* registered =
      (registered_t*)leat_graph_table_find(&worker->graphs, request->handle);
  if (!registered) return not_registered(request->handle);
  if (!registered->ends_at_once) local = NULL;
  if (local) fill_run(worker, registered, request, local);
  leat_spinlock_lock(&registered->lock);
  if (!registered->open || registered->entry.handle != request->handle) {
    leat_spinlock_unlock(&registered->lock);
    return not_registered(request->handle);
  }
  ++registered->references;
  leat_status_t status = begin_run(worker, registered, request, local, out_run);
  bool unused = status && was_last(registered);
  leat_spinlock_unlock(&registered->lock);
  if (unused) empty_registered(worker, registered);
  LEAT_RETURN_IF_ERROR(status);
  const leat_plan_t* plan = registered->plan;
  if (LEAT_UNLIKELY(leat_step_table_has_any(&worker->steps) || plan->uses_step_resources ||
                    plan->uses_rendezvous)) {
    status = join_step(worker, *out_run);
    if (status) leave_run(*out_run);
  }
  return status;
}

static void worker_run_graph(leat_worker_t* self, const leat_run_request_t* request,
                             leat_worker_done_fn_t done, void* data) {
  run_t local = {.on_stack = true};
  run_t* run = NULL;
  leat_status_t status = enter_run((leat_local_worker_t*)self, request, &local, &run);
  if (status) {
    done(data, status);
    return;
  }
  run->done = done;
  run->done_data = data;
  leat_execution_start(&run->execution, run_done, run);
}

// ---- Aborts -------------------------------------------------------------------------------------

typedef bool (*run_visit_fn_t)(void* data, run_t* run);

// Shows |visit| the runs under way, each under its graph's lock, until it answers true.
static void visit_runs(leat_local_worker_t* worker, run_visit_fn_t visit, void* data) {
  const size_t count = worker->graphs.count;
  bool found = false;
  for (size_t i = 0; i < count && !found; ++i) {
    registered_t* registered = graph_at(worker, i);
    leat_spinlock_lock(&registered->lock);
    for (run_t* run = registered->runs; run && !found; run = run->next) found = visit(data, run);
    leat_spinlock_unlock(&registered->lock);
  }
}

typedef struct stop_s {
  int64_t step_id;
  leat_status_t copy;  // of the status, for the next run that is stopped; NULL: it was taken
  leat_cancellation_t* waiting;
} stop_t;

// Stops the run if it is of the step and not stopped yet; the execution then owns the copy of the
// status.
static bool stop_run(void* data, run_t* run) {
  stop_t* stop = data;
  if (run->step_id != stop->step_id || !leat_execution_try_stop(&run->execution, stop->copy)) {
    return false;
  }
  stop->copy = NULL;
  return true;
}

// Stops one run a visit, because a copy of the status may not be made under a graph's lock.
static void stop_runs(leat_local_worker_t* worker, stop_t* stop, leat_status_t status) {
  do {
    stop->copy = leat_status_clone(status);
    visit_runs(worker, stop_run, stop);
  } while (!stop->copy);
  leat_status_free(stop->copy);
}

// Finds a run of the step whose kernels may wait and have not yet heard that the step is over.
static bool find_waiting(void* data, run_t* run) {
  stop_t* stop = data;
  leat_cancellation_t* candidate = run->execution.services.cancellation;
  if (run->step_id != stop->step_id || !candidate) return false;
  if (leat_cancellation_is_cancelled(candidate)) return false;
  leat_cancellation_retain(candidate);
  stop->waiting = candidate;
  return true;
}

// Cancels the kernels of a step that wait, without a lock: they may end the step.
static void cancel_waiting(leat_local_worker_t* worker, stop_t* stop) {
  for (;;) {
    stop->waiting = NULL;
    visit_runs(worker, find_waiting, stop);
    if (!stop->waiting) return;
    leat_cancellation_cancel(stop->waiting);
    leat_cancellation_release(stop->waiting);
  }
}

// Three kinds of waiting end one after the other: the executor looks at its status, Recvs wait in
// the rendezvous, and kernels wait for their cancellation.
static void worker_abort_step(leat_worker_t* self, int64_t step_id, leat_status_t status) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  stop_t stop = {.step_id = step_id};
  leat_rendezvous_t* rendezvous = leat_step_table_abort(&worker->steps, step_id, status);
  stop_runs(worker, &stop, status);
  if (rendezvous) rendezvous->vtable->abort(rendezvous, status);
  leat_rendezvous_release(rendezvous);
  cancel_waiting(worker, &stop);
  leat_status_free(status);
}

static bool find_running(void* data, run_t* run) {
  if (atomic_load(&run->execution.stopped)) return false;
  *(int64_t*)data = run->step_id;
  return true;
}

// Finds the step of a run under way that is not yet stopped; -1: there is none.
static int64_t next_running_step(leat_local_worker_t* worker) {
  int64_t step_id = -1;
  visit_runs(worker, find_running, &step_id);
  return step_id;
}

// Ends the steps to come first, so that no step can begin unseen while the running ones are ended.
static void worker_abort_all(leat_worker_t* self, leat_status_t status) {
  worker_abort_step(self, LEAT_EVERY_STEP, leat_status_clone(status));
  for (int64_t step; (step = next_running_step((leat_local_worker_t*)self)) >= 0;) {
    worker_abort_step(self, step, leat_status_clone(status));
  }
  leat_status_free(status);
}

static void worker_cleanup_step(leat_worker_t* self, int64_t step_id) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  leat_step_table_forget(&worker->steps, step_id);
  leat_collectives_t* collectives = leat_resource_manager_collectives(worker->resources[0]);
  if (collectives) leat_collectives_forget_step(collectives, step_id);
}

static void worker_receive_tensor(leat_worker_t* self, int64_t step_id, leat_string_view_t key,
                                  leat_slot_t* out_value, leat_worker_done_fn_t done, void* data) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  leat_step_table_receive(&worker->steps, step_id, key, out_value, done, data);
}

static void worker_send_tensor(leat_worker_t* self, int64_t step_id, leat_string_view_t key,
                               leat_slot_t value, leat_worker_done_fn_t done, void* data) {
  done(data, leat_step_table_send(&((leat_local_worker_t*)self)->steps, step_id, key, value));
}

static void worker_clear_container(leat_worker_t* self, leat_string_view_t container) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  for (int i = 0; i < worker->device_count; ++i) {
    leat_resource_manager_clear(worker->resources[i], container);
  }
}

static void worker_destroy(leat_worker_t* self) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  for (size_t i = 0; i < worker->graphs.count; ++i) {
    registered_t* registered = graph_at(worker, i);
    deregister(worker, registered, registered->entry.handle);
  }
  leat_graph_table_deinitialize(&worker->graphs);
  leat_step_table_deinitialize(&worker->steps);
  for (int i = 0; worker->resources && i < worker->device_count; ++i) {
    leat_resource_manager_end_session(worker->resources[i], worker->own);
    if (worker->owns_resources) leat_resource_manager_free(worker->resources[i]);
  }
  leat_resource_manager_free(worker->own);
  leat_collectives_release(worker->collectives);
  for (int i = 0; worker->devices && i < worker->device_count; ++i) {
    leat_device_release(worker->devices[i]);
  }
  leat_session_tensors_free(worker->session_tensors);
  leat_allocator_free(worker->allocator, worker->resources);
  leat_allocator_free(worker->allocator, worker->devices);
  if (worker->pool) leat_thread_pool_release(worker->pool);
  leat_allocator_free(worker->allocator, worker);
}

static const leat_worker_vtable_t kVtable = {
    worker_destroy,      worker_register_graph,  worker_deregister_graph,
    worker_run_graph,    worker_abort_step,      worker_abort_all,
    worker_cleanup_step, worker_receive_tensor,  worker_send_tensor,
    worker_clear_container,
};

// The containers of device |index|, which are this worker's own.
static leat_status_t make_resources(leat_local_worker_t* worker, int index,
                                    leat_string_view_t default_container) {
  LEAT_RETURN_IF_ERROR(leat_resource_manager_create(worker->allocator, &worker->resources[index]));
  leat_resource_manager_t* resources = worker->resources[index];
  if (default_container.size) leat_resource_manager_name_default(resources, default_container);
  leat_resource_manager_set_collectives(resources, worker->collectives);
  return leat_ok_status();
}

static leat_status_t take_devices(leat_local_worker_t* worker,
                                  const leat_local_worker_options_t* options) {
  size_t count = (size_t)options->device_count;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(worker->allocator, count, &worker->devices));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(worker->allocator, count, &worker->resources));
  worker->owns_resources = !options->resources;
  if (worker->owns_resources) {
    LEAT_RETURN_IF_ERROR(leat_collectives_create(worker->allocator, &worker->collectives));
  } else {
    LEAT_RETURN_IF_ERROR(leat_resource_manager_create(worker->allocator, &worker->own));
  }
  for (int i = 0; i < options->device_count; ++i) {
    if (options->resources) {
      worker->resources[i] = options->resources[i];
    } else {
      LEAT_RETURN_IF_ERROR(make_resources(worker, i, options->default_container));
    }
    if (options->shared_containers) {
      leat_resource_manager_share_named(worker->resources[i], options->shared_containers[i]);
    }
    worker->devices[i] = options->devices[i];
    leat_device_retain(worker->devices[i]);
  }
  return leat_ok_status();
}

leat_status_t leat_local_worker_create(const leat_local_worker_options_t* options,
                                       leat_worker_t** out_worker) {
  leat_local_worker_t* worker;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(options->allocator, 1, &worker));
  worker->base.vtable = &kVtable;
  worker->allocator = options->allocator;
  worker->device_count = options->device_count;
  worker->kernels = options->kernels;
  worker->pool = options->pool;
  if (worker->pool) leat_thread_pool_retain(worker->pool);
  leat_graph_table_initialize(options->allocator, sizeof(registered_t), &worker->graphs);
  leat_step_table_initialize(options->allocator, options->rendezvous_source, &worker->steps);
  leat_status_t status = take_devices(worker, options);
  if (!status && options->keeps_session_tensors) {
    status = leat_session_tensors_create(options->allocator, &worker->session_tensors);
  }
  if (status) {
    worker_destroy(&worker->base);
    return status;
  }
  *out_worker = &worker->base;
  return leat_ok_status();
}
