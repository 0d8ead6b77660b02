// A device, as another project would bring it: a plug-in that knows TensorFlow's public headers
// only, so that it builds against those as well and loads there too. It is linked against nothing:
// the program that loads it has the functions. The device is the simulated accelerator of
// accelerator.inc; what it computes is in npu_kernels.inc.
//
//   SE_InitPlugin     the platform "SIMULATED", whose devices are called NPU
//   TF_InitKernel     kernels for NPU
//   TF_InitProfiler   when which kernel ran
//
// The rest is for the test. The environment variable NPU_FAIL names a function that fails whenever
// it is called: "allocate", "create_stream", "memcpy_htod", "memcpy_dtoh", "record_event", "copy"
// (a copy that fails when it runs), "event" (an event that says that it failed), "struct_size" (a
// struct that says that it is empty) or "timer" (there is none, which is no failure). With NPU_SLOW
// kernels take long and copies do not. NPU_PLAIN asks the library to keep no memory. npu_objects()
// tells what the library has not given back, npu_bytes() how many bytes of the device it asked for
// last.
#include <stdatomic.h>
#include <stdio.h>

#include "accelerator.inc"
#include "tensorflow/c/experimental/pluggable_profiler/pluggable_profiler.h"
#include "tensorflow/c/experimental/stream_executor/stream_executor.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/kernels_experimental.h"

static bool shall_fail(const char* function) {
  const char* name = getenv("NPU_FAIL");
  return name && strcmp(name, function) == 0;
}

static void report(bool succeeded, const char* function, TF_Status* status) {
  if (shall_fail(function)) succeeded = false;
  TF_SetStatus(status, succeeded ? TF_OK : TF_RESOURCE_EXHAUSTED, succeeded ? "" : function);
}

// Blocks of the device's memory and of the host's, streams, events and timers that the library has.
static atomic_int objects;

static atomic_uint_fast64_t last_bytes;

__attribute__((visibility("default"))) int npu_objects(void) { return objects; }

__attribute__((visibility("default"))) uint64_t npu_bytes(void) { return last_bytes; }

// Notes that the library has |object| now, unless it is NULL.
static void* counted(void* object) {
  objects += object != NULL;
  return object;
}

static accelerator_t* accelerator_of(const SP_Device* device) { return device->device_handle; }

// ---- Memory -------------------------------------------------------------------------------------

static void allocate(const SP_Device* device, uint64_t size, int64_t memory_space,
                     SP_DeviceMemoryBase* mem) {
  mem->struct_size = SP_DEVICE_MEMORY_BASE_STRUCT_SIZE;
  mem->opaque =
      shall_fail("allocate") ? NULL : counted(accelerator_allocate(accelerator_of(device), size));
  mem->size = size;
  last_bytes = size;
}

// Work that uses the block may be under way.
static void deallocate(const SP_Device* device, SP_DeviceMemoryBase* memory) {
  streams_wait();
  accelerator_free(accelerator_of(device), memory->opaque);
  memory->opaque = NULL;
  --objects;
}

static void* host_memory_allocate(const SP_Device* device, uint64_t size) {
  return counted(aligned_alloc(64, (size + 63) / 64 * 64));
}

static void host_memory_deallocate(const SP_Device* device, void* mem) {
  free(mem);
  --objects;
}

static TF_Bool get_allocator_stats(const SP_Device* device, SP_AllocatorStats* stats) {
  accelerator_t* a = accelerator_of(device);
  pthread_mutex_lock(&a->mutex);
  *stats = (SP_AllocatorStats){.struct_size = SP_ALLOCATORSTATS_STRUCT_SIZE,
                               .num_allocs = a->allocations,
                               .bytes_in_use = a->used_bytes,
                               .peak_bytes_in_use = a->peak_bytes,
                               .largest_alloc_size = a->largest_bytes,
                               .has_bytes_limit = 1,
                               .bytes_limit = (int64_t)MEMORY_BYTES};
  pthread_mutex_unlock(&a->mutex);
  return 1;
}

static TF_Bool device_memory_usage(const SP_Device* device, int64_t* free_bytes,
                                   int64_t* total_bytes) {
  accelerator_t* a = accelerator_of(device);
  pthread_mutex_lock(&a->mutex);
  *total_bytes = (int64_t)MEMORY_BYTES;
  *free_bytes = *total_bytes - a->used_bytes;
  pthread_mutex_unlock(&a->mutex);
  return 1;
}

