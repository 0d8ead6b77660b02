// WordpieceTokenizeWithOffsets(input_values [words], vocab_lookup_table)
//   -> output_values, start_values, limit_values [pieces], output_row_lengths [words]
//
// Each word becomes the longest piece of the vocabulary with which it begins, then the longest one
// with which the rest begins, and so on; pieces within a word stand in the vocabulary with
// |suffix_indicator| before them ("##"). A word that does not come out is one unknown token as a
// whole, or with |split_unknown_characters| only the characters are that begin no piece. Offsets
// are in bytes. With |output_row_partition_type| "row_splits" the second output [words + 1] is
// sums.
//
// The vocabulary is a lookup table, which an op of the runtime made and filled. TensorFlow's C API
// lets a kernel see the table's handle and no more. Leat's leat_kernel_run_op runs an op within a
// kernel, so that LookupTableFindV2 is asked; it is referred to weakly, because a runtime without
// it shall load this library too. There the op is UNIMPLEMENTED.
#include <unicode/utf8.h>

#include <algorithm>

#include "kernel.hpp"
#include "leat/kernel_op.h"

#pragma weak leat_kernel_run_op

namespace text {
namespace {

constexpr size_t kKeysAtOnce = 16;

// The vocabulary. A word is in it where the table's number for it is not -1.
class Vocabulary {
 public:
  explicit Vocabulary(Run& run) : run_(run) {
    if (!leat_kernel_run_op) {
      throw Failure{TF_UNIMPLEMENTED,
                    "vocab_lookup_table is a resource that no function of TensorFlow's C API looks "
                    "into, must be used under a runtime that has leat_kernel_run_op"};
    }
    Status status;
    TF_Tensor* table = nullptr;
    TF_GetInput(run.context(), 1, &table, status.get());
    status.check();
    table_.reset(table);
    default_.reset(TF_AllocateTensor(TF_INT64, nullptr, 0, sizeof(int64_t)));
    if (!default_) throw std::bad_alloc();
    *static_cast<int64_t*>(TF_TensorData(default_.get())) = -1;
  }

  // The first of |words| that is in the vocabulary; their number where none is. A few are asked for
  // at a time: the first ones are likely to be found, or the word is short.
  size_t find_first(const std::vector<std::string>& words) const {
    for (size_t begin = 0; begin < words.size(); begin += kKeysAtOnce) {
      const size_t count = std::min(kKeysAtOnce, words.size() - begin);
      const TensorPointer numbers = look_up(words.data() + begin, count);
      const int64_t* at = static_cast<const int64_t*>(TF_TensorData(numbers.get()));
      const size_t found = static_cast<size_t>(
          std::find_if(at, at + count, [](int64_t number) { return number != -1; }) - at);
      if (found < count) return begin + found;
    }
    return words.size();
  }

 private:
  TensorPointer look_up(const std::string* words, size_t count) const {
    const int64_t dim = static_cast<int64_t>(count);
    TensorPointer keys(TF_AllocateTensor(TF_STRING, &dim, 1, count * sizeof(TF_TString)));
    if (!keys) throw std::bad_alloc();
    TF_TString* key = static_cast<TF_TString*>(TF_TensorData(keys.get()));
    for (size_t i = 0; i < count; ++i) TF_TString_Init(&key[i]);
    for (size_t i = 0; i < count; ++i) Run::set(&key[i], words[i]);
    TF_Tensor* const inputs[] = {table_.get(), keys.get(), default_.get()};
    TF_Tensor* numbers = nullptr;
    Status status;
    leat_kernel_run_op(run_.context(), "LookupTableFindV2", inputs, 3, &numbers, 1, status.get());
    status.check();
    return TensorPointer(numbers);
  }

