// The pass "fusion" joins element-wise nodes into regions that run as one program. Each case builds
// a graph, runs the pass alone (session/pass_scene.h), and counts the regions and their steps. Most
// cases show what must not be joined: nodes between which another one waits, of another device or
// branch, or whose shapes are not known to agree. Every result is sorted once more, which fails if
// it has a cycle.
#include <stdio.h>
#include <string.h>

#include "session/pass_scene.h"

static int set_up(void** state) {
  static pass_scene_t f;
  pass_scene_open(&f);
  *state = &f;
  return 0;
}

// How many regions there are after the pass; nodes named "other..." lie on a second device.
static int region_pruned(pass_scene_t* f, int64_t limit) {
  const leat_pass_options_t options = {.find_kernel = pass_scene_find_kernel,
                                       .find_kernel_data = f,
                                       .fusion_limit_elements = limit};
  leat_graph_t* graph = f->rewrite.graph;
  for (size_t i = 0; i < graph->node_count; ++i) {
    graph->nodes[i].assigned_device =
        leat_string_view_starts_with(graph->nodes[i].name, LEAT_SV("other"));
  }
  LEAT_EXPECT_OK(leat_pass_run(&leat_pass_fusion, &f->rewrite, &options));
  int count = 0;
  graph = f->rewrite.graph;
  int32_t order[64];
  assert_true(graph->node_count <= LEAT_ARRAY_SIZE(order));
  LEAT_EXPECT_OK(leat_graph_sort(graph, order));  // no cycle
  for (size_t i = 0; i < graph->node_count; ++i) {
    count += leat_string_view_equal(graph->nodes[i].op->name, LEAT_OP_NAME_FUSED_ELEMENTWISE);
  }
  return count;
}

// The same over all that |fetches| need.
static int region(pass_scene_t* f, leat_outputs_t fetches, int64_t limit) {
  pass_scene_prune(f, fetches);
  return region_pruned(f, limit);
}

static int steps_of(const leat_node_t* node) {
  const leat_attr_value_t* steps = leat_node_attr(node, LEAT_SV("steps"));
  return steps ? (int)steps->count : 0;
}

static leat_output_t vector(pass_scene_t* f, const char* name, int64_t size) {
  return scene_output(&f->s, "Placeholder", name, "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                                 LEAT_SHAPE("shape", ((leat_partial_shape_t){1, &size}))));
}
#define BINARY(op, x, y) scene_binary(&f->s, op, -1, x, y)
#define UNARY(op, x) scene_unary(&f->s, op, -1, x)

static void nodes_that_read_each_other_become_one(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = vector(f, "x", 5000), y = vector(f, "y", 5000);
  leat_output_t product = BINARY("Mul", x, y);
  leat_output_t sum = BINARY("AddV2", product, x);
  leat_output_t root = UNARY("Tanh", sum);
  assert_int_equal(region(f, LEAT_INPUTS(root, sum), 0), 1);
  assert_int_equal(f->rewrite.graph->node_count, 3);
  const leat_node_t* node = pass_scene_fetched(f, 0);
  assert_int_equal(steps_of(node), 3);
  assert_int_equal(node->input_count, 2);
  assert_int_equal(node->output_count, 2);
  assert_true(f->rewrite.fetches[0].node == f->rewrite.fetches[1].node);
  assert_true(f->rewrite.fetches[0].index != f->rewrite.fetches[1].index);
  assert_int_equal(leat_graph_output_shape(f->rewrite.graph, f->rewrite.fetches[0]).dims[0], 5000);
}

static void what_is_known_to_be_small_is_left(void** state) {
  pass_scene_t* f = *state;
  leat_output_t small = UNARY("Neg", UNARY("Exp", vector(f, "x", 1023)));
  leat_output_t large = UNARY("Neg", UNARY("Exp", vector(f, "y", 1024)));
  leat_output_t unknown = UNARY("Neg", UNARY("Exp", vector(f, "z", -1)));
  assert_int_equal(region(f, LEAT_INPUTS(small), 0), 0);
  assert_int_equal(region(f, LEAT_INPUTS(large), 0), 1);
  assert_int_equal(region(f, LEAT_INPUTS(unknown), 0), 1);
  assert_int_equal(region(f, LEAT_INPUTS(small), 100), 1);
}

// A program would make the few before all else, whole and step by step.
static void steps_of_one_program_give_equally_many(void** state) {
  pass_scene_t* f = *state;
  leat_output_t few = scene_matrix(&f->s, "few", 2000, 1), unknown = vector(f, "x", -1);
  leat_output_t many = scene_matrix(&f->s, "many", 2000, 5);
  leat_output_t factor = UNARY("Neg", UNARY("Exp", few));
  leat_output_t product = BINARY("Mul", UNARY("Tanh", many), factor);
  assert_int_equal(region(f, LEAT_INPUTS(product), 0), 2);
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 2);
  // A region that both would belong to does not bring them together.
  leat_output_t both = BINARY("AddV2", UNARY("Neg", BINARY("Mul", few, few)), UNARY("Exp", many));
  assert_int_equal(region(f, LEAT_INPUTS(UNARY("Neg", both)), 0), 2);
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 3);
  leat_output_t any = BINARY("AddV2", UNARY("Neg", unknown), UNARY("Exp", vector(f, "y", 3000)));
  assert_int_equal(region(f, LEAT_INPUTS(any), 0), 1);
}

