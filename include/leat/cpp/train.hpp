// leat/cpp/train.hpp: gradients (section 4.1 of the white paper) and optimizers. Part of
// leat/leat.hpp.
//
//   Operation train = minimize(scope, loss, adam(1e-3));
//   session.run_targets({initialize_variables(scope)});
//   for (int step = 0; step < 1000; ++step) session.run_targets({train}, {{x, images}});
//
// Defaults, update rules and the names of slots are TensorFlow 1's, so that checkpoints are too.
#ifndef LEAT_CPP_TRAIN_HPP_
#define LEAT_CPP_TRAIN_HPP_

#include <string>
#include <utility>
#include <vector>

#include "leat/cpp/variable.hpp"
#include "leat/gradients.h"

LEAT_CPP_BEGIN_NAMESPACE

// ---- Gradients ---------------------------------------------------------------------------------

/// The derivative of a tensor: none; a tensor of the same shape; or rows of one (IndexedSlices):
/// row i of |values| belongs to row indices[i], and rows of equal indices add up.
struct Derivative {
  Output values, indices, dense_shape;
  explicit operator bool() const { return static_cast<bool>(values); }
  bool has_rows() const { return static_cast<bool>(indices); }
  /// The same as one tensor.
  LEAT_CPP_COLD Output dense(const Scope& scope) const {
    if (!has_rows()) return values;
    const Output zero = ops::Const(scope.with_op_name(""), 0);
    const Output rows = detail::add(scope, "GatherV2", {dense_shape, zero, zero}).output(0);
    return detail::add(scope, "UnsortedSegmentSum", {values, indices, rows}).output(0);
  }
};

/// Derivatives of sum(ys) by each x: of a variable its handle(). |grad_ys| are the derivatives of a
/// result by each y, of its shape, ones without them; nothing flows back through |stop_gradients|.
/// INVALID_ARGUMENT for a number of |grad_ys| that is not that of |ys|, and for tensors of another
/// graph; NOT_FOUND where an op between has no derivative.
LEAT_CPP_COLD inline std::vector<Derivative> derivatives(
    const Scope& scope, ListOf<Output> ys, ListOf<Output> xs, ListOf<Output> grad_ys = {},
    ListOf<Output> stop_gradients = {}) {
  std::vector<Derivative> all(xs.size());
  if (!scope.ok()) return all;
  const detail::Outputs from(ys), to(xs), stops(stop_gradients), starts(grad_ys);
  const std::string prefix =
      scope.sub_scope(scope.op_name().empty() ? "gradients" : scope.op_name()).prefix();
  const std::string name = prefix.substr(0, prefix.size() - 1);
  leat_gradients_options_t options = {};
  options.prefix = name.c_str();
  options.grad_ys = starts.count() ? starts.data() : nullptr;
  options.stop_gradients = stops.data();
  options.stop_gradient_count = stops.count();
  const detail::Elements<leat_derivative_t> found(xs.size());
  detail::CallStatus status;
  TF_Graph* graph = scope.graph().get();
  if (starts.count() && starts.count() != from.count()) {
    TF_SetStatus(status, TF_INVALID_ARGUMENT,
                 "derivatives failed: grad_ys must be as many as ys, or none");
  } else {
    leat_gradients(graph, from.data(), from.count(), to.data(), to.count(), &options, found.data(),
                   status);
  }
  if (!status.ok()) {
    scope.fail(status.get());
    return all;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!found[i].values.oper) continue;
    all[i].values = Output(graph, found[i].values);
    if (!found[i].indices.oper) continue;
    all[i].indices = Output(graph, found[i].indices);
    all[i].dense_shape =
        found[i].dense_shape.oper
            ? Output(graph, found[i].dense_shape)
            : detail::add(scope.sub_scope("shape"), "Shape", {xs[i]}).output(0);
  }
  return all;
}

/// The same as tensors, each of its x's shape. One that no y depends on is no Output.
LEAT_CPP_COLD inline std::vector<Output> gradients(
    const Scope& scope, ListOf<Output> ys, ListOf<Output> xs, ListOf<Output> grad_ys = {},
    ListOf<Output> stop_gradients = {}) {
  std::vector<Output> all;
  for (const Derivative& one : derivatives(scope, ys, xs, grad_ys, stop_gradients)) {
    all.push_back(one.dense(scope));
  }
  return all;
}

// ---- Optimizers --------------------------------------------------------------------------------

/// A number, or a scalar of the graph: a learning rate that is fed, or follows from a counter.
class Number {
 public:
  Number(double value) : value_(value) {}
  Number(const Output& output) : output_(output) {}
  LEAT_CPP_COLD Output in(const Scope& scope, DataType dtype) const {
    if (!output_) return detail::number(scope, dtype, value_);
    if (output_.dtype() == dtype) return output_;
    return detail::add(scope, "Cast", {output_}, "DstT", dtype).output(0);
  }
  double value() const { return value_; }

 private:
  double value_ = 0;
  Output output_;
};

