// SentencePiece: texts to pieces of a vocabulary that was learnt, and back.
//
//   SentencepieceOp                                       -> a handle of the model, an attribute
//   SentencepieceTokenizeOp(handle, texts [n], ...)       -> pieces or numbers, splits [n + 1]
//   SentencepieceTokenizeWithOffsetsOp                    the same, and where each begins and ends
//   SentencepieceDetokenizeOp(handle, pieces, splits, ...) -> texts
//   SentencepieceVocabSizeOp, SentencepieceIdToStringOp, SentencepieceStringToIdOp
//
// A handle names a model in a list of this library (sentencepiece_model.hpp). |add_bos|, |add_eos|
// and |reverse| are inputs, and change what a processor of the SentencePiece library does, so each
// of their combinations has a processor of its own, which all runs share. With |return_nbest| each
// text has |nbest_size| rows; otherwise an |nbest_size| other than 0 and 1 draws one of the
// |nbest_size| best (of all, where negative) with |alpha| as the inverse temperature, by the random
// numbers of the library.
#include "kernel.hpp"
#include "sentencepiece_model.hpp"

namespace text {
namespace {

using sentencepiece::ImmutableSentencePieceText;
using sentencepiece::SentencePieceProcessor;

// ---- Tokens -------------------------------------------------------------------------------------

// Of the two ops; the one with offsets has two more outputs.
template <typename Value, typename Splits, bool has_offsets>
class Tokenize {
 public:
  explicit Tokenize(const Attributes& attributes)
      : returns_nbest_(attributes.flag("return_nbest")) {}

  void run(Run& run) const {
    const Input& texts = run.input(1);
    texts.must_have_rank(1);
    const int32_t nbest = run.input(2).scalar<int32_t>();
    const float alpha = run.input(3).scalar<float>();
    if (returns_nbest_ && nbest < 1) {
      refuse("nbest_size is " + std::to_string(nbest) +
             ", must be at least 1 where return_nbest is true");
    }
    const std::shared_ptr<Model> model = Model::find(run);
    const SentencePieceProcessor& processor = model->processor(options_of(run, 4));
    Rows rows;
    for (int64_t i = 0; i < texts.count(); ++i) {
      const std::string_view text = texts.text(i);
      if (returns_nbest_) {
        sentencepiece::ImmutableNBestSentencePieceText best;
        check(processor.NBestEncode({text.data(), text.size()}, nbest, best.mutable_proto()),
              "input", i);
        for (size_t j = 0; j < best.nbests_size(); ++j) {
          rows.append(best.nbests(static_cast<int>(j)));
        }
        continue;
      }
      ImmutableSentencePieceText pieces;
      check(nbest == 0 || nbest == 1
                ? processor.Encode({text.data(), text.size()}, pieces.mutable_proto())
                : processor.SampleEncode({text.data(), text.size()}, nbest, alpha,
                                         pieces.mutable_proto()),
            "input", i);
      rows.append(pieces);
    }
    rows.write(run);
  }

 private:
  struct Rows {
    std::vector<Value> values;
    std::vector<Splits> splits = {0};
    std::vector<int64_t> starts, limits;

    void append(const ImmutableSentencePieceText& text) {
      for (const auto& piece : text.pieces()) {
        if constexpr (std::is_same_v<Value, int32_t>) {
          values.push_back(static_cast<int32_t>(piece.id()));
        } else {
          values.push_back(piece.piece());
        }
        if (!has_offsets) continue;
        starts.push_back(piece.begin());
        limits.push_back(piece.end());
      }
      splits.push_back(static_cast<Splits>(values.size()));
    }
    void write(Run& run) {
      run.output(0, values);
      run.output(1, splits);
      if (!has_offsets) return;
      run.output(2, starts);
      run.output(3, limits);
    }
  };

  bool returns_nbest_;
};

// ---- Texts --------------------------------------------------------------------------------------

template <typename Value, typename Splits>
class Detokenize {
 public:
  explicit Detokenize(const Attributes&) {}

  void run(Run& run) const {
    const Input &values = run.input(1), &splits = run.input(2);
    values.must_have_rank(1);
    check_splits<Splits>(splits, values.count());
    const std::shared_ptr<Model> model = Model::find(run);
    const SentencePieceProcessor& processor = model->processor(options_of(run, 3));
    const Splits* at = splits.data<Splits>();
    std::vector<std::string> texts;
    for (int64_t i = 0; i + 1 < splits.count(); ++i) {
      texts.emplace_back();
      check(processor.Decode(pieces(processor, values, at[i], at[i + 1]), &texts.back()),
            "row", i);
    }
    run.output(0, texts);
  }

