// leat/cpp/graph.hpp: graphs, and scopes through which operations are added. Part of leat/leat.hpp.
//
// A Graph is a handle on a TF_Graph that scopes, sessions and variables share. Operation and Output
// are borrowed from the graph: they are two words, may be copied, and are valid as long as it.
//
// A Scope says how operations are added: the prefix of their names, device, control inputs,
// colocation. Its modifiers return a new scope and leave the old one as it is. A scope belongs to
// one thread; several threads may add to one graph through scopes of their own.
#ifndef LEAT_CPP_GRAPH_HPP_
#define LEAT_CPP_GRAPH_HPP_

#include <pthread.h>

#include <climits>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "leat/cpp/attribute.hpp"
#include "leat/cpp/tensor.hpp"
#include "leat/names.h"

LEAT_CPP_BEGIN_NAMESPACE

class OpBuilder;
class Output;

/// An operation of a graph, or none.
class Operation {
 public:
  Operation() = default;
  Operation(TF_Graph* graph, TF_Operation* operation) : graph_(graph), operation_(operation) {}
  explicit operator bool() const { return operation_ != nullptr; }
  bool operator==(const Operation& other) const { return operation_ == other.operation_; }
  bool operator!=(const Operation& other) const { return operation_ != other.operation_; }
  TF_Operation* get() const { return operation_; }
  TF_Graph* graph() const { return graph_; }
  std::string name() const { return operation_ ? TF_OperationName(operation_) : ""; }
  /// The name of its op: "MatMul".
  std::string op() const { return operation_ ? TF_OperationOpType(operation_) : ""; }
  /// The device that was asked for.
  std::string device() const { return operation_ ? TF_OperationDevice(operation_) : ""; }
  int num_inputs() const { return operation_ ? TF_OperationNumInputs(operation_) : 0; }
  int num_outputs() const { return operation_ ? TF_OperationNumOutputs(operation_) : 0; }
  Output input(int index) const;
  Output output(int index) const;
  /// The outputs of the list |argument|, or the one that it stands for.
  std::vector<Output> outputs(const char* argument, int first) const;

 private:
  TF_Graph* graph_ = nullptr;
  TF_Operation* operation_ = nullptr;
};

/// A tensor of a graph, or none.
class Output {
 public:
  Output() = default;
  Output(Operation operation, int index) : operation_(operation), index_(index) {}
  Output(TF_Graph* graph, TF_Output output)
      : operation_(graph, output.oper), index_(output.index) {}
  explicit operator bool() const { return static_cast<bool>(operation_); }
  bool operator==(const Output& other) const {
    return operation_ == other.operation_ && index_ == other.index_;
  }
  bool operator!=(const Output& other) const { return !(*this == other); }
  Operation op() const { return operation_; }
  int index() const { return index_; }
  TF_Output get() const { return {operation_.get(), index_}; }
  /// "x:0"
  LEAT_CPP_COLD std::string name() const {
    return operation_.name() + ":" + std::to_string(index_);
  }
  /// The type of the elements. One that can be assigned to has this type too.
  DataType dtype() const {
    return static_cast<DataType>(type() > 100 ? type() - 100 : type());
  }
  /// Whether it refers to a variable of the first kind.
  bool is_ref() const { return type() > 100; }
  /// What is known of the shape before the run.
  LEAT_CPP_COLD TensorShape shape() const {
    detail::CallStatus status;
    const int rank =
        operation_ ? TF_GraphGetTensorNumDims(operation_.graph(), get(), status) : -1;
    if (rank < 0) return TensorShape::unknown();
    std::vector<std::int64_t> dims(rank);
    TF_GraphGetTensorShape(operation_.graph(), get(), dims.data(), rank, status);
    return TensorShape(std::move(dims));
  }

 private:
  /// The number of the type, which for a reference is above those that TF_DataType names.
  int type() const {
    return operation_ ? static_cast<int>(TF_OperationOutputType(get())) : 0;
  }
  Operation operation_;
  int index_ = 0;
};

