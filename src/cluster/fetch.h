// How a task fetches the values of other tasks: by RecvTensor, which every task knows, or on the
// plane of values where both tasks have one (plane.h). The first fetch from a task asks it for its
// offer of a plane, beside the value; the value, and those that follow until both ends have greeted
// each other, come by RecvTensor.
#ifndef LEAT_CLUSTER_FETCH_H_
#define LEAT_CLUSTER_FETCH_H_

#include "cluster/service.h"

// The fetcher of a task, for its field |fetcher|.
leat_fetcher_t leat_task_fetcher(void);
// Checks that the sender of a key is a device of this task. |*out_restarted| becomes true where it
// is one that the task had before it was restarted.
LEAT_MUST_USE leat_status_t leat_task_check_key(leat_task_t* task, leat_string_view_t key,
                                                bool* out_restarted);
// Opens the task's end of the plane of values. Before the server listens.
LEAT_MUST_USE leat_status_t leat_task_open_plane(leat_task_t* task, bool is_local);

#endif  // LEAT_CLUSTER_FETCH_H_
