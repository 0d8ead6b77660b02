// The strings shape_and_slice of the ops that save and restore: "" stands for a whole tensor, and
// "4 5 -:0,3" for a slice of a tensor of shape [4, 5], here all rows and the columns 0 to 2. A
// checkpoint of a partitioned variable has such slices, one from each part. The kernels of
// SaveSlices, SaveV2, Restore and RestoreV2 parse one for each tensor.
#ifndef LEAT_OPS_CHECKPOINT_SLICE_CPU_H_
#define LEAT_OPS_CHECKPOINT_SLICE_CPU_H_

#include "formats/checkpoint/tensor_slice.h"
#include "kernel/kernel.h"

// A parsed string. The shapes are its own, |slice| lies in the caller's arena.
typedef struct leat_slice_spec_s {
  bool is_given;              // false: the text was empty, and the slice is the whole tensor
  leat_shape_t full_shape;    // of the whole tensor
  leat_tensor_slice_t slice;  // as written, in the arena
  leat_shape_t shape;         // of the slice
} leat_slice_spec_t;
// Parses |text|; |whole| is the shape that an empty text stands for. INVALID_ARGUMENT for text that
// is malformed, or a slice that lies outside its shape. The caller releases the result, and keeps
// |arena| as long.
LEAT_MUST_USE leat_status_t leat_slice_spec_parse(leat_string_view_t text,
                                                  const leat_shape_t* whole, leat_arena_t* arena,
                                                  leat_slice_spec_t* out_spec);
void leat_slice_spec_release(leat_slice_spec_t* spec);

#endif  // LEAT_OPS_CHECKPOINT_SLICE_CPU_H_
