// The models of SentencepieceOp, and how the other ops find one. TensorFlow's C API lets a kernel
// write a resource handle (a tensor of the type TF_RESOURCE is a ResourceHandleProto to it), but
// keep no resource of its own beside the experimental functions that only some builds have. So the
// models lie in a list of this library, and a handle has a model's number as its name. A model
// lives as long as the kernel of the SentencepieceOp that made it, which is as long as the session
// that has planned it. Ops with the same model share it.
#ifndef TEXT_SENTENCEPIECE_MODEL_HPP_
#define TEXT_SENTENCEPIECE_MODEL_HPP_

#include <sentencepiece_processor.h>

#include <array>
#include <mutex>

#include "kernel.hpp"

namespace text {

// What is done to the pieces of a text.
struct Options {
  bool adds_bos = false, adds_eos = false, reverses = false;
};

class Model {
 public:
  // The model with these bytes; made where there is none. INVALID_ARGUMENT where they are none.
  static std::shared_ptr<Model> make(const std::string& bytes);
  // The model that the handle at input 0 names. NOT_FOUND where it is no handle of a model that is
  // still there.
  static std::shared_ptr<Model> find(Run& run);

  Model(const std::string& bytes, uint64_t number);
  // The processor with these options; made at first use. It belongs to the model.
  const sentencepiece::SentencePieceProcessor& processor(Options options);
  const std::string& bytes() const { return bytes_; }
  uint64_t number() const { return number_; }

 private:
  std::string bytes_;
  uint64_t number_;
  std::mutex mutex_;
  std::array<std::unique_ptr<sentencepiece::SentencePieceProcessor>, 8> processors_;
};

// The inputs |first| to |first| + 2, of each op that has them.
inline Options options_of(const Run& run, int first) {
  return {run.input(first).scalar<bool>(), run.input(first + 1).scalar<bool>(),
          run.input(first + 2).scalar<bool>()};
}

// Throws what the SentencePiece library answers for element |i| of |what|.
void check(const sentencepiece::util::Status& status, const char* what, int64_t i);
// OUT_OF_RANGE unless |id| is a number of the vocabulary.
void check_id(const sentencepiece::SentencePieceProcessor& processor, const Input& ids, int64_t i,
              int32_t id);

void register_model();

}  // namespace text

#endif  // TEXT_SENTENCEPIECE_MODEL_HPP_
