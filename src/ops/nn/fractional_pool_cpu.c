// CPU kernels of FractionalMaxPool, FractionalAvgPool and their gradients, after Graham's paper
// "Fractional Max-Pooling" (2014). An ordinary pool divides the size of an image by a whole number;
// this one divides it by any ratio alpha >= 1. With k = floor(alpha), each window has k or k + 1
// rows and columns, and a random sequence says which comes where.
//
//   value [batch, rows, columns, channels]
//     -> output [batch, floor(rows / alpha), floor(columns / alpha'), channels],
//        row_pooling_sequence [output rows + 1] int64, col_pooling_sequence [output columns + 1]
//
// Window i covers positions [s[i], s[i + 1]) of a sequence s, and s[i + 1] too when the node says
// "overlapping". The sequences are outputs because the gradient ops need the same windows; there
// they are inputs that anybody may have computed, so nothing about them is believed but what
// read_plane has checked.
//
// The gradient of the maximum searches each window again instead of reading stored positions.
// Forward loops are shared among threads by output rows; gradient loops by images, because windows
// of one image may overlap and their threads would add to the same element.
#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "base/random.h"
#include "ops/kernel_rows.h"
#include "ops/nn/window.h"

typedef struct plane_s {
  int64_t batch, channels;
  int64_t in[2], out[2];
  const int64_t* begins[2];
  bool overlaps;
  const void *input, *dy;
  void *output;
  double* sums;  // for the gradient of the mean: one for each element of the input
} plane_t;

typedef struct span_s {
  int64_t begin, end;
} span_t;

// Gives the positions of window |index| along |axis|, cut at the end of the input. The window is
// empty where it lies outside the input or ends before it begins. The items of a sequence are only
// known not to be negative, so they are cut to the input's size before anything is computed from
// them; thus no address can overflow.
static span_t span_of(const plane_t* p, int axis, int64_t index) {
  const int64_t size = p->in[axis];
  const int64_t begin = LEAT_MIN(p->begins[axis][index], size);
  const int64_t next = LEAT_MIN(p->begins[axis][index + 1], size);
  const int64_t end = p->overlaps && next < size ? next + 1 : next;
  return (span_t){begin, LEAT_MAX(begin, end)};
}

// EACH_WINDOW runs the statement after it for each window of the output rows [begin, end): |out| is
// the output position, |rows| and |columns| are the window. EACH_PLACE then runs a statement for
// each input position |at| of that window, counted over all images.
#define EACH_WINDOW(p, begin, end, out, rows, columns)                             \
  for (int64_t row_ = (begin); row_ < (end); ++row_)                               \
    for (int64_t column_ = 0, out = row_ * (p)->out[1]; column_ < (p)->out[1];     \
         ++column_, ++out)                                                         \
      for (span_t rows = span_of(p, 0, row_ % (p)->out[0]),                        \
                  columns = span_of(p, 1, column_), *once_ = &rows;                \
           once_; once_ = NULL)
#define EACH_PLACE(p, image, rows, columns, at)                                    \
  for (int64_t y_ = (rows).begin; y_ < (rows).end; ++y_)                           \
    for (int64_t at = ((image) * (p)->in[0] + y_) * (p)->in[1] + (columns).begin,  \
                 last_ = at + (columns).end - (columns).begin;                     \
         at < last_; ++at)

#define TYPE float
#define SUM float
#define SUFFIX(name) name##_float
#define LOWEST (-FLT_MAX)
#include "ops/nn/fractional_pool_loops.inc"

#define TYPE double
#define SUM double
#define SUFFIX(name) name##_double
#define LOWEST (-DBL_MAX)
#include "ops/nn/fractional_pool_loops.inc"

#define TYPE int32_t
#define SUM uint32_t
#define SUFFIX(name) name##_int32
#define LOWEST INT32_MIN
#include "ops/nn/fractional_pool_loops.inc"

#define TYPE int64_t
#define SUM uint64_t
#define SUFFIX(name) name##_int64
#define LOWEST INT64_MIN
#include "ops/nn/fractional_pool_loops.inc"

typedef bool (*equal_fn_t)(const void* x, const void* y, int64_t count);
#define LOOP_OF(name, fn_t)                              \
  static fn_t name##_of(int dtype) {                     \
    switch (dtype) {                                     \
      case LEAT_DTYPE_FLOAT: return name##_float;        \
      case LEAT_DTYPE_DOUBLE: return name##_double;      \
      case LEAT_DTYPE_INT32: return name##_int32;        \
      default: return name##_int64;                      \
    }                                                    \
  }
