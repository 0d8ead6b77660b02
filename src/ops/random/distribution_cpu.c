// CPU kernels of RandomUniform, RandomStandardNormal, TruncatedNormal and RandomUniformInt, which
// keep a generator. Each reserves a region of the generator and fills its output from that.
#include "ops/kernel_rows.h"
#include "ops/random/fill_cpu.h"
#include "ops/random/generator_cpu.h"

// Reserves as many numbers of the generator as TensorFlow does, which is more than most ops need,
// so that the next step of a seeded node also has TensorFlow's numbers.
static leat_status_t run(leat_kernel_context_t* c, leat_random_fill_t* fill) {
  const leat_generator_state_t* state = leat_kernel_state(c);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_random_output(c, 0, &output));
  if (fill->kind == LEAT_RANDOM_INTEGER && output->shape.element_count) {
    LEAT_RETURN_IF_ERROR(leat_random_bounds(c, 1, fill));
  }
  uint64_t samples = (uint64_t)output->shape.element_count * LEAT_RANDOM_RESERVED;
  LEAT_RETURN_IF_ERROR(leat_generator_reserve(c, state->generator, samples, &fill->philox));
  fill->dtype = output->dtype;
  leat_random_fill(c, fill, output->data, output->shape.element_count);
  return leat_ok_status();
}

static leat_status_t random_uniform__cpu(leat_kernel_context_t* c) {
  return run(c, &(leat_random_fill_t){.kind = LEAT_RANDOM_UNIFORM});
}

static leat_status_t random_standard_normal__cpu(leat_kernel_context_t* c) {
  return run(c, &(leat_random_fill_t){.kind = LEAT_RANDOM_NORMAL});
}

static leat_status_t truncated_normal__cpu(leat_kernel_context_t* c) {
  return run(c, &(leat_random_fill_t){.kind = LEAT_RANDOM_TRUNCATED});
}

static leat_status_t random_uniform_int__cpu(leat_kernel_context_t* c) {
  return run(c, &(leat_random_fill_t){.kind = LEAT_RANDOM_INTEGER});
}

const leat_kernel_row_t leat_distribution_kernels_cpu[] = {
    LEAT_GENERATOR_KERNEL("RandomUniform", "dtype: bfloat16, double, float, half",
                          random_uniform__cpu, .expensive = true),
    LEAT_GENERATOR_KERNEL("RandomStandardNormal", "dtype: bfloat16, double, float, half",
                          random_standard_normal__cpu, .expensive = true),
    LEAT_GENERATOR_KERNEL("TruncatedNormal", "dtype: bfloat16, double, float, half",
                          truncated_normal__cpu, .expensive = true),
    LEAT_GENERATOR_KERNEL("RandomUniformInt", "Tout: int32, int64", random_uniform_int__cpu,
                          .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