// x ─▶ a ─▶ L2Loss ─▶ b ─▶ c     a and c cannot be one: L2Loss would wait for itself
//      └───────────────────┘
static void what_leaves_does_not_come_back(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = vector(f, "x", 5000);
  leat_output_t a = BINARY("Mul", UNARY("Exp", x), x);
  leat_output_t b = BINARY("AddV2", UNARY("L2Loss", a), x);
  leat_output_t c = BINARY("Sub", b, a);
  assert_int_equal(region(f, LEAT_INPUTS(c), 0), 2);
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 2);
}

// x ─▶ a ─▶ L2Loss ─▶ b ─▶ c     y ─▶ d ─▶ e, which c reads: b and c are found first
static void a_region_that_is_found_later_may_be_read(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = vector(f, "x", 5000), y = vector(f, "y", 5000);
  leat_output_t b = BINARY("AddV2", UNARY("L2Loss", UNARY("Exp", x)), x);
  leat_output_t e = UNARY("Neg", UNARY("Exp", y));
  leat_output_t c = BINARY("Sub", b, e);
  assert_int_equal(region(f, LEAT_INPUTS(c), 0), 2);
  assert_int_equal(f->rewrite.graph->node_count, 6);  // x, y, a, L2Loss, two regions
}

static void a_sum_of_many_is_steps(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = vector(f, "x", 5000), z = vector(f, "z", -1);
  const leat_output_t terms[] = {UNARY("Exp", x), x, UNARY("Neg", x), x};
  const leat_output_t unknown[] = {UNARY("Exp", z), z};
  leat_output_t sum = scene_output(&f->s, "AddN", "", "", (leat_outputs_t){terms, 4},
                                   LEAT_ATTRS(LEAT_INT("N", 4), LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
  leat_output_t other = scene_output(&f->s, "AddN", "", "", (leat_outputs_t){unknown, 2},
                                     LEAT_ATTRS(LEAT_INT("N", 2),
                                                LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
  assert_int_equal(region(f, LEAT_INPUTS(sum), 0), 1);
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 5);
  assert_int_equal(region(f, LEAT_INPUTS(other), 0), 0);  // AddN refuses shapes that differ
}

// As gradients come: each is forwarded when all of its group are there.
static void a_group_does_not_wait_for_itself(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = vector(f, "x", 5000);
  leat_output_t a = UNARY("Exp", x), b = UNARY("Neg", a);
  int32_t group = scene_node(&f->s, "NoOp", "group", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  leat_output_t from_a = UNARY("Identity", a), from_b = UNARY("Identity", b);
  leat_output_t from_x = UNARY("Identity", x);
  leat_output_t one = scene_float(&f->s, 1);
  scene_after(&f->s, group, a.node);
  scene_after(&f->s, group, b.node);
  scene_after(&f->s, from_a.node, group);
  scene_after(&f->s, from_b.node, group);
  scene_after(&f->s, from_x.node, group);
  scene_after(&f->s, one.node, from_b.node);
  leat_output_t sum = BINARY("AddV2", BINARY("Mul", from_a, from_b), BINARY("Sub", from_x, one));
  assert_int_equal(region(f, LEAT_INPUTS(sum), 0), 1);
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 5);
  assert_int_equal(f->rewrite.graph->node_count, 3);  // x, the constant, the region
  assert_int_equal(region(f, LEAT_INPUTS(sum, from_x, one), 0), 1);  // what others read stays
  const leat_node_t* left = pass_scene_fetched(f, 1);
  assert_int_equal(left->control_count, 1);
  assert_int_equal(left->inputs[1].node, f->rewrite.fetches[0].node);
  assert_int_equal(pass_scene_fetched(f, 2)->control_count, 1);
}

static leat_output_t cast(pass_scene_t* f, leat_output_t x, bool truncates) {
  return scene_output(
      &f->s, "Cast", "", "", LEAT_INPUTS(x),
      LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_HALF), LEAT_BOOL("Truncate", truncates)));
}

// Steps have their ops' default attributes.
static void attributes_keep_nodes_out(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = vector(f, "x", 5000), y = UNARY("Neg", x);
  const leat_attr_t type = LEAT_TYPE("T", LEAT_DTYPE_FLOAT);
  leat_output_t strict = scene_output(&f->s, "Equal", "", "", LEAT_INPUTS(x, y), LEAT_ATTRS(type));
  leat_output_t loose =
      scene_output(&f->s, "Equal", "", "", LEAT_INPUTS(x, y),
                   LEAT_ATTRS(type, LEAT_BOOL("incompatible_shape_error", false)));
  assert_int_equal(region(f, LEAT_INPUTS(strict), 0), 1);
  assert_int_equal(region(f, LEAT_INPUTS(loose), 0), 0);
  assert_int_equal(region(f, LEAT_INPUTS(cast(f, y, false)), 0), 1);
  assert_int_equal(region(f, LEAT_INPUTS(cast(f, y, true)), 0), 0);
  assert_int_equal(region(f, LEAT_INPUTS(UNARY("Relu6", y)), 0), 1);
  assert_int_equal(region(f, LEAT_INPUTS(UNARY("LeakyRelu", y)), 0), 0);
}

// A bias is the sum with a row, where it is known to be as long as one.
static void a_bias_is_a_step(void** state) {
  pass_scene_t* f = *state;
  leat_output_t rows = scene_matrix(&f->s, "rows", -1, 300),
                unknown = scene_matrix(&f->s, "unknown", 9, -1);
  leat_output_t bias = vector(f, "bias", 300);
  const leat_attr_t type = LEAT_TYPE("T", LEAT_DTYPE_FLOAT);
  leat_output_t y = scene_output(&f->s, "BiasAdd", "", "", LEAT_INPUTS(UNARY("Exp", rows), bias),
                                 LEAT_ATTRS(type));
  leat_output_t z = scene_output(&f->s, "BiasAdd", "", "", LEAT_INPUTS(UNARY("Exp", unknown), bias),
                                 LEAT_ATTRS(type));
  assert_int_equal(region(f, LEAT_INPUTS(y), 0), 1);
  assert_int_equal(region(f, LEAT_INPUTS(z), 0), 0);
  // Along another dimension than the last, though the vector is as long as that one.
  const int64_t dims[] = {2, 300, 5, 300};
  leat_output_t images = scene_output(
      &f->s, "Placeholder", "images", "", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                 LEAT_SHAPE("shape", ((leat_partial_shape_t){4, dims}))));
  leat_output_t w =
      scene_output(&f->s, "BiasAdd", "", "", LEAT_INPUTS(UNARY("Exp", images), bias),
                   LEAT_ATTRS(type, LEAT_STRING("data_format", LEAT_SV("NCHW"))));
  assert_int_equal(region(f, LEAT_INPUTS(w), 0), 0);
}

