// CPU kernels of fused convolutions of 8-bit images: the integer convolution, a bias, a summand,
// Relu, and the change to 8 bits, as Intel's tools put them into one node of a frozen graph. Which
// of them a node has its name says (QuantizedConv2D...), or its attribute "fused_ops"
// (_FusedQuantizedConv2D, _FusedQuantizedDepthwiseConv2D). kVariants has a row for each name.
//
// TensorFlow computes these with oneDNN, and so do the formulas here, bit for bit. All ranges are
// symmetric (quantized_epilogue_cpu.h): with step_in, step_filter[j] and step_out,
//
//   x      = sum * (step_in * step_filter[j]) + bias[j] + summand * step_summand
//   output = max(x, 0) * (1 / step_out), rounded
//
// - A bias of qint32 is in steps of step_in * step_filter[j]; it is divided by their inverse.
// - Without Requantize the output has 32 bits, and step_out is step_in times the step of the widest
//   of the filter's columns. The sums are thus what they were where the filter has one range. Where
//   it has one for each column, outputs 1 and 2 nevertheless tell the range that each column would
//   have with its own step. The summand is float there, and counts as it is.
// - A qint8 summand of a quint8 output limits the output to 127: oneDNN writes over the summand.
// - "padding_list" takes the place of the padding (ops/nn/window.h). TensorFlow wants the filter to
//   be a constant; here it may be anything.
//
// A convolution is a product of windows and filter, once for each group of channels; a depthwise
// one multiplies pixel by pixel. Both hand rows of sums to the epilogue, while they are in the
// cache.
#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/nn/epilogue_cpu.h"
#include "ops/nn/window.h"
#include "ops/quantize/quantized_epilogue_cpu.h"
#include "ops/quantize/quantized_windows_cpu.h"

// ---- Creation -----------------------------------------------------------------------------------

// The positions of inputs that not all nodes have, and of the first ends of ranges.
typedef struct places_s {
  int bias, summand;
  int input_range, filter_range, summand_range, output_range;
} places_t;

typedef struct state_s {
  leat_quantized_fusion_t fusion;
  places_t places;
  leat_window_t window;
  bool is_depthwise;
} state_t;

typedef enum fused_part_e {
  BIAS = 1,
  SUM = 2,
  RELU = 4,
  REQUANTIZE = 8,
  DEPTHWISE = 16,
} fused_part_t;

#define IMAGES "Tinput: quint8; Tfilter: qint8; out_type: qint32"
#define SIGNED_IMAGES "Tinput: quint8, qint8; Tfilter: qint8; out_type: qint32"
#define BYTES "Tinput: quint8; Tfilter: qint8; Tbias: float, qint32; out_type: quint8"
#define SIGNED_BYTES "Tinput: quint8, qint8; Tfilter: qint8; Tbias: float, qint32; "

// X(op, parts, types)
#define VARIANTS(X)                                                                               \
  X("QuantizedConv2D", 0, IMAGES)                                                                 \
  X("QuantizedConv2DPerChannel", 0, IMAGES)                                                       \
  X("QuantizedConv2DAndRelu", RELU, IMAGES)                                                       \
  X("QuantizedConv2DAndReluAndRequantize", RELU | REQUANTIZE,                                     \
    "Tinput: quint8; Tfilter: qint8; out_type: quint8")                                           \
  X("QuantizedConv2DAndRequantize", REQUANTIZE,                                                   \
    "Tinput: quint8; Tfilter: qint8; out_type: qint8")                                            \
  X("QuantizedConv2DWithBias", BIAS, SIGNED_IMAGES)                                               \
  X("QuantizedConv2DWithBiasAndRelu", BIAS | RELU, SIGNED_IMAGES)                                 \
  X("QuantizedConv2DWithBiasAndReluAndRequantize", BIAS | RELU | REQUANTIZE,                      \
    SIGNED_BYTES "out_type: quint8")                                                              \
  X("QuantizedConv2DWithBiasAndRequantize", BIAS | REQUANTIZE, SIGNED_BYTES "out_type: qint8")    \
  X("QuantizedConv2DWithBiasSumAndRelu", BIAS | SUM | RELU, IMAGES)                               \
  X("QuantizedConv2DWithBiasSumAndReluAndRequantize", BIAS | SUM | RELU | REQUANTIZE,             \
    BYTES "; Tsummand: quint8")                                                                   \
  X("QuantizedConv2DWithBiasSignedSumAndReluAndRequantize", BIAS | SUM | RELU | REQUANTIZE,       \
    BYTES "; Tsummand: qint8")                                                                    \
  X("QuantizedDepthwiseConv2D", DEPTHWISE, IMAGES)                                                \
  X("QuantizedDepthwiseConv2DWithBias", DEPTHWISE | BIAS, IMAGES)                                 \
  X("QuantizedDepthwiseConv2DWithBiasAndRelu", DEPTHWISE | BIAS | RELU, IMAGES)                   \
  X("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", DEPTHWISE | BIAS | RELU | REQUANTIZE, \
    BYTES)

