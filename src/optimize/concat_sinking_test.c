// The pass "concat_sinking" computes on the pieces of a concatenation where the result is cut into
// the same pieces again, so that nothing is joined. Each case builds such a graph, runs the pass
// alone (session/pass_scene.h) and counts the ConcatV2 nodes that are left or looks at what the
// pieces read. Most cases are graphs in which the whole must stay: somebody reads all of it, sizes
// are unknown, a piece may be dead or come later, or the pieces would cost more than the copies.
// The last section checks control edges: what happened after all pieces must still do so, yet a
// piece may not wait for the others. Values are compared in tests/session/pieces_test.c, with and
// without the pass.
#include <string.h>

#include "session/flow.h"
#include "session/pass_scene.h"

enum { ROWS = 3, LEFT = 2, RIGHT = 5, WIDTH = LEFT + RIGHT };

#define UNARY(op, x) scene_unary(&f->s, op, -1, x)
#define BINARY(op, x, y) scene_binary(&f->s, op, -1, x, y)
#define MATRIX(rows, columns) scene_matrix(&f->s, "", rows, columns)
#define FLOAT_ATTR LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT))

static int set_up(void** state) {
  pass_scene_set_up(state);
  ((pass_scene_t*)*state)->options.fusion_limit_elements = 1;
  return 0;
}

static void pieces(pass_scene_t* f, leat_outputs_t fetches) {
  pass_scene_shrink(f, &leat_pass_concat_sinking, fetches, -1);
}

static int count_of(const pass_scene_t* f, const char* op) {
  const leat_graph_t* graph = f->rewrite.graph;
  int count = 0;
  for (size_t i = 0; i < graph->node_count; ++i) count += pass_scene_is_op(&graph->nodes[i], op);
  return count;
}

static const leat_node_t* read_by(const pass_scene_t* f, const leat_node_t* node, int input) {
  return &f->rewrite.graph->nodes[node->inputs[input].node];
}

static leat_output_t ints(pass_scene_t* f, int count, const int32_t* values) {
  return leat_build_int32_vector(&f->s.b, values, count);
}

static leat_output_t join(pass_scene_t* f, leat_output_t a, leat_output_t b, int axis) {
  return scene_output(&f->s, "ConcatV2", "", "", LEAT_INPUTS(a, b, flow_int(&f->s, axis)),
                      LEAT_NO_ATTRS);
}

static leat_output_t box(pass_scene_t* f, leat_output_t x, int row, int column, int rows,
                         int columns) {
  leat_output_t begin = ints(f, 2, (const int32_t[]){row, column});
  leat_output_t size = ints(f, 2, (const int32_t[]){rows, columns});
  return scene_output(&f->s, "Slice", "", "", LEAT_INPUTS(x, begin, size), LEAT_NO_ATTRS);
}
static leat_output_t left(pass_scene_t* f, leat_output_t x) { return box(f, x, 0, 0, -1, LEFT); }
static leat_output_t right(pass_scene_t* f, leat_output_t x) {
  return box(f, x, 0, LEFT, ROWS, -1);
}

// Two columns and five, side by side.
static leat_output_t pair(pass_scene_t* f) {
  return join(f, MATRIX(ROWS, LEFT), MATRIX(ROWS, RIGHT), -1);
}