// Rows of |first| and then |rest|, but for |odd| at the very end.
#define ROWS 64
#define COLUMNS 80
static leat_output_t matrix(pass_scene_t* f, int rows, int columns, float first, float rest,
                            float odd) {
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(2, (int64_t[]){rows, columns}, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  float* items = leat_tensor_data(&tensor, float);
  for (int i = 0; i < rows * columns; ++i) items[i] = i % columns ? rest : first;
  items[rows * columns - 1] = odd;
  const leat_output_t output = scene_output(
      &f->s, "Const", "", "", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_TENSOR("value", &tensor), LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  leat_tensor_release(&tensor);
  return output;
}

static leat_output_t constant(pass_scene_t* f, float first, float rest, float odd) {
  return matrix(f, ROWS, COLUMNS, first, rest, odd);
}

// The rank of what the region, fetch 0, reads at |index|.
static int rank_of_input(const pass_scene_t* f, int index) {
  const leat_node_t* node = pass_scene_fetched(f, 0);
  assert_true(index < node->input_count);
  return leat_graph_output_shape(f->rewrite.graph, node->inputs[index]).rank;
}

static void of_a_constant_that_repeats_a_part_is_read(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", ROWS, COLUMNS);
  leat_output_t zeros = constant(f, 0, 0, 0), ones = constant(f, 1, 1, 1);
  leat_output_t labels = constant(f, 1, 0, 0), signs = constant(f, 0, 0, -0.0f);
  leat_output_t positive = BINARY("Greater", x, zeros);
  leat_output_t relu = scene_output(&f->s, "Select", "", "", LEAT_INPUTS(positive, x, zeros),
                                    LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
  leat_output_t y = BINARY("Mul", BINARY("AddV2", relu, labels), signs);
  assert_int_equal(region(f, LEAT_INPUTS(y), 0), 1);
  assert_int_equal(pass_scene_fetched(f, 0)->input_count, 4);
  assert_int_equal(rank_of_input(f, 1), 0);
  assert_int_equal(rank_of_input(f, 2), 1);
  assert_int_equal(rank_of_input(f, 3), 2);
  assert_int_equal(f->rewrite.graph->node_count, 5);  // the arrays are gone
  // Every term of a sum may be a part but one.
  leat_output_t sum = scene_output(&f->s, "AddN", "", "", LEAT_INPUTS(ones, zeros, y),
                                   LEAT_ATTRS(LEAT_INT("N", 3), LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
  assert_int_equal(region(f, LEAT_INPUTS(sum), 0), 1);
  assert_int_equal(rank_of_input(f, 4), 0);
  // Constants alone have their shape from nobody else.
  leat_output_t alone = BINARY("AddV2", UNARY("Neg", x), BINARY("Mul", zeros, ones));
  assert_int_equal(region(f, LEAT_INPUTS(alone), 0), 1);
  assert_int_equal(rank_of_input(f, 1), 2);
  assert_int_equal(rank_of_input(f, 2), 2);
}

// A part would be broadcast to any number of rows.
static void a_constant_is_read_whole_where_it_says_the_shape(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", -1, COLUMNS), one = scene_matrix(&f->s, "one", -1, 1);
  leat_output_t known = scene_matrix(&f->s, "known", ROWS, COLUMNS);
  leat_output_t zeros = constant(f, 0, 0, 0), labels = constant(f, 1, 0, 0);
  leat_output_t y = BINARY("Mul", BINARY("AddV2", UNARY("Exp", x), zeros), labels);
  assert_int_equal(region(f, LEAT_INPUTS(y), 0), 1);
  assert_int_equal(rank_of_input(f, 1), 2);
  assert_int_equal(rank_of_input(f, 2), 1);  // the sum with |zeros| already says the shape
  leat_output_t spread = BINARY("AddV2", UNARY("Exp", one), zeros);
  assert_int_equal(region(f, LEAT_INPUTS(spread), 0), 1);
  assert_int_equal(rank_of_input(f, 1), 2);
  // The op wants the shape of both, and says so in a step.
  leat_output_t slope = scene_output(&f->s, "ReluGrad", "", "", LEAT_INPUTS(zeros, known),
                                     LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
  assert_int_equal(region(f, LEAT_INPUTS(UNARY("Neg", slope)), 0), 1);
  assert_int_equal(rank_of_input(f, 0), 2);
}

// What others read of a reshaped value they read beside the region.
static void a_reshape_between_known_shapes_is_crossed(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", 500, 20), y = scene_matrix(&f->s, "y", 250, 40);
  leat_output_t to_y = leat_build_int32_vector(&f->s.b, (const int32_t[]){250, 40}, 2);
  leat_output_t seen = BINARY("Reshape", UNARY("Exp", x), to_y);
  leat_output_t product = BINARY("Mul", UNARY("Identity", seen), y);
  leat_output_t unknown = scene_matrix(&f->s, "unknown", -1, 20);
  leat_output_t other = BINARY("Mul", BINARY("Reshape", UNARY("Exp", unknown), to_y), y);
  LEAT_EXPECT_OK(f->s.b.status);
  assert_int_equal(region(f, LEAT_INPUTS(product), 0), 1);
  assert_int_equal(f->rewrite.graph->node_count, 3);  // x, y, the region
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 3);
  assert_int_equal(region(f, LEAT_INPUTS(product, seen), 0), 1);
  const leat_node_t *fused = pass_scene_fetched(f, 0), *left = pass_scene_fetched(f, 1);
  assert_int_equal(fused->output_count, 2);
  assert_int_equal(left->inputs[0].node, f->rewrite.fetches[0].node);
  assert_int_equal(region(f, LEAT_INPUTS(other), 0), 0);
}

// What is forwarded from outside and then reshaped is an operand under another shape.
static void a_reshape_of_what_comes_from_outside_is_crossed(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", 500, 20), y = scene_matrix(&f->s, "y", 250, 40);
  leat_output_t early = UNARY("Exp", UNARY("Neg", y)), from_x = UNARY("Identity", x);
  scene_after(&f->s, from_x.node, early.node);
  leat_output_t to_y = leat_build_int32_vector(&f->s.b, (const int32_t[]){250, 40}, 2);
  leat_output_t sum = BINARY("AddV2", early, BINARY("Reshape", from_x, to_y));
  LEAT_EXPECT_OK(f->s.b.status);
  assert_int_equal(region(f, LEAT_INPUTS(sum), 0), 1);
  assert_int_equal(f->rewrite.graph->node_count, 3);
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 4);
}

static bool has_step(const leat_node_t* node, const char* op) {
  const leat_attr_value_t* steps = leat_node_attr(node, LEAT_SV("steps"));
  for (uint32_t s = 0; steps && s < steps->count; ++s) {
    if (leat_string_view_equals(steps->strings[s], op)) return true;
  }
  return false;
}

// It is left to the step that reads it where that has another operand of the shape.
static void a_tile_that_broadcasts_is_no_step(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", 64, 80), column = scene_matrix(&f->s, "column", 64, 1);
  leat_output_t half = scene_matrix(&f->s, "half", 32, 80);
  leat_output_t along = leat_build_int32_vector(&f->s.b, (const int32_t[]){1, 80}, 2);
  leat_output_t twice = leat_build_int32_vector(&f->s.b, (const int32_t[]){2, 1}, 2);
  leat_output_t once = leat_build_int32_vector(&f->s.b, (const int32_t[]){1, 1}, 2);
  leat_output_t shape = leat_build_int32_vector(&f->s.b, (const int32_t[]){64, 80}, 2);
  assert_int_equal(region(f, LEAT_INPUTS(BINARY("Mul", BINARY("Tile", column, along), x)), 0), 1);
  assert_int_equal(f->rewrite.graph->node_count, 3);
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 1);
  leat_output_t spread = BINARY("BroadcastTo", column, shape);
  assert_int_equal(region(f, LEAT_INPUTS(UNARY("Exp", spread), spread), 0), 1);
  assert_int_equal(f->rewrite.fetches[0].node, f->rewrite.fetches[1].node);
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 3);
  assert_int_equal(region(f, LEAT_INPUTS(BINARY("Mul", BINARY("Tile", half, twice), x)), 0), 0);
  leat_output_t same = BINARY("Mul", BINARY("Tile", UNARY("Exp", x), once), x);  // one time
  assert_int_equal(region(f, LEAT_INPUTS(same), 0), 1);
  assert_int_equal(f->rewrite.graph->node_count, 2);
}

// |transposed|: "a" or "b", or "".
static leat_output_t product(pass_scene_t* f, leat_output_t a, leat_output_t b,
                             const char* transposed) {
  return scene_output(&f->s, "MatMul", "", "", LEAT_INPUTS(a, b),
                      LEAT_ATTRS(LEAT_BOOL("transpose_a", *transposed == 'a'),
                                 LEAT_BOOL("transpose_b", *transposed == 'b')));
}

// As the gradient of a mean is: its sum's is repeated, and divided.
static void what_is_computed_of_a_column_is_repeated_after_that(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", 64, 80), column = scene_matrix(&f->s, "column", 64, 1);
  leat_output_t along = leat_build_int32_vector(&f->s.b, (const int32_t[]){1, 80}, 2);
  leat_output_t count = scene_float(&f->s, 80), row = scene_matrix(&f->s, "row", 1, 80);
  leat_output_t ratio = UNARY("Neg", BINARY("RealDiv", BINARY("Tile", column, along), count));
  assert_int_equal(region(f, LEAT_INPUTS(BINARY("Mul", ratio, x)), 0), 1);
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 3);
  assert_false(has_step(pass_scene_fetched(f, 0), "BroadcastTo"));
  assert_int_equal(region(f, LEAT_INPUTS(ratio), 0), 1);  // no other operand has its size
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 3);
  assert_true(has_step(pass_scene_fetched(f, 0), "BroadcastTo"));
  assert_int_equal(region(f, LEAT_INPUTS(BINARY("Mul", ratio, row)), 0), 1);
  assert_true(has_step(pass_scene_fetched(f, 0), "BroadcastTo"));
}