typedef struct variant_s {
  const char* op;
  unsigned parts;
} variant_t;
#define VARIANT(op, parts, types) {op, parts},
static const variant_t kVariants[] = {VARIANTS(VARIANT)};

// The lists that "fused_ops" may be.
static const struct {
  unsigned parts;
  const char* ops[4];
} kLists[] = {
    {0, {0}},
    {BIAS, {"BiasAdd"}},
    {RELU, {"Relu"}},
    {REQUANTIZE, {"Requantize"}},
    {BIAS | RELU, {"BiasAdd", "Relu"}},
    {BIAS | REQUANTIZE, {"BiasAdd", "Requantize"}},
    {RELU | REQUANTIZE, {"Relu", "Requantize"}},
    {BIAS | RELU | REQUANTIZE, {"BiasAdd", "Relu", "Requantize"}},
    {BIAS | SUM | RELU, {"BiasAdd", "Sum", "Relu"}},
    {BIAS | SUM | RELU | REQUANTIZE, {"BiasAdd", "Sum", "Relu", "Requantize"}},
};

static leat_status_t create(leat_kernel_creation_t* c, unsigned parts, state_t* s) {
  s->is_depthwise = parts & DEPTHWISE;
  s->fusion = (leat_quantized_fusion_t){
      .has_bias = parts & BIAS, .has_sum = parts & SUM, .requantizes = parts & REQUANTIZE};
  if (parts & RELU) {
    s->fusion.activation = leat_epilogue_activation(LEAT_SV("Relu"), &s->fusion.takes_alpha);
  }
  LEAT_RETURN_IF_ERROR(leat_window_read(c->attrs, c->attr_count, 2, &s->window));
  const leat_window_t* w = &s->window;
  if (w->batch.stride != 1 || w->channels.stride != 1) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "strides of the batch and depth dimensions must be 1");
  }
  if (w->batch.dilation != 1 || w->channels.dilation != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "dilations of the batch and depth dimensions must be 1");
  }
  return leat_ok_status();
}

// input, filter, {bias}, ranges of input and filter, {range of the output}, {summand, {its range}}
static leat_status_t named_create(leat_kernel_creation_t* c, void* state) {
  state_t* s = state;
  unsigned parts = 0;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kVariants); ++i) {
    if (leat_string_view_equals(c->kernel->op->name, kVariants[i].op)) parts = kVariants[i].parts;
  }
  const int ranges = parts & BIAS ? 3 : 2, behind = ranges + (parts & REQUANTIZE ? 6 : 4);
  s->places = (places_t){.bias = 2,
                         .input_range = ranges,
                         .filter_range = ranges + 2,
                         .output_range = ranges + 4,
                         .summand = behind,
                         .summand_range = behind + 1};
  return create(c, parts, s);
}

// The parts of the attribute "fused_ops". INVALID_ARGUMENT for other lists than those above.
static leat_status_t read_parts(const leat_kernel_creation_t* c, unsigned* out_parts) {
  const leat_attr_value_t* ops;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "fused_ops", &ops));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kLists); ++i) {
    uint32_t same = 0, count = 0;
    while (count < LEAT_ARRAY_SIZE(kLists[i].ops) && kLists[i].ops[count]) ++count;
    for (uint32_t k = 0; k < count && k < ops->count; ++k) {
      same += leat_string_view_equals(ops->strings[k], kLists[i].ops[k]);
    }
    if (same != count || ops->count != count) continue;
    *out_parts = kLists[i].parts;
    return leat_ok_status();
  }
  return leat_epilogue_refuse(c, LEAT_INVALID_ARGUMENT,
                              "empty or some of BiasAdd, Sum, Relu and Requantize in this order, "
                              "Sum only between BiasAdd and Relu");
}

