// Kernels: the code of an op on one kind of device. A row says which nodes it serves; an instance
// is made once for each node of a plan, from the node's attributes, and is then run many times:
//
//   leat_kernel_row_t   --leat_kernel_create-->   leat_kernel_t   --kernel/call.h-->   outputs
//   op, device, types, functions                  row, state       context: inputs, services
//
// Runs of one instance may overlap on many threads (steps, iterations of a loop), so its state must
// not change while it runs; what changes lives in a resource (kernel/resource.h). A context
// describes one run and depends on neither plan nor session: executors, constant folding, eager
// calls and tests make one. A synchronous kernel runs on the caller's thread and may use the step's
// pool; it must not wait for another kernel. A kernel that has to wait is asynchronous: it starts,
// returns, and calls |done| later.
#ifndef LEAT_KERNEL_KERNEL_H_
#define LEAT_KERNEL_KERNEL_H_

#include <string.h>

#include "base/span.h"
#include "base/thread_pool.h"
#include "device/device.h"
#include "graph/op/op.h"
#include "tensor/tensor.h"

typedef struct leat_kernel_s leat_kernel_t;
typedef struct leat_kernel_context_s leat_kernel_context_t;
typedef struct leat_kernel_creation_s leat_kernel_creation_t;

// The continuation of an asynchronous kernel: called exactly once, on any thread, perhaps before
// compute_async returns.
typedef void (*leat_kernel_done_fn_t)(leat_kernel_context_t* context, leat_status_t status);

// Which elements of its inputs a node needs for an element of its output. The kernel's row states
// this relation, and optimize/domain.h spells it out operand by operand. From it passes conclude
// what may be computed in one pass over memory (optimize/fusion.c), and what piece by piece instead
// of on a concatenation (optimize/concat_sinking.c).
//
// From BROADCAST to REPEATED the node is elementwise: it needs the elements at the same place
// alone, provided that all attributes but types have their defaults. For the first three of these
// the kernel's state begins with a leat_elementwise_t (ops/math/elementwise_cpu.h), whose loop
// computes any stretch of the output.
typedef enum leat_access_e {
  LEAT_ACCESS_OTHER,        // nothing is known
  LEAT_ACCESS_BROADCAST,    // every input is broadcast to the shape of the output
  LEAT_ACCESS_SAME,         // all have as many elements as input 0; the output has its shape
  LEAT_ACCESS_IF_SAME,      // so if all shapes are equal; otherwise the kernel does more
  LEAT_ACCESS_SUM,          // AddV2 repeated, over any number of inputs of one shape
  LEAT_ACCESS_BIAS,         // input 0 plus a vector along its last dimension
  LEAT_ACCESS_REPEATED,     // input 0 is broadcast to the output, where the shapes are known
  LEAT_ACCESS_ROWS,         // each row along the last dimension of input 0 gives that of the output
  LEAT_ACCESS_PERMUTATION,  // input 0 with its axes in the order that input 1 says
  LEAT_ACCESS_CONTRACTION,  // a matrix product: rows and columns; elements where the depth is 1
  LEAT_ACCESS_REDUCTION,    // input 0 along the axes in input 1
  LEAT_ACCESS_CONCAT,       // the inputs side by side along the axis in the last one
  LEAT_ACCESS_PACK,         // the inputs side by side along a new axis, the attribute "axis"
  // The sum of the first N inputs, each padded as the corresponding one of the other N says: where
  // the pads do not overlap, the inputs lie side by side.
  LEAT_ACCESS_PAD_SUM,
  LEAT_ACCESS_SLICE,  // a box of input 0 that begins at input 1 and has the size in input 2
  // All of a value, in boxes side by side along an axis, one for each output: of two inputs the
  // second is the value and the first the axis, of three the first is the value and the last the
  // axis.
  LEAT_ACCESS_SPLIT,
  LEAT_ACCESS_UNPACK,  // each output is the input at one index of the attribute "axis"
  // Rows of input 0, one for each number in input 1. Where there is an axis (input 2) or an
  // attribute "batch_dims", they are rows only if these are 0.
  LEAT_ACCESS_GATHER,
  // Changes the rows of input 0 that input 1 numbers by the rows of input 2, in order.
  LEAT_ACCESS_SCATTER,
} leat_access_t;