 private:
  static std::vector<Value> pieces(const SentencePieceProcessor& processor, const Input& values,
                                   int64_t begin, int64_t end) {
    std::vector<Value> pieces;
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (std::is_same_v<Value, int32_t>) {
        const int32_t id = values.data<int32_t>()[i];
        check_id(processor, values, i, id);
        pieces.push_back(id);
      } else {
        pieces.emplace_back(values.text(i));
      }
    }
    return pieces;
  }
};

// ---- The vocabulary -----------------------------------------------------------------------------

class VocabSize {
 public:
  explicit VocabSize(const Attributes&) {}
  void run(Run& run) const {
    *run.allocate<int32_t>(0, {}) = Model::find(run)->processor({}).GetPieceSize();
  }
};

class IdToString {
 public:
  explicit IdToString(const Attributes&) {}
  void run(Run& run) const {
    const Input& ids = run.input(1);
    const std::shared_ptr<Model> model = Model::find(run);
    const SentencePieceProcessor& processor = model->processor({});
    TF_TString* pieces = run.allocate<TF_TString>(0, ids.shape());
    for (int64_t i = 0; i < ids.count(); ++i) {
      const int32_t id = ids.data<int32_t>()[i];
      check_id(processor, ids, i, id);
      Run::set(&pieces[i], processor.IdToPiece(id));
    }
  }
};

class StringToId {
 public:
  explicit StringToId(const Attributes&) {}
  void run(Run& run) const {
    const Input& pieces = run.input(1);
    const std::shared_ptr<Model> model = Model::find(run);
    const SentencePieceProcessor& processor = model->processor({});
    int32_t* ids = run.allocate<int32_t>(0, pieces.shape());
    for (int64_t i = 0; i < pieces.count(); ++i) {
      const std::string_view piece = pieces.text(i);
      ids[i] = processor.PieceToId({piece.data(), piece.size()});
    }
  }
};

// ---- Registration -------------------------------------------------------------------------------

template <typename Value, typename Splits>
void register_types(TF_DataType value) {
  const TF_DataType splits = kType<Splits>;
  register_kernel<Tokenize<Value, Splits, false>>("SentencepieceTokenizeOp",
                                                  {{"out_type", value}, {"Tsplits", splits}});
  register_kernel<Tokenize<Value, Splits, true>>("SentencepieceTokenizeWithOffsetsOp",
                                                 {{"out_type", value}, {"Tsplits", splits}});
  register_kernel<Detokenize<Value, Splits>>("SentencepieceDetokenizeOp",
                                             {{"T", value}, {"Tsplits", splits}});
}

void register_ops() {
  const std::vector<const char*> inputs = {"sp_handle: resource", "input: string",
                                           "nbest_size: int32",   "alpha: float",
                                           "add_bos: bool",       "add_eos: bool",
                                           "reverse: bool"};
  const std::vector<const char*> attributes = {"out_type: {int32, string} = DT_INT32",
                                               "Tsplits: {int32, int64} = DT_INT64",
                                               "return_nbest: bool = false"};
  register_op({"SentencepieceTokenizeOp", inputs,
               {"output_values: out_type", "output_splits: Tsplits"}, attributes,
               of_ranks<0, 1, 0, 0, 0, 0, 0>, true});
  register_op({"SentencepieceTokenizeWithOffsetsOp", inputs,
               {"output_values: out_type", "output_splits: Tsplits", "output_offset_starts: int64",
                "output_offset_limits: int64"},
               attributes, of_ranks<0, 1, 0, 0, 0, 0, 0>, true});
  register_op({"SentencepieceDetokenizeOp",
               {"sp_handle: resource", "input_values: T", "input_splits: Tsplits",
                "add_bos: bool", "add_eos: bool", "reverse: bool"},
               {"output: string"},
               {"T: {int32, string} = DT_INT32", "Tsplits: {int32, int64} = DT_INT64"},
               of_ranks<0, 1, 1, 0, 0, 0>, true});
  register_op({"SentencepieceVocabSizeOp", {"sp_handle: resource"}, {"vocab_size: int32"}, {},
               as_scalar, true});
  register_op({"SentencepieceIdToStringOp", {"sp_handle: resource", "input: int32"},
               {"values: string"}, {}, as_input<1>, true});
  register_op({"SentencepieceStringToIdOp", {"sp_handle: resource", "input: string"},
               {"values: int32"}, {}, as_input<1>, true});
}

}  // namespace

void register_sentencepiece() {
  register_model();
  register_ops();
  register_types<int32_t, int32_t>(TF_INT32);
  register_types<int32_t, int64_t>(TF_INT32);
  register_types<std::string, int32_t>(TF_STRING);
  register_types<std::string, int64_t>(TF_STRING);
  register_kernel<VocabSize>("SentencepieceVocabSizeOp", {});
  register_kernel<IdToString>("SentencepieceIdToStringOp", {});
  register_kernel<StringToId>("SentencepieceStringToIdOp", {});
}

}  // namespace text
