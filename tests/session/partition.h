// One partition compiled by itself: what tests of plans look at.
#ifndef LEAT_TESTS_SESSION_PARTITION_H_
#define LEAT_TESTS_SESSION_PARTITION_H_

#include "session/scene.h"
#include "worker/compiler.h"

typedef struct partition_s {
  scene_t scene;
  leat_device_t* device;
  leat_resource_manager_t* resources;
  leat_plan_t* plan;
  leat_executor_kind_t executor;  // for which it is compiled; AUTOMATIC unless the test says so
  bool deterministic;             // as the session's option
  int inter_op_threads;
} partition_t;

// For cmocka: |*state| is a partition_t*; its plan is freed.
int partition_set_up(void** state);
int partition_tear_down(void** state);
LEAT_MUST_USE leat_status_t partition_compile(partition_t* partition, const leat_output_t* fetches,
                                              int fetch_count, int feed_count,
                                              leat_plan_t** out_plan);
leat_output_t partition_argument(partition_t* partition, int index);  // a float that is fed
const leat_record_t* partition_record(const leat_plan_t* plan, int32_t node);
bool partition_releases(const leat_plan_t* plan, const leat_record_t* record, uint32_t slot);

#endif  // LEAT_TESTS_SESSION_PARTITION_H_
