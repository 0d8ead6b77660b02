// What rounds need where members of a group belong to other processes: who they are, and their
// chunks. The cluster implements it (cluster/collective_wire.c); a session within one process has
// none. Calls from the other side come in by leat_collectives_take and leat_collectives_forget.
#ifndef LEAT_KERNEL_COLLECTIVE_WIRE_H_
#define LEAT_KERNEL_COLLECTIVE_WIRE_H_

#include "kernel/collective.h"

// The members of a group by rank.
typedef struct leat_collective_members_s {
  int32_t size;
  const leat_string_view_t* devices;  // [size]
  const uint64_t* incarnations;       // [size] of the devices
  const bool* are_remote;             // [size] whether another process has them
  int32_t task_count;                 // of tasks that have members
  const int32_t* starts;              // [task_count + 1]: the first rank of each task, and |size|
  bool are_alike;                     // every member is one of Leat's
  const int32_t* leaders;             // [size]: the lowest rank on its host, where |are_alike|
} leat_collective_members_t;

// Called once, on any thread. |members| lives as long as the wire; |source| is the rank of the
// source of a broadcast. |status| is the callee's.
typedef void (*leat_collective_resolved_fn_t)(void* data, leat_status_t status,
                                              const leat_collective_members_t* members,
                                              int32_t source);
// Called once, on any thread, with the bytes of a chunk, which are valid during the call.
typedef void (*leat_collective_chunk_fn_t)(void* data, leat_status_t status,
                                           leat_string_view_t bytes);

// A chunk of another process.
typedef struct leat_collective_chunk_s {
  int64_t step_id;
  leat_string_view_t key;
  leat_string_view_t source, target;  // devices
  uint64_t source_incarnation;
  size_t size_bytes;
} leat_collective_chunk_t;

typedef struct leat_collective_wire_s leat_collective_wire_t;
struct leat_collective_wire_s {
  // Finds the members of the call's group and its source, for the member |device|. May never call
  // |fn| while other members are missing.
  void (*resolve)(leat_collective_wire_t* self, leat_string_view_t device, leat_string_view_t node,
                  const leat_collective_call_t* call, leat_collective_resolved_fn_t fn,
                  void* data);
  // Fetches a chunk; what |chunk| points to is needed for the call only. |*out_call| is set before
  // |fn| may be called; it is for |cancel|, which makes |fn| be called soon, and ends with |free|.
  void (*fetch)(leat_collective_wire_t* self, const leat_collective_chunk_t* chunk,
                leat_collective_chunk_fn_t fn, void* data, void** out_call);
  void (*cancel)(void* call);
  void (*free)(void* call);
  // A chunk is offered to |device|, from which nothing is fetched; and, with |begins| false, is so
  // no more. In between the wire watches whether |device| is there (leat_collectives_lose).
  void (*expect)(leat_collective_wire_t* self, leat_string_view_t device, bool begins);
};

// The collectives of a task. |wire| is borrowed.
LEAT_MUST_USE leat_status_t leat_collectives_create_wired(leat_allocator_t* allocator,
                                                          leat_collective_wire_t* wire,
                                                          leat_collectives_t** out_collectives);
// Gives |fn| the chunk that the member |source| of this process offers under |key| in step
// |step_id|: when it is there, which may be before this returns, or the failure of its round.
// INVALID_ARGUMENT for a malformed key, ABORTED where the step is over.
void leat_collectives_take(leat_collectives_t* collectives, int64_t step_id,
                           leat_string_view_t key, leat_string_view_t source,
                           leat_collective_chunk_fn_t fn, void* data);
// The step is over: fails what is left of its rounds with |status|, which is taken. 0: every step.
void leat_collectives_forget(leat_collectives_t* collectives, int64_t step_id,
                             leat_status_t status);
// The step has failed in another process: its rounds under way, and those that members of this
// process would still begin, fail with |status|, which is taken.
void leat_collectives_fail_step(leat_collectives_t* collectives, int64_t step_id,
                                leat_status_t status);
// Nobody answers any more at the task "/job:worker/replica:0/task:1": fails the rounds under way of
// groups that it is in with |status|, which is taken.
void leat_collectives_lose(leat_collectives_t* collectives, leat_string_view_t task,
                           leat_status_t status);

#endif  // LEAT_KERNEL_COLLECTIVE_WIRE_H_
