// Two-dimensional and depthwise convolutions and their gradients. A convolution is a sum of
// products x[a] * f[b] that are added to y[c]; visit_products() enumerates these triples from the
// attributes, and the three references differ only in which of the three arrays they add to. The
// geometry (strides, dilations, padding, groups, layout) is thereby written once, and independently
// of the kernels. Sizes that come as a tensor, as for the backward ops, may be anything, including
// four numbers whose product is 0 in 64 bits. The kernels below these ops have their own test,
// device/cpu/convolution_test.c.
#include "op_harness/op_harness.h"

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -1, 1)

static const leat_attr_value_t* find(const leat_reference_t* r, const char* name) {
  for (int i = 0; i < LEAT_CASE_MAX_ATTRS; ++i) {
    const leat_attr_t* attr = &r->op_case->attrs[i];
    if (leat_string_view_equals(attr->name, name)) return &attr->value;
  }
  return NULL;
}

// Where things lie: dims [batch, rows, columns, channels] of a tensor and their strides.
typedef struct grid_s {
  int64_t dims[4], strides[4];
} grid_t;
static grid_t grid_of(const leat_shape_t* shape, bool channels_first) {
  static const int kOrders[2][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}};
  grid_t grid;
  for (int i = 0; i < 4; ++i) {
    const int d = kOrders[channels_first][i];
    grid.dims[i] = leat_shape_dim(shape, d);
    grid.strides[i] = leat_shape_product(shape, d + 1, 4);
  }
  return grid;
}
static int64_t place(const grid_t* g, int64_t b, int64_t y, int64_t x, int64_t c) {
  return b * g->strides[0] + y * g->strides[1] + x * g->strides[2] + c * g->strides[3];
}

typedef struct geometry_s {
  grid_t in, out;
  int64_t filter[4];
  int64_t strides[2], dilations[2], pads[2];
} geometry_t;

static void read_geometry(const leat_reference_t* r, const leat_shape_t* in,
                          const leat_shape_t* filter, const leat_shape_t* out, geometry_t* g) {
  const leat_attr_value_t* format = find(r, "data_format");
  const leat_attr_value_t* dilations = find(r, "dilations");
  const leat_attr_value_t* explicit_pads = find(r, "explicit_paddings");
  const bool first = format && leat_string_view_equals(format->s, "NCHW");
  const bool same = leat_string_view_equals(find(r, "padding")->s, "SAME");
  g->in = grid_of(in, first);
  g->out = grid_of(out, first);
  for (int i = 0; i < 4; ++i) g->filter[i] = leat_shape_dim(filter, i);
  for (int i = 0; i < 2; ++i) {
    const int d = i + (first ? 2 : 1);
    g->strides[i] = find(r, "strides")->ints[d];
    g->dilations[i] = dilations ? dilations->ints[d] : 1;
    const int64_t needed = (g->out.dims[1 + i] - 1) * g->strides[i] +
                           (g->filter[i] - 1) * g->dilations[i] + 1 - g->in.dims[1 + i];
    g->pads[i] = explicit_pads ? explicit_pads->ints[2 * d] : same && needed > 0 ? needed / 2 : 0;
  }
}

// Every product x[a] * f[b] that is added to y[c] is given to |visit|.
typedef void (*visit_fn_t)(void* data, int64_t a, int64_t b, int64_t c);
static void visit_products(const geometry_t* g, bool is_depthwise, visit_fn_t visit, void* data) {
  const int64_t* f = g->filter;
  const int64_t groups = is_depthwise ? 1 : g->in.dims[3] / f[2];
  for (int64_t i = 0; i < g->out.dims[0] * g->out.dims[1] * g->out.dims[2] * g->out.dims[3]; ++i) {
    const int64_t o = i % g->out.dims[3], x = i / g->out.dims[3] % g->out.dims[2];
    const int64_t y = i / (g->out.dims[3] * g->out.dims[2]) % g->out.dims[1];
    const int64_t b = i / (g->out.dims[3] * g->out.dims[2] * g->out.dims[1]);
    for (int64_t k = 0; k < f[0] * f[1] * f[2]; ++k) {
      const int64_t c = k % f[2], u = k / f[2] / f[1], v = k / f[2] % f[1];
      const int64_t row = y * g->strides[0] - g->pads[0] + u * g->dilations[0];
      const int64_t column = x * g->strides[1] - g->pads[1] + v * g->dilations[1];
      if (row < 0 || row >= g->in.dims[1] || column < 0 || column >= g->in.dims[2]) continue;
      int64_t channel = o / (g->out.dims[3] / groups) * f[2] + c, filter = k * f[3] + o;
      if (is_depthwise) {
        if (o / f[3] != c) continue;
        channel = c;
        filter = k * f[3] + o % f[3];
      }
      visit(data, place(&g->in, b, row, column, channel), filter, place(&g->out, b, y, x, o));
    }
  }
}

