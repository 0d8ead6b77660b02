// What a member of a collective does, as a program: chains of hops, one chain for each chunk of the
// elements. A hop offers the chunk to another rank, takes it from one, or works on it. Chains do
// not wait for each other, so that while one chunk is merged another is on its way. The hops of all
// members fit together: for each offer there is exactly one hop that takes it, under the same tag.
//
// Two reductions and the gather go around a ring (rank r takes from r - 1 and offers to r + 1). Of
// three ranks, with chunks 0, 1, 2, each rank's chains are, in the first and the second pass:
//
//   chunk 0:  rank 0 offers   ─▶ rank 1 merges, offers ─▶ rank 2 merges: complete
//             rank 2 offers   ─▶ rank 0 takes, offers  ─▶ rank 1 takes
//   chunk 1:  the same, beginning at rank 1; and so on
//
// So each rank sends about 2 / n of all elements n - 1 times, and chunk c is always merged in the
// order c, c + 1, ..., whoever is late. A reduction may have several such rings, each for its own
// chunks, in which the members of a task stand in another order (|subdiv_offsets| of the op).
// Chunks, rings, tags and this order are TensorFlow's, because a member may be a task that runs
// TensorFlow.
//
// A small reduction over tasks that all run Leat takes fewer messages one after the other: members
// exchange all their elements in pairs, at distances of 1, 2, 4, ... ranks. Of five ranks, the last
// one first gives its elements to rank 0, and gets the result from there:
//
//   4 ─▶ 0      0 ◀─▶ 1, 2 ◀─▶ 3      0 ◀─▶ 2, 1 ◀─▶ 3      0 ─▶ 4
//
// A larger one whose members are on several hosts, and several on one, goes by hosts: each chunk is
// merged within a host towards its lowest rank, its leader, then around a ring of the leaders, and
// comes back to the others as it went. So a network between hosts carries the elements of a host
// once, and not those of each member. With the ranks 0 1 2 on a host and 3 4 on another:
//
//   2 ─▶ 1 ─▶ 0, 4 ─▶ 3      ring of 0 and 3      0 ─▶ 1 ─▶ 2, 3 ─▶ 4
#ifndef LEAT_KERNEL_COLLECTIVE_PROGRAM_H_
#define LEAT_KERNEL_COLLECTIVE_PROGRAM_H_

#include "kernel/collective.h"

typedef enum leat_hop_kind_e {
  LEAT_HOP_OFFER,   // |peer| may take the chunk
  LEAT_HOP_TAKE,    // the chunk becomes that of |peer|
  LEAT_HOP_MERGE,   // the chunk is merged with that of |peer|
  LEAT_HOP_MERGE_BEHIND,  // that of |peer| is merged with the chunk, and becomes it
  LEAT_HOP_DIVIDE,  // the merged chunk is divided by the size of the group
  LEAT_HOP_KEEP,    // the chunk is copied to the call's |kept|
} leat_hop_kind_t;

// Names an exchange within a round: the pass, the chunk and the place in the ring that offers for a
// ring, the tree and both places in it for a broadcast, both ranks for all to all.
typedef struct leat_hop_tag_s {
  int32_t a, b, c;
} leat_hop_tag_t;

typedef struct leat_hop_s {
  leat_hop_kind_t kind;
  int32_t peer;
  leat_hop_tag_t tag;
  bool is_remote;              // |peer| belongs to another process
  struct leat_chain_s* chain;  // NULL in a request of another process
} leat_hop_t;

typedef struct leat_chain_s {
  char* bytes;  // the chunk
  int64_t count;
  leat_hop_t* next;  // the hop that is under way
  leat_hop_t* end;
  void* member;               // for whoever runs it
  leat_hop_t* source;         // the offer that its hop takes from, once there is one
  void* fetch;                // under way for its hop; for whoever runs it
  struct leat_chain_s* ready;  // the next one in a list of chains to run
} leat_chain_t;

typedef struct leat_collective_program_s {
  leat_chain_t* chains;
  int64_t chain_count;
  leat_hop_t* hops;
  char* memory;  // of chunks that are neither in |data| nor |sent|; or NULL
} leat_collective_program_t;

// What a program has to know of the other members.
typedef struct leat_collective_group_s {
  int32_t task_count;     // of tasks that have members; 0: all members are of one task
  const int32_t* starts;  // [task_count + 1]: the first rank of each task, and the group's size
  int32_t source;         // the rank that is the source of a broadcast
  bool is_alike;          // no member runs TensorFlow, and some are of other processes
  const int32_t* leaders;  // [the group's size]: the lowest rank on the host of each, where
                           // |is_alike|; NULL: hosts are not known
} leat_collective_group_t;

// The program of rank |rank| for |call|. Copies the member's own elements to where they belong in
// |call->data|. RESOURCE_EXHAUSTED without memory. |group| is needed for the call only.
LEAT_MUST_USE leat_status_t leat_collective_program_create(const leat_collective_call_t* call,
                                                           int32_t rank,
                                                           const leat_collective_group_t* group,
                                                           leat_allocator_t* allocator,
                                                           leat_collective_program_t* out_program);
// Accepts a zeroed program.
void leat_collective_program_free(leat_collective_program_t* program, leat_allocator_t* allocator);

// Does the work of the chain's next hop, which is no offer, on its chunk; from the chain's |source|
// where it takes or merges.
void leat_collective_work(const leat_chain_t* chain, const leat_collective_call_t* call);

#endif  // LEAT_KERNEL_COLLECTIVE_PROGRAM_H_
