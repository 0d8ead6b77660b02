// What is joined, worked on and taken apart again has the same values when the optimizer works on
// the pieces and joins nothing. A case names a node that reads a concatenation; its value is
// computed twice: once fetched as a whole, for which the concatenation must be made, and once taken
// apart, or reduced, where it need not be. Bits must agree, but for sums, which are added in
// another order. Every case runs on both executors, with the optimizer off and on.
#include <math.h>
#include <string.h>

#include "graph/op/op.h"
#include "session/flow.h"

enum { FIRST = 2, SECOND = 3, BOTH = FIRST + SECOND, WIDTH = 4, MAX_COUNT = 64 };

// Matrices of FIRST and SECOND rows or columns are joined along |axis|; their other axis is WIDTH
// long. |read| makes what reads the joined value, and |cut| is the axis of its result that is taken
// apart.
typedef struct case_s {
  const char* name;
  int axis, cut;
  leat_output_t (*read)(scene_t* s, leat_output_t joined);
} case_t;

static leat_output_t matrix(scene_t* s, int rows, int columns) {
  float numbers[MAX_COUNT];
  for (int i = 0; i < rows * columns; ++i) numbers[i] = cosf((float)i);
  return scene_binary(s, "Reshape", -1, scene_floats(s, rows * columns, numbers),
                      leat_build_int32_vector(&s->b, (const int32_t[]){rows, columns}, 2));
}

static leat_output_t ints(scene_t* s, int count, const int32_t* values) {
  return leat_build_int32_vector(&s->b, values, count);
}

static leat_output_t pad_columns(scene_t* s, leat_output_t x) {
  return scene_binary(s, "Tile", -1, x, ints(s, 2, (const int32_t[]){1, 2}));
}
static leat_output_t turn(scene_t* s, leat_output_t x) {
  return scene_binary(s, "Transpose", -1, x, ints(s, 2, (const int32_t[]){1, 0}));
}
static leat_output_t soften(scene_t* s, leat_output_t x) {
  return scene_unary(s, "Softmax", -1, x);
}
static leat_output_t product(scene_t* s, leat_output_t a, leat_output_t b, bool a_transposed,
                             bool b_transposed) {
  return scene_output(
      s, "MatMul", "", "", LEAT_INPUTS(a, b),
      LEAT_ATTRS(LEAT_BOOL("transpose_a", a_transposed), LEAT_BOOL("transpose_b", b_transposed)));
}
static leat_output_t rows_times(scene_t* s, leat_output_t x) {
  return product(s, x, matrix(s, WIDTH, 3), false, false);
}
static leat_output_t transposed_rows_times(scene_t* s, leat_output_t x) {
  return product(s, x, matrix(s, 3, WIDTH), true, true);
}
static leat_output_t times_columns(scene_t* s, leat_output_t x) {
  return product(s, matrix(s, 3, WIDTH), x, false, false);
}
static leat_output_t times_transposed_columns(scene_t* s, leat_output_t x) {
  return product(s, matrix(s, WIDTH, 3), x, true, true);
}
static leat_output_t reduce(scene_t* s, const char* op, leat_output_t x, int32_t axis,
                            bool keep_dims) {
  return scene_output(s, op, "", "", LEAT_INPUTS(x, ints(s, 1, &axis)),
                      LEAT_ATTRS(LEAT_BOOL("keep_dims", keep_dims)));
}
static leat_output_t sum_columns(scene_t* s, leat_output_t x) {
  return reduce(s, "Sum", x, 1, false);
}
static leat_output_t keep_maxima(scene_t* s, leat_output_t x) {
  return reduce(s, "Max", x, -2, true);
}
static leat_output_t look_up(scene_t* s, leat_output_t x) {
  return scene_output(s, "GatherV2", "", "",
                      LEAT_INPUTS(x, ints(s, 3, (const int32_t[]){2, 0, 2}), flow_int(s, 0)),
                      LEAT_NO_ATTRS);
}
static leat_output_t add_row(scene_t* s, leat_output_t x) {
  return scene_binary(s, "AddV2", -1, scene_unary(s, "Exp", -1, x), matrix(s, 1, WIDTH));
}

