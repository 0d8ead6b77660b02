// Hashes of strings: buckets, keys and fingerprints of rows.
#include "op_harness/op_harness.h"

static const leat_op_case_t kCases[] = {
    {.op = "StringToHashBucketFast",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(4), "a", "b", "c", "d")},
     .attrs = {LEAT_CASE_INT("num_buckets", 10)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 9, 2, 2, 5)}},
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
