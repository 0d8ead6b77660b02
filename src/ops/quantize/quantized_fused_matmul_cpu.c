// CPU kernels of fused products of 8-bit matrices: the integer product, a bias, a summand, an
// activation, and the change to 8 bits or to floats, as Intel's tools put them into one node of a
// frozen graph. Which of them a node has its name says (QuantizedMatMulWithBias...), or its
// attribute "fused_ops" (_QuantizedMatMul).
//
// TensorFlow computes these with oneDNN, and so do the formulas here. The second factor is over a
// symmetric range, with step_b = larger end / 127. The first one has step_a = larger end / 255 with
// SCALED, and (max - min) / 255 with MIN_FIRST, where the integer 0 stands for min; 127 takes the
// place of 255 for qint8. MIN_FIRST therefore owes each column j its sum of b times |zero| = 255 *
// min / (max - min), which goes into the bias:
//
//   QuantizedMatMulWithBias...        bias[j] + column_sum[j] * zero, a float bias
//   _QuantizedMatMul                  bias[j] + column_sum[j] * zero * (step_a * step_b)
//   both, a bias of qint32            bias[j] * (step_a * step_b): it holds the debt already
//
//   x      = sum * (step_a * step_b) + bias[j] + summand
//   output = activation(x) * factor + shift
//
// The named ops come to a step of the requested range (factor 1 / step), to step_a * step_b for 32
// bits, or stay floats. _QuantizedMatMul has factor 255 / range, and a shift with the output mode
// MIN_FIRST; for 32 bits it leaves the sums in their steps and adds the bias as it is.
//
// Some of this is not what one would expect, but what TensorFlow 2.21 computes. The named ops
// forget the steps of the debt, so that MIN_FIRST with a float bias is right only where min is 0.
// All of them but Dequantize are computed as with MIN_FIRST whatever the node says, since
// TensorFlow loses the attribute on the way to oneDNN's kernel. And _QuantizedMatMul adds a float
// bias to steps. In one case TensorFlow goes wrong in a way that depends on memory beyond its
// arrays: _QuantizedMatMul with SCALED multiplies a bias of qint32 by the inverse of the steps, of
// which it has the first alone. There, and where it fails (transposed factors), this kernel does
// what the ops say.
#include "base/checked.h"
#include "device/cpu/half.h"
#include "ops/kernel_rows.h"
#include "ops/nn/epilogue_cpu.h"
#include "ops/quantize/quantized_epilogue_cpu.h"
#include "ops/quantize/quantized_product_cpu.h"

// ---- Creation -----------------------------------------------------------------------------------

typedef struct state_s {
  leat_quantized_fusion_t fusion;
  bool is_listed;                   // _QuantizedMatMul
  bool a_min_first, out_min_first;  // the modes of a and of the output; else SCALED
  bool flips_a, flips_b;
  int ranges;        // the first end of a's range; those of b and of the output follow
  int output_range;  // that of the output
} state_t;

typedef enum fused_part_e { RELU = 1, REQUANTIZE = 2, DEQUANTIZE = 4 } fused_part_t;

#define FACTORS "T1: quint8; T2: qint8; Toutput: "
#define BIASED "Tbias: float, qint32; "

// X(op, parts, types)
#define VARIANTS(X)                                                              \
  X("QuantizedMatMulWithBias", 0, BIASED FACTORS "qint32")                       \
  X("QuantizedMatMulWithBiasAndRelu", RELU, FACTORS "qint32")                    \
  X("QuantizedMatMulWithBiasAndReluAndRequantize", RELU | REQUANTIZE,            \
    BIASED FACTORS "quint8")                                                     \
  X("QuantizedMatMulWithBiasAndRequantize", REQUANTIZE, BIASED FACTORS "quint8") \
  X("QuantizedMatMulWithBiasAndDequantize", DEQUANTIZE, BIASED FACTORS "float")

typedef struct variant_s {
  const char* op;
  unsigned parts;
} variant_t;
#define VARIANT(op, parts, types) {op, parts},
static const variant_t kVariants[] = {VARIANTS(VARIANT)};

static leat_status_t read_mode(const leat_kernel_creation_t* c, const char* name,
                               bool* out_min_first) {
  leat_string_view_t mode;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, name, &mode));
  *out_min_first = leat_string_view_equals(mode, "MIN_FIRST");
  return leat_ok_status();
}

static leat_status_t create(const leat_kernel_creation_t* c, state_t* s) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "transpose_a", &s->flips_a));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "transpose_b", &s->flips_b));
  return read_mode(c, "input_quant_mode", &s->a_min_first);
}

