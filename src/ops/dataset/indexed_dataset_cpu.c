// Kernels of the datasets that choose elements of their inputs by index. They ask an iterator to
// seek (ops/dataset/dataset_cpu.h), which ranges, slices and those datasets can do that only count,
// map or batch elements of such ones.
//
// GlobalShuffleDataset gives all elements of its input in a random order. It keeps none of them: a
// permutation that needs no table (ops/random/index_shuffle_cpu.h) says which element comes at each
// place. Seeds and order are TensorFlow's. The datasets below must all be able to seek; TensorFlow
// also shuffles what RepeatDataset, ConcatenateDataset and datasets that work ahead give, which
// cannot seek here.
//
// WeightedFlatMapDataset gives the first elements of each of its inputs, one input after the other:
// as many as the weights say, and so many that at least one input is used up. Its reader can seek
// where all of its inputs can.
#include "base/checked.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/dataset/seed_generator_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/random/index_shuffle_cpu.h"

// ---- In a random order --------------------------------------------------------------------------

enum { ROUNDS = 8 };  // TensorFlow's number

typedef struct global_shuffle_s {
  leat_dataset_t base;
  leat_seed_generator_t* seeds;
} global_shuffle_t;

typedef struct global_iterator_s {
  leat_iterator_t base;
  uint32_t seed[3];
  int64_t count;  // of elements
  int64_t place;  // in the order, of the element that is given next
  bool is_sought;  // the input stands at that element
} global_iterator_t;

static void global_destroy(leat_dataset_t* self) {
  leat_seed_generator_t* seeds = ((global_shuffle_t*)self)->seeds;
  if (seeds) leat_resource_release(leat_seed_generator_resource(seeds));
}

// The generator is asked for four seeds, of which three are used, as in TensorFlow.
static leat_status_t global_start(leat_iterator_t* self) {
  global_iterator_t* it = (global_iterator_t*)self;
  leat_seed_generator_t* seeds = ((const global_shuffle_t*)self->dataset)->seeds;
  int64_t drawn[4];
  leat_seed_generator_next(seeds, &drawn[0], &drawn[1]);
  leat_seed_generator_next(seeds, &drawn[2], &drawn[3]);
  for (int i = 0; i < 3; ++i) it->seed[i] = (uint32_t)drawn[i];
  it->count = leat_dataset_cardinality(self->dataset);
  return leat_ok_status();
}

static leat_status_t global_seek(leat_iterator_t* self, int64_t index) {
  global_iterator_t* it = (global_iterator_t*)self;
  it->place = index;
  it->is_sought = false;
  return leat_ok_status();
}

static leat_status_t seek_shuffled(global_iterator_t* it, const leat_pull_t* pull) {
  leat_step_pace_t pace = {pull->services, LEAT_STEP_CHECK_NS};
  uint64_t index = (uint64_t)it->place;
  LEAT_RETURN_IF_ERROR(
      leat_index_shuffle(&pace, it->seed, (uint64_t)it->count - 1, ROUNDS, &index));
  LEAT_RETURN_IF_ERROR(leat_iterator_seek(it->base.input, (int64_t)index));
  it->is_sought = true;
  return leat_ok_status();
}

// An element that fails is passed over. The input may answer PENDING several times.
static leat_status_t global_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                 leat_poll_t* out_poll) {
  global_iterator_t* it = (global_iterator_t*)self;
  if (it->place >= it->count) return leat_ok_status();
  if (!it->is_sought) LEAT_RETURN_IF_ERROR(seek_shuffled(it, pull));
  leat_status_t status = leat_iterator_next(self->input, pull, out, out_poll);
  if (status ? leat_pull_was_stopped(status) : *out_poll == LEAT_POLL_PENDING) return status;
  ++it->place;
  it->is_sought = false;
  return status;
}

static const leat_dataset_kind_t kGlobalShuffle = {.name = "GlobalShuffle",
                                                   .dataset_bytes = sizeof(global_shuffle_t),
                                                   .iterator_bytes = sizeof(global_iterator_t),
                                                   .opens_input = true,
                                                   .destroy = global_destroy,
                                                   .start = global_start,
                                                   .next = global_next,
                                                   .seek = global_seek};

