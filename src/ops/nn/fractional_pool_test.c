// Cases of the fractional pools, and the sizes of their outputs. The gradients are compared with
// the definition, written here as loops over windows, for sequences that a caller could feed:
// beginning beyond the input, going backwards, of any size. The sizes follow from a division in
// float that must be the same in the shape function and in the kernel, which is why some are very
// large. The random sequences themselves are compared with recorded cases of TensorFlow
// (tests/conformance).
#include "op_harness/op_harness.h"
#include "session/scene.h"

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -2, 2)
#define SEQUENCE(...) LEAT_ITEMS(INT64, LEAT_DIMS(3), __VA_ARGS__)
#define FAR 9223372036854774784.0  // 2^63 - 1024, which a double holds
#define SEEDED LEAT_CASE_BOOL("deterministic", true), LEAT_CASE_INT("seed", 7)
#define RATIOS(y, x) LEAT_CASE_FLOATS("pooling_ratio", 1, y, x, 1)
#define OVERLAPPING {LEAT_CASE_BOOL("overlapping", true)}

// The items of sequence |input| around window |index|, cut at the |size| of the input.
static void read_window(const leat_reference_t* r, int input, int64_t index, int64_t size,
                        int64_t* out_begin, int64_t* out_end) {
  const bool overlaps = r->op_case->attrs[0].value.b;
  const double end = r->in[input][index + 1] + overlaps, begin = r->in[input][index];
  *out_begin = begin < (double)size ? (int64_t)begin : size;
  *out_end = end < (double)size ? (int64_t)end : size;
}

// Each item of dy in equal parts over the input positions of its window; one channel.
static void avg_grad_reference(const leat_reference_t* r) {
  const leat_shape_t *in = &r->outputs[0].shape, *out = &r->inputs[1].shape;
  const int64_t height = leat_shape_dim(in, 1), width = leat_shape_dim(in, 2);
  const int64_t out_height = leat_shape_dim(out, 1), out_width = leat_shape_dim(out, 2);
  for (int64_t i = 0; i < in->element_count; ++i) r->out[0][i] = 0;
  for (int64_t i = 0; i < out->element_count; ++i) {
    int64_t top, bottom, left, right;
    read_window(r, 2, i / out_width % out_height, height, &top, &bottom);
    read_window(r, 3, i % out_width, width, &left, &right);
    const int64_t image = i / (out_width * out_height);
    for (int64_t y = top; y < bottom; ++y) {
      for (int64_t x = left; x < right; ++x) {
        r->out[0][(image * height + y) * width + x] +=
            r->in[1][i] / (double)((bottom - top) * (right - left));
      }
    }
  }
}

static const leat_op_case_t kCases[] = {
    {.op = "FractionalMaxPool",
     .name = "a ratio below 1",
     .attrs = {RATIOS(0.5, 2), SEEDED},
     .inputs = {X(1, 4, 4, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "FractionalAvgPool",
     .name = "over the batch",
     .attrs = {LEAT_CASE_FLOATS("pooling_ratio", 2, 1, 1, 1), SEEDED},
     .inputs = {X(2, 4, 4, 1)},
     .code = LEAT_UNIMPLEMENTED},
    {.op = "FractionalMaxPool",
     .name = "a seed that is not used",
     .attrs = {RATIOS(2, 2), LEAT_CASE_INT("seed", 7)},
     .inputs = {X(1, 4, 4, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "FractionalAvgPoolGrad",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 1, 3, 2, 1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 1, 2, 4, 8), SEQUENCE(0, 1, 3),
                SEQUENCE(0, 1, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 1, 2, 2, 4, 2, 4)}},
    {.op = "FractionalAvgPoolGrad",
     .name = "overlapping",
     .attrs = OVERLAPPING,
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 1, 3, 2, 1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1), 4, 8), SEQUENCE(0, 1, 3),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 0, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 1, 1, 3, 3, 2, 2)}},
    {.op = "FractionalAvgPoolGrad",
     .name = "a sequence that goes below 0",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 1, 3, 2, 1), X(1, 2, 2, 1), SEQUENCE(-1, 1, 3),
                SEQUENCE(0, 1, 2)},
     .code = LEAT_INVALID_ARGUMENT},
    // Windows outside the input see nothing, however far away they begin: TensorFlow gives these.
    {.op = "FractionalAvgPoolGrad",
     .name = "a window that ends before it begins",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 1, 3, 2, 1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 1, 2, 4, 8), SEQUENCE(0, 2, 1),
                SEQUENCE(0, 1, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 0.5, 1, 0.5, 1, 0, 0)}},
    {.op = "FractionalAvgPoolGrad",
     .name = "rows far outside",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 2, 40, 40, 1), X(2, 2, 2, 1),
                SEQUENCE(0, FAR, FAR), SEQUENCE(0, 20, 40)},
     .reference = avg_grad_reference},
    {.op = "FractionalAvgPoolGrad",
     .name = "columns far outside",
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 2, 40, 40, 1), X(2, 2, 2, 1),
                SEQUENCE(0, 20, 40), SEQUENCE(0, FAR, FAR)},
     .reference = avg_grad_reference},
    {.op = "FractionalAvgPoolGrad",
     .name = "columns far outside, overlapping",
     .attrs = OVERLAPPING,
     .inputs = {LEAT_ITEMS(INT64, LEAT_DIMS(4), 2, 40, 40, 1), X(2, 2, 2, 1),
                SEQUENCE(0, 20, 39), SEQUENCE(0, FAR, FAR)},
     .reference = avg_grad_reference},
    {.op = "FractionalMaxPoolGrad",
     .name = "columns far outside",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1, 3, 2, 1), 1, 2, 4, 3, 4, 9),
                LEAT_ITEMS(INT32, LEAT_DIMS(1, 2, 2, 1), 2, INT32_MIN, 9, INT32_MIN),
                LEAT_ITEMS(INT32, LEAT_DIMS(1, 2, 2, 1), 5, 6, 7, 8), SEQUENCE(0, 1, 3),
                SEQUENCE(0, FAR, FAR)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(1, 3, 2, 1), 0, 5, 0, 0, 0, 7)}},
    {.op = "FractionalMaxPoolGrad",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 1, 2, 4, 3, 4, 9),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 1, 2, 4, 9),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 5, 6, 7, 8), SEQUENCE(0, 1, 3),
                SEQUENCE(0, 1, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 5, 6, 7, 0, 0, 8)}},
    {.op = "FractionalMaxPoolGrad",
     .name = "an output that is not the input's",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 1, 2, 4, 3, 4, 9),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 1, 2, 5, 9), X(1, 2, 2, 1),
                SEQUENCE(0, 1, 3), SEQUENCE(0, 1, 2)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "FractionalMaxPoolGrad",
     .name = "sums of integers wrap",
     .attrs = {LEAT_CASE_BOOL("overlapping", true)},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1, 1, 3, 1), 1, 9, 2),
                LEAT_ITEMS(INT32, LEAT_DIMS(1, 1, 2, 1), 9, 9),
                LEAT_ITEMS(INT32, LEAT_DIMS(1, 1, 2, 1), INT32_MAX, 1),
                LEAT_ITEMS(INT64, LEAT_DIMS(2), 0, 1), SEQUENCE(0, 1, 3)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(1, 1, 3, 1), 0, INT32_MIN, 0)}},
    {.op = "FractionalMaxPoolGrad",
     .name = "a sequence that is no vector",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 2, 1), 1, 2, 4, 3, 4, 9),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 1, 2, 4, 9), X(1, 2, 2, 1),
                SEQUENCE(0, 1, 3), LEAT_ITEMS(INT64, LEAT_DIMS(1, 3), 0, 1, 2)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "sequence 1 has shape [1,3]"},
};

