// Parses regular expressions in RE2's syntax, by recursive descent:
//
//     alternatives  ::= sequence ('|' sequence)*
//     sequence      ::= (atom (('*' | '+' | '?' | '{' n [',' [m]] '}') ['?'])?)*
//     atom          ::= character | '.' | class | escape | '^' | '$' | group
//
// Errors say in RE2's words what is wrong, and most quote the part of the pattern that is. Case is
// not left to the search: where it does not count, a letter becomes a class of its cases, which is
// why all characters of the tree are classes. How deep groups are in each other, the product of
// nested repetitions and the size of all classes are bounded, so that a short pattern takes neither
// a deep stack nor much memory. Groups deeper than that are UNIMPLEMENTED, since RE2 has no limit.
#include <string.h>

#include "base/checked.h"
#include "ops/string/pattern_class_cpu.h"

enum {
  MAX_REPEAT = 1000,  // RE2's limit, also for the product of nested repetitions
  MAX_DEPTH = 1000,   // of groups
};

typedef struct flags_s {
  bool no_case, lines, newlines, lazy;  // i, m, s, U
} flags_t;

typedef struct parser_s {
  leat_string_view_t pattern;
  size_t at;
  flags_t flags;
  bool quoted;  // between \Q and \E, where every character stands for itself
  int depth;
  leat_pattern_tree_t* tree;
} parser_t;

// The pattern is wrong from |begin| to p->at.
static leat_status_t invalid(const parser_t* p, const char* why, size_t begin) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s: %.*s", why, (int)(p->at - begin),
                          p->pattern.data + begin);
}

static leat_status_t beyond(const char* what) {
  return leat_make_status(LEAT_UNIMPLEMENTED, "%s are not implemented", what);
}

static bool has_more(const parser_t* p) { return p->at < p->pattern.size; }
static bool next_is(const parser_t* p, char c) {
  return has_more(p) && p->pattern.data[p->at] == c;
}

static bool take(parser_t* p, const char* text) {
  size_t size = strlen(text);
  bool found = p->pattern.size - p->at >= size && !memcmp(p->pattern.data + p->at, text, size);
  if (found) p->at += size;
  return found;
}

static leat_status_t add_node(parser_t* p, leat_pattern_node_t node, uint32_t* out_node) {
  leat_pattern_tree_t* tree = p->tree;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), tree->node_count + 1, &tree->nodes,
                                 &tree->node_capacity));
  if (node.repeat < 1) node.repeat = 1;
  node.next = LEAT_PATTERN_NONE;
  tree->nodes[tree->node_count] = node;
  *out_node = (uint32_t)tree->node_count++;
  return leat_ok_status();
}

// Makes |child| the last of the children of |parent|; |*inout_last| is the one before.
static void add_child(parser_t* p, uint32_t parent, uint32_t child, uint32_t* inout_last) {
  leat_pattern_node_t* nodes = p->tree->nodes;
  if (*inout_last == LEAT_PATTERN_NONE) {
    nodes[parent].a = child;
  } else {
    nodes[*inout_last].next = child;
  }
  *inout_last = child;
  nodes[parent].repeat = LEAT_MAX(nodes[parent].repeat, nodes[child].repeat);
}

static leat_status_t add_place(parser_t* p, leat_pattern_place_e place, uint32_t* out_node) {
  return add_node(p, (leat_pattern_node_t){.kind = LEAT_PATTERN_PLACE, .a = place}, out_node);
}

static leat_status_t add_parent(parser_t* p, leat_pattern_kind_e kind, uint32_t* out_node) {
  return add_node(p, (leat_pattern_node_t){.kind = kind, .a = LEAT_PATTERN_NONE}, out_node);
}

// ---- Classes ------------------------------------------------------------------------------------
// A class in the making is at the end of the pattern's ranges.

static leat_status_t add_range(parser_t* p, uint32_t first, uint32_t last) {
  return leat_pattern_add_range(p->tree, first, last, p->flags.no_case);
}

static leat_status_t end_class(parser_t* p, size_t begin, bool negated, uint32_t* out_node) {
  LEAT_RETURN_IF_ERROR(leat_pattern_end_set(p->tree, begin, negated));
  return add_node(p, (leat_pattern_node_t){.kind = LEAT_PATTERN_CLASS, .a = (uint32_t)begin,
                                           .b = (uint32_t)(p->tree->range_count - begin)},
                  out_node);
}

