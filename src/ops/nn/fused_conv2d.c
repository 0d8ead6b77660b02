// _FusedConv2D and _FusedDepthwiseConv2dNative: a convolution and the ops that follow it, which
// TensorFlow's remapper and this library's optimizer put in the place of a convolution, BiasAdd or
// FusedBatchNorm, and the like. Which ops may follow is checked when the kernel is made
// (ops/nn/epilogue_cpu.h), as in TensorFlow.
//
// The definition of _FusedConv2D also serves kernels of other devices and types: integers,
// |host_args| and layouts of blocks of channels (NCHW_VECT_C, filters OIHW), whose shapes nothing
// is said of here. No CPU kernel takes these.
#include "ops/nn/convolution.h"
#include "ops/op_rows.h"

static bool has_value(const leat_inference_t* c, const char* name, const char* value) {
  const leat_attr_value_t* found =
      leat_attr_find(c->node->attrs, c->node->attr_count, leat_string_view_from(name));
  return found && leat_string_view_equals(found->s, value);
}

static leat_status_t fused_conv2d_shape(leat_inference_t* c) {
  if (has_value(c, "data_format", "NCHW_VECT_C") || !has_value(c, "filter_format", "HWIO")) {
    leat_inference_set_output(c, 0, leat_partial_shape_unknown());
    return leat_ok_status();
  }
  return leat_conv2d_shape(c);
}

#define FUSED \
  "; fused_ops: list(string) = []; epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2"
#define IMAGES LEAT_RULES(LEAT_RULE_RANK(0, 4), LEAT_RULE_RANK(1, 4))

const leat_op_row_t leat_fused_conv2d_ops[] = {
    {.name = "_FusedConv2D",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; filter: T; args: TArgs; host_args: num_host_args * float",
     .outputs = "output: T",
     .attrs = "T: {half, float, double, int8, qint8}; TArgs: list(type) >= 1; num_args: int >= 0; "
              "num_host_args: int >= 0 = 0; strides: list(int); "
              "padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; "
              "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'; "
              "filter_format: {'HWIO', 'OIHW', 'OIHW_VECT_I'} = 'HWIO'; "
              "dilations: list(int) = [1, 1, 1, 1]; use_cudnn_on_gpu: bool = true" FUSED,
     .shape = fused_conv2d_shape,
     .contract = IMAGES,
     .doc = "Conv2D, and the ops in fused_ops on its result."},
    {.name = "_FusedDepthwiseConv2dNative",
     .cost = LEAT_COST_CONVOLUTION,
     .inputs = "input: T; filter: T; args: num_args * T",
     .outputs = "output: T",
     .attrs = "T: {half, bfloat16, float, double}; num_args: int >= 0; strides: list(int); "
              "padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC'; "
              "dilations: list(int) = [1, 1, 1, 1]" FUSED,
     .shape = leat_depthwise_conv2d_shape,
     .contract = IMAGES,
     .doc = "DepthwiseConv2dNative, and the ops in fused_ops on its result."},
    LEAT_OP_ROWS_END,
};
