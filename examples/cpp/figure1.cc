// Figure 1 of the white paper: one layer, relu(Wx + b), run in a loop on other inputs each time.
#include <cstdio>

#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/matrix.hpp"
#include "leat/ops/nn.hpp"

int main() {
  using namespace leat;
  using namespace leat::ops;
  try {
    Scope scope;
    const Var b(scope.with_op_name("b"), {100}, zeros());
    const Var w(scope.with_op_name("W"), {784, 100}, random_uniform(-1, 1, 1));
    const auto x = Placeholder(scope.with_op_name("x"), DT_FLOAT, Placeholder::Shape({-1, 784}));
    const auto relu = Relu(scope.with_op_name("relu"), Add(scope, MatMul(scope, x, w), b));
    const Output cost = Mean(scope.with_op_name("C"), relu, {0, 1});

    Session session(scope);
    session.run_targets({initialize_variables(scope)});
    for (int step = 0; step < 10; ++step) {
      Tensor input(DT_FLOAT, {1, 784});
      for (float& pixel : input.span<float>()) pixel = 0.1f * static_cast<float>(step);
      std::printf("%d %f\n", step, session.run({{x, input}}, {cost})[0].scalar<float>());
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
