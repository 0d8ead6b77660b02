// A plan is a partition compiled for running: one 64-byte record a node, kernels made, input and
// output slots numbered, successors listed. Both executors run the same plan.
//
//   slots:  [ outputs of record 0 | outputs of record 1 | ... | dereferenced inputs ]
//
// A slot has one writer. Whoever reads it last may overwrite the bytes in place and empties it: in
// record order that is known here (|last_readers|, |releases|); the dataflow executor counts the
// readers down. A record that reads one slot twice never overwrites it. Constants and arguments
// take a slot but no record that runs: constants are set when an instance is made and stay;
// arguments are set from the feeds.
#ifndef LEAT_WORKER_PLAN_H_
#define LEAT_WORKER_PLAN_H_

#include "base/sync.h"
#include "graph/frames.h"
#include "kernel/resource.h"
#include "worker/worker.h"

typedef enum leat_record_flag_e {
  LEAT_RECORD_HAS_REFS = 1 << 0,      // reads or writes references
  LEAT_RECORD_CONTRACT = 1 << 1,      // inputs are checked first
  LEAT_RECORD_ASYNC = 1 << 2,
  LEAT_RECORD_EXPENSIVE = 1 << 3,
  // What the executor does itself (section 4.4).
  LEAT_RECORD_SWITCH = 1 << 4,
  LEAT_RECORD_MERGE = 1 << 5,
  LEAT_RECORD_ENTER = 1 << 6,
  LEAT_RECORD_EXIT = 1 << 7,
  LEAT_RECORD_NEXT_ITERATION = 1 << 8,
  LEAT_RECORD_INVARIANT = 1 << 9,     // an Enter whose value all iterations see
  LEAT_RECORD_RUNS_DEAD = 1 << 10,    // Send: runs with a dead input too
  LEAT_RECORD_NEVER_DEAD = 1 << 11,   // ControlTrigger
} leat_record_flag_t;
#define LEAT_RECORD_CONTROL_FLOW                                                   \
  (LEAT_RECORD_SWITCH | LEAT_RECORD_MERGE | LEAT_RECORD_ENTER | LEAT_RECORD_EXIT | \
   LEAT_RECORD_NEXT_ITERATION)

typedef struct LEAT_ALIGNED(64) leat_record_s {
  leat_status_t (*compute)(leat_kernel_context_t* context);
  leat_kernel_t* kernel;
  const uint32_t* input_slots;
  uint64_t last_readers;      // inputs that may be overwritten, when run in record order
  uint32_t first_output;      // slot, in the frame that the outputs belong to
  uint32_t first_release;     // in plan->releases: slots nobody reads after this record, in order
  uint32_t release_count;
  uint32_t first_successor;   // in plan->successors
  uint32_t successor_count;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t flags;
} leat_record_t;
_Static_assert(sizeof(leat_record_t) == 64, "a record is a cache line");

// An input that is a reference where the op wants a value: before the record runs, the value of the
// cell in |source| is shared into |target|.
typedef struct leat_dereference_s {
  uint32_t record;
  uint32_t source;
  uint32_t target;
} leat_dereference_t;

#define LEAT_NO_RECORD UINT32_MAX
// In plan->readers: a constant's slot, which stays filled whoever reads it.
#define LEAT_READERS_CONSTANT UINT32_MAX

typedef struct leat_plan_instance_s leat_plan_instance_t;
typedef struct leat_ordered_plan_s leat_ordered_plan_t;  // worker/ordered_plan.h

// What an iteration of a frame holds.
typedef struct leat_plan_frame_s {
  leat_frame_t frame;
  uint32_t slot_count;
  uint32_t record_count;
  uint32_t* readers;  // by slot, to copy from
  uint32_t* pending;  // by record of the frame, to copy from
} leat_plan_frame_t;

typedef struct leat_plan_s {
  leat_allocator_t* allocator;
  leat_graph_t* graph;       // keeps names, attributes and types alive
  leat_device_t* device;
  leat_arena_t arena;
  leat_record_t* records;    // in an order in which every input comes first
  uint32_t record_count;
  uint32_t slot_count;       // of frame 0
  int32_t* record_nodes;     // record -> node
  uint32_t* releases;
  uint32_t release_count;
  // Dataflow.
  uint32_t* successors;      // records
  uint32_t* pending;         // record -> how many predecessors, to copy from
  uint32_t* roots;           // records without predecessors
  uint32_t root_count;
  uint32_t* readers;         // slot of frame 0 -> how many inputs and fetches read it, to copy from
  // Control flow: only when |framed|.
  bool framed;
  leat_ordered_plan_t* ordered;  // NULL when only the dataflow executor can run it
  leat_frames_t frames;
  leat_plan_frame_t* frame_plans;  // beside frames.items
  uint32_t* record_places;      // record -> its number in its frame
  int32_t* successor_outputs;   // beside successors: the output that the edge carries, or -1
  leat_dereference_t* dereferences;  // by record
  uint32_t dereference_count;
  uint32_t* first_dereference;       // [record_count + 1]; NULL without dereferences
  // Slots set once per instance.
  uint32_t* constant_slots;
  const leat_tensor_t** constant_tensors;
  uint32_t constant_count;
  uint32_t* feed_slots;      // by feed index; UINT32_MAX = not read
  int feed_count;
  uint32_t* fetch_slots;
  bool* fetch_moves;         // the value is taken out of the slot: no later fetch shares it
  int fetch_count;
  bool linear;               // the linear executor can run it, and the step ends when it returns
  bool has_async;
  bool enqueues;             // has kernels whose work goes on after them, on the device
  // The only asynchronous record, when all records after it follow from it; else LEAT_NO_RECORD.
  uint32_t awaited_record;
  bool uses_rendezvous;
  bool waits;                // has asynchronous kernels that must hear of a cancellation
  bool uses_step_resources;
} leat_plan_t;

// What a running step owns. Reused.
struct leat_plan_instance_s {
  leat_plan_instance_t* next;
  leat_slot_t* slots;
  uint8_t* flags;  // of the ordered executor: which outputs are live, which loops go on
  // Of the dataflow executor, made on its first run with this instance: on one thread pending
  // inputs, readers and ready records, else iterations (worker/dataflow.h).
  uint32_t* counters;
  struct leat_iteration_s* root;
  struct leat_iteration_s** free_iterations;  // by frame
};

typedef struct leat_plan_options_s {
  const leat_kernel_registry_t* kernels;
  struct leat_resource_manager_s* resources;
  leat_device_t* device;
  leat_allocator_t* allocator;
} leat_plan_options_t;

// |request->graph| is taken over by the plan on success only.
LEAT_MUST_USE leat_status_t leat_plan_compile(const leat_register_request_t* request,
                                              const leat_plan_options_t* options,
                                              leat_plan_t** out_plan);
// After its instances.
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
  instance->next = *inout_kept;
  *inout_kept = instance;
}
static inline leat_plan_instance_t* leat_plan_take_instance(leat_plan_instance_t** inout_kept) {
  leat_plan_instance_t* instance = *inout_kept;
  if (instance) *inout_kept = instance->next;
  return instance;
}
// Empties a slot: leat_slot_release with the usual case inline.
static inline void leat_slot_clear(leat_slot_t* slot) {
  if (LEAT_UNLIKELY(slot->ref != NULL)) {
    leat_slot_release(slot);
    return;
  }
  if (slot->tensor.dtype) leat_tensor_release(&slot->tensor);
  slot->alive = false;
}
leat_string_view_t leat_plan_record_name(const leat_plan_t* plan, uint32_t record);

#endif  // LEAT_WORKER_PLAN_H_
