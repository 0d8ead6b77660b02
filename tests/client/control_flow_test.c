// Conditionals and loops built through leat/control_flow.h, and run. Each program is written twice,
// as operations and as a C function: values are compared with that function, gradients with finite
// differences of it. Further tests look at the graph for what is captured, and how often: a value
// from outside enters each loop once, however many operations read it. The time of 16,000 captures
// is compared with that of 1,000 to find a cost that grows with their number. That the graphs are
// TensorFlow's, node for node, tests/oracle/control_flow_oracle.py compares; contexts, and what is
// refused, are in flow_context_test.c.
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "client/flow_kit.h"

// ---- Values and gradients -----------------------------------------------------------------------
// Each program is a function of x in the graph, and the same one in C.

typedef struct program_s {
  TF_Output (*build)(TF_Output x);
  double (*compute)(double x);
  double xs[3];
} program_t;

// The gradient is compared with central differences in double.
static void check_program(const program_t* program) {
  TF_Output x = kit_out(kit_shaped(kit.graph, "x", TF_DOUBLE, 0, NULL), 0), dx;
  TF_Output y = program->build(x);
  assert_null(leat_flow_current(kit.graph));
  kit_ok(leat_scope_status(kit.scope));
  TF_AddGradients(kit.graph, &y, 1, &x, 1, NULL, kit.status, &dx);
  kit_ok(kit.status);
  TF_Session* session = kit_session(kit.graph);
  for (int i = 0; i < 3; ++i) {
    const double h = 1e-5, at = program->xs[i];
    double slope = (program->compute(at + h) - program->compute(at - h)) / (2 * h);
    TF_Output fetches[2] = {y, dx};
    const double expected[2] = {program->compute(at), slope};
    for (int k = 0; k < 2; ++k) {
      TF_Tensor* fed = kit_tensor(TF_DOUBLE, 0, NULL, &at, sizeof at);
      TF_Tensor* result = kit_run(session, x, fed, fetches[k]);
      double value = *(double*)TF_TensorData(result);
      TF_DeleteTensor(result);
      if (fabs(value - expected[k]) > 1e-6 * (1 + fabs(expected[k]))) {
        fail_msg("%s of %g is %g, not %g", k ? "gradient" : "value", at, value, expected[k]);
      }
    }
  }
  kit_close(session);
}

static double power_in_c(double x) {
  double v = x;
  for (int i = 0; i < 5; ++i) v = v * x + i;
  return v;
}
static TF_Output power(TF_Output x) {
  TF_Output v[2] = {flow_constant(0), x}, limit = flow_constant(5), one = flow_constant(1);
  leat_flow_context_t* loop = flow_begin("while", v, 2);
  flow_body(loop, flow_less(v[0], limit), v);
  TF_Output next = flow_add(flow_mul(v[1], x), v[0]);
  v[0] = flow_add(v[0], one);
  v[1] = next;
  flow_end(loop, v, 2);
  return v[1];
}

static double nested_in_c(double x) {
  double v = x;
  for (int i = 0; i < 3; ++i) {
    double w = v;
    for (int j = 0; j < i + 1; ++j) w = sin(w) * x + v;
    v = w;
  }
  return v;
}
static TF_Output nested(TF_Output x) {
  TF_Output v[2] = {flow_constant(0), x}, limit = flow_constant(3), one = flow_constant(1);
  TF_Output zero = flow_constant(0);
  leat_flow_context_t* outer = flow_begin("while", v, 2);
  flow_body(outer, flow_less(v[0], limit), v);
  TF_Output next = flow_add(v[0], one), w[2] = {zero, v[1]}, from = v[1];
  leat_flow_context_t* inner = flow_begin("while/while", w, 2);
  flow_body(inner, flow_less(w[0], next), w);
  w[0] = flow_add(w[0], one);
  w[1] = flow_add(flow_mul(flow_unary("Sin", w[1]), x), from);
  flow_end(inner, w, 2);
  v[0] = next;
  v[1] = w[1];
  flow_end(outer, v, 2);
  return v[1];
}

static double either_in_c(double x) { return x < 0 ? x * x * x : 2 * x + 1; }
static TF_Output either(TF_Output x) {
  TF_Output zero = flow_constant(0);
  leat_flow_context_t* branch = flow_choose("cond", flow_less(x, zero));
  branch = flow_else(branch, flow_mul(x, flow_mul(x, x)));
  TF_Output two = flow_constant(2);
  return flow_merged(branch, flow_add(flow_mul(two, x), flow_constant(1)));
}

