// Collectives: values that the kernels of several devices make together (the sum of all their
// inputs, for example). A device takes part by running a kernel, which names a group of devices by
// a number, says how large it is, and names by a second number which collective of the group this
// is. Kernels of one step with the same two numbers meet in a round:
//
//   device 0: leat_collective_start ─┐
//   device 1: leat_collective_start ─┼─▶ round: all are there, ranks ─▶ chunks go around ─▶ done
//   device 2: leat_collective_start ─┘
//
// No thread waits: a member that is not alone leaves its kernel pending, and whoever comes last
// starts the exchange. Ranks follow the names of the devices. Members of a communicator have places
// besides, which say in what order the rows of an all-to-all lie, and nothing else, as in
// TensorFlow. What goes around, and in which order chunks are merged, is in
// kernel/collective_program.h. The order is the same in every run, and all members get the same
// bits.
//
// The first failure in a round ends it for all members with that status: members that do not agree
// on what they do together (INTERNAL for the size of the group, the kind and the type,
// INVALID_ARGUMENT for the shape), a timeout (DEADLINE_EXCEEDED), the cancellation of a step
// (CANCELLED).
#ifndef LEAT_KERNEL_COLLECTIVE_H_
#define LEAT_KERNEL_COLLECTIVE_H_

#include "device/cpu/combine.h"
#include "kernel/kernel.h"

// All rounds of the devices of a session. Reference counted; every function may be called on any
// thread.
typedef struct leat_collectives_s leat_collectives_t;
LEAT_MUST_USE leat_status_t leat_collectives_create(leat_allocator_t* allocator,
                                                    leat_collectives_t** out_collectives);
void leat_collectives_retain(leat_collectives_t* collectives);
// No member may wait any more when the last reference goes. NULL is allowed.
void leat_collectives_release(leat_collectives_t* collectives);

// The step is over: what other processes still ask of its rounds fails with ABORTED.
void leat_collectives_forget_step(leat_collectives_t* collectives, int64_t step_id);

// What a group does together. The numbers are those of TensorFlow's CompleteInstance.
typedef enum leat_collective_kind_e {
  LEAT_COLLECTIVE_REDUCE = 0,          // everybody gets the merged inputs
  LEAT_COLLECTIVE_BROADCAST = 1,       // everybody gets the input of one member, the source
  LEAT_COLLECTIVE_GATHER = 2,          // everybody gets all inputs, by rank
  LEAT_COLLECTIVE_ALL_TO_ALL = 4,      // rank i gets chunk i of each input, by place
  LEAT_COLLECTIVE_REDUCE_SCATTER = 5,  // rank i gets chunk i of the merged inputs
} leat_collective_kind_t;

// How one member takes part.
typedef struct leat_collective_call_s {
  leat_collective_kind_t kind;
  int32_t group_key, group_size, instance_key;
  bool comes_again;  // later steps have this same collective, as TensorFlow has it for most ops
  const int32_t* places;  // [group_size] of an all-to-all: where each rank's row goes; or NULL
  bool is_source;
  int dtype;
  const leat_shape_t* shape;  // in which all members must agree
  // The elements that chunks are cut from and arrive in. Before the call it holds the member's own
  // elements: all of them (REDUCE, REDUCE_SCATTER, the source of BROADCAST), or none (GATHER,
  // ALL_TO_ALL, other members of BROADCAST).
  void* data;
  int64_t count;
  const void* sent;  // of GATHER and ALL_TO_ALL: the member's own elements
  void* kept;        // of REDUCE_SCATTER: where the member's chunk goes in the end
  leat_tensor_t scratch;  // released when the kernel ends, or "no tensor"
  leat_combine_t merge;  // of both reductions
  bool divides;          // of both: by the size of the group, in the end
  // Of REDUCE: the rings that chunks go around (kernel/collective_program.h). Without offsets there
  // is one, or as many as the size asks for, up to so many a device; 0: a default, negative: one.
  const int32_t* subdiv_offsets;
  int32_t subdiv_count;
  int32_t max_subdivs;
  double timeout_seconds;  // 0 or less: none
  // Runs when the round has succeeded, before the kernel's |done|; NULL: there is nothing to do.
  leat_status_t (*completed)(const struct leat_collective_call_s* call);
} leat_collective_call_t;

// Takes part in a round; |done| is called when it is over. All that |call| points to must live
// until then; |call| itself is copied, and its scratch memory taken over.
void leat_collective_start(leat_kernel_context_t* context, const leat_collective_call_t* call,
                           leat_kernel_done_fn_t done);

#endif  // LEAT_KERNEL_COLLECTIVE_H_
