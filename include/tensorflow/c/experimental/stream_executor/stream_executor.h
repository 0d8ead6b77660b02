// Devices in plug-ins. A library that defines SE_InitPlugin, and is loaded by
// TF_LoadPluggableDeviceLibrary, brings one platform: a kind of device with memory and streams of
// its own. Sessions and eager contexts that are made afterwards have its devices, under names such
// as "/job:localhost/replica:0/task:0/device:NPU:0"; kernels for them come by kernels.h, from the
// library's TF_InitKernel or from any other.
//
//   void SE_InitPlugin(SE_PlatformRegistrationParams* params, TF_Status* status) {
//     params->platform->struct_size = SP_PLATFORM_STRUCT_SIZE;
//     params->platform->name = "MY_NPU";  // the subtype, in messages
//     params->platform->type = "NPU";     // the type, in names of devices and of kernels
//     params->platform_fns->struct_size = SP_PLATFORM_FNS_STRUCT_SIZE;
//     params->platform_fns->get_device_count = get_device_count;
//     ...
//     params->destroy_platform = destroy_platform;
//     params->destroy_platform_fns = destroy_platform_fns;
//   }
//
// Order of calls: SE_InitPlugin, create_device_fns, create_stream_executor and create_timer_fns,
// all while the library is loaded; create_device when a session first has the device, once for each
// ordinal; then the functions of SP_StreamExecutor, from any thread and several at once. A device
// lives as long as the process.
//
// Streams: a device has a stream for kernels, which TF_GetStream gives, one for copies from the
// host and one for copies to it. A kernel enqueues its work on its stream and returns. The library
// orders copies by create_stream_dependency: a copy waits for the kernels before it, and kernels
// wait for the copies from the host before them. A step ends when what it enqueued has ended, and
// with the status that the plug-in then reports.
//
// In every struct |struct_size| is set by the library, to the size that it knows, and again by the
// plug-in, to the size that it fills in; |ext| is for later versions or, where so said, the
// plug-in's. A struct whose size is 0, or ends before a member that must be set, and a function
// that must be there and is NULL, make loading fail with TF_FAILED_PRECONDITION and a message that
// names them. Those that may be NULL are marked [optional]. Whatever sets its TF_Status makes the
// call that needed it fail: loading, opening a session, or a step. Structs belong to the library;
// texts that a plug-in puts into them must stay valid for as long as they do.

#ifndef TENSORFLOW_C_EXPERIMENTAL_STREAM_EXECUTOR_STREAM_EXECUTOR_H_
#define TENSORFLOW_C_EXPERIMENTAL_STREAM_EXECUTOR_STREAM_EXECUTOR_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_status.h"

#define SE_MAJOR 0
#define SE_MINOR 0
#define SE_PATCH 1

