// An engine for cluster/rpc.h without sockets: servers and channels of this process are joined by a
// simulated network, in simulated time (simulated_time.h). The order of all that happens follows
// from a seed.
//
//   call ─▶ [ queue by time: requests, answers, cancellations, deadlines, faults ] ─▶ handler, done
//
// Messages between two hosts arrive late and overtake each other, some by seconds. Where the way is
// cut they are held until it heals, as TCP does. A host that is killed takes no message any more,
// and nothing that it sent before still arrives; calls to it end with UNAVAILABLE. A host is the
// address of a server; whatever is no server is the host "".
#ifndef LEAT_TESTS_CLUSTER_SIMULATED_ENGINE_H_
#define LEAT_TESTS_CLUSTER_SIMULATED_ENGINE_H_

#include "cluster/rpc_module.h"

// Begins a new life of the engine, in which nothing has happened yet. There must be no server and
// no channel.
void simulated_begin(uint64_t seed);
// Channels that are made from now on are of this host.
void simulated_set_owner(const char* host);
// The next of the hundreds of numbers that the seed gives; below |bound|.
uint32_t simulated_draw(uint32_t bound);
void simulated_cut(const char* host, bool is_cut);
void simulated_kill(const char* host);
// What was delivered so far, in its order, as one number.
uint64_t simulated_trace(void);

#endif  // LEAT_TESTS_CLUSTER_SIMULATED_ENGINE_H_
