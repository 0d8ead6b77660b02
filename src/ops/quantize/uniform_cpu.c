// CPU kernels of the uniform ops that work element by element: UniformQuantize, UniformDequantize,
// UniformRequantize, UniformQuantizedAdd and UniformQuantizedClipByValue.
//
// Between two scales an element goes by a multiplier for each slice, which is worked out before the
// loop. TensorFlow does so only where there is one scale; with an axis it goes by way of floats, so
// that its results differ from these where they have more than 24 bits. A sum brings both terms to
// the scale of the output first; there each of them has the zero point of the output, which is
// therefore subtracted once.
#include <math.h>

#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/quantize/quantized_range_cpu.h"
#include "ops/quantize/uniform_scale_cpu.h"

static int32_t integer_at(const leat_tensor_t* tensor, int64_t at) {
  if (tensor->dtype == LEAT_DTYPE_QINT32) return leat_tensor_data(tensor, const int32_t)[at];
  if (tensor->dtype == LEAT_DTYPE_QINT8) return leat_tensor_data(tensor, const int8_t)[at];
  return leat_tensor_data(tensor, const uint8_t)[at];
}

static void set_integer(leat_tensor_t* tensor, int64_t at, int32_t integer) {
  if (tensor->dtype == LEAT_DTYPE_QINT32) {
    leat_tensor_data(tensor, int32_t)[at] = integer;
  } else {
    leat_tensor_data(tensor, uint8_t)[at] = (uint8_t)integer;
  }
}

static int32_t sum_of(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
static int32_t difference_of(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }

// ---- UniformQuantize and UniformDequantize, UniformQuantizedClipByValue -------------------------

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  return leat_uniform_attrs_read(c, "", state);
}

typedef struct elements_s {
  const leat_tensor_t* input;
  leat_tensor_t* output;
  leat_uniform_attrs_t attrs;
  leat_uniform_scale_t scale;
  const int32_t* least;  // of ClipByValue
  const int32_t* most;
} elements_t;

static void quantize_shard(void* data, int64_t begin, int64_t end) {
  const elements_t* job = data;
  const float* x = job->input->data;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t k = leat_uniform_slice(&job->scale, i);
    const float steps = floorf(x[i] * (1.0f / job->scale.scales[k]) + 0.5f);
    const int32_t integer = sum_of(leat_int32_of_float(steps), job->scale.zeros[k]);
    set_integer(job->output, i, leat_uniform_limit(&job->attrs, integer));
  }
}

static void dequantize_shard(void* data, int64_t begin, int64_t end) {
  const elements_t* job = data;
  float* y = job->output->data;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t k = leat_uniform_slice(&job->scale, i);
    const int32_t steps = difference_of(integer_at(job->input, i), job->scale.zeros[k]);
    y[i] = (float)steps * job->scale.scales[k];
  }
}

static void clip_shard(void* data, int64_t begin, int64_t end) {
  const elements_t* job = data;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t k = leat_uniform_slice(&job->scale, i);
    const int32_t x = LEAT_MAX(integer_at(job->input, i), job->least[k]);
    set_integer(job->output, i, LEAT_MIN(x, job->most[k]));
  }
}

// Runs |fn| over input 0, whose scale is at input |scale_input|.
static leat_status_t run(leat_kernel_context_t* c, int scale_input, bool must_be_positive,
                         elements_t* job, leat_shard_fn_t fn) {
  job->input = leat_kernel_input(c, 0);
  job->attrs = *(const leat_uniform_attrs_t*)leat_kernel_state(c);
  const leat_shape_t* shape = &job->input->shape;
  LEAT_RETURN_IF_ERROR(
      leat_uniform_scale_read(c, scale_input, &job->attrs, shape, must_be_positive, &job->scale));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &job->output));
  leat_kernel_parallel_for(c, shape->element_count, 5, fn, job);
  return leat_ok_status();
}

