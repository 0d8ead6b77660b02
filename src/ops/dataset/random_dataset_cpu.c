// Kernels of the datasets of random numbers: int64 scalars without end, each a 32-bit word of a
// Philox generator. The seeds of a pass come from a seed generator
// (ops/dataset/seed_generator_cpu.h), which decides whether passes repeat each other.
// SamplingDataset draws one such word for each element of its input, and so decides whether to give
// it; each pass draws the same words.
#include "ops/dataset/dataset_cpu.h"
#include "ops/dataset/seed_generator_cpu.h"
#include "ops/kernel_rows.h"

typedef struct random_s {
  leat_dataset_t base;
  leat_seed_generator_t* seeds;
} random_t;

typedef struct random_iterator_s {
  leat_iterator_t base;
  leat_word_source_t words;
} random_iterator_t;

static void random_destroy(leat_dataset_t* self) {
  random_t* numbers = (random_t*)self;
  if (numbers->seeds) leat_resource_release(leat_seed_generator_resource(numbers->seeds));
}

static leat_status_t random_start(leat_iterator_t* self) {
  int64_t seed, seed2;
  leat_seed_generator_next(((const random_t*)self->dataset)->seeds, &seed, &seed2);
  ((random_iterator_t*)self)->words = leat_word_source_make(seed, seed2);
  return leat_ok_status();
}

static leat_status_t random_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                 leat_poll_t* out_poll) {
  int64_t number = leat_word_source_next(&((random_iterator_t*)self)->words);
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar(LEAT_DTYPE_INT64, &number, out));
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static int64_t random_cardinality(const leat_dataset_t* self) { return LEAT_CARDINALITY_INFINITE; }

static const leat_dataset_kind_t kRandom = {.name = "Random",
                                            .dataset_bytes = sizeof(random_t),
                                            .iterator_bytes = sizeof(random_iterator_t),
                                            .destroy = random_destroy,
                                            .start = random_start,
                                            .next = random_next,
                                            .cardinality = random_cardinality};

// ---- Samples ------------------------------------------------------------------------------------

typedef struct sample_s {
  leat_dataset_t base;
  float rate;
  int64_t seed, seed2;
} sample_t;

static leat_status_t sample_start(leat_iterator_t* self) {
  const sample_t* sample = (const sample_t*)self->dataset;
  ((random_iterator_t*)self)->words = leat_word_source_make(sample->seed, sample->seed2);
  return leat_ok_status();
}

// A number in [0, 1), which the low 23 bits of a word make.
static float next_fraction(leat_word_source_t* words) {
  return (float)(leat_word_source_next(words) & 0x7fffff) / (float)0x800000;
}

static leat_status_t sample_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                 leat_poll_t* out_poll) {
  for (;;) {
    LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, out, out_poll));
    if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
    if (next_fraction(&((random_iterator_t*)self)->words) <
        ((const sample_t*)self->dataset)->rate) {
      return leat_ok_status();
    }
    leat_element_release(out, self->dataset->spec->count);
  }
}

static const leat_dataset_kind_t kSample = {.name = "Sampling",
                                            .dataset_bytes = sizeof(sample_t),
                                            .iterator_bytes = sizeof(random_iterator_t),
                                            .opens_input = true,
                                            .start = sample_start,
                                            .next = sample_next,
                                            .cardinality = leat_dataset_unknown_cardinality};

static leat_status_t sample__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* rate = leat_kernel_input(c, 1);
  int64_t seed, seed2;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 2, "seed", &seed));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 3, "seed2", &seed2));
  if (rate->shape.rank != 0) return leat_kernel_invalid(c, "rate must be a scalar");
  if (seed == 0 && seed2 == 0) {
    seed = (int64_t)leat_random_seed();
    seed2 = (int64_t)leat_random_seed();
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, &kSample, &dataset));
  sample_t* sample = (sample_t*)dataset;
  sample->rate = *leat_tensor_data(rate, const float);
  sample->seed = seed;
  sample->seed2 = seed2;
  return leat_dataset_set_output(c, dataset);
}

// ---- Numbers ------------------------------------------------------------------------------------

static leat_status_t make(leat_kernel_context_t* c, int handle_input, bool rerandomize) {
  leat_element_spec_t* spec;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_element_spec_of_scalar(LEAT_DTYPE_INT64, &spec));
  LEAT_RETURN_IF_ERROR(leat_dataset_create(&kRandom, spec, 0, 0, &dataset));
  leat_status_t status =
      leat_seed_generator_open(c, 0, handle_input, rerandomize, &((random_t*)dataset)->seeds);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

static leat_status_t random__cpu(leat_kernel_context_t* c) { return make(c, -1, false); }

static leat_status_t random_v2__cpu(leat_kernel_context_t* c) {
  return make(c, 2, *(const bool*)leat_kernel_state(c));
}

static leat_status_t random_v2_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(leat_element_metadata_create(c, state));
  return leat_kernel_attr_bool(c, "rerandomize_each_iteration", state);
}

const leat_kernel_row_t leat_random_dataset_kernels_cpu[] = {
    LEAT_DATASET_KERNEL("RandomDataset", random__cpu),
    LEAT_DATASET_KERNEL("ExperimentalRandomDataset", random__cpu),
    LEAT_DATASET_KERNEL("SamplingDataset", sample__cpu),
    {.op = "RandomDatasetV2",
     .device_type = "CPU",
     .create = random_v2_create,
     .state_bytes = sizeof(bool),
     .compute = random_v2__cpu},
    LEAT_KERNEL_ROWS_END,
};
