// The composition root: the only file that sees every room. It registers the ops and kernels of all
// families (ops/families.c), makes the runtime that all sessions of a process share, and opens the
// targets of sessions.
//
// Registration is a call over a list that one can read, and not a constructor function that runs
// before main: a static archive then cannot lose an op because nothing referred to its object file,
// and a program pays for registration only when it first uses the library. A new source of ops is
// one word in ops/families.c; a new device or transport is one line in the lists below. Other rooms
// get what they need through interfaces, so that none of them has to include this one, except
// src/capi/, which asks it for the runtime.
#include "init.h"

#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/host.h"
#include "cluster/client_session.h"
#include "cluster/remote_carrier.h"
#include "cluster/transport.h"
#include "device/simulated/simulated_device.h"
#include "graph/op/declared.h"
#include "kernel/boxed_tensors.h"
#include "kernel/remote_call.h"
#include "kernel/resource.h"
#include "ops/dataset/values.h"
#include "ops/default_device/default_kernels.h"
#include "ops/family.h"
#include "ops/list/values.h"
#include "ops/simulated/simulated_kernels.h"
#include "trace/gpu_source.h"
#include "trace/recording_process.h"
#include "worker/local_worker.h"

// Kinds of devices besides the CPU and before those of plug-ins, in the order of a session's
// devices, and libraries of kernels beside the families' own.
static const leat_device_type_t* const kAccelerators[] = {&leat_simulated_device_type};
static leat_status_t (*const kKernelLibraries[])(leat_kernel_registry_t* registry) = {
    leat_simulated_kernels_register, leat_default_kernels_register};

// Kinds of variants that graphs, files and messages of other tasks may hold, besides numbers.
static const leat_variant_vtable_t* const kVariantKinds[] = {
    &leat_tensor_list_vtable, &leat_tensor_map_vtable, &leat_optional_vtable,
    &leat_ragged_box_vtable, &leat_tensor_box_vtable, &leat_compressed_element_vtable,
    &leat_iterator_position_vtable};

// What a session's target may name besides this process.
static const leat_transport_t* const kTransports[] = {&leat_loopback_transport};

