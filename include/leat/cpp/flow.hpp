// leat/cpp/flow.hpp: loops, conditionals (section 4.4 of the white paper) and functions. Part of
// leat/leat.hpp.
//
//   auto ends = while_loop(
//       scope, {Const(scope, 0), Const(scope, 1)},
//       [](const Scope& s, const std::vector<Output>& v) { return Less(s, v[0], 10); },
//       [](const Scope& s, const std::vector<Output>& v) {
//         return std::vector<Output>{Add(s, v[0], 1), Mul(s, v[1], 2)};
//       });
//
// The functions are called once, while the graph is built. Operations that the thread adds in them
// are inside of the loop or branch, through whichever scope; values from outside are captured. When
// a function throws, the construct is abandoned: what was added stays, and nothing reads it.
#ifndef LEAT_CPP_FLOW_HPP_
#define LEAT_CPP_FLOW_HPP_

#include <string>
#include <utility>
#include <vector>

#include "leat/control_flow.h"
#include "leat/cpp/graph.hpp"

LEAT_CPP_BEGIN_NAMESPACE

namespace detail {
class FlowOptions;
}

/// What is unusual about a loop.
class WhileOptions {
 public:
  /// How many iterations may run at once.
  WhileOptions& parallel_iterations(int value) {
    parallel_iterations_ = value;
    return *this;
  }
  /// A scalar, int32 or int64: no more iterations than this.
  WhileOptions& maximum_iterations(const Output& value) {
    maximum_ = value;
    return *this;
  }
  /// Shapes that the variables keep, one each, where they are vaguer than the first values'.
  WhileOptions& shapes(std::vector<TensorShape> value) {
    shapes_ = std::move(value);
    return *this;
  }

 private:
  friend class detail::FlowOptions;
  int parallel_iterations_ = 0;
  Output maximum_;
  std::vector<TensorShape> shapes_;
};

namespace detail {

/// Abandons a construct that was not finished.
class OpenContext {
 public:
  explicit OpenContext(leat_flow_context_t* context = nullptr) : context_(context) {}
  OpenContext(const OpenContext&) = delete;
  OpenContext& operator=(const OpenContext&) = delete;
  ~OpenContext() { leat_flow_abandon(context_); }  // nothing where it is finished
  leat_flow_context_t* context_;
};

inline std::vector<TF_Output> plain(const std::vector<Output>& outputs) {
  std::vector<TF_Output> all;
  for (const Output& output : outputs) all.push_back(output.get());
  return all;
}
inline std::vector<Output> of_graph(TF_Graph* graph, const std::vector<TF_Output>& outputs) {
  std::vector<Output> all;
  for (const TF_Output& output : outputs) all.emplace_back(graph, output);
  return all;
}
/// What a function of a loop or branch returned.
inline std::vector<Output> listed(std::vector<Output> outputs) { return outputs; }
inline std::vector<Output> listed(const Output& output) { return {output}; }

/// The options of a construct, those that follow from its scope included.
class FlowOptions {
 public:
  FlowOptions(const Scope& scope, const WhileOptions& how, std::size_t variables)
      : device_(scope.device()) {
    for (const Operation& operation : scope.control_dependencies()) {
      control_.push_back(operation.get());
    }
    options_.device = device_.empty() ? nullptr : device_.c_str();
    options_.control_inputs = control_.data();
    options_.control_input_count = static_cast<int>(control_.size());
    options_.parallel_iterations = how.parallel_iterations_;
    options_.maximum_iterations = how.maximum_.get();
    for (const TensorShape& shape : how.shapes_) {
      ranks_.push_back(shape.rank());
      dims_.insert(dims_.end(), shape.dims().begin(), shape.dims().end());
    }
    if (ranks_.empty()) return;
    options_.ranks = ranks_.data();
    options_.dims = dims_.data();
    if (ranks_.size() != variables) {
      error_ = Status(TF_INVALID_ARGUMENT,
                      "while_loop failed: there are " + std::to_string(ranks_.size()) +
                          " shapes, must be one for each of " + std::to_string(variables) +
                          " variables, or none");
    }
  }
  FlowOptions(const FlowOptions&) = delete;
  FlowOptions& operator=(const FlowOptions&) = delete;
  const leat_flow_options_t* get() const { return &options_; }
  const Status& error() const { return error_; }

 private:
  leat_flow_options_t options_ = {};
  std::string device_;
  std::vector<TF_Operation*> control_;
  std::vector<int> ranks_;
  std::vector<std::int64_t> dims_;
  Status error_;
};

}  // namespace detail

