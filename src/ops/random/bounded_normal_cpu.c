// CPU kernels of ParameterizedTruncatedNormal and its stateless form: normal numbers within bounds,
// where each set of parameters (mean, deviation, lower and upper bound) has samples of its own.
//
//   stateful   shape [sets, ...], parameters [] or [sets] -> output; row i is of set i
//   stateless  shape [..., p], parameters broadcast to p -> output; sets are the last dimensions
//
// The samplers reject proposals (bounded_normal.inc), so the number of draws of a sample is not
// known beforehand. All samples take their draws one after the other from one generator, in the
// order in which TensorFlow takes them on one thread. Hence the kernels do not share the work among
// threads: the numbers would then depend on how it is split.
#include <math.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/random/generator_cpu.h"
#include "ops/random/sampler_cpu.h"
#include "ops/random/stateless_cpu.h"

#define MAX_ITERATIONS 1000

// The samples of one set of parameters: |count| numbers that lie |stride| items apart.
typedef struct leat_bounded_s {
  leat_philox_t philox;
  void* target;
  int64_t count, done, stride;
  leat_step_pace_t pace;
  leat_status_t status;  // why the step shall end
} leat_bounded_t;

#define COST_OF_GROUP 40.0  // nanoseconds

// Counts the work of one group of draws; true when the step shall end.
static bool is_over(leat_bounded_t* b) {
  b->status = leat_step_pace_count(&b->pace, COST_OF_GROUP);
  return b->status != NULL;
}

static void uniform_f32(leat_philox_t* philox, float out[4]) {
  uint32_t words[4];
  leat_philox_next(philox, words);
  for (int i = 0; i < 4; ++i) out[i] = (float)(words[i] & 0x7fffff) * 0x1p-23f;
}

static void normal_f32(leat_philox_t* philox, float out[4]) {
  uint32_t words[4];
  leat_philox_next(philox, words);
  leat_random_pair_float(words, out);
  leat_random_pair_float(words + 2, out + 2);
}

static void uniform_f64(leat_philox_t* philox, double out[2]) {
  uint32_t words[4];
  leat_philox_next(philox, words);
  out[0] = leat_random_uniform_double(words[0], words[1]);
  out[1] = leat_random_uniform_double(words[2], words[3]);
}

static void normal_f64(leat_philox_t* philox, double out[2]) {
  uint32_t words[4];
  leat_philox_next(philox, words);
  leat_random_pair_double(words, out);
}

// Half is computed in float and rounded to half after each operation, as in TensorFlow.
static float round_half(float x) { return leat_half_to_float(leat_half_from_float(x)); }

static void uniform_f16(leat_philox_t* philox, float out[4]) {
  uint32_t words[4];
  leat_philox_next(philox, words);
  for (int i = 0; i < 4; ++i) out[i] = (float)(words[i] & 0x3ff) * 0x1p-10f;
}

static void normal_f16(leat_philox_t* philox, float out[4]) {
  normal_f32(philox, out);
  for (int i = 0; i < 4; ++i) out[i] = round_half(out[i]);
}

#define T float
#define GROUP 4
#define EXP expf
#define LOG logf
#define SQRT sqrtf
#define FN(name) name##_float
#define UNIFORM uniform_f32
#define NORMAL normal_f32
#define ROUND(x) (x)
#define PUT(target, index, value) ((float*)(target))[index] = (value)
#include "ops/random/bounded_normal.inc"
#undef FN
#undef UNIFORM
#undef NORMAL
#undef ROUND
#undef PUT

#define FN(name) name##_half
#define UNIFORM uniform_f16
#define NORMAL normal_f16
#define ROUND(x) round_half(x)
#define PUT(target, index, value) ((uint16_t*)(target))[index] = leat_half_from_float(value)
#include "ops/random/bounded_normal.inc"
#undef T
#undef GROUP
#undef EXP
#undef LOG
#undef SQRT
#undef FN
#undef UNIFORM
#undef NORMAL
#undef ROUND
#undef PUT

