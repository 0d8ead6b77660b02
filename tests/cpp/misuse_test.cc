// What programs do wrong is an error with a code, and leaves everything usable: objects that were
// moved from or never made, functions that throw, tensors of other graphs, sizes that do not fit.
// Nothing of it may read memory that is gone, which the build with ASan sees. After each mistake a
// case does something right with the same objects, where there is something left to do. The cases
// about coordinators end them while their threads still use them and what was started.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/queue.hpp"
#include "test.hpp"

using namespace leat;
using namespace leat::ops;
using Values = std::vector<Output>;

namespace {

/// Thrown by the functions of the program itself.
struct Stop : std::runtime_error {
  Stop() : std::runtime_error("stop") {}
};

template <class Function>
bool throws_stop(Function function) {
  try {
    function();
  } catch (const Stop&) {
    return true;
  }
  return false;
}

Output one(const Scope& scope) { return Const(scope, 1); }
Output always(const Scope& scope, const Values&) { return Const(scope, true); }
Output fail(const Scope&) { throw Stop(); }
Values fail_with(const Scope&, const Values&) { throw Stop(); }
Output stop_with(const Scope&, const Values&) { throw Stop(); }
Values same(const Scope&, const Values& values) { return values; }

}  // namespace

TEST(a_function_that_throws_leaves_the_loop_or_branch) {
  Scope scope;
  const Values zero = {Const(scope, 0)};
  CHECK(throws_stop([&] { while_loop(scope, zero, stop_with, same); }));
  CHECK(throws_stop([&] { while_loop(scope, zero, always, fail_with); }));
  CHECK(throws_stop([&] { cond(scope, true, fail, one); }));
  CHECK(throws_stop([&] { cond(scope, true, one, fail); }));
  CHECK(throws_stop([&] {
    while_loop(scope, zero, always, [](const Scope& s, const Values& v) {
      return cond(s, true, [&](const Scope&) { return v[0]; }, fail);
    });
  }));
  CHECK(throws_stop([&] { Function::create("f", {DT_INT32}, fail_with); }));
  // The thread adds outside of all of them again.
  const Output sum = Add(scope, zero[0], 7);
  CHECK(sum.op().input(0) == zero[0]);
  CHECK(Session(scope).run({sum})[0].scalar<int>() == 7);
}

TEST(a_builder_that_is_not_finished_adds_nothing) {
  Scope scope;
  {
    OpBuilder builder(scope, "NoOp");
    CHECK(builder.name() == "NoOp");
  }
  { OpBuilder builder(scope, "NoSuchOp"); }
  CHECK(scope.graph().operations().empty());
  CHECK_ERROR(TF_INVALID_ARGUMENT, OpBuilder(scope, "Identity").input(Input()).finish());
  OpBuilder once(scope, "NoOp");
  CHECK(once.finish() && !once.finish());
  CHECK(scope.graph().operations().size() == 1);
}

TEST(a_builder_outlives_the_scope_that_it_was_given) {
  const Graph graph;
  OpBuilder builder(Scope(graph).sub_scope("a").with_device("/device:CPU:0"), "AddN");
  const Operation sum = builder.input(InputList({1, 2, 3})).finish();
  CHECK(sum.name() == "a/AddN" && sum.device() == "/device:CPU:0" && sum.num_inputs() == 3);
}