static double branches_in_loop_in_c(double x) {
  double v = x;
  for (int i = 0; i < 5; ++i) v = v < x ? sin(v) + 2 * x : (i < 2 ? v * x : v - 1);
  return v;
}
static TF_Output branches_in_loop(TF_Output x) {
  TF_Output v[2] = {flow_constant(0), x}, limit = flow_constant(5), one = flow_constant(1);
  TF_Output two = flow_constant(2);
  leat_flow_context_t* loop = flow_begin("while", v, 2);
  flow_body(loop, flow_less(v[0], limit), v);
  leat_flow_context_t* branch = flow_choose("while/cond", flow_less(v[1], x));
  branch = flow_else(branch, flow_add(flow_unary("Sin", v[1]), flow_mul(x, flow_constant(2))));
  leat_flow_context_t* second = flow_choose("while/cond/cond", flow_less(v[0], two));
  second = flow_else(second, flow_mul(v[1], x));
  v[1] = flow_merged(branch, flow_merged(second, flow_binary("Sub", v[1], one)));
  v[0] = flow_add(v[0], one);
  flow_end(loop, v, 2);
  return v[1];
}

static double loop_in_branch_in_c(double x) {
  double v = 1;
  if (x < 1) return cos(x);
  for (int i = 0; i < 4; ++i) v = v * x;
  return v;
}
static TF_Output loop_in_branch(TF_Output x) {
  TF_Output one = flow_constant(1), limit = flow_constant(4), zero = flow_constant(0);
  leat_flow_context_t* branch = flow_choose("cond", flow_less(x, one));
  branch = flow_else(branch, flow_unary("Cos", x));
  TF_Output v[2] = {zero, one};
  leat_flow_context_t* loop = flow_begin("cond/while", v, 2);
  flow_body(loop, flow_less(v[0], limit), v);
  v[0] = flow_add(v[0], one);
  v[1] = flow_mul(v[1], x);
  flow_end(loop, v, 2);
  return flow_merged(branch, v[1]);
}

static double bounded_in_c(double x) {
  double v = x;
  for (int i = 0; i < 3 && v < 1000; ++i) v = v * v + x;
  return v;
}
static TF_Output bounded(TF_Output x) {
  TF_Output v = x, limit = flow_constant(1000);
  leat_flow_options_t options = {.maximum_iterations = leat_constant_int(kit.scope, 3),
                                 .parallel_iterations = 2};
  leat_flow_context_t* loop =
      leat_while_begin(kit.graph, "while", &v, 1, &options, &v, kit.status);
  kit_ok(kit.status);
  flow_body(loop, flow_less(v, limit), &v);
  v = flow_add(flow_mul(v, v), x);
  flow_end(loop, &v, 1);
  return v;
}

// The derivative of sin(v) * x by v is taken in the body.
static double gradient_in_body_in_c(double x) {
  double v = x;
  for (int i = 0; i < 3; ++i) v = v + cos(v) * x;
  return v;
}
static TF_Output gradient_in_body(TF_Output x) {
  TF_Output v[2] = {flow_constant(0), x}, limit = flow_constant(3), one = flow_constant(1);
  leat_flow_context_t* loop = flow_begin("while", v, 2);
  flow_body(loop, flow_less(v[0], limit), v);
  TF_Output y = flow_mul(flow_unary("Sin", v[1]), x), dv;
  TF_AddGradients(kit.graph, &y, 1, &v[1], 1, NULL, kit.status, &dv);
  kit_ok(kit.status);
  assert_ptr_equal(leat_flow_of(dv.oper), loop);
  v[0] = flow_add(v[0], one);
  v[1] = flow_add(v[1], dv);
  flow_end(loop, v, 2);
  return v[1];
}

