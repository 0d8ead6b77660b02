// Graphs, scopes and sessions of the C++ front end, used as a program would. Scopes are small
// values that carry a name, a device and control dependencies; the tests change one and look at the
// operation that is added through it. Tensors are fed and fetched by name and by output, in whole
// steps, in parts and through callables. Errors throw where the operation is added (without
// exceptions: no_exceptions_test.cc). Copies and moves must keep a graph alive as long as a session
// or an output needs it. Four threads build one graph and run one session at the same time.
#include <thread>

#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/matrix.hpp"
#include "leat/ops/state.hpp"
#include "test.hpp"

using namespace leat;
using namespace leat::ops;

TEST(names_are_unique_below_their_scope) {
  Scope scope;
  const Scope tower = scope.sub_scope("tower"), second = scope.sub_scope("tower");
  CHECK(Output(Const(tower.with_op_name("x"), 1)).name() == "tower/x:0");
  CHECK(Output(Const(tower.with_op_name("x"), 1)).name() == "tower/x_1:0");
  CHECK(Output(Const(second, 1)).name() == "tower_1/Const:0");
  CHECK(scope.graph().output("tower/x").shape().rank() == 0);
  CHECK(!scope.graph().output("tower/y") && !scope.graph().output("tower/x:1"));
  CHECK(scope.graph().operations().size() == 3);
}

TEST(modifiers_say_where_and_when) {
  Scope scope;
  const Output first = Const(scope.with_device("/device:CPU:0"), 1);
  CHECK(first.op().device() == "/device:CPU:0");
  const Scope later = scope.with_control_dependencies({first.op()});
  const Output second = Const(later.colocate_with(first.op()).with_op_name("second"), 2);
  const std::string text = scope.graph().graph_def().text();
  CHECK(text.find("\"^Const\"") != std::string::npos);
  CHECK(text.find("loc:@Const") != std::string::npos);
  const Output third =
      Const(later.with_no_control_dependencies().clear_colocation().with_op_name("third"), 3);
  CHECK(TF_OperationNumControlInputs(second.op().get()) == 1);
  CHECK(TF_OperationNumControlInputs(third.op().get()) == 0);
}

TEST(optional_attributes_are_chained) {
  Scope scope;
  const auto product = MatMul(scope, {{1.f, 2.f}}, {{3.f}, {4.f}},
                              MatMul::TransposeA(true).TransposeB(true));
  CHECK(product.product.shape() == TensorShape({2, 2}));
  Session session(scope);
  const Tensor value = session.run({product})[0];
  CHECK(value.to_vector<float>() == std::vector<float>({3, 4, 6, 8}));
}

