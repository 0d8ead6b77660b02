// Gradients of loops and conditionals of graphs as they come from imported files: Switch, Merge,
// Enter, Exit and NextIteration nodes, without a client's notes of which node belongs to which
// construct. The graphs are built node by node, differentiated, and run through a session. First
// and second derivatives are compared with differences of the values, or with calculus where the
// case is a power. Beside simple loops there are nested ones, loops in conditionals and the
// reverse, variables that are forgotten, arrays, and rows of a table. One case counts nodes,
// because a backward loop must keep only the values that it reads. Malformed loops must end in an
// error and not in a wrong derivative.
#include "gradient/gradient.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "session/scene.h"

#define MAX_VARIABLES 5

typedef struct fixture_s {
  scene_t s;
  leat_output_t x, p;  // scalars to feed
  int calls;           // of leat_add_gradients
} fixture_t;

static int set_up(void** state) {
  static fixture_t f;
  memset(&f, 0, sizeof f);
  scene_open(&f.s);
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_scalar())};
  f.x = scene_output(&f.s, "Placeholder", "x", "", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 2});
  f.p = scene_output(&f.s, "Placeholder", "p", "", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 2});
  *state = &f;
  return 0;
}

static int tear_down(void** state) {
  scene_close(&((fixture_t*)*state)->s);
  return 0;
}

// ---- Building -----------------------------------------------------------------------------------

static leat_output_t mul(fixture_t* f, leat_output_t a, leat_output_t b) {
  return scene_binary(&f->s, "Mul", -1, a, b);
}

static leat_output_t add(fixture_t* f, leat_output_t a, leat_output_t b) {
  return scene_binary(&f->s, "AddV2", -1, a, b);
}

static leat_output_t unary(fixture_t* f, const char* op, leat_output_t x) {
  return scene_unary(&f->s, op, -1, x);
}

static leat_output_t int32(fixture_t* f, int value) {
  leat_output_t output = leat_build_scalar(&f->s.b, LEAT_DTYPE_INT32, value);
  LEAT_EXPECT_OK(f->s.b.status);
  return output;
}

static leat_output_t enter(fixture_t* f, const char* frame, leat_output_t value, bool constant) {
  return scene_output(&f->s, "Enter", "", "", LEAT_INPUTS(value),
                      LEAT_ATTRS(LEAT_STRING("frame_name", leat_string_view_from(frame)),
                                 LEAT_BOOL("is_constant", constant)));
}

// while (i < limit): variable 0 is i.
typedef struct loop_s {
  fixture_t* f;
  const char* frame;
  int count;
  int32_t merges[MAX_VARIABLES], switches[MAX_VARIABLES];
  leat_output_t body[MAX_VARIABLES];
  leat_output_t one;
} loop_t;

static loop_t open_loop(fixture_t* f, const char* frame, leat_output_t limit, leat_output_t zero,
                        leat_outputs_t initial) {
  loop_t loop = {.f = f, .frame = frame, .count = initial.count + 1};
  for (int i = 0; i < loop.count; ++i) {
    leat_output_t in = enter(f, frame, i ? initial.items[i - 1] : zero, false);
    loop.merges[i] = scene_node(&f->s, "Merge", "", "", LEAT_INPUTS(in, in), LEAT_NO_ATTRS);
  }
  leat_output_t i = leat_node_output(loop.merges[0], 0);
  leat_output_t less = scene_binary(&f->s, "Less", -1, i, enter(f, frame, limit, true));
  leat_output_t pred = unary(f, "LoopCond", less);
  for (int k = 0; k < loop.count; ++k) {
    loop.switches[k] = scene_node(&f->s, "Switch", "", "",
                                  LEAT_INPUTS(leat_node_output(loop.merges[k], 0), pred),
                                  LEAT_NO_ATTRS);
    loop.body[k] = unary(f, "Identity", leat_node_output(loop.switches[k], 1));
  }
  return loop;
}

static loop_t open_times(fixture_t* f, const char* frame, int times, leat_outputs_t initial) {
  loop_t loop = open_loop(f, frame, int32(f, times), int32(f, 0), initial);
  loop.one = enter(f, frame, int32(f, 1), true);
  return loop;
}

static void close_variable(const loop_t* loop, int k, leat_output_t value) {
  leat_output_t next = unary(loop->f, "NextIteration", value);
  LEAT_EXPECT_OK(leat_graph_set_input(loop->f->s.graph, loop->merges[k], 1, next));
}

