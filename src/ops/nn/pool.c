// Definitions of the pools of two and three dimensions: the greatest element or the mean of each
// window, the gradients of both, and the gradients of those.
//
//   MaxPool          input -> output
//   MaxPoolGrad      (input, output, dy) -> dx, which is dy at the positions of the maxima
//   MaxPoolGradGrad  (input, output, ddx) -> ddy, which is ddx at those positions
//   AvgPool          value [batch, rows, columns, channels] (or NCHW) -> the mean of each window
//   AvgPoolGrad      shape of value, dy -> dx
//
// Which element of a window is the maximum does not change with a small change of the input. So
// MaxPoolGrad is linear in dy and constant in the other two inputs, and the same holds for
// MaxPoolGradGrad: each is the other's gradient. The V2 ops take the sizes and strides of the
// windows as inputs. MaxPoolWithArgmax keeps positions in a second output, for unpooling. The
// gradient of an average pool takes the shape of the input, not the input: means do not depend on
// which elements are large, so that a training step need not keep it. It is linear in dy, and its
// own gradient is therefore the pool again. The pools and their gradients have the same window
// attributes, which the gradient nodes copy. The kernels are in max_pool_cpu.c and avg_pool_cpu.c.
#include "graph/inference/inference.h"
#include "ops/nn/window_op.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------
// MaxPoolV2 takes sizes and strides of its windows as inputs; unless they are constants, the
// output's shape stays unknown.

// Reads sizes and strides from the last two inputs into |window|. |out_known| is false when they
// are not constants.
static leat_status_t read_inputs(leat_inference_t* c, leat_window_t* window, bool* out_known) {
  const int rank = leat_window_rank(window), first = leat_inference_input_count(c) - 2;
  *out_known = true;
  for (int k = 0; k < 2; ++k) {
    leat_partial_shape_t list;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, first + k), 1, &list));
    int64_t count;
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(list.dims[0], rank, &count));
  }
  for (int k = 0; k < 2; ++k) {
    const leat_tensor_t* values = leat_inference_input_tensor(c, first + k);
    int64_t items[LEAT_WINDOW_MAX_SPATIAL + 2];
    if (!values || values->shape.element_count != rank) {
      *out_known = false;
      return leat_ok_status();
    }
    for (int d = 0; d < rank; ++d) items[d] = leat_tensor_index_at(values, d);
    LEAT_RETURN_IF_ERROR(k == 0 ? leat_window_set_sizes(window, items, rank)
                                : leat_window_set_strides(window, items, rank));
  }
  return leat_ok_status();
}

// Sets output 0 to the shape of a pool over input 0, with |spatial| (2 or 3) spatial dimensions.
// |over_channels| says that the op's window may extend over channels, so that these become fewer.
static leat_status_t pool_shape(leat_inference_t* c, int spatial, bool over_channels) {
  leat_partial_shape_t input;
  leat_window_t window;
  const leat_string_view_t format = leat_node_attr_string(c->node, "data_format");
  if (leat_string_view_equal(format, LEAT_SV("NCHW_VECT_C"))) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_inference_with_rank(c, leat_inference_input(c, 0), spatial + 2, &input));
  LEAT_RETURN_IF_ERROR(
      leat_window_read(c->node->attrs, c->node->attr_count, spatial, &window));
  if (!window.has_size) {
    bool known;
    LEAT_RETURN_IF_ERROR(read_inputs(c, &window, &known));
    if (!known) return leat_ok_status();
  }
  int64_t sizes[LEAT_WINDOW_MAX_SPATIAL];
  for (int i = 0; i < spatial; ++i) sizes[i] = window.axes[i].size;
  int64_t channels = input.dims[leat_window_channel_dim(&window)];
  if (over_channels) {
    LEAT_RETURN_IF_ERROR(leat_window_infer(&window.channels, window.padding, channels,
                                           window.channels.size, &channels));
  }
  return leat_window_set_output(c, &window, 0, input, sizes, channels);
}

// ---- Max pools ----------------------------------------------------------------------------------

