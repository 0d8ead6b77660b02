// A round of a collective and its members: the structs that the sources of the exchange share,
// which are kernel/collective.c (rounds within the process), collective_round.c (who takes part,
// and whether they fit together), collective_remote.c (chunks of other processes) and
// collective_timer.c (deadlines). Everybody else includes kernel/collective.h, and the cluster,
// whose wire leads to members in other processes, kernel/collective_wire.h. A round is one
// collective of one step: kernels with the same step, group and instance, and in a loop the same
// frame and iteration, are its members.
//
//   leat_collectives_t ─┬▶ rounds ─┬▶ members ─▶ program: chains of hops
//                       │          └▶ hops that wait for their other half, by tag
//                       └▶ members with a deadline, requests for an all-to-all, ended steps
//
// The mutex of leat_collectives_t guards all lists and counters; a chain that is running belongs to
// its thread. A member lives until nothing of it is |pending|, and a round until its last member
// has left, or with a wire perhaps until its step is over, since another process may still ask.
// Ending a kernel, answering a request and cancelling a fetch run code outside of these sources,
// which may come back here, so a change under the mutex only notes them in a leat_aftermath_t;
// whoever made the change calls leat_aftermath_do when the mutex is free.
#ifndef LEAT_KERNEL_COLLECTIVE_ROUND_H_
#define LEAT_KERNEL_COLLECTIVE_ROUND_H_

#include "base/map.h"
#include "base/sync.h"
#include "base/thread.h"
#include "kernel/collective_program.h"
#include "kernel/collective_wire.h"

typedef struct leat_round_s leat_round_t;
typedef struct leat_member_s leat_member_t;

// A step that is over here, or has failed in another process.
typedef struct leat_ended_step_s {
  int64_t step_id;  // 0: none yet
  leat_status_t status;
} leat_ended_step_t;
#define LEAT_ENDED_STEPS 1024  // that are remembered

struct leat_collectives_s {
  leat_reference_count_t references;
  leat_allocator_t* allocator;
  leat_collective_wire_t* wire;  // NULL: all members are of this process
  leat_mutex_t mutex;            // guards what follows
  leat_round_t* rounds;          // that are not complete or, where there is a wire, not over
  struct leat_collective_request_s* requests;  // of all-to-all, whose round is not found yet
  leat_ended_step_t* ended;      // [LEAT_ENDED_STEPS], where there is a wire; the oldest at |next|
  size_t next_ended;
  leat_member_t* timed;
  bool has_timer;
  bool ends;
  int64_t timer_wakes_ns;    // when the timer looks next
  leat_condition_t changed;  // an earlier deadline, or |ends|
  leat_thread_t timer;
};

// A chunk that another process asked for before it was offered.
typedef struct leat_collective_request_s {
  leat_hop_t hop;
  leat_collective_chunk_fn_t fn;
  void* data;
  leat_status_t status;  // of those that have failed
  struct leat_collective_request_s* next;
  // Of an all-to-all, whose round the key does not tell for certain.
  int64_t step_id;
  int32_t group_key, instance_key;
  uint64_t frame_id;
  leat_string_view_t key, source;  // behind this struct
} leat_collective_request_t;

// A chunk that a chain waits for, on its way from another process. The chain's member and the call
// own one reference each.
typedef struct leat_collective_fetch_s {
  leat_reference_count_t references;
  leat_collectives_t* all;
  leat_chain_t* chain;
  void* call;
  bool has_call, is_cancelled;  // under the mutex
  struct leat_collective_fetch_s* next;
} leat_collective_fetch_t;

// A member's question for its group. It outlives the member where that ends first.
typedef struct leat_collective_question_s {
  leat_collectives_t* all;
  leat_member_t* member;  // NULL: it has ended; under the mutex
} leat_collective_question_t;

// What a change under the mutex leaves to be done when the mutex is free.
typedef struct leat_aftermath_s {
  leat_member_t* ended;                 // whose kernels are to be ended
  leat_collective_request_t* requests;  // to be answered with their failures
  leat_collective_fetch_t* fetches;     // to be cancelled; retained
} leat_aftermath_t;

