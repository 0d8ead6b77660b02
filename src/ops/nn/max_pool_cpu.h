// The inner loops of max pools over one type, on tensors with the channels last. Ranges count
// output rows (leat_pool_rows), but those of |spread| count images, since windows of an image may
// overlap. Float and double are compiled for each instruction set; integers once.
// max_pool_loops.inc has the code for all.
#ifndef LEAT_OPS_NN_MAX_POOL_CPU_H_
#define LEAT_OPS_NN_MAX_POOL_CPU_H_

#include "base/cpu.h"
#include "ops/nn/pool_cpu.h"

typedef struct leat_max_pool_loops_s {
  // Writes the maximum of each window to |output|.
  void (*maxima)(const leat_pool_t* pool, const void* input, void* output, int64_t begin,
                 int64_t end);
  // Sets dx to dy at the positions of the maxima of |input|, and to 0 elsewhere.
  void (*spread)(const leat_pool_t* pool, const void* input, const void* dy, void* dx,
                 int64_t begin, int64_t end);
  // Writes the elements of |values|, which has the input's shape, at the positions of the maxima.
  void (*gather)(const leat_pool_t* pool, const void* input, const void* values, void* output,
                 int64_t begin, int64_t end);
  // Writes the maxima, and their positions in the flattened input: of their image, or with
  // |counts_batch| of the whole tensor.
  void (*find)(const leat_pool_t* pool, const void* input, void* output, int64_t* places,
               bool counts_batch, int64_t begin, int64_t end);
} leat_max_pool_loops_t;

typedef struct leat_max_pool_floats_s {
  const leat_max_pool_loops_t* f32;
  const leat_max_pool_loops_t* f64;
} leat_max_pool_floats_t;
LEAT_ISA_DECLARE(leat_max_pool_floats_t, leat_max_pool_floats);

// The loops of an integer type.
const leat_max_pool_loops_t* leat_max_pool_plain_loops(int dtype);

#endif  // LEAT_OPS_NN_MAX_POOL_CPU_H_
