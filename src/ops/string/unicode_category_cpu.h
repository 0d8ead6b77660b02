// The general categories of Unicode, as regular expressions name them (\p{Lu}).
#ifndef LEAT_OPS_STRING_UNICODE_CATEGORY_CPU_H_
#define LEAT_OPS_STRING_UNICODE_CATEGORY_CPU_H_

#include "base/string_view.h"

// A set of categories, a bit for each. |name| is a category ("Lu") or the beginning of several
// ("L"); 0 where there is none of that name. Unassigned characters are in no category.
uint32_t leat_unicode_categories(leat_string_view_t name);

// Whether a character is in a set.
bool leat_unicode_is_in(uint32_t categories, uint32_t character);

// Finds the first run of characters of the set that begins at |from| or behind; false: none.
bool leat_unicode_next_run(uint32_t categories, uint32_t from, uint32_t* out_first,
                           uint32_t* out_last);

#endif  // LEAT_OPS_STRING_UNICODE_CATEGORY_CPU_H_
