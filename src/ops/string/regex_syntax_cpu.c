// Translates a regular expression from RE2's syntax, which TensorFlow's ops use, to POSIX's
// extended syntax, which the C library understands. So no regular expression engine needs to be
// linked.
//
// One walk goes over the pattern and writes POSIX's atoms as it goes, without a syntax tree:
//
//   RE2                    POSIX
//   \d  [[:alpha:]]        [0-9], a set of ASCII characters, written out in brackets
//   .                      a character but newline: one byte, or several of UTF-8
//   (?:...)  (?P<n>...)    (...), since groups are not read
//   x*?                    x*, since greediness does not decide whether the whole text matches
//   ^  $                   \`  \', the ends of the text; POSIX's ^ and $ also hold at newlines
//
// Each atom is written as a unit, in parentheses where it is longer than a character, so that an
// operator may follow. A negated class also takes any character of several bytes.
//
// The C library lays repetitions out (x{3} becomes xxx) and recurses into groups, so a short
// pattern can take huge memory or a deep stack. Hence the size that each level of groups will have
// is counted, and size, depth and repetitions are bounded. A pattern that is valid but cannot be
// translated is UNIMPLEMENTED; what RE2 refuses is INVALID_ARGUMENT with RE2's words.
#include "ops/string/regex_syntax_cpu.h"

#include <string.h>

enum {
  MAX_REPEAT = 1000,  // RE2's limit, also for the product of nested repetitions
  MAX_DEPTH = 100,
  MAX_SIZE = 20000,  // atoms, with repetitions laid out
};

#define LONGER "[\302-\364][\200-\277]+"  // a character of several bytes

// What has been written of a group, or of one atom.
typedef struct level_s {
  size_t size;    // atoms, with repetitions laid out
  int64_t repeat;  // the largest product of nested repetitions
} level_t;

// The state of the walk: |at| is the next byte of the pattern.
typedef struct syntax_s {
  const char *at, *end;
  leat_string_builder_t* out;
  int depth;
  level_t levels[MAX_DEPTH];
  level_t last;       // the atom that an operator applies to
  bool has_atom, after_operator;  // an atom comes before; an operator was applied to it
} syntax_t;

static leat_status_t invalid(const char* why) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s", why);
}

static leat_status_t beyond(const char* what) {
  return leat_make_status(LEAT_UNIMPLEMENTED, "%s are not implemented", what);
}

static void put(syntax_t* s, const char* text) {
  leat_string_builder_append(s->out, leat_string_view_from(text));
}

// Counts an atom that has been written.
static void add_atom(syntax_t* s, level_t atom) {
  s->levels[s->depth].size += atom.size;
  if (atom.repeat > s->levels[s->depth].repeat) s->levels[s->depth].repeat = atom.repeat;
  s->last = atom;
  s->has_atom = true;
  s->after_operator = false;
}

static void put_atom(syntax_t* s, const char* text) {
  put(s, text);
  add_atom(s, (level_t){1, 1});
}

// Writes the character |c|, with a backslash if POSIX gives it a meaning.
static void put_literal(syntax_t* s, int c) {
  if (c && strchr("\\^$.[]|()*+?{}", c)) leat_string_builder_append_char(s->out, '\\');
  leat_string_builder_append_char(s->out, (char)c);
  add_atom(s, (level_t){1, 1});
}

// ---- Sets of characters -------------------------------------------------------------------------

typedef struct set_s {
  bool has[128];
} set_t;

static void add_range(set_t* set, int first, int last) {
  for (int c = first; c <= last; ++c) set->has[c] = true;
}

// Adds the members of |other|, or if |negated| all characters but those.
static void add_all(set_t* set, const set_t* other, bool negated) {
  for (int c = 0; c < 128; ++c) set->has[c] |= other->has[c] != negated;
}

// |pairs| is a string of first and last characters of ranges.
static void add_ranges(set_t* set, const char* pairs) {
  for (; *pairs; pairs += 2) add_range(set, pairs[0], pairs[1]);
}

