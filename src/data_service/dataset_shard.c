#include "data_service/dataset_shard.h"

leat_status_t leat_dataset_graph_shard(leat_dataset_graph_t* graph,
                                       const leat_pb_task_def_t* task) {
  const leat_pb_processing_mode_def_t* mode = task->processing_mode_def;
  (void)graph;
  if (!mode || mode->sharding_policy == LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_OFF) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_UNIMPLEMENTED, "Sharding policy %d is not there",
                          mode->sharding_policy);
}
