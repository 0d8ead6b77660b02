// Groups in DecodeProtoV2 and EncodeProto, against TensorFlow 2.21. The descriptor is that of
//
//   message M { repeated group G = 2 { optional int32 x = 1; }
//               optional group H = 3 { optional int32 x = 1; }  optional int32 i = 4; }
//
// A group that is decoded keeps the tags around it, and what is encoded gets tags: the two are not
// inverse in TensorFlow either. Groups that do not end, end as another one, or come as packed
// values are refused. Messages in text, and those that are sanitized, are written anew before they
// are decoded: what a second group adds is merged into the first, and unknown fields go to the end.
// tests/oracle/proto_oracle.py has many more of these, of types with other fields.
#include "op_harness/op_harness.h"

#define SOURCE                                                                                 \
  LEAT_CASE_STR("descriptor_source",                                                           \
                "bytes://\nj\n\7a.proto\22\1p\"T\n\1M\22\21\n\1g\30\2 \3(\n2\6.p.M.G\22\21\n"     \
                "\1h\30\3 \1(\n2\6.p.M.H\22\t\n\1i\30\4 \1(\5\32\16\n\1G\22\t\n\1x\30\1 \1(\5"  \
                "\32\16\n\1H\22\t\n\1x\30\1 \1(\5b\6proto2")
#define NAMES(...) \
  LEAT_CASE_LIST_("field_names", LEAT_ATTR_STRING, leat_string_view_t, strings, __VA_ARGS__)
#define ATTRS                                                                               \
  .attrs = {LEAT_CASE_STR("message_type", "p.M"), SOURCE, NAMES({"g", 1}, {"h", 1}, {"i", 1}), \
            LEAT_CASE_TYPES("output_types", LEAT_DTYPE_STRING, LEAT_DTYPE_STRING, LEAT_DTYPE_INT32)}
#define BROKEN(text, bytes)                     \
  {.op = "DecodeProtoV2", .name = text, ATTRS,  \
   .inputs = {LEAT_TEXTS(LEAT_DIMS(1), bytes)}, \
   .code = LEAT_DATA_LOSS,                      \
   .message = "malformed"}

#define WRITTEN_ANEW(format, sanitizes)                                                      \
  .attrs = {LEAT_CASE_STR("message_type", "p.M"), SOURCE,                                    \
            LEAT_CASE_STR("message_format", format), LEAT_CASE_BOOL("sanitize", sanitizes), \
            NAMES({"g", 1}, {"h", 1}, {"i", 1}),                                             \
            LEAT_CASE_TYPES("output_types", LEAT_DTYPE_STRING, LEAT_DTYPE_STRING, LEAT_DTYPE_INT32)}
#define REFUSED(text, format, bytes)                                        \
  {.op = "DecodeProtoV2", .name = text, WRITTEN_ANEW(format, true),         \
   .inputs = {LEAT_TEXTS(LEAT_DIMS(1), bytes)},                             \
   .code = LEAT_DATA_LOSS,                                                  \
   .message = "Unable to parse " format " protobuf"}

static const leat_op_case_t kCases[] = {
    {.op = "DecodeProtoV2", .name = "groups", ATTRS,
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), "\x13\10\5\x14\x13\x14\x20\7", "\x1b\10\1\13\14\x1c")},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(2, 3), 2, 0, 1, 0, 1, 0),
                  LEAT_TEXTS(LEAT_DIMS(2, 2), "\x13\10\5\x14", "\x13\x14", "", ""),
                  LEAT_TEXTS(LEAT_DIMS(2, 1), "", "\x1b\10\1\13\14\x1c"),
                  LEAT_ITEMS(INT32, LEAT_DIMS(2, 1), 7, 0)}},
    {.op = "DecodeProtoV2", .name = "the last of two", ATTRS,
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "\x1b\10\1\x1c\x1b\10\2\x1c")},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(1, 3), 0, 1, 0),
                  LEAT_TEXTS(LEAT_DIMS(1, 1), ""),
                  LEAT_TEXTS(LEAT_DIMS(1, 1), "\x1b\10\2\x1c"),
                  LEAT_ITEMS(INT32, LEAT_DIMS(1, 1), 0)}},
    {.op = "DecodeProtoV2", .name = "text", WRITTEN_ANEW("text", false),
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), "i: 7 G { x: 5 } G <>; # two", "H { x: 1 }")},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(2, 3), 2, 0, 1, 0, 1, 0),
                  LEAT_TEXTS(LEAT_DIMS(2, 2), "\x13\10\5\x14", "\x13\x14", "", ""),
                  LEAT_TEXTS(LEAT_DIMS(2, 1), "", "\x1b\10\1\x1c"),
                  LEAT_ITEMS(INT32, LEAT_DIMS(2, 1), 7, 0)}},
    {.op = "DecodeProtoV2", .name = "sanitized", WRITTEN_ANEW("binary", true),
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), "\x1b\20\11\10\1\x1c\x20\7\x20\6",
                           "\x1b\10\1\x1c\x1b\x1c")},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(2, 3), 0, 1, 1, 0, 1, 0),
                  LEAT_TEXTS(LEAT_DIMS(2, 1), "", ""),
                  LEAT_TEXTS(LEAT_DIMS(2, 1), "\x1b\10\1\20\11\x1c", "\x1b\10\1\x1c"),
                  LEAT_ITEMS(INT32, LEAT_DIMS(2, 1), 6, 0)}},
    REFUSED("text of another field", "text", "j: 1"),
    REFUSED("text that does not end", "text", "G { x: 1"),
    REFUSED("a field twice", "text", "i: 1 i: 2"),
    REFUSED("a number out of range", "text", "i: 2147483648"),
    REFUSED("a name in brackets", "text", "[p.i]: 1"),
    REFUSED("a group that does not end", "binary", "\x13\10\5"),
    REFUSED("a group that ends as another", "binary", "\x13\10\5\x1c"),
    REFUSED("a number that is cut off", "binary", "\x20"),
    BROKEN("no end", "\x13\10\5"),
    BROKEN("another end", "\x13\10\5\x1c"),
    BROKEN("an end only", "\x20\7\x14"),
    BROKEN("packed", "\x12\1\10"),
    {.op = "EncodeProto",
     .attrs = {LEAT_CASE_STR("message_type", "p.M"), SOURCE, NAMES({"h", 1}, {"g", 1}),
               LEAT_CASE_TYPES("Tinput_types", LEAT_DTYPE_STRING, LEAT_DTYPE_STRING)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1, 2), 1, 2), LEAT_TEXTS(LEAT_DIMS(1, 1), "zz"),
                LEAT_TEXTS(LEAT_DIMS(1, 2), "\10\5", "")},
     .expected = {LEAT_TEXTS(LEAT_DIMS(1), "\x13\10\5\x14\x13\x14\x1bzz\x1c")}},
};

LEAT_OP_TEST_MAIN(kCases)
