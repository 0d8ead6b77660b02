// A device of a plug-in behind the library's interface. It has three streams:
//
//   in       copies from the host     waits for the kernels before it; later kernels wait for it
//   kernels  what TF_GetStream gives
//   out      copies to the host       waits for the kernels before it
//
// All calls only enqueue. So a tensor of the device may be given to the next kernel or copy, or be
// released, as soon as the call that makes or reads it has returned: its next use, and the next use
// of its memory, are enqueued behind. What a copy reads and writes is held until it has ended.
//
// The end of work is told by an event that is recorded behind it. A thread of the device waits for
// the events in the order in which they were recorded, and has the pool call whoever waits. Since
// no work on a stream waits for the host, each event comes. A copy into the device that fails,
// which nobody waits for, makes the next synchronization fail, and thereby the step.
#include "capi/plugin/plugin_device.h"

#include <string.h>

#include "base/checked.h"
#include "base/log.h"
#include "base/random.h"
#include "base/thread.h"

// A pending end of work.
typedef struct ending_s {
  struct ending_s* next;
  struct plugin_device_s* device;
  SP_Event event;
  SP_Stream stream;
  leat_tensor_t from, to;      // held meanwhile
  leat_device_done_fn_t done;  // NULL: nobody waits
  void* done_data;
  leat_status_t status;
} ending_t;

typedef struct plugin_device_s {
  leat_device_t base;
  const SP_StreamExecutor* executor;
  const SP_Device* sp;
  leat_plugin_memory_t* memory;
  SP_Stream kernels, in, out;  // NULL: not yet created
  leat_mutex_t mutex;          // guards the rest, and the order of calls that enqueue a copy
  leat_condition_t condition;
  ending_t *first, *last;
  leat_status_t failure;  // of copies into the device since the last synchronization
  bool stopping, has_thread;
  leat_thread_t thread;
} plugin_device_t;

// ---- Ends of work -------------------------------------------------------------------------------

static void finish(void* data) {
  ending_t* ending = data;
  const leat_device_done_fn_t done = ending->done;
  void* done_data = ending->done_data;
  leat_status_t status = ending->status;
  leat_tensor_release(&ending->from);
  leat_tensor_release(&ending->to);
  leat_allocator_free(leat_allocator_system(), ending);
  done(done_data, status);
}

// Blocks until the event has come, and says whether the work before it succeeded.
static leat_status_t wait_for(const plugin_device_t* d, const ending_t* ending) {
  TF_Status status = {0};
  d->executor->block_host_for_event(d->sp, ending->event, &status);
  leat_status_t result = leat_capi_status_take(&status);
  const SE_EventStatus state = d->executor->get_event_status(d->sp, ending->event);
  if (!result && state != SE_EVENT_COMPLETE && state != SE_EVENT_PENDING) {
    result = leat_make_status(LEAT_INTERNAL, "Work on device %.*s failed: its event has status %d",
                              LEAT_SV_ARG(d->base.name), (int)state);
  }
  if (!result) {
    d->executor->get_stream_status(d->sp, ending->stream, &status);
    result = leat_capi_status_take(&status);
  }
  d->executor->destroy_event(d->sp, ending->event);
  return leat_status_annotate(result, "Work on device %.*s failed", LEAT_SV_ARG(d->base.name));
}

// Takes an ending that has come out of the list and tells of it. Called with the mutex held.
static void end_first(plugin_device_t* d, ending_t* ending, leat_status_t status) {
  d->first = ending->next;
  if (!d->first) d->last = NULL;
  if (!ending->done) {
    d->failure = leat_status_join(d->failure, status);
  } else if (ending->from.dtype) {
    ending->status = status;
  } else {  // a synchronization
    ending->status = leat_status_join(status, d->failure);
    d->failure = leat_ok_status();
  }
}

static void ignore(void* data, leat_status_t status) { leat_status_free(status); }

