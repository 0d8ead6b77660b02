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
 * All functions may be called from any thread; a process has one recording at a time. */
#ifndef LEAT_TRACE_H_
#define LEAT_TRACE_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
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

/* Tells that line |line| of |file|, which is copied, added |oper|, so that recordings say of each
 * kernel which line of the program it comes from. Front ends call it (Leat's Python package does);
 * an operation of which nobody tells has none. Sessions send lines with their graphs to the
 * tasks of a cluster; TF_GraphToGraphDef does not write them. */
TF_CAPI_EXPORT extern void leat_operation_set_source(TF_Operation* oper, const char* file,
                                                     int line, TF_Status* status);

/* ---- The flight recorder ----------------------------------------------------------------------
 *
 * Records all the time, keeps the end in memory, and writes it to a file when something happens
 * whose cause one wants to know. It goes on afterwards, with what comes then. A process has either
 * a flight recorder or a recording. */

typedef struct leat_trace_flight_options_t {
  size_t struct_size;   /* what lies beyond is 0 */
  const char* path;     /* of the files; "%p" in it becomes the process's number, "%n" the file's,
                         * from 1 on. Copied. */
  uint64_t limit_bytes; /* of spans that are kept (32 bytes each); 0: 64 MiB */
  int64_t steps;        /* the last so many are written, 4096 at most; 0: all that are kept */
  double slow_factor;   /* a step that takes so many times the median of its signature (at least 1,
                         * after 16 steps of it) has them written; 0: none does */
  int on_failure;       /* not 0: so does one that fails, but for OUT_OF_RANGE, with which an input
                         * ends, and CANCELLED */
  int signal;           /* so does this signal of the system, within a tenth of a second; what it
                         * did before is replaced. 0: none does */
  int64_t most_files;   /* no more are written; 0: 16 */
} leat_trace_flight_options_t;

/* TF_FAILED_PRECONDITION where something is being recorded, TF_INVALID_ARGUMENT with the field, its
 * value and the rule. From outside: `leat trace --flight`, or the variable LEAT_TRACE_FLIGHT. */
TF_CAPI_EXPORT extern void leat_trace_flight_start(const leat_trace_flight_options_t* options,
                                                   TF_Status* status);
/* Asks for a file with the last steps, which a thread of the recorder's writes and logs; |why| (may
 * be NULL) goes into the log. Does not block. A file that is asked for while one is written is
 * not written. TF_FAILED_PRECONDITION where there is no flight recorder. */
TF_CAPI_EXPORT extern void leat_trace_flight_write(const char* why, TF_Status* status);
/* Ends the recorder when what was asked for is written. */
TF_CAPI_EXPORT extern void leat_trace_flight_stop(TF_Status* status);

/* ---- Clusters ---------------------------------------------------------------------------------*/

typedef struct leat_trace_cluster_t leat_trace_cluster_t;

/* Begins to record all tasks of the cluster that |cluster_def|, a serialized ClusterDef, describes,
 * each with at most |limit_bytes| of spans (0: 256 MiB); each call has |timeout_ms|. Tasks that do
 * not answer or are not Leat's are left out; TF_UNAVAILABLE where none is left. NULL on error; else
 * the caller ends it by a stop. Blocks for some calls; a thread of the library's then exchanges
 * times with the tasks, some calls five times a second. */
TF_CAPI_EXPORT extern leat_trace_cluster_t* leat_trace_cluster_start(const void* cluster_def,
                                                                     size_t size,
                                                                     uint64_t limit_bytes,
                                                                     int64_t timeout_ms,
                                                                     TF_Status* status);
/* Ends the recordings, writes them to |path| in Perfetto's format, in the times of this machine's
 * monotonic clock, and frees |trace|, on failure too. Blocks. JSON, which the caller deletes:
 *
 *   {"tasks": [{"task", "address", "process", "recorded", ...}, ...]}
 *
 * Of a task that was recorded: "bytes" in the file, "lost" spans, "clock_offset_us" (its clock less
 * ours at the beginning), "clock_drift_ppm" and "clock_residual_us" (how far off measured times
 * were at most). Of another one: "shared" where its process was being recorded already, for another
 * task or by itself, or "message". NULL on error. */
TF_CAPI_EXPORT extern TF_Buffer* leat_trace_cluster_stop(leat_trace_cluster_t* trace,
                                                         const char* path, TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_TRACE_H_ */
