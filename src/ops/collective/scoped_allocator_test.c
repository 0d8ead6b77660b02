// Scoped allocators put tensors into one array at multiples of 64 bytes, and take them out again.
// The arrays here are those that TensorFlow gave, the gaps included. An array in which a tensor
// does not fit, and elements that are no plain bytes, are refused.
#include "op_harness/op_harness.h"

#define NAMED LEAT_CASE_STR("sa_name", "group"), LEAT_CASE_INT("id", 1)
#define SHAPES(...) \
  LEAT_CASE_LIST_("shapes", LEAT_ATTR_SHAPE, leat_partial_shape_t, shapes, __VA_ARGS__)
#define VECTOR(n) {1, (const int64_t[]){n}}
#define ZEROS LEAT_ITEMS(FLOAT, LEAT_DIMS(32), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
                         0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
#define FILLED(...)                                                                                \
  LEAT_ITEMS(FLOAT, LEAT_DIMS(__VA_ARGS__), 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4,  \
             5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
#define TWO LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 2)
#define THREE LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 3, 4, 5)

static const leat_op_case_t kCases[] = {
    {.op = "_ScopedAllocator",
     .attrs = {SHAPES(VECTOR(2), VECTOR(3)), LEAT_CASE_SHAPE("shape", 32),
               LEAT_CASE_TYPE("T", FLOAT), NAMED, LEAT_CASE_INT("expected_call_count", 2)},
     .expected = {ZEROS}},
    {.op = "_ScopedAllocator",
     .name = "texts",
     .attrs = {SHAPES(VECTOR(2)), LEAT_CASE_SHAPE("shape", 32), LEAT_CASE_TYPE("T", STRING), NAMED,
               LEAT_CASE_INT("expected_call_count", 2)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "T is string, must be"},
    {.op = "_ScopedAllocator",
     .name = "a shape that is not known",
     .attrs = {SHAPES(VECTOR(2), VECTOR(-1)), LEAT_CASE_SHAPE("shape", 32),
               LEAT_CASE_TYPE("T", FLOAT), NAMED, LEAT_CASE_INT("expected_call_count", 2)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "item 1 of shapes is [?], must be"},
    {.op = "_ScopedAllocator",
     .name = "more bytes than there are",
     .attrs = {SHAPES(VECTOR(INT64_MAX / 2), VECTOR(INT64_MAX / 2)), LEAT_CASE_SHAPE("shape", 32),
               LEAT_CASE_TYPE("T", FLOAT), NAMED, LEAT_CASE_INT("expected_call_count", 2)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "too many bytes"},
    {.op = "_ScopedAllocatorConcat",
     .attrs = {LEAT_CASE_SHAPE("shape", 5), NAMED},
     .inputs = {ZEROS, TWO, THREE},
     .expected = {FILLED(32)}},
    {.op = "_ScopedAllocatorConcat",
     .name = "reshaped",
     .attrs = {LEAT_CASE_SHAPE("shape", 4, 8), LEAT_CASE_BOOL("reshape", true), NAMED},
     .inputs = {ZEROS, TWO, THREE},
     .expected = {FILLED(4, 8)}},
    {.op = "_ScopedAllocatorConcat",
     .name = "another shape",
     .attrs = {LEAT_CASE_SHAPE("shape", 4, 4), LEAT_CASE_BOOL("reshape", true), NAMED},
     .inputs = {ZEROS, TWO, THREE},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "shape is [4,4], must have the 32 elements"},
    {.op = "_ScopedAllocatorConcat",
     .name = "a tensor behind the array",
     .attrs = {LEAT_CASE_SHAPE("shape", 5), NAMED},
     .inputs = {ZEROS, TWO, LEAT_RANDOM(FLOAT, LEAT_DIMS(17), -1, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "tensor 1 has 17 elements from byte 64 on"},
    {.op = "_ScopedAllocatorSplit",
     .attrs = {SHAPES(VECTOR(2), VECTOR(3)), NAMED},
     .inputs = {FILLED(4, 8), THREE, TWO},
     .expected = {TWO, THREE}},
    {.op = "_ScopedAllocatorSplit",
     .name = "a tensor behind the array",
     .attrs = {SHAPES(VECTOR(2), VECTOR(17)), NAMED},
     .inputs = {FILLED(32), TWO, THREE},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "tensor 1 has 17 elements from byte 64 on"},
    {.op = "_ScopedAllocatorSplit",
     .name = "too few shapes",
     .attrs = {SHAPES(VECTOR(2)), NAMED},
     .inputs = {FILLED(32), TWO, THREE},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "shapes has 1 values, must have N, 2"},
};

LEAT_OP_TEST_MAIN(kCases)
