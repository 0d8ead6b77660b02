// The inner loops of strided copies, compiled per instruction set. All work on two dimensions;
// steps are in bytes for runs, else in elements. Addresses need no alignment.
#ifndef LEAT_OPS_ARRAY_STRIDED_ISA_H_
#define LEAT_OPS_ARRAY_STRIDED_ISA_H_

#include "base/cpu.h"

#include <stdint.h>

// Element sizes 1, 2, 4, 8, 16.
#define LEAT_STRIDED_WIDTHS 5

typedef struct leat_strided_plane_s {
  int64_t count, inner;            // sizes
  int64_t to_step, to_inner;       // strides
  int64_t from_step, from_inner;
} leat_strided_plane_t;

typedef struct leat_strided_loops_s {
  // |count| runs of |inner| bytes.
  void (*runs)(const leat_strided_plane_t* plane, const char* from, char* to);
  // Element by element.
  void (*elements[LEAT_STRIDED_WIDTHS])(const leat_strided_plane_t* plane, const char* from,
                                        char* to);
  // to_inner and from_step are 1.
  void (*transposed[LEAT_STRIDED_WIDTHS])(const leat_strided_plane_t* plane, const char* from,
                                          char* to);
} leat_strided_loops_t;
LEAT_ISA_DECLARE(leat_strided_loops_t, leat_strided_loops);

#endif  // LEAT_OPS_ARRAY_STRIDED_ISA_H_