/// An update rule: the op Apply<op> (ResourceApply<op>, SparseApply<op>, ...) and its arguments
/// behind the variable. The functions below make those that the library has.
struct Optimizer {
  enum Kind {
    kSlot,      // a variable of the shape of the one that is trained, at first |number|
    kPower,     // a scalar that begins with |number| and is multiplied by it in each step
    kNumber,
    kGradient,  // for rows their indices follow
  };
  struct Argument {
    Kind kind;
    Number number;
    const char* name;  // of a slot or power
  };
  std::string op;
  std::vector<Argument> arguments;
  std::vector<Attribute> attributes;
  bool has_rows = true;  // whether there is a SparseApply<op>
};

/// w -= rate * g, for a variable w and the derivative g by it.
LEAT_CPP_COLD inline Optimizer sgd(const Number& rate) {
  return {"GradientDescent",
          {{Optimizer::kNumber, rate, ""}, {Optimizer::kGradient, 0, ""}},
          {},
          false};
}
/// v = momentum * v + g, w -= rate * v; with |nesterov| w -= rate * (g + momentum * v).
LEAT_CPP_COLD inline Optimizer momentum(const Number& rate, double momentum,
                                        bool nesterov = false) {
  return {"Momentum",
          {{Optimizer::kSlot, 0, "Momentum"},
           {Optimizer::kNumber, rate, ""},
           {Optimizer::kGradient, 0, ""},
           {Optimizer::kNumber, momentum, ""}},
          {{"use_nesterov", nesterov}}};
}
/// Steps by means of g and g^2 that decay by |beta1| and |beta2| and are corrected for their zero
/// beginning. All variables of one call have one type.
LEAT_CPP_COLD inline Optimizer adam(const Number& rate = 0.001, double beta1 = 0.9,
                                    double beta2 = 0.999, double epsilon = 1e-8) {
  return {"Adam",
          {{Optimizer::kSlot, 0, "Adam"},
           {Optimizer::kSlot, 0, "Adam_1"},
           {Optimizer::kPower, beta1, "beta1_power"},
           {Optimizer::kPower, beta2, "beta2_power"},
           {Optimizer::kNumber, rate, ""},
           {Optimizer::kNumber, beta1, ""},
           {Optimizer::kNumber, beta2, ""},
           {Optimizer::kNumber, epsilon, ""},
           {Optimizer::kGradient, 0, ""}},
          {},
          false};
}
/// n += g^2, w -= rate * g / sqrt(n); n begins as |initial_accumulator|.
LEAT_CPP_COLD inline Optimizer adagrad(const Number& rate, double initial_accumulator = 0.1) {
  return {"Adagrad",
          {{Optimizer::kSlot, initial_accumulator, "Adagrad"},
           {Optimizer::kNumber, rate, ""},
           {Optimizer::kGradient, 0, ""}},
          {}};
}
/// n = decay * n + (1 - decay) * g^2, which begins as 1; v = momentum * v + rate * g /
/// sqrt(n + epsilon), w -= v.
LEAT_CPP_COLD inline Optimizer rmsprop(const Number& rate, double decay = 0.9, double momentum = 0,
                                       double epsilon = 1e-10) {
  return {"RMSProp",
          {{Optimizer::kSlot, 1, "RMSProp"},
           {Optimizer::kSlot, 0, "RMSProp_1"},
           {Optimizer::kNumber, rate, ""},
           {Optimizer::kNumber, decay, ""},
           {Optimizer::kNumber, momentum, ""},
           {Optimizer::kNumber, epsilon, ""},
           {Optimizer::kGradient, 0, ""}},
          {}};
}
/// "Follow the regularized leader": with |l1| above 0 weights that matter little become 0. |power|
/// is 0 or below, that of n in the rate.
LEAT_CPP_COLD inline Optimizer ftrl(const Number& rate, double power = -0.5,
                                    double initial_accumulator = 0.1, double l1 = 0,
                                    double l2 = 0) {
  return {"Ftrl",
          {{Optimizer::kSlot, initial_accumulator, "Ftrl"},
           {Optimizer::kSlot, 0, "Ftrl_1"},
           {Optimizer::kGradient, 0, ""},
           {Optimizer::kNumber, rate, ""},
           {Optimizer::kNumber, l1, ""},
           {Optimizer::kNumber, l2, ""},
           {Optimizer::kNumber, power, ""}},
          {}};
}

/// A variable and the derivative by it.
using Update = std::pair<detail::VariableRow, Derivative>;

