// A transport that leads back into this process, for tests. Between the master and the worker,
// every request and every reply is encoded as bytes and goes through a simulated network
// (network.h), which delays and reorders it. The target of such a session is
// "loopback:SEED,MAX_DELAY_US".
#ifndef LEAT_CLUSTER_LOOPBACK_H_
#define LEAT_CLUSTER_LOOPBACK_H_

#include "cluster/transport.h"

extern const leat_transport_t leat_loopback_transport;

#endif  // LEAT_CLUSTER_LOOPBACK_H_
