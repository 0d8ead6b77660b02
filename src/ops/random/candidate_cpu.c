// CPU kernels of the candidate samplers, for losses over very many classes (sampled softmax, noise
// contrastive estimation): instead of all classes, the loss uses the true ones and a few drawn
// ones.
//
//   true_classes [batch, num_true] int64 -> sampled_candidates [num_sampled] int64,
//     true_expected_count [batch, num_true], sampled_expected_count [num_sampled] float
//
// The samplers differ in the distribution alone: uniform, log-uniform (classes sorted by
// frequency), fixed weights, or weights learned from the true classes so far. A distribution is a
// pair of functions, one that draws a class and one that gives probabilities.
//
// With "unique" the classes are distinct: draws are repeated until enough different ones have come.
// The expected count of a class with probability p is then that of coming at least once in |tries|
// draws, 1 - (1 - p)^tries, else p * tries. The loss needs it to correct for the sampling.
//
// Draws come one after the other from one stream of words, since their number is not known
// beforehand; so a sampler runs on one thread.
#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "base/map.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/random/fill_cpu.h"
#include "ops/random/generator_cpu.h"
#include "ops/random/unigram_cpu.h"

typedef struct sampler_s sampler_t;
typedef struct distribution_s {
  int64_t (*draw)(const sampler_t* sampler, leat_word_stream_t* stream);  // NULL: every class
  void (*probabilities)(const sampler_t* sampler, const int64_t* values, int64_t n, float* out);
} distribution_t;

// The state of a sampler's kernel.
struct sampler_s {
  leat_generator_t* generator;
  const distribution_t* distribution;
  int64_t true_count, sampled_count, range;
  bool is_unique;
  double log_range;                   // log(range + 1), for the log-uniform distribution
  leat_fixed_unigrams_t* fixed;       // NULL unless the weights are fixed
  leat_learned_unigrams_t* learned;   // NULL unless the weights are learned
};

// ---- Distributions ------------------------------------------------------------------------------

static int64_t uniform_draw(const sampler_t* s, leat_word_stream_t* stream) {
  return (int64_t)leat_word_stream_below64(stream, (uint64_t)s->range);
}

static void uniform_probabilities(const sampler_t* s, const int64_t* values, int64_t n,
                                  float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = (float)(1.0 / (double)s->range);
}

// P(class) = (log(class + 2) - log(class + 1)) / log(range + 1).
static int64_t log_uniform_draw(const sampler_t* s, leat_word_stream_t* stream) {
  uint32_t high = leat_word_stream_next(stream);
  double part = leat_random_uniform_double(high, leat_word_stream_next(stream));
  return ((int64_t)exp(part * s->log_range) - 1) % s->range;
}

static void log_uniform_probabilities(const sampler_t* s, const int64_t* values, int64_t n,
                                      float* out) {
  for (int64_t i = 0; i < n; ++i) {
    const double v = (double)values[i];
    out[i] = (float)(log((v + 2.0) / (v + 1.0)) / s->log_range);
  }
}

static int64_t fixed_draw(const sampler_t* s, leat_word_stream_t* stream) {
  return leat_fixed_unigrams_draw(s->fixed, stream);
}

static void fixed_probabilities(const sampler_t* s, const int64_t* values, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = leat_fixed_unigrams_probability(s->fixed, values[i]);
}

static int64_t learned_draw(const sampler_t* s, leat_word_stream_t* stream) {
  return leat_learned_unigrams_draw(s->learned, stream);
}

static void learned_probabilities(const sampler_t* s, const int64_t* values, int64_t n,
                                  float* out) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = leat_learned_unigrams_probability(s->learned, values[i]);
  }
}

static const distribution_t kAll = {NULL, NULL};
static const distribution_t kUniform = {uniform_draw, uniform_probabilities};
static const distribution_t kLogUniform = {log_uniform_draw, log_uniform_probabilities};
static const distribution_t kFixed = {fixed_draw, fixed_probabilities};
static const distribution_t kLearned = {learned_draw, learned_probabilities};

// ---- Kernels are made ---------------------------------------------------------------------------

static leat_status_t create(leat_kernel_creation_t* c, sampler_t* s,
                            const distribution_t* distribution) {
  s->distribution = distribution;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_true", &s->true_count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_sampled", &s->sampled_count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "unique", &s->is_unique));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(
      c, distribution == &kAll ? "num_sampled" : "range_max", &s->range));
  if (s->sampled_count > INT32_MAX / 4) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Create failed for node '%.*s' (%s): num_sampled is %lld, must be "
                            "below 2^29",
                            LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op,
                            (long long)s->sampled_count);
  }
  s->log_range = log1p((double)s->range);
  return leat_generator_open(c, &s->generator);
}

