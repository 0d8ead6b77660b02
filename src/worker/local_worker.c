// The worker of this process. One spinlock guards three small tables: graphs by handle, steps that
// have a rendezvous or were aborted early, and the runs under way (so that an abort reaches them).
#include "worker/local_worker.h"

#include "base/clock.h"
#include "base/map.h"
#include "kernel/cancellation.h"
#include "kernel/resource.h"
#include "kernel/session_tensors.h"
#include "worker/executor.h"
#include "worker/local_rendezvous.h"

typedef struct run_s run_t;

// A registered graph. Freed by whoever lets go last: the table or a run.
typedef struct registered_s {
  leat_plan_t* plan;
  leat_executor_kind_t executor;
  bool deterministic;
  struct leat_function_runtime_s* functions;
  int device;
  uint32_t references;  // under the worker's lock
  run_t* free_runs;     // likewise; by |next|
} registered_t;

// What a step leaves here until its cleanup. One that stands for every step is left by abort_all.
#define EVERY_STEP 0  // no step has the number
typedef struct step_s {
  leat_rendezvous_t* rendezvous;
  leat_resource_manager_t* resources;
  leat_status_t aborted;
} step_t;

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
  int device_count;
  leat_session_tensors_t* session_tensors;
  const leat_kernel_registry_t* kernels;
  leat_thread_pool_t* pool;
  leat_spinlock_t lock;
  registered_t** graphs;  // by handle
  size_t graph_count, graph_capacity;
  leat_word_map_t steps;  // step id -> step_t*
  run_t* runs;
};

static void free_run(leat_local_worker_t* worker, run_t* run) {
  leat_cancellation_release(run->cancellation);
  leat_allocator_free(worker->allocator, run);
}

// Called with the lock held; who gets true frees |registered| when it has let go of the lock.
static bool was_last(registered_t* registered) {
  return registered && --registered->references == 0;
}

static void free_registered(leat_local_worker_t* worker, registered_t* registered) {
  for (run_t *run = registered->free_runs, *next; run; run = next) {
    next = run->next;
    free_run(worker, run);
  }
  leat_plan_free(registered->plan);
  leat_allocator_free(worker->allocator, registered);
}

static int find_device(const leat_local_worker_t* worker, leat_string_view_t name) {
  for (int i = 0; i < worker->device_count; ++i) {
    if (leat_string_view_equal(worker->devices[i]->name, name)) return i;
  }
  return -1;
}

static leat_status_t add_graph(leat_local_worker_t* worker, registered_t* registered,
                               uint64_t* out_handle) {
  leat_spinlock_lock(&worker->lock);
  leat_status_t status =
      leat_allocator_grow_array(worker->allocator, worker->graph_count + 1, sizeof(registered_t*),
                                (void**)&worker->graphs, &worker->graph_capacity);
  if (!status) {
    *out_handle = worker->graph_count;
    worker->graphs[worker->graph_count++] = registered;
  }
  leat_spinlock_unlock(&worker->lock);
  return status;
}

static leat_status_t register_graph(leat_local_worker_t* worker,
                                    const leat_register_request_t* request, uint64_t* out_handle) {
  int device = find_device(worker, request->device);
  leat_status_t status = leat_ok_status();
  registered_t* registered = NULL;
  if (device < 0) {
    status = leat_make_status(LEAT_NOT_FOUND,
                              "RegisterGraph failed: device is '%.*s', must be one of this "
                              "worker's",
                              LEAT_SV_ARG(request->device));
  }
  if (!status) {
    status = leat_allocator_allocate(worker->allocator, sizeof *registered, (void**)&registered);
  }
  if (!status) {
    registered->device = device;
    registered->executor = request->executor;
    registered->deterministic = request->deterministic;
    registered->functions = request->functions;
    registered->references = 1;
    leat_plan_options_t options = {worker->kernels, worker->resources[device],
                                   worker->devices[device], worker->allocator};
    status = leat_plan_compile(request, &options, &registered->plan);
  }
  if (status) leat_graph_free(request->graph);
  if (!status) status = add_graph(worker, registered, out_handle);
  if (status && registered) free_registered(worker, registered);
  return status;
}

