// A whole tensor and the pieces of which it consists along an axis: Concat and Pack join pieces,
// Split and Unpack take a whole apart. Seen from the axis the whole is a matrix of |outer| rows,
// where |outer| is the product of the dimensions before the axis, and each piece has a run of every
// row:
//
//   row 0   | piece 0 | piece 1 ... | piece 2 |
//   row 1   | piece 0 | piece 1 ... | piece 2 |
//
// The functions run on the calling thread and on the step's pool. They may fail only where objects
// are copied.
#ifndef LEAT_OPS_ARRAY_PIECES_CPU_H_
#define LEAT_OPS_ARRAY_PIECES_CPU_H_

#include "kernel/kernel.h"

// Joins inputs [first, first + count) of the kernel into output 0, which must be allocated. |outer|
// must divide the element count of each input.
LEAT_MUST_USE leat_status_t leat_pieces_join(leat_kernel_context_t* c, int first, int count,
                                             int64_t outer);
// Takes input |whole| apart into all outputs of the kernel, which must be allocated.
LEAT_MUST_USE leat_status_t leat_pieces_split(leat_kernel_context_t* c, int whole, int64_t outer);
// Says whether a piece of these bytes should share the bytes of the whole rather than be copied. A
// small piece is copied, because a piece that shares keeps the whole alive; one that is not aligned
// as a buffer is must be larger to share.
bool leat_pieces_should_share(const void* data, size_t size_bytes);

#endif  // LEAT_OPS_ARRAY_PIECES_CPU_H_
