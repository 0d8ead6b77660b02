// Cases of ops on bytes and files: numbers from raw strings, compressed strings, serialized
// tensors, and whole files. The bytes of the compressed string and of the TensorProtos are written
// out, so that a writer and a reader with the same mistake do not pass. Expected numbers follow by
// hand from the order of the bytes; TensorFlow 2.21 gives the same results and codes, but for an
// ImmutableConst of an empty file, which it cannot map into memory. The cases catch bytes in the
// wrong order, padding that is missing, a length that is no multiple of the number's, and errors
// with another code or without the name of the file. The files are those that every system has
// (/dev/null, /dev/zero) or lacks; long_input_test.c and python/tests/ops_test.py read files with
// content.
#include "op_harness/op_harness.h"

#define SQUEEZED "\170\332\053\310\054\040\010\001\032\267\017\103"
#define SQUEEZED_TEXT "pipipipipipipipipipipipipipipipipipi"

#define CONSTANT(DTYPE, name) \
  LEAT_CASE_TYPE("dtype", DTYPE), LEAT_CASE_STR("memory_region_name", name)

static const leat_op_case_t kCases[] = {
    {.op = "DecodeRaw",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), "ab", "cd")},
     .attrs = {LEAT_CASE_TYPE("out_type", INT16), LEAT_CASE_BOOL("little_endian", false)},
     .expected = {LEAT_ITEMS(INT16, LEAT_DIMS(2, 1), 0x6162, 0x6364)}},
    {.op = "DecodeRaw",
     .name = "DecodeRaw, half a number",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "abc")},
     .attrs = {LEAT_CASE_TYPE("out_type", INT16)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "multiple of 2"},
    {.op = "DecodePaddedRaw",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), "abcdef", "a"), LEAT_SCALAR_ITEM(INT32, 4)},
     .attrs = {LEAT_CASE_TYPE("out_type", INT16)},
     .expected = {LEAT_ITEMS(INT16, LEAT_DIMS(2, 2), 0x6261, 0x6463, 0x61, 0)}},
    {.op = "DecodeCompressed",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), SQUEEZED, SQUEEZED "what follows")},
     .attrs = {LEAT_CASE_STR("compression_type", "ZLIB")},
     .expected = {LEAT_TEXTS(LEAT_DIMS(2), SQUEEZED_TEXT, SQUEEZED_TEXT)}},
    {.op = "DecodeCompressed",
     .name = "DecodeCompressed, none",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "as it is")},
     .expected = {LEAT_TEXTS(LEAT_DIMS(1), "as it is")}},
    {.op = "DecodeCompressed",
     .name = "DecodeCompressed, another format",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), SQUEEZED)},
     .attrs = {LEAT_CASE_STR("compression_type", "GZIP")},
     .code = LEAT_DATA_LOSS},
    {.op = "DecodeCompressed",
     .name = "DecodeCompressed, an unknown format",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), SQUEEZED)},
     .attrs = {LEAT_CASE_STR("compression_type", "RAR")},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "RAR"},
    {.op = "ParseTensor",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "\10\3\22\4\22\2\10\2\72\2\5\7")},
     .attrs = {LEAT_CASE_TYPE("out_type", INT32)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(2), 5, 7)}},
    {.op = "ParseTensor",
     .name = "ParseTensor, another type",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "\10\3\22\4\22\2\10\2\72\2\5\7")},
     .attrs = {LEAT_CASE_TYPE("out_type", FLOAT)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "mismatch"},
    {.op = "ParseTensor",
     .name = "ParseTensor, broken bytes",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "\10\3\22\4\22\2\10")},
     .attrs = {LEAT_CASE_TYPE("out_type", INT32)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "SerializeTensor",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "x")},
     .expected = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "\10\7\22\4\22\2\10\1\102\1x")}},
    {.op = "ReadFile",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "/no/such/file")},
     .code = LEAT_NOT_FOUND,
     .message = "/no/such/file"},
    {.op = "WriteFile",
     .name = "WriteFile, below a file",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "/dev/null/x"), LEAT_TEXTS(LEAT_SCALAR_DIMS, "x")},
     .code = LEAT_FAILED_PRECONDITION},
    {.op = "MatchingFiles",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), "/dev/nul[k-m]", "/dev/zer?")},
     .expected = {LEAT_TEXTS(LEAT_DIMS(2), "/dev/null", "/dev/zero")}},
    {.op = "ImmutableConst",
     .name = "no elements of an empty file",
     .attrs = {CONSTANT(FLOAT, "/dev/null"), LEAT_CASE_SHAPE("shape", 2, 0)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0))}},
    {.op = "ImmutableConst",
     .name = "more than the file has",
     .attrs = {CONSTANT(INT8, "/dev/null"), LEAT_CASE_SHAPE("shape", 1)},
     .code = LEAT_INTERNAL,
     .message = "must have"},
    {.op = "ImmutableConst",
     .name = "no file",
     .attrs = {CONSTANT(FLOAT, "/no such file"), LEAT_CASE_SHAPE("shape", 1)},
     .code = LEAT_NOT_FOUND},
    {.op = "ImmutableConst",
     .name = "strings",
     .attrs = {CONSTANT(STRING, "/dev/null"), LEAT_CASE_SHAPE("shape", 1)},
     .code = LEAT_UNIMPLEMENTED},
    {.op = "ImmutableConst",
     .name = "handles",
     .attrs = {CONSTANT(RESOURCE, "/dev/null"), LEAT_CASE_SHAPE("shape", 1)},
     .code = LEAT_INVALID_ARGUMENT},
};
LEAT_OP_TEST_MAIN(kCases)
