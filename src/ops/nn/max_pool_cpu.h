// The inner loops of max pools over one type, on tensors with the channels last; pool_cpu.h has the
// geometry that they walk. The kernels of max_pool_cpu.c convert their tensors to that form, choose
// the table of loops for the type and share ranges [begin, end) among threads. Ranges count output
// rows (leat_pool_rows), but those of |spread| count images, since windows of an image may overlap.
// Float and double are compiled for each instruction set; integers once. max_pool_loops.inc has the
// code for all.
//
// Where several elements of a window are equal, the first counts. A loop stops early when the step
// has ended meanwhile; nobody reads its output then. All arrays are dense, with elements of the
// table's type, and belong to the caller.
#ifndef LEAT_OPS_NN_MAX_POOL_CPU_H_
#define LEAT_OPS_NN_MAX_POOL_CPU_H_

#include "base/cpu.h"
#include "ops/nn/pool_cpu.h"

// The loops over one type. |input| has the pool's input shape.
typedef struct leat_max_pool_loops_s {
  // Writes the maximum of each window to |output|, which has the pool's output shape. A NaN is
  // passed over; a window of nothing else gives the least finite value.
  void (*maxima)(const leat_pool_t* pool, const void* input, void* output, int64_t begin,
                 int64_t end);
  // Sets dx to dy at the positions of the maxima of |input|, and to 0 elsewhere. Where windows
  // overlap, the gradients of a position are added. dx has the input's shape, dy the output's.
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

// The tables of the types that are compiled for each instruction set.
typedef struct leat_max_pool_floats_s {
  const leat_max_pool_loops_t* f32;
  const leat_max_pool_loops_t* f64;
} leat_max_pool_floats_t;
LEAT_ISA_DECLARE(leat_max_pool_floats_t, leat_max_pool_floats);

// The loops of an integer type, which are compiled once. |dtype| must be one that the kernels have.
const leat_max_pool_loops_t* leat_max_pool_plain_loops(int dtype);

#endif  // LEAT_OPS_NN_MAX_POOL_CPU_H_
