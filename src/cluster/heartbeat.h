// Heartbeats: how a task finds out that another one has fallen silent (section 3.3 of the white
// paper). A host that is lost, a process that is stopped and a network that drops everything close
// no connection, so a call to such a task would never end. While calls to a task are under way, it
// is therefore asked for its status once an interval. If it does not answer within an interval,
// every call to it ends with UNAVAILABLE, and the message names the task and its address. So a call
// outlives the silence of its task by two intervals at most. A task that was lost is asked on until
// it answers. A task without calls is not asked, and a short step pays nothing.
//
// Whoever expects something of a task without calling it by gRPC (the taker of a collective's
// chunk, the master of a step that was called for on the plane) says so, and the task is asked as
// if calls were under way; that it is silent is told.
//
// A call for a value (RecvTensor) is no reason to ask: the master of the step watches the sender,
// and a worker of TensorFlow's asks nobody. It ends with the others when its sender is lost.
//
// TensorFlow's tasks are asked in the same way, since GetStatus is a method of its worker.
#ifndef LEAT_CLUSTER_HEARTBEAT_H_
#define LEAT_CLUSTER_HEARTBEAT_H_

#include "cluster/cluster_spec.h"
#include "cluster/rpc.h"

typedef struct leat_heartbeat_s leat_heartbeat_t;

typedef struct leat_heartbeat_options_s {
  const leat_cluster_spec_t* spec;  // borrowed
  int64_t interval_ms;              // above 0
  bool asks;                        // false: nobody is asked, and only |each_beat| is called
  leat_allocator_t* allocator;
  // Task |number| fell silent, or answers again. On any thread; must not block for long.
  void (*tell)(void* data, int number, bool is_lost);
  // Task |number|, of which somebody expects something, is silent, as |status| (taken) says: at
  // each beat. As |tell|.
  void (*miss)(void* data, int number, leat_status_t status);
  // Called at each beat with the time that it was given.
  void (*each_beat)(void* data, int64_t now_ns);
  void* data;
} leat_heartbeat_options_t;

LEAT_MUST_USE leat_status_t leat_heartbeat_create(const leat_heartbeat_options_t* options,
                                                  leat_heartbeat_t** out_heartbeat);
// Starts the thread. A second call has no effect.
LEAT_MUST_USE leat_status_t leat_heartbeat_start(leat_heartbeat_t* heartbeat);
// Watches the calls of |channel|, which leads to task |number|. The channel must live until
// leat_heartbeat_stop has returned.
void leat_heartbeat_watch(leat_heartbeat_t* heartbeat, int number, leat_rpc_channel_t* channel);
// One more or, with -1, one less expects something of task |number|, which has a channel.
void leat_heartbeat_expect(leat_heartbeat_t* heartbeat, int number, int change);
// What the thread does once an interval, with the present time: asks the tasks that are to be
// asked, and calls |each_beat|. Tests beat by hand, at times of their own choice.
void leat_heartbeat_beat(leat_heartbeat_t* heartbeat, int64_t now_ns);
// Ends the thread. NULL is allowed.
void leat_heartbeat_stop(leat_heartbeat_t* heartbeat);
// The channels that were watched must have been freed. NULL is allowed.
void leat_heartbeat_free(leat_heartbeat_t* heartbeat);

#endif  // LEAT_CLUSTER_HEARTBEAT_H_
