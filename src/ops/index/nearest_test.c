// NearestNeighbors: order, ties, more centers asked for than there are, and what it refuses.
#include "op_harness/op_harness.h"

#define POINTS LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 2, 3, 4)
#define CENTERS LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 9, 9, 0, 0, 3, 3)

static const leat_op_case_t kCases[] = {
    {.op = "NearestNeighbors",
     .inputs = {POINTS, CENTERS, LEAT_SCALAR_ITEM(INT64, 2)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 1, 2, 2, 1),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 5, 5, 1, 25)}},
    {.op = "NearestNeighbors",
     .name = "NearestNeighbors, all centers",
     .inputs = {POINTS, CENTERS, LEAT_SCALAR_ITEM(INT64, 5)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 3), 1, 2, 0, 2, 1, 0),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), 5, 5, 113, 1, 25, 61)}},
    {.op = "NearestNeighbors",
     .name = "NearestNeighbors, none",
     .inputs = {POINTS, CENTERS, LEAT_SCALAR_ITEM(INT64, 0)},
     .expected = {LEAT_NO_ITEMS(INT64, LEAT_DIMS(2, 0)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0))}},
    {.op = "NearestNeighbors",
     .name = "NearestNeighbors, fewer than none",
     .inputs = {POINTS, CENTERS, LEAT_SCALAR_ITEM(INT64, -1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "k is -1"},
    {.op = "NearestNeighbors",
     .name = "NearestNeighbors, no centers",
     .inputs = {POINTS, LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2)), LEAT_SCALAR_ITEM(INT64, 1)},
     .expected = {LEAT_NO_ITEMS(INT64, LEAT_DIMS(2, 0)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0))}},
    {.op = "NearestNeighbors",
     .name = "NearestNeighbors, no points",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2)), CENTERS, LEAT_SCALAR_ITEM(INT64, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "points has no rows"},
    {.op = "NearestNeighbors",
     .name = "NearestNeighbors, other dimensions",
     .inputs = {POINTS, LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 1), LEAT_SCALAR_ITEM(INT64, 1)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