static void close_loop(const loop_t* loop, leat_outputs_t next) {
  close_variable(loop, 0, add(loop->f, loop->body[0], loop->one));
  for (int k = 1; k < loop->count; ++k) close_variable(loop, k, next.items[k - 1]);
}

// The value of variable |k| behind the loop.
static leat_output_t leave(const loop_t* loop, int k) {
  return unary(loop->f, "Exit", leat_node_output(loop->switches[k], 0));
}

// Output |k| of a new Switch: 0 is the side for false, 1 that for true.
static leat_output_t side(fixture_t* f, leat_output_t x, leat_output_t pred, int k) {
  return leat_node_output(
      scene_node(&f->s, "Switch", "", "", LEAT_INPUTS(x, pred), LEAT_NO_ATTRS), k);
}

static leat_output_t merge(fixture_t* f, leat_output_t a, leat_output_t b) {
  return scene_output(&f->s, "Merge", "", "", LEAT_INPUTS(a, b), LEAT_NO_ATTRS);
}

static leat_output_t is_positive(fixture_t* f) {
  return scene_binary(&f->s, "Greater", -1, f->p, scene_float(&f->s, 0));
}

// ---- Differentiating ----------------------------------------------------------------------------

static leat_status_t differentiate(fixture_t* f, leat_output_t y, leat_output_t x,
                                   const leat_gradient_options_t* options, leat_output_t* out) {
  char prefix[32];
  leat_gradient_value_t gradient = {LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE};
  snprintf(prefix, sizeof prefix, "gradients_%d", f->calls++);
  leat_gradient_spec_t spec = {.ys = &y, .y_count = 1, .xs = &x, .x_count = 1, .options = options,
                               .prefix = leat_string_view_from(prefix)};
  leat_status_t status = leat_add_gradients(f->s.graph, &spec, &gradient);
  *out = gradient.dense;
  if (status) return status;
  *out = leat_gradient_value_to_dense(&f->s.b, gradient);
  return f->s.b.status;
}

static leat_output_t gradient_of(fixture_t* f, leat_output_t y, leat_output_t x) {
  leat_output_t gradient;
  LEAT_EXPECT_OK(differentiate(f, y, x, NULL, &gradient));
  assert_true(leat_output_exists(gradient));
  return gradient;
}

static float value_at(fixture_t* f, leat_output_t fetch, float x, float p) {
  leat_tensor_t fed[2] = {scene_value(x), scene_value(p)}, got;
  LEAT_EXPECT_OK(
      scene_run(&f->s, LEAT_INPUTS(f->x, f->p), fed, LEAT_INPUTS(fetch), &got, NULL, 0));
  float value = leat_tensor_data(&got, const float)[0];
  leat_tensor_release(&got);
  return value;
}

static void expect_near(float got, float wanted) {
  if (fabsf(got - wanted) > 2e-3f * (1 + fabsf(wanted))) print_error("%g, not %g\n", got, wanted);
  assert_true(fabsf(got - wanted) <= 2e-3f * (1 + fabsf(wanted)));
}

// dy/dx and d2y/dx2 at (x, p) are what differences of y and of dy/dx say.
static void check_at(fixture_t* f, leat_output_t y, leat_output_t dy, leat_output_t d2y, float x,
                     float p) {
  const float h = 1 / 128.0f;
  expect_near(value_at(f, dy, x, p),
              (value_at(f, y, x + h, p) - value_at(f, y, x - h, p)) / (2 * h));
  expect_near(value_at(f, d2y, x, p),
              (value_at(f, dy, x + h, p) - value_at(f, dy, x - h, p)) / (2 * h));
}

static void check(fixture_t* f, leat_output_t y) {
  leat_output_t dy = gradient_of(f, y, f->x), d2y = gradient_of(f, dy, f->x);
  check_at(f, y, dy, d2y, 0.75f, 1);
  check_at(f, y, dy, d2y, -0.5f, -1);
}

// ---- Loops --------------------------------------------------------------------------------------

// x^(n + 1)
static leat_output_t power(fixture_t* f, int n, const char* frame) {
  loop_t loop = open_times(f, frame, n, LEAT_INPUTS(f->x));
  close_loop(&loop, LEAT_INPUTS(mul(f, loop.body[1], enter(f, frame, f->x, true))));
  return leave(&loop, 1);
}

