// A case in one element type: its inputs made, its node built, its kernel run.
#ifndef LEAT_OP_HARNESS_SUBJECT_H_
#define LEAT_OP_HARNESS_SUBJECT_H_

#include "op_harness/fixture.h"
#include "op_harness/op_harness.h"

// What the node's value inputs are.
typedef enum leat_subject_sources_e {
  LEAT_SOURCES_CONSTANT,
  LEAT_SOURCES_SHAPED,   // placeholders of the inputs' shapes
  LEAT_SOURCES_UNKNOWN,  // placeholders without a shape
} leat_subject_sources_t;

typedef struct leat_subject_s {
  leat_fixture_t* fixture;
  const leat_op_case_t* op_case;
  int from_type, to_type;  // the types exchanged: equal in the case's own
  int input_count;
  leat_tensor_t inputs[LEAT_CASE_MAX_VALUES];
} leat_subject_t;

// |dtype| in the place of input 0's.
LEAT_MUST_USE leat_status_t leat_subject_initialize(leat_fixture_t* fixture,
                                                    const leat_op_case_t* op_case, int dtype,
                                                    leat_subject_t* out_subject);
void leat_subject_deinitialize(leat_subject_t* subject);
static inline int leat_subject_type(const leat_subject_t* subject, int dtype) {
  return dtype == subject->from_type ? subject->to_type : dtype;
}

// A graph of the sources (out_sources [input_count]) and the case's node. |as_constant|: inputs
// that are constants whatever |sources| says.
LEAT_MUST_USE leat_status_t leat_subject_build(const leat_subject_t* subject,
                                               leat_subject_sources_t sources,
                                               uint32_t as_constant, leat_graph_t** out_graph,
                                               int32_t* out_sources, int32_t* out_node);

// How the kernel is run.
typedef struct leat_subject_way_s {
  const char* name;
  bool overwritable;  // the inputs belong to the kernel alone
  bool unaligned;
  bool with_pool;
} leat_subject_way_t;

// The inputs as slots: variables made anew, values shared (or copied, where the way wants it).
LEAT_MUST_USE leat_status_t leat_subject_make_slots(const leat_subject_t* subject,
                                                    const leat_subject_way_t* way,
                                                    leat_slot_t* out_slots);
void leat_subject_free_slots(const leat_subject_t* subject, leat_slot_t* slots);
// The value of variable input |index| after a run.
bool leat_subject_variable(const leat_subject_t* subject, int index, const leat_slot_t* slots,
                           leat_tensor_t* out_value);

LEAT_MUST_USE leat_status_t leat_subject_run(const leat_subject_t* subject,
                                             const leat_kernel_t* kernel,
                                             const leat_subject_way_t* way, leat_slot_t* slots,
                                             leat_slot_t* out_outputs);

#endif  // LEAT_OP_HARNESS_SUBJECT_H_