// The types of the list of inputs.
static leat_status_t check_types(const leat_kernel_creation_t* c, const state_t* s) {
  const places_t* p = &s->places;
  int input, filter, bias, summand;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "Tinput", &input));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "Tfilter", &filter));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "Tbias", &bias));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "Tsummand", &summand));
  LEAT_RETURN_IF_ERROR(leat_quantized_check_type(c, 0, input));
  LEAT_RETURN_IF_ERROR(leat_quantized_check_type(c, 1, filter));
  if (s->fusion.has_bias) LEAT_RETURN_IF_ERROR(leat_quantized_check_type(c, p->bias, bias));
  if (s->fusion.has_sum) LEAT_RETURN_IF_ERROR(leat_quantized_check_type(c, p->summand, summand));
  for (int i = p->input_range; i < c->kernel->input_count || i < p->output_range + 2; ++i) {
    LEAT_RETURN_IF_ERROR(leat_quantized_check_type(c, i, LEAT_DTYPE_FLOAT));
  }
  return leat_ok_status();
}

// The types of the outputs and of what is added to them.
static leat_status_t check_output(const leat_kernel_creation_t* c, const state_t* s) {
  const leat_kernel_t* k = c->kernel;
  int out_type, summand;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "out_type", &out_type));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "Tsummand", &summand));
  if (s->fusion.requantizes == (out_type == LEAT_DTYPE_QINT32)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "attribute out_type is %s, must be qint8 or "
                            "quint8 with Requantize, else qint32", leat_dtype_name(out_type));
  }
  const bool fits = !s->fusion.has_sum                ? summand == out_type
                    : out_type == LEAT_DTYPE_QINT32 ? summand == LEAT_DTYPE_FLOAT
                                                      : true;
  if (!fits) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "attribute Tsummand is %s, must be that of "
                            "out_type without Sum, and float for Sum without Requantize",
                            leat_dtype_name(summand));
  }
  if (k->output_count == 3 && k->output_types[0] == out_type &&
      k->output_types[1] == LEAT_DTYPE_FLOAT && k->output_types[2] == LEAT_DTYPE_FLOAT) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "attributes Tdevice_outputs and Thost_outputs "
                          "list other types than out_type, float and float");
}

// input, filter, {bias}, {summand}, ranges of input and filter, {of summand}, {of output}
static leat_status_t listed_create(leat_kernel_creation_t* c, unsigned more, state_t* s) {
  unsigned parts = 0;
  bool is_constant;
  LEAT_RETURN_IF_ERROR(read_parts(c, &parts));
  LEAT_RETURN_IF_ERROR(create(c, parts | more, s));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "is_filter_const", &is_constant));
  if (!is_constant) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "attribute is_filter_const is false, must be "
                            "true: the filter must be a constant");
  }
  int summand;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "Tsummand", &summand));
  const int ranges = 2 + s->fusion.has_bias + s->fusion.has_sum;
  const bool has_range = s->fusion.has_sum && summand != LEAT_DTYPE_FLOAT;
  s->places = (places_t){.bias = 2,
                         .summand = 2 + s->fusion.has_bias,
                         .input_range = ranges,
                         .filter_range = ranges + 2,
                         .summand_range = ranges + 4,
                         .output_range = ranges + (has_range ? 6 : 4)};
  if (!s->fusion.requantizes) s->places.output_range -= 2;  // there is none
  LEAT_RETURN_IF_ERROR(check_types(c, s));
  if (s->fusion.requantizes) s->places.output_range = c->kernel->input_count - 2;
  return check_output(c, s);
}
static leat_status_t conv2d_create(leat_kernel_creation_t* c, void* state) {
  return listed_create(c, 0, state);
}
static leat_status_t depthwise_create(leat_kernel_creation_t* c, void* state) {
  return listed_create(c, DEPTHWISE, state);
}

// ---- Geometry -----------------------------------------------------------------------------------

// A convolution over tensors whose shapes are known.
typedef struct conv_s {
  leat_quantized_windows_t windows;  // first: the callbacks get its product
  leat_quantized_epilogue_t epilogue;
  int64_t batch, columns;            // of the output
  int64_t groups, first_column;      // of the group that is being computed
  leat_tensor_t sums;                // of a depthwise convolution's bands
  int64_t rows, bands;
} conv_t;

