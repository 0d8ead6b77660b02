// leat/trace.h: the one recording of the process (base/span.h) begins here, and what it held is
// written by trace/recording_file.h. Stopping takes the recording out of the recorder first, so
// that threads no longer wait for it while the file is written. The flight recorder is
// trace/flight.h, and a cluster is recorded by cluster/recorder.h.
#include "leat/trace.h"

#include <stddef.h>

#include "base/checked.h"
#include "capi/handles.h"
#include "cluster/recorder.h"
#include "graph/source_line.h"
#include "trace/flight.h"
#include "trace/gpu_source.h"
#include "trace/recording_file.h"

void leat_trace_start(uint64_t limit_bytes, TF_Status* status) {
  leat_gpu_source_install();
  leat_capi_status_set(status, leat_recording_start(limit_bytes));
}

void leat_trace_stop(const char* path, TF_Status* status) {
  leat_recording_t* recording = NULL;
  leat_status_t result = leat_recording_stop(&recording);
  if (!result && path) {
    result = leat_recording_write(recording, leat_file_system_default(), path);
  }
  leat_recording_free(recording);
  leat_capi_status_set(status, result);
}

void leat_operation_set_source(TF_Operation* oper, const char* file, int line,
                               TF_Status* status) {
  if (line < 0) {
    leat_capi_status_set(status, leat_make_status(LEAT_INVALID_ARGUMENT,
                                                  "The source of node '%s' was not set: line is "
                                                  "%d, must be >= 0",
                                                  TF_OperationName(oper), line));
    return;
  }
  leat_graph_t* graph = leat_capi_lock(oper->graph);
  leat_capi_status_set(status, leat_graph_set_source_line(graph, oper->node,
                                                          leat_string_view_from(file),
                                                          (uint32_t)line));
  leat_capi_unlock(oper->graph);
}

void leat_trace_flight_start(const leat_trace_flight_options_t* options, TF_Status* status) {
  leat_trace_flight_options_t known = {0};
  memcpy(&known, options, LEAT_MIN(options->struct_size, sizeof known));
  const leat_flight_options_t flight = {.path = known.path, .limit_bytes = known.limit_bytes,
                                        .steps = known.steps, .slow_factor = known.slow_factor,
                                        .on_failure = known.on_failure != 0,
                                        .signal = known.signal, .most_files = known.most_files};
  leat_gpu_source_install();
  leat_capi_status_set(status, leat_flight_start(&flight));
}

void leat_trace_flight_write(const char* why, TF_Status* status) {
  leat_capi_status_set(status, leat_flight_write(why ? why : "the program asked for it"));
}

void leat_trace_flight_stop(TF_Status* status) {
  leat_capi_status_set(status, leat_flight_stop());
}

leat_trace_cluster_t* leat_trace_cluster_start(const void* cluster_def, size_t size,
                                               uint64_t limit_bytes, int64_t timeout_ms,
                                               TF_Status* status) {
  leat_cluster_recorder_t* recorder = NULL;
  const leat_cluster_recorder_options_t options = {
      .cluster = leat_string_view_make(cluster_def, size),
      .limit_bytes = limit_bytes,
      .timeout_ms = timeout_ms > 0 ? timeout_ms : 0};
  leat_capi_status_set(status, leat_cluster_recorder_start(&options, &recorder));
  return (leat_trace_cluster_t*)recorder;
}

TF_Buffer* leat_trace_cluster_stop(leat_trace_cluster_t* trace, const char* path,
                                   TF_Status* status) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_status_t result = leat_cluster_recorder_stop((leat_cluster_recorder_t*)trace,
                                                    leat_file_system_default(), path, &out);
  return leat_capi_buffer_return(result, &out, status);
}