// first, first + step, ...
static leat_output_t numbers(pass_scene_t* f, int64_t rows, int64_t columns, float first,
                             float step) {
  const int64_t dims[] = {rows, columns};
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(2, dims, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  for (int64_t i = 0; i < rows * columns; ++i) {
    leat_tensor_data(&tensor, float)[i] = first + step * (float)i;
  }
  leat_output_t constant =
      scene_output(&f->s, "Const", "", "", LEAT_NO_INPUTS,
                   LEAT_ATTRS(LEAT_TENSOR("value", &tensor), LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  leat_tensor_release(&tensor);
  leat_shape_release(&shape);
  return constant;
}

static const leat_tensor_t* constant_read_by(const pass_scene_t* f, const leat_node_t* node,
                                             int input) {
  const leat_tensor_t* constant = leat_node_constant(read_by(f, node, input));
  assert_non_null(constant);
  return constant;
}

// Is something joined after the pass?
static bool stays(pass_scene_t* f, leat_outputs_t fetches) {
  pieces(f, fetches);
  return count_of(f, "ConcatV2") > 0;
}

// ---- Functions of elements ----------------------------------------------------------------------

static void each_piece_goes_its_own_way(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = UNARY("Neg", UNARY("Exp", pair(f)));
  pieces(f, LEAT_INPUTS(left(f, x), right(f, x)));
  assert_int_equal(f->rewrite.graph->node_count, 6);
  for (int i = 0; i < 2; ++i) {
    const leat_node_t* node = pass_scene_fetched(f, i);
    assert_true(pass_scene_is_op(node, "Neg"));
    assert_true(pass_scene_is_op(read_by(f, node, 0), "Exp"));
    assert_true(pass_scene_is_op(read_by(f, read_by(f, node, 0), 0), "Placeholder"));
    assert_int_equal(node->output_shapes[0].dims[1], i ? RIGHT : LEFT);
  }
}

static leat_output_t split(pass_scene_t* f, leat_output_t x, int axis, int output) {
  return leat_node_output(scene_node(&f->s, "Split", "", "", LEAT_INPUTS(flow_int(&f->s, axis), x),
                                     LEAT_ATTRS(LEAT_INT("num_split", 2))),
                          output);
}

static leat_output_t split_v(pass_scene_t* f, leat_output_t x, int first, int output) {
  leat_output_t sizes = ints(f, 2, (const int32_t[]){first, WIDTH - first});
  return leat_node_output(
      scene_node(&f->s, "SplitV", "", "", LEAT_INPUTS(x, sizes, flow_int(&f->s, 1)),
                 LEAT_ATTRS(LEAT_INT("num_split", 2))),
      output);
}

// A value may be taken apart by one node for all pieces.
static void a_split_takes_all_pieces(void** state) {
  pass_scene_t* f = *state;
  leat_output_t even = UNARY("Neg", join(f, MATRIX(ROWS, LEFT), MATRIX(ROWS, LEFT), 1));
  leat_output_t first = split(f, even, 1, 0);
  leat_output_t second = leat_node_output(first.node, 1);
  const int32_t after = UNARY("Exp", MATRIX(1, 1)).node;
  scene_after(&f->s, after, first.node);
  pieces(f, LEAT_INPUTS(second, first, leat_node_output(after, 0)));
  assert_int_equal(count_of(f, "ConcatV2") + count_of(f, "Split"), 0);
  for (int i = 0; i < 2; ++i) assert_true(pass_scene_is_op(pass_scene_fetched(f, i), "Neg"));
  assert_true(f->rewrite.fetches[0].node != f->rewrite.fetches[1].node);
  const leat_node_t* waiting = pass_scene_fetched(f, 2);  // for both pieces
  assert_int_equal(read_by(f, waiting, waiting->input_count)->control_count, 2);
  leat_output_t whole = UNARY("Neg", pair(f));
  leat_output_t narrow = split_v(f, whole, LEFT, 0);
  pieces(f, LEAT_INPUTS(narrow, leat_node_output(narrow.node, 1)));
  assert_int_equal(count_of(f, "ConcatV2") + count_of(f, "SplitV"), 0);
  assert_int_equal(pass_scene_fetched(f, 1)->output_shapes[0].dims[1], RIGHT);
  // Cut elsewhere, or along another axis.
  leat_output_t square = UNARY("Neg", join(f, MATRIX(4, 2), MATRIX(4, 2), 1));
  assert_true(stays(f, LEAT_INPUTS(split_v(f, whole, LEFT + 1, 0))));
  assert_true(stays(f, LEAT_INPUTS(split(f, square, 0, 0))));
}

static void constants_are_cut_or_repeated(void** state) {
  pass_scene_t* f = *state;
  leat_output_t full = numbers(f, ROWS, WIDTH, 0, 1), row = numbers(f, 1, WIDTH, 0, 1);
  leat_output_t column = MATRIX(ROWS, 1);
  leat_output_t x = BINARY("Mul", BINARY("AddV2", full, pair(f)), row);
  leat_output_t y = BINARY("Sub", BINARY("Maximum", x, column), scene_float(&f->s, 2));
  pieces(f, LEAT_INPUTS(left(f, y), right(f, y)));
  assert_int_equal(count_of(f, "ConcatV2") + count_of(f, "Slice"), 0);
  for (int i = 0; i < 2; ++i) {
    const int begin = i ? LEFT : 0, width = i ? RIGHT : LEFT;
    const leat_node_t* maximum = read_by(f, pass_scene_fetched(f, i), 0);
    assert_int_equal(maximum->inputs[1].node,
                     read_by(f, pass_scene_fetched(f, 1 - i), 0)->inputs[1].node);
    const leat_node_t* product = read_by(f, maximum, 0);
    const leat_tensor_t* rows = constant_read_by(f, product, 1);
    const leat_tensor_t* cut = constant_read_by(f, read_by(f, product, 0), 0);
    assert_int_equal(rows->shape.element_count, width);
    assert_int_equal(cut->shape.element_count, ROWS * width);
    for (int k = 0; k < ROWS * width; ++k) {
      const float expected = (float)(k / width * WIDTH + begin + k % width);
      assert_float_equal(leat_tensor_data(cut, const float)[k], expected, 0);
      if (k < width) {
        assert_float_equal(leat_tensor_data(rows, const float)[k], (float)(begin + k), 0);
      }
    }
  }
}

static void two_joined_alike_are_read_in_pieces(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = BINARY("Mul", pair(f), UNARY("Tanh", pair(f)));
  assert_false(stays(f, LEAT_INPUTS(left(f, x), right(f, x))));
  // Rows of a first dimension are joined and taken as columns are.
  leat_output_t rows = UNARY("Neg", join(f, MATRIX(2, 4), MATRIX(3, 4), 0));
  assert_false(stays(f, LEAT_INPUTS(box(f, rows, 0, 0, 2, 4), box(f, rows, 2, 0, 3, -1))));
  // What is not read of them is not made.
  assert_false(stays(f, LEAT_INPUTS(right(f, x))));
  assert_int_equal(count_of(f, "Tanh"), 1);
}

// ---- Who wants the whole ------------------------------------------------------------------------

static void what_others_want_whole_stays(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = UNARY("Exp", pair(f));
  assert_false(stays(f, LEAT_INPUTS(left(f, x), right(f, x))));
  assert_true(stays(f, LEAT_INPUTS(left(f, x), x)));                            // fetched
  assert_true(stays(f, LEAT_INPUTS(left(f, x), UNARY("L2Loss", x))));           // read
  assert_true(stays(f, LEAT_INPUTS(left(f, x), box(f, x, 0, 1, -1, RIGHT))));   // cut elsewhere
  assert_true(stays(f, LEAT_INPUTS(left(f, x), box(f, x, 0, LEFT, 2, RIGHT))));  // not all rows
  assert_true(stays(f, LEAT_INPUTS(left(f, BINARY("Mul", x, MATRIX(ROWS, WIDTH))))));
  leat_output_t otherwise = join(f, MATRIX(ROWS, RIGHT), MATRIX(ROWS, LEFT), 1);
  assert_true(stays(f, LEAT_INPUTS(left(f, BINARY("Mul", x, otherwise)))));
  leat_output_t columns = join(f, MATRIX(2, WIDTH), MATRIX(1, WIDTH), 0);
  assert_true(stays(f, LEAT_INPUTS(left(f, BINARY("Mul", x, columns)))));
}

static void what_is_not_known_stays(void** state) {
  pass_scene_t* f = *state;
  leat_output_t unknown = UNARY("Exp", join(f, MATRIX(ROWS, LEFT), MATRIX(ROWS, -1), 1));
  assert_true(stays(f, LEAT_INPUTS(left(f, unknown))));
  leat_output_t where = scene_placeholder(&f->s, "", LEAT_DTYPE_INT32);
  leat_output_t x = UNARY("Exp", pair(f));
  leat_output_t slice = scene_output(&f->s, "Slice", "", "",
                                     LEAT_INPUTS(x, where, ints(f, 2, (const int32_t[]){-1, LEFT})),
                                     LEAT_NO_ATTRS);
  assert_true(stays(f, LEAT_INPUTS(slice)));
  // The number of rows may be any.
  leat_output_t y = UNARY("Exp", join(f, MATRIX(-1, LEFT), MATRIX(-1, RIGHT), 1));
  assert_false(stays(f, LEAT_INPUTS(left(f, y))));
}

// Four nodes more would cost more than is saved by three nodes less and no copies of few elements.
static void few_elements_stay(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = pair(f);
  leat_output_t many = join(f, MATRIX(600, LEFT), MATRIX(600, RIGHT), 1);
  for (int i = 0; i < 4; ++i) {
    x = UNARY("Neg", x);
    many = UNARY("Neg", many);
  }
  f->options.fusion_limit_elements = 0;
  assert_true(stays(f, LEAT_INPUTS(left(f, x), right(f, x))));
  assert_false(stays(f, LEAT_INPUTS(left(f, many))));
  f->options.find_kernel = NULL;
  assert_true(stays(f, LEAT_INPUTS(left(f, many))));
}

// What has to be read again for every piece may take longer than the copies that are saved.
static void what_shares_much_stays(void** state) {
  pass_scene_t* f = *state;
  f->options.fusion_limit_elements = 0;
  for (int wide = 0; wide < 2; ++wide) {
    leat_output_t x = join(f, MATRIX(1, 8), MATRIX(1, 8), 0);
    leat_output_t y = BINARY("MatMul", x, MATRIX(8, wide ? 10000 : 10));
    assert_int_equal(stays(f, LEAT_INPUTS(box(f, y, 0, 0, 1, -1))), wide);
  }
}

// What waited for the concatenation goes on waiting for what that waited for.
static void what_waits_itself_stays(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = pair(f);
  scene_after(&f->s, x.node, scene_mark(&f->s, 0, -1));
  assert_true(stays(f, LEAT_INPUTS(left(f, UNARY("Exp", x)))));
}

// ---- Nodes that commute with a concatenation ----------------------------------------------------

// Along which axes the results of each are cut is compared by value in tests/session/pieces_test.c.
static void what_runs_along_the_cut_is_made_of_pieces(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = pair(f), rows = join(f, MATRIX(LEFT, 4), MATRIX(RIGHT, 4), 0);
  leat_output_t first = ints(f, 1, (const int32_t[]){0});
  const int32_t order[] = {1, 0}, once[] = {1, 3}, twice[] = {2, 1};
  leat_output_t transposed = BINARY("Transpose", x, ints(f, 2, order));
  assert_false(stays(f, LEAT_INPUTS(box(f, transposed, 0, 0, LEFT, -1))));
  assert_false(stays(f, LEAT_INPUTS(box(f, UNARY("Softmax", rows), 0, 0, LEFT, -1))));
  assert_true(stays(f, LEAT_INPUTS(left(f, UNARY("Softmax", x)))));
  leat_output_t times = BINARY("MatMul", rows, MATRIX(4, 2));
  assert_false(stays(f, LEAT_INPUTS(box(f, times, LEFT, 0, RIGHT, -1))));
  leat_output_t sums = BINARY("Sum", x, first);
  const int32_t zero = 0, length = LEFT;
  assert_false(stays(f, LEAT_INPUTS(scene_output(
                            &f->s, "Slice", "", "",
                            LEAT_INPUTS(sums, ints(f, 1, &zero), ints(f, 1, &length)),
                            LEAT_NO_ATTRS))));
  leat_output_t repeated = BINARY("Tile", rows, ints(f, 2, once));
  assert_false(stays(f, LEAT_INPUTS(box(f, repeated, 0, 0, LEFT, -1))));
  assert_true(stays(f, LEAT_INPUTS(box(f, BINARY("Tile", rows, ints(f, 2, twice)), 0, 0, LEFT,
                                       -1))));
}

static leat_output_t pack(pass_scene_t* f, int axis) {
  return scene_output(&f->s, "Pack", "", "", LEAT_INPUTS(MATRIX(ROWS, 4), MATRIX(ROWS, 4)),
                      LEAT_ATTRS(LEAT_INT("axis", axis)));
}
static leat_output_t unpack(pass_scene_t* f, leat_output_t x, int count, int axis) {
  return leat_node_output(
      scene_node(&f->s, "Unpack", "", "", LEAT_INPUTS(x),
                 LEAT_ATTRS(LEAT_INT("num", count), LEAT_INT("axis", axis))), 1);
}

static void packed_pieces_are_unpacked(void** state) {
  pass_scene_t* f = *state;
  pieces(f, LEAT_INPUTS(unpack(f, UNARY("Exp", pack(f, 1)), 2, -2)));
  assert_int_equal(count_of(f, "Pack") + count_of(f, "Unpack"), 0);
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "Squeeze"));
  pieces(f, LEAT_INPUTS(unpack(f, UNARY("Exp", pack(f, 0)), ROWS, 1)));  // along another axis
  assert_int_equal(count_of(f, "Pack"), 1);
  pieces(f, LEAT_INPUTS(unpack(f, UNARY("Exp", join(f, MATRIX(1, 4), MATRIX(2, 4), 0)), 3, 0)));
  assert_int_equal(count_of(f, "ConcatV2"), 1);  // one of the pieces is two rows
  // Two pieces are unpacked into two, but what is fed makes one of them two rows: the step fails.
  leat_output_t fed[] = {MATRIX(-1, 4), MATRIX(-1, 4)};
  leat_output_t rows = unpack(f, UNARY("Exp", join(f, fed[0], fed[1], 0)), 2, 0);
  for (int i = 0; i < 2; ++i) {
    const int64_t dims[] = {i + 1, 4};
    LEAT_EXPECT_OK(leat_graph_refine_shape(f->s.graph, fed[i], (leat_partial_shape_t){2, dims}));
  }
  pieces(f, LEAT_INPUTS(rows));
  assert_int_equal(count_of(f, "ConcatV2"), 1);
}

// A piece may come where the whole would not have.
static void what_comes_at_another_time_stays(void** state) {
  pass_scene_t* f = *state;
  leat_output_t sometimes =
      flow_switch(&f->s, MATRIX(ROWS, LEFT), scene_placeholder(&f->s, "", LEAT_DTYPE_BOOL), 1);
  leat_output_t x = UNARY("Exp", join(f, sometimes, MATRIX(ROWS, RIGHT), 1));
  assert_true(stays(f, LEAT_INPUTS(right(f, x))));
  x = UNARY("Exp", join(f, scene_wait(&f->s, 0, -1, MATRIX(ROWS, LEFT)), MATRIX(ROWS, RIGHT), 1));
  assert_true(stays(f, LEAT_INPUTS(right(f, x))));
  leat_output_t taken = flow_switch(&f->s, left(f, UNARY("Exp", pair(f))),
                                    scene_placeholder(&f->s, "", LEAT_DTYPE_BOOL), 1);
  assert_true(stays(f, LEAT_INPUTS(taken)));
}

// ---- Sums ---------------------------------------------------------------------------------------

static void sums_are_made_of_pieces(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = UNARY("Exp", pair(f));
  leat_output_t last = ints(f, 1, (const int32_t[]){1}), first = ints(f, 1, (const int32_t[]){0});
  assert_false(stays(f, LEAT_INPUTS(BINARY("Sum", x, last), left(f, x))));
  const leat_node_t* sum = pass_scene_fetched(f, 0);
  assert_true(pass_scene_is_op(sum, "AddV2"));
  assert_true(pass_scene_is_op(read_by(f, sum, 1), "Sum"));
  assert_int_equal(count_of(f, "Exp"), 2);
  assert_true(stays(f, LEAT_INPUTS(BINARY("Sum", x, first))));  // a part of it for each piece
  assert_true(stays(f, LEAT_INPUTS(BINARY("EuclideanNorm", x, last))));
  assert_true(stays(f, LEAT_INPUTS(BINARY("Sum", x, UNARY("Identity", scene_placeholder(
                                                  &f->s, "", LEAT_DTYPE_INT32))))));
  assert_true(stays(f, LEAT_INPUTS(BINARY("MatMul", x, numbers(f, WIDTH, 1, 2, 0)))));
  assert_false(stays(f, LEAT_INPUTS(BINARY("MatMul", x, numbers(f, WIDTH, 1, 1, 0)))));
  const leat_node_t* half = read_by(f, pass_scene_fetched(f, 0), 1);
  assert_true(pass_scene_is_op(half, "MatMul"));
  assert_int_equal(constant_read_by(f, half, 1)->shape.element_count, RIGHT);
}

// ---- Rows of tables -----------------------------------------------------------------------------

static leat_output_t int_vector(pass_scene_t* f, int64_t count) {
  return scene_output(&f->s, "Placeholder", "", "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_INT32),
                                 LEAT_SHAPE("shape", ((leat_partial_shape_t){1, &count}))));
}