static void run_thread(void* data) {
  plugin_device_t* d = data;
  leat_mutex_lock(&d->mutex);
  for (;;) {
    while (!d->first && !d->stopping) leat_condition_wait(&d->condition, &d->mutex);
    ending_t* ending = d->first;
    if (!ending) break;
    leat_mutex_unlock(&d->mutex);
    leat_status_t status = wait_for(d, ending);
    leat_mutex_lock(&d->mutex);
    end_first(d, ending, status);
    leat_mutex_unlock(&d->mutex);
    const bool is_waited_for = ending->done != NULL;
    if (!is_waited_for) ending->done = ignore;
    if (is_waited_for && d->base.pool) {
      leat_thread_pool_schedule(d->base.pool, finish, ending);
    } else {
      finish(ending);
    }
    leat_mutex_lock(&d->mutex);
  }
  leat_mutex_unlock(&d->mutex);
}

// Records an event on the ending's stream and appends the ending, which is taken where this
// succeeds. Called with the mutex held.
static leat_status_t append(plugin_device_t* d, ending_t* ending) {
  TF_Status status = {0};
  d->executor->create_event(d->sp, &ending->event, &status);
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  d->executor->record_event(d->sp, ending->stream, ending->event, &status);
  leat_status_t result = leat_capi_status_take(&status);
  if (result) {
    d->executor->destroy_event(d->sp, ending->event);
    return result;
  }
  if (d->last) {
    d->last->next = ending;
  } else {
    d->first = ending;
  }
  d->last = ending;
  leat_condition_notify_all(&d->condition);
  return leat_ok_status();
}

static leat_status_t synchronize_all(const plugin_device_t* d) {
  TF_Status status = {0};
  d->executor->synchronize_all_activity(d->sp, &status);
  return leat_capi_status_take(&status);
}

static void synchronize(leat_device_t* self, leat_device_done_fn_t done, void* data) {
  plugin_device_t* d = (plugin_device_t*)self;
  ending_t* ending = leat_capi_allocate(sizeof *ending);
  leat_status_t status =
      ending ? leat_ok_status()
             : leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a synchronization ran out");
  if (!status) {
    *ending = (ending_t){.device = d, .stream = d->kernels, .done = done, .done_data = data};
    leat_mutex_lock(&d->mutex);
    status = append(d, ending);
    leat_mutex_unlock(&d->mutex);
  }
  if (!status) return;
  // Nobody may go on while work is under way, also where it cannot be waited for in the usual way.
  leat_status_free(synchronize_all(d));
  leat_allocator_free(leat_allocator_system(), ending);
  done(data, status);
}

// ---- Copies -------------------------------------------------------------------------------------

static SP_DeviceMemoryBase block_of(const leat_tensor_t* tensor) {
  return (SP_DeviceMemoryBase){.struct_size = SP_DEVICE_MEMORY_BASE_STRUCT_SIZE,
                               .opaque = tensor->data,
                               .size = leat_tensor_size_bytes(tensor)};
}

static leat_status_t order(const plugin_device_t* d, SP_Stream later, SP_Stream earlier) {
  TF_Status status = {0};
  d->executor->create_stream_dependency(d->sp, later, earlier, &status);
  return leat_capi_status_take(&status);
}

static leat_status_t enqueue_in(plugin_device_t* d, const ending_t* ending) {
  TF_Status status = {0};
  SP_DeviceMemoryBase to = block_of(&ending->to);
  LEAT_RETURN_IF_ERROR(order(d, d->in, d->kernels));
  d->executor->memcpy_htod(d->sp, d->in, &to, ending->from.data, to.size, &status);
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  return order(d, d->kernels, d->in);
}

static leat_status_t enqueue_out(plugin_device_t* d, const ending_t* ending) {
  TF_Status status = {0};
  const SP_DeviceMemoryBase from = block_of(&ending->from);
  LEAT_RETURN_IF_ERROR(order(d, d->out, d->kernels));
  d->executor->memcpy_dtoh(d->sp, d->out, ending->to.data, &from, from.size, &status);
  return leat_capi_status_take(&status);
}

