// leat/cpp/variable.hpp: variables and their first values. Part of leat/leat.hpp.
//
//   Var w(scope.with_op_name("w"), {784, 10}, truncated_normal(0.1));
//   Var b(scope.with_op_name("b"), {10}, zeros());
//   auto y = ops::BiasAdd(scope, ops::MatMul(scope, x, w), b);
//   session.run_targets({initialize_variables(scope)});
//
// A variable lives in a session, from its initialisation to the session's end. Its name is that
// under which checkpoints have it. There are two kinds: references (VariableV2, the default), which
// are TensorFlow's first, and resources (VarHandleOp).
#ifndef LEAT_CPP_VARIABLE_HPP_
#define LEAT_CPP_VARIABLE_HPP_

#include <utility>
#include <vector>

#include "leat/control_flow.h"
#include "leat/cpp/graph.hpp"

LEAT_CPP_BEGIN_NAMESPACE

/// Adds what computes the first value of a variable: any function, which is given a scope, the
/// shape and the type of the value, and returns it. (A std::function of this signature would do;
/// <functional> would take longer to compile than this header.)
class Initializer {
 public:
  template <class Function, class = decltype(Output(std::declval<const Function&>()(
                                std::declval<const Scope&>(), TensorShape(), TF_FLOAT)))>
  Initializer(Function function)
      : function_(new Function(std::move(function)),
                  [](void* own) { delete static_cast<Function*>(own); }),
        call_([](const void* function, const Scope& scope, const TensorShape& shape,
                 DataType dtype) -> Output {
          return (*static_cast<const Function*>(function))(scope, shape, dtype);
        }) {}
  Output operator()(const Scope& scope, const TensorShape& shape, DataType dtype) const {
    return call_(function_.object(), scope, shape, dtype);
  }

 private:
  detail::SharedObject function_;
  Output (*call_)(const void*, const Scope&, const TensorShape&, DataType);
};

namespace detail {

/// A scalar of any type of numbers.
LEAT_CPP_COLD inline Output number(const Scope& scope, DataType dtype, double value) {
  switch (dtype) {
    case TF_FLOAT: return ops::Const(scope, static_cast<float>(value));
    case TF_DOUBLE: return ops::Const(scope, value);
    case TF_INT32: return ops::Const(scope, static_cast<std::int32_t>(value));
    case TF_INT64: return ops::Const(scope, static_cast<std::int64_t>(value));
    default: break;
  }
  const Output real = ops::Const(scope.with_op_name(""), value);
  return add(scope, "Cast", {real}, "DstT", dtype).output(0);
}
LEAT_CPP_COLD inline Output shape_constant(const Scope& scope, const TensorShape& shape) {
  const Tensor sizes(TF_INT32, {shape.rank()});
  for (int i = 0; i < shape.rank(); ++i) {
    sizes.at<std::int32_t>(i) = static_cast<std::int32_t>(shape[static_cast<std::size_t>(i)]);
  }
  return ops::Const(scope, sizes);
}
inline Output binary(const Scope& scope, const char* op, const Output& x, const Output& y) {
  return add(scope, op, {x, y}).output(0);
}

/// |offset| + |factor| * what |op| draws; the seed is 0 where none is wanted.
LEAT_CPP_COLD inline Initializer random(const char* op, double factor, double offset,
                                        std::int64_t seed) {
  return [=](const Scope& scope, const TensorShape& shape, DataType dtype) {
    const Output drawn = OpBuilder(scope, op)
                             .input(shape_constant(scope, shape))
                             .attribute("dtype", dtype)
                             .attribute("seed", seed)
                             .attribute("seed2", seed)
                             .finish()
                             .output(0);
    const Output scaled = binary(scope, "Mul", drawn, number(scope, dtype, factor));
    return binary(scope, "AddV2", scaled, number(scope, dtype, offset));
  };
}

/// std::sqrt, without <cmath>, which takes long to compile.
inline double square_root(double x) { return __builtin_sqrt(x); }

/// How many inputs and outputs a unit of a matrix [in, out] or a filter [..., in, out] has.
struct Fans {
  explicit Fans(const TensorShape& shape) {
    const int rank = shape.rank();
    if (rank < 1) return;
    double field = 1;
    for (int i = 0; i + 2 < rank; ++i) field *= static_cast<double>(shape[i]);
    in = field * static_cast<double>(shape[rank < 2 ? 0 : rank - 2]);
    out = field * static_cast<double>(shape[rank - 1]);
  }
  double in = 1, out = 1;
};

}  // namespace detail