// |count| times |value|, in a column.
static leat_output_t repeated(pass_scene_t* f, float value, int count) {
  float items[128];
  for (int i = 0; i < count; ++i) items[i] = value;
  return BINARY("ExpandDims", scene_floats(&f->s, count, items),
                leat_build_scalar(&f->s.b, LEAT_DTYPE_INT32, 1));
}

static void a_product_of_a_column_and_a_row_is_steps(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", 64, 80), column = scene_matrix(&f->s, "column", 64, 1);
  leat_output_t row = scene_matrix(&f->s, "row", 1, 80), upright = scene_matrix(&f->s, "w", 80, 1);
  leat_output_t any = scene_matrix(&f->s, "any", -1, 1), two = scene_matrix(&f->s, "two", 64, 2);
  leat_output_t y = BINARY("Mul", product(f, column, row, ""), x);
  assert_int_equal(region(f, LEAT_INPUTS(y), 0), 1);
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 3);  // Mul, + 0, Mul
  y = UNARY("Neg", product(f, any, upright, "b"));
  assert_int_equal(region(f, LEAT_INPUTS(y), 0), 1);
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 4);  // the row is a Reshape
  y = UNARY("Neg", product(f, two, scene_matrix(&f->s, "v", 2, 80), ""));
  assert_int_equal(region(f, LEAT_INPUTS(y), 0), 0);
  y = UNARY("Neg", product(f, any, scene_matrix(&f->s, "u", -1, 80), ""));
  assert_int_equal(region(f, LEAT_INPUTS(y), 0), 0);
  y = product(f, column, row, "");
  assert_int_equal(region(f, LEAT_INPUTS(y), 0), 0);  // alone it stays
}