static leat_status_t measure(const leat_kernel_context_t* c, const state_t* s, conv_t* g,
                             int64_t* out_sizes) {
  const leat_window_t* w = &s->window;
  const leat_shape_t* input = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* filter = &leat_kernel_input(c, 1)->shape;
  leat_quantized_windows_t* windows = &g->windows;
  if (filter->element_count == 0) {
    return leat_kernel_invalid(c, "filter has shape %s, must not have zero elements",
                               LEAT_SHAPE_TEXT(filter));
  }
  const int64_t in = leat_shape_dim(filter, 2), out = leat_shape_dim(filter, 3);
  windows->channels_first = w->channels_first;
  windows->channels = leat_shape_dim(input, leat_window_channel_dim(w));
  windows->group_channels = in;
  g->batch = leat_shape_dim(input, 0);
  g->columns = s->is_depthwise ? in * out : out;
  if (s->is_depthwise && in != windows->channels) {
    return leat_kernel_invalid(c, "input has %lld channels, must have as many as the filter, %lld",
                               (long long)windows->channels, (long long)in);
  }
  g->groups = s->is_depthwise ? 1 : windows->channels / in;
  if (!s->is_depthwise &&
      (g->groups == 0 || windows->channels % in != 0 || out % g->groups != 0)) {
    return leat_kernel_invalid(c, "input has %lld channels, must have a multiple of those of the "
                               "filter, %lld, that divides the output channels, %lld",
                               (long long)windows->channels, (long long)in, (long long)out);
  }
  out_sizes[0] = g->batch;
  out_sizes[leat_window_channel_dim(w)] = g->columns;
  for (int i = 0; i < 2; ++i) {
    windows->in[i] = leat_shape_dim(input, leat_window_dim(w, i));
    windows->size[i] = leat_shape_dim(filter, i);
    windows->stride[i] = w->axes[i].stride;
    windows->dilation[i] = w->axes[i].dilation;
    LEAT_RETURN_IF_ERROR(leat_window_count(&w->axes[i], w->padding, windows->in[i],
                                           windows->size[i], &windows->out[i],
                                           &windows->before[i]));
    out_sizes[leat_window_dim(w, i)] = windows->out[i];
  }
  return leat_ok_status();
}

// ---- The epilogue -------------------------------------------------------------------------------

static leat_status_t check_inputs(const leat_kernel_context_t* c, const state_t* s,
                                  const conv_t* g) {
  const places_t* p = &s->places;
  LEAT_RETURN_IF_ERROR(leat_quantized_check_range(c, p->input_range));
  if (s->fusion.requantizes) LEAT_RETURN_IF_ERROR(leat_quantized_check_range(c, p->output_range));
  if (s->fusion.has_bias) {
    LEAT_RETURN_IF_ERROR(leat_quantized_check_bias(c, p->bias, g->columns, false));
  }
  if (!s->fusion.has_sum) return leat_ok_status();
  const leat_tensor_t* summand = leat_kernel_input(c, p->summand);
  if (!leat_shape_equal(&summand->shape, &g->epilogue.output->shape)) {
    return leat_kernel_invalid(c, "summand has shape %s, must have that of the output, %s",
                               LEAT_SHAPE_TEXT(&summand->shape),
                               LEAT_SHAPE_TEXT(&g->epilogue.output->shape));
  }
  return summand->dtype == LEAT_DTYPE_FLOAT ? leat_ok_status()
                                            : leat_quantized_check_range(c, p->summand_range);
}

static void set_bias(const leat_kernel_context_t* c, const state_t* s, conv_t* g,
                     const leat_quantized_filter_t* filter) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_tensor_t* bias = leat_kernel_input(c, s->places.bias);
  const float end = leat_larger_end(leat_range_input(c, s->places.input_range));
  for (int64_t j = 0; j < g->columns; ++j) {
    if (bias->dtype == LEAT_DTYPE_FLOAT) {
      g->epilogue.bias[j] = leat_tensor_data(bias, const float)[j];
    } else {
      const float scale = leat_quantized_limit(input->dtype) * 127 /
                          (end * leat_quantized_filter_end(filter, j));
      g->epilogue.bias[j] = (float)leat_tensor_data(bias, const int32_t)[j] / scale;
    }
  }
}

