// What the gradient of RaggedTensorToVariant checks of the row splits that it gets. They belong to
// the op whose gradient it is, so that they are right in every graph that gradients were added to,
// but a graph may hold the op alone, and TensorFlow refuses other splits there.
#include "session/scene.h"

#define MOST 4

typedef struct splits_s {
  int count;
  int32_t values[MOST];
} splits_t;

// The gradient for variants of the rows [1, 2], [3] and [], with |splits|.
static leat_output_t gradient_with(scene_t* s, leat_output_t splits) {
  static const float kValues[] = {1, 2, 3};
  static const int32_t kSplits[] = {0, 2, 3, 3}, kThree[] = {3};
  leat_output_t variants = scene_output(
      s, "RaggedTensorToVariant", "", "",
      LEAT_INPUTS(leat_build_int32_vector(&s->b, kSplits, 4), scene_floats(s, 3, kValues)),
      LEAT_ATTRS(LEAT_INT("RAGGED_RANK", 1), LEAT_TYPE("Tsplits", LEAT_DTYPE_INT32),
                 LEAT_BOOL("batched_input", true)));
  return scene_output(
      s, "RaggedTensorToVariantGradient", "", "",
      LEAT_INPUTS(variants, splits, leat_build_int32_vector(&s->b, kThree, 1)),
      LEAT_ATTRS(LEAT_TYPE("Tvalues", LEAT_DTYPE_FLOAT), LEAT_TYPE("Tsplits", LEAT_DTYPE_INT32)));
}

static void splits_are_checked(void** state) {
  static const splits_t kBad[] = {{4, {0, 3, 2, 3}}, {4, {1, 2, 3, 3}}, {4, {-1, 2, 3, 3}}, {0}};
  static const int32_t kOneByFour[] = {1, 4};
  scene_t s;
  leat_tensor_t value;
  scene_open(&s);
  leat_output_t good = leat_build_int32_vector(&s.b, (const int32_t[]){0, 2, 3, 3}, 4);
  LEAT_EXPECT_OK(scene_fetch(&s, gradient_with(&s, good), &value));
  for (int i = 0; i < 3; ++i) assert_true(leat_tensor_data(&value, const float)[i] == i + 1);
  leat_tensor_release(&value);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kBad); ++i) {
    leat_output_t bad = leat_build_int32_vector(&s.b, kBad[i].values, kBad[i].count);
    scene_expect(scene_fetch(&s, gradient_with(&s, bad), &value), LEAT_INVALID_ARGUMENT, "plits");
  }
  leat_output_t matrix = leat_build_binary(&s.b, "Reshape", good,
                                           leat_build_int32_vector(&s.b, kOneByFour, 2));
  scene_expect(scene_fetch(&s, gradient_with(&s, matrix), &value), LEAT_INVALID_ARGUMENT,
               "must be a vector");
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(splits_are_checked)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