LOOP_OF(max, leat_shard_fn_t)
LOOP_OF(mean, leat_shard_fn_t)
LOOP_OF(spread_max, leat_shard_fn_t)
LOOP_OF(spread_mean, leat_shard_fn_t)
LOOP_OF(equal, equal_fn_t)

// ---- Sequences ----------------------------------------------------------------------------------

typedef struct leat_fractional_s {
  float ratios[4];
  bool is_pseudo_random, overlaps;
  bool is_seeded;  // every run draws the same numbers
  leat_philox_t philox;
} leat_fractional_t;

// Writes |count| differences that sum to |length|, in the paper's pseudo-random way: they are a(i)
// - a(i - 1) with a(0) = 1, a(count) = |length| + 1 and a(i) = ceil(alpha (i + u)) between, for one
// random u in [0, most). The limit |most| keeps the first difference at most k + 1 and the last one
// at least k.
static void fill_pseudo_random(leat_philox_t* philox, int64_t length, int64_t count,
                               int64_t* diffs) {
  const double alpha = (double)length / (double)count;
  const int64_t k = length / count;
  const double most = fmin((double)(k + 2) / alpha - 1,
                           (double)(length + 1 - k) / alpha - (double)(count - 1));
  uint32_t words[4];
  leat_philox_next(philox, words);
  const double unit = (double)((uint64_t)(words[0] & 0xfffff) << 32 | words[1]) * 0x1p-52;
  const double u = unit * most;
  int64_t before = 1;
  for (int64_t i = 1; i <= count; ++i) {
    const int64_t at = i == count ? length + 1 : (int64_t)ceil(alpha * ((double)i + u));
    diffs[i - 1] = at - before;
    before = at;
  }
}

// Writes |count| differences k and k + 1 that sum to |length|, in random order (a Fisher-Yates
// shuffle). |philox| advances by as many numbers as the shuffle may use.
static void fill_random(leat_philox_t* philox, int64_t length, int64_t count, int64_t* diffs) {
  leat_philox_t draws = *philox;
  leat_philox_skip(philox, ((uint64_t)count + 3) / 4);
  for (int64_t i = 0; i < count; ++i) diffs[i] = length / count + (i < length % count);
  uint32_t words[4];
  for (int64_t i = 0; i + 1 < count; ++i) {
    if (i % 4 == 0) leat_philox_next(&draws, words);
    const int64_t other = i + words[i % 4] % (uint32_t)(count - i);
    const int64_t diff = diffs[i];
    diffs[i] = diffs[other];
    diffs[other] = diff;
  }
}

// Allocates output |index| and fills it with the |count| + 1 borders of the windows along an axis
// of |length| positions.
static leat_status_t make_sequence(leat_kernel_context_t* c, leat_philox_t* philox, int index,
                                   int64_t length, int64_t count, const int64_t** out_begins) {
  const leat_fractional_t* kernel = leat_kernel_state(c);
  const leat_shape_t shape = leat_shape_vector(count + 1);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, index, &shape, &output));
  int64_t* begins = leat_tensor_data(output, int64_t);
  begins[0] = 0;
  (kernel->is_pseudo_random ? fill_pseudo_random : fill_random)(philox, length, count, begins + 1);
  for (int64_t i = 1; i <= count; ++i) begins[i] += begins[i - 1];
  *out_begins = begins;
  return leat_ok_status();
}

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t read_ratios(leat_kernel_creation_t* c, leat_fractional_t* kernel) {
  const leat_attr_value_t* ratios;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "pooling_ratio", &ratios));
  if (ratios->count != 4) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "pooling_ratio field must specify 4 dimensions");
  }
  for (int d = 0; d < 4; ++d) {
    kernel->ratios[d] = ratios->floats[d];
    if (kernel->ratios[d] >= 1) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "pooling_ratio cannot be smaller than 1, got: %g",
                            (double)kernel->ratios[d]);
  }
  if (kernel->ratios[0] == 1 && kernel->ratios[3] == 1) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED, "Fractional pooling is not yet supported on the "
                                              "batch nor channel dimension.");
}

static leat_status_t create_overlapping(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "overlapping", &((leat_fractional_t*)state)->overlaps);
}

// Reads the attributes of a forward op. Where the node gives no seeds, two are drawn when the
// kernel is made; a deterministic node then repeats the same windows in every step of this kernel.
static leat_status_t create_pool(leat_kernel_creation_t* c, void* state) {
  leat_fractional_t* kernel = state;
  int64_t seed, seed2;
  LEAT_RETURN_IF_ERROR(read_ratios(c, kernel));
  LEAT_RETURN_IF_ERROR(create_overlapping(c, state));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "pseudo_random", &kernel->is_pseudo_random));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "deterministic", &kernel->is_seeded));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "seed", &seed));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "seed2", &seed2));
  if (!kernel->is_seeded && (seed != 0 || seed2 != 0)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Both seed and seed2 should be 0 if deterministic is false.");
  }
  if (seed == 0 && seed2 == 0) {
    seed = (int64_t)leat_random_seed();
    seed2 = (int64_t)leat_random_seed();
  }
  kernel->philox = leat_philox_make((uint64_t)seed, (uint64_t)seed2);
  return leat_ok_status();
}

