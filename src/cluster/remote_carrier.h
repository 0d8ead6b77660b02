// Carries the calls of kernels (kernel/remote_call.h) by remote procedure calls (cluster/rpc.h),
// with the certificates of the environment (cluster/security.h).
#ifndef LEAT_CLUSTER_REMOTE_CARRIER_H_
#define LEAT_CLUSTER_REMOTE_CARRIER_H_

#include "kernel/remote_call.h"

extern const leat_remote_carrier_t leat_remote_carrier_rpc;

#endif  // LEAT_CLUSTER_REMOTE_CARRIER_H_
