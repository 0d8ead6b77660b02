// Hashes of strings: buckets, keys and fingerprints of rows. The buckets of integers are those that
// TensorFlow gave; it has none for unsigned integers, which get those of their digits as strings.
#include "op_harness/op_harness.h"

#define DIGITS(type, numbers, buckets)                                          \
  {.op = "_TensorToHashBucketFast", .name = "_TensorToHashBucketFast, " type,  \
   .attrs = {LEAT_CASE_INT("num_buckets", 1009)}, .inputs = {numbers}, .expected = {buckets}}

static const leat_op_case_t kCases[] = {
    {.op = "StringToHashBucketFast",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(4), "a", "b", "c", "d")},
     .attrs = {LEAT_CASE_INT("num_buckets", 10)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 9, 2, 2, 5)}},
    DIGITS("int32", LEAT_ITEMS(INT32, LEAT_DIMS(6), 0, 1, -1, 10, INT32_MIN, INT32_MAX),
           LEAT_ITEMS(INT64, LEAT_DIMS(6), 167, 522, 558, 641, 138, 696)),
    DIGITS("int64", LEAT_ITEMS(INT64, LEAT_DIMS(3), (double)INT64_MIN, 9007199254740992, -7),
           LEAT_ITEMS(INT64, LEAT_DIMS(3), 986, 79, 669)),
    DIGITS("int16", LEAT_ITEMS(INT16, LEAT_DIMS(3, 1), -128, 127, -32768),
           LEAT_ITEMS(INT64, LEAT_DIMS(3, 1), 991, 135, 303)),
    DIGITS("int8", LEAT_ITEMS(INT8, LEAT_DIMS(2), -128, 127),
           LEAT_ITEMS(INT64, LEAT_DIMS(2), 991, 135)),
    DIGITS("uint8", LEAT_ITEMS(UINT8, LEAT_DIMS(1), 255), LEAT_ITEMS(INT64, LEAT_DIMS(1), 90)),
    DIGITS("uint16", LEAT_ITEMS(UINT16, LEAT_DIMS(1), 65535),
           LEAT_ITEMS(INT64, LEAT_DIMS(1), 78)),
    DIGITS("uint32", LEAT_ITEMS(UINT32, LEAT_DIMS(1), 4294967295),
           LEAT_ITEMS(INT64, LEAT_DIMS(1), 145)),
    DIGITS("uint64", LEAT_ITEMS(UINT64, LEAT_DIMS(2), 1, 9223372036854775808.0),
           LEAT_ITEMS(INT64, LEAT_DIMS(2), 522, 510)),
    {.op = "StringToHashBucketStrong",
     .name = "StringToHashBucketStrong, half a key",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "a")},
     .attrs = {LEAT_CASE_INT("num_buckets", 10), LEAT_CASE_INTS("key", 98765)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "2 elements"},
    {.op = "Fingerprint",
     .name = "Fingerprint, another method",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "a"), LEAT_TEXTS(LEAT_SCALAR_DIMS, "md5")},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "md5"},
};
LEAT_OP_TEST_MAIN(kCases)