static void powers(void** state) {
  fixture_t* f = *state;
  leat_output_t y = power(f, 3, "power");
  const float expected[] = {4 * 8, 12 * 4, 24 * 2, 24};
  for (int order = 0; order < 4; ++order) {
    y = gradient_of(f, y, f->x);
    assert_true(value_at(f, y, 2, 0) == expected[order]);
  }
}

static void no_iteration_passes_the_gradient(void** state) {
  fixture_t* f = *state;
  leat_output_t dy = gradient_of(f, power(f, 0, "power"), f->x);
  assert_true(value_at(f, dy, 2, 0) == 1);
}

static void invariants_are_summed(void** state) {
  fixture_t* f = *state;
  loop_t loop = open_times(f, "sum", 5, LEAT_INPUTS(scene_float(&f->s, 1)));
  leat_output_t x = enter(f, "sum", f->x, true);
  close_loop(&loop, LEAT_INPUTS(add(f, loop.body[1], mul(f, x, x))));
  leat_output_t y = leave(&loop, 1), dy = gradient_of(f, y, f->x);
  assert_true(value_at(f, dy, 3, 0) == 30);
  assert_true(value_at(f, gradient_of(f, dy, f->x), 3, 0) == 10);
}

// a' = a * b, b' = sin(a) + b; only a is read behind the loop.
static void several_variables(void** state) {
  fixture_t* f = *state;
  loop_t loop = open_times(f, "several", 3, LEAT_INPUTS(f->x, unary(f, "Cos", f->x)));
  leat_output_t a = loop.body[1], b = loop.body[2];
  close_loop(&loop, LEAT_INPUTS(mul(f, a, b), add(f, unary(f, "Sin", a), b)));
  check(f, leave(&loop, 1));
}

// What a variable becomes need not depend on what it was.
static void forgotten_values(void** state) {
  fixture_t* f = *state;
  loop_t loop = open_times(f, "forgets", 3, LEAT_INPUTS(f->x, f->x));
  leat_output_t b = loop.body[2];
  close_loop(&loop, LEAT_INPUTS(mul(f, b, b), unary(f, "Sin", b)));
  check(f, leave(&loop, 1));
}

static void nested_loops(void** state) {
  fixture_t* f = *state;
  loop_t outer = open_times(f, "outer", 3, LEAT_INPUTS(f->x));
  leat_output_t x = enter(f, "outer", f->x, true);
  // As often as the outer loop has run; i - i is a zero of the outer iteration.
  leat_output_t zero = scene_binary(&f->s, "Sub", -1, outer.body[0], outer.body[0]);
  loop_t inner = open_loop(f, "inner", outer.body[0], zero, LEAT_INPUTS(outer.body[1]));
  inner.one = enter(f, "inner", outer.one, true);
  leat_output_t inner_x = enter(f, "inner", x, true);
  close_loop(&inner, LEAT_INPUTS(add(f, mul(f, inner.body[1], inner_x),
                                     unary(f, "Sin", inner.body[1]))));
  close_loop(&outer, LEAT_INPUTS(leave(&inner, 1)));
  check(f, leave(&outer, 1));
}

// Only the values that the backward loop reads are kept, and those once.
static void what_is_kept(void** state) {
  fixture_t* f = *state;
  loop_t loop = open_times(f, "kept", 4, LEAT_INPUTS(f->x));
  leat_output_t v = loop.body[1];
  leat_output_t twice = add(f, v, unary(f, "Neg", unary(f, "Neg", v)));  // nothing to keep
  close_loop(&loop, LEAT_INPUTS(mul(f, unary(f, "Sin", twice), twice)));
  size_t before = f->s.graph->node_count;
  leat_output_t dy = gradient_of(f, leave(&loop, 1), f->x);
  int lists = 0, counters = 0;
  for (size_t i = before; i < f->s.graph->node_count; ++i) {
    const leat_node_t* node = &f->s.graph->nodes[i];
    lists += leat_string_view_equals(node->op->name, "EmptyTensorList");
    counters += leat_string_view_equals(node->op->name, "AddV2");
  }
  assert_int_equal(lists, 2);     // sin(twice) and twice
  assert_int_equal(counters, 0);  // the loop counts itself
  assert_true(leat_output_exists(dy));
}

// ---- Conditionals -------------------------------------------------------------------------------

