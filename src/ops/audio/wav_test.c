// Samples that become a file come out of it again, in as many frames and channels as are wanted.
#include "dataset/pipeline.h"

// [0.5, -1], [0.25, 0] at 8 kHz as a file.
static leat_output_t encoded(pipeline_t* p) {
  static const float kSamples[] = {0.5f, -1, 0.25f, 0};
  leat_tensor_t samples;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_FLOAT, kSamples, 4, &samples));
  leat_output_t dims = leat_build_int32_vector(&p->b, (int32_t[]){2, 2}, 2);
  leat_output_t audio = leat_build(
      &p->b, "Reshape", LEAT_INPUTS(leat_build_constant(&p->b, &samples), dims), LEAT_NO_ATTRS);
  leat_output_t rate = leat_build_scalar(&p->b, LEAT_DTYPE_INT32, 8000);
  leat_tensor_release(&samples);
  return leat_build(&p->b, "EncodeWav", LEAT_INPUTS(audio, rate), LEAT_NO_ATTRS);
}

static int32_t decoded(pipeline_t* p, int64_t channels, int64_t samples) {
  return leat_build_node(
      &p->b, "DecodeWav", LEAT_INPUTS(encoded(p)),
      LEAT_ATTRS(LEAT_INT("desired_channels", channels), LEAT_INT("desired_samples", samples)));
}

static void expect_samples(pipeline_t* p, int32_t node, int64_t frames, int64_t channels,
                           const float* wanted) {
  leat_tensor_t audio;
  LEAT_EXPECT_OK(pipeline_fetch(p, leat_node_output(node, 0), &audio));
  assert_int_equal(audio.shape.rank, 2);
  assert_int_equal(leat_shape_dim(&audio.shape, 0), frames);
  assert_int_equal(leat_shape_dim(&audio.shape, 1), channels);
  assert_memory_equal(audio.data, wanted, (size_t)(frames * channels) * sizeof *wanted);
  leat_tensor_release(&audio);
}

static void samples_come_back(void** state) {
  pipeline_t p;
  leat_tensor_t rate;
  pipeline_open(&p);
  int32_t node = decoded(&p, -1, -1);
  expect_samples(&p, node, 2, 2, (const float[]){0.5f, -1, 0.25f, 0});
  LEAT_EXPECT_OK(pipeline_fetch(&p, leat_node_output(node, 1), &rate));
  assert_int_equal(*leat_tensor_data(&rate, const int32_t), 8000);
  leat_tensor_release(&rate);
  pipeline_close(&p);
}

static void what_is_missing_is_filled_in(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  expect_samples(&p, decoded(&p, 1, 1), 1, 1, (const float[]){0.5f});
  expect_samples(&p, decoded(&p, 3, 3), 3, 3, (const float[]){0.5f, -1, -1, 0.25f, 0, 0, 0, 0, 0});
  pipeline_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_come_back),
      cmocka_unit_test(what_is_missing_is_filled_in),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
