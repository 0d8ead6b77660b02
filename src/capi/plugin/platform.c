// What SE_InitPlugin says of a kind of devices: its structs are checked, and become a kind that
// sessions open devices of. The plug-in is asked for all of its functions while the library is
// loaded, so that what is missing is told then. The checks and their texts are TensorFlow's, and
// two are added: a size that ends before a member that must be set is refused, and so is a type
// that there is already, where TensorFlow ends the process.
//
// The hardware behind an ordinal is made when a session first opens it and is kept, as in
// TensorFlow, because plug-ins count on it. Sessions on it do not know of each other.
#include <string.h>

#include "capi/plugin/plugin_device.h"
#include "trace/gpu_source.h"

static leat_mutex_t hardware_mutex = {PTHREAD_MUTEX_INITIALIZER};

// ---- Checks -------------------------------------------------------------------------------------

leat_status_t leat_plugin_check_size(size_t size, size_t least, const char* name,
                                     const char* constant) {
  if (size >= least) return leat_ok_status();
  if (size == 0) {
    return leat_make_status(LEAT_FAILED_PRECONDITION, "struct_size field in %s must be set to %s.",
                            name, constant);
  }
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "struct_size field in %s is %zu, must be set to %s, at least %zu.", name,
                          size, constant, least);
}

leat_status_t leat_plugin_check_member(bool is_set, const char* member, const char* name) {
  if (is_set) return leat_ok_status();
  return leat_make_status(LEAT_FAILED_PRECONDITION, "'%s' field in %s must be set.", member, name);
}

leat_status_t leat_plugin_check_type(const char* type) {
  static const char kCapitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  if (*type && *type != '_' && !type[strspn(type, kCapitals)]) return leat_ok_status();
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Device name/type '%s' must match [A-Z][A-Z_]*.", type);
}

