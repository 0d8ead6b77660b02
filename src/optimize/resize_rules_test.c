// The rules that let a bilinear resizing convert and scale its images itself (ops/image/resize.c).
// The first tests count the nodes that disappear in the pass, and show where none may: a factor
// that is no number, a quotient whose divisor is the image, a type that float does not hold, a
// value that is read elsewhere. The last one runs the steps with the rules and without, and
// compares bits.
#include <string.h>

#include "session/flow.h"
#include "session/pass_scene.h"

static int shrink(pass_scene_t* f, leat_outputs_t fetches) {
  return pass_scene_shrink(f, &leat_pass_prologues, fetches, -1);
}

static leat_output_t resized(scene_t* s, leat_output_t images) {
  const int32_t sizes[] = {3, 2};
  leat_tensor_t tensor;
  leat_shape_t two = leat_shape_vector(2);
  LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_INT32, &two, &tensor));
  memcpy(tensor.data, sizes, sizeof sizes);
  const leat_output_t size =
      scene_output(s, "Const", "", "", LEAT_NO_INPUTS,
                   LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_INT32), LEAT_TENSOR("value", &tensor)));
  leat_tensor_release(&tensor);
  return scene_output(s, "ResizeBilinear", "", "", LEAT_INPUTS(images, size),
                      LEAT_ATTRS(LEAT_BOOL("half_pixel_centers", true)));
}

static leat_output_t expanded(scene_t* s, leat_output_t image) {
  return scene_output(s, "ExpandDims", "", "", LEAT_INPUTS(image, flow_int(s, 0)), LEAT_NO_ATTRS);
}

static leat_output_t as_float(scene_t* s, leat_output_t x) {
  return scene_output(s, "Cast", "", "", LEAT_INPUTS(x),
                      LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_FLOAT)));
}

static leat_output_t bytes(scene_t* s, const char* name) {
  return scene_placeholder(s, name, LEAT_DTYPE_UINT8);
}

static bool reads(const pass_scene_t* f, const leat_node_t* node, const char* name) {
  return leat_string_view_equals(f->rewrite.graph->nodes[node->inputs[0].node].name, name);
}

static void images_are_scaled_where_they_are_resized(void** state) {
  static const char* const kOps[] = {"Mul", "RealDiv"};
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  for (int i = 0; i < 2; ++i) {
    leat_output_t scaled = scene_binary(s, kOps[i], -1, as_float(s, bytes(s, i ? "y" : "x")),
                                        scene_float(s, 0.3f));
    assert_int_equal(shrink(f, LEAT_INPUTS(resized(s, scaled))), 2);
    const leat_node_t* root = pass_scene_fetched(f, 0);
    assert_true(pass_scene_is_op(root, "_ScaledResizeBilinear") && reads(f, root, i ? "y" : "x"));
    assert_true(leat_string_view_equals(leat_node_attr_string(root, "scaling"), kOps[i]));
    assert_true(leat_node_attr_bool(root, "half_pixel_centers", false));
  }
  // The factor may be on the left of a product.
  leat_output_t product =
      scene_binary(s, "Mul", -1, scene_float(s, 0.3f), as_float(s, bytes(s, "z")));
  assert_int_equal(shrink(f, LEAT_INPUTS(resized(s, product))), 2);
}

static void an_image_is_expanded_as_it_is(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t scaled =
      scene_binary(s, "Mul", -1, as_float(s, bytes(s, "x")), scene_float(s, 0.3f));
  assert_int_equal(shrink(f, LEAT_INPUTS(resized(s, expanded(s, scaled)))), 2);
  const leat_node_t* root = pass_scene_fetched(f, 0);
  assert_true(pass_scene_is_op(root, "_ScaledResizeBilinear"));
  const leat_node_t* images = &f->rewrite.graph->nodes[root->inputs[0].node];
  assert_true(pass_scene_is_op(images, "ExpandDims") && reads(f, images, "x"));
}