static leat_status_t add_character(parser_t* p, uint32_t rune, uint32_t* out_node) {
  size_t begin = p->tree->range_count;
  LEAT_RETURN_IF_ERROR(add_range(p, rune, rune));
  return end_class(p, begin, false, out_node);
}

// Adds a class of |pairs|, a string of first and last characters of ranges.
static leat_status_t add_pairs(parser_t* p, const char* pairs, bool negated) {
  size_t begin = p->tree->range_count;
  for (; *pairs; pairs += 2) {
    LEAT_RETURN_IF_ERROR(add_range(p, (unsigned char)pairs[0], (unsigned char)pairs[1]));
  }
  return leat_pattern_end_set(p->tree, begin, negated);
}

// The class that \d, \w or \s stands for, as pairs; NULL for other letters.
static const char* perl_class(char letter) {
  switch (letter | 32) {
    case 'd': return "09";
    case 'w': return "09AZ__az";
    case 's': return "\t\n\f\r  ";
    default: return NULL;
  }
}

static bool is_letter(char c) {
  return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

// Whether ":]" comes behind the "[:" at p->at; else the bracket stands for itself.
static bool has_end_of_name(const parser_t* p) {
  const char* text = p->pattern.data;
  for (size_t i = p->at + 2; i + 1 < p->pattern.size; ++i) {
    if (text[i] == ':' && text[i + 1] == ']') return true;
  }
  return false;
}

// Reads "[:name:]" at p->at.
static leat_status_t read_named_class(parser_t* p) {
  static const struct {
    const char *name, *pairs;
  } kNames[] = {
      {"alnum:]", "09AZaz"},
      {"alpha:]", "AZaz"},
      {"ascii:]", "\1\177"},
      {"blank:]", "\t\t  "},
      {"cntrl:]", "\1\37\177\177"},
      {"digit:]", "09"},
      {"graph:]", "!~"},
      {"lower:]", "az"},
      {"print:]", " ~"},
      {"punct:]", "!/:@[`{~"},
      {"space:]", "\t\r  "},
      {"upper:]", "AZ"},
      {"word:]", "09AZ__az"},
      {"xdigit:]", "09AFaf"},
  };
  size_t name = p->at;
  p->at += 2;
  bool negated = take(p, "^");
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNames); ++i) {
    if (!take(p, kNames[i].name)) continue;
    size_t begin = p->tree->range_count;
    bool has_nul = kNames[i].pairs[0] == 1;  // ascii and cntrl have it, but pairs end at a NUL
    if (has_nul) LEAT_RETURN_IF_ERROR(add_range(p, 0, 0));
    LEAT_RETURN_IF_ERROR(add_pairs(p, kNames[i].pairs, false));
    return leat_pattern_end_set(p->tree, begin, negated);
  }
  while (!take(p, ":]")) p->at += 1;
  return invalid(p, "invalid character class range", name);
}

// ---- Escapes ------------------------------------------------------------------------------------

// Reads a character as it stands. INVALID_ARGUMENT where the pattern is no UTF-8.
static leat_status_t read_rune(parser_t* p, uint32_t* out_rune) {
  size_t size = leat_pattern_character(p->pattern, p->at, out_rune);
  p->at += size;
  if (*out_rune <= LEAT_PATTERN_LAST_RUNE) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "invalid UTF-8");
}

// Adds the class of Unicode, as in \p{Lu}, \pL or \P{^Greek}, whose "p" or "P" is at p->at.
static leat_status_t read_unicode_class(parser_t* p) {
  size_t begin = p->at - 1, set = p->tree->range_count;
  bool negated = next_is(p, 'P'), known = false;
  uint32_t letter;
  p->at += 1;
  bool braces = take(p, "{");
  if (braces && take(p, "^")) negated = !negated;
  size_t name = p->at;
  if (!braces && has_more(p)) LEAT_RETURN_IF_ERROR(read_rune(p, &letter));
  while (braces && has_more(p) && !next_is(p, '}')) p->at += 1;
  leat_string_view_t text = leat_string_view_make(p->pattern.data + name, p->at - name);
  bool right = !braces || take(p, "}");
  if (right) {
    LEAT_RETURN_IF_ERROR(leat_pattern_add_unicode(p->tree, text, p->flags.no_case, &known));
  }
  return known ? leat_pattern_end_set(p->tree, set, negated)
               : invalid(p, "invalid character class range", begin);
}

