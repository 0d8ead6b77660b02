// Samplers: distributions whose samples take a varying number of draws, because they reject some
// (gamma, Poisson, binomial). Each sample has a region of the generator to itself, so that its
// value depends on nothing but the generator and the number of the sample, and threads may share
// the samples out in any way. There are |parameter_count| sets of parameters with |sample_count|
// samples each:
//
//   sample s of set p is number p * sample_count + s, at s * parameter_count + p of the output
//
// The numbers follow TensorFlow's kernels, the places follow from the shapes. A kernel writes one
// function that draws a sample, for example from leat_draws_at(&s->philox, number *
// LEAT_RANDOM_RESERVED), and runs it over the output. leat_sampler_run and the kernels run on the
// step's pool and block until the output is full.
#ifndef LEAT_OPS_RANDOM_SAMPLER_CPU_H_
#define LEAT_OPS_RANDOM_SAMPLER_CPU_H_

#include "ops/random/fill_cpu.h"

// Uniform and normal numbers one at a time, for one sample on one thread. A group of the generator
// gives a pair of numbers, of which the second is taken first, as TensorFlow does.
typedef struct leat_draws_s {
  leat_philox_t philox;
  int uniform_count, normal_count;  // how many of the pairs below have not been taken
  double uniforms[2], normals[2];
} leat_draws_t;

// Draws from the generator |philox| after |skip| groups.
static inline leat_draws_t leat_draws_at(const leat_philox_t* philox, uint64_t skip) {
  leat_draws_t draws = {.philox = *philox};
  leat_philox_skip(&draws.philox, skip);
  return draws;
}
// The next uniform number in [0, 1), and the next normal number. The two kinds take groups from one
// generator in turn, so that their order in a sample decides its value.
static inline double leat_draw_uniform(leat_draws_t* draws) {
  if (draws->uniform_count == 0) {
    uint32_t words[4];
    leat_philox_next(&draws->philox, words);
    draws->uniforms[0] = leat_random_uniform_double(words[0], words[1]);
    draws->uniforms[1] = leat_random_uniform_double(words[2], words[3]);
    draws->uniform_count = 2;
  }
  return draws->uniforms[--draws->uniform_count];
}
static inline double leat_draw_normal(leat_draws_t* draws) {
  if (draws->normal_count == 0) {
    uint32_t words[4];
    leat_philox_next(&draws->philox, words);
    leat_random_pair_double(words, draws->normals);
    draws->normal_count = 2;
  }
  return draws->normals[--draws->normal_count];
}

// A rejection sampler gives up after so many tries; the sample is then NaN. TensorFlow would try
// for ever where a parameter makes no sense.
#define LEAT_SAMPLER_MAX_TRIES 100000

typedef struct leat_sampler_s leat_sampler_t;
// Draws the sample with number |number| of set |parameter|. Runs on any thread and must not block;
// it gives up after LEAT_SAMPLER_MAX_TRIES and returns NaN then.
typedef double (*leat_sample_fn_t)(const leat_sampler_t* sampler, int64_t parameter,
                                   int64_t number);
// What to draw. The caller fills it for one run, and all that it points to is borrowed for that
// run. |philox| is the generator at the first sample's region.
struct leat_sampler_s {
  leat_philox_t philox;
  leat_sample_fn_t sample;
  const leat_tensor_t* parameters[2];
  const int64_t* offsets[2];  // the element of parameters[i] for each set; NULL: that of its number
  int64_t parameter_count;
  int64_t sample_count;
  double cost_ns;  // of a sample, roughly
};
// Fills |output|, which has parameter_count * sample_count elements, converted to its type. An
// integer type gets 0 for NaN and infinities, and the nearest limit for numbers beyond its range.
void leat_sampler_run(const leat_kernel_context_t* c, const leat_sampler_t* sampler,
                      leat_tensor_t* output);

// Whole kernels of distributions of one parameter, with |sample| and |cost_ns| as in a sampler.
//
// The stateful form has inputs shape and parameter and the state leat_generator_state_t: it draws
// as many samples as shape says for each parameter.
LEAT_MUST_USE leat_status_t leat_sampler_compute(leat_kernel_context_t* c, leat_sample_fn_t sample,
                                                 double cost_ns);
// The stateless form draws from |philox|. Input 0 is the shape of the output, which must end with
// the shape of input |parameter|.
LEAT_MUST_USE leat_status_t leat_sampler_compute_stateless(leat_kernel_context_t* c,
                                                           leat_philox_t philox, int parameter,
                                                           leat_sample_fn_t sample,
                                                           double cost_ns);

// An element of a tensor as a number.
double leat_sampler_read(const leat_tensor_t* tensor, int64_t index);
static inline double leat_sampler_parameter(const leat_sampler_t* s, int which, int64_t set) {
  return leat_sampler_read(s->parameters[which], s->offsets[which] ? s->offsets[which][set] : set);
}
// A tensor of |shape| is broadcast to |whole|: the element of the tensor that lies at element
// |index| of the whole.
int64_t leat_sampler_broadcast(const leat_shape_t* whole, const leat_shape_t* shape,
                               int64_t index);
// INVALID_ARGUMENT unless |shape| ends with |suffix|.
LEAT_MUST_USE leat_status_t leat_sampler_check_suffix(const leat_kernel_context_t* c,
                                                      const leat_shape_t* shape,
                                                      const leat_shape_t* suffix);

#endif  // LEAT_OPS_RANDOM_SAMPLER_CPU_H_