struct leat_member_s {
  leat_collectives_t* all;
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_collective_call_t call;
  leat_round_t* round;        // NULL: it has joined none yet, or has left
  leat_member_t* next;        // in the round, by device, which is by rank; among ended members
  leat_member_t* previous_timed;  // in the list of members with a deadline
  leat_member_t* next_timed;
  int64_t deadline_ns;   // LEAT_DEADLINE_NEVER: it is in no such list
  uint64_t token;        // of the cancellation
  bool registered;       // with the cancellation
  bool cancelled;
  bool waits;            // for the round to be complete
  bool expects;          // the wire watches those whom its program offers to
  int64_t pending;
  leat_status_t status;  // how it ended
  leat_collective_question_t* question;  // under way, or NULL
  const leat_collective_members_t* members;  // of the group, where there is a wire
  leat_collective_program_t program;
};

struct leat_round_s {
  leat_round_t* next;
  int64_t step_id;
  int32_t group_key, instance_key;
  uint64_t frame_id;
  int64_t iteration;
  int32_t joined;
  int32_t live;          // members that have not ended
  bool is_closed;        // it is not in the list of rounds any more
  leat_member_t* members;
  leat_status_t status;  // the first failure
  leat_word_map_t hops;  // that wait for their other half, by tag
};

// Adds |m|, which then waits, behind the members whose devices come before its own.
void leat_round_add(leat_round_t* round, leat_member_t* m);
// Whether |m| fits the members that are there already, of which there is at least one.
LEAT_MUST_USE leat_status_t leat_round_check_member(const leat_round_t* round,
                                                    const leat_member_t* m);
// Whether the round, which is complete, can start: a broadcast has a source.
LEAT_MUST_USE leat_status_t leat_round_check(const leat_round_t* round);


// ---- What the halves of the exchange share ------------------------------------------------------

// A tag in one word. Two tags of a group of less than 2^24 members are different words.
static inline uint64_t leat_hop_tag_word(leat_hop_tag_t tag) {
  return (uint64_t)(uint32_t)tag.a << 48 ^ (uint64_t)(uint32_t)tag.b << 24 ^ (uint32_t)tag.c;
}

// kernel/collective.c. The first four with the mutex held, the others without. The first one makes
// a round where there is none.
LEAT_MUST_USE leat_status_t leat_round_find(leat_collectives_t* all, const leat_round_t* like,
                                            leat_round_t** out_round);
void leat_round_close(leat_collectives_t* all, leat_round_t* round);
void leat_round_fail(leat_collectives_t* all, leat_round_t* round, leat_status_t status,
                     leat_aftermath_t* after);
void leat_member_settle(leat_member_t* m, leat_aftermath_t* after);
void leat_round_free(leat_collectives_t* all, leat_round_t* round);
// The second one ends no kernel on this thread where there is a pool.
void leat_aftermath_do(leat_collectives_t* all, leat_aftermath_t* after);
void leat_aftermath_do_elsewhere(leat_collectives_t* all, leat_aftermath_t* after);
void leat_collective_run_chain(leat_chain_t* chain);

// kernel/collective_timer.c, with the mutex held: the deadline that the member's call states.
LEAT_MUST_USE leat_status_t leat_deadline_add(leat_member_t* m);
void leat_deadline_remove(leat_member_t* m);

// kernel/collective_remote.c. Fetches the chunk that the chain's next hop takes.
void leat_collective_fetch_start(leat_chain_t* chain);
void leat_collective_fetch_release(leat_collective_fetch_t* fetch);
// Where the program of a broadcast offers to other processes, has the wire watch these, or ends it.
void leat_member_expect(leat_member_t* m, bool begins);
// With the mutex held: the status of a step that is over or has failed in another process.
LEAT_MUST_USE leat_status_t leat_step_check_open(const leat_collectives_t* all, int64_t step_id);
// The same: takes the request out of the list that fits the offer |hop| of an all-to-all; NULL:
// there is none. And takes those out that belong to a round that fails.
leat_hop_t* leat_collective_take_request(leat_collectives_t* all, const leat_hop_t* hop);
void leat_collective_fail_requests(leat_collectives_t* all, const leat_round_t* round,
                                   leat_aftermath_t* after);

#endif  // LEAT_KERNEL_COLLECTIVE_ROUND_H_