/// Runs |body| as long as |condition| gives true, over variables that begin as |inputs|.
/// condition(scope, variables) gives a scalar bool, body(scope, variables) the next values: a
/// vector, or one Output. The result are the last values.
template <class Condition, class Body>
std::vector<Output> while_loop(const Scope& outer, const std::vector<Output>& inputs,
                               Condition condition, Body body,
                               const WhileOptions& how = WhileOptions()) {
  if (!outer.ok()) return std::vector<Output>(inputs.size());
  TF_Graph* graph = outer.graph().get();
  const detail::FlowOptions options(outer, how, inputs.size());
  if (!options.error().ok()) {
    outer.fail(options.error());
    return std::vector<Output>(inputs.size());
  }
  const Scope scope = outer.sub_scope(outer.op_name().empty() ? "while" : outer.op_name())
                          .with_no_control_dependencies();
  const std::string name = scope.prefix().substr(0, scope.prefix().size() - 1);
  const int count = static_cast<int>(inputs.size());
  const std::vector<TF_Output> first = detail::plain(inputs);
  std::vector<TF_Output> values(inputs.size());
  detail::CallStatus status;
  const detail::OpenContext loop(
      leat_while_begin(graph, name.c_str(), first.data(), count, options.get(),
                       values.data(), status));
  if (status.ok()) {
    const Output more = condition(scope, detail::of_graph(graph, values));
    if (scope.ok()) leat_while_body(loop.context_, more.get(), values.data(), status);
  }
  if (status.ok() && scope.ok()) {
    const std::vector<Output> next =
        detail::listed(body(scope, detail::of_graph(graph, values)));
    values.resize(next.size());
    if (scope.ok()) {
      leat_while_end(loop.context_, detail::plain(next).data(), static_cast<int>(next.size()),
                     values.data(), status);
    }
  }
  if (!status.ok()) outer.fail(status.get());
  return outer.ok() ? detail::of_graph(graph, values) : std::vector<Output>(inputs.size());
}

/// What |then| gives where |predicate|, a scalar bool, is true, else what |otherwise| gives:
/// then(scope) returns one Output or a vector of them, and both as many, of the same types.
template <class Then, class Else>
std::vector<Output> cond(const Scope& outer, const Input& predicate, Then then, Else otherwise) {
  if (!outer.ok()) return {};
  TF_Graph* graph = outer.graph().get();
  const Output chosen = predicate.output() ? predicate.output()
                                           : ops::Const(outer, predicate.value());
  const detail::FlowOptions options(outer, WhileOptions(), 0);
  const Scope scope = outer.sub_scope(outer.op_name().empty() ? "cond" : outer.op_name())
                          .with_no_control_dependencies();
  const std::string name = scope.prefix().substr(0, scope.prefix().size() - 1);
  detail::CallStatus status;
  detail::OpenContext branch(
      leat_cond_begin(graph, name.c_str(), chosen.get(), options.get(), status));
  std::vector<TF_Output> merged;
  if (status.ok()) {
    const std::vector<TF_Output> results = detail::plain(detail::listed(then(scope)));
    if (scope.ok()) {
      branch.context_ = leat_cond_else(branch.context_, results.data(),
                                       static_cast<int>(results.size()), status);
    }
  }
  if (status.ok() && scope.ok()) {
    const std::vector<TF_Output> results = detail::plain(detail::listed(otherwise(scope)));
    merged.resize(results.size());
    if (scope.ok()) {
      leat_cond_end(branch.context_, results.data(), static_cast<int>(results.size()),
                    merged.data(), status);
    }
  }
  if (!status.ok()) outer.fail(status.get());
  return outer.ok() ? detail::of_graph(graph, merged) : std::vector<Output>(merged.size());
}

/// A subgraph with a name, which graphs call as an operation, and ops such as If by its name.
class Function {
 public:
  Function() = default;
  /// body(scope, arguments) gives the results: a vector, or one Output. It builds a graph of its
  /// own, so that it can use nothing from outside.
  template <class Body>
  static result<Function> create(const std::string& name, const std::vector<DataType>& arguments,
                                 Body body) {
    Scope scope;
    std::vector<Output> inputs;
    for (const DataType dtype : arguments) {
      inputs.push_back(OpBuilder(scope.with_op_name("arg"), "Placeholder")
                           .attribute("dtype", dtype)
                           .finish()
                           .output(0));
    }
    const std::vector<Output> results = detail::listed(body(scope, inputs));
    Status error = scope.status();
    Function made;
    if (error.ok()) {
      detail::CallStatus status;
      const std::vector<TF_Output> in = detail::plain(inputs), out = detail::plain(results);
      made.function_.reset(TF_GraphToFunction(
          scope.graph().get(), name.c_str(), 0, -1, nullptr, static_cast<int>(in.size()),
          in.data(), static_cast<int>(out.size()), out.data(), nullptr, nullptr, nullptr, status));
      error = status.get();
    }
    return detail::finish(error, [&] { return std::move(made); });
  }
  std::string name() const { return function_ ? TF_FunctionName(function_.get()) : ""; }
  operator FunctionName() const { return FunctionName(name()); }
  TF_Function* get() const { return function_.get(); }

  /// Gives a copy to the graph; |gradient| computes its gradient, by default the library does.
  result<void> add_to(const Graph& graph, const Function* gradient = nullptr) const {
    detail::CallStatus status;
    if (!function_) {
      TF_SetStatus(status, TF_FAILED_PRECONDITION, "there is no function");
    } else {
      TF_GraphCopyFunction(graph.get(), function_.get(), gradient ? gradient->get() : nullptr,
                           status);
    }
    return detail::finish(status.get());
  }
  /// Adds a call; the graph has the function.
  Operation call(const Scope& scope, const std::vector<Input>& arguments) const {
    OpBuilder builder(scope, name().c_str());
    for (const Input& argument : arguments) builder.input(argument);
    return builder.finish();
  }

 private:
  Handle<TF_Function, TF_DeleteFunction> function_;
};

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_FLOW_HPP_