static leat_status_t max_pool_2d_shape(leat_inference_t* c) { return pool_shape(c, 2, true); }
static leat_status_t max_pool_3d_shape(leat_inference_t* c) { return pool_shape(c, 3, false); }
static leat_status_t as_input_2d(leat_inference_t* c) {
  return leat_window_shape_as_input(c, 0, 4);
}
static leat_status_t as_input_3d(leat_inference_t* c) {
  return leat_window_shape_as_input(c, 0, 5);
}

static leat_status_t with_argmax_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(pool_shape(c, 2, true));
  leat_inference_set_output(c, 1, c->outputs[0]);
  return leat_ok_status();
}

// The output has the shape of the forward pool's output: input 1 has it, and it follows from input
// 0.
static leat_status_t grad_grad_shape(leat_inference_t* c, int spatial) {
  LEAT_RETURN_IF_ERROR(pool_shape(c, spatial, spatial == 2));
  leat_partial_shape_t output, input;
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, leat_inference_input(c, 1), c->outputs[0], &output));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, leat_inference_input(c, 0),
                                            leat_inference_input(c, 2), &input));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}
static leat_status_t grad_grad_2d_shape(leat_inference_t* c) { return grad_grad_shape(c, 2); }
static leat_status_t grad_grad_3d_shape(leat_inference_t* c) { return grad_grad_shape(c, 3); }

// ---- Gradients ----------------------------------------------------------------------------------

static leat_status_t max_pool_forward_gradient(leat_gradient_t* g, const char* op) {
  const leat_output_t inputs[] = {leat_gradient_input(g, 0), leat_gradient_output(g, 0),
                                  leat_gradient_of_output(g, 0)};
  leat_gradient_set_input(g, 0, leat_window_build_like(g, op, (leat_outputs_t){inputs, 3}));
  return leat_ok_status();
}
static leat_status_t max_pool_gradient(leat_gradient_t* g) {
  return max_pool_forward_gradient(g, "MaxPoolGrad");
}
static leat_status_t max_pool_3d_gradient(leat_gradient_t* g) {
  return max_pool_forward_gradient(g, "MaxPool3DGrad");
}
static leat_status_t max_pool_v2_gradient(leat_gradient_t* g) {
  const leat_output_t inputs[] = {leat_gradient_input(g, 0), leat_gradient_output(g, 0),
                                  leat_gradient_of_output(g, 0), leat_gradient_input(g, 1),
                                  leat_gradient_input(g, 2)};
  leat_gradient_set_input(g, 0,
                          leat_window_build_like(g, "MaxPoolGradV2", (leat_outputs_t){inputs, 5}));
  return leat_ok_status();
}
static leat_status_t with_argmax_gradient(leat_gradient_t* g) {
  const leat_output_t inputs[] = {leat_gradient_input(g, 0), leat_gradient_of_output(g, 0),
                                  leat_gradient_output(g, 1)};
  leat_gradient_set_input(
      g, 0, leat_window_build_like(g, "MaxPoolGradWithArgmax", (leat_outputs_t){inputs, 3}));
  return leat_ok_status();
}

// The gradient of a gradient op with inputs (input, output, gradient, sizes ...): |op| over the
// incoming gradient for the third, zero for the first two.
static leat_status_t gradient_of_choice(leat_gradient_t* g, const char* op) {
  leat_builder_t* b = &g->builder;
  leat_output_t inputs[5];
  const int count = leat_gradient_node(g)->input_count;
  for (int i = 0; i < count && i < 5; ++i) inputs[i] = leat_gradient_input(g, i);
  inputs[2] = leat_gradient_of_output(g, 0);
  for (int i = 0; i < 2; ++i) {
    leat_gradient_set_input(g, i, leat_build_unary(b, "ZerosLike", leat_gradient_input(g, i)));
  }
  leat_gradient_set_input(g, 2, leat_window_build_like(g, op, (leat_outputs_t){inputs, count}));
  return leat_ok_status();
}
static leat_status_t grad_gradient(leat_gradient_t* g) {
  return gradient_of_choice(g, "MaxPoolGradGrad");
}
static leat_status_t grad_v2_gradient(leat_gradient_t* g) {
  return gradient_of_choice(g, "MaxPoolGradGradV2");
}
static leat_status_t grad_3d_gradient(leat_gradient_t* g) {
  return gradient_of_choice(g, "MaxPool3DGradGrad");
}
static leat_status_t grad_grad_gradient(leat_gradient_t* g) {
  return gradient_of_choice(g, "MaxPoolGrad");
}
static leat_status_t grad_grad_3d_gradient(leat_gradient_t* g) {
  return gradient_of_choice(g, "MaxPool3DGrad");
}

