// Mirror images as padding, for kernels that pad on the way to something else. REFLECT does not
// repeat the border (|reflects|), SYMMETRIC does. The functions use the step's pool and block until
// they are done.
#ifndef LEAT_OPS_ARRAY_MIRROR_PAD_CPU_H_
#define LEAT_OPS_ARRAY_MIRROR_PAD_CPU_H_

#include "ops/array/paddings_cpu.h"

// INVALID_ARGUMENT unless a tensor of |shape| has enough elements on each side to mirror. The rank
// must be that of the paddings.
LEAT_MUST_USE leat_status_t leat_mirror_pad_check(leat_kernel_context_t* c,
                                                  const leat_paddings_t* paddings,
                                                  const leat_shape_t* shape, bool reflects);
// Fills |output|, whose shape is that of |input| with the paddings added (leat_paddings_shape). The
// paddings have passed leat_mirror_pad_check.
LEAT_MUST_USE leat_status_t leat_mirror_pad_fill(leat_kernel_context_t* c,
                                                 const leat_paddings_t* paddings, bool reflects,
                                                 const leat_tensor_t* input,
                                                 leat_tensor_t* output);

#endif  // LEAT_OPS_ARRAY_MIRROR_PAD_CPU_H_
