// Conditionals and loops built through leat/control_flow.h, and run: values against the same
// computation in C, gradients against finite differences of it; what is captured, how often, and
// what is refused; contexts that are left, entered again and abandoned. That the graphs are
// TensorFlow's, node for node, tests/oracle/control_flow_oracle.py compares.
#include "leat/control_flow.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/fault.h"
#include "client/model_kit.h"

static TF_Output constant(double value) {
  return leat_constant(kit.scope, TF_DOUBLE, 0, NULL, &value);
}

// A vector of one number, as the variables here are.
static TF_Output vector(double value) {
  return leat_constant(kit.scope, TF_DOUBLE, 1, (int64_t[]){1}, &value);
}

static TF_Output binary(const char* op, TF_Output x, TF_Output y) {
  return kit_out(leat_operation(kit.scope, op, NULL, (TF_Output[]){x, y}, 2, NULL, 0), 0);
}

static TF_Output unary(const char* op, TF_Output x) {
  return kit_out(leat_operation(kit.scope, op, NULL, &x, 1, NULL, 0), 0);
}

static TF_Output less(TF_Output x, TF_Output y) { return binary("Less", x, y); }
static TF_Output add(TF_Output x, TF_Output y) { return binary("AddV2", x, y); }
static TF_Output mul(TF_Output x, TF_Output y) { return binary("Mul", x, y); }

// Checked calls of the functions under test.
static leat_flow_context_t* begin(const char* name, TF_Output* variables, int count) {
  leat_flow_context_t* loop =
      leat_while_begin(kit.graph, name, variables, count, NULL, variables, kit.status);
  kit_ok(kit.status);
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  return loop;
}

static void body(leat_flow_context_t* loop, TF_Output condition, TF_Output* variables) {
  leat_while_body(loop, condition, variables, kit.status);
  kit_ok(kit.status);
}

static void end(leat_flow_context_t* loop, TF_Output* variables, int count) {
  leat_while_end(loop, variables, count, variables, kit.status);
  kit_ok(kit.status);
}

static leat_flow_context_t* choose(const char* name, TF_Output predicate) {
  leat_flow_context_t* branch = leat_cond_begin(kit.graph, name, predicate, NULL, kit.status);
  kit_ok(kit.status);
  assert_ptr_equal(leat_flow_current(kit.graph), branch);
  return branch;
}

static leat_flow_context_t* otherwise(leat_flow_context_t* branch, TF_Output result) {
  leat_flow_context_t* next = leat_cond_else(branch, &result, 1, kit.status);
  kit_ok(kit.status);
  assert_ptr_equal(leat_flow_current(kit.graph), next);
  return next;
}

static TF_Output merged(leat_flow_context_t* branch, TF_Output result) {
  leat_cond_end(branch, &result, 1, &result, kit.status);
  kit_ok(kit.status);
  return result;
}

static int count_of(const char* op, TF_Output input) {
  size_t pos = 0;
  int count = 0;
  for (TF_Operation* o; (o = TF_GraphNextOperation(kit.graph, &pos)) != NULL;) {
    if (strcmp(TF_OperationOpType(o), op)) continue;
    TF_Output read = TF_OperationInput((TF_Input){o, 0});
    count += !input.oper || (read.oper == input.oper && read.index == input.index);
  }
  return count;
}

static bool waits_for(TF_Operation* operation, const char* name) {
  TF_Operation* controls[16];
  int count = TF_OperationGetControlInputs(operation, controls, 16);
  for (int i = 0; i < count; ++i) {
    if (!strcmp(TF_OperationName(controls[i]), name)) return true;
  }
  return false;
}

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
  TF_Output v[2] = {constant(0), x}, limit = constant(5), one = constant(1);
  leat_flow_context_t* loop = begin("while", v, 2);
  body(loop, less(v[0], limit), v);
  TF_Output next = add(mul(v[1], x), v[0]);
  v[0] = add(v[0], one);
  v[1] = next;
  end(loop, v, 2);
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
  TF_Output v[2] = {constant(0), x}, limit = constant(3), one = constant(1), zero = constant(0);
  leat_flow_context_t* outer = begin("while", v, 2);
  body(outer, less(v[0], limit), v);
  TF_Output next = add(v[0], one), w[2] = {zero, v[1]}, from = v[1];
  leat_flow_context_t* inner = begin("while/while", w, 2);
  body(inner, less(w[0], next), w);
  w[0] = add(w[0], one);
  w[1] = add(mul(unary("Sin", w[1]), x), from);
  end(inner, w, 2);
  v[0] = next;
  v[1] = w[1];
  end(outer, v, 2);
  return v[1];
}