static leat_status_t quantize__cpu(leat_kernel_context_t* c) {
  return run(c, 1, false, &(elements_t){0}, quantize_shard);
}
static leat_status_t dequantize__cpu(leat_kernel_context_t* c) {
  return run(c, 1, true, &(elements_t){0}, dequantize_shard);
}

static leat_status_t clip__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t *min = leat_kernel_input(c, 1), *max = leat_kernel_input(c, 2);
  const leat_tensor_t* scales = leat_kernel_input(c, 3);
  if (!leat_shape_equal(&min->shape, &scales->shape) ||
      !leat_shape_equal(&max->shape, &scales->shape)) {
    return leat_kernel_invalid(c, "min and max have shapes %s and %s, must be that of scales, %s",
                               LEAT_SHAPE_TEXT(&min->shape), LEAT_SHAPE_TEXT(&max->shape),
                               LEAT_SHAPE_TEXT(&scales->shape));
  }
  return run(c, 3, false, &(elements_t){.least = min->data, .most = max->data}, clip_shard);
}

// ---- From one scale to another ------------------------------------------------------------------

// What brings a tensor from one scale to another.
typedef struct change_s {
  const leat_tensor_t* input;
  leat_uniform_scale_t from, to;
  leat_tensor_t memory;  // that holds the multipliers
  leat_multiplier_t* multipliers;  // one for each slice, or a single one
} change_t;

// Fills |change| from from, to and input. At most one of the scales may have an axis, or both the
// same. |memory| is to be released, also after a failure.
static leat_status_t prepare(leat_kernel_context_t* c, change_t* change) {
  const leat_uniform_scale_t *from = &change->from, *to = &change->to;
  const int64_t count = LEAT_MAX(from->count, to->count);
  if (from->count != to->count && from->count != 1 && to->count != 1) {
    return leat_kernel_invalid(c, "input and output have %lld and %lld scales, must have as many, "
                               "or one", (long long)from->count, (long long)to->count);
  }
  leat_shape_t bytes = leat_shape_vector(count * (int64_t)sizeof(leat_multiplier_t));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_UINT8, &bytes, &change->memory));
  change->multipliers = change->memory.data;
  for (int64_t k = 0; k < count; ++k) {
    const float from_scale = from->scales[from->count == 1 ? 0 : k];
    const float to_scale = to->scales[to->count == 1 ? 0 : k];
    LEAT_RETURN_IF_ERROR(leat_multiplier_make(c, (double)from_scale / (double)to_scale,
                                              &change->multipliers[k]));
  }
  return leat_ok_status();
}

// Element |at| of the input in the scale of the output; |k| is the index of the multiplier.
static int32_t changed(const change_t* change, int64_t at, int64_t k) {
  const int32_t from_zero = change->from.zeros[change->from.count == 1 ? 0 : k];
  const int32_t to_zero = change->to.zeros[change->to.count == 1 ? 0 : k];
  const int32_t steps = leat_multiplier_apply(
      change->multipliers[k], difference_of(integer_at(change->input, at), from_zero));
  return sum_of(steps, to_zero);
}

typedef struct requantize_state_s {
  leat_uniform_attrs_t input, output;
} requantize_state_t;

static leat_status_t requantize_create(leat_kernel_creation_t* c, void* memory) {
  requantize_state_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_uniform_attrs_read(c, "input_", &state->input));
  LEAT_RETURN_IF_ERROR(leat_uniform_attrs_read(c, "output_", &state->output));
  if (state->input.axis == -1 || state->output.axis == -1 ||
      state->input.axis == state->output.axis) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "input_quantization_axis is %lld and output_quantization_axis %lld, must "
                          "be the same or one of them -1", (long long)state->input.axis,
                          (long long)state->output.axis);
}

typedef struct requantize_s {
  change_t change;
  leat_uniform_attrs_t attrs;
  leat_tensor_t* output;
} requantize_t;

