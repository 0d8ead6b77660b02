// Cases of the ops that choose the first centers of k-means, recorded with TensorFlow 2.21.
#include <math.h>

#include "op_harness/op_harness.h"

#define NUMBER(n) LEAT_SCALAR_ITEM(INT64, n)
#define POINTS LEAT_ITEMS(FLOAT, LEAT_DIMS(6, 2), 0, 0, 3, 0, 0, 4, 5, 0, 0, 5, 1, 1)
#define CHOOSE(text, points, count, seed, retries, ...)                          \
  {.op = "KmeansPlusPlusInitialization", .name = text,                           \
   .inputs = {points, NUMBER(count), NUMBER(seed), NUMBER(retries)}, __VA_ARGS__}
#define CHAIN(text, distances, seed, end)                                                 \
  {.op = "KMC2ChainInitialization", .name = text, .inputs = {distances, NUMBER(seed)},    \
   .expected = {NUMBER(end)}}
#define DISTANCES LEAT_ITEMS(FLOAT, LEAT_DIMS(5), 5, 1, 2, .5, .1)

static const leat_op_case_t kCases[] = {
    CHOOSE("one draw each", POINTS, 4, 7, 0,
           .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4, 2), 3, 0, 5, 0, 0, 5, 0, 0)}),
    CHOOSE("the best of three", POINTS, 4, 7, 2,
           .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4, 2), 3, 0, 0, 4, 0, 0, 5, 0)}),
    CHOOSE("as many draws as the number asks for", POINTS, 6, 3, -1,
           .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(6, 2), 1, 1, 0, 5, 5, 0, 3, 0, 0, 0, 0, 4)}),
    CHOOSE("points of no dimension", LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(3, 0)), 2, 1, 0,
           .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0))}),
    CHOOSE("NaN", LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), NAN, NAN), 2, 1, 3,
           .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), NAN, NAN)}),
    CHOOSE("no points", LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2)), 1, 1, 0,
           .code = LEAT_INVALID_ARGUMENT),
    CHOOSE("none is asked for", POINTS, 0, 1, 0, .code = LEAT_INVALID_ARGUMENT),
    CHOOSE("more than there are", POINTS, 7, 1, 0, .code = LEAT_INVALID_ARGUMENT,
           .message = "7 vs 6"),
    CHOOSE("a vector", LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 2), 1, 1, 0,
           .code = LEAT_INVALID_ARGUMENT),
    CHAIN("the last point", DISTANCES, 0, 4),
    CHAIN("stays at its start", DISTANCES, 2, 0),
    CHAIN("in between", DISTANCES, 1, 2),
    {.op = "KMC2ChainInitialization",
     .name = "a chain of nothing",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0)), NUMBER(1)},
     .code = LEAT_INVALID_ARGUMENT},
};
LEAT_OP_TEST_MAIN(kCases)
