// Examples: dense, sparse and ragged features, what is missing and what is broken.
#include "op_harness/op_harness.h"

// {"a": [5, 7]}, {"a": [9], "s": ["xy"]} and {"s": []} as Example messages.
static const char kTwo[] = "\n\15\n\13\n\1a\22\6\32\4\n\2\5\7";
static const char kOne[] = "\n\31\n\12\n\1a\22\5\32\3\n\1\11\n\13\n\1s\22\6\n\4\n\2xy";
static const char kBroken[] = "\n\15\n\13\n\1a\22\6\32\4\n\3\5\7";

#define TYPES(name, ...) LEAT_CASE_TYPES(name, __VA_ARGS__)
#define NONE(name) LEAT_CASE_ATTR_(name, .kind = LEAT_ATTR_TYPE, .is_list = true)
#define NO_SHAPES LEAT_CASE_ATTR_("dense_shapes", .kind = LEAT_ATTR_SHAPE, .is_list = true)
#define ONE_SHAPE(...)                                                                     \
  LEAT_CASE_ATTR_("dense_shapes", .kind = LEAT_ATTR_SHAPE, .is_list = true, .count = 1,    \
                  .shapes = (const leat_partial_shape_t[]){{1, (const int64_t[]){__VA_ARGS__}}})
#define NO_KEYS LEAT_NO_ITEMS(STRING, LEAT_DIMS(0))
#define NO_NAMES LEAT_NO_ITEMS(STRING, LEAT_DIMS(0))

static const leat_op_case_t kCases[] = {
    {.op = "ParseExampleV2",
     .name = "ParseExampleV2, sparse and ragged",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), kTwo, kOne), NO_NAMES,
                LEAT_TEXTS(LEAT_DIMS(1), "a"), NO_KEYS, LEAT_TEXTS(LEAT_DIMS(1), "s")},
     .attrs = {LEAT_CASE_INT("num_sparse", 1), TYPES("sparse_types", LEAT_DTYPE_INT64),
               TYPES("ragged_value_types", LEAT_DTYPE_STRING),
               TYPES("ragged_split_types", LEAT_DTYPE_INT32), NONE("Tdense"), NO_SHAPES},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 0, 0, 0, 1, 1, 0),
                  LEAT_ITEMS(INT64, LEAT_DIMS(3), 5, 7, 9), LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 2),
                  LEAT_TEXTS(LEAT_DIMS(1), "xy"), LEAT_ITEMS(INT32, LEAT_DIMS(3), 0, 0, 1)}},
    {.op = "ParseExampleV2",
     .name = "ParseExampleV2, dense of any length",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), kTwo, kOne), NO_NAMES, NO_KEYS,
                LEAT_TEXTS(LEAT_DIMS(1), "a"), NO_KEYS, LEAT_ITEMS(INT64, LEAT_DIMS(1), -1)},
     .attrs = {LEAT_CASE_INT("num_sparse", 0), NONE("sparse_types"), NONE("ragged_value_types"),
               NONE("ragged_split_types"), TYPES("Tdense", LEAT_DTYPE_INT64), ONE_SHAPE(-1)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 5, 7, 9, -1)}},
    {.op = "ParseExampleV2",
     .name = "ParseExampleV2, a default",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), kTwo, kOne), NO_NAMES, NO_KEYS,
                LEAT_TEXTS(LEAT_DIMS(1), "s"), NO_KEYS, LEAT_TEXTS(LEAT_DIMS(1), "none")},
     .attrs = {LEAT_CASE_INT("num_sparse", 0), NONE("sparse_types"), NONE("ragged_value_types"),
               NONE("ragged_split_types"), TYPES("Tdense", LEAT_DTYPE_STRING), ONE_SHAPE(1)},
     .expected = {LEAT_TEXTS(LEAT_DIMS(2, 1), "none", "xy")}},
    {.op = "ParseExampleV2",
     .name = "ParseExampleV2, one example",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, kTwo), NO_NAMES, NO_KEYS,
                LEAT_TEXTS(LEAT_DIMS(1), "a"), NO_KEYS, LEAT_NO_ITEMS(INT64, LEAT_DIMS(0))},
     .attrs = {LEAT_CASE_INT("num_sparse", 0), NONE("sparse_types"), NONE("ragged_value_types"),
               NONE("ragged_split_types"), TYPES("Tdense", LEAT_DTYPE_INT64), ONE_SHAPE(2)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(2), 5, 7)}},
    {.op = "ParseExampleV2",
     .name = "ParseExampleV2, another type",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), kTwo), NO_NAMES, NO_KEYS, LEAT_TEXTS(LEAT_DIMS(1), "a"),
                NO_KEYS, LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0))},
     .attrs = {LEAT_CASE_INT("num_sparse", 0), NONE("sparse_types"), NONE("ragged_value_types"),
               NONE("ragged_split_types"), TYPES("Tdense", LEAT_DTYPE_FLOAT), ONE_SHAPE(2)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "Data types don't match"},
    {.op = "ParseExampleV2",
     .name = "ParseExampleV2, required",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), kTwo), NO_NAMES, NO_KEYS, LEAT_TEXTS(LEAT_DIMS(1), "b"),
                NO_KEYS, LEAT_NO_ITEMS(INT64, LEAT_DIMS(0))},
     .attrs = {LEAT_CASE_INT("num_sparse", 0), NONE("sparse_types"), NONE("ragged_value_types"),
               NONE("ragged_split_types"), TYPES("Tdense", LEAT_DTYPE_INT64), ONE_SHAPE(2)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "could not be found"},
    {.op = "ParseExampleV2",
     .name = "ParseExampleV2, broken bytes",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), kBroken), NO_NAMES, NO_KEYS,
                LEAT_TEXTS(LEAT_DIMS(1), "a"), NO_KEYS, LEAT_NO_ITEMS(INT64, LEAT_DIMS(0))},
     .attrs = {LEAT_CASE_INT("num_sparse", 0), NONE("sparse_types"), NONE("ragged_value_types"),
               NONE("ragged_split_types"), TYPES("Tdense", LEAT_DTYPE_INT64), ONE_SHAPE(2)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "Can't parse"},
};
LEAT_OP_TEST_MAIN(kCases)