static double either_in_c(double x) { return x < 0 ? x * x * x : 2 * x + 1; }
static TF_Output either(TF_Output x) {
  TF_Output zero = constant(0);
  leat_flow_context_t* branch = choose("cond", less(x, zero));
  branch = otherwise(branch, mul(x, mul(x, x)));
  TF_Output two = constant(2);
  return merged(branch, add(mul(two, x), constant(1)));
}

static double branches_in_loop_in_c(double x) {
  double v = x;
  for (int i = 0; i < 5; ++i) v = v < x ? sin(v) + 2 * x : (i < 2 ? v * x : v - 1);
  return v;
}
static TF_Output branches_in_loop(TF_Output x) {
  TF_Output v[2] = {constant(0), x}, limit = constant(5), one = constant(1), two = constant(2);
  leat_flow_context_t* loop = begin("while", v, 2);
  body(loop, less(v[0], limit), v);
  leat_flow_context_t* branch = choose("while/cond", less(v[1], x));
  branch = otherwise(branch, add(unary("Sin", v[1]), mul(x, constant(2))));
  leat_flow_context_t* second = choose("while/cond/cond", less(v[0], two));
  second = otherwise(second, mul(v[1], x));
  v[1] = merged(branch, merged(second, binary("Sub", v[1], one)));
  v[0] = add(v[0], one);
  end(loop, v, 2);
  return v[1];
}

static double loop_in_branch_in_c(double x) {
  double v = 1;
  if (x < 1) return cos(x);
  for (int i = 0; i < 4; ++i) v = v * x;
  return v;
}
static TF_Output loop_in_branch(TF_Output x) {
  TF_Output one = constant(1), limit = constant(4), zero = constant(0);
  leat_flow_context_t* branch = choose("cond", less(x, one));
  branch = otherwise(branch, unary("Cos", x));
  TF_Output v[2] = {zero, one};
  leat_flow_context_t* loop = begin("cond/while", v, 2);
  body(loop, less(v[0], limit), v);
  v[0] = add(v[0], one);
  v[1] = mul(v[1], x);
  end(loop, v, 2);
  return merged(branch, v[1]);
}

static double bounded_in_c(double x) {
  double v = x;
  for (int i = 0; i < 3 && v < 1000; ++i) v = v * v + x;
  return v;
}
static TF_Output bounded(TF_Output x) {
  TF_Output v = x, limit = constant(1000);
  leat_flow_options_t options = {.maximum_iterations = leat_constant_int(kit.scope, 3),
                                 .parallel_iterations = 2};
  leat_flow_context_t* loop =
      leat_while_begin(kit.graph, "while", &v, 1, &options, &v, kit.status);
  kit_ok(kit.status);
  body(loop, less(v, limit), &v);
  v = add(mul(v, v), x);
  end(loop, &v, 1);
  return v;
}

