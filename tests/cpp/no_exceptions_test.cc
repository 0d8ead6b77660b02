// The front end without exceptions: results that are looked at, and a scope that keeps the first
// error. Compiled with -fno-exceptions.
#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/matrix.hpp"
#include "test.hpp"

using namespace leat;
using namespace leat::ops;

TEST(a_result_is_a_value_or_a_status) {
  Scope scope;
  const auto x = Placeholder(scope.with_op_name("x"), DT_FLOAT);
  const Output y = Mul(scope, x, 2.f);
  const auto session = Session::create(scope.graph());
  CHECK(session.ok());
  const auto good = session->run({{x, 3.f}}, {y});
  CHECK(good && (*good)[0].scalar<float>() == 6);
  const auto bad = session->run({y});
  CHECK(!bad && bad.status().code() == TF_INVALID_ARGUMENT && bad->empty());
  CHECK(!bad.status().message().empty());
  CHECK(session->run({"nothing"}).status().code() == TF_NOT_FOUND);
  CHECK(session->run_targets({y.op()}, {{x, 1.f}}).ok());
  const auto square = session->callable({x}, {y});
  CHECK(square && (*(*square)({Tensor(1.f)}))[0].scalar<float>() == 2);
  CHECK(Session().run({y}).status().code() == TF_FAILED_PRECONDITION);
}

TEST(a_scope_keeps_the_first_error) {
  Scope scope;
  const auto bad = MatMul(scope, {{1.f}}, {{1.f, 2.f}, {3.f, 4.f}});
  CHECK(!bad.product && !scope.ok() && scope.status().code() == TF_INVALID_ARGUMENT);
  const std::string message = scope.status().message();
  const Scope inner = scope.sub_scope("inner");
  const Output after = Add(inner, bad, 1.f);
  CHECK(!after && inner.status().message() == message);
  const Var w(inner, {2}, zeros());
  minimize(inner, w, adam());
  CHECK(inner.status().message() == message);
}

TEST(a_step_of_training_returns_its_status) {
  Scope scope;
  const Var w(scope.with_op_name("w"), {1}, ones());
  SupervisorOptions options;
  options.init(initialize_variables(scope)).last_step(5);
  auto supervisor = Supervisor::create(scope.graph(), options);
  CHECK(supervisor.ok());
  int calls = 0;
  const auto trained = supervisor->train([&](const Session& session, std::int64_t) {
    return ++calls == 3 ? Status(TF_ABORTED, "gone") : session.run({w}).status();
  });
  CHECK(trained.ok() && calls == 3 + 5);  // without a saver from the beginning
  auto second = Supervisor::create(scope.graph(), options);
  const auto failed = second->train([](const Session&, std::int64_t) {
    return Status(TF_INTERNAL, "mine");
  });
  CHECK(failed.status().code() == TF_INTERNAL && failed.status().message() == "mine");
}

TEST(a_tensor_of_another_type_is_empty) {
  CHECK(Tensor(1.f).span<int>().empty() && Tensor(1.f).scalar<int>() == 0);
  CHECK(!Tensor({{1, 2}, {3}}));
  CHECK(Tensor(1.f).reshaped({2}).status().code() == TF_INVALID_ARGUMENT);
}

int main() { return test::run_tests(); }
