// The ops ExtractImagePatches and ExtractVolumePatches: a window slides over images or volumes, and
// the elements under it at each position are laid out as channels. patches_cpu.c has the kernels.
//
//   images  [batch, rows, columns, depth]
//        -> [batch, out_rows, out_columns, window_rows * window_columns * depth]
//   volumes [batch, planes, rows, columns, depth], likewise with three dimensions
//
// In a dimension of |size| elements, a window of |k| elements that are |rate| apart reaches over
// reach = k + (k - 1) (rate - 1) elements, and moves by |stride|. Its positions are
//
//   SAME:  ceil(size / stride)      VALID:  floor((size - reach + stride) / stride)
//
// The gradient of an element of the input is the sum of the gradients of all patch elements that
// were copied from it. The graph finds them without an op of its own. The positions of the input,
// numbered from 1, are cut into patches too, so that each patch element knows where it came from; 0
// says that it came from the padding. UnsortedSegmentSum then adds the gradients up by these
// numbers.
#include "base/checked.h"
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

#define MAX_SPATIAL 3

// The attributes of an op with a window of |count| spatial dimensions.
typedef struct window_s {
  int count;
  int64_t sizes[MAX_SPATIAL], strides[MAX_SPATIAL], rates[MAX_SPATIAL];
  bool is_same;
} window_t;

// Reads the |count| spatial values of a list attribute, which has one value more at either end, for
// batch and depth. They are 1 where the op has no such attribute.
static leat_status_t read_list(const leat_node_t* node, const char* name, int count,
                               int64_t* out_values) {
  const leat_attr_value_t* list = leat_node_attr(node, leat_string_view_from(name));
  for (int d = 0; d < count; ++d) out_values[d] = 1;
  if (!list) return leat_ok_status();  // volumes have no rates
  if (list->count != (uint32_t)count + 2) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%.*s requires the %s attribute to contain %d values, but got: %u",
                            LEAT_SV_ARG(node->op->name), name, count + 2, list->count);
  }
  for (int d = 0; d < count; ++d) {
    out_values[d] = list->ints[d + 1];
    if (out_values[d] > INT32_MAX) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "%s[%d] is %lld, must be below 2^31", name,
                              d + 1, (long long)out_values[d]);
    }
  }
  return leat_ok_status();
}

static leat_status_t read_window(const leat_node_t* node, window_t* w) {
  w->count = leat_string_view_equals(node->op->name, "ExtractVolumePatches") ? 3 : 2;
  LEAT_RETURN_IF_ERROR(read_list(node, "ksizes", w->count, w->sizes));
  LEAT_RETURN_IF_ERROR(read_list(node, "strides", w->count, w->strides));
  LEAT_RETURN_IF_ERROR(read_list(node, "rates", w->count, w->rates));
  w->is_same = leat_string_view_equals(leat_node_attr_string(node, "padding"), "SAME");
  return leat_ok_status();
}

static bool is_int32(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

// Computes how many positions the window has in spatial dimension |d| of |size| elements; unknown
// for an unknown size.
static leat_status_t window_positions(const window_t* w, int d, int64_t size, int64_t* out_count) {
  *out_count = LEAT_DIM_UNKNOWN;
  if (w->strides[d] <= 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Stride must be > 0, but got %lld",
                            (long long)w->strides[d]);
  }
  if (size == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (!is_int32(w->sizes[d]) || !is_int32(w->rates[d]) || !is_int32(w->strides[d])) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "ksizes, strides or rates hold more than 32 bits, must not");
  }
  int64_t reach = w->sizes[d] + (w->sizes[d] - 1) * (w->rates[d] - 1);
  *out_count = w->is_same ? (size + w->strides[d] - 1) / w->strides[d]
                          : (size - reach + w->strides[d]) / w->strides[d];
  if (*out_count >= 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Computed output size would be negative: %lld [input_size: %lld, "
                          "effective_filter_size: %lld, stride: %lld]",
                          (long long)*out_count, (long long)size, (long long)reach,
                          (long long)w->strides[d]);
}

