// Cases of the cutting of strings and of ngrams.
#include "op_harness/op_harness.h"

#define ROWS(...) LEAT_TEXTS(LEAT_DIMS(2), __VA_ARGS__)
#define TEXT(text) LEAT_TEXTS(LEAT_SCALAR_DIMS, text)
#define INDICES(count, ...) LEAT_ITEMS(INT64, LEAT_DIMS(count, 2), __VA_ARGS__)
#define SHAPE(rows, columns) LEAT_ITEMS(INT64, LEAT_DIMS(2), rows, columns)
#define PARTS(count, ...) LEAT_TEXTS(LEAT_DIMS(count), __VA_ARGS__)
#define NGRAMS(pad, short, ...)                                                      \
  .op = "StringNGrams", .attrs = {LEAT_CASE_STR("separator", "|"),                   \
                                  LEAT_CASE_STR("left_pad", "<"),                    \
                                  LEAT_CASE_STR("right_pad", ">"),                   \
                                  LEAT_CASE_INT("pad_width", pad),                   \
                                  LEAT_CASE_BOOL("preserve_short_sequences", short), \
                                  LEAT_CASE_INTS("ngram_widths", __VA_ARGS__)}
#define LONG_WIDTH 1073741822
#define SPLITS(...) LEAT_ITEMS(INT64, LEAT_DIMS(3), __VA_ARGS__)
#define WORDS LEAT_TEXTS(LEAT_DIMS(4), "a", "b", "c", "d")

static const leat_op_case_t kCases[] = {
    {.op = "StringSplit",
     .inputs = {ROWS("a b", " c"), TEXT(" ")},
     .expected = {INDICES(3, 0, 0, 0, 1, 1, 0), PARTS(3, "a", "b", "c"), SHAPE(2, 2)}},
    {.op = "StringSplit",
     .name = "empty parts, any of two",
     .attrs = {LEAT_CASE_BOOL("skip_empty", false)},
     .inputs = {ROWS("a,-b", ""), TEXT(",-")},
     .expected = {INDICES(3, 0, 0, 0, 1, 0, 2), PARTS(3, "a", "", "b"), SHAPE(2, 3)}},
    {.op = "StringSplit",
     .name = "all bytes",
     .inputs = {ROWS("ab", "c"), TEXT("")},
     .expected = {INDICES(3, 0, 0, 0, 1, 1, 0), PARTS(3, "a", "b", "c"), SHAPE(2, 2)}},
    {.op = "StringSplit",
     .name = "no vector",
     .inputs = {TEXT("a"), TEXT(" ")},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "StringSplitV2",
     .inputs = {ROWS("1<>2<>", ""), TEXT("<>")},
     .expected = {INDICES(4, 0, 0, 0, 1, 0, 2, 1, 0), PARTS(4, "1", "2", "", ""), SHAPE(2, 3)}},
    {.op = "StringSplitV2",
     .name = "white space",
     .inputs = {ROWS("  a \t b ", " "), TEXT("")},
     .expected = {INDICES(2, 0, 0, 0, 1), PARTS(2, "a", "b"), SHAPE(2, 2)}},
    {.op = "StringSplitV2",
     .name = "more cuts than an int32 counts",
     .attrs = {LEAT_CASE_INT("maxsplit", INT64_MIN)},
     .inputs = {ROWS("a b", " "), TEXT("")},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "maxsplit is -9223372036854775808, must fit into an int32"},
    {.op = "StringSplitV2",
     .name = "one cut",
     .attrs = {LEAT_CASE_INT("maxsplit", 1)},
     .inputs = {ROWS("a  b c", "d"), TEXT("")},
     .expected = {INDICES(4, 0, 0, 0, 1, 1, 0, 1, 1), PARTS(4, "a", "b c", "d", ""), SHAPE(2, 2)}},
    {NGRAMS(0, false, 2), .inputs = {WORDS, SPLITS(0, 3, 4)},
     .expected = {PARTS(2, "a|b", "b|c"), SPLITS(0, 2, 2)}},
    {NGRAMS(-1, false, 2), .name = "padded", .inputs = {WORDS, SPLITS(0, 3, 4)},
     .expected = {PARTS(6, "<|a", "a|b", "b|c", "c|>", "<|d", "d|>"), SPLITS(0, 4, 6)}},
    {NGRAMS(0, true, 2), .name = "short rows stay", .inputs = {WORDS, SPLITS(0, 3, 4)},
     .expected = {PARTS(3, "a|b", "b|c", "d"), SPLITS(0, 2, 3)}},
    {NGRAMS(0, false, 0), .name = "no width", .inputs = {WORDS, SPLITS(0, 3, 4)},
     .code = LEAT_INVALID_ARGUMENT},
    {NGRAMS(0, false, 2), .name = "splits beyond the data", .inputs = {WORDS, SPLITS(0, 5, 4)},
     .code = LEAT_INVALID_ARGUMENT},
    // The one string is in w ngrams of width w = 2^30 - 2, at each place once; that three times.
    {NGRAMS(-1, false, LONG_WIDTH, LONG_WIDTH, LONG_WIDTH), .name = "more than int32 counts",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "a"), LEAT_ITEMS(INT32, LEAT_DIMS(2), 0, 1)},
     .code = LEAT_INVALID_ARGUMENT, .message = "ngrams_splits is 3221225466"},
    {NGRAMS(1, true, ), .name = "short rows and no width", .inputs = {WORDS, SPLITS(0, 3, 4)},
     .expected = {PARTS(2, "<|a|b|c|>", "<|d|>"), SPLITS(0, 1, 2)}},
    {NGRAMS(INT32_MAX, true, ), .name = "short rows and pads beyond all numbers",
     .inputs = {WORDS, SPLITS(0, 3, 4)}, .code = LEAT_INVALID_ARGUMENT, .message = "Pad width"},
    {NGRAMS(INT64_MAX / 2 + 1, true, ), .name = "a pad beyond 32 bits",
     .inputs = {WORDS, SPLITS(0, 3, 4)}, .code = LEAT_INVALID_ARGUMENT,
     .message = "pad_width is 4611686018427387904, must fit into an int32"},
};

LEAT_OP_TEST_MAIN(kCases)
