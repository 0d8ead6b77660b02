// Sums, products, minima and maxima of rows that have the same segment id. The sorted forms require
// ids that do not fall and name the first id that does; the unsorted forms drop rows with negative
// ids. The neutral values of segments without rows are easily wrong, so they are compared with the
// limits of <stdint.h> for each integer type. Maxima of negative numbers show whether a segment
// starts from the lowest value of its type or from zero.
#include <math.h>

#include "op_harness/op_harness.h"

#define IDS(...) LEAT_ITEMS(INT32, LEAT_DIMS(4), __VA_ARGS__)
#define DATA LEAT_ITEMS(FLOAT, LEAT_DIMS(4, 2), 1, 2, 3, 4, 5, 6, 7, 8)
#define SORTED(op_name, gradient_check, ...)                          \
  {.op = op_name,                                                     \
   .inputs = {DATA, IDS(0, 0, 2, 2)},                                 \
   .types = LEAT_DTYPES_FLOATING | LEAT_DTYPE_BIT(INT64) | LEAT_DTYPE_BIT(UINT8), \
   .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), __VA_ARGS__)},     \
   .gradient = LEAT_GRADIENT_##gradient_check,                        \
   .constant_inputs = 2}
#define UNSORTED(op_name, gradient_check, ...)                        \
  {.op = op_name,                                                     \
   .inputs = {DATA, IDS(1, -1, 0, 1), LEAT_SCALAR_ITEM(INT32, 2)},    \
   .types = LEAT_DTYPES_FLOATING | LEAT_DTYPE_BIT(INT64) | LEAT_DTYPE_BIT(UINT8), \
   .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), __VA_ARGS__)},     \
   .gradient = LEAT_GRADIENT_##gradient_check,                        \
   .constant_inputs = 6}

// In every type with a sign: a segment starts from the lowest value of its own type.
#define NEGATIVE(op_name, ...)                                                                  \
  {.op = op_name,                                                                               \
   .name = "of negative numbers",                                                               \
   .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4, 2), -1, -2, -3, -4, -5, -6, -7, -8),               \
              IDS(1, -1, 0, 1), LEAT_SCALAR_ITEM(INT32, 2)},                                    \
   .types = LEAT_DTYPES_FLOATING | LEAT_DTYPES_SIGNED,                                          \
   .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), __VA_ARGS__)}}
// A segment without rows has the neutral value of its type: the least for a maximum, the greatest
// for a minimum. The limits are those of <stdint.h>, and of IEEE 754's half.
#define EMPTY(DTYPE, least, greatest)                                                           \
  EMPTY_OF("UnsortedSegmentMax", DTYPE, least, 5),                                              \
      EMPTY_OF("UnsortedSegmentMin", DTYPE, greatest, 3)
#define EMPTY_OF(op_name, DTYPE, limit, best)                                                   \
  {.op = op_name,                                                                               \
   .name = "a segment without rows of " #DTYPE,                                                 \
   .inputs = {LEAT_ITEMS(DTYPE, LEAT_DIMS(3), 3, 5, 4), LEAT_ITEMS(INT64, LEAT_DIMS(3), 2, 2, 2), \
              LEAT_SCALAR_ITEM(INT32, 3)},                                                      \
   .expected = {LEAT_ITEMS(DTYPE, LEAT_DIMS(3), limit, limit, best)}}

// Segment 1 of 3 is the only row, and the other ones are products of no rows.
static void one_row_reference(const leat_reference_t* r) {
  const int64_t columns = r->inputs[0].shape.element_count;
  for (int64_t i = 0; i < 3 * columns; ++i) {
    r->out[0][i] = i / columns == 1 ? r->in[0][i % columns] : 1;
  }
}

static const leat_op_case_t kCases[] = {
    SORTED("SegmentSum", TWICE, 4, 6, 0, 0, 12, 14),
    SORTED("SegmentMean", ONCE, 2, 3, 0, 0, 6, 7),
    SORTED("SegmentProd", ONCE, 3, 8, 1, 1, 35, 48),
    SORTED("SegmentMin", ONCE, 1, 2, 0, 0, 5, 6),
    SORTED("SegmentMax", ONCE, 3, 4, 0, 0, 7, 8),
    UNSORTED("UnsortedSegmentSum", TWICE, 5, 6, 8, 10),
    UNSORTED("UnsortedSegmentProd", ONCE, 5, 6, 7, 16),
    UNSORTED("UnsortedSegmentMin", ONCE, 5, 6, 1, 2),
    UNSORTED("UnsortedSegmentMax", ONCE, 5, 6, 7, 8),
    {.op = "UnsortedSegmentSum",
     .name = "ids of two dimensions",
     .inputs = {DATA, LEAT_ITEMS(INT32, LEAT_DIMS(4, 2), 0, 1, 0, 1, 0, 1, 0, 1),
                LEAT_SCALAR_ITEM(INT32, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 16, 20)}},
    NEGATIVE("UnsortedSegmentMax", -5, -6, -1, -2),
    NEGATIVE("UnsortedSegmentMin", -5, -6, -7, -8),
    NEGATIVE("UnsortedSegmentSum", -5, -6, -8, -10),
    {.op = "UnsortedSegmentMax",
     .name = "a segment without rows",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 3), LEAT_ITEMS(INT64, LEAT_DIMS(1), 0),
                LEAT_SCALAR_ITEM(INT32, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 3, -0x1.fffffep127)}},
    {.op = "UnsortedSegmentProd",
     .name = "long segments without rows",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(1, 3001), 0, 2), LEAT_ITEMS(INT32, LEAT_DIMS(1), 1),
                LEAT_SCALAR_ITEM(INT32, 3)},
     .types = LEAT_DTYPES_FLOATING | LEAT_DTYPE_BIT(UINT8),
     .reference = one_row_reference},
    EMPTY(INT8, INT8_MIN, INT8_MAX),
    EMPTY(INT16, INT16_MIN, INT16_MAX),
    EMPTY(INT32, INT32_MIN, INT32_MAX),
    EMPTY(UINT8, 0, UINT8_MAX),
    EMPTY(UINT16, 0, UINT16_MAX),
    EMPTY(UINT32, 0, UINT32_MAX),
    EMPTY(HALF, -65504, 65504),
    {.op = "SegmentSum",
     .name = "no rows",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2)), LEAT_NO_ITEMS(INT32, LEAT_DIMS(0))},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2))}},
    {.op = "SegmentSum",
     .name = "ids that are not sorted",
     .inputs = {DATA, IDS(0, 1, 0, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "not increasing: segment_ids[2] is 0"},
    {.op = "SegmentMean",
     .name = "a negative id",
     .inputs = {DATA, IDS(-1, 0, 0, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "Segment id -1 out of range [0, 2)"},
    {.op = "SegmentMean",
     .name = "a negative last id",
     .inputs = {DATA, IDS(0, 0, 0, -2)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "must be >= 0, the last is -2"},
    {.op = "SegmentMax",
     .name = "too few ids",
     .inputs = {DATA, LEAT_ITEMS(INT32, LEAT_DIMS(3), 0, 0, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "UnsortedSegmentSum",
     .name = "an id too large",
     .inputs = {DATA, IDS(0, 1, 2, 3), LEAT_SCALAR_ITEM(INT32, 3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "UnsortedSegmentSum",
     .name = "fewer than no segments",
     .inputs = {DATA, IDS(0, 1, 2, 3), LEAT_SCALAR_ITEM(INT32, -1)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
