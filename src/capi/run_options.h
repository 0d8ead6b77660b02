// What the caller of one step asks for beside its values (RunOptions), and what he is told of it
// (RunMetadata).
#ifndef LEAT_CAPI_RUN_OPTIONS_H_
#define LEAT_CAPI_RUN_OPTIONS_H_

#include "capi/handles.h"
#include "trace/collector.h"

typedef struct leat_capi_run_options_s {
  int64_t timeout_ms;  // 0: the session's
  int inter_op_pool;   // of those that the session's configuration lists; -1: the calling thread
  leat_step_collector_t* collector;  // NULL: no statistics; else |storage|
  leat_step_collector_t storage;
  bool shows_partitions;
  leat_signature_t* measured;  // its costs grow by what is collected; NULL: nobody's
} leat_capi_run_options_t;

// Reads |run_options| (may be NULL), and makes sure that |run_metadata| (may be NULL) can receive.
LEAT_MUST_USE leat_status_t leat_capi_run_options_begin(const TF_Buffer* run_options,
                                                        const TF_Buffer* run_metadata,
                                                        leat_capi_run_options_t* out_options);
// Sees whether a step of |signature|, about to run, is one that |session| measures.
void leat_capi_run_options_measure(leat_capi_run_options_t* options, TF_Session* session,
                                   leat_signature_t* signature);
// After the step |run| of |session|, which ended with |status|: takes that over, lets what was
// collected count and writes what was asked for to |run_metadata| (may be NULL).
LEAT_MUST_USE leat_status_t leat_capi_run_options_end(leat_capi_run_options_t* options,
                                                      TF_Session* session, const leat_run_t* run,
                                                      leat_status_t status,
                                                      TF_Buffer* run_metadata);

#endif  // LEAT_CAPI_RUN_OPTIONS_H_
