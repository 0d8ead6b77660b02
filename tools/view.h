// Names and shapes in messages.
#ifndef LEAT_TOOLS_VIEW_H_
#define LEAT_TOOLS_VIEW_H_

#include <stdbool.h>
#include <stddef.h>

#include "leat/inspect.h"

typedef struct name_s {
  const char* data;  // not NUL-terminated
  size_t size;
} name_t;

// A string of the message; "" when there is none.
name_t view_string(leat_message_view_t view, const char* field, size_t index);
bool name_is(name_t name, const char* text);
int name_compare(name_t a, name_t b);
// The value of the entry |key| in the map |field|; absent when there is none.
leat_message_view_t view_entry(leat_message_view_t view, const char* field, const char* key);
// "[?, 784]" of a TensorShapeProto, "?" when nothing is known.
void view_print_shape(leat_message_view_t shape);

#endif  // LEAT_TOOLS_VIEW_H_
