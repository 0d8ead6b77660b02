// SentencepieceOp, and the list of the models of all of them. See sentencepiece_model.hpp.
#include "sentencepiece_model.hpp"

#include <map>

namespace text {
namespace {

constexpr char kTypeName[] = "text::Model";

// Both lists hold no model alive: the kernels do.
struct Models {
  std::mutex mutex;
  uint64_t count = 0;
  std::map<uint64_t, std::weak_ptr<Model>> by_number;
};

Models& models() {
  static Models* list = new Models;  // kernels may end after this library's static objects
  return *list;
}

// ---- Handles ------------------------------------------------------------------------------------

// Fields of ResourceHandleProto.
enum { kDevice = 1, kContainer = 2, kName = 3, kHashCode = 4, kMaybeTypeName = 5 };

void append_number(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void append_text(int field, std::string_view text, std::string* out) {
  append_number(static_cast<uint64_t>(field) << 3 | 2, out);
  append_number(text.size(), out);
  out->append(text);
}

bool read_number(std::string_view* bytes, uint64_t* out) {
  *out = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const unsigned char byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    *out |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// The text of |field| in a message, or nothing; other fields are passed over.
std::string text_of(std::string_view bytes, uint64_t field) {
  std::string found;
  uint64_t tag, value;
  while (read_number(&bytes, &tag)) {
    if ((tag & 7) == 0) {
      if (!read_number(&bytes, &value)) break;
    } else if ((tag & 7) == 2) {
      if (!read_number(&bytes, &value) || value > bytes.size()) break;
      if (tag >> 3 == field) found = bytes.substr(0, value);
      bytes.remove_prefix(value);
    } else {
      break;
    }
  }
  return found;
}

class SentencepieceOp {
 public:
  explicit SentencepieceOp(const Attributes& attributes)
      : model_(Model::make(attributes.text("model"))) {}

  void run(Run& run) const {
    const TF_StringView device = TF_GetDeviceName(run.context());
    std::string handle;
    append_text(kDevice, {device.data, device.len}, &handle);
    append_text(kContainer, "text_plugin", &handle);
    append_text(kName, std::to_string(model_->number()), &handle);
    append_text(kMaybeTypeName, kTypeName, &handle);
    const TensorPointer tensor(TF_AllocateTensor(TF_RESOURCE, nullptr, 0, handle.size()));
    if (!tensor) throw std::bad_alloc();
    std::memcpy(TF_TensorData(tensor.get()), handle.data(), handle.size());
    Status status;
    TF_SetOutput(run.context(), 0, tensor.get(), status.get());
    status.check();
  }

 private:
  std::shared_ptr<Model> model_;
};

}  // namespace

// ---- Models -------------------------------------------------------------------------------------

// The error codes of the SentencePiece library are TensorFlow's.
void check(const sentencepiece::util::Status& status, const char* what, int64_t i) {
  if (status.ok()) return;
  throw Failure{static_cast<TF_Code>(static_cast<int>(status.code())),
                std::string(what) + "[" + std::to_string(i) + "]: " + status.error_message()};
}

void check_id(const sentencepiece::SentencePieceProcessor& processor, const Input& ids, int64_t i,
              int32_t id) {
  if (id >= 0 && id < processor.GetPieceSize()) return;
  throw Failure{TF_OUT_OF_RANGE, std::string(ids.name()) + "[" + std::to_string(i) + "] is " +
                                     std::to_string(id) + ", must be at least 0 and below " +
                                     std::to_string(processor.GetPieceSize())};
}

Model::Model(const std::string& bytes, uint64_t number) : bytes_(bytes), number_(number) {
  processor({});
}

const sentencepiece::SentencePieceProcessor& Model::processor(Options options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& place = processors_[(options.adds_bos ? 1u : 0u) | (options.adds_eos ? 2u : 0u) |
                            (options.reverses ? 4u : 0u)];
  if (place) return *place;
  auto made = std::make_unique<sentencepiece::SentencePieceProcessor>();
  const auto loaded = made->LoadFromSerializedProto({bytes_.data(), bytes_.size()});
  if (!loaded.ok()) {
    refuse("model has " + std::to_string(bytes_.size()) +
           " bytes that are no SentencePiece model: " + loaded.error_message());
  }
  std::string names;
  for (const char* name : {options.adds_bos ? "bos" : nullptr, options.adds_eos ? "eos" : nullptr,
                           options.reverses ? "reverse" : nullptr}) {
    if (name) names += (names.empty() ? "" : ":") + std::string(name);
  }
  for (const auto& status :
       {made->SetEncodeExtraOptions(names), made->SetDecodeExtraOptions(names)}) {
    if (!status.ok()) refuse("add_bos, add_eos and reverse: " + status.ToString());
  }
  place = std::move(made);
  return *place;
}

std::shared_ptr<Model> Model::make(const std::string& bytes) {
  if (bytes.empty()) refuse("model is empty, must be the bytes of a SentencePiece model");
  Models& list = models();
  const std::lock_guard<std::mutex> lock(list.mutex);
  for (auto entry = list.by_number.begin(); entry != list.by_number.end();) {
    const std::shared_ptr<Model> model = entry->second.lock();
    if (model && model->bytes() == bytes) return model;
    entry = model ? std::next(entry) : list.by_number.erase(entry);
  }
  auto model = std::make_shared<Model>(bytes, ++list.count);
  list.by_number[model->number()] = model;
  return model;
}

std::shared_ptr<Model> Model::find(Run& run) {
  Status status;
  std::unique_ptr<TF_Buffer, void (*)(TF_Buffer*)> buffer(TF_NewBuffer(), TF_DeleteBuffer);
  if (!buffer) throw std::bad_alloc();
  TF_GetSerializedResourceHandleProto(run.context(), 0, buffer.get(), status.get());
  status.check();
  const std::string_view handle(static_cast<const char*>(buffer->data), buffer->length);
  const std::string name = text_of(handle, kName), type = text_of(handle, kMaybeTypeName);
  Models& list = models();
  const std::lock_guard<std::mutex> lock(list.mutex);
  for (const auto& [number, model] : list.by_number) {
    if (type != kTypeName || std::to_string(number) != name) continue;
    if (std::shared_ptr<Model> found = model.lock()) return found;
  }
  throw Failure{TF_NOT_FOUND, std::string(run.input(0).name()) + " is a handle of '" + name +
                                  "', must be one that SentencepieceOp gave in this session"};
}

void register_model() {
  register_op({"SentencepieceOp",
               {},
               {"handle: resource"},
               {"model: string = ''", "container: string = ''", "shared_name: string = ''",
                "use_node_name_sharing: bool = false"},
               as_scalar,
               true});
  register_kernel<SentencepieceOp>("SentencepieceOp", {});
}

}  // namespace text