static void free_ending(ending_t* ending) {
  leat_tensor_release(&ending->from);
  leat_tensor_release(&ending->to);
  leat_allocator_free(leat_allocator_system(), ending);
}

// Enqueues a copy of |from| to |to|, whose memory exists. After a failure nothing is under way.
static leat_status_t copy(plugin_device_t* d, bool is_out, const leat_tensor_t* from,
                          const leat_tensor_t* to, leat_device_done_fn_t done, void* data) {
  ending_t* ending = leat_capi_allocate(sizeof *ending);
  if (!ending) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a copy ran out");
  *ending = (ending_t){.device = d,
                       .stream = is_out ? d->out : d->in,
                       .from = leat_tensor_share(from),
                       .to = leat_tensor_share(to),
                       .done = done,
                       .done_data = data};
  leat_mutex_lock(&d->mutex);
  leat_status_t status = is_out ? enqueue_out(d, ending) : enqueue_in(d, ending);
  if (!status) status = append(d, ending);
  leat_mutex_unlock(&d->mutex);
  if (!status) return status;
  leat_status_free(synchronize_all(d));
  free_ending(ending);
  return leat_status_annotate(status, "A copy %s device %.*s failed", is_out ? "from" : "to",
                              LEAT_SV_ARG(d->base.name));
}

// true for strings and handles, which stay in the host's memory: |to| shares |from|.
static bool stays(const leat_tensor_t* from, leat_tensor_t* to) {
  if (!leat_dtype_in(from->dtype, LEAT_DTYPES_OBJECT)) return false;
  leat_tensor_release(to);
  *to = leat_tensor_share(from);
  return true;
}

static leat_status_t copy_from_host(leat_device_t* self, const leat_tensor_t* host,
                                    leat_tensor_t* device_tensor) {
  const bool is_fresh = device_tensor->dtype == 0;
  if (stays(host, device_tensor)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_device_prepare_target(host, self->memory, device_tensor));
  if (leat_tensor_size_bytes(host) == 0) return leat_ok_status();
  leat_status_t status =
      copy((plugin_device_t*)self, false, host, device_tensor, NULL, NULL);
  if (status && is_fresh) leat_tensor_release(device_tensor);
  return status;
}

static leat_status_t copy_to_host(leat_device_t* self, const leat_tensor_t* device_tensor,
                                  leat_tensor_t* host, leat_device_done_fn_t done, void* data) {
  const bool is_fresh = host->dtype == 0;
  if (stays(device_tensor, host)) {
    done(data, leat_ok_status());
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_device_prepare_target(device_tensor, self->host_memory, host));
  if (leat_tensor_size_bytes(device_tensor) == 0) {
    done(data, leat_ok_status());
    return leat_ok_status();
  }
  leat_status_t status = copy((plugin_device_t*)self, true, device_tensor, host, done, data);
  if (status && is_fresh) leat_tensor_release(host);
  return status;
}

// ---- Life ---------------------------------------------------------------------------------------

static void destroy(leat_device_t* self) {
  plugin_device_t* d = (plugin_device_t*)self;
  leat_mutex_lock(&d->mutex);
  d->stopping = true;
  leat_condition_notify_all(&d->condition);
  leat_mutex_unlock(&d->mutex);
  if (d->has_thread) leat_thread_join(d->thread);
  leat_status_free(synchronize_all(d));
  SP_Stream streams[] = {d->out, d->in, d->kernels};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(streams); ++i) {
    if (streams[i]) d->executor->destroy_stream(d->sp, streams[i]);
  }
  if (d->failure) {
    leat_log(LEAT_LOG_WARNING, "Device %.*s: %s", LEAT_SV_ARG(self->name),
             leat_status_message(d->failure));
  }
  leat_status_free(d->failure);
  leat_condition_deinitialize(&d->condition);
  leat_mutex_deinitialize(&d->mutex);
  leat_plugin_memory_release(d->memory);
  leat_thread_pool_release(self->pool);
  leat_allocator_free(leat_allocator_system(), d);
}