// The derivative of sin(v) * x by v is taken in the body.
static double gradient_in_body_in_c(double x) {
  double v = x;
  for (int i = 0; i < 3; ++i) v = v + cos(v) * x;
  return v;
}
static TF_Output gradient_in_body(TF_Output x) {
  TF_Output v[2] = {constant(0), x}, limit = constant(3), one = constant(1);
  leat_flow_context_t* loop = begin("while", v, 2);
  body(loop, less(v[0], limit), v);
  TF_Output y = mul(unary("Sin", v[1]), x), dv;
  TF_AddGradients(kit.graph, &y, 1, &v[1], 1, NULL, kit.status, &dv);
  kit_ok(kit.status);
  assert_ptr_equal(leat_flow_of(dv.oper), loop);
  v[0] = add(v[0], one);
  v[1] = add(v[1], dv);
  end(loop, v, 2);
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

// ---- Captures -----------------------------------------------------------------------------------

static void test_a_value_is_entered_once_for_each_frame(void** state) {
  TF_Output x = constant(3), v[2] = {constant(0), constant(1)}, one = constant(1);
  leat_flow_context_t* outer = begin("while", v, 2);
  body(outer, less(v[0], x), v);
  TF_Output w = v[1];
  leat_flow_context_t* inner = begin("while/while", &w, 1);
  body(inner, less(w, x), &w);
  w = add(mul(w, x), mul(x, x));
  assert_ptr_equal(leat_flow_of(w.oper), inner);
  end(inner, &w, 1);
  assert_ptr_equal(leat_flow_of(w.oper), inner);  // an Exit is in its loop
  v[0] = add(mul(v[0], x), one);
  v[1] = w;
  end(outer, v, 2);
  assert_null(leat_flow_of(x.oper));
  assert_int_equal(count_of("Enter", x), 1);
  TF_Output entered = {TF_GraphOperationByName(kit.graph, "Less/Enter"), 0};
  assert_non_null(entered.oper);
  assert_int_equal(count_of("Enter", entered), 1);
  kit_ok(leat_scope_status(kit.scope));
}

// A reference goes in as a reference, so that the loop updates the variable itself.
static void test_a_variable_is_updated_in_a_loop(void** state) {
  model_kit_variable("v", TF_DOUBLE, 1, (double[]){1});
  TF_Output v = leat_variable_at(kit.scope, 0), i = constant(0), limit = constant(4);
  TF_Output one = constant(1);
  leat_flow_context_t* loop = begin("while", &i, 1);
  body(loop, less(i, limit), &i);
  TF_Operation* doubled = leat_operation(kit.scope, "AssignAdd", NULL,
                                         (TF_Output[]){v, unary("Identity", v)}, 2, NULL, 0);
  leat_scope_t* after = leat_scope_after(kit.scope, &doubled, 1);
  TF_Output next = {leat_operation(after, "AddV2", NULL, (TF_Output[]){i, one}, 2, NULL, 0), 0};
  leat_scope_free(after);
  end(loop, &next, 1);
  assert_int_equal(count_of("RefEnter", v), 1);
  assert_float_equal(model_kit_scalar(next), 4, 0);
  double value;
  assert_int_equal(model_kit_read(v, &value, 1), 1);
  assert_float_equal(value, 16, 0);
}

static void test_a_variable_is_updated_in_the_branch_that_runs(void** state) {
  model_kit_variable("v", TF_DOUBLE, 1, (double[]){1});
  TF_Output v = leat_variable_at(kit.scope, 0), five = vector(5);
  for (int side = 0; side < 2; ++side) {
    TF_Output result;
    TF_Output p = less(constant(side), constant(1));
    leat_flow_context_t* branch = choose(side ? "second" : "first", p);
    TF_Output updated = binary("AssignAdd", v, five);
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
  assert_int_equal(count_of("RefSwitch", v), 2);
}

static void test_control_inputs(void** state) {
  TF_Output x = constant(3), i = x;
  TF_Operation* outside = unary("Neg", x).oper;
  TF_Operation* silent = kit_no_op(kit.graph, "silent");
  leat_scope_t* s = leat_scope_after(kit.scope, (TF_Operation*[]){outside, silent}, 2);
  leat_flow_context_t* loop = begin("while", &i, 1);
  assert_true(waits_for(constant(1).oper, "while/Merge"));  // the pivot of the condition
  body(loop, less(i, x), &i);
  assert_true(waits_for(constant(1).oper, "while/Identity"));
  assert_true(waits_for(mul(x, x).oper, "while/Identity"));  // reads loop constants only
  assert_int_equal(TF_OperationNumControlInputs(mul(x, i).oper), 0);
  // An Identity brings the outside one in; the other has no output, and nothing stands for it.
  TF_Operation* late = leat_operation(s, "Neg", "late", &i, 1, NULL, 0);
  assert_int_equal(TF_OperationNumControlInputs(late), 1);
  assert_true(waits_for(late, "late/Identity"));
  TF_Operation* identity = TF_GraphOperationByName(kit.graph, "late/Identity");
  assert_ptr_equal(leat_flow_of(identity), loop);
  assert_true(waits_for(identity, "while/Identity"));
  leat_flow_context_t* branch = choose("while/cond", less(i, x));
  TF_Operation* in_branch = leat_operation(s, "Neg", "in_branch", &i, 1, NULL, 0);
  assert_int_equal(TF_OperationNumControlInputs(in_branch), 0);
  assert_true(waits_for(constant(1).oper, "while/cond/switch_t"));
  branch = otherwise(branch, kit_out(in_branch, 0));
  assert_true(waits_for(constant(1).oper, "while/cond/switch_f"));
  TF_Output next = merged(branch, add(i, constant(1)));
  end(loop, &next, 1);
  leat_scope_free(s);
  assert_float_equal(model_kit_scalar(next), 3, 0);
}

// The beginning waits for operations, and so does all of the loop.
static void test_a_loop_begins_after_operations(void** state) {
  model_kit_variable("v", TF_DOUBLE, 1, (double[]){1});
  TF_Output v = leat_variable_at(kit.scope, 0), i = constant(0), three = constant(3);
  TF_Operation* updated = binary("AssignAdd", v, vector(3)).oper;
  leat_flow_options_t options = {.control_inputs = &updated, .control_input_count = 1};
  leat_flow_context_t* loop =
      leat_while_begin(kit.graph, "while", &i, 1, &options, &i, kit.status);
  kit_ok(kit.status);
  body(loop, less(i, three), &i);
  i = add(i, three);
  end(loop, &i, 1);
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
  body(loop, less(v[0], limit), v);
  TF_Output pieces[3] = {v[1], v[1], axis};
  v[1] = kit_out(leat_operation(kit.scope, "ConcatV2", NULL, pieces, 3, NULL, 0), 0);
  v[0] = add(v[0], leat_constant_int(kit.scope, 1));
  end(loop, v, 2);
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
  leat_flow_context_t* loop = begin("while", &v, 1);
  body(loop, less(v, v), &v);
  struct timespec from, to;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
  for (int i = 0; i < count; ++i) {
    snprintf(name, sizeof name, "y%d", i);
    v.oper = kit_unary(kit.graph, "Neg", name, sources[i]);
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
  v.index = 0;
  end(loop, &v, 1);
  assert_int_equal(count_of("Enter", (TF_Output){NULL, 0}), count + 1);
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

// ---- Contexts -----------------------------------------------------------------------------------

static void test_entering_and_leaving(void** state) {
  TF_Output x = constant(3), i = constant(0);
  assert_null(leat_flow_current(kit.graph));
  leat_flow_leave(kit.graph);  // does nothing
  leat_flow_context_t* loop = begin("while", &i, 1);
  body(loop, less(i, x), &i);
  leat_flow_leave(kit.graph);  // nor here: the loop is left by its end
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  leat_flow_enter(kit.graph, NULL, kit.status);
  kit_ok(kit.status);
  assert_null(leat_flow_current(kit.graph));
  TF_Output outside = mul(x, x);
  assert_null(leat_flow_of(outside.oper));
  assert_ptr_equal(TF_OperationInput((TF_Input){outside.oper, 0}).oper, x.oper);
  leat_flow_leave(kit.graph);
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  TF_Output next = add(i, outside);
  assert_int_equal(count_of("Enter", outside), 1);
  end(loop, &next, 1);
  assert_float_equal(model_kit_scalar(next), 9, 0);
  // Later additions to a finished loop are in it, and capture as before.
  leat_flow_enter(kit.graph, loop, kit.status);
  kit_ok(kit.status);
  TF_Output late = add(i, x);
  assert_ptr_equal(leat_flow_of(late.oper), loop);
  assert_int_equal(count_of("Enter", x), 1);
  leat_flow_leave(kit.graph);
  assert_null(leat_flow_current(kit.graph));
  TF_Graph* other = TF_NewGraph();
  leat_flow_enter(other, loop, kit.status);
  kit_expect(kit.status, TF_INVALID_ARGUMENT);
  TF_DeleteGraph(other);
}

static void test_abandoned_bodies(void** state) {
  TF_Output x = constant(3), v[2] = {constant(0), x}, w = v[0];
  leat_flow_context_t* loop = begin("while", v, 2);
  leat_flow_context_t* inner = begin("while/while", &w, 1);
  leat_flow_context_t* branch = choose("while/while/cond", less(w, x));
  mul(x, w);
  leat_flow_enter(kit.graph, NULL, kit.status);
  leat_flow_abandon(inner);  // with the branch and what was entered in it
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  leat_flow_abandon(branch);
  leat_flow_abandon(inner);
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  body(loop, less(v[0], x), v);
  leat_flow_abandon(loop);
  leat_flow_abandon(loop);
  leat_flow_abandon(NULL);
  assert_null(leat_flow_current(kit.graph));
  leat_while_end(loop, v, 2, v, kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
  // The graph can be run, exported and built on; a second loop of the same name is another loop.
  assert_float_equal(model_kit_scalar(mul(x, x)), 9, 0);
  model_kit_reopen();
  TF_Output i = constant(0);
  loop = begin("while", &i, 1);
  body(loop, less(i, x), &i);
  i = add(i, x);
  end(loop, &i, 1);
  assert_float_equal(model_kit_scalar(i), 3, 0);
  TF_Operation* enter = TF_GraphOperationByName(kit.graph, "while/Enter_2");
  char frame[64] = "";
  TF_OperationGetAttrString(enter, "frame_name", frame, sizeof frame, kit.status);
  kit_ok(kit.status);
  assert_memory_equal(frame, "while/while_context_1", 21);
}

// A loop that was imported has the frame that a new one would have taken.
static void test_a_frame_of_an_imported_loop_is_not_shared(void** state) {
  power(kit_out(kit_placeholder(kit.graph, "x", TF_DOUBLE), 0));
  TF_Buffer* def = TF_NewBuffer();
  TF_GraphToGraphDef(kit.graph, def, kit.status);
  kit_ok(kit.status);
  leat_scope_free(kit.scope);
  TF_DeleteGraph(kit.graph);
  kit.graph = TF_NewGraph();
  kit.scope = leat_scope_create(kit.graph);
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(kit.graph, def, options, kit.status);
  kit_ok(kit.status);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(def);
  TF_Output i = constant(0), three = constant(3);
  leat_flow_context_t* loop = begin("while", &i, 1);
  body(loop, less(i, three), &i);
  i = add(i, three);
  end(loop, &i, 1);
  char frame[64] = "";
  TF_OperationGetAttrString(TF_GraphOperationByName(kit.graph, "while/Enter_2"), "frame_name",
                            frame, sizeof frame, kit.status);
  kit_ok(kit.status);
  assert_memory_equal(frame, "while/while_context_1", 21);
  TF_Output x = kit_out(TF_GraphOperationByName(kit.graph, "x"), 0);
  TF_Output both =
      add(i, kit_out(TF_GraphOperationByName(kit.graph, "while/Exit_1"), 0));
  TF_Session* session = kit_session(kit.graph);
  const double at = 1.5;
  TF_Tensor* sum = kit_run(session, x, kit_tensor(TF_DOUBLE, 0, NULL, &at, sizeof at), both);
  assert_float_equal(*(double*)TF_TensorData(sum), power_in_c(at) + 3, 1e-9);
  TF_DeleteTensor(sum);
  kit_close(session);
}

// ---- What is refused ----------------------------------------------------------------------------

static void expect_refused(TF_Code code, const char* text) {
  kit_expect_text(kit.status, code, text);
  TF_SetStatus(kit.status, TF_OK, "");
}

static void test_wrong_results_of_a_loop(void** state) {
  const double pair[2] = {1, 2};
  TF_Output x = constant(3), two = leat_constant(kit.scope, TF_DOUBLE, 1, (int64_t[]){2}, pair);
  TF_Output v[2] = {constant(0), two}, out[2];
  leat_flow_context_t* loop = begin("while", v, 2);
  leat_while_body(loop, x, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "must be a scalar bool");
  leat_while_body(loop, less(v[1], two), out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "must be a scalar bool");
  body(loop, less(v[0], x), v);
  int before = kit_count(kit.graph);
  leat_while_end(loop, v, 1, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "result count is 1, must be 2");
  TF_Output number = leat_constant_int(kit.scope, 1);
  leat_while_end(loop, (TF_Output[]){number, v[1]}, 2, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "result is int32, must be double as loop variable 'Const_2:0'");
  leat_while_end(loop, (TF_Output[]){v[0], v[0]}, 2, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT,
                 "'Const_1:0' enters the loop with shape [2], but has shape [] after one iteration "
                 "(result 'while/Identity:0')");
  leat_while_end(loop, (TF_Output[]){v[0], {NULL, 0}}, 2, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "operation is NULL");
  assert_int_equal(kit_count(kit.graph), before + 1);  // the constant |number|
  v[0] = add(v[0], x);
  end(loop, v, 2);  // it can still be ended
  TF_Output wrong = x;
  leat_flow_options_t options = {.ranks = (int[]){1}, .dims = (int64_t[]){-1}};
  before = kit_count(kit.graph);
  assert_null(leat_while_begin(kit.graph, "w", &wrong, 1, &options, out, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "It enters the loop with shape [], but the specified shape "
                                      "invariant is [?]");
  assert_null(leat_while_begin(kit.graph, "w", &wrong, 0, NULL, out, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "variable count is 0");
  options = (leat_flow_options_t){.maximum_iterations = x};
  assert_null(leat_while_begin(kit.graph, "w", &wrong, 1, &options, out, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "must be int32 or int64");
  assert_int_equal(kit_count(kit.graph), before);
  assert_null(leat_flow_current(kit.graph));
}

static void test_wrong_results_of_a_conditional(void** state) {
  TF_Output x = constant(3), number = leat_constant_int(kit.scope, 1), out[2];
  assert_null(leat_cond_begin(kit.graph, "cond", x, NULL, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "must be a scalar bool");
  leat_flow_context_t* branch = choose("cond", less(x, x));
  assert_null(leat_cond_else(branch, NULL, 0, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "result count is 0, must be >= 1");
  leat_cond_end(branch, &x, 1, out, kit.status);
  expect_refused(TF_FAILED_PRECONDITION, "it is a true branch, must be a false branch");
  leat_flow_context_t* second = otherwise(branch, x);
  assert_null(leat_cond_else(second, &x, 1, kit.status));
  expect_refused(TF_FAILED_PRECONDITION, "it is a false branch");
  leat_cond_end(second, (TF_Output[]){x, x}, 2, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "has 2 results, must have 1");
  leat_cond_end(second, &number, 1, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "Received double from the true branch ('cond/Switch_1:1') "
                                      "and int32 from the false branch");
  int before = kit_count(kit.graph);
  merged(second, x);
  assert_int_equal(kit_count(kit.graph), before + 2);  // a Switch and a Merge
  assert_null(leat_flow_current(kit.graph));
}

static void test_wrong_places(void** state) {
  TF_Output x = constant(3), i = x, j = x, out;
  leat_flow_context_t* loop = begin("while", &i, 1);
  leat_while_end(loop, &i, 1, &out, kit.status);
  expect_refused(TF_FAILED_PRECONDITION, "it is its condition");
  TF_Output inside = mul(i, i);
  body(loop, less(i, x), &i);
  leat_flow_enter(kit.graph, NULL, kit.status);
  leat_while_end(loop, &i, 1, &out, kit.status);
  expect_refused(TF_FAILED_PRECONDITION, "not the current context");
  leat_flow_leave(kit.graph);
  end(loop, &i, 1);
  leat_flow_context_t* other = begin("other", &j, 1);
  int before = kit_count(kit.graph);
  TF_OperationDescription* desc = TF_NewOperation(kit.graph, "Mul", "between");
  TF_AddInput(desc, x);  // is captured before the second is refused
  TF_AddInput(desc, inside);
  assert_null(TF_FinishOperation(desc, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "Cannot use 'Mul' as input to 'between' because they are in "
                                      "different while loops");
  assert_int_equal(kit_count(kit.graph), before);
  leat_flow_abandon(other);
  desc = TF_NewOperation(kit.graph, "Neg", "outside");
  TF_AddInput(desc, inside);
  assert_null(TF_FinishOperation(desc, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "because 'Mul' is in a while loop ('while/while_context')");
  assert_null(leat_while_begin(kit.graph, "third", &inside, 1, NULL, &out, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "is in a while loop");
  assert_null(leat_flow_current(kit.graph));
  assert_null(leat_while_begin(NULL, "third", &x, 1, NULL, &out, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "graph is NULL");
  leat_while_body(NULL, x, &out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "context is NULL");
}

// An operation that cannot be added takes back what was captured for it.
static void test_an_operation_that_fails_leaves_nothing(void** state) {
  TF_Output x = constant(3), y = leat_constant_int(kit.scope, 2), i = constant(0);
  leat_flow_context_t* loop = begin("while", &i, 1);
  body(loop, less(i, x), &i);
  int before = kit_count(kit.graph);
  for (int k = 0; k < 2; ++k) {
    TF_OperationDescription* desc = TF_NewOperation(kit.graph, "MatMul", "wrong");
    TF_AddInput(desc, constant(1));
    TF_AddInput(desc, y);
    assert_null(TF_FinishOperation(desc, kit.status));
    kit_expect(kit.status, TF_INVALID_ARGUMENT);
  }
  assert_int_equal(kit_count(kit.graph), before + 2);  // the constants
  assert_null(TF_GraphOperationByName(kit.graph, "wrong/Enter"));
  TF_Output next = add(i, leat_cast(kit.scope, y, TF_DOUBLE));
  end(loop, &next, 1);
  assert_int_equal(count_of("Enter", y), 1);
  assert_float_equal(model_kit_scalar(next), 4, 0);
}

// ---- Memory -------------------------------------------------------------------------------------

// Builds a loop with a conditional in it; false where memory ran out, and then all is abandoned.
static bool build_without_checks(TF_Graph* graph, leat_scope_t* s, TF_Output x, TF_Output* out) {
  TF_Status* status = kit.status;
  TF_Output v[2] = {x, x}, result;
  leat_flow_context_t* loop = leat_while_begin(graph, "while", v, 2, NULL, v, status);
  leat_flow_context_t* branch = NULL;
  if (!loop) return false;
  TF_Operation* decides = leat_operation(s, "Less", NULL, (TF_Output[]){v[0], x}, 2, NULL, 0);
  if (decides) leat_while_body(loop, (TF_Output){decides, 0}, v, status);
  if (decides && TF_GetCode(status) == TF_OK) {
    decides = leat_operation(s, "Less", NULL, (TF_Output[]){v[0], x}, 2, NULL, 0);
    if (decides) branch = leat_cond_begin(graph, "c", (TF_Output){decides, 0}, NULL, status);
    if (branch) branch = leat_cond_else(branch, &x, 1, status);
    if (branch) leat_cond_end(branch, &v[1], 1, &result, status);
    if (branch && TF_GetCode(status) == TF_OK) {
      leat_while_end(loop, (TF_Output[]){v[0], result}, 2, out, status);
    }
  }
  bool built = leat_flow_current(graph) == NULL && TF_GetCode(status) == TF_OK;
  leat_flow_abandon(loop);
  return built;
}

static void test_memory_that_runs_out(void** state) {
  bool met = true;
  for (int64_t n = 1; met; ++n) {
    TF_Graph* graph = TF_NewGraph();
    leat_scope_t* s = leat_scope_create(graph);
    TF_Output x = leat_constant_float(s, 1), out[2];
    leat_fault_t fault;
    TF_SetStatus(kit.status, TF_OK, "");
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    bool built = build_without_checks(graph, s, x, out);
    met = leat_fault_remove(&fault);
    if (!met) assert_true(built);
    if (!built && TF_GetCode(kit.status) != TF_OK) kit_expect(kit.status, TF_RESOURCE_EXHAUSTED);
    assert_null(leat_flow_current(graph));
    TF_SetStatus(kit.status, TF_OK, "");
    // The graph can be built on.
    leat_scope_t* again = leat_scope_create(graph);
    assert_true(build_without_checks(graph, again, x, out));
    TF_Session* session = kit_session(graph);
    TF_Tensor* value = kit_run(session, (TF_Output){NULL, 0}, NULL, out[1]);
    assert_float_equal(kit_float_of(value), 1, 0);
    TF_DeleteTensor(value);
    kit_close(session);
    leat_scope_free(again);
    leat_scope_free(s);
    TF_DeleteGraph(graph);
    assert_true(n < 10000);
  }
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
      TEST(test_a_value_is_entered_once_for_each_frame),
      TEST(test_a_variable_is_updated_in_a_loop),
      TEST(test_a_variable_is_updated_in_the_branch_that_runs),
      TEST(test_control_inputs),
      TEST(test_a_loop_begins_after_operations),
      TEST(test_shape_invariants),
      TEST(test_many_captures),
      TEST(test_entering_and_leaving),
      TEST(test_abandoned_bodies),
      TEST(test_a_frame_of_an_imported_loop_is_not_shared),
      TEST(test_wrong_results_of_a_loop),
      TEST(test_wrong_results_of_a_conditional),
      TEST(test_wrong_places),
      TEST(test_an_operation_that_fails_leaves_nothing),
      TEST(test_memory_that_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
