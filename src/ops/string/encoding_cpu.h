// Encodings of text: characters read from bytes, and written as bytes.
#ifndef LEAT_OPS_STRING_ENCODING_CPU_H_
#define LEAT_OPS_STRING_ENCODING_CPU_H_

#include "base/string_builder.h"
#include "base/text_converter.h"

#define LEAT_CHARACTER_REPLACEMENT 0xFFFD  // what stands for bytes that are not a character

typedef enum leat_encoding_e {
  LEAT_ENCODING_UTF_8,
  LEAT_ENCODING_UTF_16,  // the byte order is that of a mark at the beginning, else big-endian
  LEAT_ENCODING_UTF_16_BE,
  LEAT_ENCODING_UTF_16_LE,
  LEAT_ENCODING_UTF_32,  // likewise
  LEAT_ENCODING_UTF_32_BE,
  LEAT_ENCODING_UTF_32_LE,
  LEAT_ENCODING_ASCII,
  LEAT_ENCODING_LATIN_1,
  LEAT_ENCODING_SYSTEM,  // any other that the C library has
} leat_encoding_t;

// Reads the characters of texts. One thread uses a reader.
typedef struct leat_character_reader_s {
  leat_encoding_t encoding;
  leat_text_converter_t* converter;  // of LEAT_ENCODING_SYSTEM
  leat_string_view_t text;
  size_t at;  // the next byte
} leat_character_reader_t;

// Finds the encoding of a name; capitals, '-', '_' and spaces make no difference. INVALID_ARGUMENT
// for a name that neither the table nor the C library has.
LEAT_MUST_USE leat_status_t leat_character_reader_initialize(
    leat_string_view_t encoding, leat_character_reader_t* out_reader);
void leat_character_reader_deinitialize(leat_character_reader_t* reader);

// Begins with a text, which is borrowed until the next one. A byte order mark is skipped where the
// encoding leaves the order open.
void leat_character_reader_begin(leat_character_reader_t* reader, leat_string_view_t text);
// Whether there is a next character; it begins at reader->at.
static inline bool leat_character_reader_has_next(const leat_character_reader_t* reader) {
  return reader->at < reader->text.size;
}
// Takes the next character, or where the bytes are none, as many of them as belong together, which
// gives false.
bool leat_character_reader_next(leat_character_reader_t* reader, uint32_t* out_character);

// Whether a number is a character: not a surrogate, and not beyond the last one.
bool leat_character_is_valid(int64_t character);
// Appends a character in UTF-8, UTF-16-BE or UTF-32-BE.
void leat_character_append(leat_encoding_t encoding, uint32_t character,
                           leat_string_builder_t* out);

#endif  // LEAT_OPS_STRING_ENCODING_CPU_H_
