// Profilers of plug-ins (experimental/pluggable_profiler/pluggable_profiler.h), for steps whose
// statistics a client wants.
#ifndef LEAT_CAPI_PLUGIN_PROFILER_H_
#define LEAT_CAPI_PLUGIN_PROFILER_H_

#include "base/arena.h"
#include "formats/generated/step_stats.h"
#include "tensorflow/c/experimental/pluggable_profiler/pluggable_profiler.h"

typedef void (*leat_init_profiler_fn_t)(TF_ProfilerRegistrationParams* params, TF_Status* status);
// Calls a library's TF_InitProfiler and registers the profiler that it describes.
LEAT_MUST_USE leat_status_t leat_plugin_profiler_register(leat_init_profiler_fn_t initialize);

// Starts all profilers for a step. Returns whether the step has them: not where there are none, or
// another step has them now.
bool leat_plugin_profilers_start(void);
// Stops all profilers that were started.
void leat_plugin_profilers_stop(void);
// Appends what they saw to |stats|, whose arena is |arena|; to be called once after they were
// stopped, by whoever started them, and lets others start them.
LEAT_MUST_USE leat_status_t leat_plugin_profilers_collect(leat_arena_t* arena,
                                                          leat_pb_step_stats_t* stats);

#endif  // LEAT_CAPI_PLUGIN_PROFILER_H_
