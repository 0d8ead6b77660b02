// Whole pages from the operating system, for memory that is kept and reused: the buffer pool, the
// big blocks of arenas and the memory of simulated devices. They come straight from the system and
// not from an allocator, so fault injection and the allocation observer do not see them. Any thread
// may call these functions.
#ifndef LEAT_BASE_PAGES_H_
#define LEAT_BASE_PAGES_H_

#include <stddef.h>

#include "base/status.h"

// The size of a huge page of x86-64, and the alignment at which the system can use one.
#define LEAT_PAGES_HUGE_BYTES ((size_t)2 << 20)

// What leat_pages_advise tells the system about a range. The values are alternatives, not bits.
typedef enum leat_pages_advice_e {
  // Back the range with huge pages where the system allows it, which saves page faults and TLB
  // misses.
  LEAT_PAGES_HUGE = 1,
  // The contents may go. The addresses stay and read as zero when they are used again.
  LEAT_PAGES_UNNEEDED = 2,
  // Whoever reads or writes the range ends with a fault. This one is no hint: the system keeps to
  // it. The simulated device uses it for its memory, which the host may not touch.
  LEAT_PAGES_FORBIDDEN = 3,
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
