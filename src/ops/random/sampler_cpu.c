// Runs samplers over whole tensors: distributions whose samples take a varying number of draws
// (gamma, Poisson, binomial). sampler_cpu.h says how samples are numbered and where each lies in
// the output.
//
//   number ─▶ set, sample ─▶ sample function, from the generator's region |number| ─▶ output place
//
// Because each sample has a region of the generator to itself, samples are shared among threads in
// any way. Parameters and samples are double. They are converted from and to the tensors' types
// here, where a sample that an integer type cannot hold is limited to its range.
#include "ops/random/sampler_cpu.h"

#include <math.h>

#include "device/cpu/half.h"
#include "ops/random/generator_cpu.h"

double leat_sampler_read(const leat_tensor_t* tensor, int64_t index) {
  switch (tensor->dtype) {
    case LEAT_DTYPE_FLOAT: return leat_tensor_data(tensor, const float)[index];
    case LEAT_DTYPE_DOUBLE: return leat_tensor_data(tensor, const double)[index];
    case LEAT_DTYPE_INT32: return leat_tensor_data(tensor, const int32_t)[index];
    case LEAT_DTYPE_INT64: return (double)leat_tensor_data(tensor, const int64_t)[index];
    case LEAT_DTYPE_HALF: return leat_half_to_float(leat_tensor_data(tensor, uint16_t)[index]);
    default: return leat_bfloat16_to_float(leat_tensor_data(tensor, uint16_t)[index]);
  }
}

// Limits a value to [-limit, limit] before it is converted to an integer, since a conversion that
// overflows is undefined. NaN and infinities become 0.
static double whole(double value, double limit) {
  return isnan(value) || isinf(value) ? 0 : value < -limit ? -limit : value > limit ? limit : value;
}

static void write_item(leat_tensor_t* tensor, int64_t index, double value) {
  switch (tensor->dtype) {
    case LEAT_DTYPE_FLOAT: leat_tensor_data(tensor, float)[index] = (float)value; break;
    case LEAT_DTYPE_DOUBLE: leat_tensor_data(tensor, double)[index] = value; break;
    case LEAT_DTYPE_INT32:
      leat_tensor_data(tensor, int32_t)[index] = (int32_t)whole(value, INT32_MAX);
      break;
    case LEAT_DTYPE_INT64:
      leat_tensor_data(tensor, int64_t)[index] = (int64_t)whole(value, 0x1.fffffffffffffp62);
      break;
    case LEAT_DTYPE_HALF:
      leat_tensor_data(tensor, uint16_t)[index] = leat_half_from_float((float)value);
      break;
    default:
      leat_tensor_data(tensor, uint16_t)[index] = leat_bfloat16_from_float((float)value);
      break;
  }
}

typedef struct job_s {
  const leat_sampler_t* sampler;
  leat_tensor_t* output;
} job_t;

// Draws samples [begin, end).
static void run_shard(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  const leat_sampler_t* s = job->sampler;
  for (int64_t number = begin; number < end; ++number) {
    int64_t set = number / s->sample_count, sample = number % s->sample_count;
    write_item(job->output, sample * s->parameter_count + set, s->sample(s, set, number));
  }
}

void leat_sampler_run(const leat_kernel_context_t* c, const leat_sampler_t* sampler,
                      leat_tensor_t* output) {
  job_t job = {sampler, output};
  leat_kernel_parallel_for(c, output->shape.element_count, sampler->cost_ns, run_shard, &job);
}

// Allocates output 0: the shape that input 0 holds, followed by that of |parameter|.
static leat_status_t allocate_output(leat_kernel_context_t* c, const leat_tensor_t* parameter,
                                     leat_tensor_t** out_tensor) {
  leat_shape_t samples;
  int64_t dims[2 * LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(leat_random_shape(c, 0, &samples));
  int rank = 0;
  for (int d = 0; d < samples.rank; ++d) dims[rank++] = leat_shape_dim(&samples, d);
  leat_shape_release(&samples);
  for (int d = 0; d < parameter->shape.rank; ++d) {
    dims[rank++] = leat_shape_dim(&parameter->shape, d);
  }
  return leat_kernel_allocate_sized(c, 0, rank, dims, out_tensor);
}

leat_status_t leat_sampler_check_suffix(const leat_kernel_context_t* c, const leat_shape_t* shape,
                                        const leat_shape_t* suffix) {
  int more = shape->rank - suffix->rank;
  bool fits = more >= 0;
  for (int d = 0; fits && d < suffix->rank; ++d) {
    fits = leat_shape_dim(shape, more + d) == leat_shape_dim(suffix, d);
  }
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "shape is %s, must end with the parameters' shape, %s",
                             LEAT_SHAPE_TEXT(shape), LEAT_SHAPE_TEXT(suffix));
}

int64_t leat_sampler_broadcast(const leat_shape_t* whole, const leat_shape_t* shape,
                               int64_t index) {
  int64_t at = 0, stride = 1;
  for (int d = 1; d <= shape->rank; ++d) {
    int64_t size = leat_shape_dim(whole, whole->rank - d);
    int64_t own = leat_shape_dim(shape, shape->rank - d);
    if (own != 1) at += index % size * stride;
    stride *= own;
    index /= size;
  }
  return at;
}

// ---- Kernels ------------------------------------------------------------------------------------

// A sampler of one parameter, each element of which is a set.
static leat_sampler_t make_sampler(leat_philox_t philox, const leat_tensor_t* parameter,
                                   const leat_tensor_t* output, leat_sample_fn_t sample,
                                   double cost_ns) {
  const int64_t sets = parameter->shape.element_count;
  return (leat_sampler_t){.philox = philox,
                          .sample = sample,
                          .parameters = {parameter},
                          .parameter_count = sets,
                          .sample_count = output->shape.element_count / sets,
                          .cost_ns = cost_ns};
}

leat_status_t leat_sampler_compute(leat_kernel_context_t* c, leat_sample_fn_t sample,
                                   double cost_ns) {
  const leat_generator_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* parameter = leat_kernel_input(c, 1);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(allocate_output(c, parameter, &output));
  const uint64_t count = (uint64_t)output->shape.element_count;
  if (count == 0) return leat_ok_status();
  leat_philox_t philox;
  LEAT_RETURN_IF_ERROR(
      leat_generator_reserve(c, state->generator, count * LEAT_RANDOM_RESERVED, &philox));
  const leat_sampler_t sampler = make_sampler(philox, parameter, output, sample, cost_ns);
  leat_sampler_run(c, &sampler, output);
  return leat_ok_status();
}

leat_status_t leat_sampler_compute_stateless(leat_kernel_context_t* c, leat_philox_t philox,
                                             int parameter, leat_sample_fn_t sample,
                                             double cost_ns) {
  const leat_tensor_t* sets = leat_kernel_input(c, parameter);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_random_output(c, 0, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_sampler_check_suffix(c, &output->shape, &sets->shape));
  const leat_sampler_t sampler = make_sampler(philox, sets, output, sample, cost_ns);
  leat_sampler_run(c, &sampler, output);
  return leat_ok_status();
}
