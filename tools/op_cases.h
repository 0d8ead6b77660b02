// How many of the cases that were recorded from TensorFlow each op passes. CMake makes the list of
// tests/conformance/op_counts.txt, by which dev/test-oracle judges.
#ifndef LEAT_TOOLS_OP_CASES_H_
#define LEAT_TOOLS_OP_CASES_H_

#include <stddef.h>

typedef struct op_cases_s {
  const char* op;
  int passed, recorded;
} op_cases_t;

// By name.
extern const op_cases_t op_cases_list[];
extern const size_t op_cases_count;

#endif  // LEAT_TOOLS_OP_CASES_H_
