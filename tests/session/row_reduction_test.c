// Reductions that end a program give the bits that they give alone, whatever they reduce: rows that
// fit a tile and others, values that are no numbers, nothing. Each case squares an array and
// reduces its last axes, once without the optimizer and once with it, where both become one fused
// program, with one thread and with four. Results must agree in every bit, so that fusing never
// changes what a user sees. That such programs are made at all is tested in
// src/optimize/fusion_test.c.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "session/scene.h"

typedef struct array_s {
  int rank;
  int64_t dims[3];
} array_t;

static const array_t kArrays[] = {
    {1, {1}},         {1, {7}},         {1, {70000}},     {2, {0, 5}},
    {2, {5, 0}},      {2, {300, 1}},    {2, {300, 2}},    {2, {257, 65}},
    {2, {64, 128}},   {2, {31, 1000}},  {2, {3, 20011}},  {2, {2, 140003}},
    {3, {20, 3, 11}}, {3, {9, 40, 64}}, {3, {40, 1, 33}}, {3, {2, 0, 3}},
};
static const int kTypes[] = {LEAT_DTYPE_FLOAT,    LEAT_DTYPE_DOUBLE, LEAT_DTYPE_HALF,
                             LEAT_DTYPE_BFLOAT16, LEAT_DTYPE_INT32,  LEAT_DTYPE_INT8,
                             LEAT_DTYPE_COMPLEX64};

static leat_tensor_t draw(const array_t* array, bool with_special, unsigned seed) {
  static const float kSpecial[] = {INFINITY, -INFINITY, NAN, -0.0f, 1e-45f, 3e38f, 0};
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(array->rank, array->dims, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  float* items = leat_tensor_data(&tensor, float);
  for (int64_t i = 0; i < shape.element_count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const unsigned kind = seed >> 8;
    items[i] = with_special && kind % 97 < LEAT_ARRAY_SIZE(kSpecial)
                   ? kSpecial[kind % 97]
                   : (float)(kind % 2001) / 16 - 60;
  }
  return tensor;
}

typedef enum form_e {
  FORM_PLAIN,
  FORM_KEPT,  // with axes of one
  FORM_BOTH,  // and what is reduced
} form_t;

// The reduction |op| of the last |axes| axes of x * x.
static leat_output_t build(scene_t* s, leat_output_t x, int type, const char* op, int axes,
                           form_t form, leat_output_t* out_square) {
  int32_t list[3] = {-1, -2, -3};
  leat_output_t cast =
      scene_output(s, "Cast", "", "", LEAT_INPUTS(x), LEAT_ATTRS(LEAT_TYPE("DstT", type)));
  *out_square = scene_output(s, "Mul", "", "", LEAT_INPUTS(cast, cast), LEAT_NO_ATTRS);
  return scene_output(s, op, "", "",
                      LEAT_INPUTS(*out_square, leat_build_int32_vector(&s->b, list, axes)),
                      LEAT_ATTRS(LEAT_BOOL("keep_dims", form == FORM_KEPT)));
}

static void run(const array_t* array, bool special, bool optimize, int threads, int type,
                const char* op, int axes, form_t form, leat_tensor_t* out_values) {
  scene_t s;
  scene_open(&s);
  s.options.optimize = optimize;
  s.options.intra_op_threads = threads;
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT), fetches[2];
  fetches[0] = build(&s, x, type, op, axes, form, &fetches[1]);
  leat_tensor_t fed = draw(array, special, (unsigned)array->dims[0]);
  const int count = form == FORM_BOTH ? 2 : 1;
  LEAT_EXPECT_OK(
      scene_run(&s, LEAT_INPUTS(x), &fed, (leat_outputs_t){fetches, count}, out_values, NULL, 0));
  scene_close(&s);
}