// Of one number many times the row need not be read.
static void a_product_with_one_number_is_scaled_before_it_is_repeated(void** state) {
  pass_scene_t* f = *state;
  leat_output_t column = scene_matrix(&f->s, "column", 64, 1), x = scene_matrix(&f->s, "x", 64, 80);
  for (int value = 1; value <= 2; ++value) {
    leat_output_t y = BINARY("Mul", product(f, column, repeated(f, (float)value, 80), "b"), x);
    LEAT_EXPECT_OK(f->s.b.status);
    pass_scene_prune(f, LEAT_INPUTS(y));
    LEAT_EXPECT_OK(leat_pass_run(&leat_pass_fold, &f->rewrite, &(leat_pass_options_t){
        .evaluate = leat_evaluator_run, .evaluate_data = &f->evaluator}));
    region_pruned(f, 0);
    const leat_node_t* node = pass_scene_fetched(f, 0);
    assert_int_equal(steps_of(node), 1 + value);
    assert_int_equal(f->rewrite.graph->node_count, 3 + value);
  }
}

static leat_output_t reduce(pass_scene_t* f, const char* op, leat_output_t x, int axis_count,
                            const int32_t* axes, bool keep_dims) {
  leat_output_t constant = leat_build_int32_vector(&f->s.b, axes, axis_count);
  LEAT_EXPECT_OK(f->s.b.status);
  return scene_output(&f->s, op, "", "", LEAT_INPUTS(x, constant),
                      LEAT_ATTRS(LEAT_BOOL("keep_dims", keep_dims)));
}
#define REDUCE(op, x, keep_dims, ...) \
  reduce(f, op, x, (int)(sizeof((int32_t[]){__VA_ARGS__}) / 4), (int32_t[]){__VA_ARGS__}, keep_dims)