// The positions are computed only where all spatial sizes are known, as in TensorFlow; the depth
// does not depend on them.
static leat_status_t patches_shape(leat_inference_t* c) {
  window_t w;
  leat_partial_shape_t input = leat_inference_input(c, 0), shape;
  int rank = leat_string_view_equals(c->node->op->name, "ExtractVolumePatches") ? 5 : 4;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, input, rank, &input));
  LEAT_RETURN_IF_ERROR(read_window(c->node, &w));
  int64_t dims[MAX_SPATIAL + 2], depth = input.dims[rank - 1];
  bool is_known = true;
  for (int d = 0; d < w.count; ++d) {
    is_known = is_known && input.dims[d + 1] != LEAT_DIM_UNKNOWN;
    LEAT_RETURN_IF_ERROR(leat_inference_multiply(depth, w.sizes[d], &depth));
  }
  dims[0] = input.dims[0];
  dims[rank - 1] = depth;
  for (int d = 0; d < w.count; ++d) {
    int64_t size = is_known ? input.dims[d + 1] : LEAT_DIM_UNKNOWN;
    LEAT_RETURN_IF_ERROR(window_positions(&w, d, size, &dims[d + 1]));
  }
  if (depth < LEAT_DIM_UNKNOWN) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Dimension size must be non-negative");
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// ---- The gradient -------------------------------------------------------------------------------

typedef struct way_back_s {
  leat_builder_t* b;
  int count;                              // spatial dimensions
  int32_t in;                             // an Unpack node: output i is size i of the input
  int32_t out;                            // the same of the patches
  leat_output_t sizes[MAX_SPATIAL];       // of the window
  leat_output_t positions;                // spatial positions that the input has
} way_back_t;

static leat_output_t dim(int32_t sizes, int d) { return leat_node_output(sizes, d); }

static int32_t split_shape(leat_builder_t* b, leat_output_t x, int rank) {
  return leat_build_node(b, "Unpack", LEAT_INPUTS(leat_build_shape_of(b, x)),
                         LEAT_ATTRS(LEAT_INT("num", rank)));
}

// Builds [1, in..., 1], an image of one channel whose element at each position is the number of the
// position, from 1 on.
static leat_output_t number_positions(const way_back_t* w, leat_output_t one) {
  leat_builder_t* b = w->b;
  leat_output_t end = leat_build_binary(b, "AddV2", w->positions, one);
  leat_output_t numbers = leat_build(b, "Range", LEAT_INPUTS(one, end, one), LEAT_NO_ATTRS);
  leat_output_t shape[MAX_SPATIAL + 2] = {one};
  for (int d = 0; d < w->count; ++d) shape[d + 1] = dim(w->in, d + 1);
  shape[w->count + 1] = one;
  leat_output_t packed =
      leat_build(b, "Pack", (leat_outputs_t){shape, w->count + 2}, LEAT_NO_ATTRS);
  return leat_build_binary(b, "Reshape", numbers, packed);
}

// Builds a matrix with a row for each element of the window at each of its positions:
//   [batch, out..., window..., depth] -> [out..., window..., batch, depth] -> [rows, batch * depth]
static leat_output_t flatten(const way_back_t* w, leat_output_t gradient) {
  leat_builder_t* b = w->b;
  int n = w->count, rank = 2 * n + 2;
  leat_output_t shape[2 * MAX_SPATIAL + 2];
  int32_t perm[2 * MAX_SPATIAL + 2];
  shape[0] = dim(w->in, 0);
  for (int d = 0; d < n; ++d) {
    shape[1 + d] = dim(w->out, d + 1);
    shape[1 + n + d] = w->sizes[d];
  }
  shape[rank - 1] = dim(w->in, n + 1);
  for (int d = 0; d < 2 * n; ++d) perm[d] = d + 1;
  perm[2 * n] = 0;
  perm[2 * n + 1] = rank - 1;
  leat_output_t packed = leat_build(b, "Pack", (leat_outputs_t){shape, rank}, LEAT_NO_ATTRS);
  leat_output_t expanded = leat_build_binary(b, "Reshape", gradient, packed);
  leat_output_t transposed = leat_build_binary(b, "Transpose", expanded,
                                               leat_build_int32_vector(b, perm, rank));
  leat_output_t columns = leat_build_binary(b, "Mul", shape[0], shape[rank - 1]);
  leat_output_t minus_one = leat_build_scalar(b, LEAT_DTYPE_INT32, -1);
  leat_output_t matrix =
      leat_build(b, "Pack", LEAT_INPUTS(minus_one, columns), LEAT_NO_ATTRS);
  return leat_build_binary(b, "Reshape", transposed, matrix);
}

