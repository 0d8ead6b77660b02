// Variables, gradients and optimizers of the C++ front end. Expected values are computed by hand
// from the update rules: a weight of 5 whose gradient is the constant 2, after one and two steps,
// since momentum and Adam only differ from the second step on. Each optimizer is run with reference
// and resource variables and with dense gradients and gradients of rows, in which a row is read
// twice. Gradients of a small network are compared with differences of its loss in double.
#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/index.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/matrix.hpp"
#include "leat/ops/nn.hpp"
#include "leat/ops/state.hpp"
#include "test.hpp"

using namespace leat;
using namespace leat::ops;
using test::near;

TEST(variables_have_a_name_a_kind_and_a_first_value) {
  for (bool resource : {false, true}) {
    Scope scope;
    const Var w(scope.with_op_name("w"), {2, 2}, ones(), VarOptions().resource(resource));
    const Var n(scope.with_op_name("n"), std::int64_t{3},
                VarOptions().resource(resource).untrainable());
    CHECK(w.name() == "w" && w.initializer().name() == "w/Assign" && n.dtype() == DT_INT64);
    CHECK(w.handle().op().op() == (resource ? "VarHandleOp" : "VariableV2"));
    const Operation more = n.assign_add(scope, std::int64_t{4});
    const Operation less = w.assign_sub(scope, {{1.f, 1.f}, {1.f, 1.f}});
    Session session(scope);
    CHECK_ERROR(TF_FAILED_PRECONDITION, session.run({w}));
    session.run_targets({initialize_variables(scope)});
    session.run_targets({more, less});
    CHECK(session.run({n})[0].scalar<std::int64_t>() == 7);
    CHECK(session.run({w})[0].at<float>(1, 1) == 0);
  }
}

TEST(initializers_draw_within_their_limits) {
  Scope scope;
  const Var uniform(scope, {1000}, random_uniform(2, 3, 1));
  const Var cut(scope, {1000}, truncated_normal(0.5, 1));
  const Var glorot(scope, {100, 50}, glorot_uniform(1));
  const Var real(scope, {10}, constant(0.25), VarOptions().dtype(DT_DOUBLE));
  Session session(scope);
  session.run_targets({initialize_variables(scope)});
  for (float x : session.run({uniform})[0].span<float>()) CHECK(x >= 2 && x < 3);
  for (float x : session.run({cut})[0].span<float>()) CHECK(std::fabs(x) <= 1);
  for (float x : session.run({glorot})[0].span<float>()) CHECK(std::fabs(x) <= std::sqrt(0.04f));
  CHECK(session.run({real})[0].at<double>(9) == 0.25);
}

// The derivative of a two-layer network against differences of its loss.
TEST(gradients_are_those_of_differences) {
  Scope scope;
  const auto w = Placeholder(scope, DT_DOUBLE, Placeholder::Shape({3, 2}));
  const Output hidden = Tanh(scope, MatMul(scope, {{0.5, -1.0, 2.0}, {1.5, 0.25, -0.5}}, w));
  const Output loss = Mean(scope, Square(scope, Softplus(scope, hidden)), {0, 1});
  const Output slope = gradients(scope, {loss}, {w})[0];
  CHECK(slope.shape() == TensorShape({3, 2}));
  Session session(scope);
  const std::vector<double> at = {0.1, -0.2, 0.3, 0.4, -0.5, 0.6};
  const auto values =
      session.run({{w, Tensor(at, {3, 2})}}, {slope})[0].to_vector<double>();
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::vector<double> up = at, down = at;
    up[i] += 1e-5;
    down[i] -= 1e-5;
    const double above = session.run({{w, Tensor(up, {3, 2})}}, {loss})[0].scalar<double>();
    const double below = session.run({{w, Tensor(down, {3, 2})}}, {loss})[0].scalar<double>();
    CHECK(near(values[i], (above - below) / 2e-5, 1e-7));
  }
}

