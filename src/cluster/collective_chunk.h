// How the chunks of collectives move between tasks: a task fetches them by RecvBuf, which every
// task knows, or on the plane where both tasks have one (plane.h), and hands out its own.
// As with values, those that it fetches before the way has proved itself come by RecvBuf.
#ifndef LEAT_CLUSTER_COLLECTIVE_CHUNK_H_
#define LEAT_CLUSTER_COLLECTIVE_CHUNK_H_

#include "cluster/task.h"
#include "kernel/collective_wire.h"
#include "kernel/rendezvous.h"

// |fetch|, |cancel| and |free| of leat_collective_wire_t for |task|.
void leat_collective_chunk_fetch(leat_task_t* task, const leat_collective_chunk_t* chunk,
                                 leat_collective_chunk_fn_t fn, void* data, void** out_call);
void leat_collective_chunk_cancel(void* call);  // NULL is allowed
void leat_collective_chunk_free(void* call);

// Whether the task may hand out a chunk of |device|. INVALID_ARGUMENT where the device is not one
// of this task; ABORTED where it was one before the task was restarted, which |incarnation| tells
// (0: it is not asked), or where the step is over.
LEAT_MUST_USE leat_status_t leat_collective_chunk_check(leat_task_t* task, int64_t step_id,
                                                        leat_string_view_t device,
                                                        uint64_t incarnation);
// Of leat_plane_options_t: gives |fn| a chunk as a vector of bytes.
void leat_collective_chunk_serve(leat_task_t* task, int64_t step_id, leat_string_view_t key,
                                 leat_string_view_t member, leat_rendezvous_receive_fn_t fn,
                                 void* fn_data);

#endif  // LEAT_CLUSTER_COLLECTIVE_CHUNK_H_