static bool at_unicode_class(const parser_t* p) { return next_is(p, 'p') || next_is(p, 'P'); }

// The value of a digit, up to hexadecimal; 99 for other characters.
static uint32_t digit_of(uint32_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

// Reads up to |limit| digits; |out_count| is how many there were.
static uint32_t read_number(parser_t* p, uint32_t base, int limit, int* out_count) {
  uint32_t value = 0;
  for (*out_count = 0; *out_count < limit && has_more(p); ++*out_count, ++p->at) {
    uint32_t digit = digit_of((unsigned char)p->pattern.data[p->at]);
    if (digit >= base) break;
    if (value < 1 << 24) value = value * base + digit;
  }
  return value;
}

// Reads "41" or "{41}" behind "\x". Where it is wrong, p->at is behind what RE2 quotes of it.
static leat_status_t read_hexadecimal(parser_t* p, uint32_t* out_rune, bool* out_right) {
  const bool braces = take(p, "{");
  bool all_digits = true;
  *out_right = false;
  *out_rune = 0;
  if (braces && !has_more(p)) return leat_make_status(LEAT_INVALID_ARGUMENT, "invalid UTF-8");
  for (int count = 0; has_more(p) && !*out_right; ++count) {
    uint32_t c;
    LEAT_RETURN_IF_ERROR(read_rune(p, &c));
    const uint32_t digit = digit_of(c);
    *out_right = braces && c == '}' && count > 0;
    if (braces && (digit >= 16 || *out_rune * 16 + digit > LEAT_PATTERN_LAST_RUNE)) break;
    all_digits = all_digits && digit < 16;
    *out_rune = *out_rune * 16 + digit;
    if (!braces && count == 1) {
      *out_right = all_digits;
      break;
    }
  }
  return leat_ok_status();
}

static leat_status_t trailing_backslash(void) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "trailing \\");
}

// Reads the character that an escape stands for; p->at is after the backslash.
static leat_status_t read_escape(parser_t* p, uint32_t* out_rune) {
  static const char kNames[] = "afnrtv", kCharacters[] = "\a\f\n\r\t\v";
  if (!has_more(p)) return trailing_backslash();
  char c = p->pattern.data[p->at];
  const char* name = c ? strchr(kNames, c) : NULL;
  size_t begin = p->at - 1;
  bool right = !is_letter(c) && !(c & 0x80);
  int count;
  if (name) {
    p->at += 1;
    *out_rune = (unsigned char)kCharacters[name - kNames];
    right = true;
  } else if (c >= '0' && c <= '7') {
    *out_rune = read_number(p, 8, 3, &count);
    right = c == '0' || count > 1;  // else it is a reference to a group, which RE2 has not
  } else if (take(p, "x")) {
    LEAT_RETURN_IF_ERROR(read_hexadecimal(p, out_rune, &right));
  } else {
    LEAT_RETURN_IF_ERROR(read_rune(p, out_rune));
  }
  return right ? leat_ok_status() : invalid(p, "invalid escape sequence", begin);
}

// Reads an escape that is an atom; p->at is after the backslash.
static leat_status_t read_escaped_atom(parser_t* p, uint32_t* out_node) {
  static const char kLetters[] = "AzbB";
  static const leat_pattern_place_e kPlaces[] = {LEAT_PATTERN_TEXT_BEGIN, LEAT_PATTERN_TEXT_END,
                                                 LEAT_PATTERN_WORD_EDGE, LEAT_PATTERN_NO_WORD_EDGE};
  if (!has_more(p)) return trailing_backslash();
  char c = p->pattern.data[p->at];
  const char* place = c ? strchr(kLetters, c) : NULL;
  size_t begin = p->tree->range_count;
  uint32_t rune;
  if (place) {
    p->at += 1;
    if (c == 'B') p->tree->by_bytes = true;
    return add_place(p, kPlaces[place - kLetters], out_node);
  }
  if (take(p, "C")) {
    p->tree->by_bytes = true;
    return add_node(p, (leat_pattern_node_t){.kind = LEAT_PATTERN_BYTE}, out_node);
  }
  if (at_unicode_class(p)) {
    LEAT_RETURN_IF_ERROR(read_unicode_class(p));
    return end_class(p, begin, false, out_node);
  }
  if (perl_class(c)) {
    p->at += 1;
    LEAT_RETURN_IF_ERROR(add_pairs(p, perl_class(c), !(c & 32)));
    return end_class(p, begin, false, out_node);
  }
  LEAT_RETURN_IF_ERROR(read_escape(p, &rune));
  return add_character(p, rune, out_node);
}