// A kernel as its author writes it. Rows are static data; a table ends with a row without |op|.
typedef struct leat_kernel_row_s {
  // The op's name, "MatMul".
  const char* op;
  const char* device_type;  // "CPU"
  // The types that it serves: "T: float, double; Tidx: int32". NULL, and attributes that are not
  // named: any type.
  const char* constraints;
  const char* host_memory;  // arguments in host memory: "shape; axis"; NULL on the CPU
  // If not NULL, the row serves exactly the nodes whose attribute "_kernel" is this text; rows
  // without a label serve the others.
  const char* label;
  // Fills |state| (zeroed, |state_bytes| long) from the node's attributes; NULL: there is nothing
  // to fill. When it fails it returns at once and cleans up nothing: |destroy| is called on what it
  // made so far, the rest being zero.
  leat_status_t (*create)(leat_kernel_creation_t* creation, void* state);
  void (*destroy)(void* state);  // NULL: there is nothing to end
  // How much state an instance has, zeroed; 0 for kernels that need none.
  uint32_t state_bytes;
  int16_t priority;     // of the rows that serve a node, the highest wins, then the first
  bool expensive;       // long enough to be scheduled as a task of its own
  uint8_t access;       // leat_access_t
  // |compute| returns when the work has been enqueued on its device, and the step ends with the
  // device's |synchronize|. Kernels of the same device may take the outputs at once; how the work
  // ended is told to the step's listener.
  bool enqueues;
  // Exactly one of the two is set. |compute| returns when the outputs are set (or the work is
  // enqueued) and makes the step fail with what it returns. |compute_async| starts and returns;
  // |done| must be called once, on failure too.
  leat_status_t (*compute)(leat_kernel_context_t* context);
  void (*compute_async)(leat_kernel_context_t* context, leat_kernel_done_fn_t done);
} leat_kernel_row_t;

typedef leat_status_t (*leat_kernel_compute_fn_t)(leat_kernel_context_t* context);

// An instance of a row for one node. Immutable once it is made.
struct leat_kernel_s {
  const leat_kernel_row_t* row;
  // The row's |compute|, or, for stateful kernels, a wrapper that also checks the types of the
  // outputs, which others have put there. NULL where the row is asynchronous.
  leat_kernel_compute_fn_t compute;
  const leat_op_t* op;
  leat_string_view_t node_name;
  leat_device_t* device;
  // [row->state_bytes], which only |create| and |destroy| of the row write.
  void* state;
  const uint8_t* input_types;  // [input_count] + 100 for an input that is taken as a reference
  const uint8_t* output_types;
  // Lists are counted item by item.
  int32_t input_count;
  int32_t output_count;
  // What must hold of the inputs before a run: the op's; NULL: it has none.
  const leat_rule_t* contract;
  const struct leat_shape_pattern_s* shapes;
  bool has_ref_inputs;          // some input is taken as a reference, not as a value
  _Atomic(uint64_t) span_name;  // of the node, for recordings (base/span.h)
  const leat_attr_t* attrs;             // the node's, which outlive the kernel
  int32_t attr_count;
  _Atomic(leat_attr_list_t*) kept_attrs;  // see leat_kernel_keep_attrs; NULL: nobody has asked
};

// A copy of the node's attributes for a value that may outlive the kernel. It is made once, and all
// who ask share it; the caller gives up its reference.
LEAT_MUST_USE leat_status_t leat_kernel_keep_attrs(const leat_kernel_t* kernel,
                                                   leat_attr_list_t** out_attrs);

// The number of the kernel's node in the recording under way (base/span.h). The kernel is const to
// those who run it; the number is no part of what it is.
static inline uint32_t leat_kernel_span_name(const leat_kernel_t* kernel) {
  return leat_span_name((_Atomic(uint64_t)*)&kernel->span_name, kernel->node_name,
                        kernel->op->name);
}

// ---- While a kernel is made ---------------------------------------------------------------------