static void compare(const array_t* array, bool special, int type, const char* op, int axes,
                    form_t form) {
  leat_tensor_t expected[2] = {{0}}, got[2] = {{0}};
  run(array, special, false, 1, type, op, axes, form, expected);
  for (int threads = 1; threads <= 4; threads += 3) {
    run(array, special, true, threads, type, op, axes, form, got);
    for (int i = 0; i < (form == FORM_BOTH ? 2 : 1); ++i) {
      assert_true(leat_shape_equal(&expected[i].shape, &got[i].shape));
      assert_int_equal(expected[i].dtype, got[i].dtype);
      if (leat_tensor_size_bytes(&expected[i])) {
        assert_memory_equal(expected[i].data, got[i].data, leat_tensor_size_bytes(&expected[i]));
      }
      leat_tensor_release(&got[i]);
    }
  }
  leat_tensor_release(&expected[0]);
  leat_tensor_release(&expected[1]);
}

static void every_type_has_the_bits_of_the_kernel_alone(void** state) {
  (void)state;
  for (size_t t = 0; t < LEAT_ARRAY_SIZE(kTypes); ++t) {
    const bool special = leat_dtype_in(kTypes[t], LEAT_DTYPES_FLOATING);
    for (size_t a = 0; a < LEAT_ARRAY_SIZE(kArrays); ++a) {
      compare(&kArrays[a], special, kTypes[t], "Sum", 1, (form_t)(a % 3));
    }
  }
}

static void every_reduction_has_the_bits_of_the_kernel_alone(void** state) {
  static const char* const kOps[] = {"Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"};
  (void)state;
  for (size_t o = 0; o < LEAT_ARRAY_SIZE(kOps); ++o) {
    for (size_t a = 0; a < LEAT_ARRAY_SIZE(kArrays); ++a) {
      for (int axes = 1; axes <= kArrays[a].rank; ++axes) {
        compare(&kArrays[a], a % 2, LEAT_DTYPE_FLOAT, kOps[o], axes, (form_t)((a + o) % 3));
      }
    }
  }
}

// The product with ones that the optimizer takes for a sum.
static leat_tensor_t run_product(bool optimize, bool with_sum, const array_t* array) {
  scene_t s;
  scene_open(&s);
  s.options.optimize = optimize;
  const int64_t width = array->dims[1];
  leat_output_t x = scene_matrix(&s, "x", -1, width), square, output;
  output = build(&s, x, LEAT_DTYPE_FLOAT, "Sum", 1, FORM_KEPT, &square);
  if (!with_sum) {
    leat_tensor_t ones = draw(&(array_t){2, {width, 1}}, false, 1);
    for (int64_t i = 0; i < width; ++i) leat_tensor_data(&ones, float)[i] = 1;
    output = leat_build_binary(&s.b, "MatMul", square, leat_build_constant(&s.b, &ones));
    leat_tensor_release(&ones);
  }
  leat_tensor_t fed = draw(array, true, 5), value;
  LEAT_EXPECT_OK(scene_run(&s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(output), &value, NULL, 0));
  scene_close(&s);
  return value;
}

static void a_product_with_ones_has_the_bits_of_a_sum(void** state) {
  (void)state;
  for (size_t a = 0; a < LEAT_ARRAY_SIZE(kArrays); ++a) {
    if (kArrays[a].rank != 2 || kArrays[a].dims[1] < 2) continue;
    leat_tensor_t sum = run_product(false, true, &kArrays[a]);
    leat_tensor_t product = run_product(true, false, &kArrays[a]);
    assert_true(leat_shape_equal(&sum.shape, &product.shape));
    if (sum.shape.element_count) {
      assert_memory_equal(sum.data, product.data, leat_tensor_size_bytes(&sum));
    }
    leat_tensor_release(&sum);
    leat_tensor_release(&product);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_has_the_bits_of_the_kernel_alone),
      cmocka_unit_test(every_reduction_has_the_bits_of_the_kernel_alone),
      cmocka_unit_test(a_product_with_ones_has_the_bits_of_a_sum),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
