// What holds state (a variable, a queue, a table) stays on the device where a session first placed
// it: signatures are placed one by one, perhaps by other costs.
#ifndef LEAT_MASTER_ANCHORS_H_
#define LEAT_MASTER_ANCHORS_H_

#include "master/groups.h"

typedef struct leat_anchors_s leat_anchors_t;
LEAT_MUST_USE leat_status_t leat_anchors_create(leat_allocator_t* allocator,
                                                leat_anchors_t** out_anchors);
void leat_anchors_free(leat_anchors_t* anchors);
// Signatures may be compiled at the same time. Whoever places one holds the lock from the first of
// the next two calls to the second, so that two threads never place one variable on two devices.
void leat_anchors_lock(leat_anchors_t* anchors);
void leat_anchors_unlock(leat_anchors_t* anchors);
// Leaves groups that hold a node placed before no other device, unless they ask for one.
void leat_anchors_hold(const leat_anchors_t* anchors, leat_groups_t* groups);
// Remembers where the nodes of |graph| were placed now.
LEAT_MUST_USE leat_status_t leat_anchors_drop(leat_anchors_t* anchors, const leat_graph_t* graph);

#endif  // LEAT_MASTER_ANCHORS_H_
