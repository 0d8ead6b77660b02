// A plan with control flow (section 4.4) as a list of steps: what the ordered executor runs. Each
// loop stands in one piece behind all its Enters and before all that reads its Exits:
//
//   Enter a | Enter b | LOOP | cond | Switch a | Switch b | Exit | body | Next a | Next b | REPEAT
//
// One iteration runs at a time, so a frame needs one set of slots; they lie behind each other in
// the instance's array, frame 0 first. Whether an output is live is a flag of its own, so that
// values need not move: Identity and both sides of a Switch share the slot of what they read, and a
// loop's variable has one slot, which Enter fills and NextIteration fills anew; neither they nor
// Merge are steps of their own. A constant that waits for a control edge is always in its slot;
// only its flag is the edge's. A record that is dead is skipped and leaves its slots empty.
#ifndef LEAT_WORKER_ORDERED_PLAN_H_
#define LEAT_WORKER_ORDERED_PLAN_H_

#include "worker/plan.h"

typedef enum leat_step_kind_e {
  LEAT_STEP_RUN,     // a kernel
  LEAT_STEP_NOTE,    // only the flag
  LEAT_STEP_SWITCH,  // flags of both sides
  LEAT_STEP_MERGE,   // the first live input becomes output 0
  LEAT_STEP_MOVE,    // Enter, Exit, NextIteration: input 0 becomes the output
  LEAT_STEP_LOOP,    // a loop begins: skipped when nothing live entered
  LEAT_STEP_REPEAT,  // back to its begin when a value goes on
} leat_step_kind_t;

#define LEAT_FLAG_ALWAYS 0  // the flag that is always set
#define LEAT_NO_LOOP UINT32_MAX

typedef struct leat_ordered_step_s {
  uint32_t record;           // of a LOOP or REPEAT: the loop
  uint8_t kind;
  bool exits;                // Exit: a dead one leaves the flag alone
  uint8_t read_outputs;      // bit k: somebody reads output k (of the first two)
  uint32_t flag;             // set while live, else cleared; a Switch's: false side, true side, own
  uint32_t check_count;      // flags that must all be set; of a Merge: one an input
  const uint32_t* checks;
  const uint32_t* inputs;    // slots
  uint32_t first_output;     // slot
  uint32_t goes_on;          // NextIteration: its loop; else LEAT_NO_LOOP
  uint64_t last_readers;     // as in a record
  const uint32_t* releases;  // slots that nobody reads after this step
  uint32_t release_count;
  uint32_t frame_slots;      // where the slots begin that the record's own numbers count from
} leat_ordered_step_t;

typedef struct leat_ordered_loop_s {
  uint32_t begin, end;         // its LOOP and REPEAT steps
  const uint32_t* entries;     // flags that its Enters set
  const uint32_t* invariants;  // slots that all iterations read
  const uint32_t* exits;       // flags
  const uint32_t* firsts;      // flags of what is live in the first iteration only
  uint32_t entry_count, invariant_count, exit_count, first_count;
} leat_ordered_loop_t;

struct leat_ordered_plan_s {
  leat_ordered_step_t* steps;
  uint32_t step_count;
  leat_ordered_loop_t* loops;  // by frame - 1
  uint32_t loop_count;
  uint32_t slot_count;  // of all frames
  uint32_t flag_count;
  uint32_t* constant_slots;  // of constants that are records
  const leat_tensor_t** constant_tensors;
  uint32_t constant_count;
};

// |graph| is what the plan is made of. Lies in the plan's arena. NULL when the plan cannot be put
// in order: it has asynchronous kernels, references in control flow, or a loop that values enter
// which depend on its own exits.
LEAT_MUST_USE leat_status_t leat_ordered_plan_make(leat_plan_t* plan, const leat_graph_t* graph,
                                                   leat_ordered_plan_t** out_ordered);

// ---- Between the parts of the making ------------------------------------------------------------

// Records in the order of their steps. LOOP and REPEAT of loop i: LEAT_ORDER_LOOP + i and
// LEAT_ORDER_REPEAT + i.
#define LEAT_ORDER_LOOP (UINT32_C(1) << 30)
#define LEAT_ORDER_REPEAT (UINT32_C(1) << 31)
typedef struct leat_step_order_s {
  uint32_t* items;
  uint32_t count;
  bool is_whole;  // false: there is no such order
} leat_step_order_t;
// |out_order->items| has room for every record and two entries a loop.
LEAT_MUST_USE leat_status_t leat_step_order_find(const leat_plan_t* plan, leat_arena_t* scratch,
                                                 leat_step_order_t* out_order);

#endif  // LEAT_WORKER_ORDERED_PLAN_H_
