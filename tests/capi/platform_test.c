// What a plug-in with a device or a profiler may leave out when it is loaded: each struct whose
// size it does not set, and each function that it must have and has not, makes loading fail with
// TensorFlow's message; then it may be loaded again. The plug-in is device_hook_plugin.c, which
// does what the test says.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capi/kit.h"
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/env.h"
#include "tensorflow/c/experimental/pluggable_profiler/pluggable_profiler.h"
#include "tensorflow/c/experimental/stream_executor/stream_executor.h"

static TF_Status* status;
static char path[1024];

// What is spoilt: |size| bytes at an offset in one of the structs become |byte|.
typedef enum { NOTHING, PARAMS, PLATFORM, FNS, EXECUTOR, TIMERS, DEVICES, PROFILE, TRACER,
               TRACER_FNS } place_t;
static struct {
  place_t place;
  size_t offset, value;
  const char* type;
} spoilt;

// Whether the plug-in leaves out what it may: timers, and what TensorFlow did not always ask for.
static bool leaves_out;

static void spoil(place_t place, void* at) {
  if (spoilt.place == place) memcpy((char*)at + spoilt.offset, &spoilt.value, sizeof(size_t));
}

// Functions that nobody calls: loading alone is tested, and no session is opened.
static void never(void) { abort(); }

static void fill(void* functions, size_t begin, size_t end) {
  void (*function)(void) = never;
  for (size_t at = begin; at < end; at += sizeof function) {
    memcpy((char*)functions + at, &function, sizeof function);
  }
}

static void nothing_p(SP_Platform* platform) {}
static void nothing_f(SP_PlatformFns* fns) {}

static void create_device_fns(const SP_Platform* platform, SE_CreateDeviceFnsParams* params,
                              TF_Status* s) {
  params->device_fns->struct_size = SP_DEVICE_FNS_STRUCT_SIZE;
  spoil(DEVICES, params->device_fns);
}

static void create_executor(const SP_Platform* platform, SE_CreateStreamExecutorParams* params,
                            TF_Status* s) {
  params->stream_executor->struct_size = SP_STREAMEXECUTOR_STRUCT_SIZE;
  fill(params->stream_executor, offsetof(SP_StreamExecutor, allocate), sizeof(SP_StreamExecutor));
  SP_StreamExecutor* executor = params->stream_executor;
  if (leaves_out) {
    executor->mem_zero = NULL;
    executor->create_timer = NULL;
    executor->start_timer = executor->stop_timer = NULL;
    executor->destroy_timer = NULL;
  }
  spoil(EXECUTOR, executor);
}

static void create_timer_fns(const SP_Platform* platform, SP_TimerFns* timer, TF_Status* s) {
  timer->struct_size = SP_TIMER_FNS_STRUCT_SIZE;
  fill(timer, offsetof(SP_TimerFns, nanoseconds), sizeof *timer);
  spoil(TIMERS, timer);
}

static void no_devices(const SP_Platform* platform, int* count, TF_Status* s) { *count = 0; }

static void initialize(SE_PlatformRegistrationParams* params, TF_Status* s) {
  assert_int_equal(params->struct_size, SE_PLATFORM_REGISTRATION_PARAMS_STRUCT_SIZE);
  assert_int_equal(params->platform->struct_size, SP_PLATFORM_STRUCT_SIZE);
  assert_int_equal(params->platform_fns->struct_size, SP_PLATFORM_FNS_STRUCT_SIZE);
  assert_int_equal(params->major_version, SE_MAJOR);
  assert_int_equal(params->patch_version, SE_PATCH);
  params->platform->name = "HOOKED";
  params->platform->type = spoilt.type;
  params->platform->supports_unified_memory = 1;
  fill(params->platform_fns, offsetof(SP_PlatformFns, get_device_count), sizeof(SP_PlatformFns));
  params->platform_fns->get_device_count = no_devices;
  params->platform_fns->create_device_fns = create_device_fns;
  params->platform_fns->create_stream_executor = create_executor;
  params->platform_fns->create_timer_fns = leaves_out ? NULL : create_timer_fns;
  if (leaves_out) params->platform_fns->destroy_timer_fns = NULL;
  params->destroy_platform = nothing_p;
  params->destroy_platform_fns = nothing_f;
  spoil(PARAMS, params);
  spoil(PLATFORM, params->platform);
  spoil(FNS, params->platform_fns);
}

static void nothing_t(TP_Profiler* profiler) {}
static void nothing_tf(TP_ProfilerFns* fns) {}

static void profile(TF_ProfilerRegistrationParams* params, TF_Status* s) {
  assert_int_equal(params->struct_size, TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE);
  params->profiler->device_type = "HOOK";
  fill(params->profiler_fns, offsetof(TP_ProfilerFns, start), sizeof(TP_ProfilerFns));
  params->destroy_profiler = nothing_t;
  params->destroy_profiler_fns = nothing_tf;
  spoil(PROFILE, params);
  spoil(TRACER, params->profiler);
  spoil(TRACER_FNS, params->profiler_fns);
}