// The derivative of v x^2, a loop, by v is taken in the body of a loop around it, which leaves
// frames that are no contexts; then one is taken in a branch.
static double gradients_deep_inside_in_c(double x) {
  double v = x;
  for (int i = 0; i < 3; ++i) v = v < 1 ? v + x * x : v * cos(v) + sin(v);
  return v;
}
static TF_Output gradients_deep_inside(TF_Output x) {
  TF_Output v[2] = {flow_constant(0), x}, limit = flow_constant(3), one = flow_constant(1);
  TF_Output zero = flow_constant(0), two = flow_constant(2), dv, dy;
  leat_flow_context_t* loop = flow_begin("while", v, 2);
  flow_body(loop, flow_less(v[0], limit), v);
  TF_Output w[2] = {zero, v[1]};
  leat_flow_context_t* inner = flow_begin("while/while", w, 2);
  flow_body(inner, flow_less(w[0], two), w);
  w[0] = flow_add(w[0], one);
  w[1] = flow_mul(w[1], x);
  flow_end(inner, w, 2);
  TF_AddGradients(kit.graph, &w[1], 1, &v[1], 1, NULL, kit.status, &dv);
  kit_ok(kit.status);
  leat_flow_context_t* branch = flow_choose("while/cond", flow_less(v[1], one));
  branch = flow_else(branch, flow_add(v[1], dv));
  TF_Output inside = flow_unary("Identity", v[1]);
  TF_Output y = flow_mul(inside, flow_unary("Sin", inside));
  TF_AddGradients(kit.graph, &y, 1, &inside, 1, NULL, kit.status, &dy);
  kit_ok(kit.status);
  v[1] = flow_merged(branch, dy);
  v[0] = flow_add(v[0], one);
  flow_end(loop, v, 2);
  return v[1];
}

static void run_program(TF_Output (*build)(TF_Output), double (*compute)(double), double a,
                        double b, double c) {
  check_program(&(program_t){build, compute, {a, b, c}});
}

static void test_a_loop(void** state) { run_program(power, power_in_c, 1.5, 0, -0.5); }
static void test_a_loop_in_a_loop(void** state) { run_program(nested, nested_in_c, 1.1, 0.3, -2); }
static void test_a_conditional(void** state) { run_program(either, either_in_c, -1.5, 2, 0.5); }
static void test_conditionals_in_a_loop(void** state) {
  run_program(branches_in_loop, branches_in_loop_in_c, 1.1, 0.4, -0.7);
}
static void test_a_loop_in_a_conditional(void** state) {
  run_program(loop_in_branch, loop_in_branch_in_c, 1.5, 0.5, 2);
}
static void test_a_bounded_loop(void** state) {
  run_program(bounded, bounded_in_c, 1.5, 0.5, 700);
}
static void test_a_gradient_in_a_body(void** state) {
  run_program(gradient_in_body, gradient_in_body_in_c, 1.5, 0.5, -0.3);
}
static void test_gradients_deep_inside(void** state) {
  run_program(gradients_deep_inside, gradients_deep_inside_in_c, 1.5, 0.6, -0.3);
}

// ---- Captures -----------------------------------------------------------------------------------

static void test_a_value_is_entered_once_for_each_frame(void** state) {
  TF_Output x = flow_constant(3), v[2] = {flow_constant(0), flow_constant(1)};
  TF_Output one = flow_constant(1);
  leat_flow_context_t* outer = flow_begin("while", v, 2);
  flow_body(outer, flow_less(v[0], x), v);
  TF_Output w = v[1];
  leat_flow_context_t* inner = flow_begin("while/while", &w, 1);
  flow_body(inner, flow_less(w, x), &w);
  w = flow_add(flow_mul(w, x), flow_mul(x, x));
  assert_ptr_equal(leat_flow_of(w.oper), inner);
  flow_end(inner, &w, 1);
  assert_ptr_equal(leat_flow_of(w.oper), inner);  // an Exit is in its loop
  v[0] = flow_add(flow_mul(v[0], x), one);
  v[1] = w;
  flow_end(outer, v, 2);
  assert_null(leat_flow_of(x.oper));
  assert_int_equal(flow_count("Enter", x), 1);
  TF_Output entered = {TF_GraphOperationByName(kit.graph, "Less/Enter"), 0};
  assert_non_null(entered.oper);
  assert_int_equal(flow_count("Enter", entered), 1);
  kit_ok(leat_scope_status(kit.scope));
}