static leat_status_t all_create(leat_kernel_creation_t* c, void* state) {
  return create(c, state, &kAll);
}

static leat_status_t uniform_create(leat_kernel_creation_t* c, void* state) {
  return create(c, state, &kUniform);
}

static leat_status_t log_uniform_create(leat_kernel_creation_t* c, void* state) {
  return create(c, state, &kLogUniform);
}

static leat_status_t fixed_create(leat_kernel_creation_t* c, void* state) {
  sampler_t* s = state;
  LEAT_RETURN_IF_ERROR(create(c, s, &kFixed));
  return leat_fixed_unigrams_create(c, s->range, &s->fixed);
}

static leat_status_t learned_create(leat_kernel_creation_t* c, void* state) {
  sampler_t* s = state;
  LEAT_RETURN_IF_ERROR(create(c, s, &kLearned));
  return leat_learned_unigrams_open(c, s->range, &s->learned);
}

static void destroy(void* state) {
  sampler_t* s = state;
  leat_generator_release(s->generator);
  leat_fixed_unigrams_free(s->fixed);
  if (s->learned) leat_resource_release(&s->learned->resource);
}

// ---- Sampling -----------------------------------------------------------------------------------

// A set of the classes drawn so far: a hash table with open addressing. The number of places is a
// power of two and at most half of them are taken; a free place holds -1.
typedef struct seen_s {
  int64_t* places;
  uint64_t mask;
} seen_t;

// Adds |value|; false when it is there already.
static bool see(const seen_t* seen, int64_t value) {
  uint64_t place = leat_hash_mix(0, (uint64_t)value) & seen->mask;
  while (seen->places[place] != -1) {
    if (seen->places[place] == value) return false;
    place = (place + 1) & seen->mask;
  }
  seen->places[place] = value;
  return true;
}

// A class of hardly any weight may practically never come, so drawing gives up after MAX_TRIES.
// Every TRIES_BETWEEN_CHECKS draws it looks whether the step is to end.
#define MAX_TRIES INT32_MAX
#define TRIES_BETWEEN_CHECKS (1 << 16)
#define COST_OF_DRAW 30.0  // nanoseconds

static leat_status_t check_tries(const leat_kernel_context_t* c, int64_t tries) {
  LEAT_RETURN_IF_ERROR(leat_step_check(c->services, true));
  if (tries < MAX_TRIES - TRIES_BETWEEN_CHECKS) return leat_ok_status();
  return leat_kernel_error(c, LEAT_RESOURCE_EXHAUSTED,
                           "num_sampled is more than are found in %lld tries", (long long)tries);
}

// Draws until num_sampled distinct classes are found; |out_tries| is the number of draws that took.
static leat_status_t draw_distinct(leat_kernel_context_t* c, leat_word_stream_t* stream,
                                   const seen_t* seen, int64_t* out_values, int64_t* out_tries) {
  const sampler_t* s = leat_kernel_state(c);
  int64_t tries = 0;
  for (int64_t count = 0; count < s->sampled_count;) {
    int64_t value = s->distribution->draw(s, stream);
    if (++tries % TRIES_BETWEEN_CHECKS == 0) LEAT_RETURN_IF_ERROR(check_tries(c, tries));
    if (see(seen, value)) out_values[count++] = value;
  }
  *out_tries = tries;
  return leat_ok_status();
}

static leat_status_t sample_distinct(leat_kernel_context_t* c, leat_word_stream_t* stream,
                                     int64_t* out_values, int64_t* out_tries) {
  const sampler_t* s = leat_kernel_state(c);
  int64_t place_count = 2;
  while (place_count < 2 * s->sampled_count) place_count *= 2;
  leat_tensor_t places;
  leat_shape_t shape = leat_shape_vector(place_count);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &shape, &places));
  memset(places.data, 0xff, (size_t)place_count * sizeof(int64_t));
  seen_t seen = {places.data, (uint64_t)place_count - 1};
  leat_status_t status = draw_distinct(c, stream, &seen, out_values, out_tries);
  leat_tensor_release(&places);
  return status;
}

static leat_status_t sample(leat_kernel_context_t* c, leat_word_stream_t* stream,
                            int64_t* out_values, int64_t* out_tries) {
  const sampler_t* s = leat_kernel_state(c);
  if (s->is_unique) return sample_distinct(c, stream, out_values, out_tries);
  leat_step_pace_t pace = leat_step_pace_of(c);
  for (int64_t i = 0; i < s->sampled_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, COST_OF_DRAW));
    out_values[i] = s->distribution->draw(s, stream);
  }
  *out_tries = s->sampled_count;
  return leat_ok_status();
}

