// Sets: what comes twice, groups that only one side has, and indices that nobody validated.
#include "op_harness/op_harness.h"

#define OPERATION(name) LEAT_CASE_STR("set_operation", name)
// Entries 0: {9, 5, 9}, 2: {1} in a [3, 4] tensor.
#define ENTRIES                                                                  \
  LEAT_ITEMS(INT64, LEAT_DIMS(4, 2), 0, 0, 0, 1, 0, 3, 2, 0),                    \
      LEAT_ITEMS(INT8, LEAT_DIMS(4), 9, 5, 9, 1), LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 4)
// Entries 1: {7}, 2: {1, -1} in a [3, 2] tensor.
#define OTHERS                                                      \
  LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 1, 0, 2, 0, 2, 1),             \
      LEAT_ITEMS(INT8, LEAT_DIMS(3), 7, 1, -1), LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 2)

static const leat_op_case_t kCases[] = {
    {.op = "SetSize", .inputs = {ENTRIES}, .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(3), 2, 0, 1)}},
    {.op = "SetSize",
     .name = "SetSize, no group",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(1, 1), 0), LEAT_ITEMS(INT8, LEAT_DIMS(1), 9),
                LEAT_ITEMS(INT64, LEAT_DIMS(1), 3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "SetSize",
     .name = "SetSize, a group outside that nobody looked for",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(1, 2), -1, 0), LEAT_ITEMS(INT8, LEAT_DIMS(1), 9),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 4)},
     .attrs = {LEAT_CASE_BOOL("validate_indices", false)},
     .code = LEAT_INTERNAL},
    {.op = "DenseToDenseSetOperation",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2, 2), "b", "a", "c", "c"),
                LEAT_TEXTS(LEAT_DIMS(2, 3), "b", "b", "d", "", "c", "e")},
     .attrs = {OPERATION("union")},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(6, 2), 0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2),
                  LEAT_TEXTS(LEAT_DIMS(6), "a", "b", "d", "", "c", "e"),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 3)}},
    {.op = "DenseToDenseSetOperation",
     .name = "DenseToDenseSetOperation, one side without values",
     .inputs = {LEAT_NO_ITEMS(INT32, LEAT_DIMS(2, 0)),
                LEAT_ITEMS(INT32, LEAT_DIMS(2, 2), 3, 1, 2, 2)},
     .attrs = {OPERATION("B-A")},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 0, 0, 0, 1, 1, 0),
                  LEAT_ITEMS(INT32, LEAT_DIMS(3), 1, 3, 2),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 2)}},
    {.op = "DenseToDenseSetOperation",
     .name = "DenseToDenseSetOperation, an operation that is none",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1, 1), 1), LEAT_ITEMS(INT32, LEAT_DIMS(1, 1), 1)},
     .attrs = {OPERATION("a")},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "DenseToSparseSetOperation",
     .inputs = {LEAT_ITEMS(INT8, LEAT_DIMS(3, 2), 5, 6, 7, 8, 1, 2), ENTRIES},
     .attrs = {OPERATION("a-b")},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(4, 2), 0, 0, 1, 0, 1, 1, 2, 0),
                  LEAT_ITEMS(INT8, LEAT_DIMS(4), 6, 7, 8, 2),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 2)}},
    {.op = "DenseToSparseSetOperation",
     .name = "DenseToSparseSetOperation, groups out of order",
     .inputs = {LEAT_ITEMS(INT8, LEAT_DIMS(2, 1), 5, 6),
                LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 1, 0, 0, 0),
                LEAT_ITEMS(INT8, LEAT_DIMS(2), 6, 5), LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 1)},
     .attrs = {OPERATION("intersection"), LEAT_CASE_BOOL("validate_indices", false)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(1, 2), 1, 0), LEAT_ITEMS(INT8, LEAT_DIMS(1), 6),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 1)}},
    {.op = "SparseToSparseSetOperation",
     .inputs = {ENTRIES, OTHERS},
     .attrs = {OPERATION("union")},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(5, 2), 0, 0, 0, 1, 1, 0, 2, 0, 2, 1),
                  LEAT_ITEMS(INT8, LEAT_DIMS(5), 5, 9, 7, -1, 1),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 2)}},
    {.op = "SparseToSparseSetOperation",
     .name = "SparseToSparseSetOperation, nothing in both",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(1, 2), 0, 0), LEAT_ITEMS(INT8, LEAT_DIMS(1), 9),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 1), OTHERS},
     .attrs = {OPERATION("intersection")},
     .expected = {LEAT_NO_ITEMS(INT64, LEAT_DIMS(0, 2)), LEAT_NO_ITEMS(INT8, LEAT_DIMS(0)),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 0)}},
};

LEAT_OP_TEST_MAIN(kCases)