// The sum of |top| with |below| rows of zeros under it and of |bottom| with |above| rows over it,
// as the gradient of a slice of rows makes it.
static leat_output_t padded(pass_scene_t* f, leat_output_t top, leat_output_t bottom, int32_t above,
                            int32_t below) {
  leat_builder_t* b = &f->s.b;
  const leat_string_view_t names[] = {LEAT_SV("top"), LEAT_SV("bottom")};
  leat_output_t paddings[2];
  for (int i = 0; i < 2; ++i) {
    const int32_t values[] = {i ? above : 0, i ? 0 : below, 0, 0};
    leat_tensor_t tensor;
    leat_shape_t shape;
    LEAT_EXPECT_OK(leat_shape_create(2, (const int64_t[]){2, 2}, &shape));
    LEAT_EXPECT_OK(
        leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_INT32, &shape, &tensor));
    memcpy(tensor.data, values, sizeof values);
    paddings[i] =
        leat_build(b, "Const", LEAT_NO_INPUTS,
                   LEAT_ATTRS(LEAT_TENSOR("value", &tensor), LEAT_TYPE("dtype", LEAT_DTYPE_INT32)));
    leat_tensor_release(&tensor);
    leat_shape_release(&shape);
  }
  const leat_attr_t list = {LEAT_SV("names"),
                            {.kind = LEAT_ATTR_STRING, .is_list = true, .count = 2,
                             .strings = names}};
  return scene_output(&f->s, "_SumOfPads", "", "",
                      LEAT_INPUTS(bottom, top, paddings[1], paddings[0]),
                      LEAT_ATTRS(LEAT_INT("N", 2), LEAT_TYPE("T", LEAT_DTYPE_FLOAT), list));
}

