// Generators of seeds, and the kernels that make them as resources. A dataset that uses random
// numbers asks its generator for two seeds at the start of each pass. A generator with |reshuffle|
// draws new seeds from a Philox generator that its first two seeds started; one without gives those
// two every time. The words are drawn in TensorFlow's order, so that equal seeds give TensorFlow's
// order of elements. Seeds of 0 and 0 stand for seeds of the operating system. The kernels of the
// Dummy and Delete ops are here too, also those of the memory cache (sequence_dataset.c), because
// they are the same.
#include "ops/dataset/seed_generator_cpu.h"

#include "kernel/handle.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

leat_word_source_t leat_word_source_make(int64_t seed, int64_t seed2) {
  return (leat_word_source_t){.philox = leat_philox_make((uint64_t)seed, (uint64_t)seed2),
                              .used = 4};
}

// Gives one 32-bit word; the generator makes four at a time.
uint32_t leat_word_source_next(leat_word_source_t* source) {
  if (source->used == 4) {
    leat_philox_next(&source->philox, source->words);
    source->used = 0;
  }
  return source->words[source->used++];
}

struct leat_seed_generator_s {
  leat_resource_t resource;
  leat_mutex_t mutex;
  bool reshuffle;
  int64_t seed, seed2;
  leat_word_source_t words;
};

static void destroy(leat_resource_t* resource) {
  leat_seed_generator_t* generator = (leat_seed_generator_t*)resource;
  leat_mutex_deinitialize(&generator->mutex);
  leat_allocator_free(leat_allocator_system(), generator);
}

const leat_resource_kind_t leat_seed_generator_kind = {.name = "SeedGenerator", .destroy = destroy};

leat_status_t leat_seed_generator_create(int64_t seed, int64_t seed2, bool reshuffle,
                                         leat_seed_generator_t** out_generator) {
  leat_seed_generator_t* generator;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &generator));
  if (seed == 0 && seed2 == 0) {
    seed = (int64_t)leat_random_seed();
    seed2 = (int64_t)leat_random_seed();
  }
  generator->resource.kind = &leat_seed_generator_kind;
  generator->resource.references = 1;
  leat_mutex_initialize(&generator->mutex);
  generator->reshuffle = reshuffle;
  generator->seed = seed;
  generator->seed2 = seed2;
  generator->words = leat_word_source_make(seed, seed2);
  *out_generator = generator;
  return leat_ok_status();
}

void leat_seed_generator_next(leat_seed_generator_t* generator, int64_t* out_seed,
                              int64_t* out_seed2) {
  leat_mutex_lock(&generator->mutex);
  *out_seed = generator->reshuffle ? leat_word_source_next(&generator->words) : generator->seed;
  *out_seed2 = generator->reshuffle ? leat_word_source_next(&generator->words) : generator->seed2;
  leat_mutex_unlock(&generator->mutex);
}

leat_status_t leat_seed_generator_open(leat_kernel_context_t* c, int seed_input, int handle_input,
                                       bool reshuffle, leat_seed_generator_t** out_generator) {
  int64_t seed = 0, seed2 = 0;
  if (handle_input >= 0) {
    LEAT_RETURN_IF_ERROR(leat_dataset_find_shared(c, handle_input, &leat_seed_generator_kind,
                                                  "N10tensorflow4data13SeedGeneratorE",
                                                  (leat_resource_t**)out_generator));
    if (*out_generator) return leat_ok_status();
  }
  if (seed_input >= 0) {
    LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, seed_input, "seed", &seed));
    LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, seed_input + 1, "seed2", &seed2));
  }
  return leat_seed_generator_create(seed, seed2, reshuffle, out_generator);
}

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t make(leat_kernel_context_t* c, bool reshuffle) {
  int64_t seed, seed2;
  leat_seed_generator_t* generator;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 0, "seed", &seed));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "seed2", &seed2));
  LEAT_RETURN_IF_ERROR(leat_seed_generator_create(seed, seed2, reshuffle, &generator));
  LEAT_RETURN_IF_ERROR(leat_handle_own_resource(c, 0, leat_seed_generator_resource(generator)));
  return leat_dataset_set_deleter(c, 1);
}

static leat_status_t anonymous__cpu(leat_kernel_context_t* c) {
  bool reshuffle;
  LEAT_RETURN_IF_ERROR(leat_dataset_bool_input(c, 2, "reshuffle", &reshuffle));
  return make(c, reshuffle);
}

static leat_status_t anonymous_random__cpu(leat_kernel_context_t* c) { return make(c, true); }

// Gives a handle that refers to nothing: the dataset that takes it makes its own resource.
static leat_status_t dummy__cpu(leat_kernel_context_t* c) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  return leat_kernel_allocate_output(c, 0, &scalar, &output);
}

// Deletes nothing: the resource ends with the last copy of its handle.
static leat_status_t delete__cpu(leat_kernel_context_t* c) { return leat_ok_status(); }

#define KERNEL(name, how) \
  { .op = name, .device_type = "CPU", .compute = how##__cpu }

const leat_kernel_row_t leat_seed_generator_kernels_cpu[] = {
    KERNEL("AnonymousSeedGenerator", anonymous),
    KERNEL("AnonymousRandomSeedGenerator", anonymous_random),
    KERNEL("DummySeedGenerator", dummy),
    KERNEL("DeleteSeedGenerator", delete),
    KERNEL("DeleteRandomSeedGenerator", delete),
    KERNEL("DummyMemoryCache", dummy),
    KERNEL("DummyIterationCounter", dummy),
    KERNEL("DeleteMemoryCache", delete),
    LEAT_KERNEL_ROWS_END,
};