// Sets the epilogue, and outputs 1 and 2.
static leat_status_t set_epilogue(leat_kernel_context_t* c, const state_t* s, conv_t* g) {
  const places_t* p = &s->places;
  leat_quantized_epilogue_t* e = &g->epilogue;
  const int in_type = leat_kernel_input(c, 0)->dtype;
  leat_quantized_filter_t filter;
  LEAT_RETURN_IF_ERROR(check_inputs(c, s, g));
  LEAT_RETURN_IF_ERROR(leat_quantized_filter_read(c, p->filter_range, g->columns, &filter));
  const leat_range_t in_range = leat_range_input(c, p->input_range);
  const float in_step = leat_larger_end(in_range) / leat_quantized_limit(in_type);
  float out_step = leat_quantized_filter_widest(&filter) / 127 * in_step;
  for (int64_t j = 0; j < g->columns; ++j) {
    e->scales[j] = in_step * (leat_quantized_filter_end(&filter, j) / 127);
  }
  if (s->fusion.has_bias) set_bias(c, s, g, &filter);
  if (s->fusion.requantizes) {
    const leat_range_t range = leat_range_input(c, p->output_range);
    out_step = leat_larger_end(range) / leat_quantized_limit(e->output->dtype);
    LEAT_RETURN_IF_ERROR(leat_range_output(c, 1, range));
  } else {
    LEAT_RETURN_IF_ERROR(leat_quantized_filter_ranges(c, &filter, in_type, in_range));
  }
  e->factor = 1 / out_step;
  e->plane = s->window.channels_first ? g->windows.out[0] * g->windows.out[1] : 0;
  if (!s->fusion.has_sum) return leat_ok_status();
  e->summand = leat_kernel_input(c, p->summand);
  e->summand_scale = 1;
  if (e->summand->dtype != LEAT_DTYPE_FLOAT) {
    e->summand_scale = leat_larger_end(leat_range_input(c, p->summand_range)) /
                       leat_quantized_limit(e->summand->dtype);
  }
  if (e->summand->dtype == LEAT_DTYPE_QINT8) e->most = INT8_MAX;
  return leat_ok_status();
}

// ---- Convolution --------------------------------------------------------------------------------

static void emit(const leat_quantized_product_t* p, int64_t first, int64_t rows, int32_t* sums) {
  const conv_t* g = (const conv_t*)p;
  leat_quantized_epilogue_rows(&g->epilogue, first, rows, g->first_column, p->columns, sums);
}

static leat_status_t convolve(leat_kernel_context_t* c, conv_t* g) {
  leat_quantized_product_t* p = &g->windows.product;
  const leat_shape_t* filter = &leat_kernel_input(c, 1)->shape;
  const int64_t columns = g->columns / g->groups;
  for (int64_t group = 0; group < g->groups; ++group) {
    leat_tensor_t part = *leat_kernel_input(c, 1);
    part.data = (char*)part.data + group * columns;
    g->windows.first_channel = group * g->windows.group_channels;
    g->first_column = group * columns;
    *p = (leat_quantized_product_t){.rows = g->rows,
                                    .columns = columns,
                                    .depth = leat_shape_product(filter, 0, 3),
                                    .a = {.tensor = leat_kernel_input(c, 0)},
                                    .b = {.tensor = &part},
                                    .row = leat_quantized_windows_row,
                                    .emit = emit};
    leat_status_t status = leat_quantized_product_pack(c, p, 1, g->columns);
    if (!status) status = leat_quantized_product_run(c, p);
    leat_quantized_product_end(p);
    LEAT_RETURN_IF_ERROR(status);
  }
  return leat_ok_status();
}

// ---- Depthwise convolution ----------------------------------------------------------------------

#define MAX_BANDS 64

// Adds the products of a pixel, whose channels are |stride| apart, and a tap of the filter
// [channels, multiplier]. Sums wrap.
static void add_pixel(const uint8_t* x, bool is_signed, int64_t stride, const int8_t* tap,
                      int64_t channels, int64_t multiplier, uint32_t* restrict sums) {
  if (multiplier == 1 && stride == 1 && is_signed) {
    for (int64_t k = 0; k < channels; ++k) sums[k] += (uint32_t)((int8_t)x[k] * tap[k]);
  } else if (multiplier == 1 && stride == 1) {
    for (int64_t k = 0; k < channels; ++k) sums[k] += (uint32_t)(x[k] * tap[k]);
  } else {
    for (int64_t k = 0; k < channels; ++k, tap += multiplier, sums += multiplier) {
      const int factor = is_signed ? (int8_t)x[k * stride] : x[k * stride];
      for (int64_t m = 0; m < multiplier; ++m) sums[m] += (uint32_t)(factor * tap[m]);
    }
  }
}