LEAT_CPP_COLD inline Output Operation::input(int index) const {
  return operation_ ? Output(graph_, TF_OperationInput({operation_, index})) : Output();
}
LEAT_CPP_COLD inline Output Operation::output(int index) const {
  return index >= 0 && index < num_outputs() ? Output(*this, index) : Output();
}
LEAT_CPP_COLD inline std::vector<Output> Operation::outputs(const char* argument,
                                                            int first) const {
  std::vector<Output> all;
  detail::CallStatus status;
  const int count =
      operation_ ? TF_OperationOutputListLength(operation_, argument, status) : 0;
  for (int i = 0; i < count; ++i) all.emplace_back(*this, first + i);
  return all;
}

/// What an operation reads: a tensor of the graph, or a value, of which a Const is made. Numbers,
/// texts, and lists in braces are values. A value has its C++ type: 1 is an int32, 1.f a float.
class Input {
 public:
  Input() = default;
  Input(const Output& output) : output_(output) {}
  Input(const Tensor& value) : value_(value) {}
  /// What converts to an Output: operations with one output, variables.
  template <class T, class = std::enable_if_t<std::is_convertible<const T&, Output>::value &&
                                              !std::is_same<T, Output>::value>>
  Input(const T& producer) : output_(producer) {}
  template <class T, class = detail::if_value<T>, class = void>
  Input(const T& value) : value_(value) {}
  template <class T, class = detail::if_value<T>>
  Input(const std::vector<T>& values) : value_(values) {}
  template <class T, class = detail::if_value<T>>
  Input(std::initializer_list<T> values) : value_(values) {}
  template <class T, class = detail::if_value<T>>
  Input(std::initializer_list<std::initializer_list<T>> rows) : value_(rows) {}
  template <class T, class = detail::if_value<T>>
  Input(std::initializer_list<std::initializer_list<std::initializer_list<T>>> blocks)
      : value_(blocks) {}
  const Output& output() const { return output_; }
  const Tensor& value() const { return value_; }

 private:
  Output output_;
  Tensor value_;
};

/// A list of them: `AddN(scope, {x, y, z})`, or a vector of outputs.
class InputList {
 public:
  InputList(std::initializer_list<Input> inputs) : InputList(inputs.begin(), inputs.size()) {}
  InputList(const std::vector<Input>& inputs) : InputList(inputs.data(), inputs.size()) {}
  InputList(const std::vector<Output>& outputs) : InputList(outputs.data(), outputs.size()) {}
  std::size_t size() const { return size_; }
  const Input& operator[](std::size_t i) const { return static_cast<Input*>(own_.object())[i]; }

 private:
  template <class T>
  LEAT_CPP_COLD InputList(const T* inputs, std::size_t size)
      : own_(new Input[size], [](void* own) { delete[] static_cast<Input*>(own); }), size_(size) {
    for (std::size_t i = 0; i < size; ++i) static_cast<Input*>(own_.object())[i] = inputs[i];
  }
  detail::SharedObject own_;  // an array; it is shared, since nothing changes it
  std::size_t size_;
};

namespace detail {

/// A variable of a graph (leat/cpp/variable.hpp).
struct VariableRow {
  Output handle;  // a reference or a resource
  Output value;   // what is read where the variable is an input
  Operation initializer;
  DataType dtype = TF_FLOAT;
  TensorShape shape;
  bool trainable = true;
  VariableRow() = default;
  LEAT_CPP_COLD VariableRow(const VariableRow& other) = default;
  VariableRow& operator=(const VariableRow& other) = default;
  LEAT_CPP_COLD ~VariableRow() = default;
  bool is_resource() const { return !handle.is_ref(); }
};

/// Outputs as the C API takes them.
class Outputs : public Elements<TF_Output> {
 public:
  LEAT_CPP_COLD explicit Outputs(ListOf<Output> outputs) : Elements(outputs.size()) {
    for (const Output& output : outputs) add(output.get());
  }
};

/// A mutex and its lock. (<mutex> would be a tenth of the time that leat.hpp takes to compile.)
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  ~Mutex() { pthread_mutex_destroy(&mutex_); }

 private:
  friend class Lock;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};
