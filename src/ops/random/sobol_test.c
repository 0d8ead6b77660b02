// Cases of SobolSample, recorded with TensorFlow 2.21.
#include <math.h>

#include "op_harness/op_harness.h"

// Of one dimension: coordinate n has the bits of n's Gray code in reverse order.
static void reversed_bits(const leat_reference_t* r) {
  for (int64_t i = 0; i < (int64_t)r->in[1][0]; ++i) {
    const int64_t n = (int64_t)r->in[2][0] + i + 1;
    r->out[0][i] = 0;
    for (int bit = 0; bit < 31; ++bit) {
      if ((n ^ n >> 1) >> bit & 1) r->out[0][i] += ldexp(1, -1 - bit);
    }
  }
}

#define SIZE(n) LEAT_SCALAR_ITEM(INT32, n)
#define SAMPLE(text, dim, count, skip, ...) \
  {.op = "SobolSample", .name = text, .inputs = {SIZE(dim), SIZE(count), SIZE(skip)}, __VA_ARGS__}
#define REFUSED(text, dim, count, skip, ...)                                          \
  SAMPLE(text, dim, count, skip, .code = LEAT_INVALID_ARGUMENT, .message = __VA_ARGS__)

static const leat_op_case_t kCases[] = {
    SAMPLE("the first points", 3, 4, 0,
           .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4, 3), .5, .5, .5, .75, .25, .25, .25, .75, .75,
                                   .375, .375, .625)}),
    SAMPLE("a later part", 3, 2, 2,
           .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), .25, .75, .75, .375, .375, .625)}),
    SAMPLE("one dimension in double", 1, 4, 3, .attrs = {LEAT_CASE_TYPE("dtype", DOUBLE)},
           .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(4, 1), .375, .875, .625, .125)}),
    SAMPLE("far along", 4, 1, 1000000, .attrs = {LEAT_CASE_TYPE("dtype", DOUBLE)},
           .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(1, 4), 0.5264749526977539, 0.8119192123413086,
                                   0.32799625396728516, 0.16824626922607422)},
           .tolerance = 1e-15),
    SAMPLE("so many points that threads share them", 1, 300000, 77,
           .attrs = {LEAT_CASE_TYPE("dtype", DOUBLE)}, .reference = reversed_bits),
    REFUSED("no dimension", 0, 1, 0, "dim is 0"),
    REFUSED("more dimensions than TensorFlow has", 21202, 1, 0, "at most 21201"),
    SAMPLE("more dimensions than the tables have", 1112, 1, 0, .code = LEAT_UNIMPLEMENTED),
    REFUSED("no point", 1, 0, 0, "num_results"),
    REFUSED("a negative skip", 1, 1, -1, "skip"),
    REFUSED("a number beyond 31 bits", 1, 1, 2147483646, "num_results+skip"),
    {.op = "SobolSample",
     .name = "a vector of dimensions",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1), 1), SIZE(1), SIZE(0)},
     .code = LEAT_INVALID_ARGUMENT},
};
LEAT_OP_TEST_MAIN(kCases)