// ---- State that outlives sessions ---------------------------------------------------------------
// Every variable of the library that is not constant and lives as long as the process or a thread.
// All else belongs to an object that somebody creates and frees. The process's end leaves them as
// they are: none needs to write a file or to talk to anybody then, and other threads may still run.
// The environment is read and never changed. dev/check (law `state`) finds a variable that is not
// in this list, and a row whose variable is gone.
//
//   file: variables
//     what they are
//     made when | guarded by (thread: each thread has its own) | ends with
//
//   init.c: runtime_mutex, runtime_storage, runtime_ready
//     the registries of ops and kernels, and what else is the same for all sessions
//     the first leat_runtime_get | runtime_mutex; readers load runtime_ready | process
//   init.c: pools_mutex, pools, pools_process
//     thread pools that sessions share, one for each number of threads; the process that made them
//     the first session with that number | pools_mutex | process; sessions hold references
//   init.c: containers_mutex, containers
//     resources of named containers, one manager for each CPU device
//     the first session with such a device | containers_mutex | process; TF_Reset empties them
//   ops/state/resource_variable_cpu.c: anonymous_count
//     how many variables without a name were made, which tells their names apart
//     at start | atomic | process
//   ops/dataset/iterator_resource_cpu.c: numbering, numbered
//     the iterators that strings name by a number, since no container has them
//     the first such string | numbering | each leaves the list when it ends
//   capi/session/xla_switches.c: is_lazy, compiles_for_cpu, is_auto_jit, lacks_folding
//     what clients set of a compiler that is not there
//     at start | atomic | process
//   capi/session/session_reset.c: sessions_mutex, sessions
//     the open sessions, for TF_Reset to close
//     TF_NewSession | sessions_mutex | each leaves the list when it is deleted
//   capi/leat/interrupt.c: of_thread
//     what ends the steps of the thread, borrowed from its interrupt
//     leat_interrupt_begin | thread | leat_interrupt_end
//   capi/plugin/plugin.c: libraries_mutex, libraries
//     libraries of ops and kernels that were loaded, never unloaded
//     TF_LoadLibrary | libraries_mutex | process
//   capi/plugin/plugin.c: loading
//     the load that runs on this thread
//     TF_LoadLibrary | thread | that call's end
//   capi/plugin/platform.c: hardware_mutex
//     excludes making the hardware behind devices of plug-ins, which is made once and kept
//     at start | itself | process
//   capi/plugin/profiler.c: profilers_mutex, profilers, is_profiling
//     profilers of plug-ins, never removed, and whether a step is profiled
//     loading a library of one | profilers_mutex | process
//   device/device.c: registration, types
//     kinds of devices of plug-ins, never removed
//     loading a library of one | registration; readers follow the list by atomic loads | process
//   optimize/graph_plugin.c: registration, plugins
//     graph optimizers of plug-ins, never removed
//     loading a library of one | registration; readers follow the list by atomic loads | process
//   capi/eager/eager_executor.c: thread_count, thread_number
//     numbers threads that ask for executors
//     at start; the first question of a thread | atomic; thread | process; thread
//   capi/eager/monitoring.c: metrics_mutex, metrics, readers
//     counters, gauges and samplers by name; what readers saw at first, which stays
//     TFE_Monitoring*New* | metrics_mutex | each when it is deleted
//   capi/plugin/attr_builder.c: names_mutex, names
//     names of ops and attributes as C strings that callers keep
//     the first question for each | names_mutex | process; at most one for each name of an op's row
//   capi/tensor_handle.c: cache
//     deleted TF_Tensors, kept for the next
//     the first TF_DeleteTensor of a thread | thread | thread, by cache_key
//   capi/tensor_handle.c: cache_key, cache_key_state, cache_key_lock
//     what frees a thread's |cache| at its end
//     the first TF_DeleteTensor | cache_key_lock | process
//   capi/session/partial_run.c: next_name
//     numbers partial runs
//     at start | atomic | process
//   capi/eager/eager_context.c: ids
//     numbers eager contexts
//     at start | atomic | process
//   capi/leat/doctor.c: sink
//     keeps the compiler from dropping a measured read
//     the first measurement | atomic | process
//   ops/random/generator_cpu.c: generator_count
//     numbers generators
//     at start | atomic | process
//   base/log.c: current_sink, cached_threshold, listeners
//     where messages go, from which level on; who hears what graphs print
//     setting them; the first message (LEAT_LOG) | atomic | process; listeners are never removed
//   base/observer.c: leat_observer_current
//     hooks of tests and tools: each allocation, file call, message
//     leat_observer_install | atomic | leat_observer_install(NULL)
//   base/file_scheme.c: schemes, registration
//     file systems by the scheme of their paths
//     registering one | registration; readers follow the list by atomic loads | process
//   base/file_temporary.c: drawn, next
//     what makes names of temporary files unique: a random number, a counter
//     the first name | atomic | process
//   base/cpu.c: cached
//     instruction sets that may be used (twice: vectors, matrices)
//     the first question | atomic | process
//   base/float_mode.c: cached
//     the control word with which kernels run
//     the first step | atomic | process
//   base/posix/cpu_posix.c: cached
//     cores, and the sizes of two caches
//     the first question | atomic | process
//   base/locale.c: cached
//     the "C" locale, for reading and printing numbers
//     the first number | atomic | process
//   base/crc32c.c: tables, state
//     tables of the checksum
//     the first checksum | state, by which late comers wait | process
//   base/sync.c: leat_lane_of_thread
//     the lane of leat_lanes_t that this thread locks for reading
//     the first such lock | thread | thread
//   base/sync.c: threads
//     hands lanes out in turn
//     at start | atomic | process
//   base/sync.c: leat_spinlocks_of_thread
//     spinlocks that this thread holds (debug builds)
//     at the thread's start | thread | thread
//   base/span.c: recorder, leat_span_recording
//     the recording of what threads do that is under way, its number, the threads that take part
//     leat_recording_start | recorder.mutex; the number is atomic | leat_recording_stop
//   base/span.c: leat_span_on_step
//     who hears of the end of each step that is recorded
//     leat_flight_start | atomic | leat_flight_stop
//   base/span.c: leat_span_source
//     who adds what ran on no thread to recordings that end
//     leat_gpu_source_install | atomic | process
//   base/span.c: writer_of_thread, leat_span_work_of_thread
//     spans of this thread that are not in the recording yet; the kernel that runs on it
//     the first span of a thread | thread; copied under recorder.mutex | thread, by recorder.key
//   base/posix/host_posix.c: has_come, former
//     whether a signal that is noted has come, and what it did before
//     leat_host_note_signal | a handler's own type; by one caller at a time | process
//   trace/flight.c: flight
//     the flight recorder: what is written when, and how long the last steps took
//     leat_flight_start | its mutex | leat_flight_stop
//   trace/gpu_source.c: source
//     which recording GPUs are watched for, by which module, and their records
//     leat_gpu_source_install | its mutex, and that of the records | the module: process
//   trace/gpu_source.c: source_process, source_is_waiting
//     the process that watches GPUs; whether a recording still looks for a driver
//     the first recording | atomic | process
//   trace/gpu_source.c: cupti
//     the module
//     the first recording with a driver | atomic | process
//   trace/recording_process.c: path_at_exit, process_at_exit
//     where LEAT_TRACE's recording goes, and which process began it
//     the runtime | set once | process
//   base/thread_pool.c: current_pool
//     the pool whose worker this thread is
//     the worker's start | thread | thread
//   graph/control_flow/context.c: last, number
//     numbers of threads that build conditionals and loops
//     the first construct of a thread | atomic; thread | process; thread
//   tensor/object.c: kinds, kind_count
//     kinds of variants that messages may hold
//     the runtime | set once; the count is atomic | process
//   tensor/buffer_pool.c: pool
//     memory of tensors: free blocks by size, the list of all thread caches, counts
//     at start | a spinlock a list; atomic counts | process; the pool gives memory back by itself
//   tensor/buffer_pool.c: thread_cache, thread_ended
//     free blocks of this thread
//     the first tensor of a thread | thread; its counts are atomic | thread, by pool.key
//   tensor/buffer_heap.c: used_bytes
//     bytes in buffers of the plain heap
//     at start | atomic | process
//   tensor/buffer.c: deferred
//     buffers that die within the destruction of others
//     the first nested destruction | thread | the outermost destruction empties it
//   device/cpu/gemm.c: cache_lock, cache_first
//     packing buffers of matrix products, as many as ever ran at once
//     the first product | cache_lock | process
//   device/cpu/module.c: onednn, found_onednn, knows_onednn
//     the loaded module with oneDNN, or that there is none
//     the first product or convolution | atomic | process; modules are never closed
//   modules/onednn/onednn.c: made, version, module
//     oneDNN's engine, and the table of functions that the library calls
//     loading the module; the first use | atomic; all who load write the same | process
//   graph/op/declared.c: declared
//     the loaded module with the rows of ops that are only declared
//     the first name of an op that the library does not define | atomic | process
//   formats/media/gif.c: gif
//     the loaded module with giflib
//     the first GIF file | atomic | process
//   formats/media/jpeg.c: jpeg
//     the loaded module with libjpeg
//     the first JPEG file | atomic | process
//   formats/media/png.c: png
//     the loaded module with libpng
//     the first PNG | atomic | process
//   formats/media/webp.c: webp
//     the loaded module with libwebp
//     the first WebP file | atomic | process
//   formats/database/sqlite.c: sqlite
//     the loaded module with SQLite
//     the first database | atomic | process
//   formats/record/compression.c: zlib
//     the loaded module with zlib
//     the first compressed file | atomic | process
//   cluster/plane.c: ucx
//     the module for UCX
//     the first server with grpc+ucx | atomic | process
//   cluster/local_call.c: servers_mutex, servers, servers_process
//     servers that take calls of this process; the process that made them
//     leat_server_start | servers_mutex | each leaves the list when it is stopped
//   cluster/rpc.c: grpc
//     the loaded module with the gRPC C core
//     the first server or channel | atomic | process
//   modules/grpc/engine.c: mutex, threads_ended, engine, is_initialized, rpc_host
//     the completion queue of the C core with its threads, and whether the C core was initialized
//     the first server or channel | mutex | engine: with the last of these; the rest: process
//   modules/grpc/engine.c: this_thread
//     whether this thread serves the queue and leads, and where it is in functions of the caller's
//     the thread's start | thread | thread
//   modules/cupti/module.c: state
//     CUPTI's functions, how many buffers it has, and who takes its records
//     the first recording with a driver | its mutex, or that of trace/gpu_source.c | process
//   modules/ucx/module.c: host_mutex, ucx_host
//     what the module may use of the library
//     the first end | mutex; read after it was set | process
//   modules/ucx/module.c: left_ends
//     what UCX may yet read of ends that it could not close
//     such an end is closed | host_mutex | process
//   formats/checkpoint/bundle_publish.c: locks
//     excludes saves of checkpoints under one prefix, by a hash of it
//     at start | themselves | process
//   master/step.c: next_free_id
//     numbers steps, 256 a time for each thread
//     at start | atomic | process
//   master/step.c: next_id, ids_left
//     the numbers that this thread has taken
//     the first step of a thread | thread | thread
//   master/function_runtime.c: next_number
//     numbers runtimes of functions, for their handles
//     at start | atomic | process
//   kernel/handle.c: next_number
//     numbers resources of a step
//     at start | atomic | process
//   ops/list/tensor_array_cpu.c: next_number
//     numbers TensorArrays, for messages
//     at start | atomic | process
//   kernel/cancellation.c: this_thread
//     its address is the thread's identity
//     at the thread's start | thread | thread
//   kernel/remote_call.c: current
//     who carries calls of other processes for kernels
//     the runtime | set once; atomic | process
//   kernel/step_check.c: running
//     the step of the innermost loop that checks for its end
//     entering such a loop | thread | leaving it
//   kernel/tensor_sum.c: nested
//     how deep sums of variants are nested
//     entering such a sum | thread | leaving it
//   kernel/wait_queue.c: nesting
//     how deep completions run within completions
//     entering one | thread | leaving it
//   worker/execution.c: nested
//     how deep ends of asynchronous kernels run within each other
//     entering one | thread | leaving it
//   trace/collector.c: next
//     numbers threads in traces
//     at start | atomic | process
//   trace/collector.c: number
//     this thread's number
//     the first traced kernel of a thread | thread | thread
//   ops/simulated/simulated_kernels.c: rows, twins, row_count
//     kernels of the simulated device, made from those of the CPU
//     registering kernels | the lock of the registry's deferred registration | process
//   ops/default_device/default_kernels.c: rows, row_count, cpu_kernels
//     kernels that devices of plug-ins have without a plug-in's, and where those of the CPU are
//     registering kernels | the lock of the registry's deferred registration; atomic | process
//   base/allocator.c: allocator
//     never written; a plain pointer to it is handed out
//     at start | constant | process
//   base/file_scheme.c: file_system
//     the file system that chooses by scheme: never written
//     at start | constant | process
//   base/posix/file_posix.c: file_system
//     the operating system's files: never written
//     at start | constant | process
//   base/status.c: no_memory
//     the status of failing to make one: never written
//     at start | constant | process
//   tensor/buffer_heap.c: source
//     the source of plain heap buffers: never written
//     at start | constant | process
//   tensor/tensor.c: no_elements
//     where tensors without elements point: never written
//     at start | constant | process
//   capi/tensor.c: no_elements
//     the same for TF_Tensors
//     at start | constant | process