namespace detail {

/// Rows of equal indices become one: what the sparse update rules want.
LEAT_CPP_COLD inline Derivative summed(const Scope& scope, const Derivative& rows) {
  const Operation unique = add(scope, "Unique", {rows.indices}, "out_idx", TF_INT32);
  const Output count = add(scope, "Size", {unique.output(0)}).output(0);
  const Output values =
      add(scope, "UnsortedSegmentSum", {rows.values, unique.output(1), count}).output(0);
  return {values, unique.output(0), rows.dense_shape};
}

/// Adds the update of one variable; |powers| are those of the optimizer, in order.
LEAT_CPP_COLD inline Operation apply(const Scope& scope, const Optimizer& optimizer,
                                     const VariableRow& row, const Derivative& derivative,
                                     const std::vector<VariableRow>& powers) {
  const std::string resource = row.is_resource() ? "Resource" : "";
  if (derivative.has_rows() && optimizer.op == "GradientDescent") {
    const Output rate = optimizer.arguments[0].number.in(scope, row.dtype);
    return add(scope, (resource + "ScatterSub").c_str(),
               {row.handle, derivative.indices, binary(scope, "Mul", derivative.values, rate)});
  }
  const bool rows = derivative.has_rows() && optimizer.has_rows;
  const Derivative gradient =
      rows ? summed(scope, derivative) : Derivative{derivative.dense(scope), {}, {}};
  std::vector<Output> inputs = {row.handle};
  std::size_t power = 0;
  for (const Optimizer::Argument& argument : optimizer.arguments) {
    switch (argument.kind) {
      case Optimizer::kSlot: {
        const Scope own = scope.below(row.handle.op()).colocate_with(row.handle.op());
        const Var slot(own.with_op_name(argument.name), row.shape,
                       constant(argument.number.value()),
                       VarOptions().dtype(row.dtype).resource(row.is_resource()).untrainable());
        inputs.push_back(slot.handle());
        break;
      }
      case Optimizer::kPower: inputs.push_back(powers[power++].value); break;
      case Optimizer::kNumber: inputs.push_back(argument.number.in(scope, row.dtype)); break;
      case Optimizer::kGradient:
        inputs.push_back(gradient.values);
        if (rows) inputs.push_back(gradient.indices);
        break;
    }
  }
  const std::string op = resource + (rows ? "SparseApply" : "Apply") + optimizer.op;
  OpBuilder builder(scope.colocate_with(row.handle.op()), op.c_str());
  for (const Output& input : inputs) builder.input(input);
  return builder.attributes(optimizer.attributes).finish();
}

}  // namespace detail

/// Adds the updates; running the result does one step. No variable changes before all derivatives
/// are there. |step|, if there is one, is raised by 1 after them.
LEAT_CPP_COLD inline Operation apply_gradients(const Scope& scope, const Optimizer& optimizer,
                                               ListOf<Update> updates,
                                               const Var* step = nullptr) {
  const Scope own = scope.sub_scope(optimizer.op);
  detail::Elements<Operation> computed(updates.size()), applied(updates.size()),
      after(optimizer.arguments.size() + updates.size() + 1);
  for (const Update& update : updates) computed.add(update.second.values.op());
  // Powers are variables, so that a checkpoint has them; all variables of one type share them.
  std::vector<detail::VariableRow> powers;
  for (const Optimizer::Argument& argument : optimizer.arguments) {
    if (argument.kind != Optimizer::kPower || !updates.size()) continue;
    const detail::VariableRow& first = updates[0].first;
    const Var power(
        scope.with_op_name(argument.name), TensorShape(), constant(argument.number.value()),
        VarOptions().dtype(first.dtype).resource(first.is_resource()).untrainable());
    powers.push_back(power.row());
  }
  const Scope gated = own.with_control_dependencies(computed);
  for (const Update& update : updates) {
    applied.add(detail::apply(gated, optimizer, update.first, update.second, powers));
  }
  const Scope behind = own.with_control_dependencies(applied);
  std::size_t power = 0;
  for (const Optimizer::Argument& argument : optimizer.arguments) {
    if (argument.kind != Optimizer::kPower || !updates.size()) continue;
    const detail::VariableRow& row = powers[power++];
    const Output factor = detail::number(behind, row.dtype, argument.number.value());
    const Output product = detail::binary(behind, "Mul", row.value, factor);
    after.add(detail::add(behind, row.is_resource() ? "AssignVariableOp" : "Assign",
                          {row.handle, product}));
  }
  if (step) after.add(step->assign_add(behind, detail::number(behind, step->dtype(), 1)));
  for (const Operation& one : ListOf<Operation>(applied)) after.add(one);
  return ops::group(scope.with_op_name(scope.op_name().empty() ? "train" : scope.op_name()),
                    after);
}

/// Adds the derivatives of |loss|, a scalar, by the trainable variables that it depends on, and
/// their updates. INVALID_ARGUMENT where it depends on none.
LEAT_CPP_COLD inline Operation minimize(const Scope& scope, const Output& loss,
                                        const Optimizer& optimizer, const Var* step = nullptr) {
  const std::vector<detail::VariableRow> rows = scope.graph().variables();
  detail::Elements<const detail::VariableRow*> trained(rows.size());
  detail::Elements<Output> handles(rows.size());
  for (const detail::VariableRow& row : rows) {
    if (!row.trainable) continue;
    trained.add(&row);
    handles.add(row.handle);
  }
  const std::vector<Derivative> found =
      derivatives(scope.with_op_name("gradients"), {loss}, handles);
  detail::Elements<Update> updates(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) updates.add({*trained[i], found[i]});
  }
  if (!updates.count() && scope.ok()) {
    scope.fail(Status(TF_INVALID_ARGUMENT, "minimize failed: '" + loss.name() +
                                               "' depends on no trainable variable"));
  }
  return apply_gradients(scope, optimizer, updates, step);
}

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_TRAIN_HPP_
