// SentenceFragments(row_lengths [documents], token_start, token_end, token_word, token_properties
//     [tokens]) -> fragment_start, fragment_end, fragment_properties, terminal_punc_token
//     [fragments], output_row_lengths [documents]
//
// Splits documents, which are given as tokens, where a sentence may end: behind terminal
// punctuation (". ! ?", an ellipsis, an emoticon, the period of an acronym) and the closing
// punctuation after it. Start and end count the document's tokens. |terminal_punc_token| is where
// the punctuation begins that ends the sentence, or -1. What a token is comes from ICU's properties
// for the breaking of lines and sentences, of its first and only character.
#include <unicode/uchar.h>
#include <unicode/ucnv.h>

#include "kernel.hpp"

namespace text {
namespace {

// Bits of |token_properties| and of |fragment_properties|.
enum : int64_t { kEmoticon = 0x80, kAcronym = 0x100 };
enum : int64_t { kTerminal = 1, kManyTerminals = 2, kCloseParen = 4, kSententialCloseParen = 8 };

struct ConverterDeleter {
  void operator()(UConverter* converter) const { ucnv_close(converter); }
};
using Converter = std::unique_ptr<UConverter, ConverterDeleter>;

Converter open_converter(const std::string& encoding) {
  UErrorCode error = U_ZERO_ERROR;
  Converter converter(ucnv_open(encoding.c_str(), &error));
  if (U_FAILURE(error)) {
    refuse("input_encoding is '" + encoding + "', must name an encoding that ICU knows");
  }
  return converter;
}

// What a token may be.
struct Token {
  bool is_terminal, is_ellipsis, is_close_punctuation, is_open_paren, is_close_paren;
  bool is_punctuation, is_emoticon, is_acronym;  // an acronym: one that ends with a period
  // Whether it can go on with the end of a sentence behind a space.
  bool may_follow_space() const {
    return is_emoticon || is_ellipsis || is_terminal || is_close_paren;
  }
};

bool is_one_of(UChar32 c, std::initializer_list<UChar32> list) {
  for (UChar32 other : list) {
    if (c == other) return true;
  }
  return false;
}

// Classes of ICU, and characters that those leave out.
void classify(UChar32 c, Token* token) {
  const int32_t line = u_getIntPropertyValue(c, UCHAR_LINE_BREAK);
  const int32_t sentence = u_getIntPropertyValue(c, UCHAR_SENTENCE_BREAK);
  const bool closes = line == U_LB_CLOSE_PUNCTUATION || line == U_LB_CLOSE_PARENTHESIS;
  token->is_ellipsis = c == 0x2026;
  // Armenian exclamation and question marks, the Khmer khan, the Greek question mark.
  token->is_terminal = is_one_of(c, {0x55c, 0x55e, 0x17d4, 0x37e, 0x2026}) ||
                       sentence == U_SB_ATERM || sentence == U_SB_STERM;
  // Among these an ornate parenthesis and full-width quotation marks.
  token->is_close_punctuation = is_one_of(c, {'>', ']', '`', 0xfd3f, 0xff02, 0xff07}) || closes ||
                                line == U_LB_QUOTATION;
  token->is_open_paren = is_one_of(c, {'<', 0xfd3e}) || line == U_LB_OPEN_PUNCTUATION;
  token->is_close_paren = is_one_of(c, {'>', 0xfd3f}) || closes;
  token->is_punctuation = is_one_of(c, {'`', '<', '>', '~', 0x166d}) || u_ispunct(c) ||
                          u_hasBinaryProperty(c, UCHAR_DASH) ||
                          u_hasBinaryProperty(c, UCHAR_HYPHEN);
}

Token token_of(UConverter* converter, std::string_view word, int64_t number, int64_t properties) {
  Token token = {};
  const char *source = word.data(), *limit = word.data() + word.size();
  UErrorCode error = U_ZERO_ERROR;
  ucnv_reset(converter);
  const UChar32 c = ucnv_getNextUChar(converter, &source, limit, &error);
  if (U_FAILURE(error)) {
    throw Failure{TF_INTERNAL, "token_word[" + std::to_string(number) + "] has " +
                                   std::to_string(word.size()) +
                                   " bytes that begin with no character of input_encoding"};
  }
  if (source == limit) classify(c, &token);
  if (word == "...") token.is_terminal = token.is_ellipsis = true;
  if (word == "''") token.is_close_punctuation = true;
  token.is_emoticon = properties & kEmoticon;
  token.is_acronym = (properties & kAcronym) && !word.empty() && word.back() == '.';
  return token;
}

// How far the end of a sentence was read: terminal punctuation, then closing punctuation. Numbers
// are of tokens.
struct Ending {
  enum { kInitial, kInTerminals, kInClosers } state = kInitial;
  int64_t first_terminal = -1, first_closer = -1, limit = -1;