static void requantize_shard(void* data, int64_t begin, int64_t end) {
  const requantize_t* job = data;
  const leat_uniform_scale_t* sliced =
      job->change.from.count == 1 ? &job->change.to : &job->change.from;
  for (int64_t i = begin; i < end; ++i) {
    const int32_t integer = changed(&job->change, i, leat_uniform_slice(sliced, i));
    set_integer(job->output, i, leat_uniform_limit(&job->attrs, integer));
  }
}

static leat_status_t requantize__cpu(leat_kernel_context_t* c) {
  const requantize_state_t* state = leat_kernel_state(c);
  requantize_t job = {.change.input = leat_kernel_input(c, 0), .attrs = state->output};
  const leat_shape_t* shape = &job.change.input->shape;
  LEAT_RETURN_IF_ERROR(
      leat_uniform_scale_read(c, 1, &state->input, shape, true, &job.change.from));
  LEAT_RETURN_IF_ERROR(
      leat_uniform_scale_read(c, 3, &state->output, shape, true, &job.change.to));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &job.output));
  leat_status_t status = prepare(c, &job.change);
  if (!status) leat_kernel_parallel_for(c, shape->element_count, 6, requantize_shard, &job);
  leat_tensor_release(&job.change.memory);
  return status;
}

// ---- UniformQuantizedAdd ------------------------------------------------------------------------

typedef struct add_state_s {
  leat_uniform_attrs_t lhs, rhs, output;
} add_state_t;

static leat_status_t add_create(leat_kernel_creation_t* c, void* memory) {
  add_state_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_uniform_attrs_read(c, "lhs_", &state->lhs));
  LEAT_RETURN_IF_ERROR(leat_uniform_attrs_read(c, "rhs_", &state->rhs));
  return leat_uniform_attrs_read(c, "output_", &state->output);
}

// A term of the sum: how it is brought to the scale of the output, and where its elements are.
typedef struct term_s {
  change_t change;
  int axis;  // of the output, along which the multipliers change; -1: there is one
  int64_t strides[LEAT_SHAPE_MAX_RANK];  // for the dimensions of the output; 0 where repeated
} term_t;

typedef struct add_s {
  term_t terms[2];
  leat_uniform_attrs_t attrs;
  const leat_shape_t* shape;
  const leat_uniform_scale_t* scale;  // of the output
  int32_t* output;
} add_t;

static int32_t term_at(const term_t* term, const add_t* job, const int64_t* place) {
  int64_t at = 0;
  for (int d = 0; d < job->shape->rank; ++d) at += place[d] * term->strides[d];
  return changed(&term->change, at, term->axis < 0 ? 0 : place[term->axis]);
}

static void add_shard(void* data, int64_t begin, int64_t end) {
  const add_t* job = data;
  int64_t place[LEAT_SHAPE_MAX_RANK];
  int64_t rest = begin;
  for (int d = job->shape->rank - 1; d >= 0; --d) {
    place[d] = rest % leat_shape_dim(job->shape, d);
    rest /= leat_shape_dim(job->shape, d);
  }
  for (int64_t i = begin; i < end; ++i) {
    const int32_t zero = job->scale->zeros[leat_uniform_slice(job->scale, i)];
    const int32_t sum =
        sum_of(term_at(&job->terms[0], job, place), term_at(&job->terms[1], job, place));
    job->output[i] = leat_uniform_limit(&job->attrs, difference_of(sum, zero));
    for (int d = job->shape->rank - 1; d >= 0; --d) {
      if (++place[d] < leat_shape_dim(job->shape, d)) break;
      place[d] = 0;
    }
  }
}