#define REAL \
  "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"
#define POOLED \
  "{half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8}"
#define WINDOW "ksize: list(int) >= 4; strides: list(int) >= 4; "
#define WINDOW_3D "ksize: list(int) >= 5; strides: list(int) >= 5; "
#define PADDING "padding: {'SAME', 'VALID'}"
#define EXPLICIT "padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []"
#define FORMAT "data_format: {'NHWC', 'NCHW'} = 'NHWC'"
#define FORMAT_VECT "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"
#define FORMAT_3D "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'"
#define ARGMAX_GRAD_ATTRS                                                                    \
  WINDOW PADDING "; include_batch_in_index: bool = false; Targmax: {int32, int64}; T: " REAL

#define TRIPLE "orig_input: T; orig_output: T; grad: T"

// ---- Average pools ------------------------------------------------------------------------------

static leat_status_t avg_pool_2d_shape(leat_inference_t* c) { return pool_shape(c, 2, false); }
static leat_status_t avg_pool_3d_shape(leat_inference_t* c) { return pool_shape(c, 3, false); }

static leat_status_t from_sizes_2d(leat_inference_t* c) {
  return leat_window_shape_from_sizes(c, 0, 4);
}
static leat_status_t from_sizes_3d(leat_inference_t* c) {
  return leat_window_shape_from_sizes(c, 0, 5);
}

static leat_status_t avg_pool_forward_gradient(leat_gradient_t* g, const char* op) {
  const leat_output_t sizes = leat_build_shape_of(&g->builder, leat_gradient_input(g, 0));
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 0, leat_window_build_like(g, op, LEAT_INPUTS(sizes, dy)));
  return leat_ok_status();
}
static leat_status_t avg_pool_gradient(leat_gradient_t* g) {
  return avg_pool_forward_gradient(g, "AvgPoolGrad");
}
static leat_status_t avg_pool_3d_gradient(leat_gradient_t* g) {
  return avg_pool_forward_gradient(g, "AvgPool3DGrad");
}

static leat_status_t gradient_of_gradient(leat_gradient_t* g, const char* op) {
  const leat_output_t ddx = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 1, leat_window_build_like(g, op, LEAT_INPUTS(ddx)));
  return leat_ok_status();
}
static leat_status_t avg_grad_gradient(leat_gradient_t* g) {
  return gradient_of_gradient(g, "AvgPool");
}
static leat_status_t avg_grad_3d_gradient(leat_gradient_t* g) {
  return gradient_of_gradient(g, "AvgPool3D");
}

#define ATTRS(rank, formats)                                                                   \
  "ksize: list(int) >= " #rank "; strides: list(int) >= " #rank "; padding: {'SAME', 'VALID'}; " \
  "data_format: " formats "; T: {half, bfloat16, float, double}"
#define FLAT "{'NHWC', 'NCHW'} = 'NHWC'"
#define SOLID "{'NDHWC', 'NCDHW'} = 'NDHWC'"

