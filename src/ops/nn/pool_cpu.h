// The geometry of a pool: windows over tensors [batch, planes, rows, columns, channels]. A pool of
// two dimensions has a single plane, so that one set of loops serves both. Windows are cut at the
// borders of the input, so that no loop ever sees the padding.
//
//   leat_pool_create   when the kernel is made: reads the attributes
//   leat_pool_window   in each step: the window, from attributes or inputs, checked
//   leat_pool_measure  in each step: the pool over the input's shape, and the output's shape
//   leat_pool_row, leat_pool_span, LEAT_POOL_EACH   in the loops: the input positions of a window
//
// The functions keep nothing and may be called from any thread; none of them blocks.
#ifndef LEAT_OPS_NN_POOL_CPU_H_
#define LEAT_OPS_NN_POOL_CPU_H_

#include "base/cpu.h"
#include "kernel/kernel.h"
#include "kernel/step_check.h"
#include "ops/nn/window.h"

// A pool over one shape; the arrays are for planes, rows, columns. |in| and |out| count positions,
// |size| and |stride| are the window's, and |before| is the padding in front. A window is never
// larger here than what it can see of the input, however large the attribute was.
typedef struct leat_pool_s {
  int64_t batch, channels;
  int64_t in[3], out[3];
  int64_t size[3], stride[3], before[3];
  bool shares_ties;  // a gradient goes to all of equal maxima, not to the first of them
} leat_pool_t;

// The state of a pool's kernel, or its first member: leat_pool_window looks for it at the
// beginning.
typedef struct leat_pool_kernel_s {
  leat_window_t window;
  int dtype;
  bool takes_sizes;  // the node has no "ksize": its last two inputs are sizes and strides
} leat_pool_kernel_t;

// Reads the attributes of a pool over |spatial| (2 or 3) dimensions; |type_attr| names the
// attribute of the type. INVALID_ARGUMENT for lists of the wrong length. The values are checked in
// each step, since MaxPoolV2 gets them only then.
LEAT_MUST_USE leat_status_t leat_pool_create(leat_kernel_creation_t* c, leat_pool_kernel_t* kernel,
                                             int spatial, const char* type_attr);
// Gives the window of this step: that of the attributes, or of the last two inputs.
// INVALID_ARGUMENT for sizes or strides that are not positive; UNIMPLEMENTED for windows over the
// batch, and over channels unless |over_channels|.
LEAT_MUST_USE leat_status_t leat_pool_window(const leat_kernel_context_t* c, bool over_channels,
                                             leat_window_t* out_window);
// Fills |out_pool| and the shape of the pool's output for an input of shape |input|. Both shapes
// are in the window's data format.
LEAT_MUST_USE leat_status_t leat_pool_measure(const leat_kernel_context_t* c,
                                              const leat_window_t* window,
                                              const leat_shape_t* input, leat_pool_t* out_pool,
                                              leat_shape_t* out_output);

// The number of rows of the output, over all images and planes: what most loops share among
// threads.
static inline int64_t leat_pool_rows(const leat_pool_t* pool) {
  return pool->batch * pool->out[0] * pool->out[1];
}
// An estimate of the nanoseconds that one output row of float takes, for sharing work among
// threads.
static inline double leat_pool_row_ns(const leat_pool_t* pool) {
  return 20 + (double)(pool->out[2] * pool->channels) * 0.3 *
                  (double)(pool->size[0] * pool->size[1] * pool->size[2]);
}

// Positions [begin, end) along one axis: the part of a window that lies inside the input. Empty
// where end <= begin.
typedef struct leat_pool_span_s {
  int64_t begin, end;
} leat_pool_span_t;
// The span of window |index| along axis |axis| (0 planes, 1 rows, 2 columns).
static inline leat_pool_span_t leat_pool_span(const leat_pool_t* pool, int axis, int64_t index) {
  const int64_t start = index * pool->stride[axis] - pool->before[axis];
  int64_t end = start + pool->size[axis];
  if (end > pool->in[axis]) end = pool->in[axis];
  return (leat_pool_span_t){start < 0 ? 0 : start, end};
}