// ---- Streams, events, timers --------------------------------------------------------------------

static void create_stream(const SP_Device* device, SP_Stream* stream, TF_Status* status) {
  *stream = shall_fail("create_stream") ? NULL : counted(stream_create());
  report(*stream != NULL, "create_stream", status);
}

static void destroy_stream(const SP_Device* device, SP_Stream stream) {
  stream_destroy(stream);
  --objects;
}

static void create_stream_dependency(const SP_Device* device, SP_Stream dependent,
                                     SP_Stream other, TF_Status* status) {
  event_t event;
  event_record(&event, other);
  report(stream_await(dependent, &event), "create_stream_dependency", status);
}

static void get_stream_status(const SP_Device* device, SP_Stream stream, TF_Status* status) {
  const char* failure = stream_take_failure(stream);
  TF_SetStatus(status, failure ? TF_INTERNAL : TF_OK, failure ? failure : "");
}

static void create_event(const SP_Device* device, SP_Event* event, TF_Status* status) {
  *event = shall_fail("create_event") ? NULL : counted(calloc(1, sizeof **event));
  report(*event != NULL, "create_event", status);
}

static void destroy_event(const SP_Device* device, SP_Event event) {
  free(event);
  --objects;
}

static SE_EventStatus get_event_status(const SP_Device* device, SP_Event event) {
  if (shall_fail("event")) return SE_EVENT_ERROR;
  return event_has_come(event) ? SE_EVENT_COMPLETE : SE_EVENT_PENDING;
}

static void record_event(const SP_Device* device, SP_Stream stream, SP_Event event,
                         TF_Status* status) {
  event_record(event, stream);
  report(true, "record_event", status);
}

static void wait_for_event(const SP_Device* const device, SP_Stream stream, SP_Event event,
                           TF_Status* const status) {
  report(stream_await(stream, event), "wait_for_event", status);
}

static void block_host_for_event(const SP_Device* device, SP_Event event, TF_Status* status) {
  event_wait(event);
  report(true, "block_host_for_event", status);
}

static void block_host_until_done(const SP_Device* device, SP_Stream stream, TF_Status* status) {
  stream_wait(stream, stream_position(stream));
  report(true, "block_host_until_done", status);
}

struct SP_Timer_st {
  uint64_t start, stop;
};

static void note_time(stream_t* stream, void* data) { **(uint64_t**)data = now_ns(); }

static void create_timer(const SP_Device* device, SP_Timer* timer, TF_Status* status) {
  if (shall_fail("timer")) return;
  *timer = counted(calloc(1, sizeof **timer));
  report(*timer != NULL, "create_timer", status);
}

static void destroy_timer(const SP_Device* device, SP_Timer timer) {
  free(timer);
  --objects;
}

static void start_timer(const SP_Device* device, SP_Stream stream, SP_Timer timer,
                        TF_Status* status) {
  uint64_t* place = &timer->start;
  report(stream_enqueue(stream, note_time, &place, sizeof place), "start_timer", status);
}

static void stop_timer(const SP_Device* device, SP_Stream stream, SP_Timer timer,
                       TF_Status* status) {
  uint64_t* place = &timer->stop;
  report(stream_enqueue(stream, note_time, &place, sizeof place), "stop_timer", status);
}

static uint64_t nanoseconds(SP_Timer timer) { return timer->stop - timer->start; }

// ---- Copies -------------------------------------------------------------------------------------

typedef struct copy_t {
  void* to;
  const void* from;
  uint64_t size;
} copy_t;

static void run_copy(stream_t* stream, void* data) {
  const copy_t* copy = data;
  memcpy(inside(copy->to), inside(copy->from), copy->size);
  if (shall_fail("copy")) stream_fail(stream, "the accelerator lost a copy");
}

static void enqueue_copy(SP_Stream stream, void* to, const void* from, uint64_t size,
                         const char* function, TF_Status* status) {
  const copy_t copy = {to, from, size};
  if (shall_fail(function)) {
    report(false, function, status);
  } else {
    report(stream_enqueue(stream, run_copy, &copy, sizeof copy), function, status);
  }
}

static void memcpy_dtoh(const SP_Device* device, SP_Stream stream, void* host_dst,
                        const SP_DeviceMemoryBase* device_src, uint64_t size, TF_Status* status) {
  enqueue_copy(stream, host_dst, device_src->opaque, size, "memcpy_dtoh", status);
}