// ---- Brackets -----------------------------------------------------------------------------------

// Reads one character of a class, before the end of the pattern.
static leat_status_t read_member(parser_t* p, uint32_t* out_rune) {
  return take(p, "\\") ? read_escape(p, out_rune) : read_rune(p, out_rune);
}

// Reads a character of a class, or a range a-b.
static leat_status_t read_range(parser_t* p) {
  size_t begin = p->at;
  uint32_t first, last;
  LEAT_RETURN_IF_ERROR(read_member(p, &first));
  last = first;
  if (next_is(p, '-') && p->pattern.size - p->at >= 2 && p->pattern.data[p->at + 1] != ']') {
    p->at += 1;
    LEAT_RETURN_IF_ERROR(read_member(p, &last));
    if (last < first) return invalid(p, "invalid character class range", begin);
  }
  return add_range(p, first, last);
}

// Reads a class; p->at is after its "[".
static leat_status_t read_bracket(parser_t* p, uint32_t* out_node) {
  size_t begin = p->tree->range_count, bracket = p->at - 1;
  bool negated = take(p, "^");
  for (bool first = true; has_more(p) && (first || !next_is(p, ']')); first = false) {
    const char* rest = p->pattern.data + p->at;
    size_t size = p->pattern.size - p->at;
    if (size > 2 && rest[0] == '[' && rest[1] == ':' && has_end_of_name(p)) {
      LEAT_RETURN_IF_ERROR(read_named_class(p));
    } else if (size > 1 && rest[0] == '\\' && perl_class(rest[1])) {
      p->at += 2;
      LEAT_RETURN_IF_ERROR(add_pairs(p, perl_class(rest[1]), !(rest[1] & 32)));
    } else if (take(p, "\\p") || take(p, "\\P")) {
      p->at -= 1;
      LEAT_RETURN_IF_ERROR(read_unicode_class(p));
    } else {
      LEAT_RETURN_IF_ERROR(read_range(p));
    }
  }
  if (!take(p, "]")) return invalid(p, "missing ]", bracket);
  return end_class(p, begin, negated, out_node);
}

// ---- Groups and operators -----------------------------------------------------------------------

static leat_status_t read_alternatives(parser_t* p, uint32_t* out_node);

typedef struct operator_s {
  int32_t least, most;  // most -1: any number
  bool lazy;
} operator_t;

// Reads "{2}", "{2,}" or "{2,5}" at p->at; false where there is none: then "{" stands for itself.
static bool read_counts(parser_t* p, operator_t* out) {
  size_t begin = p->at;
  int count;
  p->at += 1;
  out->least = out->most = (int32_t)read_number(p, 10, 9, &count);
  bool right = count > 0;
  if (right && take(p, ",")) {
    out->most = (int32_t)read_number(p, 10, 9, &count);
    if (count == 0) out->most = -1;
  }
  right = right && take(p, "}");
  if (!right) p->at = begin;
  return right;
}

static bool read_operator(parser_t* p, operator_t* out) {
  *out = (operator_t){.least = 0, .most = -1};
  if (take(p, "+")) {
    out->least = 1;
  } else if (take(p, "?")) {
    out->most = 1;
  } else if (next_is(p, '{')) {
    if (!read_counts(p, out)) return false;
  } else if (!take(p, "*")) {
    return false;
  }
  out->lazy = take(p, "?") != p->flags.lazy;
  return true;
}

// Whether the operator can repeat something in which |product| repetitions are in each other.
static bool has_right_size(const operator_t* operator, int64_t product) {
  product *= LEAT_MAX(LEAT_MAX(operator->least, operator->most), 1);
  return product <= MAX_REPEAT && (operator->most < 0 || operator->most >= operator->least);
}

