// leat/cpp/saved_model.hpp: models in directories, with signatures that say what to feed and fetch.
// A SavedModel holds graphs by tags ("serve", "train"), the values of their variables, files that
// the graphs read, and for each use of the model the tensors by name. Models of TensorFlow load
// here, and what is saved here loads there. Part of leat/leat.hpp.
//
//   SavedModel model = SavedModel::load("half_plus_two/1");
//   Tensor y = model.run("serving_default", {{"x", {1.f, 2.f}}})["y"];
#ifndef LEAT_CPP_SAVED_MODEL_HPP_
#define LEAT_CPP_SAVED_MODEL_HPP_

#include <map>
#include <string>
#include <vector>

#include "leat/cpp/saver.hpp"
#include "leat/cpp/session.hpp"
#include "leat/saved_model.h"

LEAT_CPP_BEGIN_NAMESPACE

/// Names for the tensors that one use of a model feeds and fetches.
struct Signature {
  std::map<std::string, Output> inputs, outputs;
  std::string method = "tensorflow/serving/predict";
};

/// A model that was loaded: a session with its variables, and its signatures. Copies are the same
/// model; any number of threads may run it at once.
class SavedModel {
 public:
  using Values = std::map<std::string, Tensor>;

  SavedModel() = default;
  /// NOT_FOUND where the directory has no model with exactly these tags.
  static result<SavedModel> load(const std::string& directory,
                                 ListOf<std::string> tags = {"serve"},
                                 const SessionOptions& options = SessionOptions()) {
    SavedModel model;
    Status error;
    const auto made = options.make(error);
    const detail::Texts names(tags);
    Handle<TF_Buffer, TF_DeleteBuffer> meta_graph(TF_NewBuffer());
    if (error.ok()) {
      detail::CallStatus status;
      const Graph graph;
      TF_Session* session = TF_LoadSessionFromSavedModel(
          made.get(), nullptr, directory.c_str(), names.data(), names.count(),
          graph.get(), meta_graph.get(), status);
      error = status.get();
      if (error.ok()) {
        model.session_ = Session(graph, session);
        error = model.read_signatures(meta_graph.get());
      }
    }
    return detail::finish(error, [&] { return model; });
  }

  const Session& session() const { return session_; }
  const std::map<std::string, Signature>& signatures() const { return signatures_; }

  /// Runs a signature: values of its inputs by their names, all of its outputs by theirs. NOT_FOUND
  /// for a name that it does not have.
  result<Values> run(const std::string& signature, const Values& inputs) const {
    Values results;
    Status error;
    Feeds feeds;
    Fetches fetches;
    const auto found = signatures_.find(signature);
    if (found == signatures_.end()) {
      error = missing("signature", signature);
    } else {
      for (const auto& input : inputs) {
        const auto tensor = found->second.inputs.find(input.first);
        if (tensor == found->second.inputs.end()) {
          error = missing("input", input.first);
        } else {
          feeds.emplace_back(tensor->second, input.second);
        }
      }
      for (const auto& output : found->second.outputs) fetches.emplace_back(output.second);
    }
    if (!error.ok()) return detail::finish(error, [] { return Values(); });
    const auto ran = session_.run(feeds, fetches);
#ifdef LEAT_NO_EXCEPTIONS
    if (!ran) return ran.status();
    const std::vector<Tensor>& values = *ran;
#else
    const std::vector<Tensor>& values = ran;
#endif
    std::size_t i = 0;
    for (const auto& output : found->second.outputs) results[output.first] = values[i++];
    return results;
  }

  /// Writes a model that TensorFlow reads too: the graph of |session| and, with a saver, its
  /// variables. ALREADY_EXISTS where the directory has a model.
  static result<void> write(const std::string& directory, const Session& session,
                            const std::map<std::string, Signature>& signatures,
                            const Saver* saver = nullptr,
                            ListOf<std::string> tags = {"serve"}) {
    if (!session) {
      return detail::finish(
          Status(TF_FAILED_PRECONDITION, "writing a model failed: there is no session"));
    }
    std::size_t count = 0;
    for (const auto& one : signatures) {
      count += one.second.inputs.size() + one.second.outputs.size();
    }
    detail::Elements<leat_model_tensor_t> tensors(count);
    const auto list = [&tensors](const std::map<std::string, Output>& named) {
      leat_model_tensor_t* first = tensors.data() + tensors.count();
      for (const auto& one : named) tensors.add({one.first.c_str(), one.second.get()});
      return first;
    };
    detail::Elements<leat_model_signature_t> plain(signatures.size());
    for (const auto& one : signatures) {
      const Signature& signature = one.second;
      plain.add({one.first.c_str(), signature.method.c_str(), list(signature.inputs),
                 static_cast<int>(signature.inputs.size()), list(signature.outputs),
                 static_cast<int>(signature.outputs.size())});
    }
    const detail::Texts names(tags);
    leat_model_t model = {};
    model.tags = names.data();
    model.tag_count = names.count();
    model.signatures = plain.data();
    model.signature_count = plain.count();
    if (saver) model.saver = saver->operations();
    detail::CallStatus status;
    leat_saved_model_write(directory.c_str(), session.graph().get(), session.get(), &model, status);
    return detail::finish(status.get());
  }

 private:
  static Status missing(const char* what, const std::string& name) {
    return Status(TF_NOT_FOUND, std::string("running a model failed: it has no ") + what + " '" +
                                    name + "'");
  }
  static std::string text(leat_message_view_t view, const char* field) {
    std::size_t size = 0;
    const char* found = leat_message_string(view, field, 0, &size);
    return std::string(found, size);
  }
  std::map<std::string, Output> tensors(leat_message_view_t signature, const char* field) const {
    std::map<std::string, Output> all;
    for (std::size_t i = 0; i < leat_message_count(signature, field); ++i) {
      const leat_message_view_t entry = leat_message_child(signature, field, i);
      const leat_message_view_t info = leat_message_child(entry, "value", 0);
      all[text(entry, "key")] = session_.graph().output(text(info, "name"));
    }
    return all;
  }
  Status read_signatures(const TF_Buffer* meta_graph) {
    detail::CallStatus status;
    Handle<leat_message_t, leat_message_close> message(
        leat_message_open("MetaGraphDef", meta_graph, status));
    if (!message) return status.get();
    const leat_message_view_t view = leat_message_view(message.get());
    for (std::size_t i = 0; i < leat_message_count(view, "signature_def"); ++i) {
      const leat_message_view_t entry = leat_message_child(view, "signature_def", i);
      const leat_message_view_t signature = leat_message_child(entry, "value", 0);
      signatures_[text(entry, "key")] = {tensors(signature, "inputs"),
                                         tensors(signature, "outputs"),
                                         text(signature, "method_name")};
    }
    return Status();
  }

  Session session_;
  std::map<std::string, Signature> signatures_;
};

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_SAVED_MODEL_HPP_