static void memcpy_htod(const SP_Device* device, SP_Stream stream,
                        SP_DeviceMemoryBase* device_dst, const void* host_src, uint64_t size,
                        TF_Status* status) {
  enqueue_copy(stream, device_dst->opaque, host_src, size, "memcpy_htod", status);
}

static void memcpy_dtod(const SP_Device* device, SP_Stream stream,
                        SP_DeviceMemoryBase* device_dst, const SP_DeviceMemoryBase* device_src,
                        uint64_t size, TF_Status* status) {
  enqueue_copy(stream, device_dst->opaque, device_src->opaque, size, "memcpy_dtod", status);
}

static void sync_memcpy_dtoh(const SP_Device* device, void* host_dst,
                             const SP_DeviceMemoryBase* device_src, uint64_t size,
                             TF_Status* status) {
  memcpy(host_dst, inside(device_src->opaque), size);
  report(true, "sync_memcpy_dtoh", status);
}

static void sync_memcpy_htod(const SP_Device* device, SP_DeviceMemoryBase* device_dst,
                             const void* host_src, uint64_t size, TF_Status* status) {
  memcpy(inside(device_dst->opaque), host_src, size);
  report(true, "sync_memcpy_htod", status);
}

static void sync_memcpy_dtod(const SP_Device* device, SP_DeviceMemoryBase* device_dst,
                             const SP_DeviceMemoryBase* device_src, uint64_t size,
                             TF_Status* status) {
  memcpy(inside(device_dst->opaque), inside(device_src->opaque), size);
  report(true, "sync_memcpy_dtod", status);
}

typedef struct fill_t {
  void* to;
  uint64_t size;
  uint32_t pattern;
} fill_t;

static void run_fill(stream_t* stream, void* data) {
  const fill_t* fill = data;
  char* to = inside(fill->to);
  for (uint64_t i = 0; i < fill->size; ++i) to[i] = (char)(fill->pattern >> i % 4 * 8);
}

static void memset32(const SP_Device* device, SP_Stream stream, SP_DeviceMemoryBase* location,
                     uint32_t pattern, uint64_t size, TF_Status* status) {
  const fill_t fill = {location->opaque, size, pattern};
  report(stream_enqueue(stream, run_fill, &fill, sizeof fill), "memset32", status);
}

static void memset8(const SP_Device* device, SP_Stream stream, SP_DeviceMemoryBase* location,
                    uint8_t pattern, uint64_t size, TF_Status* status) {
  memset32(device, stream, location, pattern * 0x01010101u, size, status);
}

static void mem_zero(const SP_Device* device, SP_Stream stream, SP_DeviceMemoryBase* location,
                     uint64_t size, TF_Status* status) {
  memset32(device, stream, location, 0, size, status);
}

static void synchronize_all_activity(const SP_Device* device, TF_Status* status) {
  streams_wait();
  report(true, "synchronize_all_activity", status);
}

typedef struct call_t {
  SE_StatusCallbackFn function;
  void* argument;
} call_t;

static void run_call(stream_t* stream, void* data) {
  const call_t* call = data;
  TF_Status* status = TF_NewStatus();
  call->function(call->argument, status);
  if (TF_GetCode(status) != TF_OK) stream_fail(stream, "a call on the host failed");
  TF_DeleteStatus(status);
}

static TF_Bool host_callback(const SP_Device* device, SP_Stream stream,
                             SE_StatusCallbackFn callback_fn, void* callback_arg) {
  const call_t call = {callback_fn, callback_arg};
  return stream_enqueue(stream, run_call, &call, sizeof call);
}

// ---- The platform -------------------------------------------------------------------------------

static void get_device_count(const SP_Platform* platform, int* device_count, TF_Status* status) {
  *device_count = DEVICES;
  report(true, "get_device_count", status);
}

static void create_device(const SP_Platform* platform, SE_CreateDeviceParams* params,
                          TF_Status* status) {
  accelerator_t* a = &accelerators[params->ordinal];
  params->device->struct_size = SP_DEVICE_STRUCT_SIZE;
  params->device->ordinal = params->ordinal;
  params->device->device_handle = a;
  params->device->hardware_name = "simulated accelerator";
  params->device->device_vendor = "nobody";
  report(accelerator_open(a), "create_device", status);
}

static void destroy_device(const SP_Platform* platform, SP_Device* device) {}

