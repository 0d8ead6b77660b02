// Profilers in plug-ins. A library that defines TF_InitProfiler, and is loaded by
// TF_LoadPluggableDeviceLibrary, can tell what its devices did. A step that is traced
// (RunOptions.trace_level FULL_TRACE or HARDWARE_TRACE, with a buffer for RunMetadata) is run
// between |start| and |stop|; then |collect_data_xspace| gives a serialized XSpace
// (tensorflow.profiler.XSpace: planes with lines of events). The events of each of its lines become
// node statistics of a device in RunMetadata.step_stats, which is named
// "/device:<device_type>:<plane>/<line>". One step is profiled at a time; another that is traced
// meanwhile goes without.
//
//   void TF_InitProfiler(TF_ProfilerRegistrationParams* params, TF_Status* status) {
//     params->struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE;
//     params->profiler->struct_size = TP_PROFILER_STRUCT_SIZE;
//     params->profiler->device_type = "NPU";
//     params->profiler_fns->struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
//     params->profiler_fns->start = start;
//     params->profiler_fns->stop = stop;
//     params->profiler_fns->collect_data_xspace = collect_data_xspace;
//     params->destroy_profiler = destroy_profiler;
//     params->destroy_profiler_fns = destroy_profiler_fns;
//   }
//
// All members but |ext| must be set; loading fails with TF_FAILED_PRECONDITION otherwise. A
// profiler that sets its status is told to the log, and the step goes on without it.

#ifndef TENSORFLOW_C_EXPERIMENTAL_PLUGGABLE_PROFILER_PLUGGABLE_PROFILER_H_
#define TENSORFLOW_C_EXPERIMENTAL_PLUGGABLE_PROFILER_PLUGGABLE_PROFILER_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_status.h"

#define TP_MAJOR 0
#define TP_MINOR 0
#define TP_PATCH 1

#ifdef __cplusplus
extern "C" {
#endif

// |struct_size| is set by the library, to the size that it knows, and again by the plug-in.
typedef struct TP_Profiler {
  size_t struct_size;
  void* ext;  // the plug-in's
  const char* device_type;
} TP_Profiler;
#define TP_PROFILER_STRUCT_SIZE TF_OFFSET_OF_END(TP_Profiler, device_type)

typedef struct TP_ProfilerFns {
  size_t struct_size;
  void* ext;
  void (*start)(const TP_Profiler* profiler, TF_Status* status);
  void (*stop)(const TP_Profiler* profiler, TF_Status* status);
  // With |buffer| NULL sets |*size_in_bytes| to the size of the message; else |buffer| has that
  // size, and gets the message.
  void (*collect_data_xspace)(const TP_Profiler* profiler, uint8_t* buffer, size_t* size_in_bytes,
                              TF_Status* status);
} TP_ProfilerFns;
#define TP_PROFILER_FNS_STRUCT_SIZE TF_OFFSET_OF_END(TP_ProfilerFns, collect_data_xspace)

typedef struct TF_ProfilerRegistrationParams {
  size_t struct_size;
  void* ext;
  int32_t major_version;  // of the library: TP_MAJOR, TP_MINOR, TP_PATCH
  int32_t minor_version;
  int32_t patch_version;
  TP_Profiler* profiler;  // the plug-in fills in what these two point to, and sets the functions
  TP_ProfilerFns* profiler_fns;
  void (*destroy_profiler)(TP_Profiler* profiler);
  void (*destroy_profiler_fns)(TP_ProfilerFns* profiler_fns);
} TF_ProfilerRegistrationParams;
#define TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE \
  TF_OFFSET_OF_END(TF_ProfilerRegistrationParams, destroy_profiler_fns)

// What a plug-in defines; the library has no such function.
TF_CAPI_EXPORT void TF_InitProfiler(TF_ProfilerRegistrationParams* params, TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_PLUGGABLE_PROFILER_PLUGGABLE_PROFILER_H_
