// A plug-in whose device and profiler are those of the test that loads it; NULL: it does nothing.
#include "tensorflow/c/experimental/pluggable_profiler/pluggable_profiler.h"
#include "tensorflow/c/experimental/stream_executor/stream_executor.h"

TF_CAPI_EXPORT void (*device_hook_initialize)(SE_PlatformRegistrationParams* params,
                                              TF_Status* status);
TF_CAPI_EXPORT void (*device_hook_profile)(TF_ProfilerRegistrationParams* params,
                                           TF_Status* status);

TF_CAPI_EXPORT void SE_InitPlugin(SE_PlatformRegistrationParams* params, TF_Status* status) {
  device_hook_initialize(params, status);
}

TF_CAPI_EXPORT void TF_InitProfiler(TF_ProfilerRegistrationParams* params, TF_Status* status) {
  device_hook_profile(params, status);
}