static void conditionals(void** state) {
  fixture_t* f = *state;
  leat_output_t pred = is_positive(f);
  leat_output_t a = side(f, f->x, pred, 1), b = side(f, f->x, pred, 0);  // two Switches
  check(f, merge(f, unary(f, "Sin", b), mul(f, a, mul(f, a, a))));
}

// The side that was not taken adds nothing, but must not hold the other up.
static void one_side_only(void** state) {
  fixture_t* f = *state;
  leat_output_t pred = is_positive(f);
  leat_output_t a = side(f, f->x, pred, 1);
  leat_output_t b = side(f, unary(f, "Cos", f->x), pred, 0);
  check(f, add(f, merge(f, b, mul(f, a, a)), mul(f, f->x, f->x)));
  leat_output_t c = side(f, scene_float(&f->s, 5), pred, 0);
  check(f, merge(f, c, mul(f, a, mul(f, a, a))));
}

static void nested_conditionals(void** state) {
  fixture_t* f = *state;
  leat_output_t pred = is_positive(f);
  leat_output_t also = scene_binary(&f->s, "Greater", -1, f->x, scene_float(&f->s, 0.25f));
  leat_output_t x = side(f, f->x, pred, 1), q = side(f, also, pred, 1);
  leat_output_t inner = merge(f, unary(f, "Sin", side(f, x, q, 0)),
                              mul(f, side(f, x, q, 1), side(f, x, q, 1)));
  check(f, merge(f, unary(f, "Cos", side(f, f->x, pred, 0)), inner));
}

// Where no predicate tells, the Merge itself says what it took.
static void merges_without_a_predicate(void** state) {
  fixture_t* f = *state;
  leat_output_t pred = is_positive(f);
  leat_output_t other = scene_binary(&f->s, "LessEqual", -1, f->p, scene_float(&f->s, 0));
  leat_output_t a = side(f, f->x, pred, 1), b = side(f, f->x, other, 1);
  check(f, merge(f, unary(f, "Sin", b), mul(f, a, a)));
}

// Five iterations, each of which chooses anew by its value: its gradient must remember the choices.
static leat_output_t deciding_loop(fixture_t* f) {
  loop_t loop = open_times(f, "loop", 5, LEAT_INPUTS(f->x));
  leat_output_t x = enter(f, "loop", f->x, true), v = loop.body[1];
  leat_output_t pred = scene_binary(&f->s, "Greater", -1, v, enter(f, "loop", f->p, true));
  leat_output_t yes = mul(f, side(f, v, pred, 1), unary(f, "Cos", side(f, x, pred, 1)));
  leat_output_t no = add(f, unary(f, "Sin", side(f, v, pred, 0)), side(f, x, pred, 0));
  close_loop(&loop, LEAT_INPUTS(merge(f, no, yes)));
  return leave(&loop, 1);
}

// 2^20, as a chain of twenty sums that begins with a constant: no node of it needs the gradient
// that came, or anything else that may be dead.
static leat_status_t constant_slope(leat_gradient_t* g) {
  leat_output_t slope = leat_build_scalar(&g->builder, LEAT_DTYPE_FLOAT, 1);
  for (int i = 0; i < 20; ++i) slope = leat_build_binary(&g->builder, "AddV2", slope, slope);
  leat_gradient_set_input(g, 0, slope);
  return leat_ok_status();
}

// A gradient that is made of constants alone must wait for the branch whose value it belongs to:
// else it would be there, and be taken, when the other branch ran.
static void a_constant_gradient_waits_for_its_branch(void** state) {
  static const leat_op_row_t row = {.name = "ProbeConstantSlope",
                                    .inputs = "x: float",
                                    .outputs = "y: float",
                                    .gradient = constant_slope};
  fixture_t* f = *state;
  leat_op_registry_t* ops = f->s.graph->ops;
  if (!leat_op_registry_has(ops, LEAT_SV("ProbeConstantSlope"))) {
    LEAT_EXPECT_OK(leat_op_registry_extend(ops, &row));
  }
  leat_output_t pred = is_positive(f);
  leat_output_t a = scene_output(&f->s, "Identity", "", "", LEAT_INPUTS(side(f, f->x, pred, 1)),
                                 LEAT_ATTRS(LEAT_STR("_gradient_op_type", "ProbeConstantSlope")));
  leat_output_t b = unary(f, "Neg", side(f, f->x, pred, 0));
  leat_output_t dy = gradient_of(f, merge(f, b, a), f->x);
  assert_true(value_at(f, dy, 3, 1) == 1 << 20);
  assert_true(value_at(f, dy, 3, -1) == -1);
}

