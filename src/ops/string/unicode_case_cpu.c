// Changes letters between capital and small by tables of runs, in order of their characters; the
// ops StringUpper and StringLower do so where their encoding is "utf-8" (text_cpu.c). What Unicode
// says of all languages is done; rules of single languages (Turkish i) are not, as in TensorFlow,
// whose strings have no language. A run says by how much its characters, or every second one, move,
// and is found by binary search. unicode_case.inc holds the runs in both directions as macros and
// is included once for each table, which keeps all that dev/generate-unicode-cases prints in one
// file.
//
// Three rules do not fit a run. A letter whose capitals are several ("ß": "SS") stands in a table
// of its own. The capital I with a dot becomes an i and a combining dot. A capital sigma becomes
// the final one where a letter stands before it and none behind, with characters that do not end a
// word ignored on both sides: |in_word| remembers what stands before, and a copy of the reader
// looks at what follows. The look ahead ends at the first character that is not ignored, so a text
// is still read in time in proportion to its length. Bytes that are no character become U+FFFD.
#include "ops/string/unicode_case_cpu.h"

#include "base/attributes.h"
#include "ops/string/encoding_cpu.h"
#include "ops/string/unicode_category_cpu.h"

enum {
  CAPITAL_SIGMA = 0x3a3,
  FINAL_SIGMA = 0x3c2,
  CAPITAL_DOTTED_I = 0x130,
  DOT_ABOVE = 0x307,
  FEMININE_ORDINAL = 0xaa,
  MASCULINE_ORDINAL = 0xba,
};

// Every |step|-th character from |first| to |last| moves by |distance|.
typedef struct run_s {
  uint32_t first, last;
  int32_t step, distance;
} run_t;

#define UPPERS(character, a, b, c)
#define LOWER(first, last, step, distance)
#define UPPER(first, last, step, distance) {first, last, step, distance},
static const run_t kUpper[] = {
#include "ops/string/unicode_case.inc"
};
#undef LOWER
#undef UPPER
#define UPPER(first, last, step, distance)
#define LOWER(first, last, step, distance) {first, last, step, distance},
static const run_t kLower[] = {
#include "ops/string/unicode_case.inc"
};
#undef UPPERS
#undef LOWER

// Characters whose capitals are several, filled up with 0.
typedef struct several_s {
  uint32_t character, capitals[3];
} several_t;
#define LOWER(first, last, step, distance)
#define UPPERS(character, a, b, c) {character, {a, b, c}},
static const several_t kSeveral[] = {
#include "ops/string/unicode_case.inc"
};

static uint32_t changed(const run_t* runs, size_t count, uint32_t character) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (runs[middle].last < character) low = middle + 1;
    else high = middle;
  }
  const run_t* run = &runs[low];
  if (low == count || character < run->first) return character;
  const bool is_letter = (character - run->first) % (uint32_t)run->step == 0;
  return is_letter ? (uint32_t)((int32_t)character + run->distance) : character;
}

// The capitals of a character that has several, else NULL.
static const uint32_t* several_capitals(uint32_t character) {
  size_t low = 0, high = LEAT_ARRAY_SIZE(kSeveral);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (kSeveral[middle].character == character) return kSeveral[middle].capitals;
    if (kSeveral[middle].character < character) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

static void append(uint32_t character, leat_string_builder_t* out) {
  leat_character_append(LEAT_ENCODING_UTF_8, character, out);
}

// Takes the next character, or U+FFFD for bytes that are none.
static uint32_t next(leat_character_reader_t* reader) {
  uint32_t character;
  return leat_character_reader_next(reader, &character) ? character : LEAT_CHARACTER_REPLACEMENT;
}

void leat_unicode_append_upper(leat_string_view_t text, leat_string_builder_t* out) {
  leat_character_reader_t reader = {.encoding = LEAT_ENCODING_UTF_8};
  leat_character_reader_begin(&reader, text);
  while (leat_character_reader_has_next(&reader)) {
    const uint32_t character = next(&reader);
    const uint32_t* several = several_capitals(character);
    if (!several) append(changed(kUpper, LEAT_ARRAY_SIZE(kUpper), character), out);
    for (int i = 0; several && i < 3 && several[i]; ++i) append(several[i], out);
  }
}

// ---- The final sigma ----------------------------------------------------------------------------

// Whether a character is a letter that has a case, or looks like one: the Roman numbers, letters in
// circles and the ordinals have a case too.
static bool is_cased(uint32_t character) {
  if (character == FEMININE_ORDINAL || character == MASCULINE_ORDINAL) return true;
  if (changed(kLower, LEAT_ARRAY_SIZE(kLower), character) != character) return true;
  if (changed(kUpper, LEAT_ARRAY_SIZE(kUpper), character) != character) return true;
  return leat_unicode_is_in(leat_unicode_categories(LEAT_SV("Lu")) |
                                leat_unicode_categories(LEAT_SV("Ll")) |
                                leat_unicode_categories(LEAT_SV("Lt")),
                            character);
}

// Whether a character may stand within a word without being a letter of it: accents, apostrophes.
static bool is_ignored(uint32_t character) {
  static const uint32_t kPoints[] = {'\'', '.', ':', 0xb7, 0x2018, 0x2019, 0x2024, 0x2027};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kPoints); ++i) {
    if (kPoints[i] == character) return true;
  }
  return leat_unicode_is_in(leat_unicode_categories(LEAT_SV("Mn")) |
                                leat_unicode_categories(LEAT_SV("Me")) |
                                leat_unicode_categories(LEAT_SV("Cf")) |
                                leat_unicode_categories(LEAT_SV("Lm")) |
                                leat_unicode_categories(LEAT_SV("Sk")),
                            character);
}

// Whether the word goes on behind the reader, which is a copy.
static bool goes_on(leat_character_reader_t reader) {
  while (leat_character_reader_has_next(&reader)) {
    const uint32_t character = next(&reader);
    if (!is_ignored(character)) return is_cased(character);
  }
  return false;
}

void leat_unicode_append_lower(leat_string_view_t text, leat_string_builder_t* out) {
  leat_character_reader_t reader = {.encoding = LEAT_ENCODING_UTF_8};
  bool in_word = false;  // a letter stands before, with nothing between but what is ignored
  leat_character_reader_begin(&reader, text);
  while (leat_character_reader_has_next(&reader)) {
    const uint32_t character = next(&reader);
    if (character == CAPITAL_SIGMA && in_word && !goes_on(reader)) {
      append(FINAL_SIGMA, out);
    } else if (character == CAPITAL_DOTTED_I) {
      append('i', out);
      append(DOT_ABOVE, out);
    } else {
      append(changed(kLower, LEAT_ARRAY_SIZE(kLower), character), out);
    }
    if (!is_ignored(character)) in_word = is_cased(character);
  }
}
