// A plan with control flow (section 4.4) as a list of steps: what the ordered executor runs. Each
// loop stands in one piece behind all its Enters and before all that reads its Exits:
//
//   Enter a | Enter b | LOOP | Merge a | Merge b | ... | Switch | body | NextIteration | REPEAT | ...
//
// One iteration runs at a time, so a frame needs one set of slots. They lie behind each other in
// the instance's array, frame 0 first. A slot without a live value is empty: nothing has to be done
// for a record that is dead but to skip it.
#ifndef LEAT_WORKER_ORDERED_PLAN_H_
#define LEAT_WORKER_ORDERED_PLAN_H_

#include "worker/plan.h"

typedef enum leat_step_kind_e {
  LEAT_STEP_RUN,
  LEAT_STEP_SWITCH,
  LEAT_STEP_MERGE,
  LEAT_STEP_MOVE,    // Enter, Exit, NextIteration: input 0 becomes output 0
  LEAT_STEP_LOOP,    // a loop begins: skipped when nothing live entered
  LEAT_STEP_REPEAT,  // back to its begin when a value goes on
} leat_step_kind_t;

typedef struct leat_ordered_step_s {
  uint32_t record;           // of a LOOP or REPEAT: the loop
  uint8_t kind;
  bool conditional;          // may be dead: |checks| and |controls| tell
  bool goes_on;              // NextIteration
  bool exits;                // Exit
  uint8_t read_outputs;      // bit k: somebody reads output k (of the first two)
  uint32_t loop;             // NextIteration: its loop
  uint32_t first_input;      // where the slots begin that record->input_slots counts from
  uint32_t first_output;     // slot
  uint64_t last_readers;     // as in a record
  const uint32_t* checks;    // slots that must all be live
  const uint32_t* controls;  // records that must not be dead
  const uint32_t* releases;  // slots that nobody reads after this step
  uint32_t check_count, control_count, release_count;
} leat_ordered_step_t;

typedef struct leat_ordered_loop_s {
  uint32_t begin, end;      // its LOOP and REPEAT steps
  const uint32_t* entries;  // slots that its Enters fill
  const uint32_t* invariants;  // those of them that all iterations read
  const uint32_t* exits;    // records
  uint32_t entry_count, invariant_count, exit_count;
} leat_ordered_loop_t;

struct leat_ordered_plan_s {
  leat_ordered_step_t* steps;
  uint32_t step_count;
  leat_ordered_loop_t* loops;  // by frame - 1
  uint32_t loop_count;
  uint32_t slot_count;  // of all frames
};

// Lies in the plan's arena. NULL when the plan cannot be put in order: it has asynchronous kernels,
// or a loop that values enter which depend on its own exits.
LEAT_MUST_USE leat_status_t leat_ordered_plan_make(leat_plan_t* plan,
                                                   leat_ordered_plan_t** out_ordered);

#endif  // LEAT_WORKER_ORDERED_PLAN_H_
