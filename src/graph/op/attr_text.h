// A reader of attribute values as text, as op declarations write defaults after '=': numbers,
// 'strings', true, DT_FLOAT (or float), shapes { dim { size: 2 } }, tensors { dtype: DT_INT32 ...
// }, lists [1, 2]. graph/op/op_parse.c reads the rest of a declaration with the same primitives.
// Every function leaves the position behind what it read and behind the white space that follows.
#ifndef LEAT_GRAPH_OP_ATTR_TEXT_H_
#define LEAT_GRAPH_OP_ATTR_TEXT_H_

#include "graph/op/attr.h"

// A position in a text. What is read lies in |arena|.
typedef struct leat_attr_text_s {
  const char* at;
  const char* end;
  leat_arena_t* arena;
} leat_attr_text_t;

void leat_attr_text_skip_space(leat_attr_text_t* text);
// Takes |token| if it comes next. A token that begins with a letter, a digit or '_' must end there:
// "list" does not take the beginning of "listing".
bool leat_attr_text_take(leat_attr_text_t* text, const char* token);
// Takes a run of letters, digits and '_', which is empty when there is none.
leat_string_view_t leat_attr_text_word(leat_attr_text_t* text);
// Takes a decimal integer; false when there is none.
bool leat_attr_text_integer(leat_attr_text_t* text, int64_t* out_value);
// Takes 'text' or "text" with C's escapes; |*out_string| is unescaped. |*out_found| is false, and
// nothing is taken, when no quote comes next. INVALID_ARGUMENT for a string that does not end.
LEAT_MUST_USE leat_status_t leat_attr_text_string(leat_attr_text_t* text, bool* out_found,
                                                  leat_string_view_t* out_string);

// Reads a whole value, up to the end of |text|. INVALID_ARGUMENT when it is malformed or something
// follows. Tensors in the value belong to the caller, who ends them with
// leat_attr_value_release_tensors.
LEAT_MUST_USE leat_status_t leat_attr_text_value(leat_attr_text_t* text, leat_attr_kind_t kind,
                                                 bool is_list, leat_attr_value_t* out_value);
void leat_attr_value_release_tensors(leat_attr_value_t* value);

#endif  // LEAT_GRAPH_OP_ATTR_TEXT_H_