static leat_status_t named_create(leat_kernel_creation_t* c, void* state) {
  state_t* s = state;
  unsigned parts = 0;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kVariants); ++i) {
    if (leat_string_view_equals(c->kernel->op->name, kVariants[i].op)) parts = kVariants[i].parts;
  }
  s->fusion = (leat_quantized_fusion_t){.has_bias = true,
                                        .requantizes = parts & REQUANTIZE,
                                        .dequantizes = parts & DEQUANTIZE};
  if (parts & RELU) {
    s->fusion.activation = leat_epilogue_activation(LEAT_SV("Relu"), &s->fusion.takes_alpha);
  }
  s->ranges = 3;
  s->output_range = 7;
  LEAT_RETURN_IF_ERROR(create(c, s));
  if (!(parts & DEQUANTIZE)) s->a_min_first = true;
  return leat_ok_status();
}

// Reads "fused_ops": BiasAdd, then Add before Dequantize, or an activation, which may be another
// than Relu only where the last op is Dequantize or Requantize.
static leat_status_t read_fusion(const leat_kernel_creation_t* c, leat_quantized_fusion_t* f) {
  const leat_attr_value_t* ops;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "fused_ops", &ops));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "leakyrelu_alpha", &f->alpha));
  uint32_t i = 0;
  if (i < ops->count && leat_string_view_equals(ops->strings[i], "BiasAdd")) {
    f->has_bias = true;
    ++i;
  }
  bool is_relu = true;
  if (i < ops->count && leat_string_view_equals(ops->strings[i], "Add")) {
    f->has_sum = true;
    ++i;
  } else if (i < ops->count) {
    f->activation = leat_epilogue_activation(ops->strings[i], &f->takes_alpha);
    is_relu = !f->activation || leat_string_view_equals(ops->strings[i], "Relu");
    if (f->activation) ++i;
  }
  if (i < ops->count) {
    f->requantizes = leat_string_view_equals(ops->strings[i], "Requantize");
    f->dequantizes = leat_string_view_equals(ops->strings[i], "Dequantize");
    if (f->requantizes || f->dequantizes) ++i;
  }
  if (f->has_bias && i == ops->count && (is_relu || f->requantizes || f->dequantizes) &&
      (!f->has_sum || f->dequantizes)) {
    return leat_ok_status();
  }
  return leat_epilogue_refuse(c, LEAT_UNIMPLEMENTED,
                              "BiasAdd, then perhaps an activation, then perhaps Requantize or "
                              "Dequantize, without which the activation must be Relu; or BiasAdd, "
                              "Add, Dequantize");
}

// The types of the lists of inputs and outputs.
static leat_status_t check_types(const leat_kernel_creation_t* c, const state_t* s) {
  const leat_kernel_t* k = c->kernel;
  static const char* const kAttrs[] = {"T1", "T2", "Tbias", "U"};
  for (int i = 0; i < s->ranges; ++i) {
    int dtype;
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, kAttrs[i], &dtype));
    LEAT_RETURN_IF_ERROR(leat_quantized_check_type(c, i, dtype));
  }
  const int needed = s->ranges + (s->fusion.requantizes ? 6 : 4);
  for (int i = s->ranges; i < k->input_count || i < needed; ++i) {
    LEAT_RETURN_IF_ERROR(leat_quantized_check_type(c, i, LEAT_DTYPE_FLOAT));
  }
  int out_type;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "Tout", &out_type));
  if (out_type != LEAT_DTYPE_QINT32 && !s->fusion.requantizes && !s->fusion.dequantizes) {
    return leat_epilogue_refuse(c, LEAT_UNIMPLEMENTED,
                                "a list with Requantize or Dequantize where Tout is not qint32");
  }
  const bool is_real = out_type == LEAT_DTYPE_FLOAT || out_type == LEAT_DTYPE_BFLOAT16;
  bool fits = k->output_count == (is_real ? 1 : 3) && k->output_types[0] == out_type;
  for (int i = 1; i < k->output_count; ++i) fits = fits && k->output_types[i] == LEAT_DTYPE_FLOAT;
  if (fits) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "attributes Tdevice_outputs and Thost_outputs "
                          "list other types than Tout, and two of float unless that is a float");
}

static leat_status_t listed_create(leat_kernel_creation_t* c, void* state) {
  state_t* s = state;
  LEAT_RETURN_IF_ERROR(create(c, s));
  LEAT_RETURN_IF_ERROR(read_mode(c, "output_quant_mode", &s->out_min_first));
  LEAT_RETURN_IF_ERROR(read_fusion(c, &s->fusion));
  s->is_listed = true;
  s->ranges = 3 + s->fusion.has_sum;
  s->output_range = c->kernel->input_count - 2;
  return check_types(c, s);
}