// What a row's |create| may ask for. It ends when |create| returns.
struct leat_kernel_creation_s {
  leat_kernel_t* kernel;
  const leat_attr_t* attrs;
  int attr_count;
  leat_allocator_t* allocator;
  struct leat_resource_manager_s* resources;  // of the device
  struct leat_resource_manager_s* session_resources;  // end with the session, or are the device's
};
// Attributes of the node. The graph has checked them and filled in defaults, so one that is missing
// or of another kind is a mistake of the row: INTERNAL. A row's |create| passes such a failure on.
LEAT_MUST_USE leat_status_t leat_kernel_attr(const leat_kernel_creation_t* c, const char* name,
                                             const leat_attr_value_t** out_value);
LEAT_MUST_USE leat_status_t leat_kernel_attr_bool(const leat_kernel_creation_t* c, const char* name,
                                                  bool* out_value);
LEAT_MUST_USE leat_status_t leat_kernel_attr_int(const leat_kernel_creation_t* c, const char* name,
                                                 int64_t* out_value);
// The same for what TensorFlow keeps in an int32: INVALID_ARGUMENT for a value beyond it.
LEAT_MUST_USE leat_status_t leat_kernel_attr_int32(const leat_kernel_creation_t* c,
                                                   const char* name, int64_t* out_value);
LEAT_MUST_USE leat_status_t leat_kernel_attr_float(const leat_kernel_creation_t* c,
                                                   const char* name, float* out_value);
LEAT_MUST_USE leat_status_t leat_kernel_attr_type(const leat_kernel_creation_t* c, const char* name,
                                                  int* out_dtype);
// The values below are borrowed from the graph: what must outlive the creation is copied.
LEAT_MUST_USE leat_status_t leat_kernel_attr_string(const leat_kernel_creation_t* c,
                                                    const char* name,
                                                    leat_string_view_t* out_value);
LEAT_MUST_USE leat_status_t leat_kernel_attr_ints(const leat_kernel_creation_t* c, const char* name,
                                                  const int64_t** out_values, int* out_count);
LEAT_MUST_USE leat_status_t leat_kernel_attr_shape(const leat_kernel_creation_t* c,
                                                   const char* name,
                                                   leat_partial_shape_t* out_shape);
LEAT_MUST_USE leat_status_t leat_kernel_attr_tensor(const leat_kernel_creation_t* c,
                                                    const char* name,
                                                    const leat_tensor_t** out_tensor);

// ---- While it runs ------------------------------------------------------------------------------

struct leat_cell_s;  // kernel/resource.h
struct leat_rendezvous_s;
struct leat_cancellation_s;
struct leat_step_services_s;
struct leat_draw_counts_s;

// What an edge carries: a tensor, or a reference to a variable, or nothing because the value is
// dead.
typedef struct leat_slot_s {
  leat_tensor_t tensor;
  struct leat_cell_s* ref;  // a reference: the variable's cell, retained; |tensor| is then unused
  bool alive;               // false: a dead value (section 4.4)
} leat_slot_t;
// Releases what the slot holds and leaves it empty and dead.
void leat_slot_release(leat_slot_t* slot);

// Is told how kernels ended: every kernel of a step that collects statistics, and in every step
// those whose work went on after they returned (leat_kernel_row_t.enqueues).
typedef struct leat_step_listener_s {
  // Called on any thread, before the device is synchronized. Of |outputs| only types and shapes may
  // be read. Takes |status|.
  void (*ended)(struct leat_step_listener_s* self, const leat_kernel_t* kernel,
                const leat_slot_t* outputs, int64_t duration_ns, leat_status_t status);
} leat_step_listener_t;

// A reference that feeds an input which wants a value: before the kernel runs, the value of the
// variable in slot |source| is shared into slot |target|, the kernel's input.
typedef struct leat_reference_read_s {
  uint32_t source;
  uint32_t target;
} leat_reference_read_t;

