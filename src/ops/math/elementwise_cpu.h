// Elementwise ops on the CPU: one engine that walks, broadcasts, shards and converts, and loops
// that compute. A loop sees dense arrays only, all of n elements; it may write over an input.
//
// Strings, handles and variants are elements too: a loop borrows the inputs' and makes new ones.
//
// half and bfloat16 need no loops of their own: where a table has none, the float loop serves,
// through blocks that are converted on the stack.
#ifndef LEAT_OPS_MATH_ELEMENTWISE_CPU_H_
#define LEAT_OPS_MATH_ELEMENTWISE_CPU_H_

#include "base/cpu.h"
#include "kernel/kernel.h"
#include "ops/math/broadcast_plan_cpu.h"
#include "ops/math/loop_type_cpu.h"

#define LEAT_ELEMENTWISE_MAX_INPUTS LEAT_BROADCAST_MAX_INPUTS

// What a loop may find; the engine turns it into a status.
typedef enum leat_elementwise_fault_e {
  LEAT_ELEMENTWISE_FINE = 0,
  LEAT_ELEMENTWISE_DIVISION_BY_ZERO = 1,
  LEAT_ELEMENTWISE_NEGATIVE_POWER = 2,
} leat_elementwise_fault_t;

typedef int (*leat_elementwise_loop_t)(const void* const inputs[], void* output, int64_t n);

// Loops of one op by the type of its deciding argument.
typedef leat_elementwise_loop_t leat_elementwise_loops_t[LEAT_LOOP_TYPE_COUNT];

// A kernel's state.
#define LEAT_ELEMENTWISE_MAX_CHAIN 2
typedef struct leat_elementwise_s {
  leat_elementwise_loop_t loop;
  // Loops of one operand, each over what the one before gives: at most 16 bytes an element.
  leat_elementwise_loop_t chain[LEAT_ELEMENTWISE_MAX_CHAIN];
  float cost_ns;  // per element
  uint8_t input_count;
  uint8_t input_size[LEAT_ELEMENTWISE_MAX_INPUTS];
  uint8_t output_size;
  uint8_t float_inputs;  // bit i: input i is half or bfloat16 and goes to the loop as float
  bool float_output;
  bool is_bfloat16;
  bool in_blocks;  // pieces go through blocks on the stack, as floats or along the chain
  uint8_t string_inputs;  // bit i: elements of input i are strings
  bool object_output;     // an output of objects is never one of the inputs
} leat_elementwise_t;

// Fills |state| (a leat_elementwise_t) for the node. The loop is looked up by the dtype of input
// |deciding|: in |vector|, the loops of this machine's instruction set, then in |base|, those of
// the baseline, then in |plain|, then as float; each may be NULL. UNIMPLEMENTED when there is none.
LEAT_MUST_USE leat_status_t leat_elementwise_create(leat_kernel_creation_t* c, void* state,
                                                    const leat_elementwise_loops_t vector,
                                                    const leat_elementwise_loops_t base,
                                                    const leat_elementwise_loops_t plain,
                                                    int deciding, float cost_ns);

// Output 0 has the shape of input 0; all inputs have as many elements (INVALID_ARGUMENT otherwise).
LEAT_MUST_USE leat_status_t leat_elementwise_same__cpu(leat_kernel_context_t* c);
// Output 0 has the shape to which all inputs are broadcast.
LEAT_MUST_USE leat_status_t leat_elementwise_broadcast__cpu(leat_kernel_context_t* c);
// The shape to which |inputs| are broadcast; INVALID_ARGUMENT when they do not fit. Ended by
// leat_shape_release.
LEAT_MUST_USE leat_status_t leat_elementwise_shape(leat_kernel_context_t* c, int count,
                                                   const leat_tensor_t* const inputs[],
                                                   leat_shape_t* out_shape);
// Broadcasts |inputs| into |output|, which is as large as their shape.
LEAT_MUST_USE leat_status_t leat_elementwise_run(leat_kernel_context_t* c,
                                                 const leat_elementwise_t* e,
                                                 const leat_tensor_t* const inputs[],
                                                 leat_tensor_t* output);

// ---- For whoever walks by himself (fused_cpu.c) -------------------------------------------------

// Computes |n| elements from dense pieces of the operands; gives faults (bits).
int leat_elementwise_piece(const leat_elementwise_t* e, const void* const inputs[], void* output,
                           int64_t n);
// What a step ends with when its pieces gave |faults|, not 0.
LEAT_MUST_USE leat_status_t leat_elementwise_fault_status(const leat_kernel_context_t* c,
                                                          int faults);
// Lays operand |k| of |n| elements of the output from |index| on into |target|.
void leat_elementwise_gather(const leat_elementwise_t* e, const leat_broadcast_t* plan, int k,
                             const void* input, int64_t index, int64_t n, void* target);
// Lays the one element of operand |k| into |target| |n| times.
void leat_elementwise_repeat(const leat_elementwise_t* e, int k, const void* input, int64_t n,
                             void* target);

// ---- Rows ---------------------------------------------------------------------------------------

// Defines a `create` function |name| for op |index|: loops that vectors serve stand in |isa_tables|
// (leat_x_loops with a field |items|, compiled per instruction set), others in |plain_table|.
#define LEAT_ELEMENTWISE_CREATE(name, isa_tables, plain_table, index, deciding, cost_ns)      \
  static leat_status_t name(leat_kernel_creation_t* c, void* state) {                         \
    return leat_elementwise_create(c, state, LEAT_ISA_SELECT(isa_tables)->items[index],       \
                                   isa_tables##_base.items[index], (plain_table)[index],      \
                                   deciding, cost_ns);                                        \
  }

// A kernel's row: |types| constrain T, create_<name> fills the state.
#define LEAT_ELEMENTWISE_ROW(name, types, kind, compute_fn) \
  {.op = #name,                                             \
   .device_type = "CPU",                                    \
   .constraints = "T: " types,                              \
   .create = create_##name,                                 \
   .state_bytes = sizeof(leat_elementwise_t),               \
   .elementwise = LEAT_ELEMENTWISE_##kind,                  \
   .compute = compute_fn}
#define LEAT_ELEMENTWISE_ROW_BROADCAST(name, types) \
  LEAT_ELEMENTWISE_ROW(name, types, BROADCAST, leat_elementwise_broadcast__cpu)
#define LEAT_ELEMENTWISE_ROW_SAME(name, types) \
  LEAT_ELEMENTWISE_ROW(name, types, SAME, leat_elementwise_same__cpu)

#endif  // LEAT_OPS_MATH_ELEMENTWISE_CPU_H_
