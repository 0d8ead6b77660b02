/* leat/trace.h: recordings of what the threads of this process do, for the tracer (EEG, section 9.2
 * of the white paper).
 *
 *   leat_trace_start(0, status);
 *   TF_SessionRun(session, NULL, NULL, NULL, 0, &fetch, &value, 1, NULL, 0, NULL, status);
 *   leat_trace_stop("step.perfetto-trace", status);
 *
 * A recording holds a span for each kernel that ran, with its node and the bytes of its inputs, for
 * each piece of a kernel's loop, each task of a thread pool with the time that it was queued, for
 * each step, and for the times in which a thread waited: for work, for a lock, for another thread.
 * While nothing is recorded a span costs one test; while something is, about 40 nanoseconds. The
 * file opens in ui.perfetto.dev, or, where its name ends in ".json", in chrome://tracing.
 *
 * A program that is not to be changed is recorded from outside: `leat trace -- PROGRAM`, or the
 * variable LEAT_TRACE with the name of the file. docs/tracing.md says how to read what comes out.
 * Both functions may be called from any thread; a process has one recording at a time. */
#ifndef LEAT_TRACE_H_
#define LEAT_TRACE_H_

#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins to record. Steps that are under way are recorded from their next one on. At most
 * |limit_bytes| of spans are kept (32 bytes each; 0: 256 MiB), and beyond that the oldest go, so
 * that a recording can run for days and hold the minutes before its end. TF_FAILED_PRECONDITION
 * where a recording is under way. */
TF_CAPI_EXPORT extern void leat_trace_start(uint64_t limit_bytes, TF_Status* status);

/* Ends the recording and writes it to |path|, which is created or replaced. NULL throws it away.
 * TF_FAILED_PRECONDITION where nothing is recorded; otherwise the errors of writing a file, after
 * which the recording is gone. */
TF_CAPI_EXPORT extern void leat_trace_stop(const char* path, TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_TRACE_H_ */