// A reference goes in as a reference, so that the loop updates the variable itself.
static void test_a_variable_is_updated_in_a_loop(void** state) {
  model_kit_variable("v", TF_DOUBLE, 1, (double[]){1});
  TF_Output v = leat_variable_at(kit.scope, 0), i = flow_constant(0), limit = flow_constant(4);
  TF_Output one = flow_constant(1);
  leat_flow_context_t* loop = flow_begin("while", &i, 1);
  flow_body(loop, flow_less(i, limit), &i);
  TF_Operation* doubled = leat_operation(kit.scope, "AssignAdd", NULL,
                                         (TF_Output[]){v, flow_unary("Identity", v)}, 2, NULL, 0);
  leat_scope_t* after = leat_scope_after(kit.scope, &doubled, 1);
  TF_Output next = {leat_operation(after, "AddV2", NULL, (TF_Output[]){i, one}, 2, NULL, 0), 0};
  leat_scope_free(after);
  flow_end(loop, &next, 1);
  assert_int_equal(flow_count("RefEnter", v), 1);
  assert_float_equal(model_kit_scalar(next), 4, 0);
  double value;
  assert_int_equal(model_kit_read(v, &value, 1), 1);
  assert_float_equal(value, 16, 0);
}

static void test_a_variable_is_updated_in_the_branch_that_runs(void** state) {
  model_kit_variable("v", TF_DOUBLE, 1, (double[]){1});
  TF_Output v = leat_variable_at(kit.scope, 0), five = flow_vector(5);
  for (int side = 0; side < 2; ++side) {
    TF_Output result;
    TF_Output p = flow_less(flow_constant(side), flow_constant(1));
    leat_flow_context_t* branch = flow_choose(side ? "second" : "first", p);
    TF_Output updated = flow_binary("AssignAdd", v, five);
    branch = leat_cond_else(branch, (TF_Output[]){{updated.oper, -1}}, 1, kit.status);
    kit_ok(kit.status);
    TF_Operation* nothing = leat_operation(kit.scope, "NoOp", NULL, NULL, 0, NULL, 0);
    leat_cond_end(branch, (TF_Output[]){{nothing, -1}}, 1, &result, kit.status);
    kit_ok(kit.status);
    assert_int_equal(TF_OperationOutputType(result), TF_BOOL);
    model_kit_run(result.oper);
    double value;
    model_kit_read(v, &value, 1);
    assert_float_equal(value, 6, 0);  // the second does nothing
  }
  assert_int_equal(flow_count("RefSwitch", v), 2);
}

static void test_control_inputs(void** state) {
  TF_Output x = flow_constant(3), i = x;
  TF_Operation* outside = flow_unary("Neg", x).oper;
  TF_Operation* silent = kit_no_op(kit.graph, "silent");
  leat_scope_t* s = leat_scope_after(kit.scope, (TF_Operation*[]){outside, silent}, 2);
  leat_flow_context_t* loop = flow_begin("while", &i, 1);
  assert_true(flow_waits(flow_constant(1).oper, "while/Merge"));  // the pivot of the condition
  flow_body(loop, flow_less(i, x), &i);
  assert_true(flow_waits(flow_constant(1).oper, "while/Identity"));
  assert_true(flow_waits(flow_mul(x, x).oper, "while/Identity"));  // reads loop constants only
  assert_int_equal(TF_OperationNumControlInputs(flow_mul(x, i).oper), 0);
  // An Identity brings the outside one in; the other has no output, and nothing stands for it.
  TF_Operation* late = leat_operation(s, "Neg", "late", &i, 1, NULL, 0);
  assert_int_equal(TF_OperationNumControlInputs(late), 1);
  assert_true(flow_waits(late, "late/Identity"));
  TF_Operation* identity = TF_GraphOperationByName(kit.graph, "late/Identity");
  assert_ptr_equal(leat_flow_of(identity), loop);
  assert_true(flow_waits(identity, "while/Identity"));
  leat_flow_context_t* branch = flow_choose("while/cond", flow_less(i, x));
  TF_Operation* in_branch = leat_operation(s, "Neg", "in_branch", &i, 1, NULL, 0);
  assert_int_equal(TF_OperationNumControlInputs(in_branch), 0);
  assert_true(flow_waits(flow_constant(1).oper, "while/cond/switch_t"));
  TF_Output decides = {TF_GraphOperationByName(kit.graph, "while/cond/pred_id"), 0};
  TF_Operation* reads = flow_unary("LogicalNot", decides).oper;  // is known in its branches
  assert_ptr_equal(TF_OperationInput((TF_Input){reads, 0}).oper, decides.oper);
  branch = flow_else(branch, kit_out(in_branch, 0));
  assert_true(flow_waits(flow_constant(1).oper, "while/cond/switch_f"));
  TF_Output next = flow_merged(branch, flow_add(i, flow_constant(1)));
  flow_end(loop, &next, 1);
  leat_scope_free(s);
  assert_float_equal(model_kit_scalar(next), 3, 0);
}

