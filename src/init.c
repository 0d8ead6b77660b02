// The composition root: the only file that sees every room. It lists the families of ops, registers
// their ops and kernels, makes the runtime that all sessions of a process share, and opens the
// targets of sessions.
//
// Registration is a call in a list that one can read here, and not a constructor function that runs
// before main: a static archive then cannot lose an op because nothing referred to its object file,
// and a program pays for registration only when it first uses the library. A new family is one line
// in LEAT_OP_FAMILIES; a new device or transport is one line in the lists below. Other rooms get
// what they need through interfaces, so that none of them has to include this one, except
// src/capi/, which asks it for the runtime.
#include "init.h"

#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "cluster/loopback.h"
#include "device/simulated/simulated_device.h"
#include "kernel/resource.h"
#include "ops/family.h"
#include "ops/simulated/simulated_kernels.h"
#include "worker/local_worker.h"

#define LEAT_OP_FAMILIES(X) \
  X(array)                  \
  X(audio)                  \
  X(checkpoint)             \
  X(control)                \
  X(dataset)                \
  X(function)               \
  X(image)                  \
  X(index)                  \
  X(input)                  \
  X(list)                   \
  X(lookup)                 \
  X(math)                   \
  X(matrix)                 \
  X(nn)                     \
  X(quantize)               \
  X(queue)                  \
  X(random)                 \
  X(sendrecv)               \
  X(sparse)                 \
  X(stage)                  \
  X(state)                  \
  X(string)                 \
  X(summary)                \
  X(train)

#define LEAT_DECLARE_FAMILY_(name) extern const leat_op_family_t leat_family_##name;
LEAT_OP_FAMILIES(LEAT_DECLARE_FAMILY_)
#define LEAT_FAMILY_ADDRESS_(name) &leat_family_##name,
static const leat_op_family_t* const kFamilies[] = {LEAT_OP_FAMILIES(LEAT_FAMILY_ADDRESS_)};

// Kinds of devices, in the order of a session's devices, and libraries of kernels beside the
// families' own.
static const leat_device_type_t* const kDeviceTypes[] = {&leat_cpu_device_type,
                                                         &leat_simulated_device_type};
static leat_status_t (*const kKernelLibraries[])(leat_kernel_registry_t* registry) = {
    leat_simulated_kernels_register};

// What a session's target may name besides this process.
static const leat_transport_t* const kTransports[] = {&leat_loopback_transport};

// ---- Targets ------------------------------------------------------------------------------------

// Sessions that ask for the same number of threads share one thread pool, which lives as long as
// the process. Two sessions with pools of their own would put more threads than CPUs to work.
#define LEAT_SHARED_POOL_MAX 64
static leat_mutex_t pools_mutex = {PTHREAD_MUTEX_INITIALIZER};
static leat_thread_pool_t* pools[LEAT_SHARED_POOL_MAX + 1];

static leat_status_t open_pool(const leat_session_options_t* options, leat_allocator_t* allocator,
                               leat_thread_pool_t** out_pool) {
  int threads = options->intra_op_threads > 0 ? options->intra_op_threads : leat_cpu_count();
  if (options->use_per_session_threads || threads > LEAT_SHARED_POOL_MAX) {
    return leat_thread_pool_create(threads, allocator, out_pool);
  }
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&pools_mutex);
  if (!pools[threads]) status = leat_thread_pool_create(threads, allocator, &pools[threads]);
  if (!status) {
    leat_thread_pool_retain(pools[threads]);
    *out_pool = pools[threads];
  }
  leat_mutex_unlock(&pools_mutex);
  return status;
}

// Named containers outlive sessions (section 4.7 of the white paper), so there is one manager of
// containers for each CPU device, which lives as long as the process.
#define LEAT_SHARED_DEVICE_MAX 64
static leat_mutex_t containers_mutex = {PTHREAD_MUTEX_INITIALIZER};
static leat_resource_manager_t* containers[LEAT_SHARED_DEVICE_MAX];