static const case_t kCases[] = {
    {"a row is added", 0, 0, add_row},
    {"columns are repeated", 0, 0, pad_columns},
    {"axes are exchanged", 0, 1, turn},
    {"rows are normalized", 0, 0, soften},
    {"rows are multiplied", 0, 0, rows_times},
    {"rows are multiplied, transposed", 1, 0, transposed_rows_times},
    {"columns are multiplied", 1, 1, times_columns},
    {"columns are multiplied, transposed", 0, 1, times_transposed_columns},
    {"other axes are summed", 0, 0, sum_columns},
    {"maxima of other axes", 1, 1, keep_maxima},
    {"rows of a joined table", 1, 1, look_up},
};

static leat_output_t join(scene_t* s, leat_output_t a, leat_output_t b, int axis) {
  return scene_output(s, "ConcatV2", "", "", LEAT_INPUTS(a, b, flow_int(s, axis)), LEAT_NO_ATTRS);
}

// Piece |i| of |x| along |axis| of |rank| axes.
static leat_output_t take(scene_t* s, leat_output_t x, int rank, int axis, int i) {
  int32_t begin[2] = {0, 0}, size[2] = {-1, -1};
  begin[axis] = i ? FIRST : 0;
  size[axis] = i ? SECOND : FIRST;
  return scene_output(s, "Slice", "", "", LEAT_INPUTS(x, ints(s, rank, begin), ints(s, rank, size)),
                      LEAT_NO_ATTRS);
}

static leat_tensor_t fed_tensor(const int64_t dims[2], int first) {
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(2, dims, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  for (int64_t i = 0; i < shape.element_count; ++i) {
    leat_tensor_data(&tensor, float)[i] = sinf((float)(first + i));
  }
  leat_shape_release(&shape);
  return tensor;
}

// Runs a step that feeds both pieces, joined at |axis|.
static void run(scene_t* s, const leat_output_t pieces[2], int axis, leat_outputs_t fetches,
                leat_tensor_t* out_values) {
  leat_tensor_t fed[2];
  for (int i = 0; i < 2; ++i) {
    int64_t dims[2] = {WIDTH, WIDTH};
    dims[axis] = i ? SECOND : FIRST;
    fed[i] = fed_tensor(dims, 10 * i);
  }
  LEAT_EXPECT_OK(
      scene_run(s, LEAT_INPUTS(pieces[0], pieces[1]), fed, fetches, out_values, NULL, 0));
}

// Compares piece |i| along |axis| of |whole| with |piece|.
static void expect_piece(const leat_tensor_t* whole, int axis, int i, const leat_tensor_t* piece) {
  const int64_t length = i ? SECOND : FIRST, begin = i ? FIRST : 0;
  const int64_t inner = leat_shape_product(&whole->shape, axis + 1, whole->shape.rank);
  const int64_t outer = leat_shape_product(&whole->shape, 0, axis);
  assert_int_equal(leat_shape_dim(&piece->shape, axis), length);
  assert_int_equal(piece->shape.element_count, outer * length * inner);
  for (int64_t o = 0; o < outer; ++o) {
    assert_memory_equal(
        leat_tensor_data(piece, const float) + o * length * inner,
        leat_tensor_data(whole, const float) + (o * BOTH + begin) * inner,
        (size_t)(length * inner) * sizeof(float));
  }
}

static void make_pieces(scene_t* s, int axis, leat_output_t out_pieces[2]) {
  for (int i = 0; i < 2; ++i) {
    const int length = i ? SECOND : FIRST;
    out_pieces[i] = scene_matrix(s, "", axis ? WIDTH : length, axis ? length : WIDTH);
  }
}

static void pieces_are_those_of_the_whole(scene_t* s) {
  s->options.optimizer.fusion_limit_elements = 1;
  for (size_t c = 0; c < LEAT_ARRAY_SIZE(kCases); ++c) {
    const case_t* one = &kCases[c];
    leat_output_t pieces[2];
    leat_tensor_t whole, taken[2];
    make_pieces(s, one->axis, pieces);
    leat_output_t y = one->read(s, join(s, pieces[0], pieces[1], one->axis));
    const int rank = leat_graph_output_shape(s->b.graph, y).rank;
    leat_output_t fetches[2];
    for (int i = 0; i < 2; ++i) fetches[i] = take(s, y, rank, one->cut, i);
    run(s, pieces, one->axis, LEAT_INPUTS(y), &whole);
    run(s, pieces, one->axis, (leat_outputs_t){fetches, 2}, taken);
    for (int i = 0; i < 2; ++i) {
      expect_piece(&whole, one->cut, i, &taken[i]);
      leat_tensor_release(&taken[i]);
    }
    leat_tensor_release(&whole);
  }
}

static void expect_close(const leat_tensor_t* a, const leat_tensor_t* b) {
  assert_true(leat_shape_equal(&a->shape, &b->shape));
  for (int64_t k = 0; k < a->shape.element_count; ++k) {
    const float x = leat_tensor_data(a, const float)[k], y = leat_tensor_data(b, const float)[k];
    assert_int_equal(isnan(x), isnan(y));
    if (!isnan(x)) assert_float_equal(x, y, 1e-6);
  }
}

// The reduction of what is joined: while the joined value is fetched too, it is made. The square
// roots of negative numbers are NaN, which a reduction and the op that combines two results must
// treat alike.
static void reductions_are_made_of_pieces(scene_t* s) {
  static const char* const kOps[] = {"Sum", "Mean", "Prod", "Min", "Max"};
  s->options.optimizer.fusion_limit_elements = 1;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kOps) * 8; ++i) {
    const bool keep_dims = i & 1, all = i & 2, with_nan = i & 4;
    leat_output_t pieces[2];
    leat_tensor_t values[2], alone;
    make_pieces(s, 1, pieces);
    leat_output_t joined =
        scene_unary(s, with_nan ? "Sqrt" : "Sin", -1, join(s, pieces[0], pieces[1], 1));
    leat_output_t y = scene_output(
        s, kOps[i / 8], "", "",
        LEAT_INPUTS(joined, ints(s, all ? 2 : 1, (const int32_t[]){1, -2})),
        LEAT_ATTRS(LEAT_BOOL("keep_dims", keep_dims)));
    run(s, pieces, 1, LEAT_INPUTS(y, joined), values);
    run(s, pieces, 1, LEAT_INPUTS(y), &alone);
    expect_close(&values[0], &alone);
    leat_tensor_release(&values[0]);
    leat_tensor_release(&values[1]);
    leat_tensor_release(&alone);
  }
}

