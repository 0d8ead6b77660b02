// leat/cpp/session.hpp: running graphs. Part of leat/leat.hpp.
//
//   Session session(scope);
//   std::vector<Tensor> out = session.run({{x, {{1.f, 2.f}}}}, {y});
//
// A session keeps its graph alive. Any number of threads may run steps on one session, and on one
// callable, at once. Functions here block until the step is done.
#ifndef LEAT_CPP_SESSION_HPP_
#define LEAT_CPP_SESSION_HPP_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "leat/callable.h"
#include "leat/cpp/graph.hpp"

LEAT_CPP_BEGIN_NAMESPACE

/// What a session is to be like.
class SessionOptions {
 public:
  /// Who runs the graph: "" this process, "grpc://host:port" the master of a cluster.
  SessionOptions& target(const std::string& target) {
    target_ = target;
    return *this;
  }
  /// A ConfigProto in text format: "intra_op_parallelism_threads: 2".
  SessionOptions& config(const std::string& text) {
    config_ = text;
    return *this;
  }
  const std::string& target() const { return target_; }
  /// The ConfigProto; |error| is set where its text is none.
  LEAT_CPP_COLD Message config_message(Status& error) const {
    if (config_.empty()) return Message();
    detail::CallStatus status;
    Handle<TF_Buffer, TF_DeleteBuffer> text(
        TF_NewBufferFromString(config_.data(), config_.size()));
    Handle<TF_Buffer, TF_DeleteBuffer> proto(
        leat_message_from_text("ConfigProto", text.get(), status));
    if (!status.ok()) error = status.get();
    return proto ? Message("ConfigProto", proto.get()) : Message();
  }

 private:
  friend class Session;
  friend class SavedModel;
  LEAT_CPP_COLD Handle<TF_SessionOptions, TF_DeleteSessionOptions> make(Status& error) const {
    Handle<TF_SessionOptions, TF_DeleteSessionOptions> options(TF_NewSessionOptions());
    detail::CallStatus status;
    if (!target_.empty()) TF_SetTarget(options.get(), target_.c_str());
    const std::string proto = config_message(error).bytes();
    if (!proto.empty()) TF_SetConfig(options.get(), proto.data(), proto.size(), status);
    if (!status.ok()) error = status.get();
    return options;
  }
  std::string target_, config_;
};

/// A tensor to feed or to fetch: an Output, what converts to one, or its name.
class Fetch {
 public:
  template <class T, class = std::enable_if_t<std::is_convertible<const T&, Output>::value>>
  Fetch(const T& producer) : output_(producer) {}
  Fetch(const char* name) : name_(name) {}
  Fetch(std::string name) : name_(std::move(name)) {}
  LEAT_CPP_CALL Fetch(const Fetch& other) = default;
  LEAT_CPP_CALL Fetch& operator=(const Fetch& other) = default;
  LEAT_CPP_CALL ~Fetch() = default;
  Output find(const Graph& graph, Status& error) const;

 private:
  Output output_;
  std::string name_;
};

/// An operation to run for its effect, or its name.
class Target {
 public:
  template <class T, class = std::enable_if_t<std::is_convertible<const T&, Operation>::value>>
  Target(const T& operation) : operation_(operation) {}
  Target(const char* name) : name_(name) {}
  Target(std::string name) : name_(std::move(name)) {}
  LEAT_CPP_CALL Target(const Target& other) = default;
  LEAT_CPP_CALL Target& operator=(const Target& other) = default;
  LEAT_CPP_CALL ~Target() = default;
  Operation find(const Graph& graph, Status& error) const;

 private:
  Operation operation_;
  std::string name_;
};

/// A tensor and the value that it has in this step.
struct Feed {
  LEAT_CPP_CALL Feed(const Fetch& tensor, const Tensor& value) : tensor(tensor), value(value) {}
  LEAT_CPP_CALL Feed(const Feed& other) = default;
  LEAT_CPP_CALL Feed& operator=(const Feed& other) = default;
  LEAT_CPP_CALL ~Feed() = default;
  template <class T, class = detail::if_value<T>>
  Feed(const Fetch& tensor, std::initializer_list<T> values) : tensor(tensor), value(values) {}
  template <class T, class = detail::if_value<T>>
  Feed(const Fetch& tensor, std::initializer_list<std::initializer_list<T>> rows)
      : tensor(tensor), value(rows) {}
  Fetch tensor;
  Tensor value;
};