// What a step lends to its kernels. It outlives every kernel of the step.
typedef struct leat_step_services_s {
  int64_t step_id;
  leat_buffer_source_t* memory;  // of the device, for outputs and temporaries
  leat_thread_pool_t* pool;  // for parallel loops; NULL: loops run on the caller
  struct leat_resource_manager_s* resources;  // of the device; outlive the step
  struct leat_resource_manager_s* step_resources;  // end with the step (TensorArray, Stack)
  struct leat_session_tensors_s* session_tensors;  // tensors under handles; NULL: no session
  struct leat_rendezvous_s* rendezvous;
  uint32_t transfer_count;  // numbered transfers that |rendezvous| has room for; 0: text keys only
  struct leat_cancellation_s* cancellation;
  struct leat_function_runtime_s* functions;
  leat_step_listener_t* listener;  // NULL: no kernel may enqueue, and nobody collects
  int64_t deadline_ns;             // of leat_clock_now_ns; 0 or LEAT_DEADLINE_NEVER: none
  const _Atomic(bool)* stopped;    // true once the step shall end; NULL: nobody can end it
  int32_t function_depth;          // nested function calls around; 0 in the step itself
  _Atomic(int64_t)* calls;         // function calls so far; see LEAT_MAX_FUNCTION_CALLS
  // Of the iterator on whose behalf a function runs (kernel/draw_counts.h); NULL: random ops go on.
  struct leat_draw_counts_s* draw_counts;
  int64_t container_step_id;       // the step that owns |step_resources|; the caller's in a call
  void* collector;                 // of step statistics, or NULL
  bool observed;  // kernels are timed: there is a collector, or a recording is under way
  bool deterministic;
} leat_step_services_t;

// One run of a kernel. Input i is slots[input_slots[i]]; outputs are contiguous and start empty.
// Whoever makes the context owns it and everything in it; leat_kernel_invoke makes one by hand.
struct leat_kernel_context_s {
  const leat_kernel_t* kernel;
  leat_slot_t* slots;
  const uint32_t* input_slots;
  leat_slot_t* outputs;
  const leat_step_services_t* services;
  uint64_t last_readers;  // bit i: nobody reads input i after this run, so it may be overwritten
  const leat_reference_read_t* reads;  // [read_count] done before the kernel runs
  uint32_t read_count;
  // [outputs] buffers that the memory plan set aside, NULL where an output has none; NULL: no plan.
  // The plan itself holds no reference: a buffer's count is 0 while it is free, and its vtable's
  // destroy puts it back to 0. A buffer that is not free or too small is passed over. A planned
  // input is forwarded only to an output for which the plan names the same buffer, which is an
  // overwrite that the plan foresaw.
  leat_buffer_t* const* planned_outputs;
  uint64_t frame_id;  // of the loop, the same on every machine (worker/frames.c); 0 outside loops
  int64_t iteration;  // of the loop, from 0
  bool inputs_dead;          // only seen by ops that take dead inputs: Merge, Send, ControlTrigger
  void* owner;               // for whoever made the context
};

// The value of input |index|, counted item by item. It is borrowed for the run and must not be
// written; its shape is whatever the graph computed, so the kernel checks it.
static inline const leat_tensor_t* leat_kernel_input(const leat_kernel_context_t* c, int index) {
  return &c->slots[c->input_slots[index]].tensor;
}
static inline int leat_kernel_input_count(const leat_kernel_context_t* c) {
  return c->kernel->input_count;
}
// The instance's state, which other runs read at the same time.
static inline void* leat_kernel_state(const leat_kernel_context_t* c) { return c->kernel->state; }
// What output |index| holds so far: "no tensor" until the kernel sets it.
static inline leat_tensor_t* leat_kernel_output(leat_kernel_context_t* c, int index) {
  return &c->outputs[index].tensor;
}
// Makes output |index| a new tensor of the op's type. Its contents are undefined; strings, handles
// and variants are empty. |*out_tensor| is borrowed from the output's slot.
LEAT_MUST_USE leat_status_t leat_kernel_allocate_output(leat_kernel_context_t* c, int index,
                                                        const leat_shape_t* shape,
                                                        leat_tensor_t** out_tensor);
// Allocates an output of shape [dims[0], ..., dims[rank - 1]]; INVALID_ARGUMENT for sizes that make
// no shape.
LEAT_MUST_USE leat_status_t leat_kernel_allocate_sized(leat_kernel_context_t* c, int index,
                                                       int rank, const int64_t* dims,
                                                       leat_tensor_t** out_tensor);
