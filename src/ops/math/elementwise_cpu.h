// Elementwise ops on the CPU: an engine that broadcasts, shards and converts, and loops that
// compute. A loop sees dense arrays of n elements only and may write its results over an input, so
// that an op needs one short loop per type and no code for broadcasting, threads or half precision.
// An op whose output is elementwise registers a kernel with LEAT_ELEMENTWISE_ROW and fills its
// state with leat_elementwise_create:
//
//   LEAT_ELEMENTWISE_CREATE(create_Neg, leat_unary_loops, leat_unary_plain_loops,
//                           LEAT_UNARY_NEG, 0, 0.25f)
//   const leat_kernel_row_t kernels[] = {LEAT_ELEMENTWISE_ROW_SAME(Neg, "float, double"), ...};
//
// Strings, handles and variants are elements too: a loop borrows the inputs' objects and
// initializes new ones in the output. half and bfloat16 need no loops of their own: where a table
// has none, the engine converts pieces to float on the stack, runs the float loop and rounds the
// results.
//
// Functions run on the thread of the kernel and may start parallel work on the pool; loops run on
// any thread of it and must not block.
#ifndef LEAT_OPS_MATH_ELEMENTWISE_CPU_H_
#define LEAT_OPS_MATH_ELEMENTWISE_CPU_H_

#include "base/cpu.h"
#include "kernel/kernel.h"
#include "ops/math/broadcast_plan_cpu.h"
#include "ops/math/loop_type_cpu.h"

#define LEAT_ELEMENTWISE_MAX_INPUTS LEAT_BROADCAST_MAX_INPUTS

// Faults that a loop may return, as bits; the engine turns them into a status. A loop goes on after
// a fault and writes some result, so that it needs no exit in the middle.
typedef enum leat_elementwise_fault_e {
  LEAT_ELEMENTWISE_FINE = 0,
  LEAT_ELEMENTWISE_DIVISION_BY_ZERO = 1,
  LEAT_ELEMENTWISE_NEGATIVE_POWER = 2,
} leat_elementwise_fault_t;

// Computes |n| results and returns the faults that it met (bits). |inputs| has one dense
// array per operand, of |n| elements each. |output| may be one of these arrays when the elements
// have one size, but never overlaps one otherwise. Element i of the output depends on element i of
// the inputs alone.
typedef int (*leat_elementwise_loop_t)(const void* const inputs[], void* output, int64_t n);

// The loops of one op, by the type of the input that decides; NULL where there is none.
typedef leat_elementwise_loop_t leat_elementwise_loops_t[LEAT_LOOP_TYPE_COUNT];

// The state of an elementwise kernel. It is immutable after creation and shared by all runs, on any
// thread; it owns nothing, so that its kernel needs no destroy function. Sizes are bytes of an
// element.
#define LEAT_ELEMENTWISE_MAX_CHAIN 2
typedef struct leat_elementwise_s {
  leat_elementwise_loop_t loop;
  // Loops of one operand that run after |loop|, each over the results of the one before. Results in
  // between have at most 16 bytes an element.
  leat_elementwise_loop_t chain[LEAT_ELEMENTWISE_MAX_CHAIN];
  // Estimated time per element, which decides the number of shards.
  float cost_ns;
  uint8_t input_count;
  uint8_t input_size[LEAT_ELEMENTWISE_MAX_INPUTS];
  uint8_t output_size;
  uint8_t float_inputs;  // bit i: input i is half or bfloat16 and goes to the loop as float
  bool float_output;
  bool is_bfloat16;
  // The pieces go through blocks on the stack: converted to float, or along the chain.
  bool in_blocks;
  uint8_t string_inputs;  // bit i: elements of input i are strings
  bool object_output;  // the output's elements are objects: the output never takes an input's bytes
} leat_elementwise_t;

// Fills |state|, a zeroed leat_elementwise_t, for the node that |c| describes. The loop is looked
// up by the dtype of input |deciding|: in |vector|, the loops of this machine's instruction set,
// then in |base|, those of the baseline, then in |plain|; each may be NULL. For half and bfloat16
// the search is repeated with float. UNIMPLEMENTED when there is no loop. |cost_ns| is the time of
// one element on one core.
LEAT_MUST_USE leat_status_t leat_elementwise_create(leat_kernel_creation_t* c, void* state,
                                                    const leat_elementwise_loops_t vector,
                                                    const leat_elementwise_loops_t base,
                                                    const leat_elementwise_loops_t plain,
                                                    int deciding, float cost_ns);

