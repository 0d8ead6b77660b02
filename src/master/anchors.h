// Nodes that hold state (a variable, a queue, a table) stay on the device where the session first
// placed them. Each signature of a session is compiled and placed by itself, perhaps with other
// measured costs than the last, and must find the state where the earlier ones left it. There is
// one such table for each session; its owner frees it.
#ifndef LEAT_MASTER_ANCHORS_H_
#define LEAT_MASTER_ANCHORS_H_

#include "master/groups.h"

typedef struct leat_anchors_s leat_anchors_t;
LEAT_MUST_USE leat_status_t leat_anchors_create(leat_allocator_t* allocator,
                                                leat_anchors_t** out_anchors);
void leat_anchors_free(leat_anchors_t* anchors);
// Signatures may be compiled by several threads at once. The one that places a graph holds the lock
// from before leat_anchors_hold until after leat_anchors_drop, so that no two threads place one
// variable on two devices.
void leat_anchors_lock(leat_anchors_t* anchors);
void leat_anchors_unlock(leat_anchors_t* anchors);
// Restricts each group with a node that was placed before to that node's device, unless the group
// does not allow it, because it asks for another one.
void leat_anchors_hold(const leat_anchors_t* anchors, leat_groups_t* groups);
// Whether any node of |graph| was placed before. Takes the lock.
bool leat_anchors_know(leat_anchors_t* anchors, const leat_graph_t* graph);
// Remembers where the stateful nodes of |graph| are placed now; what is known already stays.
LEAT_MUST_USE leat_status_t leat_anchors_drop(leat_anchors_t* anchors, const leat_graph_t* graph);

#endif  // LEAT_MASTER_ANCHORS_H_