  Run& run_;
  TensorPointer table_, default_;
};

struct Pieces {
  std::vector<std::string> values;
  std::vector<int64_t> starts, limits;
  void append(std::string value, size_t start, size_t limit) {
    values.push_back(std::move(value));
    starts.push_back(static_cast<int64_t>(start));
    limits.push_back(static_cast<int64_t>(limit));
  }
  void truncate(size_t count) {
    values.resize(count);
    starts.resize(count);
    limits.resize(count);
  }
};

class Wordpiece {
 public:
  explicit Wordpiece(const Attributes& attributes)
      : suffix_(attributes.text("suffix_indicator")),
        unknown_(attributes.text("unknown_token")),
        max_word_bytes_(attributes.number("max_bytes_per_word")),
        max_piece_characters_(attributes.number("max_chars_per_token")),
        uses_unknown_(attributes.flag("use_unknown_token")),
        splits_unknown_(attributes.flag("split_unknown_characters")),
        gives_splits_(attributes.text("output_row_partition_type") == "row_splits") {}

  void run(Run& run) const {
    const Input& words = run.input(0);
    const Vocabulary vocabulary(run);
    Pieces pieces;
    std::vector<int64_t> rows;
    if (gives_splits_) rows.push_back(0);
    for (int64_t i = 0; i < words.count(); ++i) {
      const size_t before = pieces.values.size();
      tokenize(words.text(i), vocabulary, &pieces);
      rows.push_back(static_cast<int64_t>(pieces.values.size() - (gives_splits_ ? 0 : before)));
    }
    run.output(0, pieces.values);
    run.output(1, rows);
    run.output(2, pieces.starts);
    run.output(3, pieces.limits);
  }

 private:
  void tokenize(std::string_view word, const Vocabulary& vocabulary, Pieces* out) const {
    if (static_cast<int64_t>(word.size()) > max_word_bytes_) {
      // The end is that of the unknown token, not the word's, as TensorFlow Text has it.
      out->append(unknown_or(word), 0, uses_unknown_ ? unknown_.size() : word.size());
      return;
    }
    const size_t before = out->values.size();
    for (size_t start = 0; start < word.size();) {
      const std::vector<size_t> ends = ends_of(word, start);
      std::vector<std::string> candidates;  // the longest first
      for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
        candidates.push_back(prefixed(start, word.substr(start, *end - start)));
      }
      const size_t found = vocabulary.find_first(candidates);
      size_t limit;
      if (found < candidates.size()) {
        limit = ends[ends.size() - 1 - found];
        out->append(candidates[found], start, limit);
      } else if (splits_unknown_) {
        limit = ends[0];
        const std::string_view character = word.substr(start, limit - start);
        out->append(prefixed(start, unknown_or(character)), start, limit);
      } else {
        out->truncate(before);
        out->append(unknown_or(word), 0, word.size());
        return;
      }
      start = limit;
    }
  }

  // Where the characters end that begin at |start|, as many as a piece may have. Bytes that are no
  // UTF-8 are characters too, as ICU groups them.
  std::vector<size_t> ends_of(std::string_view word, size_t start) const {
    std::vector<size_t> ends;
    const int64_t length = static_cast<int64_t>(word.size());
    for (int64_t at = static_cast<int64_t>(start); at < length;) {
      UChar32 c;
      U8_NEXT(word.data(), at, length, c);
      (void)c;
      ends.push_back(static_cast<size_t>(at));
      if (static_cast<int64_t>(ends.size()) == max_piece_characters_) break;
    }
    return ends;
  }

  std::string unknown_or(std::string_view text) const {
    return uses_unknown_ ? unknown_ : std::string(text);
  }
  std::string prefixed(size_t start, std::string_view text) const {
    std::string prefixed = start > 0 ? suffix_ : std::string();
    return prefixed.append(text);
  }

  std::string suffix_, unknown_;
  int64_t max_word_bytes_, max_piece_characters_;
  bool uses_unknown_, splits_unknown_, gives_splits_;
};

}  // namespace

void register_wordpiece() {
  register_op({"WordpieceTokenizeWithOffsets",
               {"input_values: string", "vocab_lookup_table: resource"},
               {"output_values: string", "output_row_lengths: int64", "start_values: int64",
                "limit_values: int64"},
               {"suffix_indicator: string", "max_bytes_per_word: int",
                "max_chars_per_token: int = 0", "use_unknown_token: bool", "unknown_token: string",
                "split_unknown_characters: bool = false",
                "output_row_partition_type: {'row_lengths', 'row_splits'} = 'row_lengths'"},
               of_ranks<1, 0>,
               true});
  register_kernel<Wordpiece>("WordpieceTokenizeWithOffsets", {});
}

}  // namespace text