class Lock {
 public:
  explicit Lock(Mutex& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_.mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { pthread_mutex_unlock(&mutex_.mutex_); }

 private:
  Mutex& mutex_;
};

/// The graph and what this front end knows of it.
struct GraphState {
  GraphState() : graph(TF_NewGraph()) {}
  GraphState(const GraphState&) = delete;
  GraphState& operator=(const GraphState&) = delete;
  ~GraphState() { TF_DeleteGraph(graph); }
  TF_Graph* const graph;
  Mutex mutex;
  std::vector<VariableRow> variables;  // in the order of their making
};

}  // namespace detail

/// A dataflow graph. Copies are the same graph.
class Graph {
 public:
  Graph() : state_(new detail::GraphState()) {}
  TF_Graph* get() const { return state_->graph; }
  bool operator==(const Graph& other) const { return state_.get() == other.state_.get(); }

  /// The operation of this name, or none.
  Operation operation(const std::string& name) const {
    return {get(), TF_GraphOperationByName(get(), name.c_str())};
  }
  /// The tensor "name:index"; ":0" may be left out. None where there is no such operation.
  LEAT_CPP_COLD Output output(const std::string& name) const {
    const std::size_t colon = name.rfind(':');
    if (colon == std::string::npos) return operation(name).output(0);
    const char* digits = name.c_str() + colon + 1;
    char* end = nullptr;
    const long index = std::strtol(digits, &end, 10);
    const bool is_index = *digits >= '0' && *digits <= '9' && !*end && index <= INT_MAX;
    return is_index ? operation(name.substr(0, colon)).output(static_cast<int>(index)) : Output();
  }
  /// All operations, in the order in which they were added.
  std::vector<Operation> operations() const {
    std::vector<Operation> all;
    std::size_t place = 0;
    while (TF_Operation* op = TF_GraphNextOperation(get(), &place)) all.emplace_back(get(), op);
    return all;
  }
  LEAT_CPP_COLD result<Message> graph_def() const {
    detail::CallStatus status;
    Handle<TF_Buffer, TF_DeleteBuffer> buffer(TF_NewBuffer());
    TF_GraphToGraphDef(get(), buffer.get(), status);
    return detail::finish(status.get(), [&] { return Message("GraphDef", buffer.get()); });
  }
  /// Adds a GraphDef, its names below |prefix| unless that is empty.
  LEAT_CPP_COLD result<void> import(const Message& graph_def, const std::string& prefix = "") {
    detail::CallStatus status;
    Handle<TF_Buffer, TF_DeleteBuffer> buffer(graph_def.buffer());
    Handle<TF_ImportGraphDefOptions, TF_DeleteImportGraphDefOptions> options(
        TF_NewImportGraphDefOptions());
    TF_ImportGraphDefOptionsSetPrefix(options.get(), prefix.c_str());
    TF_GraphImportGraphDef(get(), buffer.get(), options.get(), status);
    return detail::finish(status.get());
  }
  LEAT_CPP_COLD std::vector<detail::VariableRow> variables() const {
    const detail::Lock lock(state_->mutex);
    return state_->variables;
  }
  LEAT_CPP_COLD void add_variable(const detail::VariableRow& row) const {
    const detail::Lock lock(state_->mutex);
    state_->variables.push_back(row);
  }

 private:
  detail::Shared<detail::GraphState> state_;
};

/// How operations are added to a graph.
class Scope {
 public:
  /// The outermost scope of a graph.
  explicit Scope(Graph graph = Graph())
      : graph_(std::move(graph)), error_(new Status()) {}
  LEAT_CPP_COLD Scope(const Scope& other) = default;
  Scope& operator=(const Scope& other) = default;
  LEAT_CPP_COLD ~Scope() = default;

