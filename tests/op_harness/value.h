// Values of cases as tensors, and tensors as numbers: conversions of the harness's own, so that a
// kernel's conversions are not judged by themselves.
#ifndef LEAT_OP_HARNESS_VALUE_H_
#define LEAT_OP_HARNESS_VALUE_H_

#include "op_harness/op_harness.h"

// |seed| tells the random values of a case's inputs apart. Not the variables around them.
LEAT_MUST_USE leat_status_t leat_case_value_make(const leat_case_value_t* value, int dtype,
                                                 uint64_t seed, leat_tensor_t* out_tensor);
// Numbers an element is made of: 2 for complex types, 0 for objects.
int leat_case_parts(int dtype);
// Number |index| of a tensor (element * parts + part).
double leat_case_number(const leat_tensor_t* tensor, int64_t index);
void leat_case_set_number(leat_tensor_t* tensor, int64_t index, double number);
// All of them; the caller frees. NULL for objects and empty tensors.
double* leat_case_numbers(const leat_tensor_t* tensor);
// The relative error that arithmetic in |dtype| may make.
double leat_case_tolerance(int dtype);
// NaN is equal to NaN, infinities to themselves.
bool leat_case_number_is_close(double a, double b, double tolerance);
// Bytes (objects: elements) equal.
bool leat_case_tensor_equal(const leat_tensor_t* a, const leat_tensor_t* b);
// The same elements at an address that is not aligned beyond the element's size.
LEAT_MUST_USE leat_status_t leat_case_unaligned_copy(const leat_tensor_t* tensor,
                                                     leat_tensor_t* out_tensor);

#endif  // LEAT_OP_HARNESS_VALUE_H_
