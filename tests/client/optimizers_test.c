// The five optimizers against their formulas, step by step; what is trained and what is not. A
// vector is trained towards a target, with a gradient that can be written down, and after each step
// every element is compared with the formula of the optimizer computed here in double, in float and
// double. Further tests say which variables a loss trains, that two optimizers do not share state,
// and what is refused. The kernels of the updates are tested in src/ops/train.
#include <math.h>

#include "client/model_kit.h"

enum { kSize = 3, kSteps = 12 };
static const double kFirst[kSize] = {1, -2, 0.5};
static const double kTarget[kSize] = {0.25, 1, -3};

// Loss = mean((w - target)^2), so d loss / d w = 2 / kSize * (w - target).
static TF_Output add_loss(TF_Output w, TF_DataType dtype) {
  int64_t size = kSize;
  TF_Output target =
      leat_cast(kit.scope, leat_constant(kit.scope, TF_DOUBLE, 1, &size, kTarget), dtype);
  TF_Output error = leat_subtract(kit.scope, w, target);
  return leat_mean(kit.scope, leat_multiply(kit.scope, error, error));
}

static double gradient(double w, int i) { return 2.0 / kSize * (w - kTarget[i]); }

// One element's state, as the ops' documentation has it.
typedef struct cell_s {
  double w, a, b;
} cell_t;

static void step_cell(const leat_optimizer_t* o, cell_t* c, int i, int step) {
  double g = gradient(c->w, i), rate = (double)o->learning_rate;
  double beta1 = (double)o->beta1, beta2 = (double)o->beta2, momentum = (double)o->momentum;
  switch (o->kind) {
    case LEAT_OPTIMIZER_SGD: c->w -= rate * g; break;
    case LEAT_OPTIMIZER_MOMENTUM:
      c->a = momentum * c->a + g;
      c->w -= o->use_nesterov ? rate * (g + momentum * c->a) : rate * c->a;
      break;
    case LEAT_OPTIMIZER_ADAGRAD:
      if (step == 1) c->a = (double)o->initial_accumulator;
      c->a += g * g;
      c->w -= rate * g / sqrt(c->a);
      break;
    case LEAT_OPTIMIZER_RMSPROP:
      if (step == 1) c->a = 1;
      c->a += (1 - (double)o->decay) * (g * g - c->a);
      c->b = momentum * c->b + rate * g / sqrt(c->a + (double)o->epsilon);
      c->w -= c->b;
      break;
    case LEAT_OPTIMIZER_ADAM: {
      double corrected = rate * sqrt(1 - pow(beta2, step)) / (1 - pow(beta1, step));
      c->a = beta1 * c->a + (1 - beta1) * g;
      c->b = beta2 * c->b + (1 - beta2) * g * g;
      c->w -= corrected * c->a / (sqrt(c->b) + (double)o->epsilon);
    }
  }
}

static void expect_trajectory(leat_optimizer_t optimizer, TF_DataType dtype) {
  model_kit_set_up(NULL);
  TF_Output w = leat_variable(kit.scope, "w", dtype, 1, (int64_t[]){kSize},
                              leat_initializer_constant(0));
  TF_Operation* train = leat_minimize(kit.scope, optimizer, add_loss(w, dtype));
  int64_t size = kSize;
  TF_Output first =
      leat_cast(kit.scope, leat_constant(kit.scope, TF_DOUBLE, 1, &size, kFirst), dtype);
  TF_Output pair[] = {leat_variable_at(kit.scope, 0), first};
  TF_Operation* begin = leat_operation(kit.scope, "Assign", NULL, pair, 2, NULL, 0);
  model_kit_run(leat_variables_initializer(kit.scope));
  model_kit_run(begin);
  cell_t cells[kSize] = {{0}};
  for (int i = 0; i < kSize; ++i) cells[i].w = kFirst[i];
  for (int step = 1; step <= kSteps; ++step) {
    double values[kSize];
    model_kit_run(train);
    assert_int_equal(model_kit_read(w, values, kSize), kSize);
    for (int i = 0; i < kSize; ++i) {
      step_cell(&optimizer, &cells[i], i, step);
      if (fabs(values[i] - cells[i].w) > 2e-6 * (1 + fabs(cells[i].w))) {
        fail_msg("kind %d, step %d, element %d: %.9g, must be %.9g", (int)optimizer.kind, step, i,
                 values[i], cells[i].w);
      }
    }
  }
  model_kit_tear_down(NULL);
}

static void expect_both(leat_optimizer_t optimizer) {
  expect_trajectory(optimizer, TF_FLOAT);
  expect_trajectory(optimizer, TF_DOUBLE);
}

static void test_sgd(void** state) { expect_both(leat_optimizer_sgd(0.3f)); }

static void test_momentum(void** state) {
  leat_optimizer_t optimizer = leat_optimizer_momentum(0.2f, 0.9f);
  expect_both(optimizer);
  optimizer.use_nesterov = 1;
  expect_both(optimizer);
}