  /// Names below "|name|/", "|name|_1/" the second time.
  LEAT_CPP_COLD Scope sub_scope(std::string_view name) const {
    Scope scope = *this;
    scope.prefix_ = unique(prefix_ + std::string(name)) + "/";
    scope.name_.clear();
    return scope;
  }
  /// The name of the operations that are added; the second is "|name|_1". Without it they are
  /// named after their op.
  LEAT_CPP_COLD Scope with_op_name(std::string_view name) const {
    Scope scope = *this;
    scope.name_ = name;
    return scope;
  }
  /// Names below the operation's, as what belongs to a variable has them.
  LEAT_CPP_COLD Scope below(const Operation& operation) const {
    Scope scope = *this;
    scope.prefix_ = operation.name() + "/";
    scope.name_.clear();
    return scope;
  }
  /// Asks for a device, as "/device:CPU:1" or "/job:worker/task:0"; "" leaves it to the placer.
  LEAT_CPP_COLD Scope with_device(std::string_view device) const {
    Scope scope = *this;
    scope.device_ = device;
    return scope;
  }
  /// Operations run after these too.
  LEAT_CPP_COLD Scope with_control_dependencies(ListOf<Operation> operations) const {
    Scope scope = *this;
    for (const Operation& operation : operations) {
      if (operation) scope.control_.push_back(operation);
    }
    return scope;
  }
  LEAT_CPP_COLD Scope with_no_control_dependencies() const {
    Scope scope = *this;
    scope.control_.clear();
    return scope;
  }
  /// Where |operation| runs, wherever that is.
  LEAT_CPP_COLD Scope colocate_with(const Operation& operation) const {
    Scope scope = *this;
    scope.beside_ = operation;
    return scope;
  }
  Scope clear_colocation() const { return colocate_with(Operation()); }

  const Graph& graph() const { return graph_; }
  const std::string& prefix() const { return prefix_; }
  const std::string& device() const { return device_; }
  const std::vector<Operation>& control_dependencies() const { return control_; }
  /// What with_op_name() said.
  const std::string& op_name() const { return name_; }
  /// A name that no operation of the graph has, below the prefix; |name| where no other was set.
  LEAT_CPP_COLD std::string unique_name(const std::string& name) const {
    return unique(prefix_ + (name_.empty() ? name : name_));
  }

  /// The first error of this scope and all those that were made of one root. An operation that
  /// fails throws it; without exceptions it is looked at here, and later operations do nothing.
  const Status& status() const { return *error_; }
  bool ok() const { return error_->ok(); }
  LEAT_CPP_COLD void fail(const Status& status) const {
#ifdef LEAT_NO_EXCEPTIONS
    if (ok()) *error_ = status;
#else
    throw Error(status);
#endif
  }

 private:
  friend class OpBuilder;
  static void release_text(char* text) { std::free(text); }
  LEAT_CPP_COLD std::string unique(const std::string& name) const {
    detail::CallStatus status;
    Handle<char, release_text> found(leat_unique_name(graph_.get(), name.c_str(), 1, status));
    return found ? found.get() : name;
  }

  Graph graph_;
  detail::Shared<Status> error_;
  std::string prefix_, name_, device_;
  std::vector<Operation> control_;
  Operation beside_;
};

namespace detail {
/// Optional attributes of an op: `MatMul::TransposeA(true).TransposeB(true)`. Each op's own class
/// is made of one of these.
class Attributes {
 protected:
  /// These attributes and one more.
  LEAT_CPP_COLD Attributes with(const char* name, const AttrValue& value) const {
    Attributes more;
    more.last_ = Shared<Link>(new Link{name, value, last_});
    return more;
  }

 private:
  friend class leat::OpBuilder;
  struct Link {
    const char* name;
    AttrValue value;
    Shared<Link> before;
  };
  Shared<Link> last_;
};
}  // namespace detail

/// Adds one operation of any op, also of a plugin's:
///
///   Operation zeroed = OpBuilder(scope, "ZeroOut").input(x).attribute("T", DT_INT32).finish();
class OpBuilder {
 public:
  LEAT_CPP_COLD OpBuilder(const Scope& scope, const char* op) : scope_(scope) {
    if (!scope.ok()) return;
    name_ = scope.unique_name(op);
    description_ = TF_NewOperation(scope.graph().get(), op, name_.c_str());
    for (const Operation& before : scope.control_) {
      TF_AddControlInput(description_, before.get());
    }
    if (!scope.device_.empty()) TF_SetDevice(description_, scope.device_.c_str());
    if (scope.beside_) TF_ColocateWith(description_, scope.beside_.get());
  }
  OpBuilder(const OpBuilder&) = delete;
  OpBuilder& operator=(const OpBuilder&) = delete;
  /// A builder that was not finished adds nothing.
  LEAT_CPP_COLD ~OpBuilder() {
    if (!description_) return;
    TF_AddInput(description_, {nullptr, 0});  // which no operation may have: the next call fails
    TF_FinishOperation(description_, status_);  // and frees the description
  }