// Makes output |output| of the memory of input |input|, if nobody else needs it and element size
// and count agree; else of new memory. In the first case the output holds the input's elements, so
// read an element before you write it. The buffer then belongs to the output; the input keeps its
// address, type and shape but can no longer be shared.
LEAT_MUST_USE leat_status_t leat_kernel_forward_or_allocate(leat_kernel_context_t* c, int input,
                                                            int output, const leat_shape_t* shape,
                                                            leat_tensor_t** out_tensor);
// Forwards the first input in the mask |inputs| that can be forwarded, or allocates.
LEAT_MUST_USE leat_status_t leat_kernel_forward_any_or_allocate(leat_kernel_context_t* c,
                                                                uint64_t inputs, int output,
                                                                const leat_shape_t* shape,
                                                                leat_tensor_t** out_tensor);
// Makes |tensor| output |index|; takes it. The output must be empty.
static inline void leat_kernel_set_output(leat_kernel_context_t* c, int index,
                                          leat_tensor_t tensor) {
  c->outputs[index].tensor = tensor;
  c->outputs[index].alive = true;
}
// Makes output |index| a scalar of the type in the name.
LEAT_MUST_USE leat_status_t leat_kernel_set_output_int32(leat_kernel_context_t* c, int index,
                                                         int64_t value);
LEAT_MUST_USE leat_status_t leat_kernel_set_output_bool(leat_kernel_context_t* c, int index,
                                                        bool value);
// Makes output |output| share the memory of input |input|; the second form under another shape of
// as many elements (INVALID_ARGUMENT otherwise).
void leat_kernel_pass_input(leat_kernel_context_t* c, int input, int output);
LEAT_MUST_USE leat_status_t leat_kernel_pass_input_reshaped(leat_kernel_context_t* c, int input,
                                                            int output, const leat_shape_t* shape);
// Whether nobody else has the memory of input |index|, so that it can be taken.
bool leat_kernel_owns_input(const leat_kernel_context_t* c, int index);
// The value of input |index| for something that outlives the step and will write it (a variable):
// its own memory where nobody else has it, else a copy. The caller owns |out_tensor|.
LEAT_MUST_USE leat_status_t leat_kernel_take_input(leat_kernel_context_t* c, int index,
                                                   leat_tensor_t* out_tensor);
// The value of input |index| for something that outlives the step and only reads it (an element of
// a queue): its own memory, shared, unless that belongs to the step or to a caller, or is a small
// part of a large buffer; else a copy. The caller owns |out_tensor|.
LEAT_MUST_USE leat_status_t leat_kernel_keep_input(leat_kernel_context_t* c, int index,
                                                   leat_tensor_t* out_tensor);
// Scratch memory of the device for this run, with undefined contents, which the kernel ends by
// leat_tensor_release.
LEAT_MUST_USE leat_status_t leat_kernel_allocate_temporary(leat_kernel_context_t* c, int dtype,
                                                           const leat_shape_t* shape,
                                                           leat_tensor_t* out_tensor);
// References. Input_ref borrows the cell that input |index| names; set_output_ref makes output
// |index| name |cell|, which is retained; pass_ref makes an output name what an input names.
struct leat_cell_s* leat_kernel_input_ref(leat_kernel_context_t* c, int index);
void leat_kernel_set_output_ref(leat_kernel_context_t* c, int index, struct leat_cell_s* cell);
void leat_kernel_pass_ref(leat_kernel_context_t* c, int input, int output);
// Runs |fn| over [0, total) on the step's pool, all of it, even if the step is cancelled meanwhile.
// It is for loops that change a value which outlives the step, since half an update of a variable
// is worse than a late one, and for loops whose every range begins with work of its own.
static inline void leat_kernel_parallel_for_unbroken(const leat_kernel_context_t* c, int64_t total,
                                                     double cost_per_item_ns, leat_shard_fn_t fn,
                                                     void* data) {
  leat_thread_pool_parallel_for(c->services->pool, 0, total, cost_per_item_ns, fn, data);
}
// How often a long loop checks whether its step shall end.
#define LEAT_STEP_CHECK_NS 1e6
// leat_kernel_parallel_for for a loop that takes longer than LEAT_STEP_CHECK_NS.
void leat_kernel_parallel_for_checked(const leat_kernel_context_t* c, int64_t total,
                                      double cost_per_item_ns, leat_shard_fn_t fn, void* data);
