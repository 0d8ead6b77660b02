// CPU kernels of the FakeQuant ops, which round floats to what a quantised type would keep of them.
// A network that is trained with them learns to live with quantised weights.
//
// With n = 2^num_bits - 1 (one step less if narrow_range), the type has steps of size s = (max -
// min) / n, and the range is moved by less than a step so that 0 is one of the steps:
//
//   y = floor((clamp(x) - min') / s - zero + 1/2) s          min', max': the range after the move
//
// The gradient passes where min' <= x <= max'. What does not pass is summed: dy below the range is
// the gradient of min, dy above it that of max. A range of 0 to 0 gives 0 everywhere, and passes
// all of the gradient.
//
// The range is an attribute (Args), an input (Vars), or an input for each channel. Most versions
// multiply by 1 / s, but FakeQuantWithMinMaxVars divides by s: TensorFlow does so, and the last bit
// differs.
#include <math.h>

#include "base/checked.h"
#include "kernel/kernel.h"
#include "ops/kernel_rows.h"

typedef struct fake_quant_state_s {
  float least, most;  // the first and last step of the quantised type
  float min, max;     // the range of FakeQuantWithMinMaxArgs
  bool divides;       // divides by the step instead of multiplying by its inverse
} fake_quant_state_t;

// A range after the move: its ends, the size of a step and its inverse, and the number of the step
// that is 0.
typedef struct steps_s {
  float min, max, size, inverse, zero;
  bool is_empty;
} steps_t;

static LEAT_COLD leat_status_t refuse(const leat_kernel_creation_t* c, const char* what) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Kernel creation failed for node '%.*s' (%.*s): %s",
                          LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name),
                          what);
}

static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  fake_quant_state_t* state = memory;
  int64_t bits;
  bool is_narrow;
  leat_string_view_t op = creation->kernel->op->name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(creation, "num_bits", &bits));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(creation, "narrow_range", &is_narrow));
  if (bits < 2 || bits > 16) return refuse(creation, "num_bits must be in [2, 16]");
  state->least = is_narrow;
  state->most = (float)((1 << bits) - 1);
  state->divides = leat_string_view_equals(op, "FakeQuantWithMinMaxVars");
  if (!leat_string_view_starts_with(op, LEAT_SV("FakeQuantWithMinMaxArgs"))) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(creation, "min", &state->min));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(creation, "max", &state->max));
  if (!(state->min < state->max)) return refuse(creation, "min must be less than max");
  return leat_ok_status();
}

// Moves the range [min, max] so that 0 is a step.
static steps_t make_steps(const fake_quant_state_t* state, float min, float max) {
  steps_t s = {.is_empty = min == 0 && max == 0};
  float span = state->most - state->least;
  s.size = (max - min) / span;
  s.inverse = span / (max - min);
  float zero = state->least - min / s.size;
  // |zero| is NaN where the range is empty; it then becomes the first step, as if it were too
  // small.
  float nudged = !(zero >= state->least) ? state->least
                 : zero > state->most    ? state->most
                                         : roundf(zero);
  s.min = (state->least - nudged) * s.size;
  s.max = (state->most - nudged) * s.size;
  s.zero = floorf(-s.min * s.inverse + 0.5f);
  return s;
}

// A NaN stays one.
static inline float quantized(const steps_t* s, float x, bool divides) {
  if (s->is_empty) return 0;
  float clamped = x > s->max ? s->max : x;
  clamped = clamped < s->min ? s->min : clamped;
  float shifted = clamped - s->min;
  float step = divides ? shifted / s->size : shifted * s->inverse;
  return floorf(step - s->zero + 0.5f) * s->size;
}

// ---- Ranges -------------------------------------------------------------------------------------

typedef struct ranges_s {
  int64_t channels;  // the number of ranges; 1 if there is one for all elements
  const float* min;
  const float* max;
} ranges_t;

// The ranges in inputs |first| and |first| + 1.
static ranges_t read_ranges(const leat_kernel_context_t* c, int first) {
  const leat_tensor_t* min = leat_kernel_input(c, first);
  return (ranges_t){min->shape.element_count, min->data, leat_kernel_input(c, first + 1)->data};
}

// The steps of each range; the caller releases |out_steps|, which holds steps_t.
static leat_status_t make_all_steps(leat_kernel_context_t* c, const ranges_t* ranges,
                                    leat_tensor_t* out_steps) {
  leat_shape_t shape = leat_shape_vector(ranges->channels * (int64_t)sizeof(steps_t));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_UINT8, &shape, out_steps));
  steps_t* steps = out_steps->data;
  for (int64_t k = 0; k < ranges->channels; ++k) {
    steps[k] = make_steps(leat_kernel_state(c), ranges->min[k], ranges->max[k]);
  }
  return leat_ok_status();
}

// ---- Forth --------------------------------------------------------------------------------------

typedef struct quantize_s {
  const float* from;
  float* to;
  const steps_t* steps;
  int64_t channels;
  bool divides;
} quantize_t;