// ---- Targets ------------------------------------------------------------------------------------

// Sessions that ask for the same number of threads share one thread pool, which lives as long as
// the process. Two sessions with pools of their own would put more threads than CPUs to work.
#define LEAT_SHARED_POOL_MAX 64
static leat_mutex_t pools_mutex = {PTHREAD_MUTEX_INITIALIZER};
static leat_thread_pool_t* pools[LEAT_SHARED_POOL_MAX + 1];
static int64_t pools_process;

static leat_status_t open_pool(const leat_session_options_t* options, leat_allocator_t* allocator,
                               leat_thread_pool_t** out_pool) {
  int threads = options->intra_op_threads > 0 ? options->intra_op_threads : leat_cpu_count();
  if (options->use_per_session_threads || threads > LEAT_SHARED_POOL_MAX) {
    return leat_thread_pool_create(threads, allocator, out_pool);
  }
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&pools_mutex);
  // The child of a fork has no threads of its parent's pools, and makes pools of its own.
  if (pools_process != leat_host_process_id()) memset(pools, 0, sizeof pools);
  pools_process = leat_host_process_id();
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

// Removes a named container on all devices; "": the default one.
static void clear_container(leat_string_view_t container) {
  leat_mutex_lock(&containers_mutex);
  for (int i = 0; i < LEAT_SHARED_DEVICE_MAX; ++i) {
    if (containers[i]) leat_resource_manager_clear(containers[i], container);
  }
  leat_mutex_unlock(&containers_mutex);
}

