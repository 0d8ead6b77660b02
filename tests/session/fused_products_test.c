// The fused products (_FusedMatMul, _FusedBatchMatMulV2, _FusedConv2D, _FusedDepthwiseConv2dNative)
// against the ops that they stand for, one node each: every list of ops that may follow, over
// products of many shapes and types, must give the same bits as the chain of nodes. There are two
// exceptions. oneDNN may add a bias before the last products, so that a convolution of float with a
// bias may differ by roundings. And a GELU, which is no op, is several nodes, each of which rounds
// to half or bfloat16.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "session/scene.h"
#include "slowdown.h"

enum { FIRSTS = 3, ADDITIONS = 4, ACTIVATIONS = 9 };

static const char* const kFirsts[FIRSTS] = {NULL, "BiasAdd", "FusedBatchNorm"};
static const char* const kAdditions[ADDITIONS] = {NULL, "Add", "Sub", "ReverseSub"};
static const char* const kActivations[ACTIVATIONS] = {
    NULL, "Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid", "GeluApproximate", "GeluExact"};

// A product without what follows it.
typedef struct product_s {
  const char* fused;  // the op
  const char* plain;
  int rank;                     // of these shapes; 0: 2 of matrices, 4 of a convolution
  int64_t first[4], second[4];
  int64_t result[4];
  bool transposed;              // transposed matrices
  const char* padding;          // NULL: a matrix product
  int stride, dilation;
  bool channels_first;
  int64_t around[4];            // EXPLICIT padding: top, bottom, left, right
} product_t;

#define MATRICES .fused = "_FusedMatMul", .plain = "MatMul"
#define BATCHES .fused = "_FusedBatchMatMulV2", .plain = "BatchMatMulV2", .rank = 3
#define CONV .fused = "_FusedConv2D", .plain = "Conv2D"
#define DEPTHWISE .fused = "_FusedDepthwiseConv2dNative", .plain = "DepthwiseConv2dNative"
#define SLIDES(how, by, apart) .padding = how, .stride = by, .dilation = apart
static const product_t kProducts[] = {
    {MATRICES, .first = {1, 4}, .second = {4, 5}, .result = {1, 5}},
    {MATRICES, .first = {7, 33}, .second = {33, 17}, .result = {7, 17}},
    {MATRICES, .first = {9, 30}, .second = {40, 9}, .result = {30, 40}, .transposed = true},
    {MATRICES, .first = {3, 6}, .second = {6, 1100}, .result = {3, 1100}},
    {MATRICES, .first = {0, 6}, .second = {6, 4}, .result = {0, 4}},
    {BATCHES, .first = {3, 7, 33}, .second = {3, 33, 17}, .result = {3, 7, 17}},
    {BATCHES, .first = {1, 9, 30}, .second = {4, 40, 9}, .result = {4, 30, 40}, .transposed = true},
    {BATCHES, .first = {5, 3, 6}, .second = {1, 6, 1100}, .result = {5, 3, 1100}},
    {BATCHES, .first = {2, 0, 6}, .second = {2, 6, 4}, .result = {2, 0, 4}},
    {CONV, .first = {2, 9, 8, 5}, .second = {3, 3, 5, 17}, .result = {2, 9, 8, 17},
     SLIDES("SAME", 1, 1)},
    {CONV, .first = {2, 9, 8, 5}, .second = {3, 2, 5, 16}, .result = {2, 4, 4, 16},
     SLIDES("VALID", 2, 1)},
    {CONV, .first = {1, 9, 8, 4}, .second = {3, 3, 2, 6}, .result = {1, 9, 8, 6},
     SLIDES("SAME", 1, 2)},
    {CONV, .first = {3, 5, 4, 6}, .second = {1, 1, 6, 13}, .result = {3, 5, 4, 13},
     SLIDES("SAME", 1, 1)},
    {CONV, .first = {1, 5, 6, 3}, .second = {3, 3, 3, 7}, .result = {1, 7, 5, 7},
     SLIDES("EXPLICIT", 1, 1), .around = {3, 1, 0, 1}},
    {CONV, .first = {2, 5, 9, 8}, .second = {3, 3, 5, 7}, .result = {2, 7, 9, 8},
     SLIDES("SAME", 1, 1), .channels_first = true},
    {CONV, .first = {0, 9, 8, 5}, .second = {3, 3, 5, 4}, .result = {0, 9, 8, 4},
     SLIDES("SAME", 1, 1)},
    {DEPTHWISE, .first = {2, 9, 8, 5}, .second = {3, 3, 5, 2}, .result = {2, 9, 8, 10},
     SLIDES("SAME", 1, 1)},
    {DEPTHWISE, .first = {2, 9, 9, 17}, .second = {3, 3, 17, 1}, .result = {2, 4, 4, 17},
     SLIDES("VALID", 2, 1)},
    {DEPTHWISE, .first = {1, 3, 8, 8}, .second = {3, 3, 3, 2}, .result = {1, 6, 8, 8},
     SLIDES("SAME", 1, 1), .channels_first = true},
};