// What is packed along a new axis, and unpacked along it.
static void packed_pieces_are_those_of_the_whole(scene_t* s) {
  s->options.optimizer.fusion_limit_elements = 1;
  for (int axis = -3; axis < 3; ++axis) {
    leat_output_t x = scene_matrix(s, "", FIRST, WIDTH);
    leat_output_t double_x = scene_binary(s, "Mul", -1, x, scene_float(s, 2));
    leat_output_t packed = scene_output(s, "Pack", "", "", LEAT_INPUTS(x, double_x),
                                        LEAT_ATTRS(LEAT_INT("axis", axis)));
    leat_output_t y = scene_unary(s, "Neg", -1, packed);
    const int32_t unpacked = scene_node(s, "Unpack", "", "", LEAT_INPUTS(y),
                                        LEAT_ATTRS(LEAT_INT("num", 2), LEAT_INT("axis", axis)));
    const int64_t dims[2] = {FIRST, WIDTH};
    leat_tensor_t fed = fed_tensor(dims, 3), values[2];
    const leat_tensor_t given = leat_tensor_share(&fed);
    leat_output_t fetches[] = {leat_node_output(unpacked, 0), leat_node_output(unpacked, 1)};
    LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(x), &fed, (leat_outputs_t){fetches, 2}, values, NULL,
                             0));
    for (int i = 0; i < 2; ++i) {
      assert_true(leat_shape_equal(&values[i].shape, &given.shape));
      for (int64_t k = 0; k < given.shape.element_count; ++k) {
        const float expected = -(float)(i + 1) * leat_tensor_data(&given, const float)[k];
        assert_float_equal(leat_tensor_data(&values[i], const float)[k], expected, 0);
      }
      leat_tensor_release(&values[i]);
    }
    leat_tensor_release((leat_tensor_t*)&given);
  }
}

#define ALL_WAYS(test) \
  static void test##_all_ways(void** state) { scene_run_all_ways(test); }
ALL_WAYS(pieces_are_those_of_the_whole)
ALL_WAYS(reductions_are_made_of_pieces)
ALL_WAYS(packed_pieces_are_those_of_the_whole)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_are_those_of_the_whole_all_ways),
      cmocka_unit_test(reductions_are_made_of_pieces_all_ways),
      cmocka_unit_test(packed_pieces_are_those_of_the_whole_all_ways),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
