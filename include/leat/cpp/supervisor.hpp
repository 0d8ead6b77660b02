// leat/cpp/supervisor.hpp: training that goes on where it was interrupted (section 3.3 of the white
// paper), over leat/supervisor.h. Part of leat/leat.hpp.
//
//   Saver saver(scope, "ckpt", SaverOptions().every_steps(100));
//   Supervisor supervisor(scope, SupervisorOptions()
//                                    .init(initialize_variables(scope))
//                                    .saver(saver)
//                                    .global_step(step)
//                                    .last_step(1000));
//   supervisor.train([&](const Session& session, std::int64_t step) {
//     session.run_targets({train}, {{x, batch(step)}});
//   });
//
// A supervisor belongs to one thread at a time, but for request_stop().
#ifndef LEAT_CPP_SUPERVISOR_HPP_
#define LEAT_CPP_SUPERVISOR_HPP_

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/cpp/input.hpp"
#include "leat/cpp/saver.hpp"
#include "leat/supervisor.h"

LEAT_CPP_BEGIN_NAMESPACE

/// Something that happened: leat_supervisor_event_t says which names there are.
struct SupervisorEvent {
  std::string name;
  std::int64_t step;
  std::string path, message;
};

namespace detail {
/// Any function of a const T&, or none: std::function without <functional>, which takes long to
/// compile.
template <class T>
class Listener {
 public:
  Listener() = default;
  template <class Function>
  static Listener of(Function function) {
    Listener made;
    made.function_ = SharedObject(new Function(std::move(function)),
                                  [](void* own) { delete static_cast<Function*>(own); });
    made.call_ = [](void* own, const T& value) { (*static_cast<Function*>(own))(value); };
    return made;
  }
  explicit operator bool() const { return call_ != nullptr; }
  void operator()(const T& value) const { call_(function_.object(), value); }

 private:
  SharedObject function_;
  void (*call_)(void* function, const T& value) = nullptr;
};
}  // namespace detail

/// What is trained, where and until when: the fields of leat_supervisor_spec_t. Nothing must be
/// given.
class SupervisorOptions {
 public:
  /// Gives the variables their first values, where there is no checkpoint.
  SupervisorOptions& init(const Operation& operation) {
    spec_.init = operation.get();
    return *this;
  }
  /// Run in each session, once |ready| (if it is given) names no variable.
  SupervisorOptions& local_init(const Operation& operation, const Output& ready = Output()) {
    spec_.local_init = operation.get();
    if (ready) spec_.local_ready = ready.get();
    return *this;
  }
  /// The variables without a value, such as uninitialized_variables().
  SupervisorOptions& ready(const Output& names) {
    spec_.ready = names.get();
    return *this;
  }
  SupervisorOptions& global_step(const Output& step) {
    spec_.global_step = step.get();
    return *this;
  }
  /// Must outlive the supervisor.
  SupervisorOptions& saver(const Saver& saver) {
    spec_.saver = saver.get();
    return *this;
  }
  SupervisorOptions& queue_runner(const QueueRunner& runner) {
    runners_.push_back(runner);
    return *this;
  }
  /// Whose target and configuration each session gets.
  SupervisorOptions& session(const SessionOptions& options) {
    session_ = options;
    return *this;
  }
  /// Another task is the chief; ready() must be given.
  SupervisorOptions& waits_for_chief(bool value = true) {
    spec_.waits_for_chief = value;
    return *this;
  }
  /// How long a session is waited for, and how often is looked whether it is ready.
  SupervisorOptions& wait_seconds(double seconds, double poll_seconds = 0) {
    spec_.wait_seconds = seconds;
    spec_.poll_seconds = poll_seconds;
    return *this;
  }
  /// How many sessions may be lost; negative: none.
  SupervisorOptions& restarts(int count) {
    spec_.restarts = count;
    return *this;
  }
  SupervisorOptions& last_step(std::int64_t step) {
    spec_.last_step = step;
    return *this;
  }
  SupervisorOptions& seconds(double seconds) {
    spec_.seconds = seconds;
    return *this;
  }
  /// The directory of the chief's event files.
  SupervisorOptions& logs(const std::string& directory) {
    logs_ = directory;
    return *this;
  }
  /// Called by train() for each SupervisorEvent, instead of lines on stderr.
  template <class Function>
  SupervisorOptions& observe(Function observer) {
    observer_ = detail::Listener<SupervisorEvent>::of(std::move(observer));
    return *this;
  }
  /// Called by train() with each Session that is ready: to prepare steps on it.
  template <class Function>
  SupervisorOptions& opened(Function function) {
    opened_ = detail::Listener<Session>::of(std::move(function));
    return *this;
  }

 private:
  friend class Supervisor;
  leat_supervisor_spec_t spec_ = {};
  std::vector<QueueRunner> runners_;
  SessionOptions session_;
  std::string logs_;
  detail::Listener<SupervisorEvent> observer_;
  detail::Listener<Session> opened_;
};