static leat_status_t global_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(leat_element_metadata_create(c, state));
  return leat_kernel_attr_bool(c, "reshuffle_each_iteration", state);
}

static leat_status_t global__cpu(leat_kernel_context_t* c) {
  const bool reshuffle = *(const bool*)leat_kernel_state(c);
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  if (!input->seeks) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "`global_shuffle` requires all upstream transformations be compatible "
                             "with random access; a %s dataset, or one below it, is not",
                             input->kind->name);
  }
  const int64_t count = leat_dataset_cardinality(input);
  if (count <= 0) {
    return leat_kernel_invalid(c,
                               "`global_shuffle` requires the input dataset to have a non-empty "
                               "finite cardinality. Got cardinality %lld",
                               (long long)count);
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, &kGlobalShuffle, &dataset));
  leat_status_t status =
      leat_seed_generator_open(c, 1, 3, reshuffle, &((global_shuffle_t*)dataset)->seeds);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

// ---- So many elements of each input -------------------------------------------------------------

// tensors[0] are the ends: of how many elements of the inputs up to each one.
typedef struct weighted_iterator_s {
  leat_iterator_t base;
  leat_iterator_t** inputs;
  int64_t place;
  bool is_sought;  // the input in turn stands at that place
} weighted_iterator_t;

static const int64_t* ends_of(const leat_dataset_t* dataset) {
  return leat_tensor_data(&dataset->tensors[0], const int64_t);
}

static leat_status_t weighted_start(leat_iterator_t* self) {
  ((weighted_iterator_t*)self)->is_sought = true;
  return leat_iterator_create_all(self, &((weighted_iterator_t*)self)->inputs);
}

static void weighted_stop(leat_iterator_t* self) {
  leat_iterator_free_all(self, ((weighted_iterator_t*)self)->inputs);
}

static leat_status_t weighted_seek(leat_iterator_t* self, int64_t index) {
  weighted_iterator_t* it = (weighted_iterator_t*)self;
  it->place = index;
  it->is_sought = false;
  return leat_ok_status();
}

static leat_status_t weighted_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                   leat_poll_t* out_poll) {
  weighted_iterator_t* it = (weighted_iterator_t*)self;
  const int64_t* ends = ends_of(self->dataset);
  int i = 0;
  while (i < self->dataset->input_count && it->place >= ends[i]) ++i;
  if (i == self->dataset->input_count) return leat_ok_status();
  if (!it->is_sought) {
    LEAT_RETURN_IF_ERROR(leat_iterator_seek(it->inputs[i], it->place - (i ? ends[i - 1] : 0)));
    // The inputs behind this one are read from their start.
    for (int k = i + 1; k < self->dataset->input_count; ++k) {
      LEAT_RETURN_IF_ERROR(leat_iterator_seek(it->inputs[k], 0));
    }
    it->is_sought = true;
  }
  leat_status_t status = leat_iterator_next(it->inputs[i], pull, out, out_poll);
  if (status ? !leat_pull_was_stopped(status) : *out_poll == LEAT_POLL_ELEMENT) ++it->place;
  return status;
}

static int64_t weighted_cardinality(const leat_dataset_t* self) {
  return ends_of(self)[self->input_count - 1];
}

static const leat_dataset_kind_t kWeighted = {.name = "WeightedFlatMap",
                                              .dataset_bytes = sizeof(leat_dataset_t),
                                              .iterator_bytes = sizeof(weighted_iterator_t),
                                              .start = weighted_start,
                                              .next = weighted_next,
                                              .stop = weighted_stop,
                                              .cardinality = weighted_cardinality,
                                              .seek = weighted_seek};

// Reads the weight of input |index|, which is a scalar input of the kernel of its own.
static leat_status_t read_weight(const leat_kernel_context_t* c, int index, int count,
                                 double* out_weight) {
  const leat_tensor_t* weight = leat_kernel_input(c, count + index);
  *out_weight = weight->shape.rank == 0 ? *leat_tensor_data(weight, const double) : 0;
  if (*out_weight > 0 && *out_weight < 1e300) return leat_ok_status();
  return leat_kernel_invalid(c, "weights[%d] has shape %s and is %g, must be a scalar > 0", index,
                             LEAT_SHAPE_TEXT(&weight->shape), *out_weight);
}