static int set_up(void** state) {
  status = TF_NewStatus();
  snprintf(path, sizeof path, "%s/lib/device_hook_plugin.so", getenv("LEAT_BUILD_DIR"));
  void* library = TF_LoadSharedLibrary(path, status);
  kit_ok(status);
  void (**hook)(SE_PlatformRegistrationParams*, TF_Status*) =
      TF_GetSymbolFromLibrary(library, "device_hook_initialize", status);
  *hook = initialize;
  void (**profiler_hook)(TF_ProfilerRegistrationParams*, TF_Status*) =
      TF_GetSymbolFromLibrary(library, "device_hook_profile", status);
  *profiler_hook = profile;
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteStatus(status);
  return 0;
}

static void expect_refusal(place_t place, size_t offset, size_t value, const char* message) {
  spoilt.place = place;
  spoilt.offset = offset;
  spoilt.value = value;
  assert_null(TF_LoadPluggableDeviceLibrary(path, status));
  kit_expect_text(status, TF_FAILED_PRECONDITION, message);
}

static void sizes(void** state) {
  spoilt.type = "HOOK";
  static const struct {
    place_t place;
    const char* words;
  } kStructs[] = {
      {PARAMS, "SE_PlatformRegistrationParams must be set to "
               "SE_PLATFORM_REGISTRATION_PARAMS_STRUCT_SIZE"},
      {PLATFORM, "SP_Platform must be set to SP_PLATFORM_STRUCT_SIZE"},
      {FNS, "SP_PlatformFns must be set to SP_PLATFORM_FNS_STRUCT_SIZE"},
      {DEVICES, "SP_DeviceFns must be set to SP_DEVICE_FNS_STRUCT_SIZE"},
      {EXECUTOR, "SP_StreamExecutor must be set to SP_STREAMEXECUTOR_STRUCT_SIZE"},
      {TIMERS, "SP_TimerFns must be set to SP_TIMER_FNS_STRUCT_SIZE"},
  };
  for (size_t i = 0; i < sizeof kStructs / sizeof *kStructs; ++i) {
    char message[160];
    snprintf(message, sizeof message, "struct_size field in %s", kStructs[i].words);
    expect_refusal(kStructs[i].place, 0, 0, message);
  }
  expect_refusal(EXECUTOR, 0, offsetof(SP_StreamExecutor, memset),
                 "struct_size field in SP_StreamExecutor is 264, must be set to "
                 "SP_STREAMEXECUTOR_STRUCT_SIZE, at least 288.");
}

static void members(void** state) {
#define MISSING(place, type, member)                \
  expect_refusal(place, offsetof(type, member), 0,  \
                 "'" #member "' field in " #type " must be set.")
  spoilt.type = "HOOK";
  MISSING(PARAMS, SE_PlatformRegistrationParams, destroy_platform);
  MISSING(PARAMS, SE_PlatformRegistrationParams, destroy_platform_fns);
  MISSING(PLATFORM, SP_Platform, name);
  MISSING(PLATFORM, SP_Platform, type);
  MISSING(FNS, SP_PlatformFns, create_device);
  MISSING(FNS, SP_PlatformFns, destroy_stream_executor);
  MISSING(EXECUTOR, SP_StreamExecutor, allocate);
  MISSING(EXECUTOR, SP_StreamExecutor, host_callback);
  MISSING(EXECUTOR, SP_StreamExecutor, unified_memory_allocate);
  MISSING(TIMERS, SP_TimerFns, nanoseconds);
}

static void types(void** state) {
  spoilt.place = NOTHING;
  static const char* const kWrong[] = {"", "gpu", "_NPU", "N PU", "NPU2", "NPU:0"};
  for (size_t i = 0; i < sizeof kWrong / sizeof *kWrong; ++i) {
    spoilt.type = kWrong[i];
    assert_null(TF_LoadPluggableDeviceLibrary(path, status));
    kit_expect_text(status, TF_FAILED_PRECONDITION, "must match [A-Z][A-Z_]*.");
  }
  spoilt.type = "CPU";
  assert_null(TF_LoadPluggableDeviceLibrary(path, status));
  kit_expect_text(status, TF_ALREADY_EXISTS, "type 'CPU' is the library's own");
}

// The device is registered before the profiler, and its type then exists.
static void profilers(void** state) {
  static const char* const kTypes[] = {"HOOK_A", "HOOK_B", "HOOK_C"};
  spoilt.type = kTypes[0];
  MISSING(PROFILE, TF_ProfilerRegistrationParams, destroy_profiler);
  spoilt.type = kTypes[1];
  MISSING(TRACER_FNS, TP_ProfilerFns, collect_data_xspace);
  spoilt.type = kTypes[2];
  expect_refusal(TRACER, 0, 0,
                 "struct_size field in TP_Profiler must be set to TP_PROFILER_STRUCT_SIZE");
  spoilt.place = NOTHING;
  assert_null(TF_LoadPluggableDeviceLibrary(path, status));
  kit_expect_text(status, TF_ALREADY_EXISTS, "type 'HOOK_C' has been registered");
  spoilt.type = "HOOK";
  leaves_out = true;
  assert_non_null(TF_LoadPluggableDeviceLibrary(path, status));
  kit_ok(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes),
      cmocka_unit_test(members),
      cmocka_unit_test(types),
      cmocka_unit_test(profilers),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
