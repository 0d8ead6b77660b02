// leat/cpp/input.hpp: threads that fill queues while a program trains (sections 4.5 and 4.6 of the
// white paper). Part of leat/leat.hpp.
//
//   QueueRunner runner(scope, queue, {enqueue});
//   Coordinator coordinator;
//   coordinator.start(runner, session);
//   ... session.run_targets({train}) until it throws OUT_OF_RANGE: there is no more input ...
//   coordinator.request_stop();
//   coordinator.join();
#ifndef LEAT_CPP_INPUT_HPP_
#define LEAT_CPP_INPUT_HPP_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leat/cpp/session.hpp"
#include "leat/input.h"

LEAT_BEGIN_NAMESPACE

/// The operations that enqueue into a queue; each is run by a thread of its own.
class QueueRunner {
 public:
  QueueRunner() = default;
  /// |queue| is what a FIFOQueueV2 and its like give. Adds what closes the queue, so it is made
  /// before the first step.
  QueueRunner(const Scope& scope, const Output& queue, const std::vector<Operation>& enqueues) {
    const char* op = queue.dtype() == TF_RESOURCE ? "QueueCloseV2" : "QueueClose";
    const Operation close = OpBuilder(scope, op).input(queue).finish();
    const Operation cancel = OpBuilder(scope, op)
                                 .input(queue)
                                 .attribute("cancel_pending_enqueues", true)
                                 .finish();
    if (!scope.ok()) return;
    std::vector<TF_Operation*> plain;
    for (const Operation& enqueue : enqueues) plain.push_back(enqueue.get());
    Handle<leat_scope_t, leat_scope_free> own(leat_scope_create(scope.graph().get()));
    runner_.reset(leat_queue_runner_create(own.get(), queue.get(), plain.data(),
                                           static_cast<int>(plain.size()), close.get(),
                                           cancel.get()));
    if (runner_) return;
    TF_Status* status = leat_scope_status(own.get());
    scope.fail(Status(TF_GetCode(status), TF_Message(status)));
  }
  leat_queue_runner_t* get() const { return runner_.get(); }

 private:
  Handle<leat_queue_runner_t, leat_queue_runner_free> runner_;
};

/// Where threads learn that it is time to stop, and where whoever waits for them learns why. Its
/// end requests a stop and waits for the threads; runners and sessions that they use live longer.
class Coordinator {
 public:
  Coordinator() : coordinator_(leat_coordinator_create()) {}

  /// Starts the threads of a runner.
  result<void> start(const QueueRunner& runner, const Session& session) {
    detail::CallStatus status;
    leat_queue_runner_t* one = runner.get();
    leat_queue_runners_start(&one, one ? 1 : 0, session.get(), coordinator_.get(), status);
    return detail::finish(status.get());
  }
  /// Runs |work| on a thread that join() waits for; it returns soon after should_stop(), and does
  /// not throw.
  result<void> start(const std::string& name, std::function<void()> work) {
    detail::CallStatus status;
    auto* owned = new std::function<void()>(std::move(work));
    leat_coordinator_start(
        coordinator_.get(), name.c_str(),
        [](void* data) {
          std::unique_ptr<std::function<void()>> work(static_cast<std::function<void()>*>(data));
          (*work)();
        },
        owned, status);
    if (!status.ok()) delete owned;
    return detail::finish(status.get());
  }
  /// The first call stops; its reason is what join() reports. OUT_OF_RANGE is a normal end.
  void request_stop(const Status& reason = Status()) {
    detail::CallStatus status;
    TF_SetStatus(status, reason.code(), reason.message().c_str());
    leat_coordinator_request_stop(coordinator_.get(), status);
  }
  bool should_stop() const { return leat_coordinator_should_stop(coordinator_.get()) != 0; }
  /// Waits until all threads have ended, but after a stop no longer than |grace_seconds|.
  result<void> join(double grace_seconds = 120) {
    detail::CallStatus status;
    leat_coordinator_join(coordinator_.get(), grace_seconds, status);
    return detail::finish(status.get());
  }

 private:
  Handle<leat_coordinator_t, leat_coordinator_free> coordinator_;
};

LEAT_END_NAMESPACE

#endif  // LEAT_CPP_INPUT_HPP_