// ---- The epilogue -------------------------------------------------------------------------------

typedef struct matmul_s {
  leat_quantized_product_t product;  // first: the callbacks get it
  leat_quantized_epilogue_t epilogue;
  int64_t column_stride, stride;  // of b: from column to column, and within one
  leat_range_t a_range;
  float a_step;
  leat_quantized_filter_t b;
} matmul_t;

static float bias_number(const leat_tensor_t* bias, int64_t j) {
  switch (bias->dtype) {
    case LEAT_DTYPE_FLOAT:
      return leat_tensor_data(bias, const float)[j];
    case LEAT_DTYPE_BFLOAT16:
      return leat_bfloat16_to_float(leat_tensor_data(bias, const uint16_t)[j]);
    default:
      return (float)leat_tensor_data(bias, const int32_t)[j];
  }
}

static float column_sum(const leat_kernel_context_t* c, const matmul_t* g, int64_t j) {
  const int8_t* column = leat_tensor_data(leat_kernel_input(c, 1), const int8_t);
  column += j * g->column_stride;
  uint32_t sum = 0;
  for (int64_t k = 0; k < g->product.depth; ++k) sum += (uint32_t)(int32_t)column[k * g->stride];
  return (float)(int32_t)sum;
}

// The order of operations and the way a factor is divided by are TensorFlow's.
static void set_bias(const leat_kernel_context_t* c, const state_t* s, matmul_t* g) {
  const leat_tensor_t* bias = leat_kernel_input(c, 2);
  const float limit = leat_quantized_limit(leat_kernel_input(c, 0)->dtype);
  const float width = g->a_range.max - g->a_range.min;
  const float zero = limit * g->a_range.min / width;
  // Dequantize alone of the named ops knows SCALED, and takes the range to be positive here.
  const float range = s->a_min_first  ? width
                      : s->is_listed ? leat_larger_end(g->a_range)
                                     : g->a_range.max;
  for (int64_t j = 0; j < g->product.columns; ++j) {
    const float scale = limit * 127 / (range * leat_quantized_filter_end(&g->b, j));
    const float number = bias_number(bias, j);
    float* to = &g->epilogue.bias[j];
    if (bias->dtype == LEAT_DTYPE_QINT32) {
      *to = s->a_min_first ? number / scale : number * (1 / scale);
    } else if (!s->a_min_first) {
      *to = number;
    } else {
      const float debt = column_sum(c, g, j) * zero;
      *to = number + (s->is_listed ? debt / scale : debt);
    }
  }
}

// The factor and the shift behind the activation.
static void set_output_line(const leat_kernel_context_t* c, const state_t* s, matmul_t* g) {
  leat_quantized_epilogue_t* e = &g->epilogue;
  const int dtype = e->output->dtype;
  if (s->fusion.requantizes) {
    const leat_range_t range = leat_range_input(c, s->output_range);
    const float limit = leat_quantized_limit(dtype);
    if (!s->is_listed) {
      e->factor = 1 / (leat_larger_end(range) / limit);
      return;
    }
    const float width = s->out_min_first ? range.max - range.min : leat_larger_end(range);
    e->factor = limit / width;
    if (s->out_min_first) e->shift = -range.min * limit / width;
  } else if (!s->is_listed && dtype == LEAT_DTYPE_QINT32) {
    e->factor = 1 / e->scales[0];
  }
}

static leat_status_t set_ranges(leat_kernel_context_t* c, const state_t* s, matmul_t* g) {
  const int dtype = g->epilogue.output->dtype;
  if (c->kernel->output_count == 1) return leat_ok_status();
  if (dtype == LEAT_DTYPE_QINT32) {
    return leat_quantized_filter_ranges(c, &g->b, leat_kernel_input(c, 0)->dtype, g->a_range);
  }
  LEAT_RETURN_IF_ERROR(leat_quantized_check_range(c, s->output_range));
  leat_range_t range = leat_range_input(c, s->output_range);
  if (s->is_listed && !s->out_min_first) {
    range.max = leat_larger_end(range);
    range.min = dtype == LEAT_DTYPE_QINT8 ? -range.max : 0;
  }
  return leat_range_output(c, 1, range);
}