static const leat_device_vtable_t kVtable = {copy_from_host, copy_to_host, synchronize, destroy};

// The bytes that a session may take, by TensorFlow's rule: a fraction of all where one was asked
// for, else what is free but for a part that is left to the system.
static leat_status_t find_limit(const leat_platform_t* platform, const leat_hardware_t* hardware,
                                double fraction, int64_t* out_bytes) {
  int64_t free_bytes = 0, total_bytes = 0;
  if (!platform->executor.device_memory_usage(&hardware->device, &free_bytes, &total_bytes)) {
    return leat_make_status(LEAT_UNKNOWN,
                            "Failed to query available memory for PluggableDevice %d",
                            (int)hardware->device.ordinal);
  }
  if (fraction > 1) {
    return leat_make_status(LEAT_INTERNAL, "Unified memory is not supported yet.");
  }
  const int64_t for_system = free_bytes < INT64_C(1) << 31
                                 ? INT64_C(255) << 20
                                 : LEAT_MAX(INT64_C(300) << 20,
                                            (int64_t)(0.06 * (double)free_bytes));
  *out_bytes = fraction > 0              ? (int64_t)((double)total_bytes * fraction)
               : for_system < free_bytes ? free_bytes - for_system
                                         : free_bytes;
  return leat_ok_status();
}

static leat_speed_t find_speed(const leat_platform_t* platform, const leat_hardware_t* hardware) {
  const SP_DeviceFns* fns = &platform->device_fns;
  const double gflops = fns->get_gflops ? fns->get_gflops(&hardware->device) : -1;
  const int64_t bandwidth =
      fns->get_memory_bandwidth ? fns->get_memory_bandwidth(&hardware->device) : -1;
  return (leat_speed_t){.flops_per_ns = gflops > 0 ? gflops : 1000,
                        .bytes_per_ns = bandwidth > 0 ? (double)bandwidth / 1e9 : 100,
                        .start_ns = 5000,
                        .transfer_bytes_per_ns = 10,
                        .transfer_ns = 10000};
}

static leat_status_t open(plugin_device_t* d, leat_platform_t* platform, leat_hardware_t* hardware,
                          const leat_device_request_t* request) {
  TF_Status status = {0};
  leat_device_t* base = &d->base;
  LEAT_RETURN_IF_ERROR(
      find_limit(platform, hardware, request->memory_fraction, &base->memory_limit_bytes));
  LEAT_RETURN_IF_ERROR(
      leat_plugin_memory_create(platform, hardware, base->memory_limit_bytes, &d->memory));
  base->memory = leat_plugin_memory_device(d->memory);
  base->host_memory = leat_plugin_memory_host(d->memory);
  base->speed = find_speed(platform, hardware);
  SP_Stream* streams[] = {&d->kernels, &d->in, &d->out};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(streams); ++i) {
    d->executor->create_stream(d->sp, streams[i], &status);
    leat_status_t result = leat_capi_status_take(&status);
    if (result) *streams[i] = NULL;
    LEAT_RETURN_IF_ERROR(result);
  }
  LEAT_RETURN_IF_ERROR(leat_thread_start("plugin device", run_thread, d, &d->thread));
  d->has_thread = true;
  return leat_ok_status();
}

leat_status_t leat_plugin_device_create(leat_platform_t* platform, leat_hardware_t* hardware,
                                        const leat_device_request_t* request,
                                        leat_device_t** out_device) {
  plugin_device_t* d = leat_capi_allocate(sizeof *d + request->name.size + 1);
  if (!d) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a device ran out");
  char* name = (char*)(d + 1);
  memcpy(name, request->name.data, request->name.size);
  d->base = (leat_device_t){.vtable = &kVtable,
                            .references = 1,
                            .name = leat_string_view_make(name, request->name.size),
                            .type = leat_string_view_from(platform->type.name),
                            .incarnation = leat_random_seed() | 1,
                            .pool = request->pool};
  d->executor = &platform->executor;
  d->sp = &hardware->device;
  if (request->pool) leat_thread_pool_retain(request->pool);
  leat_mutex_initialize(&d->mutex);
  leat_condition_initialize(&d->condition);
  leat_status_t status = open(d, platform, hardware, request);
  if (status) {
    destroy(&d->base);
    return status;
  }
  *out_device = &d->base;
  return leat_ok_status();
}

