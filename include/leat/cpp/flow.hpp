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

LEAT_CPP_COLD inline std::vector<Output> of_graph(TF_Graph* graph,
                                                  const Elements<TF_Output>& outputs,
                                                  std::size_t count) {
  std::vector<Output> all;
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(graph, outputs[i]);
  return all;
}
/// What a function of a loop or branch returned.
inline std::vector<Output> listed(std::vector<Output> outputs) { return outputs; }
inline std::vector<Output> listed(const Output& output) { return {output}; }

/// A caller's function that builds a part of a graph, borrowed. What takes one is compiled once,
/// not for each function anew.
class Part {
 public:
  template <class Function>
  explicit Part(Function& function)
      : function_(&function),
        call_([](void* function, const Scope& scope, const std::vector<Output>& values) {
          return listed((*static_cast<Function*>(function))(scope, values));
        }) {}
  std::vector<Output> operator()(const Scope& scope, const std::vector<Output>& values) const {
    return call_(function_, scope, values);
  }

 private:
  void* function_;
  std::vector<Output> (*call_)(void*, const Scope&, const std::vector<Output>&);
};

/// The options of a construct, those that follow from its scope included.
class FlowOptions {
 public:
  LEAT_CPP_COLD FlowOptions(const Scope& scope, const WhileOptions& how, std::size_t variables)
      : device_(scope.device()),
        control_(scope.control_dependencies().size()),
        ranks_(how.shapes_.size()) {
    for (const Operation& operation : scope.control_dependencies()) control_.add(operation.get());
    options_.device = device_.empty() ? nullptr : device_.c_str();
    options_.control_inputs = control_.data();
    options_.control_input_count = control_.count();
    options_.parallel_iterations = how.parallel_iterations_;
    options_.maximum_iterations = how.maximum_.get();
    if (how.shapes_.empty()) return;
    for (const TensorShape& shape : how.shapes_) {
      ranks_.add(shape.rank());
      for (const std::int64_t size : shape.dims()) dims_.push_back(size);
    }
    options_.ranks = ranks_.data();
    options_.dims = dims_.data();
    if (how.shapes_.size() != variables) {
      error_ = Status(TF_INVALID_ARGUMENT,
                      "while_loop failed: there are " + std::to_string(how.shapes_.size()) +
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
  Elements<TF_Operation*> control_;
  Elements<int> ranks_;
  std::vector<std::int64_t> dims_;
  Status error_;
};

LEAT_CPP_COLD inline std::vector<Output> build_while(const Scope& outer,
                                                     const std::vector<Output>& inputs,
                                                     const Part& condition, const Part& body,
                                                     const WhileOptions& how) {
  const std::size_t count = inputs.size();
  std::vector<Output> exits(count);
  if (!outer.ok()) return exits;
  TF_Graph* graph = outer.graph().get();
  const FlowOptions options(outer, how, count);
  if (!options.error().ok()) {
    outer.fail(options.error());
    return exits;
  }
  const Scope scope = outer.sub_scope(outer.op_name().empty() ? "while" : outer.op_name())
                          .with_no_control_dependencies();
  const std::string name = scope.prefix().substr(0, scope.prefix().size() - 1);
  const Outputs first(inputs);
  const Elements<TF_Output> values(count);
  CallStatus status;
  const OpenContext loop(leat_while_begin(graph, name.c_str(), first.data(), first.count(),
                                          options.get(), values.data(), status));
  if (status.ok()) {
    const std::vector<Output> more = condition(scope, of_graph(graph, values, count));
    if (scope.ok()) leat_while_body(loop.context_, more[0].get(), values.data(), status);
  }
  if (status.ok() && scope.ok()) {
    const Outputs next(body(scope, of_graph(graph, values, count)));
    const std::size_t results = static_cast<std::size_t>(next.count());
    const Elements<TF_Output> last(results);
    if (scope.ok()) {
      leat_while_end(loop.context_, next.data(), next.count(), last.data(), status);
    }
    if (status.ok() && scope.ok()) exits = of_graph(graph, last, results);
  }
  if (!status.ok()) outer.fail(status.get());
  return exits;
}

LEAT_CPP_COLD inline std::vector<Output> build_cond(const Scope& outer, const Input& predicate,
                                                    const Part& then, const Part& otherwise) {
  std::vector<Output> merged;
  if (!outer.ok()) return merged;
  TF_Graph* graph = outer.graph().get();
  const Output chosen =
      predicate.output() ? predicate.output() : ops::Const(outer, predicate.value());
  const FlowOptions options(outer, WhileOptions(), 0);
  const Scope scope = outer.sub_scope(outer.op_name().empty() ? "cond" : outer.op_name())
                          .with_no_control_dependencies();
  const std::string name = scope.prefix().substr(0, scope.prefix().size() - 1);
  CallStatus status;
  OpenContext branch(leat_cond_begin(graph, name.c_str(), chosen.get(), options.get(), status));
  if (status.ok()) {
    const Outputs results(then(scope, {}));
    if (scope.ok()) {
      branch.context_ =
          leat_cond_else(branch.context_, results.data(), results.count(), status);
    }
  }
  if (status.ok() && scope.ok()) {
    const Outputs results(otherwise(scope, {}));
    const std::size_t count = static_cast<std::size_t>(results.count());
    const Elements<TF_Output> ends(count);
    if (scope.ok()) {
      leat_cond_end(branch.context_, results.data(), results.count(), ends.data(), status);
    }
    merged.resize(count);
    if (status.ok() && scope.ok()) merged = of_graph(graph, ends, count);
  }
  if (!status.ok()) outer.fail(status.get());
  return merged;
}

}  // namespace detail

/// Runs |body| as long as |condition| gives true, over variables that begin as |inputs|.
/// condition(scope, variables) gives a scalar bool, body(scope, variables) the next values: a
/// vector, or one Output. The result are the last values.
template <class Condition, class Body>
std::vector<Output> while_loop(const Scope& outer, const std::vector<Output>& inputs,
                               Condition condition, Body body,
                               const WhileOptions& how = WhileOptions()) {
  auto check = [&condition](const Scope& scope, const std::vector<Output>& values) {
    return Output(condition(scope, values));
  };
  return detail::build_while(outer, inputs, detail::Part(check), detail::Part(body), how);
}

/// What |then| gives where |predicate|, a scalar bool, is true, else what |otherwise| gives:
/// then(scope) returns one Output or a vector of them, and both as many, of the same types.
template <class Then, class Else>
std::vector<Output> cond(const Scope& outer, const Input& predicate, Then then, Else otherwise) {
  auto first = [&then](const Scope& scope, const std::vector<Output>&) {
    return then(scope);
  };
  auto second = [&otherwise](const Scope& scope, const std::vector<Output>&) {
    return otherwise(scope);
  };
  return detail::build_cond(outer, predicate, detail::Part(first), detail::Part(second));
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
    return build(name, arguments, detail::Part(body));
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
  LEAT_CPP_COLD static result<Function> build(const std::string& name,
                                              const std::vector<DataType>& arguments,
                                              const detail::Part& body) {
    Scope scope;
    std::vector<Output> inputs;
    for (const DataType dtype : arguments) {
      inputs.push_back(OpBuilder(scope.with_op_name("arg"), "Placeholder")
                           .attribute("dtype", dtype)
                           .finish()
                           .output(0));
    }
    const detail::Outputs in(inputs), out(body(scope, inputs));
    Status error = scope.status();
    Function made;
    if (error.ok()) {
      detail::CallStatus status;
      made.function_.reset(TF_GraphToFunction(scope.graph().get(), name.c_str(), 0, -1, nullptr,
                                              in.count(), in.data(), out.count(), out.data(),
                                              nullptr, nullptr, nullptr, status));
      error = status.get();
    }
    return detail::finish(error, [&] { return std::move(made); });
  }
  Handle<TF_Function, TF_DeleteFunction> function_;
};

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_FLOW_HPP_