static leat_output_t update(pass_scene_t* f, leat_output_t table, leat_output_t rows,
                            leat_output_t updates, bool is_locked) {
  return scene_output(&f->s, "ScatterSub", "", "", LEAT_INPUTS(table, rows, updates),
                      LEAT_ATTRS(LEAT_BOOL("use_locking", is_locked)));
}

static leat_output_t variable(pass_scene_t* f) {
  return scene_output(&f->s, "VariableV2", "", "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                                 LEAT_SHAPE("shape", ((leat_partial_shape_t){
                                                         2, (const int64_t[]){100, 4}}))));
}

typedef struct lookup_s {
  leat_output_t table, indices, top, bottom;
} lookup_t;

// Two rows of a table, and three; the gradients of the two pieces.
static lookup_t look_up(pass_scene_t* f) {
  lookup_t l = {.table = variable(f), .indices = join(f, int_vector(f, 2), int_vector(f, 3), 0)};
  leat_output_t rows = scene_output(
      &f->s, "GatherV2", "", "",
      LEAT_INPUTS(UNARY("Identity", l.table), l.indices, flow_int(&f->s, 0)), LEAT_NO_ATTRS);
  l.top = UNARY("Exp", box(f, rows, 0, 0, 2, -1));
  l.bottom = UNARY("Exp", box(f, rows, 2, 0, -1, 4));
  return l;
}