static leat_status_t set_epilogue(leat_kernel_context_t* c, const state_t* s, matmul_t* g) {
  leat_quantized_epilogue_t* e = &g->epilogue;
  LEAT_RETURN_IF_ERROR(leat_quantized_check_range(c, s->ranges));
  LEAT_RETURN_IF_ERROR(leat_quantized_filter_read(c, s->ranges + 2, g->product.columns, &g->b));
  LEAT_RETURN_IF_ERROR(leat_quantized_check_bias(c, 2, g->product.columns, s->is_listed));
  if (s->fusion.requantizes) LEAT_RETURN_IF_ERROR(leat_quantized_check_range(c, s->output_range));
  g->a_range = leat_range_input(c, s->ranges);
  const float range =
      s->a_min_first ? g->a_range.max - g->a_range.min : leat_larger_end(g->a_range);
  g->a_step = range / leat_quantized_limit(leat_kernel_input(c, 0)->dtype);
  const bool is_scaled = !s->is_listed || e->output->dtype != LEAT_DTYPE_QINT32;
  for (int64_t j = 0; j < g->product.columns && is_scaled; ++j) {
    e->scales[j] = g->a_step * (leat_quantized_filter_end(&g->b, j) / 127);
  }
  if (g->product.columns > 0) set_output_line(c, s, g);
  set_bias(c, s, g);
  if (s->fusion.has_sum) {
    e->summand = leat_kernel_input(c, 3);
    e->summand_scale = 1;
    if (!leat_shape_equal(&e->summand->shape, &e->output->shape)) {
      return leat_kernel_invalid(c, "the tensor to add has shape %s, must have that of the output, "
                                 "%s", LEAT_SHAPE_TEXT(&e->summand->shape),
                                 LEAT_SHAPE_TEXT(&e->output->shape));
    }
  }
  return set_ranges(c, s, g);
}

// ---- The product --------------------------------------------------------------------------------

static void emit(const leat_quantized_product_t* p, int64_t first, int64_t rows, int32_t* sums) {
  leat_quantized_epilogue_rows(&((const matmul_t*)p)->epilogue, first, rows, 0, p->columns, sums);
}

static leat_status_t multiply(leat_kernel_context_t* c, matmul_t* g) {
  leat_quantized_product_t* p = &g->product;
  leat_status_t status = leat_quantized_product_pack(c, p, g->column_stride, g->stride);
  if (!status) status = leat_quantized_product_run(c, p);
  leat_quantized_product_end(p);
  return status;
}

static leat_status_t matmul__cpu(leat_kernel_context_t* c) {
  const state_t* s = leat_kernel_state(c);
  const leat_shape_t* a = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* b = &leat_kernel_input(c, 1)->shape;
  leat_tensor_t* output;
  if (leat_shape_dim(a, !s->flips_a) != leat_shape_dim(b, s->flips_b)) {
    return leat_kernel_invalid(c, "Matrix size-incompatible: In[0]: %s, In[1]: %s",
                               LEAT_SHAPE_TEXT(a), LEAT_SHAPE_TEXT(b));
  }
  matmul_t g = {.product = {.rows = leat_shape_dim(a, s->flips_a),
                            .columns = leat_shape_dim(b, !s->flips_b),
                            .depth = leat_shape_dim(a, !s->flips_a),
                            .a = {.tensor = leat_kernel_input(c, 0)},
                            .b = {.tensor = leat_kernel_input(c, 1)},
                            .row = s->flips_a ? leat_quantized_transposed_row
                                              : leat_quantized_matrix_row,
                            .emit = emit}};
  g.column_stride = s->flips_b ? g.product.depth : 1;
  g.stride = s->flips_b ? 1 : g.product.columns;
  const int64_t sizes[] = {g.product.rows, g.product.columns};
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 2, sizes, &output));
  LEAT_RETURN_IF_ERROR(
      leat_quantized_epilogue_begin(c, &s->fusion, g.product.columns, output, &g.epilogue));
  leat_status_t status = set_epilogue(c, s, &g);
  if (!status) status = multiply(c, &g);
  leat_quantized_epilogue_end(&g.epilogue);
  return status;
}

#define KERNEL(op, create_fn, types) \
  LEAT_CPU_KERNEL(op, types, state_t, create_fn, matmul__cpu, .expensive = true),
#define NAMED(op, parts, types) KERNEL(op, named_create, types)

const leat_kernel_row_t leat_quantized_fused_matmul_kernels_cpu[] = {
    VARIANTS(NAMED)
    KERNEL("_QuantizedMatMul", listed_create,
           "T1: quint8, qint8; T2: qint8; Tbias: float, bfloat16, qint32; U: float, bfloat16; "
           "Tout: qint8, quint8, qint32, float, bfloat16")
    LEAT_KERNEL_ROWS_END,
};