typedef struct buffers_s {
  const double *x, *f, *y;
  double* out;
} buffers_t;
static void add_forward(void* data, int64_t a, int64_t b, int64_t c) {
  buffers_t* s = data;
  s->out[c] += s->x[a] * s->f[b];
}
static void add_input(void* data, int64_t a, int64_t b, int64_t c) {
  buffers_t* s = data;
  s->out[a] += s->y[c] * s->f[b];
}
static void add_filter(void* data, int64_t a, int64_t b, int64_t c) {
  buffers_t* s = data;
  s->out[b] += s->y[c] * s->x[a];
}
static void clear(const leat_reference_t* r) {
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) r->out[0][i] = 0;
}

static void forward(const leat_reference_t* r, bool is_depthwise) {
  geometry_t g;
  buffers_t buffers = {.x = r->in[0], .f = r->in[1], .out = r->out[0]};
  read_geometry(r, &r->inputs[0].shape, &r->inputs[1].shape, &r->outputs[0].shape, &g);
  clear(r);
  visit_products(&g, is_depthwise, add_forward, &buffers);
}
static void forward_reference(const leat_reference_t* r) { forward(r, false); }
static void depthwise_reference(const leat_reference_t* r) { forward(r, true); }

static void input_reference(const leat_reference_t* r) {
  geometry_t g;
  buffers_t buffers = {.f = r->in[1], .y = r->in[2], .out = r->out[0]};
  read_geometry(r, &r->outputs[0].shape, &r->inputs[1].shape, &r->inputs[2].shape, &g);
  clear(r);
  visit_products(&g, false, add_input, &buffers);
}
static void filter_reference(const leat_reference_t* r) {
  geometry_t g;
  buffers_t buffers = {.x = r->in[0], .y = r->in[2], .out = r->out[0]};
  read_geometry(r, &r->inputs[0].shape, &r->outputs[0].shape, &r->inputs[2].shape, &g);
  clear(r);
  visit_products(&g, false, add_filter, &buffers);
}

#define STRIDES(s) LEAT_CASE_INTS("strides", 1, s, s, 1)
#define SAME LEAT_CASE_STR("padding", "SAME")
#define VALID LEAT_CASE_STR("padding", "VALID")
#define SIZES(...) LEAT_ITEMS(INT32, LEAT_DIMS(4), __VA_ARGS__)