// Whether |node| waits for |source| by a control edge, be it through nodes that do nothing.
static bool waits_for(const pass_scene_t* f, const leat_node_t* node, const leat_node_t* source) {
  const int32_t index = (int32_t)(source - f->rewrite.graph->nodes);
  for (int i = 0; i < node->control_count; ++i) {
    const leat_node_t* awaited = read_by(f, node, node->input_count + i);
    if (node->inputs[node->input_count + i].node == index) return true;
    const bool is_nothing = pass_scene_is_op(awaited, "NoOp") || pass_scene_is_op(awaited, "Const");
    if (is_nothing && waits_for(f, awaited, source)) return true;
  }
  return false;
}

// An update of some rows waits for all that the whole one waited for, what was read among it.
static void rows_are_read_and_changed_in_pieces(void** state) {
  pass_scene_t* f = *state;
  lookup_t l = look_up(f);
  pieces(f, LEAT_INPUTS(update(f, l.table, l.indices, padded(f, l.top, l.bottom, 2, 3), false)));
  assert_int_equal(count_of(f, "ConcatV2") + count_of(f, "Slice") + count_of(f, "_SumOfPads"), 0);
  const leat_node_t* second = pass_scene_fetched(f, 0);
  const leat_node_t* first = read_by(f, second, 0);
  assert_true(pass_scene_is_op(second, "ScatterSub") && pass_scene_is_op(first, "ScatterSub"));
  assert_true(pass_scene_is_op(read_by(f, first, 0), "VariableV2"));
  assert_int_equal(read_by(f, first, 1)->output_shapes[0].dims[0], 2);
  assert_int_equal(read_by(f, second, 1)->output_shapes[0].dims[0], 3);
  const leat_node_t* gather = read_by(f, read_by(f, second, 2), 0);
  assert_true(pass_scene_is_op(gather, "GatherV2"));
  assert_int_equal(gather->inputs[1].node, second->inputs[1].node);
  assert_true(waits_for(f, first, gather));
  assert_true(waits_for(f, first, read_by(f, second, 1)));
  assert_true(waits_for(f, first, read_by(f, second, 2)));
}