static int64_t reduced_axes(const leat_node_t* node, int index) {
  return leat_node_attr(node, LEAT_SV("axes"))->ints[index];
}

static void a_reduction_of_rows_ends_a_region(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", 500, 20);
  leat_output_t unknown = scene_placeholder(&f->s, "unknown", LEAT_DTYPE_FLOAT);
  leat_output_t product = BINARY("Mul", UNARY("Exp", x), x);
  leat_output_t sum = REDUCE("Sum", product, false, -1), max = REDUCE("Max", product, true, 1);
  leat_output_t all = REDUCE("Mean", product, false, 1, -2);
  assert_int_equal(region(f, LEAT_INPUTS(sum, max, all), 0), 1);
  const leat_node_t* node = pass_scene_fetched(f, 0);
  assert_int_equal(steps_of(node), 5);
  assert_int_equal(node->output_count, 3);
  for (int i = 0; i < 3; ++i) {
    const leat_output_t output = f->rewrite.fetches[i];
    assert_int_equal(leat_graph_output_shape(f->rewrite.graph, output).rank, i == 2 ? 0 : i + 1);
    assert_int_equal(reduced_axes(node, output.index), i == 2 ? 2 : 1);
  }
  // One step is enough, and its rank need not be known.
  assert_int_equal(region(f, LEAT_INPUTS(REDUCE("Sum", UNARY("Exp", unknown), true, -1)), 0), 1);
}

