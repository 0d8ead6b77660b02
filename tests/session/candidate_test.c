// Candidate samplers from step to step: TensorFlow's numbers for TensorFlow's seeds, the counts of
// learned unigrams among them.
#include "session/scene.h"

typedef struct sampled_s {
  const char* op;
  int range;
  int64_t values[2][4];  // of two steps
  float expected[2];     // of class 3
} sampled_t;

// TensorFlow 2.21, seeds 5 and 7, four distinct classes.
static const sampled_t kSampled[] = {
    {"UniformCandidateSampler", 1000, {{430, 791, 895, 496}, {219, 841, 660, 341}},
     {0.004000000189989805, 0.004000000189989805}},
    {"LogUniformCandidateSampler", 1000, {{53, 0, 84, 3}, {174, 70, 4, 26}},
     {0.15139281749725342, 0.12919466197490692}},
    {"LearnedUnigramCandidateSampler", 9, {{1, 8, 0, 6}, {4, 8, 3, 7}},
     {0.6102556586265564, 0.800000011920929}},
    {"FixedUnigramCandidateSampler", 5, {{4, 2, 1, 3}, {4, 3, 2, 0}},
     {1.0666667222976685, 0.8444720506668091}},
};

static leat_output_t make_sampler(scene_t* s, const sampled_t* sampled) {
  leat_tensor_t class;
  leat_shape_t matrix;
  LEAT_EXPECT_OK(leat_shape_create(2, (const int64_t[]){1, 1}, &matrix));
  LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_INT64, &matrix,
                                      &class));
  *leat_tensor_data(&class, int64_t) = 3;
  leat_output_t classes = leat_build_constant(&s->b, &class);
  leat_tensor_release(&class);
  static const float kWeights[] = {1, 2, 3, 4, 5};
  leat_attr_t attrs[] = {
      LEAT_INT("num_true", 1), LEAT_INT("num_sampled", 4), LEAT_BOOL("unique", true),
      LEAT_INT("seed", 5), LEAT_INT("seed2", 7), LEAT_INT("range_max", sampled->range),
      {LEAT_SV("unigrams"),
       {.kind = LEAT_ATTR_FLOAT, .is_list = true, .count = 5, .floats = kWeights}}};
  return scene_output(s, sampled->op, "", "", LEAT_INPUTS(classes),
                      (leat_attrs_t){attrs, sampled->range == 5 ? 7 : 6});
}

static void numbers_are_those_of_tensorflow(void** state) {
  scene_t s;
  scene_open(&s);
  for (size_t k = 0; k < sizeof kSampled / sizeof *kSampled; ++k) {
    leat_output_t sampler = make_sampler(&s, &kSampled[k]);
    leat_output_t counts = {sampler.node, 1};
    for (int step = 0; step < 2; ++step) {
      leat_tensor_t fetched[2];
      LEAT_EXPECT_OK(scene_run(&s, LEAT_NO_INPUTS, NULL, LEAT_INPUTS(sampler, counts), fetched,
                               NULL, 0));
      assert_memory_equal(fetched[0].data, kSampled[k].values[step], 4 * sizeof(int64_t));
      assert_float_equal(*leat_tensor_data(&fetched[1], const float), kSampled[k].expected[step],
                         1e-6);
      for (int i = 0; i < 2; ++i) leat_tensor_release(&fetched[i]);
    }
  }
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_those_of_tensorflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