// Opens |count| devices of |type|, those with |numbers|; without them the first ones.
static leat_status_t open_devices(const leat_device_type_t* type, const int* numbers, int count,
                                  const leat_session_options_t* options, leat_thread_pool_t* pool,
                                  leat_allocator_t* allocator, leat_target_t* target) {
  size_t room = (size_t)target->device_count;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(allocator, room + (size_t)count, &target->devices, &room));
  for (int i = 0; i < count; ++i) {
    char name[80];
    snprintf(name, sizeof name, "/job:localhost/replica:0/task:0/device:%s:%d", type->name, i);
    const leat_device_request_t request = {.name = leat_string_view_from(name),
                                           .number = numbers ? numbers[i] : i,
                                           .memory_fraction = options->device_memory_fraction,
                                           .pool = pool,
                                           .allocator = allocator};
    LEAT_RETURN_IF_ERROR(
        type->create(type, &request, &target->devices[target->device_count]));
    ++target->device_count;
  }
  return leat_ok_status();
}

// Opens the devices of an accelerator's |type| that the session shall have.
static leat_status_t open_accelerators(const leat_device_type_t* type,
                                       const leat_session_options_t* options,
                                       leat_thread_pool_t* pool, leat_allocator_t* allocator,
                                       leat_target_t* target) {
  int numbers[LEAT_SESSION_MAX_ACCELERATORS], count = 0, available = -1;
  if (type->count) LEAT_RETURN_IF_ERROR(type->count(type, &available));
  LEAT_RETURN_IF_ERROR(
      leat_session_options_find_devices(options, type->name, available, numbers, &count));
  if (count == 0) return leat_ok_status();
  return open_devices(type, numbers, count, options, pool, allocator, target);
}