/// Runs a program's steps in sessions that it restores after faults. Its destructor saves what is
/// not saved, and closes the session.
class Supervisor {
 public:
  Supervisor() = default;
#ifndef LEAT_NO_EXCEPTIONS
  explicit Supervisor(const Scope& scope, const SupervisorOptions& options = SupervisorOptions())
      : Supervisor(create(scope.graph(), options)) {}
  explicit Supervisor(const Graph& graph, const SupervisorOptions& options = SupervisorOptions())
      : Supervisor(create(graph, options)) {}
#endif
  LEAT_CPP_COLD static result<Supervisor> create(
      const Graph& graph, const SupervisorOptions& options = SupervisorOptions()) {
    Supervisor made;
    made.state_ = detail::Shared<State>(new State(graph, options));
    const Status error = made.state_->open();
    return detail::finish(error, [&] { return std::move(made); });
  }

  /// Calls |step|(session, number of steps done) for each step until training ends. Where a step
  /// throws an Error (without exceptions: returns a Status that is not OK) that says that the
  /// session is lost, |step| is called again after another one was restored; OUT_OF_RANGE is the
  /// end of input; any other error is thrown here.
  template <class Function>
  result<void> train(Function step) {
    if (!state_ || !state_->supervisor) {
      return detail::finish(Status(TF_FAILED_PRECONDITION,
                                   "training failed: the supervisor was closed, or never made"));
    }
    leat_supervisor_t* supervisor = state_->supervisor;
    for (std::int64_t number; leat_supervisor_next(supervisor, &number);) {
      detail::CallStatus status;
      const Status ended = attempt(step, number);
      TF_SetStatus(status, ended.code(), ended.message().c_str());
      leat_supervisor_check(supervisor, status);
    }
    return state_->session ? detail::finish(Status()) : close();
  }
  /// The session: after training too, to evaluate with. It ends with the supervisor, or when it is
  /// lost, and its copies with it. There is none before the first step.
  Session session() const { return state_ ? state_->session : Session(); }
  /// Ends train() when its step has ended. Any thread, or a signal's handler.
  void request_stop() {
    if (state_) leat_supervisor_request_stop(state_->supervisor);
  }
  /// A scalar for the event file, where there is one.
  result<void> log_scalar(std::int64_t step, const std::string& tag, double value) {
    detail::CallStatus status;
    leat_events_t* events = state_ ? leat_supervisor_events(state_->supervisor) : nullptr;
    if (events) leat_events_add_scalar(events, step, tag.c_str(), value, status);
    return detail::finish(status.get());
  }
  /// Saves what is not saved, and closes the session. The first error of the training.
  result<void> close() { return detail::finish(state_ ? state_->close() : Status()); }

 private:
  /// What the C API points to; it stays where it is.
  struct State {
    State(const Graph& graph, const SupervisorOptions& options) : graph(graph), options(options) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { close(); }

    LEAT_CPP_COLD Status open() {
      detail::CallStatus status;
      Status error;
      leat_supervisor_spec_t spec = options.spec_;
      config = options.session_.config_message(error).bytes();
      if (!error.ok()) return error;
      for (const QueueRunner& runner : options.runners_) runners.push_back(runner.get());
      spec.graph = graph.get();
      spec.target = options.session_.target().c_str();
      spec.config = config.data();
      spec.config_size = config.size();
      spec.queue_runners = runners.data();
      spec.queue_runner_count = static_cast<int>(runners.size());
      spec.logs = options.logs_.empty() ? nullptr : options.logs_.c_str();
      spec.opened = on_opened;
      spec.closing = on_closing;
      spec.observe = options.observer_ ? on_event : nullptr;
      spec.data = this;
      supervisor = leat_supervisor_create(&spec, status);
      return status.get();
    }
    Status close() {
      detail::CallStatus status;
      leat_supervisor_close(std::exchange(supervisor, nullptr), status);
      return status.get();
    }
    static void on_opened(void* data, TF_Session* session, TF_Status* status) {
      auto* self = static_cast<State*>(data);
      self->session = Session::lent(self->graph, session);
      if (!self->options.opened_) return;
      const Status ended = detail::guarded([&] { self->options.opened_(self->session); },
                                           "a function of the program");
      TF_SetStatus(status, ended.code(), ended.message().c_str());
    }
    static void on_closing(void* data, TF_Session*) {
      static_cast<State*>(data)->session = Session();
    }
    static void on_event(void* data, const leat_supervisor_event_t* event) {
      const auto* self = static_cast<State*>(data);
      detail::guarded(
          [&] { self->options.observer_({event->name, event->step, event->path, event->message}); },
          "an observer");
    }

    const Graph graph;
    const SupervisorOptions options;
    std::vector<leat_queue_runner_t*> runners;
    std::string config;
    Session session;
    leat_supervisor_t* supervisor = nullptr;
  };

  template <class Function>
  Status attempt(Function& step, std::int64_t number) {
    const Session session = state_->session;
#ifdef LEAT_NO_EXCEPTIONS
    return step(session, number);
#else
    try {
      step(session, number);
      return Status();
    } catch (const Error& error) {
      return error.status();
    }
#endif
  }

  detail::Shared<State> state_;
};

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_SUPERVISOR_HPP_
