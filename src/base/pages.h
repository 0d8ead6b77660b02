// Whole pages from the operating system, for blocks that are kept and reused. Thread-safe.
#ifndef LEAT_BASE_PAGES_H_
#define LEAT_BASE_PAGES_H_

#include <stddef.h>

#include "base/status.h"

#define LEAT_PAGES_HUGE_BYTES ((size_t)2 << 20)

typedef enum leat_pages_advice_e {
  LEAT_PAGES_HUGE = 1,      // back with huge pages where the system allows it
  LEAT_PAGES_UNNEEDED = 2,  // contents may go; the addresses stay and read as zero
  LEAT_PAGES_FORBIDDEN = 3,  // whoever reads or writes them ends with a fault; no hint, but kept
  // Soon written, all of it: taken at once, which costs far less than a fault for each page. Any
  // writable memory; what lies in the last page, if that is not whole, waits.
  LEAT_PAGES_PRESENT = 4,
} leat_pages_advice_t;

// |size_bytes| (> 0, rounded up to whole pages) of zeroed memory at |alignment| (a power of two;
// at least a page is given). RESOURCE_EXHAUSTED when the system refuses.
LEAT_MUST_USE leat_status_t leat_pages_allocate(size_t size_bytes, size_t alignment,
                                                void** out_pages);
// |size_bytes| as at allocation. NULL is allowed.
void leat_pages_free(void* pages, size_t size_bytes);
// A hint: the system may ignore it.
void leat_pages_advise(void* pages, size_t size_bytes, leat_pages_advice_t advice);

#endif  // LEAT_BASE_PAGES_H_