// Compute functions of kernels whose state is a leat_elementwise_t. Both may let output 0 take the
// bytes of an input. In the first, output 0 has the shape of input 0, and all inputs must have as
// many elements (INVALID_ARGUMENT otherwise); their shapes are not compared.
LEAT_MUST_USE leat_status_t leat_elementwise_same__cpu(leat_kernel_context_t* c);
// In the second, output 0 has the shape to which all inputs are broadcast; INVALID_ARGUMENT when
// they do not fit.
LEAT_MUST_USE leat_status_t leat_elementwise_broadcast__cpu(leat_kernel_context_t* c);
// Computes the shape to which |count| |inputs| broadcast; INVALID_ARGUMENT when they do not. The
// caller ends |out_shape| with leat_shape_release.
LEAT_MUST_USE leat_status_t leat_elementwise_shape(leat_kernel_context_t* c, int count,
                                                   const leat_tensor_t* const inputs[],
                                                   leat_shape_t* out_shape);
// Computes |output|, which has the shape to which |inputs| broadcast, or as many elements as each
// of them. |inputs| has e->input_count tensors, and |output| is allocated already; it may share the
// bytes of an input that has as many elements. Kernels with a state of their own call this.
// INVALID_ARGUMENT or INTERNAL when a loop returned a fault.
LEAT_MUST_USE leat_status_t leat_elementwise_run(leat_kernel_context_t* c,
                                                 const leat_elementwise_t* e,
                                                 const leat_tensor_t* const inputs[],
                                                 leat_tensor_t* output);

// ---- For the fused interpreter (fused_cpu.c), which walks by itself -----------------------------

// Computes |n| elements from dense pieces of the operands on this thread; returns faults (bits).
int leat_elementwise_piece(const leat_elementwise_t* e, const void* const inputs[], void* output,
                           int64_t n);
// The status for |faults|, which must not be 0, in the name of the kernel of |c|. Where several
// bits are set it reports the division.
LEAT_MUST_USE leat_status_t leat_elementwise_fault_status(const leat_kernel_context_t* c,
                                                          int faults);
// Writes |n| elements of operand |k|, broadcast by |plan|, from element |index| of the output on to
// |target|, which has room for them. Strings are written as views that borrow the input's bytes, so
// that |target| needs no release.
void leat_elementwise_gather(const leat_elementwise_t* e, const leat_broadcast_t* plan, int k,
                             const void* input, int64_t index, int64_t n, void* target);
// Writes the first element of |input|, operand |k|, to |target| |n| times.
void leat_elementwise_repeat(const leat_elementwise_t* e, int k, const void* input, int64_t n,
                             void* target);

// ---- Rows ---------------------------------------------------------------------------------------

// Defines the `create` function |name| of op |index|. |isa_tables| names the loops that are
// compiled once per instruction set (a struct with a field |items|), |plain_table| all others.
#define LEAT_ELEMENTWISE_CREATE(name, isa_tables, plain_table, index, deciding, cost_ns)      \
  static leat_status_t name(leat_kernel_creation_t* c, void* state) {                         \
    return leat_elementwise_create(c, state, LEAT_ISA_SELECT(isa_tables)->items[index],       \
                                   isa_tables##_base.items[index], (plain_table)[index],      \
                                   deciding, cost_ns);                                        \
  }

// The registry row of a kernel: |types| constrain T, and the function create_<name> fills the
// state.
#define LEAT_ELEMENTWISE_ROW(name, types, how, compute_fn)  \
  {.op = #name,                                             \
   .device_type = "CPU",                                    \
   .constraints = "T: " types,                              \
   .create = create_##name,                                 \
   .state_bytes = sizeof(leat_elementwise_t),               \
   .access = LEAT_ACCESS_##how,                             \
   .compute = compute_fn}
#define LEAT_ELEMENTWISE_ROW_BROADCAST(name, types) \
  LEAT_ELEMENTWISE_ROW(name, types, BROADCAST, leat_elementwise_broadcast__cpu)
#define LEAT_ELEMENTWISE_ROW_SAME(name, types) \
  LEAT_ELEMENTWISE_ROW(name, types, SAME, leat_elementwise_same__cpu)

#endif  // LEAT_OPS_MATH_ELEMENTWISE_CPU_H_