using Feeds = std::vector<Feed>;
using Fetches = std::vector<Fetch>;
using Targets = std::vector<Target>;

LEAT_CPP_CALL inline Output Fetch::find(const Graph& graph, Status& error) const {
  const Output found = output_ ? output_ : graph.output(name_);
  if (!found && error.ok()) {
    error = Status(TF_NOT_FOUND, "running a step failed: the graph has no tensor '" + name_ + "'");
  }
  return found;
}
LEAT_CPP_CALL inline Operation Target::find(const Graph& graph, Status& error) const {
  const Operation found = operation_ ? operation_ : graph.operation(name_);
  if (!found && error.ok()) {
    error =
        Status(TF_NOT_FOUND, "running a step failed: the graph has no operation '" + name_ + "'");
  }
  return found;
}

namespace detail {

/// Texts as the C API takes them; they are borrowed.
class Texts : public Elements<const char*> {
 public:
  explicit Texts(ListOf<std::string> texts) : Elements(texts.size()) {
    for (const std::string& text : texts) add(text.c_str());
  }
};

/// Tensors that the C API gave.
LEAT_CPP_CALL inline std::vector<Tensor> taken(const Elements<TF_Tensor*>& tensors, int count) {
  std::vector<Tensor> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = Tensor(tensors[i]);
  return all;
}

/// The signature of a step as the C API takes it.
struct Step {
  LEAT_CPP_CALL Step(const Graph& graph, ListOf<Feed> feeds, ListOf<Fetch> fetches,
                     ListOf<Target> targets)
      : Step(graph, feeds.size(), fetches, targets) {
    for (const Feed& feed : feeds) {
      inputs.add(feed.tensor.find(graph, error).get());
      values.add(feed.value.get());
      if (!feed.value && error.ok()) {
        error = Status(TF_INVALID_ARGUMENT, "running a step failed: a feed has no value");
      }
    }
  }
  /// Without values for the feeds, which are given later.
  LEAT_CPP_COLD Step(const Graph& graph, ListOf<Fetch> feeds, ListOf<Fetch> fetches,
                     ListOf<Target> targets)
      : Step(graph, feeds.size(), fetches, targets) {
    for (const Fetch& feed : feeds) inputs.add(feed.find(graph, error).get());
  }
  LEAT_CPP_CALL ~Step() = default;
  std::vector<Tensor> take() const { return taken(results, outputs.count()); }

  Elements<TF_Output> inputs, outputs;
  Elements<TF_Tensor*> values, results;
  Elements<const TF_Operation*> operations;
  Status error;

 private:
  LEAT_CPP_CALL Step(const Graph& graph, std::size_t feeds, ListOf<Fetch> fetches,
                     ListOf<Target> targets)
      : inputs(feeds),
        outputs(fetches.size()),
        values(feeds),
        results(fetches.size()),
        operations(targets.size()) {
    for (const Fetch& fetch : fetches) outputs.add(fetch.find(graph, error).get());
    for (const Target& target : targets) operations.add(target.find(graph, error).get());
  }
};

struct SessionState {
  SessionState(const Graph& graph, TF_Session* session, bool is_lent = false)
      : graph(graph), session(session), is_lent(is_lent) {}
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;
  ~SessionState() {
    CallStatus status;
    if (!is_lent) TF_DeleteSession(session, status);
  }
  const Graph graph;
  TF_Session* const session;
  const bool is_lent;
};

}  // namespace detail

/// How a step runs, and what is to be known of it afterwards.
class RunOptions {
 public:
  /// DEADLINE_EXCEEDED after so many milliseconds; 0 is no limit.
  RunOptions& timeout_ms(std::int64_t value) {
    text_ += " timeout_in_ms: " + std::to_string(value);
    return *this;
  }
  /// Fills |metadata| with the times of all operations.
  RunOptions& trace(Message& metadata) {
    text_ += " trace_level: FULL_TRACE";
    metadata_ = &metadata;
    return *this;
  }