#ifdef __cplusplus
extern "C" {
#endif

// What a plug-in makes of them is its own matter.
typedef struct SP_Stream_st* SP_Stream;
typedef struct SP_Event_st* SP_Event;
typedef struct SP_Timer_st* SP_Timer;

// A function that a stream calls on the host, with the argument that came with it.
typedef void (*SE_StatusCallbackFn)(void* const, TF_Status* const);

typedef struct SP_TimerFns {
  size_t struct_size;
  void* ext;
  uint64_t (*nanoseconds)(SP_Timer timer);  // between start_timer and stop_timer
} SP_TimerFns;
#define SP_TIMER_FNS_STRUCT_SIZE TF_OFFSET_OF_END(SP_TimerFns, nanoseconds)

// What a device's allocator has done so far. Sizes are in bytes.
typedef struct SP_AllocatorStats {
  size_t struct_size;
  int64_t num_allocs;
  int64_t bytes_in_use;
  int64_t peak_bytes_in_use;
  int64_t largest_alloc_size;
  int8_t has_bytes_limit;  // whether the next member means something
  int64_t bytes_limit;
  int64_t bytes_reserved;
  int64_t peak_bytes_reserved;
  int8_t has_bytes_reservable_limit;
  int64_t bytes_reservable_limit;
  int64_t largest_free_block_bytes;
} SP_AllocatorStats;
#define SP_ALLOCATORSTATS_STRUCT_SIZE TF_OFFSET_OF_END(SP_AllocatorStats, largest_free_block_bytes)

typedef enum SE_EventStatus {
  SE_EVENT_UNKNOWN,  // a failure, like the next
  SE_EVENT_ERROR,
  SE_EVENT_PENDING,
  SE_EVENT_COMPLETE,
} SE_EventStatus;

// A block of the device's memory. |opaque| names it: kernels get this as the TF_TensorData of a
// tensor, plus the tensor's place in the block, and the host touches nothing there.
typedef struct SP_DeviceMemoryBase {
  size_t struct_size;
  void* ext;
  void* opaque;
  uint64_t size;     // in bytes
  uint64_t payload;  // the plug-in's
} SP_DeviceMemoryBase;
#define SP_DEVICE_MEMORY_BASE_STRUCT_SIZE TF_OFFSET_OF_END(SP_DeviceMemoryBase, payload)

typedef struct SP_Device {
  size_t struct_size;
  void* ext;  // the plug-in's
  int32_t ordinal;
  void* device_handle;        // the plug-in's
  const char* hardware_name;  // [optional] these three are for messages
  const char* device_vendor;  // [optional]
  const char* pci_bus_id;     // [optional] "0000:00:02.1"
} SP_Device;
#define SP_DEVICE_STRUCT_SIZE TF_OFFSET_OF_END(SP_Device, pci_bus_id)

typedef struct SE_CreateDeviceParams {
  size_t struct_size;
  void* ext;
  int32_t ordinal;    // from 0 on
  SP_Device* device;  // the plug-in fills it in
} SE_CreateDeviceParams;
#define SE_CREATE_DEVICE_PARAMS_STRUCT_SIZE TF_OFFSET_OF_END(SE_CreateDeviceParams, device)

// How fast the device is, for the placer that estimates. Negative: not known.
typedef struct SP_DeviceFns {
  size_t struct_size;
  void* ext;
  int32_t (*get_numa_node)(const SP_Device* device);         // [optional]
  int64_t (*get_memory_bandwidth)(const SP_Device* device);  // [optional] bytes in a second
  double (*get_gflops)(const SP_Device* device);             // [optional]
} SP_DeviceFns;
#define SP_DEVICE_FNS_STRUCT_SIZE TF_OFFSET_OF_END(SP_DeviceFns, get_gflops)

typedef struct SE_CreateDeviceFnsParams {
  size_t struct_size;
  void* ext;
  SP_DeviceFns* device_fns;  // the plug-in fills it in
} SE_CreateDeviceFnsParams;
#define SE_CREATE_DEVICE_FNS_PARAMS_STRUCT_SIZE \
  TF_OFFSET_OF_END(SE_CreateDeviceFnsParams, device_fns)

typedef struct SP_StreamExecutor {
  size_t struct_size;
  void* ext;

  // - Memory. |memory_space| is 0. A failure is a block whose |opaque| is NULL, or NULL.
  void (*allocate)(const SP_Device* device, uint64_t size, int64_t memory_space,
                   SP_DeviceMemoryBase* mem);
  void (*deallocate)(const SP_Device* device, SP_DeviceMemoryBase* memory);
  // Memory of the host from and to which the device copies without the host's help.
  void* (*host_memory_allocate)(const SP_Device* device, uint64_t size);
  void (*host_memory_deallocate)(const SP_Device* device, void* mem);
  // Must be set where the platform says that it supports unified memory. The library asks for none.
  void* (*unified_memory_allocate)(const SP_Device* device, uint64_t bytes);
  void (*unified_memory_deallocate)(const SP_Device* device, void* location);
  // Both return false where they do not know.
  TF_Bool (*get_allocator_stats)(const SP_Device* device, SP_AllocatorStats* stats);
  TF_Bool (*device_memory_usage)(const SP_Device* device, int64_t* free, int64_t* total);

  // - Streams, on each of which work runs in order.
  void (*create_stream)(const SP_Device* device, SP_Stream* stream, TF_Status* status);
  void (*destroy_stream)(const SP_Device* device, SP_Stream stream);
  // What |dependent| gets from now on waits for what |other| has got so far.
  void (*create_stream_dependency)(const SP_Device* device, SP_Stream dependent, SP_Stream other,
                                   TF_Status* status);
  // Whether work of the stream has failed; does not wait.
  void (*get_stream_status)(const SP_Device* device, SP_Stream stream, TF_Status* status);

  // - Events, which have come when the work before them on their stream has ended.
  void (*create_event)(const SP_Device* device, SP_Event* event, TF_Status* status);
  void (*destroy_event)(const SP_Device* device, SP_Event event);
  SE_EventStatus (*get_event_status)(const SP_Device* device, SP_Event event);
  void (*record_event)(const SP_Device* device, SP_Stream stream, SP_Event event,
                       TF_Status* status);
  // What the stream gets from now on waits for the event.
  void (*wait_for_event)(const SP_Device* const device, SP_Stream stream, SP_Event event,
                         TF_Status* const status);

  // - Timers, which measure work on a stream.
  void (*create_timer)(const SP_Device* device, SP_Timer* timer, TF_Status* status);
  void (*destroy_timer)(const SP_Device* device, SP_Timer timer);
  void (*start_timer)(const SP_Device* device, SP_Stream stream, SP_Timer timer,
                      TF_Status* status);
  void (*stop_timer)(const SP_Device* device, SP_Stream stream, SP_Timer timer,
                     TF_Status* status);

  // - Copies: d is the device, h the host. The first three enqueue on the stream, and both ends
  // stay as they are until the copy has ended; the sync_ ones return when it has.
  void (*memcpy_dtoh)(const SP_Device* device, SP_Stream stream, void* host_dst,
                      const SP_DeviceMemoryBase* device_src, uint64_t size, TF_Status* status);
  void (*memcpy_htod)(const SP_Device* device, SP_Stream stream, SP_DeviceMemoryBase* device_dst,
                      const void* host_src, uint64_t size, TF_Status* status);
  // [optional] Without it a kernel's copies of variables need a function of the kernel's own.
  void (*memcpy_dtod)(const SP_Device* device, SP_Stream stream, SP_DeviceMemoryBase* device_dst,
                      const SP_DeviceMemoryBase* device_src, uint64_t size, TF_Status* status);
  void (*sync_memcpy_dtoh)(const SP_Device* device, void* host_dst,
                           const SP_DeviceMemoryBase* device_src, uint64_t size,
                           TF_Status* status);
  void (*sync_memcpy_htod)(const SP_Device* device, SP_DeviceMemoryBase* device_dst,
                           const void* host_src, uint64_t size, TF_Status* status);
  // [optional]
  void (*sync_memcpy_dtod)(const SP_Device* device, SP_DeviceMemoryBase* device_dst,
                           const SP_DeviceMemoryBase* device_src, uint64_t size,
                           TF_Status* status);

  // - Waiting. All of these block the caller.
  void (*block_host_for_event)(const SP_Device* device, SP_Event event, TF_Status* status);
  // [optional] The library then waits for an event.
  void (*block_host_until_done)(const SP_Device* device, SP_Stream stream, TF_Status* status);
  void (*synchronize_all_activity)(const SP_Device* device, TF_Status* status);

  // - Filling |size| bytes, on the stream. The library calls none of these; the last two are
  // [optional].
  void (*mem_zero)(const SP_Device* device, SP_Stream stream, SP_DeviceMemoryBase* location,
                   uint64_t size, TF_Status* status);
  void (*memset)(const SP_Device* device, SP_Stream stream, SP_DeviceMemoryBase* location,
                 uint8_t pattern, uint64_t size, TF_Status* status);
  void (*memset32)(const SP_Device* device, SP_Stream stream, SP_DeviceMemoryBase* location,
                   uint32_t pattern, uint64_t size, TF_Status* status);

  // Enqueues a call on the host; false where it cannot.
  TF_Bool (*host_callback)(const SP_Device* device, SP_Stream stream,
                           SE_StatusCallbackFn callback_fn, void* callback_arg);
} SP_StreamExecutor;
#define SP_STREAMEXECUTOR_STRUCT_SIZE TF_OFFSET_OF_END(SP_StreamExecutor, host_callback)

typedef struct SE_CreateStreamExecutorParams {
  size_t struct_size;
  void* ext;
  SP_StreamExecutor* stream_executor;  // the plug-in fills it in
} SE_CreateStreamExecutorParams;
#define SE_CREATE_STREAM_EXECUTOR_PARAMS_STRUCT_SIZE \
  TF_OFFSET_OF_END(SE_CreateStreamExecutorParams, stream_executor)

typedef struct SP_Platform {
  size_t struct_size;
  void* ext;  // the plug-in's
  // Capitals and underscores, a capital first. |type| may be "GPU", but not that of devices that
  // there are already.
  const char* name;
  const char* type;
  TF_Bool supports_unified_memory;
  // Whether the library keeps blocks that are freed for the next tensors. Else each tensor is a
  // call of allocate, and its end one of deallocate, after the work that was enqueued before it.
  TF_Bool use_bfc_allocator;
  // The library always takes memory as it needs it, so that this changes nothing.
  TF_Bool force_memory_growth;
} SP_Platform;
#define SP_PLATFORM_STRUCT_SIZE TF_OFFSET_OF_END(SP_Platform, force_memory_growth)

// Those that destroy end what the plug-in allocated inside a struct, and not the struct.
typedef struct SP_PlatformFns {
  size_t struct_size;
  void* ext;
  void (*get_device_count)(const SP_Platform* platform, int* device_count, TF_Status* status);
  void (*create_device)(const SP_Platform* platform, SE_CreateDeviceParams* params,
                        TF_Status* status);
  void (*destroy_device)(const SP_Platform* platform, SP_Device* device);
  void (*create_device_fns)(const SP_Platform* platform, SE_CreateDeviceFnsParams* params,
                            TF_Status* status);
  void (*destroy_device_fns)(const SP_Platform* platform, SP_DeviceFns* device_fns);
  void (*create_stream_executor)(const SP_Platform* platform,
                                 SE_CreateStreamExecutorParams* params, TF_Status* status);
  void (*destroy_stream_executor)(const SP_Platform* platform, SP_StreamExecutor* stream_executor);
  void (*create_timer_fns)(const SP_Platform* platform, SP_TimerFns* timer, TF_Status* status);
  void (*destroy_timer_fns)(const SP_Platform* platform, SP_TimerFns* timer_fns);
} SP_PlatformFns;
#define SP_PLATFORM_FNS_STRUCT_SIZE TF_OFFSET_OF_END(SP_PlatformFns, destroy_timer_fns)

typedef struct SE_PlatformRegistrationParams {
  size_t struct_size;
  void* ext;
  int32_t major_version;  // of the library: SE_MAJOR, SE_MINOR, SE_PATCH
  int32_t minor_version;
  int32_t patch_version;
  SP_Platform* platform;  // the plug-in fills in what these two point to, and sets the functions
  SP_PlatformFns* platform_fns;
  void (*destroy_platform)(SP_Platform* platform);
  void (*destroy_platform_fns)(SP_PlatformFns* platform_fns);
} SE_PlatformRegistrationParams;
#define SE_PLATFORM_REGISTRATION_PARAMS_STRUCT_SIZE \
  TF_OFFSET_OF_END(SE_PlatformRegistrationParams, destroy_platform_fns)

// What a plug-in defines; the library has no such function.
TF_CAPI_EXPORT void SE_InitPlugin(SE_PlatformRegistrationParams* params, TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_STREAM_EXECUTOR_STREAM_EXECUTOR_H_
