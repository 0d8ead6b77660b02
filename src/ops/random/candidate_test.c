// Candidate samplers draw classes at random for sampled losses. Random draws cannot be compared
// with a list, so the cases are those whose result is certain: all classes are drawn, only one
// class has a weight, or a shard holds one. The probabilities that come out beside the classes can
// be computed exactly there. Refused are more distinct classes than exist or have a weight, true
// classes out of range, and weights that are missing, too few or in a file that does not exist.
#include <float.h>

#include "op_harness/op_harness.h"

#define COUNTS(sampled, distinct)                                         \
  LEAT_CASE_INT("num_true", 2), LEAT_CASE_INT("num_sampled", (sampled)), \
      LEAT_CASE_BOOL("unique", (distinct)), LEAT_CASE_INT("seed", 5)
#define RANGE(range) LEAT_CASE_INT("range_max", (range))
#define CLASSES(a, b) LEAT_ITEMS(INT64, LEAT_DIMS(1, 2), (a), (b))

static const leat_op_case_t kCases[] = {
    {.op = "AllCandidateSampler",
     .attrs = {COUNTS(3, true)},
     .inputs = {CLASSES(2, 0)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(3), 0, 1, 2),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, 1),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, 1, 1)}},
    {.op = "FixedUnigramCandidateSampler",
     .name = "FixedUnigramCandidateSampler, one class only",
     .attrs = {COUNTS(2, false), RANGE(4), LEAT_CASE_INT("num_reserved_ids", 2),
               LEAT_CASE_FLOATS("unigrams", 0, 5), LEAT_CASE_REAL("distortion", 0.75)},
     .inputs = {CLASSES(3, 2)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(2), 3, 3),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 2, 0),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 2, 2)}},
    {.op = "FixedUnigramCandidateSampler",
     .name = "FixedUnigramCandidateSampler, a shard",
     .attrs = {COUNTS(1, true), RANGE(2), LEAT_CASE_FLOATS("unigrams", 9, 0, 9, 2),
               LEAT_CASE_INT("num_shards", 2), LEAT_CASE_INT("shard", 1)},
     .inputs = {CLASSES(0, 1)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(1), 1), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 0, 1),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 1)}},
    {.op = "UniformCandidateSampler",
     .attrs = {COUNTS(1, true), RANGE(1)},
     .inputs = {CLASSES(0, 0)},
     .expected = {LEAT_ITEMS(INT64, LEAT_DIMS(1), 0), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, 1),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 1)}},
    {.op = "UniformCandidateSampler",
     .name = "UniformCandidateSampler, a class out of range",
     .attrs = {COUNTS(3, false), RANGE(40)},
     .inputs = {CLASSES(40, 0)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "must be in [0, 40)"},
    {.op = "UniformCandidateSampler",
     .name = "UniformCandidateSampler, more than there are",
     .attrs = {COUNTS(41, true), RANGE(40)},
     .inputs = {CLASSES(0, 0)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "range is too small"},
    {.op = "FixedUnigramCandidateSampler",
     .name = "FixedUnigramCandidateSampler, more than have a weight",
     .attrs = {COUNTS(2, true), RANGE(2), LEAT_CASE_FLOATS("unigrams", 0, 5)},
     .inputs = {CLASSES(0, 0)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "range is too small"},
    {.op = "FixedUnigramCandidateSampler",
     .name = "FixedUnigramCandidateSampler, too few weights",
     .attrs = {COUNTS(1, true), RANGE(3), LEAT_CASE_FLOATS("unigrams", 0, 5)},
     .inputs = {CLASSES(0, 0)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "must be equal to weights size"},
    {.op = "FixedUnigramCandidateSampler",
     .name = "FixedUnigramCandidateSampler, no weights",
     .attrs = {COUNTS(1, true), RANGE(3)},
     .inputs = {CLASSES(0, 0)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "Must provide either"},
    {.op = "FixedUnigramCandidateSampler",
     .name = "FixedUnigramCandidateSampler, no such file",
     .attrs = {COUNTS(1, true), RANGE(3), LEAT_CASE_STR("vocab_file", "/no/such/file")},
     .inputs = {CLASSES(0, 0)},
     .code = LEAT_NOT_FOUND},
    {.op = "ComputeAccidentalHits",
     .attrs = {LEAT_CASE_INT("num_true", 2)},
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 1, 2, 3, 4, 5, 1),
                LEAT_ITEMS(INT64, LEAT_DIMS(4), 1, 9, 4, 4)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(3), 0, 1, 2),
                  LEAT_ITEMS(INT64, LEAT_DIMS(3), 0, 3, 0),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(3), -FLT_MAX, -FLT_MAX, -FLT_MAX)}},
    {.op = "ComputeAccidentalHits",
     .name = "ComputeAccidentalHits, other columns",
     .attrs = {LEAT_CASE_INT("num_true", 3)},
     .inputs = {CLASSES(1, 2), LEAT_ITEMS(INT64, LEAT_DIMS(1), 1)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
