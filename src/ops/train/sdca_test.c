// Cases of the ops around stochastic dual coordinate ascent: the pass over the examples with each
// of its five losses, the shrinking of weights by L1, and inputs of SdcaFprint without strings or
// of another rank. The expected numbers of the passes are TensorFlow 2.21's, for inputs on which
// they do not depend on the order of the examples, which is random; the shrunk weights follow by
// hand. The cases catch a wrong dual step of a loss, weights that are not shrunk before they
// predict, a number of partitions that does not count, and deltas that go to another feature.
// Inputs that do not fit each other must be refused in TensorFlow's words, because the kernel reads
// weights by the numbers of features. One of them TensorFlow takes: a dense group with fewer rows
// than there are examples. Draws by chances (adaptive) are only seen with a single example, where
// every order is the same.
#include <math.h>

#include "op_harness/op_harness.h"

#define WEIGHTS LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(4), 1, -2, .1, 0)
#define SHRINK(text, l1, l2, ...)                                              \
  {.op = "SdcaShrinkL1", .name = text,                                         \
   .attrs = {LEAT_CASE_REAL("l1", l1), LEAT_CASE_REAL("l2", l2)},              \
   .inputs = {WEIGHTS, LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(2, 1), 3, NAN)},     \
   .after = __VA_ARGS__}

#define FLOATS(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(sizeof((float[]){__VA_ARGS__}) / 4), __VA_ARGS__)
#define INT64S(...) LEAT_ITEMS(INT64, LEAT_DIMS(sizeof((float[]){__VA_ARGS__}) / 4), __VA_ARGS__)
#define GROUPS(sparse, valued, dense)                                                             \
  LEAT_CASE_INT("num_sparse_features", sparse),                                                   \
      LEAT_CASE_INT("num_sparse_features_with_values", valued),                                   \
      LEAT_CASE_INT("num_dense_features", dense), LEAT_CASE_REAL("l1", .1f),                      \
      LEAT_CASE_REAL("l2", .5f), LEAT_CASE_INT("num_inner_iterations", 1)
#define ONE LEAT_CASE_INT("num_loss_partitions", 1)
#define TWO LEAT_CASE_INT("num_loss_partitions", 2)
#define STATES(n, ...) LEAT_ITEMS(FLOAT, LEAT_DIMS(n, 4), __VA_ARGS__)
#define EXAMPLE FLOATS(.75), FLOATS(1), FLOATS(.3, .05, -.4), STATES(1, .25, 0, 0, 0)
// One example with a group of three dense features. Expected values here and below are
// TensorFlow's; of one example, and of examples that share no feature, they follow from no order.
#define DENSE(loss, text, adaptive, ...)                                                          \
  {.op = "SdcaOptimizerV2", .name = text,                                                         \
   .attrs = {LEAT_CASE_STR("loss_type", loss), LEAT_CASE_BOOL("adaptive", adaptive), TWO,         \
             GROUPS(0, 0, 1)},                                                                    \
   .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3), 1, -2, .5), EXAMPLE},                            \
   .expected = {__VA_ARGS__}}
#define SQUARED STATES(1, .294776112, .375, -.1640625, .75), \
                FLOATS(.0671641752, -.13432835, .0335820876)
#define LOGISTIC STATES(1, .302917153, .519860387, -.42175135, .75), \
                 FLOATS(.0793757141, -.158751428, .039687857)

// Three examples with a valued group of weights for the features 3, 5, 7, 9 and one of ones. The
// second example has no features.
#define SPARSE_GROUPS(a, b, c)                                                         \
  INT64S(0, 0, 2), INT64S(0, 2), INT64S(a, b, c), INT64S(1, 0), FLOATS(2, -1, .5),            \
      FLOATS(1, 2, .5), FLOATS(1, 0, 0), INT64S(7, 3, 9, 5), INT64S(0, 1),             \
      FLOATS(-.6, .2, 1, .4), FLOATS(.5, -.5), STATES(3, .1, 0, 0, 0, -.2, 0, 0, 0, 0, 0, 0, 0)
#define SPARSE(text, a, b, c, ...)                                                     \
  {.op = "SdcaOptimizer", .name = text,                                                \
   .attrs = {LEAT_CASE_STR("loss_type", "logistic_loss"), ONE, GROUPS(2, 1, 0)},       \
   .inputs = {SPARSE_GROUPS(a, b, c)}, __VA_ARGS__}
#define REFUSED(text, loss, words, ...)                                                \
  {.op = "SdcaOptimizer", .name = text,                                                \
   .attrs = {LEAT_CASE_STR("loss_type", loss), ONE, GROUPS(0, 0, 1)},                  \
   .inputs = {__VA_ARGS__}, .code = LEAT_INVALID_ARGUMENT, .message = words}
#define WEIGHT FLOATS(1)
#define LABEL(label) FLOATS(label)
#define MATRIX(rows, columns, ...) LEAT_ITEMS(FLOAT, LEAT_DIMS(rows, columns), __VA_ARGS__)
#define STATE STATES(1, 0, 0, 0, 0)