static void conversions_go(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  assert_int_equal(shrink(f, LEAT_INPUTS(resized(s, as_float(s, bytes(s, "x"))))), 1);
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "ResizeBilinear"));
  assert_true(reads(f, pass_scene_fetched(f, 0), "x"));
  static const int kStay[] = {LEAT_DTYPE_INT32, LEAT_DTYPE_DOUBLE, LEAT_DTYPE_INT64,
                              LEAT_DTYPE_BOOL};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kStay); ++i) {
    leat_output_t x = as_float(s, scene_placeholder(s, "", kStay[i]));
    assert_int_equal(shrink(f, LEAT_INPUTS(resized(s, x))), 0);
  }
}

static void what_is_no_scaling_stays(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  const float three[] = {1, 2, 3};
  leat_output_t x = scene_placeholder(s, "", LEAT_DTYPE_FLOAT);
  leat_output_t each = scene_binary(s, "Mul", -1, x, scene_floats(s, 3, three));
  assert_int_equal(shrink(f, LEAT_INPUTS(resized(s, each))), 0);
  leat_output_t inverse = scene_binary(s, "RealDiv", -1, scene_float(s, 2), x);
  assert_int_equal(shrink(f, LEAT_INPUTS(resized(s, inverse))), 0);
  leat_output_t unknown = scene_placeholder(s, "", LEAT_DTYPE_FLOAT);
  assert_int_equal(
      shrink(f, LEAT_INPUTS(resized(s, scene_binary(s, "Mul", -1, x, unknown)))), 0);
  leat_output_t fetched = scene_binary(s, "Mul", -1, x, scene_float(s, 2));
  assert_int_equal(shrink(f, LEAT_INPUTS(resized(s, fetched), fetched)), 0);
}

// ---- Runs ---------------------------------------------------------------------------------------

enum { kHeight = 4, kWidth = 5, kChannels = 3, kCount = kHeight * kWidth * kChannels };

// One resizing scales by itself, the other one cannot, as what is scaled is fetched.
static void bits_of_resizing(scene_t* s) {
  static const char* const kOps[] = {"Mul", "RealDiv"};
  for (int i = 0; i < 2; ++i) {
    leat_output_t x = bytes(s, ""), y = bytes(s, "");
    leat_output_t factor = scene_float(s, i ? 255 : 1 / 255.f);
    leat_output_t plain = scene_binary(s, kOps[i], -1, as_float(s, x), factor);
    leat_output_t fused = scene_binary(s, kOps[i], -1, as_float(s, y), factor);
    leat_tensor_t fed[2], values[3];
    leat_shape_t shape;
    LEAT_EXPECT_OK(leat_shape_create(3, (const int64_t[]){kHeight, kWidth, kChannels}, &shape));
    for (int k = 0; k < 2; ++k) {
      LEAT_EXPECT_OK(
          leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_UINT8, &shape, &fed[k]));
      for (int n = 0; n < kCount; ++n) leat_tensor_data(&fed[k], uint8_t)[n] = (uint8_t)(n * 37);
    }
    leat_output_t slow = resized(s, expanded(s, plain));
    leat_output_t quick = resized(s, expanded(s, fused));
    LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(x, y), fed, LEAT_INPUTS(slow, quick, plain), values,
                             NULL, 0));
    assert_int_equal(values[0].shape.element_count, 3 * 2 * kChannels);
    assert_memory_equal(values[0].data, values[1].data, 3 * 2 * kChannels * sizeof(float));
    assert_true(*leat_tensor_data(&values[0], const float) != 0);
    for (int k = 0; k < 3; ++k) leat_tensor_release(&values[k]);
  }
}

static void bits_of_resizing_all_ways(void** state) { scene_run_all_ways(bits_of_resizing); }

#define TEST(name) cmocka_unit_test_setup_teardown(name, pass_scene_set_up, pass_scene_tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(images_are_scaled_where_they_are_resized),
      TEST(an_image_is_expanded_as_it_is),
      TEST(conversions_go),
      TEST(what_is_no_scaling_stays),
      cmocka_unit_test(bits_of_resizing_all_ways),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
