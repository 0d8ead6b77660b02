// Helpers over leat_message_view_t of leat/inspect.h.
#include "view.h"

#include <stdio.h>
#include <string.h>

name_t view_string(leat_message_view_t view, const char* field, size_t index) {
  name_t name;
  name.data = leat_message_string(view, field, index, &name.size);
  return name;
}

bool name_is(name_t name, const char* text) {
  return name.size == strlen(text) && !memcmp(name.data, text, name.size);
}

int name_compare(name_t a, name_t b) {
  size_t size = a.size < b.size ? a.size : b.size;
  int order = size ? memcmp(a.data, b.data, size) : 0;
  return order ? order : (a.size > b.size) - (a.size < b.size);
}

leat_message_view_t view_entry(leat_message_view_t view, const char* field, const char* key) {
  for (size_t i = 0; i < leat_message_count(view, field); ++i) {
    leat_message_view_t entry = leat_message_child(view, field, i);
    if (name_is(view_string(entry, "key", 0), key)) return leat_message_child(entry, "value", 0);
  }
  return (leat_message_view_t){NULL, NULL};
}

void view_print_shape(leat_message_view_t shape) {
  if (!shape.data || leat_message_integer(shape, "unknown_rank", 0)) {
    putchar('?');
    return;
  }
  putchar('[');
  size_t rank = leat_message_count(shape, "dim");
  for (size_t i = 0; i < rank; ++i) {
    long long size = leat_message_integer(leat_message_child(shape, "dim", i), "size", 0);
    if (i) fputs(", ", stdout);
    if (size < 0) {
      putchar('?');
    } else {
      printf("%lld", size);
    }
  }
  putchar(']');
}
