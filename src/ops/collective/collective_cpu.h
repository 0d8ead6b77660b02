// What the kernels of collectives share: they read who takes part in what, prepare the elements
// that go around, and leave the rest to kernel/collective.h.
#ifndef LEAT_OPS_COLLECTIVE_COLLECTIVE_CPU_H_
#define LEAT_OPS_COLLECTIVE_COLLECTIVE_CPU_H_

#include "kernel/collective.h"
#include "ops/kernel_rows.h"

// The state of a kernel: what its attributes say. Fields whose attribute the op lacks are zero.
typedef struct leat_collective_state_s {
  int32_t group_size, group_key, instance_key;
  leat_combine_t merge;
  bool divides;
  int32_t* subdiv_offsets;  // [subdiv_count]
  int32_t subdiv_count;
  int32_t max_subdivs;
  double timeout_seconds;
  leat_shape_t shape;
  bool has_shape;  // the attribute is there, and a full shape
} leat_collective_state_t;

LEAT_MUST_USE leat_status_t leat_collective_state_create(leat_kernel_creation_t* c,
                                                         void* state);
void leat_collective_state_destroy(void* state);

// The call that the state describes, without values. The group is the attributes'.
leat_collective_call_t leat_collective_call_of(const leat_kernel_context_t* c,
                                               leat_collective_kind_t kind);
// Makes the group that of the scalars at three inputs, the first of which is |first|: its size, its
// key and the key of the collective.
LEAT_MUST_USE leat_status_t leat_collective_read_keys(const leat_kernel_context_t* c, int first,
                                                      leat_collective_call_t* call);
// The scalar at input |index|, whose name is |name|.
LEAT_MUST_USE leat_status_t leat_collective_scalar(const leat_kernel_context_t* c, int index,
                                                   const char* name, int32_t* out_value);
LEAT_MUST_USE leat_status_t leat_collective_check_size(const leat_kernel_context_t* c,
                                                       int32_t group_size);

// Make output 0, and with input 0 the values of a call whose group is known.
LEAT_MUST_USE leat_status_t leat_collective_prepare_reduce(leat_kernel_context_t* c,
                                                           leat_collective_call_t* call);
LEAT_MUST_USE leat_status_t leat_collective_prepare_all_to_all(leat_kernel_context_t* c,
                                                               leat_collective_call_t* call);
// Ends the kernel with |status|, or takes part as |call| says.
void leat_collective_go(leat_kernel_context_t* c, leat_status_t status,
                        const leat_collective_call_t* call, leat_kernel_done_fn_t done);

// A row of leat_kernel_row_t for the op |op_name|, whose kernel |function| takes part.
#define LEAT_COLLECTIVE_ROW(op_name, function)                                              \
  {.op = op_name, .device_type = "CPU", .create = leat_collective_state_create,             \
   .destroy = leat_collective_state_destroy, .state_bytes = sizeof(leat_collective_state_t), \
   .compute_async = function}

#endif  // LEAT_OPS_COLLECTIVE_COLLECTIVE_CPU_H_
