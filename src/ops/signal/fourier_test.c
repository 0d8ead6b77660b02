// Fourier transforms of lengths whose result is known, and their gradients by differences.
#include <math.h>

#include "op_harness/op_harness.h"

#define ROOT 0.86602540378443865  // sin(pi / 3)

static const leat_op_case_t kCases[] = {
    // 1, i, -1, -i is one turn: all of it is in the first frequency.
    {.op = "FFT",
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(4), 1, 0, 0, 1, -1, 0, 0, -1)},
     .types = LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(4), 0, 0, 4, 0, 0, 0, 0, 0)}},
    {.op = "FFT",
     .name = "FFT, three points, two rows",
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2, 3), 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0)},
     .types = LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2, 3), 3, 0, 0, 0, 0, 0, 1, 0, -0.5, -ROOT, -0.5,
                             ROOT)}},
    {.op = "IFFT",
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(4), 0, 0, 4, 0, 0, 0, 0, 0)},
     .types = LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(4), 1, 0, 0, 1, -1, 0, 0, -1)}},
    {.op = "FFT2D",
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2, 2), 1, 0, 2, 0, 3, 0, 4, 0)},
     .types = LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2, 2), 10, 0, -2, 0, -4, 0, 0, 0)}},
    // Of the input one element more than is asked for is not read.
    {.op = "RFFT",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(5), 1, 2, 3, 4, 100),
                LEAT_ITEMS(INT32, LEAT_DIMS(1), 4)},
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(3), 10, 0, -2, 2, -2, 0)}},
    {.op = "IRFFT",
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(3), 10, 7, -2, 2, -2, 0),
                LEAT_ITEMS(INT32, LEAT_DIMS(1), 4)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, 2, 3, 4)}},
    {.op = "RFFT",
     .name = "RFFT, too short",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, 2, 3), LEAT_ITEMS(INT32, LEAT_DIMS(1), 4)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "at least 4"},
    {.op = "IRFFT2D",
     .name = "IRFFT2D, too short beside a dimension without elements",
     .inputs = {LEAT_NO_ITEMS(COMPLEX64, LEAT_DIMS(1, 0)), LEAT_ITEMS(INT32, LEAT_DIMS(2), 3, 3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "dimension 0 must have length of at least 3"},
    {.op = "RFFT2D",
     .name = "RFFT2D, without elements",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 0)), LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 3)},
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1, 2), 0, 0, 0, 0)}},
    {.op = "RFFT",
     .name = "RFFT, doubles and a gradient",
     .inputs = {LEAT_RANDOM(DOUBLE, LEAT_DIMS(2, 7), -1, 1), LEAT_ITEMS(INT32, LEAT_DIMS(1), 6)},
     .attrs = {LEAT_CASE_TYPE("Tcomplex", COMPLEX128)}},
    {.op = "IRFFT2D",
     .name = "IRFFT2D, nothing",
     .inputs = {LEAT_NO_ITEMS(COMPLEX64, LEAT_DIMS(0, 2, 2)),
                LEAT_ITEMS(INT32, LEAT_DIMS(2), 2, 2)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2, 2))}},
};
LEAT_OP_TEST_MAIN(kCases)