static void conditional_in_a_loop(void** state) { check(*state, deciding_loop(*state)); }

static void loop_in_a_conditional(void** state) {
  fixture_t* f = *state;
  leat_output_t pred = is_positive(f), x = side(f, f->x, pred, 1);
  leat_output_t limit = side(f, int32(f, 3), pred, 1), zero = side(f, int32(f, 0), pred, 1);
  loop_t loop = open_loop(f, "loop", limit, zero, LEAT_INPUTS(x));
  loop.one = enter(f, "loop", side(f, int32(f, 1), pred, 1), true);
  leat_output_t body = unary(f, "Sin", mul(f, loop.body[1], enter(f, "loop", x, true)));
  close_loop(&loop, LEAT_INPUTS(body));
  check(f, merge(f, unary(f, "Cos", side(f, f->x, pred, 0)), leave(&loop, 1)));
}

// ---- Rows, arrays -------------------------------------------------------------------------------

static leat_output_t sum(fixture_t* f, leat_output_t vector) {
  return scene_binary(&f->s, "Sum", -1, vector,
                      leat_build_int32_vector(&f->s.b, (const int32_t[]){0}, 1));
}

// Rows that each iteration looks up are gathered, and only then added up.
static leat_output_t table_loop(fixture_t* f) {
  leat_output_t packed[] = {f->x, unary(f, "Sin", f->x), unary(f, "Cos", f->x)};
  leat_output_t table =
      scene_output(&f->s, "Pack", "", "", (leat_outputs_t){packed, 3}, LEAT_NO_ATTRS);
  loop_t loop = open_times(f, "rows", 3, LEAT_INPUTS(scene_float(&f->s, 1)));
  leat_output_t axis = enter(f, "rows", int32(f, 0), true);
  leat_output_t row = scene_output(
      &f->s, "GatherV2", "", "",
      LEAT_INPUTS(enter(f, "rows", table, true), loop.body[0], axis), LEAT_NO_ATTRS);
  close_loop(&loop, LEAT_INPUTS(mul(f, loop.body[1], row)));
  return leave(&loop, 1);
}

static void rows_of_a_table(void** state) { check(*state, table_loop(*state)); }

// A table that is read on one side gets no rows on the other.
static void rows_on_one_side(void** state) {
  fixture_t* f = *state;
  leat_output_t packed[] = {f->x, unary(f, "Sin", f->x)}, pred = is_positive(f);
  leat_output_t table =
      scene_output(&f->s, "Pack", "", "", (leat_outputs_t){packed, 2}, LEAT_NO_ATTRS);
  leat_output_t index = side(f, int32(f, 1), pred, 1), axis = side(f, int32(f, 0), pred, 1);
  leat_output_t row = scene_output(&f->s, "GatherV2", "", "",
                                   LEAT_INPUTS(side(f, table, pred, 1), index, axis),
                                   LEAT_NO_ATTRS);
  check(f, merge(f, unary(f, "Cos", side(f, f->x, pred, 0)), mul(f, row, row)));
}