// Writes the expected count of each of |values| in |tries| draws: p * tries, or, when draws were
// thrown away to get distinct classes, 1 - (1 - p)^tries. Each loop calls one function over the
// whole array, so that the processor overlaps the calls. The functions are those of the C library,
// because then the last bit is TensorFlow's.
static void expect(const sampler_t* s, const int64_t* values, int64_t count, int64_t tries,
                   float* out) {
  s->distribution->probabilities(s, values, count, out);
  if (tries == s->sampled_count) {
    for (int64_t i = 0; i < count; ++i) out[i] *= (float)tries;
    return;
  }
  for (int64_t i = 0; i < count; ++i) out[i] = (float)tries * log1pf(-out[i]);
  for (int64_t i = 0; i < count; ++i) out[i] = -expm1f(out[i]);
}

// Computes the expected counts in blocks of values, and looks between blocks whether the step has
// ended, since a caller may name millions of candidates.
static leat_status_t expect_all(const leat_kernel_context_t* c, const int64_t* values,
                                int64_t count, int64_t tries, float* out) {
  const int64_t block = 1 << 15;
  for (int64_t i = 0; i < count; i += block) {
    if (i) LEAT_RETURN_IF_ERROR(leat_step_check(c->services, true));
    expect(leat_kernel_state(c), values + i, LEAT_MIN(block, count - i), tries, out + i);
  }
  return leat_ok_status();
}

static leat_status_t check_classes(const leat_kernel_context_t* c) {
  const sampler_t* s = leat_kernel_state(c);
  const leat_tensor_t* classes = leat_kernel_input(c, 0);
  if (classes->shape.rank != 2 || leat_shape_dim(&classes->shape, 1) != s->true_count) {
    return leat_kernel_invalid(c, "true_classes has shape %s, must be a matrix of %lld columns",
                               LEAT_SHAPE_TEXT(&classes->shape), (long long)s->true_count);
  }
  for (int64_t i = 0; i < classes->shape.element_count; ++i) {
    int64_t class = leat_tensor_data(classes, const int64_t)[i];
    if (class < 0 || class >= s->range) {
      return leat_kernel_invalid(c, "true_classes has %lld, must be in [0, %lld)",
                                 (long long)class, (long long)s->range);
    }
  }
  int64_t possible = s->is_unique && s->fixed ? leat_fixed_unigrams_possible(s->fixed) : s->range;
  if (!s->is_unique || s->sampled_count <= possible) return leat_ok_status();
  return leat_kernel_invalid(c, "Sampler's range is too small: num_sampled is %lld, must be at "
                             "most %lld", (long long)s->sampled_count, (long long)possible);
}

static leat_status_t sample_all(leat_kernel_context_t* c, leat_tensor_t** outputs) {
  const sampler_t* s = leat_kernel_state(c);
  float* expected_true = outputs[1]->data;
  for (int64_t i = 0; i < s->range; ++i) {
    leat_tensor_data(outputs[0], int64_t)[i] = i;
    leat_tensor_data(outputs[2], float)[i] = 1;
  }
  for (int64_t i = 0; i < outputs[1]->shape.element_count; ++i) expected_true[i] = 1;
  return leat_ok_status();
}

// The learned distribution is locked while a step samples from it and counts its true classes, so
// that the expected counts belong to the weights that the classes were drawn with.
static leat_status_t sample_some(leat_kernel_context_t* c, leat_tensor_t** outputs) {
  const sampler_t* s = leat_kernel_state(c);
  const leat_tensor_t* classes = leat_kernel_input(c, 0);
  const int64_t* true_classes = classes->data;
  int64_t true_count = classes->shape.element_count, tries = 0;
  // TensorFlow's kernel reserves 2048 words, that is 512 groups, for each sample.
  leat_word_stream_t stream = {0};
  LEAT_RETURN_IF_ERROR(leat_generator_reserve(c, s->generator, (uint64_t)s->sampled_count * 512,
                                              &stream.philox));
  if (s->learned) leat_mutex_lock(&s->learned->mutex);
  leat_status_t status = sample(c, &stream, outputs[0]->data, &tries);
  if (!status) {
    status = expect_all(c, outputs[0]->data, s->sampled_count, tries, outputs[2]->data);
  }
  if (!status) status = expect_all(c, true_classes, true_count, tries, outputs[1]->data);
  if (!status && s->learned) leat_learned_unigrams_count(s->learned, true_classes, true_count);
  if (s->learned) leat_mutex_unlock(&s->learned->mutex);
  return status;
}