static leat_status_t open_containers(int count, leat_allocator_t* allocator) {
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&containers_mutex);
  for (int i = 0; i < count && !status; ++i) {
    if (!containers[i]) status = leat_resource_manager_create(allocator, &containers[i]);
  }
  leat_mutex_unlock(&containers_mutex);
  return status;
}

// Removes a named container on all devices, for TF_Reset.
static void clear_container(leat_string_view_t container) {
  leat_mutex_lock(&containers_mutex);
  for (int i = 0; i < LEAT_SHARED_DEVICE_MAX; ++i) {
    if (containers[i]) leat_resource_manager_clear(containers[i], container);
  }
  leat_mutex_unlock(&containers_mutex);
}

static void close_target(leat_target_t* target, leat_allocator_t* allocator) {
  if (target->worker) target->worker->vtable->destroy(target->worker);
  for (int i = 0; i < target->device_count; ++i) leat_device_release(target->devices[i]);
  leat_allocator_free(allocator, target->devices);
  *target = (leat_target_t){0};
}

static int count_devices(const leat_session_options_t* options, const char* type) {
  for (int i = 0; i < LEAT_SESSION_DEVICE_TYPES; ++i) {
    if (!strcmp(options->device_counts[i].type, type)) return options->device_counts[i].count;
  }
  return 0;
}

static leat_status_t open_devices(const leat_device_type_t* type, int count,
                                  leat_thread_pool_t* pool, leat_allocator_t* allocator,
                                  leat_target_t* target) {
  size_t room = (size_t)target->device_count;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(allocator, room + (size_t)count,
                                                 sizeof(leat_device_t*), (void**)&target->devices,
                                                 &room));
  for (int i = 0; i < count; ++i) {
    char name[80];
    snprintf(name, sizeof name, "/job:localhost/replica:0/task:0/device:%s:%d", type->name, i);
    LEAT_RETURN_IF_ERROR(type->create(leat_string_view_from(name), pool, allocator,
                                      &target->devices[target->device_count]));
    ++target->device_count;
  }
  return leat_ok_status();
}

// Makes the devices of this process and the local worker that runs graphs on them.
static leat_status_t open_local(const leat_runtime_t* runtime,
                                const leat_session_options_t* options, leat_target_t* target) {
  leat_thread_pool_t* pool;
  LEAT_RETURN_IF_ERROR(open_pool(options, runtime->allocator, &pool));
  int cpus = options->cpu_device_count > 0 ? options->cpu_device_count : 1;
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kDeviceTypes) && !status; ++i) {
    int count = i == 0 ? cpus : count_devices(options, kDeviceTypes[i]->name);
    if (count > 0) status = open_devices(kDeviceTypes[i], count, pool, runtime->allocator, target);
  }
  // The state of a session with other devices ends with the session, because their memory does.
  bool shared = !options->isolate_state && cpus <= LEAT_SHARED_DEVICE_MAX &&
                target->device_count == cpus;
  if (!status && shared) status = open_containers(cpus, runtime->allocator);
  if (!status) {
    leat_local_worker_options_t worker = {
        .devices = target->devices,
        .device_count = target->device_count,
        .shared_containers = shared ? containers : NULL,
        .kernels = runtime->kernels,
        .pool = pool,
        .allocator = runtime->allocator,
    };
    status = leat_local_worker_create(&worker, &target->worker);
  }
  leat_thread_pool_release(pool);
  if (status) close_target(target, runtime->allocator);
  return status;
}

// Finds the transport whose scheme |target| names, "loopback:..." for example, and what follows the
// scheme. |*out_transport| is NULL when the target is this process.
static leat_status_t find_transport(leat_string_view_t target,
                                    const leat_transport_t** out_transport,
                                    leat_string_view_t* out_rest) {
  *out_transport = NULL;
  if (target.size == 0 || leat_string_view_equals(target, "local")) return leat_ok_status();
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTransports); ++i) {
    leat_string_view_t scheme = leat_string_view_from(kTransports[i]->scheme);
    bool is_named = target.size > scheme.size && target.data[scheme.size] == ':' &&
                    leat_string_view_starts_with(target, scheme);
    if (!is_named) continue;
    *out_transport = kTransports[i];
    *out_rest = leat_string_view_from_index(target, scheme.size + 1);
    return leat_ok_status();
  }
  return leat_make_status(LEAT_NOT_FOUND,
                          "No session factory registered for the given session options: {target: "
                          "\"%.*s\" config: } Registered factories are {DIRECT_SESSION}.",
                          LEAT_SV_ARG(target));
}

