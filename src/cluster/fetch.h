// How a task fetches the values of other tasks: by RecvTensor, which every task knows, or on the
// plane where both tasks have one (plane.h). The first fetch from a task asks it for its
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
// Opens the task's end of the plane. Before the server listens.
LEAT_MUST_USE leat_status_t leat_task_open_plane(leat_task_t* task, bool is_local);

// Asks the task with |incarnation|, which |channel| leads to, for a value or a chunk of |member| on
// the plane, as leat_plane_fetch does. Where there is no way yet, that task is asked for its offer
// of one, once, and false is returned: the caller uses a call.
bool leat_task_fetch_on_plane(leat_task_t* task, leat_rpc_channel_t* channel, uint64_t incarnation,
                              int64_t step_id, leat_string_view_t key, leat_string_view_t member,
                              leat_rendezvous_receive_fn_t fn, void* data,
                              leat_plane_call_t** out_call);
// The same for a call of a method, as leat_plane_call makes it.
bool leat_task_call_on_plane(leat_task_t* task, const leat_plane_call_options_t* options,
                             leat_rpc_done_fn_t done, void* data, leat_plane_call_t** out_call);

#endif  // LEAT_CLUSTER_FETCH_H_
