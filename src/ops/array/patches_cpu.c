// The CPU kernels of ExtractImagePatches and ExtractVolumePatches (patches.c has the formulas). An
// image is treated as a volume of one plane, so that one code serves both. The output of a window
// is its elements in the order plane, row, column, channel:
//
//   input   . . a b . .      window 2 x 2, rate 1      patch   a b c d
//           . . c d . .                                        (each |depth| channels)
//
// A row of the window whose columns are neighbours in the input (rate 1, no padding) is copied at
// once; otherwise pixel by pixel, and with zeros where it lies in the padding. Shards are ranges of
// windows, and each window is written by one thread.
#include "base/checked.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

enum { PLANES, ROWS, COLUMNS, SPATIAL };

// The attributes; sizes, strides and rates of dimensions that an image lacks are 1.
typedef struct patches_state_s {
  int rank;  // of the input
  int64_t sizes[SPATIAL], strides[SPATIAL], rates[SPATIAL];
  bool is_same;
} patches_state_t;

static LEAT_COLD leat_status_t refuse(const leat_kernel_creation_t* c, leat_status_code_t code,
                                      const char* name, const char* rule) {
  return leat_make_status(code, "Kernel creation failed for node '%.*s' (%.*s): %s must %s",
                          LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name), name,
                          rule);
}

// Reads the spatial values of a list attribute into the last places of |out_values|. Batch and
// depth must be 1, and every value positive.
static leat_status_t read_list(const leat_kernel_creation_t* c, const char* name, int rank,
                               int64_t* out_values) {
  const int64_t* values;
  int count;
  for (int d = 0; d < SPATIAL; ++d) out_values[d] = 1;
  if (leat_op_find_attr(c->kernel->op, leat_string_view_from(name)) < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_ints(c, name, &values, &count));
  if (count != rank) return refuse(c, LEAT_INVALID_ARGUMENT, name, "have a value a dimension");
  if (values[0] != 1 || values[rank - 1] != 1) {
    return refuse(c, LEAT_UNIMPLEMENTED, name, "be 1 for batch and depth");
  }
  for (int d = 1; d < rank - 1; ++d) {
    if (values[d] < 1 || values[d] > INT32_MAX) {
      return refuse(c, LEAT_OUT_OF_RANGE, name, "be positive and below 2^31");
    }
    out_values[SPATIAL - (rank - 2) + d - 1] = values[d];
  }
  return leat_ok_status();
}

static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  patches_state_t* state = memory;
  leat_string_view_t padding;
  bool is_image = leat_string_view_equals(creation->kernel->op->name, "ExtractImagePatches");
  state->rank = is_image ? 4 : 5;
  LEAT_RETURN_IF_ERROR(read_list(creation, "ksizes", state->rank, state->sizes));
  LEAT_RETURN_IF_ERROR(read_list(creation, "strides", state->rank, state->strides));
  LEAT_RETURN_IF_ERROR(read_list(creation, "rates", state->rank, state->rates));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(creation, "padding", &padding));
  state->is_same = leat_string_view_equals(padding, "SAME");
  return leat_ok_status();
}

typedef struct patches_s {
  const patches_state_t* state;
  const char* from;
  char* to;
  int64_t in[SPATIAL], out[SPATIAL], pad[SPATIAL];
  int64_t batch, depth;
  int64_t depth_bytes;
  int64_t row_bytes;  // a row of a window
} patches_t;

// Computes how many positions the window has in each dimension and how much padding is before the
// input. SAME pads so that there are ceil(size / stride) positions; half of the padding, rounded
// down, comes first.
static leat_status_t place_windows(const leat_kernel_context_t* c, patches_t* p) {
  const patches_state_t* s = p->state;
  for (int d = 0; d < SPATIAL; ++d) {
    int64_t reach, stride = s->strides[d];
    if (!leat_checked_multiply(s->sizes[d] - 1, s->rates[d], &reach) || reach > INT32_MAX) {
      return leat_kernel_invalid(c, "window reaches too far, must reach less than 2^31");
    }
    ++reach;
    int64_t room = p->in[d] - reach + stride;
    p->out[d] = s->is_same ? (p->in[d] + stride - 1) / stride : room / stride;
    if (room < 0 && !s->is_same) {
      return leat_kernel_invalid(c, "dimension %d is %lld, must not be smaller than the window, "
                                 "%lld",
                                 d, (long long)p->in[d], (long long)reach);
    }
    int64_t missing = s->is_same ? (p->out[d] - 1) * stride + reach - p->in[d] : 0;
    p->pad[d] = LEAT_MAX(missing, 0) / 2;
  }
  return leat_ok_status();
}

