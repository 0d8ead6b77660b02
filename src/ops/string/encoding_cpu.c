// Readers of characters. The encodings that every text on the web may have are decoded here; any
// other, as Shift-JIS, is left to the C library, so that no tables need to be linked. A reader is
// made for the name of an encoding, in any of the spellings in use, and then gives one character at
// a time.
//
// Bytes that are no character are taken as the Unicode standard recommends (chapter 3, "maximal
// subparts"): of UTF-8 as many bytes as could still begin a character count as one mistake, of
// UTF-16 a surrogate that stands alone, of all a character that the end cuts off.
#include "ops/string/encoding_cpu.h"

#include <ctype.h>

// ---- Names --------------------------------------------------------------------------------------

static const struct {
  char name[12];
  leat_encoding_t encoding;
} kNames[] = {
    {"utf8", LEAT_ENCODING_UTF_8},         {"utf16", LEAT_ENCODING_UTF_16},
    {"utf16be", LEAT_ENCODING_UTF_16_BE},  {"utf16le", LEAT_ENCODING_UTF_16_LE},
    {"utf32", LEAT_ENCODING_UTF_32},       {"utf32be", LEAT_ENCODING_UTF_32_BE},
    {"utf32le", LEAT_ENCODING_UTF_32_LE},  {"usascii", LEAT_ENCODING_ASCII},
    {"ascii", LEAT_ENCODING_ASCII},        {"iso88591", LEAT_ENCODING_LATIN_1},
    {"latin1", LEAT_ENCODING_LATIN_1},
};

// Whether |name| is |wanted|, a name in small letters without '-', '_' and spaces.
static bool is_name(leat_string_view_t name, const char* wanted) {
  for (size_t i = 0; i < name.size; ++i) {
    char c = name.data[i];
    if (c == '-' || c == '_' || c == ' ') continue;
    if (tolower((unsigned char)c) != *wanted || !c) return false;
    ++wanted;
  }
  return !*wanted;
}

// The C library's converter for a name as it is, or with '-' for '_', as in euc_kr.
static leat_status_t open_converter(leat_string_view_t encoding,
                                    leat_text_converter_t** out_converter) {
  // The C library's Shift-JIS has a yen sign for the backslash, that of the web has not.
  if (is_name(encoding, "shiftjis")) encoding = LEAT_SV("CP932");
  leat_status_t status = leat_text_converter_create(encoding, out_converter);
  if (!status) return status;
  leat_status_free(status);
  char* name;
  LEAT_RETURN_IF_ERROR(leat_allocator_clone_string(leat_allocator_system(), encoding.data,
                                                   encoding.size, &name));
  for (size_t i = 0; i < encoding.size; ++i) {
    if (name[i] == '_') name[i] = '-';
  }
  status = leat_text_converter_create(leat_string_view_make(name, encoding.size),
                                      out_converter);
  leat_allocator_free(leat_allocator_system(), name);
  return leat_status_annotate(status, "Could not create converter for input encoding: %.*s",
                              LEAT_SV_ARG(encoding));
}

leat_status_t leat_character_reader_initialize(leat_string_view_t encoding,
                                               leat_character_reader_t* out_reader) {
  *out_reader = (leat_character_reader_t){.encoding = LEAT_ENCODING_SYSTEM};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNames); ++i) {
    if (!is_name(encoding, kNames[i].name)) continue;
    out_reader->encoding = kNames[i].encoding;
    return leat_ok_status();
  }
  return open_converter(encoding, &out_reader->converter);
}

void leat_character_reader_deinitialize(leat_character_reader_t* reader) {
  leat_text_converter_free(reader->converter);
  reader->converter = NULL;
}

// ---- Reading ------------------------------------------------------------------------------------

static uint32_t byte_at(const leat_character_reader_t* r, size_t at) {
  return (unsigned char)r->text.data[at];
}

static uint32_t unit_16(const leat_character_reader_t* r, size_t at, bool little) {
  return little ? byte_at(r, at) | byte_at(r, at + 1) << 8
                : byte_at(r, at) << 8 | byte_at(r, at + 1);
}

static uint32_t unit_32(const leat_character_reader_t* r, size_t at, bool little) {
  return little ? unit_16(r, at, true) | unit_16(r, at + 2, true) << 16
                : unit_16(r, at, false) << 16 | unit_16(r, at + 2, false);
}

static bool is_surrogate(uint32_t c) { return c >= 0xD800 && c < 0xE000; }

void leat_character_reader_begin(leat_character_reader_t* reader, leat_string_view_t text) {
  reader->text = text;
  reader->at = 0;
  if (reader->converter) leat_text_converter_reset(reader->converter);
}

