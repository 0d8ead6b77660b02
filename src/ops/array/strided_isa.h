// The inner loops of strided copies (strided_cpu.h), compiled once per instruction set. Each loop
// works on a plane, which is two dimensions of the block. Addresses need no alignment.
#ifndef LEAT_OPS_ARRAY_STRIDED_ISA_H_
#define LEAT_OPS_ARRAY_STRIDED_ISA_H_

#include "base/cpu.h"

#include <stdint.h>

// The loops exist for elements of 1, 2, 4, 8 and 16 bytes; entry i of a table is for 2^i bytes.
#define LEAT_STRIDED_WIDTHS 5

// Element (i, k), with i < |count| and k < |inner|, goes from |from_step| * i + |from_inner| * k to
// |to_step| * i + |to_inner| * k. All are bytes for |runs|, and elements for the other loops.
typedef struct leat_strided_plane_s {
  int64_t count, inner;            // sizes
  int64_t to_step, to_inner;       // strides
  int64_t from_step, from_inner;
} leat_strided_plane_t;

// The loops of one instruction set. Source and target must not overlap. They run on any thread and
// neither allocate nor block.
typedef struct leat_strided_loops_s {
  // Copies |count| runs of |inner| bytes; |to_inner| and |from_inner| are not looked at.
  void (*runs)(const leat_strided_plane_t* plane, const char* from, char* to);
  // Copies element by element, with any strides.
  void (*elements[LEAT_STRIDED_WIDTHS])(const leat_strided_plane_t* plane, const char* from,
                                        char* to);
  // Transposes: |to_inner| and |from_step| must be 1.
  void (*transposed[LEAT_STRIDED_WIDTHS])(const leat_strided_plane_t* plane, const char* from,
                                          char* to);
} leat_strided_loops_t;
LEAT_ISA_DECLARE(leat_strided_loops_t, leat_strided_loops);

#endif  // LEAT_OPS_ARRAY_STRIDED_ISA_H_