TEST(tensors_are_fed_and_fetched_by_name_or_output) {
  Scope scope;
  const auto x = Placeholder(scope.with_op_name("x"), DT_FLOAT);
  const Output y = Mul(scope.with_op_name("y"), x, 2.f);
  const auto parts = Split(scope, 0, {1, 2, 3, 4}, 2);
  Session session(scope);
  CHECK(session.run({{x, 3.f}}, {y})[0].scalar<float>() == 6);
  CHECK(session.run({{"x", 3.f}}, {"y:0"})[0].scalar<float>() == 6);
  CHECK(session.run({{"x:0", {1.f, 2.f}}}, {"y"})[0].at<float>(1) == 4);
  CHECK(session.run({parts[1], parts.output[0]})[0].at<int>(0) == 3);
  CHECK_ERROR(TF_NOT_FOUND, session.run({"nothing"}));
  CHECK_ERROR(TF_NOT_FOUND, session.run_targets({"nothing"}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, session.run({y}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, session.run({{x, 3}}, {y}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, session.run({{x, Tensor()}}, {y}));
}

TEST(an_operation_that_does_not_fit_throws_where_it_is_added) {
  Scope scope;
  CHECK_ERROR(TF_INVALID_ARGUMENT, MatMul(scope, {{1.f}}, {{1.f, 2.f}, {3.f, 4.f}}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, Add(scope, 1.f, 1));
  CHECK_ERROR(TF_INVALID_ARGUMENT, Add(scope, Output(), 1));
  CHECK_ERROR(TF_INVALID_ARGUMENT, OpBuilder(scope, "NoSuchOp").finish());
  CHECK(scope.ok());  // an exception has said it
  CHECK(Output(Add(scope, 1, 2)).dtype() == DT_INT32);
}

TEST(a_callable_is_a_signature_resolved_once) {
  Scope scope;
  const auto x = Placeholder(scope, DT_FLOAT);
  const Output y = Square(scope, x);
  Callable square;
  CHECK_ERROR(TF_FAILED_PRECONDITION, square({Tensor(1.f)}));
  {
    Session session(scope);
    square = session.callable({x}, {y});
  }
  CHECK(square({Tensor(3.f)})[0].scalar<float>() == 9);  // it keeps the session
  CHECK_ERROR(TF_INVALID_ARGUMENT, square({}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, square({Tensor()}));
  Callable moved = std::move(square);
  CHECK(moved({Tensor(4.f)}, 10000)[0].scalar<float>() == 16);
}

TEST(a_step_is_run_in_parts) {
  Scope scope;
  const auto a = Placeholder(scope, DT_FLOAT), b = Placeholder(scope, DT_FLOAT);
  const Output sum = Add(scope, a, 1.f), product = Mul(scope, sum, b);
  Session session(scope);
  PartialRun step = session.partial_run({a, b}, {sum, product});
  CHECK(step.run({{a, 2.f}}, {sum})[0].scalar<float>() == 3);
  CHECK(step.run({{b, 5.f}}, {product})[0].scalar<float>() == 15);
  CHECK_ERROR(TF_FAILED_PRECONDITION, PartialRun().run({}, {sum}));
}

TEST(options_of_sessions_and_steps) {
  Scope scope;
  const Output one = Const(scope, 1);
  Session session(scope, SessionOptions().config("device_count { key: 'CPU' value: 2 }"));
  CHECK(session.devices().size() == 2 && session.devices()[1].type == "CPU");
  CHECK_ERROR(TF_INVALID_ARGUMENT, Session(scope, SessionOptions().config("no such field")));
  CHECK_ERROR(TF_NOT_FOUND, Session(scope, SessionOptions().target("nobody://x")));
  Message metadata;
  session.run({}, {one}, {}, RunOptions().trace(metadata).timeout_ms(10000));
  CHECK(metadata.text().find("step_stats") != std::string::npos);
  session.close();
  CHECK_ERROR(TF_CANCELLED, session.run({one}));
  CHECK_ERROR(TF_FAILED_PRECONDITION, Session().run({one}));
}

TEST(a_session_keeps_its_graph) {
  Session session;
  {
    Scope scope;
    Const(scope.with_op_name("x"), 5);
    session = Session(scope);
  }
  const Session copy = session;
  Session moved = std::move(session);
  CHECK(!session && moved.run({"x"})[0].scalar<int>() == 5);
  CHECK(copy.run({"x"})[0].scalar<int>() == 5);
}

TEST(a_graph_is_exported_and_imported) {
  Scope scope;
  Const(scope.with_op_name("x"), 5);
  const Message def = scope.graph().graph_def();
  Graph other;
  other.import(def, "copy");
  CHECK(Session(other).run({"copy/x"})[0].scalar<int>() == 5);
  CHECK_ERROR(TF_INVALID_ARGUMENT, other.import(Message("GraphDef", "nonsense")));
}

TEST(threads_build_one_graph_and_run_one_session) {
  Graph graph;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([graph, i] {
      const Scope scope = Scope(graph).sub_scope("thread");
      Output sum = Const(scope, i);
      for (int j = 0; j < 20; ++j) sum = Add(scope, sum, 1);
      Identity(Scope(graph).with_op_name("sum" + std::to_string(i)), sum);
    });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  const Session session(graph);
  std::vector<int> sums(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&sums, session, i] {
      sums[i] = session.run({"sum" + std::to_string(i)})[0].scalar<int>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(sums == std::vector<int>({20, 21, 22, 23}));
}

int main() { return test::run_tests(); }
