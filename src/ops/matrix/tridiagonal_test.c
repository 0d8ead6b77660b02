// Cases of matrices given by three diagonals.
#include <math.h>

#include "op_harness/op_harness.h"

#define TYPES LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE)
// [[2, 1, 0], [1, 3, -1], [0, 2, 4]]; 9 stands where nothing is read.
#define DIAGONALS LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 3), 1, -1, 9, 2, 3, 4, 9, 1, 2)
// [[0, 1], [2, 0]]
#define NEEDS_PIVOTS LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 1, 9, 0, 0, 9, 2)
#define SINGULAR LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 1, 9, 1, 1, 9, 1)
#define ROW(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3), __VA_ARGS__)
#define PLAIN LEAT_CASE_BOOL("partial_pivoting", false)

static const leat_op_case_t kCases[] = {
    {.op = "TridiagonalSolve",
     .inputs = {DIAGONALS, LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 1), 4, 4, 16)},
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 1), 1, 2, 3)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "TridiagonalSolve",
     .name = "without pivots",
     .attrs = {PLAIN},
     .inputs = {DIAGONALS, LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 1), 4, 4, 16)},
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 1), 1, 2, 3)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "TridiagonalSolve",
     .name = "rows change places",
     .inputs = {NEEDS_PIVOTS, LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 2, 3, 2, 4)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 2, 2, 3)}},
    {.op = "TridiagonalSolve",
     .name = "singular",
     .inputs = {SINGULAR, LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), NAN, NAN)}},
    {.op = "TridiagonalSolve",
     .name = "would need pivots",
     .attrs = {PLAIN},
     .inputs = {NEEDS_PIVOTS, LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), NAN, NAN)}},
    {.op = "TridiagonalSolve",
     .name = "perturbs, where nothing need be",
     .attrs = {LEAT_CASE_BOOL("perturb_singular", true)},
     .inputs = {NEEDS_PIVOTS, LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 1, 2)}},
    {.op = "TridiagonalSolve",
     .name = "perturbs without pivots",
     .attrs = {PLAIN, LEAT_CASE_BOOL("perturb_singular", true)},
     .inputs = {NEEDS_PIVOTS, LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 2)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "TridiagonalSolve",
     .name = "two diagonals",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 2), 0, 1),
                LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 1), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "TridiagonalMatMul",
     .inputs = {ROW(1, -1, 9), ROW(2, 3, 4), ROW(9, 1, 2),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 1, 10, 2, 20, 3, 30)},
     .types = TYPES,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 4, 40, 4, 40, 16, 160)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "TridiagonalMatMul",
     .name = "a short diagonal",
     .inputs = {ROW(1, -1, 9), ROW(2, 3, 4), ROW(9, 1, 2),
                LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 2), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
