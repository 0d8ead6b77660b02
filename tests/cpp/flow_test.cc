// Loops, conditionals and functions, which a C++ program builds by lambdas: each lambda is called
// once, while the graph is built, and may use outputs from outside. The cases run the graphs and
// compare values that were worked out by hand, and derive by a loop and by a function as well. A
// lambda that throws, or that returns values of wrong types or shapes, must abandon its whole
// construct; otherwise the thread would go on adding its operations inside the loop. A variable
// that is made within a loop's body must lie outside, where it can be initialized.
#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/function.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/matrix.hpp"
#include "test.hpp"

using namespace leat;
using namespace leat::ops;
using Values = std::vector<Output>;

TEST(a_loop_has_several_variables_and_captures) {
  Scope scope;
  const Output step = Const(scope, 3);
  const Values ends = while_loop(
      scope, {Const(scope, 0), Const(scope, 1)},
      [](const Scope& s, const Values& v) { return Less(s, v[0], 10); },
      [&](const Scope& s, const Values& v) {
        return Values{Add(s, v[0], step), Mul(s, v[1], 2)};
      });
  const auto values = Session(scope).run({ends[0], ends[1]});
  CHECK(values[0].scalar<int>() == 12 && values[1].scalar<int>() == 16);
  CHECK(scope.graph().operation("while/Enter"));
}

TEST(a_loop_has_bounds_and_growing_shapes) {
  Scope scope;
  const Values grown = while_loop(
      scope, {Const(scope, {1})},
      [](const Scope& s, const Values&) { return Const(s, true); },
      [](const Scope& s, const Values& v) { return ConcatV2(s, {v[0], v[0]}, 0).output; },
      WhileOptions().maximum_iterations(Const(scope, 3)).shapes({{-1}}).parallel_iterations(1));
  CHECK(Session(scope).run({grown[0]})[0].count() == 8);
}

TEST(a_loop_has_a_gradient) {
  Scope scope;
  const auto x = Placeholder(scope, DT_FLOAT, Placeholder::Shape({}));
  const Values ends = while_loop(
      scope, {Const(scope, 0), x}, [](const Scope& s, const Values& v) { return Less(s, v[0], 3); },
      [](const Scope& s, const Values& v) {
        return Values{Add(s, v[0], 1), Mul(s, v[1], v[1])};
      });
  const Output slope = gradients(scope, {ends[1]}, {x})[0];  // of x^8
  CHECK(Session(scope).run({{x, 2.f}}, {slope})[0].scalar<float>() == 8 * 128);
}

TEST(one_branch_runs) {
  Scope scope;
  const auto x = Placeholder(scope, DT_FLOAT);
  const Values size = cond(
      scope, Less(scope, x, 0.f), [&](const Scope& s) { return Neg(s, x).y; },
      [&](const Scope&) { return Values{x}; });
  const Values pair = cond(
      scope, true, [](const Scope& s) { return Values{Const(s, 1), Const(s, 2)}; },
      [](const Scope& s) { return Values{Const(s, 3), Const(s, 4)}; });
  Session session(scope);
  CHECK(session.run({{x, -3.f}}, {size[0]})[0].scalar<float>() == 3);
  CHECK(session.run({{x, 4.f}}, {size[0]})[0].scalar<float>() == 4);
  CHECK(session.run({pair[1]})[0].scalar<int>() == 2);
}

TEST(what_throws_abandons_its_construct) {
  Scope scope;
  const auto always = [](const Scope& s, const Values&) { return Const(s, true); };
  CHECK_ERROR(TF_INVALID_ARGUMENT,
              while_loop(scope, {Const(scope, 0)}, always, [](const Scope& s, const Values& v) {
                return Values{MatMul(s, v[0], v[0])};
              }));
  CHECK_ERROR(TF_INVALID_ARGUMENT,
              while_loop(scope, {Const(scope, 0)}, always,
                         [](const Scope& s, const Values&) { return Values{Const(s, 1.f)}; }));
  CHECK_ERROR(TF_INVALID_ARGUMENT,
              cond(scope, true, [](const Scope& s) { return Const(s, 1); },
                   [](const Scope& s) { return Const(s, 1.f); }));
  CHECK_ERROR(TF_INVALID_ARGUMENT, while_loop(scope, {Const(scope, 0)}, always,
                                              [](const Scope&, const Values& v) { return v; },
                                              WhileOptions().shapes({{}, {}})));
  // The thread is outside again.
  CHECK(Session(scope).run({Const(scope, 7)})[0].scalar<int>() == 7);
}

TEST(a_variable_made_in_a_loop_lies_outside) {
  Scope scope;
  const Values ends = while_loop(
      scope, {Const(scope, 0.f)},
      [](const Scope& s, const Values& v) { return Less(s, v[0], 5.f); },
      [&](const Scope& s, const Values& v) {
        const Var w(s.with_op_name("w"), {}, constant(2));
        return Values{Add(s, v[0], w)};
      });
  Session session(scope);
  session.run_targets({initialize_variables(scope)});
  CHECK(session.run({ends[0]})[0].scalar<float>() == 6);
}

TEST(functions_are_called_and_have_gradients) {
  const Function square = Function::create(
      "SquareOf", {DT_FLOAT},
      [](const Scope& s, const Values& v) { return Mul(s, v[0], v[0]).z; });
  const Function same = Function::create("SameAs", {DT_FLOAT}, [](const Scope& s, const Values& v) {
    return Values{Identity(s, v[0])};
  });
  CHECK(square.name() == "SquareOf");
  Scope scope;
  square.add_to(scope.graph());
  same.add_to(scope.graph());
  const auto x = Placeholder(scope, DT_FLOAT, Placeholder::Shape({}));
  const Output y = square.call(scope, {x}).output(0);
  const auto chosen = If(scope, Greater(scope, x, 0.f), {x}, {DT_FLOAT}, square, same);
  const Output slope = gradients(scope, {y}, {x})[0];
  Session session(scope);
  const auto values = session.run({{x, 3.f}}, {y, slope, chosen[0]});
  CHECK(values[0].scalar<float>() == 9 && values[1].scalar<float>() == 6);
  CHECK(values[2].scalar<float>() == 9);
  CHECK(session.run({{x, -3.f}}, {chosen[0]})[0].scalar<float>() == -3);
  CHECK_ERROR(TF_FAILED_PRECONDITION, Function().add_to(scope.graph()));
}

int main() { return test::run_tests(); }