TEST(what_belongs_to_another_graph_is_refused) {
  Scope scope, other;
  const Output x = Const(other, 1);
  CHECK_ERROR(TF_INVALID_ARGUMENT, Add(scope, x, 1));
  CHECK_ERROR(TF_INVALID_ARGUMENT, AddN(scope, {x, x}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, Const(scope.with_control_dependencies({x.op()}), 1));
  CHECK_ERROR(TF_INVALID_ARGUMENT, Const(scope.colocate_with(x.op()), 1));
  CHECK_ERROR(TF_INVALID_ARGUMENT, gradients(scope, {x}, {x}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, while_loop(scope, {x}, always, same));
  CHECK_ERROR(TF_INVALID_ARGUMENT, Session(scope).run({x}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, Session(scope).callable({x}, {x}));
  const auto captures = [&](const Scope& s, const Values& v) { return Output(Add(s, v[0], x)); };
  CHECK_ERROR(TF_INVALID_ARGUMENT, Function::create("f", {DT_INT32}, captures));
}

TEST(none_is_an_error_wherever_something_is_wanted) {
  Scope scope;
  const Output x = Const(scope, 1.f);
  const Output none;
  CHECK(!none && none.name() == ":0" && !none.shape().known_rank() && !none.op().input(0));
  CHECK(!x.op().output(-1) && !x.op().output(1) && !x.op().input(3));
  CHECK_ERROR(TF_INVALID_ARGUMENT, Neg(scope, none));
  CHECK_ERROR(TF_INVALID_ARGUMENT, gradients(scope, {none}, {x}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, gradients(scope, {x}, {none}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, while_loop(scope, {none}, always, same));
  CHECK_ERROR(TF_INVALID_ARGUMENT, cond(scope, none, one, one));
  CHECK_ERROR(TF_NOT_FOUND, Session(scope).run({none}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, OpBuilder(scope, "Const").attribute("value", Tensor()).finish());
  Saver saver;
  CHECK_ERROR(TF_FAILED_PRECONDITION, saver.save(Session(scope), 1));
  CHECK_ERROR(TF_FAILED_PRECONDITION, saver.restore_latest(Session(scope)));
  CHECK_ERROR(TF_FAILED_PRECONDITION, SavedModel::write("nowhere", Session(), {}));
  CHECK_ERROR(TF_NOT_FOUND, SavedModel().run("serving_default", {}));
  Coordinator coordinator;
  CHECK_ERROR(TF_FAILED_PRECONDITION, coordinator.start(QueueRunner(), Session(scope)));
  Session().close();
}

TEST(what_was_moved_from_is_none) {
  Scope scope;
  Const(scope.with_op_name("x"), 1);
  Tensor tensor(1.f);
  const Tensor taken = std::move(tensor);
  CHECK(!tensor && taken.scalar<float>() == 1 && tensor.count() == 0 && !tensor.data());
  Session session(scope);
  const Session moved = std::move(session);
  CHECK_ERROR(TF_FAILED_PRECONDITION, session.run({"x"}));
  Function function = Function::create("f", {DT_INT32}, same), other = std::move(function);
  CHECK(function.name().empty() && other.name() == "f");
  CHECK_ERROR(TF_FAILED_PRECONDITION, function.add_to(scope.graph()));
  other = std::move(other);
  CHECK(other.name() == "f");
  const Tensor again = taken;
  Tensor self = again;
  self = self;
  CHECK(self.scalar<float>() == 1);
}

TEST(sizes_that_do_not_fit_are_no_tensor) {
  const std::int64_t large = std::int64_t{1} << 40;
  CHECK(TensorShape({large, large}).count() == -1);
  CHECK(!Tensor(DT_FLOAT, {large, large}) && !Tensor(DT_FLOAT, {-1}));
  CHECK(!Tensor(DT_FLOAT, {large, large / 2}) && !Tensor(DT_FLOAT, TensorShape::unknown()));
  CHECK(Tensor(DT_FLOAT, {large, 0}).count() == 0);
  float value = 1;
  int freed = 0;
  CHECK(!Tensor::over(&value, {large, large}, [&] { ++freed; }));
  CHECK(!Tensor::over(&value, TensorShape::unknown(), [&] { ++freed; }));
  CHECK(freed == 2);
  CHECK_ERROR(TF_INVALID_ARGUMENT, Tensor(1.f).reshaped({large, large}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, Tensor(std::vector<float>(2), {large, large}));
}

TEST(names_that_name_no_tensor) {
  Scope scope;
  Const(scope.with_op_name("x"), 1);
  const Graph& graph = scope.graph();
  CHECK(graph.output("x") && graph.output("x:0"));
  for (const char* name :
       {"", ":", "x:", "x:1", "x:-1", "x:0x", "x:y", "x: 0", "^x", "x:99999999999"}) {
    CHECK(!graph.output(name));
  }
}

TEST(what_a_thread_throws_is_the_reason_of_the_stop) {
  {
    Coordinator coordinator;
    coordinator.start("fails", [] { throw Stop(); });
    CHECK_ERROR(TF_UNKNOWN, coordinator.join());
    CHECK(coordinator.should_stop());
  }
  Coordinator coordinator;
  coordinator.start("fails", [] { throw Error(Status(TF_DATA_LOSS, "a record is damaged")); });
  CHECK_ERROR(TF_DATA_LOSS, coordinator.join());
}

TEST(a_coordinator_ends_while_its_threads_ask_it) {
  std::atomic<int> asked{0};
  {
    Coordinator coordinator;
    coordinator.start("asks", [&] {
      while (!coordinator.should_stop()) ++asked;
      for (int i = 0; i < 1000; ++i) asked += coordinator.should_stop();
    });
    while (asked == 0) std::this_thread::yield();
  }
  CHECK(asked > 1000);
}

// The runner and the session go before the coordinator, which keeps both.
TEST(a_coordinator_keeps_what_its_threads_use) {
  Coordinator coordinator;
  {
    Scope scope;
    const auto queue = FIFOQueueV2(scope, {DT_INT32}, FIFOQueueV2::Capacity(2));
    const auto taken = QueueDequeueV2(scope, queue, {DT_INT32});
    const QueueRunner runner(scope, queue, {QueueEnqueueV2(scope, queue, {Const(scope, 5)})});
    const Session session(scope);
    coordinator.start(runner, session);
    CHECK(session.run({taken.components[0]})[0].scalar<int>() == 5);
    CHECK_ERROR(TF_FAILED_PRECONDITION, coordinator.start(runner, session));
  }
}

int main() { return test::run_tests(); }
