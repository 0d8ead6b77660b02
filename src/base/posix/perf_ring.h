#ifndef LEAT_BASE_POSIX_PERF_RING_H_
#define LEAT_BASE_POSIX_PERF_RING_H_
// A ring that perf_event_open maps: a page with two positions, which only grow, and behind it the
// bytes of the records.

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Copies |size| bytes of a ring of |ring_bytes| out of it. What begins at |position| may go on at
// the ring's beginning.
static inline void leat_perf_ring_copy(const struct perf_event_mmap_page* page, size_t page_bytes,
                                       size_t ring_bytes, uint64_t position, void* out,
                                       size_t size) {
  const uint8_t* bytes = (const uint8_t*)page + page_bytes;
  const size_t at = (size_t)(position % ring_bytes);
  const size_t first = size < ring_bytes - at ? size : ring_bytes - at;
  memcpy(out, bytes + at, first);
  memcpy((uint8_t*)out + first, bytes, size - first);
}

#endif  // LEAT_BASE_POSIX_PERF_RING_H_
