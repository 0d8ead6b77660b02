// How a task brings a value to the task that receives it, without having been asked: by a call of
// leat.Values/Push, whose bytes are
//
//   frame {step, size of the key} | key | the pieces of a RecvTensorResponse (recv_tensor.h)
//
// The value lies in the rendezvous of the step there when its Recv runs, so that it has been on its
// way for half as long as an answer to a request: a loop over two tasks waits for one message in
// each direction an iteration, not for two. The master decides for each transfer, when it cuts the
// graph, whether it is pushed (LEAT_ATTR_NAME_PUSHED). It is where both tasks are Leat's and say so
// with their devices; tasks with a plane of values (plane.h), where a request costs little and the
// elements go straight into the receiver's tensor, do not.
#ifndef LEAT_CLUSTER_PUSH_H_
#define LEAT_CLUSTER_PUSH_H_

#include "cluster/task.h"

// Whether the task takes values that are pushed, and pushes its own.
bool leat_task_takes_pushed_values(const leat_task_t* task);
// Of leat_value_exchange_t, whose task is |exchange|'s.
bool leat_task_goes_elsewhere(const leat_value_exchange_t* exchange, leat_string_view_t key);
void leat_task_push(leat_value_exchange_t* exchange, int64_t step_id, leat_string_view_t key,
                    leat_slot_t value, leat_rendezvous_receive_fn_t fn, void* data,
                    leat_exchange_call_t* out_call);

#endif  // LEAT_CLUSTER_PUSH_H_
