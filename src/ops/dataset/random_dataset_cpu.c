// Kernels of the datasets of random numbers: int64 scalars without end, each a 32-bit word of a
// Philox generator. The seeds of a pass come from a seed generator
// (ops/dataset/seed_generator_cpu.h), which decides whether passes repeat each other.
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
  return leat_kernel_attr_bool(c, "rerandomize_each_iteration", state);
}

const leat_kernel_row_t leat_random_dataset_kernels_cpu[] = {
    {.op = "RandomDataset", .device_type = "CPU", .compute = random__cpu},
    {.op = "ExperimentalRandomDataset", .device_type = "CPU", .compute = random__cpu},
    {.op = "RandomDatasetV2",
     .device_type = "CPU",
     .create = random_v2_create,
     .state_bytes = sizeof(bool),
     .compute = random_v2__cpu},
    LEAT_KERNEL_ROWS_END,
};
