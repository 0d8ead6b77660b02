// What a C++ program does around its training: checkpoints, SavedModels, queue runners with their
// coordinator, servers. Variables and the slots of Adam are saved, changed and restored, in the
// same session and in a fresh one, once as references and once as resources, and the names in the
// file must be TensorFlow's. The queue's capacity is 4 and its input has 10 numbers, so the runner
// must wait for the steps and end by itself; the sum says that no element was lost or doubled. The
// reason given to a coordinator must be what join() throws, unless it is only the end of the input.
// Servers are not started here, since tests/cluster does that: only wrong descriptions are refused.
#include <atomic>
#include <fstream>
#include <thread>

#include "leat/cpp/complex.hpp"
#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/queue.hpp"
#include "leat/ops/state.hpp"
#include "test.hpp"

using namespace leat;
using namespace leat::ops;

TEST(a_checkpoint_brings_variables_back) {
  const std::string directory = test::scratch("saver");
  for (bool resource : {false, true}) {
    const std::string ckpt = directory + (resource ? "/resource" : "/ref");
    Scope scope;
    const Var w(scope.with_op_name("w"), {2}, constant(3), VarOptions().resource(resource));
    const Operation train = minimize(scope, Sum(scope, w, 0), adam(0.5));
    Saver saver(scope, ckpt, SaverOptions().keep(2).every_steps(2));
    const Operation init = initialize_variables(scope);
    Session session(scope);
    session.run_targets({init});
    CHECK(!saver.has_checkpoint());
    CHECK_ERROR(TF_NOT_FOUND, saver.restore_latest(session));
    session.run_targets({train});
    const Tensor before = session.run({w})[0];
    saver.save(session, 7);
    saver.save_to(session, directory + "/other");
    session.run_targets({train});
    CHECK(session.run({w})[0].at<float>(0) != before.at<float>(0));
    CHECK(saver.has_checkpoint() && saver.restore_latest(session) == 7);
    CHECK(session.run({w})[0].to_vector<float>() == before.to_vector<float>());
    Session fresh(scope);
    saver.restore_from(fresh, directory + "/other");
    CHECK(fresh.run({w})[0].to_vector<float>() == before.to_vector<float>());
    fresh.run_targets({train});  // slots are there as well
    for (int step = 8; step < 13; ++step) saver.step(session, step);
    CHECK(!std::ifstream(ckpt + "/model.ckpt-7.index"));
    // What TensorFlow calls the tensors.
    detail::CallStatus status;
    leat_checkpoint_t* checkpoint = leat_checkpoint_open((directory + "/other").c_str(), status);
    std::string names;
    for (std::size_t i = 0; i < leat_checkpoint_count(checkpoint); ++i) {
      names += std::string(leat_checkpoint_name(checkpoint, i)) + " ";
    }
    leat_checkpoint_close(checkpoint);
    CHECK(names == "beta1_power beta2_power w w/Adam w/Adam_1 ");
  }
}

TEST(a_saved_model_is_written_loaded_and_run) {
  const std::string directory = test::scratch("model");
  {
    Scope scope;
    const auto x = Placeholder(scope.with_op_name("x"), DT_FLOAT);
    const Var half(scope.with_op_name("half"), {}, constant(0.5));
    const Output y = Add(scope.with_op_name("y"), Mul(scope, x, half), 2.f);
    Saver saver(scope, directory + "/ckpt");
    Session session(scope);
    session.run_targets({initialize_variables(scope)});
    SavedModel::write(directory + "/1", session, {{"serving_default", {{{"in", x}}, {{"out", y}}}}},
                      &saver);
  }
  const SavedModel model = SavedModel::load(directory + "/1");
  CHECK(model.signatures().at("serving_default").inputs.at("in").name() == "x:0");
  const auto values = model.run("serving_default", {{"in", {1.f, 4.f}}});
  CHECK(values.at("out").to_vector<float>() == std::vector<float>({2.5f, 4}));
  CHECK(model.session().run({{"x", 2.f}}, {"y"})[0].scalar<float>() == 3);
  CHECK_ERROR(TF_NOT_FOUND, model.run("other", {}));
  CHECK_ERROR(TF_NOT_FOUND, model.run("serving_default", {{"x", 1.f}}));
  CHECK_ERROR(TF_NOT_FOUND, SavedModel::load(directory));
  CHECK_ERROR(TF_NOT_FOUND, SavedModel::load(directory + "/1", {"train"}));
}

TEST(a_queue_is_filled_while_steps_empty_it) {
  Scope scope;
  const Var next(scope, 0, VarOptions().untrainable());
  const auto queue = FIFOQueueV2(scope, {DT_INT32}, FIFOQueueV2::Capacity(4));
  const auto value = CountUpTo(scope, next.handle(), 10);
  const auto enqueue = QueueEnqueueV2(scope, queue, {value});
  const auto dequeue = QueueDequeueV2(scope, queue, {DT_INT32});
  QueueRunner runner(scope, queue, {enqueue});
  Session session(scope);
  session.run_targets({initialize_variables(scope)});
  Coordinator coordinator;
  std::atomic<bool> seen{false};
  coordinator.start("observer", [&] {
    while (!coordinator.should_stop()) seen = true;
  });
  coordinator.start(runner, session);
  int sum = 0;
  CHECK_ERROR(TF_OUT_OF_RANGE,
              for (;;) sum += session.run({dequeue.components[0]})[0].scalar<int>());
  CHECK(sum == 45);
  while (!seen) std::this_thread::yield();  // the observer has run before the stop
  coordinator.request_stop(Status(TF_OUT_OF_RANGE, "no more input"));
  coordinator.join();
  CHECK(coordinator.should_stop() && seen);
  CHECK_ERROR(TF_INVALID_ARGUMENT, QueueRunner(scope, queue, {}));
}

TEST(a_coordinator_reports_why_it_stopped) {
  Coordinator coordinator;
  coordinator.request_stop(Status(TF_DATA_LOSS, "a record is damaged"));
  CHECK_ERROR(TF_DATA_LOSS, coordinator.join());
}

TEST(complex_numbers_are_elements) {
  Scope scope;
  const Output x = Const(scope, std::complex<float>(3, 4));
  CHECK(Session(scope).run({ComplexAbs(scope, x)})[0].scalar<float>() == 5);
}

TEST(a_server_is_described_by_its_cluster) {
  CHECK_ERROR(TF_INVALID_ARGUMENT, Server::create({{"worker", {"localhost:1"}}}, "worker", 3));
  CHECK_ERROR(TF_FAILED_PRECONDITION, Server().start());
  CHECK(Server().target().empty());
}

int main() { return test::run_tests(); }
