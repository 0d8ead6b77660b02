// A plan is a partition compiled for one of the two executors: one 64-byte record for each thing
// that a step does, with kernels made, slots numbered, and everything else decided that can be
// decided before a step runs.
//
// The compiler (worker/compiler.h) chooses the executor and lays the records out for it:
//
//   sequence (worker/sequence.h)   records in the order in which they run, loops as jumps; one
//                                  thread; it is known for each record which values end there
//   dataflow (worker/dataflow.h)   records with counts of the inputs that they wait for and lists
//                                  of the records that wait for them; any number of threads
//
// Values lie in slots, which belong to an instance of the plan, so that many steps may run one plan
// at once:
//
//   slots:  [ constants | outputs of one node after the other, with the values of references that
//             are read ]
//
// A slot has one writer. Whoever reads it last may overwrite its bytes in place, and empties it.
// Constants lie in the first slots, are set when an instance is made and stay. Fed values are set
// from the feeds. Neither has a record.
#ifndef LEAT_WORKER_PLAN_H_
#define LEAT_WORKER_PLAN_H_

#include "base/span.h"
#include "base/sync.h"
#include "graph/frames.h"
#include "kernel/call.h"
#include "kernel/resource.h"
#include "worker/loop_span.h"
#include "worker/worker.h"

// Bits of leat_record_t.flags: what the executors must do for a record besides calling its kernel.
// A record without any is the usual case, which they take in a few instructions.
typedef enum leat_record_flag_e {
  LEAT_RECORD_PREPARES = 1 << 0,      // leat_kernel_needs_preparing
  LEAT_RECORD_HAS_REFS = 1 << 1,      // an input or an output is a reference, or is read from one
  LEAT_RECORD_ASYNC = 1 << 2,
  LEAT_RECORD_EXPENSIVE = 1 << 3,     // dataflow: worth another thread's coming
  // Control flow (section 4.4), which the executors do themselves: these records have no call.
  LEAT_RECORD_SWITCH = 1 << 4,
  LEAT_RECORD_MERGE = 1 << 5,
  LEAT_RECORD_ENTER = 1 << 6,
  LEAT_RECORD_EXIT = 1 << 7,
  LEAT_RECORD_NEXT_ITERATION = 1 << 8,
  LEAT_RECORD_INVARIANT = 1 << 9,     // an Enter whose value all iterations see
  LEAT_RECORD_RUNS_DEAD = 1 << 10,    // Send: runs with a dead input too
  LEAT_RECORD_NEVER_DEAD = 1 << 11,   // ControlTrigger
  // Only in a sequence.
  LEAT_RECORD_GUARDED = 1 << 12,      // has a guard, or a flag of its own to set
  LEAT_RECORD_ONLY_FLAG = 1 << 13,    // sets its flag and does nothing else
  LEAT_RECORD_LOOP = 1 << 14,         // a loop begins here
  LEAT_RECORD_REPEAT = 1 << 15,       // an iteration of a loop ends here
  LEAT_RECORD_READS_OUTPUT_0 = 1 << 16,  // of a Switch, Merge or move: somebody reads output 0
  LEAT_RECORD_READS_OUTPUT_1 = 1 << 17,
} leat_record_flag_t;
// Enter, Exit, NextIteration: the input becomes the output, in another frame or iteration.
#define LEAT_RECORD_MOVES \
  (LEAT_RECORD_ENTER | LEAT_RECORD_EXIT | LEAT_RECORD_NEXT_ITERATION)
// The records whose work the executors do themselves.
#define LEAT_RECORD_CONTROL_FLOW (LEAT_RECORD_SWITCH | LEAT_RECORD_MERGE | LEAT_RECORD_MOVES)

// One thing that a step does, read-only while steps run. A record of control flow has a kernel as
// well, for its node's name and types, but the executors do its work themselves.
typedef struct LEAT_ALIGNED(64) leat_record_s {
  leat_kernel_compute_fn_t compute;  // kernel->compute
  leat_kernel_t* kernel;
  const uint32_t* input_slots;       // kernel->input_count of them
  uint64_t last_readers;             // sequence: inputs that may be overwritten
  uint32_t first_output;             // slot, in the frame that the outputs belong to
  uint32_t flags;
  union {
    struct {
      uint32_t input_count;
      uint32_t output_count;
      uint32_t first_successor;      // in plan->dataflow.successors
      uint32_t successor_count;
      uint32_t place;                // number of the record in its frame
    } dataflow;
    struct {
      uint32_t first_release;        // in plan->sequence.releases: slots nobody reads after this
      uint32_t release_count;
      uint32_t guard;                // in plan->sequence.guards; 0: always live
      uint32_t flag;                 // that it sets; see worker/sequence.h
      uint32_t loop;                 // LOOP, REPEAT, NextIteration: in plan->sequence.loops
    } sequence;
  };
} leat_record_t;
_Static_assert(sizeof(leat_record_t) == 64, "a record is a cache line");

