// Cases of the ops that cross features: SparseCross, SparseCrossHashed, SparseCrossV2 and
// RaggedCross, as texts and as hashes. Models store weights by these hashes, and rows by the order
// of the crosses, so both must be TensorFlow's to the last digit. The hashes are those of
// TensorFlow 2.21; the texts follow by hand from the definition, and TensorFlow gives them too (of
// RaggedCross with splits of 64 bits). The cases catch columns that are taken in another order,
// rows that stay although a column is empty there, signs and separators that are lost, and a salt
// or a number of buckets that is passed over. Columns with different numbers of rows, splits that
// point past the values, an order that names more columns than there are, and a negative number of
// rows must be refused, since the kernel walks its inputs by them.
#include "op_harness/op_harness.h"

#define TWO_COLUMNS                                                                         \
  LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 0, 0, 1, 0, 1, 1), LEAT_TEXTS(LEAT_DIMS(3), "a", "b", "c"), \
      LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 2), LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 1, 2, 3, 4)
#define ONE_COLUMN                                                                          \
  LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 0, 0, 1, 0, 1, 1), LEAT_TEXTS(LEAT_DIMS(3), "a", "b", "c"), \
      LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 2)
#define SIX_INDICES \
  LEAT_ITEMS(INT64, LEAT_DIMS(6, 2), 0, 0, 0, 1, 1, 0, 1, 1, 1, 2, 1, 3)
#define SHAPE LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 4)
#define OLD_ATTRS(type)                                                              \
  LEAT_CASE_INT("N", 1), LEAT_CASE_TYPES("sparse_types", LEAT_DTYPE_STRING),         \
      LEAT_CASE_TYPES("dense_types", LEAT_DTYPE_INT64), LEAT_CASE_INT("hash_key", 7), \
      LEAT_CASE_TYPE("out_type", type), LEAT_CASE_TYPE("internal_type", INT64)

#define NO_TYPES(attr, size) \
  {.name = {attr, size}, .value = {.kind = LEAT_ATTR_TYPE, .is_list = true}}
#define RAGGED_ATTRS                                                                             \
  LEAT_CASE_INT("Nsparse", 1), LEAT_CASE_BOOL("hashed_output", false),                           \
      LEAT_CASE_INT("num_buckets", 0), LEAT_CASE_INT("hash_key", 7),                             \
      LEAT_CASE_TYPES("ragged_values_types", LEAT_DTYPE_STRING),                                 \
      LEAT_CASE_TYPES("ragged_splits_types", LEAT_DTYPE_INT32),                                  \
      LEAT_CASE_TYPES("sparse_values_types", LEAT_DTYPE_INT64),                                  \
      LEAT_CASE_TYPES("dense_types", LEAT_DTYPE_STRING),                                         \
      LEAT_CASE_TYPE("out_values_type", STRING), LEAT_CASE_TYPE("out_row_splits_type", INT64)

