// The file is written by a function that exit() calls. A process that another one forked has its
// parent's variables, and must not write the parent's file: the number of the process that began
// the recording tells them apart. Whatever goes wrong is logged, since nobody is there to be told.
// With LEAT_TRACE_FLIGHT the process gets a flight recorder instead (trace/flight.h), which at the
// exit only writes what was asked for before.
#include "trace/recording_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/log.h"
#include "trace/flight.h"
#include "trace/recording_file.h"

#define MAX_PATH_BYTES 4096

static char path_at_exit[MAX_PATH_BYTES];
static int64_t process_at_exit;

static void write_at_exit(void) {
  leat_recording_t* recording = NULL;
  if (leat_host_process_id() != process_at_exit) return;
  leat_status_t status = leat_recording_stop(&recording);
  if (!status) status = leat_recording_write(recording, leat_file_system_default(), path_at_exit);
  if (!status && recording->lost) {
    leat_log(LEAT_LOG_WARNING,
             "the recording %s lacks its first %llu spans, since LEAT_TRACE_MB was reached",
             path_at_exit, (unsigned long long)recording->lost);
  }
  if (status) leat_log(LEAT_LOG_ERROR, "Recording failed: %s", leat_status_message(status));
  leat_status_free(status);
  leat_recording_free(recording);
}

// Copies |path| with the number of the process for "%p"; false where it is too long.
static bool set_path(const char* path) {
  const char* mark = strstr(path, "%p");
  const int before = mark ? (int)(mark - path) : (int)strlen(path);
  char number[24] = "";
  if (mark) snprintf(number, sizeof number, "%lld", (long long)process_at_exit);
  const int size = snprintf(path_at_exit, sizeof path_at_exit, "%.*s%s%s", before, path, number,
                            mark ? mark + 2 : "");
  return size >= 0 && (size_t)size < sizeof path_at_exit;
}

// Reads "slow=3 steps=50 failure signal=12 files=4".
static leat_status_t read_flight(const char* text, leat_flight_options_t* options) {
  while (*(text += strspn(text, " ,"))) {
    const size_t size = strcspn(text, " ,"), name = strcspn(text, "= ,");
    const char* value = text[name] == '=' ? text + name + 1 : "";
    const leat_string_view_t key = leat_string_view_make(text, name);
    if (leat_string_view_equals(key, "slow")) {
      options->slow_factor = strtod(value, NULL);
    } else if (leat_string_view_equals(key, "steps")) {
      options->steps = strtoll(value, NULL, 10);
    } else if (leat_string_view_equals(key, "failure")) {
      options->on_failure = true;
    } else if (leat_string_view_equals(key, "signal")) {
      options->signal = (int)strtol(value, NULL, 10);
    } else if (leat_string_view_equals(key, "files")) {
      options->most_files = strtoll(value, NULL, 10);
    } else {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "LEAT_TRACE_FLIGHT has '%.*s', must have slow=, steps=, failure, "
                              "signal= or files=", (int)size, text);
    }
    text += size;
  }
  return leat_ok_status();
}

static void end_flight_at_exit(void) {
  if (leat_host_process_id() == process_at_exit) leat_status_free(leat_flight_stop());
}

static leat_status_t begin_flight(const char* path, const char* text, uint64_t limit_bytes) {
  leat_flight_options_t options = {.path = path, .limit_bytes = limit_bytes};
  LEAT_RETURN_IF_ERROR(read_flight(text, &options));
  return leat_flight_start(&options);
}

void leat_recording_begin_process(void) {
  const char* path = leat_environment_get_trusted("LEAT_TRACE");
  if (LEAT_LIKELY(!path || !*path)) return;
  const char* megabytes = leat_environment_get_trusted("LEAT_TRACE_MB");
  uint64_t limit = megabytes ? strtoull(megabytes, NULL, 10) : 0;
  if (limit > UINT64_MAX >> 20) limit = 0;
  process_at_exit = leat_host_process_id();
  const char* flight = leat_environment_get_trusted("LEAT_TRACE_FLIGHT");
  leat_status_t status = leat_ok_status();
  if (flight) {
    status = begin_flight(path, flight, limit << 20);
  } else if (set_path(path)) {
    status = leat_recording_start(limit << 20);
  } else {
    status = leat_make_status(LEAT_INVALID_ARGUMENT, "LEAT_TRACE has more than %d bytes",
                              MAX_PATH_BYTES - 1);
  }
  if (!status && atexit(flight ? end_flight_at_exit : write_at_exit) != 0) {
    status = leat_make_status(LEAT_RESOURCE_EXHAUSTED, "atexit takes no more functions");
  }
  if (status) leat_log(LEAT_LOG_ERROR, "Recording failed: %s", leat_status_message(status));
  leat_status_free(status);
}