static const leat_op_case_t kCases[] = {
    DENSE("squared_loss", "squared", false, SQUARED),
    DENSE("logistic_loss", "logistic", false, LOGISTIC),
    DENSE("hinge_loss", "hinge", false, STATES(1, .31349206, .75, -.1875, .75),
          FLOATS(.095238097, -.190476194, .0476190485)),
    DENSE("smooth_hinge_loss", "smooth hinge", false, SQUARED),
    DENSE("poisson_loss", "Poisson", false, STATES(1, .233145505, .75, -.724321187, .75),
          FLOATS(-.0252817348, .0505634695, -.0126408674)),
    DENSE("logistic_loss", "one example, drawn by its chance", true, LOGISTIC),
    SPARSE("sparse groups", 7, 3, 5,
           .expected = {STATES(3, .273202777, 1.3873353, -.325082988, 1, -.5, 1.38629436,
                               -1.0008049, 2, -.45722273, .456507623, 0, .5),
                        FLOATS(.692811072, -.346405536, 0, -.228611365),
                        FLOATS(-.45722273, .346405536)}),
    SPARSE("a feature without a weight", 7, 4, 5, .code = LEAT_INVALID_ARGUMENT,
           .message = "Found sparse feature indices out of valid range: 4"),
    SPARSE("a feature twice", 7, 7, 5, .code = LEAT_INVALID_ARGUMENT,
           .message = "Duplicate index in sparse vector."),
    {.op = "SdcaOptimizer",
     .name = "entries end where their order does",
     .attrs = {LEAT_CASE_STR("loss_type", "squared_loss"), ONE, GROUPS(1, 0, 0)},
     .inputs = {INT64S(0, 2, 1), INT64S(0, 1, 2), FLOATS(1, 1, 1), FLOATS(1, 2, 3),
                INT64S(0, 1, 2), FLOATS(0, 0, 0), STATES(3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)},
     .expected = {STATES(3, 1 / 3., .5, 0, 1, 2, 2, 0, 1, 1, 4.5, 0, 1),
                  FLOATS(2 / 3., 2, 0)}},
    {.op = "SdcaOptimizer",
     .name = "no examples",
     .attrs = {LEAT_CASE_STR("loss_type", "squared_loss"), LEAT_CASE_BOOL("adaptative", true), ONE,
               GROUPS(0, 0, 1)},
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0)),
                LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0)), FLOATS(1, 1),
                LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 4))},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 4)), FLOATS(0, 0)}},
    REFUSED("a third class", "hinge_loss", "Found example with label: -1", MATRIX(1, 1, 1), WEIGHT,
            LABEL(-1), FLOATS(0), STATE),
    REFUSED("a negative count", "poisson_loss", "Only non-negative labels", MATRIX(1, 1, 1),
            WEIGHT, LABEL(-1), FLOATS(0), STATE),
    REFUSED("two labels for one example", "squared_loss", "Expected 1 example labels but got 2",
            MATRIX(1, 1, 1), WEIGHT, FLOATS(1, 1), FLOATS(0), STATE),
    REFUSED("more features than weights", "squared_loss", "More dense features than",
            MATRIX(1, 2, 1, 1), WEIGHT, LABEL(1), FLOATS(0), STATE),
    REFUSED("fewer rows than examples", "squared_loss", "must be [2, 1]", MATRIX(1, 1, 1),
            FLOATS(1, 1), FLOATS(1, 1), FLOATS(0), STATES(2, 0, 0, 0, 0, 0, 0, 0, 0)),
    REFUSED("a state of another example", "squared_loss", "Expected shape [1,4]", MATRIX(1, 1, 1),
            WEIGHT, LABEL(1), FLOATS(0), STATES(2, 0, 0, 0, 0, 0, 0, 0, 0)),
    {.op = "SdcaFprint",
     .name = "no strings",
     .inputs = {LEAT_NO_ITEMS(STRING, LEAT_DIMS(0))},
     .expected = {LEAT_NO_ITEMS(INT64, LEAT_DIMS(0, 2))}},
    {.op = "SdcaFprint",
     .name = "a scalar",
     .inputs = {LEAT_TEXTS(LEAT_SCALAR_DIMS, "x")},
     .code = LEAT_INVALID_ARGUMENT},
    SHRINK("by one half", .5f, 1,
           {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), .5, -1.5, 0, 0),
            LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2.5, NAN)}),
    SHRINK("away from 0", -.5f, 1,
           {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1.5, -2.5, .6, 0),
            LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 3.5, NAN)}),
    SHRINK("all the way", 1, 0,
           {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 0, 0, 0, 0),
            LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 0, NAN)}),
    SHRINK("by 0 / 0", 0, 0,
           {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), NAN, NAN, NAN, NAN),
            LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), NAN, NAN)}),
};
LEAT_OP_TEST_MAIN(kCases)