// What is reduced may be read by others, also by those that read the reduction; they come later.
static void what_reads_a_reduction_is_outside(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", 500, 20);
  leat_output_t e = UNARY("Exp", x), sum = REDUCE("Sum", e, true, -1);
  leat_output_t ratio = BINARY("RealDiv", UNARY("Neg", e), UNARY("Identity", sum));
  assert_int_equal(region(f, LEAT_INPUTS(ratio), 0), 1);
  const leat_node_t* last = pass_scene_fetched(f, 0);
  assert_int_equal(last->op->name.size, strlen("RealDiv"));
  const leat_node_t* fused = &f->rewrite.graph->nodes[last->inputs[0].node];
  assert_int_equal(steps_of(fused), 3);
  assert_int_equal(fused->output_count, 2);
}

// Nobody reads what only is waited for.
static void who_waits_for_a_member_waits_for_the_region(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", 500, 20);
  leat_output_t product = BINARY("Mul", UNARY("Exp", x), x);
  leat_output_t sum = REDUCE("Sum", product, false, -1), later = UNARY("L2Loss", x);
  scene_after(&f->s, later.node, product.node);
  assert_int_equal(region(f, LEAT_INPUTS(sum, later), 0), 1);
  assert_int_equal(pass_scene_fetched(f, 0)->output_count, 1);
  assert_int_equal(pass_scene_fetched(f, 1)->inputs[1].node, f->rewrite.fetches[0].node);
}

static void other_reductions_are_left(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", 500, 20), small = vector(f, "small", 20);
  leat_output_t unknown = scene_placeholder(&f->s, "unknown", LEAT_DTYPE_FLOAT);
  leat_output_t axis = scene_placeholder(&f->s, "axis", LEAT_DTYPE_INT32);
  leat_output_t late = REDUCE("Sum", UNARY("Exp", x), false, -1);
  scene_after(&f->s, late.node, scene_wait(&f->s, 0, -1, x).node);
  const leat_output_t left[] = {
      late,
      REDUCE("Sum", UNARY("Exp", x), false, 0),        // not the last one
      REDUCE("Sum", UNARY("Exp", x), false, 1, 1),     // which is an error
      REDUCE("Sum", UNARY("Exp", unknown), false, 1),  // perhaps not the last one
      BINARY("Sum", UNARY("Exp", x), axis),
      REDUCE("Sum", x, false, -1),  // of no step
      REDUCE("Sum", UNARY("Exp", small), false, -1),
      scene_output(&f->s, "Neg", "other", "", LEAT_INPUTS(REDUCE("Sum", x, false, -1)),
                   LEAT_NO_ATTRS),
      REDUCE("Sum", scene_wait(&f->s, 0, -1, UNARY("Exp", x)), false, -1)};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(left); ++i) {
    assert_int_equal(region(f, LEAT_INPUTS(left[i]), 0), 0);
  }
}

static void a_product_with_ones_is_a_sum_of_rows(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", -1, 60), unknown = scene_matrix(&f->s, "y", 60, -1);
  leat_output_t ones = matrix(f, 60, 1, 1, 1, 1), others = matrix(f, 60, 1, 1, 1, -1);
  assert_int_equal(region(f, LEAT_INPUTS(product(f, UNARY("Exp", x), ones, "")), 0), 1);
  assert_int_equal(reduced_axes(pass_scene_fetched(f, 0), 0), 1);
  assert_int_equal(region(f, LEAT_INPUTS(product(f, UNARY("Exp", x), others, "")), 0), 0);
  assert_int_equal(region(f, LEAT_INPUTS(product(f, UNARY("Exp", unknown), ones, "")), 0), 0);
  assert_int_equal(region(f, LEAT_INPUTS(product(f, UNARY("Exp", unknown), ones, "a")), 0), 0);
}

