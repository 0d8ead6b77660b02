// Attribute values as the op mini-language writes them after '=': numbers, 'strings', true,
// DT_FLOAT (or float), shapes { dim { size: 2 } }, tensors { dtype: DT_INT32 ... }, lists [1, 2].
#ifndef LEAT_GRAPH_ATTR_TEXT_H_
#define LEAT_GRAPH_ATTR_TEXT_H_

#include "graph/attr.h"

// Reading position in a text.
typedef struct leat_attr_text_s {
  const char* at;
  const char* end;
  leat_arena_t* arena;
} leat_attr_text_t;

void leat_attr_text_skip_space(leat_attr_text_t* text);
// Skips |token| and the space behind it when it comes next; a word must end there.
bool leat_attr_text_take(leat_attr_text_t* text, const char* token);
// A run of letters, digits and '_' (empty when there is none); the space behind it is skipped.
leat_string_view_t leat_attr_text_word(leat_attr_text_t* text);
bool leat_attr_text_integer(leat_attr_text_t* text, int64_t* out_value);
// 'text' or "text" with C's escapes, unescaped into the arena. |out_found| false when none begins
// here.
LEAT_MUST_USE leat_status_t leat_attr_text_string(leat_attr_text_t* text, bool* out_found,
                                                  leat_string_view_t* out_string);

// A whole value up to the end of |text|. INVALID_ARGUMENT when it is malformed. A tensor in it is
// owned by the caller (leat_attr_value_release_tensors).
LEAT_MUST_USE leat_status_t leat_attr_text_value(leat_attr_text_t* text, leat_attr_kind_t kind,
                                                 bool is_list, leat_attr_value_t* out_value);
void leat_attr_value_release_tensors(leat_attr_value_t* value);

#endif  // LEAT_GRAPH_ATTR_TEXT_H_