LEAT_CPP_COLD inline Initializer constant(double value) {
  return [value](const Scope& scope, const TensorShape& shape, DataType dtype) {
    return detail::binary(scope, "Fill", detail::shape_constant(scope, shape),
                          detail::number(scope, dtype, value));
  };
}
inline Initializer zeros() { return constant(0); }
inline Initializer ones() { return constant(1); }
/// In [low, high). A seed of 0 draws other numbers in each session.
inline Initializer random_uniform(double low, double high, std::int64_t seed = 0) {
  return detail::random("RandomUniform", high - low, low, seed);
}
inline Initializer random_normal(double deviation, std::int64_t seed = 0) {
  return detail::random("RandomStandardNormal", deviation, 0, seed);
}
/// Cut at two deviations.
inline Initializer truncated_normal(double deviation, std::int64_t seed = 0) {
  return detail::random("TruncatedNormal", deviation, 0, seed);
}
inline Initializer glorot_uniform(std::int64_t seed = 0) {
  return [seed](const Scope& scope, const TensorShape& shape, DataType dtype) {
    const detail::Fans fans(shape);
    const double limit = detail::square_root(6 / (fans.in + fans.out));
    return random_uniform(-limit, limit, seed)(scope, shape, dtype);
  };
}
/// For layers with Relu.
inline Initializer he_normal(std::int64_t seed = 0) {
  return [seed](const Scope& scope, const TensorShape& shape, DataType dtype) {
    const double deviation = detail::square_root(2 / detail::Fans(shape).in);
    return truncated_normal(deviation, seed)(scope, shape, dtype);
  };
}

/// What is unusual about a variable: `VarOptions().resource().dtype(DT_DOUBLE)`.
class VarOptions {
 public:
  VarOptions& dtype(DataType value) {
    dtype_ = value;
    return *this;
  }
  /// A VarHandleOp instead of a reference.
  VarOptions& resource(bool value = true) {
    resource_ = value;
    return *this;
  }
  /// minimize() leaves it alone: step counters, averages.
  VarOptions& untrainable() {
    trainable_ = false;
    return *this;
  }

 private:
  friend class Var;
  DataType dtype_ = TF_FLOAT;
  bool resource_ = false, trainable_ = true;
};

/// A variable. It converts to an Output, which is its value, wherever an input is wanted.
class Var {
 public:
  Var(const Scope& scope, const TensorShape& shape, const Initializer& initializer,
      const VarOptions& options = VarOptions()) {
    make(scope, shape, initializer, options);
  }
  /// The first value is given; the variable has its type and shape.
  Var(const Scope& scope, const Input& value, VarOptions options = VarOptions()) {
    const Output first = value.output() ? value.output()
                                        : ops::Const(scope.with_op_name("initial_value"),
                                                     value.value());
    options.dtype_ = first.dtype();
    make(scope, first.shape(), [first](const Scope&, const TensorShape&, DataType) {
      return first;
    }, options);
  }
  operator Output() const { return row_.value; }
  Output value() const { return row_.value; }
  /// The reference or resource: what ops that change it take.
  Output handle() const { return row_.handle; }
  Operation initializer() const { return row_.initializer; }
  std::string name() const { return row_.handle.op().name(); }
  DataType dtype() const { return row_.dtype; }
  const TensorShape& shape() const { return row_.shape; }
  const detail::VariableRow& row() const { return row_; }

  Operation assign(const Scope& scope, const Input& value) const {
    return change(scope, "Assign", "AssignVariableOp", value);
  }
  Operation assign_add(const Scope& scope, const Input& value) const {
    return change(scope, "AssignAdd", "AssignAddVariableOp", value);
  }
  Operation assign_sub(const Scope& scope, const Input& value) const {
    return change(scope, "AssignSub", "AssignSubVariableOp", value);
  }