 private:
  friend class Session;
  std::string text_;
  Message* metadata_ = nullptr;
};

/// A step that is fed piece by piece: Session::partial_run().
class PartialRun {
 public:
  PartialRun() = default;
  /// Gives these feeds, and computes what they and former ones suffice for. A feed is given once, a
  /// fetch is asked for once.
  result<std::vector<Tensor>> run(ListOf<Feed> feeds, ListOf<Fetch> fetches,
                                  ListOf<Target> targets = {}) {
    if (!state_) return detail::finish(no_step(), [] { return std::vector<Tensor>(); });
    detail::Step step(state_->graph, feeds, fetches, targets);
    detail::CallStatus status;
    if (step.error.ok()) {
      TF_SessionPRun(state_->session, handle_.get(), step.inputs.data(), step.values.data(),
                     step.inputs.count(), step.outputs.data(), step.results.data(),
                     step.outputs.count(), step.operations.data(), step.operations.count(), status);
      step.error = status.get();
    }
    return detail::finish(step.error, [&] { return step.take(); });
  }

 private:
  friend class Session;
  static Status no_step() {
    return Status(TF_FAILED_PRECONDITION, "a partial run failed: no step was set up");
  }
  static void release(const char* handle) { TF_DeletePRunHandle(handle); }
  detail::Shared<detail::SessionState> state_;
  Handle<const char, release> handle_;
};

namespace detail {
/// In this order, so that the callable is freed before its session.
struct CallableState {
  Shared<SessionState> session;
  Handle<leat_callable_t, leat_callable_free> callable;
  std::size_t feed_count = 0, fetch_count = 0;
};
}  // namespace detail

/// A signature that was resolved once: the fastest way to run the same step again and again.
/// Session::callable() makes it. Copies are the same; any number of threads may call it at once.
class Callable {
 public:
  Callable() = default;
  /// Values of the feeds, in the order of the signature; the fetches come back in theirs. With
  /// |timeout_ms| > 0 it is DEADLINE_EXCEEDED after so long.
  result<std::vector<Tensor>> operator()(ListOf<Tensor> values,
                                         std::int64_t timeout_ms = 0) const {
    Status error;
    detail::Elements<TF_Tensor*> inputs(values.size()), outputs(state_ ? state_->fetch_count : 0);
    for (const Tensor& value : values) {
      inputs.add(value.get());
      if (!value) error = Status(TF_INVALID_ARGUMENT, "calling a step failed: a feed has no value");
    }
    if (!state_) {
      error = Status(TF_FAILED_PRECONDITION, "calling a step failed: there is no callable");
    } else if (values.size() != state_->feed_count) {
      error = Status(TF_INVALID_ARGUMENT,
                     "calling a step failed: " + std::to_string(values.size()) +
                         " values were given, must be " + std::to_string(state_->feed_count));
    }
    if (error.ok()) {
      detail::CallStatus status;
      leat_callable_run_tensors_within(state_->callable.get(), timeout_ms, inputs.data(),
                                       outputs.data(), status);
      error = status.get();
    }
    return detail::finish(
        error, [&] { return detail::taken(outputs, static_cast<int>(state_->fetch_count)); });
  }

 private:
  friend class Session;
  detail::Shared<detail::CallableState> state_;
};

/// A device of a session.
struct Device {
  std::string name, type;
  std::int64_t memory_bytes;
};

