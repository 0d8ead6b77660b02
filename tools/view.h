// Names, map entries and shapes in messages, which are read through views of leat/inspect.h.
#ifndef LEAT_TOOLS_VIEW_H_
#define LEAT_TOOLS_VIEW_H_

#include <stdbool.h>
#include <stddef.h>

#include "leat/inspect.h"

// A text inside a message, valid as long as the message.
typedef struct name_s {
  const char* data;  // not NUL-terminated
  size_t size;
} name_t;

// A string of the message, borrowed; "" where there is none.
name_t view_string(leat_message_view_t view, const char* field, size_t index);
bool name_is(name_t name, const char* text);
// Orders by bytes, as strcmp does.
int name_compare(name_t a, name_t b);
// The value of the entry with |key| in the map |field|; its data are NULL where there is none.
leat_message_view_t view_entry(leat_message_view_t view, const char* field, const char* key);
// Prints a TensorShapeProto as "[?, 784]", or "?" where its rank is unknown.
void view_print_shape(leat_message_view_t shape);

#endif  // LEAT_TOOLS_VIEW_H_
