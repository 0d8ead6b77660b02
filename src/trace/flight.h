// The flight recorder (EEG, section 9.2 of the white paper): a program is recorded all the time,
// and the end of it is kept in memory until something happens whose cause one wants to know. Then
// the last steps are written to a file: when a step took much longer than its kind does, when one
// failed, when the process got a signal, or when the program asks. Recording goes on meanwhile.
//
// There is one in a process. All functions may be called from any thread, but not at once with a
// start or a stop.
#ifndef LEAT_TRACE_FLIGHT_H_
#define LEAT_TRACE_FLIGHT_H_

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct leat_flight_options_s {
  const char* path;      // "%p" stands for the process, "%n" for the number of the file, from 1 on
  uint64_t limit_bytes;  // of spans that are kept; 0: 64 MiB
  int64_t steps;         // that are written, at most 4096; 0: whatever is kept
  double slow_factor;    // how often the median a step takes that is written; 0: none is for that
  bool on_failure;       // writes a step that failed, but for the end of an input and cancellation
  int signal;            // of the system, that has the end written; 0: none
  int64_t most_files;    // beyond which nothing is written; 0: 16
} leat_flight_options_t;

// Begins. FAILED_PRECONDITION where something is being recorded, INVALID_ARGUMENT for options that
// are none.
LEAT_MUST_USE leat_status_t leat_flight_start(const leat_flight_options_t* options);
// Asks for a file with what is kept now; it is written by a thread of the recorder's. |why| is for
// the log. FAILED_PRECONDITION where there is no flight recorder.
LEAT_MUST_USE leat_status_t leat_flight_write(const char* why);
// Writes what was asked for, and ends.
LEAT_MUST_USE leat_status_t leat_flight_stop(void);

#endif  // LEAT_TRACE_FLIGHT_H_