 private:
  LEAT_CPP_COLD Operation change(const Scope& scope, const char* by_reference,
                                 const char* by_resource, const Input& value) const {
    return OpBuilder(scope, row_.is_resource() ? by_resource : by_reference)
        .input(row_.handle)
        .input(value)
        .finish();
  }
  /// Adds the variable outside of all loops and branches that the thread is in.
  LEAT_CPP_COLD void make(const Scope& outer, const TensorShape& shape,
                          const Initializer& initializer, const VarOptions& options) {
    struct Outside {
      explicit Outside(TF_Graph* graph) : graph(graph) {
        detail::CallStatus status;
        leat_flow_enter(graph, nullptr, status);
      }
      ~Outside() { leat_flow_leave(graph); }
      TF_Graph* graph;
    } outside(outer.graph().get());
    add(outer, shape, initializer, options);
  }
  /// Nodes and names are those of TensorFlow 1: w, w/Assign, w/read (or w/Read/ReadVariableOp).
  LEAT_CPP_COLD void add(const Scope& outer, const TensorShape& shape,
                         const Initializer& initializer, const VarOptions& options) {
    const Scope scope =
        (outer.op_name().empty() ? outer.with_op_name("Variable") : outer)
            .with_no_control_dependencies();
    OpBuilder builder(scope, options.resource_ ? "VarHandleOp" : "VariableV2");
    builder.attribute("shape", shape).attribute("dtype", options.dtype_);
    if (options.resource_) builder.attribute("shared_name", builder.name());
    row_.handle = builder.finish().output(0);
    row_.dtype = options.dtype_;
    row_.shape = shape;
    row_.trainable = options.trainable_;
    const Scope own = scope.below(row_.handle.op());
    const Output first = initializer(own.sub_scope("Initializer"), shape, options.dtype_);
    const Scope beside = own.colocate_with(row_.handle.op());
    row_.initializer = assign(beside.with_op_name("Assign"), first);
    row_.value =
        options.resource_
            ? OpBuilder(beside.with_op_name("Read/ReadVariableOp"), "ReadVariableOp")
                  .input(row_.handle)
                  .attribute("dtype", options.dtype_)
                  .finish()
                  .output(0)
            : OpBuilder(beside.with_op_name("read"), "Identity").input(row_.handle).finish().output(
                  0);
    if (scope.ok()) scope.graph().add_variable(row_);
  }
  detail::VariableRow row_;
};

/// One operation that gives every variable made so far its first value, those of optimizers too.
LEAT_CPP_COLD inline Operation initialize_variables(const Scope& scope) {
  const std::vector<detail::VariableRow> rows = scope.graph().variables();
  detail::Elements<Operation> all(rows.size());
  for (const detail::VariableRow& row : rows) all.add(row.initializer);
  return ops::group(scope.with_op_name("init"), all);
}

/// The names of those of the variables made so far that have no value: strings [n].
LEAT_CPP_COLD inline Output uninitialized_variables(const Scope& outer) {
  const Scope scope = outer.sub_scope("report_uninitialized_variables");
  const std::vector<detail::VariableRow> rows = scope.graph().variables();
  Tensor names(TF_STRING, {static_cast<std::int64_t>(rows.size())});
  std::vector<Output> there;
  for (const detail::VariableRow& row : rows) {
    const char* op = row.is_resource() ? "VarIsInitializedOp" : "IsVariableInitialized";
    names.set_string(static_cast<std::int64_t>(there.size()), row.handle.op().name());
    there.push_back(detail::add(scope, op, {row.handle}).output(0));
  }
  const Output all = ops::Const(scope, names);
  if (rows.empty()) return all;
  const Output packed = OpBuilder(scope, "Pack").input(InputList(there)).finish().output(0);
  const Output missing = detail::add(scope, "LogicalNot", {packed}).output(0);
  const Output places = detail::add(scope, "Where", {missing}).output(0);
  const Output flat = OpBuilder(scope, "Reshape")
                          .input(places)
                          .input(ops::Const(scope, Tensor({-1})))
                          .finish()
                          .output(0);
  return OpBuilder(scope, "GatherV2")
      .input(all)
      .input(flat)
      .input(ops::Const(scope, Tensor(0)))
      .finish()
      .output(0);
}

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_VARIABLE_HPP_