// Makes the devices of this process and the local worker that runs graphs on them.
static leat_status_t open_local(const leat_runtime_t* runtime,
                                const leat_session_options_t* options, leat_target_t* target) {
  leat_thread_pool_t* pool;
  LEAT_RETURN_IF_ERROR(open_pool(options, runtime->allocator, &pool));
  int cpus = options->cpu_device_count > 0 ? options->cpu_device_count : 1;
  leat_status_t status =
      open_devices(&leat_cpu_device_type, NULL, cpus, options, pool, runtime->allocator, target);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kAccelerators) && !status; ++i) {
    status = open_accelerators(kAccelerators[i], options, pool, runtime->allocator, target);
  }
  for (const leat_device_type_t* t = leat_device_types(); t && !status; t = t->next) {
    status = open_accelerators(t, options, pool, runtime->allocator, target);
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
        .resources = options->resources,
        .keeps_session_tensors = true,
        .kernels = runtime->kernels,
        .pool = pool,
        .allocator = runtime->allocator,
    };
    status = LEAT_ALLOCATE(runtime->allocator, 1, &target->workers);
    if (!status) status = leat_local_worker_create(&worker, &target->workers[0]);
    target->worker_count = !status;
  }
  leat_thread_pool_release(pool);
  if (status) leat_target_deinitialize(target, runtime->allocator);
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

