// Heapsort. The heap has the item that comes last on top; it is moved to the end of the array, the
// heap shrinks by one, and what stood at the end sinks to its place.
#include "base/sort.h"

#include <string.h>

#include "base/attributes.h"

typedef struct sorter_s {
  char* items;
  size_t item_bytes;
  leat_sort_is_before_fn_t is_before;
  const void* context;
} sorter_t;

// Puts |moved| into the heap of |count| items at |at|, whose own item is not needed any more, or
// below it. Both heaps below |at| must be in order.
static void sink(const sorter_t* s, const void* moved, size_t at, size_t count) {
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    const char* item = s->items + child * s->item_bytes;
    if (child + 1 < count && s->is_before(s->context, item, item + s->item_bytes)) {
      ++child;
      item += s->item_bytes;
    }
    if (!s->is_before(s->context, moved, item)) break;
    memcpy(s->items + at * s->item_bytes, item, s->item_bytes);
  }
  memcpy(s->items + at * s->item_bytes, moved, s->item_bytes);
}

void leat_sort(void* items, size_t count, size_t item_bytes, leat_sort_is_before_fn_t is_before,
               const void* context) {
  LEAT_DCHECK(item_bytes <= LEAT_SORT_MAX_ITEM_BYTES);
  const sorter_t sorter = {items, item_bytes, is_before, context};
  char moved[LEAT_SORT_MAX_ITEM_BYTES];
  for (size_t i = count / 2; i-- > 0;) {
    memcpy(moved, sorter.items + i * item_bytes, item_bytes);
    sink(&sorter, moved, i, count);
  }
  for (size_t last = count; last-- > 1;) {
    memcpy(moved, sorter.items + last * item_bytes, item_bytes);
    memcpy(sorter.items + last * item_bytes, sorter.items, item_bytes);
    sink(&sorter, moved, 0, last);
  }
}