#define CHECK_SIZE(value, struct_name, last, constant)                                        \
  LEAT_RETURN_IF_ERROR(leat_plugin_check_size(                                                \
      (value)->struct_size, TF_OFFSET_OF_END(struct_name, last), #struct_name, #constant))
#define CHECK(value, struct_name, member) \
  LEAT_RETURN_IF_ERROR(leat_plugin_check_member((value)->member != NULL, #member, #struct_name))

static leat_status_t check_platform(const SE_PlatformRegistrationParams* params) {
  const SP_Platform* platform = params->platform;
  const SP_PlatformFns* fns = params->platform_fns;
  CHECK_SIZE(params, SE_PlatformRegistrationParams, destroy_platform_fns,
             SE_PLATFORM_REGISTRATION_PARAMS_STRUCT_SIZE);
  CHECK(params, SE_PlatformRegistrationParams, destroy_platform);
  CHECK(params, SE_PlatformRegistrationParams, destroy_platform_fns);
  CHECK_SIZE(platform, SP_Platform, type, SP_PLATFORM_STRUCT_SIZE);
  CHECK(platform, SP_Platform, name);
  CHECK(platform, SP_Platform, type);
  LEAT_RETURN_IF_ERROR(leat_plugin_check_type(platform->name));
  LEAT_RETURN_IF_ERROR(leat_plugin_check_type(platform->type));
  CHECK_SIZE(fns, SP_PlatformFns, destroy_timer_fns, SP_PLATFORM_FNS_STRUCT_SIZE);
  CHECK(fns, SP_PlatformFns, get_device_count);
  CHECK(fns, SP_PlatformFns, create_device);
  CHECK(fns, SP_PlatformFns, destroy_device);
  CHECK(fns, SP_PlatformFns, create_device_fns);
  CHECK(fns, SP_PlatformFns, destroy_device_fns);
  CHECK(fns, SP_PlatformFns, create_stream_executor);
  CHECK(fns, SP_PlatformFns, destroy_stream_executor);
  return leat_ok_status();
}

// The name of each function of SP_StreamExecutor that must be there. TensorFlow 2.21 also refuses a
// plug-in without mem_zero, memset or memset32. Nothing here calls these, and plug-ins of before
// TensorFlow asked for them, of which its own sample is one, run without. Timers need not be there
// in TensorFlow either.
#define EXECUTOR_MEMBERS(X)                                                                       \
  X(allocate) X(deallocate) X(host_memory_allocate) X(host_memory_deallocate)                     \
  X(get_allocator_stats) X(device_memory_usage) X(create_stream) X(destroy_stream)                \
  X(create_stream_dependency) X(get_stream_status) X(create_event) X(destroy_event)               \
  X(get_event_status) X(record_event) X(wait_for_event) X(memcpy_dtoh) X(memcpy_htod)             \
  X(sync_memcpy_dtoh) X(sync_memcpy_htod) X(block_host_for_event) X(synchronize_all_activity)     \
  X(host_callback)

static leat_status_t check_executor(const SP_StreamExecutor* executor,
                                    const SP_Platform* platform) {
  static const struct {
    const char* name;
    size_t offset;
  } kMembers[] = {
#define MEMBER(name) {#name, offsetof(SP_StreamExecutor, name)},
      EXECUTOR_MEMBERS(MEMBER)
#undef MEMBER
  };
  CHECK_SIZE(executor, SP_StreamExecutor, host_callback, SP_STREAMEXECUTOR_STRUCT_SIZE);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kMembers); ++i) {
    void* function;
    memcpy(&function, (const char*)executor + kMembers[i].offset, sizeof function);
    LEAT_RETURN_IF_ERROR(
        leat_plugin_check_member(function != NULL, kMembers[i].name, "SP_StreamExecutor"));
  }
  if (!platform->supports_unified_memory) return leat_ok_status();
  CHECK(executor, SP_StreamExecutor, unified_memory_allocate);
  CHECK(executor, SP_StreamExecutor, unified_memory_deallocate);
  return leat_ok_status();
}

// ---- Registration -------------------------------------------------------------------------------

static leat_status_t ask_for_functions(leat_platform_t* p) {
  TF_Status status = {0};
  SE_CreateDeviceFnsParams devices = {.struct_size = SE_CREATE_DEVICE_FNS_PARAMS_STRUCT_SIZE,
                                      .device_fns = &p->device_fns};
  SE_CreateStreamExecutorParams executors = {
      .struct_size = SE_CREATE_STREAM_EXECUTOR_PARAMS_STRUCT_SIZE,
      .stream_executor = &p->executor};
  p->device_fns.struct_size = SP_DEVICE_FNS_STRUCT_SIZE;
  p->executor.struct_size = SP_STREAMEXECUTOR_STRUCT_SIZE;
  p->timer_fns.struct_size = SP_TIMER_FNS_STRUCT_SIZE;
  p->fns.create_device_fns(&p->platform, &devices, &status);
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  CHECK_SIZE(&p->device_fns, SP_DeviceFns, ext, SP_DEVICE_FNS_STRUCT_SIZE);
  p->fns.create_stream_executor(&p->platform, &executors, &status);
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  LEAT_RETURN_IF_ERROR(check_executor(&p->executor, &p->platform));
  if (!p->fns.create_timer_fns) return leat_ok_status();
  p->fns.create_timer_fns(&p->platform, &p->timer_fns, &status);
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  CHECK_SIZE(&p->timer_fns, SP_TimerFns, nanoseconds, SP_TIMER_FNS_STRUCT_SIZE);
  CHECK(&p->timer_fns, SP_TimerFns, nanoseconds);
  return leat_ok_status();
}

static leat_status_t count_devices(const leat_device_type_t* type, int* out_count) {
  const leat_platform_t* p = (const leat_platform_t*)type;
  TF_Status status = {0};
  *out_count = 0;
  p->fns.get_device_count(&p->platform, out_count, &status);
  if (*out_count < 0) *out_count = 0;
  return leat_capi_status_take(&status);
}

// Finds or makes the hardware of |ordinal|, with the mutex held.
static leat_status_t find_hardware(leat_platform_t* p, int ordinal, leat_hardware_t** out) {
  TF_Status status = {0};
  *out = p->hardware[ordinal];
  if (*out) return leat_ok_status();
  leat_hardware_t* hardware = leat_capi_allocate(sizeof *hardware);
  if (!hardware) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a device ran out");
  hardware->device.struct_size = SP_DEVICE_STRUCT_SIZE;
  hardware->device.ordinal = ordinal;
  SE_CreateDeviceParams params = {.struct_size = SE_CREATE_DEVICE_PARAMS_STRUCT_SIZE,
                                  .ordinal = ordinal,
                                  .device = &hardware->device};
  p->fns.create_device(&p->platform, &params, &status);
  leat_status_t result = leat_capi_status_take(&status);
  if (!result) {
    result = leat_plugin_check_size(hardware->device.struct_size,
                                    TF_OFFSET_OF_END(SP_Device, device_handle), "SP_Device",
                                    "SP_DEVICE_STRUCT_SIZE");
    if (result) p->fns.destroy_device(&p->platform, &hardware->device);
  }
  if (result) {
    leat_allocator_free(leat_allocator_system(), hardware);
    return result;
  }
  *out = p->hardware[ordinal] = hardware;
  return leat_ok_status();
}

static leat_status_t create_device(const leat_device_type_t* type,
                                   const leat_device_request_t* request,
                                   leat_device_t** out_device) {
  leat_platform_t* p = (leat_platform_t*)(uintptr_t)type;
  leat_hardware_t* hardware = NULL;
  LEAT_DCHECK(request->number >= 0 && request->number < LEAT_SESSION_MAX_ACCELERATORS);
  leat_mutex_lock(&hardware_mutex);
  leat_status_t status = find_hardware(p, request->number, &hardware);
  leat_mutex_unlock(&hardware_mutex);
  if (!status) status = leat_plugin_device_create(p, hardware, request, out_device);
  leat_gpu_source_look();  // the device may have brought the driver of its hardware
  return leat_status_annotate(status, "Opening device %.*s of the platform '%s' failed",
                              LEAT_SV_ARG(request->name), p->platform.name);
}

static leat_status_t describe(leat_platform_t* p, leat_init_platform_fn_t initialize) {
  TF_Status status = {0};
  LEAT_ROOM_FOR(SE_PlatformRegistrationParams, params) given = {
      .params = {.struct_size = SE_PLATFORM_REGISTRATION_PARAMS_STRUCT_SIZE,
                 .major_version = SE_MAJOR,
                 .minor_version = SE_MINOR,
                 .patch_version = SE_PATCH,
                 .platform = &p->platform,
                 .platform_fns = &p->fns}};
  p->platform.struct_size = SP_PLATFORM_STRUCT_SIZE;
  p->fns.struct_size = SP_PLATFORM_FNS_STRUCT_SIZE;
  initialize(&given.params, &status);
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  LEAT_RETURN_IF_ERROR(check_platform(&given.params));
  LEAT_RETURN_IF_ERROR(ask_for_functions(p));
  p->type = (leat_device_type_t){
      .name = p->platform.type, .create = create_device, .count = count_devices};
  if (strcmp(p->type.name, "CPU") == 0 || strcmp(p->type.name, "SIM") == 0) {
    return leat_make_status(LEAT_ALREADY_EXISTS,
                            "Registering devices failed: type '%s' is the library's own",
                            p->type.name);
  }
  return leat_device_type_register(&p->type);
}

leat_status_t leat_platform_register(leat_init_platform_fn_t initialize) {
  leat_platform_t* platform = leat_capi_allocate(sizeof *platform);
  if (!platform) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a platform ran out");
  leat_status_t status = describe(platform, initialize);
  if (status) leat_allocator_free(leat_allocator_system(), platform);
  return status;
}