#define T double
#define GROUP 2
#define EXP exp
#define LOG log
#define SQRT sqrt
#define FN(name) name##_double
#define UNIFORM uniform_f64
#define NORMAL normal_f64
#define ROUND(x) (x)
#define PUT(target, index, value) ((double*)(target))[index] = (value)
#include "ops/random/bounded_normal.inc"

// ---- A set of parameters ------------------------------------------------------------------------

typedef struct parameters_s {
  double mean, deviation, low, high;
} parameters_t;

// Checks the parameters and draws the samples of one set. INTERNAL when too many tries failed.
static leat_status_t run_set(const leat_kernel_context_t* c, leat_bounded_t* b, int dtype,
                             const parameters_t* p) {
  if (!(p->deviation > 0 && p->low < p->high && (isfinite(p->low) || isfinite(p->high)))) {
    return leat_kernel_invalid(c, "Invalid parameters: deviation %g, bounds %g and %g, must be "
                               "positive, ordered and not both infinite",
                               p->deviation, p->low, p->high);
  }
  bool ok;
  if (dtype == LEAT_DTYPE_FLOAT) {
    ok = run_float(b, (float)p->mean, (float)p->deviation, (float)p->low, (float)p->high);
  } else if (dtype == LEAT_DTYPE_DOUBLE) {
    ok = run_double(b, p->mean, p->deviation, p->low, p->high);
  } else {
    ok = run_half(b, (float)p->mean, (float)p->deviation, (float)p->low, (float)p->high);
  }
  if (ok || b->status) return b->status;
  return leat_kernel_error(c, LEAT_INTERNAL, "no sample was accepted in %d tries",
                           MAX_ITERATIONS);
}

typedef struct sets_s {
  const leat_tensor_t* parameters[4];  // mean, deviation, low, high
  int64_t count;
  int64_t sample_count;
} sets_t;

// ---- The stateful op: rows of samples -----------------------------------------------------------

// When all rows share one set of parameters, the samples are cut into pieces of this size, as in
// TensorFlow; each piece begins with fresh draws.
#define PIECE 100

static bool is_single(const leat_shape_t* shape, bool may_be_vector) {
  return shape->rank == 0 ||
         (may_be_vector && shape->rank == 1 && leat_shape_dim(shape, 0) == 1);
}

// Reads the parameters of the stateful op, whose output has the shape |shape|.
static leat_status_t read_sets(const leat_kernel_context_t* c, const leat_shape_t* shape,
                               sets_t* sets) {
  static const char* const kNames[] = {"means", "stdevs", "minvals", "maxvals"};
  bool is_shared = true;
  if (shape->rank == 0) return leat_kernel_invalid(c, "shape is [], must have rank 1 or more");
  sets->count = leat_shape_dim(shape, 0);
  sets->sample_count = leat_shape_product(shape, 1, shape->rank);
  for (int i = 0; i < 4; ++i) {
    const leat_tensor_t* parameter = sets->parameters[i] = leat_kernel_input(c, 1 + i);
    int64_t items = parameter->shape.element_count;
    is_shared = is_shared && is_single(&parameter->shape, i < 2);
    if (parameter->shape.rank <= 1 && (items == 1 || items == sets->count)) continue;
    return leat_kernel_invalid(c, "%s has shape %s, must be a scalar or a vector of 1 or %lld",
                               kNames[i], LEAT_SHAPE_TEXT(&parameter->shape),
                               (long long)sets->count);
  }
  if (is_shared) {
    int64_t size = shape->element_count;
    sets->count = size / PIECE + (size % PIECE != 0);
    sets->sample_count = PIECE;
  }
  return leat_ok_status();
}

static double parameter_of(const leat_tensor_t* parameter, int64_t set) {
  return leat_sampler_read(parameter, parameter->shape.element_count == 1 ? 0 : set);
}

