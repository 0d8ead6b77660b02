// CPU kernels of Multinomial and its stateless form.
//
//   logits [rows, classes] -> output [rows, num_samples], each a class drawn with odds exp(logit)
//
// For each row the cumulative sums of exp(logit - max) are computed once. A sample is a uniform
// number times the total, looked up among the sums by binary search. Sample n, counted over all
// rows, is made from words 2n and 2n + 1 of the generator, so that rows and samples are shared
// among threads in any way. A class whose logit is infinite or NaN adds nothing to the sums. The
// stateful kernel moves its generator on as far as TensorFlow's does.
#include <math.h>

#include "ops/kernel_rows.h"
#include "ops/random/generator_cpu.h"
#include "ops/random/sampler_cpu.h"
#include "ops/random/stateless_cpu.h"

typedef struct multinomial_s {
  leat_philox_t philox;
  const leat_tensor_t* logits;
  leat_tensor_t* output;
  double* sums;  // [rows, classes]
  int64_t class_count;
  int64_t sample_count;
} multinomial_t;

// Writes the cumulative sums of |row|. A class whose logit is infinite or NaN adds nothing; the
// last sum is the total.
static void accumulate(const multinomial_t* m, int64_t row) {
  double* sums = m->sums + row * m->class_count;
  double largest = -INFINITY, total = 0;
  int64_t first = row * m->class_count;
  for (int64_t j = 0; j < m->class_count; ++j) {
    double logit = leat_sampler_read(m->logits, first + j);
    if (isfinite(logit) && logit > largest) largest = logit;
  }
  for (int64_t j = 0; j < m->class_count; ++j) {
    double logit = leat_sampler_read(m->logits, first + j);
    if (isfinite(logit)) total += exp(logit - largest);
    sums[j] = total;
  }
}

// Gives the first class whose cumulative sum is above |wanted|, or |count| when there is none.
static int64_t search(const double* sums, int64_t count, double wanted) {
  int64_t first = 0;
  while (count > 0) {
    int64_t half = count / 2;
    if (sums[first + half] <= wanted) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

// Uniform number |number| of the generator, two of which are in a group.
static double uniform_at(const leat_philox_t* philox, uint64_t number) {
  uint32_t words[4];
  leat_philox_t own = *philox;
  leat_philox_skip(&own, number / 2);
  leat_philox_next(&own, words);
  return number % 2 ? leat_random_uniform_double(words[2], words[3])
                    : leat_random_uniform_double(words[0], words[1]);
}

static void accumulate_rows(void* data, int64_t begin, int64_t end) {
  const multinomial_t* m = data;
  for (int64_t row = begin; row < end; ++row) accumulate(m, row);
}

static void draw_samples(void* data, int64_t begin, int64_t end) {
  const multinomial_t* m = data;
  for (int64_t number = begin; number < end; ++number) {
    const double* sums = m->sums + number / m->sample_count * m->class_count;
    double wanted = uniform_at(&m->philox, (uint64_t)number) * sums[m->class_count - 1];
    int64_t class = search(sums, m->class_count, wanted);
    if (m->output->dtype == LEAT_DTYPE_INT32) {
      leat_tensor_data(m->output, int32_t)[number] = (int32_t)class;
    } else {
      leat_tensor_data(m->output, int64_t)[number] = class;
    }
  }
}

// Checks the inputs and allocates the output.
static leat_status_t make_output(leat_kernel_context_t* c, multinomial_t* m) {
  const leat_tensor_t* count = leat_kernel_input(c, 1);
  m->logits = leat_kernel_input(c, 0);
  if (m->logits->shape.rank != 2 || count->shape.rank != 0) {
    return leat_kernel_invalid(c, "logits and num_samples have shapes %s and %s, must be a matrix "
                               "and a scalar",
                               LEAT_SHAPE_TEXT(&m->logits->shape), LEAT_SHAPE_TEXT(&count->shape));
  }
  m->sample_count = *leat_tensor_data(count, const int32_t);
  m->class_count = leat_shape_dim(&m->logits->shape, 1);
  if (m->sample_count < 0) {
    return leat_kernel_invalid(c, "num_samples is %lld, must not be negative",
                               (long long)m->sample_count);
  }
  if (m->class_count <= 0 || m->class_count > INT32_MAX) {
    return leat_kernel_invalid(c, "num_classes should be positive and at most 2^31 - 1, got "
                               "logits with %lld",
                               (long long)m->class_count);
  }
  int64_t dims[2] = {leat_shape_dim(&m->logits->shape, 0), m->sample_count};
  return leat_kernel_allocate_sized(c, 0, 2, dims, &m->output);
}

static leat_status_t run(leat_kernel_context_t* c, multinomial_t* m) {
  leat_tensor_t sums;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_DOUBLE, &m->logits->shape, &sums));
  m->sums = sums.data;
  leat_kernel_parallel_for(c, leat_shape_dim(&m->logits->shape, 0), 10.0 * (double)m->class_count,
                           accumulate_rows, m);
  leat_kernel_parallel_for(c, m->output->shape.element_count, 60, draw_samples, m);
  leat_tensor_release(&sums);
  return leat_ok_status();
}

static leat_status_t multinomial__cpu(leat_kernel_context_t* c) {
  const leat_generator_state_t* state = leat_kernel_state(c);
  multinomial_t m;
  LEAT_RETURN_IF_ERROR(make_output(c, &m));
  if (m.output->shape.element_count == 0) return leat_ok_status();
  // TensorFlow's kernel reserves two words for each sample, with the samples of a row rounded up to
  // a multiple of four.
  uint64_t words = (uint64_t)(m.sample_count + 3) / 4 * 4 * 2;
  uint64_t rows = (uint64_t)leat_shape_dim(&m.logits->shape, 0);
  LEAT_RETURN_IF_ERROR(leat_generator_reserve(c, state->generator,
                                              rows * words * LEAT_RANDOM_RESERVED, &m.philox));
  return run(c, &m);
}

static leat_status_t stateless_multinomial__cpu(leat_kernel_context_t* c) {
  multinomial_t m;
  LEAT_RETURN_IF_ERROR(make_output(c, &m));
  LEAT_RETURN_IF_ERROR(leat_stateless_from_seed(c, 2, &m.philox));
  return m.output->shape.element_count ? run(c, &m) : leat_ok_status();
}

const leat_kernel_row_t leat_multinomial_kernels_cpu[] = {
    LEAT_GENERATOR_KERNEL("Multinomial", "T: half, bfloat16, float, double", multinomial__cpu,
                          .expensive = true),
    {.op = "StatelessMultinomial",
     .device_type = "CPU",
     .constraints = "T: half, bfloat16, float, double",
     .compute = stateless_multinomial__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
