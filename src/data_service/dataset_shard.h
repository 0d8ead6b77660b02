// Static sharding: each worker of a job reads a part of the dataset that its index says.
#ifndef LEAT_DATA_SERVICE_DATASET_SHARD_H_
#define LEAT_DATA_SERVICE_DATASET_SHARD_H_

#include "data_service/dataset_graph.h"
#include "formats/generated/data_service.h"

// Changes the graph as the sharding policy of |task| wants it; nothing for OFF. INVALID_ARGUMENT
// for an index that is none, NOT_FOUND where FILE finds no files, UNIMPLEMENTED for a way that is
// not there.
LEAT_MUST_USE leat_status_t leat_dataset_graph_shard(leat_dataset_graph_t* graph,
                                                     const leat_pb_task_def_t* task);

#endif  // LEAT_DATA_SERVICE_DATASET_SHARD_H_
