// Cases of UnsortedSegmentJoin.
#include "op_harness/op_harness.h"

#define IDS(n, ...) LEAT_ITEMS(INT32, LEAT_DIMS(n), __VA_ARGS__)
#define COUNT(n) LEAT_SCALAR_ITEM(INT64, n)
#define DASH {LEAT_CASE_STR("separator", "-")}
#define BAD(text, ...)                                                   \
  {.op = "UnsortedSegmentJoin", .name = text, .inputs = {__VA_ARGS__},   \
   .code = LEAT_INVALID_ARGUMENT}

static const leat_op_case_t kCases[] = {
    {.op = "UnsortedSegmentJoin",
     .attrs = DASH,
     .inputs = {LEAT_TEXTS(LEAT_DIMS(4), "a", "b", "c", "d"), IDS(4, 1, 0, 1, 3), COUNT(5)},
     .expected = {LEAT_TEXTS(LEAT_DIMS(5), "b", "a-c", "", "d", "")}},
    {.op = "UnsortedSegmentJoin",
     .name = "rows",
     .attrs = DASH,
     .inputs = {LEAT_TEXTS(LEAT_DIMS(3, 2), "a", "b", "c", "d", "e", "f"), IDS(3, 1, 0, 1),
                COUNT(2)},
     .expected = {LEAT_TEXTS(LEAT_DIMS(2, 2), "c", "d", "a-e", "b-f")}},
    {.op = "UnsortedSegmentJoin",
     .name = "ids of two dimensions",
     .attrs = DASH,
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2, 2), "a", "b", "c", "d"),
                LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 1, 0, 0, 0), COUNT(2)},
     .expected = {LEAT_TEXTS(LEAT_DIMS(2), "b-c-d", "a")}},
    {.op = "UnsortedSegmentJoin",
     .name = "empty strings",
     .attrs = DASH,
     .inputs = {LEAT_TEXTS(LEAT_DIMS(4), "", "", "a", ""), IDS(4, 0, 0, 0, 0), COUNT(1)},
     .expected = {LEAT_TEXTS(LEAT_DIMS(1), "a-")}},
    BAD("an id that is no segment", LEAT_TEXTS(LEAT_DIMS(1), "a"), IDS(1, 2), COUNT(2)),
    BAD("a negative id", LEAT_TEXTS(LEAT_DIMS(1), "a"), IDS(1, -1), COUNT(2)),
    BAD("a negative number of segments", LEAT_TEXTS(LEAT_DIMS(1), "a"), IDS(1, 0), COUNT(-1)),
    BAD("a scalar", LEAT_TEXTS(LEAT_SCALAR_DIMS, "a"), LEAT_SCALAR_ITEM(INT32, 0), COUNT(1)),
    BAD("ids for other rows", LEAT_TEXTS(LEAT_DIMS(2), "a", "b"), IDS(3, 0, 0, 0), COUNT(1)),
};

LEAT_OP_TEST_MAIN(kCases)