static int32_t get_numa_node(const SP_Device* device) { return -1; }
static int64_t get_memory_bandwidth(const SP_Device* device) { return INT64_C(100000000000); }
static double get_gflops(const SP_Device* device) { return 1e6; }

static void create_device_fns(const SP_Platform* platform, SE_CreateDeviceFnsParams* params,
                              TF_Status* status) {
  *params->device_fns = (SP_DeviceFns){.struct_size = SP_DEVICE_FNS_STRUCT_SIZE,
                                       .get_numa_node = get_numa_node,
                                       .get_memory_bandwidth = get_memory_bandwidth,
                                       .get_gflops = get_gflops};
  report(true, "create_device_fns", status);
}

static void destroy_device_fns(const SP_Platform* platform, SP_DeviceFns* device_fns) {}

static void create_stream_executor(const SP_Platform* platform,
                                   SE_CreateStreamExecutorParams* params, TF_Status* status) {
  *params->stream_executor = (SP_StreamExecutor){
      .struct_size = shall_fail("struct_size") ? 0 : SP_STREAMEXECUTOR_STRUCT_SIZE,
      .allocate = allocate,
      .deallocate = deallocate,
      .host_memory_allocate = host_memory_allocate,
      .host_memory_deallocate = host_memory_deallocate,
      .get_allocator_stats = get_allocator_stats,
      .device_memory_usage = device_memory_usage,
      .create_stream = create_stream,
      .destroy_stream = destroy_stream,
      .create_stream_dependency = create_stream_dependency,
      .get_stream_status = get_stream_status,
      .create_event = create_event,
      .destroy_event = destroy_event,
      .get_event_status = get_event_status,
      .record_event = record_event,
      .wait_for_event = wait_for_event,
      .create_timer = create_timer,
      .destroy_timer = destroy_timer,
      .start_timer = start_timer,
      .stop_timer = stop_timer,
      .memcpy_dtoh = memcpy_dtoh,
      .memcpy_htod = memcpy_htod,
      .memcpy_dtod = memcpy_dtod,
      .sync_memcpy_dtoh = sync_memcpy_dtoh,
      .sync_memcpy_htod = sync_memcpy_htod,
      .sync_memcpy_dtod = sync_memcpy_dtod,
      .block_host_for_event = block_host_for_event,
      .block_host_until_done = block_host_until_done,
      .synchronize_all_activity = synchronize_all_activity,
      .mem_zero = mem_zero,
      .memset = memset8,
      .memset32 = memset32,
      .host_callback = host_callback};
  TF_SetStatus(status, TF_OK, "");
}

static void destroy_stream_executor(const SP_Platform* platform, SP_StreamExecutor* executor) {}

static void create_timer_fns(const SP_Platform* platform, SP_TimerFns* timer, TF_Status* status) {
  *timer = (SP_TimerFns){.struct_size = SP_TIMER_FNS_STRUCT_SIZE, .nanoseconds = nanoseconds};
  report(true, "create_timer_fns", status);
}

static void destroy_timer_fns(const SP_Platform* platform, SP_TimerFns* timer_fns) {}
static void destroy_platform(SP_Platform* platform) {}
static void destroy_platform_fns(SP_PlatformFns* platform_fns) {}

void SE_InitPlugin(SE_PlatformRegistrationParams* params, TF_Status* status) {
  params->struct_size = SE_PLATFORM_REGISTRATION_PARAMS_STRUCT_SIZE;
  *params->platform = (SP_Platform){.struct_size = SP_PLATFORM_STRUCT_SIZE,
                                    .name = "SIMULATED",
                                    .type = "NPU",
                                    .use_bfc_allocator = getenv("NPU_PLAIN") == NULL};
  *params->platform_fns =
      (SP_PlatformFns){.struct_size = SP_PLATFORM_FNS_STRUCT_SIZE,
                       .get_device_count = get_device_count,
                       .create_device = create_device,
                       .destroy_device = destroy_device,
                       .create_device_fns = create_device_fns,
                       .destroy_device_fns = destroy_device_fns,
                       .create_stream_executor = create_stream_executor,
                       .destroy_stream_executor = destroy_stream_executor,
                       .create_timer_fns = create_timer_fns,
                       .destroy_timer_fns = destroy_timer_fns};
  params->destroy_platform = destroy_platform;
  params->destroy_platform_fns = destroy_platform_fns;
  report(true, "SE_InitPlugin", status);
}

#include "npu_profiler.inc"

#include "npu_kernels.inc"
