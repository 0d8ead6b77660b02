// One case of the sweep over operations: an op with attributes and inputs drawn from the edges of
// what they may be, the same for the same (op, number).
#ifndef LEAT_TESTS_HOSTILE_SWEEP_CASE_H_
#define LEAT_TESTS_HOSTILE_SWEEP_CASE_H_

#include "session/session.h"

enum { kSweepAttrs = 40, kSweepInputs = 40 };

typedef struct sweep_input_s {
  int dtype;  // + 100: a reference to a variable of |value|
  leat_tensor_t value;
  bool fed;   // by a placeholder; else a constant (a resource: a handle of a variable)
} sweep_input_t;

typedef struct sweep_case_s {
  const leat_op_t* op;
  leat_arena_t arena;
  leat_attr_t attrs[kSweepAttrs];
  int attr_count;
  sweep_input_t inputs[kSweepInputs];
  int input_count;
  uint64_t random;
} sweep_case_t;

// false when the op has something that is not drawn here (a function, too many arguments). Ends
// with sweep_case_free in both cases.
bool sweep_case_draw(const leat_op_t* op, uint64_t number, sweep_case_t* out_case);
void sweep_case_free(sweep_case_t* c);
// |text| gets the case in words.
void sweep_case_print(const sweep_case_t* c, char* text, size_t size);

#endif  // LEAT_TESTS_HOSTILE_SWEEP_CASE_H_