TEST(gradients_start_stop_and_may_be_none) {
  Scope scope;
  const Output x = Const(scope, 3.f), y = Square(scope, x), z = Mul(scope, y, x);
  const Output unused = Const(scope, 1.f);
  const auto all = gradients(scope, {z}, {x, unused});
  const Output stopped = gradients(scope, {z}, {x}, {}, {y})[0];
  const Output doubled = gradients(scope, {z}, {x}, {Const(scope, 2.f)})[0];
  CHECK(!all[1]);
  Session session(scope);
  CHECK(session.run({all[0]})[0].scalar<float>() == 27);
  CHECK(session.run({stopped})[0].scalar<float>() == 9);
  CHECK(session.run({doubled})[0].scalar<float>() == 54);
  CHECK_ERROR(TF_INVALID_ARGUMENT, gradients(scope, {z}, {x}, {x, x}));
}

// What one and two steps make of a weight of 5 whose gradient is the constant 2.
static std::vector<double> two_steps(const Optimizer& optimizer, bool resource, bool rows) {
  Scope scope;
  const Var w(scope.with_op_name("w"), {2, 1}, constant(5), VarOptions().resource(resource));
  Output used = w;
  if (rows && resource) used = ResourceGather(scope, w.handle(), {1, 1}, DT_FLOAT);
  if (rows && !resource) used = GatherV2(scope, w, {1, 1}, 0);
  const Var step(scope.with_op_name("step"), 0, VarOptions().untrainable());
  // Row 1 is read twice: its derivative is the sum of both.
  const Output loss =
      Sum(scope, Mul(scope, used, rows ? Const(scope, 1.f) : Const(scope, 2.f)), {0, 1});
  const Operation train = minimize(scope, loss, optimizer, &step);
  Session session(scope);
  session.run_targets({initialize_variables(scope)});
  std::vector<double> values;
  for (int i = 0; i < 2; ++i) {
    session.run_targets({train});
    values.push_back(session.run({w})[0].at<float>(1, 0));
  }
  if (rows) CHECK(session.run({w})[0].at<float>(0, 0) == 5);
  CHECK(session.run({step})[0].scalar<int>() == 2);
  return values;
}

TEST(optimizers_follow_their_rules) {
  const double g = 2, lr = 0.1;
  for (int kind = 0; kind < 4; ++kind) {
    const bool resource = kind & 1, rows = kind & 2;
    auto w = two_steps(sgd(lr), resource, rows);
    CHECK(near(w[0], 5 - lr * g) && near(w[1], 5 - 2 * lr * g));
    w = two_steps(momentum(lr, 0.5), resource, rows);
    CHECK(near(w[0], 5 - lr * g) && near(w[1], 5 - lr * g - lr * (0.5 * g + g)));
    w = two_steps(momentum(lr, 0.5, true), resource, rows);
    CHECK(near(w[0], 5 - lr * (g + 0.5 * g)));
    w = two_steps(adam(lr), resource, rows);
    CHECK(near(w[0], 5 - lr, 1e-4) && near(w[1], 5 - 2 * lr, 1e-4));
    w = two_steps(adagrad(lr, 0.1), resource, rows);
    CHECK(near(w[0], 5 - lr * g / std::sqrt(0.1 + g * g)));
    CHECK(near(w[1], w[0] - lr * g / std::sqrt(0.1 + 2 * g * g)));
    w = two_steps(rmsprop(lr, 0.9), resource, rows);
    CHECK(near(w[0], 5 - lr * g / std::sqrt(0.9 + 0.1 * g * g)));
    w = two_steps(ftrl(lr, -0.5, 0.1), resource, rows);
    const double n = 0.1 + g * g, z = g - (std::sqrt(n) - std::sqrt(0.1)) / lr * 5;
    CHECK(near(w[0], -z / (std::sqrt(n) / lr), 1e-4));
  }
}

TEST(a_rate_may_be_a_tensor) {
  Scope scope;
  const Var w(scope.with_op_name("w"), 5.0);
  const auto rate = Placeholder(scope, DT_FLOAT);
  const Operation train = minimize(scope, w, sgd(Output(rate)));
  Session session(scope);
  session.run_targets({initialize_variables(scope)});
  session.run_targets({train}, {{rate, 0.5f}});
  session.run_targets({train}, {{rate, 2.f}});
  CHECK(session.run({w})[0].scalar<double>() == 2.5);
  CHECK_ERROR(TF_INVALID_ARGUMENT, minimize(scope, Const(scope, 1.f), sgd(0.1)));
}

int main() { return test::run_tests(); }