  /// That the operation will have.
  const std::string& name() const { return name_; }

  LEAT_CPP_COLD OpBuilder& input(const Input& input) {
    const Output output = tensor(input);
    if (description_ && error_.ok()) TF_AddInput(description_, output.get());
    return *this;
  }
  LEAT_CPP_COLD OpBuilder& input(const InputList& list) {
    detail::Elements<TF_Output> outputs(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) outputs.add(tensor(list[i]).get());
    if (description_ && error_.ok()) {
      TF_AddInputList(description_, outputs.data(), outputs.count());
    }
    return *this;
  }
  LEAT_CPP_COLD OpBuilder& attribute(const char* name, const AttrValue& value) {
    if (!description_) return *this;
    value.set(description_, name, status_);
    if (!status_.ok()) note(status_.get());
    return *this;
  }
  LEAT_CPP_COLD OpBuilder& attributes(ListOf<Attribute> all) {
    for (const Attribute& one : all) attribute(one.name.c_str(), one.value);
    return *this;
  }
  LEAT_CPP_COLD OpBuilder& attributes(const detail::Attributes& all) {
    set(all.last_.get());
    return *this;
  }
  LEAT_CPP_COLD Operation finish() {
    if (!description_) return Operation();
    TF_Operation* operation = nullptr;
    if (error_.ok()) {
      operation = TF_FinishOperation(std::exchange(description_, nullptr), status_);
      note(status_.get());
    }
    if (!error_.ok()) scope_.fail(error_);
    return {scope_.graph().get(), operation};
  }

 private:
  /// In the order in which they were given.
  LEAT_CPP_COLD void set(const detail::Attributes::Link* last) {
    if (!last) return;
    set(last->before.get());
    attribute(last->name, last->value);
  }
  void note(const Status& status) {
    if (error_.ok()) error_ = status;
  }
  /// The output that the input names, or that of a Const with its value.
  LEAT_CPP_COLD Output tensor(const Input& input) {
    if (!description_ || !error_.ok()) return Output();
    if (input.output()) return input.output();
    if (!input.value()) {
      note(Status(TF_INVALID_ARGUMENT, "adding operation '" + name_ +
                                           "' failed: an input is no tensor and no value"));
      return Output();
    }
    Scope around = scope_;
    around.name_.clear();
    OpBuilder constant(around, "Const");
    constant.attribute("value", input.value()).attribute("dtype", input.value().dtype());
    return constant.finish().output(0);
  }

  const Scope scope_;  // a copy, since it may be a temporary that the builder outlives
  std::string name_;
  TF_OperationDescription* description_ = nullptr;
  detail::CallStatus status_;
  Status error_;
};

namespace detail {
/// An operation whose inputs are all in the graph. What calls it is smaller than with an OpBuilder.
LEAT_CPP_COLD inline Operation add(const Scope& scope, const char* op,
                                   std::initializer_list<Output> inputs) {
  OpBuilder builder(scope, op);
  for (const Output& input : inputs) builder.input(input);
  return builder.finish();
}
/// The same with one attribute.
LEAT_CPP_COLD inline Operation add(const Scope& scope, const char* op,
                                   std::initializer_list<Output> inputs, const char* name,
                                   DataType value) {
  OpBuilder builder(scope, op);
  for (const Output& input : inputs) builder.input(input);
  return builder.attribute(name, value).finish();
}

}  // namespace detail

/// Operations that are written by hand, beside those that the build makes (leat/ops.hpp).
namespace ops {

/// A Const: `Const(scope, {{1.f, 2.f}, {3.f, 4.f}})`.
LEAT_CPP_COLD inline Output Const(const Scope& scope, const Tensor& value) {
  return OpBuilder(scope, "Const")
      .attribute("value", value)
      .attribute("dtype", value ? value.dtype() : TF_FLOAT)
      .finish()
      .output(0);
}

/// A NoOp that runs after |operations|: one target for several.
LEAT_CPP_COLD inline Operation group(const Scope& scope, ListOf<Operation> operations) {
  return OpBuilder(scope.with_control_dependencies(operations), "NoOp").finish();
}

}  // namespace ops

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_GRAPH_HPP_
