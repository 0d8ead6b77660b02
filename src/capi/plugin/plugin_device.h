// Devices of plug-ins (experimental/stream_executor/stream_executor.h) as devices of the library. A
// platform is what SE_InitPlugin gave: a kind of devices. It makes the hardware behind an ordinal
// once, and each session opens devices of its own on it, with streams and memory of their own.
//
//   platform.c      SE_InitPlugin ─▶ leat_platform_t ─▶ device/device.h's list of kinds
//   plugin_device.c leat_platform_t, ordinal ─▶ leat_device_t: copies, streams, ends of work
//   plugin_memory.c blocks of the device's memory, and of the host's that it copies from
#ifndef LEAT_CAPI_PLUGIN_PLUGIN_DEVICE_H_
#define LEAT_CAPI_PLUGIN_PLUGIN_DEVICE_H_

#include "capi/plugin/plugin.h"
#include "tensorflow/c/experimental/stream_executor/stream_executor.h"

// A plug-in of a later version may have more members than are known here, and fills them in; there
// is room for them.
#define LEAT_ROOM_FOR(type, name) \
  union {                         \
    type name;                    \
    char name##_room[1024];       \
  }

// A kind of devices. It stays for the life of the process.
typedef struct leat_platform_s {
  leat_device_type_t type;
  LEAT_ROOM_FOR(SP_Platform, platform);
  LEAT_ROOM_FOR(SP_PlatformFns, fns);
  LEAT_ROOM_FOR(SP_DeviceFns, device_fns);
  LEAT_ROOM_FOR(SP_StreamExecutor, executor);
  LEAT_ROOM_FOR(SP_TimerFns, timer_fns);
  // By ordinal; NULL: not yet made.
  struct leat_hardware_s* hardware[LEAT_SESSION_MAX_ACCELERATORS];
} leat_platform_t;

// What the plug-in made for an ordinal. It stays for the life of the process.
typedef struct leat_hardware_s {
  LEAT_ROOM_FOR(SP_Device, device);
} leat_hardware_t;

typedef void (*leat_init_platform_fn_t)(SE_PlatformRegistrationParams* params, TF_Status* status);
// Has a plug-in's SE_InitPlugin describe its platform, and registers that. FAILED_PRECONDITION
// where something that must be set is not, ALREADY_EXISTS where there are devices of its type.
LEAT_MUST_USE leat_status_t leat_platform_register(leat_init_platform_fn_t initialize);
// FAILED_PRECONDITION unless |size|, the struct_size that a plug-in gave to a struct |name|, is at
// least |least| bytes; |constant| is what it should be set to.
LEAT_MUST_USE leat_status_t leat_plugin_check_size(size_t size, size_t least, const char* name,
                                                   const char* constant);
// FAILED_PRECONDITION unless |is_set|, whether |member| of the struct |name| is set.
LEAT_MUST_USE leat_status_t leat_plugin_check_member(bool is_set, const char* member,
                                                     const char* name);
// FAILED_PRECONDITION unless |type| is a name of capitals and underscores.
LEAT_MUST_USE leat_status_t leat_plugin_check_type(const char* type);

// ---- Memory -------------------------------------------------------------------------------------

// Two sources of blocks: the device's memory, and the host's that the device copies from and to.
// Reference-counted: the device has a reference, and each block in use. Blocks that come back are
// kept, if the platform asks for that, and may be given out at once: the next owner's work comes
// behind the former's on the device's streams.
typedef struct leat_plugin_memory_s leat_plugin_memory_t;
LEAT_MUST_USE leat_status_t leat_plugin_memory_create(leat_platform_t* platform,
                                                      leat_hardware_t* hardware,
                                                      int64_t limit_bytes,
                                                      leat_plugin_memory_t** out_memory);
void leat_plugin_memory_release(leat_plugin_memory_t* memory);  // NULL is allowed
const leat_platform_t* leat_plugin_memory_platform(const leat_plugin_memory_t* memory);
leat_buffer_source_t* leat_plugin_memory_device(leat_plugin_memory_t* memory);
leat_buffer_source_t* leat_plugin_memory_host(leat_plugin_memory_t* memory);

// ---- Devices ------------------------------------------------------------------------------------

// Opens a device; see leat_device_type_t.create.
LEAT_MUST_USE leat_status_t leat_plugin_device_create(leat_platform_t* platform,
                                                      leat_hardware_t* hardware,
                                                      const leat_device_request_t* request,
                                                      leat_device_t** out_device);
// The stream for kernels; NULL: |device| is of no plug-in.
SP_Stream leat_plugin_device_stream(const leat_device_t* device);
// Copies within a plug-in's device, on the stream for kernels. |to| has the type and shape of
// |from|. UNIMPLEMENTED where the plug-in has no such copy.
LEAT_MUST_USE leat_status_t leat_plugin_device_copy(leat_device_t* device,
                                                    const leat_tensor_t* from, leat_tensor_t* to);
// Measures what is enqueued on the stream for kernels between the two calls. The second waits for
// it and ends |timer|. A plug-in without timers leaves |*out_timer| NULL, and |*out_ns| then stays
// as it was.
LEAT_MUST_USE leat_status_t leat_plugin_device_start_timer(leat_device_t* device,
                                                           SP_Timer* out_timer);
LEAT_MUST_USE leat_status_t leat_plugin_device_stop_timer(leat_device_t* device, SP_Timer timer,
                                                          int64_t* out_ns);

#endif  // LEAT_CAPI_PLUGIN_PLUGIN_DEVICE_H_