static void tensor_arrays(void** state) {
  fixture_t* f = *state;
  int32_t array = scene_node(&f->s, "TensorArrayV3", "", "", LEAT_INPUTS(int32(f, 3)),
                             LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  leat_output_t handle = leat_node_output(array, 0);
  loop_t loop = open_times(f, "array", 3, LEAT_INPUTS(f->x, leat_node_output(array, 1)));
  leat_output_t v = mul(f, loop.body[1], enter(f, "array", f->x, true));
  leat_output_t flow = scene_output(
      &f->s, "TensorArrayWriteV3", "", "",
      LEAT_INPUTS(enter(f, "array", handle, true), loop.body[0], v, loop.body[2]), LEAT_NO_ATTRS);
  close_loop(&loop, LEAT_INPUTS(v, flow));
  leat_output_t all =
      scene_output(&f->s, "TensorArrayGatherV3", "", "",
                   LEAT_INPUTS(handle, leat_build_int32_vector(&f->s.b, (int32_t[]){0, 1, 2}, 3),
                               leave(&loop, 2)),
                   LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  leat_output_t y = sum(f, all);  // x^2 + x^3 + x^4
  assert_true(value_at(f, y, 2, 0) == 4 + 8 + 16);
  assert_true(value_at(f, gradient_of(f, y, f->x), 2, 0) == 4 + 12 + 32);
}

// ---- Calls --------------------------------------------------------------------------------------

// A node that forwards its input: the second time it is named, as a call within what it was.
static leat_status_t expand(void* data, leat_graph_t* graph, int32_t node,
                            leat_string_view_t scope, leat_output_t* out_outputs) {
  leat_builder_t b = {.graph = graph, .scope = scope};
  leat_output_t x = graph->nodes[node].inputs[0];
  int* depth = data;
  if (++*depth == 1) {
    leat_output_t inner = leat_build_unary(&b, "ProbeCall", leat_build_unary(&b, "Neg", x));
    out_outputs[0] = leat_build_unary(&b, "Neg", inner);
  } else {
    out_outputs[0] = leat_build_unary(&b, "Identity", x);
  }
  return b.status;
}

static void calls_are_expanded(void** state) {
  fixture_t* f = *state;
  int depth = 0;
  leat_output_t call = unary(f, "ProbeCall", f->x), dy;
  leat_gradient_options_t options = {.expand = expand, .data = &depth};
  LEAT_EXPECT_OK(differentiate(f, mul(f, call, f->x), f->x, &options, &dy));
  assert_int_equal(depth, 2);
  assert_true(value_at(f, dy, 3, 0) == 6);
  // A call that is a y; one that is an x.
  LEAT_EXPECT_OK(differentiate(f, unary(f, "ProbeCall", f->x), f->x, &options, &dy));
  assert_true(value_at(f, dy, 3, 0) == 1);
  LEAT_EXPECT_OK(differentiate(f, mul(f, call, f->x), call, &options, &dy));
  assert_true(value_at(f, dy, 3, 0) == 3);
  // In a loop.
  loop_t loop = open_times(f, "calls", 3, LEAT_INPUTS(f->x));
  leat_output_t inside = unary(f, "ProbeCall", loop.body[1]);
  close_loop(&loop, LEAT_INPUTS(mul(f, inside, enter(f, "calls", f->x, true))));
  LEAT_EXPECT_OK(differentiate(f, leave(&loop, 1), f->x, &options, &dy));
  assert_true(value_at(f, dy, 2, 0) == 32);
  // Without a way to expand, it is an op without a gradient.
  scene_expect(differentiate(f, call, f->x, NULL, &dy), LEAT_NOT_FOUND, "op: ProbeCall");
}

// ---- What is refused ----------------------------------------------------------------------------

static void ys_in_a_loop(void** state) {
  fixture_t* f = *state;
  loop_t loop = open_times(f, "loop", 3, LEAT_INPUTS(f->x));
  leat_output_t v = loop.body[1], y = mul(f, unary(f, "Sin", v), v), dy;
  // Within one iteration that is a graph like any other.
  leat_output_t next = gradient_of(f, y, v);
  close_loop(&loop, LEAT_INPUTS(next));
  leat_output_t out = leave(&loop, 1);
  float wanted = 0.75f;
  for (int i = 0; i < 3; ++i) wanted = sinf(wanted) + wanted * cosf(wanted);
  expect_near(value_at(f, out, 0.75f, 0), wanted);
  scene_expect(differentiate(f, y, f->x, NULL, &dy), LEAT_INVALID_ARGUMENT, "inside the loop");
  assert_true(leat_output_exists(gradient_of(f, y, v)));
  // A value of the loop has a gradient, in the loop of the gradient: nobody can ask for it.
  scene_expect(scene_fetch(&f->s, gradient_of(f, out, v), &(leat_tensor_t){0}),
               LEAT_INVALID_ARGUMENT, "inside a loop");
  leat_output_t ys[] = {y, out};
  leat_gradient_value_t g;
  leat_gradient_spec_t spec = {.ys = ys, .y_count = 2, .xs = &f->x, .x_count = 1,
                               .prefix = LEAT_SV("two")};
  scene_expect(leat_add_gradients(f->s.graph, &spec, &g),
               LEAT_INVALID_ARGUMENT, "in another loop");
}

static void malformed_loops(void** state) {
  fixture_t* f = *state;
  leat_output_t dy;
  // A frame that is no loop.
  leat_output_t in = unary(f, "Sin", enter(f, "none", f->x, false));
  scene_expect(differentiate(f, unary(f, "Exit", in), f->x, NULL, &dy), LEAT_INVALID_ARGUMENT,
               "must be");
  scene_expect(differentiate(f, unary(f, "Exit", f->x), f->x, NULL, &dy), LEAT_INVALID_ARGUMENT,
               "outside a frame");
  // An Enter that no Merge reads and that is no constant.
  loop_t loop = open_times(f, "stray", 3, LEAT_INPUTS(f->x));
  leat_output_t stray = enter(f, "stray", f->x, false);
  close_loop(&loop, LEAT_INPUTS(mul(f, loop.body[1], stray)));
  scene_expect(differentiate(f, leave(&loop, 1), f->x, NULL, &dy), LEAT_INVALID_ARGUMENT,
               "is_constant");
  // A NextIteration behind six Enters: its form is refused, and nothing before the first input is
  // taken for the Enter beside it.
  in = enter(f, "crowd", f->x, false);
  leat_output_t crowd = scene_output(&f->s, "Merge", "", "",
                                     LEAT_INPUTS(in, in, in, in, in, in, in), LEAT_NO_ATTRS);
  leat_output_t goes_on = unary(f, "LoopCond", enter(f, "crowd", is_positive(f), true));
  leat_output_t again = unary(f, "NextIteration", side(f, crowd, goes_on, 1));
  leat_output_t last = unary(f, "Exit", side(f, crowd, goes_on, 0));
  LEAT_EXPECT_OK(leat_graph_set_input(f->s.graph, crowd.node, 6, again));
  scene_expect(differentiate(f, last, f->x, NULL, &dy), LEAT_INVALID_ARGUMENT,
               "must be one Enter");
  // Two NextIterations.
  in = enter(f, "twice", f->x, false);
  leat_output_t merged = scene_output(&f->s, "Merge", "", "", LEAT_INPUTS(in, in, in),
                                      LEAT_NO_ATTRS);
  leat_output_t pred = unary(f, "LoopCond", enter(f, "twice", is_positive(f), true));
  leat_output_t next = unary(f, "NextIteration", side(f, merged, pred, 1));
  leat_output_t exit = unary(f, "Exit", side(f, merged, pred, 0));
  LEAT_EXPECT_OK(leat_graph_set_input(f->s.graph, merged.node, 1, next));
  LEAT_EXPECT_OK(leat_graph_set_input(f->s.graph, merged.node, 2, next));
  scene_expect(differentiate(f, exit, f->x, NULL, &dy), LEAT_INVALID_ARGUMENT,
               "one Enter and one NextIteration");
  // Values of two frames.
  loop = open_times(f, "first", 3, LEAT_INPUTS(f->x));
  leat_output_t other = enter(f, "second", f->x, true);
  close_loop(&loop, LEAT_INPUTS(mul(f, loop.body[1], other)));
  scene_expect(differentiate(f, leave(&loop, 1), f->x, NULL, &dy), LEAT_INVALID_ARGUMENT,
               "is in frame 'second', others are in frame 'first'");
  // And all is well with other parts of the graph.
  assert_true(value_at(f, gradient_of(f, mul(f, f->x, f->x), f->x), 3, 0) == 6);
}

static void memory_may_end(void** state) {
  for (int64_t n = 1;; ++n) {
    void* fixture;
    set_up(&fixture);
    fixture_t* f = fixture;
    leat_output_t y = add(f, deciding_loop(f), table_loop(f)), dy;
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = differentiate(f, y, f->x, NULL, &dy);
    bool met = leat_fault_remove(&fault);
    if (met) {
      LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
      f->s.b.status = leat_ok_status();
      if (n % 50 == 1) value_at(f, gradient_of(f, y, f->x), 2, 0);  // again, on the same graph
    } else {
      LEAT_EXPECT_OK(status);
    }
    tear_down(&fixture);
    if (!met) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(powers),
      TEST(no_iteration_passes_the_gradient),
      TEST(invariants_are_summed),
      TEST(several_variables),
      TEST(forgotten_values),
      TEST(nested_loops),
      TEST(what_is_kept),
      TEST(conditionals),
      TEST(one_side_only),
      TEST(nested_conditionals),
      TEST(a_constant_gradient_waits_for_its_branch),
      TEST(merges_without_a_predicate),
      TEST(conditional_in_a_loop),
      TEST(loop_in_a_conditional),
      TEST(rows_of_a_table),
      TEST(rows_on_one_side),
      TEST(tensor_arrays),
      TEST(calls_are_expanded),
      TEST(ys_in_a_loop),
      TEST(malformed_loops),
      cmocka_unit_test(memory_may_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
