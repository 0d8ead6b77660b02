// Sorting by an order that needs a context, which qsort does not pass to its comparison.
#ifndef LEAT_BASE_SORT_H_
#define LEAT_BASE_SORT_H_

#include <stdbool.h>
#include <stddef.h>

// Whether item |a| comes before item |b|. It must be an order: of two items at most one comes
// before the other.
typedef bool (*leat_sort_is_before_fn_t)(const void* context, const void* a, const void* b);

#define LEAT_SORT_MAX_ITEM_BYTES 16
// Sorts |count| items of |item_bytes| each, at most LEAT_SORT_MAX_ITEM_BYTES, in place: mostly the
// indices of what is sorted. It is a heapsort, so it takes O(count log count) calls of |is_before|
// for any input, takes no memory, and cannot fail. Items of which neither comes before the other
// end in an order that depends on the input alone; where that matters, |is_before| breaks ties.
void leat_sort(void* items, size_t count, size_t item_bytes, leat_sort_is_before_fn_t is_before,
               const void* context);

#endif  // LEAT_BASE_SORT_H_