// ---- For kernels --------------------------------------------------------------------------------

SP_Stream leat_plugin_device_stream(const leat_device_t* device) {
  return device->vtable == &kVtable ? ((const plugin_device_t*)device)->kernels : NULL;
}

leat_status_t leat_plugin_device_copy(leat_device_t* device, const leat_tensor_t* from,
                                      leat_tensor_t* to) {
  plugin_device_t* d = (plugin_device_t*)device;
  TF_Status status = {0};
  const SP_DeviceMemoryBase source = block_of(from);
  SP_DeviceMemoryBase target = block_of(to);
  LEAT_DCHECK(device->vtable == &kVtable && source.size == target.size);
  if (source.size == 0) return leat_ok_status();
  if (!d->executor->memcpy_dtod) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "A copy within device %.*s failed: 'memcpy_dtod' field in "
                            "SP_StreamExecutor is not set",
                            LEAT_SV_ARG(device->name));
  }
  d->executor->memcpy_dtod(d->sp, d->kernels, &target, &source, source.size, &status);
  return leat_capi_status_take(&status);
}

static bool has_timers(const plugin_device_t* d) {
  const SP_StreamExecutor* executor = d->executor;
  return executor->create_timer && executor->start_timer && executor->stop_timer &&
         executor->destroy_timer && leat_plugin_memory_platform(d->memory)->timer_fns.nanoseconds;
}

leat_status_t leat_plugin_device_start_timer(leat_device_t* device, SP_Timer* out_timer) {
  plugin_device_t* d = (plugin_device_t*)device;
  TF_Status status = {0};
  *out_timer = NULL;
  if (!has_timers(d)) return leat_ok_status();
  d->executor->create_timer(d->sp, out_timer, &status);
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  if (!*out_timer) return leat_ok_status();
  d->executor->start_timer(d->sp, d->kernels, *out_timer, &status);
  leat_status_t result = leat_capi_status_take(&status);
  if (!result) return result;
  d->executor->destroy_timer(d->sp, *out_timer);
  *out_timer = NULL;
  return result;
}

// Blocks until the stream for kernels has ended what it has got.
static leat_status_t wait_for_kernels(plugin_device_t* d) {
  TF_Status status = {0};
  SP_Event event = NULL;
  if (d->executor->block_host_until_done) {
    d->executor->block_host_until_done(d->sp, d->kernels, &status);
    return leat_capi_status_take(&status);
  }
  d->executor->create_event(d->sp, &event, &status);
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  d->executor->record_event(d->sp, d->kernels, event, &status);
  leat_status_t result = leat_capi_status_take(&status);
  if (!result) {
    d->executor->block_host_for_event(d->sp, event, &status);
    result = leat_capi_status_take(&status);
  }
  d->executor->destroy_event(d->sp, event);
  return result;
}

leat_status_t leat_plugin_device_stop_timer(leat_device_t* device, SP_Timer timer,
                                            int64_t* out_ns) {
  plugin_device_t* d = (plugin_device_t*)device;
  const leat_platform_t* platform = leat_plugin_memory_platform(d->memory);
  TF_Status status = {0};
  if (!timer) return wait_for_kernels(d);
  d->executor->stop_timer(d->sp, d->kernels, timer, &status);
  leat_status_t result = leat_capi_status_take(&status);
  if (!result) result = wait_for_kernels(d);
  if (!result) *out_ns = (int64_t)platform->timer_fns.nanoseconds(timer);
  d->executor->destroy_timer(d->sp, timer);
  return result;
}