// The byte order of a text in UTF-16 or UTF-32; skips the mark that says it.
static bool is_little(leat_character_reader_t* r, bool wide) {
  size_t size = wide ? 4 : 2;
  if (r->encoding == LEAT_ENCODING_UTF_16_LE || r->encoding == LEAT_ENCODING_UTF_32_LE) return true;
  if (r->encoding == LEAT_ENCODING_UTF_16_BE || r->encoding == LEAT_ENCODING_UTF_32_BE) {
    return false;
  }
  if (r->text.size < size) return false;
  bool little = (wide ? unit_32(r, 0, true) : unit_16(r, 0, true)) == 0xFEFF;
  bool big = (wide ? unit_32(r, 0, false) : unit_16(r, 0, false)) == 0xFEFF;
  if (r->at == 0 && (little || big)) r->at = size;
  return little;
}

static bool next_utf_8(leat_character_reader_t* r, uint32_t* out_character) {
  uint32_t first = byte_at(r, r->at++);
  *out_character = first;
  if (first < 0x80) return true;
  if (first < 0xC2 || first > 0xF4) return false;
  int more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  uint32_t c = first & (0x3Fu >> more);
  for (int i = 0; i < more; ++i) {
    if (r->at == r->text.size) return false;
    uint32_t next = byte_at(r, r->at);
    // The second byte of some characters has bounds of its own: no longer forms than needed, no
    // surrogates, nothing beyond the last character.
    uint32_t least = i ? 0x80 : first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint32_t most = i ? 0xBF : first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (next < least || next > most) return false;
    c = c << 6 | (next & 0x3F);
    ++r->at;
  }
  *out_character = c;
  return true;
}

static bool next_utf_16(leat_character_reader_t* r, uint32_t* out_character) {
  bool little = is_little(r, false);
  if (r->text.size - r->at < 2) {
    r->at = r->text.size;
    return false;
  }
  uint32_t c = unit_16(r, r->at, little);
  r->at += 2;
  *out_character = c;
  if (!is_surrogate(c)) return true;
  if (c >= 0xDC00 || r->text.size - r->at < 2) return false;
  uint32_t low = unit_16(r, r->at, little);
  if (low < 0xDC00 || low > 0xDFFF) return false;
  r->at += 2;
  *out_character = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
  return true;
}

static bool next_utf_32(leat_character_reader_t* r, uint32_t* out_character) {
  bool little = is_little(r, true);
  if (r->text.size - r->at < 4) {
    r->at = r->text.size;
    return false;
  }
  *out_character = unit_32(r, r->at, little);
  r->at += 4;
  return *out_character <= 0x10FFFF && !is_surrogate(*out_character);
}

static bool next_of_system(leat_character_reader_t* r, uint32_t* out_character) {
  leat_string_view_t rest = leat_string_view_make(r->text.data + r->at, r->text.size - r->at);
  size_t size;
  bool is_good = leat_text_converter_next(r->converter, rest, &size, out_character);
  r->at += size;
  return is_good;
}

bool leat_character_reader_next(leat_character_reader_t* reader, uint32_t* out_character) {
  switch (reader->encoding) {
    case LEAT_ENCODING_UTF_8: return next_utf_8(reader, out_character);
    case LEAT_ENCODING_UTF_16:
    case LEAT_ENCODING_UTF_16_BE:
    case LEAT_ENCODING_UTF_16_LE: return next_utf_16(reader, out_character);
    case LEAT_ENCODING_UTF_32:
    case LEAT_ENCODING_UTF_32_BE:
    case LEAT_ENCODING_UTF_32_LE: return next_utf_32(reader, out_character);
    case LEAT_ENCODING_ASCII:
    case LEAT_ENCODING_LATIN_1:
      *out_character = byte_at(reader, reader->at++);
      return reader->encoding == LEAT_ENCODING_LATIN_1 || *out_character < 0x80;
    case LEAT_ENCODING_SYSTEM: return next_of_system(reader, out_character);
  }
  return false;
}

// ---- Writing ------------------------------------------------------------------------------------

bool leat_character_is_valid(int64_t character) {
  return character >= 0 && character <= 0x10FFFF && !is_surrogate((uint32_t)character);
}

static void append_bytes(leat_string_builder_t* out, uint32_t value, int count) {
  for (int i = count - 1; i >= 0; --i) {
    leat_string_builder_append_char(out, (char)(value >> (8 * i)));
  }
}

static void append_utf_8(leat_string_builder_t* out, uint32_t c) {
  int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const unsigned char kMarks[] = {0, 0xC0, 0xE0, 0xF0};
  leat_string_builder_append_char(out, (char)(kMarks[more] | c >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) {
    leat_string_builder_append_char(out, (char)(0x80 | (c >> (6 * i) & 0x3F)));
  }
}

void leat_character_append(leat_encoding_t encoding, uint32_t character,
                           leat_string_builder_t* out) {
  if (encoding == LEAT_ENCODING_UTF_8) {
    append_utf_8(out, character);
  } else if (encoding == LEAT_ENCODING_UTF_32_BE) {
    append_bytes(out, character, 4);
  } else if (character < 0x10000) {
    append_bytes(out, character, 2);
  } else {
    append_bytes(out, 0xD800 + ((character - 0x10000) >> 10), 2);
    append_bytes(out, 0xDC00 + (character & 0x3FF), 2);
  }
}
