// Cases of complex numbers and their parts.
#include <math.h>

#include "op_harness/op_harness.h"

#define Z LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2), 3, 4, 0, -2)
#define PART(op_name, a, b)                               \
  {.op = op_name,                                         \
   .inputs = {Z},                                         \
   .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), a, b)}}

static const leat_op_case_t kCases[] = {
    PART("Real", 3, 0),
    PART("Imag", 4, -2),
    PART("ComplexAbs", 5, 2),
    PART("Angle", 0.92729521800161219, -M_PI_2),
    {.op = "Conj",
     .inputs = {Z},
     .types = LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2), 3, -4, 0, 2)}},
    {.op = "Complex",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 2), LEAT_SCALAR_ITEM(FLOAT, 3)},
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2), 1, 3, 2, 3)}},
    {.op = "Complex",
     .name = "doubles",
     .attrs = {LEAT_CASE_TYPE("Tout", COMPLEX128)},
     .inputs = {LEAT_SCALAR_ITEM(DOUBLE, 1), LEAT_SCALAR_ITEM(DOUBLE, 3)},
     .expected = {LEAT_ITEMS(COMPLEX128, LEAT_SCALAR_DIMS, 1, 3)}},
};

LEAT_OP_TEST_MAIN(kCases)