static void worker_register_graph(leat_worker_t* self, const leat_register_request_t* request,
                                  uint64_t* out_handle, leat_worker_done_fn_t done, void* data) {
  done(data, register_graph((leat_local_worker_t*)self, request, out_handle));
}

static void worker_deregister_graph(leat_worker_t* self, uint64_t handle) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  registered_t* registered = NULL;
  leat_spinlock_lock(&worker->lock);
  if (handle < worker->graph_count) {
    registered = worker->graphs[handle];
    worker->graphs[handle] = NULL;
  }
  bool unused = was_last(registered);
  leat_spinlock_unlock(&worker->lock);
  if (unused) free_registered(worker, registered);
}

// The step's entry, made on first need. Called with the lock held.
static leat_status_t find_step(leat_local_worker_t* worker, int64_t step_id, step_t** out_step) {
  uint64_t value;
  if (leat_word_map_get(&worker->steps, (uint64_t)step_id, &value)) {
    *out_step = (step_t*)(uintptr_t)value;
    return leat_ok_status();
  }
  step_t* step;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(worker->allocator, sizeof *step, (void**)&step));
  leat_status_t status =
      leat_word_map_set(&worker->steps, (uint64_t)step_id, (uint64_t)(uintptr_t)step);
  if (status) {
    leat_allocator_free(worker->allocator, step);
    return status;
  }
  *out_step = step;
  return leat_ok_status();
}

// Why the step was ended before it ran; NULL: it was not. Called with the lock held.
static leat_status_t abort_of(const leat_local_worker_t* worker, int64_t step_id) {
  const int64_t ids[] = {step_id, EVERY_STEP};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(ids); ++i) {
    uint64_t value;
    if (!leat_word_map_get(&worker->steps, (uint64_t)ids[i], &value)) continue;
    leat_status_t aborted = ((const step_t*)(uintptr_t)value)->aborted;
    if (aborted) return aborted;
  }
  return NULL;
}

// Called with the lock held.
static leat_status_t find_rendezvous(leat_local_worker_t* worker, int64_t step_id,
                                     leat_rendezvous_t** out_rendezvous) {
  step_t* step;
  LEAT_RETURN_IF_ERROR(find_step(worker, step_id, &step));
  if (!step->rendezvous) {
    LEAT_RETURN_IF_ERROR(leat_local_rendezvous_create(worker->allocator, &step->rendezvous));
    leat_status_t aborted = abort_of(worker, step_id);
    if (aborted) step->rendezvous->vtable->abort(step->rendezvous, aborted);
  }
  *out_rendezvous = step->rendezvous;
  return leat_ok_status();
}

static void link_run(leat_local_worker_t* worker, run_t* run) {
  run->next = worker->runs;
  if (run->next) run->next->previous = run;
  worker->runs = run;
}

static void unlink_run(leat_local_worker_t* worker, run_t* run) {
  if (run->next) run->next->previous = run->previous;
  if (run->previous) {
    run->previous->next = run->next;
  } else {
    worker->runs = run->next;
  }
}

// For the graph's next step, unless somebody heard of the cancellation. Called with the lock held.
static bool keep_run(run_t* run) {
  if (run->on_stack) return true;
  if (run->cancellation && !leat_cancellation_is_unused(run->cancellation)) return false;
  run->next = run->registered->free_runs;
  run->registered->free_runs = run;
  return true;
}

static void run_done(void* data, leat_status_t status) {
  run_t* run = data;
  leat_local_worker_t* worker = run->worker;
  registered_t* registered = run->registered;
  leat_rendezvous_t* rendezvous = run->execution.services.rendezvous;
  leat_worker_done_fn_t done = run->done;
  void* done_data = run->done_data;
  leat_spinlock_lock(&worker->lock);
  unlink_run(worker, run);
  leat_status_t stop_status = run->execution.stop_status;  // nobody can stop it any more
  bool kept = keep_run(run);
  bool unused = was_last(registered);
  leat_spinlock_unlock(&worker->lock);
  leat_status_free(stop_status);
  leat_rendezvous_release(rendezvous);
  if (!kept) free_run(worker, run);
  if (unused) free_registered(worker, registered);
  done(done_data, status);
}

