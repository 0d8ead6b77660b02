// Kernels: the code of an op on a kind of device. A row says which nodes it serves; an instance is
// made once per node of a plan and then run many times, from many threads at once: its state must
// not change while it runs (what changes lives in a resource, see kernel/resource.h).
#ifndef LEAT_KERNEL_KERNEL_H_
#define LEAT_KERNEL_KERNEL_H_

#include <string.h>

#include "base/thread_pool.h"
#include "device/device.h"
#include "graph/op.h"
#include "tensor/tensor.h"

typedef struct leat_kernel_s leat_kernel_t;
typedef struct leat_kernel_context_s leat_kernel_context_t;
typedef struct leat_kernel_creation_s leat_kernel_creation_t;

// Continuation of an asynchronous kernel; called exactly once, on any thread.
typedef void (*leat_kernel_done_fn_t)(leat_kernel_context_t* context, leat_status_t status);

// Does each element of the output follow from those of the inputs at its place alone? Then several
// nodes may be fused into one (optimize/cluster.c): where all attributes but types have their
// defaults. For the first three kinds the kernel's state begins with a leat_elementwise_t
// (ops/math/elementwise_cpu.h), whose loop computes any stretch of the output.
typedef enum leat_elementwise_kind_e {
  LEAT_ELEMENTWISE_NO,
  LEAT_ELEMENTWISE_BROADCAST,  // the inputs are broadcast to one shape, the output's
  LEAT_ELEMENTWISE_SAME,       // all have as many elements as input 0, whose shape is the output's
  LEAT_ELEMENTWISE_IF_SAME,    // where they have one shape; elsewhere the kernel does more
  LEAT_ELEMENTWISE_SUM,        // of any number of inputs of one shape: AddV2 repeated
  LEAT_ELEMENTWISE_BIAS,       // AddV2 of input 0 and a vector as long as its last dimension
  LEAT_ELEMENTWISE_REPEATED,   // input 0 broadcast to the output's shape, if their shapes say so
  LEAT_ELEMENTWISE_PRODUCT,    // of matrices, any attributes: 0 + x y where they are one thick
  LEAT_ELEMENTWISE_REDUCTION,  // none, any attributes: it may reduce rows that such kernels make
} leat_elementwise_kind_t;

typedef struct leat_kernel_row_s {
  const char* op;
  const char* device_type;  // "CPU"
  // Types it takes: "T: float, double; Tidx: int32". NULL: any. Attributes not named: any.
  const char* constraints;
  const char* host_memory;  // arguments that live in host memory: "shape; axis". CPU: NULL
  // A row with a label serves only the nodes whose attribute _kernel is that text, and these nodes
  // are served by no other row. NULL: none.
  const char* label;
  // Makes |state| (zeroed, |state_bytes|) from the node's attributes. NULL: nothing to make.
  // When it fails |destroy| is still called over what it made so far (the rest is zero): it returns
  // at once and cleans nothing up itself.
  leat_status_t (*create)(leat_kernel_creation_t* creation, void* state);
  void (*destroy)(void* state);  // NULL: nothing to end
  uint32_t state_bytes;
  int16_t priority;         // the highest that fits serves; then the first in the list
  bool expensive;           // worth its own place in the pool's queue
  uint8_t elementwise;      // leat_elementwise_kind_t
  // |compute| returns when the work is enqueued on its device, whose |synchronize| the step ends
  // with. The outputs may be given to kernels of the device at once; how the work ended is told to
  // the step's |work|.
  bool enqueues;
  // One of the two.
  leat_status_t (*compute)(leat_kernel_context_t* context);
  void (*compute_async)(leat_kernel_context_t* context, leat_kernel_done_fn_t done);
} leat_kernel_row_t;

typedef leat_status_t (*leat_kernel_compute_fn_t)(leat_kernel_context_t* context);

// Instance of a row for a node.
struct leat_kernel_s {
  const leat_kernel_row_t* row;
  // The row's |compute|, or one that also checks what came out: the outputs of a stateful kernel
  // are of types that somebody else declared. NULL where the row is asynchronous.
  leat_kernel_compute_fn_t compute;
  const leat_op_t* op;
  leat_string_view_t node_name;
  leat_device_t* device;
  void* state;
  const uint8_t* input_types;   // with references
  const uint8_t* output_types;
  int32_t input_count;
  int32_t output_count;
  const leat_rule_t* contract;  // NULL when the op has none
  bool has_ref_inputs;          // some input is taken as a reference
};

// ---- While a kernel is made ---------------------------------------------------------------------