// The |first_output| of a Switch in a sequence whose sides share the slot of its input, so that it
// has no outputs of its own.
#define LEAT_NO_SLOT UINT32_MAX
// The count of readers of a constant in a frame: its slot stays filled, whoever reads it.
#define LEAT_READERS_CONSTANT UINT32_MAX

// A loop of a sequence: the records from |begin| (LOOP) to |end| (REPEAT), and what is to be done
// at its borders. A loop inside another lies wholly between the other's borders. One in which
// nothing runs, because nobody reads what enters it, has no borders: both numbers are 0.
typedef struct leat_sequence_loop_s {
  uint32_t begin, end;
  const uint32_t* entries;     // flags that the Enters of its variables set
  const uint32_t* invariants;  // slots that all iterations read,
  const uint32_t* invariant_flags;  // [invariant_count] and the flags that their Enters set
  const uint32_t* exits;       // flags of its Exits
  const uint32_t* firsts;      // flags of what is live in the first iteration only
  uint32_t entry_count, invariant_count, exit_count, first_count;
} leat_sequence_loop_t;

// What the sequence executor needs besides the records. Lists of one record or loop are ranges of
// these arrays, so that a record stays within a cache line.
typedef struct leat_sequence_tables_s {
  uint32_t* releases;  // slots, by record
  // Guards, one behind the other: a count, then as many flags, all of which must be set for the
  // record to run (of a Merge: one for each input). Guard 0 is the empty one.
  uint32_t* guards;
  uint32_t guard_length;  // of |guards|, counts included
  uint32_t flag_count;
  leat_sequence_loop_t* loops;
  uint32_t loop_count;
} leat_sequence_tables_t;

// A frame as an iteration of it needs it. Beginning an iteration copies |readers| and |pending|.
typedef struct leat_dataflow_frame_s {
  uint32_t slot_count;
  uint32_t record_count;
  uint32_t* records;        // by place
  uint32_t* readers;        // by slot: how many inputs and fetches read it, to copy from
  uint32_t* pending;        // by place: how many inputs a record waits for, to copy from
} leat_dataflow_frame_t;

// What the dataflow executor needs besides the records.
typedef struct leat_dataflow_tables_s {
  uint32_t* successors;        // records
  int32_t* successor_outputs;  // beside them: the output that the edge carries, or -1
  uint32_t* roots;             // records that wait for nothing
  uint32_t root_count;
  bool framed;                 // has control flow, or may receive dead values
  leat_frames_t frames;
  leat_dataflow_frame_t* frame_tables;  // beside frames.items
} leat_dataflow_tables_t;

// Owned by the worker's entry of a registered graph. Nothing in it but what recordings are told
// (|told|, |loop_labels|) changes after compiling, so any number of steps may run it at once; what
// a step changes lies in its instance.
typedef struct leat_plan_s {
  leat_allocator_t* allocator;
  leat_graph_t* graph;       // keeps names, attributes and types alive
  leat_device_t* device;
  leat_arena_t arena;
  leat_executor_kind_t executor;  // SEQUENCE or DATAFLOW: which of the two tables is made
  leat_record_t* records;    // every input comes before its reader, but for those that close a loop
  uint32_t record_count;
  int32_t* record_nodes;     // record -> node; -1 for the borders of loops
  union {
    leat_sequence_tables_t sequence;
    leat_dataflow_tables_t dataflow;
  };
  leat_reference_read_t* reads;  // references that are read as values, by record
  uint32_t* first_read;          // [record_count + 1]; NULL when nothing is read so
  uint32_t slot_count;           // of an instance: of all frames in a sequence, else of frame 0
  const leat_tensor_t** constants;  // of slots 0, 1, ...
  uint32_t constant_count;
  // Constants of a sequence that wait for a control edge: the value is always there, a flag says
  // whether it is live.
  uint32_t* late_constant_slots;
  const leat_tensor_t** late_constants;
  uint32_t late_constant_count;
  uint32_t* feed_slots;      // by feed; UINT32_MAX = not read
  int feed_count;
  leat_output_t* fetches;    // outputs of |graph|, for messages
  uint32_t* fetch_slots;
  bool* fetch_moves;         // the value is taken out of the slot: no later fetch shares it
  int fetch_count;
  leat_status_code_t dead_fetch_code;
  bool has_async;
  bool ends_at_once;         // a step is over when leat_execution_start returns
  bool enqueues;             // has kernels whose work goes on after them, on the device
  bool uses_rendezvous;
  uint32_t transfer_count;   // numbered transfers of the step; 0: all meet by text
  bool waits;                // has asynchronous kernels that must hear of a cancellation
  bool uses_step_resources;
  leat_loop_label_t* loop_labels;  // by loop: frame n is loop n - 1
  _Atomic(uint32_t) told;    // the number of the last recording that knows the plan's edges
} leat_plan_t;