  bool has_terminal() const { return first_terminal >= 0; }

  // Reads a token; false where it does not belong to the end that has begun.
  bool read(const Token& token, int64_t number) {
    const bool is_end = token.is_terminal || token.is_ellipsis || token.is_emoticon;
    if (state == kInitial) {
      if (is_end || token.is_acronym) {
        first_terminal = number;
        state = kInTerminals;
      }
    } else if (state == kInTerminals && !is_end) {
      if (!token.is_close_punctuation) return false;
      first_closer = number;
      state = kInClosers;
    } else if (state == kInClosers) {
      if (!token.is_close_punctuation && !token.is_ellipsis && !token.is_emoticon) return false;
    }
    limit = number + 1;
    if (state == kInTerminals) first_closer = limit;
    return true;
  }
};

struct Fragment {
  int64_t start, limit, properties = 0, terminal = -1;
};

class Document {
 public:
  explicit Document(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::vector<Fragment> split() {
    std::vector<Fragment> fragments;
    for (int64_t start = 0; start < count();) {
      const Ending ending = find_ending(start);
      note_open_paren(start, ending.limit);
      fragments.push_back(fragment(start, ending));
      start = ending.limit;
    }
    return fragments;
  }

 private:
  int64_t count() const { return static_cast<int64_t>(tokens_.size()); }
  const Token& at(int64_t i) const { return tokens_[static_cast<size_t>(i)]; }

  // Reads from |start| to the end of the fragment. All tokens are separated by spaces, so an end
  // may go on behind a space or be over there: the longer one is taken if it turns out to be one.
  Ending find_ending(int64_t start) const {
    Ending current, previous;
    for (int64_t i = start; i < count();) {
      if (current.has_terminal() && i > start) {
        if (!at(i).may_follow_space()) break;
        previous = current;
      }
      if (current.read(at(i), i)) {
        ++i;
      } else if (previous.has_terminal()) {
        return previous;
      } else {
        current = Ending();  // the same token may begin an end
      }
    }
    return current;
  }

  // Whether the last parenthesis that was opened begins a sentence; that is guessed of those that
  // begin a fragment.
  void note_open_paren(int64_t start, int64_t limit) {
    for (int64_t i = limit - 1; i >= start; --i) {
      if (!at(i).is_open_paren) continue;
      paren_begins_sentence_ = i == start;
      return;
    }
  }

  Fragment fragment(int64_t start, const Ending& ending) const {
    Fragment fragment = {start, ending.limit};
    if (!ending.has_terminal()) return fragment;
    fragment.properties = kTerminal;
    fragment.terminal = terminal_of(ending);
    for (int64_t i = ending.first_terminal + 1; i < ending.first_closer; ++i) {
      if (at(i).is_punctuation && !at(i).is_ellipsis && !at(i).is_emoticon) {
        fragment.properties |= kManyTerminals;
      }
    }
    for (int64_t i = ending.first_closer; i < ending.limit; ++i) {
      if (!at(i).is_close_paren) continue;
      fragment.properties |= kCloseParen;
      if (paren_begins_sentence_) fragment.properties |= kSententialCloseParen;
    }
    return fragment;
  }

  // An ellipsis or an emoticon may stand within a sentence, so that what follows the last one ends
  // the sentence: "He agreed ... !"
  static int64_t after(int64_t last, const Ending& ending) {
    return last + 1 == ending.first_closer ? ending.first_terminal : last + 1;
  }
  int64_t terminal_of(const Ending& ending) const {
    for (int64_t i = ending.first_closer - 1; i >= ending.first_terminal; --i) {
      if (at(i).is_ellipsis || at(i).is_emoticon) return after(i, ending);
    }
    return ending.first_terminal;
  }

  std::vector<Token> tokens_;
  bool paren_begins_sentence_ = false;
};

class SentenceFragments {
 public:
  explicit SentenceFragments(const Attributes& attributes)
      : encoding_(attributes.text("input_encoding")) {
    open_converter(encoding_);
    const int64_t replacement = attributes.number("replacement_char");
    if (replacement < UCHAR_MIN_VALUE || replacement > UCHAR_MAX_VALUE) {
      refuse("replacement_char is " + std::to_string(replacement) + ", must be a character");
    }
  }