// The part of the input that the windows of one output row see.
typedef struct leat_pool_row_s {
  int64_t image;  // the first input position of its image, counted over the batch
  leat_pool_span_t planes, rows;
} leat_pool_row_t;
// Finds output row |row|, which counts over all images and planes.
static inline leat_pool_row_t leat_pool_row(const leat_pool_t* pool, int64_t row) {
  const int64_t y = row % pool->out[1], z = row / pool->out[1] % pool->out[0];
  const int64_t b = row / (pool->out[1] * pool->out[0]);
  return (leat_pool_row_t){b * pool->in[0] * pool->in[1] * pool->in[2],
                           leat_pool_span(pool, 0, z), leat_pool_span(pool, 1, y)};
}
// The first input position of the window that |row| and |columns| span, which must not be empty.
static inline int64_t leat_pool_first(const leat_pool_t* pool, const leat_pool_row_t* row,
                                      leat_pool_span_t columns) {
  return row->image +
         (row->planes.begin * pool->in[1] + row->rows.begin) * pool->in[2] + columns.begin;
}
// Runs the statement after it for each input position |at| of a window, counted over the batch. Its
// loops share names, so that it cannot be nested.
#define LEAT_POOL_EACH(pool, row, columns, at)                                                  \
  for (int64_t z_ = (row).planes.begin; z_ < (row).planes.end; ++z_)                            \
    for (int64_t y_ = (row).rows.begin; y_ < (row).rows.end; ++y_)                              \
      for (int64_t at = (row).image + (z_ * (pool)->in[1] + y_) * (pool)->in[2] +               \
                        (columns).begin,                                                        \
                   last_ = at + (columns).end - (columns).begin;                                \
           at < last_; ++at)

// Counts the positions that a loop over windows visits. A window may be as large as the input, so
// that even one row of windows takes long. leat_pool_is_over is asked once a window; about every
// million elements it looks whether the step is to end, and is then true. What the loop leaves out
// nobody reads.
typedef struct leat_pool_pace_s {
  double each, left;
} leat_pool_pace_t;
// A count for loops over |p|, each of which has one of its own on the stack.
static inline leat_pool_pace_t leat_pool_pace_of(const leat_pool_t* p) {
  return (leat_pool_pace_t){
      (double)p->size[0] * (double)p->size[1] * (double)p->size[2] * (double)p->channels, 1e6};
}
static inline bool leat_pool_is_over(leat_pool_pace_t* pace) {
  pace->left -= pace->each;
  if (LEAT_LIKELY(pace->left > 0)) return false;
  pace->left = 1e6;
  return leat_step_loop_is_over();
}

// ---- The inner loops ----------------------------------------------------------------------------
// They run over tensors of one type with the channels last. The kernels of max_pool_cpu.c and
// avg_pool_cpu.c convert their tensors to that form, choose the loops for the type and share ranges
// [begin, end) among threads. Ranges count output rows (leat_pool_rows), but those of a |spread|
// count images, since windows of an image may overlap. Float and double are compiled for each
// instruction set (pool_isa.c); max pools of integers once, by max_pool_plain_cpu.c.
// max_pool_loops.inc and avg_pool_loops.inc have the code for all.
//
// Where several elements of a window are equal, the first counts as its maximum. A loop stops early
// when the step has ended meanwhile; nobody reads its output then. All arrays are dense, with
// elements of the table's type, and belong to the caller.

// The loops of max pools over one type. |input| has the pool's input shape.
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

// Means are of wide tensors. |average| computes the output, |spread| the gradient.
typedef struct leat_avg_pool_loops_s {
  void (*average_f32)(const leat_pool_t* pool, const void* x, void* y, int64_t begin, int64_t end);
  void (*average_f64)(const leat_pool_t* pool, const void* x, void* y, int64_t begin, int64_t end);
  void (*spread_f32)(const leat_pool_t* pool, const void* dy, void* dx, int64_t begin, int64_t end);
  void (*spread_f64)(const leat_pool_t* pool, const void* dy, void* dx, int64_t begin, int64_t end);
} leat_avg_pool_loops_t;
LEAT_ISA_DECLARE(leat_avg_pool_loops_t, leat_avg_pool_loops);

#endif  // LEAT_OPS_NN_POOL_CPU_H_