const leat_op_row_t leat_pool_ops[] = {
    LEAT_OP_ROW("MaxPool", "input: T", "output: T",
                "T: " POOLED " = float; " WINDOW EXPLICIT "; " FORMAT_VECT, max_pool_2d_shape,
                max_pool_gradient, "The greatest value of each window."),
    LEAT_OP_ROW("MaxPoolGrad", TRIPLE, "output: T",
                WINDOW EXPLICIT "; " FORMAT "; T: " REAL " = float", as_input_2d, grad_gradient,
                "The gradient of MaxPool: where the maxima came from."),
    LEAT_OP_ROW("MaxPoolGradGrad", TRIPLE, "output: T", WINDOW PADDING "; " FORMAT "; T: " REAL,
                grad_grad_2d_shape, grad_grad_gradient, "The gradient of MaxPoolGrad."),
    LEAT_OP_ROW("MaxPoolV2", "input: T; ksize: int32; strides: int32", "output: T",
                "T: " POOLED " = float; " PADDING "; " FORMAT_VECT, max_pool_2d_shape,
                max_pool_v2_gradient, "MaxPool whose windows are inputs."),
    LEAT_OP_ROW("MaxPoolGradV2", TRIPLE "; ksize: int32; strides: int32", "output: T",
                PADDING "; " FORMAT "; T: " REAL " = float", as_input_2d, grad_v2_gradient,
                "MaxPoolGrad whose windows are inputs."),
    LEAT_OP_ROW("MaxPoolGradGradV2", TRIPLE "; ksize: int32; strides: int32", "output: T",
                PADDING "; " FORMAT "; T: " REAL, grad_grad_2d_shape, NULL,
                "MaxPoolGradGrad whose windows are inputs."),
    LEAT_OP_ROW("MaxPoolWithArgmax", "input: T", "output: T; argmax: Targmax",
                WINDOW "Targmax: {int32, int64} = int64; " PADDING
                       "; include_batch_in_index: bool = false; T: " REAL,
                with_argmax_shape, with_argmax_gradient,
                "MaxPool that also tells where the maxima are."),
    LEAT_OP_ROW("MaxPoolGradWithArgmax", "input: T; grad: T; argmax: Targmax", "output: T",
                ARGMAX_GRAD_ATTRS, as_input_2d, NULL, "The gradient of MaxPoolWithArgmax."),
    LEAT_OP_ROW("MaxPoolGradGradWithArgmax", "input: T; grad: T; argmax: Targmax", "output: T",
                ARGMAX_GRAD_ATTRS, max_pool_2d_shape, NULL,
                "The gradient of MaxPoolGradWithArgmax."),
    LEAT_OP_ROW("MaxPool3D", "input: T", "output: T",
                WINDOW_3D PADDING "; " FORMAT_3D "; T: {half, bfloat16, float}", max_pool_3d_shape,
                max_pool_3d_gradient,
                "The greatest value of each window over planes, rows and columns."),
    LEAT_OP_ROW("MaxPool3DGrad", "orig_input: TInput; orig_output: TInput; grad: T", "output: T",
                WINDOW_3D PADDING
                "; " FORMAT_3D
                "; T: {half, bfloat16, float} = float; TInput: {half, bfloat16, float} = float",
                as_input_3d, grad_3d_gradient, "The gradient of MaxPool3D."),
    LEAT_OP_ROW("MaxPool3DGradGrad", TRIPLE, "output: T",
                WINDOW_3D PADDING "; " FORMAT_3D "; T: " REAL, grad_grad_3d_shape,
                grad_grad_3d_gradient, "The gradient of MaxPool3DGrad."),
    {.name = "AvgPool",
     .inputs = "value: T",
     .outputs = "output: T",
     .attrs = ATTRS(4, FLAT),
     .shape = avg_pool_2d_shape,
     .gradient = avg_pool_gradient,
     .doc = "The mean of each window."},
    {.name = "AvgPoolGrad",
     .inputs = "orig_input_shape: int32; grad: T",
     .outputs = "output: T",
     .attrs = ATTRS(4, FLAT),
     .shape = from_sizes_2d,
     .gradient = avg_grad_gradient,
     .contract = LEAT_RULES(LEAT_RULE_VECTOR(0)),
     .doc = "The gradient of AvgPool."},
    {.name = "AvgPool3D",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = ATTRS(5, SOLID),
     .shape = avg_pool_3d_shape,
     .gradient = avg_pool_3d_gradient,
     .doc = "The mean of each window over planes, rows and columns."},
    {.name = "AvgPool3DGrad",
     .inputs = "orig_input_shape: int32; grad: T",
     .outputs = "output: T",
     .attrs = ATTRS(5, SOLID),
     .shape = from_sizes_3d,
     .gradient = avg_grad_3d_gradient,
     .contract = LEAT_RULES(LEAT_RULE_VECTOR(0)),
     .doc = "The gradient of AvgPool3D."},
    LEAT_OP_ROWS_END,
};
