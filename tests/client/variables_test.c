// Variables of the client room: their first values, types and names, and the one operation that
// initializes all of them. Initializers are random, so 20,000 values of each are drawn and judged
// by mean, deviation and limits; the same seed must give the same values and another seed others. A
// variable has the name of its scope, and a second one of the same name is an error of the scope,
// after which nothing more is built in it. A shape with an unknown size is refused, since a first
// value could not be made.
#include <math.h>

#include "client/model_kit.h"

enum { kMany = 20000 };

typedef struct moments_s {
  double mean, deviation, least, most;
} moments_t;

static moments_t measure(TF_Output output) {
  static double values[kMany];
  moments_t m = {0, 0, 1e9, -1e9};
  assert_int_equal(model_kit_read(output, values, kMany), kMany);
  for (int i = 0; i < kMany; ++i) {
    m.mean += values[i] / kMany;
    m.least = fmin(m.least, values[i]);
    m.most = fmax(m.most, values[i]);
  }
  for (int i = 0; i < kMany; ++i) m.deviation += pow(values[i] - m.mean, 2) / kMany;
  m.deviation = sqrt(m.deviation);
  return m;
}

static TF_Output matrix(const char* name, leat_initializer_t initializer) {
  return leat_variable(kit.scope, name, TF_FLOAT, 2, (int64_t[]){100, 200}, initializer);
}

static void test_initializers(void** state) {
  TF_Output constant = matrix("constant", leat_initializer_constant(-2.5));
  TF_Output uniform = matrix("uniform", leat_initializer_uniform(-1, 3, 11));
  TF_Output normal = matrix("normal", leat_initializer_truncated_normal(1, 0.5, 12));
  TF_Output glorot = matrix("glorot", leat_initializer_glorot_uniform(13));
  TF_Output he = matrix("he", leat_initializer_he_normal(14));
  model_kit_run(leat_variables_initializer(kit.scope));
  moments_t m = measure(constant);
  assert_true(m.least == -2.5 && m.most == -2.5);
  m = measure(uniform);
  assert_true(m.least >= -1 && m.most < 3 && m.most > 2.9 && fabs(m.mean - 1) < 0.05);
  m = measure(normal);
  assert_true(m.least >= 0 && m.most <= 2 && fabs(m.mean - 1) < 0.02);
  assert_true(fabs(m.deviation - 0.5 * 0.8796) < 0.02);
  m = measure(glorot);
  double limit = sqrt(6.0 / 300);
  assert_true(fabs(m.most - limit) < 1e-3 && fabs(m.least + limit) < 1e-3);
  m = measure(he);
  assert_true(fabs(m.deviation - sqrt(2.0 / 100)) < 0.003 && fabs(m.mean) < 0.003);
}

static void test_seeds(void** state) {
  TF_Output a = matrix("a", leat_initializer_uniform(0, 1, 7));
  TF_Output b = matrix("b", leat_initializer_uniform(0, 1, 7));
  TF_Output c = matrix("c", leat_initializer_uniform(0, 1, 8));
  model_kit_run(leat_variables_initializer(kit.scope));
  double x[1], y[1], z[1];
  model_kit_read(a, x, 1);
  model_kit_read(b, y, 1);
  model_kit_read(c, z, 1);
  assert_true(x[0] == y[0]);
  assert_true(x[0] != z[0]);
}

static void test_types(void** state) {
  TF_Output d = leat_variable(kit.scope, "d", TF_DOUBLE, 0, NULL, leat_initializer_constant(0.1));
  TF_Output step = leat_variable_untrained(kit.scope, "step", TF_INT64, 0, NULL,
                                           leat_initializer_constant(3));
  model_kit_run(leat_variables_initializer(kit.scope));
  assert_true(model_kit_scalar(d) == 0.1);
  assert_true(model_kit_scalar(step) == 3);
}

static void test_names(void** state) {
  leat_scope_t* layer = leat_scope_enter(kit.scope, "layer");
  TF_Output w = leat_variable(layer, "w", TF_FLOAT, 0, NULL, leat_initializer_constant(1));
  kit_ok(leat_scope_status(kit.scope));
  assert_string_equal(TF_OperationName(w.oper), "layer/w/read");
  assert_int_equal(leat_variable_count(kit.scope), 1);
  TF_Output handle = leat_variable_at(kit.scope, 0);
  assert_string_equal(TF_OperationName(handle.oper), "layer/w");
  assert_string_equal(TF_OperationOpType(handle.oper), "VariableV2");
  assert_null(leat_variable_at(kit.scope, 1).oper);
  assert_null(leat_variable_at(kit.scope, -1).oper);
  // The same name under another scope is another variable; a second time it is an error.
  leat_variable(kit.scope, "w", TF_FLOAT, 0, NULL, leat_initializer_constant(1));
  kit_ok(leat_scope_status(kit.scope));
  assert_null(leat_variable(layer, "w", TF_FLOAT, 0, NULL, leat_initializer_constant(1)).oper);
  kit_expect_text(leat_scope_status(layer), TF_ALREADY_EXISTS, "'layer/w'");
  assert_null(leat_variables_initializer(kit.scope));
  leat_scope_free(layer);
}

static void test_unknown_shape(void** state) {
  leat_variable(kit.scope, "w", TF_FLOAT, 1, (int64_t[]){-1}, leat_initializer_constant(1));
  kit_expect_text(leat_scope_status(kit.scope), TF_INVALID_ARGUMENT,
                  "Adding variable 'w' failed: dimension 0 is -1, must be known");
}

static void test_target_run(void** state) {
  TF_Operation* nothing = leat_group(kit.scope, "nothing", NULL, 0);
  model_kit_run(nothing);
  leat_target_run(kit.session, NULL, kit.status);
  kit_expect(kit.status, TF_INVALID_ARGUMENT);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, model_kit_set_up, model_kit_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_initializers), TEST(test_seeds),         TEST(test_types),
      TEST(test_names),        TEST(test_unknown_shape), TEST(test_target_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
