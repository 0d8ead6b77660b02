// NegTrain against TensorFlow 2.21. It draws words at random, whatever the graph says, so the cases
// with a certain result are those without draws and those where one word has all the weight; that
// word is the label of one example, for which it is passed over. The numbers are TensorFlow's.
// Bad words are refused before the first row changes, where TensorFlow trusts them.
#include "op_harness/op_harness.h"

#define IN LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(3, 2), .5, -1, 2, .25, -.75, 1)
#define OUT LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(3, 2), 1, .5, -.5, .75, .25, -1.5)
#define WORDS(...) LEAT_ITEMS(INT32, LEAT_DIMS(3), __VA_ARGS__)
#define RATE LEAT_SCALAR_ITEM(FLOAT, .5)
#define DRAWS(count, ...)                                \
  .attrs = {LEAT_CASE_INTS("vocab_count", __VA_ARGS__), \
            LEAT_CASE_INT("num_negative_samples", count)}

static const leat_op_case_t kCases[] = {
    {.op = "NegTrain",
     .name = "no draws",
     DRAWS(0, 3, 2, 1),
     .inputs = {IN, OUT, WORDS(0, 2, 0), WORDS(1, 0, 2), RATE},
     .after = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 0.346885443, -0.903753519, 2, 0.25, -0.468911737,
                          1.14054418),
               LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 0.789183795, 0.781088233, -0.317235351,
                          0.384470701, 0.28762421, -1.58608639)}},
    {.op = "NegTrain",
     .name = "one word is drawn",
     DRAWS(2, 0, 7, 0),
     .inputs = {IN, OUT, WORDS(0, 2, 0), WORDS(1, 0, 2), RATE},
     .after = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 0.303070724, -0.84597677, 2, 0.25, -0.346347541,
                          0.99983114),
               LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 0.789183795, 0.781088233, -0.041768007,
                          0.176375449, 0.28762421, -1.58608639)}},
    {.op = "NegTrain",
     .name = "another vocabulary",
     DRAWS(0, 3, 2),
     .inputs = {IN, OUT, WORDS(0, 1, 0), WORDS(1, 0, 1), RATE},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "2 words of vocab_count"},
    {.op = "NegTrain",
     .name = "other shapes",
     DRAWS(0, 3, 2, 1),
     .inputs = {IN, LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(3, 1), 1, 2, 3), WORDS(0, 2, 0),
                WORDS(1, 0, 2), RATE},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "w_out has shape [3,1]"},
    {.op = "NegTrain",
     .name = "fewer labels",
     DRAWS(0, 3, 2, 1),
     .inputs = {IN, OUT, WORDS(0, 2, 0), LEAT_ITEMS(INT32, LEAT_DIMS(2), 0, 1), RATE},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "labels has shape [2]"},
    {.op = "NegTrain",
     .name = "a word beyond the vocabulary",
     DRAWS(0, 3, 2, 1),
     .inputs = {IN, OUT, WORDS(0, 2, 0), WORDS(1, 0, 3), RATE},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "labels[2] = 3 is not in [0, 3)"},
    {.op = "NegTrain",
     .name = "a rate that is a vector",
     DRAWS(0, 3, 2, 1),
     .inputs = {IN, OUT, WORDS(0, 2, 0), WORDS(1, 0, 2), LEAT_ITEMS(FLOAT, LEAT_DIMS(1), .5)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "lr has shape [1]"},
};

LEAT_OP_TEST_MAIN(kCases)
