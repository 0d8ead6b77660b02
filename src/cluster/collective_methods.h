// The methods of tensorflow.WorkerService by which tasks make collectives together.
#ifndef LEAT_CLUSTER_COLLECTIVE_METHODS_H_
#define LEAT_CLUSTER_COLLECTIVE_METHODS_H_

#include "cluster/service.h"

void leat_worker_complete_group(leat_service_call_t* call, const void* message);
void leat_worker_complete_instance(leat_service_call_t* call, const void* message);
void leat_worker_get_step_sequence(leat_service_call_t* call, const void* message);
void leat_worker_recv_buf(leat_service_call_t* call, const void* message);

#endif  // LEAT_CLUSTER_COLLECTIVE_METHODS_H_
