// What a shape_and_slice string of SaveV2 and RestoreV2 says: "" is a whole tensor, "4 5 -:0,3" a
// slice of one of shape [4, 5].
#ifndef LEAT_OPS_CHECKPOINT_SLICE_CPU_H_
#define LEAT_OPS_CHECKPOINT_SLICE_CPU_H_

#include "formats/tensor_slice.h"
#include "kernel/kernel.h"

typedef struct leat_slice_spec_s {
  bool is_given;
  leat_shape_t full_shape;
  leat_tensor_slice_t slice;  // as written
  leat_shape_t shape;         // of the slice
} leat_slice_spec_t;
// |whole| is the shape that the empty text stands for. Ends with release.
LEAT_MUST_USE leat_status_t leat_slice_spec_parse(leat_string_view_t text,
                                                  const leat_shape_t* whole, leat_arena_t* arena,
                                                  leat_slice_spec_t* out_spec);
void leat_slice_spec_release(leat_slice_spec_t* spec);

#endif  // LEAT_OPS_CHECKPOINT_SLICE_CPU_H_
