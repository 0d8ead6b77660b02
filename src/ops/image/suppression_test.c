// Cases of non-maximum suppression with numbers that are not finite: boxes without an end, sigma,
// scores and thresholds that are infinite or not a number. An overlap of inf / inf is not a number,
// and a score that is multiplied by it equals nothing, itself included, so that a loop which waits
// for scores to settle never ends. Each case therefore proves first of all that the op returns.
// Which boxes it selects was recorded with TensorFlow 2.21, since mathematics does not say.
#include <math.h>

#include "op_harness/op_harness.h"

#define BOXES(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(4, 4), __VA_ARGS__)
#define ENDLESS BOXES(0, 0, INFINITY, INFINITY, 0, 0, 1, 1, 0, 0, INFINITY, INFINITY, 0, 0, 1, 1)
#define UNKNOWN BOXES(NAN, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, NAN, 0, 0, 1, 1)
#define FINITE BOXES(0, 0, 1, 1, 0, 0, 1.1, 1, 0, 5, 1, 6, 0, 9, 1, 10)
#define SCORES LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 0.9, 0.8, 0.7, 0.6)
#define NUMBER(x) LEAT_SCALAR_ITEM(FLOAT, x)
#define MOST(x) LEAT_SCALAR_ITEM(INT32, x)
#define INDICES(n, ...) LEAT_ITEMS(INT32, LEAT_DIMS(n), __VA_ARGS__)
#define NONE LEAT_NO_ITEMS(INT32, LEAT_DIMS(0))
// Of NonMaxSuppressionV5: indices and scores of the |n| selected.
#define SELECTED(n, indices, ...) \
  INDICES(n, indices), LEAT_ITEMS(FLOAT, LEAT_DIMS(n), __VA_ARGS__), MOST(n)
#define LIST(...) __VA_ARGS__
#define V5(text, boxes, scores, least_score, sigma, ...)                                   \
  {.op = "NonMaxSuppressionV5", .name = text,                                              \
   .inputs = {boxes, scores, MOST(3), NUMBER(0.5), NUMBER(least_score), NUMBER(sigma)},    \
   __VA_ARGS__}

static const leat_op_case_t kCases[] = {
    V5("endless boxes", ENDLESS, SCORES, 0, 0, .expected = {SELECTED(2, LIST(0, 1), 0.9, 0.8)}),
    V5("endless boxes, any score", ENDLESS, SCORES, -INFINITY, 0,
       .expected = {SELECTED(3, LIST(0, 1, 2), 0.9, 0.8, 0)}),
    V5("endless boxes, soft", ENDLESS, SCORES, 0, 0.5, .types = LEAT_DTYPE_BIT(HALF),
       .expected = {SELECTED(3, LIST(0, 1, 3), 0.9, 0.8, 0.22072768)}),
    {.op = "NonMaxSuppressionV5",
     .name = "endless boxes, soft, as many as there are",
     .inputs = {ENDLESS, SCORES, MOST(4), NUMBER(0.5), NUMBER(0), NUMBER(0.5)},
     .expected = {SELECTED(3, LIST(0, 1, 3), 0.9, 0.8, 0.22072768)}},
    V5("endless boxes, sigma without end", ENDLESS, SCORES, 0, INFINITY,
       .expected = {SELECTED(3, LIST(0, 1, 3), 0.9, 0.8, 0.6)}),
    V5("boxes that are no numbers", UNKNOWN, SCORES, 0, 0,
       .expected = {SELECTED(2, LIST(0, 2), 0.9, 0.7)}),
    V5("boxes that are no numbers, any score", UNKNOWN, SCORES, -INFINITY, 0,
       .expected = {SELECTED(3, LIST(0, 2, 1), 0.9, 0.7, 0)}),
    V5("boxes that are no numbers, soft", UNKNOWN, SCORES, 0, 0.5,
       .expected = {SELECTED(2, LIST(0, 2), 0.9, 0.7)}),
    V5("scores that are not finite", FINITE,
       LEAT_ITEMS(FLOAT, LEAT_DIMS(4), NAN, 0.8, INFINITY, -INFINITY), 0, 0.5,
       .expected = {SELECTED(2, LIST(2, 1), INFINITY, 0.8)}),
    V5("a least score that is no number", FINITE, SCORES, NAN, 0.5,
       .expected = {NONE, LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0)), MOST(0)}),
    V5("a sigma that is no number", FINITE, SCORES, 0, NAN, .code = LEAT_INVALID_ARGUMENT,
       .message = "soft_nms_sigma"),
    V5("a sigma below 0", FINITE, SCORES, 0, -0.5, .code = LEAT_INVALID_ARGUMENT,
       .message = "soft_nms_sigma"),
    {.op = "NonMaxSuppression",
     .name = "endless boxes",
     .inputs = {ENDLESS, SCORES, MOST(3)},
     .expected = {INDICES(3, 0, 1, 2)}},
    {.op = "NonMaxSuppression",
     .name = "boxes that are no numbers",
     .inputs = {UNKNOWN, SCORES, MOST(3)},
     .expected = {INDICES(3, 0, 2, 1)}},
    {.op = "NonMaxSuppressionV2",
     .name = "endless boxes",
     .inputs = {ENDLESS, SCORES, MOST(3), NUMBER(0.5)},
     .expected = {INDICES(3, 0, 1, 2)}},
    {.op = "NonMaxSuppressionV3",
     .name = "a least score that is no number",
     .inputs = {ENDLESS, SCORES, MOST(3), NUMBER(0.5), NUMBER(NAN)},
     .expected = {NONE}},
    {.op = "NonMaxSuppressionV3",
     .name = "a threshold that is no number",
     .inputs = {ENDLESS, SCORES, MOST(3), NUMBER(NAN), NUMBER(0)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "iou_threshold"},
    {.op = "NonMaxSuppressionV4",
     .name = "endless boxes",
     .inputs = {ENDLESS, SCORES, MOST(3), NUMBER(0.5), NUMBER(0)},
     .expected = {INDICES(2, 0, 1), MOST(2)}},
    {.op = "NonMaxSuppressionWithOverlaps",
     .name = "overlaps that are no numbers",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, NAN, NAN, 1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 0.9, 0.8), MOST(2), NUMBER(0.5), NUMBER(0)},
     .expected = {INDICES(1, 0)}},
};

LEAT_OP_TEST_MAIN(kCases)