// Draws both sequences and runs |loop| (max or mean) over the output rows of all images.
static leat_status_t run_pool(leat_kernel_context_t* c, leat_shard_fn_t loop) {
  const leat_fractional_t* kernel = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  if (input->shape.rank != 4) return leat_kernel_invalid(c, "tensor_in must be 4-dimensional");
  const int64_t* dims = leat_shape_dims(&input->shape);
  int64_t sizes[4];
  for (int d = 0; d < 4; ++d) {
    sizes[d] = leat_window_count_fractional(dims[d], kernel->ratios[d]);
    if (sizes[d] > 0) continue;
    return leat_kernel_invalid(c, "Pooling ratio is higher than input dimension size for dimension "
                               "%d. Input dim size: %lld pooling ratio: %g", d, (long long)dims[d],
                               (double)kernel->ratios[d]);
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 4, sizes, &output));
  plane_t plane = {.batch = dims[0],
                   .channels = dims[3],
                   .in = {dims[1], dims[2]},
                   .out = {sizes[1], sizes[2]},
                   .overlaps = kernel->overlaps,
                   .input = input->data,
                   .output = output->data};
  leat_philox_t philox = kernel->is_seeded
                             ? kernel->philox
                             : leat_philox_make(leat_random_seed(), leat_random_seed());
  for (int i = 0; i < 2; ++i) {
    LEAT_RETURN_IF_ERROR(
        make_sequence(c, &philox, 1 + i, plane.in[i], plane.out[i], &plane.begins[i]));
  }
  leat_kernel_parallel_for(c, plane.batch * plane.out[0],
                           4 * (double)(plane.out[1] * plane.channels), loop, &plane);
  return leat_ok_status();
}

static leat_status_t max_pool__cpu(leat_kernel_context_t* c) {
  return run_pool(c, max_of(leat_kernel_input(c, 0)->dtype));
}
static leat_status_t avg_pool__cpu(leat_kernel_context_t* c) {
  return run_pool(c, mean_of(leat_kernel_input(c, 0)->dtype));
}

// Fills |out| for a gradient op: |dims| is the shape of the pool's input, |dy| the gradient of its
// output, and inputs |index| and |index| + 1 of the op are the two sequences. INVALID_ARGUMENT
// unless the shapes fit, the sequences are long enough, and none of their items is negative. A
// sequence may still be out of order or reach beyond the input; span_of takes care of that.
static leat_status_t read_plane(const leat_kernel_context_t* c, const int64_t* dims,
                                const leat_tensor_t* dy, int index, plane_t* out) {
  const leat_fractional_t* kernel = leat_kernel_state(c);
  if (dy->shape.rank != 4 || dy->shape.element_count == 0) {
    return leat_kernel_invalid(c, "out_backprop is %s, must be 4-dimensional and positive for all "
                               "dimensions", LEAT_SHAPE_TEXT(&dy->shape));
  }
  const int64_t* sizes = leat_shape_dims(&dy->shape);
  if (sizes[0] != dims[0] || sizes[3] != dims[3]) {
    return leat_kernel_invalid(c, "out_backprop is %s, must have the input's %lld images of %lld "
                               "channels", LEAT_SHAPE_TEXT(&dy->shape), (long long)dims[0],
                               (long long)dims[3]);
  }
  *out = (plane_t){.batch = dims[0],
                   .channels = dims[3],
                   .in = {dims[1], dims[2]},
                   .out = {sizes[1], sizes[2]},
                   .overlaps = kernel->overlaps,
                   .dy = dy->data};
  for (int i = 0; i < 2; ++i) {
    const leat_tensor_t* begins = leat_kernel_input(c, index + i);
    out->begins[i] = leat_tensor_data(begins, const int64_t);
    if (begins->shape.element_count <= out->out[i]) {
      return leat_kernel_invalid(c, "Given out_backprop shape %s, sequence %d must have at least "
                                 "%lld elements, but got %lld", LEAT_SHAPE_TEXT(&dy->shape), i,
                                 (long long)out->out[i] + 1,
                                 (long long)begins->shape.element_count);
    }
    for (int64_t k = 0; k <= out->out[i]; ++k) {
      const int64_t least = k == out->out[i] && !kernel->overlaps ? 1 : 0;
      if (out->begins[i][k] >= least && out->begins[i][k] < INT64_MAX) continue;
      return leat_kernel_invalid(c, "sequence %d tensor values must not be negative, got %lld", i,
                                 (long long)out->begins[i][k]);
    }
  }
  return leat_ok_status();
}

