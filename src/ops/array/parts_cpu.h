// One tensor and the parts of which it consists along an axis: what Concat and Pack join and Split
// and Unpack take apart. Seen from the axis, the whole is |outer| rows; each part has a run of
// every row.
#ifndef LEAT_OPS_ARRAY_PARTS_CPU_H_
#define LEAT_OPS_ARRAY_PARTS_CPU_H_

#include "kernel/kernel.h"

// Inputs [first, first + count) into output 0, which is allocated. |outer| divides their elements.
LEAT_MUST_USE leat_status_t leat_parts_join(leat_kernel_context_t* c, int first, int count,
                                            int64_t outer);
// Input |whole| into all outputs, which are allocated.
LEAT_MUST_USE leat_status_t leat_parts_split(leat_kernel_context_t* c, int whole, int64_t outer);
// Is it better for a part of these bytes to share the whole's than to be copied? Small parts are
// not worth keeping the whole alive.
bool leat_parts_should_share(const void* data, size_t size_bytes);

#endif  // LEAT_OPS_ARRAY_PARTS_CPU_H_