// Called with the lock held.
static leat_status_t find_step_resources(leat_local_worker_t* worker, int64_t step_id,
                                         leat_resource_manager_t** out_resources) {
  step_t* step;
  LEAT_RETURN_IF_ERROR(find_step(worker, step_id, &step));
  if (!step->resources) {
    LEAT_RETURN_IF_ERROR(leat_resource_manager_create(worker->allocator, &step->resources));
  }
  *out_resources = step->resources;
  return leat_ok_status();
}

static void fill_run(leat_local_worker_t* worker, registered_t* registered,
                     const leat_run_request_t* request, run_t* run) {
  const leat_device_t* device = worker->devices[registered->device];
  run->worker = worker;
  run->registered = registered;
  run->step_id = request->step_id;
  run->previous = NULL;
  run->execution = (leat_execution_t){.plan = registered->plan,
                                      .feeds = request->feeds,
                                      .fetches = request->fetches,
                                      .deadline_ns = request->deadline_ns};
  leat_step_services_t* services = &run->execution.services;
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
  services->container_step_id =
      request->container_step_id ? request->container_step_id : request->step_id;
}

// Looks up what the run needs and makes it known to aborts. Called with the lock held.
static leat_status_t enter_run(leat_local_worker_t* worker, run_t* run) {
  leat_step_services_t* services = &run->execution.services;
  const leat_plan_t* plan = run->registered->plan;
  if (LEAT_UNLIKELY(worker->steps.count)) {
    leat_status_t aborted = abort_of(worker, run->step_id);
    if (aborted) return leat_status_clone(aborted);
  }
  if (plan->uses_step_resources) {
    LEAT_RETURN_IF_ERROR(find_step_resources(worker, services->container_step_id,
                                             &services->step_resources));
  }
  if (plan->uses_rendezvous) {
    LEAT_RETURN_IF_ERROR(find_rendezvous(worker, run->step_id, &services->rendezvous));
    leat_rendezvous_retain(services->rendezvous);
  }
  link_run(worker, run);
  return leat_ok_status();
}

static leat_status_t make_run(leat_local_worker_t* worker, const registered_t* registered,
                              run_t** out_run) {
  run_t* run;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(worker->allocator, sizeof *run, (void**)&run));
  leat_status_t status = leat_ok_status();
  if (registered->plan->waits) {
    status = leat_cancellation_create(worker->allocator, &run->cancellation);
  }
  if (status) {
    leat_allocator_free(worker->allocator, run);
    return status;
  }
  *out_run = run;
  return leat_ok_status();
}

// The run of |registered| for |request|: |local|, which is on the stack, where it ends before
// leat_execution_start returns, one of an earlier step, or a new one. Called with the lock held,
// which it lets go while it makes one.
static leat_status_t begin_run(leat_local_worker_t* worker, registered_t* registered,
                               const leat_run_request_t* request, run_t* local,
                               run_t** out_run) {
  run_t* run = registered->free_runs;
  leat_status_t status = leat_ok_status();
  if (registered->plan->linear && registered->executor != LEAT_EXECUTOR_DATAFLOW) {
    run = local;
  } else if (LEAT_LIKELY(run != NULL)) {
    registered->free_runs = run->next;
  } else {
    leat_spinlock_unlock(&worker->lock);
    status = make_run(worker, registered, &run);
    leat_spinlock_lock(&worker->lock);
  }
  LEAT_RETURN_IF_ERROR(status);
  fill_run(worker, registered, request, run);
  status = enter_run(worker, run);
  if (status) keep_run(run);
  *out_run = run;
  return status;
}

static leat_status_t not_registered(uint64_t handle) {
  return leat_make_status(LEAT_ABORTED,
                          "RunGraph failed: graph handle %llu is not registered (any more)",
                          (unsigned long long)handle);
}