/// A graph being run. Copies are the same session; the last one frees it.
class Session {
 public:
  /// No session; running a step on it is FAILED_PRECONDITION.
  Session() = default;
#ifndef LEAT_NO_EXCEPTIONS
  explicit Session(const Graph& graph, const SessionOptions& options = SessionOptions())
      : Session(create(graph, options)) {}
  explicit Session(const Scope& scope, const SessionOptions& options = SessionOptions())
      : Session(create(scope.graph(), options)) {}
#endif
  LEAT_CPP_COLD static result<Session> create(const Graph& graph,
                                              const SessionOptions& options = SessionOptions()) {
    Status error;
    const auto made = options.make(error);
    detail::CallStatus status;
    TF_Session* session = nullptr;
    if (error.ok()) {
      session = TF_NewSession(graph.get(), made.get(), status);
      error = status.get();
    }
    return detail::finish(error, [&] { return Session(graph, session); });
  }
  /// Takes over a session of the C API on |graph|.
  Session(const Graph& graph, TF_Session* session)
      : state_(new detail::SessionState(graph, session)) {}
  /// One that stays the caller's, who keeps it until the last copy has been used.
  static Session lent(const Graph& graph, TF_Session* session) {
    Session made;
    made.state_ = detail::Shared<detail::SessionState>(
        new detail::SessionState(graph, session, true));
    return made;
  }

  explicit operator bool() const { return static_cast<bool>(state_); }
  TF_Session* get() const { return state_ ? state_->session : nullptr; }
  /// There must be a session.
  const Graph& graph() const { return state_->graph; }

  /// Runs what the fetches and targets need, and nothing else; gives the values of the fetches, in
  /// their order. Values that are fed are read where they lie. NOT_FOUND for a name that the graph
  /// does not have; INVALID_ARGUMENT for a placeholder without a value, and a value of another type
  /// or shape than its tensor; else what the operation that failed says.
  result<std::vector<Tensor>> run(ListOf<Fetch> fetches) const { return run({}, fetches); }
  result<std::vector<Tensor>> run(ListOf<Feed> feeds, ListOf<Fetch> fetches,
                                  ListOf<Target> targets = {},
                                  const RunOptions& options = RunOptions()) const {
    if (!state_) return detail::finish(no_session(), [] { return std::vector<Tensor>(); });
    detail::Step step(state_->graph, feeds, fetches, targets);
    detail::CallStatus status;
    Handle<TF_Buffer, TF_DeleteBuffer> how, metadata;
    if (!options.text_.empty() && step.error.ok()) {
      Handle<TF_Buffer, TF_DeleteBuffer> text(
          TF_NewBufferFromString(options.text_.data(), options.text_.size()));
      how.reset(leat_message_from_text("RunOptions", text.get(), status));
      step.error = status.get();
    }
    if (options.metadata_) metadata.reset(TF_NewBuffer());
    if (step.error.ok()) {
      TF_SessionRun(state_->session, how.get(), step.inputs.data(), step.values.data(),
                    step.inputs.count(), step.outputs.data(), step.results.data(),
                    step.outputs.count(), step.operations.data(), step.operations.count(),
                    metadata.get(), status);
      step.error = status.get();
    }
    if (metadata && step.error.ok()) *options.metadata_ = Message("RunMetadata", metadata.get());
    return detail::finish(step.error, [&] { return step.take(); });
  }
  /// Runs operations for their effect, and fetches nothing.
  result<void> run_targets(ListOf<Target> targets, ListOf<Feed> feeds = {},
                           const RunOptions& options = RunOptions()) const {
#ifdef LEAT_NO_EXCEPTIONS
    return run(feeds, {}, targets, options).status();
#else
    run(feeds, {}, targets, options);
#endif
  }

  /// Resolves a signature once. Codes as of run().
  LEAT_CPP_COLD result<Callable> callable(ListOf<Fetch> feeds, ListOf<Fetch> fetches,
                                          ListOf<Target> targets = {}) const {
    if (!state_) return detail::finish(no_session(), [] { return Callable(); });
    detail::Step step(state_->graph, feeds, fetches, targets);
    detail::CallStatus status;
    detail::Shared<detail::CallableState> made(new detail::CallableState());
    made->session = state_;
    made->feed_count = feeds.size();
    made->fetch_count = fetches.size();
    if (step.error.ok()) {
      made->callable.reset(leat_callable_create(
          state_->session, step.inputs.data(), step.inputs.count(), step.outputs.data(),
          step.outputs.count(), step.operations.data(), step.operations.count(), status));
      step.error = status.get();
    }
    return detail::finish(step.error, [&] {
      Callable callable;
      callable.state_ = std::move(made);
      return callable;
    });
  }

