// Where a worker's sources get their splits: from the dispatcher, by GetSplit.
#ifndef LEAT_DATA_SERVICE_WORKER_SPLITS_H_
#define LEAT_DATA_SERVICE_WORKER_SPLITS_H_

#include "cluster/rpc.h"
#include "kernel/split_source.h"

typedef struct leat_worker_splits_s leat_worker_splits_t;

// Makes the split source of source |index| of an iteration, with one reference. |dispatcher| is
// borrowed, and must live as long as the source. A dispatcher that does not answer is asked again
// for |timeout_ms|.
LEAT_MUST_USE leat_status_t leat_worker_splits_create(leat_rpc_channel_t* dispatcher,
                                                      int64_t iteration_id, int64_t index,
                                                      int64_t timeout_ms,
                                                      leat_worker_splits_t** out_splits);
// As what sessions know it.
leat_split_source_t* leat_worker_splits_source(leat_worker_splits_t* splits);
// Who asks from now on gets CANCELLED, and so does who waits while the dispatcher is away.
void leat_worker_splits_close(leat_worker_splits_t* splits);
void leat_worker_splits_release(leat_worker_splits_t* splits);  // NULL is allowed

#endif  // LEAT_DATA_SERVICE_WORKER_SPLITS_H_