static void worker_run_graph(leat_worker_t* self, const leat_run_request_t* request,
                             leat_worker_done_fn_t done, void* data) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  run_t local = {.on_stack = true};
  run_t* run = NULL;
  bool unused = false;
  leat_spinlock_lock(&worker->lock);
  registered_t* registered =
      request->handle < worker->graph_count ? worker->graphs[request->handle] : NULL;
  leat_status_t status = leat_ok_status();
  if (registered) {
    ++registered->references;
    status = begin_run(worker, registered, request, &local, &run);
    if (status) unused = was_last(registered);
  }
  leat_spinlock_unlock(&worker->lock);
  if (unused) free_registered(worker, registered);
  if (!registered) status = not_registered(request->handle);
  if (status) {
    done(data, status);
    return;
  }
  run->done = done;
  run->done_data = data;
  leat_execution_start(&run->execution, registered->executor, run_done, run);
}

// Cancels the kernels of a step that wait, without the lock: they may end the step.
static void cancel_waiting(leat_local_worker_t* worker, int64_t step_id) {
  for (;;) {
    leat_cancellation_t* cancellation = NULL;
    leat_spinlock_lock(&worker->lock);
    for (run_t* run = worker->runs; run && !cancellation; run = run->next) {
      leat_cancellation_t* candidate = run->execution.services.cancellation;
      if (run->step_id != step_id || !candidate) continue;
      if (!leat_cancellation_is_cancelled(candidate)) cancellation = candidate;
    }
    if (cancellation) leat_cancellation_retain(cancellation);
    leat_spinlock_unlock(&worker->lock);
    if (!cancellation) return;
    leat_cancellation_cancel(cancellation);
    leat_cancellation_release(cancellation);
  }
}

static void worker_abort_step(leat_worker_t* self, int64_t step_id, leat_status_t status) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  leat_rendezvous_t* rendezvous = NULL;
  step_t* step;
  leat_spinlock_lock(&worker->lock);
  leat_status_t remembered = find_step(worker, step_id, &step);
  if (remembered) {
    leat_status_free(remembered);  // no memory to remember it: running ones still end
  } else if (!step->aborted) {
    step->aborted = leat_status_clone(status);
    rendezvous = step->rendezvous;
    if (rendezvous) leat_rendezvous_retain(rendezvous);
  }
  for (run_t* run = worker->runs; run; run = run->next) {
    if (run->step_id == step_id) leat_execution_stop(&run->execution, leat_status_clone(status));
  }
  leat_spinlock_unlock(&worker->lock);
  if (rendezvous) rendezvous->vtable->abort(rendezvous, status);
  leat_rendezvous_release(rendezvous);
  cancel_waiting(worker, step_id);
  leat_status_free(status);
}

// The first run under way whose step is not yet stopped; -1 when there is none.
static int64_t next_running_step(leat_local_worker_t* worker) {
  int64_t step_id = -1;
  leat_spinlock_lock(&worker->lock);
  for (run_t* run = worker->runs; run && step_id < 0; run = run->next) {
    if (!atomic_load(&run->execution.stopped)) step_id = run->step_id;
  }
  leat_spinlock_unlock(&worker->lock);
  return step_id;
}

static void worker_abort_all(leat_worker_t* self, leat_status_t status) {
  worker_abort_step(self, EVERY_STEP, leat_status_clone(status));  // those to come
  for (int64_t step; (step = next_running_step((leat_local_worker_t*)self)) >= 0;) {
    worker_abort_step(self, step, leat_status_clone(status));
  }
  leat_status_free(status);
}

static void free_step(leat_local_worker_t* worker, step_t* step) {
  leat_rendezvous_release(step->rendezvous);
  leat_resource_manager_free(step->resources);
  leat_status_free(step->aborted);
  leat_allocator_free(worker->allocator, step);
}

static void worker_cleanup_step(leat_worker_t* self, int64_t step_id) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  uint64_t value;
  leat_spinlock_lock(&worker->lock);
  bool found = leat_word_map_get(&worker->steps, (uint64_t)step_id, &value);
  if (found) leat_word_map_erase(&worker->steps, (uint64_t)step_id);
  leat_spinlock_unlock(&worker->lock);
  if (found) free_step(worker, (step_t*)(uintptr_t)value);
}