// The sums of output position |index|.
static void sum_window(const leat_quantized_windows_t* w, const int8_t* filter, int64_t columns,
                       int64_t index, uint32_t* sums) {
  const leat_tensor_t* input = w->product.a.tensor;
  const bool is_signed = leat_quantized_factor_is_signed(&w->product.a);
  const int64_t left = index % w->out[1] * w->stride[1] - w->before[1];
  const int64_t top = index / w->out[1] % w->out[0] * w->stride[0] - w->before[0];
  const int64_t image = index / (w->out[0] * w->out[1]), plane = w->in[0] * w->in[1];
  for (int64_t j = 0; j < columns; ++j) sums[j] = 0;
  for (int64_t tap = 0; tap < w->size[0] * w->size[1]; ++tap) {
    const int64_t y = top + tap / w->size[1] * w->dilation[0];
    const int64_t x = left + tap % w->size[1] * w->dilation[1];
    if (y < 0 || y >= w->in[0] || x < 0 || x >= w->in[1]) continue;
    const int64_t pixel = y * w->in[1] + x, base = image * plane * w->channels;
    const uint8_t* from = (const uint8_t*)input->data + base +
                          (w->channels_first ? pixel : pixel * w->channels);
    add_pixel(from, is_signed, w->channels_first ? plane : 1, filter + tap * columns, w->channels,
              columns / w->channels, sums);
  }
}

static void bands_shard(void* data, int64_t begin, int64_t end) {
  const conv_t* g = data;
  const int8_t* filter = g->windows.product.b.tensor->data;
  for (int64_t band = begin; band < end; ++band) {
    int32_t* sums = leat_tensor_data(&g->sums, int32_t) + band * g->columns;
    for (int64_t row = band; row < g->rows; row += g->bands) {
      if (leat_step_loop_is_over()) return;
      sum_window(&g->windows, filter, g->columns, row, (uint32_t*)sums);
      leat_quantized_epilogue_rows(&g->epilogue, row, 1, 0, g->columns, sums);
    }
  }
}

static leat_status_t convolve_depthwise(leat_kernel_context_t* c, conv_t* g) {
  g->bands = LEAT_MIN(g->rows, MAX_BANDS);
  g->windows.product.a.tensor = leat_kernel_input(c, 0);
  g->windows.product.b.tensor = leat_kernel_input(c, 1);
  const int64_t dims[] = {g->bands, g->columns};
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
  leat_status_t status = leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT32, &shape, &g->sums);
  leat_shape_release(&shape);
  LEAT_RETURN_IF_ERROR(status);
  const double products = (double)leat_kernel_input(c, 1)->shape.element_count;
  leat_kernel_parallel_for(c, g->bands, products * (double)g->rows / (double)g->bands, bands_shard,
                           g);
  leat_tensor_release(&g->sums);
  return leat_ok_status();
}

static leat_status_t conv2d__cpu(leat_kernel_context_t* c) {
  const state_t* s = leat_kernel_state(c);
  conv_t g = {0};
  leat_tensor_t* output;
  int64_t sizes[4];
  LEAT_RETURN_IF_ERROR(measure(c, s, &g, sizes));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 4, sizes, &output));
  LEAT_RETURN_IF_ERROR(
      leat_quantized_epilogue_begin(c, &s->fusion, g.columns, output, &g.epilogue));
  leat_status_t status = set_epilogue(c, s, &g);
  g.rows = output->shape.element_count / g.columns;
  if (!status && g.rows > 0) status = s->is_depthwise ? convolve_depthwise(c, &g) : convolve(c, &g);
  leat_quantized_epilogue_end(&g.epilogue);
  return status;
}

#define KERNEL(op, create_fn, types) \
  LEAT_CPU_KERNEL(op, types, state_t, create_fn, conv2d__cpu, .expensive = true),
#define NAMED(op, parts, types) KERNEL(op, named_create, types)
#define LISTED(op, create_fn)                                                          \
  KERNEL(op, create_fn, SIGNED_BYTES "Tsummand: quint8, qint8; out_type: quint8, qint8") \
  KERNEL(op, create_fn, SIGNED_BYTES "out_type: qint32")

const leat_kernel_row_t leat_quantized_fused_conv2d_kernels_cpu[] = {
    VARIANTS(NAMED)
    LISTED("_FusedQuantizedConv2D", conv2d_create)
    LISTED("_FusedQuantizedDepthwiseConv2D", depthwise_create)
    LEAT_KERNEL_ROWS_END,
};