static void test_adagrad(void** state) { expect_both(leat_optimizer_adagrad(0.5f)); }

static void test_rmsprop(void** state) {
  leat_optimizer_t optimizer = leat_optimizer_rmsprop(0.05f);
  expect_both(optimizer);
  optimizer.momentum = 0.5f;
  expect_both(optimizer);
}

static void test_adam(void** state) { expect_both(leat_optimizer_adam(0.1f)); }

// ---- What is trained ----------------------------------------------------------------------------

static void test_several_variables(void** state) {
  TF_Output a = model_kit_variable("a", TF_FLOAT, 2, (double[]){1, 2});
  TF_Output b = model_kit_variable("b", TF_FLOAT, 2, (double[]){3, 4});
  TF_Output unused = model_kit_variable("unused", TF_FLOAT, 1, (double[]){5});
  TF_Output fixed = leat_variable_untrained(kit.scope, "fixed", TF_FLOAT, 0, NULL,
                                            leat_initializer_constant(2));
  TF_Output fixed_handle = leat_variable_at(kit.scope, leat_variable_count(kit.scope) - 1);
  TF_Operation* train = leat_minimize(
      kit.scope, leat_optimizer_sgd(1),
      leat_mean(kit.scope, leat_multiply(kit.scope, leat_multiply(kit.scope, a, b), fixed)));
  model_kit_run(leat_operation(kit.scope, "Assign", NULL,
                               (TF_Output[]){fixed_handle, leat_constant_float(kit.scope, 2)}, 2,
                               NULL, 0));
  model_kit_run(train);  // d/da = b, d/db = a: each before the other changed
  double values[2];
  model_kit_read(a, values, 2);
  assert_true(values[0] == 1 - 3 && values[1] == 2 - 4);
  model_kit_read(b, values, 2);
  assert_true(values[0] == 3 - 1 && values[1] == 4 - 2);
  assert_true(model_kit_scalar(unused) == 5);
  assert_true(model_kit_scalar(fixed) == 2);
}

static void test_no_variable(void** state) {
  TF_Output x = leat_placeholder(kit.scope, "x", TF_FLOAT, 0, NULL);
  assert_null(leat_minimize(kit.scope, leat_optimizer_sgd(1), x));
  kit_expect_text(leat_scope_status(kit.scope), TF_INVALID_ARGUMENT,
                  "Minimize failed for node 'x' (Placeholder): the loss depends on no trainable");
}

static void test_missing_loss(void** state) {
  assert_null(leat_minimize(kit.scope, leat_optimizer_sgd(1), (TF_Output){NULL, 0}));
  kit_expect(leat_scope_status(kit.scope), TF_INVALID_ARGUMENT);
}

static void test_unknown_kind(void** state) {
  TF_Output w = model_kit_variable("w", TF_FLOAT, 1, (double[]){1});
  assert_null(leat_minimize(kit.scope, (leat_optimizer_t){.kind = 77}, leat_mean(kit.scope, w)));
  kit_expect(leat_scope_status(kit.scope), TF_INVALID_ARGUMENT);
}

static void test_two_optimizers(void** state) {
  TF_Output w = model_kit_variable("w", TF_FLOAT, 1, (double[]){1});
  TF_Output loss = leat_mean(kit.scope, w);
  TF_Operation* slow = leat_minimize(kit.scope, leat_optimizer_momentum(0.5f, 0), loss);
  TF_Operation* fast = leat_minimize(kit.scope, leat_optimizer_momentum(8, 0), loss);
  TF_Operation* init = leat_variables_initializer(kit.scope);
  model_kit_run(init);
  model_kit_run(slow);
  model_kit_run(fast);
  assert_true(model_kit_scalar(w) == -8.5);
}

static void test_fed_rate(void** state) {
  TF_Output w = model_kit_variable("w", TF_DOUBLE, 1, (double[]){1});
  TF_Output rate = leat_placeholder(kit.scope, "rate", TF_FLOAT, 0, NULL);
  TF_Operation* train = leat_minimize(kit.scope, (leat_optimizer_t){.rate = rate},
                                      leat_mean(kit.scope, w));
  kit_ok(leat_scope_status(kit.scope));
  const TF_Operation* targets[] = {train};
  for (int i = 1; i <= 3; ++i) {
    TF_Tensor* fed = kit_float((float)i);
    TF_SessionRun(kit.session, NULL, &rate, &fed, 1, NULL, NULL, 0, targets, 1, NULL, kit.status);
    kit_ok(kit.status);
    TF_DeleteTensor(fed);
  }
  assert_true(model_kit_scalar(w) == 1 - 6);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, model_kit_set_up, model_kit_tear_down)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sgd),
      cmocka_unit_test(test_momentum),
      cmocka_unit_test(test_adagrad),
      cmocka_unit_test(test_rmsprop),
      cmocka_unit_test(test_adam),
      TEST(test_several_variables),
      TEST(test_no_variable),
      TEST(test_missing_loss),
      TEST(test_unknown_kind),
      TEST(test_two_optimizers),
      TEST(test_fed_rate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