// The operator from |begin| to p->at has nothing to repeat.
static leat_status_t no_argument(const parser_t* p, const operator_t* operator, size_t begin) {
  return invalid(p, has_right_size(operator, 1) ? "no argument for repetition operator"
                                                : "invalid repetition size",
                 begin);
}

// Reads flags "is-m" after the "(?" at |begin|, and the ":" or ")" after them.
static leat_status_t read_flags(parser_t* p, size_t begin, flags_t* out_flags) {
  bool value = true, is_last = true;  // is_last: the flags may end here
  while (has_more(p)) {
    uint32_t c;
    LEAT_RETURN_IF_ERROR(read_rune(p, &c));
    bool* flag = c == 'i'   ? &out_flags->no_case
                 : c == 'm' ? &out_flags->lines
                 : c == 's' ? &out_flags->newlines
                 : c == 'U' ? &out_flags->lazy
                            : NULL;
    if (flag) {
      *flag = value;
      is_last = true;
    } else if (c == '-' && value) {
      value = is_last = false;
    } else if ((c == ':' || c == ')') && is_last) {
      return leat_ok_status();
    } else {
      break;
    }
  }
  return invalid(p, "invalid perl operator", begin);
}

// Reads the name of a group, whose "(" is at |begin|, and the ">" after it. Names mean nothing.
static leat_status_t read_name(parser_t* p, size_t begin) {
  size_t name = p->at;
  bool right = true;
  while (has_more(p) && !next_is(p, '>')) {
    uint32_t letter;
    LEAT_RETURN_IF_ERROR(read_rune(p, &letter));
    right = right && leat_pattern_is_in_name(letter);
  }
  right = right && p->at > name;
  return take(p, ">") && right ? leat_ok_status()
                               : invalid(p, "invalid named capture group", begin);
}

// Reads a group; p->at is after its "(". Flags in it hold up to its end, those of a "(?i)", which
// is no node, up to the end of the group around.
static leat_status_t read_group(parser_t* p, uint32_t* out_node) {
  size_t begin = p->at - 1;
  flags_t outer = p->flags;
  int32_t number = 0;
  if (p->pattern.size - begin > 4 && take(p, "?P<")) {
    LEAT_RETURN_IF_ERROR(read_name(p, begin));
    number = ++p->tree->group_count;
  } else if (take(p, "?")) {
    LEAT_RETURN_IF_ERROR(read_flags(p, begin, &p->flags));
    *out_node = LEAT_PATTERN_NONE;
    if (p->pattern.data[p->at - 1] == ')') return leat_ok_status();
  } else {
    number = ++p->tree->group_count;
  }
  if (++p->depth > MAX_DEPTH) return beyond("So many groups in groups");
  uint32_t inside;
  LEAT_RETURN_IF_ERROR(read_alternatives(p, &inside));
  if (!take(p, ")")) return invalid(p, "missing )", 0);
  p->depth -= 1;
  p->flags = outer;
  int32_t product = p->tree->nodes[inside].repeat;
  return add_node(p, (leat_pattern_node_t){.kind = LEAT_PATTERN_GROUP, .a = inside,
                                           .least = number, .repeat = product},
                  out_node);
}

static leat_status_t read_atom(parser_t* p, uint32_t* out_node) {
  uint32_t rune, begin = p->tree->range_count;
  if (take(p, "\\")) return read_escaped_atom(p, out_node);
  if (take(p, "[")) return read_bracket(p, out_node);
  if (take(p, "(")) return read_group(p, out_node);
  if (take(p, ".")) {
    if (!p->flags.newlines) LEAT_RETURN_IF_ERROR(add_range(p, '\n', '\n'));
    return end_class(p, begin, true, out_node);
  }
  if (take(p, "^")) {
    return add_place(p, p->flags.lines ? LEAT_PATTERN_LINE_BEGIN : LEAT_PATTERN_TEXT_BEGIN,
                     out_node);
  }
  if (take(p, "$")) {
    return add_place(p, p->flags.lines ? LEAT_PATTERN_LINE_END : LEAT_PATTERN_TEXT_END, out_node);
  }
  LEAT_RETURN_IF_ERROR(read_rune(p, &rune));
  return add_character(p, rune, out_node);
}