static void devices_are_kept_apart(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = vector(f, "x", 5000);
  leat_output_t a = UNARY("Exp", UNARY("Neg", x));
  leat_output_t b = scene_output(&f->s, "Neg", "other", "", LEAT_INPUTS(a),
                                 LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
  leat_output_t c = UNARY("Tanh", BINARY("Mul", b, x));
  assert_int_equal(region(f, LEAT_INPUTS(c), 0), 2);
}

// What waits for something else than the rest does not come with it.
static void what_comes_later_does_not_hold_up_the_rest(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = vector(f, "x", 5000);
  leat_output_t early = UNARY("Exp", UNARY("Neg", x));
  leat_output_t late = BINARY("Mul", early, scene_wait(&f->s, 0, -1, x));
  assert_int_equal(region(f, LEAT_INPUTS(late, early), 0), 1);
  assert_int_equal(steps_of(pass_scene_fetched(f, 0)), 0);
  assert_int_equal(steps_of(pass_scene_fetched(f, 1)), 2);
}

static void sides_of_a_switch_are_kept_apart(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = vector(f, "x", 5000);
  leat_output_t p = scene_placeholder(&f->s, "p", LEAT_DTYPE_BOOL);
  int32_t fork = scene_node(&f->s, "Switch", "fork", "", LEAT_INPUTS(x, p),
                            LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
  int32_t again = scene_node(&f->s, "Switch", "again", "", LEAT_INPUTS(x, p),
                             LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
  leat_output_t always = UNARY("Neg", x);
  const leat_output_t sides[] = {{fork, 0}, {fork, 1}}, same_side = {again, 1};
  leat_output_t yes = BINARY("Mul", always, sides[1]);
  leat_output_t no = BINARY("Mul", always, sides[0]);
  assert_int_equal(region(f, LEAT_INPUTS(yes, no), 0), 0);
  // One predicate, one side: they are alive together.
  leat_output_t too = BINARY("Sub", yes, same_side);
  assert_int_equal(region(f, LEAT_INPUTS(yes, too), 0), 1);
}

static void large_regions_are_cut(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = vector(f, "x", 5000), y = x;
  for (int i = 0; i < 150; ++i) y = UNARY(i % 2 ? "Neg" : "Abs", y);
  assert_int_equal(region(f, LEAT_INPUTS(y), 0), 3);
  assert_int_equal(f->rewrite.graph->node_count, 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, pass_scene_tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(nodes_that_read_each_other_become_one),
      TEST(what_is_known_to_be_small_is_left),
      TEST(steps_of_one_program_give_equally_many),
      TEST(what_leaves_does_not_come_back),
      TEST(a_region_that_is_found_later_may_be_read),
      TEST(a_sum_of_many_is_steps),
      TEST(a_group_does_not_wait_for_itself),
      TEST(attributes_keep_nodes_out),
      TEST(a_bias_is_a_step),
      TEST(of_a_constant_that_repeats_a_part_is_read),
      TEST(a_constant_is_read_whole_where_it_says_the_shape),
      TEST(a_reshape_between_known_shapes_is_crossed),
      TEST(a_reshape_of_what_comes_from_outside_is_crossed),
      TEST(a_tile_that_broadcasts_is_no_step),
      TEST(what_is_computed_of_a_column_is_repeated_after_that),
      TEST(a_product_of_a_column_and_a_row_is_steps),
      TEST(a_product_with_one_number_is_scaled_before_it_is_repeated),
      TEST(a_reduction_of_rows_ends_a_region),
      TEST(what_reads_a_reduction_is_outside),
      TEST(who_waits_for_a_member_waits_for_the_region),
      TEST(other_reductions_are_left),
      TEST(a_product_with_ones_is_a_sum_of_rows),
      TEST(devices_are_kept_apart),
      TEST(what_comes_later_does_not_hold_up_the_rest),
      TEST(sides_of_a_switch_are_kept_apart),
      TEST(large_regions_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
