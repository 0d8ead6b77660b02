// Looks up categories in a table of runs, which is in order and covers all of Unicode.
#include "ops/string/unicode_category_cpu.h"

#include <string.h>

#include "base/attributes.h"

enum { LAST_RUNE = 0x10ffff };

static const uint32_t kRuns[] = {
#include "ops/string/unicode_category.inc"
};

// By number. "Cn", the characters that are not assigned, has a name that no text in UTF-8 has.
static const char kNames[][3] = {
    "Cc", "Cf", "\377", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl",
    "No", "Pc", "Pd",   "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs",
};

uint32_t leat_unicode_categories(leat_string_view_t name) {
  uint32_t found = 0;
  if (name.size < 1 || name.size > 2) return 0;
  for (uint32_t i = 0; i < LEAT_ARRAY_SIZE(kNames); ++i) {
    if (!memcmp(kNames[i], name.data, name.size)) found |= 1u << i;
  }
  return found;
}

static uint32_t first_of(size_t run) {
  return run < LEAT_ARRAY_SIZE(kRuns) ? kRuns[run] >> 5 : LAST_RUNE + 1;
}

// The first run that begins at |from| or behind.
static size_t find_run(uint32_t from) {
  size_t low = 0, high = LEAT_ARRAY_SIZE(kRuns);
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (first_of(middle) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

bool leat_unicode_is_in(uint32_t categories, uint32_t character) {
  const size_t behind = find_run(character + 1);
  LEAT_DCHECK(behind > 0);  // the first run begins with character 0
  return categories >> (kRuns[behind - 1] & 31) & 1;
}

bool leat_unicode_next_run(uint32_t categories, uint32_t from, uint32_t* out_first,
                           uint32_t* out_last) {
  size_t low = find_run(from);
  while (low < LEAT_ARRAY_SIZE(kRuns) && !(categories >> (kRuns[low] & 31) & 1)) ++low;
  *out_first = first_of(low);
  *out_last = first_of(low + 1) - 1;
  return low < LEAT_ARRAY_SIZE(kRuns);
}
