// The scripts of Unicode, as regular expressions name them (\p{Greek}).
#ifndef LEAT_OPS_STRING_UNICODE_SCRIPT_CPU_H_
#define LEAT_OPS_STRING_UNICODE_SCRIPT_CPU_H_

#include "base/string_view.h"

// The number that ICU gives the script of this name ("Greek"); -1: there is none.
int32_t leat_unicode_script(leat_string_view_t name);

// Finds the first run of characters of the script that begins at |from| or behind; false: none. It
// knows characters that the op UnicodeScript, which is of an older Unicode, does not.
bool leat_unicode_next_script_run(int32_t script, uint32_t from, uint32_t* out_first,
                                  uint32_t* out_last);

#endif  // LEAT_OPS_STRING_UNICODE_SCRIPT_CPU_H_