// Sums are in double: each input element may collect shares of several windows.
static leat_status_t avg_pool_grad__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* sizes = leat_kernel_input(c, 0);
  const leat_tensor_t* dy = leat_kernel_input(c, 1);
  if (sizes->shape.rank != 1 || sizes->shape.element_count != 4) {
    return leat_kernel_invalid(c, "original input tensor shape must be 1-dimensional and 4 "
                               "elements");
  }
  const int64_t* dims = leat_tensor_data(sizes, const int64_t);
  for (int d = 0; d < 4; ++d) {
    if (dims[d] > 0) continue;
    return leat_kernel_invalid(c, "Dimension %d of input is %lld, must be positive", d,
                               (long long)dims[d]);
  }
  leat_shape_t shape;
  plane_t plane;
  LEAT_RETURN_IF_ERROR(leat_shape_create(4, dims, &shape));
  LEAT_RETURN_IF_ERROR(read_plane(c, dims, dy, 2, &plane));
  leat_tensor_t *output, sums;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_DOUBLE, &shape, &sums));
  leat_tensor_fill_zero(&sums);
  plane.sums = leat_tensor_data(&sums, double);
  plane.output = output->data;
  leat_kernel_parallel_for(c, plane.batch, 4 * (double)(shape.element_count / plane.batch),
                           spread_mean_of(output->dtype), &plane);
  leat_tensor_release(&sums);
  return leat_ok_status();
}

// Computes the pool's output anew and compares it with the one that is given, because TensorFlow's
// kernel refuses a gradient whose orig_output does not belong to orig_input.
static leat_status_t check_output(leat_kernel_context_t* c, plane_t* plane) {
  const leat_tensor_t* given = leat_kernel_input(c, 1);
  leat_tensor_t maxima;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, given->dtype, &given->shape, &maxima));
  plane->output = maxima.data;
  max_of(given->dtype)(plane, 0, plane->batch * plane->out[0]);
  const bool same =
      equal_of(given->dtype)(maxima.data, given->data, given->shape.element_count);
  leat_tensor_release(&maxima);
  return same ? leat_ok_status()
              : leat_kernel_invalid(c, "tensor_out_dup is not the same as tensor_out");
}

static leat_status_t max_pool_grad__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_tensor_t* given = leat_kernel_input(c, 1);
  const leat_tensor_t* dy = leat_kernel_input(c, 2);
  if (input->shape.rank != 4 || input->shape.element_count == 0) {
    return leat_kernel_invalid(c, "orig_input should be a tensor of rank 4 and not empty, got %s",
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  if (!leat_shape_equal(&given->shape, &dy->shape)) {
    return leat_kernel_invalid(c, "orig_output is %s, must have the shape of out_backprop, %s",
                               LEAT_SHAPE_TEXT(&given->shape), LEAT_SHAPE_TEXT(&dy->shape));
  }
  for (int i = 0; i < 2; ++i) {
    const leat_shape_t* sequence = &leat_kernel_input(c, 3 + i)->shape;
    if (sequence->rank == 1) continue;
    return leat_kernel_invalid(c, "sequence %d has shape %s, must be a vector", i,
                               LEAT_SHAPE_TEXT(sequence));
  }
  plane_t plane;
  LEAT_RETURN_IF_ERROR(read_plane(c, leat_shape_dims(&input->shape), dy, 3, &plane));
  plane.input = input->data;
  LEAT_RETURN_IF_ERROR(check_output(c, &plane));
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  leat_tensor_fill_zero(output);
  plane.output = output->data;
  leat_kernel_parallel_for(c, plane.batch, 4 * (double)(input->shape.element_count / plane.batch),
                           spread_max_of(output->dtype), &plane);
  return leat_ok_status();
}

#define ROW(name, create_fn, compute_fn)                                                \
  LEAT_CPU_KERNEL(name, "T: float, double, int32, int64", leat_fractional_t, create_fn, \
                  compute_fn, .expensive = true)

const leat_kernel_row_t leat_fractional_pool_kernels_cpu[] = {
    ROW("FractionalMaxPool", create_pool, max_pool__cpu),
    ROW("FractionalMaxPoolGrad", create_overlapping, max_pool_grad__cpu),
    ROW("FractionalAvgPool", create_pool, avg_pool__cpu),
    ROW("FractionalAvgPoolGrad", create_overlapping, avg_pool_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
