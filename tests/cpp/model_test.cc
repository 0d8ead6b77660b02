// What a C++ program does around its training: checkpoints, SavedModels, queue runners with their
// coordinator, servers. Variables and the slots of Adam are saved, changed and restored, in the
// same session and in a fresh one, once as references and once as resources, and the names in the
// file must be TensorFlow's. The queue's capacity is 4 and its input has 10 numbers, so the runner
// must wait for the steps and end by itself; the sum says that no element was lost or doubled. The
// reason given to a coordinator must be what join() throws, unless it is only the end of the input.
// A supervisor must come to each step once more after a session was lost: the variable then is what
// a sum over the numbers of the steps says.
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

TEST(training_goes_on_after_a_lost_session) {
  const std::string directory = test::scratch("supervisor");
  for (bool resource : {false, true}) {
    Scope scope;
    const Var step(scope.with_op_name("global_step"), std::int64_t{0},
                   VarOptions().untrainable().resource(resource));
    const Var w(scope.with_op_name("w"), {1}, constant(100), VarOptions().resource(resource));
    const auto x = Placeholder(scope, DT_FLOAT, Placeholder::Shape({1}));
    const Operation train = minimize(scope, Sum(scope, Mul(scope, w, x), 0), sgd(1), &step);
    Saver saver(scope, directory + (resource ? "/resource" : "/ref"),
                SaverOptions().every_steps(10));
    std::string events;
    Callable prepared;
    Supervisor supervisor(scope, SupervisorOptions()
                                     .init(initialize_variables(scope))
                                     .ready(uninitialized_variables(scope))
                                     .saver(saver)
                                     .global_step(step)
                                     .last_step(25)
                                     .opened([&](const Session& session) {
                                       prepared = session.callable({x}, {}, {train});
                                     })
                                     .observe([&](const SupervisorEvent& event) {
                                       events += event.name + std::to_string(event.step) + " ";
                                     }));
    CHECK(!supervisor.session());
    int calls = 0;
    supervisor.train([&](const Session& session, std::int64_t number) {
      prepared({Tensor({static_cast<float>(number)})});
      if (++calls == 14) throw Error(Status(TF_UNAVAILABLE, "gone"));
      CHECK(session.run({step})[0].scalar<std::int64_t>() == number + 1);
    });
    CHECK(calls == 14 + 15);  // 25 - 10
    CHECK(supervisor.session().run({w})[0].at<float>(0) == 100 - 24 * 25 / 2);
    supervisor.close();
    CHECK(events == "initialized0 opened0 saved0 saved10 lost13 restored10 opened10 saved20 "
                    "saved25 stopped25 ");
  }
}

TEST(training_ends_by_other_errors_and_requests) {
  Scope scope;
  const Var w(scope.with_op_name("w"), {1}, ones());
  SupervisorOptions options;
  options.init(initialize_variables(scope)).ready(uninitialized_variables(scope));
  Supervisor supervisor(scope, options);
  CHECK_ERROR(TF_NOT_FOUND, supervisor.train([](const Session& session, std::int64_t) {
    session.run({"nothing"});
  }));
  CHECK(!supervisor.session());
  Supervisor second(scope, options);
  int calls = 0;
  second.train([&](const Session&, std::int64_t) {
    if (++calls == 3) second.request_stop();
  });
  CHECK(calls == 3 && second.session().run({w})[0].at<float>(0) == 1);
  options.init(Operation());  // nothing gives w a value
  CHECK_ERROR(TF_FAILED_PRECONDITION, Supervisor(scope, options).train([](const Session&,
                                                                          std::int64_t) {}));
  CHECK_ERROR(TF_FAILED_PRECONDITION, Supervisor().train([](const Session&, std::int64_t) {}));
  CHECK_ERROR(TF_INVALID_ARGUMENT,
              Supervisor(scope, SupervisorOptions().waits_for_chief()));
}

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
