// The checks of a case. OK, or a status whose message says what differs.
#ifndef LEAT_OP_HARNESS_CHECKS_H_
#define LEAT_OP_HARNESS_CHECKS_H_

#include "op_harness/subject.h"

#define LEAT_CASE_MAX_OUTPUTS 64

// Shape function and values, in one type.
LEAT_MUST_USE leat_status_t leat_check_values(const leat_subject_t* subject);
// The same bits on another device, where it has a kernel.
LEAT_MUST_USE leat_status_t leat_check_device(const leat_subject_t* subject);
// That the case fails as it says.
LEAT_MUST_USE leat_status_t leat_check_error(const leat_subject_t* subject);
// Analytic against numeric gradients; |subject| is in double.
LEAT_MUST_USE leat_status_t leat_check_gradient(const leat_subject_t* subject);
// Prints a line of speed.
LEAT_MUST_USE leat_status_t leat_check_speed(const leat_subject_t* subject);

#define leat_check_failed(...) leat_make_status(LEAT_INTERNAL, __VA_ARGS__)

#endif  // LEAT_OP_HARNESS_CHECKS_H_