// |philox| goes on from one set to the next.
static leat_status_t run_rows(const leat_kernel_context_t* c, const sets_t* sets,
                              leat_philox_t philox, leat_tensor_t* output) {
  size_t item = leat_dtype_size(output->dtype);
  leat_bounded_t b = {.philox = philox, .stride = 1, .pace = leat_step_pace_of(c)};
  for (int64_t set = 0; set < sets->count; ++set) {
    double values[4];
    for (int i = 0; i < 4; ++i) values[i] = parameter_of(sets->parameters[i], set);
    parameters_t p = {values[0], values[1], values[2], values[3]};
    int64_t first = set * sets->sample_count;
    b.target = (uint8_t*)output->data + (size_t)first * item;
    b.done = 0;
    b.count = LEAT_MIN(sets->sample_count, output->shape.element_count - first);
    LEAT_RETURN_IF_ERROR(run_set(c, &b, output->dtype, &p));
  }
  return leat_ok_status();
}

static leat_status_t parameterized__cpu(leat_kernel_context_t* c) {
  const leat_generator_state_t* state = leat_kernel_state(c);
  leat_tensor_t* output;
  sets_t sets = {0};
  LEAT_RETURN_IF_ERROR(leat_random_output(c, 0, &output));
  LEAT_RETURN_IF_ERROR(read_sets(c, &output->shape, &sets));
  uint64_t groups = (uint64_t)sets.count * 2 * MAX_ITERATIONS * ((uint64_t)sets.sample_count + 3);
  leat_philox_t philox;
  LEAT_RETURN_IF_ERROR(leat_generator_reserve(c, state->generator, groups / 4, &philox));
  return run_rows(c, &sets, philox, output);
}

// ---- The stateless op: samples before the parameters' dimensions --------------------------------

// The shape to which the four parameters are broadcast; the caller releases it.
static leat_status_t broadcast_all(const leat_kernel_context_t* c, leat_shape_t* out_shape) {
  *out_shape = leat_shape_retain(&leat_kernel_input(c, 2)->shape);
  for (int i = 3; i <= 5; ++i) {
    leat_shape_t wider;
    leat_status_t status =
        leat_shape_broadcast(out_shape, &leat_kernel_input(c, i)->shape, &wider);
    leat_shape_release(out_shape);
    LEAT_RETURN_IF_ERROR(status);
    *out_shape = wider;
  }
  return leat_ok_status();
}

static leat_status_t run_sets(const leat_kernel_context_t* c, const leat_shape_t* sets,
                              leat_philox_t philox, leat_tensor_t* output) {
  size_t item = leat_dtype_size(output->dtype);
  leat_bounded_t b = {.philox = philox,
                      .stride = sets->element_count,
                      .count = output->shape.element_count / sets->element_count,
                      .pace = leat_step_pace_of(c)};
  for (int64_t set = 0; set < sets->element_count; ++set) {
    double values[4];
    for (int i = 0; i < 4; ++i) {
      const leat_tensor_t* parameter = leat_kernel_input(c, 2 + i);
      values[i] =
          leat_sampler_read(parameter, leat_sampler_broadcast(sets, &parameter->shape, set));
    }
    parameters_t p = {values[0], values[1], values[2], values[3]};
    b.target = (uint8_t*)output->data + (size_t)set * item;
    b.done = 0;
    LEAT_RETURN_IF_ERROR(run_set(c, &b, output->dtype, &p));
  }
  return leat_ok_status();
}

static leat_status_t stateless__cpu(leat_kernel_context_t* c) {
  leat_philox_t philox;
  leat_shape_t sets;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_stateless_from_seed(c, 1, &philox));
  LEAT_RETURN_IF_ERROR(broadcast_all(c, &sets));
  leat_status_t status = leat_random_output(c, 0, &output);
  if (!status) status = leat_sampler_check_suffix(c, &output->shape, &sets);
  if (!status && output->shape.element_count) status = run_sets(c, &sets, philox, output);
  leat_shape_release(&sets);
  return status;
}

const leat_kernel_row_t leat_bounded_normal_kernels_cpu[] = {
    LEAT_GENERATOR_KERNEL("ParameterizedTruncatedNormal", "dtype: half, float, double",
                          parameterized__cpu, .expensive = true),
    {.op = "StatelessParameterizedTruncatedNormal",
     .device_type = "CPU",
     .constraints = "dtype: half, float, double",
     .compute = stateless__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