static leat_status_t sampler__cpu(leat_kernel_context_t* c) {
  const sampler_t* s = leat_kernel_state(c);
  leat_shape_t sampled = leat_shape_vector(s->sampled_count);
  leat_tensor_t* outputs[3];
  LEAT_RETURN_IF_ERROR(check_classes(c));
  for (int i = 0; i < 3; ++i) {
    const leat_shape_t* shape = i == 1 ? &leat_kernel_input(c, 0)->shape : &sampled;
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, i, shape, &outputs[i]));
  }
  return s->distribution->draw ? sample_some(c, outputs) : sample_all(c, outputs);
}

// ---- Accidental hits ----------------------------------------------------------------------------

typedef struct hits_s {
  int64_t true_count;
} hits_t;

static leat_status_t hits_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_int(c, "num_true", &((hits_t*)state)->true_count);
}

// Allocates and fills the outputs: for each true class that is among the sampled ones, its row, the
// position of the sampled class, and the lowest float, which makes the loss ignore it. |places|
// maps sampled classes to their positions.
static leat_status_t write_hits(leat_kernel_context_t* c, const leat_word_map_t* places) {
  const leat_tensor_t* classes = leat_kernel_input(c, 0);
  const int64_t* values = classes->data;
  int64_t columns = leat_shape_dim(&classes->shape, 1), count = 0;
  uint64_t place;
  for (int64_t i = 0; i < classes->shape.element_count; ++i) {
    count += leat_word_map_get(places, (uint64_t)values[i], &place);
  }
  leat_shape_t shape = leat_shape_vector(count);
  leat_tensor_t* outputs[3];
  for (int i = 0; i < 3; ++i) {
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, i, &shape, &outputs[i]));
  }
  for (int64_t i = 0, hit = 0; hit < count; ++i) {
    if (!leat_word_map_get(places, (uint64_t)values[i], &place)) continue;
    leat_tensor_data(outputs[0], int32_t)[hit] = (int32_t)(i / columns);
    leat_tensor_data(outputs[1], int64_t)[hit] = (int64_t)place;
    leat_tensor_data(outputs[2], float)[hit++] = -FLT_MAX;
  }
  return leat_ok_status();
}

static leat_status_t accidental_hits__cpu(leat_kernel_context_t* c) {
  const hits_t* hits = leat_kernel_state(c);
  const leat_tensor_t* classes = leat_kernel_input(c, 0);
  const leat_tensor_t* sampled = leat_kernel_input(c, 1);
  if (classes->shape.rank != 2 || leat_shape_dim(&classes->shape, 1) != hits->true_count ||
      sampled->shape.rank != 1) {
    return leat_kernel_invalid(c, "true_classes and sampled_candidates have shapes %s and %s, "
                               "must be a matrix of %lld columns and a vector",
                               LEAT_SHAPE_TEXT(&classes->shape), LEAT_SHAPE_TEXT(&sampled->shape),
                               (long long)hits->true_count);
  }
  leat_word_map_t places;
  leat_status_t status = leat_ok_status();
  leat_word_map_initialize(leat_allocator_system(), &places);
  for (int64_t i = 0; !status && i < sampled->shape.element_count; ++i) {
    int64_t value = leat_tensor_data(sampled, const int64_t)[i];
    status = leat_word_map_set(&places, (uint64_t)value, (uint64_t)i);
  }
  if (!status) status = write_hits(c, &places);
  leat_word_map_deinitialize(&places);
  return status;
}

#define SAMPLER(name, made)                                                      \
  LEAT_CPU_KERNEL(name, NULL, sampler_t, made, sampler__cpu, .destroy = destroy)

const leat_kernel_row_t leat_candidate_kernels_cpu[] = {
    SAMPLER("AllCandidateSampler", all_create),
    SAMPLER("FixedUnigramCandidateSampler", fixed_create),
    SAMPLER("LearnedUnigramCandidateSampler", learned_create),
    SAMPLER("LogUniformCandidateSampler", log_uniform_create),
    SAMPLER("ThreadUnsafeUnigramCandidateSampler", learned_create),
    SAMPLER("UniformCandidateSampler", uniform_create),
    {.op = "ComputeAccidentalHits",
     .device_type = "CPU",
     .create = hits_create,
     .state_bytes = sizeof(hits_t),
     .compute = accidental_hits__cpu},
    LEAT_KERNEL_ROWS_END,
};
