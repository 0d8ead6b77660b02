// A round of a collective and its members: who they are and whether they fit together. What happens
// when they are all there is in kernel/collective.c.
#ifndef LEAT_KERNEL_COLLECTIVE_ROUND_H_
#define LEAT_KERNEL_COLLECTIVE_ROUND_H_

#include "base/map.h"
#include "kernel/collective_program.h"

typedef struct leat_round_s leat_round_t;
typedef struct leat_member_s leat_member_t;

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
  int64_t pending;
  leat_status_t status;  // how it ended
  leat_collective_program_t program;
};

struct leat_round_s {
  leat_round_t* next;         // of those that are not complete
  int64_t step_id;
  uint64_t frame_id;
  int64_t iteration;
  int32_t joined;
  int32_t live;          // members that have not ended
  leat_member_t* members;
  leat_status_t status;  // the first failure
  leat_word_map_t hops;  // that wait for their other half, by tag
};

// Adds |m|, which then waits, behind the members whose devices come before its own.
void leat_round_add(leat_round_t* round, leat_member_t* m);
// Whether |m| fits the members that are there already, of which there is at least one.
LEAT_MUST_USE leat_status_t leat_round_check_member(const leat_round_t* round,
                                                    const leat_member_t* m);
// Whether the round, which is complete, can start: a broadcast has a source, places differ.
LEAT_MUST_USE leat_status_t leat_round_check(const leat_round_t* round);

#endif  // LEAT_KERNEL_COLLECTIVE_ROUND_H_