// Whether a node of a plan's graph is one of its constants: its value is in its slot before a step
// begins. A constant that waits for a control edge is a record.
static inline bool leat_plan_has_constant(const leat_node_t* node) {
  return (node->op->flags & LEAT_OP_CONSTANT) && node->control_count == 0;
}

typedef struct leat_plan_instance_s leat_plan_instance_t;
// What a running step owns: the values of its slots. When the step has ended, only the constants
// are in it again, and it serves another step.
struct leat_plan_instance_s {
  leat_plan_instance_t* next;
  leat_slot_t* slots;
  // Of a sequence with control flow.
  uint8_t* flags;            // which outputs are live, then which loops go on
  leat_loop_times_t* loops;  // by loop; set while the step is observed
  // The dataflow executor makes these two on its first run with this instance.
  struct leat_iteration_s* root;
  struct leat_iteration_s** free_iterations;  // by frame
};

// Frees the plan, whose instances must have been freed before. NULL is allowed.
void leat_plan_free(leat_plan_t* plan);
// An instance with its constants set and all other slots empty. From any thread.
LEAT_MUST_USE leat_status_t leat_plan_make_instance(leat_plan_t* plan,
                                                    leat_plan_instance_t** out_instance);
// Empties all slots but the constants', which may still hold values (after a failure).
void leat_plan_empty_instance(leat_plan_t* plan, leat_plan_instance_t* instance);
void leat_plan_free_instance(leat_plan_t* plan, leat_plan_instance_t* instance);
// |*inout_kept| is a list of instances that are as they were made, kept for later steps beside the
// plan, whose own memory no step writes to. The newest is taken first, as it is warm; NULL: none is
// there.
static inline void leat_plan_keep_instance(leat_plan_instance_t** inout_kept,
                                           leat_plan_instance_t* instance) {
  LEAT_DCHECK(instance != *inout_kept);
  instance->next = *inout_kept;
  *inout_kept = instance;
}
static inline leat_plan_instance_t* leat_plan_take_instance(leat_plan_instance_t** inout_kept) {
  leat_plan_instance_t* instance = *inout_kept;
  if (instance) *inout_kept = instance->next;
  return instance;
}
// Empties a slot: leat_slot_release with the usual case inline. The slot then counts as dead.
static inline void leat_slot_clear(leat_slot_t* slot) {
  if (LEAT_UNLIKELY(slot->ref != NULL)) {
    leat_slot_release(slot);
    return;
  }
  if (slot->tensor.dtype) leat_tensor_release(&slot->tensor);
  slot->alive = false;
}
// The references that |record| reads as values.
static inline const leat_reference_read_t* leat_plan_reads(const leat_plan_t* plan,
                                                           uint32_t record, uint32_t* out_count) {
  LEAT_DCHECK(record < plan->record_count);
  *out_count = plan->first_read ? plan->first_read[record + 1] - plan->first_read[record] : 0;
  return *out_count ? plan->reads + plan->first_read[record] : NULL;
}
// The name of the record's node, for messages; borrowed from the plan.
leat_string_view_t leat_plan_record_name(const leat_plan_t* plan, uint32_t record);
// Tells the recording under way (base/span.h) the plan's nodes and edges. Any thread.
void leat_plan_tell(leat_plan_t* plan);
// Checks what the executors rely on: slots, kernels, releases, guards and the borders of loops, or
// successors, counts and places. INTERNAL with the record's node and the rule. For debug builds,
// which check every plan that they compile, and for tests.
LEAT_MUST_USE leat_status_t leat_plan_verify(const leat_plan_t* plan);

#endif  // LEAT_WORKER_PLAN_H_