// Writes a set in brackets, in the only order that POSIX allows: "]" must come first, "[", "^" and
// "-" last; "^" must not come first, and "-" must be at one of the ends.
static leat_status_t put_set(syntax_t* s, const set_t* set, bool negated) {
  char members[128];
  size_t count = 0;
  if (set->has[']']) members[count++] = ']';
  for (int c = 1; c < 128; ++c) {
    if (set->has[c] && !strchr("]^-[", c)) members[count++] = (char)c;
  }
  if (set->has['[']) members[count++] = '[';
  bool dash_first = set->has['-'] && count == 0;
  if (dash_first) members[count++] = '-';
  if (set->has['^']) members[count++] = '^';
  if (set->has['-'] && !dash_first) members[count++] = '-';
  if (count == 0) return beyond("Classes of no ASCII character");
  put(s, negated ? "(" : "");
  put(s, count == 1 && *members == '^' ? "\\" : "[");
  leat_string_builder_append(s->out, leat_string_view_make(members, count));
  put(s, count == 1 && *members == '^' ? "" : "]");
  put(s, negated ? "|" LONGER ")" : "");
  add_atom(s, (level_t){1, 1});
  return leat_ok_status();
}

// Gives the set that \d, \w or \s stands for; the letter may be a capital.
static bool find_perl_class(int letter, set_t* out_set) {
  static const char* const kClasses[] = {"d" "09", "w" "09AZ__az", "s" "\t\n\f\r  "};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kClasses); ++i) {
    if ((letter | 32) != kClasses[i][0]) continue;
    *out_set = (set_t){0};
    add_ranges(out_set, kClasses[i] + 1);
    return true;
  }
  return false;
}

// Reads "[:name:]" at s->at and adds its members to |set|.
static leat_status_t read_named_class(syntax_t* s, set_t* set) {
  static const struct {
    char name[7];
    const char* ranges;
  } kNames[] = {
      {"alnum", "09AZaz"}, {"alpha", "AZaz"},   {"ascii", "\1\177"}, {"blank", "\t\t  "},
      {"cntrl", "\1\37\177\177"}, {"digit", "09"}, {"graph", "!~"},  {"lower", "az"},
      {"print", " ~"},     {"punct", "!/:@[`{~"}, {"space", "\t\r  "}, {"upper", "AZ"},
      {"word", "09AZ__az"}, {"xdigit", "09AFaf"}};
  s->at += 2;
  bool negated = s->at < s->end && *s->at == '^';
  s->at += negated;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNames); ++i) {
    size_t size = strlen(kNames[i].name);
    if ((size_t)(s->end - s->at) < size + 2 || memcmp(s->at, kNames[i].name, size) ||
        memcmp(s->at + size, ":]", 2)) {
      continue;
    }
    set_t named = {0};
    add_ranges(&named, kNames[i].ranges);
    named.has[0] = named.has[1];
    add_all(set, &named, negated);
    s->at += size + 2;
    return negated ? beyond("Negated classes in classes") : leat_ok_status();
  }
  return invalid("invalid character class range");
}

// ---- Escapes ------------------------------------------------------------------------------------