// Copies a row of a window whose first pixel is at |column| of the input row |from|.
static void copy_row(const patches_t* p, const char* from, int64_t column, char* to) {
  const patches_state_t* s = p->state;
  int64_t count = s->sizes[COLUMNS], rate = s->rates[COLUMNS], size = p->in[COLUMNS];
  if (rate == 1 && column >= 0 && column + count <= size) {
    memcpy(to, from + column * p->depth_bytes, (size_t)p->row_bytes);
    return;
  }
  for (int64_t k = 0; k < count; ++k, column += rate, to += p->depth_bytes) {
    if (column >= 0 && column < size) {
      memcpy(to, from + column * p->depth_bytes, (size_t)p->depth_bytes);
    } else {
      memset(to, 0, (size_t)p->depth_bytes);
    }
  }
}

// Copies the window at |position| of the volume |from|; returns the end of what it wrote.
static char* copy_window(const patches_t* p, const char* from, const int64_t* position, char* to) {
  const patches_state_t* s = p->state;
  int64_t first[SPATIAL];
  for (int d = 0; d < SPATIAL; ++d) first[d] = position[d] * s->strides[d] - p->pad[d];
  for (int64_t k = 0; k < s->sizes[PLANES]; ++k) {
    int64_t plane = first[PLANES] + k * s->rates[PLANES];
    for (int64_t r = 0; r < s->sizes[ROWS]; ++r, to += p->row_bytes) {
      int64_t row = first[ROWS] + r * s->rates[ROWS];
      if (plane < 0 || plane >= p->in[PLANES] || row < 0 || row >= p->in[ROWS]) {
        memset(to, 0, (size_t)p->row_bytes);
      } else {
        int64_t pixel = (plane * p->in[ROWS] + row) * p->in[COLUMNS];
        copy_row(p, from + pixel * p->depth_bytes, first[COLUMNS], to);
      }
    }
  }
  return to;
}

// Copies windows [begin, end) of all volumes of the batch.
static void copy_windows(void* data, int64_t begin, int64_t end) {
  const patches_t* p = data;
  const patches_state_t* s = p->state;
  int64_t volume = p->in[PLANES] * p->in[ROWS] * p->in[COLUMNS] * p->depth_bytes;
  char* to = p->to + begin * s->sizes[PLANES] * s->sizes[ROWS] * p->row_bytes;
  for (int64_t i = begin; i < end; ++i) {
    int64_t position[SPATIAL], rest = i;
    for (int d = SPATIAL - 1; d >= 0; --d) {
      position[d] = rest % p->out[d];
      rest /= p->out[d];
    }
    to = copy_window(p, p->from + rest * volume, position, to);
  }
}

static leat_status_t make_output(leat_kernel_context_t* c, const patches_t* p,
                                 leat_tensor_t** out_output) {
  const patches_state_t* s = p->state;
  int64_t dims[SPATIAL + 2] = {p->batch}, depth = p->depth;
  int rank = 1;
  bool fits = true;
  for (int d = 0; d < SPATIAL; ++d) {
    fits = fits && leat_checked_multiply(depth, s->sizes[d], &depth);
    if (d >= SPATIAL - (s->rank - 2)) dims[rank++] = p->out[d];
  }
  if (!fits) return leat_kernel_invalid(c, "patches are too large, must be below 2^63");
  dims[rank++] = depth;
  return leat_kernel_allocate_sized(c, 0, rank, dims, out_output);
}

static leat_status_t extract_patches__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  patches_t p = {.state = leat_kernel_state(c), .from = input->data};
  int rank = p.state->rank;
  if (input->shape.rank != rank) {
    return leat_kernel_invalid(c, "input has shape %s, must have rank %d",
                               LEAT_SHAPE_TEXT(&input->shape), rank);
  }
  p.in[PLANES] = 1;
  for (int d = 1; d < rank - 1; ++d) {
    p.in[SPATIAL - (rank - 2) + d - 1] = leat_shape_dim(&input->shape, d);
  }
  p.batch = leat_shape_dim(&input->shape, 0);
  p.depth = leat_shape_dim(&input->shape, rank - 1);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(place_windows(c, &p));
  LEAT_RETURN_IF_ERROR(make_output(c, &p, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  p.to = output->data;
  p.depth_bytes = p.depth * (int64_t)leat_dtype_size(input->dtype);
  p.row_bytes = p.state->sizes[COLUMNS] * p.depth_bytes;
  int64_t rows = p.state->sizes[PLANES] * p.state->sizes[ROWS];
  leat_kernel_parallel_for(c, p.batch * p.out[PLANES] * p.out[ROWS] * p.out[COLUMNS],
                           (double)rows * (4 + 0.06 * (double)p.row_bytes), copy_windows, &p);
  return leat_ok_status();
}

const leat_kernel_row_t leat_patches_kernels_cpu[] = {
    {.op = "ExtractImagePatches",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_NUMBER,
     .create = create,
     .state_bytes = sizeof(patches_state_t),
     .compute = extract_patches__cpu},
    {.op = "ExtractVolumePatches",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_REAL,
     .create = create,
     .state_bytes = sizeof(patches_state_t),
     .compute = extract_patches__cpu},
    LEAT_KERNEL_ROWS_END,
};