// Empties containers, for TF_Reset.
static leat_status_t reset_target(leat_string_view_t name, const char* const* names, size_t count,
                                  int64_t timeout_ms, bool* out_is_here) {
  const leat_transport_t* transport;
  leat_string_view_t rest;
  *out_is_here = !leat_client_session_is_target(name, &rest);
  if (!*out_is_here) return leat_client_session_reset(rest, names, count, timeout_ms);
  LEAT_RETURN_IF_ERROR(find_transport(name, &transport, &rest));
  if (count == 0) clear_container(LEAT_SV(""));
  for (size_t i = 0; i < count; ++i) {
    if (names[i]) clear_container(leat_string_view_from(names[i]));
  }
  return leat_ok_status();
}

// Opens a session's target: the local worker; behind a transport, a proxy of a worker; or a master
// of a cluster.
static leat_status_t open_target(const leat_runtime_t* runtime, leat_string_view_t name,
                                 const leat_session_options_t* options,
                                 leat_target_t* out_target) {
  const leat_transport_t* transport;
  leat_string_view_t rest;
  *out_target = (leat_target_t){0};
  if (leat_client_session_is_target(name, &rest)) {
    return leat_client_session_open(rest, options, runtime->allocator, out_target);
  }
  LEAT_RETURN_IF_ERROR(find_transport(name, &transport, &rest));
  LEAT_RETURN_IF_ERROR(open_local(runtime, options, out_target));
  if (!transport) return leat_ok_status();
  leat_status_t status = transport->join(rest, out_target->workers[0], runtime->ops,
                                         runtime->allocator, &out_target->workers[0]);
  if (status) leat_target_deinitialize(out_target, runtime->allocator);
  return status;
}

// ---- The runtime --------------------------------------------------------------------------------

static leat_mutex_t runtime_mutex = {PTHREAD_MUTEX_INITIALIZER};
static leat_runtime_t runtime_storage;
static _Atomic(const leat_runtime_t*) runtime_ready;

static leat_status_t register_ops(leat_op_registry_t* registry) {
  for (int i = 0; leat_op_families[i]; ++i) {
    const leat_op_family_t* family = leat_op_families[i];
    LEAT_RETURN_IF_ERROR(leat_op_registry_add_family(registry, family->name, family->ops));
    const struct leat_rewrite_rule_s* const* rules = family->rules;
    for (; *rules; ++rules) {
      LEAT_RETURN_IF_ERROR(leat_op_registry_add_rules(registry, *rules));
    }
  }
  return leat_ok_status();
}

static leat_status_t register_kernels(leat_kernel_registry_t* registry) {
  for (int i = 0; leat_op_families[i]; ++i) {
    for (const leat_kernel_row_t* const* rows = leat_op_families[i]->kernels; *rows; ++rows) {
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
                              .reset_target = reset_target};
  leat_status_t status = leat_op_registry_create(runtime->allocator, &runtime->ops);
  if (!status) status = leat_kernel_registry_create(runtime->allocator, &runtime->kernels);
  if (!status) status = register_ops(runtime->ops);
  if (status) {
    leat_op_registry_free(runtime->ops);
    leat_kernel_registry_free(runtime->kernels);
    return status;
  }
  leat_op_registry_defer(runtime->ops, leat_declared_ops);
  leat_kernel_registry_defer(runtime->kernels, register_kernels);
  leat_variant_kinds_set(kVariantKinds, LEAT_ARRAY_SIZE(kVariantKinds));
  leat_gpu_source_install();
  leat_remote_carrier_set(&leat_remote_carrier_rpc);
  leat_recording_begin_process();
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