  void run(Run& run) const {
    const Input &rows = run.input(0), &words = run.input(3), &properties = run.input(4);
    for (int i = 0; i < 5; ++i) run.input(i).must_have_rank(1);
    check_counts(run);
    const Converter converter = open_converter(encoding_);
    std::vector<int64_t> starts, limits, kinds, terminals, counts;
    int64_t number = 0;
    for (int64_t i = 0; i < rows.count(); ++i) {
      std::vector<Token> tokens;
      for (int64_t end = number + rows.data<int64_t>()[i]; number < end; ++number) {
        tokens.push_back(token_of(converter.get(), words.text(number), number,
                                  properties.data<int64_t>()[number]));
      }
      const std::vector<Fragment> fragments = Document(std::move(tokens)).split();
      for (const Fragment& fragment : fragments) {
        starts.push_back(fragment.start);
        limits.push_back(fragment.limit);
        kinds.push_back(fragment.properties);
        terminals.push_back(fragment.terminal);
      }
      counts.push_back(static_cast<int64_t>(fragments.size()));
    }
    run.output(0, starts);
    run.output(1, limits);
    run.output(2, kinds);
    run.output(3, terminals);
    run.output(4, counts);
  }

 private:
  // The rows are those of each of the other inputs.
  static void check_counts(const Run& run) {
    const Input& rows = run.input(0);
    int64_t total = 0;
    for (int64_t i = 0; i < rows.count(); ++i) {
      const int64_t length = rows.data<int64_t>()[i];
      if (length < 0 || __builtin_add_overflow(total, length, &total)) {
        refuse("row_lengths[" + std::to_string(i) + "] is " + std::to_string(length) +
               ", must be a number of tokens");
      }
    }
    for (int i = 1; i < 5; ++i) {
      if (run.input(i).count() == total) continue;
      refuse(std::string(run.input(i).name()) + " has " + std::to_string(run.input(i).count()) +
             " elements, must have " + std::to_string(total) + ", the sum of row_lengths");
    }
  }

  std::string encoding_;
};

}  // namespace

void register_sentence_fragments() {
  register_op({"SentenceFragments",
               {"row_lengths: int64", "token_start: int64", "token_end: int64",
                "token_word: string", "token_properties: int64"},
               {"fragment_start: int64", "fragment_end: int64", "fragment_properties: int64",
                "terminal_punc_token: int64", "output_row_lengths: int64"},
               {"input_encoding: string", "errors: {'strict', 'replace', 'ignore'} = 'replace'",
                "replacement_char: int = 65533", "replace_control_characters: bool = false"},
               of_ranks<>});
  register_kernel<SentenceFragments>("SentenceFragments", {});
}

}  // namespace text