static const leat_op_case_t kCases[] = {
    {.op = "Conv2D",
     .attrs = {STRIDES(1), SAME},
     .inputs = {X(2, 4, 5, 3), X(3, 3, 3, 4)},
     .types = LEAT_DTYPES_FLOATING | LEAT_DTYPE_BIT(INT32),
     .reference = forward_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "Conv2D",
     .name = "strides",
     .attrs = {STRIDES(2), VALID},
     .inputs = {X(2, 6, 7, 3), X(3, 2, 3, 4)},
     .reference = forward_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "Conv2D",
     .name = "dilations",
     .attrs = {STRIDES(1), SAME, LEAT_CASE_INTS("dilations", 1, 2, 2, 1)},
     .inputs = {X(1, 7, 7, 2), X(3, 3, 2, 3)},
     .reference = forward_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "Conv2D",
     .name = "explicit padding",
     .attrs = {STRIDES(1), LEAT_CASE_STR("padding", "EXPLICIT"),
               LEAT_CASE_INTS("explicit_paddings", 0, 0, 2, 1, 0, 1, 0, 0)},
     .inputs = {X(1, 4, 4, 2), X(3, 3, 2, 3)},
     .reference = forward_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "Conv2D",
     .name = "channels first",
     .attrs = {LEAT_CASE_INTS("strides", 1, 1, 2, 1), SAME, LEAT_CASE_STR("data_format", "NCHW")},
     .inputs = {X(2, 3, 4, 5), X(3, 3, 3, 4)},
     .reference = forward_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "Conv2D",
     .name = "in groups",
     .attrs = {STRIDES(1), SAME},
     .inputs = {X(1, 4, 4, 4), X(3, 3, 2, 6)},
     .reference = forward_reference},
    {.op = "Conv2D",
     .name = "one position",
     .attrs = {STRIDES(1), VALID},
     .inputs = {X(3, 4, 4, 33), X(1, 1, 33, 17)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = forward_reference},
    {.op = "Conv2D",
     .name = "blocks and their rests",
     .attrs = {STRIDES(1), SAME},
     .inputs = {X(2, 11, 13, 20), X(5, 5, 20, 35)},
     .reference = forward_reference,
     .tolerance = 1e-4},
    {.op = "Conv2D",
     .name = "no images",
     .attrs = {STRIDES(1), SAME},
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 4, 4, 2)), X(3, 3, 2, 5)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 4, 4, 5))}},
    {.op = "Conv2D",
     .name = "channels that do not fit",
     .attrs = {STRIDES(1), SAME},
     .inputs = {X(1, 4, 4, 3), X(3, 3, 2, 5)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Conv2D",
     .name = "a filter larger than the input",
     .attrs = {STRIDES(1), VALID},
     .inputs = {X(1, 2, 2, 2), X(5, 5, 2, 5)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Conv2DBackpropInput",
     .attrs = {STRIDES(2), SAME},
     .inputs = {SIZES(2, 5, 6, 3), X(3, 3, 3, 4), X(2, 3, 3, 4)},
     .reference = input_reference},
    {.op = "Conv2DBackpropInput",
     .name = "5 x 5",
     .attrs = {STRIDES(1), SAME},
     .inputs = {SIZES(2, 9, 10, 17), X(5, 5, 17, 32), X(2, 9, 10, 32)},
     .reference = input_reference,
     .tolerance = 1e-4},
    {.op = "Conv2DBackpropInput",
     .name = "sizes that do not fit",
     .attrs = {STRIDES(2), SAME},
     .inputs = {SIZES(2, 9, 6, 3), X(3, 3, 3, 4), X(2, 3, 3, 4)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Conv2DBackpropFilter",
     .attrs = {STRIDES(2), SAME},
     .inputs = {X(2, 5, 6, 3), SIZES(3, 3, 3, 4), X(2, 3, 3, 4)},
     .reference = filter_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "Conv2DBackpropFilter",
     .name = "one channel",
     .attrs = {STRIDES(1), SAME},
     .inputs = {X(3, 12, 12, 1), SIZES(5, 5, 1, 32), X(3, 12, 12, 32)},
     .reference = filter_reference,
     .tolerance = 1e-4},
    // 2^16 times itself four times is 0 in 64 bits: not a filter without items.
    {.op = "Conv2DBackpropFilter",
     .name = "sizes whose product is too large",
     .attrs = {STRIDES(1), SAME},
     .inputs = {X(1, 2, 2, 1), SIZES(65536, 65536, 65536, 65536), X(1, 2, 2, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "filter depth"},
    {.op = "DepthwiseConv2dNativeBackpropFilter",
     .name = "sizes whose product is too large",
     .attrs = {STRIDES(1), SAME},
     .inputs = {X(1, 2, 2, 1), SIZES(2147483647, 2147483647, 2147483647, 2147483647),
                X(1, 2, 2, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "DepthwiseConv2dNative",
     .attrs = {STRIDES(1), SAME},
     .inputs = {X(2, 4, 5, 3), X(3, 3, 3, 2)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = depthwise_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "DepthwiseConv2dNative",
     .name = "strides",
     .attrs = {STRIDES(2), VALID},
     .inputs = {X(2, 7, 6, 17), X(3, 3, 17, 1)},
     .reference = depthwise_reference},
    {.op = "Conv2D",
     .name = "the first of mnist_cnn",
     .attrs = {STRIDES(1), SAME},
     .inputs = {X(128, 28, 28, 1), X(5, 5, 1, 32)},
     .reference = forward_reference,
     .bench = true,
     .bench_only = true},
    {.op = "Conv2D",
     .name = "the second of mnist_cnn",
     .attrs = {STRIDES(1), SAME},
     .inputs = {X(128, 14, 14, 32), X(5, 5, 32, 64)},
     .reference = forward_reference,
     .tolerance = 1e-3,
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