// Fills term |index|, whose scale is at input |scale_input|.
static leat_status_t prepare_term(leat_kernel_context_t* c, int index, int scale_input,
                                  const leat_uniform_attrs_t* attrs, add_t* job) {
  term_t* term = &job->terms[index];
  const leat_tensor_t* input = term->change.input = leat_kernel_input(c, index);
  const int shift = job->shape->rank - input->shape.rank;
  leat_uniform_scale_t *from = &term->change.from, *to = &term->change.to;
  LEAT_RETURN_IF_ERROR(leat_uniform_scale_read(c, scale_input, attrs, &input->shape, true, from));
  *to = *job->scale;
  term->axis = from->count > 1 ? from->axis + shift : to->count > 1 ? to->axis : -1;
  if (from->count > 1 && to->count > 1 && from->axis + shift != to->axis) {
    return leat_kernel_invalid(c, "quantization axis of an input is %d and that of the output %d, "
                               "must be the same dimension", from->axis, to->axis);
  }
  LEAT_RETURN_IF_ERROR(prepare(c, &term->change));
  int64_t own[LEAT_SHAPE_MAX_RANK];
  leat_shape_strides(&input->shape, own);
  for (int d = 0; d < job->shape->rank; ++d) {
    const bool is_repeated = d < shift || leat_shape_dim(&input->shape, d - shift) == 1;
    term->strides[d] = is_repeated ? 0 : own[d - shift];
  }
  return leat_ok_status();
}

// The shape to which inputs 0 and 1 broadcast, which the caller releases.
static leat_status_t broadcast_shape(const leat_kernel_context_t* c, leat_shape_t* out_shape) {
  const leat_shape_t* a = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* b = &leat_kernel_input(c, 1)->shape;
  const int rank = LEAT_MAX(a->rank, b->rank);
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < rank; ++d) {
    const int in_a = d - (rank - a->rank), in_b = d - (rank - b->rank);
    const int64_t x = in_a < 0 ? 1 : leat_shape_dim(a, in_a);
    const int64_t y = in_b < 0 ? 1 : leat_shape_dim(b, in_b);
    if (x != y && x != 1 && y != 1) {
      return leat_kernel_invalid(c, "cannot broadcast shapes %s and %s", LEAT_SHAPE_TEXT(a),
                                 LEAT_SHAPE_TEXT(b));
    }
    dims[d] = x == 1 ? y : x;
  }
  return leat_shape_create(rank, dims, out_shape);
}

static leat_status_t add_to(leat_kernel_context_t* c, add_t* job) {
  const add_state_t* state = leat_kernel_state(c);
  leat_uniform_scale_t scale;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_uniform_scale_read(c, 6, &state->output, job->shape, true, &scale));
  job->scale = &scale;
  LEAT_RETURN_IF_ERROR(prepare_term(c, 0, 2, &state->lhs, job));
  LEAT_RETURN_IF_ERROR(prepare_term(c, 1, 4, &state->rhs, job));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, job->shape, &output));
  job->output = output->data;
  leat_kernel_parallel_for(c, job->shape->element_count, 20, add_shard, job);
  return leat_ok_status();
}

static leat_status_t add__cpu(leat_kernel_context_t* c) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(broadcast_shape(c, &shape));
  add_t job = {.attrs = ((const add_state_t*)leat_kernel_state(c))->output, .shape = &shape};
  leat_status_t status = add_to(c, &job);
  for (int i = 0; i < 2; ++i) leat_tensor_release(&job.terms[i].change.memory);
  leat_shape_release(&shape);
  return status;
}

const leat_kernel_row_t leat_uniform_kernels_cpu[] = {
    LEAT_CPU_KERNEL("UniformQuantize", NULL, leat_uniform_attrs_t, create, quantize__cpu),
    LEAT_CPU_KERNEL("UniformDequantize", NULL, leat_uniform_attrs_t, create, dequantize__cpu),
    LEAT_CPU_KERNEL("UniformQuantizedClipByValue", NULL, leat_uniform_attrs_t, create, clip__cpu),
    LEAT_CPU_KERNEL("UniformRequantize", "Tout: qint8", requantize_state_t, requantize_create,
                    requantize__cpu),
    LEAT_CPU_KERNEL("UniformQuantizedAdd", NULL, add_state_t, add_create, add__cpu),
    LEAT_KERNEL_ROWS_END,
};