static const leat_op_case_t kCases[] = {
    {.op = "SparseCross",
     .name = "SparseCross, texts",
     .attrs = {OLD_ATTRS(STRING), LEAT_CASE_BOOL("hashed_output", false),
               LEAT_CASE_INT("num_buckets", 0)},
     .inputs = {TWO_COLUMNS},
     .expected = {SIX_INDICES,
                  LEAT_TEXTS(LEAT_DIMS(6), "a_X_1", "a_X_2", "b_X_3", "b_X_4", "c_X_3", "c_X_4"),
                  SHAPE}},
    {.op = "SparseCross",
     .name = "SparseCross, hashes",
     .attrs = {OLD_ATTRS(INT64), LEAT_CASE_BOOL("hashed_output", true),
               LEAT_CASE_INT("num_buckets", 100)},
     .inputs = {TWO_COLUMNS},
     .expected = {SIX_INDICES, LEAT_ITEMS(INT64, LEAT_DIMS(6), 77, 40, 82, 71, 12, 62), SHAPE}},
    {.op = "SparseCrossHashed",
     .attrs = {LEAT_CASE_INT("N", 1), LEAT_CASE_TYPES("sparse_types", LEAT_DTYPE_STRING),
               {.name = {"dense_types", 11}, .value = {.kind = LEAT_ATTR_TYPE, .is_list = true}}},
     .inputs = {ONE_COLUMN, LEAT_SCALAR_ITEM(INT64, 1000), LEAT_SCALAR_ITEM(BOOL, 1),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 4)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 0, 0, 1, 0, 1, 1),
                  LEAT_ITEMS(INT64, LEAT_DIMS(3), 568, 978, 74),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 2, 2)}},
    {.op = "SparseCrossV2",
     .name = "SparseCrossV2, an empty row",
     .attrs = {LEAT_CASE_INT("N", 2),
               LEAT_CASE_TYPES("sparse_types", LEAT_DTYPE_INT64, LEAT_DTYPE_STRING),
               {.name = {"dense_types", 11}, .value = {.kind = LEAT_ATTR_TYPE, .is_list = true}}},
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 0, 0, 2, 0),
                LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 1, 0, 2, 0, 2, 1),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 5, -6), LEAT_TEXTS(LEAT_DIMS(3), "x", "y", "z"),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 1), LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 2),
                LEAT_TEXTS(LEAT_SCALAR_DIMS, "&")},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 2, 0, 2, 1),
                  LEAT_TEXTS(LEAT_DIMS(2), "-6&y", "-6&z"),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 2)}},
    {.op = "SparseCross",
     .name = "SparseCross, other rows",
     .attrs = {OLD_ATTRS(STRING), LEAT_CASE_BOOL("hashed_output", false),
               LEAT_CASE_INT("num_buckets", 0)},
     .inputs = {ONE_COLUMN, LEAT_ITEMS(INT64, LEAT_DIMS(3, 1), 1, 2, 3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "Expected batch size 2 got 3"},
    {.op = "RaggedCross",
     .attrs = {LEAT_CASE_STR("input_order", "DRS"), RAGGED_ATTRS},
     .inputs = {LEAT_TEXTS(LEAT_DIMS(3), "a", "b", "c"),
                LEAT_ITEMS(INT32, LEAT_DIMS(4), 0, 2, 2, 3),
                LEAT_ITEMS(INT64, LEAT_DIMS(2, 2), 0, 0, 2, 0),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 5, 6), LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 1),
                LEAT_TEXTS(LEAT_DIMS(3, 1), "x", "y", "z")},
     .expected = {LEAT_TEXTS(LEAT_DIMS(3), "x_X_a_X_5", "x_X_b_X_5", "z_X_c_X_6"),
                  LEAT_ITEMS(INT64, LEAT_DIMS(4), 0, 2, 2, 3)}},
    {.op = "RaggedCross",
     .name = "RaggedCross, splits past the values",
     .attrs = {LEAT_CASE_STR("input_order", "DRS"), RAGGED_ATTRS},
     .inputs = {LEAT_TEXTS(LEAT_DIMS(3), "a", "b", "c"), LEAT_ITEMS(INT32, LEAT_DIMS(2), 0, 4),
                LEAT_ITEMS(INT64, LEAT_DIMS(1, 2), 0, 0), LEAT_ITEMS(INT64, LEAT_DIMS(1), 5),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 1, 1), LEAT_TEXTS(LEAT_DIMS(1, 1), "x")},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "Invalid ragged splits"},
    {.op = "RaggedCross",
     .name = "RaggedCross, another order",
     .attrs = {LEAT_CASE_STR("input_order", "DRR"), RAGGED_ATTRS},
     .inputs = {LEAT_TEXTS(LEAT_DIMS(3), "a", "b", "c"), LEAT_ITEMS(INT32, LEAT_DIMS(2), 0, 3),
                LEAT_ITEMS(INT64, LEAT_DIMS(1, 2), 0, 0), LEAT_ITEMS(INT64, LEAT_DIMS(1), 5),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 1, 1), LEAT_TEXTS(LEAT_DIMS(1, 1), "x")},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "Invalid input_order 'DRR'"},
    {.op = "RaggedCross",
     .name = "RaggedCross, a negative number of rows",
     .attrs = {LEAT_CASE_STR("input_order", "S"), LEAT_CASE_INT("Nsparse", 1),
               LEAT_CASE_BOOL("hashed_output", false), LEAT_CASE_INT("num_buckets", 0),
               LEAT_CASE_INT("hash_key", 7), NO_TYPES("ragged_values_types", 19),
               NO_TYPES("ragged_splits_types", 19),
               LEAT_CASE_TYPES("sparse_values_types", LEAT_DTYPE_INT64),
               NO_TYPES("dense_types", 11), LEAT_CASE_TYPE("out_values_type", STRING),
               LEAT_CASE_TYPE("out_row_splits_type", INT64)},
     .inputs = {LEAT_NO_ITEMS(INT64, LEAT_DIMS(0, 2)), LEAT_NO_ITEMS(INT64, LEAT_DIMS(0)),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), -1, 2)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "number of rows is -1"},
};

LEAT_OP_TEST_MAIN(kCases)