static void rows_that_are_cut_otherwise_stay(void** state) {
  pass_scene_t* f = *state;
  lookup_t l = look_up(f);
  assert_true(stays(f, LEAT_INPUTS(update(f, l.table, l.indices, MATRIX(5, 4), false))));
  leat_output_t whole = padded(f, l.top, l.bottom, 2, 3);
  assert_true(stays(f, LEAT_INPUTS(update(f, l.table, l.indices, whole, true))));  // under a lock
  assert_true(stays(f, LEAT_INPUTS(update(f, l.table, int_vector(f, 5), whole, false), l.indices)));
  // They overlap, or leave a row free.
  pieces(f, LEAT_INPUTS(box(f, padded(f, MATRIX(2, 4), MATRIX(3, 4), 1, 2), 0, 0, 2, -1)));
  assert_int_equal(count_of(f, "_SumOfPads"), 1);
  pieces(f, LEAT_INPUTS(box(f, padded(f, MATRIX(2, 4), MATRIX(3, 4), 3, 4), 0, 0, 2, -1)));
  assert_int_equal(count_of(f, "_SumOfPads"), 1);
}

static void updates_by_handle_wait_for_each_other(void** state) {
  pass_scene_t* f = *state;
  leat_output_t handle = scene_output(
      &f->s, "VarHandleOp", "", "", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                 LEAT_SHAPE("shape", ((leat_partial_shape_t){2, (const int64_t[]){100, 4}}))));
  leat_output_t indices = join(f, int_vector(f, 2), int_vector(f, 3), 0);
  leat_output_t updates = padded(f, MATRIX(2, 4), MATRIX(3, 4), 2, 3);
  const int32_t scatter =
      scene_node(&f->s, "ResourceScatterAdd", "", "", LEAT_INPUTS(handle, indices, updates),
                 LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  leat_output_t x = MATRIX(1, 1);
  scene_after(&f->s, x.node, scatter);
  leat_output_t reader = UNARY("Neg", x);
  scene_after(&f->s, reader.node, scatter);
  assert_false(stays(f, LEAT_INPUTS(reader)));
  const leat_node_t* second = read_by(f, pass_scene_fetched(f, 0), 1);
  assert_true(pass_scene_is_op(second, "ResourceScatterAdd"));
  assert_true(pass_scene_is_op(read_by(f, second, 3), "ResourceScatterAdd"));
}