// Builds [positions, batch * depth] -> [batch, in..., depth].
static leat_output_t unflatten(const way_back_t* w, leat_output_t sums) {
  leat_builder_t* b = w->b;
  int n = w->count;
  leat_output_t shape[MAX_SPATIAL + 2];
  int32_t perm[MAX_SPATIAL + 2];
  perm[0] = n;
  for (int d = 0; d < n; ++d) {
    shape[d] = dim(w->in, d + 1);
    perm[d + 1] = d;
  }
  shape[n] = dim(w->in, 0);
  shape[n + 1] = dim(w->in, n + 1);
  perm[n + 1] = n + 1;
  leat_output_t packed = leat_build(b, "Pack", (leat_outputs_t){shape, n + 2}, LEAT_NO_ATTRS);
  leat_output_t expanded = leat_build_binary(b, "Reshape", sums, packed);
  return leat_build_binary(b, "Transpose", expanded, leat_build_int32_vector(b, perm, n + 2));
}

static leat_status_t patches_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  const char* op = node->op->row->name;
  window_t window;
  LEAT_RETURN_IF_ERROR(read_window(node, &window));
  way_back_t w = {.b = b, .count = window.count};
  leat_attrs_t attrs =
      LEAT_ATTRS(LEAT_COPY("ksizes", leat_node_attr(node, LEAT_SV("ksizes"))),
                 LEAT_COPY("strides", leat_node_attr(node, LEAT_SV("strides"))),
                 LEAT_COPY("padding", leat_node_attr(node, LEAT_SV("padding"))),
                 // Volumes have no rates: the last attribute is dropped below.
                 LEAT_COPY("rates", leat_node_attr(node, w.count == 2 ? LEAT_SV("rates")
                                                                      : LEAT_SV("strides"))));
  if (w.count == 3) --attrs.count;
  w.in = split_shape(b, leat_gradient_input(g, 0), w.count + 2);
  w.out = split_shape(b, leat_gradient_output(g, 0), w.count + 2);
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  w.positions = one;
  for (int d = 0; d < w.count; ++d) {
    w.sizes[d] = leat_build_scalar(b, LEAT_DTYPE_INT32, (double)window.sizes[d]);
    w.positions = leat_build_binary(b, "Mul", w.positions, dim(w.in, d + 1));
  }
  leat_output_t origins = leat_build(b, op, LEAT_INPUTS(number_positions(&w, one)), attrs);
  leat_output_t flat = leat_build_int32_vector(b, (const int32_t[]){-1}, 1);
  leat_output_t segments =
      leat_build_binary(b, "Sub", leat_build_binary(b, "Reshape", origins, flat), one);
  leat_output_t sums = leat_build(
      b, "UnsortedSegmentSum",
      LEAT_INPUTS(flatten(&w, leat_gradient_of_output(g, 0)), segments, w.positions),
      LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 0, unflatten(&w, sums));
  return leat_ok_status();
}

const leat_op_row_t leat_patches_ops[] = {
    {.name = "ExtractImagePatches",
     .inputs = "images: T",
     .outputs = "patches: T",
     .attrs = "ksizes: list(int) >= 4; strides: list(int) >= 4; rates: list(int) >= 4; T: "
              "{bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, "
              "uint64, complex64, complex128, bool}; padding: {'SAME', 'VALID'}",
     .shape = patches_shape,
     .gradient = patches_gradient,
     .doc = "The window at each position of the images, its pixels side by side as channels."},
    {.name = "ExtractVolumePatches",
     .inputs = "input: T",
     .outputs = "patches: T",
     .attrs = "ksizes: list(int) >= 5; strides: list(int) >= 5; T: {float, double, int32, uint8, "
              "int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; padding: {'SAME', "
              "'VALID'}",
     .shape = patches_shape,
     .gradient = patches_gradient,
     .doc = "The window at each position of the volumes, its voxels side by side as channels."},
    LEAT_OP_ROWS_END,
};
