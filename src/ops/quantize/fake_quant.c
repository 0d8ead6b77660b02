// Definitions of the FakeQuant ops: floats rounded to what a quantised type of num_bits bits over
// [min, max] would keep, and their gradients. A network that is trained with them learns to live
// with quantised weights. fake_quant_cpu.c has the kernels.
//
//   Args            min and max are attributes
//   Vars            min and max are scalars, which can be trained
//   VarsPerChannel  min and max are vectors over the last dimension
//
// Rounding has slope 0 nearly everywhere, which would stop training. The gradient is therefore
// taken to be 1 where the input lies within the range and 0 elsewhere (a straight-through
// estimator). Where min and max are inputs they get gradients too, from the same gradient op.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

static leat_status_t channels_gradient_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_by_pattern(c));
  return leat_inference_with_rank_at_most(c, leat_inference_input(c, 0), 4);
}

// ---- Gradients ----------------------------------------------------------------------------------

static leat_status_t args_gradient(leat_gradient_t* g) {
  const leat_node_t* node = leat_gradient_node(g);
  leat_attrs_t attrs = LEAT_ATTRS(LEAT_COPY("min", leat_node_attr(node, LEAT_SV("min"))),
                                  LEAT_COPY("max", leat_node_attr(node, LEAT_SV("max"))),
                                  LEAT_COPY("num_bits", leat_node_attr(node, LEAT_SV("num_bits"))),
                                  LEAT_BOOL("narrow_range",
                                            leat_node_attr_bool(node, "narrow_range", false)));
  leat_output_t inputs = leat_gradient_input(g, 0);
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, "FakeQuantWithMinMaxArgsGradient",
                                     LEAT_INPUTS(leat_gradient_of_output(g, 0), inputs), attrs));
  return leat_ok_status();
}

// The gradient node |op| gives the gradients of the inputs, of min and of max.
static leat_status_t range_gradient(leat_gradient_t* g, const char* op) {
  const leat_node_t* node = leat_gradient_node(g);
  leat_attrs_t attrs =
      LEAT_ATTRS(LEAT_INT("num_bits", leat_node_attr_int(node, "num_bits", 8)),
                 LEAT_BOOL("narrow_range", leat_node_attr_bool(node, "narrow_range", false)));
  leat_output_t inputs = leat_gradient_input(g, 0);
  leat_output_t min = leat_gradient_input(g, 1), max = leat_gradient_input(g, 2);
  int32_t made =
      leat_build_node(&g->builder, op,
                      LEAT_INPUTS(leat_gradient_of_output(g, 0), inputs, min, max), attrs);
  for (int i = 0; i < 3; ++i) leat_gradient_set_input(g, i, leat_node_output(made, i));
  return leat_ok_status();
}
static leat_status_t vars_gradient(leat_gradient_t* g) {
  return range_gradient(g, "FakeQuantWithMinMaxVarsGradient");
}
static leat_status_t channels_gradient(leat_gradient_t* g) {
  return range_gradient(g, "FakeQuantWithMinMaxVarsPerChannelGradient");
}

#define BITS "num_bits: int = 8; narrow_range: bool = false"
#define GRADIENT_OUTPUTS \
  "backprops_wrt_input: float; backprop_wrt_min: float; backprop_wrt_max: float"

#define GRADIENT_MISFIT "inputs: | gradient and input must be the same size"
#define RANGE_MISFITS \
  "min: `min` must be rank 0 but is rank %r; max: `max` must be rank 0 but is rank %r"
#define CHANNEL_RANGE_MISFITS                                           \
  "min: `min` must be rank 1 but is rank %r | min has incorrect size; " \
  "max: `max` must be rank 1 but is rank %r | max has incorrect size"

const leat_op_row_t leat_fake_quant_ops[] = {
    {.name = "FakeQuantWithMinMaxArgs",
     .inputs = "inputs: float",
     .outputs = "outputs: float",
     .attrs = "min: float = -6.0; max: float = 6.0; " BITS,
     .shape = leat_shape_unchanged,
     .gradient = args_gradient,
     .doc = "The inputs as a quantised type over the fixed range would keep them."},
    {.name = "FakeQuantWithMinMaxArgsGradient",
     .inputs = "gradients: float; inputs: float",
     .outputs = "backprops: float",
     .attrs = "min: float = -6.0; max: float = 6.0; " BITS,
     .shapes = "gradients[...] inputs[...]",
     .misfits = "inputs: | the inputs must have the same size and shape",
     .shape = leat_shape_unchanged,
     .gradient = leat_gradient_none,
     .doc = "The gradients where the inputs lie within the range."},
    {.name = "FakeQuantWithMinMaxVars",
     .inputs = "inputs: float; min: float; max: float",
     .outputs = "outputs: float",
     .attrs = BITS,
     .shapes = "inputs[...] min[] max[] -> outputs[...]",
     .misfits = RANGE_MISFITS,
     .gradient = vars_gradient,
     .doc = "The inputs as a quantised type over [min, max] would keep them."},
    {.name = "FakeQuantWithMinMaxVarsGradient",
     .inputs = "gradients: float; inputs: float; min: float; max: float",
     .outputs = GRADIENT_OUTPUTS,
     .attrs = BITS,
     .shapes = "gradients[...] inputs[...] min[] max[] -> backprops_wrt_input[...] "
               "backprop_wrt_min[] backprop_wrt_max[]",
     .misfits = RANGE_MISFITS "; " GRADIENT_MISFIT,
     .gradient = leat_gradient_none,
     .doc = "The gradients within the range, and the sums of those below and above."},
    {.name = "FakeQuantWithMinMaxVarsPerChannel",
     .inputs = "inputs: float; min: float; max: float",
     .outputs = "outputs: float",
     .attrs = BITS,
     .shapes = "inputs[..., d] min[d] max[d] -> outputs[..., d]",
     .misfits = CHANNEL_RANGE_MISFITS,
     .gradient = channels_gradient,
     .doc = "The inputs as quantised types over a range a channel would keep them."},
    {.name = "FakeQuantWithMinMaxVarsPerChannelGradient",
     .inputs = "gradients: float; inputs: float; min: float; max: float",
     .outputs = GRADIENT_OUTPUTS,
     .attrs = BITS,
     .shapes = "gradients[..., d] inputs[..., d] min[d] max[d] -> backprops_wrt_input[..., d] "
               "backprop_wrt_min[d] backprop_wrt_max[d]",
     .misfits = CHANNEL_RANGE_MISFITS "; " GRADIENT_MISFIT,
     .shape = channels_gradient_shape,
     .gradient = leat_gradient_none,
     .doc = "The gradients within the ranges, and by channel the sums of those below and above."},
    LEAT_OP_ROWS_END,
};