// ---- Waiting ------------------------------------------------------------------------------------

// What happens because of a piece happened after all pieces, and does still.
static void what_happens_later_waits_for_all_pieces(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = UNARY("Exp", pair(f));
  leat_output_t sum = UNARY("Neg", UNARY("Tanh", left(f, x)));
  leat_output_t effect = scene_pass(&f->s, 1, -1, sum);
  leat_output_t later = UNARY("Neg", MATRIX(1, 1));
  scene_after(&f->s, later.node, x.node);
  pieces(f, LEAT_INPUTS(effect, later, right(f, x)));
  const leat_node_t* second = pass_scene_fetched(f, 2);
  assert_true(pass_scene_is_op(second, "Exp"));
  assert_true(waits_for(f, pass_scene_fetched(f, 0), second));
  assert_true(waits_for(f, pass_scene_fetched(f, 1), second));
  const leat_node_t* tanh = read_by(f, read_by(f, pass_scene_fetched(f, 0), 0), 0);
  assert_true(pass_scene_is_op(tanh, "Tanh"));
  assert_int_equal(tanh->control_count, 0);
}

// Gradients hand constants on when all of their group are there. A piece waits for its piece only.
static void pieces_do_not_wait_for_each_other(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = UNARY("Exp", pair(f));
  leat_output_t factor = UNARY("Identity", numbers(f, ROWS, WIDTH, 0, 1));
  leat_output_t half = UNARY("Identity", numbers(f, 1, 1, 2, 0));
  const int32_t group = scene_node(&f->s, "NoOp", "", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  scene_after(&f->s, group, x.node);
  scene_after(&f->s, factor.node, group);
  scene_after(&f->s, half.node, factor.node);
  leat_output_t product = BINARY("Mul", UNARY("Tanh", x), factor);
  leat_output_t y = UNARY("Identity", BINARY("Mul", product, half));
  scene_after(&f->s, y.node, factor.node);
  pieces(f, LEAT_INPUTS(left(f, y), right(f, y)));
  assert_int_equal(count_of(f, "ConcatV2"), 0);
  for (int i = 0; i < 2; ++i) {
    const leat_node_t* last = read_by(f, pass_scene_fetched(f, i), 0);
    const leat_node_t* own = read_by(f, read_by(f, read_by(f, last, 0), 0), 0);
    const leat_node_t* others = NULL;
    assert_true(pass_scene_is_op(own, "Exp"));
    for (size_t k = 0; k < f->rewrite.graph->node_count; ++k) {
      const leat_node_t* node = &f->rewrite.graph->nodes[k];
      if (pass_scene_is_op(node, "Exp") && node != own) others = node;
    }
    assert_non_null(others);
    const leat_node_t* waiting[] = {pass_scene_fetched(f, i), read_by(f, last, 1),
                                    read_by(f, read_by(f, last, 0), 1)};
    for (size_t k = 0; k < LEAT_ARRAY_SIZE(waiting); ++k) {
      assert_true(waits_for(f, waiting[k], own));
      assert_false(waits_for(f, waiting[k], others));
    }
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, pass_scene_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(each_piece_goes_its_own_way),
      TEST(a_split_takes_all_pieces),
      TEST(constants_are_cut_or_repeated),
      TEST(two_joined_alike_are_read_in_pieces),
      TEST(what_others_want_whole_stays),
      TEST(what_is_not_known_stays),
      TEST(few_elements_stay),
      TEST(what_shares_much_stays),
      TEST(what_waits_itself_stays),
      TEST(what_runs_along_the_cut_is_made_of_pieces),
      TEST(packed_pieces_are_unpacked),
      TEST(what_comes_at_another_time_stays),
      TEST(sums_are_made_of_pieces),
      TEST(rows_are_read_and_changed_in_pieces),
      TEST(rows_that_are_cut_otherwise_stay),
      TEST(updates_by_handle_wait_for_each_other),
      TEST(what_happens_later_waits_for_all_pieces),
      TEST(pieces_do_not_wait_for_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