  /// Begins a step in parts, with all feeds, fetches and targets that they will have.
  LEAT_CPP_COLD result<PartialRun> partial_run(ListOf<Fetch> feeds, ListOf<Fetch> fetches,
                                               ListOf<Target> targets = {}) const {
    if (!state_) return detail::finish(no_session(), [] { return PartialRun(); });
    detail::Step step(state_->graph, feeds, fetches, targets);
    detail::CallStatus status;
    PartialRun begun;
    if (step.error.ok()) {
      const char* handle = nullptr;
      TF_SessionPRunSetup(state_->session, step.inputs.data(), step.inputs.count(),
                          step.outputs.data(), step.outputs.count(), step.operations.data(),
                          step.operations.count(), &handle, status);
      begun.handle_.reset(handle);
      step.error = status.get();
    }
    begun.state_ = state_;
    return detail::finish(step.error, [&] { return std::move(begun); });
  }

  LEAT_CPP_COLD result<std::vector<Device>> devices() const {
    if (!state_) return detail::finish(no_session(), [] { return std::vector<Device>(); });
    detail::CallStatus status;
    Handle<TF_DeviceList, TF_DeleteDeviceList> list(
        TF_SessionListDevices(state_->session, status));
    return detail::finish(status.get(), [&] {
      std::vector<Device> all;
      for (int i = 0; i < TF_DeviceListCount(list.get()); ++i) {
        all.push_back({TF_DeviceListName(list.get(), i, status),
                       TF_DeviceListType(list.get(), i, status),
                       TF_DeviceListMemoryBytes(list.get(), i, status)});
      }
      return all;
    });
  }

  /// Cancels steps that run; later ones fail with CANCELLED.
  result<void> close() const {
    detail::CallStatus status;
    if (state_) TF_CloseSession(state_->session, status);
    return detail::finish(status.get());
  }

 private:
  static Status no_session() {
    return Status(TF_FAILED_PRECONDITION, "running a step failed: there is no session");
  }
  detail::Shared<detail::SessionState> state_;
};

/// A task of a cluster in this process.
class Server {
 public:
  /// The addresses "host:port" of the tasks of each job, by its name.
  using Jobs = std::map<std::string, std::vector<std::string>>;

  Server() = default;
  /// |jobs| are the addresses of each job's tasks; this is task |task| of |job|. It answers once it
  /// was started.
  LEAT_CPP_COLD static result<Server> create(const Jobs& jobs, const std::string& job, int task) {
    std::string text = "protocol: \"grpc\" job_name: \"" + job +
                       "\" task_index: " + std::to_string(task) + " cluster {";
    for (const auto& entry : jobs) {
      text += " job { name: \"" + entry.first + "\"";
      for (std::size_t i = 0; i < entry.second.size(); ++i) {
        text += " tasks { key: " + std::to_string(i) + " value: \"" + entry.second[i] + "\" }";
      }
      text += " }";
    }
    text += " }";
    detail::CallStatus status;
    Server server;
    Handle<TF_Buffer, TF_DeleteBuffer> in(TF_NewBufferFromString(text.data(), text.size()));
    Handle<TF_Buffer, TF_DeleteBuffer> out(leat_message_from_text("ServerDef", in.get(), status));
    if (out) server.server_.reset(TF_NewServer(out.get()->data, out.get()->length, status));
    return detail::finish(status.get(), [&] { return std::move(server); });
  }
  result<void> start() { return call(TF_ServerStart); }
  result<void> stop() { return call(TF_ServerStop); }
  /// Waits until another thread stops it.
  result<void> join() { return call(TF_ServerJoin); }
  /// For SessionOptions::target().
  std::string target() const { return server_ ? TF_ServerTarget(server_.get()) : ""; }
  TF_Server* get() const { return server_.get(); }

 private:
  result<void> call(void (*function)(TF_Server*, TF_Status*)) {
    detail::CallStatus status;
    if (!server_) {
      TF_SetStatus(status, TF_FAILED_PRECONDITION, "there is no server");
    } else {
      function(server_.get(), status);
    }
    return detail::finish(status.get());
  }
  Handle<TF_Server, TF_DeleteServer> server_;
};

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_SESSION_HPP_
