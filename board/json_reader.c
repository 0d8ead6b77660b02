// A reader by recursive descent, whose depth is bounded. Of a key that comes twice both items are
// in the tree, and whoever reads it lets the last one win. Escapes that stand for half a character
// (an unpaired surrogate) become U+FFFD.
#include "board/json_reader.h"

#include <string.h>

#define DEPTH_LIMIT 32

typedef struct reader_s {
  leat_string_view_t rest;
  leat_arena_t* arena;
} reader_t;

static leat_status_t invalid(const char* what) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Reading JSON failed: %s", what);
}

static void skip_spaces(reader_t* reader) {
  while (reader->rest.size && strchr(" \t\r\n", reader->rest.data[0]) && reader->rest.data[0]) {
    reader->rest = leat_string_view_from_index(reader->rest, 1);
  }
}

// Takes |c| off the front, behind spaces; false where something else is there.
static bool take(reader_t* reader, char c) {
  skip_spaces(reader);
  if (!reader->rest.size || reader->rest.data[0] != c) return false;
  reader->rest = leat_string_view_from_index(reader->rest, 1);
  return true;
}

// ---- Texts --------------------------------------------------------------------------------------
// Reads four hexadecimal digits behind "\u" at |at|; false where they are none.
static bool read_unit(leat_string_view_t text, size_t at, uint32_t* out_unit) {
  *out_unit = 0;
  if (at + 6 > text.size || text.data[at] != '\\' || text.data[at + 1] != 'u') return false;
  for (size_t i = at + 2; i < at + 6; ++i) {
    const char* digits = "0123456789abcdef0123456789ABCDEF";
    const char* digit = text.data[i] ? strchr(digits, text.data[i]) : NULL;
    if (!digit) return false;
    *out_unit = *out_unit << 4 | (uint32_t)((digit - digits) & 15);
  }
  return true;
}

static size_t put_utf8(uint32_t rune, char* out) {
  if (rune < 0x80) {
    out[0] = (char)rune;
    return 1;
  }
  size_t more = rune < 0x800 ? 1 : rune < 0x10000 ? 2 : 3;
  out[0] = (char)((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | rune >> 6 * more);
  for (size_t i = 1; i <= more; ++i) out[i] = (char)(0x80 | (rune >> 6 * (more - i) & 0x3f));
  return more + 1;
}

// Puts the character of the escape at |*inout_at|, which is moved behind it. The result is never
// longer than the escape. 0 for an escape that does not exist.
static size_t put_escape(leat_string_view_t text, size_t* inout_at, char* out) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  uint32_t unit, low;
  if (read_unit(text, *inout_at, &unit)) {
    *inout_at += 6;
    if (unit >= 0xd800 && unit < 0xdc00 && read_unit(text, *inout_at, &low) && low >= 0xdc00 &&
        low < 0xe000) {
      *inout_at += 6;
      return put_utf8(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), out);
    }
    return put_utf8(unit >= 0xd800 && unit < 0xe000 ? 0xfffd : unit, out);
  }
  const char* name = *inout_at + 1 < text.size && text.data[*inout_at + 1]
                         ? strchr(names, text.data[*inout_at + 1]) : NULL;
  if (!name) return 0;
  *inout_at += 2;
  *out = values[name - names];
  return 1;
}

// Reads a text, of which the first quote was taken.
static leat_status_t read_text(reader_t* reader, leat_string_view_t* out_text) {
  size_t end = 0, size = 0;
  void* bytes;
  leat_string_view_t rest = reader->rest;
  while (end < rest.size && rest.data[end] != '"') end += rest.data[end] == '\\' ? 2 : 1;
  if (end >= rest.size) return invalid("a text has no end");
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(reader->arena, end + 1, &bytes));
  char* copy = bytes;
  leat_string_view_t inside = leat_string_view_make(rest.data, end);
  for (size_t at = 0; at < end;) {
    if (inside.data[at] != '\\') {
      copy[size++] = inside.data[at++];
      continue;
    }
    size_t put = put_escape(inside, &at, copy + size);
    if (!put) return invalid("a text has an escape that does not exist");
    size += put;
  }
  *out_text = leat_string_view_make(copy, size);
  reader->rest = leat_string_view_from_index(rest, end + 1);
  return leat_ok_status();
}

// ---- Values -------------------------------------------------------------------------------------
static leat_status_t read_value(reader_t* reader, int depth, board_json_t* value);

// Reads the items up to |end|, of which the bracket at the beginning was taken.
static leat_status_t read_items(reader_t* reader, int depth, char end, board_json_t* value) {
  board_json_t** link = &value->first;
  if (take(reader, end)) return leat_ok_status();
  do {
    leat_string_view_t key = {0};
    if (end == '}') {
      if (!take(reader, '"')) return invalid("an object lacks a key");
      LEAT_RETURN_IF_ERROR(read_text(reader, &key));
      if (!take(reader, ':')) return invalid("a key has no value");
    }
    LEAT_RETURN_IF_ERROR(LEAT_NEW(reader->arena, 1, link));
    LEAT_RETURN_IF_ERROR(read_value(reader, depth + 1, *link));
    (*link)->key = key;
    link = &(*link)->next;
  } while (take(reader, ','));
  return take(reader, end) ? leat_ok_status() : invalid("a list or an object has no end");
}

// Reads a number, or one of the three words.
static leat_status_t read_word(reader_t* reader, board_json_t* value) {
  static const struct {
    const char* text;
    board_json_kind_t kind;
    bool truth;
  } words[] = {{"null", BOARD_JSON_NULL, false}, {"true", BOARD_JSON_BOOL, true},
               {"false", BOARD_JSON_BOOL, false}};
  size_t size = 0;
  leat_string_view_t rest = reader->rest;
  while (size < rest.size && rest.data[size] && !strchr(" \t\r\n,]}", rest.data[size])) ++size;
  leat_string_view_t word = leat_string_view_make(rest.data, size);
  reader->rest = leat_string_view_from_index(rest, size);
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (!leat_string_view_equals(word, words[i].text)) continue;
    value->kind = words[i].kind;
    value->truth = words[i].truth;
    return leat_ok_status();
  }
  value->kind = BOARD_JSON_NUMBER;
  bool is_number = size && (word.data[0] == '-' || (word.data[0] >= '0' && word.data[0] <= '9')) &&
                   leat_string_view_to_double(word, &value->number);
  return is_number ? leat_ok_status() : invalid("a value is none");
}

static leat_status_t read_value(reader_t* reader, int depth, board_json_t* value) {
  *value = (board_json_t){0};
  if (depth > DEPTH_LIMIT) return invalid("values nest too deeply");
  if (take(reader, '{')) {
    value->kind = BOARD_JSON_OBJECT;
    return read_items(reader, depth, '}', value);
  }
  if (take(reader, '[')) {
    value->kind = BOARD_JSON_LIST;
    return read_items(reader, depth, ']', value);
  }
  if (take(reader, '"')) {
    value->kind = BOARD_JSON_TEXT;
    return read_text(reader, &value->text);
  }
  return read_word(reader, value);
}

leat_status_t board_json_read(leat_string_view_t text, leat_arena_t* arena,
                              board_json_t* out_value) {
  reader_t reader = {text, arena};
  LEAT_RETURN_IF_ERROR(read_value(&reader, 0, out_value));
  skip_spaces(&reader);
  return reader.rest.size ? invalid("something follows the value") : leat_ok_status();
}