struct leat_kernel_creation_s {
  leat_kernel_t* kernel;
  const leat_attr_t* attrs;
  int attr_count;
  leat_allocator_t* allocator;
  struct leat_resource_manager_s* resources;  // of the device
};
// The attribute must be there (the graph filled defaults); INTERNAL when not, by name and kind.
LEAT_MUST_USE leat_status_t leat_kernel_attr(const leat_kernel_creation_t* c, const char* name,
                                             const leat_attr_value_t** out_value);
LEAT_MUST_USE leat_status_t leat_kernel_attr_bool(const leat_kernel_creation_t* c, const char* name,
                                                  bool* out_value);
LEAT_MUST_USE leat_status_t leat_kernel_attr_int(const leat_kernel_creation_t* c, const char* name,
                                                 int64_t* out_value);
LEAT_MUST_USE leat_status_t leat_kernel_attr_float(const leat_kernel_creation_t* c,
                                                   const char* name, float* out_value);
LEAT_MUST_USE leat_status_t leat_kernel_attr_type(const leat_kernel_creation_t* c, const char* name,
                                                  int* out_dtype);
// Borrowed from the graph: copy what must outlive creation.
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

// What travels on an edge.
typedef struct leat_slot_s {
  leat_tensor_t tensor;
  struct leat_cell_s* ref;  // a reference: the cell it names (retained); |tensor| is then unused
  bool alive;               // false: a dead tensor (section 4.4)
} leat_slot_t;
void leat_slot_release(leat_slot_t* slot);  // leaves an empty, dead slot

// Hears how kernels ended: every one of a step that collects statistics, and in every step those
// whose work went on after they had returned (leat_kernel_row_t.enqueues).
typedef struct leat_step_listener_s {
  // Called on any thread, before the device is synchronized. |outputs| may be asked for their types
  // and shapes alone; |status| is taken.
  void (*ended)(struct leat_step_listener_s* self, const leat_kernel_t* kernel,
                const leat_slot_t* outputs, int64_t duration_ns, leat_status_t status);
} leat_step_listener_t;

// Before a kernel runs, the value of the variable to which slot |source| refers is shared into slot
// |target|, which is the kernel's input.
typedef struct leat_reference_read_s {
  uint32_t source;
  uint32_t target;
} leat_reference_read_t;

// What a step lends to its kernels.
typedef struct leat_step_services_s {
  int64_t step_id;
  leat_buffer_source_t* memory;
  leat_thread_pool_t* pool;  // for shards; NULL = none
  struct leat_resource_manager_s* resources;       // of the device
  struct leat_resource_manager_s* step_resources;  // end with the step (TensorArray, Stack)
  struct leat_session_tensors_s* session_tensors;  // kept under handles; NULL = no session
  struct leat_rendezvous_s* rendezvous;
  struct leat_cancellation_s* cancellation;
  struct leat_function_runtime_s* functions;
  leat_step_listener_t* listener;  // NULL: no kernel may enqueue, and nobody collects
  int64_t deadline_ns;       // leat_clock_now_ns; 0 or LEAT_DEADLINE_NEVER = none
  const _Atomic(bool)* stopped;  // true once the step was told to end; NULL where nobody can
  int32_t function_depth;    // of calls that led here; 0 in the step itself
  _Atomic(int64_t)* calls;   // made so far for the call that led here; see LEAT_MAX_FUNCTION_CALLS
  int64_t container_step_id;  // whose |step_resources| they are: the step that all calls came from
  void* collector;           // step statistics, or NULL
  bool deterministic;
} leat_step_services_t;

// Depends on neither plan nor session: folding, tests and eager calls make one by hand
// (leat_kernel_invoke). Inputs are slots[input_slots[i]]; outputs are contiguous.
struct leat_kernel_context_s {
  const leat_kernel_t* kernel;
  leat_slot_t* slots;
  const uint32_t* input_slots;
  leat_slot_t* outputs;
  const leat_step_services_t* services;
  uint64_t last_readers;  // bit i: nobody reads input i after this kernel (it may be overwritten)
  const leat_reference_read_t* reads;  // |read_count| references that the call reads first
  uint32_t read_count;
  // Buffers set aside for outputs by the memory plan, or NULL; one an output, NULL = take one. The
  // plan itself holds no reference: the count is 0 while the buffer is free (its vtable's destroy
  // puts it back to 0), and one that is not free or too small is passed over. A planned input is
  // forwarded only to an output for which the plan names that very buffer: an overwrite that the
  // plan foresaw.
  leat_buffer_t* const* planned_outputs;
  uint64_t frame_iteration;  // identifies the iteration in rendezvous keys; 0 outside loops
  bool inputs_dead;          // only ops that take dead inputs (Merge, Send, control trigger) see it
  void* owner;               // the executor's
};

