// leat/trace.h: the one recording of the process (base/span.h) begins here, and what it held is
// written by trace/recording_file.h. Stopping takes the recording out of the recorder first, so
// that threads no longer wait for it while the file is written.
#include "leat/trace.h"

#include "capi/handles.h"
#include "trace/recording_file.h"

void leat_trace_start(uint64_t limit_bytes, TF_Status* status) {
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
