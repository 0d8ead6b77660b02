// leat/cpp/saver.hpp: checkpoints (section 3.3 of the white paper), in TensorFlow's V2 format.
// Part of leat/leat.hpp.
//
//   Saver saver(scope, "ckpt");                  // after the last variable was made
//   std::int64_t step = 0;
//   if (saver.has_checkpoint()) step = saver.restore_latest(session);
//   saver.save(session, step);                   // ckpt/model.ckpt-<step>
//
// A saver belongs to one thread at a time.
#ifndef LEAT_CPP_SAVER_HPP_
#define LEAT_CPP_SAVER_HPP_

#include <string>
#include <vector>

#include "leat/cpp/session.hpp"
#include "leat/cpp/variable.hpp"
#include "leat/files.h"
#include "leat/train.h"

LEAT_CPP_BEGIN_NAMESPACE

/// When Saver::step() saves, and how many checkpoints stay.
class SaverOptions {
 public:
  SaverOptions& keep(int count) {
    options_.keep = count;
    return *this;
  }
  SaverOptions& every_steps(std::int64_t steps) {
    options_.every_steps = steps;
    return *this;
  }
  SaverOptions& every_seconds(double seconds) {
    options_.every_seconds = seconds;
    return *this;
  }

 private:
  friend class Saver;
  leat_saver_options_t options_ = {};
};

/// Saves and restores the variables that a graph had when the saver was made, those of optimizers
/// too; it adds the operations to the graph. The directory is made when it is first needed.
/// NOT_FOUND where a checkpoint or a variable in it is missing.
class Saver {
 public:
#ifndef LEAT_NO_EXCEPTIONS
  Saver(const Scope& scope, const std::string& directory,
        const SaverOptions& options = SaverOptions())
      : Saver(create(scope, directory, options)) {}
#endif
  Saver() = default;
  static result<Saver> create(const Scope& scope, const std::string& directory,
                              const SaverOptions& options = SaverOptions()) {
    Saver made;
    made.directory_ = directory;
    made.operations_ = add_operations(scope);
    Status error = scope.status();
    if (error.ok()) {
      detail::CallStatus status;
      made.saver_.reset(
          leat_saver_over(made.operations_, directory.c_str(), options.options_, status));
      error = status.get();
    }
    return detail::finish(error, [&] { return std::move(made); });
  }

  /// Writes <directory>/model.ckpt-<step>.
  result<void> save(const Session& session, std::int64_t step) {
    return call(session, [&](TF_Status* status) {
      leat_saver_save(saver_.get(), session.get(), step, status);
    });
  }
  /// Saves when the options say that it is time.
  result<void> step(const Session& session, std::int64_t step) {
    return call(session, [&](TF_Status* status) {
      leat_saver_step(saver_.get(), session.get(), step, status);
    });
  }
  bool has_checkpoint() const {
    detail::CallStatus status;
    char* found = leat_checkpoint_latest(directory_.c_str(), status);
    const bool there = found != nullptr;
    std::free(found);
    return there;
  }
  /// The step of the newest checkpoint, which was restored. NOT_FOUND where there is none.
  result<std::int64_t> restore_latest(const Session& session) {
    std::int64_t step = 0;
    const Status restored = call_status(session, [&](TF_Status* status) {
      leat_saver_restore_latest(saver_.get(), session.get(), &step, status);
    });
    return detail::finish(restored, [&] { return step; });
  }

  /// The same with a checkpoint of any name: "dir/name", without ".index".
  result<void> save_to(const Session& session, const std::string& prefix) const {
    return call(session, [&](TF_Status* status) {
      leat_variables_save(session.get(), &operations_, prefix.c_str(), status);
    });
  }
  result<void> restore_from(const Session& session, const std::string& prefix) const {
    return call(session, [&](TF_Status* status) {
      leat_variables_restore(session.get(), &operations_, prefix.c_str(), status);
    });
  }
  const leat_saver_operations_t& operations() const { return operations_; }
  leat_saver_t* get() const { return saver_.get(); }

 private:
  template <class Function>
  Status call_status(const Session& session, Function function) const {
    if (!saver_ || !session) {
      return Status(TF_FAILED_PRECONDITION,
                    std::string("saving or restoring failed: there is no ") +
                        (saver_ ? "session" : "saver"));
    }
    detail::CallStatus status;
    function(status);
    return status.get();
  }
  template <class Function>
  result<void> call(const Session& session, Function function) const {
    return detail::finish(call_status(session, function));
  }
  /// The nodes of TensorFlow's tf.train.Saver.
  static leat_saver_operations_t add_operations(const Scope& outer) {
    const Scope scope = outer.sub_scope("save");
    const Output file = OpBuilder(scope.with_op_name("Const"), "Placeholder")
                            .attribute("dtype", TF_STRING)
                            .attribute("shape", TensorShape())
                            .finish()
                            .output(0);
    const std::vector<detail::VariableRow> rows = outer.graph().variables();
    const TensorShape one_each = {static_cast<std::int64_t>(rows.size())};
    Tensor names(TF_STRING, one_each);
    std::vector<DataType> dtypes(rows.size());
    std::vector<Output> values;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      names.set_string(static_cast<std::int64_t>(i), rows[i].handle.op().name());
      dtypes[i] = rows[i].dtype;
      values.push_back(rows[i].value);
    }
    const Output all = ops::Const(scope.with_op_name("tensor_names"), names);
    const Output slices =
        ops::Const(scope.with_op_name("shape_and_slices"), Tensor(TF_STRING, one_each));
    const Operation save = OpBuilder(scope, "SaveV2")
                               .input(file)
                               .input(all)
                               .input(slices)
                               .input(InputList(values))
                               .finish();
    const Output saved =
        detail::add(scope.with_control_dependencies({save}), "Identity", {file}).output(0);
    const Operation restored = OpBuilder(scope, "RestoreV2")
                                   .input(file)
                                   .input(all)
                                   .input(slices)
                                   .attribute("dtypes", dtypes)
                                   .finish();
    detail::Elements<Operation> assigned(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      assigned.add(detail::add(scope.colocate_with(rows[i].handle.op()),
                               rows[i].is_resource() ? "AssignVariableOp" : "Assign",
                               {rows[i].handle, restored.output(static_cast<int>(i))}));
    }
    leat_saver_operations_t operations = {};
    operations.file_name = file.get();
    operations.saved = saved.get();
    operations.restore = ops::group(scope.with_op_name("restore_all"), assigned).get();
    return operations;
  }

  std::string directory_;
  leat_saver_operations_t operations_ = {};
  Handle<leat_saver_t, leat_saver_free> saver_;
};

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_SAVER_HPP_
