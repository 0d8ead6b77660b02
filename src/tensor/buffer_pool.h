// The interface of the host's buffer pool (buffer_pool.c) to the rest of this room and to its
// tests. Everybody else takes buffers from leat_buffer_source_host() (tensor/buffer.h), which the
// pool implements. A request is rounded up to a size class, and a block that comes back is kept in
// the list of its class, so that the next step finds the same blocks again. Under AddressSanitizer
// buffer_heap.c stands in for the pool.
#ifndef LEAT_TENSOR_BUFFER_POOL_H_
#define LEAT_TENSOR_BUFFER_POOL_H_

#include "tensor/buffer.h"

// How many bytes the pool keeps beyond the recent peak of use before it returns memory to the
// system.
#define LEAT_BUFFER_POOL_SLACK_BYTES ((size_t)256 << 20)

// The memory of |buffer|'s own block, even after |buffer|->data was made to point at a caller's
// memory (leat_buffer_wrap).
void* leat_buffer_pool_memory(leat_buffer_t* buffer);

// Size classes: every 64 bytes up to 512, then four to a doubling (640, 768, 896, 1024, 1280, ...),
// up to 2^47 bytes. At most a fifth of a block is therefore wasted above 512 bytes.
enum {
  LEAT_BUFFER_POOL_MAX_LOG = 47,
  LEAT_BUFFER_POOL_CLASSES = 8 + (LEAT_BUFFER_POOL_MAX_LOG - 9) * 4,
};
#define LEAT_BUFFER_POOL_MAX_BYTES ((size_t)1 << LEAT_BUFFER_POOL_MAX_LOG)

// The smallest class that holds |size_bytes|, which is at most LEAT_BUFFER_POOL_MAX_BYTES. Size 0
// has the first class.
static inline unsigned leat_buffer_pool_class(size_t size_bytes) {
  size_t last = size_bytes > 0 ? size_bytes - 1 : 0;
  if (last < 512) return (unsigned)(last >> 6);
  unsigned log = 63u - (unsigned)__builtin_clzll(last);
  return 8 + (log - 9) * 4 + (unsigned)(last >> (log - 2) & 3);
}
// The bytes of a block of |size_class|.
static inline size_t leat_buffer_pool_class_bytes(unsigned size_class) {
  if (size_class < 8) return ((size_t)size_class + 1) << 6;
  unsigned log = (size_class - 8) / 4 + 9;
  return (size_t)((size_class - 8) % 4 + 5) << (log - 2);
}

#endif  // LEAT_TENSOR_BUFFER_POOL_H_
