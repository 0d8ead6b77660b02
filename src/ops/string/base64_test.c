// Bytes as base64 and back; the expected texts are those of RFC 4648, section 10.
#include "op_harness/op_harness.h"

static const leat_op_case_t kCases[] = {
    {.op = "EncodeBase64",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(5), "", "f", "fo", "foo", "foob")},
     .attrs = {LEAT_CASE_BOOL("pad", true)},
     .expected = {LEAT_TEXTS(LEAT_DIMS(5), "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==")}},
    {.op = "EncodeBase64",
     .name = "EncodeBase64, no padding, all digits",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), "fooba", "\xFB\xFF\xBF")},
     .expected = {LEAT_TEXTS(LEAT_DIMS(2), "Zm9vYmE", "-_-_")}},
    {.op = "DecodeBase64",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2, 2), "Zg==", "Zg", "Zm9vYmFy", "-_-_")},
     .expected = {LEAT_TEXTS(LEAT_DIMS(2, 2), "f", "f", "foobar", "\xFB\xFF\xBF")}},
    {.op = "DecodeBase64",
     .name = "DecodeBase64, one character too many",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "Zm9vY")},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "DecodeBase64",
     .name = "DecodeBase64, another alphabet",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "+/+/")},
     .code = LEAT_INVALID_ARGUMENT},
};
LEAT_OP_TEST_MAIN(kCases)
