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

#include <string>
#include <utility>
#include <vector>

#include "leat/cpp/session.hpp"
#include "leat/input.h"

LEAT_CPP_BEGIN_NAMESPACE

/// The operations that enqueue into a queue; each is run by a thread of its own. Copies are the
/// same runner, which can be started once.
class QueueRunner {
 public:
  QueueRunner() = default;
  /// |queue| is what a FIFOQueueV2 and its like give. Adds what closes the queue, so it is made
  /// before the first step.
  QueueRunner(const Scope& scope, const Output& queue, ListOf<Operation> enqueues) {
    const char* op = queue.dtype() == TF_RESOURCE ? "QueueCloseV2" : "QueueClose";
    const Operation close = OpBuilder(scope, op).input(queue).finish();
    const Operation cancel = OpBuilder(scope, op)
                                 .input(queue)
                                 .attribute("cancel_pending_enqueues", true)
                                 .finish();
    if (!scope.ok()) return;
    detail::Elements<TF_Operation*> plain(enqueues.size());
    for (const Operation& enqueue : enqueues) plain.add(enqueue.get());
    Handle<leat_scope_t, leat_scope_free> own(leat_scope_create(scope.graph().get()));
    leat_queue_runner_t* made =
        leat_queue_runner_create(own.get(), queue.get(), plain.data(), plain.count(), close.get(),
                                 cancel.get());
    if (made) {
      runner_ = detail::Shared<leat_queue_runner_t>::of<leat_queue_runner_free>(made);
      return;
    }
    TF_Status* status = leat_scope_status(own.get());
    scope.fail(Status(TF_GetCode(status), TF_Message(status)));
  }
  leat_queue_runner_t* get() const { return runner_.get(); }

 private:
  detail::Shared<leat_queue_runner_t> runner_;
};

/// Where threads learn that it is time to stop, and where whoever waits for them learns why. Its
/// destructor requests a stop and waits for the threads. Any number of threads may use it at once.
class Coordinator {
 public:
  Coordinator() : coordinator_(leat_coordinator_create()) {}
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  ~Coordinator() {
    detail::CallStatus status;
    leat_coordinator_request_stop(coordinator_.get(), nullptr);
    leat_coordinator_join(coordinator_.get(), -1, status);  // threads still ask should_stop()
  }

  /// Starts the threads of a runner, and keeps it and the session. FAILED_PRECONDITION for a runner
  /// that was started before, and where there is no runner or session.
  result<void> start(const QueueRunner& runner, const Session& session) {
    detail::CallStatus status;
    leat_queue_runner_t* one = runner.get();
    if (!one || !session) {
      TF_SetStatus(status, TF_FAILED_PRECONDITION,
                   one ? "starting a queue runner failed: there is no session"
                       : "starting a queue runner failed: there is no runner");
      return detail::finish(status.get());
    }
    {
      const detail::Lock lock(mutex_);
      started_.emplace_back(runner, session);
    }
    leat_queue_runners_start(&one, 1, session.get(), coordinator_.get(), status);
    return detail::finish(status.get());
  }
  /// Runs |work| on a thread that join() waits for; it returns soon after should_stop(). What it
  /// throws stops all the others too, and is what join() reports.
  template <class Function>
  result<void> start(const std::string& name, Function work) {
    using Own = Work<Function>;
    detail::CallStatus status;
    Handle<Own, Own::free> own(new Own{*this, std::move(work)});
    leat_coordinator_start(
        coordinator_.get(), name.c_str(),
        [](void* data) { Handle<Own, Own::free>(static_cast<Own*>(data)).get()->run(); }, own.get(),
        status);
    if (status.ok()) own.release();  // it is the thread's
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
  template <class Function>
  struct Work {
    void run() {
      const Status ended = detail::guarded(function, "a thread");
      if (!ended.ok()) coordinator.request_stop(ended);
    }
    static void free(Work* work) { delete work; }
    Coordinator& coordinator;
    Function function;
  };

  detail::Mutex mutex_;
  std::vector<std::pair<QueueRunner, Session>> started_;  // threads use them
  Handle<leat_coordinator_t, leat_coordinator_free> coordinator_;
};

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_INPUT_HPP_