// Reads the operator after an atom, if there is one.
static leat_status_t repeat(parser_t* p, uint32_t* inout_node) {
  size_t begin = p->at;
  operator_t operator, unused;
  if (!read_operator(p, &operator)) return leat_ok_status();
  int32_t product = p->tree->nodes[*inout_node].repeat;
  if (!has_right_size(&operator, product)) return invalid(p, "invalid repetition size", begin);
  product *= LEAT_MAX(LEAT_MAX(operator.least, operator.most), 1);
  const leat_pattern_node_t node = {.kind = LEAT_PATTERN_REPEAT,
                                    .a = *inout_node,
                                    .least = operator.least,
                                    .most = operator.most,
                                    .lazy = operator.lazy,
                                    .repeat = product};
  LEAT_RETURN_IF_ERROR(add_node(p, node, inout_node));
  return read_operator(p, &unused) ? invalid(p, "bad repetition operator", begin)
                                   : leat_ok_status();
}

// Reads the operator after flags, as in "a(?i)*": it repeats |last|, what stands before them.
static leat_status_t repeat_last(parser_t* p, uint32_t parent, uint32_t last) {
  const size_t begin = p->at;
  operator_t operator;
  uint32_t node;
  if (last == LEAT_PATTERN_NONE) {
    return read_operator(p, &operator) ? no_argument(p, &operator, begin) : leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(add_node(p, p->tree->nodes[last], &node));
  LEAT_RETURN_IF_ERROR(repeat(p, &node));
  leat_pattern_node_t* nodes = p->tree->nodes;
  nodes[last] = nodes[node];
  nodes[parent].repeat = LEAT_MAX(nodes[parent].repeat, nodes[last].repeat);
  return leat_ok_status();
}

// Reads a character between \Q and \E, and the \E if that is next.
static leat_status_t read_quoted(parser_t* p, uint32_t* out_node) {
  uint32_t rune;
  LEAT_RETURN_IF_ERROR(read_rune(p, &rune));
  p->quoted = !take(p, "\\E");
  return add_character(p, rune, out_node);
}

static leat_status_t read_sequence(parser_t* p, uint32_t* out_node) {
  uint32_t last = LEAT_PATTERN_NONE, atom;
  operator_t operator;
  LEAT_RETURN_IF_ERROR(add_parent(p, LEAT_PATTERN_SEQUENCE, out_node));
  while (has_more(p) && (p->quoted || (!next_is(p, '|') && !next_is(p, ')')))) {
    size_t begin = p->at;
    if (p->quoted) {
      LEAT_RETURN_IF_ERROR(read_quoted(p, &atom));
    } else if (take(p, "\\Q")) {
      p->quoted = !take(p, "\\E");
      continue;
    } else if (read_operator(p, &operator)) {
      return no_argument(p, &operator, begin);
    } else {
      LEAT_RETURN_IF_ERROR(read_atom(p, &atom));
    }
    if (atom == LEAT_PATTERN_NONE) {
      LEAT_RETURN_IF_ERROR(repeat_last(p, *out_node, last));
    } else {
      if (!p->quoted) LEAT_RETURN_IF_ERROR(repeat(p, &atom));
      add_child(p, *out_node, atom, &last);
    }
  }
  return leat_ok_status();
}

static leat_status_t read_alternatives(parser_t* p, uint32_t* out_node) {
  uint32_t last = LEAT_PATTERN_NONE, sequence;
  LEAT_RETURN_IF_ERROR(add_parent(p, LEAT_PATTERN_EITHER, out_node));
  do {
    LEAT_RETURN_IF_ERROR(read_sequence(p, &sequence));
    add_child(p, *out_node, sequence, &last);
  } while (take(p, "|"));
  return leat_ok_status();
}

leat_status_t leat_pattern_parse(leat_string_view_t text, leat_pattern_tree_t* out_tree) {
  parser_t p = {.pattern = text, .tree = out_tree};
  LEAT_RETURN_IF_ERROR(read_alternatives(&p, &out_tree->root));
  if (!has_more(&p)) return leat_ok_status();
  p.at = text.size;
  return invalid(&p, "unexpected )", 0);
}
