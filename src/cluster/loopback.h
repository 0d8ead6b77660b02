// The transport that leads back into this process, for tests: between the master and the worker
// every request and reply is turned into bytes, delayed and delivered in another order than it was
// sent in. The target is "loopback:SEED,MAX_DELAY_US".
#ifndef LEAT_CLUSTER_LOOPBACK_H_
#define LEAT_CLUSTER_LOOPBACK_H_

#include "cluster/transport.h"

extern const leat_transport_t leat_loopback_transport;

#endif  // LEAT_CLUSTER_LOOPBACK_H_