// The value of a digit, up to hexadecimal; 99 for other characters.
static int digit_of(int c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

// Reads up to |limit| digits; |out_count| is how many there were.
static int read_number(syntax_t* s, int base, int limit, int* out_count) {
  int value = 0;
  for (*out_count = 0; *out_count < limit && s->at < s->end && digit_of(*s->at) < base;
       ++*out_count) {
    if (value < 1 << 24) value = value * base + digit_of(*s->at);
    ++s->at;
  }
  return value;
}

// Reads what follows \x: two digits, or any number of them in braces.
static leat_status_t read_hex(syntax_t* s, int* out_c) {
  int count;
  bool braces = s->at < s->end && *s->at == '{';
  s->at += braces;
  *out_c = read_number(s, 16, braces ? 8 : 2, &count);
  if (braces ? count == 0 || s->at == s->end || *s->at++ != '}' : count < 2) {
    return invalid("invalid escape sequence");
  }
  return leat_ok_status();
}

// Reads the character that an escape stands for. s->at is after the backslash, where a character
// must be.
static leat_status_t read_escape(syntax_t* s, int* out_c) {
  static const char kNames[] = "afnrtv", kCharacters[] = "\a\f\n\r\t\v";
  int count, c = (unsigned char)*s->at++;
  const char* name = c ? strchr(kNames, c) : NULL;
  *out_c = c;
  if (name) {
    *out_c = kCharacters[name - kNames];
  } else if (c == 'x') {
    LEAT_RETURN_IF_ERROR(read_hex(s, out_c));
  } else if (c >= '0' && c <= '7') {
    --s->at;
    *out_c = read_number(s, 8, 3, &count);
    if (c != '0' && count == 1) return invalid("invalid escape sequence");  // a back reference
  } else if (c == '8' || c == '9' || ((c | 32) >= 'a' && (c | 32) <= 'z') || c >= 128) {
    return c == 'p' || c == 'P' ? beyond("Classes of Unicode") : invalid("invalid escape sequence");
  }
  return *out_c > 0 && *out_c < 128 ? leat_ok_status() : beyond("Escapes beyond ASCII");
}

// Reads up to \E, or to the end of the pattern; every character stands for itself.
static leat_status_t read_quoted(syntax_t* s) {
  for (; s->at < s->end; ++s->at) {
    if (s->at[0] == '\\' && s->end - s->at > 1 && s->at[1] == 'E') {
      s->at += 2;
      break;
    }
    if (*s->at & 0x80) return beyond("Quoted letters beyond ASCII");
    put_literal(s, *s->at);
  }
  return leat_ok_status();
}

// Translates what follows a backslash.
static leat_status_t translate_escape(syntax_t* s) {
  set_t set;
  int c;
  if (s->at == s->end) return invalid("trailing \\");
  switch (*s->at) {
    case 'A': put_atom(s, "(\\`)"); break;
    case 'z': put_atom(s, "(\\')"); break;
    case 'b': put_atom(s, "(\\b)"); break;
    case 'B': put_atom(s, "(\\B)"); break;
    case 'C': return beyond("Single bytes");
    case 'Q': ++s->at; return read_quoted(s);
    default:
      if (find_perl_class(*s->at, &set)) {
        bool negated = !(*s->at & 32);
        set_t all = {0};
        add_all(&all, &set, negated);
        ++s->at;
        return put_set(s, &all, negated);
      }
      LEAT_RETURN_IF_ERROR(read_escape(s, &c));
      put_literal(s, c);
      return leat_ok_status();
  }
  ++s->at;
  return leat_ok_status();
}

// ---- Brackets -----------------------------------------------------------------------------------

// Reads one character of a class.
static leat_status_t read_member(syntax_t* s, int* out_c) {
  if (s->at == s->end) return invalid("missing ]");
  *out_c = (unsigned char)*s->at++;
  if (*out_c >= 128) return beyond("Classes with letters beyond ASCII");
  if (*out_c != '\\') return leat_ok_status();
  return s->at == s->end ? invalid("missing ]") : read_escape(s, out_c);
}

// Reads a character of a class, or a range a-b, and adds it to |set|.
static leat_status_t read_range(syntax_t* s, set_t* set) {
  int first, last;
  LEAT_RETURN_IF_ERROR(read_member(s, &first));
  last = first;
  if (s->end - s->at >= 2 && s->at[0] == '-' && s->at[1] != ']') {
    ++s->at;
    LEAT_RETURN_IF_ERROR(read_member(s, &last));
    if (last < first) return invalid("invalid character class range");
  }
  add_range(set, first, last);
  return leat_ok_status();
}

// Translates a class; s->at is after its "[".
static leat_status_t translate_bracket(syntax_t* s) {
  set_t set = {0}, all = {0}, perl;
  bool negated = s->at < s->end && *s->at == '^';
  s->at += negated;
  for (bool first = true; s->at < s->end && (first || *s->at != ']'); first = false) {
    if (s->end - s->at > 2 && s->at[0] == '[' && s->at[1] == ':') {
      LEAT_RETURN_IF_ERROR(read_named_class(s, &set));
    } else if (s->end - s->at > 1 && s->at[0] == '\\' && find_perl_class(s->at[1], &perl)) {
      if (!(s->at[1] & 32)) return beyond("Negated classes in classes");
      add_all(&set, &perl, false);
      s->at += 2;
    } else {
      LEAT_RETURN_IF_ERROR(read_range(s, &set));
    }
  }
  if (s->at == s->end) return invalid("missing ]");
  ++s->at;
  add_all(&all, &set, negated);
  return put_set(s, &all, negated);
}

// ---- Operators and groups -----------------------------------------------------------------------

// Reads "2}", "2,}" or "2,5}" at s->at. false when none is there: then the brace stands for itself.
static bool read_counts(syntax_t* s, int* out_least, int* out_most) {
  const char* begin = s->at;
  int count;
  *out_least = *out_most = read_number(s, 10, 9, &count);
  bool right = count > 0;
  if (right && s->at < s->end && *s->at == ',') {
    ++s->at;
    *out_most = read_number(s, 10, 9, &count);
    if (count == 0) *out_most = -1;
  }
  right = right && s->at < s->end && *s->at == '}';
  s->at = right ? s->at + 1 : begin;
  return right;
}

// Translates *, +, ? or {...}, which apply to the last atom.
static leat_status_t translate_operator(syntax_t* s, char c) {
  int least = 0, most = -1;
  const char* begin = s->at - 1;
  if (c == '{' && !read_counts(s, &least, &most)) {
    put_literal(s, c);
    return leat_ok_status();
  }
  if (!s->has_atom) return invalid("no argument for repetition operator");
  if (s->after_operator) return invalid("bad repetition operator");
  int64_t factor = c == '{' ? (most < 0 ? least : most) : 1;
  if (factor > MAX_REPEAT || (most >= 0 && most < least) || s->last.repeat * factor > MAX_REPEAT) {
    return invalid("invalid repetition size");
  }
  leat_string_builder_append(s->out, leat_string_view_make(begin, (size_t)(s->at - begin)));
  level_t atom = s->last;
  if (factor > 1) {
    atom.repeat *= factor;
    atom.size *= (size_t)(most < 0 ? factor : factor - 1);  // one of them was counted before
    add_atom(s, atom);
  }
  s->after_operator = true;
  if (s->at < s->end && *s->at == '?') ++s->at;  // a lazy operator
  return leat_ok_status();
}

// s->at is after the "(". Names of groups are dropped, and flags are not implemented.
static leat_status_t open_group(syntax_t* s) {
  if (s->depth + 1 == MAX_DEPTH) return beyond("So many groups in groups");
  if (s->at < s->end && *s->at == '?') {
    const char* rest = s->at + 1;
    size_t size = (size_t)(s->end - rest);
    const char* close = size ? memchr(rest, '>', size) : NULL;
    if (size >= 1 && rest[0] == ':') {
      s->at += 2;
    } else if (close && (rest[0] == '<' || (rest[0] == 'P' && rest[1] == '<'))) {
      s->at = close + 1;
    } else {
      return beyond("Flags in patterns");
    }
  }
  put(s, "(");
  s->levels[++s->depth] = (level_t){1, 1};
  s->has_atom = s->after_operator = false;
  return leat_ok_status();
}

// The whole group becomes the last atom.
static leat_status_t close_group(syntax_t* s) {
  if (s->depth == 0) return invalid("unexpected )");
  put(s, ")");
  --s->depth;
  add_atom(s, s->levels[s->depth + 1]);
  return leat_ok_status();
}

// Writes a character of several bytes, of which the first has been read.
static leat_status_t translate_longer(syntax_t* s) {
  put(s, "(");
  leat_string_builder_append_char(s->out, s->at[-1]);
  while (s->at < s->end && (*s->at & 0xc0) == 0x80) {
    leat_string_builder_append_char(s->out, *s->at++);
  }
  put_atom(s, ")");
  return leat_ok_status();
}

static leat_status_t translate_next(syntax_t* s) {
  char c = *s->at++;
  switch (c) {
    case 0: return beyond("NUL bytes in patterns");
    case '\\': return translate_escape(s);
    case '[': return translate_bracket(s);
    case '(': return open_group(s);
    case ')': return close_group(s);
    case '*':
    case '+':
    case '?':
    case '{': return translate_operator(s, c);
    case '.': put_atom(s, "([^\n\200-\377]|" LONGER ")"); break;
    case '^': put_atom(s, "(\\`)"); break;
    case '$': put_atom(s, "(\\')"); break;
    case '|':
      put(s, "|");
      s->has_atom = s->after_operator = false;
      break;
    default:
      if (c & 0x80) return translate_longer(s);
      put_literal(s, c);
  }
  return leat_ok_status();
}

leat_status_t leat_regex_to_posix(leat_string_view_t pattern, leat_string_builder_t* out) {
  syntax_t s = {.at = pattern.data, .end = pattern.data + pattern.size, .out = out};
  put(&s, "\\`(");
  while (s.at < s.end) {
    LEAT_RETURN_IF_ERROR(translate_next(&s));
    if (s.levels[s.depth].size > MAX_SIZE) return beyond("Patterns of this size");
  }
  if (s.depth) return invalid("missing )");
  put(&s, ")\\'");
  return leat_status_clone(out->status);
}
