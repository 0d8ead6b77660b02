// Tokenizers that see texts as characters, which a ragged tensor holds: |input_values| has the
// numbers of the characters of all texts, |input_splits| [texts + 1] says where each text begins.
//
//   WhitespaceTokenizeWithOffsets     a token is what stands between white space
//   UnicodeScriptTokenizeWithOffsets  a token ends too where the script of the characters changes;
//                                     with |keep_whitespace| white space is a token as well
//
// The tokens are one more dimension: |output_outer_splits| [texts + 1] counts tokens,
// |output_values_inner_splits| [tokens + 1] counts characters, and |output_values| has those that
// lie in tokens. Offsets count characters from the beginning of the text.
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include "kernel.hpp"

namespace text {
namespace {

// What the runs of both ops write.
template <typename T>
struct Tokens {
  std::vector<int32_t> values;
  std::vector<T> inner_splits, outer_splits;
  std::vector<int64_t> starts, limits;

  void append(int32_t character) { values.push_back(character); }
  void open(int64_t start) {
    starts.push_back(start);
    inner_splits.push_back(static_cast<T>(values.size()));
  }
  void close(int64_t limit) { limits.push_back(limit); }
  void next_text() { outer_splits.push_back(static_cast<T>(starts.size())); }
  void write(Run& run) {
    inner_splits.push_back(static_cast<T>(values.size()));
    run.output(0, values);
    run.output(1, inner_splits);
    run.output(2, starts);
    run.output(3, limits);
    run.output(4, outer_splits);
  }
};

// Calls |tokenize(characters, count, tokens)| for each text, which appends the text's tokens.
template <typename T, typename Tokenize>
void tokenize_all(Run& run, const Tokenize& tokenize) {
  const Input &values = run.input(0), &splits = run.input(1);
  values.must_have_rank(1);
  check_splits<T>(splits, values.count());
  const T* at = splits.data<T>();
  Tokens<T> tokens;
  for (int64_t i = 0; i + 1 < splits.count(); ++i) {
    tokens.next_text();
    tokenize(values.data<int32_t>() + at[i], static_cast<int64_t>(at[i + 1] - at[i]), tokens);
  }
  tokens.next_text();
  tokens.write(run);
}

template <typename T>
class WhitespaceTokenize {
 public:
  explicit WhitespaceTokenize(const Attributes&) {}
  void run(Run& run) const {
    tokenize_all<T>(run, [](const int32_t* text, int64_t count, Tokens<T>& tokens) {
      bool is_open = false;
      for (int64_t i = 0; i < count; ++i) {
        const bool is_space = u_isUWhiteSpace(text[i]);
        if (is_open && is_space) tokens.close(i);
        if (!is_open && !is_space) tokens.open(i);
        if (!is_space) tokens.append(text[i]);
        is_open = !is_space;
      }
      if (is_open) tokens.close(count);
    });
  }
};

// The script of a character; what is no character has one of its own.
UScriptCode script_of(int32_t character) {
  UErrorCode error = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(character, &error);
  return U_FAILURE(error) ? USCRIPT_INVALID_CODE : script;
}

template <typename T>
class ScriptTokenize {
 public:
  explicit ScriptTokenize(const Attributes& attributes)
      : keeps_whitespace_(attributes.flag("keep_whitespace")) {}

  // White space that is not kept ends no token by itself: it is left out of the values, and at the
  // end of a token out of its limit. It has the script "common", so that a token goes on behind it
  // only where the characters around it are common too ("1 + 2" is one token).
  void run(Run& run) const {
    tokenize_all<T>(run, [this](const int32_t* text, int64_t count, Tokens<T>& tokens) {
      UScriptCode script = USCRIPT_INVALID_CODE;
      bool is_open = false, was_space = false;
      int64_t limit = 0;  // behind the last character of the open token
      for (int64_t i = 0; i < count; ++i) {
        const bool is_space = u_isUWhiteSpace(text[i]);
        const UScriptCode other = script_of(text[i]);
        if (other != script || (keeps_whitespace_ && is_space != was_space)) {
          if (is_open) tokens.close(limit);
          is_open = false;
          script = other;
        }
        if (!is_space || keeps_whitespace_) {
          if (!is_open) tokens.open(i);
          is_open = true;
          tokens.append(text[i]);
          limit = i + 1;
        }
        was_space = is_space;
      }
      if (is_open) tokens.close(limit);
    });
  }

 private:
  bool keeps_whitespace_;
};

// Both ops have these inputs and outputs.
Op op(const char* name, std::vector<const char*> attributes) {
  attributes.push_back("Tsplits: {int32, int64} = DT_INT64");
  return {name,
          {"input_values: int32", "input_splits: Tsplits"},
          {"output_values: int32", "output_values_inner_splits: Tsplits",
           "output_offset_starts: int64", "output_offset_limits: int64",
           "output_outer_splits: Tsplits"},
          attributes,
          of_ranks<1, 1>};
}

}  // namespace

void register_characters() {
  register_op(op("WhitespaceTokenizeWithOffsets", {}));
  register_kernel<WhitespaceTokenize<int32_t>>("WhitespaceTokenizeWithOffsets",
                                               {{"Tsplits", TF_INT32}});
  register_kernel<WhitespaceTokenize<int64_t>>("WhitespaceTokenizeWithOffsets",
                                               {{"Tsplits", TF_INT64}});
  register_op(op("UnicodeScriptTokenizeWithOffsets", {"keep_whitespace: bool = false"}));
  register_kernel<ScriptTokenize<int32_t>>("UnicodeScriptTokenizeWithOffsets",
                                           {{"Tsplits", TF_INT32}});
  register_kernel<ScriptTokenize<int64_t>>("UnicodeScriptTokenizeWithOffsets",
                                           {{"Tsplits", TF_INT64}});
}

}  // namespace text