static leat_status_t read_count(const leat_kernel_context_t* c, int index, int64_t* out_count) {
  leat_dataset_t* input;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, index), &input));
  *out_count = leat_dataset_cardinality(input);
  if (*out_count >= 0) return leat_ok_status();
  return leat_kernel_invalid(
      c, "input_datasets[%d] has %s cardinality, must have a known and finite one", index,
      *out_count == LEAT_CARDINALITY_INFINITE ? "infinite" : "unknown");
}

// Finds how many elements of each input are given: those of the input that is used up first for its
// weight, and of the others in proportion.
static leat_status_t set_ends(const leat_kernel_context_t* c, int count, int64_t* ends) {
  double scarcest_weight = 1, least = 0, highest = 0, weight;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(read_weight(c, i, count, &weight));
    highest = LEAT_MAX(highest, weight);
  }
  for (int i = 0; i < count; ++i) {
    int64_t elements;
    LEAT_RETURN_IF_ERROR(read_count(c, i, &elements));
    LEAT_RETURN_IF_ERROR(read_weight(c, i, count, &weight));
    const double weighted = (double)elements * weight / highest;
    if (i && weighted >= least) continue;
    least = weighted;
    scarcest_weight = weight;
  }
  int64_t end = 0;
  for (int i = 0; i < count; ++i) {
    int64_t elements;
    LEAT_RETURN_IF_ERROR(read_count(c, i, &elements));
    LEAT_RETURN_IF_ERROR(read_weight(c, i, count, &weight));
    const double wanted = least * weight / scarcest_weight;
    if (!(wanted < (double)elements + 1)) {
      return leat_kernel_invalid(
          c, "Input %d needs to have at least %.0f elements. It only has %lld elements.", i, wanted,
          (long long)elements);
    }
    if (!leat_checked_add(end, LEAT_MIN((int64_t)wanted, elements), &end)) {
      return leat_kernel_invalid(c, "the inputs have more elements than can be counted");
    }
    ends[i] = end;
  }
  return leat_ok_status();
}

static leat_status_t set_inputs(leat_kernel_context_t* c, leat_dataset_t* dataset) {
  const int count = dataset->input_count;
  const leat_shape_t shape = leat_shape_vector(count);
  leat_dataset_t* input;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, i), &input));
    LEAT_RETURN_IF_ERROR(leat_element_spec_check_types(dataset->spec, input->spec));
    LEAT_RETURN_IF_ERROR(leat_dataset_set_input(dataset, i, input));
  }
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_INT64, &shape,
                                            &dataset->tensors[0]));
  return set_ends(c, count, leat_tensor_data(&dataset->tensors[0], int64_t));
}

static leat_status_t weighted__cpu(leat_kernel_context_t* c) {
  const leat_element_spec_state_t* node = leat_kernel_state(c);
  int count = 0;
  leat_dataset_t* dataset;
  while (count < leat_kernel_input_count(c) &&
         leat_kernel_input(c, count)->dtype == LEAT_DTYPE_VARIANT) {
    ++count;
  }
  if (leat_kernel_input_count(c) != 2 * count) {
    return leat_kernel_invalid(c, "there are %d weights for %d datasets, must be as many",
                               leat_kernel_input_count(c) - count, count);
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_create(&kWeighted, leat_element_spec_retain(node->spec), count,
                                           1, &dataset));
  leat_status_t status = set_inputs(c, dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

const leat_kernel_row_t leat_indexed_dataset_kernels_cpu[] = {
    LEAT_CPU_KERNEL("GlobalShuffleDataset", NULL, bool, global_create, global__cpu),
    LEAT_CPU_KERNEL("WeightedFlatMapDataset", NULL, leat_element_spec_state_t,
                    leat_element_spec_state_create, weighted__cpu,
                    .destroy = leat_element_spec_state_destroy),
    LEAT_KERNEL_ROWS_END,
};