// Runs |fn| over [0, total) on the step's pool. A long loop checks about every millisecond whether
// the step was cancelled or its deadline has passed, and then leaves out the rest. The kernel
// returns as usual, and whoever runs it checks again and drops its outputs. So a kernel may go on
// with what its ranges wrote, but must not use it as an index or a size unchecked.
static inline void leat_kernel_parallel_for(const leat_kernel_context_t* c, int64_t total,
                                            double cost_per_item_ns, leat_shard_fn_t fn,
                                            void* data) {
  if (LEAT_LIKELY((double)total * cost_per_item_ns <= LEAT_STEP_CHECK_NS)) {
    leat_kernel_parallel_for_unbroken(c, total, cost_per_item_ns, fn, data);
  } else {
    leat_kernel_parallel_for_checked(c, total, cost_per_item_ns, fn, data);
  }
}
// An error "Compute failed for node 'x' (Op): ...": INVALID_ARGUMENT, or another code. The text
// after the colon is "<field> is <value>, must be <rule>".
#define leat_kernel_invalid(c, ...) \
  leat_kernel_error_create((c), LEAT_INVALID_ARGUMENT, __FILE__, __LINE__, __VA_ARGS__)
#define leat_kernel_error(c, code, ...) \
  leat_kernel_error_create((c), (code), __FILE__, __LINE__, __VA_ARGS__)
LEAT_MUST_USE leat_status_t leat_kernel_error_create(const leat_kernel_context_t* c,
                                                     leat_status_code_t code, const char* file,
                                                     int line, const char* format, ...)
    LEAT_PRINTF(5, 6);

// Names the kernel's node in |status|, unless the kernel did.
LEAT_MUST_USE leat_status_t leat_kernel_annotate(const leat_kernel_t* kernel,
                                                 leat_status_t status);

// INVALID_ARGUMENT when the inputs break the op's contract. Part of every call (kernel/call.h).
LEAT_MUST_USE leat_status_t leat_kernel_check_contract(const leat_kernel_context_t* c);

// What an instance is made for. The instance borrows the node's name, attributes and type arrays,
// which must outlive it.
typedef struct leat_kernel_spec_s {
  const leat_kernel_row_t* row;
  const leat_op_t* op;
  leat_string_view_t node_name;
  const leat_attr_t* attrs;  // all that the op declares, with their values
  int attr_count;
  const uint8_t* input_types;  // + LEAT_DTYPE_REF_OFFSET for an input taken as a reference
  int input_count;
  const uint8_t* output_types;
  int output_count;
  leat_device_t* device;
  struct leat_resource_manager_s* resources;  // of the device; NULL: the op makes none
  struct leat_resource_manager_s* session_resources;  // NULL: those of the device
  leat_allocator_t* allocator;
} leat_kernel_spec_t;
// Makes an instance, which leat_kernel_free ends. Fails as the row's |create| does.
LEAT_MUST_USE leat_status_t leat_kernel_create(const leat_kernel_spec_t* spec,
                                               leat_kernel_t** out_kernel);
// Ends the instance and its state; NULL is allowed. No run may be under way.
void leat_kernel_free(leat_kernel_t* kernel);

// Runs |kernel| by itself, its contract included, and waits until it has ended. |inputs| are only
// read; |out_outputs| [output_count] belong to the caller, and are "no tensor" for a dead output
// and for a reference without a value. |services| NULL lends the device's memory and pool.
LEAT_MUST_USE leat_status_t leat_kernel_invoke(const leat_kernel_t* kernel,
                                               const leat_step_services_t* services,
                                               const leat_tensor_t* inputs,
                                               leat_tensor_t* out_outputs);
// Runs the kernel over slots, so that references and dead values pass. A reference that feeds an
// input of the plain type is read, FAILED_PRECONDITION while it has no value. What dead inputs mean
// is decided by the caller.
LEAT_MUST_USE leat_status_t leat_kernel_invoke_slots(const leat_kernel_t* kernel,
                                                     const leat_step_services_t* services,
                                                     const leat_slot_t* inputs,
                                                     leat_slot_t* out_outputs);

#endif  // LEAT_KERNEL_KERNEL_H_
