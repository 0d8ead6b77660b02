// A C++ program against the installed headers: it builds a graph with wrappers of ops that the
// build made, trains a step and reads the result.
#include <cstdio>

#include "leat/leat.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/matrix.hpp"

int main() {
  using namespace leat;
  Scope scope;
  const Var w(scope.with_op_name("w"), {2, 1}, ones());
  const Output y = ops::MatMul(scope, {{1.f, 2.f}}, w);
  const Operation train = minimize(scope, ops::Sum(scope, y, {0, 1}), sgd(0.5));
  Session session(scope);
  session.run_targets({initialize_variables(scope)});
  session.run_targets({train});
  const float value = session.run({y})[0].scalar<float>();
  std::printf("C++: %g\n", value);
  return value == 0.5f ? 0 : 1;  // 1 - 0.5 * 1 + 2 * (1 - 0.5 * 2)
}