// The beginning waits for operations, and so does all of the loop.
static void test_a_loop_begins_after_operations(void** state) {
  model_kit_variable("v", TF_DOUBLE, 1, (double[]){1});
  TF_Output v = leat_variable_at(kit.scope, 0), i = flow_constant(0), three = flow_constant(3);
  TF_Operation* updated = flow_binary("AssignAdd", v, flow_vector(3)).oper;
  leat_flow_options_t options = {.control_inputs = &updated, .control_input_count = 1};
  leat_flow_context_t* loop =
      leat_while_begin(kit.graph, "while", &i, 1, &options, &i, kit.status);
  kit_ok(kit.status);
  flow_body(loop, flow_less(i, three), &i);
  i = flow_add(i, three);
  flow_end(loop, &i, 1);
  model_kit_scalar(i);
  double value;
  model_kit_read(v, &value, 1);
  assert_float_equal(value, 4, 0);
}

static void test_shape_invariants(void** state) {
  const double one = 1;
  TF_Output x = leat_constant(kit.scope, TF_DOUBLE, 1, (int64_t[]){1}, &one);
  TF_Output axis = leat_constant_int(kit.scope, 0), limit = leat_constant_int(kit.scope, 3);
  TF_Output v[2] = {axis, x};
  leat_flow_options_t options = {.ranks = (int[]){0, 1}, .dims = (int64_t[]){-1}};
  leat_flow_context_t* loop = leat_while_begin(kit.graph, "while", v, 2, &options, v, kit.status);
  kit_ok(kit.status);
  int64_t size = 0;
  TF_GraphGetTensorShape(kit.graph, v[1], &size, 1, kit.status);
  kit_ok(kit.status);
  assert_int_equal(size, -1);
  flow_body(loop, flow_less(v[0], limit), v);
  TF_Output pieces[3] = {v[1], v[1], axis};
  v[1] = kit_out(leat_operation(kit.scope, "ConcatV2", NULL, pieces, 3, NULL, 0), 0);
  v[0] = flow_add(v[0], leat_constant_int(kit.scope, 1));
  flow_end(loop, v, 2);
  double values[9];
  assert_int_equal(model_kit_read(v[1], values, 9), 8);
}

// A capture costs the same however many there were.
static double seconds_of_captures(int count) {
  leat_scope_free(kit.scope);
  TF_DeleteGraph(kit.graph);
  kit.graph = TF_NewGraph();
  kit.scope = leat_scope_create(kit.graph);
  TF_Operation** sources = calloc((size_t)count, sizeof *sources);
  char name[32];
  for (int i = 0; i < count; ++i) {
    snprintf(name, sizeof name, "x%d", i);
    sources[i] = kit_placeholder(kit.graph, name, TF_DOUBLE);
  }
  TF_Output v = kit_out(sources[0], 0);
  leat_flow_context_t* loop = flow_begin("while", &v, 1);
  flow_body(loop, flow_less(v, v), &v);
  struct timespec from, to;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
  for (int i = 0; i < count; ++i) {
    snprintf(name, sizeof name, "y%d", i);
    v.oper = kit_unary(kit.graph, "Neg", name, sources[i]);
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
  v.index = 0;
  flow_end(loop, &v, 1);
  assert_int_equal(flow_count("Enter", (TF_Output){NULL, 0}), count + 1);
  free(sources);
  return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

static void test_many_captures(void** state) {
  double few = 1e9, many = 1e9;
  for (int i = 0; i < 3; ++i) {
    double a = seconds_of_captures(1000), b = seconds_of_captures(16000);
    if (a < few) few = a;
    if (b < many) many = b;
  }
  if (many > 16 * 6 * few) fail_msg("1000 take %g s, 16000 take %g s", few, many);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, model_kit_set_up, model_kit_tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_a_loop),
      TEST(test_a_loop_in_a_loop),
      TEST(test_a_conditional),
      TEST(test_conditionals_in_a_loop),
      TEST(test_a_loop_in_a_conditional),
      TEST(test_a_bounded_loop),
      TEST(test_a_gradient_in_a_body),
      TEST(test_gradients_deep_inside),
      TEST(test_a_value_is_entered_once_for_each_frame),
      TEST(test_a_variable_is_updated_in_a_loop),
      TEST(test_a_variable_is_updated_in_the_branch_that_runs),
      TEST(test_control_inputs),
      TEST(test_a_loop_begins_after_operations),
      TEST(test_shape_invariants),
      TEST(test_many_captures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