typedef struct reception_s {
  leat_slot_t* out_value;
  leat_worker_done_fn_t done;
  void* data;
  leat_allocator_t* allocator;
} reception_t;

static void received(void* data, leat_status_t status, leat_slot_t value) {
  reception_t reception = *(reception_t*)data;
  leat_allocator_free(reception.allocator, data);
  if (!status) *reception.out_value = value;
  reception.done(reception.data, status);
}

static leat_status_t retain_rendezvous(leat_local_worker_t* worker, int64_t step_id,
                                       leat_rendezvous_t** out_rendezvous) {
  leat_spinlock_lock(&worker->lock);
  leat_status_t status = find_rendezvous(worker, step_id, out_rendezvous);
  if (!status) leat_rendezvous_retain(*out_rendezvous);
  leat_spinlock_unlock(&worker->lock);
  return status;
}

static void worker_receive_tensor(leat_worker_t* self, int64_t step_id, leat_string_view_t key,
                                  leat_slot_t* out_value, leat_worker_done_fn_t done, void* data) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  leat_rendezvous_t* rendezvous = NULL;
  reception_t* reception = NULL;
  leat_status_t status = retain_rendezvous(worker, step_id, &rendezvous);
  if (!status) {
    status = leat_allocator_allocate(worker->allocator, sizeof *reception, (void**)&reception);
  }
  if (status) {
    done(data, status);
  } else {
    *reception = (reception_t){out_value, done, data, worker->allocator};
    rendezvous->vtable->receive(rendezvous, key, received, reception);
  }
  leat_rendezvous_release(rendezvous);
}

static void worker_send_tensor(leat_worker_t* self, int64_t step_id, leat_string_view_t key,
                               leat_slot_t value, leat_worker_done_fn_t done, void* data) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  leat_rendezvous_t* rendezvous;
  leat_status_t status = retain_rendezvous(worker, step_id, &rendezvous);
  if (status) {
    leat_slot_release(&value);
  } else {
    status = rendezvous->vtable->send(rendezvous, key, value);
    leat_rendezvous_release(rendezvous);
  }
  done(data, status);
}

static void worker_clear_container(leat_worker_t* self, leat_string_view_t container) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  for (int i = 0; i < worker->device_count; ++i) {
    leat_resource_manager_clear(worker->resources[i], container);
  }
}

static void worker_destroy(leat_worker_t* self) {
  leat_local_worker_t* worker = (leat_local_worker_t*)self;
  for (size_t i = 0; i < worker->graph_count; ++i) {
    if (was_last(worker->graphs[i])) free_registered(worker, worker->graphs[i]);
  }
  leat_allocator_free(worker->allocator, worker->graphs);
  for (size_t i = 0; i < worker->steps.capacity; ++i) {
    if (worker->steps.used[i]) free_step(worker, (step_t*)(uintptr_t)worker->steps.values[i]);
  }
  leat_word_map_deinitialize(&worker->steps);
  for (int i = 0; worker->resources && i < worker->device_count; ++i) {
    leat_resource_manager_free(worker->resources[i]);
  }
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

static leat_status_t take_devices(leat_local_worker_t* worker,
                                  const leat_local_worker_options_t* options) {
  size_t count = (size_t)options->device_count;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      worker->allocator, count, sizeof(leat_device_t*), (void**)&worker->devices));
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      worker->allocator, count, sizeof(void*), (void**)&worker->resources));
  for (int i = 0; i < options->device_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_resource_manager_create(worker->allocator, &worker->resources[i]));
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
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(options->allocator, sizeof *worker, (void**)&worker));
  worker->base.vtable = &kVtable;
  worker->allocator = options->allocator;
  worker->device_count = options->device_count;
  worker->kernels = options->kernels;
  worker->pool = options->pool;
  if (worker->pool) leat_thread_pool_retain(worker->pool);
  leat_word_map_initialize(options->allocator, &worker->steps);
  leat_status_t status = take_devices(worker, options);
  if (!status) status = leat_session_tensors_create(options->allocator, &worker->session_tensors);
  if (status) {
    worker_destroy(&worker->base);
    return status;
  }
  *out_worker = &worker->base;
  return leat_ok_status();
}