static inline const leat_tensor_t* leat_kernel_input(const leat_kernel_context_t* c, int index) {
  return &c->slots[c->input_slots[index]].tensor;
}
static inline int leat_kernel_input_count(const leat_kernel_context_t* c) {
  return c->kernel->input_count;
}
static inline void* leat_kernel_state(const leat_kernel_context_t* c) { return c->kernel->state; }
static inline leat_tensor_t* leat_kernel_output(leat_kernel_context_t* c, int index) {
  return &c->outputs[index].tensor;
}
// Output |index| with undefined contents (objects: empty), of the op's type.
LEAT_MUST_USE leat_status_t leat_kernel_allocate_output(leat_kernel_context_t* c, int index,
                                                        const leat_shape_t* shape,
                                                        leat_tensor_t** out_tensor);
// The same, [dims[0], ..., dims[rank - 1]]. INVALID_ARGUMENT for sizes that make no shape.
LEAT_MUST_USE leat_status_t leat_kernel_allocate_sized(leat_kernel_context_t* c, int index,
                                                       int rank, const int64_t* dims,
                                                       leat_tensor_t** out_tensor);
// Input |input|'s own bytes when nobody else needs them and type size and element count agree;
// else a fresh one. The contents are the input's in the first case: read before you write. The
// buffer has then moved: the input still has its address, type and shape, but cannot be shared.
LEAT_MUST_USE leat_status_t leat_kernel_forward_or_allocate(leat_kernel_context_t* c, int input,
                                                            int output, const leat_shape_t* shape,
                                                            leat_tensor_t** out_tensor);
// The first of |inputs| (bit mask) that can be forwarded.
LEAT_MUST_USE leat_status_t leat_kernel_forward_any_or_allocate(leat_kernel_context_t* c,
                                                                uint64_t inputs, int output,
                                                                const leat_shape_t* shape,
                                                                leat_tensor_t** out_tensor);
// The output becomes |tensor| (moved in).
static inline void leat_kernel_set_output(leat_kernel_context_t* c, int index,
                                          leat_tensor_t tensor) {
  c->outputs[index].tensor = tensor;
  c->outputs[index].alive = true;
}
// Output |index| becomes a scalar of that type.
LEAT_MUST_USE leat_status_t leat_kernel_set_output_int32(leat_kernel_context_t* c, int index,
                                                         int64_t value);
LEAT_MUST_USE leat_status_t leat_kernel_set_output_bool(leat_kernel_context_t* c, int index,
                                                        bool value);
// Output |index| shares input |input|'s bytes, perhaps under another shape (as many elements).
void leat_kernel_pass_input(leat_kernel_context_t* c, int input, int output);
LEAT_MUST_USE leat_status_t leat_kernel_pass_input_reshaped(leat_kernel_context_t* c, int input,
                                                            int output, const leat_shape_t* shape);
// The value of an input as one that may outlive the step (a variable's, a queue's): its own bytes
// where nobody else has them, else a copy. The caller owns it.
LEAT_MUST_USE leat_status_t leat_kernel_take_input(leat_kernel_context_t* c, int index,
                                                   leat_tensor_t* out_tensor);
// The value of an input as one that may outlive the step and is only read (a queue's element): its
// own bytes, shared, unless they are the step's or a caller's. The caller owns it.
LEAT_MUST_USE leat_status_t leat_kernel_keep_input(leat_kernel_context_t* c, int index,
                                                   leat_tensor_t* out_tensor);
// Scratch memory of the device, ended by leat_tensor_release.
LEAT_MUST_USE leat_status_t leat_kernel_allocate_temporary(leat_kernel_context_t* c, int dtype,
                                                           const leat_shape_t* shape,
                                                           leat_tensor_t* out_tensor);