// Computes rows [begin, end), a row being one element of each channel.
static void quantize_rows(void* data, int64_t begin, int64_t end) {
  const quantize_t* q = data;
  if (q->channels == 1) {
    const steps_t steps = q->steps[0];
    for (int64_t i = begin; i < end; ++i) q->to[i] = quantized(&steps, q->from[i], q->divides);
    return;
  }
  for (int64_t i = begin * q->channels; i < end * q->channels; i += q->channels) {
    for (int64_t k = 0; k < q->channels; ++k) {
      q->to[i + k] = quantized(&q->steps[k], q->from[i + k], q->divides);
    }
  }
}

static leat_status_t quantize(leat_kernel_context_t* c, const ranges_t* ranges) {
  const fake_quant_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t *output, steps;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &input->shape, &output));
  if (input->shape.element_count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(make_all_steps(c, ranges, &steps));
  quantize_t q = {input->data, output->data, steps.data, ranges->channels, state->divides};
  leat_kernel_parallel_for(c, input->shape.element_count / q.channels, 3 * (double)q.channels,
                           quantize_rows, &q);
  leat_tensor_release(&steps);
  return leat_ok_status();
}

static leat_status_t args__cpu(leat_kernel_context_t* c) {
  const fake_quant_state_t* state = leat_kernel_state(c);
  return quantize(c, &(ranges_t){1, &state->min, &state->max});
}

static leat_status_t vars__cpu(leat_kernel_context_t* c) {
  const ranges_t ranges = read_ranges(c, 1);
  return quantize(c, &ranges);
}

// ---- Back ---------------------------------------------------------------------------------------

// Writes the gradient of the inputs to |to|. |below| and |above| get the sums for min and max of
// each channel; both are NULL where nobody asked for them. Multiplying by 0 instead of storing 0
// keeps NaN and the product of 0 and infinity, in the sums too.
static void pass_gradients(const leat_tensor_t* gradients, const leat_tensor_t* inputs,
                           const steps_t* steps, int64_t channels, float* to, double* below,
                           double* above) {
  const float* g = gradients->data;
  const float* x = inputs->data;
  for (int64_t i = 0; i < inputs->shape.element_count; ++i) {
    int64_t k = channels == 1 ? 0 : i % channels;
    const steps_t* s = &steps[k];
    bool within = s->is_empty || (x[i] >= s->min && x[i] <= s->max);
    to[i] = within ? g[i] : g[i] * 0.0f;
    if (!below || s->is_empty) continue;
    below[k] += x[i] < s->min ? g[i] : g[i] * 0.0f;
    above[k] += x[i] > s->max ? g[i] : g[i] * 0.0f;
  }
}

static leat_status_t args_gradient__cpu(leat_kernel_context_t* c) {
  const fake_quant_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* inputs = leat_kernel_input(c, 1);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &inputs->shape, &output));
  steps_t steps = make_steps(state, state->min, state->max);
  pass_gradients(leat_kernel_input(c, 0), inputs, &steps, 1, output->data, NULL, NULL);
  return leat_ok_status();
}

// Computes all three gradients; |sums| has room for two numbers for each channel.
static leat_status_t back(leat_kernel_context_t* c, const ranges_t* ranges, const steps_t* steps,
                          double* sums) {
  leat_tensor_t *output, *below, *above;
  const leat_tensor_t* inputs = leat_kernel_input(c, 1);
  const leat_shape_t* range = &leat_kernel_input(c, 2)->shape;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &inputs->shape, &output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, range, &below));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, range, &above));
  int64_t channels = ranges->channels;
  memset(sums, 0, (size_t)(2 * channels) * sizeof(double));
  pass_gradients(leat_kernel_input(c, 0), inputs, steps, channels, output->data, sums,
                 sums + channels);
  for (int64_t k = 0; k < channels; ++k) {
    leat_tensor_data(below, float)[k] = (float)sums[k];
    leat_tensor_data(above, float)[k] = (float)sums[channels + k];
  }
  return leat_ok_status();
}

static leat_status_t vars_gradient__cpu(leat_kernel_context_t* c) {
  const ranges_t ranges = read_ranges(c, 2);
  leat_tensor_t steps, sums;
  LEAT_RETURN_IF_ERROR(make_all_steps(c, &ranges, &steps));
  leat_shape_t shape = leat_shape_vector(2 * ranges.channels);
  leat_status_t status = leat_kernel_allocate_temporary(c, LEAT_DTYPE_DOUBLE, &shape, &sums);
  if (!status) {
    status = back(c, &ranges, steps.data, sums.data);
    leat_tensor_release(&sums);
  }
  leat_tensor_release(&steps);
  return status;
}

#define FAKE_QUANT_ROW(name, function)                                                    \
  LEAT_CPU_KERNEL("FakeQuantWithMinMax" name, NULL, fake_quant_state_t, create, function)

const leat_kernel_row_t leat_fake_quant_kernels_cpu[] = {
    FAKE_QUANT_ROW("Args", args__cpu),
    FAKE_QUANT_ROW("ArgsGradient", args_gradient__cpu),
    FAKE_QUANT_ROW("Vars", vars__cpu),
    FAKE_QUANT_ROW("VarsGradient", vars_gradient__cpu),
    FAKE_QUANT_ROW("VarsPerChannel", vars__cpu),
    FAKE_QUANT_ROW("VarsPerChannelGradient", vars_gradient__cpu),
    LEAT_KERNEL_ROWS_END,
};
