// SplitMergeTokenizeWithOffsets(input_values [texts], labels, row_splits [texts + 1])
//   -> output_values, start_values, limit_values [tokens], output_row_splits [texts + 1]
//
// |row_splits| gives each text a row of |labels|, one for each character: 0 begins a token, any
// other number appends the character to the token before. White space lies in no token; with
// |force_split_at_break_character| the character behind it begins one, whatever its label. Offsets
// are in bytes.
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "kernel.hpp"

namespace text {
namespace {

// How many bytes the character has that begins at |at|, as its first byte says; never more than
// there are. A byte that begins none counts as one character.
size_t length_at(std::string_view text, size_t at) {
  const unsigned char first = static_cast<unsigned char>(text[at]);
  const size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return std::min(length, text.size() - at);
}

bool is_break(std::string_view character) {
  UChar32 c;
  int32_t at = 0;
  U8_NEXT_OR_FFFD(character.data(), at, static_cast<int32_t>(character.size()), c);
  return u_isUWhiteSpace(c);
}

struct Tokens {
  std::vector<std::string> values;
  std::vector<int64_t> starts, limits, rows = {0};
};

class SplitMerge {
 public:
  explicit SplitMerge(const Attributes& attributes)
      : splits_at_break_(attributes.flag("force_split_at_break_character")) {}

  void run(Run& run) const {
    const Input &texts = run.input(0), &labels = run.input(1), &splits = run.input(2);
    texts.must_have_rank(1);
    labels.must_have_rank(1);
    splits.must_have_rank(1);
    if (splits.count() != texts.count() + 1) {
      refuse("row_splits has " + std::to_string(splits.count()) + " elements, must have " +
             std::to_string(texts.count() + 1) + ", one more than there are texts");
    }
    check_splits<int32_t>(splits, labels.count());
    Tokens tokens;
    for (int64_t i = 0; i < texts.count(); ++i) {
      const int32_t begin = splits.data<int32_t>()[i], end = splits.data<int32_t>()[i + 1];
      tokenize(texts.text(i), i, labels.data<int32_t>() + begin, end - begin, &tokens);
    }
    run.output(0, tokens.values);
    run.output(1, tokens.rows);
    run.output(2, tokens.starts);
    run.output(3, tokens.limits);
  }

 private:
  void tokenize(std::string_view text, int64_t number, const int32_t* labels, int64_t label_count,
                Tokens* out) const {
    bool has_token = false, is_behind_break = false;
    int64_t character = 0;
    for (size_t at = 0, length; at < text.size(); at += length, ++character) {
      length = length_at(text, at);
      if (character == label_count) {
        refuse("labels has " + std::to_string(label_count) + " elements for input_values[" +
               std::to_string(number) + "], must have one for each character");
      }
      const std::string_view bytes = text.substr(at, length);
      const bool is_space = is_break(bytes);
      if (!is_space) {
        if (labels[character] == 0 || !has_token || (is_behind_break && splits_at_break_)) {
          out->values.emplace_back(bytes);
          out->starts.push_back(static_cast<int64_t>(at));
          out->limits.push_back(static_cast<int64_t>(at + length));
          has_token = true;
        } else {
          out->values.back().append(bytes);
          out->limits.back() = static_cast<int64_t>(at + length);
        }
      }
      is_behind_break = is_space;
    }
    out->rows.push_back(static_cast<int64_t>(out->values.size()));
  }

  bool splits_at_break_;
};

}  // namespace

void register_split_merge() {
  register_op({"SplitMergeTokenizeWithOffsets",
               {"input_values: string", "labels: int32", "row_splits: int32"},
               {"output_values: string", "output_row_splits: int64", "start_values: int64",
                "limit_values: int64"},
               {"force_split_at_break_character: bool = true"},
               of_ranks<1, 1, 1>});
  register_kernel<SplitMerge>("SplitMergeTokenizeWithOffsets", {});
}

}  // namespace text
