// RegexSplitWithOffsets(input [texts], delim_regex_pattern, keep_delim_regex_pattern)
//   -> tokens, begin_offsets, end_offsets [tokens], row_splits [texts + 1]
//
// Splits texts where the first pattern matches. A delimiter is a token too where the second pattern
// matches all of it; an empty second pattern keeps none. Empty tokens are left out. Offsets are in
// bytes. Patterns have RE2's syntax. They are inputs, and almost always the same in each run, so a
// kernel keeps those that it has compiled last.
#include <re2/re2.h>

#include <mutex>

#include "kernel.hpp"

namespace text {
namespace {

// The last pattern of an input, compiled. Runs that overlap share it.
class Pattern {
 public:
  std::shared_ptr<const RE2> compile(const Input& input) const {
    input.must_have_rank(0);
    const std::string_view text = input.text(0);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (last_ && last_->pattern() == text) return last_;
    }
    RE2::Options options;
    options.set_log_errors(false);
    auto made = std::make_shared<const RE2>(re2::StringPiece(text.data(), text.size()), options);
    if (!made->ok()) {
      refuse(std::string(input.name()) + " is '" + std::string(text) + "': " + made->error());
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = made;
    return made;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const RE2> last_;
};

struct Splits {
  std::vector<std::string> tokens;
  std::vector<int64_t> begins, ends, rows = {0};
  void append(std::string_view text, size_t begin, size_t end) {
    tokens.emplace_back(text.substr(begin, end - begin));
    begins.push_back(static_cast<int64_t>(begin));
    ends.push_back(static_cast<int64_t>(end));
  }
};

// The delimiter is what the pattern's first group matches (nothing where the group has no part in
// the match), and the search goes on behind the whole match, as in a text that begins there: ^ and
// \b see no more of what lies before. A pattern without a group splits nothing; the Python
// functions of TensorFlow Text add one. A match of no characters would be found again for ever.
void split(std::string_view text, const RE2& delimiter, const RE2* kept, Splits* out) {
  size_t at = 0;  // where the next token begins
  while (delimiter.NumberOfCapturingGroups() > 0) {
    const re2::StringPiece rest(text.data() + at, text.size() - at);
    re2::StringPiece match[2];
    if (!delimiter.Match(rest, 0, rest.size(), RE2::UNANCHORED, match, 2)) break;
    if (match[0].empty()) {
      refuse("delim_regex_pattern is '" + delimiter.pattern() +
             "', which matches the empty text, must match at least one character");
    }
    const char* from = match[1].data() ? match[1].data() : match[0].data();
    const size_t begin = static_cast<size_t>(from - text.data());
    const size_t end = begin + match[1].size();
    if (begin > at) out->append(text, at, begin);
    if (kept && RE2::FullMatch(match[1], *kept)) out->append(text, begin, end);
    at = static_cast<size_t>(match[0].data() + match[0].size() - text.data());
  }
  if (at < text.size()) out->append(text, at, text.size());
}

class RegexSplit {
 public:
  explicit RegexSplit(const Attributes&) {}
  void run(Run& run) const {
    const std::shared_ptr<const RE2> delimiter = delimiter_.compile(run.input(1));
    const std::shared_ptr<const RE2> kept = kept_.compile(run.input(2));
    const Input& input = run.input(0);
    Splits splits;
    for (int64_t i = 0; i < input.count(); ++i) {
      split(input.text(i), *delimiter, kept->pattern().empty() ? nullptr : kept.get(), &splits);
      splits.rows.push_back(static_cast<int64_t>(splits.tokens.size()));
    }
    run.output(0, splits.tokens);
    run.output(1, splits.begins);
    run.output(2, splits.ends);
    run.output(3, splits.rows);
  }

 private:
  Pattern delimiter_, kept_;
};

}  // namespace

void register_regex_split() {
  register_op({"RegexSplitWithOffsets",
               {"input: string", "delim_regex_pattern: string", "keep_delim_regex_pattern: string"},
               {"tokens: string", "begin_offsets: int64", "end_offsets: int64",
                "row_splits: int64"},
               {},
               of_ranks<1, 0, 0>});
  register_kernel<RegexSplit>("RegexSplitWithOffsets", {});
}

}  // namespace text