// A list of fused ops by number.
typedef struct list_s {
  int first, addition, activation;
} list_t;

static bool is_matrix(const product_t* p) { return !p->padding; }
static int rank_of(const product_t* p) { return p->rank ? p->rank : is_matrix(p) ? 2 : 4; }
static int64_t channels_of(const product_t* p) {
  return p->result[p->channels_first ? 1 : rank_of(p) - 1];
}

// Numbers in [low, high), converted to |dtype|.
static leat_output_t numbers(scene_t* s, int dtype, int rank, const int64_t* dims, float low,
                             float high) {
  static uint32_t state = 1;
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(rank, dims, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  for (int64_t i = 0; i < shape.element_count; ++i) {
    state = state * 1664525 + 1013904223;
    leat_tensor_data(&tensor, float)[i] = low + (high - low) * (float)(state >> 8) * 0x1p-24f;
  }
  leat_output_t x = leat_build_constant(&s->b, &tensor);
  leat_tensor_release(&tensor);
  if (dtype == LEAT_DTYPE_FLOAT) return x;
  return scene_output(s, "Cast", "", "", LEAT_INPUTS(x), LEAT_ATTRS(LEAT_TYPE("DstT", dtype)));
}

static leat_output_t cast(scene_t* s, leat_output_t x, int dtype) {
  return scene_output(s, "Cast", "", "", LEAT_INPUTS(x), LEAT_ATTRS(LEAT_TYPE("DstT", dtype)));
}

static leat_output_t reshape(scene_t* s, leat_output_t x, int rank, const int64_t* dims) {
  int32_t sizes[4];
  for (int d = 0; d < rank; ++d) sizes[d] = (int32_t)dims[d];
  return scene_binary(s, "Reshape", -1, x, leat_build_int32_vector(&s->b, sizes, rank));
}

#define LIST(attr, item_kind, field, n, ...) \
  {LEAT_SV(attr), {.kind = item_kind, .is_list = true, .field = (__VA_ARGS__), .count = (n)}}

// Everything that a product and what follows it read.
typedef struct values_s {
  leat_output_t operands[2], vectors[4], bias, addend;
} values_t;

static values_t make_values(scene_t* s, const product_t* p, int dtype) {
  const int rank = rank_of(p);
  const int64_t channels = channels_of(p);
  values_t v;
  v.operands[0] = numbers(s, dtype, rank, p->first, -2, 2);
  v.operands[1] = numbers(s, dtype, rank, p->second, -1, 1);
  v.bias = numbers(s, dtype, 1, &channels, -2, 2);
  v.addend = numbers(s, dtype, rank, p->result, -2, 2);
  for (int i = 0; i < 3; ++i) v.vectors[i] = numbers(s, dtype, 1, &channels, -2, 2);
  v.vectors[3] = numbers(s, dtype, 1, &channels, 0.25f, 4);
  return v;
}

static int add_window(const product_t* p, leat_attr_t* attrs, int64_t lists[3][8]) {
  const leat_string_view_t padding = leat_string_view_from(p->padding);
  const int row = p->channels_first ? 2 : 1;
  int count = 0;
  for (int d = 0; d < 4; ++d) {
    const bool slides = d == row || d == row + 1;
    lists[0][d] = slides ? p->stride : 1;
    lists[1][d] = slides ? p->dilation : 1;
  }
  memset(lists[2], 0, 8 * sizeof(int64_t));
  memcpy(&lists[2][2 * row], p->around, sizeof p->around);
  attrs[count++] = (leat_attr_t)LIST("strides", LEAT_ATTR_INT, ints, 4, lists[0]);
  attrs[count++] = (leat_attr_t)LIST("dilations", LEAT_ATTR_INT, ints, 4, lists[1]);
  attrs[count++] = LEAT_STRING("padding", padding);
  if (p->channels_first) attrs[count++] = LEAT_STR("data_format", "NCHW");
  if (!strcmp(p->padding, "EXPLICIT")) {
    attrs[count++] = (leat_attr_t)LIST("explicit_paddings", LEAT_ATTR_INT, ints, 8, lists[2]);
  }
  return count;
}

static int add_transpositions(const product_t* p, leat_attr_t* attrs) {
  const bool is_batch = p->rank == 3;
  attrs[0] = LEAT_BOOL("transpose_a", p->transposed);
  attrs[1] = LEAT_BOOL("transpose_b", p->transposed);
  if (is_batch) attrs[0].name = LEAT_SV("adj_x");
  if (is_batch) attrs[1].name = LEAT_SV("adj_y");
  return 2;
}

static leat_output_t build_plain(scene_t* s, const product_t* p, const values_t* v) {
  leat_attr_t attrs[8];
  int64_t lists[3][8];
  const int count = is_matrix(p) ? add_transpositions(p, attrs) : add_window(p, attrs, lists);
  return scene_output(s, p->plain, "", "", LEAT_INPUTS(v->operands[0], v->operands[1]),
                      (leat_attrs_t){attrs, count});
}

static leat_output_t build_fused(scene_t* s, const product_t* p, const values_t* v, int dtype,
                                 list_t list) {
  leat_output_t inputs[8] = {v->operands[0], v->operands[1]};
  leat_string_view_t ops[3];
  leat_attr_t attrs[12];
  int64_t lists[3][8];
  int args = 0, op_count = 0, count = 0;
  if (list.first == 1) inputs[2 + args++] = v->bias;
  for (int i = 0; i < 4 && list.first == 2; ++i) inputs[2 + args++] = v->vectors[i];
  if (list.addition) inputs[2 + args++] = v->addend;
  if (list.first) ops[op_count++] = leat_string_view_from(kFirsts[list.first]);
  if (list.addition) ops[op_count++] = leat_string_view_from(kAdditions[list.addition]);
  if (list.activation) ops[op_count++] = leat_string_view_from(kActivations[list.activation]);
  attrs[count++] = (leat_attr_t)LIST("fused_ops", LEAT_ATTR_STRING, strings, (uint32_t)op_count,
                                     ops);
  attrs[count++] = LEAT_INT("num_args", args);
  attrs[count++] = LEAT_REAL("leakyrelu_alpha", 0.3f);
  attrs[count++] = LEAT_REAL("epsilon", 0.001f);
  const int32_t types[] = {dtype, dtype, dtype, dtype, dtype};
  count += is_matrix(p) ? add_transpositions(p, attrs + count)
                        : add_window(p, attrs + count, lists);
  if (!strcmp(p->fused, "_FusedConv2D")) {
    if (args == 0) inputs[2 + args++] = v->bias;  // the op wants one, which is not read
    attrs[count++] = (leat_attr_t)LIST("TArgs", LEAT_ATTR_TYPE, types, (uint32_t)args, types);
    attrs[count++] = LEAT_INT("num_host_args", 0);
  }
  return scene_output(s, p->fused, "", "", (leat_outputs_t){inputs, 2 + args},
                      (leat_attrs_t){attrs, count});
}

static leat_output_t normalize(scene_t* s, const product_t* p, const values_t* v, int dtype,
                               leat_output_t x) {
  if (dtype == LEAT_DTYPE_DOUBLE) {  // FusedBatchNorm is none of doubles
    const leat_output_t epsilon = leat_build_scalar(&s->b, dtype, (double)0.001f);
    const leat_output_t sum = scene_binary(s, "AddV2", -1, v->vectors[3], epsilon);
    const leat_output_t deviation = scene_unary(s, "Sqrt", -1, sum);
    const leat_output_t factor = scene_binary(s, "RealDiv", -1, v->vectors[0], deviation);
    const leat_output_t centred = scene_binary(s, "Sub", -1, x, v->vectors[2]);
    const leat_output_t product = scene_binary(s, "Mul", -1, centred, factor);
    return scene_binary(s, "AddV2", -1, product, v->vectors[1]);
  }
  leat_output_t inputs[5] = {x};
  const int64_t image[] = {p->result[0], p->rank == 3 ? p->result[1] : 1, 1, channels_of(p)};
  if (is_matrix(p)) inputs[0] = reshape(s, x, 4, image);
  for (int i = 0; i < 4; ++i) inputs[1 + i] = cast(s, v->vectors[i], LEAT_DTYPE_FLOAT);
  const leat_string_view_t format = p->channels_first ? LEAT_SV("NCHW") : LEAT_SV("NHWC");
  leat_output_t y = scene_output(
      s, "FusedBatchNormV3", "", "", (leat_outputs_t){inputs, 5},
      LEAT_ATTRS(LEAT_BOOL("is_training", false), LEAT_REAL("epsilon", 0.001f),
                 LEAT_STRING("data_format", format)));
  return is_matrix(p) ? reshape(s, y, rank_of(p), p->result) : y;
}

// x / 2 (1 + f(...)), where f is the error function or, for the approximation, tanh.
static leat_output_t gelu(scene_t* s, int dtype, leat_output_t x, bool is_exact) {
  leat_output_t inner;
  if (is_exact) {
    const leat_output_t factor = leat_build_scalar(&s->b, dtype, 0.70710678118654752440);
    inner = scene_unary(s, "Erf", -1, scene_binary(s, "Mul", -1, x, factor));
  } else {
    const leat_output_t square = scene_binary(s, "Mul", -1, x, x);
    const leat_output_t cube = scene_binary(s, "Mul", -1, square, x);
    const leat_output_t part =
        scene_binary(s, "Mul", -1, leat_build_scalar(&s->b, dtype, 0.044715), cube);
    const leat_output_t sum = scene_binary(s, "AddV2", -1, x, part);
    const leat_output_t factor = leat_build_scalar(&s->b, dtype, 0.79788456080286535588);
    inner = scene_unary(s, "Tanh", -1, scene_binary(s, "Mul", -1, factor, sum));
  }
  const leat_output_t half = scene_binary(s, "Mul", -1, leat_build_scalar(&s->b, dtype, 0.5), x);
  return scene_binary(s, "Mul", -1, half,
                      scene_binary(s, "AddV2", -1, leat_build_scalar(&s->b, dtype, 1), inner));
}

static leat_output_t build_chain(scene_t* s, const product_t* p, const values_t* v, int dtype,
                                 list_t list) {
  leat_output_t y = build_plain(s, p, v);
  if (list.first == 1) {
    const leat_string_view_t format = p->channels_first ? LEAT_SV("NCHW") : LEAT_SV("NHWC");
    y = scene_output(s, "BiasAdd", "", "", LEAT_INPUTS(y, v->bias),
                     LEAT_ATTRS(LEAT_STRING("data_format", format)));
  }
  if (list.first == 2) y = normalize(s, p, v, dtype, y);
  if (list.addition == 1) y = scene_binary(s, "AddV2", -1, y, v->addend);
  if (list.addition == 2) y = scene_binary(s, "Sub", -1, y, v->addend);
  if (list.addition == 3) y = scene_binary(s, "Sub", -1, v->addend, y);
  const char* activation = kActivations[list.activation];
  if (!activation) return y;
  if (!strcmp(activation, "LeakyRelu")) {
    return scene_output(s, activation, "", "", LEAT_INPUTS(y),
                        LEAT_ATTRS(LEAT_REAL("alpha", 0.3f)));
  }
  if (!strncmp(activation, "Gelu", 4)) return gelu(s, dtype, y, !strcmp(activation, "GeluExact"));
  return scene_unary(s, activation, -1, y);
}

// How far the two may be apart, relative above 1 and absolute below; 0: not a bit.
static double tolerance_of(const product_t* p, int dtype, list_t list) {
  const bool is_gelu = list.activation >= 7;
  if (is_gelu && dtype == LEAT_DTYPE_HALF) return 0x1p-8;
  if (is_gelu && dtype == LEAT_DTYPE_BFLOAT16) return 0x1p-5;
  const bool may_be_onednn = !is_matrix(p) && dtype == LEAT_DTYPE_FLOAT && list.first == 1;
  return may_be_onednn ? 4e-6 : 0;
}

static double number_at(const leat_tensor_t* wide, int64_t i) {
  return leat_tensor_data(wide, const double)[i];
}

static void compare(const product_t* p, int dtype, list_t list, const leat_tensor_t* fused,
                    const leat_tensor_t* chain) {
  const double tolerance = tolerance_of(p, dtype, list);
  assert_true(leat_shape_equal(&fused->shape, &chain->shape));
  for (int64_t i = 0; i < fused->shape.element_count; ++i) {
    const double x = number_at(fused, i), y = number_at(chain, i);
    if (fabs(x - y) <= tolerance * fmax(1, fabs(y))) continue;
    fail_msg("%s %s [%s %s %s] number %ld: %.9g, must be %.9g", p->fused, leat_dtype_name(dtype),
             list.first ? kFirsts[list.first] : "", list.addition ? kAdditions[list.addition] : "",
             list.activation ? kActivations[list.activation] : "", (long)i, x, y);
  }
}

// Runs every |step|-th list over one product; with 4 threads, every second of these as a session
// that promises the same bits for any number of threads.
static void check_product(const product_t* p, int dtype, int threads, int step) {
  for (int i = 1; i < FIRSTS * ADDITIONS * ACTIVATIONS; i += step) {
    const list_t list = {i % FIRSTS, i / FIRSTS % ADDITIONS, i / FIRSTS / ADDITIONS};
    scene_t s;
    leat_tensor_t values[2];
    scene_open(&s);
    s.options.intra_op_threads = threads;
    s.options.deterministic = threads == 4 && i % 2 == 0;
    const values_t v = make_values(&s, p, dtype);
    const leat_output_t fused = build_fused(&s, p, &v, dtype, list);
    const leat_output_t chain = build_chain(&s, p, &v, dtype, list);
    LEAT_EXPECT_OK(scene_run(&s, LEAT_NO_INPUTS, NULL,
                             LEAT_INPUTS(cast(&s, fused, LEAT_DTYPE_DOUBLE),
                                         cast(&s, chain, LEAT_DTYPE_DOUBLE)),
                             values, NULL, 0));
    compare(p, dtype, list, &values[0], &values[1]);
    for (int k = 0; k < 2; ++k) leat_tensor_release(&values[k]);
    scene_close(&s);
  }
}

static bool takes(const product_t* p, int dtype) {
  if (is_matrix(p)) return dtype != LEAT_DTYPE_DOUBLE;
  if (dtype == LEAT_DTYPE_DOUBLE) return !p->channels_first;  // for the chain's sake
  return dtype != LEAT_DTYPE_BFLOAT16 || strcmp(p->fused, "_FusedConv2D") != 0;
}

static void test_every_list(void** state) {
  (void)state;
  static const int kTypes[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_DOUBLE, LEAT_DTYPE_HALF,
                               LEAT_DTYPE_BFLOAT16};
  for (size_t i = 0; i < sizeof kProducts / sizeof kProducts[0]; ++i) {
    for (int t = 0; t < 4; ++t) {
      if (!takes(&kProducts[i], kTypes[t])) continue;
      check_product(&kProducts[i], kTypes[t], 1, LEAT_SLOWDOWN);
    }
    check_product(&kProducts[i], LEAT_DTYPE_FLOAT, 4, 5);
  }
}

// Results that are larger than the second-level cache are computed block by block.
static void test_large_results(void** state) {
  (void)state;
  static const product_t kLarge[] = {
      {MATRICES, .first = {3000, 20}, .second = {20, 210}, .result = {3000, 210}},
      {BATCHES, .first = {3, 1000, 20}, .second = {3, 20, 210}, .result = {3, 1000, 210}},
      {BATCHES, .first = {2, 900, 64}, .second = {2, 64, 210}, .result = {2, 900, 210}},
      {CONV, .first = {3, 80, 70, 4}, .second = {3, 3, 4, 60}, .result = {3, 80, 70, 60},
       SLIDES("SAME", 1, 1)},
      {CONV, .first = {1, 180, 180, 4}, .second = {3, 3, 4, 40}, .result = {1, 180, 180, 40},
       SLIDES("SAME", 1, 1)},
      {CONV, .first = {3, 80, 70, 20}, .second = {1, 1, 20, 60}, .result = {3, 80, 70, 60},
       SLIDES("SAME", 1, 1)},
      {DEPTHWISE, .first = {2, 90, 90, 40}, .second = {3, 3, 40, 1}, .result = {2, 90, 90, 40},
       SLIDES("SAME", 1, 1)},
  };
  for (size_t i = 0; i < sizeof kLarge / sizeof kLarge[0]; ++i) {
    check_product(&kLarge[i], LEAT_DTYPE_FLOAT, 1, 17);
    check_product(&kLarge[i], LEAT_DTYPE_FLOAT, 4, 17);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_list),
                                     cmocka_unit_test(test_large_results)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