static leat_status_t check_target(leat_string_view_t name) {
  const leat_transport_t* transport;
  leat_string_view_t rest;
  return find_transport(name, &transport, &rest);
}

// Opens a session's target: the local worker or, behind a transport, a proxy of a worker.
static leat_status_t open_target(const leat_runtime_t* runtime, leat_string_view_t name,
                                 const leat_session_options_t* options,
                                 leat_target_t* out_target) {
  const leat_transport_t* transport;
  leat_string_view_t rest;
  *out_target = (leat_target_t){0};
  LEAT_RETURN_IF_ERROR(find_transport(name, &transport, &rest));
  LEAT_RETURN_IF_ERROR(open_local(runtime, options, out_target));
  if (!transport) return leat_ok_status();
  leat_status_t status = transport->join(rest, out_target->worker, runtime->ops,
                                         runtime->allocator, &out_target->worker);
  if (status) close_target(out_target, runtime->allocator);
  return status;
}

// ---- The runtime --------------------------------------------------------------------------------

static leat_mutex_t runtime_mutex = {PTHREAD_MUTEX_INITIALIZER};
static leat_runtime_t runtime_storage;
static _Atomic(const leat_runtime_t*) runtime_ready;

static leat_status_t register_ops(leat_op_registry_t* registry) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFamilies); ++i) {
    LEAT_RETURN_IF_ERROR(leat_op_registry_add_all(registry, kFamilies[i]->ops));
  }
  return leat_ok_status();
}

static leat_status_t register_kernels(leat_kernel_registry_t* registry) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFamilies); ++i) {
    for (const leat_kernel_row_t* const* rows = kFamilies[i]->kernels; *rows; ++rows) {
      LEAT_RETURN_IF_ERROR(leat_kernel_registry_add(registry, *rows));
    }
  }
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kKernelLibraries); ++i) {
    LEAT_RETURN_IF_ERROR(kKernelLibraries[i](registry));
  }
  return leat_ok_status();
}

static leat_status_t make_runtime(leat_runtime_t* runtime) {
  *runtime = (leat_runtime_t){.allocator = leat_allocator_system(),
                              .open_target = open_target,
                              .check_target = check_target,
                              .clear_container = clear_container};
  leat_status_t status = leat_op_registry_create(runtime->allocator, &runtime->ops);
  if (!status) status = leat_kernel_registry_create(runtime->allocator, &runtime->kernels);
  if (!status) status = register_ops(runtime->ops);
  if (status) {
    leat_op_registry_free(runtime->ops);
    leat_kernel_registry_free(runtime->kernels);
    return status;
  }
  leat_kernel_registry_defer(runtime->kernels, register_kernels);
  return status;
}

// The runtime is made at the first call, by whichever thread comes first. Later calls cost one
// load: the runtime is complete before |runtime_ready| points at it.
leat_status_t leat_runtime_get(const leat_runtime_t** out_runtime) {
  const leat_runtime_t* ready = atomic_load_explicit(&runtime_ready, memory_order_acquire);
  leat_status_t status = leat_ok_status();
  if (LEAT_UNLIKELY(!ready)) {
    leat_mutex_lock(&runtime_mutex);
    ready = atomic_load_explicit(&runtime_ready, memory_order_relaxed);
    if (!ready) {
      status = make_runtime(&runtime_storage);
      if (!status) {
        ready = &runtime_storage;
        atomic_store_explicit(&runtime_ready, ready, memory_order_release);
      }
    }
    leat_mutex_unlock(&runtime_mutex);
  }
  *out_runtime = ready;
  return status;
}
