// A binary heap of {key, value} pairs in an array of the caller's: the pair with the lowest key
// comes out first, and of equal keys the one with the lowest value, so that the order of pushes
// never matters. The schedulers of the runtime take the next event or node from it; their plans
// must be the same in each process, hence the rule for equal keys. A queue that wants the highest
// key first negates its keys.
//
// The array must have room for as many pairs as are ever in the heap at once; nothing here
// allocates or can fail. A heap of no items is {items, 0}. Pushing and popping cost O(log n).
#ifndef LEAT_BASE_HEAP_H_
#define LEAT_BASE_HEAP_H_

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

typedef struct leat_heap_item_s {
  int64_t key;
  // Mostly the index of a node.
  int32_t value;
} leat_heap_item_t;

typedef struct leat_heap_s {
  // items[0] comes out next. The children of items[i] are items[2 i + 1] and items[2 i + 2], and
  // neither is before its parent.
  leat_heap_item_t* items;
  int32_t count;
} leat_heap_t;

static inline bool leat_heap_item_is_before(leat_heap_item_t a, leat_heap_item_t b) {
  return a.key < b.key || (a.key == b.key && a.value < b.value);
}

// The array must have room for one pair more.
static inline void leat_heap_push(leat_heap_t* heap, int64_t key, int32_t value) {
  const leat_heap_item_t item = {key, value};
  int32_t at = heap->count++;
  for (int32_t parent; at > 0; at = parent) {
    parent = (at - 1) / 2;
    if (!leat_heap_item_is_before(item, heap->items[parent])) break;
    heap->items[at] = heap->items[parent];
  }
  heap->items[at] = item;
}

// Takes the first pair out of a heap that is not empty and gives its value.
static inline int32_t leat_heap_pop(leat_heap_t* heap) {
  LEAT_DCHECK(heap->count > 0);
  const int32_t count = --heap->count;
  const leat_heap_item_t first = heap->items[0], last = heap->items[count];
  int32_t at = 0;
  for (int32_t child; (child = 2 * at + 1) < count; at = child) {
    child += child + 1 < count &&
             leat_heap_item_is_before(heap->items[child + 1], heap->items[child]);
    if (!leat_heap_item_is_before(heap->items[child], last)) break;
    heap->items[at] = heap->items[child];
  }
  heap->items[at] = last;
  return first.value;
}

#endif  // LEAT_BASE_HEAP_H_