// References: the cell that input |index| names; an output that names |cell| (retained).
struct leat_cell_s* leat_kernel_input_ref(leat_kernel_context_t* c, int index);
void leat_kernel_set_output_ref(leat_kernel_context_t* c, int index, struct leat_cell_s* cell);
void leat_kernel_pass_ref(leat_kernel_context_t* c, int input, int output);
// Runs |fn| over [0, total) on the step's pool, all of it, whatever happens to the step meanwhile.
// This is for loops that change a value which outlives the step (half an update of a variable is
// worse than a late one) and for those whose every range begins with work of its own.
static inline void leat_kernel_parallel_for_unbroken(const leat_kernel_context_t* c, int64_t total,
                                                     double cost_per_item_ns, leat_shard_fn_t fn,
                                                     void* data) {
  leat_thread_pool_parallel_for(c->services->pool, 0, total, cost_per_item_ns, fn, data);
}
// How often a long loop looks whether its step is to end.
#define LEAT_STEP_CHECK_NS 1e6
// The same for a loop that takes longer than LEAT_STEP_CHECK_NS.
void leat_kernel_parallel_for_checked(const leat_kernel_context_t* c, int64_t total,
                                      double cost_per_item_ns, leat_shard_fn_t fn, void* data);
// Runs |fn| over [0, total) on the step's pool. A long loop looks about every millisecond whether
// the step was cancelled or its deadline has passed, and then leaves the rest out. The kernel
// returns as usual: whoever runs it looks again, and drops its outputs. So a kernel may go on with
// what its ranges wrote, but must not take any of it for an index or a size without a check.
static inline void leat_kernel_parallel_for(const leat_kernel_context_t* c, int64_t total,
                                            double cost_per_item_ns, leat_shard_fn_t fn,
                                            void* data) {
  if (LEAT_LIKELY((double)total * cost_per_item_ns <= LEAT_STEP_CHECK_NS)) {
    leat_kernel_parallel_for_unbroken(c, total, cost_per_item_ns, fn, data);
  } else {
    leat_kernel_parallel_for_checked(c, total, cost_per_item_ns, fn, data);
  }
}
// "Compute failed for node 'x' (Op): ..." of INVALID_ARGUMENT.
#define leat_kernel_invalid(c, ...) \
  leat_kernel_error_create((c), LEAT_INVALID_ARGUMENT, __FILE__, __LINE__, __VA_ARGS__)
#define leat_kernel_error(c, code, ...) \
  leat_kernel_error_create((c), (code), __FILE__, __LINE__, __VA_ARGS__)
LEAT_MUST_USE leat_status_t leat_kernel_error_create(const leat_kernel_context_t* c,
                                                     leat_status_code_t code, const char* file,
                                                     int line, const char* format, ...)
    LEAT_PRINTF(5, 6);

// Names |kernel|'s node in |status| when the kernel did not.
LEAT_MUST_USE leat_status_t leat_kernel_annotate(const leat_kernel_t* kernel,
                                                 leat_status_t status);

// Checks the op's contract over the inputs; part of every call (kernel/call.h).
LEAT_MUST_USE leat_status_t leat_kernel_check_contract(const leat_kernel_context_t* c);

// What an instance is made for. It borrows the node's name and type arrays, which must outlive it.
typedef struct leat_kernel_spec_s {
  const leat_kernel_row_t* row;
  const leat_op_t* op;
  leat_string_view_t node_name;
  const leat_attr_t* attrs;  // all that the op declares, with their values
  int attr_count;
  const uint8_t* input_types;  // + LEAT_DTYPE_REF_OFFSET where the input is taken as a reference
  int input_count;
  const uint8_t* output_types;
  int output_count;
  leat_device_t* device;
  struct leat_resource_manager_s* resources;  // of the device; NULL: the op makes none
  leat_allocator_t* allocator;
} leat_kernel_spec_t;
// Makes an instance; leat_kernel_free ends it. Fails as the row's |create| does.
LEAT_MUST_USE leat_status_t leat_kernel_create(const leat_kernel_spec_t* spec,
                                               leat_kernel_t** out_kernel);
void leat_kernel_free(leat_kernel_t* kernel);

// Runs |kernel| alone, contract included: |inputs| are shared, |out_outputs| owned by the caller
// (output_count of them; "no tensor" for a dead one and for a reference without a value).
// |services| NULL lends the device's memory and pool. An asynchronous kernel is waited for.
LEAT_MUST_USE leat_status_t leat_kernel_invoke(const leat_kernel_t* kernel,
                                               const leat_step_services_t* services,
                                               const leat_tensor_t* inputs,
                                               leat_tensor_t* out_outputs);
// The same over slots, so that references and dead tensors pass: a reference that feeds an input
// of the plain type is read (FAILED_PRECONDITION while it has no value). Dead inputs are the
// caller's to act upon.
LEAT_MUST_USE leat_status_t leat_kernel_invoke_slots(const leat_kernel_t* kernel,
                                                     const leat_step_services_t* services,
                                                     const leat_slot_t* inputs,
                                                     leat_slot_t* out_outputs);

#endif  // LEAT_KERNEL_KERNEL_H_