// ---- Sizes --------------------------------------------------------------------------------------

// Pools a tensor of sevens and checks the output's size in dimension |d|, as the shape function
// promises it and as the kernel makes it, and the last of its items. The ratios and sizes of the
// other dimensions are 1.
static void check_size(const char* op, int d, int64_t size, float ratio, int64_t wanted) {
  scene_t s;
  int32_t dims[] = {1, 1, 1, 1}, seven = 7;
  float ratios[] = {1, 1, 1, 1};
  leat_tensor_t tensor, value;
  scene_open(&s);
  dims[d] = (int32_t)size;
  ratios[d] = ratio;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, dims, 4, &tensor));
  const leat_output_t shape = leat_build_constant(&s.b, &tensor);
  leat_tensor_release(&tensor);
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_INT32, &seven, &tensor));
  const leat_output_t item = leat_build_constant(&s.b, &tensor);
  leat_tensor_release(&tensor);
  const leat_output_t input =
      scene_output(&s, "Fill", "input", "", LEAT_INPUTS(shape, item), LEAT_NO_ATTRS);
  const leat_attr_t attr = {LEAT_SV("pooling_ratio"),
                            {.kind = LEAT_ATTR_FLOAT, .is_list = true, .count = 4,
                             .floats = ratios}};
  const leat_output_t pool =
      scene_output(&s, op, "pool", "", LEAT_INPUTS(input), (leat_attrs_t){&attr, 1});
  assert_int_equal(leat_graph_output_shape(s.graph, pool).dims[d], wanted);
  LEAT_EXPECT_OK(scene_fetch(&s, pool, &value));
  assert_int_equal(leat_shape_dim(&value.shape, d), wanted);
  assert_int_equal(value.shape.element_count, wanted);
  assert_int_equal(leat_tensor_data(&value, const int32_t)[wanted - 1], 7);
  leat_tensor_release(&value);
  scene_close(&s);
}

// A float cannot hold 2^24 + 1 or 2^24 + 3. One image too few in the output would be written beyond
// its end, and one row too many would be the mean of an empty window.
static void a_ratio_of_1_keeps_the_size(void** state) {
  check_size("FractionalMaxPool", 0, (1 << 24) + 1, 1, (1 << 24) + 1);
  check_size("FractionalAvgPool", 1, (1 << 24) + 3, 1, (1 << 24) + 3);
}

// TensorFlow divides in float: 11 / 1.1f is 9.9999998, which as a float is 10. These sizes are
// TensorFlow's.
static void other_ratios_divide_in_float(void** state) {
  check_size("FractionalMaxPool", 1, 11, 1.1f, 10);
  check_size("FractionalMaxPool", 1, 22, 1.1f, 20);
  check_size("FractionalAvgPool", 2, 144, 1.44f, 99);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_ratio_of_1_keeps_the_size),
      cmocka_unit_test(other_ratios_divide_in_float),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return leat_op_cases_main(__FILE__, kCases, sizeof kCases / sizeof *kCases) || failed;
}
